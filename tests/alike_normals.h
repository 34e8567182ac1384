/* A hundred standard normals, whose coordinates swing in phase: what NUTS sees of trajectories that turn. */
#ifndef RPINN_TESTS_ALIKE_NORMALS_H
#define RPINN_TESTS_ALIKE_NORMALS_H

#include "rpinn/status.h"

enum { ALIKE = 100 };
static inline RpinnStatus alike(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = 0;
  for (int i = 0; i < ALIKE; i++) {
    *log_density -= 0.5 * x[i] * x[i];
    if (gradient) gradient[i] = -x[i];
  }
  return RPINN_OK;
}

#endif
