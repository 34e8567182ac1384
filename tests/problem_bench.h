/* Problems in tests: from a text, a shipped name or a file, with the message printed when that fails. */
#ifndef RPINN_TESTS_PROBLEM_BENCH_H
#define RPINN_TESTS_PROBLEM_BENCH_H

#include "check.h"

#include "posterior.h"

typedef struct ProblemBench {
  RpinnContext *context;
  RpinnProblem *problem;
  RpinnPosterior *posterior;
} ProblemBench;

static inline void bench_require(const ProblemBench *bench, RpinnStatus status, const char *what) {
  char message[2300];
  rpinn_error_format(rpinn_context_error(bench->context), message, sizeof message);
  check_true(status == RPINN_OK, "%s: %s", what, message);
}

/* From a shipped name or a path. */
static inline ProblemBench bench_load(const char *name, const RpinnProblemOptions *options) {
  ProblemBench bench = {.context = rpinn_context_create()};
  bench_require(&bench, rpinn_problem_load(bench.context, name, options, &bench.problem), name);
  return bench;
}

static inline ProblemBench bench_parse(const char *text, const RpinnProblemOptions *options) {
  ProblemBench bench = {.context = rpinn_context_create()};
  bench_require(&bench,
                rpinn_problem_parse(bench.context, "test.yaml", text, strlen(text), options, &bench.problem),
                "test.yaml");
  return bench;
}

/* … with its posterior on the oracle; data that are missing count as zeros. */
static inline void bench_build(ProblemBench *bench) {
  bench_require(bench,
                rpinn_settings_set(bench->context, &bench->problem->settings, RPINN_SETTING_BACKEND, "plain",
                                   (RpinnPlace){0}),
                "backend");
  bench_require(bench, rpinn_posterior_create(bench->context, bench->problem, false, &bench->posterior),
                rpinn_problem_name(bench->problem));
}

static inline void bench_close(ProblemBench *bench) {
  rpinn_posterior_destroy(bench->posterior);
  rpinn_problem_destroy(bench->problem);
  rpinn_context_destroy(bench->context);
  *bench = (ProblemBench){0};
}

static inline size_t bench_term(const ProblemBench *bench, const char *name) {
  for (size_t t = 0; t < bench->problem->num_terms; t++)
    if (!strcmp(bench->problem->terms[t].name, name)) return t;
  fail_msg("no term %s", name);
  return 0;
}

static inline const RpinnTermData *bench_data(const ProblemBench *bench, const char *name) {
  return &bench->posterior->data->terms[bench_term(bench, name)];
}

/* All parameters of a field's network, the frozen ones first, as hand_network wants them. The caller frees.
 */
static inline double *bench_parameters(const ProblemBench *bench, size_t field, const double *theta) {
  const RpinnNetwork *network = &bench->posterior->networks[field];
  size_t num_frozen = network->num_all - network->num_trainable;
  double *all = malloc(network->num_all * sizeof *all);
  assert_non_null(all);
  if (num_frozen) memcpy(all, network->frozen, num_frozen * sizeof *all);
  memcpy(all + num_frozen, theta + network->parameter_start, network->num_trainable * sizeof *all);
  return all;
}

#endif
