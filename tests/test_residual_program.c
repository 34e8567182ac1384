/* Residual programs: which channels they ask for, what is merged and what must not be, and the programs of
 * the shipped problems against formulas written by hand. */
#include "hand_network.h"
#include "problem_bench.h"

/* Everything that an expression can be made of. w depends on x and y alone. */
static const char workbench[] = "name: workbench\n"
                                "coordinates: {x: [0, 1], y: [0, 1], z: [0, 1], t: [0, 1]}\n"
                                "constants: {a: 2, b: -3}\n"
                                "fields:\n"
                                "  u: {network: [3]}\n"
                                "  v: {network: [3]}\n"
                                "  w: {network: [3], inputs: [x, y]}\n"
                                "unknowns: {c: {start: 1}, e: {start: 2, transform: log}}\n"
                                "quantities:\n"
                                "  k: exp(v)\n"
                                "  q1: -k*d(u, x)\n"
                                "  q2: -k*d(u, y)\n"
                                "terms:\n"
                                "  one: {expect: u, at: {points: [[0, 0, 0, 0]]}, data: 0, noise: 1}\n"
                                "settings: {likelihood: noise}\n";
enum { NUM_FIELDS = 3 };

static RpinnStatus compile(ProblemBench *bench, RpinnArena *arena, const char *text,
                           RpinnExpression *expression, RpinnResidualProgram **program) {
  RpinnPlace place = {.file = "test", .line = 3, .column = 5};
  RPINN_TRY(
      rpinn_problem_expression(bench->context, bench->problem, RPINN_NAMES_ALL, text, place, expression));
  return rpinn_residual_program_compile(bench->context, arena, bench->problem->pool, *expression, NUM_FIELDS,
                                        &bench->problem->names, "term 'pde'", place, program);
}

/* Fields of which every derivative is a number of its own: nothing cancels by accident. */
static double free_derivative(void *user, size_t field, const uint8_t orders[RPINN_MAX_COORDINATES]) {
  (void)user;
  double phase = 1 + (double)field;
  for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++) phase = 7.1 * phase + 3.3 * orders[i];
  return 1.5 * sin(phase);
}

static double free_channel(const RpinnChannel *channel, size_t field) {
  double sum = 0;
  for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++)
    for (size_t j = i; j < RPINN_MAX_COORDINATES; j++) {
      uint8_t orders[RPINN_MAX_COORDINATES] = {0};
      if (channel->order == 0) return free_derivative(NULL, field, orders);
      if (channel->order == 1 && j > i) break;
      double c = channel->coefficient[channel->order == 1 ? i : rpinn_pair_index(i, j)];
      orders[i]++;
      if (channel->order == 2) orders[j]++;
      sum += c * free_derivative(NULL, field, orders);
    }
  return sum;
}

/* The program gives the value of the expression. */
static void compare_value(ProblemBench *bench, RpinnExpression expression,
                          const RpinnResidualProgram *program, const char *text) {
  double x[] = {0.3, 0.6, 0.8, 0.2}, parameters[] = {1.2, -0.4}, expected;
  RpinnExpressionInputs inputs = {.coordinates = x, .parameters = parameters, .field = free_derivative};
  rpinn_expression_evaluate(bench->problem->pool, expression, &inputs, &expected);
  double *memory = calloc(program->num_instructions + program->num_inputs, sizeof *memory);
  double *channels = memory + program->num_instructions;
  for (size_t k = 0; k < program->num_inputs; k++)
    channels[k] =
        free_channel(&program->channels[program->inputs[k].field].channels[program->inputs[k].channel],
                     program->inputs[k].field);
  double value = rpinn_residual_program_forward(program, x, channels, parameters, memory);
  check_true(fabs(value - expected) <= 1e-14 * fmax(1, fabs(expected)), "%s is %.17g, expected %.17g", text,
             value, expected);
  free(memory);
}

static void print_channels(const ProblemBench *bench, const RpinnResidualProgram *program, RpinnText *text) {
  for (size_t f = 0; f < program->num_fields; f++)
    for (size_t c = 0; c < program->channels[f].count; c++) {
      if (text->length) rpinn_text_append(text, c ? " | " : "; ");
      rpinn_channel_print(&program->channels[f].channels[c], bench->problem->fields[f].name,
                          bench->problem->names.coordinates, text);
    }
}

static void channels_chosen(void **state) {
  (void)state;
  const struct {
    const char *text, *channels;
  } cases[] = {
      /* Values need values. */
      {"u", "u"},
      {"u - v", "u; v"},
      {"x^2 + c", ""},
      {"exp(u)*c", "u"},
      {"d(w, z)", ""},
      {"d(w, z) + d(w*z, z)", "w"},
      {"d(u, x)", "u | d(u, x)"},
      {"d(u, x, y)", "u | d(u, x) | d(u, y) | d(u, x, y)"},
      /* A Laplacian is one second-order channel. */
      {"d(u, x, x)", "u | d(u, x) | d(u, x, x)"},
      {"d(u, x, x) + d(u, y, y)", "u | d(u, x) | d(u, y) | d(u, x, x) + d(u, y, y)"},
      {"d(u, x, x) + d(u, y, y) + d(u, z, z)",
       "u | d(u, x) | d(u, y) | d(u, z) | d(u, x, x) + d(u, y, y) + d(u, z, z)"},
      {"d(u, x, x) + d(u, y, y) + d(u, z, z) + d(u, t, t)",
       "u | d(u, x) | d(u, y) | d(u, z) | d(u, t) | d(u, x, x) + d(u, y, y) + d(u, z, z) + d(u, t, t)"},
      {"exp(u)*(d(u, x, x) + d(u, y, y)) - v", "u | d(u, x) | d(u, y) | d(u, x, x) + d(u, y, y); v"},
      {"sin(x)*d(u, x, x)/k - u + sin(x)*d(u, y, y)/k", "u | d(u, x) | d(u, y) | d(u, x, x) + d(u, y, y); v"},
      {"c*d(u, x, x) + c*d(u, y, y)", "u | d(u, x) | d(u, y) | d(u, x, x) + d(u, y, y)"},
      {"d(u, x, x) + d(v, x, x) + d(u, y, y) + 4*d(v, y, y)",
       "u | d(u, x) | d(u, y) | d(u, x, x) + d(u, y, y); v | d(v, x) | d(v, y) | d(v, x, x) + 4*d(v, y, y)"},
      /* … also with other constant coefficients, relative to the smallest. */
      {"2*d(u, x, x) - 3*d(u, x, y) + d(u, y, y)/2",
       "u | d(u, x) | d(u, y) | 4*d(u, x, x) - 6*d(u, x, y) + d(u, y, y)"},
      {"a*d(u, x, x) - b*d(u, t, t)", "u | d(u, x) | d(u, t) | d(u, x, x) + 1.5*d(u, t, t)"},
      {"d(u, t, t) - 9*(d(u, x, x) + d(u, y, y))",
       "u | d(u, x) | d(u, y) | d(u, t) | -9*d(u, x, x) - 9*d(u, y, y) + d(u, t, t)"},
      /* Darcy's law: one for the head, first derivatives for the conductivity. */
      {"d(q1, x) + d(q2, y)", "u | d(u, x) | d(u, y) | d(u, x, x) + d(u, y, y); v | d(v, x) | d(v, y)"},
      {"q1", "u | d(u, x); v"},
      /* First derivatives merge where no second ones need them. */
      {"d(u, t) + 3*d(u, x)", "u | 3*d(u, x) + d(u, t)"},
      {"x*d(u, t) - x*d(u, x)/4 + u", "u | d(u, x) - 4*d(u, t)"},
      {"d(u, t) + u*d(u, x)", "u | d(u, x) | d(u, t)"},
      {"d(u, t) + d(u, x) - d(u, y, y)", "u | d(u, x) | d(u, t) | d(u, y) | d(u, y, y)"},
      /* What does not merge stays apart. */
      {"d(u, x, x)^2 + d(u, y, y)", "u | d(u, x) | d(u, y) | d(u, x, x) | d(u, y, y)"},
      {"x*d(u, x, x) + d(u, y, y)", "u | d(u, x) | d(u, y) | d(u, x, x) | d(u, y, y)"},
      {"c*d(u, x, x) + d(u, y, y)", "u | d(u, x) | d(u, y) | d(u, x, x) | d(u, y, y)"},
      {"abs(d(u, x, x)) + d(u, y, y)", "u | d(u, x) | d(u, y) | d(u, x, x) | d(u, y, y)"},
      {"abs(d(u, x, x) + d(u, y, y))", "u | d(u, x) | d(u, y) | d(u, x, x) | d(u, y, y)"},
      {"min(d(u, x, x), d(u, y, y))", "u | d(u, x) | d(u, y) | d(u, x, x) | d(u, y, y)"},
      {"max(d(u, x, x) + d(u, y, y), 0)", "u | d(u, x) | d(u, y) | d(u, x, x) | d(u, y, y)"},
      {"d(u, x, x)*d(u, y, y) - d(u, x, y)^2",
       "u | d(u, x) | d(u, y) | d(u, x, x) | d(u, x, y) | d(u, y, y)"},
      {"d(u, x)^2 + d(u, y)^2", "u | d(u, x) | d(u, y)"},
      {"sqrt(d(u, x, x)^2) + exp(d(u, y, y))", "u | d(u, x) | d(u, y) | d(u, x, x) | d(u, y, y)"},
      {"1/(d(u, x, x) + d(u, y, y))", "u | d(u, x) | d(u, y) | d(u, x, x) | d(u, y, y)"},
      /* Some do, others do not; and two groups. */
      {"d(u, x, x) + d(u, y, y) + d(u, z, z)^2",
       "u | d(u, x) | d(u, y) | d(u, z) | d(u, x, x) + d(u, y, y) | d(u, z, z)"},
      {"d(u, x, x) + d(u, y, y) + u*(d(u, z, z) + 2*d(u, t, t))",
       "u | d(u, x) | d(u, y) | d(u, z) | d(u, t) | d(u, x, x) + d(u, y, y) | d(u, z, z) + 2*d(u, t, t)"},
  };
  ProblemBench bench = bench_parse(workbench, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    RpinnArena *arena = rpinn_arena_create();
    RpinnExpression expression;
    RpinnResidualProgram *program;
    RpinnText text = {0};
    bench_require(&bench, compile(&bench, arena, cases[i].text, &expression, &program), cases[i].text);
    print_channels(&bench, program, &text);
    check_true(!strcmp(text.bytes ? text.bytes : "", cases[i].channels), "%s\n  needs    %s\n  expected %s",
               cases[i].text, text.bytes ? text.bytes : "", cases[i].channels);
    compare_value(&bench, expression, program, cases[i].text);
    rpinn_text_free(&text);
    rpinn_arena_destroy(arena);
  }
  bench_close(&bench);
}

/* The derivative of max is a step: flat in d(w, x), so that no slope shows the dependence. Merging d(w, x)
 * with d(w, y) would put zero into the step. */
static void steps_are_not_merged(void **state) {
  (void)state;
  const char *text = "5*d(max(d(w, x), z/10), z) + d(w, x) + d(w, y)";
  ProblemBench bench = bench_parse(workbench, NULL);
  RpinnArena *arena = rpinn_arena_create();
  RpinnExpression expression;
  RpinnResidualProgram *program;
  RpinnText channels = {0};
  bench_require(&bench, compile(&bench, arena, text, &expression, &program), text);
  print_channels(&bench, program, &channels);
  assert_string_equal(channels.bytes, "w | d(w, x) | d(w, y)");
  for (int high = 0; high < 2; high++) { /* below and above the step at z/10 */
    double x[] = {0, 0, 0.5, 0}, values[] = {high ? 0.06 : 0.04, 0.7}, registers[64], unknowns[2] = {0};
    double expected = values[0] + values[1] + (high ? 0 : 5 * 0.1);
    assert_true(program->num_instructions <= 64 && program->num_inputs == 2);
    double inputs[2];
    for (size_t k = 0; k < 2; k++) inputs[k] = values[program->inputs[k].channel - 1];
    check_relative(rpinn_residual_program_forward(program, x, inputs, unknowns, registers), expected, 1e-15);
  }
  rpinn_text_free(&channels);
  rpinn_arena_destroy(arena);
  bench_close(&bench);
}

static void third_order_is_refused(void **state) {
  (void)state;
  const char *const texts[] = {"d(u, x, x, x)", "d(q1, x, x)", "u + d(d(u, x, y), t)"};
  ProblemBench bench = bench_parse(workbench, NULL);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    RpinnArena *arena = rpinn_arena_create();
    RpinnExpression expression;
    RpinnResidualProgram *program;
    assert_int_equal(compile(&bench, arena, texts[i], &expression, &program), RPINN_ERROR_INPUT);
    const RpinnError *error = rpinn_context_error(bench.context);
    check_true(strstr(error->message, "term 'pde'") && strstr(error->message, "order 3") &&
                   strstr(error->message, "d(u, x") && error->line == 3 && error->column == 5,
               "%s", error->message);
    rpinn_arena_destroy(arena);
  }
  bench_close(&bench);
}

/* An unknown exponent at the end of the domain: 0^p is 0 and stays so. */
static void power_of_zero(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(workbench, NULL);
  RpinnArena *arena = rpinn_arena_create();
  RpinnExpression expression;
  RpinnResidualProgram *program;
  bench_require(&bench, compile(&bench, arena, "x^c", &expression, &program), "x^c");
  double unknowns[] = {1.7, 0}, registers[8], adjoints[8], none[1], slope[] = {0, 0};
  assert_true(program->num_instructions <= 8);
  assert_true(rpinn_residual_program_forward(program, (double[]){0, 0, 0, 0}, none, unknowns, registers) ==
              0);
  rpinn_residual_program_reverse(program, registers, 1, adjoints, none, slope);
  assert_true(slope[0] == 0);
  double value = rpinn_residual_program_forward(program, (double[]){0.5, 0, 0, 0}, none, unknowns, registers);
  rpinn_residual_program_reverse(program, registers, 1, adjoints, none, slope);
  check_relative(slope[0], value * log(0.5), 1e-15);
  rpinn_arena_destroy(arena);
  bench_close(&bench);
}

/* Powers with small whole exponents are multiplications, of negative bases too; the rest stay powers. */
static void powers_are_written_out(void **state) {
  (void)state;
  const struct {
    const char *text;
    RpinnOperation without, with;
  } cases[] = {{"u^2", RPINN_OPERATION_POWER, RPINN_OPERATION_MULTIPLY},
               {"u^16", RPINN_OPERATION_POWER, RPINN_OPERATION_MULTIPLY},
               {"u^-3", RPINN_OPERATION_POWER, RPINN_OPERATION_DIVIDE},
               {"u^0.5", RPINN_OPERATION_POWER, RPINN_OPERATION_SQRT},
               {"u^1.5", RPINN_OPERATION_MULTIPLY, RPINN_OPERATION_POWER},
               {"u^17", RPINN_OPERATION_MULTIPLY, RPINN_OPERATION_POWER},
               {"u^v", RPINN_OPERATION_MULTIPLY, RPINN_OPERATION_POWER}};
  ProblemBench bench = bench_parse(workbench, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    RpinnArena *arena = rpinn_arena_create();
    RpinnExpression expression;
    RpinnResidualProgram *program;
    bench_require(&bench, compile(&bench, arena, cases[i].text, &expression, &program), cases[i].text);
    bool without = true, with = false;
    for (size_t k = 0; k < program->num_instructions; k++) {
      without &= program->instructions[k].operation != cases[i].without;
      with |= program->instructions[k].operation == cases[i].with;
    }
    check_true(without && with, "%s", cases[i].text);
    rpinn_arena_destroy(arena);
  }
  bench_close(&bench);
}

/* ---- the shipped problems ---- */

typedef double (*Formula)(const RpinnNetwork *networks, double *const *parameters, const double *x);

static double linear_f(const RpinnNetwork *networks, double *const *parameters, const double *x) {
  const double pi = 3.14159265358979323846;
  return -hand_network(&networks[0], parameters[0], x, 0, 0).ab / (pi * pi);
}
static double first_field(const RpinnNetwork *networks, double *const *parameters, const double *x) {
  return hand_network(&networks[0], parameters[0], x, 0, 0).v;
}
static double second_field(const RpinnNetwork *networks, double *const *parameters, const double *x) {
  return hand_network(&networks[1], parameters[1], x, 0, 0).v;
}
static double nonlinear_f(const RpinnNetwork *networks, double *const *parameters, const double *x) {
  Hyper u = hand_network(&networks[0], parameters[0], x, 0, 0);
  return 0.01 * u.ab + 0.7 * tanh(u.v);
}
/* -exp(y) (h_11 + h_22 + y_1 h_1 + y_2 h_2) */
static double darcy_pde(const RpinnNetwork *networks, double *const *parameters, const double *x) {
  double sum = 0, k = 0;
  for (size_t i = 0; i < 2; i++) {
    Hyper h = hand_network(&networks[0], parameters[0], x, i, i);
    Hyper y = hand_network(&networks[1], parameters[1], x, i, i);
    sum += h.ab + y.a * h.a;
    k = exp(y.v);
  }
  return -k * sum;
}
static double darcy_flux(const RpinnNetwork *networks, double *const *parameters, const double *x, size_t i) {
  return -exp(hand_network(&networks[1], parameters[1], x, i, i).v) *
         hand_network(&networks[0], parameters[0], x, i, i).a;
}
static double darcy_q1(const RpinnNetwork *networks, double *const *parameters, const double *x) {
  return darcy_flux(networks, parameters, x, 0);
}
static double darcy_q2(const RpinnNetwork *networks, double *const *parameters, const double *x) {
  return darcy_flux(networks, parameters, x, 1);
}

static void shipped_formulas(void **state) {
  (void)state;
  const struct {
    const char *problem, *term;
    Formula formula;
  } cases[] = {{"poisson-linear", "f", linear_f},
               {"poisson-linear", "b", first_field},
               {"poisson-nonlinear", "f", nonlinear_f},
               {"poisson-nonlinear", "b", first_field},
               {"darcy", "pde", darcy_pde},
               {"darcy", "flux_left", darcy_q1},
               {"darcy", "dirichlet_right", first_field},
               {"darcy", "flux_top", darcy_q2},
               {"darcy", "flux_bottom", darcy_q2},
               {"darcy", "y", second_field},
               {"darcy", "h", first_field}};
  enum { NUM_CASES = sizeof cases / sizeof cases[0], NUM_POINTS = 20 };
  RpinnStream stream = rpinn_stream(5, RPINN_PURPOSE_CHECK, 0, 0);
  double worst = 0;
  ProblemBench bench = {0};
  double *theta = NULL, *parameters[2] = {NULL, NULL};
  for (size_t c = 0; c < NUM_CASES; c++) {
    if (!c || strcmp(cases[c].problem, cases[c - 1].problem) != 0) {
      for (size_t f = 0; f < 2; f++) free(parameters[f]), parameters[f] = NULL;
      free(theta);
      bench_close(&bench);
      bench = bench_load(cases[c].problem, NULL);
      bench_build(&bench);
      theta = calloc(bench.posterior->model.num_parameters, sizeof *theta);
      rpinn_posterior_start_glorot(bench.posterior, 3, theta);
      for (size_t j = 0; j < bench.posterior->model.num_parameters; j++)
        theta[j] += 0.1 * rpinn_stream_normal(&stream);
      for (size_t f = 0; f < bench.problem->num_fields; f++)
        parameters[f] = bench_parameters(&bench, f, theta);
    }
    size_t dimension = bench.problem->num_coordinates;
    const RpinnResidualProgram *program = bench.posterior->terms[bench_term(&bench, cases[c].term)].program;
    double points[NUM_POINTS * 2], values[NUM_POINTS], scale = 0, error = 0;
    for (size_t k = 0; k < NUM_POINTS * dimension; k++) {
      const RpinnCoordinate *coordinate = &bench.problem->coordinates[k % dimension];
      points[k] = coordinate->low + (coordinate->high - coordinate->low) * rpinn_stream_uniform(&stream);
    }
    RpinnBatchMember member = {.theta = theta};
    double *results = values;
    RpinnEvaluation evaluation = {
        .num_points = NUM_POINTS, .points = points, .num_programs = 1, .programs = &program};
    RpinnBackend *backend = bench.posterior->backend;
    assert_int_equal(rpinn_backend_evaluate(bench.context, backend, &(RpinnMemberBatch){1, &member},
                                            &evaluation, &results),
                     RPINN_OK);
    for (size_t p = 0; p < NUM_POINTS; p++) {
      double expected = cases[c].formula(bench.posterior->networks, parameters, points + p * dimension);
      scale = fmax(scale, fabs(expected));
      error = fmax(error, fabs(values[p] - expected));
    }
    check_true(error <= 1e-12 * scale, "%s %s differs by %g from its formula (size %g)", cases[c].problem,
               cases[c].term, error, scale);
    worst = fmax(worst, error / scale);
  }
  print_message("  shipped terms against their formulas: largest relative error %.1e\n", worst);
  for (size_t f = 0; f < 2; f++) free(parameters[f]);
  free(theta);
  bench_close(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(channels_chosen),        cmocka_unit_test(steps_are_not_merged),
      cmocka_unit_test(third_order_is_refused), cmocka_unit_test(power_of_zero),
      cmocka_unit_test(powers_are_written_out), cmocka_unit_test(shipped_formulas)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
