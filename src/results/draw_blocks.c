/* Two blocks: while all threads compute one, the thread that called hands the one before on and reads the next into its place. */
#include "draw_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_record.h"
#include "task_pool.h"
#include "unknown_noise.h"

/* Of a block: so few draws that threads begin soon and nothing leaves the cache, so many that all threads have some. */
enum { NUM_BLOCKS = 2, FEW_BYTES = 2 << 20, MOST_BYTES = 8 << 20, DRAWS_PER_THREAD = 8 };
enum { MAX_DRAWS = 2048, MAX_DRAWS_PER_TASK = 16 };

/* A copy of a draw, and room for its values. */
typedef struct Slot {
  RpinnVisitedDraw draw; /* its stored is the next */
  RpinnStoredMember stored;
  char stop[64];
  size_t capacity; /* of numbers */
  double *numbers; /* parameters, statistics, trace */
  double *values;  /* [num_values] */
  bool compute, is_damaged;
} Slot;

typedef struct Block {
  size_t count;
  size_t draws_per_task;
  Slot *slots; /* [capacity] */
} Block;

typedef struct Visit {
  RpinnContext *context;
  const RpinnDrawBlocks *blocks;
  size_t capacity; /* of each block */
  Block all[NUM_BLOCKS];
  Block *read;     /* into this one */
  Block *computed; /* by threads; NULL: none is */
  RpinnTaskPoolOptions options;
  RpinnTaskPool *pool; /* of the threads */
} Visit;

/* ---- threads ---- */

typedef struct Worker {
  const Visit *visit;
  Block *block;
  void *own;
} Worker;

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  const Visit *visit = user;
  Worker *opened = *worker = malloc(sizeof *opened);
  (void)pool;
  if (!opened) return rpinn_fail_memory(context);
  *opened = (Worker){visit, visit->computed, visit->blocks->worker(visit->blocks->user, thread)};
  return RPINN_OK;
}

/* A damaged draw is not computed with; whoever hands it on says so. */
static RpinnStatus compute_some(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  const Worker *opened = worker;
  const Block *block = opened->block;
  size_t first = task * block->draws_per_task, end = first + block->draws_per_task;
  for (size_t i = first; i < end && i < block->count && !rpinn_task_pool_is_stopped(pool); i++) {
    Slot *slot = &block->slots[i];
    slot->is_damaged =
        !opened->visit->blocks->is_checked && !rpinn_stored_member_is_whole(&slot->stored, slot->draw.key);
    if (slot->is_damaged || !slot->compute) continue;
    RPINN_TRY(opened->visit->blocks->compute(opened->own, context, &slot->draw, slot->values));
  }
  return RPINN_OK;
}

static bool tick(void *user, uint64_t counted) {
  const Visit *visit = user;
  (void)counted;
  return rpinn_run_is_stopped(visit->context, visit->blocks->run);
}

/* Few draws to a task where there are few, so that all threads have some. */
static RpinnStatus start(Visit *visit) {
  Block *block = visit->read;
  size_t num_threads = visit->blocks->run->num_posteriors, share = block->count / (8 * num_threads);
  block->draws_per_task = share < 1 ? 1 : share < MAX_DRAWS_PER_TASK ? share : MAX_DRAWS_PER_TASK;
  visit->options = (RpinnTaskPoolOptions){.num_threads = num_threads,
                                          .num_tasks = (block->count - 1) / block->draws_per_task + 1,
                                          .user = visit,
                                          .open_worker = open_worker,
                                          .close_worker = free,
                                          .perform = compute_some,
                                          .tick = tick};
  visit->computed = block;
  return rpinn_task_pool_start(visit->context, &visit->options, &visit->pool);
}

static RpinnStatus await(Visit *visit) {
  RpinnTaskPoolResult result;
  RpinnTaskPool *pool = visit->pool;
  visit->pool = NULL;
  RPINN_TRY(rpinn_task_pool_finish(visit->context, pool, &result));
  return result.interrupted ? rpinn_fail_interrupted(visit->context) : RPINN_OK;
}

/* What failed was something else, and stays the reason. */
static void abandon(Visit *visit) {
  RpinnError error = visit->context->error;
  RpinnTaskPoolResult result;
  if (!visit->pool) return;
  rpinn_task_pool_stop(visit->pool);
  rpinn_task_pool_finish(visit->context, visit->pool, &result);
  visit->context->error = error;
}

/* ---- the blocks ---- */

static RpinnStatus hand_on(Visit *visit, Block *block) {
  const RpinnDrawBlocks *blocks = visit->blocks;
  for (size_t i = 0; i < block->count; i++) {
    const Slot *slot = &block->slots[i];
    if (rpinn_run_is_stopped(visit->context, blocks->run)) return rpinn_fail_interrupted(visit->context);
    if (slot->is_damaged)
      return rpinn_member_store_fail_damaged(visit->context, blocks->run->store, slot->draw.key);
    RPINN_TRY(blocks->take(blocks->user, &slot->draw, slot->compute ? slot->values : NULL));
  }
  block->count = 0;
  return RPINN_OK;
}

/* The block that was read goes to the threads, and the one that they had is handed on. */
static RpinnStatus turn(Visit *visit) {
  Block *done = visit->computed;
  if (done) RPINN_TRY(await(visit));
  visit->computed = NULL;
  if (visit->read->count) RPINN_TRY(start(visit));
  if (done) RPINN_TRY(hand_on(visit, done));
  visit->read = visit->read == &visit->all[0] ? &visit->all[1] : &visit->all[0];
  return RPINN_OK;
}

static double *copy_numbers(double **to, const double *numbers, size_t count) {
  double *copy = *to;
  if (count) memcpy(copy, numbers, count * sizeof *copy);
  *to += count;
  return copy;
}

static RpinnStatus fill(const Visit *visit, Slot *slot, const RpinnVisitedDraw *draw) {
  const RpinnStoredMember *stored = draw->stored;
  size_t need = stored->num_parameters + stored->num_statistics + 2 * stored->num_trace + 1;
  if (need > slot->capacity) {
    free(slot->numbers);
    slot->numbers = malloc(need * sizeof(double));
    slot->capacity = slot->numbers ? need : 0;
  }
  if (!slot->values) slot->values = malloc((visit->blocks->num_values + 1) * sizeof(double));
  if (!slot->numbers || !slot->values) return rpinn_fail_memory(visit->context);
  double *to = slot->numbers;
  slot->stored = *stored;
  slot->stored.parameters = copy_numbers(&to, stored->parameters, stored->num_parameters);
  slot->stored.statistics = copy_numbers(&to, stored->statistics, stored->num_statistics);
  slot->stored.trace = copy_numbers(&to, stored->trace, 2 * stored->num_trace);
  snprintf(slot->stop, sizeof slot->stop, "%s", stored->stop ? stored->stop : "");
  slot->stored.stop = slot->stop;
  slot->draw = *draw;
  slot->draw.stored = &slot->stored;
  return RPINN_OK;
}

/* A draw that is refused because it is damaged is damaged. */
static RpinnStatus look_at(const Visit *visit, const RpinnVisitedDraw *draw, bool *compute) {
  const RpinnDrawBlocks *blocks = visit->blocks;
  RpinnStatus status = blocks->look(blocks->user, draw, compute);
  if (status == RPINN_OK || rpinn_stored_member_is_whole(draw->stored, draw->key)) return status;
  rpinn_context_clear_error(visit->context);
  return rpinn_member_store_fail_damaged(visit->context, blocks->run->store, draw->key);
}

static RpinnStatus add(void *user, const RpinnVisitedDraw *draw) {
  Visit *visit = user;
  Block *block = visit->read;
  Slot *slot = &block->slots[block->count];
  RPINN_TRY(look_at(visit, draw, &slot->compute));
  RPINN_TRY(fill(visit, slot, draw));
  return ++block->count == visit->capacity ? turn(visit) : RPINN_OK;
}

static size_t choose_capacity(const RpinnDrawBlocks *blocks) {
  const RpinnRun *run = blocks->run;
  size_t bytes =
      (rpinn_posterior_num_drawn(run->posteriors[0]) + blocks->num_values) * sizeof(double) + sizeof(Slot);
  size_t capacity = FEW_BYTES / bytes, enough = DRAWS_PER_THREAD * run->num_posteriors;
  if (capacity < enough) capacity = enough < MOST_BYTES / bytes ? enough : MOST_BYTES / bytes;
  if (capacity > MAX_DRAWS) capacity = MAX_DRAWS;
  return capacity > run->num_posteriors ? capacity : run->num_posteriors;
}

static RpinnStatus visit_all(Visit *visit) {
  const RpinnRun *run = visit->blocks->run;
  for (size_t b = 0; b < NUM_BLOCKS; b++) {
    visit->all[b].slots = calloc(visit->capacity, sizeof(Slot));
    if (!visit->all[b].slots) return rpinn_fail_memory(visit->context);
  }
  RPINN_TRY(rpinn_draw_store_visit_unchecked(visit->context, run->store, &run->plan, visit->blocks->warmup,
                                             add, visit));
  RPINN_TRY(turn(visit)); /* what was read last … */
  return turn(visit);     /* … is computed */
}

RpinnStatus rpinn_draw_blocks_visit(RpinnContext *context, const RpinnDrawBlocks *blocks) {
  Visit visit = {.context = context, .blocks = blocks, .capacity = choose_capacity(blocks)};
  visit.read = &visit.all[0];
  RpinnStatus status = visit_all(&visit);
  abandon(&visit);
  for (size_t b = 0; b < NUM_BLOCKS; b++) {
    for (size_t i = 0; visit.all[b].slots && i < visit.capacity; i++) {
      free(visit.all[b].slots[i].numbers);
      free(visit.all[b].slots[i].values);
    }
    free(visit.all[b].slots);
  }
  return status;
}
