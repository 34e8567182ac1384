/* Symbols: A = J P^-1 [M][N], S = I + A A^T [M][M], e = r - J (theta - mu) [M].
 *
 *   log det H = sum_j log P_j^2 + log det S                                  (Sylvester)
 *   Phi - 1/2 g^T H^-1 g = 1/2 min_d ( |r + J d|^2 + |P (theta + d - mu)|^2 )
 *                        = 1/2 e^T S^-1 e
 * The left side is the energy after the Gauss–Newton step d, the least energy of the model linearised at
 * theta. With d' = theta + d - mu the rows are e + J d', and the least value of |e + J d'|^2 + |P d'|^2 is
 * e^T S^-1 e. Hence
 *
 *   log w = -sum_j log P_j - 1/2 log det S - 1/2 e^T S^-1 e,
 *
 * the evidence of the linearised model. This form works on M x M matrices where M << N, does not subtract two
 * large energies, and shows why the weight of a linear model is constant: its S and e are. */
#include "importance.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "dense_algebra.h"

struct RpinnImportance {
  size_t M, N;
  double log_prior_roots; /* sum_j log P_j */
  double *inverse;        /* [N] P^-2 */
  double *prior_mean;     /* [N] */
  double *step;           /* [N] theta - mu */
  double *rows;           /* [M] */
  double *product;        /* [M] J (theta - mu) */
  double *solution;       /* [M] S^-1 e */
  double *gram;           /* [M][M] */
  double *block;          /* [M * RPINN_DENSE_BLOCK] */
};

bool rpinn_importance_available(size_t num_parameters, const double *prior_root) {
  if (!prior_root) return false;
  for (size_t j = 0; j < num_parameters; j++)
    if (!(prior_root[j] > 0 && isfinite(prior_root[j]))) return false;
  return true;
}

RpinnImportance *rpinn_importance_create(size_t num_rows, size_t num_parameters, const double *prior_root,
                                         const double *prior_mean) {
  assert(rpinn_importance_available(num_parameters, prior_root));
  size_t M = num_rows, N = num_parameters;
  RpinnImportance *importance = calloc(1, sizeof *importance);
  double *memory = importance ? calloc(3 * N + M * (3 + M + RPINN_DENSE_BLOCK) + 1, sizeof(double)) : NULL;
  if (!memory) {
    free(importance);
    return NULL;
  }
  *importance = (RpinnImportance){.M = M, .N = N, .inverse = memory};
  importance->prior_mean = importance->inverse + N;
  importance->step = importance->prior_mean + N;
  importance->rows = importance->step + N;
  importance->product = importance->rows + M;
  importance->solution = importance->product + M;
  importance->gram = importance->solution + M;
  importance->block = importance->gram + M * M;
  for (size_t j = 0; j < N; j++) {
    importance->inverse[j] = 1 / (prior_root[j] * prior_root[j]);
    importance->log_prior_roots += log(prior_root[j]);
    if (prior_mean) importance->prior_mean[j] = prior_mean[j];
  }
  return importance;
}

void rpinn_importance_destroy(RpinnImportance *importance) {
  if (!importance) return;
  free(importance->inverse);
  free(importance);
}

static void set_step(RpinnImportance *importance, const double *theta) {
  for (size_t j = 0; j < importance->N; j++) importance->step[j] = theta[j] - importance->prior_mean[j];
}

/* From gram = J P^-2 J^T, rows and product = J (theta - mu). */
static double finish(RpinnImportance *importance) {
  size_t M = importance->M;
  double *S = importance->gram, *e = importance->rows, *solution = importance->solution;
  for (size_t i = 0; i < M; i++) {
    S[i * M + i] += 1;
    e[i] -= importance->product[i];
    solution[i] = e[i];
  }
  if (!rpinn_dense_solve(M, S, solution)) return (double)NAN;
  double half_log_determinant = 0; /* of S, from the diagonal of its Cholesky factor */
  for (size_t i = 0; i < M; i++) half_log_determinant += log(S[i * M + i]);
  double log_weight =
      -importance->log_prior_roots - half_log_determinant - 0.5 * rpinn_dense_dot(M, e, solution);
  return isfinite(log_weight) ? log_weight : (double)NAN;
}

double rpinn_importance_log_weight(RpinnImportance *importance, const double *theta, const double *rows,
                                   const double *jacobian) {
  size_t M = importance->M, N = importance->N;
  set_step(importance, theta);
  for (size_t i = 0; i < M; i++) importance->rows[i] = rows[i];
  rpinn_dense_times(M, N, jacobian, importance->step, importance->product);
  rpinn_dense_gram(M, N, jacobian, importance->inverse, importance->block, importance->gram);
  return finish(importance);
}

RpinnStatus rpinn_importance_log_weight_of_target(RpinnImportance *importance,
                                                  const RpinnLeastSquares *problem, const double *theta,
                                                  double *log_weight) {
  assert(problem->num_rows == importance->M && problem->num_parameters == importance->N);
  set_step(importance, theta);
  RpinnStatus status =
      rpinn_least_squares_gram(problem, theta, importance->inverse, importance->rows, importance->gram);
  if (status == RPINN_OK)
    status = rpinn_least_squares_jacobian_times(problem, theta, importance->step, importance->product);
  *log_weight = status == RPINN_OK ? finish(importance) : (double)NAN;
  return status;
}
