/* The scale of the prior, chosen from the data: trials up a ladder of scales until the criterion has fallen. A trial looks at
 * the model where the method will be: at rPINN members for methods that draw, at the most probable parameters for those that
 * seek them. Under a narrow prior the most probable parameters may explain the data as noise about nothing while the mass of
 * the posterior does not: a scale chosen there is too wide for draws. */
#ifndef RPINN_RUN_PRIOR_CHOICE_H
#define RPINN_RUN_PRIOR_CHOICE_H

#include "posterior.h"
#include "prior_record.h"

typedef struct RpinnPriorChoiceOptions {
  RpinnScaleRule rule;
  bool at_minimum;
  size_t num_threads;
  double
      dear_step; /* operations of a step above which searches are shorter, and in float; 0: 1e9, tenths of a second */
  bool (*interrupted)(void *user); /* may be NULL */
  /* Searches and judgements so far, of as many as are known to be made: more where the scales go further. May be NULL. */
  void (*progress)(void *user, uint64_t done, uint64_t total);
  void *user; /* of both */
} RpinnPriorChoiceOptions;

/* The trials as a curve that scales can be drawn from: with a density in log s proportional to e^criterion. Those that have none are
 * left out. */
RpinnScaleCurve rpinn_prior_choice_curve(const RpinnPriorChoice *choice);

/* factors [num_fields] of the posterior's fields, with those that were chosen. */
void rpinn_prior_choice_factors(const RpinnPriorChoice *choice, const RpinnPosterior *posterior,
                                double *factors);

/* The choice depends on the posterior and its seed alone, not on the threads. RPINN_ERROR_INTERRUPTED where the caller wanted
 * an end. RPINN_ERROR_INPUT, with a message, where no scale explains the data: all trials found them to be noise about
 * nothing. */
RpinnStatus rpinn_prior_choose(RpinnContext *context, const RpinnPosterior *posterior,
                               const RpinnPriorChoiceOptions *options, RpinnPriorChoice *choice);

#endif
