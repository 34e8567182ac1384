/* What continuing the members by NUTS has found and cost; nothing of a run whose members are as they were made. */
#include "markup.h"
#include "report_page.h"
#include "report_table.h"

static void write_row(RpinnText *page, const char *name, double value, int digits) {
  rpinn_table_open_row(page, name);
  rpinn_table_number(page, value, digits);
  rpinn_text_append(page, "</tr>\n");
}

RpinnStatus rpinn_report_correction(const RpinnReport *report) {
  static const char *const columns[] = {"", "value"};
  const RpinnRun *run = report->run;
  const RpinnMemberCorrection *correction = &run->correction;
  RpinnText *page = report->page;
  char worst[128];
  if (!rpinn_run_is_corrected(run)) return RPINN_OK;
  rpinn_run_name_worst(run, worst, sizeof worst);
  rpinn_text_append(
      page, "<section>\n<h2>Correction</h2>\n<p>Every member was continued as a chain of NUTS, and "
            "the last state of the chain is its draw. Metric, step and length are those of a pilot of ");
  rpinn_markup_number(page, correction->num_members, 3);
  rpinn_text_append(
      page, " members, each continued twice. Nested R-hat, which compares continuations of a member with "
            "those of others, is ");
  rpinn_markup_number(page, correction->nested_rhat, 4);
  rpinn_text_append(page, " for ");
  rpinn_markup_text(page, worst);
  rpinn_text_append(page, ", the largest of what was watched: the start is %s (%g is asked for).</p>\n",
                    rpinn_correction_forgets(correction) ? "forgotten" : "<strong>not forgotten</strong>",
                    RPINN_FORGOTTEN_RHAT);
  rpinn_table_open(page, 2, columns);
  write_row(page, "iterations of each chain", (double)correction->length, 6);
  write_row(page, "gradients of each member, in the mean",
            correction->spent_gradients / (double)correction->num_draws, 4);
  write_row(page, "… as the pilot foretold", correction->gradients, 4);
  write_row(page, "… allowed by the budget", correction->budget, 4);
  write_row(page, "gradients of all members", correction->spent_gradients, 4);
  write_row(page, "seconds of them on one thread", correction->spent_seconds, 4);
  write_row(page, "gradients of the pilot", correction->pilot_gradients, 4);
  write_row(page, "seconds of it on one thread", correction->pilot_seconds, 4);
  write_row(page, "acceptance", correction->acceptance, 3);
  write_row(page, "step size", correction->step, 3);
  write_row(page, "iterations that diverged", correction->divergences, 6);
  write_row(page, "… in so many chains", (double)correction->num_divergent, 6);
  write_row(page, "iterations cut off at the largest depth", correction->saturations, 6);
  rpinn_table_close(page);
  rpinn_text_append(
      page,
      "<p class=\"note\">This mends draws within their modes. How many members are in which mode stays "
      "what rPINN made it: no chain says how probable another mode is. Losses and stops above are those "
      "of the members that the chains began at.</p>\n</section>\n");
  return RPINN_OK;
}
