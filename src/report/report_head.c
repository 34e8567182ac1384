/* What was run: the name of the problem, what the method does, and the facts. */
#include <math.h>
#include <stdio.h>

#include "markup.h"
#include "report_page.h"
#include "report_table.h"

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

static void write_facts(const RpinnRun *run, RpinnText *page) {
  const RpinnPosterior *posterior = run->posteriors[0];
  char text[128];
  rpinn_text_append(page, "<dl class=\"facts\">\n");
  for (const RpinnRunFact *fact = run->method->facts; fact->title; fact++)
    if (fact->number)
      write_number_fact(page, fact->title, fact->number(run));
    else
      write_text_fact(page, fact->title, rpinn_report_setting(run, fact->setting));
  write_text_fact(page, "Start", rpinn_report_setting(run, RPINN_SETTING_START));
  write_text_fact(page, "Likelihood", rpinn_report_setting(run, RPINN_SETTING_LIKELIHOOD));
  open_fact(page, "Std of the prior");
  if (isinf(posterior->sigmas.prior))
    rpinn_text_append(page, "no prior");
  else
    rpinn_markup_number(page, posterior->sigmas.prior, 4);
  close_fact(page);
  write_number_fact(page, "Parameters", (double)rpinn_posterior_num_parameters(posterior));
  write_number_fact(page, "Residual rows", (double)rpinn_posterior_num_rows(posterior));
  write_text_fact(page, "Seed", rpinn_report_setting(run, RPINN_SETTING_SEED));
  snprintf(text, sizeof text, "%.60s, %.40s", rpinn_report_setting(run, RPINN_SETTING_BACKEND),
           rpinn_run_precision_name(run));
  write_text_fact(page, "Backend", text);
  open_fact(page, "Wall time");
  rpinn_markup_duration(page, run->seconds);
  close_fact(page);
  rpinn_text_append(page, "</dl>\n");
}

void rpinn_report_head(const RpinnReport *report) {
  const RpinnRun *run = report->run;
  RpinnText *page = report->page;
  rpinn_text_append(page, "<header>\n<h1>");
  rpinn_markup_text(page, run->problem->name);
  rpinn_text_append(page, " <span>");
  rpinn_markup_text(page, rpinn_report_setting(run, RPINN_SETTING_METHOD));
  rpinn_text_append(page, "</span></h1>\n<p class=\"lead\">%s</p>\n", run->method->meaning);
  write_facts(run, page);
  rpinn_text_append(page, "</header>\n");
}
