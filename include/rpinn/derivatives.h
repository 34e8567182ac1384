/* Are the derivatives of a target of your own right? A wrong gradient does not fail: a sampler rejects more, an optimiser stops
 * early, and neither says why. Here every derivative is compared with differences of the values.
 *
 * Differences are extrapolated to step zero (Ridders), from first steps of 0.1, 1e-3 and 1e-5 times max(1, |theta_j|), of which the one
 * whose extrapolation changes least counts: 12 to 36 evaluations per parameter. A derivative d is as it should be when
 *
 *   |d - difference| <= tolerance max(|d|, |difference|) + 10 uncertainty,
 *
 * with the uncertainty of the extrapolation itself, which is rounding or a kink. 1e-6 is a good tolerance for double, 1e-2 for float. */
#ifndef RPINN_DERIVATIVES_H
#define RPINN_DERIVATIVES_H

#include "rpinn/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnDerivativeCheck {
  bool agrees;       /* nothing is wrong */
  size_t num_tested; /* derivatives and other numbers that were compared */
  size_t num_wrong;  /* that differ by more than is allowed */
  size_t
      num_unsure; /* that agree only because differences say too little: 10 times their uncertainty is more than the
                        tolerance of the largest derivative */
  /* The one that is furthest from what it should be, also where all agree: */
  char function
      [32]; /* of the target: "evaluate" (its gradient), "jacobian", "jacobian_times", "transposed_times", "gram";
                        "value" or "rows" where these differ with and without derivatives */
  char name[64];         /* of the parameter; "" where it is no derivative by a parameter */
  size_t parameter, row; /* 0 where there is none */
  double given, difference, uncertainty;
  char text[512]; /* all of it in a sentence */
} RpinnDerivativeCheck;

/* At theta [num_parameters], best a point that is no optimum and has no zeros; names [num_parameters] are for the text (NULL:
 * theta[0], …). A value that is not finite at theta is RPINN_ERROR_NUMERIC; otherwise fails as the target does. A derivative that is
 * wrong is a result, no failure. */
RPINN_API RpinnStatus rpinn_check_log_density(RpinnContext *context, const RpinnLogDensity *density,
                                              const double *theta, const char *const *names, double tolerance,
                                              RpinnDerivativeCheck *check);
RPINN_API RpinnStatus rpinn_check_objective(RpinnContext *context, const RpinnObjective *objective,
                                            const double *theta, const char *const *names, double tolerance,
                                            RpinnDerivativeCheck *check);
/* The Jacobian by differences of the rows, and, where it is right, the products that the target offers by the Jacobian: with a
 * direction and weights of random signs. */
RPINN_API RpinnStatus rpinn_check_least_squares(RpinnContext *context, const RpinnLeastSquares *problem,
                                                const double *theta, const char *const *names,
                                                double tolerance, RpinnDerivativeCheck *check);

#ifdef __cplusplus
}
#endif
#endif
