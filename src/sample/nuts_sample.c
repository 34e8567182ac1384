/* Whole chains into memory, as many at a time as the target takes: whenever one is finished, the next one has its seat. */
#include <stdlib.h>
#include <string.h>

#include "draws.h"
#include "nuts_chain.h"

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

typedef struct Sampling {
  uint64_t seed;
  size_t num_chains, num_begun;
  const double *starts; /* [num_chains][N], or NULL */
  double *theta;        /* [N] */
  RpinnDraws *draws;
  /* ---- the seats: those that are taken come first ---- */
  size_t num_seats, num_taken;
  RpinnNuts **chains; /* [num_seats] */
  size_t *numbers;    /* [num_seats] of the chains */
  RpinnNutsDraw *made_draws;
  bool *made;
  RpinnNutsCompany *company;
} Sampling;

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

/* The next chain takes a seat. */
static RpinnStatus begin_chain(RpinnContext *context, Sampling *sampling, size_t seat) {
  size_t chain = sampling->num_begun++, num_parameters = rpinn_draws_num_parameters(sampling->draws);
  RpinnNuts *nuts = sampling->chains[seat];
  sampling->numbers[seat] = chain;
  rpinn_nuts_set_member(nuts, chain);
  if (!sampling->starts)
    return start_anywhere(context, nuts, sampling->seed, chain, num_parameters, sampling->theta);
  return rpinn_nuts_start(context, nuts, sampling->seed, chain, sampling->starts + chain * num_parameters);
}

/* Of a chain that is finished, to the next one, or to the last one that is at work. */
static RpinnStatus pass_seat_on(RpinnContext *context, Sampling *sampling, size_t seat) {
  if (sampling->num_begun < sampling->num_chains) return begin_chain(context, sampling, seat);
  size_t last = --sampling->num_taken;
  RpinnNuts *finished = sampling->chains[seat];
  sampling->chains[seat] = sampling->chains[last];
  sampling->numbers[seat] = sampling->numbers[last];
  sampling->chains[last] = finished;
  return RPINN_OK;
}

static RpinnStatus advance(RpinnContext *context, Sampling *sampling) {
  RPINN_TRY(rpinn_nuts_company_advance(context, sampling->company, sampling->num_taken, sampling->chains,
                                       sampling->made_draws, sampling->made));
  for (size_t k = 0; k < sampling->num_taken; k++)
    if (sampling->made[k] && sampling->made_draws[k].is_kept)
      keep_draw(sampling->draws, sampling->numbers[k], &sampling->made_draws[k]);
  return RPINN_OK;
}

static RpinnStatus run_chains(RpinnContext *context, Sampling *sampling) {
  while (sampling->num_taken < sampling->num_seats && sampling->num_begun < sampling->num_chains)
    RPINN_TRY(begin_chain(context, sampling, sampling->num_taken++));
  while (sampling->num_taken > 0) {
    for (size_t seat = 0; seat < sampling->num_taken;)
      if (rpinn_nuts_finished(sampling->chains[seat]))
        RPINN_TRY(pass_seat_on(context, sampling, seat));
      else
        seat++;
    RPINN_TRY(advance(context, sampling));
  }
  return RPINN_OK;
}

/* ---- room ---- */

static void close_sampling(Sampling *sampling) {
  for (size_t seat = 0; sampling->chains && seat < sampling->num_seats; seat++)
    rpinn_nuts_destroy(sampling->chains[seat]);
  rpinn_nuts_company_destroy(sampling->company);
  free(sampling->chains);
  free(sampling->numbers);
  free(sampling->made_draws);
  free(sampling->made);
  free(sampling->theta);
}

static RpinnStatus open_sampling(RpinnContext *context, const RpinnBatchLogDensity *target,
                                 const RpinnNutsOptions *options, Sampling *sampling) {
  size_t seats = sampling->num_chains < target->group ? sampling->num_chains : target->group;
  sampling->num_seats = seats = seats > 0 ? seats : 1; /* one at least looks at the options */
  sampling->chains = calloc(seats, sizeof *sampling->chains);
  sampling->numbers = calloc(seats, sizeof *sampling->numbers);
  sampling->made_draws = calloc(seats, sizeof *sampling->made_draws);
  sampling->made = calloc(seats, sizeof *sampling->made);
  sampling->theta = calloc(target->num_parameters + 1, sizeof *sampling->theta);
  if (!sampling->chains || !sampling->numbers || !sampling->made_draws || !sampling->made || !sampling->theta)
    return rpinn_fail_memory(context);
  for (size_t seat = 0; seat < seats; seat++)
    RPINN_TRY(rpinn_nuts_create_member(context, target, seat, options, &sampling->chains[seat]));
  return rpinn_nuts_company_create(context, seats, &sampling->company);
}

RpinnStatus rpinn_nuts_sample_members(RpinnContext *context, const RpinnBatchLogDensity *target,
                                      const RpinnNutsOptions *options, uint64_t seed, size_t num_chains,
                                      const double *starts, RpinnDraws **draws) {
  const RpinnDrawsShape shape = {.num_chains = num_chains,
                                 .num_draws = options->num_draws,
                                 .num_parameters = target->num_parameters,
                                 .num_statistics = NUM_STATISTICS,
                                 .statistic_names = statistic_names};
  Sampling sampling = {.seed = seed, .num_chains = num_chains, .starts = starts};
  *draws = NULL;
  RpinnStatus status = open_sampling(context, target, options, &sampling);
  if (status == RPINN_OK) status = rpinn_draws_create(context, &shape, &sampling.draws);
  if (status == RPINN_OK) status = run_chains(context, &sampling);
  close_sampling(&sampling);
  if (status == RPINN_OK)
    *draws = sampling.draws;
  else
    rpinn_draws_destroy(sampling.draws);
  return status;
}

RpinnStatus rpinn_nuts_sample(RpinnContext *context, const RpinnLogDensity *target,
                              const RpinnNutsOptions *options, uint64_t seed, size_t num_chains,
                              const double *starts, RpinnDraws **draws) {
  RpinnBatchLogDensity batch = rpinn_log_density_as_batch(target);
  return rpinn_nuts_sample_members(context, &batch, options, seed, num_chains, starts, draws);
}
