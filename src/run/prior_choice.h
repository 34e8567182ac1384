/* The scale of the prior, chosen from the data: trials up a ladder of scales until the criterion has fallen. A trial looks at
 * the model where the method will be: at rPINN members for methods that draw, at the most probable parameters for those that
 * seek them. Under a narrow prior the most probable parameters may explain the data as noise about nothing while the mass of
 * the posterior does not: a scale chosen there is too wide for draws. */
#ifndef RPINN_RUN_PRIOR_CHOICE_H
#define RPINN_RUN_PRIOR_CHOICE_H

#include "json_writer.h"
#include "posterior.h"
#include "scale_trial.h"

/* The factor of one field, chosen with all other scales fixed. */
enum { RPINN_MAX_LINE_TRIALS = 5 };
typedef struct RpinnFieldLine {
  size_t field;
  size_t num_trials, chosen;
  double factors[RPINN_MAX_LINE_TRIALS];         /* rising */
  RpinnScaleTrial trials[RPINN_MAX_LINE_TRIALS]; /* whose scale is that of the field */
} RpinnFieldLine;

typedef struct RpinnPriorChoice {
  RpinnScaleRule rule;
  bool at_minimum; /* trials looked at the most probable parameters, not at members */
  size_t num_trials;
  RpinnScaleTrial trials[RPINN_MAX_SCALE_TRIALS]; /* by rising scale */
  size_t chosen;                                  /* among them */
  size_t num_lines;
  RpinnFieldLine *lines; /* [num_lines] of fields whose factor was chosen then, one after the other */
  bool is_fresh;         /* made by this session, and not read from the store */
  double *theta; /* [N] the most probable parameters found at the end; NULL where members were tried */
} RpinnPriorChoice;

/* lines and theta; may be called twice. */
void rpinn_prior_choice_free(RpinnPriorChoice *choice);

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

/* What the rule counts of a trial; NaN where the linearisation was not finite. */
double rpinn_prior_criterion(const RpinnPriorChoice *choice, size_t trial);
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
