/* What threads tell the one that writes is a block of bytes: copied elsewhere, as to another process, it says the same. */
#include "check.h"

#include <unistd.h>

#include "run_event.h"
#include "temporary_folder.h"

enum { N = 3, S = 2, T = 2 };

static const double theta[N] = {1.5, -2.25, 0.1}, statistics[S] = {7, 1e-300},
                    trace[2 * T] = {0, 9, 40, 0.125};

/* The event in other memory, and the first one gone. */
static RpinnRunEvent *send(RpinnRunEvent *event) {
  size_t size = (size_t)event->size;
  assert_true(rpinn_run_event_is_whole(event, size));
  RpinnRunEvent *arrived = malloc(size);
  assert_non_null(arrived);
  memcpy(arrived, event, size);
  memset(event, 0xa5, size);
  free(event);
  return arrived;
}

static RpinnRunEvent *a_draw(uint64_t index, int32_t failed) {
  RpinnStoredMember draw = {.index = index,
                            .failed = failed,
                            .num_parameters = failed ? 0 : N,
                            .parameters = theta,
                            .num_statistics = S,
                            .statistics = statistics,
                            .num_trace = T,
                            .trace = trace,
                            .stop = "line_search_failed_in_double"};
  RpinnRunEvent *event = rpinn_run_event_of_draw(&draw);
  assert_non_null(event);
  return event;
}

static RpinnStatus look(void *user, const RpinnStoredMember *member) {
  size_t *seen = user;
  assert_int_equal(member->index, *seen ? 12 : 5);
  assert_int_equal(member->failed, *seen ? 1 : 0);
  assert_int_equal(member->num_parameters, *seen ? 0 : N);
  if (!*seen) assert_memory_equal(member->parameters, theta, sizeof theta);
  assert_int_equal(member->num_statistics, S);
  assert_memory_equal(member->statistics, statistics, sizeof statistics);
  assert_int_equal(member->num_trace, T);
  assert_memory_equal(member->trace, trace, sizeof trace);
  assert_string_equal(member->stop, "line_search_failed_in_double");
  ++*seen;
  return RPINN_OK;
}

static void events_say_the_same_elsewhere(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnMemberStore *store;
  assert_int_equal(rpinn_member_store_open(context, "events.db", "identity", &store), RPINN_OK);
  RpinnRunEvent *under_way = rpinn_run_event_of_state(8, 5);
  assert_non_null(under_way);
  memcpy(rpinn_run_event_state(under_way), "state", 5);
  RpinnRunEvent *events[] = {send(a_draw(5, 0)), send(a_draw(12, 1)), send(under_way)};
  check_close(rpinn_run_event_statistics(events[0])[0], 7, 0);
  check_close(rpinn_run_event_statistics(events[1])[1], 1e-300, 0);
  for (size_t k = 0; k < 3; k++) {
    assert_int_equal(rpinn_run_event_store(context, store, events[k]), RPINN_OK);
    free(events[k]);
  }
  size_t seen = 0, size = 0;
  void *bytes = NULL;
  assert_int_equal(rpinn_member_store_visit(context, store, (RpinnStoreRange){0, 100}, look, &seen),
                   RPINN_OK);
  assert_int_equal(seen, 2);
  assert_int_equal(rpinn_member_store_get_state(context, store, 8, &bytes, &size), RPINN_OK);
  assert_int_equal(size, 5);
  assert_memory_equal(bytes, "state", 5);
  free(bytes);
  rpinn_member_store_close(store);
  rpinn_context_destroy(context);
}

static void broken_events_are_known(void **state) {
  (void)state;
  RpinnRunEvent *event = a_draw(5, 0), *whole = event;
  size_t size = (size_t)event->size;
  for (size_t cut = 0; cut < size; cut++) assert_false(rpinn_run_event_is_whole(event, cut));
  event->num_parameters = 1ull << 61; /* times 8 is 0 again */
  assert_false(rpinn_run_event_is_whole(event, size));
  event->num_parameters = N + 1;
  assert_false(rpinn_run_event_is_whole(event, size));
  event->num_parameters = N;
  assert_true(rpinn_run_event_is_whole(event, size));
  memset(event->stop, 'x', sizeof event->stop);
  assert_false(rpinn_run_event_is_whole(event, size));
  free(whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(events_say_the_same_elsewhere),
                                     cmocka_unit_test(broken_events_are_known)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
