/* Members and particles by what summary.json says of them. */
#include "diagnose_run.h"
#include "json_writer.h"
#include "member_correction.h"

RpinnStatus rpinn_judge_members(RpinnRunDiagnosis *diagnosis, RpinnText *text) {
  const RpinnJsonValue *summary = diagnosis->run.summary, *members = rpinn_json_find(summary, "members"),
                       *weights = rpinn_json_find(summary, "weights"),
                       *correction = rpinn_json_find(summary, "correction");
  bool is_corrected = correction && correction->kind == RPINN_JSON_OBJECT;
  double samples = rpinn_summary_number(summary, "samples");
  rpinn_summary_verdict(summary, NULL, &diagnosis->verdict);
  if (!diagnosis->options->json) {
    rpinn_text_append(text, "method %s: %.0f draw%s made on %s own; there are no chains to compare\n",
                      rpinn_summary_text(summary, "method"), samples, samples == 1 ? "" : "s",
                      samples == 1 ? "its" : "their");
    if (is_corrected) rpinn_correction_lines(correction, text);
    return RPINN_OK;
  }
  RpinnJson json = {.text = text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "method", rpinn_summary_text(summary, "method"));
  rpinn_json_boolean(&json, "healthy", diagnosis->verdict.word != RPINN_VERDICT_BAD);
  rpinn_verdict_json(&diagnosis->verdict, &json);
  rpinn_json_number(&json, "samples", samples);
  rpinn_json_number(&json, "failed", rpinn_summary_number(members, "failed"));
  rpinn_json_number(&json, "converged", rpinn_summary_number(members, "converged"));
  rpinn_json_number(&json, "pareto_k", rpinn_summary_number(weights, "pareto_k"));
  if (is_corrected) rpinn_json_number(&json, "nested_rhat", rpinn_summary_number(correction, "nested_rhat"));
  rpinn_json_close(&json, '}');
  rpinn_text_append(text, "\n");
  return RPINN_OK;
}
