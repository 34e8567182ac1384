/* Any bytes are either refused with a place, or give a problem that writes itself as a file which loads to
 * the same problem. Only the text is read: files that it names are opened when data are made, which is not
 * done here. */
#include "fuzz.h"

#include "problem.h"

/* Places inside texts that are folded or escaped have a line but no column. */
static void require_refusal(const RpinnContext *context, RpinnStatus status, size_t size) {
  const RpinnError *error = rpinn_context_error(context);
  fuzz_require(status == RPINN_ERROR_INPUT && error->status == status);
  fuzz_require(error->message[0] && !strcmp(error->file, "fuzz.yaml"));
  fuzz_require(error->line >= 1 && error->line <= size + 1 && error->column <= size + 1);
}

static void compile_terms(RpinnContext *context, const RpinnProblem *problem, size_t size) {
  RpinnArena *arena = rpinn_arena_create();
  fuzz_require(arena);
  for (size_t t = 0; t < problem->num_terms; t++) {
    RpinnResidualProgram *program;
    const RpinnNamedExpression *expect = &problem->terms[t].expect;
    RpinnStatus status =
        rpinn_residual_program_compile(context, arena, problem->pool, expect->expression, problem->num_fields,
                                       &problem->names, problem->terms[t].name, expect->place, &program);
    if (status != RPINN_OK) require_refusal(context, status, size);
  }
  rpinn_arena_destroy(arena);
}

static void write_and_read(RpinnContext *context, const RpinnProblem *problem) {
  const RpinnProblemFiles files = {.data = problem->data_file}; /* as a run directory names them */
  RpinnText first = {0}, second = {0};
  RpinnProblem *again;
  fuzz_require(rpinn_problem_write(context, problem, &files, &first) == RPINN_OK);
  RpinnStatus status = rpinn_problem_parse(context, "run.yaml", first.bytes, first.length, NULL, &again);
  if (status != RPINN_OK)
    fprintf(stderr, "%s\nline %zu: %s\n", first.bytes, rpinn_context_error(context)->line,
            rpinn_context_error(context)->message);
  fuzz_require(status == RPINN_OK);
  fuzz_require(rpinn_problem_write(context, again, &files, &second) == RPINN_OK);
  if (strcmp(first.bytes, second.bytes) != 0)
    fprintf(stderr, "first:\n%s\nsecond:\n%s\n", first.bytes, second.bytes);
  fuzz_require(strcmp(first.bytes, second.bytes) == 0);
  rpinn_text_free(&first);
  rpinn_text_free(&second);
  rpinn_problem_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  RpinnContext *context = rpinn_context_create();
  RpinnProblem *problem;
  fuzz_require(context);
  RpinnStatus status = rpinn_problem_parse(context, "fuzz.yaml", (const char *)data, size, NULL, &problem);
  if (status == RPINN_OK) {
    compile_terms(context, problem, size);
    write_and_read(context, problem);
  } else {
    fuzz_require(!problem);
    require_refusal(context, status, size);
  }
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
  return 0;
}
