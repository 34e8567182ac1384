/* Every backend gives what `plain` gives, in every precision, on every problem file of the tree, at the start and after a
 * long Adam run; test_backend_random.c has problems made from seeds, test_backend_batches.c members that differ. */
#include "problem_folder.h"

#include "backend_judge.h"

enum { LONG_RUN = SANITIZED ? 40 : 2000 };

static void backends_conform(void **state) {
  (void)state;
  Candidate candidates[MAX_CANDIDATES];
  ProblemList *list = list_problems();
  size_t count = all_candidates(candidates);
  assert_true(list->count > 15 && (count > 7 || getenv("RPINN_TEST_BACKEND")));
  for (size_t i = 0; i < list->count; i++)
    compare_subject(open_subject(list->names[i]), candidates, count, LONG_RUN);
  free(list);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(backends_conform)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
