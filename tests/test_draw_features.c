/* What draws predict as features: terms in units of their noise, unknowns in units of their prior, noise that is not known; and the
 * Jacobian beside differences. */
#include "problem_bench.h"

#include "draw_features.h"
#include "unknown_noise.h"

static const char yaml[] =
    "name: features\n"
    "coordinates: {x: [0, 1]}\n"
    "fields: {u: {network: [3]}}\n"
    "unknowns:\n"
    "  k: {start: 2, transform: log, prior: {mean: 0.5, std: 0.25}}\n"
    "  c: {start: 1, prior: {mean: 3, std: 2}}\n"
    "truth: {u: x}\n"
    "terms:\n"
    "  level: {expect: u, at: {grid: 4}, data: truth, noise: {unknown: true, start: 0.1, prior: {mean: -2, "
    "std: 1.5}}}\n"
    "  law: {expect: \"d(u, x) + k*u - c\", at: {grid: 3}, data: 0, noise: 0.2}\n"
    "predict: {grid: 5, quantities: [u]}\n"
    "settings: {likelihood: noise, prior_scale: 1.5, scale_fields: 'no', precision: double}\n";

enum { ROWS = 7, FEATURES = ROWS + 3, WEIGHTS = 10, DRAWN = WEIGHTS + 3 };

static void set_draw(double *theta, double shift) {
  for (size_t j = 0; j < DRAWN; j++) theta[j] = 0.4 * cos(shift + (double)(3 * j));
}

/* The features [2][FEATURES] of two draws, and their Jacobians [2][FEATURES][DRAWN] where they are wanted. */
static void evaluate(ProblemBench *bench, const RpinnBatchLeastSquares *features, double (*thetas)[DRAWN],
                     double (*rows)[FEATURES], double (*jacobians)[FEATURES * DRAWN]) {
  const size_t members[] = {0, 1};
  const double *at[] = {thetas[0], thetas[1]};
  double *to[] = {rows[0], rows[1]}, *slopes[2];
  for (size_t k = 0; jacobians && k < 2; k++) slopes[k] = jacobians[k];
  bench_require(bench,
                jacobians
                    ? features->jacobian(bench->context, features->data, 2, members, at, NULL, to, slopes)
                    : features->residuals(bench->context, features->data, 2, members, at, NULL, to, NULL),
                "features");
}

/* Whatever noise a draw has and the posterior is at, rows are in units of the noise that is stated, or started at. */
static void features_are_in_their_units(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(yaml, NULL);
  bench_build(&bench);
  RpinnPosterior *posterior = bench.posterior;
  RpinnBatchLeastSquares features;
  double thetas[2][DRAWN], rows[2][FEATURES], level[4], law[3], eta = 1;
  rpinn_posterior_set_noise(posterior, &eta);
  bench_require(&bench, rpinn_draw_features_create(bench.context, posterior, &features), "features");
  assert_int_equal(rpinn_posterior_num_drawn(posterior), DRAWN);
  assert_int_equal(features.num_parameters, DRAWN);
  assert_int_equal(features.num_rows, FEATURES);
  assert_int_equal(rpinn_draw_features_count(posterior), FEATURES);
  for (size_t k = 0; k < 2; k++) set_draw(thetas[k], (double)k);
  evaluate(&bench, &features, thetas, rows, NULL);
  for (size_t k = 0; k < 2; k++) {
    bench_require(&bench, rpinn_posterior_evaluate_term(bench.context, posterior, 0, thetas[k], level),
                  "level");
    bench_require(&bench, rpinn_posterior_evaluate_term(bench.context, posterior, 1, thetas[k], law), "law");
    for (size_t i = 0; i < 4; i++)
      check_close(rows[k][i], (level[i] - posterior->terms[0].targets[i]) / 0.1, 1e-12);
    for (size_t i = 0; i < 3; i++) check_close(rows[k][4 + i], law[i] / 0.2, 1e-12);
    check_close(rows[k][ROWS], (thetas[k][WEIGHTS] - 0.5) / 0.25, 1e-12);
    check_close(rows[k][ROWS + 1], (thetas[k][WEIGHTS + 1] - 3) / 2, 1e-12);
    check_close(rows[k][ROWS + 2], (thetas[k][WEIGHTS + 2] + 2) / 1.5, 1e-12);
  }
  bench_close(&bench);
}

static void jacobian_is_that_of_differences(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(yaml, NULL);
  bench_build(&bench);
  RpinnBatchLeastSquares features;
  double thetas[2][DRAWN], rows[2][FEATURES], alone[2][FEATURES], moved[2][FEATURES];
  static double jacobians[2][FEATURES * DRAWN];
  const double step = 1e-5;
  bench_require(&bench, rpinn_draw_features_create(bench.context, bench.posterior, &features), "features");
  for (size_t k = 0; k < 2; k++) set_draw(thetas[k], (double)k);
  evaluate(&bench, &features, thetas, alone, NULL);
  evaluate(&bench, &features, thetas, rows, jacobians);
  for (size_t k = 0; k < 2; k++)
    for (size_t f = 0; f < FEATURES; f++) check_close(rows[k][f], alone[k][f], 1e-12);
  for (size_t j = 0; j < DRAWN; j++) {
    for (size_t k = 0; k < 2; k++) set_draw(thetas[k], (double)k), thetas[k][j] -= step;
    evaluate(&bench, &features, thetas, rows, NULL);
    for (size_t k = 0; k < 2; k++) thetas[k][j] += 2 * step;
    evaluate(&bench, &features, thetas, moved, NULL);
    for (size_t k = 0; k < 2; k++)
      for (size_t f = 0; f < FEATURES; f++)
        check_close(jacobians[k][f * DRAWN + j], (moved[k][f] - rows[k][f]) / (2 * step), 1e-6);
  }
  bench_close(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(features_are_in_their_units),
                                     cmocka_unit_test(jacobian_is_that_of_differences)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
