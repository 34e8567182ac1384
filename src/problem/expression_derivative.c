/* Symbolic differentiation: one pass in rising order over the nodes of an expression, so that a subexpression
 * which occurs a hundred times is derived once. */
#include "expression.h"

#include <stdlib.h>

/* The variable: a coordinate (fields depend on it) or a single leaf. */
typedef struct Variable {
  bool is_coordinate;
  size_t coordinate;
  RpinnExpression leaf;
} Variable;

typedef struct Rules {
  RpinnExpressionPool *pool;
  RpinnExpression zero, one;
} Rules;

static RpinnExpression apply(Rules *rules, RpinnOperation operation, RpinnExpression a, RpinnExpression b) {
  return rpinn_expression_apply(rules->pool, operation, a, b);
}
static RpinnExpression call(Rules *rules, RpinnOperation operation, RpinnExpression a) {
  return apply(rules, operation, a, 0);
}
static RpinnExpression times(Rules *rules, RpinnExpression a, RpinnExpression b) {
  return apply(rules, RPINN_OPERATION_MULTIPLY, a, b);
}
static RpinnExpression plus(Rules *rules, RpinnExpression a, RpinnExpression b) {
  return apply(rules, RPINN_OPERATION_ADD, a, b);
}
static RpinnExpression minus(Rules *rules, RpinnExpression a, RpinnExpression b) {
  return apply(rules, RPINN_OPERATION_SUBTRACT, a, b);
}
static RpinnExpression over(Rules *rules, RpinnExpression a, RpinnExpression b) {
  return apply(rules, RPINN_OPERATION_DIVIDE, a, b);
}
static RpinnExpression number(Rules *rules, double value) {
  return rpinn_expression_number(rules->pool, value);
}

static RpinnExpression derive_leaf(Rules *rules, RpinnExpression self, const Variable *variable) {
  RpinnExpressionPool *pool = rules->pool;
  if (!variable->is_coordinate) return self == variable->leaf ? rules->one : rules->zero;
  RpinnNode node = pool->nodes[self];
  if (node.operation == RPINN_OPERATION_COORDINATE)
    return node.index == variable->coordinate ? rules->one : rules->zero;
  if (node.operation != RPINN_OPERATION_FIELD) return rules->zero;
  if (pool->field_inputs && !(pool->field_inputs[node.index] >> variable->coordinate & 1)) return rules->zero;
  if (node.orders[variable->coordinate] < UINT8_MAX) node.orders[variable->coordinate]++;
  return rpinn_expression_field(pool, node.index, node.orders);
}

/* s(a)' / a' for the functions of one argument; self = s(a). */
static RpinnExpression outer_derivative(Rules *rules, RpinnOperation operation, RpinnExpression self,
                                        RpinnExpression a) {
  switch (operation) {
  case RPINN_OPERATION_NEGATE: return number(rules, -1);
  case RPINN_OPERATION_SIN: return call(rules, RPINN_OPERATION_COS, a);
  case RPINN_OPERATION_COS: return call(rules, RPINN_OPERATION_NEGATE, call(rules, RPINN_OPERATION_SIN, a));
  case RPINN_OPERATION_TAN: return plus(rules, rules->one, times(rules, self, self));
  case RPINN_OPERATION_EXP: return self;
  case RPINN_OPERATION_LOG: return over(rules, rules->one, a);
  case RPINN_OPERATION_SQRT: return over(rules, number(rules, 0.5), self);
  case RPINN_OPERATION_TANH: return minus(rules, rules->one, times(rules, self, self));
  case RPINN_OPERATION_SINH: return call(rules, RPINN_OPERATION_COSH, a);
  case RPINN_OPERATION_COSH: return call(rules, RPINN_OPERATION_SINH, a);
  case RPINN_OPERATION_ABS: return call(rules, RPINN_OPERATION_SIGN, a);
  default: return rules->zero; /* SIGN is flat wherever it has a derivative */
  }
}

/* (a^b)' = b a^(b-1) a' + a^b log(a) b', each part only where its inner derivative is not zero: log(a) of a
 * negative base must not appear in sin(x)^3. */
static RpinnExpression derive_power(Rules *rules, RpinnExpression self, RpinnNode node, RpinnExpression da,
                                    RpinnExpression db) {
  RpinnExpression result = rules->zero;
  if (da != rules->zero) {
    RpinnExpression lowered = apply(rules, RPINN_OPERATION_POWER, node.a, minus(rules, node.b, rules->one));
    result = times(rules, times(rules, node.b, lowered), da);
  }
  if (db != rules->zero) {
    RpinnExpression logarithm = call(rules, RPINN_OPERATION_LOG, node.a);
    result = plus(rules, result, times(rules, times(rules, self, logarithm), db));
  }
  return result;
}

/* min(a,b)' = [a<b] a' + (1-[a<b]) b';  max(a,b)' = [a<b] b' + (1-[a<b]) a' */
static RpinnExpression derive_choice(Rules *rules, RpinnNode node, RpinnExpression da, RpinnExpression db) {
  if (da == db) return da;
  RpinnExpression a_less = apply(rules, RPINN_OPERATION_LESS, node.a, node.b);
  RpinnExpression if_less = node.operation == RPINN_OPERATION_MIN ? da : db;
  RpinnExpression otherwise = node.operation == RPINN_OPERATION_MIN ? db : da;
  return plus(rules, times(rules, a_less, if_less),
              times(rules, minus(rules, rules->one, a_less), otherwise));
}

static RpinnExpression derive_node(Rules *rules, RpinnExpression self, const RpinnExpression *derivative) {
  RpinnNode node = rules->pool->nodes[self];
  RpinnExpression da = derivative[node.a];
  RpinnExpression db = rpinn_operation_num_arguments(node.operation) > 1 ? derivative[node.b] : rules->zero;
  if (da == rules->zero && db == rules->zero) return rules->zero;
  switch ((RpinnOperation)node.operation) {
  case RPINN_OPERATION_ADD: return plus(rules, da, db);
  case RPINN_OPERATION_SUBTRACT: return minus(rules, da, db);
  case RPINN_OPERATION_MULTIPLY: return plus(rules, times(rules, da, node.b), times(rules, node.a, db));
  case RPINN_OPERATION_DIVIDE: /* a'/b - (a/b) b'/b */
    return minus(rules, over(rules, da, node.b), over(rules, times(rules, self, db), node.b));
  case RPINN_OPERATION_POWER: return derive_power(rules, self, node, da, db);
  case RPINN_OPERATION_MIN:
  case RPINN_OPERATION_MAX: return derive_choice(rules, node, da, db);
  case RPINN_OPERATION_LESS: return rules->zero;
  default: return times(rules, outer_derivative(rules, node.operation, self, node.a), da);
  }
}

enum { SKIPS_PER_VISIT = 64 }; /* stepping over a node that is not part of the expression costs far less */

static RpinnExpression derive(RpinnExpressionPool *pool, RpinnExpression expression,
                              const Variable *variable) {
  Rules rules = {pool, rpinn_expression_number(pool, 0), rpinn_expression_number(pool, 1)};
  uint8_t *used = rpinn_expression_reachable(pool, expression);
  RpinnExpression *derivative = used ? malloc(((size_t)expression + 1) * sizeof *derivative) : NULL;
  if (!derivative) {
    free(used);
    pool->status = RPINN_ERROR_MEMORY;
    return 0;
  }
  pool->num_visits += expression / SKIPS_PER_VISIT;
  for (size_t i = 0; i <= expression && pool->status == RPINN_OK; i++) {
    if (!used[i]) continue;
    if (++pool->num_visits > RPINN_MAX_VISITS) pool->status = RPINN_ERROR_INPUT;
    bool leaf = rpinn_operation_num_arguments(pool->nodes[i].operation) == 0;
    derivative[i] = leaf ? derive_leaf(&rules, (RpinnExpression)i, variable)
                         : derive_node(&rules, (RpinnExpression)i, derivative);
  }
  RpinnExpression result = pool->status == RPINN_OK ? derivative[expression] : 0;
  free(derivative);
  free(used);
  return result;
}

RpinnExpression rpinn_expression_derive(RpinnExpressionPool *pool, RpinnExpression expression,
                                        size_t coordinate) {
  return derive(pool, expression, &(Variable){.is_coordinate = true, .coordinate = coordinate});
}

RpinnExpression rpinn_expression_derive_leaf(RpinnExpressionPool *pool, RpinnExpression expression,
                                             RpinnExpression leaf) {
  return derive(pool, expression, &(Variable){.leaf = leaf});
}
