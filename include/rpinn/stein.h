/* How far are points from draws of a density of which only the gradients of its logarithm are known? The kernel Stein
 * discrepancy with the inverse multiquadric k(x, y) = 1 / sqrt(1 + |x - y|^2) of Gorham and Mackey (2017),
 *
 *   D^2 = 1/n^2 sum_ij u(x_i, x_j),   g = grad log p,
 *   u(x, y) = k g(x).g(y) + g(x).grad_y k + g(y).grad_x k + div_x grad_y k.
 *
 * Its tails are heavy, so that D tends to zero only where the points tend to p; with a Gaussian kernel D may vanish while points
 * escape, from three dimensions on. Its width is fixed, so that the D of two sets of points can be compared. */
#ifndef RPINN_STEIN_H
#define RPINN_STEIN_H

#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnSteinDiscrepancy {
  double value; /* D */
  double
      by_chance; /* sqrt(sum_i u(x_i, x_i)) / n, the root mean square of D where the points are independent draws of p */
} RpinnSteinDiscrepancy;

/* points and gradients of log p at them, each [num_points][num_parameters]. Some 4 num_points^2 num_parameters operations. */
RPINN_API RpinnStatus rpinn_stein_discrepancy(RpinnContext *context, size_t num_points, size_t num_parameters,
                                              const double *points, const double *gradients,
                                              RpinnSteinDiscrepancy *discrepancy);

#ifdef __cplusplus
}
#endif
#endif
