/* Trials of scales of the prior: the searches that each takes, on all threads, and what they say of it. */
#ifndef RPINN_RUN_PRIOR_TRIALS_H
#define RPINN_RUN_PRIOR_TRIALS_H

#include "noise_evidence.h"
#include "prior_choice.h"

enum {
  RPINN_TRIAL_MEMBERS = 8,
  RPINN_NUM_RUNGS = 6,
  RPINN_MAX_TRIALS = RPINN_NUM_RUNGS > RPINN_MAX_LINE_TRIALS ? RPINN_NUM_RUNGS : RPINN_MAX_LINE_TRIALS,
  RPINN_MAX_TRIAL_JOBS = RPINN_MAX_LINE_TRIALS * RPINN_TRIAL_MEMBERS /* at once */
};

/* One search, or one look, of a trial. */
typedef struct RpinnPriorJob {
  size_t trial;
  size_t start;       /* number of a fresh start, where from is NULL */
  const double *from; /* [N] */
  double *theta;      /* [N + K + 1] parameters, then noise that is not known, then E with it */
  RpinnScaleView view;
} RpinnPriorJob;

typedef struct RpinnPriorTrials {
  const RpinnPosterior *posterior;
  const RpinnPriorChoiceOptions *options;
  RpinnPriorChoice *choice;
  size_t M, N;
  size_t length; /* N + K + 1: of a point with its noise */
  RpinnArena *arena;
  RpinnNoiseRows noise;
  const double *factors; /* [num_fields] where the factor of one field is sought: those of the others … */
  size_t line_field;     /* … and that field, whose scale the trials have */
  double line_scale;     /* that the factors multiply */
  bool *is_data;         /* [M] */
  double *best
      [RPINN_MAX_TRIALS]; /* [length] each: the lowest minimum of each trial; at members, the noise alone */
  bool is_dear;           /* a step: fewer searches, shorter ones, and in float */
  size_t num_fresh, iterations;
  size_t num_jobs;
  RpinnPriorJob jobs[RPINN_MAX_TRIAL_JOBS];
  double *memory; /* of thetas and densities of jobs, and of best */
  bool is_looking;
  uint64_t num_done, num_expected; /* jobs before those under way; in all, as far as is known */
} RpinnPriorTrials;

/* Of trials whose posterior, options and choice are given, and the factors where those of a field are sought. Closes after a
 * failure too. */
RpinnStatus rpinn_prior_trials_open(RpinnContext *context, RpinnPriorTrials *trials);
void rpinn_prior_trials_close(RpinnPriorTrials *trials);

/* Fill trials first … first + count of the choice, whose scales are given. */
RpinnStatus rpinn_prior_trials_make(RpinnContext *context, RpinnPriorTrials *trials, size_t first,
                                    size_t count);

/* Mean square of the data rows with all networks at their prior means, and with the noise of a trial. */
RpinnStatus rpinn_prior_trials_misfit_of_nothing(RpinnContext *context, RpinnPriorTrials *trials,
                                                 size_t trial, double *misfit);

#endif
