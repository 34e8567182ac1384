/* Randomized draws of a user's least squares: on a linear problem they are posterior draws, and those of Laplace number by number; on
 * a curved one their weights mend them. Bits do not depend on threads, and what goes wrong is told. */
#include "check.h"

#include <time.h>

#include "rpinn/convergence.h"
#include "rpinn/laplace.h"
#include "rpinn/pareto.h"
#include "rpinn/randomized.h"

/* ---- a line through points: r_i = (a + b x_i - y_i) / s, priors N(0, 2) and N(1, 3) ---- */

enum { POINTS = 5, LINE = 2 };
static const double xs[POINTS] = {-1, 0, 0.5, 2, 3}, ys[POINTS] = {0.3, 0.8, 1.6, 3.1, 3.4}, deviation = 0.5;
static const double line_root[LINE] = {1.0 / 2, 1.0 / 3}, line_mean[LINE] = {0, 1};

static RpinnStatus line_rows(void *data, const double *t, double *rows) {
  (void)data;
  for (size_t i = 0; i < POINTS; i++) rows[i] = (t[0] + t[1] * xs[i] - ys[i]) / deviation;
  return RPINN_OK;
}

static RpinnStatus line_jacobian(void *data, const double *t, double *rows, double *jacobian) {
  for (size_t i = 0; i < POINTS; i++) {
    jacobian[2 * i] = 1 / deviation;
    jacobian[2 * i + 1] = xs[i] / deviation;
  }
  return line_rows(data, t, rows);
}

static const RpinnLeastSquares line = {.num_parameters = LINE,
                                       .num_rows = POINTS,
                                       .prior_root = line_root,
                                       .prior_mean = line_mean,
                                       .residuals = line_rows,
                                       .jacobian = line_jacobian};

/* H = P^2 + J^T J and its inverse times J^T y + P^2 mu, by hand. */
static void solve_line(double mean[2], double covariance[4]) {
  double a = line_root[0] * line_root[0], b = 0, c = line_root[1] * line_root[1];
  double g[2] = {a * line_mean[0], c * line_mean[1]};
  for (size_t i = 0; i < POINTS; i++) {
    a += 1 / (deviation * deviation), b += xs[i] / (deviation * deviation);
    c += xs[i] * xs[i] / (deviation * deviation);
    g[0] += ys[i] / (deviation * deviation), g[1] += xs[i] * ys[i] / (deviation * deviation);
  }
  double determinant = a * c - b * b;
  covariance[0] = c / determinant, covariance[1] = covariance[2] = -b / determinant;
  covariance[3] = a / determinant;
  mean[0] = covariance[0] * g[0] + covariance[1] * g[1];
  mean[1] = covariance[2] * g[0] + covariance[3] * g[1];
}

static double statistic(const RpinnDraws *draws, size_t i, const char *name) {
  int position = rpinn_draws_statistic(draws, name);
  check_true(position >= 0, "no statistic '%s'", name);
  return rpinn_draws_get(draws, i).statistics[position];
}

static void a_line_has_its_posterior(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnRandomizedOptions options = rpinn_randomized_default_options();
  const char *const names[] = {"intercept", "slope"};
  double mean[2], covariance[4], sums[2] = {0}, squares[3] = {0};
  RpinnDraws *draws;
  options.num_draws = 4000;
  options.seed = 11;
  options.names = names;
  assert_int_equal(rpinn_randomized_sample(context, 1, &line, &options, &draws), RPINN_OK);
  assert_int_equal(rpinn_draws_count(draws), 4000);
  assert_int_equal(rpinn_draws_parameter(draws, "slope"), 1);
  solve_line(mean, covariance);
  for (size_t i = 0; i < 4000; i++) {
    const double *t = rpinn_draws_get(draws, i).parameters;
    double a = t[0] - mean[0], b = t[1] - mean[1];
    sums[0] += a / 4000, sums[1] += b / 4000;
    squares[0] += a * a / 4000, squares[1] += a * b / 4000, squares[2] += b * b / 4000;
    assert_true(statistic(draws, i, "member") == (double)i && statistic(draws, i, "converged") == 1);
    check_relative(statistic(draws, i, "log_weight"), statistic(draws, 0, "log_weight"), 1e-9);
  }
  print_message("mean off by %.4f and %.4f; variances %.4f, %.4f, expected %.4f, %.4f\n", sums[0], sums[1],
                squares[0], squares[2], covariance[0], covariance[3]);
  check_close(sums[0], 0, 4 * sqrt(covariance[0] / 4000));
  check_close(sums[1], 0, 4 * sqrt(covariance[3] / 4000));
  check_relative(squares[0], covariance[0], 4 * sqrt(2.0 / 4000));
  check_relative(squares[2], covariance[3], 4 * sqrt(2.0 / 4000));
  check_relative(squares[1], covariance[1], 0.12);
  rpinn_draws_destroy(draws);
  rpinn_context_destroy(context);
}

static void draws_of_a_line_are_those_of_laplace(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnRandomizedOptions options = rpinn_randomized_default_options();
  RpinnLaplace *laplace;
  RpinnDraws *draws, *exact;
  double mean[2], covariance[4];
  options.num_draws = 50;
  options.stop.gradient_tolerance = 1e-10;
  options.seed = 4;
  solve_line(mean, covariance);
  const RpinnMinimizer minimizers[] = {RPINN_MINIMIZER_LM, RPINN_MINIMIZER_LBFGS};
  assert_int_equal(rpinn_laplace_create(context, &line, mean, &laplace), RPINN_OK);
  assert_int_equal(rpinn_laplace_sample(context, laplace, 4, 50, NULL, &exact), RPINN_OK);
  for (size_t k = 0; k < 2; k++) {
    options.minimizer = minimizers[k];
    assert_int_equal(rpinn_randomized_sample(context, 1, &line, &options, &draws), RPINN_OK);
    for (size_t i = 0; i < 50; i++)
      for (size_t j = 0; j < LINE; j++)
        check_close(rpinn_draws_get(draws, i).parameters[j], rpinn_draws_get(exact, i).parameters[j], 1e-5);
    rpinn_draws_destroy(draws);
  }
  rpinn_draws_destroy(exact);
  rpinn_laplace_destroy(laplace);
  rpinn_context_destroy(context);
}

/* ---- a cubic: r = (t^3 + t - 1.5) / 0.5 with t ~ N(0, 1) ---- */

static const double one = 1;

static RpinnStatus cubic_jacobian(void *data, const double *t, double *rows, double *jacobian) {
  (void)data;
  rows[0] = (t[0] * t[0] * t[0] + t[0] - 1.5) / 0.5;
  jacobian[0] = (3 * t[0] * t[0] + 1) / 0.5;
  return RPINN_OK;
}

static RpinnStatus cubic_rows(void *data, const double *t, double *rows) {
  double jacobian;
  return cubic_jacobian(data, t, rows, &jacobian);
}

static const RpinnLeastSquares cubic = {.num_parameters = 1,
                                        .num_rows = 1,
                                        .prior_root = &one,
                                        .residuals = cubic_rows,
                                        .jacobian = cubic_jacobian};

static double cubic_mean(void) {
  double sum = 0, mass = 0;
  for (int k = -40000; k <= 40000; k++) {
    double t = k * 1e-4, row;
    cubic_rows(NULL, &t, &row);
    double density = exp(-0.5 * row * row - 0.5 * t * t);
    sum += t * density;
    mass += density;
  }
  return sum / mass;
}

static void weights_mend_a_curved_problem(void **state) {
  (void)state;
  enum { DRAWS = 8000 };
  RpinnContext *context = rpinn_context_create();
  RpinnRandomizedOptions options = rpinn_randomized_default_options();
  RpinnDraws *draws;
  options.num_draws = DRAWS;
  options.stop.gradient_tolerance = 1e-9;
  assert_int_equal(rpinn_randomized_sample(context, 1, &cubic, &options, &draws), RPINN_OK);
  double *weights = malloc(DRAWS * sizeof *weights), plain = 0, mended = 0, expected = cubic_mean();
  RpinnParetoSmoothing smoothing;
  for (size_t i = 0; i < DRAWS; i++) weights[i] = statistic(draws, i, "log_weight");
  assert_int_equal(rpinn_pareto_smooth(DRAWS, weights, weights, &smoothing), RPINN_OK);
  for (size_t i = 0; i < DRAWS; i++) {
    double t = rpinn_draws_get(draws, i).parameters[0];
    plain += t / DRAWS;
    mended += exp(weights[i]) * t;
  }
  print_message("mean %.4f, weighted %.4f, by quadrature %.4f; Pareto k %.2f\n", plain, mended, expected,
                smoothing.k);
  check_true(fabs(plain - expected) > 0.012, "there is something to mend");
  check_close(mended, expected, 0.5 * fabs(plain - expected));
  check_true(smoothing.k < 0.5, "k %g", smoothing.k);
  free(weights);
  rpinn_draws_destroy(draws);
  rpinn_context_destroy(context);
}

/* ---- manners ---- */

static void bits_do_not_depend_on_threads_or_number(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnRandomizedOptions options = rpinn_randomized_default_options();
  RpinnLeastSquares problems[3] = {cubic, cubic, cubic};
  RpinnDraws *draws[3];
  options.num_draws = 60;
  for (size_t k = 0; k < 3; k++) {
    if (k == 2) options.num_draws = 20;
    assert_int_equal(rpinn_randomized_sample(context, k + 1, problems, &options, &draws[k]), RPINN_OK);
    for (size_t i = 0; i < options.num_draws; i++) {
      RpinnDraw left = rpinn_draws_get(draws[0], i), right = rpinn_draws_get(draws[k], i);
      assert_memory_equal(left.parameters, right.parameters, sizeof(double));
      assert_memory_equal(left.statistics, right.statistics,
                          rpinn_draws_num_statistics(draws[0]) * sizeof(double));
    }
  }
  for (size_t k = 0; k < 3; k++) rpinn_draws_destroy(draws[k]);
  rpinn_context_destroy(context);
}

/* Rows that are not finite for t < 0, and a start there. */
static RpinnStatus root_jacobian(void *data, const double *t, double *rows, double *jacobian) {
  (void)data;
  rows[0] = sqrt(t[0]) - 1;
  jacobian[0] = 0.5 / sqrt(t[0]);
  return RPINN_OK;
}

static RpinnStatus root_rows(void *data, const double *t, double *rows) {
  double jacobian;
  return root_jacobian(data, t, rows, &jacobian);
}

typedef struct Seen {
  RpinnWatchedProgress last;
} Seen;

static void see(void *user, const RpinnWatchedProgress *progress) {
  ((Seen *)user)->last = *progress;
}

static void attempts_are_made_and_failures_left_out(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnRandomizedOptions options = rpinn_randomized_default_options();
  RpinnLeastSquares problem = {.num_parameters = 1,
                               .num_rows = 1,
                               .prior_root = &one,
                               .residuals = root_rows,
                               .jacobian = root_jacobian};
  const double starts[] = {-1, 2, -3, -4};
  Seen seen = {0};
  RpinnDraws *draws;
  options.num_draws = 8;
  options.num_starts = 4;
  options.starts = starts;
  options.max_retries = 1;
  options.watch = (RpinnWatch){.progress = see, .user = &seen};
  assert_int_equal(rpinn_randomized_sample(context, 1, &problem, &options, &draws), RPINN_OK);
  /* 0 and 4 go on to start 1; 1 and 5 begin there; 2, 3, 6 and 7 find none */
  assert_int_equal(rpinn_draws_count(draws), 4);
  const double members[] = {0, 1, 4, 5}, attempts[] = {1, 0, 1, 0};
  for (size_t i = 0; i < 4; i++) {
    assert_true(statistic(draws, i, "member") == members[i]);
    assert_true(statistic(draws, i, "attempts") == attempts[i]);
    assert_true(rpinn_draws_get(draws, i).parameters[0] > 0);
  }
  assert_int_equal(seen.last.failed, 4);
  assert_int_equal(seen.last.done, 8);
  assert_true(seen.last.last);
  rpinn_draws_destroy(draws);
  rpinn_context_destroy(context);
}

static bool has_seen_five(void *user) {
  return ((Seen *)user)->last.done >= 5;
}

static RpinnStatus slow_rows(void *data, const double *t, double *rows) {
  struct timespec pause = {.tv_nsec = 2000000};
  nanosleep(&pause, NULL);
  return line_rows(data, t, rows);
}

static void an_interruption_leaves_what_was_made(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnRandomizedOptions options = rpinn_randomized_default_options();
  RpinnLeastSquares problem = line;
  RpinnDraws *draws, *whole;
  Seen seen = {0};
  options.num_draws = 1000;
  assert_int_equal(rpinn_randomized_sample(context, 1, &line, &options, &whole), RPINN_OK);
  problem.residuals = slow_rows;
  options.watch = (RpinnWatch){.progress = see, .interrupted = has_seen_five, .user = &seen};
  assert_int_equal(rpinn_randomized_sample(context, 1, &problem, &options, &draws), RPINN_ERROR_INTERRUPTED);
  size_t count = rpinn_draws_count(draws);
  print_message("%zu draws\n", count);
  assert_true(count >= 5 && count < 1000);
  for (size_t i = 0; i < count; i++)
    assert_memory_equal(rpinn_draws_get(draws, i).parameters, rpinn_draws_get(whole, i).parameters,
                        LINE * sizeof(double));
  rpinn_draws_destroy(draws);
  rpinn_draws_destroy(whole);
  rpinn_context_destroy(context);
}

static void what_was_not_asked_for_is_not_there(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnRandomizedOptions options = rpinn_randomized_default_options();
  RpinnDraws *draws;
  options.num_draws = 3;
  options.weights = false;
  assert_int_equal(rpinn_randomized_sample(context, 1, &line, &options, &draws), RPINN_OK);
  assert_true(isnan(statistic(draws, 0, "log_weight")));
  rpinn_draws_destroy(draws);
  options.weights = true;
  options.stop.max_iterations = 1; /* a budget that is spent is no convergence */
  assert_int_equal(rpinn_randomized_sample(context, 1, &cubic, &options, &draws), RPINN_OK);
  assert_true(statistic(draws, 0, "converged") == 0 && isnan(statistic(draws, 0, "log_weight")));
  rpinn_draws_destroy(draws);
  rpinn_context_destroy(context);
}

static void mistakes_are_named(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnRandomizedOptions options = rpinn_randomized_default_options();
  RpinnLeastSquares problem = line;
  const double roots[LINE] = {1, 0};
  RpinnDraws *draws;
  options.num_draws = 3;
  problem.prior_root = roots;
  assert_int_equal(rpinn_randomized_sample(context, 1, &problem, &options, &draws), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message,
                      "parameter 1 has no prior to start from; expected starts, or a positive prior root");
  const double start[LINE] = {0, 0};
  options.num_starts = 1;
  options.starts = start; /* with starts a flat prior will do, without weights */
  assert_int_equal(rpinn_randomized_sample(context, 1, &problem, &options, &draws), RPINN_OK);
  assert_true(isnan(statistic(draws, 2, "log_weight")));
  rpinn_draws_destroy(draws);
  options.minimizer = RPINN_MINIMIZER_ADAGRAD;
  assert_int_equal(rpinn_randomized_sample(context, 1, &problem, &options, &draws), RPINN_ERROR_INPUT);
  options = rpinn_randomized_default_options();
  options.stop.max_iterations = 0;
  assert_int_equal(rpinn_randomized_sample(context, 1, &line, &options, &draws), RPINN_ERROR_INPUT);
  assert_null(draws);
  problem = line;
  problem.jacobian = NULL;
  assert_int_equal(rpinn_randomized_sample(context, 1, &problem, &options, &draws), RPINN_ERROR_INPUT);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_line_has_its_posterior),
                                     cmocka_unit_test(draws_of_a_line_are_those_of_laplace),
                                     cmocka_unit_test(weights_mend_a_curved_problem),
                                     cmocka_unit_test(bits_do_not_depend_on_threads_or_number),
                                     cmocka_unit_test(attempts_are_made_and_failures_left_out),
                                     cmocka_unit_test(an_interruption_leaves_what_was_made),
                                     cmocka_unit_test(what_was_not_asked_for_is_not_there),
                                     cmocka_unit_test(mistakes_are_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
