/* The page of a run: what was done, what to beware of, figures, tables. It is also well-formed XML, so that a
 * test can read it. */
#include "report_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chain_diagnostics.h"
#include "markup.h"
#include "rpinn/report.h"
#include "rpinn/version.h"
#include "svg_plot.h"

/* Below this share of the truth inside of the 95 % intervals the page warns. */
static const double low_coverage = 0.85;
/* The 2.5 % quantile of fewer draws is hardly more than the least of them. */
enum { FEW_DRAWS = 40 };

static const char *setting(const RpinnRun *run, RpinnSetting setting) {
  return run->problem->settings.values[setting].text;
}

static const char *plural(uint64_t count) {
  return count == 1 ? "" : "s";
}

/* ---- head ---- */

static const char style[] =
    ":root{color-scheme:light}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;padding:1.5rem 1.25rem 3rem;max-width:72rem;background:#fff;color:#111827;"
    "font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif}"
    "h1{font-size:1.9rem;line-height:1.2;margin:0;overflow-wrap:anywhere}"
    "h1 span{font-weight:400;color:#4b5563;white-space:nowrap}h1 span::before{content:\"\\00b7  \"}"
    "h2{font-size:1.25rem;margin:2.25rem 0 .75rem;padding-bottom:.3rem;border-bottom:1px solid #d1d5db}"
    "h3{font-size:1.05rem;margin:1.25rem 0 .5rem}"
    "p{margin:.5rem 0;max-width:48rem}"
    "code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;"
    "font-size:.875em}"
    "pre{overflow-x:auto;background:#f9fafb;border:1px solid #e5e7eb;border-radius:.4rem;padding:.75rem}"
    ".lead{color:#374151;font-size:1.05rem}"
    ".facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.75rem 1.25rem;"
    "margin:1.25rem 0;padding:0}"
    ".facts div{border-left:3px solid #0072b2;padding-left:.6rem;min-width:0}"
    ".facts dt{font-size:.8rem;color:#4b5563}"
    ".facts dd{margin:0;font-weight:600;overflow-wrap:anywhere}"
    ".warnings{border:1px solid #d97706;border-left-width:5px;border-radius:.4rem;background:#fffbeb;"
    "padding:.6rem 1rem;margin:1.25rem 0}"
    ".warnings strong{display:block}"
    ".warnings ul{margin:.4rem 0;padding-left:1.2rem}"
    ".warnings li{margin:.3rem 0;max-width:52rem}"
    ".fine{border:1px solid #9ca3af;border-left:5px solid #009e73;border-radius:.4rem;padding:.6rem 1rem;"
    "margin:1.25rem 0}"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1.25rem "
    "2rem}"
    "figure{margin:0;min-width:0;max-width:40rem;break-inside:avoid}"
    "figcaption{font-weight:600;font-size:.95rem;margin-bottom:.25rem}"
    "svg.plot{display:block;width:100%;height:auto;"
    "font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif}"
    ".keys{display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;font-size:.875rem;color:#374151;margin:.25rem 0 0}"
    ".key{display:inline-flex;align-items:center;gap:.4rem}"
    ".swatch{width:26px;height:14px;flex:none}"
    ".scroll{overflow-x:auto}"
    "table{border-collapse:collapse;font-size:.925rem;font-variant-numeric:tabular-nums}"
    "th,td{padding:.35rem .8rem;border-bottom:1px solid #e5e7eb;text-align:right;white-space:nowrap}"
    "th{border-bottom:2px solid #9ca3af;font-weight:600;vertical-align:bottom}"
    "th:first-child,td:first-child,.text{text-align:left}"
    "td.long{white-space:normal;min-width:14rem}"
    "sub,sup{font-size:.7em;line-height:0}"
    ".note{font-size:.875rem;color:#4b5563}"
    "details{margin:.6rem 0}summary{cursor:pointer;font-weight:600}"
    ".bar{width:120px;height:12px;vertical-align:middle}"
    "footer{margin-top:2.5rem;font-size:.875rem;color:#4b5563;border-top:1px solid "
    "#d1d5db;padding-top:.75rem}"
    "@media(max-width:30rem){body{padding:1rem .9rem 2rem}h1{font-size:1.5rem}"
    "th,td{padding:.3rem .5rem}.facts{grid-template-columns:1fr 1fr}}"
    "@media print{body{max-width:none;padding:0;font-size:10.5pt}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "h2,h3{break-after:avoid}.scroll{overflow:visible}tr{break-inside:avoid}"
    ".figures{grid-template-columns:1fr 1fr}}";

static void open_page(const RpinnRun *run, RpinnText *page) {
  rpinn_text_append(page,
                    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>");
  rpinn_markup_text(page, run->problem->name);
  rpinn_text_append(page, ", method ");
  rpinn_markup_text(page, setting(run, RPINN_SETTING_METHOD));
  rpinn_text_append(page, "</title>\n<style>%s</style>\n</head>\n<body>\n", style);
}

static void open_fact(RpinnText *page, const char *name) {
  rpinn_text_append(page, "<div><dt>%s</dt><dd>", name);
}
static void close_fact(RpinnText *page) {
  rpinn_text_append(page, "</dd></div>\n");
}
static void write_text_fact(RpinnText *page, const char *name, const char *text) {
  open_fact(page, name);
  rpinn_markup_text(page, text);
  close_fact(page);
}
static void write_number_fact(RpinnText *page, const char *name, double number) {
  open_fact(page, name);
  rpinn_markup_number(page, number, 4);
  close_fact(page);
}

static void append_duration(RpinnText *page, double seconds) {
  if (seconds < 1)
    rpinn_text_append(page, "%.0f&#8201;ms", ceil(1000 * seconds));
  else if (seconds < 120)
    rpinn_text_append(page, "%.1f&#8201;s", seconds);
  else if (seconds < 7200)
    rpinn_text_append(page, "%.1f&#8201;min", seconds / 60);
  else
    rpinn_text_append(page, "%.1f&#8201;h", seconds / 3600);
}

static void write_facts(const RpinnRun *run, RpinnText *page) {
  const RpinnPosterior *posterior = run->posteriors[0];
  char text[128];
  rpinn_text_append(page, "<dl class=\"facts\">\n");
  if (run->plan.has_chains) {
    write_number_fact(page, "Chains", (double)run->plan.num_chains);
    write_number_fact(page, "Draws of each", (double)run->plan.num_draws);
    write_text_fact(page, "Warmup", setting(run, RPINN_SETTING_WARMUP));
    write_text_fact(page, "Metric", setting(run, RPINN_SETTING_METRIC));
  } else {
    write_number_fact(page, run->method == RPINN_METHOD_SVGD ? "Particles" : "Members",
                      (double)rpinn_report_num_draws(run));
    write_text_fact(page, "Optimiser", setting(run, RPINN_SETTING_OPTIMIZER));
    write_text_fact(page, "Iterations, at most", setting(run, RPINN_SETTING_ITERATIONS));
  }
  write_text_fact(page, "Start", setting(run, RPINN_SETTING_START));
  write_text_fact(page, "Likelihood", setting(run, RPINN_SETTING_LIKELIHOOD));
  open_fact(page, "Std of the prior");
  if (isinf(posterior->sigmas.prior))
    rpinn_text_append(page, "no prior");
  else
    rpinn_markup_number(page, posterior->sigmas.prior, 4);
  close_fact(page);
  write_number_fact(page, "Parameters", (double)rpinn_posterior_num_parameters(posterior));
  write_number_fact(page, "Residual rows", (double)rpinn_posterior_num_rows(posterior));
  write_text_fact(page, "Seed", setting(run, RPINN_SETTING_SEED));
  snprintf(text, sizeof text, "%.60s, %.40s", posterior->backend->operations->name,
           rpinn_run_precision_name(run));
  write_text_fact(page, "Backend", text);
  open_fact(page, "Wall time");
  append_duration(page, run->seconds);
  close_fact(page);
  rpinn_text_append(page, "</dl>\n");
}

static void write_head(const RpinnRun *run, RpinnText *page) {
  static const char *const meanings[] = {
      [RPINN_METHOD_MAP] = "The most probable point of the posterior: one minimiser of the loss.",
      [RPINN_METHOD_RPINN] =
          ("Randomised PINNs: every member minimises the loss with noise of its own on data, "
           "residuals and prior, and stands for a draw from the posterior."),
      [RPINN_METHOD_ENSEMBLE] =
          "A deep ensemble: every member minimises the same loss from a start of its own.",
      [RPINN_METHOD_NUTS] =
          "Hamiltonian Monte Carlo with the no-U-turn sampler: chains of draws from the posterior.",
      [RPINN_METHOD_SVGD] =
          ("Stein variational gradient descent: particles that climb the posterior and push each "
           "other apart.")};
  rpinn_text_append(page, "<header>\n<h1>");
  rpinn_markup_text(page, run->problem->name);
  rpinn_text_append(page, " <span>");
  rpinn_markup_text(page, setting(run, RPINN_SETTING_METHOD));
  rpinn_text_append(page, "</span></h1>\n<p class=\"lead\">%s</p>\n", meanings[run->method]);
  write_facts(run, page);
  rpinn_text_append(page, "</header>\n");
}

/* ---- warnings ---- */

static void warn_about_members(const RpinnRun *run, RpinnText *list) {
  const RpinnRunResults *results = &run->results;
  uint64_t good = rpinn_report_num_draws(run), unconverged = good - results->num_converged;
  if (results->num_failed)
    rpinn_text_append(
        list,
        "<li>%llu of %llu members failed: their loss was not finite in any attempt. They are left "
        "out of everything on this page.</li>\n",
        (unsigned long long)results->num_failed, (unsigned long long)results->num_members);
  if (results->num_retried)
    rpinn_text_append(
        list, "<li>%llu member%s began again from a fresh start after a loss that was not finite.</li>\n",
        (unsigned long long)results->num_retried, plural(results->num_retried));
  if (unconverged)
    rpinn_text_append(list,
                      "<li>%llu of %llu member%s stopped before converging. The iteration budget acts as a "
                      "regulariser: another budget gives another answer.</li>\n",
                      (unsigned long long)unconverged, (unsigned long long)good, plural(good));
  if (run->out_of_time)
    rpinn_text_append(
        list, "<li>The time limit left %llu of %llu members undone; <code>--resume</code> makes them.</li>\n",
        (unsigned long long)(run->num_samples - results->num_members), (unsigned long long)run->num_samples);
}

static void warn_about_chains(const RpinnRun *run, RpinnText *list) {
  const RpinnChainResults *chains = &run->results.chains;
  RpinnWorstConvergence outputs = rpinn_worst_convergence(chains->num_outputs, chains->outputs);
  uint64_t divergences = 0;
  for (uint64_t c = 0; c < run->plan.num_chains; c++) divergences += chains->chains[c].divergences;
  if (outputs.num_unmixed)
    rpinn_text_append(
        list,
        "<li>The chains do not agree: R-hat is above 1.01 for %zu of %zu predicted numbers, up to %.3g. "
        "Longer chains may help; chains in modes of their own will not mix.</li>\n",
        outputs.num_unmixed, outputs.num_scalars, outputs.max_rhat);
  if (outputs.min_ess_bulk < 100 * (double)run->plan.num_chains)
    rpinn_text_append(list,
                      "<li>The draws are worth few: the least effective sample size of a predicted number is "
                      "%.0f.</li>\n",
                      outputs.min_ess_bulk);
  if (divergences)
    rpinn_text_append(list,
                      "<li>%llu trajectories diverged: the draws miss a part of the posterior. A higher "
                      "<code>--target-acceptance</code> makes steps smaller.</li>\n",
                      (unsigned long long)divergences);
  if (run->out_of_time)
    rpinn_text_append(list,
                      "<li>The time limit ended the chains early; <code>--resume</code> goes on.</li>\n");
}

static void warn_about_spread(const RpinnRun *run, RpinnText *list) {
  uint64_t good = rpinn_report_num_draws(run);
  if (run->method == RPINN_METHOD_ENSEMBLE)
    rpinn_text_append(list,
                      "<li>The spread of an ensemble is that of its starts. It is not a posterior: the bands "
                      "and scores of uncertainty below have no such meaning.</li>\n");
  if (run->method == RPINN_METHOD_SVGD)
    rpinn_text_append(
        list, "<li>The spread of the particles is that of the moment at which they were stopped: see how it "
              "changes along the iterations below.</li>\n");
  if (good == 1)
    rpinn_text_append(list,
                      "<li>One member says nothing about uncertainty: there are no bands and no scores of "
                      "them.</li>\n");
  else if (good < FEW_DRAWS)
    rpinn_text_append(list,
                      "<li>%llu members are few: 95&#8201;%% intervals are hardly more than the range of the "
                      "members.</li>\n",
                      (unsigned long long)good);
}

static void warn_about_noise(const RpinnRun *run, RpinnText *list) {
  const RpinnPosterior *posterior = run->posteriors[0];
  for (size_t t = 0; t < run->problem->num_terms; t++) {
    const RpinnTerm *term = &run->problem->terms[t];
    if (term->is_test || !rpinn_sigma_exceeds_noise(run->problem, &posterior->sigmas, t)) continue;
    rpinn_text_append(list, "<li>The data of <code>");
    rpinn_markup_text(list, term->name);
    rpinn_text_append(list,
                      "</code> are trusted less than their noise says: the likelihood gives them a standard "
                      "deviation of ");
    rpinn_markup_number(list, posterior->sigmas.terms[t], 3);
    rpinn_text_append(list, ", the stated noise is ");
    rpinn_markup_number(list, term->noise, 3);
    rpinn_text_append(list, ".</li>\n");
  }
}

static void warn_about_coverage(const RpinnRun *run, RpinnText *list) {
  size_t count = run->outputs.num_quantities + run->outputs.num_tests;
  for (size_t k = 0; k < count; k++) {
    const RpinnScore *score = &run->results.scores[k];
    if (!(score->interval_coverage < low_coverage)) continue;
    rpinn_text_append(list, "<li>The 95&#8201;%% intervals of <code>");
    rpinn_markup_text(list, score->name);
    rpinn_text_append(list, "</code> hold only ");
    rpinn_markup_percent(list, score->interval_coverage);
    rpinn_text_append(list, " of the %s: its uncertainty is understated.</li>\n",
                      k < run->outputs.num_quantities ? "truth" : "held-out data");
  }
}

static void write_warnings(const RpinnRun *run, RpinnText *page) {
  RpinnText list = {0};
  if (run->plan.has_chains)
    warn_about_chains(run, &list);
  else
    warn_about_members(run, &list);
  warn_about_spread(run, &list);
  warn_about_noise(run, &list);
  warn_about_coverage(run, &list);
  if (list.length)
    rpinn_text_append(page,
                      "<div class=\"warnings\" role=\"note\"><strong>Before you use these results</strong>\n"
                      "<ul>\n");
  else
    rpinn_text_append(page, "<p class=\"fine\">No warnings: %s.</p>\n",
                      run->plan.has_chains ? "the chains agree in all they predict"
                                           : "every member converged");
  rpinn_text_append_bytes(page, list.bytes, list.length);
  if (list.length) rpinn_text_append(page, "</ul></div>\n");
  page->failed = page->failed || list.failed;
  rpinn_text_free(&list);
}

/* ---- tables ---- */

/* A column of text, which stands at the left, is marked by an @. */
static void open_table(RpinnText *page, size_t num_columns, const char *const *columns) {
  rpinn_text_append(page, "<div class=\"scroll\"><table>\n<thead><tr>");
  for (size_t i = 0; i < num_columns; i++) {
    bool is_text = columns[i][0] == '@';
    rpinn_text_append(page, "<th%s>%s</th>", is_text ? " class=\"text\"" : "", columns[i] + is_text);
  }
  rpinn_text_append(page, "</tr></thead>\n<tbody>\n");
}
static void close_table(RpinnText *page) {
  rpinn_text_append(page, "</tbody></table></div>\n");
}
static void open_row(RpinnText *page, const char *name) {
  rpinn_text_append(page, "<tr><td><code>");
  rpinn_markup_text(page, name);
  rpinn_text_append(page, "</code></td>");
}
static void write_number_cell(RpinnText *page, double value, int digits) {
  rpinn_text_append(page, "<td>");
  rpinn_markup_number(page, value, digits);
  rpinn_text_append(page, "</td>");
}
static void write_percent_cell(RpinnText *page, double share) {
  rpinn_text_append(page, "<td>");
  rpinn_markup_percent(page, share);
  rpinn_text_append(page, "</td>");
}

static void write_scores(const RpinnRun *run, RpinnText *page) {
  static const char *const columns[] = {
      "", "rl2", "l&#8734;", "mean std", "LPP", "LPP table", "coverage", "95&#8201;% interval", "CRPS"};
  size_t count = run->outputs.num_quantities + run->outputs.num_tests;
  rpinn_text_append(page, "<section>\n<h2>Scores</h2>\n");
  open_table(page, 9, columns);
  for (size_t k = 0; k < count; k++) {
    const RpinnScore *score = &run->results.scores[k];
    open_row(page, score->name);
    write_number_cell(page, score->rl2, 3);
    write_number_cell(page, score->linf, 3);
    write_number_cell(page, score->mean_std, 3);
    write_number_cell(page, score->lpp, 4);
    write_number_cell(page, score->lpp_table, 4);
    write_percent_cell(page, score->coverage);
    write_percent_cell(page, score->interval_coverage);
    write_number_cell(page, score->crps, 3);
    rpinn_text_append(page, "%s</tr>\n",
                      k < run->outputs.num_quantities ? "" : "<td class=\"text\">held out</td>");
  }
  close_table(page);
  rpinn_text_append(
      page,
      "<p class=\"note\">Against the truth, or against the data of held-out terms: rl2, the relative error "
      "|mean &#8722; truth|<sub>2</sub>&#8201;/&#8201;|truth|<sub>2</sub>; l&#8734;, the largest error; mean "
      "std, the standard deviation averaged over the points; LPP, the log predictive probability; LPP table, "
      "the same as the tables of the rPINN paper count it; coverage, the share of points within two standard "
      "deviations; 95&#8201;%% interval, the share between the 2.5&#8201;%% and 97.5&#8201;%% quantiles; "
      "CRPS, "
      "the continuous ranked probability score. A dash: not known.</p>\n");
  if (run->results.keep_every > 1)
    rpinn_text_append(
        page,
        "<p class=\"note\">Mean and standard deviation are over all members; quantiles and CRPS over "
        "every %zuth.</p>\n",
        run->results.keep_every);
  rpinn_text_append(page, "</section>\n");
}

/* The truth of an unknown where it is a number, else NaN. */
static double true_unknown(const RpinnRun *run, size_t k) {
  const RpinnUnknown *unknown = &run->problem->unknowns[k];
  RpinnExpression result;
  if (!rpinn_truth_find(&run->posteriors[0]->data->truth, unknown->name, unknown->expression, &result))
    return (double)NAN;
  const RpinnNode *node = &run->problem->pool->nodes[result];
  return node->operation == RPINN_OPERATION_NUMBER ? node->number : (double)NAN;
}

static void write_unknowns(const RpinnRun *run, RpinnText *page) {
  static const char *const columns[] = {"", "mean", "std", "2.5&#8201;%", "median", "97.5&#8201;%", "truth"};
  const RpinnRunResults *results = &run->results;
  if (!run->problem->num_unknowns) return;
  rpinn_text_append(page, "<section>\n<h2>Unknowns</h2>\n");
  open_table(page, 7, columns);
  for (size_t k = 0; k < run->problem->num_unknowns; k++) {
    size_t at = run->outputs.unknown_start + k;
    open_row(page, run->problem->unknowns[k].name);
    write_number_cell(page, results->mean[at], 5);
    write_number_cell(page, results->deviation[at], 3);
    write_number_cell(page, results->low[at], 5);
    write_number_cell(page, results->median[at], 5);
    write_number_cell(page, results->high[at], 5);
    write_number_cell(page, true_unknown(run, k), 5);
    rpinn_text_append(page, "</tr>\n");
  }
  close_table(page);
  rpinn_text_append(page, "</section>\n");
}

static void write_share_cells(RpinnText *page, double loss, double total) {
  double share = total > 0 ? loss / total : (double)NAN;
  write_number_cell(page, loss, 4);
  write_percent_cell(page, share);
  rpinn_text_append(page, "<td class=\"text\">");
  if (isfinite(share))
    rpinn_text_append(
        page,
        "<svg class=\"bar\" viewBox=\"0 0 120 12\" aria-hidden=\"true\"><rect width=\"120\" "
        "height=\"12\" fill=\"#eef0f3\"/><rect width=\"%.1f\" height=\"12\" fill=\"%s\"/></svg>",
        120 * fmax(0, fmin(1, share)), RPINN_INK_BLUE);
  rpinn_text_append(page, "</td></tr>\n");
}

/* parts [num_terms + 1]: the median loss of every fitted term, then of the prior. */
static void write_terms(const RpinnRun *run, const double *parts, RpinnText *page) {
  static const char *const columns[] = {"", "@expects", "points", "noise", "s", "median loss", "share", ""};
  const RpinnPosterior *posterior = run->posteriors[0];
  size_t num_terms = posterior->model.num_terms;
  double total = 0;
  for (size_t k = 0; k <= num_terms; k++) total += parts[k];
  rpinn_text_append(page, "<section>\n<h2>Share of each term in the loss</h2>\n");
  open_table(page, 8, columns);
  for (size_t k = 0; k < num_terms; k++) {
    size_t t = posterior->fitted[k];
    const RpinnTerm *term = &run->problem->terms[t];
    open_row(page, term->name);
    rpinn_text_append(page, "<td class=\"text\"><code>");
    rpinn_markup_text(page, term->expect.text ? term->expect.text : "");
    rpinn_text_append(page, "</code></td>");
    write_number_cell(page, (double)posterior->data->terms[t].points.count, 6);
    write_number_cell(page, term->has_noise ? term->noise : (double)NAN, 3);
    write_number_cell(page, posterior->sigmas.terms[t], 3);
    write_share_cells(page, parts[k], total);
  }
  rpinn_text_append(page, "<tr><td>prior</td><td></td>");
  write_number_cell(page, (double)rpinn_posterior_num_parameters(posterior), 6);
  rpinn_text_append(page, "<td></td>");
  write_number_cell(page, posterior->sigmas.prior, 3);
  write_share_cells(page, parts[num_terms], total);
  close_table(page);
  rpinn_text_append(
      page,
      "<p class=\"note\">noise: the stated standard deviation of the data; s: the one that the "
      "likelihood <code>%s</code> gives the term, which is its weight in the loss. Medians over the "
      "members, each of its own. The points of the prior are the parameters.</p>\n</section>\n",
      setting(run, RPINN_SETTING_LIKELIHOOD));
}

static void write_stops(const RpinnRun *run, RpinnText *page) {
  static const char *const columns[] = {"stopped by", "members", "@meaning"};
  rpinn_text_append(page, "<h3>Why the optimiser stopped</h3>\n");
  open_table(page, 3, columns);
  for (int stop = 0; stop <= RPINN_STOP_DAMPING_LIMIT; stop++) {
    if (!run->results.stops[stop]) continue;
    open_row(page, rpinn_stop_name((RpinnStop)stop));
    write_number_cell(page, (double)run->results.stops[stop], 6);
    rpinn_text_append(page, "<td class=\"text long\">%s</td></tr>\n", rpinn_stop_meaning((RpinnStop)stop));
  }
  close_table(page);
}

static RpinnStatus write_members(RpinnContext *context, const RpinnRun *run, RpinnText *page) {
  size_t num_statistics = rpinn_kept_draws_num_values(run->results.statistics);
  double half = 0.5, *medians = calloc(num_statistics, sizeof *medians);
  if (!medians) return rpinn_fail_memory(context);
  RpinnStatus status = rpinn_kept_draws_quantiles(run->results.statistics, 1, &half, medians);
  if (status == RPINN_OK) {
    rpinn_text_append(page, "<section>\n<h2>Members</h2>\n");
    status = rpinn_report_losses(context, run, page);
    rpinn_text_append(page, "<p>In the median: loss ");
    rpinn_markup_number(page, medians[RPINN_MEMBER_LOSS], 4);
    rpinn_text_append(page, ", gradient norm ");
    rpinn_markup_number(page, medians[RPINN_MEMBER_GRADIENT_NORM], 3);
    rpinn_text_append(page, ", ");
    rpinn_markup_number(page, medians[RPINN_MEMBER_ITERATIONS], 6);
    rpinn_text_append(page, " iterations, ");
    append_duration(page, medians[RPINN_MEMBER_SECONDS]);
    rpinn_text_append(page, ". Converged: %llu of %llu.</p>\n",
                      (unsigned long long)run->results.num_converged,
                      (unsigned long long)rpinn_report_num_draws(run));
    write_stops(run, page);
    rpinn_text_append(page, "</section>\n");
    write_terms(run, medians + RPINN_NUM_MEMBER_STATISTICS, page);
  }
  free(medians);
  return status;
}

/* ---- details ---- */

static void write_settings(const RpinnRun *run, RpinnText *page) {
  static const char *const columns[] = {"setting", "@value"};
  rpinn_text_append(page, "<details>\n<summary>All settings</summary>\n");
  open_table(page, 2, columns);
  for (int k = 0; k < RPINN_NUM_SETTINGS; k++) {
    open_row(page, rpinn_setting_definition((RpinnSetting)k)->name);
    rpinn_text_append(page, "<td class=\"text\"><code>");
    rpinn_markup_text(page, setting(run, (RpinnSetting)k));
    rpinn_text_append(page, "</code></td></tr>\n");
  }
  close_table(page);
  rpinn_text_append(page, "</details>\n");
}

static RpinnStatus write_problem(RpinnContext *context, const RpinnRun *run, RpinnText *page) {
  RpinnText yaml = {0};
  RpinnProblemFiles files = {
      .data = "data.csv", .truth = "truth.csv", .predict = "predict.csv", .has_priors = true};
  RpinnStatus status = rpinn_problem_write(context, run->problem, &files, &yaml);
  if (status == RPINN_OK) {
    rpinn_text_append(page, "<details>\n<summary>The problem, as in <code>run.yaml</code></summary>\n<pre>");
    rpinn_markup_text(page, yaml.bytes ? yaml.bytes : "");
    rpinn_text_append(page, "</pre>\n</details>\n");
  }
  rpinn_text_free(&yaml);
  return status;
}

static void write_footer(const RpinnRun *run, RpinnText *page) {
  char date[64] = "";
  time_t now = time(NULL);
  struct tm parts;
  if (gmtime_r(&now, &parts)) strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &parts);
  rpinn_text_append(page, "<footer>rpinn %s, ", rpinn_version());
  append_duration(page, run->seconds);
  rpinn_text_append(
      page,
      " on %zu thread%s, written %s. <code>rpinn run run.yaml</code> in the folder of this page "
      "gives the same draws again; the numbers are in <code>summary.json</code> and "
      "<code>predictions.csv</code>.</footer>\n</body>\n</html>\n",
      run->num_threads, plural(run->num_threads), date);
}

RpinnStatus rpinn_report_page(RpinnContext *context, const RpinnRun *run, RpinnText *page) {
  open_page(run, page);
  write_head(run, page);
  write_warnings(run, page);
  rpinn_text_append(page, "<section>\n<h2>Predictions</h2>\n");
  RPINN_TRY(rpinn_report_predictions(context, run, page));
  rpinn_text_append(page, "</section>\n");
  write_unknowns(run, page);
  write_scores(run, page);
  if (run->plan.has_chains)
    RPINN_TRY(rpinn_report_chains(context, run, page));
  else
    RPINN_TRY(write_members(context, run, page));
  RPINN_TRY(rpinn_report_particles(context, run, page));
  rpinn_text_append(page, "<section>\n<h2>Details</h2>\n");
  write_settings(run, page);
  RPINN_TRY(write_problem(context, run, page));
  rpinn_text_append(page, "</section>\n");
  write_footer(run, page);
  return page->failed ? rpinn_fail_memory(context) : RPINN_OK;
}

RpinnStatus rpinn_report_write(RpinnContext *context, const RpinnRun *run) {
  RpinnText page = {0};
  if (!run->results.scores)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "an interrupted run has no results to report");
  RpinnStatus status = rpinn_report_page(context, run, &page);
  if (status == RPINN_OK) status = rpinn_run_folder_write(context, &run->folder, "report.html", &page);
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context);
  rpinn_text_free(&page);
  return status;
}
