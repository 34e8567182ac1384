/* The page of a run: what was done, what to beware of, figures, tables. It is also well-formed XML, so that a
 * test can read it. */
#include "report_page.h"

RpinnStatus rpinn_report_page(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnText *page = report->page;
  rpinn_report_open_page(run->problem->name, rpinn_report_setting(run, RPINN_SETTING_METHOD), page);
  rpinn_report_head(report);
  rpinn_report_warnings(report);
  rpinn_text_append(page, "<section>\n<h2>Predictions</h2>\n");
  RPINN_TRY(rpinn_report_predictions(report));
  rpinn_text_append(page, "</section>\n");
  rpinn_report_unknowns(report);
  rpinn_report_scores(report);
  if (run->plan.has_chains)
    RPINN_TRY(rpinn_report_chains(report));
  else
    RPINN_TRY(rpinn_report_members(report));
  RPINN_TRY(rpinn_report_particles(report));
  if (report->shape) RPINN_TRY(rpinn_report_shape(report));
  RPINN_TRY(rpinn_report_details(report));
  rpinn_report_close_page(report);
  return page->failed ? rpinn_fail_memory(report->context) : RPINN_OK;
}
