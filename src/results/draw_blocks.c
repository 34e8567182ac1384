#include "draw_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_record.h"
#include "task_pool.h"
#include "unknown_noise.h"

enum { BLOCK_BYTES = 16 << 20, MAX_DRAWS = 4096, MAX_DRAWS_PER_TASK = 16 };

/* A copy of a draw, and room for its values. */
typedef struct Slot {
  RpinnVisitedDraw draw; /* its stored is the next */
  RpinnStoredMember stored;
  char stop[64];
  size_t capacity; /* of numbers */
  double *numbers; /* parameters, statistics, trace */
  double *values;  /* [num_values] */
  bool compute;
} Slot;

typedef struct Block {
  RpinnContext *context;
  const RpinnDrawBlocks *blocks;
  size_t capacity, count;
  size_t draws_per_task;
  Slot *slots; /* [capacity] */
} Block;

/* ---- threads ---- */

typedef struct Worker {
  const Block *block;
  void *own;
} Worker;

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  const Block *block = user;
  Worker *opened = *worker = malloc(sizeof *opened);
  (void)pool;
  if (!opened) return rpinn_fail_memory(context);
  *opened = (Worker){block, block->blocks->worker(block->blocks->user, thread)};
  return RPINN_OK;
}

static RpinnStatus compute_some(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  const Worker *opened = worker;
  const Block *block = opened->block;
  size_t first = task * block->draws_per_task, end = first + block->draws_per_task;
  for (size_t i = first; i < end && i < block->count && !rpinn_task_pool_is_stopped(pool); i++) {
    const Slot *slot = &block->slots[i];
    if (slot->compute) RPINN_TRY(block->blocks->compute(opened->own, context, &slot->draw, slot->values));
  }
  return RPINN_OK;
}

static bool tick(void *user, uint64_t counted) {
  const Block *block = user;
  (void)counted;
  return rpinn_run_is_stopped(block->context, block->blocks->run);
}

/* Few draws to a task where there are few, so that all threads have some. */
static RpinnStatus compute_all(Block *block) {
  size_t num_threads = block->blocks->run->num_posteriors, share = block->count / (8 * num_threads);
  block->draws_per_task = share < 1 ? 1 : share < MAX_DRAWS_PER_TASK ? share : MAX_DRAWS_PER_TASK;
  RpinnTaskPoolResult result;
  RpinnTaskPoolOptions options = {.num_threads = num_threads,
                                  .num_tasks = (block->count - 1) / block->draws_per_task + 1,
                                  .user = block,
                                  .open_worker = open_worker,
                                  .close_worker = free,
                                  .perform = compute_some,
                                  .tick = tick};
  RPINN_TRY(rpinn_task_pool_run(block->context, &options, &result));
  return result.interrupted ? rpinn_fail_interrupted(block->context) : RPINN_OK;
}

/* ---- the block ---- */

static RpinnStatus hand_on(Block *block) {
  const RpinnDrawBlocks *blocks = block->blocks;
  if (!block->count) return RPINN_OK;
  RPINN_TRY(compute_all(block));
  for (size_t i = 0; i < block->count; i++) {
    const Slot *slot = &block->slots[i];
    if (rpinn_run_is_stopped(block->context, blocks->run)) return rpinn_fail_interrupted(block->context);
    RPINN_TRY(blocks->take(blocks->user, &slot->draw, slot->compute ? slot->values : NULL));
  }
  block->count = 0;
  return RPINN_OK;
}

static double *copy_numbers(double **to, const double *numbers, size_t count) {
  double *copy = *to;
  if (count) memcpy(copy, numbers, count * sizeof *copy);
  *to += count;
  return copy;
}

static RpinnStatus fill(const Block *block, Slot *slot, const RpinnVisitedDraw *draw) {
  const RpinnStoredMember *stored = draw->stored;
  size_t need = stored->num_parameters + stored->num_statistics + 2 * stored->num_trace + 1;
  if (need > slot->capacity) {
    free(slot->numbers);
    slot->numbers = malloc(need * sizeof(double));
    slot->capacity = slot->numbers ? need : 0;
  }
  if (!slot->values) slot->values = malloc((block->blocks->num_values + 1) * sizeof(double));
  if (!slot->numbers || !slot->values) return rpinn_fail_memory(block->context);
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

static RpinnStatus add(void *user, const RpinnVisitedDraw *draw) {
  Block *block = user;
  Slot *slot = &block->slots[block->count];
  RPINN_TRY(block->blocks->look(block->blocks->user, draw, &slot->compute));
  RPINN_TRY(fill(block, slot, draw));
  return ++block->count == block->capacity ? hand_on(block) : RPINN_OK;
}

static size_t choose_capacity(const RpinnDrawBlocks *blocks) {
  const RpinnRun *run = blocks->run;
  size_t bytes =
      (rpinn_posterior_num_drawn(run->posteriors[0]) + blocks->num_values) * sizeof(double) + sizeof(Slot);
  size_t capacity = BLOCK_BYTES / bytes;
  if (capacity > MAX_DRAWS) capacity = MAX_DRAWS;
  return capacity > run->num_posteriors ? capacity : run->num_posteriors;
}

RpinnStatus rpinn_draw_blocks_visit(RpinnContext *context, const RpinnDrawBlocks *blocks) {
  const RpinnRun *run = blocks->run;
  Block block = {.context = context, .blocks = blocks, .capacity = choose_capacity(blocks)};
  block.slots = calloc(block.capacity, sizeof *block.slots);
  if (!block.slots) return rpinn_fail_memory(context);
  RpinnStatus status = rpinn_draw_store_visit(context, run->store, &run->plan, blocks->warmup, add, &block);
  if (status == RPINN_OK) status = hand_on(&block);
  for (size_t i = 0; i < block.capacity; i++) {
    free(block.slots[i].numbers);
    free(block.slots[i].values);
  }
  free(block.slots);
  return status;
}
