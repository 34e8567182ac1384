/* Expressions: what the parser makes of a text, folding and sharing, printing, and derivatives of 10,000
 * random expressions against power series. */
#include "random_expression.h"

#include "expression_parser.h"
#include "residual_program.h"

typedef struct Bench {
  RpinnContext *context;
  RpinnExpressionPool *pool;
  RpinnNameScope scope;
} Bench;

static Bench bench_open(void) {
  Bench bench = {.context = rpinn_context_create()};
  assert_int_equal(rpinn_expression_pool_create(bench.context, &bench.pool), RPINN_OK);
  bench.pool->field_inputs = test_field_inputs;
  bench.scope = (RpinnNameScope){.user = bench.pool, .resolve = test_resolve, .allow_derivatives = true};
  return bench;
}

static void bench_close(Bench *bench) {
  rpinn_expression_pool_destroy(bench->pool);
  rpinn_context_destroy(bench->context);
}

static RpinnExpression parse(Bench *bench, const char *text) {
  RpinnExpression expression = 0;
  RpinnPlace place = {.file = "here", .line = 7, .column = 11};
  RpinnStatus status =
      rpinn_expression_parse(bench->context, bench->pool, &bench->scope, text, place, &expression);
  check_true(status == RPINN_OK, "'%s': %s", text, rpinn_context_error(bench->context)->message);
  return expression;
}

/* ---- the parser ---- */

static double value_of(Bench *bench, const char *text) {
  TreePoint point = {.x = {0.7, -1.3, 0.4}, .parameters = {1.7, -0.6}};
  return value_at(bench->pool, parse(bench, text), &point);
}

static void precedence(void **state) {
  (void)state;
  const double x = 0.7, y = -1.3, t = 0.4, p = 1.7;
  const struct {
    const char *text;
    double value;
  } cases[] = {
      {"-x^2", -(x * x)},
      {"(-x)^2", x * x},
      {"x^-2", 1 / (x * x)},
      {"-x^-2", -1 / (x * x)},
      {"2^3^2", 512}, /* right-associative */
      {"(2^3)^2", 64},
      {"2^x^t", pow(2, pow(x, t))},
      {"2^-x^2", pow(2, -x * x)},
      {"x - y - t", (x - y) - t},
      {"x - (y - t)", x - (y - t)},
      {"x/y/t", x / y / t},
      {"x/y*t", x / y * t},
      {"x/(y*t)", x / (y * t)},
      {"x*y^2", x * y * y},
      {"(x*y)^2", x * x * y * y},
      {"-x*y", -x * y},
      {"x*-y", -x * y},
      {"x - -y", x + y},
      {"x--y", x + y},
      {"+x", x},
      {"--x", x},
      {"2*-3^2", -18},
      {"x+y*t^2-p", x + y * t * t - p},
      {"1e-3", 1e-3},
      {"1E+2*x", 100 * x},
      {"2.5e1", 25},
      {".5", 0.5},
      {"5.", 5},
      {"3-1e-3", 3 - 1e-3},
      {"pi", 3.14159265358979323846},
      {"sin(x)^2 + cos(x)^2", 1},
      {"-sin(x)^2", -sin(x) * sin(x)},
      {"min(x, y)", y},
      {"max(x, y)", x},
      {"min(x, max(y, t))", t},
      {"abs(y)", 1.3},
      {"  ( x\t+ y )\n* t ", (x + y) * t},
      {"d(x^3, x)", 3 * x * x},
      {"d(x^3, x, x)", 6 * x},
      {"d(x^2*y^3, x, y)", 6 * x * y * y},
      {"d(d(x^2*y^3, x), y)", 6 * x * y * y},
      {"d(x*d(x*y, x), y)", x},
      {"d(sin(2*x), x)/2", cos(2 * x)},
      {"d(p*x + t, x)", p},
      {"d(y, x)", 0},
  };
  Bench bench = bench_open();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double found = value_of(&bench, cases[i].text);
    check_true(fabs(found - cases[i].value) <= 1e-14 * fmax(1, fabs(cases[i].value)),
               "%s is %.17g, not %.17g", cases[i].text, found, cases[i].value);
  }
  bench_close(&bench);
}

static void places_of_mistakes(void **state) {
  (void)state;
  const struct {
    const char *text;
    size_t offset; /* of the mistake, in bytes from the start */
    const char *says;
  } cases[] = {
      {"x +", 3, "ends here"},    {"x + * y", 4, "found '*'"},   {"(x + y", 6, "ends here"},
      {"x + y)", 5, "found ')'"}, {"x ** 2", 2, "'^'"},          {"2x", 1, "operator"},
      {"1.2.3", 3, "operator"},   {"x $ y", 2, "found '$'"},     {"sin x", 0, "'('"},
      {"sni(x)", 0, "'sin'"},     {"sin(x, y)", 5, "found ','"}, {"min(x)", 5, "found ')'"},
      {"x + d(y)", 7, "','"},     {"d(x, 2)", 5, "coordinate"},  {"d(x, u)", 5, "not a coordinate"},
      {"x + 1/0", 5, "finite"},   {"2*log(-1)", 2, "finite"},    {"10^999", 2, "finite"},
      {"1e999", 0, "too large"},  {"", 0, "ends here"},          {".", 0, "digit"},
  };
  Bench bench = bench_open();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    RpinnExpression unused;
    RpinnPlace place = {.file = "here", .line = 7, .column = 11};
    rpinn_context_clear_error(bench.context);
    RpinnStatus status =
        rpinn_expression_parse(bench.context, bench.pool, &bench.scope, cases[i].text, place, &unused);
    const RpinnError *error = rpinn_context_error(bench.context);
    check_true(status == RPINN_ERROR_INPUT, "'%s' was taken", cases[i].text);
    check_true(error->line == 7 && error->column == 11 + cases[i].offset,
               "'%s': column %zu, expected %zu: %s", cases[i].text, error->column, 11 + cases[i].offset,
               error->message);
    check_true(strstr(error->message, cases[i].says) != NULL, "'%s': %s", cases[i].text, error->message);
  }
  bench_close(&bench);
}

static void nesting_is_bounded(void **state) {
  (void)state;
  Bench bench = bench_open();
  char text[2 * RPINN_MAX_NESTING + 8];
  for (int too_deep = 0; too_deep < 2; too_deep++) {
    size_t levels = RPINN_MAX_NESTING - 1 + (size_t)too_deep; /* x itself is one more */
    memset(text, '(', levels);
    text[levels] = 'x';
    memset(text + levels + 1, ')', levels);
    text[2 * levels + 1] = '\0';
    RpinnExpression result;
    RpinnStatus status = rpinn_expression_parse(bench.context, bench.pool, &bench.scope, text,
                                                (RpinnPlace){.file = "here"}, &result);
    assert_int_equal(status, too_deep ? RPINN_ERROR_INPUT : RPINN_OK);
  }
  bench_close(&bench);
}

/* ---- folding and sharing ---- */

static void folding(void **state) {
  (void)state;
  const struct {
    const char *text, *same_as;
  } cases[] = {
      {"2*3 + 4", "10"},
      {"x*1", "x"},
      {"1*x", "x"},
      {"x + 0", "x"},
      {"0 + x", "x"},
      {"x - 0", "x"},
      {"0 - x", "-x"},
      {"x - x", "0"},
      {"x*0", "0"},
      {"0*sin(x)", "0"},
      {"x^1", "x"},
      {"x^0", "1"},
      {"x/1", "x"},
      {"0/x", "0"},
      {"--x", "x"},
      {"x*-1", "-x"},
      {"-1*x", "-x"},
      {"sin(0)", "0"},
      {"-0", "0"},
      {"min(2, 3)", "2"},
      {"x + y", "y + x"},
      {"x*y", "y*x"},
      {"(x)", "x"},
      {"d(x, x)", "1"},
      {"d(2*x + y, y)", "1"},
      {"d(v, t)", "0"},
      {"d(v, x, t)", "0"},
      {"d(u, x, y)", "d(u, y, x)"},
      {"d(d(u, x), y)", "d(u, x, y)"},
      {"d(u + v, x)", "d(u, x) + d(v, x)"},
      {"sqrt(4)*x", "2*x"},
      {"d(exp(u), x)", "exp(u)*d(u, x)"},
      {"exp(u)*sin(x*y) + 1", "1 + sin(y*x)*exp(u)"},
  };
  Bench bench = bench_open();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    check_true(parse(&bench, cases[i].text) == parse(&bench, cases[i].same_as), "%s is not the node of %s",
               cases[i].text, cases[i].same_as);
  /* Different things are different nodes. */
  const char *const distinct[] = {"x",          "y",     "u",      "v",      "p",         "d(u, x)",
                                  "d(u, x, x)", "x - y", "y - x",  "x/y",    "y/x",       "x^2",
                                  "2^x",        "-x",    "sin(x)", "cos(x)", "min(x, y)", "max(x, y)"};
  for (size_t i = 0; i < sizeof distinct / sizeof distinct[0]; i++)
    for (size_t k = 0; k < i; k++)
      check_true(parse(&bench, distinct[i]) != parse(&bench, distinct[k]), "%s and %s are one node",
                 distinct[i], distinct[k]);
  /* A sum of n equal products adds each node once, and the pool grows past its first size unharmed. */
  size_t before = bench.pool->count;
  for (int repeat = 0; repeat < 100; repeat++) parse(&bench, "sin(x*y + t)*exp(u)^3 + sin(x*y + t)");
  size_t once = bench.pool->count - before;
  check_true(once < 12, "%zu nodes for one expression", once);
  RpinnExpression first = parse(&bench, "sin(x*y + t)");
  for (int n = 2; n < 2000; n++) {
    char text[64];
    snprintf(text, sizeof text, "tanh(%d*x)", n);
    parse(&bench, text);
  }
  assert_true(parse(&bench, "sin(x*y + t)") == first);
  bench_close(&bench);
}

/* Arguments come before what uses them: every pass relies on it. */
static void arguments_come_first(void **state) {
  (void)state;
  Bench bench = bench_open();
  parse(&bench, "d(exp(u)*sin(x*y)^3/(1 + v^2) - min(u, x)*abs(y), x, y)");
  for (size_t i = 0; i < bench.pool->count; i++) {
    const RpinnNode *node = &bench.pool->nodes[i];
    unsigned count = rpinn_operation_num_arguments(node->operation);
    assert_true(count < 1 || node->a < i);
    assert_true(count < 2 || node->b < i);
  }
  bench_close(&bench);
}

/* ---- printing ---- */

static void print(Bench *bench, RpinnExpression expression, RpinnText *text) {
  const RpinnExpressionNames names = {
      .coordinates = test_coordinates, .fields = test_fields, .parameters = test_parameters};
  rpinn_expression_print(bench->pool, expression, &names, 100000, text);
}

static void printed_as_one_would_write(void **state) {
  (void)state;
  const char *const texts[] = {"x + y*t",    "t*(x + y)",   "x - (y - t)", "x^2",          "(-x)^2",
                               "-x^2",       "2^x^y",       "(2^x)^y",     "x/(y*t)",      "d(u, x, x)",
                               "sin(x)^3",   "x^-y",        "x^-(y*t)",    "2^-(x/y)",     "-(x + y)",
                               "min(x, -y)", "x - (y + t)", "x*(y/t)",     "d(u, x, t)*v", "exp(y*(-x))^2",
                               "x^(y + t)",  "x^(y*t)",     "(x*y)^t",     "x*1e-07"};
  Bench bench = bench_open();
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    RpinnText text = {0};
    RpinnExpression expression = parse(&bench, texts[i]);
    print(&bench, expression, &text);
    TreePoint point = {.x = {0.7, 1.3, 0.4}, .parameters = {1.7, 0.6}};
    double expected = value_at(bench.pool, expression, &point);
    double found = value_at(bench.pool, parse(&bench, text.bytes), &point);
    assert_string_equal(text.bytes, texts[i]);
    check_true(found == expected || fabs(found - expected) <= 1e-15 * fabs(expected),
               "%s prints as %s: %.17g, not %.17g", texts[i], text.bytes, found, expected);
    rpinn_text_free(&text);
  }
  bench_close(&bench);
}

/* ---- 10,000 random expressions ---- */

enum { NUM_EXPRESSIONS = 10000, EXPRESSIONS_PER_POOL = 10, DEPTH = 5, LEAST_MERGED = 1000 };

typedef struct Tally {
  size_t compared, derivatives, rejected, round_trips, compiled, partials, merged;
  double worst_value, worst_first, worst_second, worst_round_trip, worst_forward, worst_reverse;
} Tally;

static void keep(double *worst, double found, double expected, double size, const char *what,
                 const char *text) {
  double error = fabs(found - expected) / fmax(size, fabs(expected));
  check_true(error <= 1e-11, "%s of %s is %.17g, expected %.17g (size %g)", what, text, found, expected,
             size);
  if (error > *worst) *worst = error;
}

/* Value, gradient and Hessian (both orders of mixed derivatives) against the series. */
static bool compare_derivatives(Bench *bench, RpinnExpression expression, TreePoint *point,
                                const Series *series, const char *text, Tally *tally) {
  bool any = false;
  keep(&tally->worst_value, value_at(bench->pool, expression, point), (double)series->c[0], point->size,
       "value", text);
  for (int i = 0; i < VARIABLES; i++) {
    RpinnExpression first = rpinn_expression_derive(bench->pool, expression, (size_t)i);
    keep(&tally->worst_first, value_at(bench->pool, first, point), (double)series->c[1 + i], point->size,
         "first derivative", text);
    any |= series->c[1 + i] != 0;
    for (int j = 0; j < VARIABLES; j++) {
      RpinnExpression second = rpinn_expression_derive(bench->pool, first, (size_t)j);
      int e[VARIABLES] = {0};
      e[i]++;
      e[j]++;
      double expected = (double)(series->c[series_index[e[0]][e[1]][e[2]]] * (i == j ? 2 : 1));
      keep(&tally->worst_second, value_at(bench->pool, second, point), expected, 2 * point->size,
           "second derivative", text);
      tally->derivatives++;
    }
  }
  assert_int_equal(bench->pool->status, RPINN_OK);
  return any;
}

/* Does it print in a way that can be read back: no sign or less, no number of more than six digits? */
static bool prints_exactly(const RpinnExpressionPool *pool, RpinnExpression expression) {
  uint8_t *used = rpinn_expression_reachable(pool, expression);
  bool exact = true;
  for (size_t i = 0; i <= expression; i++) {
    const RpinnNode *node = &pool->nodes[i];
    if (!used[i]) continue;
    char text[RPINN_NUMBER_TEXT];
    snprintf(text, sizeof text, "%.6g", node->number);
    exact &= node->operation != RPINN_OPERATION_NUMBER || strtod(text, NULL) == node->number;
    exact &= node->operation != RPINN_OPERATION_SIGN && node->operation != RPINN_OPERATION_LESS;
  }
  free(used);
  return exact;
}

static void compare_printed(Bench *bench, RpinnExpression expression, TreePoint *point, Tally *tally) {
  if (!prints_exactly(bench->pool, expression)) return;
  RpinnText text = {0};
  print(bench, expression, &text);
  RpinnExpression again = parse(bench, text.bytes);
  keep(&tally->worst_round_trip, value_at(bench->pool, again, point),
       value_at(bench->pool, expression, point), point->size, "what is printed", text.bytes);
  tally->round_trips++;
  rpinn_text_free(&text);
}

/* What a channel of a stand-in is worth: sum of coefficients times derivatives. */
static double stand_in_channel(const RpinnChannel *channel, size_t field, const double *x) {
  uint8_t orders[RPINN_MAX_COORDINATES] = {0};
  if (channel->order == 0) return stand_in_derivative(field, x, orders);
  double sum = 0;
  for (size_t i = 0; i < VARIABLES; i++)
    for (size_t j = i; j < VARIABLES; j++) {
      if (channel->order == 1 && j > i) break;
      double c = channel->coefficient[channel->order == 1 ? i : rpinn_pair_index(i, j)];
      memset(orders, 0, sizeof orders);
      orders[i]++;
      if (channel->order == 2) orders[j]++;
      if (c != 0) sum += c * stand_in_derivative(field, x, orders);
    }
  return sum;
}

/* How much of the field derivative `node` a channel holds. */
static double share_of(const RpinnChannel *channel, const RpinnNode *node) {
  size_t coordinate[2] = {0}, order = 0;
  for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++)
    for (unsigned k = 0; k < node->orders[i]; k++) coordinate[order++] = i;
  if (channel->order != order) return 0;
  if (order == 0) return 1;
  return channel->coefficient[order == 1 ? coordinate[0] : rpinn_pair_index(coordinate[0], coordinate[1])];
}

/* The compiled program: its value, and its reverse derivatives against the symbolic partial derivative with
 * respect to every leaf. A leaf that was merged into a channel gets its share of the channel's adjoint. */
static void compare_compiled(Bench *bench, RpinnExpression expression, TreePoint *point, const char *text,
                             Tally *tally) {
  const RpinnExpressionNames names = {
      .coordinates = test_coordinates, .fields = test_fields, .parameters = test_parameters};
  RpinnArena *arena = rpinn_arena_create();
  RpinnResidualProgram *program;
  assert_int_equal(rpinn_residual_program_compile(bench->context, arena, bench->pool, expression,
                                                  NUM_TEST_FIELDS, &names, "a test", (RpinnPlace){0},
                                                  &program),
                   RPINN_OK);
  size_t count = program->num_instructions, num_inputs = program->num_inputs;
  double *memory = calloc(2 * count + 2 * num_inputs, sizeof *memory);
  double *registers = memory, *adjoints = registers + count, *channels = adjoints + count,
         *channel_adjoints = channels + num_inputs, unknown_adjoints[NUM_TEST_PARAMETERS] = {0};
  for (size_t k = 0; k < num_inputs; k++) {
    const RpinnChannelInput *input = &program->inputs[k];
    const RpinnChannel *channel = &program->channels[input->field].channels[input->channel];
    channels[k] = stand_in_channel(channel, input->field, point->x);
    double size = 0;
    for (size_t p = 0; p < RPINN_MAX_PAIRS; p++) size += channel->coefficient[p] != 0;
    tally->merged += size > 1;
  }
  double value = rpinn_residual_program_forward(program, point->x, channels, point->parameters, registers);
  keep(&tally->worst_forward, value, value_at(bench->pool, expression, point), point->size, "program", text);
  const double weight = 1.25;
  rpinn_residual_program_reverse(program, registers, weight, adjoints, channel_adjoints, unknown_adjoints);

  uint8_t *used = rpinn_expression_reachable(bench->pool, expression);
  for (size_t i = 0; i <= expression; i++) {
    RpinnNode node = bench->pool->nodes[i];
    bool is_field = node.operation == RPINN_OPERATION_FIELD;
    if (!used[i] || (!is_field && node.operation != RPINN_OPERATION_PARAMETER)) continue;
    RpinnExpression partial = rpinn_expression_derive_leaf(bench->pool, expression, (RpinnExpression)i);
    double expected = weight * value_at(bench->pool, partial, point), found = 0;
    if (!isfinite(expected)) continue; /* a power of a negative base has no slope in its exponent */
    for (size_t k = 0; k < num_inputs && is_field; k++) {
      const RpinnChannelInput *input = &program->inputs[k];
      if (input->field == node.index)
        found +=
            channel_adjoints[k] * share_of(&program->channels[input->field].channels[input->channel], &node);
    }
    if (!is_field) found = unknown_adjoints[node.index];
    keep(&tally->worst_reverse, found, expected, point->size, "reverse derivative", text);
    tally->partials++;
  }
  tally->compiled++;
  free(used);
  free(memory);
  rpinn_arena_destroy(arena);
}

static void random_expressions(void **state) {
  (void)state;
  Forest *forest = calloc(1, sizeof *forest);
  forest->stream = rpinn_stream(20250101, RPINN_PURPOSE_CHECK, 0, 0);
  Tally tally = {0};
  series_prepare();
  while (tally.compared < NUM_EXPRESSIONS) {
    Bench bench = bench_open();
    for (int k = 0; k < EXPRESSIONS_PER_POOL; k++) {
      RpinnText text = {0};
      RpinnExpression expression;
      TreePoint point;
      Series series;
      forest->count = 0;
      const Tree *tree = k % 5 == 4 ? random_operator(forest, 2) : random_tree(forest, DEPTH, 2);
      tree_print(tree, &text);
      /* Numbers that fold to infinity are refused by the parser: no expression to compare. */
      if (random_point(forest, tree, &point, &series) &&
          rpinn_expression_parse(bench.context, bench.pool, &bench.scope, text.bytes, (RpinnPlace){0},
                                 &expression) == RPINN_OK) {
        tally.compared += compare_derivatives(&bench, expression, &point, &series, text.bytes, &tally);
        compare_printed(&bench, expression, &point, &tally);
        compare_compiled(&bench, expression, &point, text.bytes, &tally);
      } else {
        tally.rejected++;
      }
      rpinn_text_free(&text);
    }
    bench_close(&bench);
  }
  print_message("  %zu expressions that depend on a coordinate compared, %zu rejected (domain, kink, size)\n",
                tally.compared, tally.rejected);
  print_message(
      "  largest relative errors: value %.1e, first derivatives %.1e, %zu second derivatives %.1e\n",
      tally.worst_value, tally.worst_first, tally.derivatives, tally.worst_second);
  print_message("  %zu printed and read again: %.1e\n", tally.round_trips, tally.worst_round_trip);
  print_message("  %zu programs (%zu merged channels): forward %.1e, %zu reverse derivatives %.1e\n",
                tally.compiled, tally.merged, tally.worst_forward, tally.partials, tally.worst_reverse);
  assert_true(tally.round_trips >= NUM_EXPRESSIONS / 2 && tally.compiled >= NUM_EXPRESSIONS &&
              tally.merged >= LEAST_MERGED);
  free(forest);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(precedence),           cmocka_unit_test(places_of_mistakes),
      cmocka_unit_test(nesting_is_bounded),   cmocka_unit_test(folding),
      cmocka_unit_test(arguments_come_first), cmocka_unit_test(printed_as_one_would_write),
      cmocka_unit_test(random_expressions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
