/* Priors as a problem file has them, what outputs are mapped to, and the scale that the data choose. */
#include "problem_bench.h"

#include "prior_choice.h"

#define PROBLEM_HEAD                                                                                         \
  "name: p\ncoordinates: {x: [0, 4]}\n"                                                                      \
  "truth: {u: 10 + 2*x, v: x}\n"                                                                             \
  "terms:\n"                                                                                                 \
  "  u: {expect: u, at: {grid: 9}, data: truth, noise: 0.1}\n"                                               \
  "  v: {expect: v, at: {grid: 3}, data: 0, noise: 0.01}\n"                                                  \
  "  w: {expect: \"d(u, x)\", at: {grid: 4}, data: 2, perturb: true, noise: 0.1}\n"
#define SETTINGS "settings: {likelihood: noise, scale_fields: yes}\n"

static ProblemBench build(const char *text) {
  ProblemBench bench = bench_parse(text, NULL);
  bench_build(&bench);
  return bench;
}

/* u: [3, 2] from one input: W [3][1], b [3]; W [2][3], b [2]; W [1][2], b [1]. */
static void test_shapes_and_scales(void **state) {
  (void)state;
  ProblemBench bench =
      build(PROBLEM_HEAD
            "fields:\n  u: {network: [3, 2], prior: {shape: fan_in}}\n  v: {network: [2], prior: {scale: "
            "0.25}}\nprior: {scale: 0.5}\n" SETTINGS);
  const double *root = bench.posterior->model.prior_root;
  static const double fan_in[] = {1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 1, 1, 2, 2, 1};
  for (size_t j = 0; j < 17; j++) check_close(root[j], sqrt(fan_in[j]) / 0.5, 1e-15);
  for (size_t j = 17; j < bench.posterior->model.num_parameters; j++) check_close(root[j], 4, 0);
  check_close(rpinn_posterior_prior_sigma(bench.posterior), 0.5, 0);
  bench_close(&bench);
}

/* The setting wins over the file; a likelihood of its own scale does not look at either. */
static void test_precedence(void **state) {
  (void)state;
  static const char fields[] = "fields: {u: {network: [3]}, v: {network: [2]}}\n";
  char text[2000];
  snprintf(text, sizeof text,
           "%s%sprior: {shape: fan_in, scale: loo}\nsettings: {likelihood: noise, prior_scale: 3}\n",
           PROBLEM_HEAD, fields);
  ProblemBench bench = build(text);
  check_close(bench.posterior->model.prior_root[6], sqrt(3) / 3, 1e-15); /* W of the output layer */
  assert_int_equal(bench.posterior->sigmas.rule, RPINN_SCALE_GIVEN);
  bench_close(&bench);
  snprintf(text, sizeof text,
           "%s%sprior: {shape: fan_in, scale: loo}\nsettings: {likelihood: noise, prior_shape: iid}\n",
           PROBLEM_HEAD, fields);
  bench = build(text);
  assert_int_equal(bench.posterior->sigmas.rule, RPINN_SCALE_LOO);
  check_close(bench.posterior->model.prior_root[6], 1, 0);
  bench_close(&bench);
  snprintf(text, sizeof text,
           "%s%sprior: {shape: fan_in, scale: 0.1, reference_term: u}\nsettings: {likelihood: uniform}\n",
           PROBLEM_HEAD, fields);
  bench = build(text);
  check_close(bench.posterior->model.prior_root[6], 1, 0);
  bench_close(&bench);
}

/* Inputs 0 … 4 to -1 … 1. u: nine values 10 … 18 with noise; v: exact zeros, which have no spread. */
static void test_maps(void **state) {
  (void)state;
  ProblemBench bench = build(PROBLEM_HEAD "fields: {u: {network: [3]}, v: {network: [2]}}\n" SETTINGS);
  const RpinnNetwork *u = &bench.posterior->networks[0], *v = &bench.posterior->networks[1];
  const RpinnTermData *data = bench_data(&bench, "u");
  double mean = 0, squares = 0;
  for (size_t i = 0; i < 9; i++) mean += data->values[i] / 9;
  for (size_t i = 0; i < 9; i++) squares += (data->values[i] - mean) * (data->values[i] - mean);
  check_close(u->input_scale[0], 0.5, 1e-15);
  check_close(u->input_shift[0], -1, 1e-15);
  check_relative(u->output_shift, mean, 1e-14);
  check_relative(u->output_factor, sqrt(squares / 8), 1e-14);
  assert_true(u->output_shift > 13 && u->output_shift < 15 && u->output_factor > 2 && u->output_factor < 4);
  check_close(v->output_shift, 0, 0);
  check_close(v->output_factor, 1, 0);
  bench_close(&bench);
  bench = build(PROBLEM_HEAD "fields: {u: {network: [3], scale_output: none, scale_inputs: [-2, 2]}, v: "
                             "{network: [2], scale_inputs: "
                             "none}}\n" SETTINGS);
  check_close(bench.posterior->networks[0].output_shift, 0, 0);
  check_close(bench.posterior->networks[0].output_factor, 1, 0);
  check_close(bench.posterior->networks[0].input_scale[0], 1, 1e-15);
  check_close(bench.posterior->networks[1].input_scale[0], 1, 0);
  check_close(bench.posterior->networks[1].input_shift[0], 0, 0);
  bench_close(&bench);
}

/* Measured: the truth's data, and what is perturbed; exact zeros are a tolerance. */
static void test_data_rows(void **state) {
  (void)state;
  ProblemBench bench = build(PROBLEM_HEAD "fields: {u: {network: [3]}, v: {network: [2]}}\n" SETTINGS);
  bool is_data[16];
  assert_int_equal(bench.posterior->model.num_rows, 16);
  rpinn_posterior_data_rows(bench.posterior, is_data);
  for (size_t i = 0; i < 16; i++) assert_int_equal(is_data[i], i < 9 || i >= 12);
  bench_close(&bench);
}

/* ---- the choice ---- */

#define CURVE                                                                                                \
  "name: c\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [8, 8]}}\ntruth: {u: sin(5*x)}\n"                \
  "terms: {u: {expect: u, at: {grid: 12}, data: truth, noise: 0.05}}\nsettings: {likelihood: noise, "        \
  "scale_fields: yes}\n"

static void choose(const ProblemBench *bench, RpinnScaleRule rule, size_t threads, RpinnPriorChoice *choice) {
  RpinnPriorChoiceOptions options = {.rule = rule, .num_threads = threads};
  bench_require(bench, rpinn_prior_choose(bench->context, bench->posterior, &options, choice), "choice");
}

static void test_choice(void **state) {
  (void)state;
  ProblemBench bench = build(CURVE);
  RpinnPriorChoice one, three, evidence;
  choose(&bench, RPINN_SCALE_LOO, 1, &one);
  choose(&bench, RPINN_SCALE_LOO, 3, &three);
  choose(&bench, RPINN_SCALE_EVIDENCE, 2, &evidence);
  /* Threads leave no mark. */
  assert_int_equal(one.num_trials, three.num_trials);
  for (size_t t = 0; t < one.num_trials; t++)
    assert_memory_equal(&one.trials[t], &three.trials[t], sizeof one.trials[t]);
  assert_int_equal(one.chosen, three.chosen);
  assert_memory_equal(one.theta, three.theta, bench.posterior->model.num_parameters * sizeof(double));
  /* Scales rise, and energies fall as the prior gives way. */
  double highest = -(double)INFINITY, most_evidence = highest;
  for (size_t t = 0; t < one.num_trials; t++) {
    if (t) assert_true(one.trials[t].scale > one.trials[t - 1].scale);
    if (t) assert_true(one.trials[t].energy < one.trials[t - 1].energy);
    highest = fmax(highest, one.trials[t].leave_one_out);
  }
  for (size_t t = 0; t < evidence.num_trials; t++)
    most_evidence = fmax(most_evidence, evidence.trials[t].log_evidence);
  /* The smallest scale within a nat of the highest; the highest evidence itself. */
  assert_true(one.trials[one.chosen].leave_one_out >= highest - 1);
  for (size_t t = 0; t < one.chosen; t++) assert_true(one.trials[t].leave_one_out < highest - 1);
  check_close(evidence.trials[evidence.chosen].log_evidence, most_evidence, 0);
  assert_true(one.trials[one.chosen].misfit < 2);
  free(one.theta);
  free(three.theta);
  free(evidence.theta);
  bench_close(&bench);
}

/* A field that no scale of the grid can bend to the data: the noise is stated a million times too small. */
static void test_collapse_is_refused(void **state) {
  (void)state;
  ProblemBench bench =
      build("name: c\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [1]}}\ntruth: {u: \"1e6*cos(40*x)\"}\n"
            "terms: {u: {expect: u, at: {grid: 30}, data: truth, noise: 1}}\n"
            "settings: {likelihood: noise, scale_fields: no}\n");
  RpinnPriorChoiceOptions options = {.rule = RPINN_SCALE_LOO, .num_threads = 2};
  RpinnPriorChoice choice;
  assert_int_equal(rpinn_prior_choose(bench.context, bench.posterior, &options, &choice),
                   RPINN_ERROR_NUMERIC);
  assert_non_null(strstr(rpinn_context_error(bench.context)->message, "explains the data as noise"));
  bench_close(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes_and_scales),
                                     cmocka_unit_test(test_precedence),
                                     cmocka_unit_test(test_maps),
                                     cmocka_unit_test(test_data_rows),
                                     cmocka_unit_test(test_choice),
                                     cmocka_unit_test(test_collapse_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
