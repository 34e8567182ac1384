#include "variational_gaussian.h"

#include <math.h>
#include <string.h>

#include "dense_algebra.h"

size_t rpinn_variational_gaussian_size(size_t N, size_t rank) {
  return N * (2 + rank);
}

bool rpinn_variational_gaussian_create(RpinnArena *arena, size_t N, size_t rank, bool of_precision,
                                       RpinnVariationalGaussian *gaussian) {
  double *phi = RPINN_ARENA_NEW(arena, double, rpinn_variational_gaussian_size(N, rank));
  *gaussian = (RpinnVariationalGaussian){.N = N,
                                         .rank = rank,
                                         .of_precision = of_precision,
                                         .phi = phi,
                                         .deviation = RPINN_ARENA_NEW(arena, double, N),
                                         .root = RPINN_ARENA_NEW(arena, double, rank *rank),
                                         .unit = RPINN_ARENA_NEW(arena, double, rank)};
  if (!phi || !gaussian->deviation || !gaussian->root || !gaussian->unit) return false;
  gaussian->mean = phi;
  gaussian->omega = phi + N;
  gaussian->factors = phi + 2 * N;
  return true;
}

/* C, its root, and half of its log determinant; false where it is not finite. */
static bool settle_factors(RpinnVariationalGaussian *gaussian, double *half_log_determinant) {
  size_t N = gaussian->N, r = gaussian->rank;
  *half_log_determinant = 0;
  if (!r) return true;
  rpinn_dense_normal(N, r, gaussian->factors, gaussian->root);
  for (size_t k = 0; k < r; k++) {
    gaussian->root[k * r + k] += 1;
    gaussian->unit[k] = sqrt(gaussian->root[k * r + k] / (double)N);
  }
  if (!rpinn_dense_factor(r, gaussian->root)) return false;
  for (size_t k = 0; k < r; k++) *half_log_determinant += log(gaussian->root[k * r + k]);
  return true;
}

bool rpinn_variational_gaussian_settle(RpinnVariationalGaussian *gaussian) {
  const double log_two_pi = log(2 * acos(-1.0));
  double sum = 0.5 * (double)gaussian->N * log_two_pi, half_log_determinant;
  bool finite = true;
  for (size_t j = 0; j < gaussian->N; j++) {
    gaussian->deviation[j] = exp(gaussian->omega[j]);
    sum += gaussian->omega[j];
    finite &= isfinite(gaussian->mean[j]) && isfinite(gaussian->deviation[j]) && gaussian->deviation[j] > 0;
  }
  if (!finite || !settle_factors(gaussian, &half_log_determinant)) return false;
  gaussian->log_scale = sum + (gaussian->of_precision ? -half_log_determinant : half_log_determinant);
  return isfinite(gaussian->log_scale);
}

/* ---- products with V ---- */

/* weights [rank] = C^-1 V^T x */
static void solve(const RpinnVariationalGaussian *gaussian, const double *x, double *weights) {
  rpinn_dense_transposed_times(gaussian->N, gaussian->rank, gaussian->factors, x, weights);
  rpinn_dense_solve_factored(gaussian->rank, gaussian->root, weights);
}

/* x += factor V weights */
static void add_factors(const RpinnVariationalGaussian *gaussian, double factor, const double *weights,
                        double *x) {
  const double *row = gaussian->factors;
  for (size_t j = 0; j < gaussian->N; j++, row += gaussian->rank) {
    double sum = 0;
    for (size_t k = 0; k < gaussian->rank; k++) sum += row[k] * weights[k];
    x[j] += factor * sum;
  }
}

static double log_density_of(const RpinnVariationalGaussian *gaussian, const double *x, const double *u) {
  double square = 0;
  for (size_t j = 0; j < gaussian->N; j++) square += x[j] * u[j];
  return -gaussian->log_scale - 0.5 * square;
}

/* ---- draws ---- */

double rpinn_variational_gaussian_draw(const RpinnVariationalGaussian *gaussian, RpinnStream *stream,
                                       double *z, double *x, double *u, double *solved) {
  size_t N = gaussian->N;
  double *y = gaussian->of_precision ? u : x, *other = gaussian->of_precision ? x : u;
  rpinn_stream_normals(stream, gaussian->rank, z);
  rpinn_stream_normals(stream, N, y);
  if (gaussian->rank) add_factors(gaussian, 1, z, y);
  memcpy(other, y, N * sizeof *other);
  if (gaussian->rank) {
    solve(gaussian, y, solved);
    add_factors(gaussian, -1, solved, other);
  }
  return log_density_of(gaussian, x, u);
}

void rpinn_variational_gaussian_make_draw(const RpinnVariationalGaussian *gaussian, uint64_t seed,
                                          uint64_t draw, double *room, double *theta, double *log_q) {
  size_t N = gaussian->N;
  double *x = room, *u = x + N, *z = u + N;
  RpinnStream stream = rpinn_stream(seed, RPINN_PURPOSE_VARIATIONAL_DRAW, draw, 0);
  double log_density = rpinn_variational_gaussian_draw(gaussian, &stream, z, x, u, z + gaussian->rank);
  for (size_t j = 0; j < N; j++) theta[j] = gaussian->mean[j] + gaussian->deviation[j] * x[j];
  if (log_q) *log_q = log_density;
}

double rpinn_variational_gaussian_log_density(const RpinnVariationalGaussian *gaussian, const double *theta,
                                              double *room) {
  size_t N = gaussian->N;
  double *x = room, *u = x + N, *weights = u + N;
  for (size_t j = 0; j < N; j++) u[j] = x[j] = (theta[j] - gaussian->mean[j]) / gaussian->deviation[j];
  if (gaussian->rank && gaussian->of_precision) {
    rpinn_dense_transposed_times(N, gaussian->rank, gaussian->factors, x, weights);
    add_factors(gaussian, 1, weights, u);
  } else if (gaussian->rank) {
    solve(gaussian, x, weights);
    add_factors(gaussian, -1, weights, u);
  }
  return log_density_of(gaussian, x, u);
}

/* ---- the gradient ---- */

/* h of parameter j. */
static double slope_of(const RpinnVariationalGaussian *gaussian, const RpinnVariationalPair *pair, bool total,
                       size_t j) {
  double b = 0.5 * gaussian->deviation[j] * (pair->slopes[0][j] - pair->slopes[1][j]);
  return total ? b : b + pair->u[j];
}

void rpinn_variational_gaussian_pull(const RpinnVariationalGaussian *gaussian, bool total,
                                     RpinnVariationalPair *pair) {
  size_t r = gaussian->rank;
  const double *row = gaussian->factors;
  if (!r || !gaussian->of_precision) return;
  memset(pair->pulled, 0, r * sizeof *pair->pulled);
  for (size_t j = 0; j < gaussian->N; j++, row += r) {
    double h = slope_of(gaussian, pair, total, j);
    for (size_t k = 0; k < r; k++) pair->pulled[k] += h * row[k];
  }
  rpinn_dense_solve_factored(r, gaussian->root, pair->pulled);
}

/* What the entropy brings to row j of V: the derivative of +- 1/2 log det C. */
static void start_factors(const RpinnVariationalGaussian *gaussian, bool total, size_t j, double *row) {
  size_t r = gaussian->rank;
  memset(row, 0, r * sizeof *row);
  if (!total || !r) return;
  memcpy(row, gaussian->factors + j * r, r * sizeof *row);
  rpinn_dense_solve_factored(r, gaussian->root, row);
  for (size_t k = 0; k < r && gaussian->of_precision; k++) row[k] = -row[k];
}

static void add_to_factors(const RpinnVariationalGaussian *gaussian, const RpinnVariationalPair *pair,
                           size_t j, double share, double h, double *row) {
  size_t r = gaussian->rank;
  const double *own = gaussian->factors + j * r;
  double solved = share * h, x = share * pair->x[j];
  if (!gaussian->of_precision) {
    for (size_t k = 0; k < r; k++) row[k] += solved * pair->z[k];
    return;
  }
  for (size_t k = 0; k < r; k++) solved -= share * own[k] * pair->pulled[k];
  for (size_t k = 0; k < r; k++) row[k] += solved * (pair->z[k] - pair->solved[k]) - x * pair->pulled[k];
}

void rpinn_variational_gaussian_gradient(const RpinnVariationalGaussian *gaussian, size_t num_pairs,
                                         const RpinnVariationalPair *pairs, bool total, size_t first,
                                         size_t count, double *gradient) {
  size_t N = gaussian->N, r = gaussian->rank;
  double share = 1 / (double)num_pairs;
  for (size_t j = first; j < first + count; j++) {
    double *row = gradient + 2 * N + j * r, of_mean = 0, of_omega = total ? 1 : 0;
    start_factors(gaussian, total, j, row);
    for (size_t p = 0; p < num_pairs; p++) {
      const RpinnVariationalPair *pair = &pairs[p];
      double h = slope_of(gaussian, pair, total, j);
      of_mean += share * 0.5 * gaussian->deviation[j] * (pair->slopes[0][j] + pair->slopes[1][j]);
      of_omega += share * h * pair->x[j];
      if (r) add_to_factors(gaussian, pair, j, share, h, row);
    }
    gradient[j] = of_mean;
    gradient[N + j] = of_omega;
  }
}
