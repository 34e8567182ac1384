/* Many runs: each is made once and in whatever thread, what was stopped goes on, one that fails takes no other along, and
 * yields come in the order of the tasks, with true counts. */
#include "hand_problem.h"

#include <pthread.h>
#include <time.h>

#include "blas_threads.h"
#include "many_runs.h"
#include "processors.h"
#include "run_record.h"

enum { NUM_TASKS = 6, NONE = -1 };

/* What a task comes to. */
typedef struct Yield {
  double task, seed, mean; /* mean: of its first predicted value */
  double num_threads;
} Yield;

typedef struct Tasks {
  const RunBench *bench;
  RpinnManyRuns runs;
  RpinnManyOptions options;
  /* what is asked of them */
  const char *settings;
  int failing_open, failing_take; /* tasks */
  int slow;                       /* a task that takes its time */
  int waiting;                    /* a task that waits for an end before its run begins */
  int stop_at_run;                /* the run, counted from 1, that is interrupted; 0: none … */
  int stop_at_question;           /* … and which question of it is answered with an end … */
  const char *stop_at_file;       /* … once this is there; NULL: at once */
  /* what came of them */
  Yield yields[NUM_TASKS];
  pthread_t caller;
  size_t num_begun, num_delivered, num_failed, num_lines, num_reports;
  size_t begun[NUM_TASKS], delivered[NUM_TASKS], failed[NUM_TASKS];
  char message[512];
  RpinnManyProgress progress[NUM_TASKS];
  int num_questions;
} Tasks;

/* ---- the tasks ---- */

static void name_task(const void *user, size_t task, char name[RPINN_TASK_NAME_SIZE]) {
  (void)user;
  snprintf(name, RPINN_TASK_NAME_SIZE, "task-%zu", task);
}

static const char *yield_path(const Tasks *tasks, size_t task, char path[RUN_PATH]) {
  snprintf(path, RUN_PATH, "%s/yield-%zu", tasks->bench->folder, task);
  return path;
}

static bool is_in_its_thread(const Tasks *tasks) {
  return pthread_equal(pthread_self(), tasks->caller) != 0;
}

static RpinnStatus recall(void *user, RpinnContext *context, size_t task, void *yield, bool *is_known) {
  Tasks *tasks = user;
  char path[RUN_PATH];
  FILE *file = fopen(yield_path(tasks, task, path), "rb");
  *is_known = file != NULL;
  if (!file) return RPINN_OK;
  bool is_whole = fread(yield, sizeof(Yield), 1, file) == 1;
  fclose(file);
  return is_whole ? RPINN_OK : rpinn_fail(context, RPINN_ERROR_IO, "half a yield");
}

static RpinnStatus open_task(const void *user, RpinnContext *context, size_t task, RpinnProblem **problem,
                             const void **beside) {
  const Tasks *tasks = user;
  char settings[RUN_PATH];
  if ((int)task == tasks->failing_open)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "task %zu is impossible", task);
  for (int k = 0; (int)task == tasks->waiting && k < 1000; k++) {
    if (rpinn_is_interrupted(context)) return rpinn_fail_interrupted(context);
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  if ((int)task == tasks->slow) nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
  snprintf(settings, sizeof settings, "%s seed=%zu", tasks->settings, 100 + task);
  RpinnOverride overrides[RUN_MAX_SETTINGS];
  RpinnProblemOptions options = {.num_overrides = run_settings(settings, overrides), .overrides = overrides};
  *beside = &tasks->yields[task];
  rpinn_log(context, RPINN_LOG_INFO, "task %zu", task);
  return rpinn_problem_parse(context, "test.yaml", hand_yaml, strlen(hand_yaml), &options, problem);
}

static RpinnStatus take(const void *user, RpinnContext *context, const RpinnTaskRun *made, void *yield) {
  const Tasks *tasks = user;
  char path[RUN_PATH];
  if ((int)made->task == tasks->failing_take)
    return rpinn_fail(context, RPINN_ERROR_NUMERIC, "task %zu comes to nothing", made->task);
  *(Yield *)yield = (Yield){(double)made->task, (double)made->run->posteriors[0]->seed,
                            made->run->results.mean[0], (double)made->run->made_on_threads};
  if (made->beside != yield || !(made->seconds > 0) || made->problem != made->run->problem)
    return rpinn_fail(context, RPINN_ERROR_IO, "this is not the run of task %zu", made->task);
  FILE *file = fopen(yield_path(tasks, made->task, path), "wb");
  if (!file) return rpinn_fail_file(context, RPINN_ERROR_IO, "write", path);
  fwrite(yield, sizeof(Yield), 1, file);
  fclose(file);
  return RPINN_OK;
}

static RpinnStatus deliver(void *user, RpinnContext *context, size_t task, const void *yield,
                           const RpinnManyProgress *progress) {
  Tasks *tasks = user;
  assert_ptr_equal(context, tasks->bench->context);
  assert_true(is_in_its_thread(tasks));
  assert_ptr_equal(yield, &tasks->yields[task]);
  tasks->progress[tasks->num_delivered] = *progress;
  tasks->delivered[tasks->num_delivered++] = task;
  return RPINN_OK;
}

static RpinnStatus let_go(void *user, RpinnContext *context, size_t task) {
  Tasks *tasks = user;
  assert_true(is_in_its_thread(tasks));
  rpinn_error_format(rpinn_context_error(context), tasks->message, sizeof tasks->message);
  tasks->failed[tasks->num_failed++] = task;
  return RPINN_OK;
}

static void note_begin(void *user, const char *name) {
  Tasks *tasks = user;
  assert_true(is_in_its_thread(tasks));
  tasks->begun[tasks->num_begun++] = (size_t)(name[strlen("task-")] - '0');
  tasks->num_questions = 0;
}

static void note_report(void *user, const RpinnProgress *progress) {
  Tasks *tasks = user;
  (void)progress;
  assert_true(is_in_its_thread(tasks));
  tasks->num_reports++;
}

static void note_line(void *user, RpinnLogLevel level, const char *line) {
  Tasks *tasks = user;
  (void)level;
  assert_true(is_in_its_thread(tasks));
  tasks->num_lines += !strncmp(line, "task ", 5);
}

static bool is_interrupted(void *user) {
  Tasks *tasks = user;
  assert_true(is_in_its_thread(tasks));
  if (tasks->stop_at_file && access(tasks->stop_at_file, F_OK) != 0) return false;
  return tasks->stop_at_run && (int)tasks->num_begun == tasks->stop_at_run &&
         ++tasks->num_questions >= tasks->stop_at_question;
}

/* ---- a session ---- */

/* Six short runs, one after the other, in a folder of the bench; what is asked of them may be changed. */
static Tasks tasks_of(const RunBench *bench) {
  return (Tasks){.bench = bench,
                 .runs = {.num_tasks = NUM_TASKS,
                          .yield_size = sizeof(Yield),
                          .name = name_task,
                          .recall = recall,
                          .deliver = deliver,
                          .open = open_task,
                          .take = take},
                 .options = {.interrupted = is_interrupted, .begins = note_begin, .progress = note_report},
                 .settings = "method=ensemble samples=3 iterations=20 threads=1",
                 .failing_open = NONE,
                 .failing_take = NONE,
                 .slow = NONE,
                 .waiting = NONE};
}

static RpinnStatus make(Tasks *tasks, bool *interrupted) {
  tasks->runs.folder = run_path(tasks->bench, "runs", NULL);
  tasks->runs.yields = tasks->yields;
  tasks->runs.user = tasks->options.user = tasks;
  tasks->caller = pthread_self();
  rpinn_context_set_log(tasks->bench->context, note_line, tasks);
  RpinnStatus status =
      rpinn_many_runs_make(tasks->bench->context, &tasks->runs, &tasks->options, interrupted);
  rpinn_context_set_log(tasks->bench->context, NULL, NULL);
  return status;
}

static void make_all(Tasks *tasks) {
  bool interrupted;
  run_require(tasks->bench, make(tasks, &interrupted));
  assert_false(interrupted);
}

static void forget(const Tasks *tasks, size_t task) {
  char path[RUN_PATH];
  assert_int_equal(unlink(yield_path(tasks, task, path)), 0);
}

static bool is_kept(const Tasks *tasks, size_t task) {
  char path[RUN_PATH];
  return access(yield_path(tasks, task, path), F_OK) == 0;
}

static void check_list(size_t count, const size_t *found, size_t num_expected, const size_t *expected) {
  check_true(count == num_expected, "%zu tasks, expected %zu", count, num_expected);
  for (size_t i = 0; i < count; i++)
    check_true(found[i] == expected[i], "task %zu is number %zu, expected task %zu", found[i], i,
               expected[i]);
}
#define check_tasks(count, found, ...)                                                                       \
  check_list(count, found, sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), (size_t[]){__VA_ARGS__})

static void check_yields(const Tasks *tasks) {
  for (size_t k = 0; k < NUM_TASKS; k++) {
    assert_true(tasks->yields[k].task == (double)k && tasks->yields[k].seed == 100 + (double)k);
    assert_true(isfinite(tasks->yields[k].mean) && tasks->yields[k].mean != tasks->yields[(k + 1) % 6].mean);
  }
}

/* ---- made once ---- */

static void what_is_known_is_not_made_again(void **state) {
  RunBench *bench = *state;
  Tasks first = tasks_of(bench), again = tasks_of(bench), third = tasks_of(bench), fourth = tasks_of(bench);
  make_all(&first);
  check_tasks(first.num_begun, first.begun, 0, 1, 2, 3, 4, 5);
  check_tasks(first.num_delivered, first.delivered, 0, 1, 2, 3, 4, 5);
  check_yields(&first);
  make_all(&again);
  assert_int_equal(again.num_begun, 0);
  check_tasks(again.num_delivered, again.delivered, 0, 1, 2, 3, 4, 5);
  assert_memory_equal(again.yields, first.yields, sizeof first.yields);
  forget(&first, 1);
  forget(&first, 4);
  make_all(&third);
  check_tasks(third.num_begun, third.begun, 1, 4);
  check_tasks(third.num_delivered, third.delivered, 0, 1, 2, 3, 4, 5);
  assert_memory_equal(third.yields, first.yields, sizeof first.yields);
  forget(&first, 3);
  fourth.options.num_jobs = 2;
  make_all(&fourth);
  check_tasks(fourth.num_begun, fourth.begun, 3);
  assert_memory_equal(fourth.yields, first.yields, sizeof first.yields);
}

static void folders_stay_only_where_they_are_to(void **state) {
  RunBench *bench = *state;
  enum { COUNT = 2 };
  Tasks tasks = tasks_of(bench);
  tasks.runs.num_tasks = COUNT;
  make_all(&tasks);
  for (size_t k = 0; k < COUNT; k++) {
    char name[RPINN_TASK_NAME_SIZE] = "runs/";
    name_task(NULL, k, name + strlen(name));
    check_true(!run_has(bench, name, NULL), "%s is still there", name);
    forget(&tasks, k);
  }
  tasks = tasks_of(bench);
  tasks.runs.num_tasks = COUNT;
  tasks.runs.keep_folders = true;
  make_all(&tasks);
  assert_true(run_has(bench, "runs/task-0", "summary.json") && run_has(bench, "runs/task-1", "posterior.nc"));
}

/* Where folders are all there is. */
static void tasks_may_leave_nothing_but_folders(void **state) {
  RunBench *bench = *state;
  Tasks tasks = tasks_of(bench);
  tasks.runs.num_tasks = 2;
  tasks.runs.take = NULL;
  tasks.runs.keep_folders = true;
  make_all(&tasks);
  check_tasks(tasks.num_delivered, tasks.delivered, 0, 1);
  assert_true(run_has(bench, "runs/task-1", "summary.json"));
}

/* ---- stopped ---- */

static void the_rest_is_for_the_next_time(void **state) {
  RunBench *bench = *state;
  Tasks tasks = tasks_of(bench), again = tasks_of(bench);
  bool interrupted;
  tasks.stop_at_run = 3; /* after which nobody begins a fourth */
  tasks.stop_at_question = 1;
  run_require(bench, make(&tasks, &interrupted));
  assert_true(interrupted);
  check_tasks(tasks.num_begun, tasks.begun, 0, 1, 2);
  check_tasks(tasks.num_delivered, tasks.delivered, 0, 1);
  assert_false(is_kept(&tasks, 2));
  make_all(&again);
  check_tasks(again.num_begun, again.begun, 2, 3, 4, 5);
  check_tasks(again.num_delivered, again.delivered, 0, 1, 2, 3, 4, 5);
  check_yields(&again);
}

/* In the middle of a run: the next session finds its members, and comes to the same. */
static void a_run_that_was_stopped_goes_on(void **state) {
  RunBench *bench = *state;
  static const char settings[] = "method=ensemble samples=400 iterations=200 threads=1";
  Tasks whole = tasks_of(bench), tasks = tasks_of(bench), again = tasks_of(bench);
  bool interrupted;
  whole.settings = tasks.settings = again.settings = settings;
  whole.runs.num_tasks = tasks.runs.num_tasks = again.runs.num_tasks = 2;
  make_all(&whole);
  forget(&whole, 0);
  forget(&whole, 1);
  tasks.stop_at_run = 2;
  tasks.stop_at_question = 2;
  again.runs.keep_folders = true;
  run_require(bench, make(&tasks, &interrupted));
  assert_true(interrupted && run_has(bench, "runs/task-1", "checkpoint.db"));
  assert_false(run_has(bench, "runs/task-1", "summary.json"));
  make_all(&again);
  check_tasks(again.num_begun, again.begun, 1);
  assert_non_null(strstr(run_read(bench, "runs/task-1", "run.log"), "resumed problem"));
  assert_memory_equal(again.yields, whole.yields, 2 * sizeof(Yield));
}

static RpinnStatus refuse(void *user, RpinnContext *context, size_t task, const void *yield,
                          const RpinnManyProgress *progress) {
  RPINN_TRY(deliver(user, context, task, yield, progress));
  return task == 2 ? rpinn_fail(context, RPINN_ERROR_INTERRUPTED, "interrupted") : RPINN_OK;
}

static void an_end_while_something_is_delivered_is_no_failure(void **state) {
  RunBench *bench = *state;
  Tasks tasks = tasks_of(bench);
  bool interrupted;
  tasks.runs.deliver = refuse;
  run_require(bench, make(&tasks, &interrupted));
  assert_true(interrupted);
  assert_int_equal(rpinn_context_error(bench->context)->status, RPINN_OK);
  check_tasks(tasks.num_begun, tasks.begun, 0, 1, 2);
}

/* ---- failed ---- */

static void a_failure_says_whose_it_is_and_loses_nothing(void **state) {
  RunBench *bench = *state;
  for (size_t num_jobs = 1; num_jobs <= 3; num_jobs += 2) {
    Tasks tasks = tasks_of(bench), again = tasks_of(bench);
    bool interrupted;
    char text[1024];
    size_t num_kept = 0;
    tasks.options.num_jobs = again.options.num_jobs = num_jobs;
    tasks.failing_open = 2;
    assert_int_equal(make(&tasks, &interrupted), RPINN_ERROR_INPUT);
    assert_false(interrupted);
    rpinn_error_format(rpinn_context_error(bench->context), text, sizeof text);
    check_true(strstr(text, "/runs/task-2: task 2 is impossible") != NULL, "%s", text);
    if (num_jobs == 1) check_tasks(tasks.num_delivered, tasks.delivered, 0, 1);
    for (size_t k = 0; k < NUM_TASKS; k++) num_kept += is_kept(&tasks, k);
    for (size_t k = 0; k < tasks.num_delivered; k++) assert_true(is_kept(&tasks, tasks.delivered[k]));
    make_all(&again);
    assert_int_equal(again.num_begun, NUM_TASKS - num_kept);
    check_yields(&again);
    for (size_t k = 0; k < NUM_TASKS; k++) forget(&again, k);
  }
}

static void the_others_go_on_where_they_may(void **state) {
  RunBench *bench = *state;
  for (size_t num_jobs = 1; num_jobs <= 3; num_jobs += 2) {
    Tasks tasks = tasks_of(bench);
    tasks.options.num_jobs = num_jobs;
    tasks.runs.fail = let_go;
    tasks.failing_take = 3;
    make_all(&tasks);
    assert_int_equal(rpinn_context_error(bench->context)->status, RPINN_OK);
    check_tasks(tasks.num_failed, tasks.failed, 3);
    check_true(strstr(tasks.message, "/runs/task-3: task 3 comes to nothing") != NULL, "%s", tasks.message);
    check_tasks(tasks.num_delivered, tasks.delivered, 0, 1, 2, 4, 5);
    assert_int_equal(tasks.progress[4].done, 5);
    assert_int_equal(tasks.progress[4].total, 6);
    assert_true(run_has(bench, "runs/task-3", "summary.json")); /* what failed can be looked at */
    for (size_t k = 0; k < NUM_TASKS; k++)
      if (k != 3) forget(&tasks, k);
  }
}

/* ---- side by side ---- */

static void jobs_leave_no_mark(void **state) {
  RunBench *bench = *state;
  static const size_t jobs[] = {2, 8};
  Tasks one = tasks_of(bench);
  make_all(&one);
  assert_true(one.num_reports > 0);
  assert_int_equal(one.num_lines, NUM_TASKS);
  for (size_t j = 0; j < 2; j++) {
    Tasks many = tasks_of(bench);
    for (size_t k = 0; k < NUM_TASKS; k++) forget(&one, k);
    many.options.num_jobs = jobs[j];
    many.slow = 0; /* so that it is the last of the first to be done */
    make_all(&many);
    check_tasks(many.num_delivered, many.delivered, 0, 1, 2, 3, 4, 5);
    assert_memory_equal(many.yields, one.yields, sizeof one.yields);
    assert_int_equal(many.num_begun, NUM_TASKS);
    assert_int_equal(many.num_lines, NUM_TASKS);
    assert_int_equal(many.num_reports, 0); /* of which run? */
  }
}

/* Eight jobs for one run, or for two, are one or two, which share all cores. */
static void cores_are_for_runs_that_there_are(void **state) {
  RunBench *bench = *state;
  size_t cores = rpinn_blas_is_shareable() ? rpinn_processors_allowed() : 1;
  for (size_t num_runs = 1; num_runs <= 2; num_runs++) {
    Tasks tasks = tasks_of(bench);
    tasks.settings = "method=ensemble samples=1000 iterations=1 threads=0";
    tasks.runs.num_tasks = num_runs;
    tasks.options.num_jobs = 8;
    make_all(&tasks);
    for (size_t k = 0; k < num_runs; k++) {
      check_true(tasks.yields[k].num_threads == (double)(cores > num_runs ? cores / num_runs : 1),
                 "%zu runs: %g threads of %zu cores", num_runs, tasks.yields[k].num_threads, cores);
      forget(&tasks, k);
    }
  }
}

static void jobs_stop_too(void **state) {
  RunBench *bench = *state;
  Tasks tasks = tasks_of(bench), again = tasks_of(bench);
  bool interrupted;
  tasks.settings = "method=ensemble samples=100000 iterations=200 threads=1";
  tasks.options.num_jobs = 2;
  tasks.waiting = 1;
  tasks.stop_at_run = 2;
  tasks.stop_at_file = run_path(bench, "runs/task-0", "run.log"); /* the first is at work */
  run_require(bench, make(&tasks, &interrupted));
  assert_true(interrupted);
  assert_int_equal(tasks.num_begun, 2);
  assert_int_equal(tasks.num_delivered, 0);
  assert_true(run_has(bench, "runs/task-0", "checkpoint.db"));
  assert_null(strstr(run_read(bench, "runs/task-0", "run.log"), "the results are being made"));
  assert_false(run_has(bench, "runs/task-1", NULL));
  again.settings = tasks.settings;
  again.runs.num_tasks = 0; /* nothing to do is no reason to wait */
  again.options.num_jobs = 2;
  make_all(&again);
}

/* ---- how far ---- */

static void counts_are_true(void **state) {
  RunBench *bench = *state;
  Tasks first = tasks_of(bench), tasks = tasks_of(bench);
  make_all(&first);
  forget(&first, 2);
  forget(&first, 4);
  make_all(&tasks);
  for (size_t k = 0; k < NUM_TASKS; k++) {
    assert_int_equal(tasks.progress[k].done, k + 1);
    assert_int_equal(tasks.progress[k].total, NUM_TASKS);
    assert_true(tasks.progress[k].is_new == (k == 2 || k == 4));
  }
  assert_true(isnan(tasks.progress[1].seconds_left)); /* nothing was made yet */
  assert_true(tasks.progress[2].seconds_left > 0 && tasks.progress[2].seconds_left < 60);
  assert_true(tasks.progress[4].seconds_left == 0 && tasks.progress[5].seconds_left == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(what_is_known_is_not_made_again),
                                     test_in_folder(folders_stay_only_where_they_are_to),
                                     test_in_folder(tasks_may_leave_nothing_but_folders),
                                     test_in_folder(the_rest_is_for_the_next_time),
                                     test_in_folder(a_run_that_was_stopped_goes_on),
                                     test_in_folder(an_end_while_something_is_delivered_is_no_failure),
                                     test_in_folder(a_failure_says_whose_it_is_and_loses_nothing),
                                     test_in_folder(the_others_go_on_where_they_may),
                                     test_in_folder(jobs_leave_no_mark),
                                     test_in_folder(cores_are_for_runs_that_there_are),
                                     test_in_folder(jobs_stop_too),
                                     test_in_folder(counts_are_true)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
