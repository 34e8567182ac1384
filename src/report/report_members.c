/* What became of the members: their losses, why the optimisers stopped, and what each term had to say. */
#include <math.h>
#include <stdlib.h>

#include "markup.h"
#include "member_statistics.h"
#include "member_stop.h"
#include "report_page.h"
#include "report_table.h"

static void write_share_cells(RpinnText *page, double loss, double total) {
  double share = total > 0 ? loss / total : (double)NAN;
  rpinn_table_number(page, loss, 4);
  rpinn_table_percent(page, share);
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
  rpinn_table_open(page, 8, columns);
  for (size_t k = 0; k < num_terms; k++) {
    size_t t = posterior->fitted[k];
    const RpinnTerm *term = &run->problem->terms[t];
    rpinn_table_open_row(page, term->name);
    rpinn_table_code(page, term->expect.text ? term->expect.text : "");
    rpinn_table_number(page, (double)posterior->data->terms[t].points.count, 6);
    rpinn_table_number(page, posterior->data->terms[t].typical_noise, 3);
    rpinn_table_number(page, posterior->sigmas.terms[t], 3);
    write_share_cells(page, parts[k], total);
  }
  rpinn_text_append(page, "<tr><td>prior</td><td></td>");
  rpinn_table_number(page, (double)rpinn_posterior_num_parameters(posterior), 6);
  rpinn_text_append(page, "<td></td>");
  rpinn_table_number(page, posterior->sigmas.prior, 3);
  write_share_cells(page, parts[num_terms], total);
  rpinn_table_close(page);
  rpinn_text_append(
      page,
      "<p class=\"note\">noise: the stated standard deviation of the data; s: the one that the "
      "likelihood <code>%s</code> gives the term, which is its weight in the loss. Medians over the "
      "members, each of its own. The points of the prior are the parameters.</p>\n</section>\n",
      rpinn_report_setting(run, RPINN_SETTING_LIKELIHOOD));
}

static void write_stops(const RpinnRun *run, RpinnText *page) {
  static const char *const columns[] = {"stopped by", "members", "@meaning"};
  rpinn_text_append(page, "<h3>Why the optimiser stopped</h3>\n");
  rpinn_table_open(page, 3, columns);
  for (int k = 0; k < 2 * RPINN_NUM_STOPS; k++) {
    RpinnMemberStop stop = {(RpinnStop)(k % RPINN_NUM_STOPS), k >= RPINN_NUM_STOPS};
    uint64_t count = run->results.stops[stop.in_double][stop.stop];
    if (!count) continue;
    rpinn_table_open_row(page, rpinn_member_stop_word(stop));
    rpinn_table_number(page, (double)count, 6);
    rpinn_text_append(page, "<td class=\"text long\">%s%s</td></tr>\n", rpinn_stop_meaning(stop.stop),
                      stop.in_double ? "; in double, for float could not tell steps apart any more" : "");
  }
  rpinn_table_close(page);
}

RpinnStatus rpinn_report_members(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnText *page = report->page;
  size_t num_statistics = rpinn_kept_draws_num_values(run->results.statistics);
  double half = 0.5, *medians = calloc(num_statistics, sizeof *medians);
  if (!medians) return rpinn_fail_memory(report->context);
  RpinnStatus status = rpinn_kept_draws_quantiles(run->results.statistics, 1, &half, medians);
  if (status == RPINN_OK) {
    rpinn_text_append(page, "<section>\n<h2>Members</h2>\n");
    status = rpinn_report_losses(report);
    rpinn_text_append(page, "<p>In the median: loss ");
    rpinn_markup_number(page, medians[RPINN_MEMBER_LOSS], 4);
    rpinn_text_append(page, ", gradient norm ");
    rpinn_markup_number(page, medians[RPINN_MEMBER_GRADIENT_NORM], 3);
    rpinn_text_append(page, ", ");
    rpinn_markup_number(page, round(medians[RPINN_MEMBER_ITERATIONS]), 6);
    rpinn_text_append(page, " iterations, ");
    rpinn_markup_duration(page, medians[RPINN_MEMBER_SECONDS]);
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
