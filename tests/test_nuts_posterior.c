/* NUTS on what it is for: calibrated on problems drawn from their prior, and exact on a network whose posterior
 * has a closed form. */
#include "chain_statistics.h"
#include "problem_bench.h"

#include "random_stream.h"
#include "rpinn/nuts.h"

/* ---- simulation-based calibration ---- */

/* y_i ~ N(a + b x_i, exp(s)^2) at ten points, with a, b ~ N(0, 1) and s ~ N(-0.5, 0.5^2). */
enum { POINTS = 10, UNKNOWNS = 3 };
typedef struct Line {
  double y[POINTS];
} Line;

static double line_x(int i) {
  return -1 + 2.0 * i / (POINTS - 1);
}

static RpinnStatus line_density(void *data, const double *t, double *log_density, double *gradient) {
  const Line *line = data;
  double precision = exp(-2 * t[2]), squares = 0, g0 = -t[0], g1 = -t[1];
  for (int i = 0; i < POINTS; i++) {
    double off = line->y[i] - t[0] - t[1] * line_x(i);
    squares += off * off;
    g0 += off * precision;
    g1 += off * precision * line_x(i);
  }
  *log_density =
      -0.5 * (t[0] * t[0] + t[1] * t[1]) - 2 * pow(t[2] + 0.5, 2) - POINTS * t[2] - 0.5 * squares * precision;
  if (!gradient) return RPINN_OK;
  gradient[0] = g0;
  gradient[1] = g1;
  gradient[2] = -4 * (t[2] + 0.5) - POINTS + squares * precision;
  return RPINN_OK;
}

static void draw_truth(RpinnStream *stream, double truth[UNKNOWNS], Line *line) {
  truth[0] = rpinn_stream_normal(stream);
  truth[1] = rpinn_stream_normal(stream);
  truth[2] = -0.5 + 0.5 * rpinn_stream_normal(stream);
  for (int i = 0; i < POINTS; i++)
    line->y[i] = truth[0] + truth[1] * line_x(i) + exp(truth[2]) * rpinn_stream_normal(stream);
}

/* The rank of the truth among independent draws of its posterior is uniform. 400 problems, 99 draws of every
 * fifth iteration (so that they are nearly independent), ranks in 20 bins: chi-square with 19 degrees of
 * freedom, each of the three unknowns at the level 1e-4. */
static void ranks_of_the_truth_are_uniform(void **state) {
  (void)state;
  enum { PROBLEMS = 400, DRAWS = 99, BINS = 20 };
  size_t counts[UNKNOWNS][BINS] = {{0}};
  RpinnContext *context = rpinn_context_create();
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_warmup = 300;
  options.num_draws = DRAWS;
  options.thin = 5;
  for (uint64_t k = 0; k < PROBLEMS; k++) {
    RpinnStream stream = rpinn_stream(41, RPINN_PURPOSE_CHECK, k, 0);
    double truth[UNKNOWNS];
    Line line;
    draw_truth(&stream, truth, &line);
    RpinnLogDensity target = {.num_parameters = UNKNOWNS, .data = &line, .evaluate = line_density};
    RpinnDraws *draws;
    assert_int_equal(rpinn_nuts_sample(context, &target, &options, 1000 + k, 1, NULL, &draws), RPINN_OK);
    for (int u = 0; u < UNKNOWNS; u++) {
      size_t rank = 0;
      for (size_t i = 0; i < DRAWS; i++) rank += rpinn_draws_get(draws, i).parameters[u] < truth[u];
      counts[u][rank * BINS / (DRAWS + 1)]++;
    }
    rpinn_draws_destroy(draws);
  }
  for (int u = 0; u < UNKNOWNS; u++) {
    double chi_square = 0, expected = (double)PROBLEMS / BINS;
    for (int b = 0; b < BINS; b++) chi_square += pow((double)counts[u][b] - expected, 2) / expected;
    print_message("unknown %d: chi-square %.1f\n", u, chi_square);
    check_true(chi_square < chi_square_bound(BINS - 1), "unknown %d: chi-square %g, at most %g", u,
               chi_square, chi_square_bound(BINS - 1));
  }
  rpinn_context_destroy(context);
}

/* ---- the closed form ---- */

static const char *const linear_poisson =
    "name: poisson-output\n"
    "coordinates: {x: [-1, 1]}\n"
    "constants: {k: -1/pi^2, sigma: 0.1, Nf: 32}\n"
    "fields:\n"
    "  u: {network: [50, 50], scale_inputs: [-0.5, 0.5], trainable: output}\n"
    "quantities: {f: \"k*d(u, x, x)\"}\n"
    "truth: {u: sin(pi*x), f: sin(pi*x)}\n"
    "terms:\n"
    "  f: {expect: f, at: {grid: Nf}, data: truth, noise: sigma}\n"
    "  b: {expect: u, at: {boundary: all}, data: truth, noise: sigma}\n"
    "prior: {reference_term: f}\n"
    "predict: {grid: 21, quantities: [u, f]}\n"
    "settings: {likelihood: noise, prior_scale: 1, scale_fields: no, backend: cpu, precision: double}\n";

/* A [n][n], symmetric and positive definite, to its inverse, by elimination without pivots. */
static void invert(size_t n, double *A) {
  for (size_t p = 0; p < n; p++) {
    double pivot = A[p * n + p];
    A[p * n + p] = 1;
    for (size_t j = 0; j < n; j++) A[p * n + j] /= pivot;
    for (size_t i = 0; i < n; i++) {
      if (i == p) continue;
      double factor = A[i * n + p];
      A[i * n + p] = 0;
      for (size_t j = 0; j < n; j++) A[i * n + j] -= factor * A[p * n + j];
    }
  }
}

/* The posterior is N(m, C) with C = (J^T J + P^2)^-1, m = -C J^T r(0). */
static void closed_form(RpinnPosterior *posterior, double *mean, double *covariance) {
  size_t N = rpinn_posterior_num_parameters(posterior), M = rpinn_posterior_num_rows(posterior);
  double *J = calloc(M * N + M + 2 * N, sizeof *J), *rows = J + M * N, *zero = rows + M, *slope = zero + N;
  assert_int_equal(rpinn_posterior_residuals(NULL, posterior, zero, rows, J), RPINN_OK);
  for (size_t a = 0; a < N; a++) {
    for (size_t i = 0; i < M; i++) slope[a] += J[i * N + a] * rows[i];
    for (size_t b = 0; b < N; b++) {
      covariance[a * N + b] = a == b ? pow(posterior->model.prior_root[a], 2) : 0;
      for (size_t i = 0; i < M; i++) covariance[a * N + b] += J[i * N + a] * J[i * N + b];
    }
  }
  invert(N, covariance);
  for (size_t a = 0; a < N; a++) {
    mean[a] = 0;
    for (size_t b = 0; b < N; b++) mean[a] -= covariance[a * N + b] * slope[b];
  }
  free(J);
}

/* The z scores of all 51 means and 51 variances. MCSE come from 63 batch means, so a score has Student's law
 * with 62 degrees of freedom and exceeds 5 with probability 5e-6: the largest of 102, however they depend on
 * each other, exceeds 5 with probability at most 5e-4. At most 1 in 102 may exceed 4 (each does so with
 * probability 2e-4). The root of the mean of their squares is near 1. */
static void check_moments(const RpinnDraws *draws, size_t N, const double *mean, const double *covariance,
                          const char *what) {
  size_t count = rpinn_draws_count(draws);
  double *values = malloc(count * sizeof *values), worst = 0, squares = 0;
  size_t beyond = 0;
  for (size_t j = 0; j < N; j++)
    for (int power = 1; power <= 2; power++) {
      for (size_t i = 0; i < count; i++)
        values[i] = pow(rpinn_draws_get(draws, i).parameters[j] - mean[j], power);
      double score = estimate_score(count, values, power == 1 ? 0 : covariance[j * N + j]);
      worst = fmax(worst, score);
      beyond += score > 4;
      squares += score * score / (double)(2 * N);
    }
  print_message("%s: largest z %.2f, root mean square %.2f of %zu\n", what, worst, sqrt(squares), 2 * N);
  check_true(worst < 5 && beyond <= 1 && sqrt(squares) < 1.5, "%s: largest z %g, root mean square %g", what,
             worst, sqrt(squares));
  free(values);
}

static void network_with_a_closed_form(void **state) {
  (void)state;
  const RpinnMetric metrics[] = {RPINN_METRIC_DENSE, RPINN_METRIC_DIAGONAL};
  ProblemBench bench = bench_parse(linear_poisson, NULL);
  bench_require(&bench, rpinn_posterior_create(bench.context, bench.problem, true, &bench.posterior),
                "posterior");
  size_t N = rpinn_posterior_num_parameters(bench.posterior);
  assert_int_equal(N, 51);
  double mean[51], covariance[51 * 51];
  closed_form(bench.posterior, mean, covariance);
  RpinnPosteriorMember member = {.posterior = bench.posterior};
  RpinnObjective objective = rpinn_posterior_objective(&member);
  RpinnLogDensity target = rpinn_log_density_of_objective(&objective);
  for (int m = 0; m < 2; m++) {
    RpinnNutsOptions options = rpinn_nuts_default_options();
    options.metric = metrics[m];
    options.num_draws = 2000;
    RpinnDraws *draws;
    bench_require(&bench, rpinn_nuts_sample(bench.context, &target, &options, 43, 2, NULL, &draws), "sample");
    check_moments(draws, N, mean, covariance, m == 0 ? "dense" : "diagonal");
    rpinn_draws_destroy(draws);
  }
  bench_close(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_of_the_truth_are_uniform),
                                     cmocka_unit_test(network_with_a_closed_form)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
