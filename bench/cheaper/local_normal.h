/* The posterior linearised at a point, as a normal distribution. In z = P (theta - mu), where the prior is N(0, I), with rows r and their
 * Jacobian J by z at the point, C = I + J J^T:
 *
 *   precision  A = I + J^T J,  log det A = log det C
 *   mean       m = J^T C^-1 (J z - r)
 *   a draw     m + e - J^T C^-1 (J e + f),   e ~ N(0, I_N), f ~ N(0, I_M)
 *
 * so that all of it takes M x M systems. */
#ifndef RPINN_BENCH_LOCAL_NORMAL_H
#define RPINN_BENCH_LOCAL_NORMAL_H

#include "random_stream.h"
#include "subject.h"

typedef struct LocalNormal {
  size_t num_parameters, num_rows;
  double *z;               /* [N] the point */
  double *mean;            /* [N] */
  double *jacobian;        /* [M][N] */
  double *factor;          /* [M][M]: the lower triangle has L of C = L L^T */
  double *rows;            /* [M] */
  double *work;            /* [M + N] */
  double energy;           /* at the point; not finite: the rest is not there */
  double half_determinant; /* 1/2 log det A */
} LocalNormal;

RpinnStatus local_normal_create(const Subject *subject, LocalNormal *local);
void local_normal_destroy(LocalNormal *local);
/* At local->z. */
RpinnStatus local_normal_find(Subject *subject, LocalNormal *local);
/* v [N] ~ N(0, A^-1) */
void local_normal_draw(LocalNormal *local, RpinnStream *stream, double *v);
/* v^T A v */
double local_normal_square(LocalNormal *local, const double *v);
/* v [N] becomes A^-1 v */
void local_normal_solve(LocalNormal *local, double *v);

#endif
