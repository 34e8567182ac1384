/* What rpinn diagnose says, word for word: each finding at its limit, and the tables with known numbers. */
#include "check.h"

#include "chain_verdict.h"
#include "json_reader.h"

enum { CHAINS = 4, SCALARS = 3 };
static const double nothing = (double)NAN;

typedef struct Evidence {
  RpinnChainHealth chains[CHAINS];
  RpinnScalarHealth scalars[SCALARS];
  RpinnChainEvidence evidence;
} Evidence;

/* Sound chains of 1000 draws. */
static void make_sound(Evidence *made) {
  static const char *const names[SCALARS] = {"lp__", "alpha", "beta.1"};
  static const char *const files[CHAINS] = {"c1.csv", "c2.csv", "c3.csv", "c4.csv"};
  *made = (Evidence){.evidence = {.num_chains = CHAINS,
                                  .num_draws = 1000,
                                  .num_scalars = SCALARS,
                                  .chains = made->chains,
                                  .scalars = made->scalars,
                                  .has_divergences = true,
                                  .max_depth = 10}};
  for (size_t c = 0; c < CHAINS; c++)
    made->chains[c] =
        (RpinnChainHealth){.name = files[c], .energy_fraction = 0.9, .acceptance = 0.8, .step_size = 0.25};
  for (size_t i = 0; i < SCALARS; i++)
    made->scalars[i] = (RpinnScalarHealth){.name = names[i],
                                           .statistics = {.rhat = 1.001, .ess_bulk = 1500, .ess_tail = 1600}};
}

/* The only finding. */
static void check_finding(const Evidence *made, RpinnChainFindingKind kind, bool is_problem, size_t count,
                          double worst, const char *what, const char *advice) {
  RpinnChainFindings findings = rpinn_chain_findings(&made->evidence);
  assert_int_equal(findings.num_findings, 1);
  const RpinnChainFinding *finding = &findings.findings[0];
  assert_int_equal(finding->kind, kind);
  assert_true(finding->is_problem == is_problem && findings.healthy == !is_problem);
  assert_int_equal(finding->count, count);
  if (isnan(worst))
    assert_true(isnan(finding->worst));
  else
    check_relative(finding->worst, worst, 1e-12);
  assert_string_equal(finding->what, what);
  assert_string_equal(finding->advice, advice);
}

static void disagreement(void **state) {
  (void)state;
  Evidence made;
  make_sound(&made);
  made.scalars[1].statistics.rhat = 1.02, made.scalars[2].statistics.rhat = 1.05;
  check_finding(&made, RPINN_FINDING_RHAT, true, 2, 1.05,
                "R-hat is above 1.01 for 2 of 3 scalars, up to 1.05 for 'beta.1': the chains disagree.",
                "Run the chains longer; if it stays, lengthen the warmup.");
  made.scalars[1].statistics.rhat = 1.1;
  check_finding(
      &made, RPINN_FINDING_RHAT, true, 2, 1.1,
      "R-hat is above 1.01 for 2 of 3 scalars, up to 1.1 for 'alpha': the chains disagree.",
      "Do not use these draws. Lengthen the warmup and run more draws; if R-hat stays, the posterior has "
      "separate modes or unidentified directions: look at the chains one by one, start them nearer to "
      "each other, or change the parameters or the prior.");
}

/* Of many short chains nested R-hat is asked for, and nothing of each by itself. */
static void superchains(void **state) {
  (void)state;
  Evidence made;
  make_sound(&made);
  made.evidence.num_superchains = 2;
  for (size_t i = 0; i < SCALARS; i++)
    made.scalars[i] = (RpinnScalarHealth){.name = made.scalars[i].name,
                                          .statistics = {.rhat = 3, .ess_bulk = nothing, .ess_tail = 1},
                                          .nested_rhat = 1.009};
  made.chains[1].energy_fraction = 0.1;
  assert_int_equal(rpinn_chain_findings(&made.evidence).num_findings, 0);
  made.scalars[1].nested_rhat = 1.02, made.scalars[2].nested_rhat = 1.05;
  check_finding(
      &made, RPINN_FINDING_NESTED_RHAT, true, 2, 1.05,
      "Nested R-hat of 2 superchains is above 1.01 for 2 of 3 scalars, up to 1.05 for 'beta.1': chains have "
      "not forgotten where they began.",
      "Lengthen the warmup. Where a start has few chains, more chains make nested R-hat smaller, too.");
  assert_int_equal(rpinn_chain_findings(&made.evidence).findings[0].severity, RPINN_SEVERITY_CAUTION);
  made.scalars[2].nested_rhat = 1.1;
  assert_int_equal(rpinn_chain_findings(&made.evidence).findings[0].severity, RPINN_SEVERITY_BAD);
  check_relative(rpinn_scalar_badness(&made.scalars[1], CHAINS), 2, 1e-9);
  made.scalars[1].nested_rhat = made.scalars[2].nested_rhat = nothing;
  assert_int_equal(rpinn_chain_findings(&made.evidence).findings[0].kind, RPINN_FINDING_NO_STATISTICS);
}

static void small_sizes(void **state) {
  (void)state;
  Evidence made;
  make_sound(&made);
  made.scalars[0].statistics.ess_bulk = 399, made.scalars[2].statistics.ess_bulk = 99.95;
  check_finding(
      &made, RPINN_FINDING_ESS_BULK, true, 2, 99.95,
      "The effective size of the bulk is below 400 (100 per chain) for 2 of 3 scalars, down to 100.0 for "
      "'beta.1': means and medians are uncertain, and so is R-hat.",
      "Draw about 5 times as many; if that is too much, lengthen the warmup or change the parameters so "
      "that they depend less on each other.");
  make_sound(&made);
  made.scalars[1].statistics.ess_tail = 0.3;
  check_finding(
      &made, RPINN_FINDING_ESS_TAIL, true, 1, 0.3,
      "The effective size of the tails is below 400 (100 per chain) for 1 of 3 scalars, down to 0.3 for "
      "'alpha': 5 % and 95 % quantiles are uncertain.",
      "More draws alone would take too long (1334 times as many): lengthen the warmup or change the "
      "parameters so that they depend less on each other.");
  /* Beside chains that are clearly apart it means little. */
  made.scalars[1].statistics.rhat = 1.1;
  RpinnChainFindings findings = rpinn_chain_findings(&made.evidence);
  assert_int_equal(findings.num_findings, 2);
  assert_string_equal(findings.findings[1].advice,
                      "First make the chains agree: until then this number means little.");
  made.scalars[1].statistics.rhat = 1.09;
  findings = rpinn_chain_findings(&made.evidence);
  assert_non_null(strstr(findings.findings[1].advice, "More draws alone"));
}

/* Any statistic that is missing will do. */
static void missing_statistics(void **state) {
  (void)state;
  for (int which = 0; which < 3; which++) {
    Evidence made;
    make_sound(&made);
    RpinnConvergence *statistics = &made.scalars[1].statistics;
    *(which == 0 ? &statistics->rhat : which == 1 ? &statistics->ess_bulk : &statistics->ess_tail) = nothing;
    check_finding(
        &made, RPINN_FINDING_NO_STATISTICS, true, 1, nothing,
        "1 of 3 scalars cannot be judged, the first is 'alpha': draws are not finite or take only a few "
        "values, or there are too few of them (1000 per chain).",
        "Look at these draws; chains need at least 6 draws, and some hundreds to say anything.");
    made.scalars[1].constant = true;
    assert_int_equal(rpinn_chain_findings(&made.evidence).num_findings, 0);
  }
}

static void trajectories(void **state) {
  (void)state;
  Evidence made;
  make_sound(&made);
  made.chains[1].num_divergent = 5, made.chains[3].num_divergent = 3;
  check_finding(
      &made, RPINN_FINDING_DIVERGENCES, true, 8, 0.002,
      "8 of 4000 trajectories diverged (0.2 %), in 2 of 4 chains: there are regions that the chains cannot "
      "enter, and the draws are biased against them.",
      "Raise the target acceptance rate (0.9, 0.95, 0.99), which makes steps smaller; if divergences stay, "
      "change the parameters or the prior.");
  made.evidence.has_divergences = false;
  assert_int_equal(rpinn_chain_findings(&made.evidence).num_findings, 0);
  make_sound(&made);
  made.chains[0].num_at_limit = 40, made.chains[2].num_at_limit = 2;
  check_finding(
      &made, RPINN_FINDING_DEPTH, false, 42, 0.0105,
      "42 of 4000 trajectories (1.1 %) were cut off at the largest depth, 10: the draws remain valid, but "
      "neighbours depend on each other more than they need to.",
      "If the effective sizes are too small, allow a depth of 12 or lengthen the warmup, so that the step "
      "size and the metric fit better.");
  made.evidence.max_depth = 0; /* not known */
  assert_int_equal(rpinn_chain_findings(&made.evidence).num_findings, 0);
}

static void energies_and_steps(void **state) {
  (void)state;
  Evidence made;
  make_sound(&made);
  made.chains[1].energy_fraction = 0.299, made.chains[2].energy_fraction = 0.12;
  check_finding(
      &made, RPINN_FINDING_ENERGY, true, 2, 0.12,
      "E-BFMI is below 0.3 in 2 of 4 chains, lowest with 0.12 in chain 3: the energy changes too little "
      "from draw to draw to reach the tails.",
      "Lengthen the warmup; if it stays, the posterior has heavy tails or scales that vary from place to "
      "place: change the parameters (for example to non-centred ones) or the prior.");
  make_sound(&made);
  made.chains[1].step_size = 2e-6, made.chains[3].step_size = 1e-6;
  check_finding(
      &made, RPINN_FINDING_STUCK, true, 2, 1e-6,
      "2 of 4 chains are stuck: the step size of chain 4 is 1e-06, the largest of all 0.25. Its draws are "
      "where the warmup left it.",
      "Compute in double: where energies are large, rounding in float looks like an error of the step, and "
      "adaptation makes steps ever smaller. Or start nearer to the posterior, or lengthen the warmup.");
  made.chains[1].step_size = 0.25 * 1.0001e-4, made.chains[3].step_size = 0; /* just not, and unknown */
  assert_int_equal(rpinn_chain_findings(&made.evidence).num_findings, 0);
  make_sound(&made);
  made.evidence.num_chains = 1;
  check_finding(&made, RPINN_FINDING_ONE_CHAIN, false, 1, 1,
                "There is one chain, which cannot disagree with any other: R-hat compares its halves and "
                "cannot see modes that it never found.",
                "Run at least four chains from different starting points.");
}

/* ---- the page and the JSON ---- */

static void make_known(Evidence *made) {
  make_sound(made);
  made->scalars[1].statistics = (RpinnConvergence){.mean = 1.25,
                                                   .mcse_mean = 0.0123,
                                                   .sd = 2.5,
                                                   .mcse_sd = 0.03,
                                                   .q5 = -3.75,
                                                   .mcse_q5 = 0.04,
                                                   .median = 4.125,
                                                   .mcse_median = 0.05,
                                                   .q95 = 5.5,
                                                   .mcse_q95 = 0.06,
                                                   .ess_bulk = 1234.6,
                                                   .ess_tail = 2345.6,
                                                   .rhat = 1.0034,
                                                   .rhat_paper = 1.07};
  made->chains[1] = (RpinnChainHealth){.name = "second.csv",
                                       .energy_fraction = 0.654,
                                       .acceptance = 0.765,
                                       .step_size = 0.2,
                                       .num_divergent = 3,
                                       .num_at_limit = 7};
}

static void page_of_known_numbers(void **state) {
  (void)state;
  Evidence made;
  RpinnText text = {0};
  make_known(&made);
  RpinnChainFindings findings = rpinn_chain_findings(&made.evidence);
  assert_true(rpinn_chain_report_tables(&made.evidence, false, &text));
  rpinn_chain_report_findings(&findings, &text);
  static const char *const lines[] = {
      "4 chains of 1000 draws, 3 scalars\n",
      "               mean       mcse         sd        5 %     median       95 %  ess bulk  ess tail    "
      "R-hat\n",
      "  alpha        1.25      0.012        2.5      -3.75      4.125        5.5      1235      2346   "
      "1.0034\n",
      "\n  chain acceptance   E-BFMI divergences at max depth\n",
      "  1          0.800    0.900           0            0  c1.csv\n"
      "  2          0.765    0.654           3            7  second.csv\n",
      "\nproblem: 3 of 4000 trajectories diverged (0.075 %), in 1 of 4 chains",
      "\nremark: 7 of 4000 trajectories (0.18 %) were cut off",
      "\nnot ok: 1 problem; do not rely on these draws yet\n"};
  for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++)
    check_true(strstr(text.bytes, lines[k]) != NULL, "no\n%sin\n%s", lines[k], text.bytes);
  rpinn_text_free(&text);
  text = (RpinnText){0};
  make_sound(&made);
  findings = rpinn_chain_findings(&made.evidence);
  assert_true(rpinn_chain_report_tables(&made.evidence, false, &text));
  rpinn_chain_report_findings(&findings, &text);
  assert_non_null(strstr(text.bytes, "\nok: the chains agree and their draws can be used\n"));
  rpinn_text_free(&text);
}

static void check_number(const RpinnJsonValue *object, const char *key, double expected) {
  double found;
  check_true(rpinn_json_as_number(rpinn_json_find(object, key), &found) && found == expected, "%s is not %g",
             key, expected);
}

static void json_of_known_numbers(void **state) {
  (void)state;
  Evidence made;
  RpinnText text = {0};
  make_known(&made);
  RpinnChainFindings findings = rpinn_chain_findings(&made.evidence);
  rpinn_chain_report_json(&made.evidence, &findings, NULL, &text);
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  const RpinnJsonValue *page;
  assert_int_equal(rpinn_json_parse(context, arena, "page", text.bytes, text.length, &page), RPINN_OK);
  assert_false(rpinn_json_find(page, "healthy")->boolean);
  check_number(page, "draws", 1000);
  const RpinnJsonValue *chain = rpinn_json_find(page, "chains")->first->next;
  assert_string_equal(rpinn_json_find(chain, "file")->text, "second.csv");
  static const struct {
    const char *key;
    double value;
  } of_chain[] = {{"acceptance", 0.765}, {"energy_fraction", 0.654}, {"divergences", 3}, {"at_max_depth", 7}},
    of_scalar[] = {{"mean", 1.25},   {"mcse_mean", 0.0123}, {"sd", 2.5},          {"mcse_sd", 0.03},
                   {"q5", -3.75},    {"mcse_q5", 0.04},     {"median", 4.125},    {"mcse_median", 0.05},
                   {"q95", 5.5},     {"mcse_q95", 0.06},    {"ess_bulk", 1234.6}, {"ess_tail", 2345.6},
                   {"rhat", 1.0034}, {"rhat_paper", 1.07}};
  for (size_t k = 0; k < sizeof of_chain / sizeof of_chain[0]; k++)
    check_number(chain, of_chain[k].key, of_chain[k].value);
  const RpinnJsonValue *scalar = rpinn_json_find(page, "scalars")->first->next;
  assert_string_equal(rpinn_json_find(scalar, "name")->text, "alpha");
  for (size_t k = 0; k < sizeof of_scalar / sizeof of_scalar[0]; k++)
    check_number(scalar, of_scalar[k].key, of_scalar[k].value);
  const RpinnJsonValue *finding = rpinn_json_find(page, "findings")->first;
  assert_string_equal(rpinn_json_find(finding, "finding")->text, "divergences");
  assert_true(rpinn_json_find(finding, "problem")->boolean);
  check_number(finding, "count", 3);
  check_number(finding, "worst", 0.00075);
  assert_string_equal(rpinn_json_find(finding->next, "finding")->text, "depth");
  assert_false(rpinn_json_find(finding->next, "problem")->boolean);
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
  rpinn_text_free(&text);
}

/* How far beyond the limits: for R-hat in units of 0.01, for sizes the share that is missing. */
static void badness(void **state) {
  (void)state;
  RpinnScalarHealth scalar = {.statistics = {.rhat = 1.02, .ess_bulk = 400, .ess_tail = 800}};
  check_relative(rpinn_scalar_badness(&scalar, 4), 2, 1e-9);
  scalar.statistics.ess_tail = 100;
  check_relative(rpinn_scalar_badness(&scalar, 4), 4, 1e-9);
  scalar.statistics.ess_bulk = 80;
  check_relative(rpinn_scalar_badness(&scalar, 4), 5, 1e-9);
  scalar.statistics.rhat = nothing;
  assert_true(rpinn_scalar_badness(&scalar, 4) == (double)INFINITY);
  scalar.constant = true;
  assert_true(rpinn_scalar_badness(&scalar, 4) == -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(disagreement),
                                     cmocka_unit_test(superchains),
                                     cmocka_unit_test(small_sizes),
                                     cmocka_unit_test(missing_statistics),
                                     cmocka_unit_test(trajectories),
                                     cmocka_unit_test(energies_and_steps),
                                     cmocka_unit_test(page_of_known_numbers),
                                     cmocka_unit_test(json_of_known_numbers),
                                     cmocka_unit_test(badness)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
