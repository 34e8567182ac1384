/* From an expression to a residual program: which derivatives of which field it needs, merged into as few
 * channels as its form allows, then the instructions in order.
 *
 * Merging. Let s_1 … s_m be the second derivatives of a field that occur in R, and g_k = dR/ds_k. Where the
 * g_k hold no second derivative of the field and are multiples of one another, g_k = c_k g, R is R = R|_{s=0}
 * + g * (sum_k c_k s_k), and the sum is one constant-coefficient operator: one channel in place of m. The
 * same holds for first derivatives; merging those pays only where no second-order channel needs them one by
 * one. */
#include "residual_program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LEAVES = RPINN_MAX_PAIRS, MAX_INPUTS = 1024, LARGEST_POWER = 16 };

typedef struct Compiler {
  RpinnContext *context;
  RpinnArena *arena;
  RpinnExpressionPool *pool;
  const RpinnExpressionNames *names;
  const char *owner;
  RpinnPlace place;
  RpinnResidualProgram *program;
  /* The distinct channels of the program; CHANNEL leaves carry their position here. */
  size_t num_inputs;
  uint32_t input_field[MAX_INPUTS];
  RpinnChannel input_channel[MAX_INPUTS];
} Compiler;

/* ---- orders ---- */

static unsigned total_order(const RpinnNode *node) {
  unsigned total = 0;
  for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++) total += node->orders[i];
  return total;
}

static RpinnStatus check_orders(Compiler *compiler, RpinnExpression expression) {
  uint8_t *used = rpinn_expression_reachable(compiler->pool, expression);
  if (!used) return rpinn_fail_memory(compiler->context);
  RpinnStatus status = RPINN_OK;
  for (size_t i = 0; i <= expression && status == RPINN_OK; i++) {
    const RpinnNode *node = &compiler->pool->nodes[i];
    if (!used[i] || node->operation != RPINN_OPERATION_FIELD || total_order(node) <= 2) continue;
    RpinnText text = {0};
    rpinn_expression_print(compiler->pool, (RpinnExpression)i, compiler->names, 200, &text);
    status = rpinn_fail_at(
        compiler->context, compiler->place,
        "%s needs %s, a derivative of order %u; field derivatives go up to order 2 (name a second "
        "field for an inner derivative and tie it with a term of its own)",
        compiler->owner, text.bytes ? text.bytes : "?", total_order(node));
    rpinn_text_free(&text);
  }
  free(used);
  return status;
}

/* ---- channels ---- */

static RpinnChannel channel_of_orders(const uint8_t orders[RPINN_MAX_COORDINATES]) {
  size_t coordinate[2];
  size_t order = 0;
  for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++)
    for (unsigned k = 0; k < orders[i]; k++) coordinate[order++] = i;
  if (order == 0) return rpinn_channel_value();
  if (order == 1) return rpinn_channel_first(coordinate[0]);
  RpinnChannel channel = {.order = 2};
  channel.coefficient[rpinn_pair_index(coordinate[0], coordinate[1])] = 1;
  return channel;
}

/* The CHANNEL leaf of a field's channel, made on first use. */
static RpinnStatus channel_leaf(Compiler *compiler, uint32_t field, const RpinnChannel *channel,
                                RpinnExpression *leaf) {
  size_t k = 0;
  while (k < compiler->num_inputs &&
         (compiler->input_field[k] != field || !rpinn_channel_equal(&compiler->input_channel[k], channel)))
    k++;
  if (k == MAX_INPUTS ||
      (k == compiler->num_inputs && !rpinn_channel_set_insert(&compiler->program->channels[field], channel)))
    return rpinn_fail_at(compiler->context, compiler->place,
                         "%s needs too many different field derivatives; expected fewer", compiler->owner);
  if (k == compiler->num_inputs) {
    compiler->input_field[k] = field;
    compiler->input_channel[k] = *channel;
    compiler->num_inputs++;
  }
  *leaf = rpinn_expression_channel(compiler->pool, k);
  return RPINN_OK;
}

typedef struct Replacement {
  RpinnExpression leaves[MAX_LEAVES], image[MAX_LEAVES];
  size_t count;
} Replacement;

static RpinnExpression replace_listed(void *user, RpinnExpression leaf) {
  const Replacement *list = user;
  for (size_t k = 0; k < list->count; k++)
    if (list->leaves[k] == leaf) return list->image[k];
  return leaf;
}

/* Derivatives by x come before those by y, whatever was parsed first: what a term compiles to must not depend
 * on the rest of the file. */
static bool comes_before(const RpinnNode *a, const RpinnNode *b) {
  return memcmp(a->orders, b->orders, sizeof a->orders) > 0;
}

/* The derivatives of one order of one field that occur in the expression, in that order. */
static RpinnStatus find_leaves(Compiler *compiler, RpinnExpression expression, uint32_t field, unsigned order,
                               RpinnExpression leaves[MAX_LEAVES], size_t *count) {
  uint8_t *used = rpinn_expression_reachable(compiler->pool, expression);
  if (!used) return rpinn_fail_memory(compiler->context);
  *count = 0;
  for (size_t i = 0; i <= expression; i++) {
    const RpinnNode *node = &compiler->pool->nodes[i];
    if (!used[i] || node->operation != RPINN_OPERATION_FIELD || node->index != field ||
        total_order(node) != order)
      continue;
    size_t at = (*count)++;
    for (; at > 0 && comes_before(node, &compiler->pool->nodes[leaves[at - 1]]); at--)
      leaves[at] = leaves[at - 1];
    leaves[at] = (RpinnExpression)i;
  }
  free(used);
  return RPINN_OK;
}

typedef struct Dependence {
  bool at_all;  /* some leaf of the list occurs */
  bool in_step; /* … inside sign or less, which are flat but not constant: no slope shows it */
} Dependence;

static RpinnStatus find_dependence(Compiler *compiler, RpinnExpression expression,
                                   const RpinnExpression *leaves, size_t count, Dependence *dependence) {
  const RpinnNode *nodes = compiler->pool->nodes;
  uint8_t *used = rpinn_expression_reachable(compiler->pool, expression);
  bool *depends = used ? calloc((size_t)expression + 1, sizeof *depends) : NULL;
  *dependence = (Dependence){0};
  for (size_t i = 0; depends && i <= expression; i++) {
    if (!used[i]) continue;
    unsigned num_arguments = rpinn_operation_num_arguments(nodes[i].operation);
    for (size_t k = 0; k < count; k++) depends[i] |= leaves[k] == i;
    if (num_arguments > 0) depends[i] |= depends[nodes[i].a];
    if (num_arguments > 1) depends[i] |= depends[nodes[i].b];
    bool step = nodes[i].operation == RPINN_OPERATION_SIGN || nodes[i].operation == RPINN_OPERATION_LESS;
    dependence->at_all |= depends[i];
    dependence->in_step |= depends[i] && step;
  }
  RpinnStatus status = depends ? RPINN_OK : rpinn_fail_memory(compiler->context);
  free(depends);
  free(used);
  return status;
}

/* Replace R by R|_{s=0} + c g (sum_k c_k/c s_k) for the members of one group. c is the smallest of the c_k,
 * so that whole coefficients stay whole. */
static RpinnStatus merge_group(Compiler *compiler, uint32_t field, unsigned order,
                               const RpinnExpression *leaves, const double *coefficients, size_t count,
                               RpinnExpression core, RpinnExpression *expression) {
  RpinnExpressionPool *pool = compiler->pool;
  RpinnChannel channel = {.order = order};
  Replacement zeros = {.count = count};
  double smallest = coefficients[0];
  for (size_t k = 1; k < count; k++)
    if (fabs(coefficients[k]) < fabs(smallest)) smallest = coefficients[k];
  for (size_t k = 0; k < count; k++) {
    RpinnChannel part = channel_of_orders(pool->nodes[leaves[k]].orders);
    for (size_t p = 0; p < RPINN_MAX_PAIRS; p++)
      channel.coefficient[p] += part.coefficient[p] * (coefficients[k] / smallest);
    zeros.leaves[k] = leaves[k];
    zeros.image[k] = rpinn_expression_number(pool, 0);
  }
  RpinnExpression leaf;
  RPINN_TRY(channel_leaf(compiler, field, &channel, &leaf));
  RpinnExpression rest = rpinn_expression_substitute(pool, *expression, replace_listed, &zeros);
  RpinnExpression factor =
      rpinn_expression_apply(pool, RPINN_OPERATION_MULTIPLY, rpinn_expression_number(pool, smallest), core);
  RpinnExpression merged = rpinn_expression_apply(pool, RPINN_OPERATION_MULTIPLY, factor, leaf);
  *expression = rpinn_expression_apply(pool, RPINN_OPERATION_ADD, merged, rest);
  return rpinn_expression_pool_status_at(compiler->context, pool, compiler->place);
}

/* Merge what can be merged among the derivatives of one order of one field. */
static RpinnStatus merge_order(Compiler *compiler, uint32_t field, unsigned order,
                               RpinnExpression *expression) {
  RpinnExpressionPool *pool = compiler->pool;
  RpinnExpression leaves[MAX_LEAVES], cores[MAX_LEAVES];
  double coefficients[MAX_LEAVES];
  bool free_to_merge[MAX_LEAVES];
  size_t count;
  RPINN_TRY(find_leaves(compiler, *expression, field, order, leaves, &count));
  if (count < 2) return RPINN_OK;
  Dependence dependence;
  RPINN_TRY(find_dependence(compiler, *expression, leaves, count, &dependence));
  if (dependence.in_step) return RPINN_OK;
  for (size_t k = 0; k < count; k++) {
    RpinnExpression slope = rpinn_expression_derive_leaf(pool, *expression, leaves[k]);
    RPINN_TRY(rpinn_expression_pool_status_at(compiler->context, pool, compiler->place));
    RPINN_TRY(find_dependence(compiler, slope, leaves, count, &dependence));
    cores[k] = rpinn_expression_split_coefficient(pool, slope, &coefficients[k]);
    free_to_merge[k] = !dependence.at_all && coefficients[k] != 0;
  }
  for (size_t k = 0; k < count; k++) {
    if (!free_to_merge[k]) continue;
    RpinnExpression group[MAX_LEAVES];
    double group_coefficients[MAX_LEAVES];
    size_t group_size = 0;
    for (size_t other = k; other < count; other++) {
      if (!free_to_merge[other] || cores[other] != cores[k]) continue;
      group[group_size] = leaves[other];
      group_coefficients[group_size++] = coefficients[other];
      free_to_merge[other] = false;
    }
    if (group_size > 1)
      RPINN_TRY(
          merge_group(compiler, field, order, group, group_coefficients, group_size, cores[k], expression));
  }
  return RPINN_OK;
}

/* Turn every remaining FIELD leaf into a CHANNEL leaf. */
static RpinnStatus replace_fields(Compiler *compiler, RpinnExpression *expression) {
  for (uint32_t field = 0; field < compiler->program->num_fields; field++)
    for (unsigned order = 0; order <= 2; order++) {
      Replacement list = {0};
      RPINN_TRY(find_leaves(compiler, *expression, field, order, list.leaves, &list.count));
      for (size_t k = 0; k < list.count; k++) {
        RpinnChannel channel = channel_of_orders(compiler->pool->nodes[list.leaves[k]].orders);
        RPINN_TRY(channel_leaf(compiler, field, &channel, &list.image[k]));
      }
      if (list.count)
        *expression = rpinn_expression_substitute(compiler->pool, *expression, replace_listed, &list);
    }
  return rpinn_expression_pool_status_at(compiler->context, compiler->pool, compiler->place);
}

/* ---- instructions ---- */

/* x^n by repeated multiplication: exact for negative bases, and cheap in vector code. */
static RpinnExpression whole_power(RpinnExpressionPool *pool, RpinnExpression x, unsigned n) {
  RpinnExpression result = 0;
  bool started = false;
  for (; n; n >>= 1) {
    if (n & 1) result = started ? rpinn_expression_apply(pool, RPINN_OPERATION_MULTIPLY, result, x) : x;
    started |= n & 1;
    if (n > 1) x = rpinn_expression_apply(pool, RPINN_OPERATION_MULTIPLY, x, x);
  }
  return result;
}

/* Rebuild the expression with powers written out. */
static RpinnStatus expand_powers(Compiler *compiler, RpinnExpression *expression) {
  RpinnExpressionPool *pool = compiler->pool;
  uint8_t *used = rpinn_expression_reachable(pool, *expression);
  RpinnExpression *image = used ? malloc(((size_t)*expression + 1) * sizeof *image) : NULL;
  if (!image) {
    free(used);
    return rpinn_fail_memory(compiler->context);
  }
  for (size_t i = 0; i <= *expression; i++) {
    if (!used[i]) continue;
    RpinnNode node = pool->nodes[i];
    unsigned num_arguments = rpinn_operation_num_arguments(node.operation);
    double exponent = 0;
    bool power =
        node.operation == RPINN_OPERATION_POWER && rpinn_expression_is_number(pool, node.b, &exponent);
    bool whole = power && exponent == floor(exponent) && fabs(exponent) <= LARGEST_POWER;
    if (!num_arguments)
      image[i] = (RpinnExpression)i;
    else if (power && exponent == 0.5)
      image[i] = rpinn_expression_apply(pool, RPINN_OPERATION_SQRT, image[node.a], 0);
    else if (whole) {
      image[i] = whole_power(pool, image[node.a], (unsigned)fabs(exponent));
      if (exponent < 0)
        image[i] =
            rpinn_expression_apply(pool, RPINN_OPERATION_DIVIDE, rpinn_expression_number(pool, 1), image[i]);
    } else
      image[i] =
          rpinn_expression_apply(pool, node.operation, image[node.a], num_arguments > 1 ? image[node.b] : 0);
  }
  *expression = image[*expression];
  free(image);
  free(used);
  return rpinn_expression_pool_status_at(compiler->context, pool, compiler->place);
}

static RpinnStatus emit(Compiler *compiler, RpinnExpression expression) {
  RpinnResidualProgram *program = compiler->program;
  const RpinnNode *nodes = compiler->pool->nodes;
  uint8_t *used = rpinn_expression_reachable(compiler->pool, expression);
  uint32_t *position = used ? calloc((size_t)expression + 1, sizeof *position) : NULL;
  size_t count = 0;
  for (size_t i = 0; used && i <= expression; i++) count += used[i];
  program->instructions = RPINN_ARENA_NEW(compiler->arena, RpinnInstruction, count);
  program->inputs = RPINN_ARENA_NEW(compiler->arena, RpinnChannelInput, compiler->num_inputs);
  if (!position || !program->instructions || !program->inputs) {
    free(position);
    free(used);
    return rpinn_fail_memory(compiler->context);
  }
  for (size_t i = 0; i <= expression; i++) {
    if (!used[i]) continue;
    const RpinnNode *node = &nodes[i];
    unsigned num_arguments = rpinn_operation_num_arguments(node->operation);
    RpinnInstruction *in = &program->instructions[program->num_instructions];
    *in = (RpinnInstruction){.operation = node->operation, .index = node->index, .number = node->number};
    in->active = node->operation == RPINN_OPERATION_CHANNEL || node->operation == RPINN_OPERATION_PARAMETER;
    if (num_arguments > 0) in->a = position[node->a];
    if (num_arguments > 1) in->b = position[node->b];
    if (num_arguments > 0) in->active = program->instructions[in->a].active;
    if (num_arguments > 1) in->active |= program->instructions[in->b].active;
    position[i] = (uint32_t)program->num_instructions++;
  }
  program->num_inputs = compiler->num_inputs;
  for (size_t k = 0; k < compiler->num_inputs; k++) {
    uint32_t field = compiler->input_field[k];
    int channel = rpinn_channel_set_find(&program->channels[field], &compiler->input_channel[k]);
    program->inputs[k] = (RpinnChannelInput){field, (uint32_t)channel};
  }
  free(position);
  free(used);
  return RPINN_OK;
}

static RpinnStatus compile(Compiler *compiler, RpinnExpression expression) {
  RPINN_TRY(check_orders(compiler, expression));
  for (uint32_t field = 0; field < compiler->program->num_fields; field++) {
    RpinnExpression leaves[MAX_LEAVES];
    size_t num_second;
    RPINN_TRY(find_leaves(compiler, expression, field, 2, leaves, &num_second));
    RPINN_TRY(merge_order(compiler, field, num_second ? 2 : 1, &expression));
  }
  RPINN_TRY(replace_fields(compiler, &expression));
  RPINN_TRY(expand_powers(compiler, &expression));
  return emit(compiler, expression);
}

RpinnStatus rpinn_residual_program_compile(RpinnContext *context, RpinnArena *arena,
                                           RpinnExpressionPool *pool, RpinnExpression expression,
                                           size_t num_fields, const RpinnExpressionNames *names,
                                           const char *owner, RpinnPlace place,
                                           RpinnResidualProgram **program) {
  *program = RPINN_ARENA_NEW(arena, RpinnResidualProgram, 1);
  Compiler *compiler = calloc(1, sizeof *compiler);
  RpinnStatus status = RPINN_ERROR_MEMORY;
  if (*program && compiler) {
    **program = (RpinnResidualProgram){.num_fields = num_fields,
                                       .channels = RPINN_ARENA_NEW(arena, RpinnChannelSet, num_fields)};
    compiler->context = context;
    compiler->arena = arena;
    compiler->pool = pool;
    compiler->names = names;
    compiler->owner = owner;
    compiler->place = place;
    compiler->program = *program;
    status = (*program)->channels ? compile(compiler, expression) : RPINN_ERROR_MEMORY;
  }
  free(compiler);
  return status == RPINN_ERROR_MEMORY ? rpinn_fail_memory(context) : status;
}

void rpinn_channel_print(const RpinnChannel *channel, const char *field, const char *const *coordinates,
                         RpinnText *text) {
  if (channel->order == 0) {
    rpinn_text_append(text, "%s", field);
    return;
  }
  bool first = true;
  for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++)
    for (size_t j = i; j < RPINN_MAX_COORDINATES; j++) {
      if (channel->order == 1 && j > i) break;
      double c = channel->coefficient[channel->order == 1 ? i : rpinn_pair_index(i, j)];
      if (c == 0) continue;
      rpinn_text_append(text, "%s", first ? c < 0 ? "-" : "" : c < 0 ? " - " : " + ");
      if (fabs(c) != 1) rpinn_text_append(text, "%.6g*", fabs(c));
      if (channel->order == 1)
        rpinn_text_append(text, "d(%s, %s)", field, coordinates[i]);
      else
        rpinn_text_append(text, "d(%s, %s, %s)", field, coordinates[i], coordinates[j]);
      first = false;
    }
}
