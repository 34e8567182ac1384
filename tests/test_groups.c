/* Whole runs of every method on a backend that only works on seven members at a time: the bytes of runs that work on one, calls
 * that are filled, and runs that are stopped in the middle of a group. */
#include "mock_backend.h"
#include "run_bench.h"

enum { PIECES = 8 };

static const char plain_yaml[] =
    "name: plain\n"
    "coordinates: {x: [-1, 1]}\n"
    "fields: {u: {network: [7, 7]}}\n"
    "unknowns: {k: {start: 1, prior: {mean: 1, std: 0.5}}}\n"
    "truth: {u: sin(2*x), k: 1.5}\n"
    "terms:\n"
    "  d: {expect: u, at: {grid: 9}, data: truth, noise: 0.1}\n"
    "  f: {expect: \"k*d(u, x, x) + u\", at: {grid: 6}, data: truth, noise: 0.3}\n"
    "predict: {grid: 11, quantities: [u]}\n"
    "settings: {prior_scale: 1.5, samples: 17, iterations: 120, threads: 1, seed: 3}\n";
/* Members with noise of their own. */
static const char noisy_yaml[] =
    "name: noisy\n"
    "coordinates: {x: [-1, 1]}\n"
    "fields: {u: {network: [6]}}\n"
    "truth: {u: sin(2*x)}\n"
    "terms:\n"
    "  d: {expect: u, at: {grid: 12}, data: truth, noise: {unknown: true, truth: 0.2, prior: {mean: -2, std: "
    "1}}}\n"
    "  e: {expect: \"d(u, x)\", at: {grid: 3}, data: truth, noise: 0.5}\n"
    "predict: {grid: 5, quantities: [u]}\n"
    "settings: {prior_scale: 1.5, samples: 17, iterations: 120, threads: 1, seed: 3}\n";

/* One way to make draws, and how many members a call has in the mean at least: fewer where a run seeks a scale or its noise
 * before, one point at a time. */
typedef struct Case {
  const char *name, *yaml, *settings;
  double filled;
} Case;

/* Members continued by NUTS, for a short while. */
#define CORRECTED "correct=nuts samples=9 max_depth=4 correct_budget=500"

static const Case cases[] = {
    {"adam", plain_yaml, "optimizer=adam", 5},
    {"lbfgs", plain_yaml, "optimizer=lbfgs", 4.5},
    {"lm", plain_yaml, "", 3},
    {"double", plain_yaml, "precision=double", 3},
    {"few_rows", plain_yaml, "precision=double start=glorot", 3},
    {"integrated", plain_yaml, "prior_scale=loo prior_integrate=yes", 1},
    {"noisy", noisy_yaml, "", 1},
    {"noisy_adam", noisy_yaml, "optimizer=adam", 1},
    {"corrected", plain_yaml, CORRECTED, 4},
    {"corrected_double", plain_yaml, CORRECTED " precision=double metric=dense", 4},
    {"corrected_scales", plain_yaml, CORRECTED " prior_scale=loo prior_integrate=yes", 2},
    {"corrected_noisy", noisy_yaml, CORRECTED, 2},
    {"map", plain_yaml, "method=map", 1},
    {"ensemble", plain_yaml, "method=ensemble", 3},
    {"start_map", plain_yaml, "start=map", 2},
    {"laplace", plain_yaml, "method=laplace", 1},
    {"nuts", plain_yaml, "method=nuts samples=10 warmup=20 chains=9 max_depth=5", 2.3},
    {"nuts_prior", plain_yaml,
     "method=nuts start=prior samples=10 warmup=20 chains=9 max_depth=5 keep_warmup=yes", 4},
    {"noisy_nuts", noisy_yaml, "method=nuts samples=10 warmup=20 chains=9 max_depth=5 metric=dense", 1.3},
    {"svgd", plain_yaml, "method=svgd optimizer=adam iterations=30", 5},
    {"vi", plain_yaml, "method=vi iterations=60", 3},
    {"vi_factors", plain_yaml, "method=vi family=precision rank=3 iterations=60 precision=double start=prior",
     5},
    {"noisy_vi", noisy_yaml, "method=vi family=low_rank rank=2 iterations=60 start=prior", 1.5},
    {"noisy_svgd", noisy_yaml, "method=svgd optimizer=adam iterations=30", 1},
    {"functions", plain_yaml, "method=svgd kernel=functions optimizer=adam iterations=30", 5},
    {"noisy_functions", noisy_yaml, "method=svgd kernel=functions optimizer=adam iterations=30", 1},
};

/* ---- comparing ---- */

static void compare_file(const RunBench *bench, const char *one, const char *other, const char *file) {
  RpinnText left = {0}, right = {0};
  run_require(bench, rpinn_file_read(bench->context, run_path(bench, one, file), 64, &left));
  run_require(bench, rpinn_file_read(bench->context, run_path(bench, other, file), 64, &right));
  check_true(left.length == right.length && left.length > 0 && !memcmp(left.bytes, right.bytes, left.length),
             "%s of %s and of %s differ", file, one, other);
  rpinn_text_free(&left);
  rpinn_text_free(&right);
}

static void compare_runs(const RunBench *bench, const char *one, const char *other) {
  compare_file(bench, one, other, "posterior.nc");
  compare_file(bench, one, other, "predictions.csv");
  compare_file(bench, one, other, "run.yaml");
}

/* The calls until all draws are made: results come after them, one draw at a time. */
static void note_counts(void *user, const RpinnProgress *progress) {
  if (progress->last) *(MockCounts *)user = mock_backend_counts();
}

static MockCounts make(const RunBench *bench, const char *name, const Case *what, const char *more) {
  char settings[RUN_PATH];
  RpinnRun *run = NULL;
  MockCounts counts = {0};
  snprintf(settings, sizeof settings, "%s %s", what->settings, more);
  RpinnRunOptions options = {.progress = note_counts, .user = &counts};
  RpinnStatus status = run_try(bench, name, what->yaml, settings, options, &run);
  check_true(status == RPINN_OK, "%s: %s", name, run_message(bench));
  rpinn_run_destroy(run);
  return counts;
}

/* ---- tests ---- */

static void seven_at_a_time_are_as_one(void **state) {
  RunBench *bench = *state;
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    char one[64], seven[64];
    snprintf(one, sizeof one, "%s-1", cases[k].name);
    snprintf(seven, sizeof seven, "%s-7", cases[k].name);
    make(bench, one, &cases[k], "");
    mock_backend_use(&mock_backend);
    MockCounts counts = make(bench, seven, &cases[k], "");
    mock_backend_stop();
    double filled = (double)counts.num_lanes / (double)(counts.num_calls ? counts.num_calls : 1);
    print_message("%-12s %6zu calls, %.2f members each\n", cases[k].name, counts.num_calls, filled);
    check_true(filled >= cases[k].filled, "%s has %.2f members in a call, expected %g", cases[k].name, filled,
               cases[k].filled);
    compare_runs(bench, one, seven);
  }
}

/* What a backend composes has bits of its own, the same alone and in groups, and on two threads. */
static void backends_with_little_are_as_good(void **state) {
  RunBench *bench = *state;
  static const Case bare[] = {{"bare", plain_yaml, "iterations=40", 2},
                              {"bare_adam", plain_yaml, "optimizer=adam", 2}};
  for (size_t k = 0; k < 2; k++) {
    mock_backend_use(&mock_plain_backend);
    make(bench, k ? "seven_adam" : "seven", &bare[k], "precision=double threads=2");
    mock_backend_stop();
    make(bench, k ? "plain_adam" : "plain", &bare[k], "precision=double backend=plain");
    compare_file(bench, k ? "seven_adam" : "seven", k ? "plain_adam" : "plain", "predictions.csv");
    mock_backend_use(&mock_bare_backend);
    make(bench, k ? "bare_adam" : "bare", &bare[k], "threads=1");
    make(bench, k ? "bare_adam2" : "bare2", &bare[k], "threads=2");
    mock_backend_stop();
    compare_file(bench, k ? "bare_adam" : "bare", k ? "bare_adam2" : "bare2", "posterior.nc");
  }
}

typedef struct Patience {
  size_t asked, enough;
} Patience;

static bool is_enough(void *user) {
  Patience *patience = user;
  return ++patience->asked > patience->enough;
}

/* Stopped and resumed, again and again, on seven and on one in turn. */
static void stopped_groups_go_on(void **state) {
  RunBench *bench = *state;
  static const Case long_cases[] = {
      {"lm", plain_yaml, "iterations=400 progress_tolerance=1e-12", 0},
      {"adam", noisy_yaml, "optimizer=adam iterations=3000", 0},
      {"corrected", plain_yaml, "correct=nuts samples=40 max_depth=6 correct_budget=3000", 0},
      {"nuts", plain_yaml, "method=nuts samples=60 warmup=60 chains=9 max_depth=6", 0},
      {"vi", noisy_yaml, "method=vi family=precision rank=4 iterations=300", 0}};
  for (size_t k = 0; k < sizeof long_cases / sizeof long_cases[0]; k++) {
    char whole[64], pieces[64];
    snprintf(whole, sizeof whole, "%s-whole", long_cases[k].name);
    snprintf(pieces, sizeof pieces, "%s-pieces", long_cases[k].name);
    make(bench, whole, &long_cases[k], "");
    size_t stops = 0;
    bool is_done = false;
    for (size_t piece = 0; piece < 200 && !is_done; piece++) {
      Patience patience = {.enough = piece < PIECES ? 1 + piece : SIZE_MAX};
      RpinnRunOptions options = {.resume = piece > 0, .interrupted = is_enough, .user = &patience};
      RpinnRun *run = NULL;
      if (piece % 2 == 0) mock_backend_use(&mock_backend);
      RpinnStatus status = run_try(bench, pieces, long_cases[k].yaml, long_cases[k].settings, options, &run);
      mock_backend_stop();
      check_true(status == RPINN_OK || status == RPINN_ERROR_INTERRUPTED, "%s: %s", pieces,
                 run_message(bench));
      is_done = status == RPINN_OK && !rpinn_run_interrupted(run);
      stops += !is_done;
      rpinn_run_destroy(run);
    }
    print_message("%s was stopped %zu times\n", long_cases[k].name, stops);
    check_true(is_done && stops > 1, "%s was stopped %zu times", pieces, stops);
    compare_runs(bench, whole, pieces);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(seven_at_a_time_are_as_one),
                                     test_in_folder(backends_with_little_are_as_good),
                                     test_in_folder(stopped_groups_go_on)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
