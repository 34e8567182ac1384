/* CmdStan's files to evidence on chains: lp__ and every parameter is a scalar, the other columns that end in __
 * tell about the sampler. */
#include "rpinn/diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "chain_verdict.h"
#include "cmdstan_csv.h"

typedef struct Diagnosis {
  RpinnArena *arena;
  size_t num_chains, num_draws;
  RpinnCmdstanChain **chains;
  RpinnChainHealth *health;   /* [num_chains] */
  RpinnScalarHealth *scalars; /* at most a column each */
  double *draws;              /* [num_chains][num_draws] of one scalar */
  RpinnConvergenceWork *work;
} Diagnosis;

/* ---- reading ---- */

static RpinnStatus read_chains(RpinnContext *context, const char *const *files, Diagnosis *diagnosis) {
  for (size_t c = 0; c < diagnosis->num_chains; c++) {
    struct stat info;
    if (stat(files[c], &info) == 0 && S_ISDIR(info.st_mode))
      return rpinn_fail_at(
          context, (RpinnPlace){.file = files[c]},
          "this is a directory; expected CSV files that CmdStan wrote, or one run directory alone");
    for (size_t other = 0; other < c; other++)
      if (!strcmp(files[c], files[other]))
        return rpinn_fail_at(context, (RpinnPlace){.file = files[c]},
                             "this file is named twice; expected a file for each chain");
    RPINN_TRY(rpinn_cmdstan_csv_read_file(context, diagnosis->arena, files[c], &diagnosis->chains[c]));
    if (c) RPINN_TRY(rpinn_cmdstan_csv_agree(context, diagnosis->chains[0], diagnosis->chains[c]));
  }
  return RPINN_OK;
}

/* ---- looking ---- */

static const double *divergences_of(const RpinnCmdstanChain *chain) {
  const double *divergent = rpinn_cmdstan_csv_column(chain, "divergent__");
  return divergent ? divergent : rpinn_cmdstan_csv_column(chain, "n_divergent__");
}

static RpinnChainHealth look_at_chain(const RpinnCmdstanChain *chain) {
  const double *acceptance = rpinn_cmdstan_csv_column(chain, "accept_stat__"),
               *energy = rpinn_cmdstan_csv_column(chain, "energy__"),
               *steps = rpinn_cmdstan_csv_column(chain, "stepsize__"),
               *depth = rpinn_cmdstan_csv_column(chain, "treedepth__"), *divergent = divergences_of(chain);
  RpinnChainHealth health = {
      .name = chain->file, .energy_fraction = (double)NAN, .acceptance = acceptance ? 0 : (double)NAN};
  if (steps && chain->num_draws) health.step_size = steps[chain->num_draws - 1];
  if (energy) health.energy_fraction = rpinn_energy_fraction(chain->num_draws, energy);
  for (size_t i = 0; i < chain->num_draws; i++) {
    if (acceptance) health.acceptance += acceptance[i] / (double)chain->num_draws;
    if (divergent) health.num_divergent += divergent[i] > 0;
    if (depth && chain->max_depth) health.num_at_limit += depth[i] >= (double)chain->max_depth;
  }
  return health;
}

static bool is_scalar(const char *name) {
  size_t length = strlen(name);
  return !strcmp(name, "lp__") || length < 2 || strcmp(name + length - 2, "__") != 0;
}

static bool is_constant(size_t count, const double *values) {
  for (size_t i = 0; i < count; i++)
    if (!(values[i] == values[0])) return false;
  return isfinite(values[0]);
}

static size_t look_at_scalars(Diagnosis *diagnosis) {
  const RpinnCmdstanChain *first = diagnosis->chains[0];
  size_t num_scalars = 0, n = diagnosis->num_draws;
  for (size_t column = 0; column < first->num_columns; column++) {
    if (!is_scalar(first->names[column])) continue;
    for (size_t c = 0; c < diagnosis->num_chains; c++)
      memcpy(diagnosis->draws + c * n, diagnosis->chains[c]->values + column * n, n * sizeof(double));
    diagnosis->scalars[num_scalars++] =
        (RpinnScalarHealth){.name = first->names[column],
                            .constant = is_constant(diagnosis->num_chains * n, diagnosis->draws),
                            .statistics = rpinn_convergence(diagnosis->work, diagnosis->draws)};
  }
  return num_scalars;
}

static RpinnStatus look(RpinnContext *context, Diagnosis *diagnosis, RpinnChainEvidence *evidence) {
  const RpinnCmdstanChain *first = diagnosis->chains[0];
  RpinnArena *arena = diagnosis->arena;
  diagnosis->num_draws = first->num_draws;
  diagnosis->health = RPINN_ARENA_NEW(arena, RpinnChainHealth, diagnosis->num_chains);
  diagnosis->scalars = RPINN_ARENA_NEW(arena, RpinnScalarHealth, first->num_columns);
  diagnosis->draws = rpinn_arena_allocate(arena, diagnosis->num_chains, first->num_draws * sizeof(double));
  diagnosis->work = rpinn_convergence_work_create(diagnosis->num_chains, first->num_draws);
  if (!diagnosis->health || !diagnosis->scalars || !diagnosis->draws || !diagnosis->work)
    return rpinn_fail_memory(context);
  bool has_depths = rpinn_cmdstan_csv_column(first, "treedepth__") != NULL;
  *evidence = (RpinnChainEvidence){.num_chains = diagnosis->num_chains,
                                   .num_draws = first->num_draws,
                                   .num_scalars = look_at_scalars(diagnosis),
                                   .chains = diagnosis->health,
                                   .scalars = diagnosis->scalars,
                                   .has_divergences = divergences_of(first) != NULL,
                                   .max_depth = has_depths ? first->max_depth : 0};
  for (size_t c = 0; c < diagnosis->num_chains; c++)
    diagnosis->health[c] = look_at_chain(diagnosis->chains[c]);
  return RPINN_OK;
}

/* ---- together ---- */

static RpinnStatus diagnose(RpinnContext *context, const char *const *files,
                            const RpinnDiagnoseOptions *options, Diagnosis *diagnosis, bool *healthy,
                            RpinnText *text) {
  RpinnChainEvidence evidence;
  diagnosis->arena = rpinn_arena_create();
  if (diagnosis->arena)
    diagnosis->chains = RPINN_ARENA_NEW(diagnosis->arena, RpinnCmdstanChain *, diagnosis->num_chains);
  if (!diagnosis->arena || !diagnosis->chains) return rpinn_fail_memory(context);
  RPINN_TRY(read_chains(context, files, diagnosis));
  RPINN_TRY(look(context, diagnosis, &evidence));
  RpinnChainFindings findings = rpinn_chain_findings(&evidence);
  *healthy = findings.healthy;
  if (options && options->json)
    rpinn_chain_report_json(&evidence, &findings, NULL, text);
  else if (rpinn_chain_report_tables(&evidence, options && options->all, text))
    rpinn_chain_report_findings(&findings, text);
  else
    return rpinn_fail_memory(context);
  return text->failed ? rpinn_fail_memory(context) : RPINN_OK;
}

char *rpinn_diagnose_csv(RpinnContext *context, size_t num_files, const char *const *files,
                         const RpinnDiagnoseOptions *options, bool *healthy) {
  Diagnosis diagnosis = {.num_chains = num_files};
  RpinnText text = {0};
  *healthy = false;
  RpinnStatus status =
      num_files ? diagnose(context, files, options, &diagnosis, healthy, &text)
                : rpinn_fail(context, RPINN_ERROR_INPUT, "no chains to diagnose; expected a file for each");
  rpinn_convergence_work_destroy(diagnosis.work);
  rpinn_arena_destroy(diagnosis.arena);
  if (status == RPINN_OK) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}
