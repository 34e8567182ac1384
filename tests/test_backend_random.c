/* Every backend gives what `plain` gives on problems that are made from seeds, at the start and after a short Adam run. A long one leads
 * some of their expressions to where values are lost in rounding, whatever computes them. */
#include "backend_judge.h"
#include "random_problem.h"

enum { PROBLEMS = 20, SHORT_TRAINING = 30 };

static Subject open_random(uint64_t seed) {
  Subject subject = {.context = rpinn_context_create()};
  RpinnText text = random_problem_text(seed);
  RpinnOverride overrides[] = {{"backend", "plain", "test", true}};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = overrides};
  RpinnStatus status = rpinn_problem_parse(subject.context, "random.yaml", text.bytes, text.length, &options,
                                           &subject.problem);
  check_true(status == RPINN_OK, "%s\n%s", rpinn_context_error(subject.context)->message, text.bytes);
  require(&subject, rpinn_posterior_create(subject.context, subject.problem, false, &subject.oracle));
  subject.model = &subject.oracle->model;
  subject.M = subject.model->num_rows;
  subject.N = subject.model->num_parameters;
  rpinn_text_free(&text);
  return subject;
}

static void backends_conform_on_random_problems(void **state) {
  (void)state;
  Candidate candidates[MAX_CANDIDATES];
  size_t count = all_candidates(candidates);
  for (uint64_t seed = 0; seed < PROBLEMS; seed++)
    compare_subject(open_random(seed), candidates, count, SHORT_TRAINING);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(backends_conform_on_random_problems)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
