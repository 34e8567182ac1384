/* Members and particles by what summary.json says of them. */
#include "diagnose_run.h"
#include "json_writer.h"

/* Draws that were made on their own need no R-hat: what can be wrong with them are failures, and weights that say that
 * they are not the posterior. */
RpinnStatus rpinn_judge_members(const RpinnRunDiagnosis *diagnosis, bool *healthy, RpinnText *text) {
  const RpinnJsonValue *summary = diagnosis->run.summary, *members = rpinn_json_find(summary, "members"),
                       *weights = rpinn_json_find(summary, "weights");
  double failed = rpinn_summary_number(members, "failed"),
         converged = rpinn_summary_number(members, "converged"),
         samples = rpinn_summary_number(summary, "samples"), k = rpinn_summary_number(weights, "pareto_k");
  bool has_bad_weights = k > 0.7;
  *healthy = !(failed > 0) && !has_bad_weights;
  if (diagnosis->options->json) {
    RpinnJson json = {.text = text};
    rpinn_json_open(&json, NULL, '{');
    rpinn_json_text(&json, "method", rpinn_summary_text(summary, "method"));
    rpinn_json_boolean(&json, "healthy", *healthy);
    rpinn_json_number(&json, "samples", samples);
    rpinn_json_number(&json, "failed", failed);
    rpinn_json_number(&json, "converged", converged);
    rpinn_json_number(&json, "pareto_k", k);
    rpinn_json_close(&json, '}');
    rpinn_text_append(text, "\n");
    return RPINN_OK;
  }
  rpinn_text_append(text, "method %s: %.0f draw%s made on %s own; there are no chains to compare\n",
                    rpinn_summary_text(summary, "method"), samples, samples == 1 ? "" : "s",
                    samples == 1 ? "its" : "their");
  if (failed > 0)
    rpinn_text_append(text, "problem: %.0f member%s failed (not finite). Try a smaller --learning-rate.\n",
                      failed, failed == 1 ? "" : "s");
  if (has_bad_weights)
    rpinn_text_append(
        text,
        "problem: Pareto k of the weights is %.2f, above 0.7: the draws are far from the posterior.\n"
        "         Try --method nuts.\n",
        k);
  if (converged < samples)
    rpinn_text_append(
        text,
        "remark: %.0f of %.0f did not converge: the iteration budget is part of the method. Compare\n"
        "        runs with other --iterations.\n",
        samples - converged, samples);
  if (diagnosis->method->remark) rpinn_text_append(text, "remark: %s\n", diagnosis->method->remark);
  rpinn_text_append(text, "verdict: %s\n",
                    *healthy ? "nothing speaks against these draws" : "do not trust these draws");
  return RPINN_OK;
}
