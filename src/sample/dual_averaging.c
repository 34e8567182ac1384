/* After the t-th acceptance a:
 *
 *   s     <- (1 - 1/(t + t0)) s + (delta - min(a, 1))/(t + t0)
 *   x      = mu - s sqrt(t)/gamma                       the log step to try
 *   x-bar <- (1 - t^-kappa) x-bar + t^-kappa x          the log step to keep */
#include "dual_averaging.h"

#include <math.h>

void rpinn_dual_averaging_restart(RpinnDualAveraging *averaging, double step) {
  averaging->mu = log(10 * step);
  averaging->count = 0;
  averaging->error = averaging->average = 0;
}

double rpinn_dual_averaging_learn(RpinnDualAveraging *averaging, double acceptance) {
  double t = (double)++averaging->count, share = 1 / (t + averaging->t0), forget = pow(t, -averaging->kappa);
  averaging->error = (1 - share) * averaging->error + share * (averaging->target - fmin(acceptance, 1));
  double x = averaging->mu - averaging->error * sqrt(t) / averaging->gamma;
  averaging->average = (1 - forget) * averaging->average + forget * x;
  return exp(x);
}

double rpinn_dual_averaging_step(const RpinnDualAveraging *averaging) {
  return exp(averaging->average);
}
