/* What to beware of, in plain words. */
#include "chain_diagnostics.h"
#include "markup.h"
#include "report_page.h"
#include "report_table.h"

/* Below this share of the truth inside of the 95 % intervals the page warns. */
static const double low_coverage = 0.85;
/* The share of fewer points inside of them says little. */
enum { FEW_POINTS = 20 };

/* ---- what only some methods warn of ---- */

void rpinn_warn_of_failed_members(const RpinnRun *run, RpinnText *list) {
  const RpinnRunResults *results = &run->results;
  if (results->num_failed)
    rpinn_text_append(
        list,
        "<li>%llu of %llu members failed: their loss was not finite in any attempt. They are left "
        "out of everything on this page.</li>\n",
        (unsigned long long)results->num_failed, (unsigned long long)results->num_members);
  if (results->num_retried)
    rpinn_text_append(
        list, "<li>%llu member%s began again from a fresh start after a loss that was not finite.</li>\n",
        (unsigned long long)results->num_retried, rpinn_plural(results->num_retried));
}

void rpinn_warn_of_unconverged_members(const RpinnRun *run, RpinnText *list) {
  uint64_t good = rpinn_report_num_draws(run), unconverged = good - run->results.num_converged;
  if (unconverged)
    rpinn_text_append(list,
                      "<li>%llu of %llu member%s stopped before converging. The iteration budget acts as a "
                      "regulariser: another budget gives another answer.</li>\n",
                      (unsigned long long)unconverged, (unsigned long long)good, rpinn_plural(good));
}

void rpinn_warn_of_undone_members(const RpinnRun *run, RpinnText *list) {
  const RpinnRunResults *results = &run->results;
  if (run->out_of_time)
    rpinn_text_append(
        list, "<li>The time limit left %llu of %llu members undone; <code>--resume</code> makes them.</li>\n",
        (unsigned long long)(run->num_samples - results->num_members), (unsigned long long)run->num_samples);
}

void rpinn_warn_of_linearisation(const RpinnRun *run, RpinnText *list) {
  if (!run->results.num_converged)
    rpinn_text_append(
        list,
        "<li>The point of linearisation is no minimum of the loss: that of the linearised model "
        "is lower by %.3g. The bands belong to another point than the most probable one.</li>\n",
        run->laplace.energy - run->laplace.linear_energy);
}

void rpinn_warn_of_chains(const RpinnRun *run, RpinnText *list) {
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

static void (*const warnings[])(const RpinnRun *run, RpinnText *list) = {
#define RPINN_WARNING_ROW(enumerator, name) [RPINN_WARNING_##enumerator] = rpinn_warn_of_##name,
    RPINN_REPORT_WARNING_LIST(RPINN_WARNING_ROW)
#undef RPINN_WARNING_ROW
};

/* ---- what all of them do ---- */

static void warn_about_spread(const RpinnRun *run, RpinnText *list) {
  uint64_t good = rpinn_report_num_draws(run);
  const char *unit = run->method->unit;
  if (run->method->caution) rpinn_text_append(list, "<li>%s</li>\n", run->method->caution);
  if (good == 1)
    rpinn_text_append(list,
                      "<li>One member says nothing about uncertainty: there are no bands and no scores of "
                      "them.</li>\n");
  else if (!rpinn_report_has_intervals(run))
    rpinn_text_append(
        list,
        "<li>%llu %ss are too few for intervals of 95&#8201;%%, which take at least %d: there are "
        "no bands and no scores of them.</li>\n",
        (unsigned long long)good, unit, RPINN_INTERVAL_MIN_DRAWS);
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
    if (!(score->interval_coverage < low_coverage) || score->count < FEW_POINTS) continue;
    rpinn_text_append(list, "<li>The 95&#8201;%% intervals of <code>");
    rpinn_markup_text(list, score->name);
    rpinn_text_append(list, "</code> hold only ");
    rpinn_markup_percent(list, score->interval_coverage);
    rpinn_text_append(list, " of the %s: its uncertainty is understated.</li>\n",
                      k < run->outputs.num_quantities ? "truth" : "held-out data");
  }
}

void rpinn_report_list_warnings(const RpinnRun *run, RpinnText *list) {
  for (const RpinnReportWarning *warning = run->method->warnings; *warning; warning++)
    warnings[*warning](run, list);
  warn_about_spread(run, list);
  warn_about_noise(run, list);
  warn_about_coverage(run, list);
}

void rpinn_report_warnings(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnText *page = report->page;
  RpinnText list = {0};
  rpinn_report_list_warnings(run, &list);
  if (list.length)
    rpinn_text_append(page,
                      "<div class=\"warnings\" role=\"note\"><strong>Before you use these results</strong>\n"
                      "<ul>\n");
  else
    rpinn_text_append(page, "<p class=\"fine\">No warnings: %s.</p>\n", run->method->well);
  rpinn_text_append_bytes(page, list.bytes, list.length);
  if (list.length) rpinn_text_append(page, "</ul></div>\n");
  page->failed = page->failed || list.failed;
  rpinn_text_free(&list);
}
