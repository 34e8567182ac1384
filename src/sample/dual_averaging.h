/* Dual averaging of a step size (Nesterov 2009; Hoffman & Gelman 2014): the step is moved until the mean
 * acceptance is the one that was asked for. */
#ifndef RPINN_SAMPLE_DUAL_AVERAGING_H
#define RPINN_SAMPLE_DUAL_AVERAGING_H

#include <stddef.h>

typedef struct RpinnDualAveraging {
  double target;           /* delta, the acceptance to reach */
  double gamma, t0, kappa; /* pull towards mu, weight of the past at the start, forgetting */
  double mu;               /* the log step that is pulled to */
  size_t count;            /* t, acceptances seen since the restart */
  double error;            /* s, mean of delta - a */
  double average;          /* x-bar, of the log step */
} RpinnDualAveraging;

/* Forget all acceptances and search around 10 * step: a step that is too small costs more than one that is
 * too large, so the search comes from above. */
void rpinn_dual_averaging_restart(RpinnDualAveraging *averaging, double step);
/* The next step to try after the mean acceptance of a trajectory. */
double rpinn_dual_averaging_learn(RpinnDualAveraging *averaging, double acceptance);
/* The step to keep. Meaningless before the first acceptance. */
double rpinn_dual_averaging_step(const RpinnDualAveraging *averaging);

#endif
