/* Runs in several sessions, and their clocks: a limit of time is kept, what was done is not done again, and what is
 * reported meanwhile is true. */
#include "hand_problem.h"

#include <time.h>

#include "run_progress.h"

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* What a session said. */
typedef struct Session {
  int stop_at; /* the question after which it is interrupted; 0: never */
  int num_questions;
  size_t num_reports;
  RpinnProgress reports[512];
  double times[512];
} Session;

static bool is_interrupted(void *user) {
  Session *session = user;
  session->num_questions++;
  return session->stop_at && session->num_questions >= session->stop_at;
}

static void keep_report(void *user, const RpinnProgress *progress) {
  Session *session = user;
  if (session->num_reports == 512) return;
  session->times[session->num_reports] = now();
  session->reports[session->num_reports++] = *progress;
}

static const RpinnProgress *last_report(const Session *session) {
  assert_true(session->num_reports > 0);
  return &session->reports[session->num_reports - 1];
}

/* Returns whether the session was interrupted. */
static bool run_session(const RunBench *bench, const char *name, const char *settings, bool resume,
                        Session *session) {
  RpinnRun *run;
  RpinnRunOptions options = {
      .resume = resume, .interrupted = is_interrupted, .progress = keep_report, .user = session};
  run_require(bench, run_try(bench, name, hand_yaml, settings, options, &run));
  bool interrupted = rpinn_run_interrupted(run);
  rpinn_run_destroy(run);
  return interrupted;
}

static const char *const methods[] = {"ensemble", "nuts", "svgd"};
enum { NUM_METHODS = 3 };

/* ---- limits of time ---- */

/* No member, draw or iteration begins after the limit; a limit ten times as long would take ten times as long. */
static void time_limits_are_kept(void **state) {
  RunBench *bench = *state;
  const double limit = 0.5;
  static const char *const long_runs[NUM_METHODS] = {
      "method=ensemble threads=2 samples=100000 iterations=200 time_limit=0.5",
      "method=nuts threads=2 chains=2 samples=1000000 warmup=10 max_depth=4 time_limit=0.5",
      "method=svgd threads=2 samples=10 iterations=100000000 time_limit=0.5"};
  for (size_t k = 0; k < NUM_METHODS; k++) {
    static Session session;
    session = (Session){0};
    assert_false(run_session(bench, methods[k], long_runs[k], false, &session));
    const RpinnProgress *last = last_report(&session);
    check_true(json_flag(run_json(bench, methods[k]), "out_of_time"), "%s is not out of time", methods[k]);
    check_true(last->done > 0 && last->done < last->total, "%s made all", methods[k]);
    check_true(last->seconds >= limit && last->seconds < 7 * limit, "%s took %g s, its limit is %g s",
               methods[k], last->seconds, limit);
  }
}

/* ---- sessions ---- */

static const char *const short_runs[NUM_METHODS] = {
    "method=ensemble threads=2 samples=5 iterations=70",
    "method=nuts threads=2 chains=2 samples=9 warmup=12 max_depth=4",
    "method=svgd threads=2 samples=5 iterations=11"};
static const double units[NUM_METHODS] = {5, 2 * (9 + 12), 11};

/* A short run reports its end however soon it comes; a finished one has nothing left to do. */
static void finished_runs_repeat_nothing(void **state) {
  RunBench *bench = *state;
  for (size_t k = 0; k < NUM_METHODS; k++) {
    static Session first, second;
    first = second = (Session){0};
    assert_false(run_session(bench, methods[k], short_runs[k], false, &first));
    const RpinnProgress *last = last_report(&first);
    check_true(last->last, "%s does not report its end", methods[k]);
    check_same((double)last->done, units[k], 0, methods[k]);
    check_same((double)last->total, units[k], 0, methods[k]);
    check_true(last->iterations > 0, "%s made no iterations", methods[k]);
    check_true(last->seconds > 0 && last->seconds < 60, "%g s", last->seconds);
    const char *before = run_read(bench, methods[k], "predictions.csv");
    assert_false(run_session(bench, methods[k], short_runs[k], true, &second));
    last = last_report(&second);
    check_same((double)last->iterations, 0, 0, "iterations of a finished run");
    check_same((double)last->done, units[k], 0, methods[k]);
    assert_true(last->last);
    assert_string_equal(run_read(bench, methods[k], "predictions.csv"), before);
  }
}

/* Settings that make a run of at least half a second of work. */
static const char *const slow_runs[NUM_METHODS] = {
    "method=ensemble threads=1 samples=1 iterations=1000000",
    "method=nuts threads=2 chains=2 samples=1500 warmup=1000 thin=12 max_depth=5",
    "method=svgd threads=1 samples=40 iterations=20000"};

/* Of the estimates halfway at least a third must be right within this factor, which allows for a machine that is busy with
 * other things. */
static void check_estimates(const Session *session, double factor) {
  double ends = session->times[session->num_reports - 1];
  size_t counted = 0, good = 0;
  for (size_t k = 0; k + 1 < session->num_reports; k++) {
    const RpinnProgress *report = &session->reports[k];
    double share = (double)report->done / (double)report->total;
    if (share < 0.05 || share > 0.9) continue;
    double ratio = report->seconds_left / (ends - session->times[k]);
    counted++;
    good += ratio > 1 / factor && ratio < factor;
  }
  check_true(counted > 0 && 3 * good >= counted, "%zu of %zu estimates are right", good, counted);
}

/* Interrupted once, the sessions together make as many iterations as one that was not, and the same draws. */
static void interrupted_runs_repeat_nothing(void **state) {
  RunBench *bench = *state;
  static const char *const tables[NUM_METHODS] = {"summary.csv", "diagnostics.csv", "svgd_trace.csv"};
  for (size_t k = 0; k < NUM_METHODS; k++) {
    static Session whole, first, second;
    whole = second = (Session){0};
    first = (Session){.stop_at = 2};
    char parts[32], one[32];
    snprintf(parts, sizeof parts, "%s_parts", methods[k]);
    snprintf(one, sizeof one, "%s_whole", methods[k]);
    check_true(run_session(bench, parts, slow_runs[k], false, &first), "%s was too quick", methods[k]);
    check_true(last_report(&first)->done < last_report(&first)->total, "%s is done", methods[k]);
    assert_false(run_has(bench, parts, "summary.json"));
    assert_false(run_session(bench, parts, slow_runs[k], true, &second));
    assert_false(run_session(bench, one, slow_runs[k], false, &whole));
    uint64_t before = last_report(&first)->iterations, after = last_report(&second)->iterations,
             all = last_report(&whole)->iterations;
    check_true(before > 0 && before + after == all, "%s: %llu iterations, then %llu; expected %llu in all",
               methods[k], (unsigned long long)before, (unsigned long long)after, (unsigned long long)all);
    assert_string_equal(run_read(bench, parts, "predictions.csv"), run_read(bench, one, "predictions.csv"));
    assert_string_equal(run_read(bench, parts, tables[k]), run_read(bench, one, tables[k]));
    if (k > 0) check_estimates(&whole, 20); /* iterations do not all take the same */
  }
}

/* wall_seconds are those of all sessions. */
static void seconds_add_up(void **state) {
  RunBench *bench = *state;
  static Session session;
  session = (Session){0};
  run_session(bench, "run", "method=ensemble threads=1 samples=400 iterations=20000 time_limit=0.5", false,
              &session);
  double first = json_number(run_json(bench, "run"), "wall_seconds");
  assert_true(first >= 0.5);
  session = (Session){0};
  double begun = now();
  run_session(bench, "run", "method=ensemble threads=1 samples=400 iterations=20000 time_limit=0.5", true,
              &session);
  double took = now() - begun, both = json_number(run_json(bench, "run"), "wall_seconds");
  check_true(both > first && both <= first + took + 1e-3, "%g s, then %g s in all, of which %g s now", first,
             both, took);
}

/* ---- reports ---- */

/* The losses of the members that are done: the twentieth part of them lies below the low one, and above the high one. */
static void losses_are_quantiles_of_members(void **state) {
  RunBench *bench = *state;
  enum { COUNT = 40 };
  static Session session;
  session = (Session){0};
  run_session(bench, "run", "method=ensemble threads=2 samples=40 iterations=30", false, &session);
  HandRun run = hand_open(bench, "run");
  double sorted[COUNT];
  memcpy(sorted, hand_numbers(&run, "sample_stats/loss", COUNT), sizeof sorted);
  qsort(sorted, COUNT, sizeof *sorted, hand_compare);
  const RpinnProgress *last = last_report(&session);
  check_same(last->loss_low, sorted[2], 0, "loss_low");
  check_same(last->loss_median, sorted[20], 0, "loss_median");
  check_same(last->loss_high, sorted[37], 0, "loss_high");
  assert_string_equal(last->unit, "members");
  check_same((double)last->iterations, 40 * 30, 0, "iterations");
  check_same(last->seconds_left, 0, 0, "seconds_left");
  hand_close(&run);
}

/* What is said to be left is what it takes: sixteen threads share the members. */
static void seconds_left_are_those_that_it_takes(void **state) {
  RunBench *bench = *state;
  static Session session;
  session = (Session){0};
  run_session(bench, "run", "method=ensemble threads=16 samples=500 iterations=5000", false, &session);
  check_estimates(&session, 6);
}

/* To the last digit: eight members of two seconds on four threads take four, and what was quick before does not count. */
static void seconds_left_follow_the_formula(void **state) {
  (void)state;
  static Session session;
  session = (Session){0};
  RpinnRunOptions options = {.progress = keep_report, .user = &session};
  RpinnDriver driver = {.num_threads = 4, .options = &options};
  RpinnRunProgress progress = {
      .driver = &driver, .unit = "members", .total = 11, .done = 3, .done_here = 3, .seconds_per_unit = 2};
  rpinn_run_progress_report(&progress, true);
  check_close(last_report(&session)->seconds_left, 4, 0);
  progress.seconds_per_unit = 0; /* units that are made together: 11 - 3 of them at the speed of the 3 here */
  rpinn_run_progress_report(&progress, true);
  const RpinnProgress *last = last_report(&session);
  check_relative(last->seconds_left, last->seconds / 3 * 8, 1e-12);
  progress.done_here = 0;
  rpinn_run_progress_report(&progress, true);
  assert_true(isnan(last_report(&session)->seconds_left));
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(time_limits_are_kept),
                                     test_in_folder(finished_runs_repeat_nothing),
                                     test_in_folder(interrupted_runs_repeat_nothing),
                                     test_in_folder(seconds_add_up),
                                     test_in_folder(losses_are_quantiles_of_members),
                                     test_in_folder(seconds_left_are_those_that_it_takes),
                                     cmocka_unit_test(seconds_left_follow_the_formula)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
