/* Whole chains into memory. Every thread has as many seats as its target takes at a time: whenever a chain is finished, the next one
 * that nobody has taken gets its seat. */
#include <stdlib.h>
#include <string.h>

#include "draws.h"
#include "nuts_chain.h"
#include "watched_work.h"

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

/* What all threads share. A chain is written to by the thread that has it alone. */
typedef struct Sampling {
  const RpinnBatchLogDensity *targets; /* [num_workers] */
  const RpinnNutsOptions *options;
  const RpinnNutsChains *chains;
  RpinnDraws *draws;
  size_t *num_made; /* [num_chains] draws */
} Sampling;

/* The seats of one thread: those that are taken come first. */
typedef struct Seats {
  const Sampling *sampling;
  RpinnWork *work;
  double *theta; /* [N] */
  size_t count, num_taken;
  RpinnNuts **chains; /* [count] */
  size_t *numbers;    /* [count] of the chains */
  RpinnNutsDraw *made_draws;
  bool *made;
  RpinnNutsCompany *company;
} Seats;

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

/* A chain takes a seat. */
static RpinnStatus begin_chain(RpinnContext *context, Seats *seats, size_t seat, size_t chain) {
  const RpinnNutsChains *chains = seats->sampling->chains;
  size_t num_parameters = rpinn_draws_num_parameters(seats->sampling->draws);
  RpinnNuts *nuts = seats->chains[seat];
  seats->numbers[seat] = chain;
  rpinn_nuts_set_member(nuts, chain);
  if (!chains->starts)
    return start_anywhere(context, nuts, chains->seed, chain, num_parameters, seats->theta);
  return rpinn_nuts_start(context, nuts, chains->seed, chain, chains->starts + chain * num_parameters);
}

/* Of a chain that is finished, to the next one, or to the last one that is at work. */
static RpinnStatus pass_seat_on(RpinnContext *context, Seats *seats, size_t seat) {
  uint64_t chain;
  if (rpinn_work_take(seats->work, &chain)) return begin_chain(context, seats, seat, chain);
  size_t last = --seats->num_taken;
  RpinnNuts *finished = seats->chains[seat];
  seats->chains[seat] = seats->chains[last];
  seats->numbers[seat] = seats->numbers[last];
  seats->chains[last] = finished;
  return RPINN_OK;
}

static RpinnStatus advance(RpinnContext *context, Seats *seats) {
  const Sampling *sampling = seats->sampling;
  RPINN_TRY(rpinn_nuts_company_advance(context, seats->company, seats->num_taken, seats->chains,
                                       seats->made_draws, seats->made));
  for (size_t k = 0; k < seats->num_taken; k++) {
    const RpinnNutsDraw *draw = &seats->made_draws[k];
    if (!seats->made[k]) continue;
    rpinn_work_count(seats->work, 1);
    if (!draw->is_warmup && draw->diverging) rpinn_work_note_divergence(seats->work);
    if (!draw->is_kept) continue;
    keep_draw(sampling->draws, seats->numbers[k], draw);
    sampling->num_made[seats->numbers[k]]++;
  }
  return RPINN_OK;
}

static RpinnStatus run_chains(RpinnContext *context, Seats *seats) {
  uint64_t chain;
  while (seats->num_taken < seats->count && rpinn_work_take(seats->work, &chain))
    RPINN_TRY(begin_chain(context, seats, seats->num_taken++, chain));
  while (seats->num_taken > 0 && !rpinn_work_is_stopped(seats->work)) {
    for (size_t seat = 0; seat < seats->num_taken;)
      if (rpinn_nuts_finished(seats->chains[seat]))
        RPINN_TRY(pass_seat_on(context, seats, seat));
      else
        seat++;
    RPINN_TRY(advance(context, seats));
  }
  return RPINN_OK;
}

/* ---- room ---- */

static void close_seats(Seats *seats) {
  for (size_t seat = 0; seats->chains && seat < seats->count; seat++) rpinn_nuts_destroy(seats->chains[seat]);
  rpinn_nuts_company_destroy(seats->company);
  free(seats->chains);
  free(seats->numbers);
  free(seats->made_draws);
  free(seats->made);
  free(seats->theta);
}

static RpinnStatus open_seats(RpinnContext *context, const RpinnBatchLogDensity *target,
                              const RpinnNutsOptions *options, Seats *seats) {
  size_t count = seats->count;
  seats->chains = calloc(count, sizeof *seats->chains);
  seats->numbers = calloc(count, sizeof *seats->numbers);
  seats->made_draws = calloc(count, sizeof *seats->made_draws);
  seats->made = calloc(count, sizeof *seats->made);
  seats->theta = calloc(target->num_parameters + 1, sizeof *seats->theta);
  if (!seats->chains || !seats->numbers || !seats->made_draws || !seats->made || !seats->theta)
    return rpinn_fail_memory(context);
  for (size_t seat = 0; seat < count; seat++)
    RPINN_TRY(rpinn_nuts_create_member(context, target, seat, options, &seats->chains[seat]));
  return rpinn_nuts_company_create(context, count, &seats->company);
}

/* One thread. */
static RpinnStatus sit_down(void *user, RpinnContext *context, RpinnWork *work, size_t worker) {
  const Sampling *sampling = user;
  const RpinnBatchLogDensity *target = &sampling->targets[worker];
  size_t num_chains = sampling->chains->num_chains;
  Seats seats = {
      .sampling = sampling, .work = work, .count = num_chains < target->group ? num_chains : target->group};
  if (!seats.count) seats.count = 1; /* one at least looks at the options */
  RpinnStatus status = open_seats(context, target, sampling->options, &seats);
  if (status == RPINN_OK) status = run_chains(context, &seats);
  close_seats(&seats);
  return status;
}

/* ---- whole chains ---- */

static RpinnStatus check_targets(RpinnContext *context, size_t num_targets,
                                 const RpinnBatchLogDensity *targets) {
  if (num_targets == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "there is no target; expected one for each thread");
  for (size_t i = 1; i < num_targets; i++)
    if (targets[i].num_parameters != targets[0].num_parameters)
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "target %zu has %zu parameters; expected those of target 0, which has %zu", i,
                        targets[i].num_parameters, targets[0].num_parameters);
  return RPINN_OK;
}

static RpinnStatus sample(RpinnContext *context, size_t num_targets, Sampling *sampling) {
  const RpinnNutsOptions *options = sampling->options;
  const RpinnNutsChains *chains = sampling->chains;
  const RpinnDrawsShape shape = {.num_chains = chains->num_chains,
                                 .num_draws = options->num_draws,
                                 .num_parameters = sampling->targets[0].num_parameters,
                                 .num_statistics = NUM_STATISTICS,
                                 .statistic_names = statistic_names,
                                 .names = chains->names};
  const RpinnWorkPlan plan = {
      .num_workers = num_targets < chains->num_chains ? num_targets : chains->num_chains,
      .num_tasks = chains->num_chains,
      .total = chains->num_chains * (options->num_warmup + options->num_draws * options->thin),
      .watch = &chains->watch,
      .user = sampling,
      .perform = sit_down};
  sampling->num_made = calloc(chains->num_chains + 1, sizeof *sampling->num_made);
  if (!sampling->num_made) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_draws_create(context, &shape, &sampling->draws));
  return rpinn_work_run(context, &plan);
}

RpinnStatus rpinn_nuts_sample_groups(RpinnContext *context, size_t num_targets,
                                     const RpinnBatchLogDensity *targets, const RpinnNutsOptions *options,
                                     const RpinnNutsChains *chains, RpinnDraws **draws) {
  Sampling sampling = {.targets = targets, .options = options, .chains = chains};
  *draws = NULL;
  RPINN_TRY(check_targets(context, num_targets, targets));
  RpinnStatus status = sample(context, num_targets, &sampling);
  if (status == RPINN_ERROR_INTERRUPTED)
    for (size_t chain = 0; chain < chains->num_chains; chain++)
      rpinn_draws_cut(sampling.draws, chain, sampling.num_made[chain]);
  free(sampling.num_made);
  if (status == RPINN_OK || status == RPINN_ERROR_INTERRUPTED)
    *draws = sampling.draws;
  else
    rpinn_draws_destroy(sampling.draws);
  return status;
}

RpinnStatus rpinn_nuts_sample_chains(RpinnContext *context, size_t num_targets,
                                     const RpinnLogDensity *targets, const RpinnNutsOptions *options,
                                     const RpinnNutsChains *chains, RpinnDraws **draws) {
  RpinnBatchLogDensity *batches = malloc((num_targets + 1) * sizeof *batches);
  *draws = NULL;
  if (!batches) return rpinn_fail_memory(context);
  for (size_t i = 0; i < num_targets; i++) batches[i] = rpinn_log_density_as_batch(&targets[i]);
  RpinnStatus status = rpinn_nuts_sample_groups(context, num_targets, batches, options, chains, draws);
  free(batches);
  return status;
}

RpinnStatus rpinn_nuts_sample_members(RpinnContext *context, const RpinnBatchLogDensity *target,
                                      const RpinnNutsOptions *options, uint64_t seed, size_t num_chains,
                                      const double *starts, RpinnDraws **draws) {
  const RpinnNutsChains chains = {.seed = seed, .num_chains = num_chains, .starts = starts};
  return rpinn_nuts_sample_groups(context, 1, target, options, &chains, draws);
}

RpinnStatus rpinn_nuts_sample(RpinnContext *context, const RpinnLogDensity *target,
                              const RpinnNutsOptions *options, uint64_t seed, size_t num_chains,
                              const double *starts, RpinnDraws **draws) {
  const RpinnNutsChains chains = {.seed = seed, .num_chains = num_chains, .starts = starts};
  return rpinn_nuts_sample_chains(context, 1, target, options, &chains, draws);
}
