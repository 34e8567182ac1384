/* A finished run to a verdict: chains by what diagnostics.csv and summary.json say of them, members and particles by
 * their own. Network weights have symmetries, so that chains may agree in all they predict while their parameters do
 * not mix: predictions and unknowns decide, parameters only when asked. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "chain_verdict.h"
#include "csv_table.h"
#include "finished_run.h"
#include "json_writer.h"
#include "method.h"
#include "posterior_shape.h"
#include "rpinn/diagnose.h"
#include "run_folder.h"

typedef struct RunDiagnosis {
  RpinnContext *context;
  const RpinnDiagnoseOptions *options;
  RpinnArena *arena;
  RpinnFinishedRun run;
  const RpinnMethod *method;
  RpinnChainHealth *health; /* [num_chains] */
  size_t num_judged, num_parameters;
  RpinnScalarHealth *judged;     /* predictions, held-out terms and unknowns; parameters too when strict */
  RpinnScalarHealth *parameters; /* of networks */
} RunDiagnosis;

/* ---- reading ---- */

/* An empty cell is a statistic that there is not; R-hat is infinite where chains stand still at different places. */
static RpinnStatus read_cell(RunDiagnosis *diagnosis, const RpinnCsvTable *table, size_t row,
                             const char *name, double *value) {
  int column = rpinn_csv_column(table, name);
  *value = (double)NAN;
  if (column < 0)
    return rpinn_fail_at(diagnosis->context, table->header,
                         "no column '%s'; expected the file that rpinn run wrote", name);
  const char *text = table->text[row * table->num_columns + (size_t)column];
  if (!*text || rpinn_number_parse(text, value)) return RPINN_OK;
  return rpinn_csv_number(diagnosis->context, table, row, (size_t)column, value);
}

static RpinnStatus read_scalar(RunDiagnosis *diagnosis, const RpinnCsvTable *table, size_t row,
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
  if (!strcmp(cells[0], "unknown"))
    snprintf(name, sizeof name, "%.100s", cells[1]);
  else
    snprintf(name, sizeof name, "%.80s%s[%.20s]", cells[1], strcmp(cells[0], "parameter") ? "" : " parameter",
             cells[2]);
  scalar->name = rpinn_arena_copy_text(diagnosis->arena, name, strlen(name));
  /* A number that never changes has no spread, and nothing to judge: the boundary of an exact condition, say. */
  scalar->constant = statistics->sd == 0;
  return scalar->name ? RPINN_OK : rpinn_fail_memory(diagnosis->context);
}

static RpinnStatus read_scalars(RunDiagnosis *diagnosis) {
  char path[RPINN_PATH_SIZE];
  RpinnCsvTable *table;
  snprintf(path, sizeof path, "%s/diagnostics.csv", diagnosis->run.folder);
  RPINN_TRY(rpinn_csv_read_file(diagnosis->context, diagnosis->arena, path, &table));
  if (table->num_columns < 4 || rpinn_csv_column(table, "group") != 0 ||
      rpinn_csv_column(table, "name") != 1 || rpinn_csv_column(table, "index") != 2)
    return rpinn_fail_at(diagnosis->context, table->header,
                         "the columns do not begin with group,name,index; expected "
                         "the file that rpinn run wrote");
  diagnosis->judged = RPINN_ARENA_NEW(diagnosis->arena, RpinnScalarHealth, table->num_rows);
  diagnosis->parameters = RPINN_ARENA_NEW(diagnosis->arena, RpinnScalarHealth, table->num_rows);
  if (!diagnosis->judged || !diagnosis->parameters) return rpinn_fail_memory(diagnosis->context);
  for (size_t row = 0; row < table->num_rows; row++) {
    bool is_parameter = !strcmp(table->text[row * table->num_columns], "parameter");
    RpinnScalarHealth scalar;
    RPINN_TRY(read_scalar(diagnosis, table, row, &scalar));
    if (is_parameter) diagnosis->parameters[diagnosis->num_parameters++] = scalar;
    if (!is_parameter || diagnosis->options->strict) diagnosis->judged[diagnosis->num_judged++] = scalar;
  }
  return RPINN_OK;
}

static RpinnStatus read_evidence(RunDiagnosis *diagnosis, RpinnChainEvidence *evidence) {
  const RpinnJsonValue *chains, *list;
  RPINN_TRY(
      rpinn_json_require(diagnosis->context, diagnosis->run.summary, "chains", RPINN_JSON_OBJECT, &chains));
  RPINN_TRY(rpinn_json_require(diagnosis->context, chains, "per_chain", RPINN_JSON_ARRAY, &list));
  double told = rpinn_summary_number(chains, "count");
  if (!(told > 0 && told <= RPINN_MAX_CHAINS))
    return rpinn_fail_at(diagnosis->context, chains->place, "the number of chains is %g; expected 1 to %d",
                         told, RPINN_MAX_CHAINS);
  size_t num_chains = (size_t)told, c = 0;
  diagnosis->health = RPINN_ARENA_NEW(diagnosis->arena, RpinnChainHealth, num_chains);
  if (!diagnosis->health) return rpinn_fail_memory(diagnosis->context);
  for (const RpinnJsonValue *chain = list->first; chain && c < num_chains; chain = chain->next, c++)
    diagnosis->health[c] =
        (RpinnChainHealth){.energy_fraction = rpinn_summary_number(chain, "ebfmi"),
                           .acceptance = rpinn_summary_number(chain, "acceptance"),
                           .step_size = rpinn_summary_number(chain, "step_size"),
                           .num_divergent = (size_t)rpinn_summary_number(chain, "divergences"),
                           .num_at_limit = (size_t)rpinn_summary_number(chain, "saturations")};
  if (c != num_chains)
    return rpinn_fail_at(diagnosis->context, list->place, "%zu chains are described; expected %zu", c,
                         num_chains);
  RPINN_TRY(read_scalars(diagnosis));
  *evidence = (RpinnChainEvidence){.num_chains = num_chains,
                                   .num_draws = (size_t)rpinn_summary_number(chains, "draws"),
                                   .num_scalars = diagnosis->num_judged,
                                   .chains = diagnosis->health,
                                   .scalars = diagnosis->judged,
                                   .has_divergences = true,
                                   .max_depth = (size_t)rpinn_summary_number(chains, "max_depth")};
  return RPINN_OK;
}

/* ---- chains ---- */

static void remark_on_parameters(const RunDiagnosis *diagnosis, RpinnText *text) {
  const RpinnScalarHealth *worst = NULL;
  size_t num_unmixed = 0;
  for (size_t i = 0; i < diagnosis->num_parameters; i++) {
    const RpinnScalarHealth *parameter = &diagnosis->parameters[i];
    num_unmixed += parameter->statistics.rhat > RPINN_RHAT_LIMIT;
    if (!worst || parameter->statistics.rhat > worst->statistics.rhat) worst = parameter;
  }
  if (!num_unmixed || diagnosis->options->strict) return;
  rpinn_text_append(
      text,
      "\nremark: R-hat is above %.2f for %zu of %zu parameters of networks (worst %s, %.3f).\n"
      "        Weights have symmetries: chains may agree in all they predict while these do not mix, so\n"
      "        that they do not count here; --strict lets them.\n",
      RPINN_RHAT_LIMIT, num_unmixed, diagnosis->num_parameters, worst->name, worst->statistics.rhat);
}

static RpinnStatus judge_chains(RunDiagnosis *diagnosis, bool *healthy, RpinnText *text) {
  RpinnChainEvidence evidence;
  RPINN_TRY(read_evidence(diagnosis, &evidence));
  RpinnChainFindings findings = rpinn_chain_findings(&evidence);
  *healthy = findings.healthy;
  if (diagnosis->options->json) {
    rpinn_chain_report_json(&evidence, &findings, text);
    return RPINN_OK;
  }
  if (!rpinn_chain_report_text(&evidence, &findings, diagnosis->options->all, text))
    return rpinn_fail_memory(diagnosis->context);
  remark_on_parameters(diagnosis, text);
  return RPINN_OK;
}

/* ---- members and particles ---- */

/* Draws that were made on their own need no R-hat: what can be wrong with them are failures, and weights that say that
 * they are not the posterior. */
static RpinnStatus judge_members(RunDiagnosis *diagnosis, bool *healthy, RpinnText *text) {
  const RpinnJsonValue *summary = diagnosis->run.summary, *members = rpinn_json_find(summary, "members"),
                       *weights = rpinn_json_find(summary, "weights");
  double failed = rpinn_summary_number(members, "failed"),
         converged = rpinn_summary_number(members, "converged"),
         samples = rpinn_summary_number(summary, "samples"), k = rpinn_summary_number(weights, "pareto_k");
  bool has_bad_weights = k > 0.7;
  *healthy = !(failed > 0) && !has_bad_weights;
  if (diagnosis->options->json) {
    RpinnJson json = {.text = text};
    rpinn_json_open(&json, NULL, '{');
    rpinn_json_text(&json, "method", rpinn_summary_text(summary, "method"));
    rpinn_json_boolean(&json, "healthy", *healthy);
    rpinn_json_number(&json, "samples", samples);
    rpinn_json_number(&json, "failed", failed);
    rpinn_json_number(&json, "converged", converged);
    rpinn_json_number(&json, "pareto_k", k);
    rpinn_json_close(&json, '}');
    rpinn_text_append(text, "\n");
    return RPINN_OK;
  }
  rpinn_text_append(text, "method %s: %.0f draw%s made on %s own; there are no chains to compare\n",
                    rpinn_summary_text(summary, "method"), samples, samples == 1 ? "" : "s",
                    samples == 1 ? "its" : "their");
  if (failed > 0)
    rpinn_text_append(text, "problem: %.0f member%s failed (not finite). Try a smaller --learning-rate.\n",
                      failed, failed == 1 ? "" : "s");
  if (has_bad_weights)
    rpinn_text_append(
        text,
        "problem: Pareto k of the weights is %.2f, above 0.7: the draws are far from the posterior.\n"
        "         Try --method nuts.\n",
        k);
  if (converged < samples)
    rpinn_text_append(
        text,
        "remark: %.0f of %.0f did not converge: the iteration budget is part of the method. Compare\n"
        "        runs with other --iterations.\n",
        samples - converged, samples);
  if (diagnosis->method->remark) rpinn_text_append(text, "remark: %s\n", diagnosis->method->remark);
  rpinn_text_append(text, "verdict: %s\n",
                    *healthy ? "nothing speaks against these draws" : "do not trust these draws");
  return RPINN_OK;
}

/* ---- the whole ---- */

static RpinnStatus (*const judgements[])(RunDiagnosis *diagnosis, bool *healthy, RpinnText *text) = {
#define RPINN_JUDGEMENT_ROW(enumerator, name) [RPINN_JUDGEMENT_##enumerator] = judge_##name,
    RPINN_JUDGEMENT_LIST(RPINN_JUDGEMENT_ROW)
#undef RPINN_JUDGEMENT_ROW
};

static RpinnStatus find_shape(const RunDiagnosis *diagnosis, const char *folder, RpinnText *text) {
  RpinnPosteriorShape *shape;
  RPINN_TRY(rpinn_posterior_shape_create(diagnosis->context, folder, &shape));
  RpinnStatus status = rpinn_posterior_shape_write(diagnosis->context, shape, folder);
  if (status == RPINN_OK && !diagnosis->options->json) rpinn_posterior_shape_describe(shape, text);
  rpinn_posterior_shape_destroy(shape);
  return status;
}

static RpinnStatus diagnose(RunDiagnosis *diagnosis, const char *folder, bool *healthy, RpinnText *text) {
  RpinnContext *context = diagnosis->context;
  RPINN_TRY(rpinn_finished_run_open(context, folder, &diagnosis->run));
  diagnosis->arena = rpinn_arena_create();
  if (!diagnosis->arena) return rpinn_fail_memory(context);
  const char *name = rpinn_summary_text(diagnosis->run.summary, "method");
  diagnosis->method = rpinn_method_find(name);
  if (!diagnosis->method)
    return rpinn_fail_at(context, (RpinnPlace){.file = folder},
                         "this run was made by method '%.60s', which is none of this version's", name);
  RPINN_TRY(judgements[diagnosis->method->judgement](diagnosis, healthy, text));
  if (diagnosis->options->shape) RPINN_TRY(find_shape(diagnosis, folder, text));
  return text->failed ? rpinn_fail_memory(context) : RPINN_OK;
}

char *rpinn_diagnose_run(RpinnContext *context, const char *folder, const RpinnDiagnoseOptions *options,
                         bool *healthy) {
  static const RpinnDiagnoseOptions usual = {0};
  RunDiagnosis diagnosis = {.context = context, .options = options ? options : &usual};
  RpinnText text = {0};
  *healthy = false;
  RpinnStatus status = diagnose(&diagnosis, folder, healthy, &text);
  rpinn_finished_run_close(&diagnosis.run);
  rpinn_arena_destroy(diagnosis.arena);
  if (status == RPINN_OK) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}
