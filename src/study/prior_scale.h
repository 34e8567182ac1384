/* The sigmas that follow from the weights, beside those that the paper prints. */
#ifndef RPINN_STUDY_PRIOR_SCALE_H
#define RPINN_STUDY_PRIOR_SCALE_H

#include "reproduce_studies.h"

enum { RPINN_MAX_STUDY_TERMS = 8, RPINN_MAX_EPSILONS = 8 };

/* Of one run; the prior's is sigma_p. */
typedef struct RpinnStudySigmas {
  size_t num_terms;
  const char *names[RPINN_MAX_STUDY_TERMS]; /* in the arena of the reproduction */
  double terms[RPINN_MAX_STUDY_TERMS], prior;
} RpinnStudySigmas;

/* One case with a grid of epsilons, all of whose runs are next to each other. */
typedef struct RpinnEpsilonGrid {
  const RpinnPaperCase *paper_case;
  size_t first_run, count;
  double multiples[RPINN_MAX_EPSILONS]; /* epsilon over sigma */
  /* Where LPP is largest: of each quantity, and of their sum; count: nowhere. */
  size_t best[RPINN_PAPER_QUANTITIES], best_sum;
  RpinnEstimate sums[RPINN_MAX_EPSILONS]; /* of LPP over the quantities */
} RpinnEpsilonGrid;

enum { RPINN_MAX_EPSILON_GRIDS = 8 };

/* What the study of epsilon keeps: sigmas [num_runs], and the runs that are loaded for their sigmas alone. */
typedef struct RpinnEpsilonStudy {
  RpinnStudySigmas *sigmas;
  size_t num_grids, first_loaded;
  RpinnEpsilonGrid grids[RPINN_MAX_EPSILON_GRIDS];
  size_t num_printed, printed_verdicts[3]; /* by RpinnPrintedVerdict */
} RpinnEpsilonStudy;

/* Find where LPP is largest. */
void rpinn_epsilon_grid_choose(const RpinnReproduction *reproduction, RpinnEpsilonGrid *grid);

/* Ours beside the printed ones: text and csv get a table each, the study its counts. */
RpinnStatus rpinn_sigmas_compare(RpinnContext *context, RpinnReproduction *reproduction, RpinnText *text,
                                 RpinnText *csv);
/* The grids as a page, as CSV and as JSON. */
void rpinn_epsilon_write_text(const RpinnReproduction *reproduction, RpinnText *text);
void rpinn_epsilon_write_csv(const RpinnReproduction *reproduction, RpinnText *csv);
void rpinn_epsilon_write_json(const RpinnReproduction *reproduction, RpinnText *text);

#endif
