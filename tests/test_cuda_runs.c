/* Whole runs with the backend `cuda`, which the emulated device stands in for: what `backend: auto` chooses, where the choice is kept, and
 * how a run ends whose device is lost, is stopped or has little memory, and what it says of slower ways. */
#include "run_bench.h"

#include "backend.h"
#include "emulated_device.h"

static const char yaml[] = "name: small\n"
                           "coordinates: {x: [0, 1]}\n"
                           "fields: {u: {network: [6, 6]}}\n"
                           "truth: {u: x^2}\n"
                           "terms:\n"
                           "  slope: {expect: \"d(u, x)\", at: {grid: 7}, data: 2*x, noise: 0.1}\n"
                           "  value: {expect: u, at: {grid: 4}, data: truth, noise: 0.05}\n"
                           "prior: {scale: 1}\n"
                           "predict: {grid: 5, quantities: [u]}\n"
                           "settings: {iterations: 8, threads: 1}\n";

/* ---- what is said ---- */

static char all_said[16384]; /* all lines */

static void note_line(void *user, RpinnLogLevel level, const char *line) {
  (void)user, (void)level;
  size_t length = strlen(all_said);
  snprintf(all_said + length, sizeof all_said - length, "%s\n", line);
}

static int setup(void **state) {
  int failed = run_bench_setup(state);
  if (failed) return failed;
  rpinn_backend_replace(&rpinn_cuda_backend, &emulated_cuda_backend);
  rpinn_context_set_log(((RunBench *)*state)->context, note_line, NULL);
  all_said[0] = '\0';
  return 0;
}

static int teardown(void **state) {
  rpinn_backend_replace(&rpinn_cuda_backend, NULL);
  emulated_device_be_absent(false);
  emulated_device_fail_at(SIZE_MAX);
  emulated_device_hold_at(SIZE_MAX);
  emulated_device_have_memory(SIZE_MAX);
  return run_bench_teardown(state);
}

static void check_backend(const RunBench *bench, const char *name, const RpinnJsonValue *summary,
                          const char *backend) {
  char line[64];
  snprintf(line, sizeof line, "backend: %s", backend);
  assert_string_equal(json_text(summary, "backend"), backend);
  check_true(strstr(run_read(bench, name, "run.yaml"), line) != NULL, "run.yaml of %s lacks '%s'", name,
             line);
}

/* ---- auto ---- */

/* 3888 operations of a member make the device worth it from seven members on, and the choice is in the files and in the log. */
static void many_members_go_to_the_device(void **state) {
  const RunBench *bench = *state;
  check_backend(bench, "many", run_make(bench, "many", yaml, "backend=auto samples=7"), "cuda");
  assert_non_null(strstr(all_said,
                         "backend auto is cuda: cuda has an emulated device, which is worth it from 2.7e+04 "
                         "operations in an iteration of all members on, and there are 2.72e+04\n"));
  check_backend(bench, "few", run_make(bench, "few", yaml, "backend=auto samples=6"), "cpu");
  assert_non_null(strstr(all_said, "backend auto is cpu: cuda has an emulated device"));
  check_backend(bench, "chains",
                run_make(bench, "chains", yaml, "backend=auto method=nuts samples=20 chains=2 warmup=20"),
                "cpu");
  check_backend(bench, "laplace", run_make(bench, "laplace", yaml, "backend=auto method=laplace samples=9"),
                "cpu");
}

static void without_a_device_it_is_cpu(void **state) {
  const RunBench *bench = *state;
  emulated_device_be_absent(true);
  check_backend(bench, "auto", run_make(bench, "auto", yaml, "backend=auto samples=7"), "cpu");
  assert_non_null(strstr(all_said, "backend auto is cpu: backend cuda: the emulated device is absent\n"));
  run_make(bench, "cpu", yaml, "backend=cpu samples=7");
  assert_string_equal(run_read(bench, "auto", "predictions.csv"), run_read(bench, "cpu", "predictions.csv"));
  RpinnRun *run;
  assert_int_equal(run_try(bench, "cuda", yaml, "backend=cuda samples=7", (RpinnRunOptions){0}, &run),
                   RPINN_ERROR_DEVICE);
  rpinn_run_destroy(run);
  assert_string_equal(run_message(bench), "backend cuda: the emulated device is absent");
}

/* With more members the rule would choose otherwise: the run stays what it is. */
static void a_resumed_run_keeps_its_backend(void **state) {
  const RunBench *bench = *state;
  check_backend(bench, "run", run_make(bench, "run", yaml, "backend=auto samples=6"), "cpu");
  check_backend(bench, "run", run_resume(bench, "run", yaml, "backend=auto samples=8"), "cpu");
  check_backend(bench, "other", run_make(bench, "other", yaml, "backend=cuda samples=6"), "cuda");
  check_backend(bench, "other", run_resume(bench, "other", yaml, "backend=auto samples=8"), "cuda");
}

static void the_list_says_what_auto_comes_to(void **state) {
  const RunBench *bench = *state;
  char line[256];
  run_require(bench, rpinn_backend_describe(bench->context, "auto", line, sizeof line));
  assert_string_equal(line, "cuda from 2.7e+04 operations in an iteration of all members on, else cpu");
  emulated_device_be_absent(true);
  run_require(bench, rpinn_backend_describe(bench->context, "auto", line, sizeof line));
  assert_string_equal(line, "cpu");
}

/* ---- a device that is lost ---- */

/* Members that were finished are safe, and the run ends in the bytes of one that had no trouble. */
static void a_lost_device_leaves_what_is_done(void **state) {
  const RunBench *bench = *state;
  const char *settings = "backend=cuda samples=9 optimizer=lm";
  RpinnRun *run;
  run_make(bench, "whole", yaml, settings);
  emulated_device_fail_at(300);
  assert_int_equal(run_try(bench, "lost", yaml, settings, (RpinnRunOptions){0}, &run), RPINN_ERROR_DEVICE);
  rpinn_run_destroy(run);
  assert_string_equal(run_message(bench), "the emulated device is lost");
  assert_int_equal(rpinn_status_exit_code(RPINN_ERROR_DEVICE), 1);
  assert_true(run_has(bench, "lost", "checkpoint.db") && !run_has(bench, "lost", "posterior.nc"));
  run_resume(bench, "lost", yaml, settings);
  assert_string_equal(run_read(bench, "lost", "predictions.csv"),
                      run_read(bench, "whole", "predictions.csv"));
}

/* Also that of another thread than the first: two of them predict at the particles, and the first has a device of its own that works. */
static void a_device_that_is_lost_among_several_ends_the_run(void **state) {
  const RunBench *bench = *state;
  for (size_t call = 100, number = 0; number < 12; call += 61, number++) {
    char name[32];
    RpinnRun *run;
    snprintf(name, sizeof name, "run%zu", number);
    emulated_device_fail_at(call);
    RpinnStatus status =
        run_try(bench, name, yaml, "backend=cuda method=svgd samples=32 iterations=4 threads=2",
                (RpinnRunOptions){0}, &run);
    check_true(status == (emulated_device_has_failed() ? RPINN_ERROR_DEVICE : RPINN_OK), "call %zu: %s", call,
               rpinn_status_name(status));
    if (status != RPINN_OK) assert_string_equal(run_message(bench), "the emulated device is lost");
    rpinn_run_destroy(run);
  }
}

/* ---- chains ---- */

/* More of them than a thread has slots: slots are taken again. */
#define CHAINS "backend=cuda method=nuts chains=9 warmup=30 samples=12 max_depth=5 metric=unit"

/* The first time that devices wait, the run is to stop; when that has been heard, they go on. */
static bool stop_where_held(void *user) {
  int *times = user;
  if (emulated_device_is_held() && (*times)++) emulated_device_hold_at(SIZE_MAX);
  return *times > 0;
}

/* Transitions on the device: cut by a device that is lost, by two threads, or by little memory, they are the same. */
static void chains_on_the_device_go_on_as_they_were(void **state) {
  const RunBench *bench = *state;
  RpinnRun *run;
  emulated_device_have_memory(SIZE_MAX);
  run_make(bench, "whole", yaml, CHAINS);
  size_t most_held = emulated_device_most_held();
  assert_null(strstr(all_said, "slower way"));
  assert_null(strstr(all_said, "has no memory"));
  const char *whole = run_read(bench, "whole", "predictions.csv");
  emulated_device_fail_at(400);
  assert_int_equal(run_try(bench, "lost", yaml, CHAINS, (RpinnRunOptions){0}, &run), RPINN_ERROR_DEVICE);
  rpinn_run_destroy(run);
  run_resume(bench, "lost", yaml, CHAINS);
  assert_string_equal(run_read(bench, "lost", "predictions.csv"), whole);
  run_make(bench, "two", yaml, CHAINS " threads=2");
  assert_string_equal(run_read(bench, "two", "predictions.csv"), whole);
  emulated_device_have_memory(most_held * 3 / 4);
  run_make(bench, "scarce", yaml, CHAINS);
  assert_string_equal(run_read(bench, "scarce", "predictions.csv"), whole);
  assert_non_null(strstr(all_said, "backend cuda: the GPU has no memory for"));
}

/* Stopped in the middle by two threads, which have all chains at work, and gone on with by one, which takes up more of them than it has
 * slots. */
static void chains_go_on_from_where_they_were_stopped(void **state) {
  const RunBench *bench = *state;
  enum { ITERATIONS = 9 * (30 + 12) };
  RpinnRun *run;
  int times = 0, done = 0;
  run_make(bench, "whole", yaml, CHAINS);
  emulated_device_hold_at(1200);
  run_require(bench, run_try(bench, "stopped", yaml, CHAINS " threads=2",
                             (RpinnRunOptions){.interrupted = stop_where_held, .user = &times}, &run));
  assert_true(rpinn_run_interrupted(run));
  rpinn_run_destroy(run);
  const char *line = strstr(run_read(bench, "stopped", "run.log"), " of 378 iterations of 9 chains are done");
  assert_non_null(line);
  while (line[-1] >= '0' && line[-1] <= '9') line--;
  done = atoi(line);
  check_true(done > 9 && done < ITERATIONS / 2, "%d iterations were done", done);
  run_resume(bench, "stopped", yaml, CHAINS);
  assert_string_equal(run_read(bench, "stopped", "predictions.csv"),
                      run_read(bench, "whole", "predictions.csv"));
}

/* ---- members by Levenberg–Marquardt ---- */

/* A step of one member takes a device as long as that of all that a thread has slots for: threads that had a few members each would wait for
 * one another. So a few members are one thread's, whatever the threads that there are, and the device has no more to do than with one. */
static void few_members_share_their_steps(void **state) {
  const RunBench *bench = *state;
  size_t products[2];
  for (size_t k = 0; k < 2; k++) {
    size_t before = emulated_device_num_products();
    run_make(bench, k ? "four" : "one", yaml,
             k ? "backend=cuda samples=7 optimizer=lm threads=4"
               : "backend=cuda samples=7 optimizer=lm threads=1");
    products[k] = emulated_device_num_products() - before;
  }
  check_true(products[0] > 0 && products[1] == products[0], "%zu products on one thread, %zu on four",
             products[0], products[1]);
  assert_string_equal(run_read(bench, "four", "predictions.csv"), run_read(bench, "one", "predictions.csv"));
  assert_non_null(
      strstr(run_read(bench, "four", "run.log"), "7 of 7 members are done: 7 here on 1 thread, in "));
  run_make(bench, "adam", yaml, "backend=cuda samples=7 optimizer=adam threads=4");
  assert_non_null(strstr(run_read(bench, "adam", "run.log"),
                         "7 here on 4 threads, in 8 to 8 iterations each, 56 in all"));
}

/* ---- slower ways ---- */

static const char noisy[] =
    "name: noisy\n"
    "coordinates: {x: [0, 1]}\n"
    "fields: {u: {network: [6, 6]}}\n"
    "truth: {u: x^2}\n"
    "terms:\n"
    "  value: {expect: u, at: {grid: 9}, data: truth, noise: {unknown: true, truth: 0.1}}\n"
    "prior: {scale: 1}\n"
    "predict: {grid: 5, quantities: [u]}\n"
    "settings: {iterations: 8, threads: 1}\n";
static const char shallow[] = "name: shallow\n"
                              "coordinates: {x: [0, 1]}\n"
                              "fields: {u: {network: [6]}}\n"
                              "truth: {u: x^2}\n"
                              "terms:\n"
                              "  value: {expect: u, at: {grid: 9}, data: truth, noise: 0.1}\n"
                              "prior: {scale: 1}\n"
                              "predict: {grid: 5, quantities: [u]}\n"
                              "settings: {iterations: 8, threads: 1}\n";

#define SHORT_CHAINS   "method=nuts chains=2 warmup=6 samples=4 max_depth=3 "
#define CORRECTED      "method=rpinn samples=6 correct=nuts correct_budget=20 max_depth=3 "
#define PARTICLES      "method=svgd samples=5 iterations=4 "
#define SLOW_CHAINS    "backend cuda: trajectories take a slower way, leapfrog by leapfrog from the host, for "
#define SLOW_PARTICLES "backend cuda: the products of SVGD are made on the host, more slowly, for "

/* What the device takes no part in is made from the host, and the run says why, to its caller and in run.log; where there is no device,
 * there is nothing to say. */
static void what_goes_a_slower_way_is_said(void **state) {
  const RunBench *bench = *state;
  static const struct {
    const char *name, *yaml, *settings, *sentence; /* NULL: none */
  } cases[] = {
      {"chains", yaml, SHORT_CHAINS "backend=cuda", NULL},
      {"dense", yaml, SHORT_CHAINS "backend=cuda metric=dense", SLOW_CHAINS "the metric is dense"},
      {"noisy", noisy, SHORT_CHAINS "backend=cuda", SLOW_CHAINS "the noise is among the unknowns"},
      {"double", yaml, SHORT_CHAINS "backend=cuda precision=double", SLOW_CHAINS "the precision is double"},
      {"shallow", shallow, SHORT_CHAINS "backend=cuda", SLOW_CHAINS "a field has a single hidden layer"},
      {"host", yaml, SHORT_CHAINS "backend=cpu metric=dense", NULL},
      {"corrected", yaml, CORRECTED "backend=cuda", NULL},
      {"dense-corrected", yaml, CORRECTED "backend=cuda metric=dense", SLOW_CHAINS "the metric is dense"},
      {"noisy-corrected", noisy, CORRECTED "backend=cuda", SLOW_CHAINS "the noise is among the unknowns"},
      {"particles", yaml, PARTICLES "backend=cuda", NULL},
      {"functions", yaml, PARTICLES "backend=cuda kernel=functions",
       SLOW_PARTICLES "the kernel compares functions"},
      {"noisy-particles", noisy, PARTICLES "backend=cuda", SLOW_PARTICLES "the noise is among the unknowns"},
      {"host-functions", yaml, PARTICLES "backend=cpu kernel=functions", NULL}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    all_said[0] = '\0';
    run_make(bench, cases[c].name, cases[c].yaml, cases[c].settings);
    const char *log = run_read(bench, cases[c].name, "run.log"), *sentence = cases[c].sentence;
    if (sentence)
      check_true(strstr(all_said, sentence) && strstr(log, sentence), "%s: not said: %s", cases[c].name,
                 sentence);
    else
      check_true(!strstr(all_said, "slow"), "%s: said: %s", cases[c].name, all_said);
  }
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(many_members_go_to_the_device),           TEST(without_a_device_it_is_cpu),
      TEST(a_resumed_run_keeps_its_backend),         TEST(the_list_says_what_auto_comes_to),
      TEST(a_lost_device_leaves_what_is_done),       TEST(a_device_that_is_lost_among_several_ends_the_run),
      TEST(chains_on_the_device_go_on_as_they_were), TEST(chains_go_on_from_where_they_were_stopped),
      TEST(few_members_share_their_steps),           TEST(what_goes_a_slower_way_is_said)};
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
