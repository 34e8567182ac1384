/* Expressions as text, with as few parentheses as the grammar allows. */
#include "ascii.h"
#include "expression.h"

enum { SUM = 1, PRODUCT = 2, SIGNED = 3, RAISED = 4, ATOM = 5, PRINT_DEPTH = 200 };

typedef struct Printer {
  const RpinnExpressionPool *pool;
  const RpinnExpressionNames *names;
  size_t limit;
  RpinnText *text;
} Printer;

static int binding(const RpinnNode *node) {
  switch ((RpinnOperation)node->operation) {
  case RPINN_OPERATION_ADD:
  case RPINN_OPERATION_SUBTRACT: return SUM;
  case RPINN_OPERATION_MULTIPLY:
  case RPINN_OPERATION_DIVIDE: return PRODUCT;
  case RPINN_OPERATION_NEGATE: return SIGNED;
  case RPINN_OPERATION_POWER: return RAISED;
  case RPINN_OPERATION_NUMBER: return node->number < 0 ? SIGNED : ATOM;
  default: return ATOM;
  }
}

static void print_field(Printer *printer, const RpinnNode *node) {
  const char *name = printer->names->fields[node->index];
  bool derived = false;
  for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++) derived |= node->orders[i] > 0;
  rpinn_text_append(printer->text, derived ? "d(%s" : "%s", name);
  for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++)
    for (unsigned k = 0; k < node->orders[i]; k++)
      rpinn_text_append(printer->text, ", %s", printer->names->coordinates[i]);
  if (derived) rpinn_text_append(printer->text, ")");
}

static void print_leaf(Printer *printer, const RpinnNode *node) {
  const RpinnExpressionNames *names = printer->names;
  switch ((RpinnOperation)node->operation) {
  case RPINN_OPERATION_NUMBER: rpinn_text_append(printer->text, "%.6g", node->number); return;
  case RPINN_OPERATION_COORDINATE:
    rpinn_text_append(printer->text, "%s", names->coordinates[node->index]);
    return;
  case RPINN_OPERATION_PARAMETER:
    rpinn_text_append(printer->text, "%s", names->parameters[node->index]);
    return;
  case RPINN_OPERATION_CHANNEL: rpinn_text_append(printer->text, "%s", names->channels[node->index]); return;
  default: print_field(printer, node); return;
  }
}

static void print_node(Printer *printer, RpinnExpression expression, int least_binding, int depth) {
  if (printer->text->length > printer->limit) return;
  if (depth > PRINT_DEPTH) {
    rpinn_text_append(printer->text, "…");
    return;
  }
  const RpinnNode *node = &printer->pool->nodes[expression];
  const char *symbol = rpinn_operation_text(node->operation);
  unsigned num_arguments = rpinn_operation_num_arguments(node->operation);
  int own = binding(node);
  bool parenthesis = own < least_binding;
  if (parenthesis) rpinn_text_append(printer->text, "(");
  if (!num_arguments) {
    print_leaf(printer, node);
  } else if (node->operation == RPINN_OPERATION_NEGATE) {
    rpinn_text_append(printer->text, "-");
    /* -a*b is (-a)*b: the same number. Not so in an exponent, where x^-a*b is (x^-a)*b. */
    bool exponent = !parenthesis && least_binding > PRODUCT;
    print_node(printer, node->a, exponent ? SIGNED : PRODUCT, depth + 1);
  } else if (rpinn_is_letter(symbol[0])) {
    rpinn_text_append(printer->text, "%s(", symbol);
    print_node(printer, node->a, SUM, depth + 1);
    if (num_arguments > 1) {
      rpinn_text_append(printer->text, ", ");
      print_node(printer, node->b, SUM, depth + 1);
    }
    rpinn_text_append(printer->text, ")");
  } else {
    /* a - (b + c), a / (b * c), a * (-b): the right side binds tighter than the left; of a power, the left
     * side. */
    bool power = node->operation == RPINN_OPERATION_POWER,
         minus = node->operation == RPINN_OPERATION_SUBTRACT;
    print_node(printer, node->a, power ? ATOM : own, depth + 1);
    rpinn_text_append(printer->text, own == SUM ? " %s " : "%s", symbol);
    print_node(printer, node->b, power ? SIGNED : own == PRODUCT ? RAISED : minus ? PRODUCT : SUM, depth + 1);
  }
  if (parenthesis) rpinn_text_append(printer->text, ")");
}

void rpinn_expression_print(const RpinnExpressionPool *pool, RpinnExpression expression,
                            const RpinnExpressionNames *names, size_t limit, RpinnText *text) {
  Printer printer = {pool, names, text->length + limit, text};
  print_node(&printer, expression, SUM, 0);
  if (text->length > printer.limit) rpinn_text_append(text, "…");
}
