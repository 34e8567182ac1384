#include "linearisation.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "dense_algebra.h"
#include "importance.h"

static const double half_log_two_pi = 0.91893853320467274178;

/* With fewer parameters than rows all is done in their space, with H = I + J^T J [N][N] in place of C:
 *
 *   log det C = log det H,   mean x = H^-1 J^T y,   alpha = y - J x,   1/2 y^T alpha = 1/2 |alpha|^2 + 1/2 |x|^2,
 *   c_ii = 1 - |L^-1 J_i|^2 with H = L L^T,         draw = H^-1 (epsilon + J^T (y + eta)) */
struct RpinnLinearisation {
  const RpinnLeastSquares *problem;
  size_t M, N;
  bool in_parameters;     /* N < M */
  double log_determinant; /* of C */
  double energy;          /* 1/2 y^T alpha */
  double *theta;          /* [N] */
  double *deviation;      /* [N] S^1/2 */
  double *direction;      /* [N] of one product */
  double *y, *alpha;      /* [M] */
  double *product;        /* [M] of one product */
  double *inverse;        /* [M] the diagonal of C^-1 */
  double *covariance;     /* [M][M] C, lower triangle; NULL in parameters */
  double *jacobian;       /* [M][N] J in parameters, else NULL */
  double *mean;           /* [N] x in parameters, else NULL */
  double *factor;         /* L with C = L L^T [M][M], or H = L L^T [N][N], lower triangle */
  double *unscaled;       /* C or J, then [M] y, of the target as it is; NULL until it is rescaled */
  double *scale;          /* [M] of its rows, with unscaled; else NULL */
};

enum { ROW_BLOCK = 64 };

static double prior_mean(const RpinnLeastSquares *problem, size_t j) {
  return problem->prior_mean ? problem->prior_mean[j] : 0;
}

static RpinnLinearisation *allocate(const RpinnLeastSquares *problem) {
  size_t M = problem->num_rows, N = problem->num_parameters;
  RpinnLinearisation *self = calloc(1, sizeof *self);
  bool in_parameters = N < M;
  size_t matrices = in_parameters ? M * N + N + N * N : 2 * M * M;
  double *memory = self ? calloc(3 * N + 4 * M + matrices + 1, sizeof(double)) : NULL;
  if (!memory) {
    free(self);
    return NULL;
  }
  *self = (RpinnLinearisation){
      .problem = problem, .M = M, .N = N, .in_parameters = in_parameters, .theta = memory};
  self->deviation = self->theta + N;
  self->direction = self->deviation + N;
  self->y = self->direction + N;
  self->alpha = self->y + M;
  self->product = self->alpha + M;
  self->inverse = self->product + M;
  double *rest = self->inverse + M;
  if (in_parameters) {
    self->jacobian = rest;
    self->mean = rest + M * N;
    self->factor = self->mean + N;
  } else {
    self->covariance = rest;
    self->factor = rest + M * M;
  }
  return self;
}

static bool all_finite(size_t count, const double *values) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return false;
  return true;
}

/* C and y. */
static RpinnStatus linearise(RpinnLinearisation *self) {
  const RpinnLeastSquares *problem = self->problem;
  size_t M = self->M, N = self->N;
  double *rows = self->product, *variance = self->direction; /* S */
  for (size_t j = 0; j < N; j++) variance[j] = self->deviation[j] * self->deviation[j];
  RpinnStatus status = rpinn_least_squares_gram(problem, self->theta, variance, rows, self->covariance);
  if (status != RPINN_OK) return status;
  for (size_t j = 0; j < N; j++) self->direction[j] = self->theta[j] - prior_mean(problem, j);
  status = rpinn_least_squares_jacobian_times(problem, self->theta, self->direction, self->y);
  if (status != RPINN_OK) return status;
  for (size_t i = 0; i < M; i++) {
    self->covariance[i * M + i] += 1;
    self->y[i] -= rows[i];
  }
  return all_finite(M, self->y) ? RPINN_OK : RPINN_ERROR_NUMERIC;
}

/* C^-1, lower triangle; the caller frees it. */
static RpinnStatus make_inverse(const RpinnLinearisation *self, double **inverse) {
  size_t M = self->M;
  *inverse = malloc((M * M + 1) * sizeof **inverse);
  if (!*inverse) return RPINN_ERROR_MEMORY;
  memcpy(*inverse, self->factor, M * M * sizeof **inverse);
  if (rpinn_dense_invert_factored(M, *inverse)) return RPINN_OK;
  free(*inverse);
  *inverse = NULL;
  return RPINN_ERROR_NUMERIC;
}

/* The diagonal of C^-1. */
static RpinnStatus invert(RpinnLinearisation *self) {
  double *inverse;
  RpinnStatus status = make_inverse(self, &inverse);
  if (status != RPINN_OK) return status;
  for (size_t i = 0; i < self->M; i++) self->inverse[i] = inverse[i * self->M + i];
  free(inverse);
  return all_finite(self->M, self->inverse) ? RPINN_OK : RPINN_ERROR_NUMERIC;
}

static double log_determinant(size_t order, const double *factor) {
  double sum = 0;
  for (size_t i = 0; i < order; i++) sum += 2 * log(factor[i * order + i]);
  return sum;
}

static RpinnStatus factorise(RpinnLinearisation *self) {
  size_t M = self->M;
  memcpy(self->factor, self->covariance, M * M * sizeof(double));
  memcpy(self->alpha, self->y, M * sizeof(double));
  if (!rpinn_dense_solve(M, self->factor, self->alpha)) return RPINN_ERROR_NUMERIC;
  self->log_determinant = log_determinant(M, self->factor);
  self->energy = 0.5 * rpinn_dense_dot(M, self->y, self->alpha);
  if (!isfinite(self->log_determinant) || !all_finite(M, self->alpha)) return RPINN_ERROR_NUMERIC;
  return invert(self);
}

/* ---- in the space of the parameters ---- */

/* J and y. */
static RpinnStatus linearise_in_parameters(RpinnLinearisation *self) {
  const RpinnLeastSquares *problem = self->problem;
  size_t M = self->M, N = self->N;
  RPINN_TRY(problem->jacobian(problem->data, self->theta, self->product, self->jacobian));
  for (size_t j = 0; j < N; j++)
    self->direction[j] = (self->theta[j] - prior_mean(problem, j)) / self->deviation[j];
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < N; j++) self->jacobian[i * N + j] *= self->deviation[j];
  rpinn_dense_times(M, N, self->jacobian, self->direction, self->y);
  for (size_t i = 0; i < M; i++) self->y[i] -= self->product[i];
  return all_finite(M, self->y) ? RPINN_OK : RPINN_ERROR_NUMERIC;
}

/* The evidence of rows y [count] with Jacobian J [count][N]: factor [N][N], mean x [N] and alpha [count] on the way. */
static bool solve_in_parameters(size_t count, size_t N, const double *jacobian, const double *y,
                                double *factor, double *mean, double *alpha, double *energy) {
  rpinn_dense_normal(count, N, jacobian, factor);
  for (size_t j = 0; j < N; j++) factor[j * N + j] += 1;
  rpinn_dense_transposed_times(count, N, jacobian, y, mean);
  if (!rpinn_dense_solve(N, factor, mean)) return false;
  rpinn_dense_times(count, N, jacobian, mean, alpha);
  for (size_t i = 0; i < count; i++) alpha[i] = y[i] - alpha[i];
  *energy = 0.5 * rpinn_dense_dot(count, alpha, alpha) + 0.5 * rpinn_dense_dot(N, mean, mean);
  return isfinite(*energy);
}

static RpinnStatus invert_in_parameters(RpinnLinearisation *self) {
  size_t M = self->M, N = self->N;
  double *rows = malloc((ROW_BLOCK * N + 1) * sizeof *rows);
  if (!rows) return RPINN_ERROR_MEMORY;
  for (size_t first = 0; first < M; first += ROW_BLOCK) {
    size_t count = M - first < ROW_BLOCK ? M - first : ROW_BLOCK;
    memcpy(rows, self->jacobian + first * N, count * N * sizeof *rows);
    rpinn_dense_solve_rows(N, self->factor, count, rows);
    for (size_t i = 0; i < count; i++)
      self->inverse[first + i] = 1 - rpinn_dense_dot(N, rows + i * N, rows + i * N);
  }
  free(rows);
  for (size_t i = 0; i < M; i++)
    if (!(self->inverse[i] > 0)) return RPINN_ERROR_NUMERIC;
  return RPINN_OK;
}

static RpinnStatus factorise_in_parameters(RpinnLinearisation *self) {
  if (!solve_in_parameters(self->M, self->N, self->jacobian, self->y, self->factor, self->mean, self->alpha,
                           &self->energy))
    return RPINN_ERROR_NUMERIC;
  self->log_determinant = log_determinant(self->N, self->factor);
  return isfinite(self->log_determinant) ? invert_in_parameters(self) : RPINN_ERROR_NUMERIC;
}

static double evidence_in_parameters(const RpinnLinearisation *self, const bool *chosen, size_t count) {
  size_t N = self->N, order = 0;
  double *memory = malloc((count * N + N * N + N + 2 * count + 1) * sizeof *memory), energy,
         result = (double)NAN;
  if (!memory) return result;
  double *factor = memory + count * N, *mean = factor + N * N, *y = mean + N, *alpha = y + count;
  for (size_t i = 0; i < self->M; i++) {
    if (!chosen[i]) continue;
    memcpy(memory + order * N, self->jacobian + i * N, N * sizeof *memory);
    y[order++] = self->y[i];
  }
  if (solve_in_parameters(count, N, memory, y, factor, mean, alpha, &energy))
    result = -energy - 0.5 * log_determinant(N, factor) - (double)count * half_log_two_pi;
  free(memory);
  return result;
}

/* m + S^1/2 z */
static void place(const RpinnLinearisation *self, const double *z, double *result) {
  for (size_t j = 0; j < self->N; j++) result[j] = prior_mean(self->problem, j) + self->deviation[j] * z[j];
}

static void draw_in_parameters(RpinnLinearisation *self, const double *eta, const double *epsilon,
                               double *draw) {
  for (size_t i = 0; i < self->M; i++) self->product[i] = self->y[i] + eta[i];
  rpinn_dense_transposed_times(self->M, self->N, self->jacobian, self->product, self->direction);
  rpinn_dense_add(self->N, 1, epsilon, self->direction);
  rpinn_dense_solve_factored(self->N, self->factor, self->direction);
  place(self, self->direction, draw);
}

/* ---- in either space ---- */

double rpinn_linearisation_bytes(double num_rows, double num_parameters) {
  bool in_parameters = num_parameters < num_rows; /* J and L, and a copy for some rows; or C, L and C^-1 */
  return sizeof(double) *
         (in_parameters ? 2 * (num_rows + num_parameters) * num_parameters : 3 * num_rows * num_rows);
}

RpinnStatus rpinn_linearisation_create(const RpinnLeastSquares *problem, const double *theta,
                                       RpinnLinearisation **linearisation) {
  assert(rpinn_importance_available(problem->num_parameters, problem->prior_root));
  RpinnLinearisation *self = allocate(problem);
  *linearisation = NULL;
  if (!self) return RPINN_ERROR_MEMORY;
  for (size_t j = 0; j < self->N; j++) {
    self->theta[j] = theta[j];
    self->deviation[j] = 1 / problem->prior_root[j];
  }
  RpinnStatus status = self->in_parameters ? linearise_in_parameters(self) : linearise(self);
  if (status == RPINN_OK) status = self->in_parameters ? factorise_in_parameters(self) : factorise(self);
  if (status == RPINN_OK)
    *linearisation = self;
  else
    rpinn_linearisation_destroy(self);
  return status;
}

void rpinn_linearisation_destroy(RpinnLinearisation *linearisation) {
  if (!linearisation) return;
  free(linearisation->unscaled);
  free(linearisation->theta);
  free(linearisation);
}

/* C or J, and y, of the target as it is, from now on. */
static RpinnStatus keep_unscaled(RpinnLinearisation *self) {
  size_t M = self->M, size = M * (self->in_parameters ? self->N : M);
  self->unscaled = malloc((size + 2 * M + 1) * sizeof(double));
  if (!self->unscaled) return RPINN_ERROR_MEMORY;
  memcpy(self->unscaled, self->in_parameters ? self->jacobian : self->covariance, size * sizeof(double));
  memcpy(self->unscaled + size, self->y, M * sizeof(double));
  self->scale = self->unscaled + size + M;
  return RPINN_OK;
}

/* C = I + F (C_0 - I) F, or J = F J_0. */
static void scale_matrix(RpinnLinearisation *self, const double *factors) {
  size_t M = self->M, N = self->N;
  for (size_t i = 0; i < M && self->in_parameters; i++)
    for (size_t j = 0; j < N; j++) self->jacobian[i * N + j] = factors[i] * self->unscaled[i * N + j];
  for (size_t i = 0; i < M && !self->in_parameters; i++) {
    for (size_t k = 0; k < i; k++)
      self->covariance[i * M + k] = factors[i] * factors[k] * self->unscaled[i * M + k];
    self->covariance[i * M + i] = 1 + factors[i] * factors[i] * (self->unscaled[i * M + i] - 1);
  }
}

RpinnStatus rpinn_linearisation_rescale(RpinnLinearisation *self, const double *factors) {
  size_t M = self->M;
  if (!self->unscaled && keep_unscaled(self) != RPINN_OK) return RPINN_ERROR_MEMORY;
  memcpy(self->scale, factors, M * sizeof *factors);
  scale_matrix(self, factors);
  const double *y = self->scale - M; /* before the scales */
  for (size_t i = 0; i < M; i++) self->y[i] = factors[i] * y[i];
  if (!all_finite(M, self->y)) return RPINN_ERROR_NUMERIC;
  return self->in_parameters ? factorise_in_parameters(self) : factorise(self);
}

/* ---- what the rows say ---- */

double rpinn_linearisation_energy(const RpinnLinearisation *linearisation) {
  return linearisation->energy;
}

double rpinn_linearisation_log_evidence(const RpinnLinearisation *linearisation) {
  return -rpinn_linearisation_energy(linearisation) - 0.5 * linearisation->log_determinant -
         (double)linearisation->M * half_log_two_pi;
}

double rpinn_linearisation_log_evidence_of(const RpinnLinearisation *linearisation, const bool *chosen) {
  size_t M = linearisation->M, count = 0, order = 0;
  for (size_t i = 0; i < M; i++) count += chosen[i];
  if (linearisation->in_parameters) return evidence_in_parameters(linearisation, chosen, count);
  double *matrix = malloc((count * count + 2 * count + 1) * sizeof *matrix), result = (double)NAN;
  if (!matrix) return result;
  double *y = matrix + count * count, *solution = y + count;
  for (size_t i = 0; i < M; i++) {
    if (!chosen[i]) continue;
    size_t column = 0;
    for (size_t k = 0; k <= i; k++)
      if (chosen[k]) matrix[order * count + column++] = linearisation->covariance[i * M + k];
    y[order] = solution[order] = linearisation->y[i];
    order++;
  }
  if (rpinn_dense_solve(count, matrix, solution))
    result = -0.5 * rpinn_dense_dot(count, y, solution) - 0.5 * log_determinant(count, matrix) -
             (double)count * half_log_two_pi;
  free(matrix);
  return result;
}

RpinnLeftOut rpinn_linearisation_leave_out(const RpinnLinearisation *linearisation, size_t row) {
  double z = linearisation->alpha[row] / sqrt(linearisation->inverse[row]);
  return (RpinnLeftOut){
      .z = z, .log_density = 0.5 * log(linearisation->inverse[row]) - 0.5 * z * z - half_log_two_pi};
}

double rpinn_linearisation_alpha(const RpinnLinearisation *linearisation, size_t row) {
  return linearisation->alpha[row];
}

double rpinn_linearisation_inverse_diagonal(const RpinnLinearisation *linearisation, size_t row) {
  return linearisation->inverse[row];
}

void rpinn_linearisation_shift(RpinnLinearisation *linearisation, const double *shift) {
  RpinnLinearisation *self = linearisation;
  size_t M = self->M, N = self->N;
  for (size_t i = 0; i < M; i++) self->y[i] += shift[i];
  memcpy(self->alpha, self->y, M * sizeof(double));
  if (self->in_parameters) {
    rpinn_dense_transposed_times(M, N, self->jacobian, self->y, self->mean);
    rpinn_dense_solve_factored(N, self->factor, self->mean);
    rpinn_dense_times(M, N, self->jacobian, self->mean, self->product);
    rpinn_dense_add(M, -1, self->product, self->alpha);
    self->energy =
        0.5 * rpinn_dense_dot(M, self->alpha, self->alpha) + 0.5 * rpinn_dense_dot(N, self->mean, self->mean);
  } else {
    rpinn_dense_solve_factored(M, self->factor, self->alpha);
    self->energy = 0.5 * rpinn_dense_dot(M, self->y, self->alpha);
  }
}

/* Sums over all pairs of a group's rows, with c = C^-1 and the correlations c_ik / sqrt(c_ii c_kk). */
typedef struct PairSums {
  double squares, correlations, correlation_squares;
} PairSums;

/* Rows first … first + count - 1, from the lower triangle of c. */
static PairSums sum_pairs(const RpinnLinearisation *self, const double *c, size_t first, size_t count) {
  PairSums sums = {0};
  for (size_t i = first; i < first + count; i++)
    for (size_t k = first; k <= i; k++) {
      double entry = c[i * self->M + k], correlation = entry / sqrt(self->inverse[i] * self->inverse[k]),
             times = k < i ? 2 : 1;
      sums.squares += times * entry * entry;
      sums.correlations += times * correlation;
      sums.correlation_squares += times * correlation * correlation;
    }
  return sums;
}

/* |W^T W|^2 in Frobenius' norm for W [count][N]; gram [N][N]. */
static double square_of_gram(size_t count, size_t N, const double *W, double *gram) {
  double sum = 0;
  rpinn_dense_normal(count, N, W, gram);
  for (size_t j = 0; j < N; j++)
    for (size_t k = 0; k <= j; k++) sum += (k < j ? 2 : 1) * gram[j * N + k] * gram[j * N + k];
  return sum;
}

/* The same without any c: with W_i = L^-1 J_i, c_ik is [i = k] - W_i.W_k, so that sums over pairs are those of N x N products.
 * W [count][N] is lost; room [N * N + N]. */
static PairSums sum_pairs_in_parameters(const RpinnLinearisation *self, double *W, size_t first, size_t count,
                                        double *room) {
  size_t N = self->N;
  double *gram = room, *total = room + N * N;
  PairSums sums = {.squares = square_of_gram(count, N, W, gram)};
  memset(total, 0, N * sizeof *total);
  for (size_t i = 0; i < count; i++) {
    double c = self->inverse[first + i];
    sums.squares += 1 - 2 * (1 - c);
    sums.correlations += 1 / c;
    sums.correlation_squares += (1 - 2 * (1 - c)) / (c * c);
    for (size_t j = 0; j < N; j++) W[i * N + j] /= sqrt(c);
    rpinn_dense_add(N, 1, W + i * N, total);
  }
  sums.correlations -= rpinn_dense_dot(N, total, total);
  sums.correlation_squares += square_of_gram(count, N, W, gram);
  return sums;
}

static RpinnRowGroup make_group(const RpinnLinearisation *self, const PairSums *sums, size_t first,
                                size_t count) {
  RpinnRowGroup group = {.num_rows = (double)count};
  double n = (double)count;
  for (size_t i = first; i < first + count; i++) {
    double z = self->alpha[i] / sqrt(self->inverse[i]);
    group.squares += self->alpha[i] * self->alpha[i];
    group.expected += self->inverse[i];
    group.z_mean += z / n;
    group.z_square += z * z / n;
  }
  group.freedom = group.expected * group.expected / sums->squares;
  group.z_error = sqrt(fmax(sums->correlations, 0)) / n;
  group.z_freedom = n * n / sums->correlation_squares;
  return group;
}

static RpinnStatus group_in_parameters(const RpinnLinearisation *self, size_t num_groups, const size_t *sizes,
                                       RpinnRowGroup *groups) {
  size_t N = self->N;
  double *W = malloc((self->M * N + N * N + N + 1) * sizeof *W);
  if (!W) return RPINN_ERROR_MEMORY;
  for (size_t g = 0, first = 0; g < num_groups; first += sizes[g++]) {
    memcpy(W, self->jacobian + first * N, sizes[g] * N * sizeof *W);
    rpinn_dense_solve_rows(N, self->factor, sizes[g], W);
    PairSums sums = sum_pairs_in_parameters(self, W, first, sizes[g], W + self->M * N);
    groups[g] = make_group(self, &sums, first, sizes[g]);
  }
  free(W);
  return RPINN_OK;
}

RpinnStatus rpinn_linearisation_groups(const RpinnLinearisation *linearisation, size_t num_groups,
                                       const size_t *sizes, RpinnRowGroup *groups) {
  double *inverse;
  if (linearisation->in_parameters) return group_in_parameters(linearisation, num_groups, sizes, groups);
  RpinnStatus status = make_inverse(linearisation, &inverse);
  if (status != RPINN_OK) return status;
  for (size_t g = 0, first = 0; g < num_groups; first += sizes[g++]) {
    PairSums sums = sum_pairs(linearisation, inverse, first, sizes[g]);
    groups[g] = make_group(linearisation, &sums, first, sizes[g]);
  }
  free(inverse);
  return RPINN_OK;
}

/* ---- what the parameters are ---- */

/* result = m + S^1/2 (epsilon - J^T weights); epsilon NULL: zero. weights [M] are lost. */
static RpinnStatus move(RpinnLinearisation *self, const double *epsilon, double *weights, double *result) {
  for (size_t i = 0; self->scale && i < self->M; i++) weights[i] *= self->scale[i];
  RpinnStatus status =
      rpinn_least_squares_transposed_times(self->problem, self->theta, weights, self->direction);
  if (status != RPINN_OK) return status;
  for (size_t j = 0; j < self->N; j++) {
    double deviation = self->deviation[j]; /* A^T weights is S^-1/2 J^T weights */
    result[j] = prior_mean(self->problem, j) +
                deviation * ((epsilon ? epsilon[j] : 0) - deviation * self->direction[j]);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_linearisation_mean(RpinnLinearisation *linearisation, double *mean) {
  if (linearisation->in_parameters) {
    place(linearisation, linearisation->mean, mean);
    return RPINN_OK;
  }
  for (size_t i = 0; i < linearisation->M; i++) linearisation->product[i] = -linearisation->alpha[i];
  return move(linearisation, NULL, linearisation->product, mean);
}

/* With d = theta - m the rows are J S^-1/2 d - y. */
RpinnStatus rpinn_linearisation_energy_at(RpinnLinearisation *linearisation, const double *theta,
                                          double *energy) {
  size_t M = linearisation->M, N = linearisation->N;
  double *rows = linearisation->product, *direction = linearisation->direction, squares = 0;
  for (size_t j = 0; j < N; j++) {
    direction[j] = theta[j] - prior_mean(linearisation->problem, j);
    squares += pow(direction[j] / linearisation->deviation[j], 2);
  }
  if (linearisation->in_parameters) {
    for (size_t j = 0; j < N; j++) direction[j] /= linearisation->deviation[j];
    rpinn_dense_times(M, N, linearisation->jacobian, direction, rows);
  } else {
    RPINN_TRY(
        rpinn_least_squares_jacobian_times(linearisation->problem, linearisation->theta, direction, rows));
    for (size_t i = 0; linearisation->scale && i < M; i++) rows[i] *= linearisation->scale[i];
  }
  for (size_t i = 0; i < M; i++) squares += pow(rows[i] - linearisation->y[i], 2);
  *energy = 0.5 * squares;
  return RPINN_OK;
}

/* projected [N or M] = L^-1 S^1/2 a, or L^-1 J S^1/2 a. */
static RpinnStatus project(RpinnLinearisation *self, const double *function, double *projected) {
  if (self->in_parameters) {
    for (size_t j = 0; j < self->N; j++) projected[j] = self->deviation[j] * function[j];
    rpinn_dense_solve_rows(self->N, self->factor, 1, projected);
    return RPINN_OK;
  }
  for (size_t j = 0; j < self->N; j++)
    self->direction[j] = self->deviation[j] * self->deviation[j] * function[j];
  RPINN_TRY(rpinn_least_squares_jacobian_times(self->problem, self->theta, self->direction, projected));
  for (size_t i = 0; self->scale && i < self->M; i++) projected[i] *= self->scale[i];
  rpinn_dense_solve_rows(self->M, self->factor, 1, projected);
  return RPINN_OK;
}

/* a^T S b, what the prior alone says. */
static double prior_covariance(const RpinnLinearisation *self, const double *a, const double *b) {
  double sum = 0;
  for (size_t j = 0; j < self->N; j++) sum += a[j] * b[j] * self->deviation[j] * self->deviation[j];
  return sum;
}

/* The covariance of theta is S^1/2 H^-1 S^1/2 = S - S^1/2 J^T C^-1 J S^1/2. */
RpinnStatus rpinn_linearisation_covariance(RpinnLinearisation *linearisation, size_t count,
                                           const double *functions, double *covariance) {
  size_t N = linearisation->N, order = linearisation->in_parameters ? N : linearisation->M;
  double *projected = malloc((count * order + 1) * sizeof *projected);
  if (!projected) return RPINN_ERROR_MEMORY;
  RpinnStatus status = RPINN_OK;
  for (size_t a = 0; a < count && status == RPINN_OK; a++)
    status = project(linearisation, functions + a * N, projected + a * order);
  for (size_t a = 0; a < count && status == RPINN_OK; a++)
    for (size_t b = 0; b <= a; b++) {
      double product = rpinn_dense_dot(order, projected + a * order, projected + b * order);
      if (!linearisation->in_parameters)
        product = prior_covariance(linearisation, functions + a * N, functions + b * N) - product;
      covariance[a * count + b] = covariance[b * count + a] = product;
    }
  free(projected);
  return status;
}

RpinnStatus rpinn_linearisation_draw(RpinnLinearisation *linearisation, const double *noise, double *draw) {
  size_t M = linearisation->M, N = linearisation->N;
  const double *eta = noise, *epsilon = noise + M;
  double *weights = linearisation->product;
  if (linearisation->in_parameters) {
    draw_in_parameters(linearisation, eta, epsilon, draw);
    return RPINN_OK;
  }
  for (size_t j = 0; j < N; j++) linearisation->direction[j] = linearisation->deviation[j] * epsilon[j];
  RpinnStatus status = rpinn_least_squares_jacobian_times(linearisation->problem, linearisation->theta,
                                                          linearisation->direction, weights);
  if (status != RPINN_OK) return status;
  for (size_t i = 0; i < M; i++) {
    if (linearisation->scale) weights[i] *= linearisation->scale[i];
    weights[i] += -eta[i] - linearisation->y[i];
  }
  rpinn_dense_solve_factored(M, linearisation->factor, weights);
  return move(linearisation, epsilon, weights, draw);
}
