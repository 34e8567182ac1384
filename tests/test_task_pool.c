/* Threads over tasks: every task once, those done before not at all, events in the order of each task and in
 * the thread that called, the first failure returned and everything stopped, interruptions and time limits
 * kept. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"
#include "scarce_threads.h"

#include "steady_clock.h"
#include "task_pool.h"

enum { MAX_TASKS = 400, MAX_THREADS = 32, NONE = -1 };

/* A pool whose tasks note what happens to them. Everything that threads write is atomic or theirs alone. */
typedef struct Bench {
  RpinnContext *context;
  RpinnTaskPoolOptions options;
  RpinnTaskPoolResult result;
  /* what is asked of it */
  int events_per_task, failing_task, failing_open, failing_event;
  double seconds_per_task;
  uint64_t count_per_task, interrupt_at; /* counted; 0: never */
  int late_tick;                         /* the tick to interrupt at; 0: never */
  bool wait_for_stop, wait_for_late, fail_when_stopped, logs;
  /* what came of it */
  atomic_int opened, closed, performed[MAX_TASKS], begun, made, freed;
  int handled, next_event[MAX_TASKS], num_lines[MAX_TASKS], ticks;
  uint64_t last_counted;
  bool in_order;
  pthread_t caller;
} Bench;

typedef struct Event {
  Bench *bench;
  uint64_t task;
  int number;
} Event;

typedef struct Seat {
  Bench *bench;
  size_t thread;
} Seat;

static void pause_for(double seconds) {
  nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL); /* less than a second */
}

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  (void)pool;
  Bench *bench = user;
  atomic_fetch_add(&bench->opened, 1);
  if ((int)thread == bench->failing_open)
    return rpinn_fail(context, RPINN_ERROR_IO, "thread %zu has no seat", thread);
  Seat *seat = malloc(sizeof *seat);
  if (!seat) return rpinn_fail_memory(context);
  *seat = (Seat){bench, thread};
  *worker = seat;
  return RPINN_OK;
}

static void close_worker(void *worker) {
  Seat *seat = worker;
  if (!seat) return;
  atomic_fetch_add(&seat->bench->closed, 1);
  free(seat);
}

static RpinnStatus perform(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  Seat *seat = worker;
  Bench *bench = seat->bench;
  atomic_fetch_add(&bench->performed[task], 1);
  atomic_fetch_add(&bench->begun, 1);
  if ((int)task == bench->failing_task)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "task %d is impossible", (int)task);
  for (int k = 0; k < bench->events_per_task; k++) {
    Event *event = malloc(sizeof *event);
    if (!event) return rpinn_fail_memory(context);
    *event = (Event){bench, task, k};
    atomic_fetch_add(&bench->made, 1);
    rpinn_task_pool_post(pool, event);
    if (bench->logs) rpinn_log(context, RPINN_LOG_WARNING, "%d %d", (int)task, k);
  }
  rpinn_task_pool_count(pool, bench->count_per_task);
  pause_for(bench->seconds_per_task);
  for (int waited = 0; bench->wait_for_stop && !rpinn_task_pool_is_stopped(pool); waited++) {
    if (waited == 20000) return rpinn_fail(context, RPINN_ERROR_IO, "nobody stops this task");
    pause_for(0.001);
  }
  if (bench->fail_when_stopped)
    return rpinn_fail(context, RPINN_ERROR_NUMERIC, "task %d was not left in peace", (int)task);
  for (int waited = 0; bench->wait_for_late && !rpinn_task_pool_is_late(pool); waited++) {
    if (waited == 20000) return rpinn_fail(context, RPINN_ERROR_IO, "it is never late");
    pause_for(0.001);
  }
  return RPINN_OK;
}

static RpinnStatus handle(void *user, const void *posted) {
  Bench *bench = user;
  const Event *event = posted;
  if (!pthread_equal(bench->caller, pthread_self())) bench->in_order = false;
  if (event->number != bench->next_event[event->task]++) bench->in_order = false;
  if (bench->handled++ == bench->failing_event)
    return rpinn_fail(bench->context, RPINN_ERROR_IO, "event %d cannot be written", bench->failing_event);
  return RPINN_OK;
}

/* "task number": behind the event of this number, and before the next one. */
static void take_line(void *user, RpinnLogLevel level, const char *line) {
  Bench *bench = user;
  int task, number;
  assert_int_equal(sscanf(line, "%d %d", &task, &number), 2);
  bench->num_lines[task]++;
  if (!pthread_equal(bench->caller, pthread_self()) || level != RPINN_LOG_WARNING ||
      number != bench->num_lines[task] - 1 || number != bench->next_event[task] - 1)
    bench->in_order = false;
}

static void free_event(void *posted) {
  Event *event = posted;
  atomic_fetch_add(&event->bench->freed, 1);
  free(event);
}

static bool tick(void *user, uint64_t counted) {
  Bench *bench = user;
  bench->ticks++;
  bench->last_counted = counted;
  return (bench->interrupt_at > 0 && counted >= bench->interrupt_at) ||
         (bench->late_tick > 0 && bench->ticks >= bench->late_tick);
}

static Bench *bench_open(size_t num_threads, uint64_t num_tasks) {
  Bench *bench = calloc(1, sizeof *bench);
  assert_non_null(bench);
  bench->context = rpinn_context_create();
  bench->failing_task = bench->failing_open = bench->failing_event = NONE;
  bench->in_order = true;
  bench->caller = pthread_self();
  bench->options = (RpinnTaskPoolOptions){.num_threads = num_threads,
                                          .num_tasks = num_tasks,
                                          .user = bench,
                                          .open_worker = open_worker,
                                          .close_worker = close_worker,
                                          .perform = perform,
                                          .handle = handle,
                                          .free_event = free_event,
                                          .tick = tick};
  return bench;
}

/* Whatever has happened, workers are closed, events are freed, and events were in order. */
static RpinnStatus bench_run(Bench *bench) {
  RpinnStatus status = rpinn_task_pool_run(bench->context, &bench->options, &bench->result);
  assert_int_equal(bench->closed, bench->opened - (bench->failing_open != NONE));
  assert_int_equal(bench->freed, bench->made);
  assert_true(bench->in_order);
  return status;
}

static void bench_shut(Bench *bench) {
  rpinn_context_destroy(bench->context);
  free(bench);
}

static const char *message(const Bench *bench) {
  return rpinn_context_error(bench->context)->message;
}

/* ---- all goes well ---- */

/* One thread, several, more than tasks; none, one and many events a task, many more than the queue holds. */
static void every_task_is_done_once_and_its_events_are_in_order(void **state) {
  (void)state;
  static const struct {
    size_t num_threads, num_tasks;
    int events_per_task;
  } cases[] = {{1, 1, 1}, {1, 50, 3}, {4, 300, 3}, {MAX_THREADS, 5, 2}, {3, 2, 1000},
               {4, 0, 1}, {1, 0, 0},  {2, 90, 0},  {8, 64, 64},         {2, 1, 65}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    Bench *bench = bench_open(cases[c].num_threads, cases[c].num_tasks);
    bench->events_per_task = cases[c].events_per_task;
    assert_int_equal(bench_run(bench), RPINN_OK);
    for (size_t t = 0; t < MAX_TASKS; t++)
      check_true(bench->performed[t] == (t < cases[c].num_tasks), "case %zu: task %zu done %d times", c, t,
                 bench->performed[t]);
    assert_int_equal(bench->handled, (int)cases[c].num_tasks * cases[c].events_per_task);
    assert_int_equal(bench->opened, (int)cases[c].num_threads);
    assert_false(bench->result.interrupted || bench->result.out_of_time);
    bench_shut(bench);
  }
}

/* Tasks are done while the caller does something else, as far as the queue has room; stopped, none is begun any more. */
static void threads_work_before_the_caller_waits(void **state) {
  (void)state;
  for (int stops = 0; stops < 2; stops++) {
    Bench *bench = bench_open(3, 60);
    RpinnTaskPool *pool;
    bench->events_per_task = 1;
    bench->wait_for_stop = stops;
    assert_int_equal(rpinn_task_pool_start(bench->context, &bench->options, &pool), RPINN_OK);
    while (atomic_load(&bench->made) < (stops ? 0 : 60) || atomic_load(&bench->begun) < 3) pause_for(1e-3);
    assert_int_equal(bench->handled, 0);
    if (stops) rpinn_task_pool_stop(pool);
    assert_int_equal(rpinn_task_pool_finish(bench->context, pool, &bench->result), RPINN_OK);
    assert_int_equal(bench->handled, bench->made);
    assert_int_equal(bench->begun, stops ? 3 : 60);
    assert_int_equal(bench->freed, bench->made);
    assert_int_equal(bench->closed, 3);
    bench_shut(bench);
  }
}

/* Also more of them than the queue holds; without a log in the caller's context nobody hears them. */
static void what_tasks_log_reaches_the_caller(void **state) {
  (void)state;
  for (int listens = 0; listens < 2; listens++) {
    Bench *bench = bench_open(3, 20);
    bench->events_per_task = 30;
    bench->logs = true;
    if (listens) rpinn_context_set_log(bench->context, take_line, bench);
    assert_int_equal(bench_run(bench), RPINN_OK);
    for (int t = 0; t < 20; t++) assert_int_equal(bench->num_lines[t], listens ? 30 : 0);
    bench_shut(bench);
  }
}

static void tasks_done_before_are_left_out(void **state) {
  (void)state;
  enum { NUM_TASKS = 100 };
  for (size_t num_threads = 1; num_threads <= 4; num_threads += 3)
    for (int pattern = 0; pattern < 4; pattern++) {
      uint8_t done[NUM_TASKS];
      int num_done = 0;
      for (int t = 0; t < NUM_TASKS; t++) { /* all, none, every third, the first half */
        done[t] =
            (uint8_t)(pattern == 0 || (pattern == 2 && t % 3 == 0) || (pattern == 3 && t < NUM_TASKS / 2));
        num_done += done[t];
      }
      Bench *bench = bench_open(num_threads, NUM_TASKS);
      bench->options.done = done;
      bench->events_per_task = 1;
      assert_int_equal(bench_run(bench), RPINN_OK);
      for (int t = 0; t < NUM_TASKS; t++) assert_int_equal(bench->performed[t], !done[t]);
      assert_int_equal(bench->handled, NUM_TASKS - num_done);
      assert_false(bench->result.out_of_time);
      bench_shut(bench);
    }
}

/* What tasks count reaches the tick, several times a second; a pool without tick or handler works as well. */
static void the_tick_sees_what_is_counted(void **state) {
  (void)state;
  Bench *bench = bench_open(2, 12);
  bench->count_per_task = 7;
  bench->seconds_per_task = 0.1;
  assert_int_equal(bench_run(bench), RPINN_OK);
  check_true(bench->ticks >= 4 && bench->ticks <= 20, "%d ticks in 0.6 s", bench->ticks);
  assert_true(bench->last_counted >= 7 * 7 && bench->last_counted <= 7 * 12);
  bench_shut(bench);
  bench = bench_open(2, 12);
  bench->options.tick = NULL;
  bench->options.handle = NULL;
  bench->options.free_event = NULL;
  assert_int_equal(bench_run(bench), RPINN_OK);
  assert_int_equal(bench->begun, 12);
  bench_shut(bench);
}

/* ---- failures ---- */

static void the_first_failure_is_returned_and_stops_the_rest(void **state) {
  (void)state;
  for (size_t num_threads = 1; num_threads <= 4; num_threads += 3) {
    Bench *bench = bench_open(num_threads, MAX_TASKS);
    bench->failing_task = 10;
    bench->seconds_per_task = 0.002;
    bench->events_per_task = 1;
    assert_int_equal(bench_run(bench), RPINN_ERROR_INPUT);
    assert_string_equal(message(bench), "task 10 is impossible");
    assert_int_equal(bench->performed[10], 1);
    check_true(bench->begun < MAX_TASKS / 2, "%d tasks were begun after all", bench->begun);
    assert_int_equal(bench->handled, bench->made); /* what was made before is kept */
    assert_false(bench->result.interrupted || bench->result.out_of_time);
    bench_shut(bench);
  }
}

/* What others say because they were stopped is not the reason. */
static void later_failures_do_not_hide_the_first(void **state) {
  (void)state;
  Bench *bench = bench_open(4, 4);
  bench->failing_task = 3; /* the others wait for the stop that it brings */
  bench->wait_for_stop = bench->fail_when_stopped = true;
  assert_int_equal(bench_run(bench), RPINN_ERROR_INPUT);
  assert_string_equal(message(bench), "task 3 is impossible");
  assert_int_equal(bench->begun, 4);
  bench_shut(bench);
}

/* The handler's failure goes before those of tasks, and the queue is emptied so that no task waits for ever. */
static void a_failing_handler_stops_the_pool(void **state) {
  (void)state;
  Bench *bench = bench_open(3, MAX_TASKS);
  bench->events_per_task = 100;
  bench->failing_event = 150;
  bench->failing_task = 300;
  assert_int_equal(bench_run(bench), RPINN_ERROR_IO);
  assert_string_equal(message(bench), "event 150 cannot be written");
  assert_int_equal(bench->handled, 151); /* none after it */
  check_true(bench->begun < 100, "%d tasks were begun after all", bench->begun);
  bench_shut(bench);
}

static void a_worker_that_cannot_be_opened_stops_the_pool(void **state) {
  (void)state;
  for (int failing = 0; failing < 3; failing += 2) {
    Bench *bench = bench_open(3, MAX_TASKS);
    bench->failing_open = failing;
    bench->seconds_per_task = 0.002;
    assert_int_equal(bench_run(bench), RPINN_ERROR_IO);
    assert_string_equal(message(bench), failing ? "thread 2 has no seat" : "thread 0 has no seat");
    check_true(bench->begun < MAX_TASKS, "all tasks were done");
    bench_shut(bench);
  }
}

/* With fewer threads than asked for the work is done all the same; with none it fails. */
static void threads_that_cannot_be_started_are_done_without(void **state) {
  (void)state;
  Bench *bench = bench_open(4, 30);
  threads_left = 2;
  assert_int_equal(bench_run(bench), RPINN_OK);
  assert_int_equal(bench->begun, 30);
  assert_int_equal(bench->opened, 2);
  bench_shut(bench);
  bench = bench_open(4, 30);
  threads_left = 0;
  assert_int_equal(bench_run(bench), RPINN_ERROR_MEMORY);
  assert_string_equal(message(bench), "no thread could be started");
  assert_int_equal(bench->begun, 0);
  threads_left = 1 << 20;
  bench_shut(bench);
}

/* ---- interruptions and time ---- */

/* Tasks learn that they should stop, also one that waits for nothing else, and no other is begun. */
static void the_tick_interrupts(void **state) {
  (void)state;
  Bench *bench = bench_open(2, MAX_TASKS);
  bench->wait_for_stop = true;
  bench->late_tick = 3;
  bench->events_per_task = 2;
  double started = rpinn_steady_seconds();
  assert_int_equal(bench_run(bench), RPINN_OK);
  double elapsed = rpinn_steady_seconds() - started;
  check_true(elapsed < 2, "%g s", elapsed);
  assert_true(bench->result.interrupted);
  assert_false(bench->result.out_of_time);
  assert_int_equal(bench->begun, 2);
  assert_int_equal(bench->handled, 4); /* what was posted is kept */
  bench_shut(bench);
  bench = bench_open(1, MAX_TASKS);
  bench->count_per_task = 1;
  bench->seconds_per_task = 0.01;
  bench->interrupt_at = 5;
  assert_int_equal(bench_run(bench), RPINN_OK);
  assert_true(bench->result.interrupted);
  check_true(bench->begun >= 5 && bench->begun < 100, "%d tasks", bench->begun);
  bench_shut(bench);
}

static void the_time_limit_is_kept(void **state) {
  (void)state;
  Bench *bench = bench_open(2, MAX_TASKS);
  bench->options.time_limit = 0.5;
  bench->seconds_per_task = 0.02;
  bench->events_per_task = 1;
  double started = rpinn_steady_seconds();
  assert_int_equal(bench_run(bench), RPINN_OK);
  double elapsed = rpinn_steady_seconds() - started;
  check_true(elapsed >= 0.5 && elapsed < 2 * 0.5 + 1, "%g s", elapsed);
  assert_true(bench->result.out_of_time);
  assert_false(bench->result.interrupted);
  check_true(bench->begun > 2 && bench->begun < 60, "%d tasks of 0.02 s in 0.5 s on two threads",
             bench->begun);
  assert_int_equal(bench->handled, bench->begun); /* no task is cut short */
  bench_shut(bench);
  /* A long task asks by itself. */
  bench = bench_open(2, 2);
  bench->options.time_limit = 0.1;
  bench->wait_for_late = true;
  assert_int_equal(bench_run(bench), RPINN_OK);
  assert_true(bench->result.out_of_time);
  bench_shut(bench);
  /* A limit that leaves no work undone has not been met. */
  bench = bench_open(2, 4);
  bench->options.time_limit = 60;
  assert_int_equal(bench_run(bench), RPINN_OK);
  assert_false(bench->result.out_of_time);
  assert_int_equal(bench->begun, 4);
  bench_shut(bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_task_is_done_once_and_its_events_are_in_order),
                                     cmocka_unit_test(threads_work_before_the_caller_waits),
                                     cmocka_unit_test(what_tasks_log_reaches_the_caller),
                                     cmocka_unit_test(tasks_done_before_are_left_out),
                                     cmocka_unit_test(the_tick_sees_what_is_counted),
                                     cmocka_unit_test(the_first_failure_is_returned_and_stops_the_rest),
                                     cmocka_unit_test(later_failures_do_not_hide_the_first),
                                     cmocka_unit_test(a_failing_handler_stops_the_pool),
                                     cmocka_unit_test(a_worker_that_cannot_be_opened_stops_the_pool),
                                     cmocka_unit_test(threads_that_cannot_be_started_are_done_without),
                                     cmocka_unit_test(the_tick_interrupts),
                                     cmocka_unit_test(the_time_limit_is_kept)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
