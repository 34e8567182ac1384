/* Tables of numbers: scores against what is known, and the unknowns. */
#include <math.h>

#include "markup.h"
#include "report_page.h"
#include "report_table.h"

void rpinn_report_open_scores(RpinnText *page) {
  static const char *const columns[] = {
      "", "rl2", "l&#8734;", "mean std", "LPP", "LPP table", "coverage", "95&#8201;% interval", "CRPS"};
  rpinn_table_open(page, 9, columns);
}

void rpinn_report_table_cells(RpinnText *page, const RpinnScore *score) {
  rpinn_table_number(page, score->rl2, 3);
  rpinn_table_number(page, score->linf, 3);
  rpinn_table_number(page, score->mean_std, 3);
  rpinn_table_number(page, score->lpp, 4);
  rpinn_table_number(page, score->lpp_table, 4);
  rpinn_table_percent(page, score->coverage);
}

void rpinn_report_score_cells(RpinnText *page, const RpinnScore *score) {
  rpinn_report_table_cells(page, score);
  rpinn_table_percent(page, score->interval_coverage);
  rpinn_table_number(page, score->crps, 3);
}

void rpinn_report_score_note(RpinnText *page) {
  rpinn_text_append(
      page,
      "<p class=\"note\">Against the truth, or against the data of held-out terms: rl2, the relative error "
      "|mean &#8722; truth|<sub>2</sub>&#8201;/&#8201;|truth|<sub>2</sub>; l&#8734;, the largest error; mean "
      "std, the standard deviation averaged over the points; LPP, the log predictive probability; LPP table, "
      "the same as the tables of the rPINN paper count it; coverage, the share of points within two standard "
      "deviations; 95&#8201;%% interval, the share between the ranks 0.025&#8201;(<i>n</i>&#8201;+&#8201;1) "
      "and "
      "0.975&#8201;(<i>n</i>&#8201;+&#8201;1) of the draws; CRPS, the continuous ranked probability score. A "
      "dash: not known.</p>\n");
}

void rpinn_report_scores(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnText *page = report->page;
  size_t count = run->outputs.num_quantities + run->outputs.num_tests;
  if (!count) return;
  rpinn_text_append(page, "<section>\n<h2>Scores</h2>\n");
  rpinn_report_open_scores(page);
  for (size_t k = 0; k < count; k++) {
    const RpinnScore *score = &run->results.scores[k];
    rpinn_table_open_row(page, score->name);
    rpinn_report_score_cells(page, score);
    rpinn_text_append(page, "%s</tr>\n",
                      k < run->outputs.num_quantities ? "" : "<td class=\"text\">held out</td>");
  }
  rpinn_table_close(page);
  rpinn_report_score_note(page);
  if (run->results.keep_every > 1)
    rpinn_text_append(
        page,
        "<p class=\"note\">Mean and standard deviation are over all members; quantiles and CRPS over "
        "every %zuth.</p>\n",
        run->results.keep_every);
  rpinn_text_append(page, "</section>\n");
}

/* NaN where it is not known as a number. */
static double true_scalar(const RpinnRun *run, size_t k) {
  double value;
  return rpinn_draw_outputs_scalar_truth(run->posteriors[0], k, &value) ? value : (double)NAN;
}

void rpinn_report_unknowns(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnText *page = report->page;
  static const char *const columns[] = {"", "mean", "std", "2.5&#8201;%", "median", "97.5&#8201;%", "truth"};
  const RpinnRunResults *results = &run->results;
  bool has_spread = results->num_draws > 1;
  if (!run->outputs.num_scalars) return;
  rpinn_text_append(page, "<section>\n<h2>Unknowns</h2>\n");
  rpinn_table_open(page, 7, columns);
  for (size_t k = 0; k < run->outputs.num_scalars; k++) {
    size_t at = run->outputs.unknown_start + k;
    char label[RPINN_LABEL_SIZE];
    rpinn_table_open_row(
        page, rpinn_problem_label(run->problem, rpinn_draw_outputs_scalar(run->posteriors[0], k), label));
    rpinn_table_number(page, results->mean[at], 5);
    rpinn_table_number(page, results->deviation[at], 3);
    rpinn_table_number(page, has_spread ? results->low[at] : (double)NAN, 5);
    rpinn_table_number(page, results->median[at], 5);
    rpinn_table_number(page, has_spread ? results->high[at] : (double)NAN, 5);
    rpinn_table_number(page, true_scalar(run, k), 5);
    rpinn_text_append(page, "</tr>\n");
  }
  rpinn_table_close(page);
  rpinn_text_append(page, "</section>\n");
}
