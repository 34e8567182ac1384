/* The tables of chains by what diagnostics.csv and summary.json say of them. Network weights have symmetries, so that chains may agree in
 * all they predict while their parameters do not mix: predictions and unknowns decide, parameters only when asked. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chain_verdict.h"
#include "csv_table.h"
#include "diagnose_run.h"
#include "folders.h"

typedef struct ChainDiagnosis {
  const RpinnRunDiagnosis *whole;
  RpinnChainHealth *health; /* [num_chains] */
  size_t num_superchains;
  size_t num_judged, num_parameters;
  RpinnScalarHealth *judged;     /* predictions, held-out terms and unknowns; parameters too when strict */
  RpinnScalarHealth *parameters; /* of networks */
} ChainDiagnosis;

/* ---- reading ---- */

/* An empty cell is a statistic that there is not; R-hat is infinite where chains stand still at different places. */
static RpinnStatus read_cell(ChainDiagnosis *diagnosis, const RpinnCsvTable *table, size_t row,
                             const char *name, double *value) {
  int column = rpinn_csv_column(table, name);
  *value = (double)NAN;
  if (column < 0)
    return rpinn_fail_at(diagnosis->whole->context, table->header,
                         "no column '%s'; expected the file that rpinn run wrote", name);
  const char *text = table->text[row * table->num_columns + (size_t)column];
  if (!*text || rpinn_number_parse(text, value)) return RPINN_OK;
  return rpinn_csv_number(diagnosis->whole->context, table, row, (size_t)column, value);
}

static RpinnStatus read_scalar(ChainDiagnosis *diagnosis, const RpinnCsvTable *table, size_t row,
                               RpinnScalarHealth *scalar) {
  const char **cells = table->text + row * table->num_columns;
  char name[128];
  RpinnConvergence *statistics = &scalar->statistics;
  const struct {
    const char *name;
    double *value;
  } columns[] = {{"mean", &statistics->mean},
                 {"mcse", &statistics->mcse_mean},
                 {"sd", &statistics->sd},
                 {"q5", &statistics->q5},
                 {"median", &statistics->median},
                 {"q95", &statistics->q95},
                 {"ess_bulk", &statistics->ess_bulk},
                 {"ess_tail", &statistics->ess_tail},
                 {"rhat", &statistics->rhat},
                 {"rhat_paper", &statistics->rhat_paper}};
  for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++)
    RPINN_TRY(read_cell(diagnosis, table, row, columns[k].name, columns[k].value));
  statistics->mcse_sd =
      (double)NAN; /* runs that were made before the column was there are read all the same */
  if (rpinn_csv_column(table, "mcse_sd") >= 0)
    RPINN_TRY(read_cell(diagnosis, table, row, "mcse_sd", &statistics->mcse_sd));
  scalar->nested_rhat = 0;
  if (diagnosis->num_superchains)
    RPINN_TRY(read_cell(diagnosis, table, row, "rhat_nested", &scalar->nested_rhat));
  if (!strcmp(cells[0], "unknown"))
    snprintf(name, sizeof name, "%.100s", cells[1]);
  else
    snprintf(name, sizeof name, "%.80s%s[%.20s]", cells[1], strcmp(cells[0], "parameter") ? "" : " parameter",
             cells[2]);
  scalar->name = rpinn_arena_copy_text(diagnosis->whole->arena, name, strlen(name));
  /* A number that never changes has no spread, and nothing to judge: the boundary of an exact condition, say. */
  scalar->constant = statistics->sd == 0;
  return scalar->name ? RPINN_OK : rpinn_fail_memory(diagnosis->whole->context);
}

static RpinnStatus read_scalars(ChainDiagnosis *diagnosis) {
  char path[RPINN_PATH_SIZE];
  RpinnCsvTable *table;
  snprintf(path, sizeof path, "%s/diagnostics.csv", diagnosis->whole->run.folder);
  RPINN_TRY(rpinn_csv_read_file(diagnosis->whole->context, diagnosis->whole->arena, path, &table));
  if (table->num_columns < 4 || rpinn_csv_column(table, "group") != 0 ||
      rpinn_csv_column(table, "name") != 1 || rpinn_csv_column(table, "index") != 2)
    return rpinn_fail_at(diagnosis->whole->context, table->header,
                         "the columns do not begin with group,name,index; expected "
                         "the file that rpinn run wrote");
  diagnosis->judged = RPINN_ARENA_NEW(diagnosis->whole->arena, RpinnScalarHealth, table->num_rows);
  diagnosis->parameters = RPINN_ARENA_NEW(diagnosis->whole->arena, RpinnScalarHealth, table->num_rows);
  if (!diagnosis->judged || !diagnosis->parameters) return rpinn_fail_memory(diagnosis->whole->context);
  for (size_t row = 0; row < table->num_rows; row++) {
    bool is_parameter = !strcmp(table->text[row * table->num_columns], "parameter");
    RpinnScalarHealth scalar;
    RPINN_TRY(read_scalar(diagnosis, table, row, &scalar));
    if (is_parameter) diagnosis->parameters[diagnosis->num_parameters++] = scalar;
    if (!is_parameter || diagnosis->whole->options->strict)
      diagnosis->judged[diagnosis->num_judged++] = scalar;
  }
  return RPINN_OK;
}

static RpinnStatus read_evidence(ChainDiagnosis *diagnosis, RpinnChainEvidence *evidence) {
  const RpinnJsonValue *chains, *list;
  RPINN_TRY(rpinn_json_require(diagnosis->whole->context, diagnosis->whole->run.summary, "chains",
                               RPINN_JSON_OBJECT, &chains));
  RPINN_TRY(rpinn_json_require(diagnosis->whole->context, chains, "per_chain", RPINN_JSON_ARRAY, &list));
  double told = rpinn_summary_number(chains, "count");
  if (!(told > 0 && told <= RPINN_MAX_CHAINS))
    return rpinn_fail_at(diagnosis->whole->context, chains->place,
                         "the number of chains is %g; expected 1 to %d", told, RPINN_MAX_CHAINS);
  size_t num_chains = (size_t)told, c = 0;
  diagnosis->health = RPINN_ARENA_NEW(diagnosis->whole->arena, RpinnChainHealth, num_chains);
  if (!diagnosis->health) return rpinn_fail_memory(diagnosis->whole->context);
  for (const RpinnJsonValue *chain = list->first; chain && c < num_chains; chain = chain->next, c++)
    diagnosis->health[c] =
        (RpinnChainHealth){.energy_fraction = rpinn_summary_number(chain, "ebfmi"),
                           .acceptance = rpinn_summary_number(chain, "acceptance"),
                           .step_size = rpinn_summary_number(chain, "step_size"),
                           .num_divergent = (size_t)rpinn_summary_number(chain, "divergences"),
                           .num_at_limit = (size_t)rpinn_summary_number(chain, "saturations")};
  if (c != num_chains)
    return rpinn_fail_at(diagnosis->whole->context, list->place, "%zu chains are described; expected %zu", c,
                         num_chains);
  diagnosis->num_superchains = (size_t)fmax(0, rpinn_summary_number(chains, "superchains"));
  RPINN_TRY(read_scalars(diagnosis));
  *evidence = (RpinnChainEvidence){.num_chains = num_chains,
                                   .num_draws = (size_t)rpinn_summary_number(chains, "draws"),
                                   .num_scalars = diagnosis->num_judged,
                                   .num_superchains = diagnosis->num_superchains,
                                   .chains = diagnosis->health,
                                   .scalars = diagnosis->judged,
                                   .has_divergences = true,
                                   .max_depth = (size_t)rpinn_summary_number(chains, "max_depth")};
  return RPINN_OK;
}

/* ---- judging ---- */

static void remark_on_parameters(const ChainDiagnosis *diagnosis, RpinnText *text) {
  const RpinnScalarHealth *worst = NULL;
  size_t num_unmixed = 0;
  for (size_t i = 0; i < diagnosis->num_parameters; i++) {
    const RpinnScalarHealth *parameter = &diagnosis->parameters[i];
    num_unmixed += parameter->statistics.rhat > RPINN_RHAT_LIMIT;
    if (!worst || parameter->statistics.rhat > worst->statistics.rhat) worst = parameter;
  }
  if (!num_unmixed || diagnosis->whole->options->strict) return;
  rpinn_text_append(
      text,
      "\nremark: R-hat is above %.2f for %zu of %zu parameters of networks (worst %s, %.3f).\n"
      "        Weights have symmetries: chains may agree in all they predict while these do not mix, so\n"
      "        that they do not count here; --strict lets them.\n",
      RPINN_RHAT_LIMIT, num_unmixed, diagnosis->num_parameters, worst->name, worst->statistics.rhat);
}

RpinnStatus rpinn_judge_chains(RpinnRunDiagnosis *diagnosis, RpinnText *text) {
  ChainDiagnosis own = {.whole = diagnosis};
  RpinnChainEvidence evidence;
  RPINN_TRY(read_evidence(&own, &evidence));
  rpinn_summary_verdict(diagnosis->run.summary, &evidence, &diagnosis->verdict);
  RpinnChainFindings findings = rpinn_chain_findings(&evidence);
  if (diagnosis->options->strict) diagnosis->has_problems = !findings.healthy;
  if (diagnosis->options->json) {
    rpinn_chain_report_json(&evidence, &findings, &diagnosis->verdict, text);
    return RPINN_OK;
  }
  if (!rpinn_chain_report_tables(&evidence, diagnosis->options->all, text))
    return rpinn_fail_memory(diagnosis->context);
  if (diagnosis->options->strict) rpinn_chain_report_findings(&findings, text);
  remark_on_parameters(&own, text);
  return RPINN_OK;
}
