/* A reproduction in memory. */
#ifndef RPINN_STUDY_REPRODUCE_STATE_H
#define RPINN_STUDY_REPRODUCE_STATE_H

#include "reproduce_cases.h"
#include "rpinn/study.h"
#include "text.h"

enum { RPINN_BOOTSTRAP_RESAMPLES = 200, RPINN_MAX_PAPER_RUNS = 64 };

/* A method on a case. */
typedef struct RpinnReproducedRun {
  const RpinnPaperCase *paper_case;
  RpinnPaperMethod method;
  const char *name;       /* of its directory */
  const char *reason;     /* why it is not made; NULL: it is */
  const char *settings;   /* in words */
  const char *departures; /* from the preset `paper`, in words; "": none */
  double members;         /* draws of all chains together */
  double chains, warmup;  /* NaN without chains */
  double iterations;      /* NaN with chains */
  double seconds;
} RpinnReproducedRun;

typedef enum RpinnVerdict {
  RPINN_VERDICT_NONE,     /* not judged */
  RPINN_VERDICT_REPORTED, /* not judged by intention */
  RPINN_VERDICT_AGREES,
  RPINN_VERDICT_DIFFERS
} RpinnVerdict;

/* One quantity of a run. */
typedef struct RpinnReproducedRow {
  const RpinnReproducedRun *run;
  size_t quantity; /* of the case */
  const RpinnPublishedRow *published;
  const RpinnPublishedRow *rerun;   /* may be NULL */
  const RpinnPublishedRow *divided; /* SVGD with the repulsion of the paper's formula; may be NULL */
  double ours[RPINN_NUM_TABLE_METRICS], errors[RPINN_NUM_TABLE_METRICS], tolerances[RPINN_NUM_TABLE_METRICS];
  RpinnVerdict verdicts[RPINN_NUM_TABLE_METRICS];
  double effective_size; /* of the draws of chains; NaN without chains */
  const char *unjudged;  /* why nothing is judged; NULL: it is */
  bool has_peak;         /* SVGD: the figures where LPP was highest on the way */
  double peak_iteration, peak[RPINN_NUM_TABLE_METRICS];
} RpinnReproducedRow;

typedef enum RpinnChainFigure {
  RPINN_CHAIN_RL2,
  RPINN_CHAIN_LPP_TABLE,
  RPINN_NUM_CHAIN_FIGURES
} RpinnChainFigure;

/* One chain of Table 3. */
typedef struct RpinnReproducedChain {
  size_t number; /* from 1 */
  double figures[RPINN_PAPER_QUANTITIES][RPINN_NUM_CHAIN_FIGURES];
} RpinnReproducedChain;

/* The chains of a run, and the published ones, both in rising order of rl2 of u: chains have no order of their own. */
typedef struct RpinnReproducedChains {
  const RpinnReproducedRun *run;
  size_t num_ours, num_published;
  RpinnReproducedChain *ours, *published;
  const RpinnPublishedRow *worst[RPINN_PAPER_QUANTITIES]; /* of the re-run's; may be NULL */
  double max_rhat[RPINN_PAPER_QUANTITIES];
} RpinnReproducedChains;

struct RpinnReproduction {
  RpinnArena *arena;
  const RpinnReproduceOptions *options;
  const char *name;  /* what is asked for */
  const char *table; /* whose runs it needs */
  RpinnPaperScale scale;
  bool is_figure, has_data, interrupted;
  bool methods[RPINN_NUM_PAPER_METHODS]; /* asked for */
  RpinnPublishedTable published;
  size_t num_runs, num_rows, num_chain_tables;
  RpinnReproducedRun *runs;
  RpinnReproducedRow *rows;
  RpinnReproducedChains *chain_tables; /* Table 3 */
  RpinnText text, json, csv;
};

/* Room for the runs, their rows and their chains, as the table has them. */
RpinnStatus rpinn_reproduction_plan(RpinnContext *context, RpinnReproduction *reproduction);
/* Seconds that the run would still take, about; 0 when it is finished. */
RpinnStatus rpinn_reproduction_estimate_run(RpinnContext *context, RpinnReproduction *reproduction,
                                            RpinnReproducedRun *run, double *seconds);
/* Make a run, or find it finished, and fill its rows, or write its panels. */
RpinnStatus rpinn_reproduction_make_run(RpinnContext *context, RpinnReproduction *reproduction,
                                        RpinnReproducedRun *run);
/* Tolerances and verdicts of a row whose figures, errors and members are there. */
void rpinn_reproduction_judge(const RpinnReproduction *reproduction, RpinnReproducedRow *row);
/* In rising order of rl2 of the first quantity. */
void rpinn_chains_sort(size_t count, RpinnReproducedChain *chains);
/* Largest minus smallest rl2 of a quantity. */
double rpinn_chains_range(size_t count, const RpinnReproducedChain *chains, size_t quantity);

/* How many figures of all rows have this verdict. */
size_t rpinn_reproduction_count(const RpinnReproduction *reproduction, RpinnVerdict verdict);
/* The reproduction as a page of Markdown, as CSV and as JSON. */
void rpinn_reproduction_write_text(const RpinnReproduction *reproduction, RpinnText *text);
void rpinn_reproduction_write_csv(const RpinnReproduction *reproduction, RpinnText *csv);
void rpinn_reproduction_write_json(const RpinnReproduction *reproduction, RpinnText *text);
/* The chains of Table 3 as a section of the page. */
void rpinn_chains_write_text(const RpinnReproduction *reproduction, const RpinnReproducedChains *chains,
                             RpinnText *text);

#endif
