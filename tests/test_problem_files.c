/* rpinn check on every shipped problem and on every file in tests/problems: jets, Jacobian and gradient
 * against finite differences. */
#include "problem_folder.h"

#include "problem_bench.h"
#include "rpinn/check.h"

enum { LEAST_FILES = 12 };

static void every_file_passes_the_check(void **state) {
  (void)state;
  ProblemList *list = list_problems();
  check_true(list->count >= rpinn_shipped_count() + LEAST_FILES, "%zu problems", list->count);
  print_message("  %-20s %10s %10s %10s\n", "problem", "jets", "Jacobian", "gradient");
  for (size_t i = 0; i < list->count; i++) {
    ProblemBench bench = bench_load(list->names[i], NULL);
    RpinnCheck *check;
    bench_require(&bench, rpinn_check_create(bench.context, bench.problem, &check), list->names[i]);
    double jets = rpinn_check_jet_error(check), jacobian = rpinn_check_jacobian_error(check),
           gradient = rpinn_check_gradient_error(check);
    print_message("  %-20s %10.1e %10.1e %10.1e\n", rpinn_problem_name(bench.problem), jets, jacobian,
                  gradient);
    check_true(jets < 1e-6 && jacobian < 1e-6 && gradient < 1e-6 && rpinn_check_passed(check), "%s",
               list->names[i]);
    check_true(jacobian > 0 && gradient > 0, "%s: nothing was compared", list->names[i]);
    char *text = rpinn_check_text(check), *json = rpinn_check_json(check);
    assert_non_null(strstr(text, "ok: all derivatives agree"));
    assert_non_null(strstr(json, "\"passed\": true"));
    free(text);
    free(json);
    rpinn_check_destroy(check);
    bench_close(&bench);
  }
  free(list);
}

/* The files are there to reach every corner: count what they use, so that a corner is not lost by an edit. */
static void files_reach_every_corner(void **state) {
  (void)state;
  ProblemList *list = list_problems();
  bool coordinates[RPINN_MAX_COORDINATES + 1] = {false}, activations[RPINN_NUM_ACTIVATIONS] = {false},
                                           samplings[RPINN_POINTS_OF_DATA + 1] = {false},
                                           regions[RPINN_REGION_BOUNDARY + 1] = {false},
                                           sources[RPINN_DATA_GAUSSIAN + 1] = {false},
                                           transforms[2] = {false},
                                           operations[RPINN_NUM_OPERATIONS] = {false};
  bool fields[4] = {false}, frozen = false, subset = false, held_out = false, uniform = false,
       near_100 = false;
  for (size_t i = 0; i < list->count; i++) {
    ProblemBench bench = bench_load(list->names[i], NULL);
    const RpinnProblem *problem = bench.problem;
    bench_build(&bench);
    coordinates[problem->num_coordinates] = true;
    fields[problem->num_fields > 3 ? 3 : problem->num_fields] = true;
    for (size_t f = 0; f < problem->num_fields; f++) {
      const RpinnNetwork *network = &problem->fields[f].network;
      activations[network->activation] = true;
      frozen |= network->output_only;
      subset |= network->num_inputs < problem->num_coordinates;
      uniform |= network->initialization == RPINN_GLOROT_UNIFORM;
      near_100 |= network->output_shift == 100;
    }
    for (size_t k = 0; k < problem->num_unknowns; k++) transforms[problem->unknowns[k].transform] = true;
    for (size_t t = 0; t < problem->num_terms; t++) {
      samplings[problem->terms[t].at.sampling] = true;
      regions[problem->terms[t].at.region] = true;
      sources[problem->terms[t].source] = true;
      held_out |= problem->terms[t].is_test;
    }
    for (size_t k = 0; k < bench.posterior->model.num_terms; k++) {
      const RpinnResidualProgram *program = bench.posterior->model.terms[k].program;
      for (size_t n = 0; n < program->num_instructions; n++)
        operations[program->instructions[n].operation] = true;
    }
    bench_close(&bench);
  }
  free(list);
  for (size_t k = 1; k <= RPINN_MAX_COORDINATES; k++) check_true(coordinates[k], "%zu coordinates", k);
  for (size_t k = 1; k <= 3; k++) check_true(fields[k], "%zu fields", k);
  for (size_t k = 0; k < RPINN_NUM_ACTIVATIONS; k++)
    check_true(activations[k], "%s", rpinn_activation_names[k]);
  for (size_t k = 0; k <= RPINN_POINTS_OF_DATA; k++) check_true(samplings[k], "point set number %zu", k);
  for (size_t k = 0; k <= RPINN_REGION_BOUNDARY; k++) check_true(regions[k], "region number %zu", k);
  for (size_t k = 0; k <= RPINN_DATA_GAUSSIAN; k++) check_true(sources[k], "data source number %zu", k);
  for (size_t k = 0; k < RPINN_NUM_OPERATIONS; k++)
    check_true(operations[k] || k == RPINN_OPERATION_FIELD, "%s", rpinn_operation_text((RpinnOperation)k));
  assert_true(transforms[0] && transforms[1] && frozen && subset && held_out && uniform && near_100);
}

/* A value that is not finite fails the check. */
static void not_finite_fails(void **state) {
  (void)state;
  ProblemBench bench = bench_parse("name: bad\n"
                                   "coordinates: {x: [0, 1]}\n"
                                   "fields: {u: {network: [4]}}\n"
                                   "terms: {t: {expect: log(-1 - u^2), at: {grid: 3}, data: 0, noise: 1}}\n"
                                   "settings: {likelihood: noise}\n",
                                   NULL);
  RpinnCheck *check;
  bench_require(&bench, rpinn_check_create(bench.context, bench.problem, &check), "bad");
  assert_false(rpinn_check_passed(check));
  rpinn_check_destroy(check);
  bench_close(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_file_passes_the_check),
                                     cmocka_unit_test(files_reach_every_corner),
                                     cmocka_unit_test(not_finite_fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
