/* The pool: hash-consing, folding, and evaluation. */
#include "expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  unsigned num_arguments;
  const char *text;
} operations[RPINN_NUM_OPERATIONS] = {
#define RPINN_OPERATION_ROW(name, arguments, text) {arguments, text},
    RPINN_OPERATION_LIST(RPINN_OPERATION_ROW)
#undef RPINN_OPERATION_ROW
};

unsigned rpinn_operation_num_arguments(RpinnOperation operation) {
  return operations[operation].num_arguments;
}
const char *rpinn_operation_text(RpinnOperation operation) {
  return operations[operation].text;
}

double rpinn_operation_value(RpinnOperation operation, double a, double b) {
  switch (operation) {
  case RPINN_OPERATION_NEGATE: return -a;
  case RPINN_OPERATION_SIN: return sin(a);
  case RPINN_OPERATION_COS: return cos(a);
  case RPINN_OPERATION_TAN: return tan(a);
  case RPINN_OPERATION_EXP: return exp(a);
  case RPINN_OPERATION_LOG: return log(a);
  case RPINN_OPERATION_SQRT: return sqrt(a);
  case RPINN_OPERATION_TANH: return tanh(a);
  case RPINN_OPERATION_SINH: return sinh(a);
  case RPINN_OPERATION_COSH: return cosh(a);
  case RPINN_OPERATION_ABS: return fabs(a);
  case RPINN_OPERATION_SIGN: return a > 0 ? 1 : a < 0 ? -1 : a;
  case RPINN_OPERATION_ADD: return a + b;
  case RPINN_OPERATION_SUBTRACT: return a - b;
  case RPINN_OPERATION_MULTIPLY: return a * b;
  case RPINN_OPERATION_DIVIDE: return a / b;
  case RPINN_OPERATION_POWER: return pow(a, b);
  case RPINN_OPERATION_MIN: return a < b ? a : b;
  case RPINN_OPERATION_MAX: return a < b ? b : a;
  case RPINN_OPERATION_LESS: return a < b ? 1 : 0;
  default: return NAN;
  }
}

/* ---- the pool ---- */

RpinnStatus rpinn_expression_pool_create(RpinnContext *context, RpinnExpressionPool **pool) {
  enum { FIRST_CAPACITY = 256 };
  *pool = calloc(1, sizeof **pool);
  if (!*pool) return rpinn_fail_memory(context);
  (*pool)->nodes = malloc(FIRST_CAPACITY * sizeof *(*pool)->nodes);
  (*pool)->table = calloc(4 * FIRST_CAPACITY, sizeof *(*pool)->table);
  (*pool)->capacity = FIRST_CAPACITY;
  (*pool)->table_size = 4 * FIRST_CAPACITY;
  if (!(*pool)->nodes || !(*pool)->table) {
    rpinn_expression_pool_destroy(*pool);
    *pool = NULL;
    return rpinn_fail_memory(context);
  }
  rpinn_expression_number(*pool, 0); /* node 0: what builders return once something failed */
  return RPINN_OK;
}

RpinnStatus rpinn_expression_pool_copy(RpinnContext *context, const RpinnExpressionPool *pool,
                                       RpinnExpressionPool **copy) {
  *copy = malloc(sizeof **copy);
  if (!*copy) return rpinn_fail_memory(context);
  **copy = *pool;
  (*copy)->nodes = malloc(pool->capacity * sizeof *pool->nodes);
  (*copy)->table = malloc(pool->table_size * sizeof *pool->table);
  if (!(*copy)->nodes || !(*copy)->table) {
    rpinn_expression_pool_destroy(*copy);
    *copy = NULL;
    return rpinn_fail_memory(context);
  }
  memcpy((*copy)->nodes, pool->nodes, pool->count * sizeof *pool->nodes);
  memcpy((*copy)->table, pool->table, pool->table_size * sizeof *pool->table);
  return RPINN_OK;
}

void rpinn_expression_pool_destroy(RpinnExpressionPool *pool) {
  if (!pool) return;
  free(pool->nodes);
  free(pool->table);
  free(pool);
}

RpinnStatus rpinn_expression_pool_status_at(RpinnContext *context, const RpinnExpressionPool *pool,
                                            RpinnPlace place) {
  if (pool->status == RPINN_OK) return RPINN_OK;
  if (pool->status == RPINN_ERROR_MEMORY) return rpinn_fail_memory(context);
  if (pool->num_visits > RPINN_MAX_VISITS)
    return rpinn_fail_at(context, place,
                         "the expressions take more than %d steps to differentiate; expected simpler ones",
                         RPINN_MAX_VISITS);
  return rpinn_fail_at(context, place,
                       "the expressions have more than %d parts after differentiation; expected fewer",
                       RPINN_MAX_NODES);
}

RpinnStatus rpinn_expression_pool_status(RpinnContext *context, const RpinnExpressionPool *pool) {
  return rpinn_expression_pool_status_at(context, pool, (RpinnPlace){0});
}

static uint64_t mix(uint64_t hash, uint64_t bits) {
  hash ^= bits + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
  hash *= UINT64_C(0xff51afd7ed558ccd);
  return hash ^ hash >> 33;
}

static uint64_t hash_node(const RpinnNode *node) {
  uint64_t number_bits;
  uint32_t orders;
  memcpy(&number_bits, &node->number, sizeof number_bits);
  memcpy(&orders, node->orders, sizeof orders);
  uint64_t hash = mix(node->operation, node->index);
  hash = mix(hash, (uint64_t)node->a << 32 | node->b);
  return mix(mix(hash, orders), number_bits);
}

static bool same_node(const RpinnNode *x, const RpinnNode *y) {
  return x->operation == y->operation && x->index == y->index && x->a == y->a && x->b == y->b &&
         !memcmp(x->orders, y->orders, sizeof x->orders) && !memcmp(&x->number, &y->number, sizeof x->number);
}

static bool grow(RpinnExpressionPool *pool) {
  if (pool->count >= RPINN_MAX_NODES) {
    pool->status = RPINN_ERROR_INPUT;
    return false;
  }
  size_t capacity = 2 * pool->capacity, table_size = 4 * capacity;
  RpinnNode *nodes = realloc(pool->nodes, capacity * sizeof *nodes);
  if (nodes) pool->nodes = nodes;
  uint32_t *table = calloc(table_size, sizeof *table);
  if (!nodes || !table) {
    free(table);
    pool->status = RPINN_ERROR_MEMORY;
    return false;
  }
  for (size_t i = 0; i < pool->count; i++) {
    size_t slot = hash_node(&nodes[i]) % table_size;
    while (table[slot]) slot = (slot + 1) % table_size;
    table[slot] = (uint32_t)i + 1;
  }
  free(pool->table);
  pool->table = table;
  pool->table_size = table_size;
  pool->capacity = capacity;
  return true;
}

static RpinnExpression intern(RpinnExpressionPool *pool, RpinnNode node) {
  if (pool->status != RPINN_OK) return 0;
  size_t slot = hash_node(&node) % pool->table_size;
  for (; pool->table[slot]; slot = (slot + 1) % pool->table_size)
    if (same_node(&pool->nodes[pool->table[slot] - 1], &node)) return pool->table[slot] - 1;
  if (pool->count == pool->capacity) {
    if (!grow(pool)) return 0;
    return intern(pool, node);
  }
  pool->nodes[pool->count] = node;
  pool->table[slot] = (uint32_t)++pool->count;
  return (RpinnExpression)pool->count - 1;
}

RpinnExpression rpinn_expression_number(RpinnExpressionPool *pool, double number) {
  return intern(pool, (RpinnNode){.operation = RPINN_OPERATION_NUMBER, .number = number == 0 ? 0 : number});
}

RpinnExpression rpinn_expression_coordinate(RpinnExpressionPool *pool, size_t coordinate) {
  return intern(pool, (RpinnNode){.operation = RPINN_OPERATION_COORDINATE, .index = (uint32_t)coordinate});
}

RpinnExpression rpinn_expression_field(RpinnExpressionPool *pool, size_t field,
                                       const uint8_t orders[RPINN_MAX_COORDINATES]) {
  RpinnNode node = {.operation = RPINN_OPERATION_FIELD, .index = (uint32_t)field};
  memcpy(node.orders, orders, sizeof node.orders);
  return intern(pool, node);
}

RpinnExpression rpinn_expression_channel(RpinnExpressionPool *pool, size_t index) {
  return intern(pool, (RpinnNode){.operation = RPINN_OPERATION_CHANNEL, .index = (uint32_t)index});
}

RpinnExpression rpinn_expression_parameter(RpinnExpressionPool *pool, size_t index) {
  return intern(pool, (RpinnNode){.operation = RPINN_OPERATION_PARAMETER, .index = (uint32_t)index});
}

bool rpinn_expression_is_number(const RpinnExpressionPool *pool, RpinnExpression expression, double *number) {
  const RpinnNode *node = &pool->nodes[expression];
  if (node->operation != RPINN_OPERATION_NUMBER) return false;
  if (number) *number = node->number;
  return true;
}

static bool equals_number(const RpinnExpressionPool *pool, RpinnExpression expression, double number) {
  double value;
  return rpinn_expression_is_number(pool, expression, &value) && value == number;
}

static RpinnExpression negate(RpinnExpressionPool *pool, RpinnExpression a) {
  return rpinn_expression_apply(pool, RPINN_OPERATION_NEGATE, a, 0);
}

/* Neutral and absorbing elements. Returns true with *result set when the node disappears. */
static bool simplify(RpinnExpressionPool *pool, RpinnOperation operation, RpinnExpression a,
                     RpinnExpression b, RpinnExpression *result) {
  bool a_zero = equals_number(pool, a, 0), b_zero = equals_number(pool, b, 0);
  bool a_one = equals_number(pool, a, 1), b_one = equals_number(pool, b, 1);
  switch (operation) {
  case RPINN_OPERATION_NEGATE:
    if (pool->nodes[a].operation != RPINN_OPERATION_NEGATE) return false;
    *result = pool->nodes[a].a;
    return true;
  case RPINN_OPERATION_ADD:
    if (!a_zero && !b_zero) return false;
    *result = a_zero ? b : a;
    return true;
  case RPINN_OPERATION_SUBTRACT:
    if (!b_zero && !a_zero && a != b) return false;
    *result = b_zero ? a : a == b ? rpinn_expression_number(pool, 0) : negate(pool, b);
    return true;
  case RPINN_OPERATION_MULTIPLY:
    if (a_zero || b_zero)
      *result = rpinn_expression_number(pool, 0);
    else if (a_one)
      *result = b;
    else if (b_one)
      *result = a;
    else if (equals_number(pool, a, -1))
      *result = negate(pool, b);
    else if (equals_number(pool, b, -1))
      *result = negate(pool, a);
    else
      return false;
    return true;
  case RPINN_OPERATION_DIVIDE:
    if (a_zero && !b_zero)
      *result = a;
    else if (b_one)
      *result = a;
    else
      return false;
    return true;
  case RPINN_OPERATION_POWER:
    if (b_zero)
      *result = rpinn_expression_number(pool, 1);
    else if (b_one)
      *result = a;
    else
      return false;
    return true;
  default: return false;
  }
}

RpinnExpression rpinn_expression_apply(RpinnExpressionPool *pool, RpinnOperation operation, RpinnExpression a,
                                       RpinnExpression b) {
  if (pool->status != RPINN_OK) return 0;
  unsigned num_arguments = rpinn_operation_num_arguments(operation);
  if (num_arguments < 2) b = 0;
  double x = 0, y = 0;
  bool numbers = rpinn_expression_is_number(pool, a, &x) &&
                 (num_arguments < 2 || rpinn_expression_is_number(pool, b, &y));
  if (numbers) {
    double value = rpinn_operation_value(operation, x, y);
    if (isfinite(value)) return rpinn_expression_number(pool, value);
  }
  RpinnExpression simple;
  if (simplify(pool, operation, a, b, &simple)) return simple;
  bool commutes = operation == RPINN_OPERATION_ADD || operation == RPINN_OPERATION_MULTIPLY;
  if (commutes && a > b) {
    RpinnExpression swap = a;
    a = b;
    b = swap;
  }
  return intern(pool, (RpinnNode){.operation = (uint8_t)operation, .a = a, .b = b});
}

/* ---- passes ---- */

uint8_t *rpinn_expression_reachable(const RpinnExpressionPool *pool, RpinnExpression expression) {
  uint8_t *used = calloc((size_t)expression + 1, 1);
  if (!used) return NULL;
  used[expression] = 1;
  for (size_t i = (size_t)expression + 1; i-- > 0;) {
    if (!used[i]) continue;
    unsigned num_arguments = rpinn_operation_num_arguments(pool->nodes[i].operation);
    if (num_arguments > 0) used[pool->nodes[i].a] = 1;
    if (num_arguments > 1) used[pool->nodes[i].b] = 1;
  }
  return used;
}

static double leaf_value(const RpinnNode *node, const RpinnExpressionInputs *inputs) {
  switch ((RpinnOperation)node->operation) {
  case RPINN_OPERATION_NUMBER: return node->number;
  case RPINN_OPERATION_COORDINATE: return inputs->coordinates[node->index];
  case RPINN_OPERATION_PARAMETER: return inputs->parameters[node->index];
  case RPINN_OPERATION_CHANNEL: return inputs->channels[node->index];
  default: return inputs->field(inputs->user, node->index, node->orders);
  }
}

RpinnStatus rpinn_expression_evaluate(const RpinnExpressionPool *pool, RpinnExpression expression,
                                      const RpinnExpressionInputs *inputs, double *value) {
  uint8_t *used = rpinn_expression_reachable(pool, expression);
  double *values = used ? malloc(((size_t)expression + 1) * sizeof *values) : NULL;
  if (!values) {
    free(used);
    return RPINN_ERROR_MEMORY;
  }
  for (size_t i = 0; i <= expression; i++) {
    if (!used[i]) continue;
    const RpinnNode *node = &pool->nodes[i];
    values[i] = rpinn_operation_num_arguments(node->operation)
                    ? rpinn_operation_value(node->operation, values[node->a], values[node->b])
                    : leaf_value(node, inputs);
  }
  *value = values[expression];
  free(values);
  free(used);
  return RPINN_OK;
}

RpinnExpression rpinn_expression_substitute(RpinnExpressionPool *pool, RpinnExpression expression,
                                            RpinnExpression (*replace)(void *user, RpinnExpression leaf),
                                            void *user) {
  uint8_t *used = rpinn_expression_reachable(pool, expression);
  RpinnExpression *image = used ? malloc(((size_t)expression + 1) * sizeof *image) : NULL;
  if (!image) {
    free(used);
    pool->status = RPINN_ERROR_MEMORY;
    return 0;
  }
  for (size_t i = 0; i <= expression; i++) {
    if (!used[i]) continue;
    RpinnNode node = pool->nodes[i]; /* a copy: building moves the nodes */
    unsigned num_arguments = rpinn_operation_num_arguments(node.operation);
    image[i] = !num_arguments ? replace(user, (RpinnExpression)i)
                              : rpinn_expression_apply(pool, node.operation, image[node.a],
                                                       num_arguments > 1 ? image[node.b] : 0);
  }
  RpinnExpression result = image[expression];
  free(image);
  free(used);
  return result;
}

enum { SPLIT_DEPTH = 64 }; /* deeper products keep their factors: a lost merge, never a wrong one */

static RpinnExpression split(RpinnExpressionPool *pool, RpinnExpression expression, double *coefficient,
                             int depth) {
  RpinnNode node = pool->nodes[expression];
  double ca = 1, cb = 1;
  switch (depth < SPLIT_DEPTH ? (RpinnOperation)node.operation : RPINN_NUM_OPERATIONS) {
  case RPINN_OPERATION_NUMBER: *coefficient = node.number; return rpinn_expression_number(pool, 1);
  case RPINN_OPERATION_NEGATE: {
    RpinnExpression core = split(pool, node.a, &ca, depth + 1);
    *coefficient = -ca;
    return core;
  }
  case RPINN_OPERATION_MULTIPLY:
  case RPINN_OPERATION_DIVIDE: {
    RpinnExpression a = split(pool, node.a, &ca, depth + 1), b = split(pool, node.b, &cb, depth + 1);
    double product = node.operation == RPINN_OPERATION_MULTIPLY ? ca * cb : ca / cb;
    if (!isfinite(product) || product == 0) break;
    *coefficient = product;
    return rpinn_expression_apply(pool, node.operation, a, b);
  }
  default: break;
  }
  *coefficient = 1;
  return expression;
}

RpinnExpression rpinn_expression_split_coefficient(RpinnExpressionPool *pool, RpinnExpression expression,
                                                   double *coefficient) {
  return split(pool, expression, coefficient, 0);
}
