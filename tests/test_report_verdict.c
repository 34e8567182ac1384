/* The verdict at the head of a report: its word and every finding, and that of the terminal word for word. */
#include "report_bench.h"

static void expect(ReportBench *made, const char *lines) {
  RpinnText text = report_text(made);
  check_lines(&text, lines);
  rpinn_text_free(&text);
}

static void expect_absent(ReportBench *made, const char *words) {
  RpinnText text = report_text(made);
  check_true(!strstr(text.bytes, words), "on the page: %s", words);
  rpinn_text_free(&text);
}

static ReportBench make_members(void) {
  static const char *const settings[] = {"method", "rpinn",      "samples",     "3",         "iterations",
                                         "10",     "likelihood", "noise",       "optimizer", "adam",
                                         "start",  "glorot",     "prior_scale", "1",         "scale_fields",
                                         "no",     NULL};
  return report_bench(beam, settings);
}

static void words_and_findings(void **state) {
  (void)state;
  ReportBench made = make_members();
  RpinnVerdict *verdict = &made.run->verdict;
  *verdict = (RpinnVerdict){.word = RPINN_VERDICT_GOOD};
  expect(&made, "Verdict: good");
  expect_absent(&made, "caution (");
  *verdict =
      (RpinnVerdict){.word = RPINN_VERDICT_BAD,
                     .num_findings = 3,
                     .findings = {{"misfit", RPINN_SEVERITY_BAD, "The rows of 'd' <&> lie far off."},
                                  {"likelihood", RPINN_SEVERITY_CAUTION, "Use --likelihood noise."},
                                  {"undone", RPINN_SEVERITY_NOTE, "The time limit left 2 draws undone."}}};
  expect(&made, "Verdict: bad");
  expect(&made, "bad (misfit): The rows of 'd' <&> lie far off.");
  expect(&made, "caution (likelihood): Use --likelihood noise.");
  expect(&made, "note (undone): The time limit left 2 draws undone.");
  verdict->word = RPINN_VERDICT_FAIR;
  expect(&made, "Verdict: fair");
  report_bench_close(&made);
}

/* What the run found is what its table and its page say. */
static void page_and_table_agree(void **state) {
  (void)state;
  ReportBench made = make_members();
  const RpinnVerdict *verdict = rpinn_run_verdict(made.run);
  const char *table = rpinn_run_table(made.run);
  assert_int_equal(verdict->word, RPINN_VERDICT_BAD); /* ten steps of Adam */
  assert_non_null(strstr(table, "\nverdict: bad\n"));
  expect(&made, "Verdict: bad");
  assert_true(verdict->num_findings >= 2);
  for (size_t i = 0; i < verdict->num_findings; i++) {
    char line[RPINN_FINDING_TEXT_SIZE + 64];
    snprintf(line, sizeof line, "%s (%s): %s", rpinn_severity_name(verdict->findings[i].severity),
             verdict->findings[i].id, verdict->findings[i].sentence);
    assert_non_null(strstr(table, line));
    expect(&made, line);
  }
  assert_non_null(strstr(table, "caution (few_draws): 3 members are too few for an interval of 95 %"));
  report_bench_close(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(words_and_findings),
                                     cmocka_unit_test(page_and_table_agree)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
