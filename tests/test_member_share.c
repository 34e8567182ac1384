/* How members are shared among threads that make their steps on a device. */
#include "check.h"

#include "member_share.h"

static void check_share(uint64_t num_members, size_t places, size_t num_threads, size_t num_slots) {
  RpinnMemberShare share = rpinn_member_share(num_members, places, (RpinnMemberShare){16, 500});
  check_true(share.num_threads == num_threads && share.num_slots == num_slots,
             "%llu members in places of %zu: %zu threads with %zu slots, expected %zu with %zu",
             (unsigned long long)num_members, places, share.num_threads, share.num_slots, num_threads,
             num_slots);
}

static void threads_fill_the_places_of_a_step(void **state) {
  (void)state;
  check_share(1, 16, 1, 1);
  check_share(16, 16, 1, 16);
  check_share(17, 16, 2, 9);
  check_share(39, 16, 3, 13);
  check_share(240, 16, 15, 16);
}

/* All slots of all threads hold all members wherever that is possible. */
static void many_members_are_shared_evenly(void **state) {
  (void)state;
  check_share(241, 16, 16, 16);
  check_share(500, 16, 16, 32);
  check_share(8000, 16, 16, 500);
  check_share(100000, 16, 16, 500);
  check_share(UINT64_C(1) << 40, 16, 16, 500);
  for (uint64_t count = 1; count <= 8000; count++) {
    RpinnMemberShare share = rpinn_member_share(count, 16, (RpinnMemberShare){16, 500});
    check_true(share.num_threads * share.num_slots >= count, "%llu members", (unsigned long long)count);
  }
}

/* A thread with slots for fewer members than a step takes fills its slots. */
static void few_slots_are_filled(void **state) {
  (void)state;
  RpinnMemberShare share = rpinn_member_share(13, 16, (RpinnMemberShare){4, 7});
  assert_int_equal(share.num_threads, 2);
  assert_int_equal(share.num_slots, 7);
}

static void without_places_threads_take_what_they_can(void **state) {
  (void)state;
  check_share(39, 0, 16, 500);
  check_share(0, 16, 16, 500);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_fill_the_places_of_a_step), cmocka_unit_test(many_members_are_shared_evenly),
      cmocka_unit_test(few_slots_are_filled), cmocka_unit_test(without_places_threads_take_what_they_can)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
