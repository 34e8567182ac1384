/* Runs whose members have prior scales of their own: what is drawn, what is minimised under it, and what is refused. */
#include "hand_problem.h"

#include "scale_curve.h"

/* ---- the curve ---- */

/* The share of the curve below a scale, by many small steps. */
static double share_below(const RpinnScaleCurve *curve, double scale) {
  enum { STEPS = 200000 };
  double low = log(curve->scale[0]), high = log(curve->scale[curve->count - 1]), below = 0, total = 0;
  for (size_t i = 0; i < STEPS; i++) {
    double x = low + (high - low) * ((double)i + 0.5) / STEPS;
    size_t k = 0;
    while (x > log(curve->scale[k + 1])) k++;
    double left = log(curve->scale[k]), part = (x - left) / (log(curve->scale[k + 1]) - left);
    double density = exp((1 - part) * curve->log_density[k] + part * curve->log_density[k + 1] + 600);
    total += density;
    if (x <= log(scale)) below += density;
  }
  return below / total;
}

static void test_quantiles(void **state) {
  (void)state;
  /* rising, level, falling; densities that no double holds by themselves */
  static const RpinnScaleCurve curve = {4, {0.25, 0.5, 1, 3}, {-603, -600, -600, -605}};
  static const double probabilities[] = {0.01, 0.2, 0.5, 0.8, 0.99};
  double before = curve.scale[0];
  for (size_t k = 0; k < 5; k++) {
    double scale = rpinn_scale_curve_quantile(&curve, probabilities[k]);
    assert_true(scale > before);
    check_close(share_below(&curve, scale), probabilities[k], 2e-5);
    before = scale;
  }
  check_close(rpinn_scale_curve_quantile(&curve, 0), 0.25, 1e-12);
  check_close(rpinn_scale_curve_quantile(&curve, 1), 3, 1e-12);
  /* Far below the rest, a segment has no share; one point alone is all there is. */
  static const RpinnScaleCurve steep = {3, {0.1, 0.2, 0.4}, {-1e6, -5, -5}}, one = {1, {0.7}, {3}};
  check_relative(rpinn_scale_curve_quantile(&steep, 0.5), 0.2 * sqrt(2), 1e-4);
  check_close(rpinn_scale_curve_quantile(&one, 0.3), 0.7, 0);
}

/* ---- members ---- */

enum { MEMBERS = 7 };
#define COMMON                                                                                               \
  "method=rpinn optimizer=lm iterations=60 start=prior likelihood=noise scale_fields=no precision=double "   \
  "prior_shape=iid prior_integrate=yes "

/* Scale k follows from the curve in run.yaml, and member k has the loss that its energy has under it. */
static void test_members(void **state) {
  RunBench *bench = *state;
  run_make(bench, "run", hand_yaml, COMMON "prior_scale=evidence samples=7 threads=2");
  HandRun run = hand_open(bench, "run");
  RpinnPosterior *posterior = run.problem.posterior;
  const RpinnScaleCurve *curve = &posterior->problem->curve;
  const double *scales = hand_numbers(&run, "sample_stats/prior_scale", MEMBERS),
               *losses = hand_numbers(&run, "sample_stats/loss", MEMBERS);
  size_t M = posterior->model.num_rows, N = posterior->model.num_parameters;
  double *offsets = malloc((M + N) * sizeof *offsets), *theta = malloc(N * sizeof *theta), loss;
  assert_true(offsets && theta && curve->count >= 5 && N == run.num_weights + 2);
  for (uint64_t k = 0; k < MEMBERS; k++) {
    RpinnStream stream = rpinn_stream(3, RPINN_PURPOSE_PRIOR_SCALE, k, 0);
    check_relative(scales[k], rpinn_scale_curve_quantile(curve, rpinn_stream_uniform(&stream)), 1e-14);
    for (uint64_t other = 0; other < k; other++) assert_true(scales[k] != scales[other]);
    hand_theta(&run, k, theta);
    rpinn_posterior_draw_offsets(posterior, k, offsets);
    rpinn_posterior_take_scale(posterior, scales[k]);
    check_close(posterior->model.prior_root[0], 1 / scales[k], 1e-12);
    bench_require(&run.problem, rpinn_posterior_energy(NULL, posterior, theta, offsets, &loss, NULL, NULL),
                  "energy");
    check_relative(loss, losses[k], 1e-8);
  }
  free(offsets);
  free(theta);
  /* What the summary says of the scales. */
  assert_true(json_flag(run.summary, "prior/integrated"));
  check_relative(json_number(run.summary, "prior/scale_median"), rpinn_scale_curve_quantile(curve, 0.5),
                 1e-14);
  check_relative(json_number(run.summary, "prior/scale_q975"), rpinn_scale_curve_quantile(curve, 0.975),
                 1e-14);
  for (size_t t = 0; t < curve->count; t++) {
    char path[64];
    snprintf(path, sizeof path, "prior/trials/%zu/log_evidence", t);
    check_close(json_number(run.summary, path), curve->log_density[t], 0);
  }
  assert_non_null(strstr(json_text(run.summary, "weights/reason"), "every member has a scale of its own"));
  hand_close(&run);
}

/* A chain that continues a member has the prior of that member: its log density is -E under scale k. */
static void test_continued_members(void **state) {
  RunBench *bench = *state;
  run_make(bench, "run", hand_yaml,
           COMMON "prior_scale=evidence samples=7 threads=2 correct=nuts max_depth=4 correct_budget=300");
  HandRun run = hand_open(bench, "run");
  RpinnPosterior *posterior = run.problem.posterior;
  const double *scales = hand_numbers(&run, "sample_stats/prior_scale", MEMBERS),
               *densities = hand_numbers(&run, "sample_stats/lp", MEMBERS);
  double theta[32], energy;
  assert_true(posterior->model.num_parameters <= 32);
  for (uint64_t k = 0; k < MEMBERS; k++) {
    hand_theta(&run, k, theta);
    rpinn_posterior_take_scale(posterior, scales[k]);
    bench_require(&run.problem, rpinn_posterior_energy(NULL, posterior, theta, NULL, &energy, NULL, NULL),
                  "energy");
    check_relative(-energy, densities[k], 1e-8);
  }
  hand_close(&run);
}

/* Sessions, threads and run.yaml leave no mark on the draws. */
static void test_going_on(void **state) {
  RunBench *bench = *state;
  run_make(bench, "whole", hand_yaml, COMMON "prior_scale=loo samples=5 threads=1");
  run_make(bench, "parts", hand_yaml, COMMON "prior_scale=loo samples=2 threads=2");
  run_resume(bench, "parts", hand_yaml, COMMON "prior_scale=loo samples=5 threads=2");
  run_make(bench, "again", run_read(bench, "whole", "run.yaml"), "threads=3");
  HandRun whole = hand_open(bench, "whole");
  const char *const names[] = {"parts", "again"};
  for (size_t i = 0; i < 2; i++) {
    HandRun other = hand_open(bench, names[i]);
    assert_memory_equal(whole.weights, other.weights, 5 * whole.num_weights * sizeof *whole.weights);
    assert_memory_equal(hand_numbers(&whole, "sample_stats/prior_scale", 5),
                        hand_numbers(&other, "sample_stats/prior_scale", 5), 5 * sizeof(double));
    hand_close(&other);
  }
  hand_close(&whole);
}

/* Methods with one prior for all draws, and a scale that is given. */
static void test_refusals(void **state) {
  RunBench *bench = *state;
  static const struct {
    const char *settings, *message;
  } cases[] = {{"method=nuts prior_scale=loo prior_integrate=yes start=glorot",
                "method nuts has one prior for all draws"},
               {"method=laplace prior_scale=loo prior_integrate=yes start=prior",
                "method laplace has one prior for all draws"},
               {"method=svgd prior_scale=loo prior_integrate=yes optimizer=adam start=glorot",
                "method svgd has one prior for all draws"},
               {"method=rpinn prior_scale=0.5 prior_integrate=yes",
                "and the scale is given; expected a scale by loo"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    RpinnRun *run;
    assert_int_equal(run_try(bench, "refused", hand_yaml, cases[i].settings, (RpinnRunOptions){0}, &run),
                     RPINN_ERROR_INPUT);
    check_true(strstr(run_message(bench), cases[i].message) != NULL, "%s", run_message(bench));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_quantiles), test_in_folder(test_members),
                                     test_in_folder(test_continued_members), test_in_folder(test_going_on),
                                     test_in_folder(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
