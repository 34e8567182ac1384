/* Expressions as a graph of shared nodes.
 *
 * A pool holds every node once: building `a + b` twice gives the same number (shared subexpressions), numbers
 * are folded, and x*0, x*1, x+0, x^1, --x disappear. The arguments of a node always have smaller numbers than
 * the node, so every pass over an expression is a loop in rising order, without recursion. */
#ifndef RPINN_PROBLEM_EXPRESSION_H
#define RPINN_PROBLEM_EXPRESSION_H

#include <stdint.h>

#include "channels.h"
#include "context.h"
#include "text.h"

/* X(operation, arguments, how it prints) */
#define RPINN_OPERATION_LIST(X)                                                                              \
  X(NUMBER, 0, "number")         /* a constant */                                                            \
  X(COORDINATE, 0, "coordinate") /* x_index */                                                               \
  X(FIELD, 0, "field")           /* a derivative of field `index`, orders[i] times in coordinate i */        \
  X(CHANNEL, 0, "channel")       /* entry `index` of a channel list: see residual_program.h */               \
  X(PARAMETER, 0, "parameter")   /* unknown number `index`, before its transform */                          \
  X(NEGATE, 1, "-")                                                                                          \
  X(SIN, 1, "sin")                                                                                           \
  X(COS, 1, "cos")                                                                                           \
  X(TAN, 1, "tan")                                                                                           \
  X(EXP, 1, "exp")                                                                                           \
  X(LOG, 1, "log")                                                                                           \
  X(SQRT, 1, "sqrt")                                                                                         \
  X(TANH, 1, "tanh")                                                                                         \
  X(SINH, 1, "sinh")                                                                                         \
  X(COSH, 1, "cosh")                                                                                         \
  X(ABS, 1, "abs")                                                                                           \
  X(SIGN, 1, "sign") /* -1, 0 or 1: the derivative of abs */                                                 \
  X(ADD, 2, "+")                                                                                             \
  X(SUBTRACT, 2, "-")                                                                                        \
  X(MULTIPLY, 2, "*")                                                                                        \
  X(DIVIDE, 2, "/")                                                                                          \
  X(POWER, 2, "^")                                                                                           \
  X(MIN, 2, "min")                                                                                           \
  X(MAX, 2, "max")                                                                                           \
  X(LESS, 2, "less") /* 1 where a < b, else 0: picks the branch in derivatives of min and max */

typedef enum RpinnOperation {
#define RPINN_OPERATION_ENUM(name, arguments, text) RPINN_OPERATION_##name,
  RPINN_OPERATION_LIST(RPINN_OPERATION_ENUM)
#undef RPINN_OPERATION_ENUM
      RPINN_NUM_OPERATIONS
} RpinnOperation;

unsigned rpinn_operation_num_arguments(RpinnOperation operation);
const char *rpinn_operation_text(RpinnOperation operation);
/* The value of an operation with arguments (not of a leaf). */
double rpinn_operation_value(RpinnOperation operation, double a, double b);

typedef uint32_t RpinnExpression; /* a node number */

typedef struct RpinnNode {
  uint8_t operation;
  uint8_t orders[RPINN_MAX_COORDINATES]; /* FIELD */
  uint32_t index;                        /* COORDINATE, FIELD, CHANNEL, PARAMETER */
  RpinnExpression a, b;
  double number; /* NUMBER */
} RpinnNode;

enum { RPINN_MAX_NODES = 1 << 20, RPINN_MAX_VISITS = 1 << 22 };

typedef struct RpinnExpressionPool {
  RpinnNode *nodes;
  size_t count, capacity;
  uint32_t *table; /* open addressing: node number + 1 */
  size_t table_size;
  /* Which coordinates a field depends on, one bit each; d(field) in another one is zero. [num_fields] */
  const unsigned *field_inputs;
  size_t num_visits; /* nodes that differentiation has looked at: a bound on time as count is one on memory */
  /* Set by the first failure; from then on builders return node 0. Check once after building. */
  RpinnStatus status;
} RpinnExpressionPool;

RpinnStatus rpinn_expression_pool_create(RpinnContext *context, RpinnExpressionPool **pool);
/* A pool with the same nodes under the same numbers, to which other nodes can be added. */
RpinnStatus rpinn_expression_pool_copy(RpinnContext *context, const RpinnExpressionPool *pool,
                                       RpinnExpressionPool **copy);
void rpinn_expression_pool_destroy(RpinnExpressionPool *pool);
/* Report pool->status: out of memory, more than RPINN_MAX_NODES parts, or more than RPINN_MAX_VISITS visits.
 */
RpinnStatus rpinn_expression_pool_status(RpinnContext *context, const RpinnExpressionPool *pool);
/* The same with the place of what was being built. */
RpinnStatus rpinn_expression_pool_status_at(RpinnContext *context, const RpinnExpressionPool *pool,
                                            RpinnPlace place);

RpinnExpression rpinn_expression_number(RpinnExpressionPool *pool, double number);
RpinnExpression rpinn_expression_coordinate(RpinnExpressionPool *pool, size_t coordinate);
RpinnExpression rpinn_expression_field(RpinnExpressionPool *pool, size_t field,
                                       const uint8_t orders[RPINN_MAX_COORDINATES]);
RpinnExpression rpinn_expression_channel(RpinnExpressionPool *pool, size_t index);
RpinnExpression rpinn_expression_parameter(RpinnExpressionPool *pool, size_t index);
/* Simplifies. b is ignored for operations of one argument. A fold that would not be finite is left as it is.
 */
RpinnExpression rpinn_expression_apply(RpinnExpressionPool *pool, RpinnOperation operation, RpinnExpression a,
                                       RpinnExpression b);
bool rpinn_expression_is_number(const RpinnExpressionPool *pool, RpinnExpression expression, double *number);

/* d expression / d coordinate, fields included (chain rule). */
RpinnExpression rpinn_expression_derive(RpinnExpressionPool *pool, RpinnExpression expression,
                                        size_t coordinate);
/* Partial derivative with respect to one leaf, all other leaves held. */
RpinnExpression rpinn_expression_derive_leaf(RpinnExpressionPool *pool, RpinnExpression expression,
                                             RpinnExpression leaf);
/* The expression with leaves replaced: replace(user, leaf) returns a node, possibly the leaf itself. */
RpinnExpression rpinn_expression_substitute(RpinnExpressionPool *pool, RpinnExpression expression,
                                            RpinnExpression (*replace)(void *user, RpinnExpression leaf),
                                            void *user);
/* used[0 … expression]: 1 for the nodes that the expression consists of. The caller frees it; NULL: no
 * memory. */
uint8_t *rpinn_expression_reachable(const RpinnExpressionPool *pool, RpinnExpression expression);
/* expression = coefficient * core, with signs and numeric factors pulled out of products and quotients. */
RpinnExpression rpinn_expression_split_coefficient(RpinnExpressionPool *pool, RpinnExpression expression,
                                                   double *coefficient);

/* The value with fields given by a callback: value of field `index` derived `orders` times. */
typedef struct RpinnExpressionInputs {
  const double *coordinates;
  const double *parameters;
  const double *channels;
  double (*field)(void *user, size_t field, const uint8_t orders[RPINN_MAX_COORDINATES]);
  void *user;
} RpinnExpressionInputs;
RpinnStatus rpinn_expression_evaluate(const RpinnExpressionPool *pool, RpinnExpression expression,
                                      const RpinnExpressionInputs *inputs, double *value);

/* Names for printing; channel names are made by the caller. */
typedef struct RpinnExpressionNames {
  const char *const *coordinates;
  const char *const *fields;
  const char *const *parameters;
  const char *const *channels;
} RpinnExpressionNames;
/* As a reader would write it, with as few parentheses as possible. Ends with "…" beyond limit bytes. */
void rpinn_expression_print(const RpinnExpressionPool *pool, RpinnExpression expression,
                            const RpinnExpressionNames *names, size_t limit, RpinnText *text);

#endif
