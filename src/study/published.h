/* The figures of the paper's tables and of an independent re-run, from problems/published. */
#ifndef RPINN_STUDY_PUBLISHED_H
#define RPINN_STUDY_PUBLISHED_H

#include "arena.h"
#include "context.h"

/* The columns of the paper's tables. X(enumerator, key, title, unit of the last digit that the re-run prints,
 * or 0 where it is far below two per cent) */
#define RPINN_TABLE_METRIC_LIST(X)                                                                           \
  X(RL2, "rl2", "rl2", 0)                                                                                    \
  X(LINF, "linf", "linf", 0)                                                                                 \
  X(MEAN_STD, "mean_std", "mean std", 0)                                                                     \
  X(LPP_TABLE, "lpp_table", "LPP table", 0)                                                                  \
  X(COVERAGE, "coverage", "coverage", 0.01)

typedef enum RpinnTableMetric {
#define RPINN_TABLE_METRIC_ENUM(name, key, title, digit) RPINN_TABLE_##name,
  RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_ENUM)
#undef RPINN_TABLE_METRIC_ENUM
      RPINN_NUM_TABLE_METRICS
} RpinnTableMetric;

/* LPP as the paper's equation has it is in no table; studies show it as well. */
enum { RPINN_FIGURE_LPP = RPINN_NUM_TABLE_METRICS, RPINN_NUM_FIGURES };

/* What is not stated is NaN. */
typedef struct RpinnPublishedRow {
  const char *num_points, *sigma; /* as they are written: "32", "0.1" */
  const char *method, *quantity;
  bool is_rerun;
  double members, iterations, seconds;
  double metrics[RPINN_NUM_TABLE_METRICS];
} RpinnPublishedRow;

typedef struct RpinnPublishedTable {
  const char *name;
  size_t num_rows;
  RpinnPublishedRow *rows;
} RpinnPublishedTable;

/* The text of problems/published/<name>.csv; NULL when there is none. */
const char *rpinn_published_text(const char *name);
/* The table, in the arena; name is borrowed. */
RpinnStatus rpinn_published_parse(RpinnContext *context, RpinnArena *arena, const char *name,
                                  const char *text, RpinnPublishedTable *table);
/* NULL when there is none. */
const RpinnPublishedRow *rpinn_published_find(const RpinnPublishedTable *table, const char *num_points,
                                              const char *sigma, const char *method, const char *quantity,
                                              bool is_rerun);

#endif
