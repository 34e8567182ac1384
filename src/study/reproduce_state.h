/* A reproduction in memory. */
#ifndef RPINN_STUDY_REPRODUCE_STATE_H
#define RPINN_STUDY_REPRODUCE_STATE_H

#include "published.h"
#include "rpinn/study.h"
#include "text.h"

enum { RPINN_BOOTSTRAP_RESAMPLES = 200 };

/* One block of a table: a problem with its noise and its number of points. */
typedef struct RpinnPaperCase {
  const char *table, *problem, *num_points, *sigma;
  unsigned samples, iterations; /* of the paper */
  /* A figure of u that is shown but not judged; RPINN_NUM_TABLE_METRICS: none. */
  RpinnTableMetric only_reported;
} RpinnPaperCase;

typedef enum RpinnVerdict {
  RPINN_VERDICT_NONE,     /* not judged */
  RPINN_VERDICT_REPORTED, /* not judged by intention */
  RPINN_VERDICT_AGREES,
  RPINN_VERDICT_DIFFERS
} RpinnVerdict;

/* One method and quantity of a case. */
typedef struct RpinnReproducedRow {
  const RpinnPaperCase *paper_case;
  const char *method, *quantity;
  const RpinnPublishedRow *published, *rerun; /* rerun may be NULL */
  const char *reason;                         /* why there is nothing of ours; NULL: there is */
  const char *run;                            /* the name of its directory */
  double members, iterations, seconds;
  double ours[RPINN_NUM_TABLE_METRICS], errors[RPINN_NUM_TABLE_METRICS], tolerances[RPINN_NUM_TABLE_METRICS];
  RpinnVerdict verdicts[RPINN_NUM_TABLE_METRICS];
} RpinnReproducedRow;

struct RpinnReproduction {
  RpinnArena *arena;
  const RpinnReproduceOptions *options;
  const char *name;
  bool is_paper_scale, has_data, interrupted;
  bool methods[2]; /* rpinn, ensemble: asked for */
  RpinnPublishedTable published;
  size_t num_rows;
  RpinnReproducedRow *rows;
  RpinnText text, json, csv;
};

/* Tolerances and verdicts of a row whose figures, errors and members are there. */
void rpinn_reproduction_judge(const RpinnReproduction *reproduction, RpinnReproducedRow *row);
/* Fill text, csv and json from the rows. */
void rpinn_reproduction_report(RpinnReproduction *reproduction);

#endif
