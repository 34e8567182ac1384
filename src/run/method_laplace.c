/* Method laplace: draws of the posterior linearised at its most probable point. */
#include <math.h>

#include "finished_run.h"
#include "method_members.h"
#include "run_state.h"
#include "run_targets.h"

static RpinnStatus check_settings(RpinnContext *context, const RpinnProblem *problem) {
  RPINN_TRY(rpinn_refuse_member_start(context, problem));
  if (rpinn_settings_choice(&problem->settings, RPINN_SETTING_START) == RPINN_START_MAP)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "method laplace seeks its most probable point from draws of the prior, and not from "
                      "start map; expected another start, which it does not use");
  return RPINN_OK;
}

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

/* A step of Levenberg–Marquardt, of which the searches make at most 200 each; a draw costs far less. */
static RpinnStatus estimate(RpinnContext *context, RpinnRun *run, const RpinnMemberTarget *targets,
                            RpinnRunEstimate *estimate) {
  RpinnMinimizeOptions options = rpinn_run_minimize_options(run->problem);
  RpinnMemberTarget target = targets[0];
  double M = (double)run->posteriors[0]->model.num_rows, threads = (double)run->num_threads;
  options.minimizer = RPINN_MINIMIZER_LM;
  target.draw_offsets = NULL;
  *estimate = (RpinnRunEstimate){.num_steps = 8 * 200 / fmin(threads, 8),
                                 .step = "iteration",
                                 .place = " on one thread",
                                 .memory_bytes = 3 * sizeof(double) * M * M * fmin(threads, 8)};
  return rpinn_try_minimizer(context, &target, &options, &estimate->step_seconds);
}

static void describe_run(const RpinnRun *run, RpinnText *text) {
  rpinn_text_append(text, "%llu draw%s of %zu parameters, linearised at the best of 8 minima",
                    (unsigned long long)run->num_samples, run->num_samples == 1 ? "" : "s",
                    run->posteriors[0]->model.num_parameters);
}

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
    .progress_unit = "draws",
    .prior_at_minimum = true,
    .needs_prior = true,
    .draws = &rpinn_member_draws,
    .check_settings = check_settings,
    .plan = rpinn_members_plan,
    .make_draws = rpinn_run_make_laplace_draws,
    .estimate = estimate,
    .describe_run = describe_run,
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
