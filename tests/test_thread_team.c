/* A team of threads: every task of every loop once, the loop over when the last of them is, numbers of threads
 * that can index what belongs to a thread, and a team that cannot be had. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"
#include "scarce_threads.h"

#include "thread_team.h"

enum { MAX_TASKS = 1000, MAX_THREADS = 8 };

typedef struct Loop {
  size_t num_threads;
  atomic_bool wrong;             /* a number out of bounds, or two threads with one number */
  atomic_int times[MAX_TASKS];   /* how often each task was done */
  double of_thread[MAX_THREADS]; /* written without a lock, by the thread of that number alone */
  pthread_t who[MAX_THREADS];    /* of that number */
  atomic_int seen[MAX_THREADS];  /* has it had a task? */
  double plain[MAX_TASKS];       /* what the caller reads after the loop */
} Loop;

static void note(void *user, size_t thread, size_t task) {
  Loop *loop = user;
  if (thread >= loop->num_threads || task >= MAX_TASKS) {
    atomic_store(&loop->wrong, true);
    return;
  }
  if (atomic_fetch_add(&loop->seen[thread], 1) == 0) loop->who[thread] = pthread_self();
  if (!pthread_equal(loop->who[thread], pthread_self())) atomic_store(&loop->wrong, true);
  atomic_fetch_add(&loop->times[task], 1);
  loop->of_thread[thread] += (double)task;
  loop->plain[task] += (double)task + 0.5;
}

static RpinnTeam *make_team(RpinnContext *context, size_t num_threads) {
  RpinnTeam *team;
  assert_int_equal(rpinn_team_create(context, num_threads, &team), RPINN_OK);
  assert_non_null(team);
  return team;
}

/* Loops of every length, one after the other on the same team: after each, all tasks are done, once. */
static void every_task_is_done_once_and_before_the_loop_ends(void **state) {
  (void)state;
  static const size_t lengths[] = {0, 1, 2, 3, 7, 64, MAX_TASKS};
  RpinnContext *context = rpinn_context_create();
  for (size_t num_threads = 1; num_threads <= MAX_THREADS; num_threads += num_threads == 1 ? 1 : 3) {
    RpinnTeam *team = make_team(context, num_threads);
    for (int repeat = 0; repeat < 20; repeat++)
      for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        Loop *loop = calloc(1, sizeof *loop);
        double sum = 0;
        loop->num_threads = num_threads;
        rpinn_team_run(team, lengths[k], note, loop);
        for (size_t t = 0; t < MAX_TASKS; t++) {
          check_true(loop->times[t] == (t < lengths[k]), "%zu threads, %zu tasks: task %zu done %d times",
                     num_threads, lengths[k], t, loop->times[t]);
          check_close(loop->plain[t], t < lengths[k] ? (double)t + 0.5 : 0, 0);
        }
        assert_false(loop->wrong);
        for (size_t thread = 0; thread < num_threads; thread++) sum += loop->of_thread[thread];
        check_close(sum, (double)lengths[k] * ((double)lengths[k] - 1) / 2, 0);
        /* The caller works as thread 0, and alone where there is one task. */
        if (loop->seen[0]) assert_true(pthread_equal(loop->who[0], pthread_self()));
        if (lengths[k] == 1) assert_int_equal(loop->seen[0], 1);
        free(loop);
      }
    rpinn_team_destroy(team);
  }
  rpinn_context_destroy(context);
}

/* ---- all of them work at once ---- */

typedef struct Meeting {
  size_t num_threads;
  atomic_int present[MAX_THREADS]; /* by the number of the thread */
  atomic_size_t arrived;
  atomic_bool missed;
} Meeting;

/* A task that ends when all threads of the team are in one: more than one thread must have been woken. */
static void meet(void *user, size_t thread, size_t task) {
  (void)task;
  Meeting *meeting = user;
  atomic_fetch_add(&meeting->present[thread], 1);
  atomic_fetch_add(&meeting->arrived, 1);
  for (int waited = 0; atomic_load(&meeting->arrived) < meeting->num_threads; waited++) {
    if (waited == 20000) {
      atomic_store(&meeting->missed, true);
      return;
    }
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}

static void all_threads_work_at_once(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnTeam *team = make_team(context, 4);
  for (int repeat = 0; repeat < 3; repeat++) {
    Meeting meeting = {.num_threads = 4};
    rpinn_team_run(team, 4, meet, &meeting);
    assert_false(meeting.missed);
    assert_int_equal(meeting.arrived, 4);
    for (size_t thread = 0; thread < 4; thread++) assert_int_equal(meeting.present[thread], 1);
  }
  rpinn_team_destroy(team);
  rpinn_context_destroy(context);
}

/* ---- no team ---- */

static void a_team_that_cannot_be_had_is_an_error(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  for (int possible = 0; possible < 3; possible++) {
    RpinnTeam *team = (RpinnTeam *)&context;
    threads_left = possible;
    assert_int_equal(rpinn_team_create(context, 4, &team), RPINN_ERROR_MEMORY);
    assert_null(team);
    assert_string_equal(rpinn_context_error(context)->message, "4 threads could not be started");
  }
  threads_left = 0; /* the caller needs no thread to be alone */
  RpinnTeam *team = make_team(context, 1);
  Loop *loop = calloc(1, sizeof *loop);
  loop->num_threads = 1;
  rpinn_team_run(team, 5, note, loop);
  assert_int_equal(loop->seen[0], 5);
  free(loop);
  rpinn_team_destroy(team);
  rpinn_team_destroy(NULL);
  threads_left = 1 << 20;
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_task_is_done_once_and_before_the_loop_ends),
                                     cmocka_unit_test(all_threads_work_at_once),
                                     cmocka_unit_test(a_team_that_cannot_be_had_is_an_error)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
