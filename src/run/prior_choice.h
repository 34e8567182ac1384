/* The scale of the prior, chosen from the data: trials over a grid of scales, each with its most probable parameters found
 * anew, refined where the criterion is highest. */
#ifndef RPINN_RUN_PRIOR_CHOICE_H
#define RPINN_RUN_PRIOR_CHOICE_H

#include "json_writer.h"
#include "posterior.h"
#include "scale_trial.h"

typedef struct RpinnPriorChoice {
  RpinnScaleRule rule;
  size_t num_trials;
  RpinnScaleTrial trials[RPINN_MAX_SCALE_TRIALS]; /* by rising scale */
  size_t chosen;                                  /* among them */
  bool is_fresh;                                  /* made by this session, and not read from the store */
  double *theta; /* [N] the most probable parameters found there; the caller frees them */
} RpinnPriorChoice;

typedef struct RpinnPriorChoiceOptions {
  RpinnScaleRule rule;
  size_t num_threads;
  bool (*interrupted)(void *user); /* may be NULL */
  void *user;
} RpinnPriorChoiceOptions;

/* What the rule counts of a trial; NaN where the linearisation was not finite. */
double rpinn_prior_criterion(const RpinnPriorChoice *choice, size_t trial);
/* The trials as a curve that scales can be drawn from: with a density in log s proportional to e^criterion. Those that have none are
 * left out. */
RpinnScaleCurve rpinn_prior_choice_curve(const RpinnPriorChoice *choice);

/* The choice depends on the posterior and its seed alone, not on the threads. RPINN_ERROR_INTERRUPTED where the caller wanted
 * an end. RPINN_ERROR_INPUT, with a message, where no scale explains the data: all trials found them to be noise about
 * nothing. */
RpinnStatus rpinn_prior_choose(RpinnContext *context, const RpinnPosterior *posterior,
                               const RpinnPriorChoiceOptions *options, RpinnPriorChoice *choice);

#endif
