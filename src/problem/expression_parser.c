/* Recursive descent with a depth limit; every node is simplified as it is built. */
#include "expression_parser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ascii.h"
#include "number_text.h"

/* Functions of the language: those operations that print as a name and belong to the user. */
static const RpinnOperation functions[] = {RPINN_OPERATION_SIN,  RPINN_OPERATION_COS,  RPINN_OPERATION_TAN,
                                           RPINN_OPERATION_EXP,  RPINN_OPERATION_LOG,  RPINN_OPERATION_SQRT,
                                           RPINN_OPERATION_TANH, RPINN_OPERATION_SINH, RPINN_OPERATION_COSH,
                                           RPINN_OPERATION_ABS,  RPINN_OPERATION_MIN,  RPINN_OPERATION_MAX};
enum { NUM_FUNCTIONS = sizeof functions / sizeof functions[0], NAME_SIZE = 128 };

typedef struct Parser {
  RpinnContext *context;
  RpinnExpressionPool *pool;
  RpinnNameScope *scope;
  const char *text, *next;
  RpinnPlace place; /* of text[0] */
  size_t depth;
} Parser;

static RpinnStatus parse_sum(Parser *parser, RpinnExpression *result);
static RpinnStatus parse_unary(Parser *parser, RpinnExpression *result);

static RpinnPlace place_of(const Parser *parser, const char *at) {
  RpinnPlace place = parser->place;
  if (place.column) place.column += (size_t)(at - parser->text);
  return place;
}

static char peek(Parser *parser) {
  while (rpinn_is_blank(*parser->next)) parser->next++;
  return *parser->next;
}

static bool accept(Parser *parser, char wanted) {
  if (peek(parser) != wanted) return false;
  parser->next++;
  return true;
}

static RpinnStatus fail_expected(Parser *parser, const char *expected) {
  char found = peek(parser);
  RpinnPlace place = place_of(parser, parser->next);
  if (!found) return rpinn_fail_at(parser->context, place, "the expression ends here; expected %s", expected);
  int length = 1; /* of the character, which may be several bytes of UTF-8 */
  while (((unsigned char)parser->next[length] & 0xc0) == 0x80) length++;
  return rpinn_fail_at(parser->context, place, "found '%.*s'; expected %s", length, parser->next, expected);
}

static RpinnStatus expect(Parser *parser, char wanted, const char *expected) {
  return accept(parser, wanted) ? RPINN_OK : fail_expected(parser, expected);
}

static RpinnStatus pool_status(Parser *parser, const char *at) {
  return rpinn_expression_pool_status_at(parser->context, parser->pool, place_of(parser, at));
}

/* Build, and refuse numbers that folded to infinity or NaN, where they were written. */
static RpinnStatus build(Parser *parser, const char *at, RpinnOperation operation, RpinnExpression a,
                         RpinnExpression b, RpinnExpression *result) {
  double x = 0, y = 0;
  bool two = rpinn_operation_num_arguments(operation) > 1;
  *result = rpinn_expression_apply(parser->pool, operation, a, b);
  if (!rpinn_expression_is_number(parser->pool, *result, NULL) &&
      rpinn_expression_is_number(parser->pool, a, &x) &&
      (!two || rpinn_expression_is_number(parser->pool, b, &y)) && parser->pool->status == RPINN_OK) {
    const char *text = rpinn_operation_text(operation);
    const char *found = isnan(rpinn_operation_value(operation, x, y)) ? "not a number" : "infinite";
    if (two && !rpinn_is_letter(text[0]))
      return rpinn_fail_at(parser->context, place_of(parser, at),
                           "%.6g %s %.6g is %s; expected a finite number", x, text, y, found);
    return rpinn_fail_at(parser->context, place_of(parser, at), "%s(%.6g) is %s; expected a finite number",
                         text, x, found);
  }
  return pool_status(parser, at);
}

static RpinnStatus parse_number(Parser *parser, RpinnExpression *result) {
  const char *start = parser->next, *end = start;
  while (rpinn_is_digit(*end)) end++;
  if (*end == '.') end++;
  while (rpinn_is_digit(*end)) end++;
  if (end - start == 1 && *start == '.') return fail_expected(parser, "a digit before or after the point");
  if (*end == 'e' || *end == 'E') {
    const char *exponent = end + 1;
    if (*exponent == '+' || *exponent == '-') exponent++;
    if (rpinn_is_digit(*exponent)) {
      end = exponent;
      while (rpinn_is_digit(*end)) end++;
    }
  }
  char digits[NAME_SIZE];
  if ((size_t)(end - start) >= sizeof digits)
    return rpinn_fail_at(parser->context, place_of(parser, start),
                         "a number of %zu characters; expected at most %d", (size_t)(end - start),
                         NAME_SIZE - 1);
  memcpy(digits, start, (size_t)(end - start));
  digits[end - start] = '\0';
  double value = rpinn_number_read(digits, NULL);
  if (!isfinite(value))
    return rpinn_fail_at(parser->context, place_of(parser, start),
                         "%s is too large for a number; expected at most 1.79e308", digits);
  if (rpinn_is_letter_or_digit(*end) || *end == '_' || *end == '.')
    return rpinn_fail_at(parser->context, place_of(parser, end),
                         "found '%c' after the number %s; expected an operator such as *", *end, digits);
  parser->next = end;
  *result = rpinn_expression_number(parser->pool, value);
  return RPINN_OK;
}

static RpinnStatus read_name(Parser *parser, char name[NAME_SIZE]) {
  const char *start = parser->next;
  size_t length = 0;
  while (rpinn_is_letter_or_digit(start[length]) || start[length] == '_') length++;
  if (length >= NAME_SIZE)
    return rpinn_fail_at(parser->context, place_of(parser, start),
                         "a name of %zu characters; expected at most %d", length, NAME_SIZE - 1);
  memcpy(name, start, length);
  name[length] = '\0';
  parser->next += length;
  return RPINN_OK;
}

/* d(expression, x, …): the parenthesis is open. */
static RpinnStatus parse_derivative(Parser *parser, const char *start, RpinnExpression *result) {
  if (!parser->scope->allow_derivatives)
    return rpinn_fail_at(parser->context, place_of(parser, start),
                         "d(…) is not possible here; expected an expression without derivatives");
  RPINN_TRY(parse_sum(parser, result));
  RPINN_TRY(expect(parser, ',', "',' and the coordinate to differentiate by"));
  do {
    char first = peek(parser);
    const char *at = parser->next;
    if (!rpinn_is_letter(first) && first != '_') return fail_expected(parser, "the name of a coordinate");
    char name[NAME_SIZE];
    RPINN_TRY(read_name(parser, name));
    RpinnExpression variable;
    RPINN_TRY(parser->scope->resolve(parser->scope->user, name, place_of(parser, at), &variable));
    if (parser->pool->nodes[variable].operation != RPINN_OPERATION_COORDINATE)
      return rpinn_fail_at(parser->context, place_of(parser, at),
                           "'%s' is not a coordinate; expected one to differentiate by", name);
    *result = rpinn_expression_derive(parser->pool, *result, parser->pool->nodes[variable].index);
    RPINN_TRY(pool_status(parser, at));
  } while (accept(parser, ','));
  return expect(parser, ')', "',' or ')'");
}

static RpinnStatus fail_unknown_function(Parser *parser, const char *name, const char *at) {
  RpinnExpression unused;
  if (parser->scope->resolve(parser->scope->user, name, place_of(parser, at), &unused) == RPINN_OK)
    return rpinn_fail_at(parser->context, place_of(parser, at),
                         "'%s' is not a function; expected an operator such as * between it and '('", name);
  const char *known[NUM_FUNCTIONS + 1];
  for (size_t i = 0; i < NUM_FUNCTIONS; i++) known[i] = rpinn_operation_text(functions[i]);
  known[NUM_FUNCTIONS] = "d";
  const char *near = rpinn_nearest_name(name, known, NUM_FUNCTIONS + 1);
  return rpinn_fail_at(
      parser->context, place_of(parser, at),
      "unknown function '%s'; expected one of sin cos tan exp log sqrt tanh sinh cosh abs min max "
      "d%s%s%s",
      name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static RpinnStatus parse_call(Parser *parser, const char *name, const char *at, RpinnExpression *result) {
  if (!strcmp(name, "d")) return parse_derivative(parser, at, result);
  for (size_t i = 0; i < NUM_FUNCTIONS; i++) {
    if (strcmp(name, rpinn_operation_text(functions[i])) != 0) continue;
    RpinnExpression a, b = 0;
    RPINN_TRY(parse_sum(parser, &a));
    if (rpinn_operation_num_arguments(functions[i]) > 1) {
      RPINN_TRY(expect(parser, ',', "',' and a second argument"));
      RPINN_TRY(parse_sum(parser, &b));
    }
    RPINN_TRY(expect(parser, ')', "an operator or ')'"));
    return build(parser, at, functions[i], a, b, result);
  }
  return fail_unknown_function(parser, name, at);
}

static RpinnStatus parse_primary(Parser *parser, RpinnExpression *result) {
  char first = peek(parser);
  const char *at = parser->next;
  if (rpinn_is_digit(first) || first == '.') return parse_number(parser, result);
  if (accept(parser, '(')) {
    RPINN_TRY(parse_sum(parser, result));
    return expect(parser, ')', "an operator or ')'");
  }
  if (!rpinn_is_letter(first) && first != '_') return fail_expected(parser, "a number, a name or '('");
  char name[NAME_SIZE];
  RPINN_TRY(read_name(parser, name));
  if (accept(parser, '(')) return parse_call(parser, name, at, result);
  if (!strcmp(name, "pi")) {
    *result = rpinn_expression_number(parser->pool, 3.14159265358979323846);
    return RPINN_OK;
  }
  if (rpinn_name_is_reserved(name))
    return rpinn_fail_at(parser->context, place_of(parser, at), "'%s' is a function; expected '(' after it",
                         name);
  parser->scope->nesting += parser->depth;
  RpinnStatus status = parser->scope->resolve(parser->scope->user, name, place_of(parser, at), result);
  parser->scope->nesting -= parser->depth;
  return status;
}

static RpinnStatus parse_power(Parser *parser, RpinnExpression *result) {
  RPINN_TRY(parse_primary(parser, result));
  if (peek(parser) != '^') return RPINN_OK;
  const char *at = parser->next++;
  RpinnExpression exponent;
  RPINN_TRY(parse_unary(parser, &exponent));
  return build(parser, at, RPINN_OPERATION_POWER, *result, exponent, result);
}

static RpinnStatus enter(Parser *parser) {
  if (++parser->depth > RPINN_MAX_NESTING)
    return rpinn_fail_at(parser->context, place_of(parser, parser->next),
                         "expression nested deeper than %d levels; expected a flatter one",
                         RPINN_MAX_NESTING);
  if (parser->depth + parser->scope->nesting > RPINN_MAX_TOTAL_NESTING)
    return rpinn_fail_at(parser->context, place_of(parser, parser->next),
                         "quantities nested deeper than %d levels in all; expected flatter ones",
                         RPINN_MAX_TOTAL_NESTING);
  return RPINN_OK;
}

static RpinnStatus parse_unary(Parser *parser, RpinnExpression *result) {
  RPINN_TRY(enter(parser));
  RpinnStatus status;
  if (accept(parser, '-')) {
    const char *at = parser->next - 1;
    status = parse_unary(parser, result);
    if (status == RPINN_OK) status = build(parser, at, RPINN_OPERATION_NEGATE, *result, 0, result);
  } else if (accept(parser, '+')) {
    status = parse_unary(parser, result);
  } else {
    status = parse_power(parser, result);
  }
  parser->depth--;
  return status;
}

static RpinnStatus parse_product(Parser *parser, RpinnExpression *result) {
  RPINN_TRY(parse_unary(parser, result));
  for (char sign = peek(parser); sign == '*' || sign == '/'; sign = peek(parser)) {
    const char *at = parser->next++;
    RpinnExpression factor;
    if (sign == '*' && *parser->next == '*')
      return rpinn_fail_at(parser->context, place_of(parser, at), "found '**'; expected '^' for powers");
    RPINN_TRY(parse_unary(parser, &factor));
    RPINN_TRY(build(parser, at, sign == '*' ? RPINN_OPERATION_MULTIPLY : RPINN_OPERATION_DIVIDE, *result,
                    factor, result));
  }
  return RPINN_OK;
}

static RpinnStatus parse_sum(Parser *parser, RpinnExpression *result) {
  RPINN_TRY(parse_product(parser, result));
  for (char sign = peek(parser); sign == '+' || sign == '-'; sign = peek(parser)) {
    const char *at = parser->next++;
    RpinnExpression summand;
    RPINN_TRY(parse_product(parser, &summand));
    RPINN_TRY(build(parser, at, sign == '+' ? RPINN_OPERATION_ADD : RPINN_OPERATION_SUBTRACT, *result,
                    summand, result));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_expression_parse(RpinnContext *context, RpinnExpressionPool *pool, RpinnNameScope *scope,
                                   const char *text, RpinnPlace place, RpinnExpression *expression) {
  Parser parser = {
      .context = context, .pool = pool, .scope = scope, .text = text, .next = text, .place = place};
  RPINN_TRY(parse_sum(&parser, expression));
  if (peek(&parser)) return fail_expected(&parser, "an operator or the end of the expression");
  return pool_status(&parser, text);
}

bool rpinn_name_is_valid(const char *name) {
  if (!rpinn_is_letter(name[0]) && name[0] != '_') return false;
  size_t length = strlen(name);
  for (size_t i = 0; i < length; i++)
    if (!rpinn_is_letter_or_digit(name[i]) && name[i] != '_') return false;
  return length < NAME_SIZE;
}

bool rpinn_name_is_reserved(const char *name) {
  if (!strcmp(name, "pi") || !strcmp(name, "d")) return true;
  for (size_t i = 0; i < NUM_FUNCTIONS; i++)
    if (!strcmp(name, rpinn_operation_text(functions[i]))) return true;
  return false;
}
