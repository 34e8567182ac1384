/* The verdict on a run, as its head has it: the word, and what was found. */
#include "markup.h"
#include "report_page.h"
#include "report_table.h"

void rpinn_report_verdict_box(RpinnText *page, const char *title, const RpinnVerdict *verdict) {
  static const char *const looks[] = {[RPINN_VERDICT_GOOD] = "verdict good",
                                      [RPINN_VERDICT_FAIR] = "verdict fair",
                                      [RPINN_VERDICT_BAD] = "verdict bad"};
  rpinn_text_append(page, "<div class=\"%s\" role=\"note\"><strong>", looks[verdict->word]);
  rpinn_markup_text(page, title);
  rpinn_text_append(page, ": %s</strong>", rpinn_verdict_word_name(verdict->word));
  if (verdict->num_findings) rpinn_text_append(page, "\n<ul>\n");
  for (size_t i = 0; i < verdict->num_findings; i++) {
    const RpinnFinding *finding = &verdict->findings[i];
    rpinn_text_append(page, "<li>%s (", rpinn_severity_name(finding->severity));
    rpinn_markup_text(page, finding->id);
    rpinn_text_append(page, "): ");
    rpinn_markup_text(page, finding->sentence);
    rpinn_text_append(page, "</li>\n");
  }
  rpinn_text_append(page, "%s</div>\n", verdict->num_findings ? "</ul>" : "");
}

void rpinn_report_verdict(const RpinnReport *report) {
  rpinn_report_verdict_box(report->page, "Verdict", &report->run->verdict);
}
