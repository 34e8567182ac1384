/* From the Gauss–Newton curvature of the posterior, H = J^T J + P^2, by products J^T w and without a matrix.
 *
 * Deviations are those along each parameter alone, 1/sqrt(H_jj), with H_jj = E[ (J^T w)_j^2 ] + P_j^2 over w of random signs: 32 of them
 * tell it to a quarter, which the first iterations mend. It is the best that a mean field can have where the model is linear.
 *
 * With factors of the precision, deviations are the prior's and V V^T stands for S J^T J S: columns s J^T w / sqrt(r) with random signs
 * are it in the mean, and the rows of J themselves, where there are no more than columns, are it exactly. The start is then the
 * posterior linearised at its mean; columns that are left are small and random.
 *
 * Noise that is not known has 2 n_t rows' worth of curvature in its logarithm, beside its prior. */
#include "variational_starts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "run_progress.h"
#include "run_targets.h"
#include "task_pool.h"
#include "unknown_noise.h"

enum { SLICE = 10 /* iterations of a minimiser between looks at the pool */, NUM_PROBES = 32 };

typedef struct Search {
  RpinnDriver *driver;
  const RpinnMemberTarget *targets; /* [num_threads] */
  size_t N, num_drawn;
  RpinnVariationalBeginning beginning;
  RpinnRunProgress progress;
} Search;

/* ---- in a thread ---- */

typedef struct Worker {
  Search *search;
  RpinnMemberTarget target; /* whose members have offsets */
  RpinnMember *member;      /* NULL unless starts are members */
  double *weights, *slopes; /* [M], [N] */
} Worker;

static RpinnStatus create_member(RpinnContext *context, Worker *worker, RpinnTaskPool *pool) {
  const RpinnProblem *problem = worker->search->driver->run->problem;
  RpinnMinimizeOptions minimize = rpinn_run_minimize_options(problem);
  if (((const RpinnRunTarget *)worker->target.data)->start != RPINN_START_MEMBER) return RPINN_OK;
  minimize.interrupted = rpinn_task_pool_wants_end;
  minimize.user = pool;
  return rpinn_member_create(context, &worker->target, 0, &minimize,
                             (uint32_t)problem->settings.values[RPINN_SETTING_RETRIES].number,
                             &worker->member);
}

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **result) {
  Search *search = user;
  Worker *worker = *result = calloc(1, sizeof *worker);
  if (!worker) return rpinn_fail_memory(context);
  worker->search = search;
  worker->target = search->targets[thread];
  worker->target.has_offsets = true;
  worker->weights = malloc((worker->target.squares->num_rows + 1) * sizeof(double));
  worker->slopes = malloc((search->N + 1) * sizeof(double));
  if (!worker->weights || !worker->slopes) return rpinn_fail_memory(context);
  return create_member(context, worker, pool);
}

static void close_worker(void *opened) {
  Worker *worker = opened;
  if (!worker) return;
  rpinn_member_destroy(worker->member);
  free(worker->weights);
  free(worker->slopes);
  free(worker);
}

/* The minimiser of an energy with offsets of its own, as method rpinn draws it, and the noise that it has. */
static RpinnStatus seek_member(RpinnContext *context, Worker *worker, RpinnTaskPool *pool, uint64_t start,
                               double *mean) {
  const Search *search = worker->search;
  RpinnMemberOutcome outcome = {0};
  RPINN_TRY(rpinn_member_begin(context, worker->member, start, NULL, 0));
  while (!outcome.finished && !rpinn_task_pool_is_stopped(pool))
    RPINN_TRY(rpinn_member_advance(context, worker->member, SLICE, &outcome));
  if (!outcome.finished) return RPINN_OK;
  if (outcome.failed)
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "the member that start %llu begins at is not finite; expected another --start",
                      (unsigned long long)start);
  memcpy(mean, outcome.theta, search->N * sizeof *mean);
  memcpy(mean + search->N, rpinn_run_target_noise(&worker->target, 0),
         (search->num_drawn - search->N) * sizeof *mean);
  return RPINN_OK;
}

static RpinnStatus draw_start(const Worker *worker, uint64_t start, double *mean) {
  const RpinnMemberTarget *target = &worker->target;
  target->take_slot(target->data, 0, start, 0, false);
  RPINN_TRY(target->draw_start(target->data, 0, start, 0, mean));
  rpinn_run_target_draw_noise(target->data, start, 0, mean + target->num_parameters);
  return RPINN_OK;
}

/* What one start is to be filled with. */
typedef struct Place {
  uint64_t start;
  const double *mean; /* [num_drawn] */
  double *deviation;  /* [num_drawn] */
  double *factors;    /* [num_drawn][rank] or NULL */
} Place;

/* worker->slopes = J^T worker->weights at the mean. */
static RpinnStatus multiply(RpinnContext *context, const Worker *worker, const double *mean) {
  RpinnRequest request = {.target = {.squares = worker->target.squares},
                          .question = RPINN_QUESTION_TRANSPOSED_TIMES,
                          .theta = mean,
                          .input = worker->weights,
                          .output = worker->slopes};
  return rpinn_request_answer(context, &request);
}

static void draw_signs(const Worker *worker, RpinnStream *stream) {
  for (size_t i = 0; i < worker->target.squares->num_rows; i++)
    worker->weights[i] = rpinn_stream_word(stream) >> 31 ? 1 : -1;
}

static RpinnStatus find_deviations(RpinnContext *context, const Worker *worker, RpinnStream *stream,
                                   const Place *place) {
  const double *root = ((const RpinnRunTarget *)worker->target.data)->slots->posterior->model.prior_root;
  size_t N = worker->search->N, num_probes = place->factors ? 0 : NUM_PROBES;
  for (size_t j = 0; j < N; j++) place->deviation[j] = root[j] * root[j];
  for (size_t probe = 0; probe < num_probes; probe++) {
    draw_signs(worker, stream);
    RPINN_TRY(multiply(context, worker, place->mean));
    for (size_t j = 0; j < N; j++)
      place->deviation[j] += worker->slopes[j] * worker->slopes[j] / (double)num_probes;
  }
  for (size_t j = 0; j < N; j++) place->deviation[j] = 1 / sqrt(place->deviation[j]);
  return RPINN_OK;
}

static RpinnStatus find_factors(RpinnContext *context, const Worker *worker, RpinnStream *stream,
                                const Place *place) {
  size_t N = worker->search->N, num_drawn = worker->search->num_drawn, r = worker->search->beginning.rank,
         M = worker->target.squares->num_rows;
  double share = M <= r ? 1 : 1 / sqrt((double)r);
  rpinn_stream_normals(stream, num_drawn * r, place->factors);
  for (size_t i = 0; i < num_drawn * r; i++) place->factors[i] *= 0.01 / sqrt((double)num_drawn);
  for (size_t k = 0; k < r && k < M; k++) {
    draw_signs(worker, stream);
    for (size_t i = 0; i < M && M <= r; i++) worker->weights[i] = i == k;
    RPINN_TRY(multiply(context, worker, place->mean));
    for (size_t j = 0; j < N; j++)
      place->factors[j * r + k] = share * place->deviation[j] * worker->slopes[j];
  }
  return RPINN_OK;
}

static RpinnStatus look_at_curvature(RpinnContext *context, const Worker *worker, const Place *place) {
  const RpinnRunTarget *own = worker->target.data;
  const RpinnPosterior *posterior = own->slots->posterior;
  size_t N = worker->search->N;
  RpinnStream stream = rpinn_stream(posterior->seed, RPINN_PURPOSE_VARIATIONAL_START, place->start, 1);
  rpinn_member_slot_clear(own->slots, 0);
  rpinn_member_slot_take_noise(own->slots, 0, place->mean + N);
  RPINN_TRY(find_deviations(context, worker, &stream, place));
  for (size_t k = 0; k < posterior->num_noises; k++) {
    const RpinnNoiseLevel *noise = &posterior->noises[k];
    place->deviation[N + k] =
        1 / sqrt(2 * (double)noise->num_rows + 1 / (noise->prior_std * noise->prior_std));
  }
  return place->factors ? find_factors(context, worker, &stream, place) : RPINN_OK;
}

static RpinnStatus perform(void *opened, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  Worker *worker = opened;
  const Search *search = worker->search;
  const RpinnVariationalBeginning *beginning = &search->beginning;
  size_t first = (size_t)task * search->num_drawn;
  double *mean = beginning->means + first;
  RPINN_TRY(worker->member ? seek_member(context, worker, pool, task, mean) : draw_start(worker, task, mean));
  if (rpinn_task_pool_is_stopped(pool)) return RPINN_OK;
  Place place = {task, mean, beginning->deviations + first,
                 beginning->factors ? beginning->factors + first * beginning->rank : NULL};
  return look_at_curvature(context, worker, &place);
}

/* ---- in the thread of the caller ---- */

static bool tick(void *user, uint64_t counted) {
  (void)counted;
  return rpinn_run_progress_tick(&((Search *)user)->progress);
}

RpinnStatus rpinn_run_variational_starts(RpinnContext *context, RpinnDriver *driver,
                                         const RpinnMemberTarget *targets, size_t count,
                                         const RpinnVariationalBeginning *beginning) {
  Search search = {.driver = driver,
                   .targets = targets,
                   .N = targets[0].num_parameters,
                   .num_drawn = rpinn_posterior_num_drawn(driver->run->posteriors[0]),
                   .beginning = *beginning,
                   .progress = {.driver = driver, .unit = "starts", .total = count}};
  RpinnTaskPoolResult result;
  RpinnTaskPoolOptions pool = {.num_threads = driver->num_threads < count ? driver->num_threads : count,
                               .num_tasks = count,
                               .user = &search,
                               .open_worker = open_worker,
                               .close_worker = close_worker,
                               .perform = perform,
                               .tick = tick};
  RPINN_TRY(rpinn_task_pool_run(context, &pool, &result));
  driver->interrupted = result.interrupted;
  return RPINN_OK;
}
