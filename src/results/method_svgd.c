/* Method svgd: particles that move together. */
#include <math.h>
#include <string.h>

#include "draw_features.h"
#include "finished_run.h"
#include "method_members.h"
#include "run_record.h"
#include "run_summary.h"
#include "unknown_noise.h"

static void describe_settings(const RpinnSettingsValues *settings, RpinnText *text) {
  rpinn_text_append(
      text, "%s particles of %s iterations, repulsion %s", settings->values[RPINN_SETTING_SAMPLES].text,
      settings->values[RPINN_SETTING_ITERATIONS].text, settings->values[RPINN_SETTING_REPULSION].text);
  if (rpinn_settings_choice(settings, RPINN_SETTING_KERNEL) == RPINN_KERNEL_FUNCTIONS)
    rpinn_text_append(text, " between functions");
}

/* ---- the way ---- */

/* Columns of the trace: those of the particles, and these scores of each quantity. */
enum { LPP = 3 };
static const char *const own[RPINN_TRACE_OWN] = {[RPINN_TRACE_ITERATION] = "iteration",
                                                 [RPINN_TRACE_LOG_DENSITY] = "mean_log_density",
                                                 [RPINN_TRACE_BANDWIDTH] = "bandwidth",
                                                 [RPINN_TRACE_NORM] = "mean_norm",
                                                 [RPINN_TRACE_DISCREPANCY] = "stein_discrepancy"};
static const char *const scores[RPINN_TRACE_SCORES] = {"rl2", "linf",      "mean_std",
                                                       "lpp", "lpp_table", "coverage"};

static void write_trace(const RpinnRun *run, RpinnText *csv) {
  const RpinnParticleTrace *trace = &run->results.particles;
  for (size_t k = 0; k < RPINN_TRACE_OWN; k++) rpinn_text_append(csv, "%s%s", k ? "," : "", own[k]);
  for (size_t q = 0; q < run->outputs.num_quantities; q++)
    for (size_t k = 0; k < RPINN_TRACE_SCORES; k++)
      rpinn_text_append(csv, ",%s_%s", run->problem->predicted[q].name, scores[k]);
  rpinn_text_append(csv, "\n");
  for (size_t i = 0; i < trace->num_rows; i++)
    for (size_t k = 0; k < trace->width; k++)
      rpinn_csv_append_number(csv, trace->rows[i * trace->width + k], k + 1 == trace->width);
}

/* Where on the way of the particles LPP was highest: the published figures are those of such a moment. */
static void write_json(const RpinnRun *run, RpinnJson *json) {
  const RpinnParticleTrace *trace = &run->results.particles;
  if (!trace->num_rows) return;
  const double *last = trace->rows + (trace->num_rows - 1) * trace->width;
  rpinn_json_open(json, "particles", '{');
  rpinn_json_number(json, "iterations", last[RPINN_TRACE_ITERATION]);
  rpinn_json_number(json, "mean_log_density", last[RPINN_TRACE_LOG_DENSITY]);
  rpinn_json_number(json, "bandwidth", last[RPINN_TRACE_BANDWIDTH]);
  rpinn_json_number(json, "stein_discrepancy", last[RPINN_TRACE_DISCREPANCY]);
  rpinn_json_text(json, "repulsion", run->problem->settings.values[RPINN_SETTING_REPULSION].text);
  rpinn_json_text(json, "kernel", run->problem->settings.values[RPINN_SETTING_KERNEL].text);
  rpinn_json_open(json, "lpp_peaks", '{');
  for (size_t q = 0; q < run->outputs.num_quantities; q++) {
    size_t best = 0, column = RPINN_TRACE_OWN + q * RPINN_TRACE_SCORES;
    for (size_t k = 1; k < trace->num_rows; k++)
      if (trace->rows[k * trace->width + column + LPP] > trace->rows[best * trace->width + column + LPP])
        best = k;
    const double *row = trace->rows + best * trace->width + column;
    rpinn_json_open(json, run->problem->predicted[q].name, '{');
    rpinn_json_number(json, "iteration", trace->rows[best * trace->width]);
    for (size_t k = 0; k < RPINN_TRACE_SCORES; k++) rpinn_json_number(json, scores[k], row[k]);
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, '}');
  rpinn_json_close(json, '}');
}

static void write_lines(const RpinnJsonValue *summary, RpinnText *table) {
  const RpinnJsonValue *particles = rpinn_json_find(summary, "particles"), *peaks;
  rpinn_summary_member_lines(summary, table);
  if (!particles || particles->kind != RPINN_JSON_OBJECT) return;
  rpinn_text_append(table, "  repulsion %s", rpinn_summary_text(particles, "repulsion"));
  if (!strcmp(rpinn_summary_text(particles, "kernel"), "functions"))
    rpinn_text_append(table, " between functions");
  double discrepancy = rpinn_summary_number(particles, "stein_discrepancy");
  if (isfinite(discrepancy)) rpinn_text_append(table, "; kernel Stein discrepancy %.3g", discrepancy);
  peaks = rpinn_json_find(particles, "lpp_peaks");
  const char *before = "; along the iterations (svgd_trace.csv) LPP was highest";
  for (const RpinnJsonValue *item = peaks ? peaks->first : NULL; item; item = item->next) {
    if (isnan(rpinn_summary_number(item, "lpp"))) continue; /* its truth is not known */
    rpinn_text_append(table, "%s for %s at %.0f (table %.0f, mean std %.2e)", before, item->key,
                      rpinn_summary_number(item, "iteration"), rpinn_summary_number(item, "lpp_table"),
                      rpinn_summary_number(item, "mean_std"));
    before = ",";
  }
  rpinn_text_append(table, "\n");
}

/* ---- the verdict ---- */

/* The variance of n particles that rest on N(0, I) in N dimensions is log(n + 1)/N where that is far below 1, and below both
 * elsewhere; undivided repulsion rests as if the variance were n. bench/results/svgd_spread.md has the measurements. Where functions
 * are compared, the dimensions are those of the features, and directions that no feature sees are not pushed apart. */
static void describe_spread(const RpinnRun *run, RpinnText *sentence) {
  const RpinnPosterior *posterior = run->posteriors[0];
  const RpinnSettingsValues *settings = &run->problem->settings;
  double n = (double)run->results.num_draws, N = (double)rpinn_posterior_num_drawn(posterior);
  bool is_undivided = rpinn_settings_choice(settings, RPINN_SETTING_REPULSION) == RPINN_REPULSION_UNDIVIDED,
       is_functional = rpinn_settings_choice(settings, RPINN_SETTING_KERNEL) == RPINN_KERNEL_FUNCTIONS;
  if (n < 2) return;
  if (is_functional) N = fmin(N, (double)rpinn_draw_features_count(posterior));
  rpinn_text_append(sentence,
                    "On a Gaussian of %.0f %s with equal variances %.0f particles with repulsion %s rest "
                    "at %.2g times the variance or less%s.",
                    N, is_functional ? "predicted values" : "parameters", n,
                    is_undivided ? "undivided" : "divided", (is_undivided ? n : 1) * fmin(1, log(n + 1) / N),
                    is_functional ? ", and what these do not tell apart is not pushed apart" : "");
}

static const RpinnRunFact facts[] = {{"Particles", .number = rpinn_members_count},
                                     {"Optimiser", .setting = RPINN_SETTING_OPTIMIZER},
                                     {"Iterations, at most", .setting = RPINN_SETTING_ITERATIONS},
                                     {.title = NULL}};

const RpinnMethod rpinn_method_svgd = {
    .about = {.title = "SVGD",
              .summary = "Stein variational gradient descent: particles that move together",
              .file = "svgd_trace.csv",
              .file_summary = "scores along the iterations"},
    .meaning = "Stein variational gradient descent: particles that climb the posterior and push each "
               "other apart.",
    .unit = "particle",
    .moves_together = true,
    .draws = &rpinn_member_draws,
    .plan = rpinn_members_plan,
    .describe_settings = describe_settings,
    .load_results = rpinn_run_load_particle_trace,
    .write_json = write_json,
    .write_file = write_trace,
    .write_title = rpinn_summary_member_title,
    .write_lines = write_lines,
    .legend = "member",
    .facts = facts,
    .sections = {RPINN_SECTION_MEMBERS, RPINN_SECTION_PARTICLES},
    .caution =
        "The spread of the particles is that of the moment at which they were stopped: another number of "
        "iterations gives another spread, see svgd_trace.csv. Use --method rpinn, nuts or laplace for bands.",
    .describe_spread = describe_spread,
    .judgement = RPINN_JUDGEMENT_MEMBERS,
};
