/* Method vi as a user meets it: on a linear model against the closed form, its files by value, weights where they may be used, noise
 * that is not known, stops, and what it refuses. */
#include "hand_files.h"
#include "linear_model.h"

#include "run_identity.h"
#include "run_record.h"
#include "variational_gaussian.h"

#define FIT "method=vi start=member optimizer=lm iterations=20000 "

static const char noisy_yaml[] = "name: noisy\n"
                                 "coordinates: {x: [-1, 1]}\n"
                                 "fields: {u: {network: [4], trainable: output}}\n"
                                 "truth: {u: sin(2*x)}\n"
                                 "terms:\n"
                                 "  d: {expect: u, at: {grid: 20}, data: truth, noise: {unknown: true, "
                                 "truth: 0.2, prior: {mean: -2, std: 1}}}\n"
                                 "predict: {grid: 5, quantities: [u]}\n"
                                 "settings: {prior_scale: 1.5, samples: 400, threads: 2, seed: 3, method: "
                                 "vi, family: precision, rank: 21}\n";

/* ---- the closed form ---- */

static RpinnRun *reopen(const RunBench *bench, const char *name) {
  RpinnRun *run;
  run_require(bench, rpinn_run_reopen(bench->context, run_path(bench, name, NULL), &run));
  return run;
}

/* The mean is exact, deviations are 1/sqrt of the diagonal of the precision, and the bound is below the evidence by what the closed
 * form says: 1/2 sum log H_jj - 1/2 log det H. */
static void a_mean_field_of_a_linear_model(void **state) {
  RunBench *bench = *state;
  const RpinnJsonValue *summary = run_make(bench, "run", linear_yaml, FIT "samples=2000");
  RpinnRun *run = reopen(bench, "run");
  Closed closed = closed_form(run->posteriors[0]);
  double gap = 0, covariance[N][N], work[N][N];
  memcpy(covariance, closed.covariance, sizeof covariance);
  gap += 0.5 * invert(covariance, work); /* work: the precision */
  for (size_t j = 0; j < N; j++) {
    double deviation = 1 / sqrt(work[j][j]);
    gap += 0.5 * log(work[j][j]);
    check_close(run->variational.q->mean[j], closed.mean[j], 0.1 * sqrt(closed.covariance[j][j]));
    check_relative(run->variational.q->deviation[j], deviation, 0.1);
  }
  double elbo = json_number(summary, "variational/elbo"),
         error = json_number(summary, "variational/elbo_error");
  check_close(elbo, closed.log_evidence - gap, 4 * error + 0.1);
  assert_true(elbo < closed.log_evidence && gap > 1 && error < 0.5);
  assert_string_equal(json_text(summary, "variational/family"), "mean_field");
  check_close(json_number(summary, "variational/rank"), 0, 0);
  assert_true(json_flag(summary, "variational/converged"));
  check_close(json_number(summary, "members/converged"), 2000, 0);
  rpinn_run_destroy(run);
}

/* As many factors as rows start at the posterior itself: bound, bands and weights tell so, and there is no caution. */
static void enough_factors_of_a_linear_model(void **state) {
  RunBench *bench = *state;
  static const char *const settings[] = {FIT "family=precision rank=7 samples=2000",
                                         FIT "family=low_rank rank=8 samples=2000 pairs=64"};
  for (size_t f = 0; f < 2; f++) {
    const char *name = f ? "low_rank" : "precision";
    const RpinnJsonValue *summary = run_make(bench, name, linear_yaml, settings[f]);
    RpinnRun *run = reopen(bench, name);
    Closed closed = closed_form(run->posteriors[0]);
    check_close(json_number(summary, "variational/elbo"), closed.log_evidence,
                (f ? 5e-3 : 1e-3) + 4 * json_number(summary, "variational/elbo_error"));
    for (size_t p = 0; p < POINTS; p++) {
      double mean = 0, variance = 0;
      for (size_t j = 0; j < N; j++) {
        mean += closed.B[p][j] * closed.mean[j];
        for (size_t k = 0; k < N; k++) variance += closed.B[p][j] * closed.covariance[j][k] * closed.B[p][k];
      }
      check_close(run->results.mean[p], mean, 0.1 * sqrt(variance));
      check_relative(run->results.deviation[p], sqrt(variance), 4 / sqrt(2 * 2000.0) + 0.02);
    }
    assert_true(json_flag(summary, "weights/apply"));
    check_true(json_number(summary, "weights/effective_size") > 1700, "effective size %g",
               json_number(summary, "weights/effective_size"));
    for (size_t i = 0; i < run->verdict.num_findings; i++)
      assert_string_not_equal(run->verdict.findings[i].id, "spread");
    rpinn_run_destroy(run);
  }
}

/* ---- files ---- */

/* The trace has all windows of all starts, the last of each at its last iteration; the chosen start has the largest bound. */
static void check_trace(const HandRun *run, size_t num_starts) {
  const RpinnCsvTable *table = run_csv(run->bench, run->name, "vi_trace.csv");
  const RpinnJsonValue *fit = json_at(run->summary, "variational");
  assert_int_equal(table->num_columns, 5);
  size_t row = 0, chosen = (size_t)json_number(fit, "chosen_start");
  for (size_t k = 0; k < num_starts; k++) {
    char path[64];
    snprintf(path, sizeof path, "per_start/%zu/iterations", k);
    double iterations = json_number(fit, path), last = 0;
    for (; row < table->num_rows && csv_number(table, row, "start") == (double)k; row++) {
      last += 100;
      check_same(csv_number(table, row, "iteration"), last, 0, "iteration");
      assert_true(csv_number(table, row, "elbo_error") > 0 && csv_number(table, row, "step") <= 0.05);
    }
    assert_true(last <= iterations && iterations < last + 100);
    snprintf(path, sizeof path, "per_start/%zu/elbo", k);
    assert_true(json_number(fit, path) <= json_number(fit, "elbo"));
    if (k == chosen) check_same(json_number(fit, path), json_number(fit, "elbo"), 0, "elbo");
  }
  assert_int_equal(row, table->num_rows);
}

/* A draw has no offsets: its loss is its energy, its weight what the posterior and the fit say of it. */
static void check_draws(const HandRun *run, const RpinnRun *opened, size_t num_draws) {
  const double *loss = hand_numbers(run, "sample_stats/loss", num_draws),
               *weight = hand_numbers(run, "sample_stats/log_weight", num_draws),
               *smoothed = hand_numbers(run, "sample_stats/smoothed_log_weight", num_draws);
  double room[80], sum = 0, constant = rpinn_posterior_log_constant(opened->posteriors[0]), mean = 0;
  for (size_t i = 0; i < num_draws; i++) {
    double theta[32], energy;
    hand_theta(run, i, theta);
    bench_require(&run->problem,
                  rpinn_posterior_energy(run->problem.context, run->problem.posterior, theta, NULL, &energy,
                                         NULL, NULL),
                  "energy");
    check_same(loss[i], energy, 1e-9, "loss");
    check_close(weight[i],
                -energy - rpinn_variational_gaussian_log_density(opened->variational.q, theta, room), 1e-7);
    sum += exp(smoothed[i]);
    mean += (weight[i] + constant) / (double)num_draws;
  }
  check_close(sum, 1, 1e-9);
  check_close(mean, json_number(run->summary, "variational/elbo"),
              0.5); /* what it bounds, from other draws */
}

static void files_by_value(void **state) {
  RunBench *bench = *state;
  enum { DRAWS = 200 };
  run_make(bench, "run", hand_yaml, FIT "family=precision rank=11 samples=200 starts=3 prior_scale=0.3");
  HandRun run = hand_open(bench, "run");
  RpinnRun *opened = reopen(bench, "run");
  check_trace(&run, 3);
  assert_true(json_flag(run.summary, "weights/apply"));
  check_draws(&run, opened, DRAWS);
  check_true(json_number(run.summary, "weights/pareto_k") <= 0.7, "k %g",
             json_number(run.summary, "weights/pareto_k"));
  rpinn_run_destroy(opened);
  hand_close(&run);
}

/* Where k is too large the file has no weights, the table says why, and the verdict is careful. */
static void weights_that_must_not_be_used(void **state) {
  RunBench *bench = *state;
  const RpinnJsonValue *summary = run_make(bench, "run", hand_yaml, FIT "samples=400 prior_scale=2");
  double k = json_number(summary, "weights/pareto_k");
  int group, id;
  check_true(k > 0.7, "k %g", k);
  assert_false(json_flag(summary, "weights/apply"));
  assert_string_equal(json_text(summary, "weights/reason"), "their Pareto k is too large");
  HandRun run = hand_open(bench, "run");
  assert_int_equal(nc_inq_grp_full_ncid(run.root, "/sample_stats", &group), NC_NOERR);
  assert_int_not_equal(nc_inq_varid(group, "log_weight", &id), NC_NOERR);
  hand_close(&run);
  RpinnRun *opened = reopen(bench, "run");
  const char *found = NULL;
  for (size_t i = 0; i < opened->verdict.num_findings; i++)
    if (!strcmp(opened->verdict.findings[i].id, "spread")) found = opened->verdict.findings[i].sentence;
  char expected[64];
  snprintf(expected, sizeof expected, "Pareto k of the importance weights is %.2f, above 0.7.", k);
  check_true(found && strstr(found, expected) && strstr(found, "too small"), "%s", found);
  rpinn_run_destroy(opened);
  /* --correct mh is a wish that cannot be fulfilled, and says so. */
  summary = run_resume(bench, "run", hand_yaml, FIT "samples=400 prior_scale=2 correct=mh");
  assert_string_equal(json_text(summary, "weights/correction"), "none");
}

/* The independence Metropolis step on weights that may be used. */
static void draws_can_be_corrected(void **state) {
  RunBench *bench = *state;
  const RpinnJsonValue *summary =
      run_make(bench, "run", linear_yaml, FIT "family=precision rank=7 samples=500 correct=mh");
  assert_string_equal(json_text(summary, "weights/correction"), "mh");
  check_true(json_number(summary, "weights/acceptance") > 0.8, "acceptance %g",
             json_number(summary, "weights/acceptance"));
}

/* ---- noise ---- */

/* 20 rows tell the noise to 16 %; what is fitted is its logarithm, together with the parameters. */
static void noise_is_fitted_too(void **state) {
  RunBench *bench = *state;
  const RpinnJsonValue *vi = run_make(bench, "vi", noisy_yaml, ""),
                       *nuts = run_make(bench, "nuts", noisy_yaml,
                                        "method=nuts chains=2 samples=1000 warmup=500 max_depth=7");
  double mean = json_number(nuts, "unknowns/noise_d/mean"),
         deviation = json_number(nuts, "unknowns/noise_d/std");
  check_close(json_number(vi, "unknowns/noise_d/mean"), mean, 0.4 * deviation);
  check_relative(json_number(vi, "unknowns/noise_d/std"), deviation, 0.3);
  check_true(json_number(vi, "weights/pareto_k") < 0.7, "k %g", json_number(vi, "weights/pareto_k"));
}

/* ---- sessions ---- */

typedef struct Patience {
  size_t asked, enough;
} Patience;

static bool is_enough(void *user) {
  Patience *patience = user;
  return ++patience->asked > patience->enough;
}

static void compare_files(const RunBench *bench, const char *one, const char *other) {
  static const char *const files[] = {"posterior.nc", "predictions.csv", "vi_trace.csv"};
  for (size_t k = 0; k < 3; k++) {
    RpinnText left = {0}, right = {0};
    run_require(bench, rpinn_file_read(bench->context, run_path(bench, one, files[k]), 64, &left));
    run_require(bench, rpinn_file_read(bench->context, run_path(bench, other, files[k]), 64, &right));
    check_true(left.length == right.length && !memcmp(left.bytes, right.bytes, left.length),
               "%s of %s and of %s differ", files[k], one, other);
    rpinn_text_free(&left);
    rpinn_text_free(&right);
  }
}

/* Stopped while starts are sought, while the bound rises, and while draws are made. */
static void a_stopped_run_goes_on(void **state) {
  RunBench *bench = *state;
  const char *settings = FIT "samples=300 family=low_rank rank=2 starts=2 threads=1";
  run_make(bench, "whole", hand_yaml, settings);
  size_t stops = 0;
  bool is_done = false;
  for (size_t piece = 0; piece < 100 && !is_done; piece++) {
    Patience patience = {.enough = piece < 12 ? 1 + 40 * piece : SIZE_MAX};
    RpinnRun *run = NULL;
    RpinnRunOptions options = {.resume = piece > 0, .interrupted = is_enough, .user = &patience};
    run_require(bench, run_try(bench, "pieces", hand_yaml, settings, options, &run));
    is_done = !rpinn_run_interrupted(run);
    stops += !is_done;
    rpinn_run_destroy(run);
  }
  check_true(is_done && stops > 5, "stopped %zu times", stops);
  compare_files(bench, "whole", "pieces");
  run_make(bench, "threads", hand_yaml, FIT "samples=300 family=low_rank rank=2 starts=2 threads=3");
  compare_files(bench, "whole", "threads");
}

/* The time limit ends the fit where it is, with all draws; a resumed run has those of the whole fit. */
static void time_runs_out(void **state) {
  RunBench *bench = *state;
  const char *settings = FIT "samples=60 starts=2";
  char limited[256];
  snprintf(limited, sizeof limited, "%s time_limit=0.001", settings);
  run_make(bench, "whole", hand_yaml, settings);
  const RpinnJsonValue *summary = run_make(bench, "late", hand_yaml, limited);
  assert_true(json_flag(summary, "out_of_time"));
  check_close(json_number(summary, "samples"), 60, 0);
  assert_false(json_flag(summary, "variational/converged"));
  assert_true(json_number(summary, "variational/iterations") < 100);
  summary = run_resume(bench, "late", hand_yaml, settings);
  assert_false(json_flag(summary, "out_of_time"));
  assert_true(json_flag(summary, "variational/converged"));
  compare_files(bench, "whole", "late");
  /* More draws of the same fit. */
  run_make(bench, "more", hand_yaml, FIT "samples=90 starts=2");
  run_resume(bench, "whole", hand_yaml, FIT "samples=90 starts=2");
  compare_files(bench, "more", "whole");
}

/* Runs from before there were these settings have no word of them in their identity, and go on. */
static void settings_of_later_are_named_where_they_matter(void **state) {
  RunBench *bench = *state;
  static const struct {
    const char *settings;
    bool has_family, has_rank;
  } cases[] = {{"method=rpinn", false, false},
               {"method=vi", false, false},
               {"method=vi family=low_rank", true, false},
               {"method=vi family=low_rank rank=3", true, true}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    RpinnProblem *problem = run_problem(bench, hand_yaml, cases[i].settings);
    RpinnText text = {0};
    run_require(bench, rpinn_run_statement(bench->context, problem, false, &text));
    assert_int_equal(strstr(text.bytes, "\n  family: ") != NULL, cases[i].has_family);
    assert_int_equal(strstr(text.bytes, "\n  rank: ") != NULL, cases[i].has_rank);
    assert_non_null(strstr(text.bytes, "\n  metric: "));
    rpinn_text_free(&text);
    rpinn_problem_destroy(problem);
  }
}

/* ---- refusals ---- */

static void what_makes_no_sense_is_refused(void **state) {
  RunBench *bench = *state;
  static const struct {
    const char *settings, *message;
  } cases[] = {{FIT "prior_scale=inf", "method vi needs a prior on every parameter"},
               {FIT "prior_scale=loo prior_integrate=yes", "method vi has one prior for all draws"},
               {"method=vi optimizer=adagrad", "optimizer adagrad moves the particles of svgd"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    RpinnRun *run = NULL;
    RpinnStatus status = run_try(bench, "refused", hand_yaml, cases[i].settings, (RpinnRunOptions){0}, &run);
    assert_int_equal(status, RPINN_ERROR_INPUT);
    check_true(strstr(run_message(bench), cases[i].message) != NULL, "%s", run_message(bench));
    rpinn_context_clear_error(bench->context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(a_mean_field_of_a_linear_model),
                                     test_in_folder(enough_factors_of_a_linear_model),
                                     test_in_folder(files_by_value),
                                     test_in_folder(weights_that_must_not_be_used),
                                     test_in_folder(draws_can_be_corrected),
                                     test_in_folder(noise_is_fitted_too),
                                     test_in_folder(a_stopped_run_goes_on),
                                     test_in_folder(time_runs_out),
                                     test_in_folder(settings_of_later_are_named_where_they_matter),
                                     test_in_folder(what_makes_no_sense_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
