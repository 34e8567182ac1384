/* Every cell of every table of a report's page against the results that it is about. */
#include "report_bench.h"

#include <unistd.h>

#include "member_statistics.h"
#include "report_compare.h"

/* ---- members ---- */

/* Statistics of three members whose medians are known: loss 40, gradient norm 0.25, 300 iterations, 1.5 s; parts of
 * the loss 10 for d, 25 for pde, 5 for the prior. */
static void set_statistics(RpinnRunResults *results) {
  static const double medians[RPINN_NUM_MEMBER_STATISTICS + 3] = {[RPINN_MEMBER_LOSS] = 40,
                                                                  [RPINN_MEMBER_GRADIENT_NORM] = 0.25,
                                                                  [RPINN_MEMBER_ITERATIONS] = 300,
                                                                  [RPINN_MEMBER_SECONDS] = 1.5,
                                                                  [RPINN_NUM_MEMBER_STATISTICS] = 10,
                                                                  [RPINN_NUM_MEMBER_STATISTICS + 1] = 25,
                                                                  [RPINN_NUM_MEMBER_STATISTICS + 2] = 5};
  size_t count = rpinn_kept_draws_num_values(results->statistics);
  assert_int_equal(count, RPINN_NUM_MEMBER_STATISTICS + 3);
  rpinn_kept_draws_destroy(results->statistics);
  results->statistics = rpinn_kept_draws_create(count, 1);
  for (size_t i = 0; i < 3; i++) {
    double values[RPINN_NUM_MEMBER_STATISTICS + 3];
    for (size_t k = 0; k < count; k++) values[k] = medians[k] * (1 + 0.5 * ((double)i - 1));
    assert_int_equal(rpinn_kept_draws_add(results->statistics, i, values), RPINN_OK);
  }
}

static ReportBench make_members(void) {
  static const char *const settings[] = {"samples", "3", "iterations", "10", "seed", "17", NULL};
  ReportBench made = report_bench(beam, settings);
  RpinnRunResults *results = &made.run->results;
  for (size_t k = 0; k < 3; k++) set_score(&results->scores[k], (double)k);
  set_statistics(results);
  memset(results->stops, 0, sizeof results->stops);
  results->stops[0][RPINN_STOP_BUDGET] = 1;
  results->stops[1][RPINN_STOP_BUDGET] = 1;
  results->stops[0][RPINN_STOP_GRADIENT_SMALL] = 1;
  results->num_converged = 1;
  size_t at = made.run->outputs.unknown_start;
  results->mean[at] = 2.5, results->deviation[at] = 0.25, results->low[at] = 1.25;
  results->median[at] = 2.375, results->high[at] = 3.75;
  RpinnSigmas *sigmas = &made.run->posteriors[0]->sigmas;
  sigmas->terms[bench_term(&made.bench, "d")] = 0.15;
  sigmas->terms[bench_term(&made.bench, "pde")] = 0.35;
  sigmas->prior = 1.75;
  return made;
}

static void scores_and_unknowns(void **state) {
  (void)state;
  ReportBench made = make_members();
  RpinnText text = report_text(&made);
  check_lines(&text, "Scores\n\n|rl2|linf|mean std|LPP|LPP table|coverage|95 % interval|CRPS|\n\n"
                     "u|0.100|0.200|0.300|0.4000|0.5000|60.0 %|90.0 %|0.800|\n"
                     "bend|1.10|1.20|1.30|1.400|1.500|61.0 %|91.0 %|1.80|\n"
                     "later|2.10|2.20|2.30|2.400|2.500|62.0 %|92.0 %|2.80|held out|");
  check_lines(
      &text,
      "Unknowns\n\n|mean|std|2.5 %|median|97.5 %|truth|\n\nc [1/s]|2.5000|0.250|1.2500|2.3750|3.7500|2|");
  assert_null(strstr(text.bytes, "quantiles and CRPS over"));
  rpinn_text_free(&text);
  made.run->results.keep_every = 2;
  made.run->results.scores[0].crps = (double)NAN;
  made.run->results.scores[0].lpp = -(double)INFINITY;
  made.run->results.scores[0].linf = 1.5e-7;
  made.run->results.scores[0].lpp_table = -123456.7;
  text = report_text(&made);
  check_lines(&text, "u|0.100|1.50 x 10^-7|0.300|-inf|-1.235 x 10^5|60.0 %|90.0 %|?|");
  check_lines(&text, "Mean and standard deviation are over all members; quantiles and CRPS over every 2th.");
  rpinn_text_free(&text);
  report_bench_close(&made);
}

static void members_and_terms(void **state) {
  (void)state;
  ReportBench made = make_members();
  RpinnText text = report_text(&made);
  check_lines(&text,
              "In the median: loss 40, gradient norm 0.250, 300 iterations, 1.5 s. Converged: 1 of 3.");
  char stops[512];
  snprintf(stops, sizeof stops,
           "stopped by|members|meaning|\n\n%s|1|%s|\n%s|1|%s|\nbudget_in_double|1|%s; in double, for float "
           "could not tell steps apart any more|",
           rpinn_stop_name(RPINN_STOP_GRADIENT_SMALL), rpinn_stop_meaning(RPINN_STOP_GRADIENT_SMALL),
           rpinn_stop_name(RPINN_STOP_BUDGET), rpinn_stop_meaning(RPINN_STOP_BUDGET),
           rpinn_stop_meaning(RPINN_STOP_BUDGET));
  check_lines(&text, stops);
  /* Shares of 10 + 25 + 5; a network of one layer of 4 has 13 parameters, and c is one. */
  check_lines(&text, "|expects|points|noise|s|median loss|share||\n\n"
                     "d|u|3|0.100|0.150|10|25.0 %||\n"
                     "pde|c*d(u, x)|4|0.300|0.350|25|62.5 %||\n"
                     "prior||14||1.75|5|12.5 %||");
  rpinn_text_free(&text);
  /* The bars are as long as the shares: of 120 units. */
  RpinnText page = {0};
  RpinnReport report = {.context = made.bench.context, .page = &page, .run = made.run};
  bench_require(&made.bench, rpinn_report_page(&report), "page");
  static const char *const lengths[] = {"30.0", "75.0", "15.0"};
  const char *at = page.bytes;
  for (size_t k = 0; k < 3; k++) {
    char bar[128];
    snprintf(bar, sizeof bar, "<rect width=\"%s\" height=\"12\" fill=\"#0072b2\"/>", lengths[k]);
    at = strstr(at, bar);
    check_true(at != NULL, "no bar of %s", lengths[k]);
  }
  rpinn_text_free(&page);
  report_bench_close(&made);
}

static void facts_and_settings(void **state) {
  (void)state;
  ReportBench made = make_members();
  RpinnText text = report_text(&made);
  check_lines(&text, "beam rpinn");
  check_lines(&text,
              "Members: 3\nOptimiser: adam\nIterations, at most: 10\nStart: glorot\nLikelihood: paper\n"
              "Std of the prior: 1.750\nParameters: 14\nResidual rows: 7\nSeed: 17\n"
              "Backend: plain, double\nWall time: 42.0 s");
  for (int k = 0; k < RPINN_NUM_SETTINGS; k++) {
    char line[512];
    snprintf(line, sizeof line, "%s: %s", rpinn_setting_definition((RpinnSetting)k)->name,
             made.run->problem->settings.values[k].text);
    check_lines(&text, line);
  }
  rpinn_text_free(&text);
  made.run->posteriors[0]->sigmas.prior = (double)INFINITY;
  static const struct {
    double seconds;
    const char *line;
  } durations[] = {{0.0123, "Wall time: 13 ms"}, {0.9999, "Wall time: 1000 ms"},
                   {1, "Wall time: 1.0 s"},      {119.9, "Wall time: 119.9 s"},
                   {120, "Wall time: 2.0 min"},  {7199, "Wall time: 120.0 min"},
                   {7200, "Wall time: 2.0 h"},   {360000, "Wall time: 100.0 h"}};
  for (size_t k = 0; k < sizeof durations / sizeof durations[0]; k++) {
    made.run->seconds = durations[k].seconds;
    text = report_text(&made);
    check_lines(&text, durations[k].line);
    check_lines(&text, "Std of the prior: no prior");
    rpinn_text_free(&text);
  }
  report_bench_close(&made);
}

/* ---- chains ---- */

static RpinnConvergence convergence_of(double rhat, double bulk, double tail) {
  return (RpinnConvergence){.rhat = rhat, .ess_bulk = bulk, .ess_tail = tail};
}

/* Two chains; three points of u, three of bend, two of the held-out term, the unknown. */
static ReportBench make_chains(void) {
  static const char *const settings[] = {"method", "nuts",   "samples", "12", "warmup",
                                         "9",      "chains", "2",       NULL};
  ReportBench made = report_bench(beam, settings);
  RpinnChainResults *chains = &made.run->results.chains;
  assert_int_equal(chains->num_outputs, 9);
  for (size_t i = 0; i < chains->num_outputs; i++) chains->outputs[i] = convergence_of(1.001, 500, 600);
  for (size_t i = 0; i < chains->num_parameters; i++) chains->parameters[i] = convergence_of(1.002, 700, 800);
  chains->outputs[1] = convergence_of(1.01, 450, 460);
  chains->outputs[4] = convergence_of(1.25, 123, 321);
  chains->outputs[5] = convergence_of(1.125, 111, 333);
  chains->parameters[3] = convergence_of(2.5, 33, 44);
  chains->chains[0] = (RpinnChainResult){.divergences = 3,
                                         .saturations = 5,
                                         .leapfrogs = 123456,
                                         .acceptance = 0.815,
                                         .step_size = 0.0125,
                                         .energy_fraction = 1.125,
                                         .mean = chains->chains[0].mean,
                                         .deviation = chains->chains[0].deviation,
                                         .scores = chains->chains[0].scores};
  chains->chains[1].divergences = 4, chains->chains[1].saturations = 6, chains->chains[1].leapfrogs = 7;
  chains->chains[1].acceptance = 0.5, chains->chains[1].step_size = 0.25,
  chains->chains[1].energy_fraction = 0.5;
  for (size_t c = 0; c < 2; c++)
    for (size_t q = 0; q < 2; q++) set_score(&chains->chains[c].scores[q], 10 * (double)c + (double)q);
  return made;
}

static void chains_and_their_scores(void **state) {
  (void)state;
  ReportBench made = make_chains();
  RpinnText text = report_text(&made);
  check_lines(&text, "Chains: 2\nDraws of each: 12\nWarmup: 9\nMetric: diagonal\nStart: glorot");
  check_lines(&text, "|largest R-hat|least bulk ESS|least tail ESS|R-hat above 1.01|\n\n"
                     "u|1.010|450|460|0 of 3|\nbend|1.250|111|321|2 of 3|\nparameters|2.500|33|44|1 of 14|");
  check_lines(&text, "chain|acceptance|step size|leapfrogs|divergences|at largest depth|E-BFMI|\n\n"
                     "1|81.5 %|0.0125|123456|3|5|1.12|\n2|50.0 %|0.250|7|4|6|0.500|");
  check_lines(&text, "|chain|rl2|linf|mean std|LPP|LPP table|coverage|\n\n"
                     "u|1|0.100|0.200|0.300|0.4000|0.5000|60.0 %|\nu|2|10.1|10.2|10.3|10.40|10.50|70.0 %|\n"
                     "bend|1|1.10|1.20|1.30|1.400|1.500|61.0 %|\nbend|2|11.1|11.2|11.3|11.40|11.50|71.0 %|");
  check_lines(&text, "R-hat of 9 predicted numbers; 2 above 1.01");
  check_lines(&text, "R-hat of 14 parameters; 1 above 1.01");
  rpinn_text_free(&text);
  report_bench_close(&made);
}

/* ---- the prior ---- */

/* Three scales with figures by hand, the middle one chosen. */
static void set_choice(RpinnRun *run, size_t chosen, bool at_minimum) {
  run->prior = (RpinnPriorChoice){.rule = RPINN_SCALE_LOO,
                                  .num_trials = 3,
                                  .chosen = chosen,
                                  .at_minimum = at_minimum,
                                  .trials = {{0.25, 2, {9, 30}, 1, true, 9, -20.5, -14.5, 1.5},
                                             {0.5, 3, {7.5, 6.75, 7}, 3, false, 6.75, -10.75, -11, 0.875},
                                             {2, 1, {3}, 1, true, 3, -12.25, -18, 0.5}}};
}

static void a_chosen_prior(void **state) {
  (void)state;
  ReportBench made = make_members();
  RpinnText text = report_text(&made);
  assert_null(strstr(text.bytes, "chosen from the data"));
  rpinn_text_free(&text);
  set_choice(made.run, 1, true);
  text = report_text(&made);
  check_lines(&text,
              "The scale 0.5000 was chosen from the data by loo: the smallest scale within one nat of the "
              "best leave-one-out sum, and within five of the best evidence among these.");
  check_lines(&text, "scale|leave-one-out|log evidence|loss|misfit|starts at the minimum||\n\n"
                     "0.2500|-14.500|-20.500|9|1.50|1 of 2||\n"
                     "0.5000|-11|-10.750|6.7500|0.875|3 of 3|chosen, too few|\n"
                     "2|-18|-12.250|3|0.500|1 of 1||");
  assert_non_null(strstr(text.bytes, "of the model linearised at the most probable parameters under"));
  assert_null(strstr(text.bytes, "that was tried"));
  assert_null(strstr(text.bytes, "of the ladder"));
  rpinn_text_free(&text);
  set_choice(made.run, 2, false);
  text = report_text(&made);
  check_lines(&text, "This is the largest scale that was tried: a larger one may do better.");
  check_lines(&text, "scale|leave-one-out|log evidence|loss|misfit|members converged||");
  assert_non_null(strstr(text.bytes, "of the model linearised at a few rPINN members under"));
  rpinn_text_free(&text);
  set_choice(made.run, 0, false);
  text = report_text(&made);
  check_lines(&text,
              "This is the smallest scale of the ladder: a narrower prior would do as well for the data.");
  rpinn_text_free(&text);
  report_bench_close(&made);
}

/* ---- several runs ---- */

static void runs_side_by_side(void **state) {
  (void)state;
  static const char *const other[] = {"method", "ensemble", "samples", "4", "iterations",
                                      "10",     "seed",     "18",      NULL};
  ReportBench made[2] = {make_members(), report_bench(beam, other)};
  for (size_t k = 0; k < 3; k++) set_score(&made[1].run->results.scores[k], 5 + (double)k);
  made[1].run->seconds = 360;
  RpinnRun *runs[2] = {made[0].run, made[1].run};
  RpinnText page = {0};
  RpinnReport report = {.context = made[0].bench.context, .page = &page};
  bench_require(&made[0].bench, rpinn_report_comparison(&report, 2, runs), "comparison");
  RpinnText text = read_page(page.bytes);
  char head[256];
  snprintf(head, sizeof head,
           "run|directory|method|draws|seed|wall time|\n\nrpinn|%.40s|rpinn|3|17|42.0 s|\n"
           "ensemble|%.40s|ensemble|4|18|6.0 min|",
           runs[0]->folder, runs[1]->folder);
  check_lines(&text, head);
  check_lines(&text, "u\n\n|rl2|linf|mean std|LPP|LPP table|coverage|95 % interval|CRPS|\n\n"
                     "rpinn|0.100|0.200|0.300|0.4000|0.5000|60.0 %|90.0 %|0.800|\n"
                     "ensemble|5.10|5.20|5.30|5.400|5.500|65.0 %|95.0 %|5.80|");
  check_lines(&text, "later, held out\n\n|rl2|linf|mean std|LPP|LPP table|coverage|95 % interval|CRPS|\n\n"
                     "rpinn|2.10|2.20|2.30|2.400|2.500|62.0 %|92.0 %|2.80|\n"
                     "ensemble|7.10|7.20|7.30|7.400|7.500|67.0 %|97.0 %|7.80|");
  check_lines(&text, "What differs\n\n|rpinn|ensemble|\n\nmethod|rpinn|ensemble|\nsamples|3|4|\nseed|17|18|");
  rpinn_text_free(&text);
  rpinn_text_free(&page);
  for (size_t k = 0; k < 2; k++) report_bench_close(&made[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scores_and_unknowns), cmocka_unit_test(members_and_terms),
      cmocka_unit_test(facts_and_settings),  cmocka_unit_test(chains_and_their_scores),
      cmocka_unit_test(a_chosen_prior),      cmocka_unit_test(runs_side_by_side)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
