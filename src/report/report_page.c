/* The page of a run: what was done, the verdict, figures, tables. It is also well-formed XML, so that a
 * test can read it. */
#include "report_page.h"

static RpinnStatus (*const sections[])(const RpinnReport *report) = {
#define RPINN_SECTION_ROW(enumerator, name) [RPINN_SECTION_##enumerator] = rpinn_report_##name,
    RPINN_REPORT_SECTION_LIST(RPINN_SECTION_ROW)
#undef RPINN_SECTION_ROW
};

RpinnStatus rpinn_report_page(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnText *page = report->page;
  rpinn_report_open_page(run->problem->name, rpinn_report_setting(run, RPINN_SETTING_METHOD), page);
  rpinn_report_head(report);
  rpinn_report_verdict(report);
  rpinn_text_append(page, "<section>\n<h2>Predictions</h2>\n");
  RPINN_TRY(rpinn_report_predictions(report));
  rpinn_text_append(page, "</section>\n");
  rpinn_report_unknowns(report);
  rpinn_report_scores(report);
  for (const RpinnReportSection *section = run->method->sections; *section; section++)
    RPINN_TRY(sections[*section](report));
  rpinn_report_prior(report);
  if (report->shape) RPINN_TRY(rpinn_report_shape(report));
  RPINN_TRY(rpinn_report_details(report));
  rpinn_report_close_page(report);
  return page->failed ? rpinn_fail_memory(report->context) : RPINN_OK;
}
