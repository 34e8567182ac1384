/* Held-out folds by linearisation. For every fold the energy is minimised without its rows, which are multiplied by 0, from a few
 * starts; the model linearised there, with all rows again, says
 *
 *   log p(fold | all other rows) = log Z(all rows) - log Z(all but the fold)
 *
 * For methods that draw, the starts are rPINN members, and the density is the mean of theirs; for those that seek the most probable
 * parameters it is that of the lowest minimum. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "double_target.h"
#include "linearisation.h"
#include "scale_trial.h"
#include "scaled_rows.h"
#include "task_pool.h"
#include "weights_state.h"

enum { NUM_MEMBERS = 8, NUM_STARTS = 4, ITERATIONS = 200 };

typedef struct Folding {
  RpinnWeightSearch *search;
  const RpinnPosterior *posterior;
  size_t num_starts;
  const size_t *fold_of_row; /* [M]; num_folds: it is never left out */
  double *energies;          /* [num_folds][num_starts] */
  double *densities;         /* likewise, of the whitened rows; NaN where nothing finite was found */
} Folding;

typedef struct Worker {
  Folding *folding;
  RpinnDoubleTarget target;
  RpinnScaledRows without;
  double *offsets, *theta; /* [M + N], [N] */
  bool *chosen;            /* [M] */
} Worker;

/* ---- in a thread ---- */

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  Folding *folding = user;
  size_t M = folding->posterior->model.num_rows, N = folding->posterior->model.num_parameters;
  Worker *own = *worker = calloc(1, sizeof *own);
  (void)pool, (void)thread;
  if (!own) return rpinn_fail_memory(context);
  own->folding = folding;
  own->offsets = malloc((M + N + 1) * sizeof *own->offsets);
  own->theta = malloc((N + 1) * sizeof *own->theta);
  own->chosen = malloc((M + 1) * sizeof *own->chosen);
  if (!own->offsets || !own->theta || !own->chosen) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_double_target_open(context, folding->posterior, &own->target));
  return rpinn_scaled_rows_open(&own->target.squares, &own->without) == RPINN_OK ? RPINN_OK
                                                                                 : rpinn_fail_memory(context);
}

static void close_worker(void *worker) {
  Worker *own = worker;
  if (!own) return;
  rpinn_scaled_rows_close(&own->without);
  rpinn_double_target_close(&own->target);
  free(own->offsets);
  free(own->theta);
  free(own->chosen);
  free(own);
}

/* At own->theta; own->chosen: the rows of all other folds. */
static RpinnStatus foretell(RpinnContext *context, Worker *own, double *density) {
  RpinnLinearisation *linearisation;
  RpinnStatus status = rpinn_linearisation_create(&own->target.squares, own->theta, &linearisation);
  *density = (double)NAN;
  if (status == RPINN_ERROR_NUMERIC) return RPINN_OK; /* such a point says nothing */
  if (status == RPINN_ERROR_MEMORY) return rpinn_fail_memory(context);
  RPINN_TRY(status);
  *density = rpinn_linearisation_log_evidence(linearisation) -
             rpinn_linearisation_log_evidence_of(linearisation, own->chosen);
  rpinn_linearisation_destroy(linearisation);
  return RPINN_OK;
}

static RpinnStatus perform(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  Worker *own = worker;
  const Folding *folding = own->folding;
  const RpinnEnergyModel *model = &folding->posterior->model;
  size_t fold = (size_t)task / folding->num_starts, start = (size_t)task % folding->num_starts;
  const double *offsets = folding->search->at_minimum ? NULL : own->offsets;
  bool converged;
  for (size_t i = 0; i < model->num_rows; i++) {
    own->chosen[i] = folding->fold_of_row[i] != fold;
    own->without.factors[i] = own->chosen[i] ? 1 : 0;
  }
  rpinn_posterior_start_search(folding->posterior, start, model->prior_root, own->offsets, own->theta);
  RPINN_TRY(rpinn_scale_minimise(context, &own->without.squares, offsets, ITERATIONS,
                                 rpinn_task_pool_wants_end, pool, own->theta, &folding->energies[task],
                                 &converged));
  if (!isfinite(folding->energies[task])) return RPINN_OK;
  return foretell(context, own, &folding->densities[task]);
}

static bool tick(void *user, uint64_t counted) {
  (void)counted;
  return rpinn_weights_are_stopped(((const Folding *)user)->search);
}

/* ---- what they come to ---- */

/* log mean exp of those that are finite, NaN where fewer than half are. */
static double pool_members(size_t count, const double *densities) {
  double highest = -(double)INFINITY, sum = 0, finite = 0;
  for (size_t k = 0; k < count; k++)
    if (isfinite(densities[k])) highest = fmax(highest, densities[k]);
  for (size_t k = 0; k < count; k++) {
    if (!isfinite(densities[k])) continue;
    sum += exp(densities[k] - highest);
    finite += 1;
  }
  return 2 * finite >= (double)count ? highest + log(sum / finite) : (double)NAN;
}

static double take_lowest(size_t count, const double *energies, const double *densities) {
  size_t lowest = 0;
  for (size_t k = 1; k < count; k++)
    if (energies[k] < energies[lowest]) lowest = k;
  return densities[lowest];
}

static double sum_up(const Folding *folding) {
  double sum = 0;
  for (size_t fold = 0; fold < folding->search->num_folds; fold++) {
    size_t first = fold * folding->num_starts;
    sum += folding->search->at_minimum
               ? take_lowest(folding->num_starts, folding->energies + first, folding->densities + first)
               : pool_members(folding->num_starts, folding->densities + first);
  }
  return sum;
}

static void find_folds(const RpinnWeightSearch *search, const RpinnPosterior *posterior, size_t *fold_of_row,
                       bool *is_data) {
  for (size_t t = 0, row = 0; t < posterior->model.num_terms; row += posterior->terms[t++].num_rows) {
    const size_t *folds = search->folds[posterior->fitted[t]];
    for (size_t i = 0; i < posterior->terms[t].num_rows; i++) {
      fold_of_row[row + i] = folds ? folds[i] : search->num_folds;
      is_data[row + i] = folds != NULL;
    }
  }
}

static RpinnStatus run(RpinnContext *context, Folding *folding) {
  RpinnTaskPoolResult result;
  uint64_t num_tasks = folding->search->num_folds * folding->num_starts;
  size_t num_threads = folding->search->num_threads;
  RpinnTaskPoolOptions pool = {.num_threads = num_threads < num_tasks ? num_threads : (size_t)num_tasks,
                               .num_tasks = num_tasks,
                               .user = folding,
                               .open_worker = open_worker,
                               .close_worker = close_worker,
                               .perform = perform,
                               .tick = tick};
  for (size_t k = 0; k < num_tasks; k++) {
    folding->energies[k] = (double)INFINITY;
    folding->densities[k] = (double)NAN;
  }
  RPINN_TRY(rpinn_task_pool_run(context, &pool, &result));
  return result.interrupted ? rpinn_fail_interrupted(context) : RPINN_OK;
}

RpinnStatus rpinn_weights_foretell_folds(RpinnContext *context, RpinnWeightSearch *search,
                                         const RpinnPosterior *posterior, double *sum) {
  size_t M = posterior->model.num_rows, num_starts = search->at_minimum ? NUM_STARTS : NUM_MEMBERS;
  size_t *fold_of_row = malloc((M + 1) * sizeof *fold_of_row);
  bool *is_data = malloc((M + 1) * sizeof *is_data);
  double *numbers = malloc(2 * search->num_folds * num_starts * sizeof *numbers);
  Folding folding = {search,      posterior, num_starts,
                     fold_of_row, numbers,   numbers ? numbers + search->num_folds * num_starts : NULL};
  RpinnStatus status = fold_of_row && is_data && numbers ? RPINN_OK : rpinn_fail_memory(context);
  if (status == RPINN_OK) {
    find_folds(search, posterior, fold_of_row, is_data);
    status = run(context, &folding);
  }
  if (status == RPINN_OK) *sum = sum_up(&folding) + rpinn_weights_log_scale(posterior, is_data);
  free(fold_of_row);
  free(is_data);
  free(numbers);
  return status;
}
