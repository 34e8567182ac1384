/* Any text is either refused with a place, or parses, derives and compiles to programs that run forward and
 * backward without leaving their registers. Values may be infinite or NaN: that is for the check to find. */
#include "fuzz.h"

#include "expression_parser.h"
#include "residual_program.h"

static const char *const coordinates[] = {"x", "y"}, *const fields[] = {"u", "v"}, *const unknowns[] = {"c"};
enum { NUM_COORDINATES = 2, NUM_FIELDS = 2, NUM_UNKNOWNS = 1, PRINT_LIMIT = 300 };
static const unsigned field_inputs[] = {3, 1}; /* v does not depend on y */

typedef struct Language {
  RpinnContext *context;
  RpinnExpressionPool *pool;
} Language;

static RpinnStatus resolve(void *user, const char *name, RpinnPlace place, RpinnExpression *expression) {
  Language *language = user;
  const uint8_t orders[RPINN_MAX_COORDINATES] = {0};
  for (size_t i = 0; i < NUM_COORDINATES; i++)
    if (!strcmp(name, coordinates[i])) {
      *expression = rpinn_expression_coordinate(language->pool, i);
      return RPINN_OK;
    }
  for (size_t i = 0; i < NUM_FIELDS; i++)
    if (!strcmp(name, fields[i])) {
      *expression = rpinn_expression_field(language->pool, i, orders);
      return RPINN_OK;
    }
  if (!strcmp(name, unknowns[0]) || !strcmp(name, "k")) {
    *expression = name[0] == 'k' ? rpinn_expression_number(language->pool, 0.7)
                                 : rpinn_expression_parameter(language->pool, 0);
    return RPINN_OK;
  }
  return rpinn_fail_at(language->context, place, "unknown name '%s'", name);
}

static void check_program(const RpinnResidualProgram *program) {
  fuzz_require(program->num_instructions >= 1);
  for (size_t i = 0; i < program->num_instructions; i++) {
    const RpinnInstruction *in = &program->instructions[i];
    unsigned num_arguments = rpinn_operation_num_arguments(in->operation);
    fuzz_require(num_arguments < 1 || in->a < i);
    fuzz_require(num_arguments < 2 || in->b < i);
    fuzz_require(in->operation != RPINN_OPERATION_FIELD);
    fuzz_require(in->operation != RPINN_OPERATION_COORDINATE || in->index < NUM_COORDINATES);
    fuzz_require(in->operation != RPINN_OPERATION_CHANNEL || in->index < program->num_inputs);
    fuzz_require(in->operation != RPINN_OPERATION_PARAMETER || in->index < NUM_UNKNOWNS);
  }
  for (size_t k = 0; k < program->num_inputs; k++) {
    fuzz_require(program->inputs[k].field < NUM_FIELDS);
    fuzz_require(program->inputs[k].channel < program->channels[program->inputs[k].field].count);
  }
}

static void run_program(const RpinnResidualProgram *program) {
  size_t count = program->num_instructions;
  double *registers = malloc(2 * count * sizeof *registers);
  double *channels = malloc((2 * program->num_inputs + 1) * sizeof *channels);
  const double x[NUM_COORDINATES] = {0.3, -0.8}, unknown[NUM_UNKNOWNS] = {0.2};
  double unknown_adjoint[NUM_UNKNOWNS] = {0};
  fuzz_require(registers && channels);
  for (size_t k = 0; k < program->num_inputs; k++) channels[k] = 0.1 + 0.2 * (double)k;
  rpinn_residual_program_forward(program, x, channels, unknown, registers);
  rpinn_residual_program_reverse(program, registers, 1, registers + count, channels + program->num_inputs,
                                 unknown_adjoint);
  free(registers);
  free(channels);
}

static void compile(Language *language, RpinnExpression expression, size_t size) {
  RpinnArena *arena = rpinn_arena_create();
  const RpinnExpressionNames names = {.coordinates = coordinates, .fields = fields, .parameters = unknowns};
  RpinnResidualProgram *program;
  fuzz_require(arena);
  RpinnStatus status =
      rpinn_residual_program_compile(language->context, arena, language->pool, expression, NUM_FIELDS, &names,
                                     "term 'fuzz'", (RpinnPlace){"fuzz", 1, 1}, &program);
  if (status == RPINN_OK) {
    check_program(program);
    run_program(program);
  } else {
    fuzz_require_refusal(language->context, status, size);
  }
  RpinnText text = {0};
  rpinn_expression_print(language->pool, expression, &names, PRINT_LIMIT, &text);
  fuzz_require(text.length > 0 && !text.failed);
  rpinn_text_free(&text);
  rpinn_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Language language = {.context = rpinn_context_create()};
  char *text = malloc(size + 1);
  fuzz_require(language.context && text);
  memcpy(text, data, size);
  text[size] = '\0';
  fuzz_require(rpinn_expression_pool_create(language.context, &language.pool) == RPINN_OK);
  language.pool->field_inputs = field_inputs;
  RpinnNameScope scope = {.user = &language, .resolve = resolve, .allow_derivatives = true};
  RpinnExpression expression;
  RpinnStatus status = rpinn_expression_parse(language.context, language.pool, &scope, text,
                                              (RpinnPlace){"fuzz", 1, 1}, &expression);
  if (status == RPINN_OK) {
    compile(&language, expression, size);
    RpinnExpression derivative = rpinn_expression_derive(language.pool, expression, 0);
    if (language.pool->status == RPINN_OK) compile(&language, derivative, size);
  } else {
    fuzz_require_refusal(language.context, status, size);
  }
  rpinn_expression_pool_destroy(language.pool);
  rpinn_context_destroy(language.context);
  free(text);
  return 0;
}
