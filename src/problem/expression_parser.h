/* Text to expression.
 *
 *   sum     = product { ("+"|"-") product }
 *   product = unary { ("*"|"/") unary }
 *   unary   = ("-"|"+") unary | power              so that -a^b is -(a^b)
 *   power   = primary [ "^" unary ]                 right-associative, a^-b allowed
 *   primary = number | name | function "(" sum { "," sum } ")" | "d" "(" sum "," coordinate { "," coordinate
 * } ")" | "(" sum ")"                                                                                     */
#ifndef RPINN_PROBLEM_EXPRESSION_PARSER_H
#define RPINN_PROBLEM_EXPRESSION_PARSER_H

#include "expression.h"

enum { RPINN_MAX_NESTING = 256, RPINN_MAX_TOTAL_NESTING = 1024 };

/* What names mean. resolve fails with a message at place (found, expected, a suggestion). */
typedef struct RpinnNameScope {
  void *user;
  RpinnStatus (*resolve)(void *user, const char *name, RpinnPlace place, RpinnExpression *expression);
  bool allow_derivatives; /* d(…) */
  size_t nesting;         /* depth of the expressions that are being parsed around this one */
} RpinnNameScope;

/* place is that of the first character of text. */
RpinnStatus rpinn_expression_parse(RpinnContext *context, RpinnExpressionPool *pool, RpinnNameScope *scope,
                                   const char *text, RpinnPlace place, RpinnExpression *expression);

/* Letters, digits and underscores, not starting with a digit. */
bool rpinn_name_is_valid(const char *name);
/* pi, d, or a function: not free for the user's own things. */
bool rpinn_name_is_reserved(const char *name);

#endif
