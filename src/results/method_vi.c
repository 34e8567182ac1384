/* Method vi: draws of the normal distribution that is closest to the posterior. */
#include <math.h>

#include "finished_run.h"
#include "method_members.h"
#include "run_record.h"
#include "run_summary.h"

static const RpinnFittedStart *chosen(const RpinnRun *run) {
  return &run->variational.starts[run->variational.chosen];
}

static bool has_factors(const RpinnSettingsValues *settings) {
  return rpinn_settings_choice(settings, RPINN_SETTING_FAMILY) != RPINN_FAMILY_MEAN_FIELD;
}

static void describe_settings(const RpinnSettingsValues *settings, RpinnText *text) {
  rpinn_text_append(text, "%s draws of a normal distribution, family %s",
                    settings->values[RPINN_SETTING_SAMPLES].text,
                    settings->values[RPINN_SETTING_FAMILY].text);
  if (has_factors(settings))
    rpinn_text_append(text, " of rank %s", settings->values[RPINN_SETTING_RANK].text);
  rpinn_text_append(text, ", %s starts", settings->values[RPINN_SETTING_STARTS].text);
}

/* ---- results ---- */

static void write_json(const RpinnRun *run, RpinnJson *json) {
  const RpinnVariationalResult *result = &run->variational;
  const RpinnFittedStart *best = chosen(run);
  rpinn_json_open(json, "variational", '{');
  rpinn_json_text(json, "family", run->problem->settings.values[RPINN_SETTING_FAMILY].text);
  rpinn_json_number(json, "rank", (double)result->rank);
  rpinn_json_number(json, "elbo", best->elbo);
  rpinn_json_number(json, "elbo_error", best->error);
  rpinn_json_number(json, "chosen_start", (double)result->chosen);
  rpinn_json_number(json, "iterations", best->num_iterations);
  rpinn_json_boolean(json, "converged", best->converged != 0);
  rpinn_json_number(json, "starts", (double)result->num_starts);
  rpinn_json_open(json, "per_start", '[');
  for (size_t k = 0; k < result->num_starts; k++) {
    const RpinnFittedStart *start = &result->starts[k];
    rpinn_json_open(json, NULL, '{');
    rpinn_json_number(json, "elbo", start->elbo);
    rpinn_json_number(json, "elbo_error", start->error);
    rpinn_json_number(json, "iterations", start->num_iterations);
    rpinn_json_boolean(json, "converged", start->converged != 0);
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, ']');
  rpinn_json_close(json, '}');
}

static void write_trace(const RpinnRun *run, RpinnText *csv) {
  const RpinnVariationalResult *result = &run->variational;
  const RpinnVariationalWindow *window = result->windows;
  rpinn_text_append(csv, "start,iteration,elbo,elbo_error,step\n");
  for (size_t k = 0; k < result->num_starts; k++)
    for (size_t i = 0; i < (size_t)result->starts[k].num_windows; i++, window++) {
      rpinn_csv_append_number(csv, (double)k, false);
      rpinn_csv_append_number(csv, window->iteration, false);
      rpinn_csv_append_number(csv, window->elbo, false);
      rpinn_csv_append_number(csv, window->error, false);
      rpinn_csv_append_number(csv, window->step, true);
    }
}

static void write_title(const RpinnJsonValue *summary, RpinnText *table) {
  double draws = rpinn_summary_number(summary, "samples");
  rpinn_text_append(table, "%.0f draw%s of a normal distribution", draws, draws == 1 ? "" : "s");
}

static void write_lines(const RpinnJsonValue *summary, RpinnText *table) {
  const RpinnJsonValue *fit = rpinn_json_find(summary, "variational");
  rpinn_summary_member_lines(summary, table);
  if (!fit || fit->kind != RPINN_JSON_OBJECT) return;
  double rank = rpinn_summary_number(fit, "rank");
  const RpinnJsonValue *converged = rpinn_json_find(fit, "converged");
  rpinn_text_append(table, "  family %s", rpinn_summary_text(fit, "family"));
  if (rank > 0) rpinn_text_append(table, " of rank %.0f", rank);
  rpinn_text_append(table,
                    "; log evidence at least %.6g +- %.2g, the best of %.0f starts after %.0f iterations%s\n",
                    rpinn_summary_number(fit, "elbo"), rpinn_summary_number(fit, "elbo_error"),
                    rpinn_summary_number(fit, "starts"), rpinn_summary_number(fit, "iterations"),
                    converged && converged->boolean ? "" : ", while it still rose");
}

/* ---- the page and the verdict ---- */

static double elbo(const RpinnRun *run) {
  return chosen(run)->elbo;
}
static double elbo_error(const RpinnRun *run) {
  return chosen(run)->error;
}
static double pareto_k(const RpinnRun *run) {
  return run->results.weights.smoothing.k;
}

static const RpinnRunFact facts[] = {
    {"Draws", .number = rpinn_members_count},        {"Family", .setting = RPINN_SETTING_FAMILY},
    {"Log evidence, at least", .number = elbo},      {"Monte Carlo error of that", .number = elbo_error},
    {"Pareto k of the weights", .number = pareto_k}, {.title = NULL}};

/* Weights that may be used mend what the draws lack, and are close to one another: the draws are close to the posterior's. */
static bool spread_holds(const RpinnRun *run) {
  return run->results.weights.apply;
}

static void describe_spread(const RpinnRun *run, RpinnText *sentence) {
  double k = pareto_k(run);
  if (isnan(k))
    rpinn_text_append(sentence, "Pareto k of the importance weights cannot be told from these draws.");
  else
    rpinn_text_append(sentence, "Pareto k of the importance weights is %.2f, above %g.", k,
                      rpinn_variational_weigher.largest_k);
}

const RpinnMethod rpinn_method_vi = {
    .about = {.title = "variational",
              .summary = "variational inference: draws of the normal distribution closest to the posterior",
              .file = "vi_trace.csv",
              .file_summary = "the bound on the evidence along the iterations"},
    .meaning =
        "Variational inference: draws of the normal distribution, of a diagonal covariance or with a few "
        "common factors, that is closest to the posterior.",
    .unit = "draw",
    .draws = &rpinn_member_draws,
    .weigher = &rpinn_variational_weigher,
    .plan = rpinn_members_plan,
    .describe_settings = describe_settings,
    .prepare_results = rpinn_run_load_variational,
    .write_json = write_json,
    .write_file = write_trace,
    .write_title = write_title,
    .write_lines = write_lines,
    .legend = "draw",
    .facts = facts,
    .sections = {RPINN_SECTION_MEMBERS, RPINN_SECTION_VARIATIONAL},
    .caution =
        "The draws are those of a normal distribution, not of the posterior: their spread is too small where "
        "parameters depend on each other, and what is predicted from them is off either way. Use "
        "--method rpinn, nuts or laplace for bands.",
    .spread_holds = spread_holds,
    .describe_spread = describe_spread,
    .judgement = RPINN_JUDGEMENT_MEMBERS,
};
