/* Whole chains into memory. */
#include <stdlib.h>
#include <string.h>

#include "draws.h"
#include "random_stream.h"
#include "rpinn/nuts.h"

enum { MOST_TRIES = 100 };

static const char *const statistic_names[] = {
    "lp",        "acceptance_rate", "step_size",    "tree_depth",       "n_steps",
    "diverging", "energy",          "energy_error", "max_energy_error", "reached_max_treedepth"};
enum { NUM_STATISTICS = sizeof statistic_names / sizeof statistic_names[0] };

static void keep_draw(RpinnDraws *draws, size_t chain, const RpinnNutsDraw *draw) {
  const double statistics[NUM_STATISTICS] = {
      draw->log_density,       draw->acceptance_rate,  draw->step_size, (double)draw->tree_depth,
      (double)draw->num_steps, draw->diverging,        draw->energy,    draw->energy_error,
      draw->max_energy_error,  draw->reached_max_depth};
  size_t num_parameters = rpinn_draws_num_parameters(draws);
  double *row = rpinn_draws_row(draws, chain, draw->index);
  memcpy(row, draw->parameters, num_parameters * sizeof *row);
  memcpy(row + num_parameters, statistics, sizeof statistics);
}

/* Uniform in (-2, 2), again while the density there is not finite. The last failure tells why. */
static RpinnStatus start_anywhere(RpinnContext *context, RpinnNuts *nuts, uint64_t seed, uint64_t chain,
                                  size_t num_parameters, double *theta) {
  RpinnStream stream = rpinn_stream(seed, RPINN_PURPOSE_CHAIN_START, chain, 0);
  RpinnStatus status = RPINN_ERROR_NUMERIC;
  for (int try = 0; try < MOST_TRIES && status == RPINN_ERROR_NUMERIC; try++) {
    for (size_t j = 0; j < num_parameters; j++) theta[j] = 4 * rpinn_stream_uniform(&stream) - 2;
    status = rpinn_nuts_start(context, nuts, seed, chain, theta);
  }
  return status;
}

static RpinnStatus run_chain(RpinnContext *context, RpinnNuts *nuts, size_t chain, RpinnDraws *draws) {
  while (!rpinn_nuts_finished(nuts)) {
    RpinnNutsDraw draw;
    RPINN_TRY(rpinn_nuts_advance(context, nuts, &draw));
    if (draw.is_kept) keep_draw(draws, chain, &draw);
  }
  return RPINN_OK;
}

static RpinnStatus run_chains(RpinnContext *context, RpinnNuts *nuts, uint64_t seed, size_t num_chains,
                              const double *starts, RpinnDraws *draws) {
  size_t num_parameters = rpinn_draws_num_parameters(draws);
  double *theta = malloc(num_parameters * sizeof *theta);
  RpinnStatus status = theta ? RPINN_OK : rpinn_fail_memory(context);
  for (size_t chain = 0; chain < num_chains && status == RPINN_OK; chain++) {
    status = starts ? rpinn_nuts_start(context, nuts, seed, chain, starts + chain * num_parameters)
                    : start_anywhere(context, nuts, seed, chain, num_parameters, theta);
    if (status == RPINN_OK) status = run_chain(context, nuts, chain, draws);
  }
  free(theta);
  return status;
}

RpinnStatus rpinn_nuts_sample(RpinnContext *context, const RpinnLogDensity *target,
                              const RpinnNutsOptions *options, uint64_t seed, size_t num_chains,
                              const double *starts, RpinnDraws **draws) {
  const RpinnDrawsShape shape = {.num_chains = num_chains,
                                 .num_draws = options->num_draws,
                                 .num_parameters = target->num_parameters,
                                 .num_statistics = NUM_STATISTICS,
                                 .statistic_names = statistic_names};
  RpinnNuts *nuts;
  *draws = NULL;
  RPINN_TRY(rpinn_nuts_create(context, target, options, &nuts));
  RpinnStatus status = rpinn_draws_create(context, &shape, draws);
  if (status == RPINN_OK) status = run_chains(context, nuts, seed, num_chains, starts, *draws);
  rpinn_nuts_destroy(nuts);
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_draws_destroy(*draws);
  *draws = NULL;
  return status;
}
