/* --correct nuts: draws that have the law of the posterior where rPINN's have not, for a price that is counted; the same bytes for any
 * threads, after interruptions, and when members join; and what is said when members have not forgotten where they began. */
#include "hand_problem.h"

#include "member_store.h"
#include "mock_backend.h"
#include "rpinn/diagnose.h"
#include "rpinn/report.h"
#include "rpinn/verdict.h"

/* Two unknowns and five data: a Gaussian posterior. */
static const char line_yaml[] =
    "name: line\n"
    "coordinates: {x: [0, 1]}\n"
    "fields: {u: {network: [2]}}\n"
    "unknowns:\n"
    "  a: {start: 0, prior: {mean: 0, std: 1}}\n"
    "  b: {start: 0, prior: {mean: 1, std: 2}}\n"
    "quantities: {line: \"a + b*x\"}\n"
    "terms:\n"
    "  d: {expect: \"a + b*x\", at: {grid: 5}, data: \"1 + 2*x\", noise: 0.5}\n"
    "predict: {grid: 3, quantities: [line]}\n"
    "settings: {samples: 1000, precision: double, seed: 5, threads: 2, prior_scale: 1}\n";
/* The cube of an unknown: a minimiser of a randomised energy is no draw of this posterior. */
static const char bent_yaml[] =
    "name: bent\n"
    "coordinates: {x: [0, 1]}\n"
    "fields: {u: {network: [2]}}\n"
    "unknowns:\n"
    "  k: {start: 1, prior: {mean: 1, std: 1}}\n"
    "terms:\n"
    "  d: {expect: \"k^3\", at: {grid: 1}, data: 1, noise: 0.5}\n"
    "predict: {grid: 3, quantities: [u]}\n"
    "settings: {samples: 4000, precision: double, seed: 1, threads: 2, prior_scale: 1}\n";
enum { GRID = 100000, SIDE = 600, ROWS = 8 };
/* A mean, and noise that is not known: log s ~ N(-1, 1). */
static const char noisy_yaml[] =
    "name: noisy\n"
    "coordinates: {x: [0, 1]}\n"
    "fields: {u: {network: [2]}}\n"
    "unknowns:\n"
    "  a: {start: 0, prior: {mean: 0, std: 1}}\n"
    "truth: {a: 0.7}\n"
    "terms:\n"
    "  d: {expect: a, at: {grid: 8}, data: truth, noise: {unknown: true, truth: 0.5, prior: {mean: -1, std: "
    "1}}}\n"
    "predict: {grid: 3, quantities: [u]}\n"
    "settings: {samples: 1000, precision: double, seed: 5, threads: 2, prior_scale: 1}\n";

/* kurtosis: the mean of z^4, 3 of a Gaussian. */
typedef struct Law {
  double mean, sd, kurtosis;
} Law;

/* By Monte Carlo errors of independent draws. */
static double errors_of_mean(Law found, Law expected, double draws) {
  return fabs(found.mean - expected.mean) / (expected.sd / sqrt(draws));
}
static double errors_of_sd(Law found, Law expected, double draws) {
  return fabs(found.sd - expected.sd) / (expected.sd * sqrt((expected.kurtosis - 1) / (4 * draws)));
}

/* Of a density on points. */
static Law law_of(size_t count, const double *points, const double *weights) {
  double sum = 0, moments[5] = {0};
  for (size_t i = 0; i < count; i++) sum += weights[i];
  for (size_t i = 0; i < count; i++) moments[1] += weights[i] / sum * points[i];
  for (size_t i = 0; i < count; i++)
    for (int k = 2; k < 5; k++) moments[k] += weights[i] / sum * pow(points[i] - moments[1], k);
  return (Law){moments[1], sqrt(moments[2]), moments[4] / (moments[2] * moments[2])};
}

static void check_law(const char *name, Law found, Law expected, double draws) {
  print_message("%s: %.4f +- %.4f, expected %.4f +- %.4f\n", name, found.mean, found.sd, expected.mean,
                expected.sd);
  check_true(errors_of_mean(found, expected, draws) < 4, "mean of %s is %g, expected %g", name, found.mean,
             expected.mean);
  check_true(errors_of_sd(found, expected, draws) < 4, "deviation of %s is %g, expected %g", name, found.sd,
             expected.sd);
}

static Law law_in(const RpinnJsonValue *summary, const char *unknown) {
  char mean[64], sd[64];
  snprintf(mean, sizeof mean, "unknowns/%s/mean", unknown);
  snprintf(sd, sizeof sd, "unknowns/%s/std", unknown);
  return (Law){json_number(summary, mean), json_number(summary, sd), (double)NAN};
}

static bool finds(const RpinnJsonValue *summary, const char *id) {
  for (const RpinnJsonValue *finding = json_at(summary, "verdict/findings")->first; finding;
       finding = finding->next)
    if (!strcmp(json_text(finding, "id"), id)) return true;
  return false;
}

static void compare_bytes(const RunBench *bench, const char *one, const char *other) {
  static const char *const files[] = {"posterior.nc", "predictions.csv"};
  for (size_t k = 0; k < 2; k++) {
    RpinnText left = {0}, right = {0};
    run_require(bench, rpinn_file_read(bench->context, run_path(bench, one, files[k]), 64, &left));
    run_require(bench, rpinn_file_read(bench->context, run_path(bench, other, files[k]), 64, &right));
    check_true(left.length == right.length && left.length > 0 &&
                   !memcmp(left.bytes, right.bytes, left.length),
               "%s of %s and of %s differ", files[k], one, other);
    rpinn_text_free(&left);
    rpinn_text_free(&right);
  }
}

/* ---- the law ---- */

/* Precision diag(1, 1/4) + sum (1, x)(1, x)^T / 0.25 of (a, b), by hand. */
static void exact_where_rpinn_is(void **state) {
  RunBench *bench = *state;
  double P[3] = {1, 0, 0.25}, y[2] = {0, 0.25};
  for (int i = 0; i < 5; i++) {
    double x = 0.25 * i, d = 1 + 2 * x;
    P[0] += 4;
    P[1] += 4 * x;
    P[2] += 4 * x * x;
    y[0] += 4 * d;
    y[1] += 4 * x * d;
  }
  double det = P[0] * P[2] - P[1] * P[1];
  Law a = {(P[2] * y[0] - P[1] * y[1]) / det, sqrt(P[2] / det), 3},
      b = {(P[0] * y[1] - P[1] * y[0]) / det, sqrt(P[0] / det), 3};
  run_make(bench, "line", line_yaml, "correct=nuts");
  const RpinnJsonValue *summary = run_json(bench, "line");
  check_law("a", law_in(summary, "a"), a, 1000);
  check_law("b", law_in(summary, "b"), b, 1000);
  assert_true(json_flag(summary, "correction/forgets"));
  assert_string_equal(json_text(summary, "verdict/word"), "good");
  assert_true(finds(summary, "modes"));
}

static void exact_where_rpinn_is_not(void **state) {
  RunBench *bench = *state;
  static double points[GRID], weights[GRID];
  for (size_t i = 0; i < GRID; i++) {
    double k = points[i] = -5 + 12 * (double)i / GRID, row = (k * k * k - 1) / 0.5;
    weights[i] = exp(-0.5 * row * row - 0.5 * (k - 1) * (k - 1));
  }
  Law exact = law_of(GRID, points, weights);
  run_make(bench, "members", bent_yaml, "correct=none");
  run_make(bench, "corrected", bent_yaml, "correct=nuts");
  Law members = law_in(run_json(bench, "members"), "k");
  print_message("members: %.4f +- %.4f\n", members.mean, members.sd);
  check_true(errors_of_mean(members, exact, 4000) > 4 && errors_of_sd(members, exact, 4000) > 4,
             "members have %g +- %g, as the posterior", members.mean, members.sd);
  check_law("k", law_in(run_json(bench, "corrected"), "k"), exact, 4000);
  assert_true(json_number(run_json(bench, "corrected"), "members/loss_median") ==
              json_number(run_json(bench, "members"), "members/loss_median"));
}

/* p(a, log s | d) on a grid, and what it says of either. */
static void exact_with_noise_that_is_not_known(void **state) {
  RunBench *bench = *state;
  static double a[SIDE], s[SIDE], of_a[SIDE], of_s[SIDE];
  HandRun run = {.bench = bench};
  run_make(bench, "noisy", noisy_yaml, "correct=nuts");
  assert_int_equal(nc_open(run_path(bench, "noisy", "posterior.nc"), NC_NOWRITE, &run.root), NC_NOERR);
  const double *values = hand_numbers(&run, "observed_data/d", ROWS);
  nc_close(run.root);
  memset(of_a, 0, sizeof of_a);
  memset(of_s, 0, sizeof of_s);
  for (size_t i = 0; i < SIDE; i++)
    for (size_t j = 0; j < SIDE; j++) {
      double eta = -4 + 5 * (double)j / SIDE;
      a[i] = -2 + 6 * (double)i / SIDE;
      s[j] = exp(eta);
      double energy = 0.5 * a[i] * a[i] + 0.5 * (eta + 1) * (eta + 1) + ROWS * eta;
      for (size_t k = 0; k < ROWS; k++) energy += 0.5 * pow((a[i] - values[k]) / s[j], 2);
      of_a[i] += exp(-energy);
      of_s[j] += exp(-energy);
    }
  const RpinnJsonValue *summary = run_json(bench, "noisy");
  check_law("a", law_in(summary, "a"), law_of(SIDE, a, of_a), 1000);
  check_law("noise_d", law_in(summary, "noise_d"), law_of(SIDE, s, of_s), 1000);
}

/* Weights that no datum speaks of keep their prior, N(0, 4): chains that begin at members of N(0, 1/4) have to get there. */
static void begins_under_a_narrower_prior(void **state) {
  enum { DRAWS = 1000, WEIGHTS = 7 };
  RunBench *bench = *state;
  HandRun run = {.bench = bench};
  double square = 0;
  run_make(bench, "wide", line_yaml, "prior_shape=iid prior_scale=2 correct=nuts correct_scale=0.5");
  const RpinnJsonValue *summary = run_json(bench, "wide");
  assert_true(json_number(summary, "sigmas/prior") == 2);
  assert_true(json_number(summary, "correction/start_scale") == 0.5);
  assert_true(json_flag(summary, "correction/forgets"));
  assert_int_equal(nc_open(run_path(bench, "wide", "posterior.nc"), NC_NOWRITE, &run.root), NC_NOERR);
  const double *weights = hand_numbers(&run, "posterior/u_parameters", DRAWS * WEIGHTS);
  nc_close(run.root);
  for (size_t i = 0; i < DRAWS * WEIGHTS; i++) square += weights[i] * weights[i] / (DRAWS * WEIGHTS);
  check_true(fabs(sqrt(square) - 2) < 4 * 2 / sqrt(2 * DRAWS * WEIGHTS),
             "weights have a deviation of %g, expected 2", sqrt(square));
}

/* The members are those of a run whose prior is that narrow, which a network that has data to explain shows in its losses. */
static void members_have_the_narrower_prior(void **state) {
  static const char common[] =
      "optimizer=lm iterations=60 start=prior likelihood=noise prior_shape=iid samples=16 ";
  RunBench *bench = *state;
  char settings[RUN_PATH];
  snprintf(settings, sizeof settings, "%sprior_scale=0.5", common);
  run_make(bench, "narrow", hand_yaml, settings);
  snprintf(settings, sizeof settings,
           "%sprior_scale=2 correct=nuts correct_scale=0.5 max_depth=4 correct_budget=100", common);
  run_make(bench, "wide", hand_yaml, settings);
  assert_true(json_number(run_json(bench, "wide"), "members/loss_median") ==
              json_number(run_json(bench, "narrow"), "members/loss_median"));
}

/* ---- the price ---- */

/* What the summary says is what the draws say, and what the backend has counted. */
static void price_is_what_was_counted(void **state) {
  RunBench *bench = *state;
  MockCounts none, nuts;
  double steps = 0;
  mock_backend_use(&mock_backend);
  run_make(bench, "members", hand_yaml, "samples=20 optimizer=lm iterations=60 start=prior threads=1");
  none = mock_backend_counts();
  mock_backend_use(&mock_backend);
  run_make(bench, "price", hand_yaml,
           "samples=20 optimizer=lm iterations=60 start=prior threads=1 correct=nuts max_depth=5");
  nuts = mock_backend_counts();
  mock_backend_stop();
  HandRun run = hand_open(bench, "price");
  const double *n_steps = hand_numbers(&run, "sample_stats/n_steps", 20);
  for (size_t k = 0; k < 20; k++) steps += n_steps[k] + 1;
  double gradients = json_number(run.summary, "correction/gradients"),
         pilot = json_number(run.summary, "correction/pilot_gradients"),
         expected = json_number(run.summary, "correction/expected_gradients_per_member");
  check_same(gradients, steps, 0, "gradients of all members");
  check_same(json_number(run.summary, "correction/gradients_per_member"), steps / 20, 1e-12, "of one");
  check_true(gradients / 20 < 1.5 * expected && gradients / 20 > expected / 1.5, "%g per member, %g foretold",
             gradients / 20, expected);
  /* Results look at up to 16 draws in both runs, whose cost may differ by those that the judge minimises further. */
  double counted = (double)nuts.num_lanes - (double)none.num_lanes;
  check_true(fabs(counted - gradients - pilot) < 0.02 * counted, "%g gradients were made, %g are told",
             counted, gradients + pilot);
  assert_true(json_number(run.summary, "correction/seconds") > 0);
  hand_close(&run);
}

/* Steps that are too long for a cube: what the summary says is the sum over the draws. */
static void divergences_are_counted(void **state) {
  enum { DRAWS = 60 };
  RunBench *bench = *state;
  HandRun run = {.bench = bench};
  double sum = 0;
  run_make(bench, "bold", bent_yaml, "correct=nuts samples=60 target_acceptance=0.02");
  assert_int_equal(nc_open(run_path(bench, "bold", "posterior.nc"), NC_NOWRITE, &run.root), NC_NOERR);
  const double *each = hand_numbers(&run, "sample_stats/divergences", DRAWS);
  nc_close(run.root);
  for (size_t i = 0; i < DRAWS; i++) sum += each[i];
  check_true(sum > 0, "no chain diverged: nothing is tried");
  assert_true(json_number(run_json(bench, "bold"), "correction/divergences") == sum);
}

static void price_is_told(void **state) {
  RunBench *bench = *state;
  bool healthy;
  char text[128];
  RpinnRun *run = NULL;
  run_make(bench, "told", line_yaml, "correct=nuts samples=40");
  const RpinnJsonValue *summary = run_json(bench, "told");
  snprintf(text, sizeof text, "price: %.0f gradients for each member",
           json_number(summary, "correction/gradients_per_member"));
  char *table = rpinn_run_summary(bench->context, run_path(bench, "told", NULL), false);
  assert_non_null(strstr(table, text));
  assert_non_null(strstr(table, "the start is forgotten"));
  assert_null(strstr(table, "was not done"));
  free(table);
  char *diagnosis = rpinn_diagnose_run(bench->context, run_path(bench, "told", NULL), NULL, &healthy);
  assert_non_null(strstr(diagnosis, text));
  free(diagnosis);
  run_require(bench, rpinn_run_reopen(bench->context, run_path(bench, "told", NULL), &run));
  run_require(bench, rpinn_report_write(bench->context, run));
  rpinn_run_destroy(run);
  const char *page = run_read(bench, "told", "report.html");
  assert_non_null(strstr(page, "<h2>Correction</h2>"));
  assert_non_null(strstr(page, "How many members are in which mode stays"));
  RpinnProblem *problem = run_problem(bench, line_yaml, "correct=nuts correct_budget=12345");
  char *plan = rpinn_run_plan(bench->context, problem, (RpinnShard){0});
  assert_non_null(plan);
  assert_non_null(strstr(plan, "--correct nuts, about "));
  assert_non_null(strstr(plan, "up to 12345 gradients"));
  free(plan);
  rpinn_problem_destroy(problem);
}

/* ---- bytes ---- */

#define SHORT "optimizer=lm iterations=60 start=prior correct=nuts max_depth=5 correct_budget=1500 "

static void threads_leave_no_mark(void **state) {
  RunBench *bench = *state;
  run_make(bench, "one", hand_yaml, SHORT "samples=18 threads=1");
  run_make(bench, "three", hand_yaml, SHORT "samples=18 threads=3");
  compare_bytes(bench, "one", "three");
}

static void go_on(const RunBench *bench, const char *name, const char *settings) {
  RpinnRun *run = NULL;
  run_require(bench, run_try(bench, name, hand_yaml, settings, (RpinnRunOptions){.resume = true}, &run));
  assert_false(rpinn_run_interrupted(run));
  rpinn_run_destroy(run);
}

/* The pilot has 16 members, more than either run has draws. */
static void members_join(void **state) {
  RunBench *bench = *state;
  run_make(bench, "nine", hand_yaml, SHORT "samples=9");
  run_make(bench, "five", hand_yaml, SHORT "samples=5");
  assert_int_equal((int)json_number(run_json(bench, "five"), "samples"), 5);
  go_on(bench, "five", SHORT "samples=9 threads=1");
  compare_bytes(bench, "nine", "five");
  go_on(bench, "five", SHORT "samples=20");
  run_make(bench, "twenty", hand_yaml, SHORT "samples=20");
  compare_bytes(bench, "twenty", "five");
  RpinnRun *run = NULL; /* draws that are there are not lost */
  assert_int_equal(
      run_try(bench, "five", hand_yaml, SHORT "samples=12", (RpinnRunOptions){.resume = true}, &run),
      RPINN_ERROR_INPUT);
  assert_non_null(strstr(run_message(bench), "has 20 members already"));
}

/* The members stay what they were, and so do those that they become. */
static void corrections_come_and_go(void **state) {
  RunBench *bench = *state;
  run_make(bench, "none", hand_yaml, SHORT "samples=5 correct=none");
  run_make(bench, "nuts", hand_yaml, SHORT "samples=5");
  run_make(bench, "both", hand_yaml, SHORT "samples=5 correct=none");
  go_on(bench, "both", SHORT "samples=5");
  compare_bytes(bench, "nuts", "both");
  go_on(bench, "both", SHORT "samples=5 correct=none");
  compare_bytes(bench, "none", "both");
  go_on(bench, "both", SHORT "samples=5");
  compare_bytes(bench, "nuts", "both");
}

/* A budget that is raised, or lowered, gives the run that has it from the beginning. */
static void budgets_change(void **state) {
  RunBench *bench = *state;
  run_make(bench, "small", hand_yaml, SHORT "samples=17 correct_budget=300");
  run_make(bench, "large", hand_yaml, SHORT "samples=17 correct_budget=1500");
  go_on(bench, "small", SHORT "samples=17 correct_budget=1500");
  compare_bytes(bench, "large", "small");
  assert_true(json_number(run_json(bench, "small"), "correction/budget") == 1500);
  go_on(bench, "small", SHORT "samples=17 correct_budget=300");
  run_make(bench, "small_again", hand_yaml, SHORT "samples=17 correct_budget=300");
  compare_bytes(bench, "small_again", "small");
}

typedef struct Patience {
  size_t asked, enough;
  RpinnProgress last;
} Patience;

static bool is_enough(void *user) {
  Patience *patience = user;
  return ++patience->asked > patience->enough;
}

static void keep_progress(void *user, const RpinnProgress *progress) {
  ((Patience *)user)->last = *progress;
}

/* Stopped ever later, so that every stage is stopped in. */
static void stops_in_every_stage(void **state) {
  RunBench *bench = *state;
  static const char settings[] = SHORT "samples=60 correct_budget=4000";
  size_t stops = 0, in_pilot = 0, in_members = 0;
  bool is_done = false;
  run_make(bench, "whole", hand_yaml, settings);
  for (size_t piece = 0; piece < 400 && !is_done; piece++) {
    Patience patience = {.enough = piece < 60 ? 1 + piece / 6 : SIZE_MAX};
    RpinnRunOptions options = {
        .resume = piece > 0, .interrupted = is_enough, .progress = keep_progress, .user = &patience};
    RpinnRun *run = NULL;
    run_require(bench, run_try(bench, "pieces", hand_yaml, settings, options, &run));
    is_done = !rpinn_run_interrupted(run);
    stops += !is_done;
    in_pilot += !is_done && strstr(patience.last.unit, "pilot") != NULL;
    in_members += !is_done && strstr(patience.last.unit, "corrected") != NULL;
    rpinn_run_destroy(run);
  }
  print_message("stopped %zu times, %zu of them in the pilot, %zu while members were corrected\n", stops,
                in_pilot, in_members);
  check_true(is_done && in_pilot > 0, "stopped %zu times, %zu in the pilot", stops, in_pilot);
  compare_bytes(bench, "whole", "pieces");
}

/* A limit of time that ends the pilot has nothing to show, and what it has is saved. */
static void time_ends_the_pilot(void **state) {
  RunBench *bench = *state;
  RpinnRun *run = NULL;
  static const char settings[] = SHORT "samples=18 correct_budget=20000 max_depth=8";
  run_make(bench, "whole", hand_yaml, settings);
  char limited[256];
  snprintf(limited, sizeof limited, "%s time_limit=0.3", settings);
  assert_int_equal(run_try(bench, "late", hand_yaml, limited, (RpinnRunOptions){0}, &run),
                   RPINN_ERROR_INTERRUPTED);
  assert_non_null(strstr(run_message(bench), "before a member was corrected"));
  go_on(bench, "late", settings);
  compare_bytes(bench, "whole", "late");
}

/* ---- what is said ---- */

static void too_small_a_budget_is_told(void **state) {
  RunBench *bench = *state;
  run_make(bench, "small", hand_yaml, SHORT "samples=40 correct_budget=10");
  const RpinnJsonValue *summary = run_json(bench, "small");
  assert_false(json_flag(summary, "correction/forgets"));
  assert_true(finds(summary, "not_forgotten"));
  assert_string_not_equal(json_text(summary, "verdict/word"), "good");
  char *table = rpinn_run_summary(bench->context, run_path(bench, "small", NULL), false);
  assert_non_null(strstr(table, "the start is NOT forgotten"));
  assert_non_null(strstr(table, "Raise --correct-budget, which is 10"));
  free(table);
}

/* One leapfrog at a time in the unit metric, short enough for `a`, where weights have a deviation of 100: members keep their weights, and with
 * them their log densities apart. T = 32 takes 33 gradients, and 64 would take more than the budget. */
static void what_is_not_forgotten_is_seen(void **state) {
  RunBench *bench = *state;
  run_make(
      bench, "still", line_yaml,
      "correct=nuts samples=20 max_depth=1 metric=unit prior_shape=iid prior_scale=100 correct_budget=40");
  const RpinnJsonValue *summary = run_json(bench, "still");
  assert_false(json_flag(summary, "correction/forgets"));
  assert_string_equal(json_text(summary, "correction/nested_rhat_of"), "log density");
  check_true(json_number(summary, "correction/nested_rhat") > 1.3,
             "nested R-hat is %g, expected more than 1.3", json_number(summary, "correction/nested_rhat"));
  assert_true(json_number(summary, "correction/iterations") == 32);
  assert_true(json_number(summary, "correction/expected_gradients_per_member") == 33);
}

static void other_methods_are_refused(void **state) {
  RunBench *bench = *state;
  RpinnRun *run = NULL;
  assert_int_equal(
      run_try(bench, "chains", hand_yaml, "method=nuts correct=nuts", (RpinnRunOptions){0}, &run),
      RPINN_ERROR_INPUT);
  assert_non_null(
      strstr(run_message(bench), "the method is nuts; expected --correct none, or --method rpinn"));
  assert_int_equal(run_try(bench, "scale", hand_yaml, "correct_scale=0.5", (RpinnRunOptions){0}, &run),
                   RPINN_ERROR_INPUT);
  assert_non_null(
      strstr(run_message(bench), "correct is none; expected --correct nuts, or --correct-scale auto"));
  assert_int_equal(run_try(bench, "scales", hand_yaml,
                           "correct=nuts correct_scale=0.5 prior_scale=loo prior_integrate=yes",
                           (RpinnRunOptions){0}, &run),
                   RPINN_ERROR_INPUT);
  assert_non_null(strstr(run_message(bench), "with prior_integrate each draws its own"));
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(exact_where_rpinn_is),
                                     test_in_folder(exact_where_rpinn_is_not),
                                     test_in_folder(exact_with_noise_that_is_not_known),
                                     test_in_folder(begins_under_a_narrower_prior),
                                     test_in_folder(members_have_the_narrower_prior),
                                     test_in_folder(price_is_what_was_counted),
                                     test_in_folder(price_is_told),
                                     test_in_folder(divergences_are_counted),
                                     test_in_folder(threads_leave_no_mark),
                                     test_in_folder(members_join),
                                     test_in_folder(corrections_come_and_go),
                                     test_in_folder(budgets_change),
                                     test_in_folder(stops_in_every_stage),
                                     test_in_folder(time_ends_the_pilot),
                                     test_in_folder(too_small_a_budget_is_told),
                                     test_in_folder(what_is_not_forgotten_is_seen),
                                     test_in_folder(other_methods_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
