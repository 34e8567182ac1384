/* Chains in memory: the table and the findings that chains in files have. */
#include <math.h>
#include <stdlib.h>

#include "arena.h"
#include "chain_verdict.h"
#include "context.h"
#include "rpinn/diagnose.h"

typedef struct DrawsDiagnosis {
  const RpinnDraws *draws;
  RpinnArena *arena;
  RpinnConvergenceWork *work;
  size_t num_chains, num_draws; /* that are judged */
  size_t *first;                /* [num_chains] number of the first draw of each */
  double *values;               /* [num_chains][num_draws] of one scalar */
  RpinnChainHealth *health;
  RpinnScalarHealth *scalars;
} DrawsDiagnosis;

/* ---- which draws ---- */

static int compare_lengths(const void *left, const void *right) {
  size_t a = *(const size_t *)left, b = *(const size_t *)right;
  return (a < b) - (a > b); /* the longest first */
}

/* The first n draws of every chain that has as many, with the n that keeps most draws: a chain that had only begun should not cost
 * those of all others. lengths [count] are sorted. */
static size_t choose_length(size_t count, size_t *lengths) {
  size_t best = 0, most = 0;
  qsort(lengths, count, sizeof *lengths, compare_lengths);
  for (size_t k = 0; k < count; k++)
    if (lengths[k] * (k + 1) >= most && lengths[k]) {
      most = lengths[k] * (k + 1);
      best = lengths[k];
    }
  return best;
}

static RpinnStatus choose_draws(RpinnContext *context, DrawsDiagnosis *diagnosis) {
  size_t all = rpinn_draws_num_chains(diagnosis->draws), first = 0;
  size_t *lengths = RPINN_ARENA_NEW(diagnosis->arena, size_t, all + 1);
  diagnosis->first = RPINN_ARENA_NEW(diagnosis->arena, size_t, all + 1);
  if (!lengths || !diagnosis->first) return rpinn_fail_memory(context);
  for (size_t chain = 0; chain < all; chain++) lengths[chain] = rpinn_draws_length(diagnosis->draws, chain);
  diagnosis->num_draws = choose_length(all, lengths);
  for (size_t chain = 0; chain < all && diagnosis->num_draws; chain++) {
    size_t length = rpinn_draws_length(diagnosis->draws, chain);
    if (length >= diagnosis->num_draws) diagnosis->first[diagnosis->num_chains++] = first;
    first += length;
  }
  if (diagnosis->num_chains) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT, "no draws to diagnose; expected chains that have some");
}

static RpinnDraw draw_of(const DrawsDiagnosis *diagnosis, size_t chain, size_t i) {
  return rpinn_draws_get(diagnosis->draws, diagnosis->first[chain] + i);
}

/* ---- looking ---- */

/* A scalar whose numbers are in diagnosis->values. */
static void look_at_scalar(DrawsDiagnosis *diagnosis, const char *name, RpinnScalarHealth *scalar) {
  size_t count = diagnosis->num_chains * diagnosis->num_draws;
  bool constant = isfinite(diagnosis->values[0]);
  for (size_t i = 0; i < count; i++) constant = constant && diagnosis->values[i] == diagnosis->values[0];
  *scalar = (RpinnScalarHealth){.name = name,
                                .constant = constant,
                                .statistics = rpinn_convergence(diagnosis->work, diagnosis->values)};
}

static size_t look_at_scalars(DrawsDiagnosis *diagnosis) {
  size_t n = diagnosis->num_draws, count = 0;
  int lp = rpinn_draws_statistic(diagnosis->draws, "lp");
  for (size_t c = 0; lp >= 0 && c < diagnosis->num_chains; c++)
    for (size_t i = 0; i < n; i++) diagnosis->values[c * n + i] = draw_of(diagnosis, c, i).statistics[lp];
  if (lp >= 0) look_at_scalar(diagnosis, "lp", &diagnosis->scalars[count++]);
  for (size_t j = 0; j < rpinn_draws_num_parameters(diagnosis->draws); j++) {
    for (size_t c = 0; c < diagnosis->num_chains; c++)
      for (size_t i = 0; i < n; i++) diagnosis->values[c * n + i] = draw_of(diagnosis, c, i).parameters[j];
    look_at_scalar(diagnosis, rpinn_draws_name(diagnosis->draws, j), &diagnosis->scalars[count++]);
  }
  return count;
}

/* Positions of statistics, -1 where draws have no such. */
typedef struct Columns {
  int energy, acceptance, step, diverging, at_limit, depth;
} Columns;

static Columns find_columns(const RpinnDraws *draws) {
  return (Columns){.energy = rpinn_draws_statistic(draws, "energy"),
                   .acceptance = rpinn_draws_statistic(draws, "acceptance_rate"),
                   .step = rpinn_draws_statistic(draws, "step_size"),
                   .diverging = rpinn_draws_statistic(draws, "diverging"),
                   .at_limit = rpinn_draws_statistic(draws, "reached_max_treedepth"),
                   .depth = rpinn_draws_statistic(draws, "tree_depth")};
}

/* *max_depth grows to the depth of the deepest tree: where any was cut off at the limit, that is the limit. */
static RpinnChainHealth look_at_chain(DrawsDiagnosis *diagnosis, const Columns *columns, size_t chain,
                                      size_t *max_depth) {
  size_t n = diagnosis->num_draws;
  RpinnChainHealth health = {.energy_fraction = (double)NAN,
                             .acceptance = columns->acceptance >= 0 ? 0 : (double)NAN};
  for (size_t i = 0; i < n; i++) {
    const double *statistics = draw_of(diagnosis, chain, i).statistics;
    if (columns->energy >= 0) diagnosis->values[i] = statistics[columns->energy];
    if (columns->acceptance >= 0) health.acceptance += statistics[columns->acceptance] / (double)n;
    if (columns->step >= 0) health.step_size = statistics[columns->step];
    if (columns->diverging >= 0) health.num_divergent += statistics[columns->diverging] > 0;
    if (columns->at_limit < 0 || columns->depth < 0) continue;
    health.num_at_limit += statistics[columns->at_limit] > 0;
    *max_depth = (size_t)fmax((double)*max_depth, statistics[columns->depth]);
  }
  if (columns->energy >= 0) health.energy_fraction = rpinn_energy_fraction(n, diagnosis->values);
  return health;
}

static RpinnStatus look(RpinnContext *context, DrawsDiagnosis *diagnosis, RpinnChainEvidence *evidence) {
  RpinnArena *arena = diagnosis->arena;
  Columns columns = find_columns(diagnosis->draws);
  RPINN_TRY(choose_draws(context, diagnosis));
  diagnosis->health = RPINN_ARENA_NEW(arena, RpinnChainHealth, diagnosis->num_chains);
  diagnosis->scalars =
      RPINN_ARENA_NEW(arena, RpinnScalarHealth, rpinn_draws_num_parameters(diagnosis->draws) + 1);
  diagnosis->values =
      rpinn_arena_allocate(arena, diagnosis->num_chains, diagnosis->num_draws * sizeof(double));
  diagnosis->work = rpinn_convergence_work_create(diagnosis->num_chains, diagnosis->num_draws);
  if (!diagnosis->health || !diagnosis->scalars || !diagnosis->values || !diagnosis->work)
    return rpinn_fail_memory(context);
  *evidence = (RpinnChainEvidence){.num_chains = diagnosis->num_chains,
                                   .num_draws = diagnosis->num_draws,
                                   .num_scalars = look_at_scalars(diagnosis),
                                   .chains = diagnosis->health,
                                   .scalars = diagnosis->scalars,
                                   .has_divergences = columns.diverging >= 0};
  for (size_t c = 0; c < diagnosis->num_chains; c++)
    diagnosis->health[c] = look_at_chain(diagnosis, &columns, c, &evidence->max_depth);
  return RPINN_OK;
}

/* ---- together ---- */

static RpinnStatus diagnose(RpinnContext *context, DrawsDiagnosis *diagnosis,
                            const RpinnDiagnoseOptions *options, bool *healthy, RpinnText *text) {
  RpinnChainEvidence evidence;
  diagnosis->arena = rpinn_arena_create();
  if (!diagnosis->arena) return rpinn_fail_memory(context);
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

char *rpinn_diagnose_draws(RpinnContext *context, const RpinnDraws *draws,
                           const RpinnDiagnoseOptions *options, bool *healthy) {
  DrawsDiagnosis diagnosis = {.draws = draws};
  RpinnText text = {0};
  *healthy = false;
  rpinn_context_clear_error(context);
  RpinnStatus status = diagnose(context, &diagnosis, options, healthy, &text);
  rpinn_convergence_work_destroy(diagnosis.work);
  rpinn_arena_destroy(diagnosis.arena);
  if (status == RPINN_OK) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}
