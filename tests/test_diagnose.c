/* From CmdStan's files to a verdict: which rows and columns count, and when each finding is made. */
#include "check.h"

#include "chain_verdict.h"
#include "cmdstan_csv.h"
#include "json_reader.h"
#include "rpinn/rpinn.h"

static const double nothing = (double)NAN;

/* ---- files ---- */

static RpinnCmdstanChain *parse(RpinnArena *arena, const char *text) {
  RpinnContext *context = rpinn_context_create();
  RpinnCmdstanChain *chain;
  RpinnStatus status = rpinn_cmdstan_csv_parse(context, arena, "chain.csv", text, strlen(text), &chain);
  check_true(status == RPINN_OK, "%s", rpinn_context_error(context)->message);
  rpinn_context_destroy(context);
  return chain;
}

static void rows_that_count(void **state) {
  (void)state;
  RpinnArena *arena = rpinn_arena_create();
  RpinnCmdstanChain *chain =
      parse(arena, "# num_warmup = 5 (Default)\n# save_warmup = 0 (Default)\n# thin = 1\n"
                   "#   max_depth = 8\nlp__,treedepth__,x\n# Adaptation terminated\n"
                   "-1,2,0.5\n\n-2,8,nan\n-3,1,-inf\n# Elapsed Time: 1\n");
  assert_int_equal(chain->num_draws, 3);
  assert_int_equal(chain->num_warmup_rows, 0);
  assert_int_equal(chain->max_depth, 8);
  assert_int_equal(chain->header_line, 5);
  assert_int_equal(chain->last_line, 10);
  const double *x = rpinn_cmdstan_csv_column(chain, "x");
  assert_true(x[0] == 0.5 && isnan(x[1]) && x[2] == -(double)INFINITY);
  assert_null(rpinn_cmdstan_csv_column(chain, "energy__"));
  /* Of five iterations every second is written: the first, the third and the fifth. */
  chain =
      parse(arena,
            "# num_warmup = 5\n# save_warmup = true\n# thin = 2\nlp__,x\n1,1\n1,2\n1,3\n# Adaptation\n1,4\n");
  assert_int_equal(chain->num_warmup_rows, 3);
  assert_int_equal(chain->num_draws, 1);
  assert_true(rpinn_cmdstan_csv_column(chain, "x")[0] == 4);
  /* The configuration ends where the names begin. */
  chain = parse(arena, "# num_warmup = 5\n# save_warmup = 0\nlp__,x\n# save_warmup = 1\n1,1\n");
  assert_int_equal(chain->num_draws, 1);
  rpinn_arena_destroy(arena);
}

/* ---- the verdict ---- */

static RpinnScalarHealth scalar(const char *name, double rhat, double bulk, double tail) {
  RpinnConvergence statistics = {.rhat = rhat, .ess_bulk = bulk, .ess_tail = tail};
  return (RpinnScalarHealth){.name = name, .statistics = statistics};
}

static const RpinnChainFinding *find(const RpinnChainFindings *findings, RpinnChainFindingKind kind) {
  for (size_t i = 0; i < findings->num_findings; i++)
    if (findings->findings[i].kind == kind) return &findings->findings[i];
  return NULL;
}

static void limits(void **state) {
  (void)state;
  RpinnChainHealth chains[4];
  RpinnScalarHealth scalars[3];
  RpinnChainEvidence evidence = {.num_chains = 4,
                                 .num_draws = 1000,
                                 .num_scalars = 3,
                                 .chains = chains,
                                 .scalars = scalars,
                                 .has_divergences = true,
                                 .max_depth = 10};
  /* At every limit, but not beyond. */
  for (size_t c = 0; c < 4; c++) chains[c] = (RpinnChainHealth){.energy_fraction = 0.3, .acceptance = 0.8};
  for (size_t i = 0; i < 3; i++) scalars[i] = scalar("abc", 1.01, 400, 400);
  RpinnChainFindings findings = rpinn_chain_findings(&evidence);
  assert_true(findings.healthy && findings.num_findings == 0);
  /* What is unknown is no fault. */
  for (size_t c = 0; c < 4; c++) chains[c].energy_fraction = chains[c].acceptance = nothing;
  scalars[2] = scalar("one", nothing, nothing, nothing);
  scalars[2].constant = true;
  assert_true(rpinn_chain_findings(&evidence).healthy);
  /* Beyond each of them, one at a time. */
  scalars[1] = scalar("apart", 1.5, 401, 402);
  findings = rpinn_chain_findings(&evidence);
  const RpinnChainFinding *finding = find(&findings, RPINN_FINDING_RHAT);
  assert_true(!findings.healthy && findings.num_findings == 1 && finding);
  assert_true(finding->count == 1 && finding->worst == 1.5 && !strcmp(finding->worst_name, "apart"));
  check_true(strstr(finding->what, "1 of 3 scalars") && strstr(finding->what, "'apart'"), "%s",
             finding->what);
  assert_non_null(strstr(finding->advice, "Do not use these draws"));
  scalars[0] = scalar("slow", 1.01, 399, 500);
  scalars[1] = scalar("slower", 1.01, 200, 500);
  findings = rpinn_chain_findings(&evidence);
  finding = find(&findings, RPINN_FINDING_ESS_BULK);
  assert_true(!findings.healthy && findings.num_findings == 1 && finding && finding->count == 2);
  assert_true(!strcmp(finding->worst_name, "slower") && strstr(finding->advice, "about 2 times"));
  scalars[0] = scalar("slow", 1.01, 500, 399);
  scalars[1] = scalar("fine", 1, 500, 500);
  findings = rpinn_chain_findings(&evidence);
  assert_true(!findings.healthy && findings.num_findings == 1 && find(&findings, RPINN_FINDING_ESS_TAIL));
  scalars[0] = scalar("strange", nothing, nothing, nothing);
  findings = rpinn_chain_findings(&evidence);
  assert_true(!findings.healthy && findings.num_findings == 1 &&
              find(&findings, RPINN_FINDING_NO_STATISTICS));
  scalars[0] = scalar("fine", 1, 500, 500);
  chains[2].energy_fraction = 0.29;
  findings = rpinn_chain_findings(&evidence);
  finding = find(&findings, RPINN_FINDING_ENERGY);
  assert_true(!findings.healthy && findings.num_findings == 1 && finding && strstr(finding->what, "chain 3"));
  chains[2].energy_fraction = 1;
  chains[0].num_divergent = 1, chains[3].num_divergent = 3;
  findings = rpinn_chain_findings(&evidence);
  finding = find(&findings, RPINN_FINDING_DIVERGENCES);
  assert_true(!findings.healthy && findings.num_findings == 1 && finding && finding->count == 4);
  check_relative(finding->worst, 0.001, 1e-15);
  check_true(strstr(finding->what, "4 of 4000 trajectories diverged (0.1 %)"), "%s", finding->what);
  chains[0].num_divergent = chains[3].num_divergent = 0;
  for (size_t c = 0; c < 4; c++) chains[c].step_size = c == 2 ? 1.01e-7 : 1e-3; /* just not */
  assert_true(rpinn_chain_findings(&evidence).healthy);
  chains[2].step_size = 4.5e-11;
  findings = rpinn_chain_findings(&evidence);
  finding = find(&findings, RPINN_FINDING_STUCK);
  assert_true(!findings.healthy && findings.num_findings == 1 && finding && finding->count == 1);
  check_true(strstr(finding->what, "step size of chain 3 is 4.5e-11"), "%s", finding->what);
  assert_non_null(strstr(finding->advice, "double"));
  for (size_t c = 0; c < 4; c++) chains[c].step_size = nothing;
  assert_true(rpinn_chain_findings(&evidence).healthy);
  /* Remarks do not make draws worthless. */
  chains[1].num_at_limit = 40;
  findings = rpinn_chain_findings(&evidence);
  finding = find(&findings, RPINN_FINDING_DEPTH);
  assert_true(findings.healthy && findings.num_findings == 1 && finding && finding->count == 40);
  chains[0].num_at_limit = 0;
  evidence.num_chains = 1;
  findings = rpinn_chain_findings(&evidence);
  assert_true(findings.healthy && find(&findings, RPINN_FINDING_ONE_CHAIN));
}

/* The worst rows are shown, the worst first, and JSON has them all. */
static void reports(void **state) {
  (void)state;
  enum { SCALARS = 30 };
  RpinnChainHealth chains[2] = {{.energy_fraction = 1, .acceptance = 0.8},
                                {.energy_fraction = 1, .acceptance = 0.8}};
  RpinnScalarHealth scalars[SCALARS];
  char names[SCALARS][16];
  for (size_t i = 0; i < SCALARS; i++) {
    snprintf(names[i], sizeof names[i], "par.%zu.", i);
    scalars[i] = scalar(names[i], 1 + 1e-4 * (double)i, 1e6, 1e6);
  }
  scalars[3] = scalar(names[3], nothing, nothing, nothing);
  scalars[29] = scalar(names[29], nothing, nothing, nothing);
  scalars[29].constant = true;
  RpinnChainEvidence evidence = {
      .num_chains = 2, .num_draws = 10, .num_scalars = SCALARS, .chains = chains, .scalars = scalars};
  RpinnChainFindings findings = rpinn_chain_findings(&evidence);
  RpinnText text = {0}, json = {0};
  assert_true(rpinn_chain_report_tables(&evidence, false, &text));
  rpinn_chain_report_findings(&findings, &text);
  const char *worst = strstr(text.bytes, "par.3."), *next = strstr(text.bytes, "par.28.");
  assert_true(worst && next && worst < next && strstr(text.bytes, "the worst 20 of 30"));
  assert_true(strstr(text.bytes, "par.10.") && !strstr(text.bytes, "par.9.") &&
              !strstr(text.bytes, "par.29."));
  assert_non_null(strstr(text.bytes, "not ok: 1 problem;"));
  rpinn_text_free(&text);
  assert_true(rpinn_chain_report_tables(&evidence, true, &text));
  for (size_t i = 0; i < SCALARS; i++) assert_non_null(strstr(text.bytes, names[i]));
  rpinn_chain_report_json(&evidence, &findings, NULL, &json);
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  const RpinnJsonValue *value;
  assert_int_equal(rpinn_json_parse(context, arena, "report", json.bytes, json.length, &value), RPINN_OK);
  size_t count = 0;
  for (const RpinnJsonValue *item = rpinn_json_find(value, "scalars")->first; item; item = item->next)
    count++;
  assert_int_equal(count, SCALARS);
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
  rpinn_text_free(&text);
  rpinn_text_free(&json);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_that_count), cmocka_unit_test(limits),
                                     cmocka_unit_test(reports)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
