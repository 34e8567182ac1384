/* What the rows of a posterior, and what is predicted, say of a run beside its results. */
#ifndef RPINN_RESULTS_ROW_EVIDENCE_H
#define RPINN_RESULTS_ROW_EVIDENCE_H

#include "judged_draws.h"
#include "verdict.h"

/* What is NaN is not known. */
typedef struct RpinnRowEvidence {
  RpinnTermEvidence *terms;          /* [num_terms] */
  RpinnQuantityEvidence *quantities; /* [quantities] */
  double energy;                     /* median over draws of what they minimise */
  double misfit,
      misfit_of_nothing; /* mean square of the measured rows: of draws, and of networks at their prior means */
  double num_unconverged; /* members that had more than RPINN_GAIN_LIMIT to gain … */
  double median_gain;     /* … and what they had at the median, in nats */
  const char *unknown;    /* why rows were not looked at; NULL: they were */
} RpinnRowEvidence;

void rpinn_row_evidence_free(RpinnRowEvidence *evidence);

/* Fill what rows say at the draws: terms, energy, misfits; or why they are not known. */
RpinnStatus rpinn_run_row_evidence(RpinnJudgedDraws *draws, RpinnRowEvidence *evidence);
/* Move draws to the minimisers of their energies, the prior on networks multiplied by pull: shifts and widths [quantities] as in
 * RpinnQuantityEvidence. Both: RPINN_ERROR_INTERRUPTED where the caller of the run wants an end. */
RpinnStatus rpinn_run_move_draws(RpinnJudgedDraws *draws, double pull, double *shifts, double *widths);

#endif
