#include "chain_diagnostics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run_record.h"
#include "superchains.h"
#include "task_pool.h"
#include "unknown_noise.h"

enum { BLOCK_BYTES = 128 << 20, MAX_TRACE = 500 };

/* ---- columns, shared by threads ---- */

typedef struct Block {
  const RpinnContext *context; /* of the thread that called */
  const RpinnRun *run;
  const RpinnDrawPlan *plan;
  const double *columns;         /* [num_columns][num_chains][num_draws] */
  RpinnConvergence *convergence; /* [num_columns] */
  bool in_full;
  size_t num_superchains;
  const size_t *superchains; /* [num_chains], where there are any */
  double *nested;            /* [num_columns] likewise */
} Block;

typedef struct Worker {
  const Block *block;
  RpinnConvergenceWork *work;
} Worker;

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  const Block *block = user;
  Worker *own = *worker = calloc(1, sizeof *own);
  (void)pool;
  (void)thread;
  if (!own) return rpinn_fail_memory(context);
  own->block = block;
  own->work = rpinn_convergence_work_create(block->plan->num_chains, block->plan->num_draws);
  return own->work ? RPINN_OK : rpinn_fail_memory(context);
}

static bool tick(void *user, uint64_t counted) {
  const Block *block = user;
  (void)counted;
  return rpinn_run_is_stopped(block->context, block->run);
}

static void close_worker(void *worker) {
  Worker *own = worker;
  if (own) rpinn_convergence_work_destroy(own->work);
  free(own);
}

static RpinnStatus diagnose_column(void *worker, RpinnContext *context, RpinnTaskPool *pool,
                                   uint64_t column) {
  const Worker *own = worker;
  const Block *block = own->block;
  const double *draws = block->columns + column * block->plan->num_chains * block->plan->num_draws;
  (void)context;
  (void)pool;
  if (block->superchains)
    block->nested[column] = rpinn_nested_rhat(block->plan->num_chains, block->plan->num_draws, draws,
                                              block->num_superchains, block->superchains);
  block->convergence[column] =
      block->in_full ? rpinn_convergence(own->work, draws) : rpinn_convergence_brief(own->work, draws);
  return RPINN_OK;
}

/* Some columns of the spool, and where their figures go. */
typedef struct Columns {
  size_t first, count;
  bool in_full;
  const size_t *superchains;
  RpinnConvergence *convergence;
  double *nested;
} Columns;

/* In blocks that fit the memory. */
static RpinnStatus diagnose_columns(RpinnContext *context, const RpinnRun *run, RpinnDrawSpool *spool,
                                    const Columns *wanted) {
  size_t count = wanted->count;
  size_t column_bytes = run->plan.num_chains * run->plan.num_draws * sizeof(double);
  size_t most = column_bytes < BLOCK_BYTES ? BLOCK_BYTES / column_bytes : 1;
  if (most > count) most = count;
  double *columns = malloc((most ? most : 1) * column_bytes);
  RpinnStatus status = columns ? RPINN_OK : rpinn_fail_memory(context);
  for (size_t done = 0, size; done < count && status == RPINN_OK; done += size) {
    size = count - done < most ? count - done : most;
    status = rpinn_draw_spool_columns(context, spool, wanted->first + done, size, columns);
    if (status != RPINN_OK) break;
    Block block = {.context = context,
                   .run = run,
                   .plan = &run->plan,
                   .columns = columns,
                   .convergence = wanted->convergence + done,
                   .in_full = wanted->in_full,
                   .num_superchains = run->results.chains.num_superchains,
                   .superchains = wanted->superchains,
                   .nested = wanted->superchains ? wanted->nested + done : NULL};
    RpinnTaskPoolResult result;
    RpinnTaskPoolOptions options = {.num_threads = run->num_posteriors,
                                    .num_tasks = size,
                                    .user = &block,
                                    .open_worker = open_worker,
                                    .close_worker = close_worker,
                                    .perform = diagnose_column,
                                    .tick = tick};
    status = rpinn_task_pool_run(context, &options, &result);
    if (status == RPINN_OK && result.interrupted) status = rpinn_fail_interrupted(context);
  }
  free(columns);
  return status;
}

/* ---- the worst and the best ---- */

static void find_best_and_worst(RpinnChainResults *chains) {
  double lowest = (double)INFINITY, highest = -(double)INFINITY;
  for (size_t i = 0; i < chains->num_parameters; i++) {
    double rhat = chains->parameters[i].rhat;
    if (rhat < lowest) {
      lowest = rhat;
      chains->best = i;
    }
    if (rhat > highest) {
      highest = rhat;
      chains->worst = i;
    }
  }
}

static void thin_trace(const RpinnRun *run, const double *draws, double *trace) {
  const RpinnChainResults *chains = &run->results.chains;
  for (uint64_t c = 0; c < run->plan.num_chains; c++)
    for (size_t i = 0; i < chains->num_trace; i++)
      trace[c * chains->num_trace + i] = draws[c * run->plan.num_draws + i * chains->trace_every];
}

static RpinnStatus make_traces(RpinnContext *context, RpinnRun *run, RpinnDrawSpool *spool,
                               const double *energies) {
  RpinnChainResults *chains = &run->results.chains;
  size_t num_draws = run->plan.num_draws;
  chains->trace_every = (num_draws - 1) / MAX_TRACE + 1;
  chains->num_trace = (num_draws - 1) / chains->trace_every + 1;
  size_t bytes = run->plan.num_chains * chains->num_trace * sizeof(double);
  double *column = malloc(run->plan.num_chains * num_draws * sizeof *column);
  chains->best_trace = malloc(bytes);
  chains->worst_trace = malloc(bytes);
  chains->energy_trace = malloc(bytes);
  RpinnStatus status = column && chains->best_trace && chains->worst_trace && chains->energy_trace
                           ? rpinn_draw_spool_columns(context, spool, chains->best, 1, column)
                           : rpinn_fail_memory(context);
  if (status == RPINN_OK) {
    thin_trace(run, column, chains->best_trace);
    status = rpinn_draw_spool_columns(context, spool, chains->worst, 1, column);
  }
  if (status == RPINN_OK) {
    thin_trace(run, column, chains->worst_trace);
    thin_trace(run, energies, chains->energy_trace);
  }
  free(column);
  return status;
}

/* Every parameter and every output. */
static RpinnStatus diagnose_all(RpinnContext *context, RpinnRun *run, RpinnDrawSpool *spool,
                                const size_t *superchains) {
  RpinnChainResults *chains = &run->results.chains;
  chains->parameters = calloc(chains->num_parameters, sizeof *chains->parameters);
  chains->outputs = calloc(chains->num_outputs + 1, sizeof *chains->outputs);
  if (!chains->parameters || !chains->outputs) return rpinn_fail_memory(context);
  if (superchains) {
    chains->nested_parameters = calloc(chains->num_parameters, sizeof(double));
    chains->nested_outputs = calloc(chains->num_outputs + 1, sizeof(double));
    if (!chains->nested_parameters || !chains->nested_outputs) return rpinn_fail_memory(context);
  }
  Columns parameters = {0,           chains->num_parameters, false,
                        superchains, chains->parameters,     chains->nested_parameters};
  Columns outputs = {chains->num_parameters, chains->num_outputs,   true, superchains,
                     chains->outputs,        chains->nested_outputs};
  RPINN_TRY(diagnose_columns(context, run, spool, &parameters));
  return diagnose_columns(context, run, spool, &outputs);
}

RpinnStatus rpinn_run_diagnose_chains(RpinnContext *context, RpinnRun *run, RpinnDrawSpool *spool,
                                      const double *energies) {
  RpinnChainResults *chains = &run->results.chains;
  chains->num_parameters = rpinn_posterior_num_drawn(run->posteriors[0]);
  chains->num_outputs = run->outputs.num_values;
  size_t *superchains;
  RPINN_TRY(rpinn_superchains_find(context, run, &chains->num_superchains, &superchains));
  RpinnStatus status = diagnose_all(context, run, spool, superchains);
  free(superchains);
  RPINN_TRY(status);
  for (uint64_t c = 0; c < run->plan.num_chains; c++)
    chains->chains[c].energy_fraction =
        rpinn_energy_fraction(run->plan.num_draws, energies + c * run->plan.num_draws);
  find_best_and_worst(chains);
  return make_traces(context, run, spool, energies);
}
