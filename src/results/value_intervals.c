/* The draws of a value are sorted once, for all that takes them in order. */
#include "value_intervals.h"

#include <math.h>
#include <stdlib.h>

#include "metrics.h"
#include "predictive_bands.h"
#include "rank_interval.h"
#include "run_record.h"
#include "run_scores.h"
#include "task_pool.h"

enum { VALUES_AT_ONCE = 8 }; /* of a task: they stand beside each other in each draw */

struct RpinnValueIntervals {
  RpinnContext *context; /* of the thread that called */
  RpinnRun *run;
  RpinnNormalTable *table;
  double *references; /* [num_values] the truth; NaN where there is none */
  RpinnTaskPoolOptions options;
  RpinnTaskPool *pool;
};

/* ---- threads ---- */

typedef struct Worker {
  const RpinnValueIntervals *intervals;
  RpinnBandMaker *bands;
  double *sorted; /* [VALUES_AT_ONCE + 1][kept draws] */
} Worker;

static void close_worker(void *opened) {
  Worker *worker = opened;
  if (!worker) return;
  rpinn_band_maker_destroy(worker->bands);
  free(worker->sorted);
  free(worker);
}

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  const RpinnValueIntervals *intervals = user;
  size_t count = rpinn_kept_draws_count(intervals->run->results.kept);
  Worker *opened = *worker = calloc(1, sizeof *opened);
  (void)pool;
  (void)thread;
  if (!opened) return rpinn_fail_memory(context);
  *opened = (Worker){.intervals = intervals,
                     .bands = rpinn_band_maker_create(intervals->run, intervals->table),
                     .sorted = malloc(((VALUES_AT_ONCE + 1) * count + 1) * sizeof(double))};
  return opened->bands && opened->sorted ? RPINN_OK : rpinn_fail_memory(context);
}

static void describe(const RpinnValueIntervals *intervals, size_t value, const double *sorted) {
  const RpinnRunResults *results = &intervals->run->results;
  size_t count = rpinn_kept_draws_count(results->kept);
  results->low[value] = rpinn_rank_quantile(count, sorted, 0.025);
  results->median[value] = rpinn_rank_quantile(count, sorted, 0.5);
  results->high[value] = rpinn_rank_quantile(count, sorted, 0.975);
  rpinn_metric_crps_sums(count, sorted, intervals->references[value], &results->crps_distances[value],
                         &results->crps_pairs[value]);
}

static RpinnStatus perform(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  const Worker *own = worker;
  const RpinnRun *run = own->intervals->run;
  size_t first = task * VALUES_AT_ONCE, left = run->outputs.num_values - first;
  size_t num = left < VALUES_AT_ONCE ? left : VALUES_AT_ONCE;
  size_t count = rpinn_kept_draws_count(run->results.kept);
  (void)pool;
  rpinn_kept_draws_sort(run->results.kept, first, num, own->sorted);
  for (size_t i = 0; i < num; i++) {
    describe(own->intervals, first + i, own->sorted + i * count);
    if (first + i < run->outputs.num_quantities * run->outputs.num_points)
      RPINN_TRY(rpinn_band_maker_make(own->bands, context, first + i));
  }
  return RPINN_OK;
}

static bool is_interrupted(void *user, uint64_t counted) {
  const RpinnValueIntervals *intervals = user;
  (void)counted;
  return rpinn_run_is_stopped(intervals->context, intervals->run);
}

/* ---- the caller's side ---- */

static void destroy(RpinnValueIntervals *intervals) {
  rpinn_normal_table_destroy(intervals->table);
  free(intervals->references);
  free(intervals);
}

static bool find_references(RpinnValueIntervals *intervals) {
  const RpinnRun *run = intervals->run;
  size_t num_scores = run->outputs.num_quantities + run->outputs.num_tests;
  RpinnScore *scores = calloc(num_scores + 1, sizeof *scores);
  intervals->references = malloc((run->outputs.num_values + 1) * sizeof(double));
  bool has_memory = scores && intervals->references;
  for (size_t i = 0; has_memory && i < run->outputs.num_values; i++) intervals->references[i] = (double)NAN;
  if (has_memory) rpinn_run_list_scores(run, scores);
  for (size_t k = 0; has_memory && k < num_scores; k++)
    for (size_t i = 0; scores[k].reference && i < scores[k].count; i++)
      intervals->references[scores[k].first + i] = scores[k].reference[i];
  free(scores);
  return has_memory;
}

RpinnStatus rpinn_value_intervals_start(RpinnContext *context, RpinnRun *run, RpinnValueIntervals **result) {
  *result = NULL;
  RPINN_TRY(rpinn_run_prepare_predictive_bands(context, run));
  if (!run->outputs.num_values) return RPINN_OK;
  RpinnValueIntervals *intervals = calloc(1, sizeof *intervals);
  if (!intervals) return rpinn_fail_memory(context);
  *intervals = (RpinnValueIntervals){.context = context, .run = run, .table = rpinn_normal_table_create()};
  RpinnStatus status = find_references(intervals) && intervals->table ? RPINN_OK : rpinn_fail_memory(context);
  intervals->options = (RpinnTaskPoolOptions){.num_threads = run->num_posteriors,
                                              .num_tasks = (run->outputs.num_values - 1) / VALUES_AT_ONCE + 1,
                                              .user = intervals,
                                              .open_worker = open_worker,
                                              .close_worker = close_worker,
                                              .perform = perform,
                                              .tick = is_interrupted};
  if (status == RPINN_OK) status = rpinn_task_pool_start(context, &intervals->options, &intervals->pool);
  if (status == RPINN_OK)
    *result = intervals;
  else
    destroy(intervals);
  return status;
}

RpinnStatus rpinn_value_intervals_finish(RpinnContext *context, RpinnValueIntervals *intervals) {
  RpinnTaskPoolResult result;
  if (!intervals) return RPINN_OK;
  RpinnStatus status = rpinn_task_pool_finish(context, intervals->pool, &result);
  destroy(intervals);
  RPINN_TRY(status);
  return result.interrupted ? rpinn_fail_interrupted(context) : RPINN_OK;
}
