/* How the run was made: every setting as it was resolved, and the problem. */
#include "markup.h"
#include "report_page.h"

static void write_settings(const RpinnRun *run, RpinnText *page) {
  rpinn_text_append(page,
                    "<details open=\"open\">\n<summary>All settings</summary>\n<dl class=\"settings\">\n");
  for (int k = 0; k < RPINN_NUM_SETTINGS; k++) {
    rpinn_text_append(page, "<div><dt><code>%s</code></dt><dd><code>",
                      rpinn_setting_definition((RpinnSetting)k)->name);
    rpinn_markup_text(page, rpinn_report_setting(run, (RpinnSetting)k));
    rpinn_text_append(page, "</code></dd></div>\n");
  }
  rpinn_text_append(page, "</dl>\n</details>\n");
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

RpinnStatus rpinn_report_details(const RpinnReport *report) {
  rpinn_text_append(report->page, "<section>\n<h2>Details</h2>\n");
  write_settings(report->run, report->page);
  RPINN_TRY(write_problem(report->context, report->run, report->page));
  rpinn_text_append(report->page, "</section>\n");
  return RPINN_OK;
}
