/* Random expressions and what they are worth, by a way of its own: a tree that is written out as text for the
 * parser, and evaluated in truncated power series of three variables. A series carries every derivative up to
 * order 4, so that two derivatives can be taken of an expression that holds d(d(…)). */
#ifndef RPINN_TESTS_RANDOM_EXPRESSION_H
#define RPINN_TESTS_RANDOM_EXPRESSION_H

#include "check.h"

#include "expression.h"
#include "random_stream.h"
#include "text.h"

enum { VARIABLES = 3, DEGREE = 4, COEFFICIENTS = 35, NUM_TEST_FIELDS = 2, NUM_TEST_PARAMETERS = 2 };

static const char *const test_coordinates[RPINN_MAX_COORDINATES] = {"x", "y", "t", "unused"};
static const char *const test_fields[NUM_TEST_FIELDS] = {"u", "v"};
static const char *const test_parameters[NUM_TEST_PARAMETERS] = {"p", "q"};
static const unsigned test_field_inputs[NUM_TEST_FIELDS] = {7, 3}; /* v does not depend on t */

/* ---- power series: c[index of (i, j, k)] is the coefficient of dx^i dy^j dt^k ---- */

typedef struct Series {
  long double c[COEFFICIENTS];
} Series;

static int series_exponents[COEFFICIENTS][VARIABLES], series_index[DEGREE + 1][DEGREE + 1][DEGREE + 1];

static inline void series_prepare(void) {
  int count = 0;
  for (int total = 0; total <= DEGREE; total++)
    for (int i = total; i >= 0; i--)
      for (int j = total - i; j >= 0; j--) {
        int k = total - i - j;
        series_exponents[count][0] = i;
        series_exponents[count][1] = j;
        series_exponents[count][2] = k;
        series_index[i][j][k] = count++;
      }
}

static inline Series series_constant(long double value) {
  Series s = {{0}};
  s.c[0] = value;
  return s;
}

static inline Series series_times(const Series *a, const Series *b) {
  Series r = {{0}};
  for (int m = 0; m < COEFFICIENTS; m++) {
    const int *e = series_exponents[m];
    for (int n = 0; n < COEFFICIENTS; n++) {
      const int *f = series_exponents[n];
      if (e[0] + e[1] + e[2] + f[0] + f[1] + f[2] > DEGREE) break;
      r.c[series_index[e[0] + f[0]][e[1] + f[1]][e[2] + f[2]]] += a->c[m] * b->c[n];
    }
  }
  return r;
}

static inline Series series_sum(const Series *a, long double factor, const Series *b) {
  Series r;
  for (int m = 0; m < COEFFICIENTS; m++) r.c[m] = a->c[m] + factor * b->c[m];
  return r;
}

/* f(a) from the Taylor coefficients of f at a's value. */
static inline Series series_compose(const long double taylor[DEGREE + 1], const Series *a) {
  Series step = *a, r = series_constant(taylor[DEGREE]);
  step.c[0] = 0;
  for (int k = DEGREE - 1; k >= 0; k--) {
    r = series_times(&r, &step);
    r.c[0] += taylor[k];
  }
  return r;
}

/* a^power for a fixed power: binomial coefficients times v^(power - k). */
static inline Series series_power(const Series *a, long double power) {
  long double taylor[DEGREE + 1], binomial = 1;
  for (int k = 0; k <= DEGREE; k++) {
    taylor[k] = binomial == 0 ? 0 : binomial * powl(a->c[0], power - k);
    binomial *= (power - k) / (k + 1);
  }
  return series_compose(taylor, a);
}

static inline Series series_over(const Series *a, const Series *b) {
  Series inverse = series_power(b, -1);
  return series_times(a, &inverse);
}

/* Functions whose derivatives run in a cycle: v, f', f'', f''' and again. */
static inline Series series_cycle(const long double cycle[4], const Series *a) {
  long double taylor[DEGREE + 1], factorial = 1;
  for (int k = 0; k <= DEGREE; k++) {
    taylor[k] = cycle[k % 4] / factorial;
    factorial *= k + 1;
  }
  return series_compose(taylor, a);
}

static inline Series series_sin(const Series *a) {
  long double s = sinl(a->c[0]), c = cosl(a->c[0]);
  return series_cycle((long double[]){s, c, -s, -c}, a);
}
static inline Series series_cos(const Series *a) {
  long double s = sinl(a->c[0]), c = cosl(a->c[0]);
  return series_cycle((long double[]){c, -s, -c, s}, a);
}
static inline Series series_exp(const Series *a) {
  long double e = expl(a->c[0]);
  return series_cycle((long double[]){e, e, e, e}, a);
}
static inline Series series_sinh(const Series *a) {
  long double s = sinhl(a->c[0]), c = coshl(a->c[0]);
  return series_cycle((long double[]){s, c, s, c}, a);
}
static inline Series series_cosh(const Series *a) {
  long double s = sinhl(a->c[0]), c = coshl(a->c[0]);
  return series_cycle((long double[]){c, s, c, s}, a);
}
static inline Series series_log(const Series *a) {
  long double taylor[DEGREE + 1], v = a->c[0], power = 1;
  taylor[0] = logl(v);
  for (int k = 1; k <= DEGREE; k++) {
    power *= -1 / v;
    taylor[k] = -power / k;
  }
  return series_compose(taylor, a);
}

static inline Series series_derivative(const Series *a, int variable) {
  Series r = {{0}};
  for (int m = 0; m < COEFFICIENTS; m++) {
    int e[VARIABLES];
    memcpy(e, series_exponents[m], sizeof e);
    if (!e[variable]) continue;
    int power = e[variable]--;
    r.c[series_index[e[0]][e[1]][e[2]]] = power * a->c[m];
  }
  return r;
}

/* ---- stand-ins for fields: u = sum_m A_m sin(w_m . x + phase_m), all derivatives in closed form ---- */

enum { MODES = 2 };
typedef struct StandIn {
  double amplitude[MODES], wave[MODES][VARIABLES], phase[MODES];
} StandIn;
static const StandIn stand_ins[NUM_TEST_FIELDS] = {
    {{0.8, 0.5}, {{1.1, -0.7, 0.4}, {-0.6, 0.9, 1.3}}, {0.3, 1.1}},
    {{0.7, -0.6}, {{0.9, 0.5, 0}, {-1.2, 0.8, 0}}, {-0.4, 0.6}}};

static inline double stand_in_derivative(size_t field, const double *x, const uint8_t *orders) {
  double sum = 0;
  for (int m = 0; m < MODES; m++) {
    double argument = stand_ins[field].phase[m], factor = stand_ins[field].amplitude[m];
    for (int i = 0; i < VARIABLES; i++) {
      argument += stand_ins[field].wave[m][i] * x[i];
      for (int k = 0; k < orders[i]; k++) {
        factor *= stand_ins[field].wave[m][i];
        argument += 1.57079632679489661923;
      }
    }
    sum += factor * sin(argument);
  }
  return sum;
}

/* ---- trees ---- */

typedef enum TreeKind { LEAF_NUMBER, LEAF_COORDINATE, LEAF_FIELD, LEAF_PARAMETER, CALL, DERIVATIVE } TreeKind;

typedef struct Tree {
  TreeKind kind;
  RpinnOperation operation; /* CALL */
  double number;
  int index; /* leaves; DERIVATIVE: the variable */
  const struct Tree *a, *b;
} Tree;

enum { MAX_TREES = 4096 };
typedef struct Forest {
  Tree trees[MAX_TREES];
  size_t count;
  RpinnStream stream;
} Forest;

static inline Tree *forest_new(Forest *forest) {
  check_true(forest->count < MAX_TREES, "the forest is full");
  Tree *tree = &forest->trees[forest->count++];
  *tree = (Tree){.kind = LEAF_NUMBER};
  return tree;
}

static inline const Tree *random_leaf(Forest *forest) {
  static const double numbers[] = {0, 1, 2, 3, 0.5, 0.25, 1.5, 4, 0.75};
  Tree *tree = forest_new(forest);
  uint64_t choice = rpinn_stream_below(&forest->stream, 10);
  tree->kind = choice < 2   ? LEAF_NUMBER
               : choice < 6 ? LEAF_COORDINATE
               : choice < 9 ? LEAF_FIELD
                            : LEAF_PARAMETER;
  tree->number = numbers[rpinn_stream_below(&forest->stream, sizeof numbers / sizeof numbers[0])];
  uint64_t range = tree->kind == LEAF_COORDINATE ? VARIABLES : 2;
  tree->index = (int)rpinn_stream_below(&forest->stream, range);
  return tree;
}

/* Depth at most `depth`, with at most `derivatives` d(…) inside one another. */
static inline const Tree *random_tree(Forest *forest, int depth, int derivatives) {
  static const RpinnOperation operations[] = {
      RPINN_OPERATION_ADD,      RPINN_OPERATION_ADD,      RPINN_OPERATION_SUBTRACT, RPINN_OPERATION_SUBTRACT,
      RPINN_OPERATION_MULTIPLY, RPINN_OPERATION_MULTIPLY, RPINN_OPERATION_MULTIPLY, RPINN_OPERATION_DIVIDE,
      RPINN_OPERATION_POWER,    RPINN_OPERATION_POWER,    RPINN_OPERATION_MIN,      RPINN_OPERATION_MAX,
      RPINN_OPERATION_NEGATE,   RPINN_OPERATION_SIN,      RPINN_OPERATION_COS,      RPINN_OPERATION_TAN,
      RPINN_OPERATION_EXP,      RPINN_OPERATION_LOG,      RPINN_OPERATION_SQRT,     RPINN_OPERATION_TANH,
      RPINN_OPERATION_SINH,     RPINN_OPERATION_COSH,     RPINN_OPERATION_ABS};
  enum { NUM_CHOICES = sizeof operations / sizeof operations[0] };
  if (depth == 0 || rpinn_stream_below(&forest->stream, 8) == 0) return random_leaf(forest);
  Tree *tree = forest_new(forest);
  if (derivatives > 0 && rpinn_stream_below(&forest->stream, 5) == 0) {
    tree->kind = DERIVATIVE;
    tree->index = (int)rpinn_stream_below(&forest->stream, VARIABLES);
    tree->a = random_tree(forest, depth - 1, derivatives - 1);
    return tree;
  }
  tree->kind = CALL;
  tree->operation = operations[rpinn_stream_below(&forest->stream, NUM_CHOICES)];
  tree->a = random_tree(forest, depth - 1, derivatives);
  if (rpinn_operation_num_arguments(tree->operation) > 1)
    tree->b = random_tree(forest, depth - 1, derivatives);
  if (tree->operation == RPINN_OPERATION_POWER && rpinn_stream_below(&forest->stream, 2)) {
    Tree *exponent = forest_new(forest); /* half of the powers are whole, so that bases may be negative */
    exponent->number = (double)rpinn_stream_below(&forest->stream, 7) - 2;
    tree->b = exponent;
  }
  return tree;
}

static inline const Tree *make_call(Forest *forest, RpinnOperation operation, const Tree *a, const Tree *b) {
  Tree *tree = forest_new(forest);
  *tree = (Tree){.kind = CALL, .operation = operation, .a = a, .b = b};
  return tree;
}

/* g (c_1 D_1 u + c_2 D_2 u + …) + rest with derivatives D of one order of one field: a form that merges. */
static inline const Tree *random_operator(Forest *forest, int depth) {
  int order = 1 + (int)rpinn_stream_below(&forest->stream, 2),
      field = (int)rpinn_stream_below(&forest->stream, 2);
  const Tree *sum = NULL;
  for (int k = 0; k < 3; k++) {
    Tree *leaf = forest_new(forest), *factor = forest_new(forest);
    *leaf = (Tree){.kind = LEAF_FIELD, .index = field};
    *factor =
        (Tree){.kind = LEAF_NUMBER, .number = 0.25 * ((double)rpinn_stream_below(&forest->stream, 17) - 8)};
    for (int m = 0; m < order; m++) {
      Tree *derived = forest_new(forest);
      *derived =
          (Tree){.kind = DERIVATIVE, .a = leaf, .index = (int)rpinn_stream_below(&forest->stream, VARIABLES)};
      leaf = derived;
    }
    const Tree *part = make_call(forest, RPINN_OPERATION_MULTIPLY, factor, leaf);
    sum = sum ? make_call(forest, RPINN_OPERATION_ADD, sum, part) : part;
  }
  const Tree *g = random_tree(forest, depth, 0), *rest = random_tree(forest, depth, 0);
  return make_call(forest, RPINN_OPERATION_SUBTRACT, make_call(forest, RPINN_OPERATION_MULTIPLY, g, sum),
                   rest);
}

/* With all parentheses: nothing is left to precedence. */
static inline void tree_print(const Tree *tree, RpinnText *text) {
  switch (tree->kind) {
  case LEAF_NUMBER: rpinn_text_append(text, tree->number < 0 ? "(%g)" : "%g", tree->number); return;
  case LEAF_COORDINATE: rpinn_text_append(text, "%s", test_coordinates[tree->index]); return;
  case LEAF_FIELD: rpinn_text_append(text, "%s", test_fields[tree->index]); return;
  case LEAF_PARAMETER: rpinn_text_append(text, "%s", test_parameters[tree->index]); return;
  case DERIVATIVE:
    rpinn_text_append(text, "d(");
    tree_print(tree->a, text);
    rpinn_text_append(text, ", %s)", test_coordinates[tree->index]);
    return;
  case CALL: break;
  }
  const char *symbol = rpinn_operation_text(tree->operation);
  bool infix = strchr("+-*/^", symbol[0]) != NULL;
  if (!tree->b) {
    rpinn_text_append(text, infix ? "(%s" : "%s(", symbol);
    tree_print(tree->a, text);
  } else {
    rpinn_text_append(text, infix ? "(" : "%s(", symbol);
    tree_print(tree->a, text);
    rpinn_text_append(text, infix ? " %s " : ", ", symbol);
    tree_print(tree->b, text);
  }
  rpinn_text_append(text, ")");
}

/* What the value of a tree depends on, and how well it is known there. */
typedef struct TreePoint {
  double x[VARIABLES], parameters[NUM_TEST_PARAMETERS];
  double size; /* the largest derivative met on the way: rounding errors are in relation to it */
  double kink; /* the smallest distance to a kink of abs, min or max, or to where log, sqrt, / and ^ end */
} TreePoint;

static inline Series tree_series(const Tree *tree, TreePoint *point);

static inline Series call_series(const Tree *tree, TreePoint *point) {
  Series a = tree_series(tree->a, point), b = {{0}}, r = {{0}};
  if (tree->b) b = tree_series(tree->b, point);
  if (tree->operation == RPINN_OPERATION_LOG || tree->operation == RPINN_OPERATION_SQRT ||
      tree->operation == RPINN_OPERATION_POWER)
    point->kink = fmin(point->kink, (double)fabsl(a.c[0]));
  if (tree->operation == RPINN_OPERATION_DIVIDE) point->kink = fmin(point->kink, (double)fabsl(b.c[0]));
  switch (tree->operation) {
  case RPINN_OPERATION_NEGATE: return series_sum(&r, -1, &a);
  case RPINN_OPERATION_SIN: return series_sin(&a);
  case RPINN_OPERATION_COS: return series_cos(&a);
  case RPINN_OPERATION_TAN: r = series_sin(&a), b = series_cos(&a); return series_over(&r, &b);
  case RPINN_OPERATION_EXP: return series_exp(&a);
  case RPINN_OPERATION_LOG: return series_log(&a);
  case RPINN_OPERATION_SQRT: return series_power(&a, 0.5L);
  case RPINN_OPERATION_TANH: r = series_sinh(&a), b = series_cosh(&a); return series_over(&r, &b);
  case RPINN_OPERATION_SINH: return series_sinh(&a);
  case RPINN_OPERATION_COSH: return series_cosh(&a);
  case RPINN_OPERATION_ABS:
    point->kink = fmin(point->kink, (double)fabsl(a.c[0]));
    return series_sum(&r, a.c[0] < 0 ? -1 : 1, &a);
  case RPINN_OPERATION_ADD: return series_sum(&a, 1, &b);
  case RPINN_OPERATION_SUBTRACT: return series_sum(&a, -1, &b);
  case RPINN_OPERATION_MULTIPLY: return series_times(&a, &b);
  case RPINN_OPERATION_DIVIDE: return series_over(&a, &b);
  case RPINN_OPERATION_POWER: {
    /* The slope in an exponent that may vary is a^b log a: it wants a positive base. */
    if (tree->b->kind != LEAF_NUMBER) point->kink = fmin(point->kink, (double)a.c[0]);
    bool fixed = true;
    for (int m = 1; m < COEFFICIENTS; m++) fixed &= b.c[m] == 0;
    if (fixed) return series_power(&a, b.c[0]);
    r = series_log(&a);
    r = series_times(&b, &r);
    return series_exp(&r);
  }
  case RPINN_OPERATION_MIN:
  case RPINN_OPERATION_MAX: {
    bool same = true;
    for (int m = 0; m < COEFFICIENTS; m++) same &= a.c[m] == b.c[m];
    if (!same) point->kink = fmin(point->kink, (double)fabsl(a.c[0] - b.c[0]));
    return (a.c[0] < b.c[0]) == (tree->operation == RPINN_OPERATION_MIN) ? a : b;
  }
  default: fail_msg("no oracle for %s", rpinn_operation_text(tree->operation));
  }
  return r;
}

static inline Series tree_series(const Tree *tree, TreePoint *point) {
  Series r = {{0}};
  switch (tree->kind) {
  case LEAF_NUMBER: return series_constant(tree->number);
  case LEAF_PARAMETER: return series_constant(point->parameters[tree->index]);
  case LEAF_COORDINATE:
    r.c[0] = point->x[tree->index];
    r.c[1 + tree->index] = 1; /* degree 1 comes in the order x, y, t */
    return r;
  case LEAF_FIELD:
    for (int m = 0; m < MODES; m++) {
      const StandIn *field = &stand_ins[tree->index];
      Series argument = series_constant(field->phase[m]);
      for (int i = 0; i < VARIABLES; i++) {
        argument.c[0] += field->wave[m][i] * point->x[i];
        argument.c[1 + i] = field->wave[m][i];
      }
      argument = series_sin(&argument);
      r = series_sum(&r, field->amplitude[m], &argument);
    }
    return r;
  case DERIVATIVE:
    r = tree_series(tree->a, point);
    r = series_derivative(&r, tree->index);
    break;
  case CALL: r = call_series(tree, point); break;
  }
  for (int m = 0; m < COEFFICIENTS; m++)
    if (!((double)fabsl(r.c[m]) <= point->size) && !isnan(point->size))
      point->size = (double)fabsl(r.c[m]); /* NaN comes in and stays */
  return r;
}

/* A point where the tree is well behaved: finite, of moderate size, away from kinks. */
static inline bool random_point(Forest *forest, const Tree *tree, TreePoint *point, Series *series) {
  enum { ATTEMPTS = 8 };
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    *point = (TreePoint){.size = 1, .kink = 1};
    for (int i = 0; i < VARIABLES; i++) point->x[i] = 4 * rpinn_stream_uniform(&forest->stream) - 2;
    for (int i = 0; i < NUM_TEST_PARAMETERS; i++)
      point->parameters[i] = 3 * rpinn_stream_uniform(&forest->stream) - 1;
    *series = tree_series(tree, point);
    if (point->size <= 1e5 && point->kink > 1e-3) return true;
  }
  return false;
}

static inline double point_field(void *user, size_t field, const uint8_t orders[RPINN_MAX_COORDINATES]) {
  const TreePoint *point = user;
  return stand_in_derivative(field, point->x, orders);
}

static inline double value_at(const RpinnExpressionPool *pool, RpinnExpression expression, TreePoint *point) {
  double value;
  RpinnExpressionInputs inputs = {
      .coordinates = point->x, .parameters = point->parameters, .field = point_field, .user = point};
  assert_int_equal(rpinn_expression_evaluate(pool, expression, &inputs, &value), RPINN_OK);
  return value;
}

/* ---- a scope with these names for the parser ---- */

static inline RpinnStatus test_resolve(void *user, const char *name, RpinnPlace place,
                                       RpinnExpression *expression) {
  RpinnExpressionPool *pool = user;
  (void)place;
  for (size_t i = 0; i < VARIABLES; i++)
    if (!strcmp(name, test_coordinates[i])) {
      *expression = rpinn_expression_coordinate(pool, i);
      return RPINN_OK;
    }
  for (size_t i = 0; i < NUM_TEST_FIELDS; i++)
    if (!strcmp(name, test_fields[i])) {
      *expression = rpinn_expression_field(pool, i, (uint8_t[RPINN_MAX_COORDINATES]){0});
      return RPINN_OK;
    }
  for (size_t i = 0; i < NUM_TEST_PARAMETERS; i++)
    if (!strcmp(name, test_parameters[i])) {
      *expression = rpinn_expression_parameter(pool, i);
      return RPINN_OK;
    }
  return RPINN_ERROR_INPUT;
}

#endif
