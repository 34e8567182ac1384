/* The wall clock may be set while a run waits. Here it is always an hour ahead of what the C library's waits go
 * by: as if it had been set back by an hour just after it was read. */
#include <stdatomic.h>
#include <time.h>

#include "check.h"
#include "task_pool.h"

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
  int result = __real_clock_gettime(clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += 3600;
  return result;
}

enum { ENOUGH_TICKS = 5 };
static atomic_int num_ticks;

static bool count_tick(void *user, uint64_t counted) {
  (void)user;
  (void)counted;
  num_ticks++;
  return false;
}

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  (void)context;
  (void)pool;
  (void)thread;
  *worker = user;
  return RPINN_OK;
}

static void close_worker(void *worker) {
  (void)worker;
}

/* Posts nothing, so that only its timed wait wakes the pool; five seconds at most. */
static RpinnStatus wait_for_ticks(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  (void)worker;
  (void)context;
  (void)pool;
  (void)task;
  for (int i = 0; i < 500 && num_ticks < ENOUGH_TICKS; i++)
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  return RPINN_OK;
}

static void a_pool_ticks_whatever_the_wall_clock_says(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnTaskPoolOptions options = {.num_threads = 1,
                                  .num_tasks = 1,
                                  .open_worker = open_worker,
                                  .close_worker = close_worker,
                                  .perform = wait_for_ticks,
                                  .tick = count_tick};
  RpinnTaskPoolResult result;
  assert_int_equal(rpinn_task_pool_run(context, &options, &result), RPINN_OK);
  check_true(num_ticks >= ENOUGH_TICKS, "%d ticks in five seconds", num_ticks);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_pool_ticks_whatever_the_wall_clock_says)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
