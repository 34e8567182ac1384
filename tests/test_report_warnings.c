/* The warnings of a report at their thresholds: on one side they are there, word for word, on the other they are not. */
#include "report_bench.h"

#define MUST_NOT "!" /* in front of words that the page must not have */

/* The page of the run as it is now has these lines, or does not have these words. */
static void expect(ReportBench *made, const char *lines) {
  RpinnText text = report_text(made);
  if (lines[0] == '!') {
    bool absent = !strstr(text.bytes, lines + 1);
    if (!absent) fprintf(stderr, "%s\n", text.bytes);
    check_true(absent, "on the page above: %s", lines + 1);
  } else {
    check_lines(&text, lines);
  }
  rpinn_text_free(&text);
}

/* Nothing to warn of: just enough draws, points and coverage. */
static ReportBench make_members(const char *method) {
  const char *const settings[] = {"method", method, "samples", "3", "iterations", "10", NULL};
  ReportBench made = report_bench(beam, settings);
  RpinnRunResults *results = &made.run->results;
  results->num_draws = results->num_members = results->num_converged = 40;
  results->num_failed = results->num_retried = 0;
  made.run->num_samples = 40;
  for (size_t k = 0; k < 3; k++) {
    results->scores[k].interval_coverage = 0.85;
    results->scores[k].count = 20;
  }
  RpinnSigmas *sigmas = &made.run->posteriors[0]->sigmas;
  sigmas->prior = 7.5;
  for (size_t t = 0; t < made.run->problem->num_terms; t++)
    sigmas->terms[t] = made.run->problem->terms[t].noise;
  return made;
}

static void nothing_to_warn_of(void **state) {
  (void)state;
  ReportBench made = make_members("rpinn");
  expect(&made, "No warnings: every member converged.");
  expect(&made, MUST_NOT "Before you use these results");
  report_bench_close(&made);
}

static void members(void **state) {
  (void)state;
  ReportBench made = make_members("rpinn");
  RpinnRunResults *results = &made.run->results;
  results->num_converged = 39;
  expect(&made,
         "1 of 40 members stopped before converging. The iteration budget acts as a regulariser: another "
         "budget gives another answer.");
  expect(&made, MUST_NOT "No warnings");
  results->num_converged = 40;
  results->num_failed = 3, results->num_members = 43;
  expect(&made,
         "3 of 43 members failed: their loss was not finite in any attempt. They are left out of everything "
         "on this page.");
  results->num_failed = 0, results->num_members = 40;
  results->num_retried = 1;
  expect(&made, "1 member began again from a fresh start after a loss that was not finite.");
  results->num_retried = 2;
  expect(&made, "2 members began again from a fresh start after a loss that was not finite.");
  results->num_retried = 0;
  made.run->out_of_time = true;
  made.run->num_samples = 53;
  expect(&made, "The time limit left 13 of 53 members undone; --resume makes them.");
  made.run->out_of_time = false;
  expect(&made, MUST_NOT "undone");
  report_bench_close(&made);
}

static void few_draws(void **state) {
  (void)state;
  static const struct {
    const char *method, *things;
  } cases[] = {{"rpinn", "members"}, {"ensemble", "members"}, {"svgd", "particles"}};
  for (size_t k = 0; k < 3; k++) {
    ReportBench made = make_members(cases[k].method);
    char line[192];
    expect(&made, MUST_NOT "are too few");
    made.run->results.num_draws = made.run->results.num_converged = 39;
    expect(&made, MUST_NOT "are too few");
    made.run->results.num_draws = made.run->results.num_converged = 38;
    snprintf(line, sizeof line,
             "38 %s are too few for intervals of 95 %%, which take at least 39: there are no bands and no "
             "scores of them.",
             cases[k].things);
    expect(&made, line);
    made.run->results.num_draws = made.run->results.num_converged = 2;
    snprintf(line, sizeof line,
             "2 %s are too few for intervals of 95 %%, which take at least 39: there are no bands and no "
             "scores of them.",
             cases[k].things);
    expect(&made, line);
    made.run->results.num_draws = made.run->results.num_converged = 1;
    expect(&made, "One member says nothing about uncertainty: there are no bands and no scores of them.");
    expect(&made, MUST_NOT "are too few");
    report_bench_close(&made);
  }
}

/* What the spread of a method is not. */
static void methods(void **state) {
  (void)state;
  static const char
      ensemble[] = "The spread of an ensemble is that of its starts. It is not a posterior: the bands "
                   "and scores of uncertainty below have no such meaning.",
      svgd[] = "The spread of the particles is that of the moment at which they were stopped: another "
               "number of iterations gives another spread.",
      *const names[] = {"rpinn", "ensemble", "svgd"};
  for (size_t k = 0; k < 3; k++) {
    ReportBench made = make_members(names[k]);
    made.run->results.num_converged = 0; /* particles never do */
    expect(&made, k == 1 ? ensemble : MUST_NOT "not a posterior");
    expect(&made, k == 2 ? svgd : MUST_NOT "spread of the particles");
    expect(&made,
           k == 2 ? MUST_NOT "before converging"
                  : "40 of 40 members stopped before converging. The iteration budget acts as a regulariser: "
                    "another budget gives another answer.");
    report_bench_close(&made);
  }
}

static void noise(void **state) {
  (void)state;
  ReportBench made = make_members("rpinn");
  double *sigmas = made.run->posteriors[0]->sigmas.terms;
  size_t d = bench_term(&made.bench, "d"), later = bench_term(&made.bench, "later"),
         pde = bench_term(&made.bench, "pde");
  sigmas[later] = sigmas[pde] = 9; /* held out, and no data */
  expect(&made, MUST_NOT "trusted less");
  sigmas[d] = 0.1 * (1 + 1e-12); /* rounding */
  expect(&made, MUST_NOT "trusted less");
  sigmas[d] = 0.123;
  expect(
      &made,
      "The data of d are trusted less than their noise says: the likelihood gives them a standard deviation "
      "of 0.123, the stated noise is 0.100.");
  report_bench_close(&made);
}

static void coverage(void **state) {
  (void)state;
  ReportBench made = make_members("rpinn");
  RpinnScore *scores = made.run->results.scores;
  for (size_t k = 0; k < 3; k++) {
    char line[192];
    scores[k].interval_coverage = 0.849;
    scores[k].count = 19; /* too few points to say so */
    expect(&made, MUST_NOT "understated");
    scores[k].count = 20;
    snprintf(line, sizeof line,
             "The 95 %% intervals of %s hold only 84.9 %% of the %s: its uncertainty is understated.",
             scores[k].name, k == 2 ? "held-out data" : "truth");
    expect(&made, line);
    scores[k].interval_coverage = (double)NAN;
    expect(&made, MUST_NOT "understated");
    scores[k].interval_coverage = 0.851;
    expect(&made, MUST_NOT "understated");
  }
  report_bench_close(&made);
}

static void chains(void **state) {
  (void)state;
  static const char *const settings[] = {"method", "nuts",   "samples", "20", "warmup",
                                         "9",      "chains", "2",       NULL};
  ReportBench made = report_bench(beam, settings);
  RpinnRunResults *results = &made.run->results;
  RpinnConvergence *outputs = results->chains.outputs;
  for (size_t i = 0; i < results->chains.num_outputs; i++)
    outputs[i] = (RpinnConvergence){.rhat = 1.01, .ess_bulk = 200, .ess_tail = 1};
  for (size_t i = 0; i < results->chains.num_parameters; i++)
    results->chains.parameters[i] = (RpinnConvergence){.rhat = 9, .ess_bulk = 1, .ess_tail = 1};
  for (size_t c = 0; c < 2; c++) results->chains.chains[c].divergences = 0;
  for (size_t k = 0; k < 3; k++) results->scores[k].count = 0;
  expect(&made, "No warnings: the chains agree in all they predict.");
  outputs[0].rhat = 1.0101, outputs[7].rhat = 1.2345;
  expect(
      &made,
      "The chains do not agree: R-hat is above 1.01 for 2 of 9 predicted numbers, up to 1.23. Longer chains "
      "may help; chains in modes of their own will not mix.");
  outputs[0].rhat = outputs[7].rhat = 1;
  outputs[8].ess_bulk = 199;
  expect(&made, "The draws are worth few: the least effective sample size of a predicted number is 199.");
  outputs[8].ess_bulk = 200;
  results->chains.chains[0].divergences = 2, results->chains.chains[1].divergences = 3;
  expect(
      &made,
      "5 trajectories diverged: the draws miss a part of the posterior. A higher --target-acceptance makes "
      "steps smaller.");
  results->chains.chains[0].divergences = results->chains.chains[1].divergences = 0;
  made.run->out_of_time = true;
  expect(&made, "The time limit ended the chains early; --resume goes on.");
  made.run->out_of_time = false;
  results->num_draws = 38;
  expect(&made,
         "38 draws are too few for intervals of 95 %, which take at least 39: there are no bands and no "
         "scores of them.");
  report_bench_close(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_to_warn_of),
                                     cmocka_unit_test(members),
                                     cmocka_unit_test(few_draws),
                                     cmocka_unit_test(methods),
                                     cmocka_unit_test(noise),
                                     cmocka_unit_test(coverage),
                                     cmocka_unit_test(chains)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
