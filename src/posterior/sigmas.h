/* Weights, counts and noise levels to standard deviations.
 *
 * With weight lambda_t (omitted: 1/noise_t^2), N_t points, reference term R and its noise sigma_R:
 *
 *   paper     s_p^2 = (sigma_R + epsilon)^2 lambda_R / N_R,   s_t^2 = N_t s_p^2 / lambda_t
 *   noise     s_t = noise_t,                                  s_p by `prior:`, and 1 without it
 *   uniform   s_t = sigma_R,                                  s_p = 1
 *
 * A noise that differs by row, noise_ti, belongs to the likelihood `noise` alone: s_ti = noise_ti, and s_t is their root mean
 * square, for people.
 *
 * Rows of a gaussian term are white: s_t = 1 under all of them, with no weight.
 *
 * The setting prior_scale replaces s_p in the prior alone: the s_t stay what the rule gives. Shapes, and scales of single fields,
 * belong to the likelihood `noise`; the others have one s_p for all parameters. A scale that the data have yet to choose
 * (RpinnSigmas.rule) counts as 1 until then. */
#ifndef RPINN_POSTERIOR_SIGMAS_H
#define RPINN_POSTERIOR_SIGMAS_H

#include "data_set.h"

typedef struct RpinnFieldPrior {
  RpinnPriorShape shape;
  bool has_own_scale; /* else factor s_p */
  double scale, factor;
  bool is_separate; /* the data are to choose the factor too */
} RpinnFieldPrior;

typedef struct RpinnSigmas {
  double *terms;       /* [num_terms] s_t; a test term has its noise, or NaN without one */
  const double **rows; /* [num_terms] s_ti of each point where they differ, the data's; else NULL */
  double *weights; /* [num_terms] lambda_t; NaN where the likelihood does not need one and none is given */
  double prior;    /* s_p; infinity: no prior */
  RpinnFieldPrior *fields; /* [num_fields] */
  RpinnScaleRule rule;     /* that is to choose s_p; GIVEN: nothing is to be chosen */
  bool integrates;         /* members draw scales of their own, see scale_curve.h */
  double start; /* in place of s_p while members are made that are to be continued under it; 0: s_p */
} RpinnSigmas;

RpinnStatus rpinn_sigmas_resolve(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                                 const RpinnDataSet *data, RpinnSigmas *sigmas);

/* A measured term (data from the truth or a file) whose s_t is larger than its stated noise. */
bool rpinn_sigma_exceeds_noise(const RpinnProblem *problem, const RpinnSigmas *sigmas, size_t term);

#endif
