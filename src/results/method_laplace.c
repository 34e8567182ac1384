/* Method laplace: draws of the posterior linearised at its most probable point. */
#include "finished_run.h"
#include "method_members.h"
#include "run_record.h"

static double energy(const RpinnRun *run) {
  return run->laplace.energy;
}
static double log_evidence(const RpinnRun *run) {
  return run->laplace.log_evidence;
}
static double leave_one_out(const RpinnRun *run) {
  return run->laplace.leave_one_out;
}

static const RpinnRunFact facts[] = {{"Draws", .number = rpinn_members_count},
                                     {"Loss at the most probable point", .number = energy},
                                     {"Log evidence", .number = log_evidence},
                                     {"Leave-one-out log density", .number = leave_one_out},
                                     {.title = NULL}};

static void describe_settings(const RpinnSettingsValues *settings, RpinnText *text) {
  rpinn_text_append(text, "%s draws of the linearised posterior",
                    settings->values[RPINN_SETTING_SAMPLES].text);
}

static void write_json(const RpinnRun *run, RpinnJson *json) {
  const RpinnLaplaceResult *laplace = &run->laplace;
  rpinn_json_open(json, "laplace", '{');
  rpinn_json_number(json, "log_evidence", laplace->log_evidence);
  rpinn_json_number(json, "leave_one_out", laplace->leave_one_out);
  rpinn_json_number(json, "energy", laplace->energy);
  rpinn_json_number(json, "linear_energy", laplace->linear_energy);
  rpinn_json_number(json, "starts", laplace->num_starts);
  rpinn_json_number(json, "starts_at_minimum", laplace->num_at_minimum);
  rpinn_json_close(json, '}');
}

static void write_title(const RpinnJsonValue *summary, RpinnText *table) {
  double draws = rpinn_summary_number(summary, "samples");
  rpinn_text_append(table, "%.0f draw%s of the linearised posterior", draws, draws == 1 ? "" : "s");
}

static void write_lines(const RpinnJsonValue *summary, RpinnText *table) {
  const RpinnJsonValue *laplace = rpinn_json_find(summary, "laplace");
  if (!laplace || laplace->kind != RPINN_JSON_OBJECT) return;
  rpinn_text_append(table, "\n  linearised at the lowest of %.0f minima, loss %.5g, to which %.0f led\n",
                    rpinn_summary_number(laplace, "starts"), rpinn_summary_number(laplace, "energy"),
                    rpinn_summary_number(laplace, "starts_at_minimum"));
  rpinn_text_append(table, "  log evidence %.5g, leave-one-out log density %.5g\n",
                    rpinn_summary_number(laplace, "log_evidence"),
                    rpinn_summary_number(laplace, "leave_one_out"));
}

const RpinnMethod rpinn_method_laplace = {
    .about = {.title = "Laplace",
              .summary = "the posterior linearised at its most probable point: draws, and the evidence"},
    .meaning = "The posterior linearised at its most probable point: exact where the model is linear in its "
               "parameters, an approximation otherwise.",
    .unit = "draw",
    .draws = &rpinn_member_draws,
    .plan = rpinn_members_plan,
    .describe_settings = describe_settings,
    .prepare_results = rpinn_run_load_laplace,
    .write_json = write_json,
    .write_title = write_title,
    .write_lines = write_lines,
    .legend = "draw",
    .facts = facts,
    .sections = {RPINN_SECTION_MEMBERS},
    .judgement = RPINN_JUDGEMENT_MEMBERS,
};
