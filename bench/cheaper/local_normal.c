#include "local_normal.h"

#include <math.h>
#include <stdlib.h>

#include "context.h"
#include "dense_algebra.h"

RpinnStatus local_normal_create(const Subject *subject, LocalNormal *local) {
  size_t N = subject->num_parameters, M = subject->num_rows;
  *local = (LocalNormal){.num_parameters = N,
                         .num_rows = M,
                         .z = calloc(N, sizeof(double)),
                         .mean = calloc(N, sizeof(double)),
                         .jacobian = calloc(M * N, sizeof(double)),
                         .factor = calloc(M * M, sizeof(double)),
                         .rows = calloc(M, sizeof(double)),
                         .work = calloc(M + N, sizeof(double)),
                         .energy = (double)INFINITY};
  if (local->z && local->mean && local->jacobian && local->factor && local->rows && local->work)
    return RPINN_OK;
  return rpinn_fail_memory(subject->context);
}

void local_normal_destroy(LocalNormal *local) {
  free(local->z);
  free(local->mean);
  free(local->jacobian);
  free(local->factor);
  free(local->rows);
  free(local->work);
}

/* J by z, C and its factor, and the mean. */
static bool linearise(const Subject *subject, LocalNormal *local) {
  size_t N = local->num_parameters, M = local->num_rows;
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < N; j++) local->jacobian[i * N + j] /= subject->squares.prior_root[j];
  rpinn_dense_gram(M, N, local->jacobian, NULL, NULL, local->factor);
  for (size_t i = 0; i < M; i++) local->factor[i * M + i] += 1;
  if (!rpinn_dense_factor(M, local->factor)) return false;
  local->half_determinant = 0;
  for (size_t i = 0; i < M; i++) local->half_determinant += log(local->factor[i * M + i]);
  rpinn_dense_times(M, N, local->jacobian, local->z, local->work);
  rpinn_dense_add(M, -1, local->rows, local->work);
  rpinn_dense_solve_factored(M, local->factor, local->work);
  rpinn_dense_transposed_times(M, N, local->jacobian, local->work, local->mean);
  return true;
}

RpinnStatus local_normal_find(Subject *subject, LocalNormal *local) {
  size_t N = local->num_parameters, M = local->num_rows;
  double *theta = local->work + M;
  subject_theta(subject, local->z, theta);
  RPINN_TRY(subject->squares.jacobian(subject->squares.data, theta, local->rows, local->jacobian));
  local->energy =
      0.5 * (rpinn_dense_dot(M, local->rows, local->rows) + rpinn_dense_dot(N, local->z, local->z));
  if (isfinite(local->energy) && !linearise(subject, local)) local->energy = (double)INFINITY;
  return RPINN_OK;
}

void local_normal_draw(LocalNormal *local, RpinnStream *stream, double *v) {
  size_t N = local->num_parameters, M = local->num_rows;
  rpinn_stream_normals(stream, N, v);
  rpinn_dense_times(M, N, local->jacobian, v, local->work);
  for (size_t i = 0; i < M; i++) local->work[i] += rpinn_stream_normal(stream);
  rpinn_dense_solve_factored(M, local->factor, local->work);
  rpinn_dense_transposed_times(M, N, local->jacobian, local->work, local->work + M);
  rpinn_dense_add(N, -1, local->work + M, v);
}

double local_normal_square(LocalNormal *local, const double *v) {
  rpinn_dense_times(local->num_rows, local->num_parameters, local->jacobian, v, local->work);
  return rpinn_dense_dot(local->num_parameters, v, v) +
         rpinn_dense_dot(local->num_rows, local->work, local->work);
}

void local_normal_solve(LocalNormal *local, double *v) {
  size_t N = local->num_parameters, M = local->num_rows;
  rpinn_dense_times(M, N, local->jacobian, v, local->work);
  rpinn_dense_solve_factored(M, local->factor, local->work);
  rpinn_dense_transposed_times(M, N, local->jacobian, local->work, local->work + M);
  rpinn_dense_add(N, -1, local->work + M, v);
}
