/* Priors as a problem file has them, what outputs are mapped to, and the scale that the data choose. */
#include "problem_bench.h"

#include "double_target.h"
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

/* What nobody said: fan_in where the data choose, or chose, the scale; iid where it is a number. */
static void test_usual_shapes(void **state) {
  (void)state;
  static const struct {
    const char *prior, *settings;
    RpinnPriorShape u, v;
  } cases[] = {{"", "{likelihood: noise}", RPINN_PRIOR_FAN_IN, RPINN_PRIOR_IID},
               {"prior: {scale: 0.5}\n", "{likelihood: noise}", RPINN_PRIOR_IID, RPINN_PRIOR_IID},
               {"prior: {scale: evidence}\n", "{likelihood: noise}", RPINN_PRIOR_FAN_IN, RPINN_PRIOR_IID},
               {"prior: {scale: loo, shape: iid}\n", "{likelihood: noise}", RPINN_PRIOR_IID, RPINN_PRIOR_IID},
               {"prior: {chosen_by: loo}\n", "{likelihood: noise, prior_scale: 2}", RPINN_PRIOR_FAN_IN,
                RPINN_PRIOR_IID},
               {"", "{likelihood: noise, prior_scale: 2}", RPINN_PRIOR_IID, RPINN_PRIOR_IID},
               {"", "{likelihood: noise, prior_shape: fan_in, prior_scale: 2}", RPINN_PRIOR_FAN_IN,
                RPINN_PRIOR_FAN_IN}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    char text[512];
    snprintf(text, sizeof text,
             PROBLEM_HEAD
             "fields: {u: {network: [3]}, v: {network: [2], prior: {scale: 0.7}}}\n%ssettings: %s\n",
             cases[k].prior, cases[k].settings);
    ProblemBench bench = build(text);
    assert_int_equal(bench.posterior->sigmas.fields[0].shape, cases[k].u);
    assert_int_equal(bench.posterior->sigmas.fields[1].shape, cases[k].v);
    bench_close(&bench);
  }
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

/* ---- what the data say of a scale ---- */

/* Every kind of row, linear in its parameters: measured (the truth with noise, a perturbed expression), and tolerances (an
 * equation that holds exactly, a known end, a gaussian law). */
#define EVERY_KIND                                                                                           \
  "name: k\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [4], trainable: output}}\ntruth: {u: 1 + x}\n"   \
  "terms:\n"                                                                                                 \
  "  equation: {expect: \"d(u, x, x)\", at: {grid: 3}, data: 0, noise: 0.3}\n"                               \
  "  measured: {expect: u, at: {grid: 4}, data: truth, noise: 0.1}\n"                                        \
  "  law: {at: {grid: 3}, gaussian: {field: u, covariance: exponential, length: 0.7, mean: 1, variance: "    \
  "2}}\n"                                                                                                    \
  "  flux: {expect: \"d(u, x)\", at: {grid: 2}, data: 1, perturb: true, noise: 0.2}\n"                       \
  "  end: {expect: u, at: {points: [[0]]}, data: 1, noise: 0.05}\n"                                          \
  "settings: {likelihood: noise, prior_scale: 0.7, scale_fields: no}\n"

enum { MOST_PARAMETERS = 8, MOST_ROWS = 32 };

/* theta ~ N(mean, covariance), row after row. */
typedef struct Belief {
  size_t N;
  double mean[MOST_PARAMETERS], covariance[MOST_PARAMETERS][MOST_PARAMETERS];
} Belief;

static Belief prior_belief(const RpinnEnergyModel *model) {
  Belief belief = {.N = model->num_parameters};
  for (size_t j = 0; j < belief.N; j++) {
    belief.mean[j] = model->prior_mean[j];
    belief.covariance[j][j] = 1 / (model->prior_root[j] * model->prior_root[j]);
  }
  return belief;
}

/* The log density of 0 = row + slope theta + N(0, 1) under the belief, which then knows it. */
static double learn(Belief *belief, double row, const double *slope) {
  double gain[MOST_PARAMETERS] = {0}, variance = 1;
  for (size_t j = 0; j < belief->N; j++) {
    row += slope[j] * belief->mean[j];
    for (size_t k = 0; k < belief->N; k++) gain[j] += belief->covariance[j][k] * slope[k];
    variance += slope[j] * gain[j];
  }
  for (size_t j = 0; j < belief->N; j++) {
    belief->mean[j] -= gain[j] * row / variance;
    for (size_t k = 0; k < belief->N; k++) belief->covariance[j][k] -= gain[j] * gain[k] / variance;
  }
  return -0.5 * row * row / variance - 0.5 * log(variance) - 0.91893853320467274178;
}

/* Evidence: measured rows after all tolerances were learnt. Leave-one-out: each measured row after all others. */
static void test_tolerances_are_given(void **state) {
  (void)state;
  static const double zero[MOST_PARAMETERS] = {0};
  ProblemBench bench = build(EVERY_KIND);
  const RpinnEnergyModel *model = &bench.posterior->model;
  size_t M = model->num_rows, N = model->num_parameters;
  double rows[MOST_ROWS], slopes[MOST_ROWS * MOST_PARAMETERS], evidence = 0, left_out = 0, misfit = 0;
  bool is_data[MOST_ROWS];
  assert_true(N == 5 && M == 13);
  rpinn_posterior_data_rows(bench.posterior, is_data);
  static const bool expected[] = {0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0};
  for (size_t i = 0; i < M; i++) assert_int_equal(is_data[i], expected[i]);
  bench_require(&bench, rpinn_posterior_residuals(bench.context, bench.posterior, zero, rows, slopes),
                "rows");
  Belief belief = prior_belief(model);
  for (size_t i = 0; i < M; i++)
    if (!is_data[i]) learn(&belief, rows[i], slopes + i * N);
  for (size_t i = 0; i < M; i++) {
    if (!is_data[i]) continue;
    evidence += learn(&belief, rows[i], slopes + i * N);
    misfit += rows[i] * rows[i] / 6;
    Belief others = prior_belief(model);
    for (size_t k = 0; k < M; k++)
      if (k != i) learn(&others, rows[k], slopes + k * N);
    left_out += learn(&others, rows[i], slopes + i * N);
  }
  RpinnDoubleTarget target;
  double densities[MOST_ROWS];
  RpinnScaleView view = {.densities = densities};
  RpinnScaleTrial trial = {0};
  bench_require(&bench, rpinn_double_target_open(bench.context, bench.posterior, &target), "target");
  bench_require(&bench, rpinn_scale_look(bench.context, &target.squares, is_data, zero, &view), "look");
  rpinn_scale_trial_pool(&trial, M, is_data, 1, &view);
  check_relative(trial.log_evidence, evidence, 1e-9);
  check_relative(trial.leave_one_out, left_out, 1e-9);
  check_relative(trial.misfit, misfit, 1e-12);
  rpinn_double_target_close(&target);
  bench_close(&bench);
}

/* ---- the choice ---- */

#define CURVE                                                                                                \
  "name: c\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [8, 8]}}\ntruth: {u: sin(5*x)}\n"                \
  "terms: {u: {expect: u, at: {grid: 12}, data: truth, noise: 0.05}}\nsettings: {likelihood: noise, "        \
  "scale_fields: yes}\n"

static void choose(const ProblemBench *bench, RpinnPriorChoiceOptions options, RpinnPriorChoice *choice) {
  bench_require(bench, rpinn_prior_choose(bench->context, bench->posterior, &options, choice), "choice");
}

/* The rule itself, from the figures of the trials. */
static void check_rule(const RpinnPriorChoice *choice) {
  double highest = -(double)INFINITY;
  bool by_evidence = choice->rule == RPINN_SCALE_EVIDENCE;
  for (size_t t = 0; t < choice->num_trials; t++)
    highest = fmax(highest, by_evidence ? choice->trials[t].log_evidence : choice->trials[t].leave_one_out);
  const RpinnScaleTrial *chosen = &choice->trials[choice->chosen];
  if (by_evidence) {
    check_close(chosen->log_evidence, highest, 0);
    return;
  }
  double most_evidence = -(double)INFINITY;
  for (size_t t = 0; t < choice->num_trials; t++)
    if (choice->trials[t].leave_one_out >= highest - 1)
      most_evidence = fmax(most_evidence, choice->trials[t].log_evidence);
  assert_true(chosen->leave_one_out >= highest - 1 && chosen->log_evidence >= most_evidence - 5);
  for (size_t t = 0; t < choice->chosen; t++)
    assert_true(choice->trials[t].leave_one_out < highest - 1 ||
                choice->trials[t].log_evidence < most_evidence - 5);
}

/* What is told of the way: rising, never more than all. */
typedef struct Seen {
  size_t num_reports;
  uint64_t done, total;
} Seen;

static void see(void *user, uint64_t done, uint64_t total) {
  Seen *seen = user;
  assert_true(done >= seen->done && total >= seen->total && done <= total);
  *seen = (Seen){seen->num_reports + 1, done, total};
}

static bool stop_at_once(void *user) {
  (void)user;
  return true;
}

static void test_progress(void **state) {
  (void)state;
  ProblemBench bench = build(CURVE);
  Seen seen = {0};
  RpinnPriorChoice choice;
  RpinnPriorChoiceOptions options = {
      .rule = RPINN_SCALE_LOO, .num_threads = 2, .progress = see, .user = &seen};
  bench_require(&bench, rpinn_prior_choose(bench.context, bench.posterior, &options, &choice), "choice");
  assert_true(seen.num_reports > 0 && seen.total >= 24); /* three scales at least, with eight members each */
  rpinn_prior_choice_free(&choice);
  options.interrupted = stop_at_once;
  seen = (Seen){0};
  assert_int_equal(rpinn_prior_choose(bench.context, bench.posterior, &options, &choice),
                   RPINN_ERROR_INTERRUPTED);
  bench_close(&bench);
}

/* Where a step is dear: searches are shorter, in float, and the curve is much the same. */
static void test_dear_steps(void **state) {
  (void)state;
  ProblemBench bench = build(CURVE);
  for (int at_minimum = 0; at_minimum < 2; at_minimum++) {
    RpinnPriorChoice whole, few, again;
    RpinnPriorChoiceOptions options = {.rule = RPINN_SCALE_LOO, .at_minimum = at_minimum, .num_threads = 2};
    choose(&bench, options, &whole);
    options.dear_step = 1;
    choose(&bench, options, &few);
    options.num_threads = 1;
    choose(&bench, options, &again);
    assert_int_equal(whole.trials[0].num_starts, at_minimum ? 5 : 8); /* with the one neighbour that it has */
    assert_int_equal(few.trials[0].num_starts, at_minimum ? 3 : 8);
    check_rule(&few);
    assert_memory_equal(&few.trials[0], &again.trials[0], sizeof few.trials[0]);
    for (size_t t = 0; t < 3; t++) {
      check_close(few.trials[t].scale, whole.trials[t].scale, 0);
      check_true(fabs(few.trials[t].leave_one_out - whole.trials[t].leave_one_out) < 2, "%g and %g",
                 few.trials[t].leave_one_out, whole.trials[t].leave_one_out);
    }
    rpinn_prior_choice_free(&whole);
    rpinn_prior_choice_free(&few);
    rpinn_prior_choice_free(&again);
  }
  bench_close(&bench);
}

static void test_choice(void **state) {
  (void)state;
  ProblemBench bench = build(CURVE);
  RpinnPriorChoice one, three, evidence, minimum;
  choose(&bench, (RpinnPriorChoiceOptions){.rule = RPINN_SCALE_LOO, .num_threads = 1}, &one);
  choose(&bench, (RpinnPriorChoiceOptions){.rule = RPINN_SCALE_LOO, .num_threads = 3}, &three);
  choose(&bench, (RpinnPriorChoiceOptions){.rule = RPINN_SCALE_EVIDENCE, .num_threads = 2}, &evidence);
  choose(&bench, (RpinnPriorChoiceOptions){.rule = RPINN_SCALE_LOO, .at_minimum = true, .num_threads = 2},
         &minimum);
  /* Threads leave no mark. */
  assert_int_equal(one.num_trials, three.num_trials);
  for (size_t t = 0; t < one.num_trials; t++)
    assert_memory_equal(&one.trials[t], &three.trials[t], sizeof one.trials[t]);
  assert_int_equal(one.chosen, three.chosen);
  const RpinnPriorChoice *choices[] = {&one, &evidence, &minimum};
  for (size_t k = 0; k < 3; k++) {
    /* Scales rise, and energies fall as the prior gives way; the climb goes on until the criterion has fallen. */
    for (size_t t = 1; t < choices[k]->num_trials; t++) {
      assert_true(choices[k]->trials[t].scale > choices[k]->trials[t - 1].scale);
      assert_true(choices[k]->trials[t].energy < choices[k]->trials[t - 1].energy);
    }
    check_rule(choices[k]);
    assert_true(choices[k]->trials[choices[k]->chosen].misfit < 4);
  }
  assert_int_equal(one.trials[0].num_starts, 8);
  assert_true(minimum.trials[0].num_starts > 4);
  assert_true(!one.theta && minimum.theta);
  rpinn_prior_choice_free(&one);
  rpinn_prior_choice_free(&three);
  rpinn_prior_choice_free(&evidence);
  rpinn_prior_choice_free(&minimum);
  bench_close(&bench);
}

/* Two fields of unlike sizes: v is a tenth of what its network makes of a scale that suits u. */
#define TWO_FIELDS(prior)                                                                                    \
  "name: t\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [6]}, v: {network: [6]}, w: {network: [2], "     \
  "prior: "                                                                                                  \
  "{scale: 0.7}}}\ntruth: {u: 3*sin(6*x), v: 0.05*x}\nterms:\n"                                              \
  "  u: {expect: u, at: {grid: 14}, data: truth, noise: 0.05}\n"                                             \
  "  v: {expect: v + 0*w, at: {grid: 10}, data: truth, noise: 0.01}\nprior: {" prior "}\n"                   \
  "settings: {likelihood: noise, scale_fields: no, prior_shape: iid}\n"

static void check_factors(bool at_minimum) {
  ProblemBench bench = build(TWO_FIELDS("scale: loo, per_field: true"));
  const RpinnFieldPrior *fields = bench.posterior->sigmas.fields;
  RpinnPriorChoice choice, again;
  double factors[3];
  assert_true(fields[0].is_separate && fields[1].is_separate && !fields[2].is_separate);
  choose(&bench,
         (RpinnPriorChoiceOptions){.rule = RPINN_SCALE_LOO, .at_minimum = at_minimum, .num_threads = 2},
         &choice);
  choose(&bench,
         (RpinnPriorChoiceOptions){.rule = RPINN_SCALE_LOO, .at_minimum = at_minimum, .num_threads = 1},
         &again);
  double scale = choice.trials[choice.chosen].scale;
  assert_int_equal(choice.num_lines, 2);
  for (size_t k = 0; k < 2; k++) {
    const RpinnFieldLine *line = &choice.lines[k];
    double highest = -(double)INFINITY;
    assert_memory_equal(line, &again.lines[k], sizeof *line); /* threads leave no mark */
    assert_int_equal(line->field, k);
    for (size_t t = 0; t < line->num_trials; t++) {
      check_relative(line->trials[t].scale, scale * line->factors[t], 1e-14);
      highest = fmax(highest, line->trials[t].leave_one_out);
    }
    assert_true(line->trials[line->chosen].leave_one_out >= highest - 1);
  }
  /* The common scale is the same trial; v wants less. */
  check_close(choice.lines[0].trials[2].leave_one_out, choice.trials[choice.chosen].leave_one_out, 0.5);
  rpinn_prior_choice_factors(&choice, bench.posterior, factors);
  assert_true(factors[1] < 1 && factors[2] == 1);
  bench_require(&bench,
                rpinn_posterior_choose_prior_scale(bench.context, bench.posterior, RPINN_SCALE_LOO, scale,
                                                   NULL, factors),
                "settle");
  const double *root = bench.posterior->model.prior_root;
  check_relative(root[0], 1 / (scale * factors[0]), 1e-14);
  check_relative(root[19], 1 / (scale * factors[1]), 1e-14); /* of v, behind the 19 parameters of u */
  check_relative(root[38], 1 / 0.7, 1e-14);
  check_relative(bench.posterior->problem->fields[1].prior.factor, factors[1], 0);
  rpinn_prior_choice_free(&choice);
  rpinn_prior_choice_free(&again);
  bench_close(&bench);
}

/* A field with a rule of its own is one of them; one that is alone has the scale itself. */
static void test_factors(void **state) {
  (void)state;
  check_factors(true);
  check_factors(false);
  ProblemBench bench =
      build("name: t\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [3], prior: {factor: 2}}, v: {network: "
            "[3], prior: {scale: loo}}}\nterms:\n  u: {expect: u + v, at: {grid: 3}, data: x, perturb: "
            "true, noise: 0.1}\nprior: {scale: loo}\nsettings: {likelihood: noise, scale_fields: no}\n");
  const RpinnFieldPrior *fields = bench.posterior->sigmas.fields;
  assert_true(!fields[0].is_separate && fields[1].is_separate);
  check_close(bench.posterior->model.prior_root[0], 0.5, 0);
  bench_close(&bench);
}

/* Twelve values on a line and an equation that says so: left out one by one they are foretold alike by every scale of the ladder;
 * together, from the equation alone, far better by one above the lowest. */
static void test_evidence_speaks_against(void **state) {
  (void)state;
  ProblemBench bench = build("name: d\ncoordinates: {t: [0, 4]}\nfields: {c: {network: [16, 16]}}\n"
                             "unknowns: {k: {start: 1, transform: log, prior: {mean: 0, std: 1}}}\n"
                             "truth: {c: exp(-0.7*t), k: 0.7}\nterms:\n"
                             "  ode: {expect: \"d(c, t) + k*c\", at: {grid: 40}, data: 0, noise: 0.01}\n"
                             "  obs: {expect: c, at: {grid: 12}, data: truth, noise: 0.03}\n");
  RpinnPriorChoice choice;
  choose(&bench, (RpinnPriorChoiceOptions){.rule = RPINN_SCALE_LOO, .num_threads = 2}, &choice);
  check_rule(&choice);
  double highest = -(double)INFINITY;
  for (size_t t = 0; t < choice.num_trials; t++) highest = fmax(highest, choice.trials[t].leave_one_out);
  assert_true(choice.trials[0].leave_one_out >= highest - 1);
  assert_true(choice.trials[0].log_evidence < choice.trials[choice.chosen].log_evidence - 5);
  assert_true(choice.chosen > 0);
  rpinn_prior_choice_free(&choice);
  bench_close(&bench);
}

/* A member's energy is the median of all of them, and a linear model says the same wherever it is linearised. */
static void test_members_of_a_linear_model(void **state) {
  (void)state;
  ProblemBench bench =
      build("name: c\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [8, 8], trainable: output}}\n"
            "truth: {u: sin(5*x)}\nterms: {u: {expect: u, at: {grid: 12}, data: truth, noise: 0.05}}\n"
            "settings: {likelihood: noise, scale_fields: yes}\n");
  RpinnPriorChoice members, minimum;
  choose(&bench, (RpinnPriorChoiceOptions){.rule = RPINN_SCALE_LOO, .num_threads = 2}, &members);
  choose(&bench, (RpinnPriorChoiceOptions){.rule = RPINN_SCALE_LOO, .at_minimum = true, .num_threads = 2},
         &minimum);
  assert_int_equal(members.chosen, minimum.chosen);
  assert_int_equal(members.num_trials, minimum.num_trials);
  for (size_t t = 0; t < members.num_trials; t++) {
    check_relative(members.trials[t].leave_one_out, minimum.trials[t].leave_one_out, 1e-6);
    check_relative(members.trials[t].log_evidence, minimum.trials[t].log_evidence, 1e-6);
    size_t below = 0, above = 0;
    for (size_t k = 0; k < members.trials[t].num_starts; k++) {
      below += members.trials[t].start_energies[k] < members.trials[t].energy;
      above += members.trials[t].start_energies[k] > members.trials[t].energy;
    }
    assert_true(below == 4 && above == 4);
  }
  rpinn_prior_choice_free(&members);
  rpinn_prior_choice_free(&minimum);
  bench_close(&bench);
}

/* Means over points: of densities row by row, and of evidences; tolerance rows and points that are not finite say nothing. */
static void test_pool(void **state) {
  (void)state;
  double first[] = {-1, -7, -2}, second[] = {-3, -8, -1}, nothing[] = {0, 0, 0};
  static const bool is_data[] = {true, false, true};
  const RpinnScaleView views[] = {{.is_finite = true, .log_evidence = -4, .misfit = 1, .densities = first},
                                  {.is_finite = false, .densities = nothing},
                                  {.is_finite = true, .log_evidence = -6, .misfit = 3, .densities = second}};
  RpinnScaleTrial trial = {0};
  rpinn_scale_trial_pool(&trial, 3, is_data, 3, views);
  check_relative(trial.leave_one_out, log((exp(-1) + exp(-3)) / 2) + log((exp(-2) + exp(-1)) / 2), 1e-14);
  check_relative(trial.log_evidence, log((exp(-4) + exp(-6)) / 2), 1e-14);
  check_close(trial.misfit, 2, 0);
  rpinn_scale_trial_pool(&trial, 3, is_data, 2, (const RpinnScaleView[]){views[1], views[1]});
  assert_true(isnan(trial.leave_one_out) && isnan(trial.log_evidence) && isnan(trial.misfit));
}

/* Nothing was measured: the equation and the known ends are all there is, and choose. */
static void test_choice_without_data(void **state) {
  (void)state;
  ProblemBench bench =
      build("name: f\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [6]}}\nterms:\n"
            "  equation: {expect: \"d(u, x, x) + 9*sin(3*x)\", at: {grid: 12}, data: 0, noise: 0.05}\n"
            "  ends: {expect: u, at: {boundary: all}, data: sin(3*x), noise: 0.01}\n"
            "settings: {likelihood: noise, prior_scale: 1, scale_fields: yes}\n");
  RpinnPriorChoice choice;
  bool is_data[14];
  rpinn_posterior_data_rows(bench.posterior, is_data);
  for (size_t i = 0; i < 14; i++) assert_false(is_data[i]);
  choose(&bench, (RpinnPriorChoiceOptions){.rule = RPINN_SCALE_LOO, .num_threads = 2}, &choice);
  /* The figures are of all rows, and tell the scales apart. */
  double highest = -(double)INFINITY, lowest = (double)INFINITY;
  for (size_t t = 0; t < choice.num_trials; t++) {
    assert_true(isfinite(choice.trials[t].misfit) && isfinite(choice.trials[t].log_evidence));
    highest = fmax(highest, choice.trials[t].leave_one_out);
    lowest = fmin(lowest, choice.trials[t].leave_one_out);
  }
  assert_true(highest > lowest + 5);
  assert_true(choice.trials[choice.chosen].leave_one_out >= highest - 1);
  rpinn_prior_choice_free(&choice);
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
  assert_int_equal(rpinn_prior_choose(bench.context, bench.posterior, &options, &choice), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(bench.context)->message, "explains the data as noise"));
  bench_close(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes_and_scales),
                                     cmocka_unit_test(test_precedence),
                                     cmocka_unit_test(test_usual_shapes),
                                     cmocka_unit_test(test_maps),
                                     cmocka_unit_test(test_data_rows),
                                     cmocka_unit_test(test_tolerances_are_given),
                                     cmocka_unit_test(test_dear_steps),
                                     cmocka_unit_test(test_choice),
                                     cmocka_unit_test(test_progress),
                                     cmocka_unit_test(test_factors),
                                     cmocka_unit_test(test_evidence_speaks_against),
                                     cmocka_unit_test(test_members_of_a_linear_model),
                                     cmocka_unit_test(test_pool),
                                     cmocka_unit_test(test_choice_without_data),
                                     cmocka_unit_test(test_collapse_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
