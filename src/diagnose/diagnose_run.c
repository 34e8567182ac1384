/* The verdict on a finished run, behind what the judge of its method shows. */
#include "diagnose_run.h"

#include "posterior_shape.h"

static RpinnStatus (*const judges[])(RpinnRunDiagnosis *diagnosis, RpinnText *text) = {
#define RPINN_JUDGE_ROW(enumerator, name) [RPINN_JUDGEMENT_##enumerator] = rpinn_judge_##name,
    RPINN_JUDGEMENT_LIST(RPINN_JUDGE_ROW)
#undef RPINN_JUDGE_ROW
};

static RpinnStatus find_shape(const RpinnRunDiagnosis *diagnosis, const char *folder, RpinnText *text) {
  RpinnPosteriorShape *shape;
  RPINN_TRY(rpinn_posterior_shape_create(diagnosis->context, folder, &shape));
  RpinnStatus status = rpinn_posterior_shape_write(diagnosis->context, shape, folder);
  if (status == RPINN_OK && !diagnosis->options->json) rpinn_posterior_shape_describe(shape, text);
  rpinn_posterior_shape_destroy(shape);
  return status;
}

static RpinnStatus diagnose(RpinnRunDiagnosis *diagnosis, const char *folder, bool *healthy,
                            RpinnText *text) {
  RpinnContext *context = diagnosis->context;
  RPINN_TRY(rpinn_finished_run_open(context, folder, &diagnosis->run));
  diagnosis->arena = rpinn_arena_create();
  if (!diagnosis->arena) return rpinn_fail_memory(context);
  const char *name = rpinn_summary_text(diagnosis->run.summary, "method");
  diagnosis->method = rpinn_method_find(name);
  if (!diagnosis->method)
    return rpinn_fail_at(context, (RpinnPlace){.file = folder},
                         "this run was made by method '%.60s', which is none of this version's", name);
  RPINN_TRY(judges[diagnosis->method->judgement](diagnosis, text));
  *healthy = diagnosis->verdict.word != RPINN_VERDICT_BAD && !diagnosis->has_problems;
  if (!diagnosis->options->json) {
    rpinn_text_append(text, "\n");
    rpinn_verdict_text(&diagnosis->verdict, text);
  }
  if (diagnosis->options->shape) RPINN_TRY(find_shape(diagnosis, folder, text));
  return text->failed ? rpinn_fail_memory(context) : RPINN_OK;
}

char *rpinn_diagnose_run(RpinnContext *context, const char *folder, const RpinnDiagnoseOptions *options,
                         bool *healthy) {
  static const RpinnDiagnoseOptions usual = {0};
  RpinnRunDiagnosis diagnosis = {.context = context, .options = options ? options : &usual};
  RpinnText text = {0};
  *healthy = false;
  RpinnStatus status = diagnose(&diagnosis, folder, healthy, &text);
  rpinn_finished_run_close(&diagnosis.run);
  rpinn_arena_destroy(diagnosis.arena);
  if (status == RPINN_OK) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}
