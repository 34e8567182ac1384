/* Draws of chains: what each chain has done, its own moments, and the convergence of every number. */
#include <stdlib.h>

#include "chain_diagnostics.h"
#include "chain_draw_statistics.h"
#include "results_pass.h"
#include "unknown_noise.h"

typedef struct Chains {
  RpinnMoments *chain_moments; /* of the chain under way */
  RpinnDrawSpool *spool;
  double *energies; /* [num_chains][num_draws] */
} Chains;

static void count_draw(RpinnChainResult *chain, const double *statistics, uint64_t num_draws) {
  chain->divergences += statistics[RPINN_CHAIN_DIVERGING] > 0;
  chain->saturations += statistics[RPINN_CHAIN_REACHED_MAX_DEPTH] > 0;
  chain->leapfrogs += (uint64_t)statistics[RPINN_CHAIN_N_STEPS];
  chain->acceptance += statistics[RPINN_CHAIN_ACCEPTANCE_RATE] / (double)num_draws;
  chain->step_size = statistics[RPINN_CHAIN_STEP_SIZE];
}

static RpinnStatus end_chain(const RpinnResultsPass *pass, RpinnChainResult *chain) {
  Chains *own = pass->own;
  size_t count = pass->run->outputs.num_values;
  chain->mean = malloc((count + 1) * sizeof(double));
  chain->deviation = malloc((count + 1) * sizeof(double));
  if (!chain->mean || !chain->deviation) return rpinn_fail_memory(pass->context);
  rpinn_moments_get(own->chain_moments, chain->mean, chain->deviation);
  rpinn_moments_destroy(own->chain_moments);
  own->chain_moments = rpinn_moments_create(count);
  return own->chain_moments ? RPINN_OK : rpinn_fail_memory(pass->context);
}

static RpinnStatus look_at_chain_draw(void *user, const RpinnVisitedDraw *visited, bool *compute) {
  *compute = !visited->is_warmup;
  return rpinn_results_check_lengths(user, visited->stored);
}

static RpinnStatus take_chain_draw(void *user, const RpinnVisitedDraw *visited, const double *values) {
  RpinnResultsPass *pass = user;
  const Chains *own = pass->own;
  RpinnRun *run = pass->run;
  const RpinnStoredMember *stored = visited->stored;
  RpinnChainResult *chain = &run->results.chains.chains[visited->chain];
  RpinnPosteriorDraw draw = {.chain = visited->chain,
                             .draw = visited->draw,
                             .member = visited->draw,
                             .parameters = stored->parameters,
                             .statistics = stored->statistics};
  if (visited->is_warmup) return rpinn_posterior_file_add_warmup(pass->context, pass->file, &draw);
  if (pass->with_file) {
    rpinn_results_describe(pass, values, &draw);
    RPINN_TRY(rpinn_posterior_file_add(pass->context, pass->file, &draw));
  }
  RPINN_TRY(
      rpinn_draw_spool_add(pass->context, own->spool, stored->num_parameters, stored->parameters, values));
  rpinn_moments_add(pass->moments, values);
  rpinn_moments_add(own->chain_moments, values);
  RPINN_TRY(rpinn_results_keep(pass, values));
  RPINN_TRY(rpinn_kept_draws_add(run->results.statistics, pass->draw, stored->statistics));
  own->energies[pass->draw++] = stored->statistics[RPINN_CHAIN_ENERGY];
  count_draw(chain, stored->statistics, run->plan.num_draws);
  return visited->draw + 1 == run->plan.num_draws ? end_chain(pass, chain) : RPINN_OK;
}

static RpinnStatus visit_chains(RpinnResultsPass *pass, Chains *own) {
  RpinnRun *run = pass->run;
  size_t width = rpinn_posterior_num_drawn(run->posteriors[0]) + run->outputs.num_values;
  own->chain_moments = rpinn_moments_create(run->outputs.num_values);
  own->energies = malloc(run->results.num_draws * sizeof *own->energies);
  if (!own->chain_moments || !own->energies) return rpinn_fail_memory(pass->context);
  RPINN_TRY(rpinn_draw_spool_create(pass->context, run->folder, width, &own->spool));
  RPINN_TRY(rpinn_results_visit(pass, run->num_warmup_kept > 0, look_at_chain_draw, take_chain_draw));
  RPINN_TRY(rpinn_run_diagnose_chains(pass->context, run, own->spool, own->energies));
  if (!pass->with_file) return RPINN_OK;
  return rpinn_posterior_file_add_convergence(pass->context, pass->file, run->results.chains.parameters,
                                              run->results.chains.outputs);
}

static RpinnStatus gather_chains(RpinnResultsPass *pass) {
  RpinnRun *run = pass->run;
  Chains own = {0};
  pass->own = &own;
  uint64_t num_draws = run->results.num_draws = run->plan.num_chains * run->plan.num_draws;
  RPINN_TRY(rpinn_results_open_file(pass, run->plan.num_draws));
  RPINN_TRY(rpinn_run_make_weights(pass->context, run, num_draws));
  run->results.chains.chains = calloc(run->plan.num_chains, sizeof *run->results.chains.chains);
  if (!run->results.chains.chains) return rpinn_fail_memory(pass->context);
  RpinnStatus status = visit_chains(pass, &own);
  rpinn_moments_destroy(own.chain_moments);
  rpinn_draw_spool_destroy(own.spool);
  free(own.energies);
  return status;
}

/* All of them, in the order in which they are stored. */
static const RpinnFileStatistic chain_statistics[] = {
#define FILE_STATISTIC(name, text, is_boolean) {RPINN_CHAIN_##name, text, is_boolean},
    RPINN_CHAIN_STATISTIC_LIST(FILE_STATISTIC)
#undef FILE_STATISTIC
};
_Static_assert(sizeof chain_statistics / sizeof chain_statistics[0] <= RPINN_MAX_FILE_STATISTICS,
               "room for all");

const RpinnDrawKind rpinn_chain_draws = {.num_statistics = RPINN_NUM_CHAIN_STATISTICS,
                                         .num_file_statistics = RPINN_NUM_CHAIN_STATISTICS,
                                         .file_statistics = chain_statistics,
                                         .gather = gather_chains};
