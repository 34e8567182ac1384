#include "merge_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "learnt_store.h"
#include "number_text.h"
#include "part_file.h"
#include "steady_clock.h"
#include "store_copy.h"
#include "store_walk.h"

typedef struct Merge {
  RpinnContext *context;
  const RpinnShardSet *set;
  const RpinnMergeOptions *options;
  RpinnMemberStore *store;      /* of the run */
  uint64_t num_done, num_tasks; /* chains, or members, and these once more where they were continued */
  double started, next_report;
} Merge;

/* ---- draws ---- */

static RpinnStatus copy_state(const Merge *merge, RpinnMemberStore *from, uint64_t key) {
  void *state = NULL;
  size_t size;
  RPINN_TRY(rpinn_member_store_get_state(merge->context, from, key, &state, &size));
  RpinnStatus status =
      state ? rpinn_member_store_put_state(merge->context, merge->store, key, state, size) : RPINN_OK;
  free(state);
  return status;
}

/* All of its draws, with those of the warmup. */
static RpinnStatus copy_chain(const Merge *merge, RpinnMemberStore *from, uint64_t chain) {
  RpinnStoreWalk walk;
  RpinnStatus status = rpinn_store_walk_begin(merge->context, from, rpinn_chain_range(chain), &walk);
  while (status == RPINN_OK && walk.has_member) {
    status = rpinn_store_walk_copy(merge->context, &walk, merge->store);
    if (status == RPINN_OK) status = rpinn_store_walk_next(merge->context, &walk);
  }
  rpinn_store_walk_end(&walk);
  return status == RPINN_OK ? copy_state(merge, from, rpinn_chain_state_key(chain)) : status;
}

/* A draw, or else the state of what makes it. The walk passes over members that the shard has for its pilot. */
static RpinnStatus copy_member(const Merge *merge, RpinnStoreWalk *walk, uint64_t key) {
  while (walk->has_member && walk->index < key) RPINN_TRY(rpinn_store_walk_next(merge->context, walk));
  if (!walk->has_member || walk->index != key) return copy_state(merge, walk->store, key);
  RPINN_TRY(rpinn_store_walk_copy(merge->context, walk, merge->store));
  return rpinn_store_walk_next(merge->context, walk);
}

/* ---- the caller ---- */

static void report(Merge *merge) {
  const RpinnMergeOptions *options = merge->options;
  uint64_t done = merge->num_done, total = merge->num_tasks;
  double seconds = rpinn_steady_seconds() - merge->started;
  bool is_last = done == total;
  if (!options->progress || (!is_last && seconds < merge->next_report)) return;
  merge->next_report = seconds + 0.2;
  RpinnProgress progress = {.done = done,
                            .total = total,
                            .loss_low = (double)NAN,
                            .loss_median = (double)NAN,
                            .loss_high = (double)NAN,
                            .seconds = seconds,
                            .seconds_left = seconds / (double)done * (double)(total - done),
                            .last = is_last};
  snprintf(progress.unit, sizeof progress.unit, "%s merged",
           merge->set->plan.has_chains     ? "chains"
           : merge->set->plan.is_corrected ? "draws"
                                           : "members");
  options->progress(options->user, &progress);
}

static bool is_stopped(const Merge *merge) {
  const RpinnMergeOptions *options = merge->options;
  return (options->interrupted && options->interrupted(options->user)) ||
         rpinn_is_interrupted(merge->context);
}

/* ---- the whole ---- */

/* One more is done, or the caller wants an end. */
static RpinnStatus go_on(Merge *merge) {
  merge->num_done++;
  report(merge);
  return is_stopped(merge) ? rpinn_fail_interrupted(merge->context) : RPINN_OK;
}

static RpinnStatus copy_chains(Merge *merge) {
  for (uint64_t chain = 0; chain < merge->set->plan.num_chains; chain++) {
    const RpinnOpenShard *shard = rpinn_shard_set_owner(merge->set, chain);
    if (shard) RPINN_TRY(copy_chain(merge, shard->store, chain));
    RPINN_TRY(go_on(merge));
  }
  return RPINN_OK;
}

/* The members of a plan without chains, with all shards walked along together: walks [count + 1]. */
static RpinnStatus walk_shards(Merge *merge, const RpinnDrawPlan *plan, RpinnStoreWalk *walks) {
  const RpinnShardSet *set = merge->set;
  RpinnStoreRange range = rpinn_draw_store_range(plan);
  for (size_t k = 1; k <= set->count; k++)
    if (set->shards[k].folder)
      RPINN_TRY(rpinn_store_walk_begin(merge->context, set->shards[k].store, range, &walks[k]));
  for (uint64_t key = range.from; key < range.below; key++) {
    RpinnStoreWalk *walk = &walks[(key - range.from) % set->count + 1];
    if (walk->store) RPINN_TRY(copy_member(merge, walk, key));
    RPINN_TRY(go_on(merge));
  }
  return RPINN_OK;
}

static RpinnStatus copy_members(Merge *merge, const RpinnDrawPlan *plan) {
  size_t num_walks = merge->set->count + 1;
  RpinnStoreWalk *walks = calloc(num_walks, sizeof *walks);
  if (!walks) return rpinn_fail_memory(merge->context);
  RpinnStatus status = walk_shards(merge, plan, walks);
  for (size_t k = 0; k < num_walks; k++) rpinn_store_walk_end(&walks[k]);
  free(walks);
  return status;
}

static RpinnStatus copy_draws(Merge *merge) {
  const RpinnDrawPlan *plan = &merge->set->plan;
  RpinnDrawPlan members = rpinn_draw_plan_of_members(plan);
  merge->num_tasks = rpinn_draw_plan_num_starts(plan) * (plan->is_corrected ? 2 : 1);
  if (plan->has_chains) return copy_chains(merge);
  RPINN_TRY(copy_members(merge, &members));
  return plan->is_corrected ? copy_members(merge, plan) : RPINN_OK;
}

/* What all of them learnt is the same in each; their seconds add up. One without draws may have stopped while it learnt. */
static RpinnStatus copy_learnt(const Merge *merge) {
  const RpinnShardSet *set = merge->set;
  const char *teacher = NULL;
  double seconds = 0;
  char text[64];
  for (size_t k = 0; k <= set->count; k++) {
    const RpinnOpenShard *shard = &set->shards[k];
    char *own = NULL;
    if (!shard->folder) continue;
    if (shard->num_draws) {
      if (!teacher) teacher = shard->folder;
      RPINN_TRY(rpinn_learnt_copy(merge->context, shard->store, shard->folder, merge->store, teacher));
    }
    RPINN_TRY(rpinn_member_store_get_text(merge->context, shard->store, RPINN_SECONDS_KEY, &own));
    if (own) seconds += rpinn_number_read(own, NULL);
    free(own);
  }
  rpinn_format(text, sizeof text, "%.3f", seconds);
  return rpinn_member_store_set_text(merge->context, merge->store, RPINN_SECONDS_KEY, text);
}

static RpinnStatus fill(Merge *merge, const char *part) {
  RPINN_TRY(rpinn_member_store_open(merge->context, part, merge->set->identity, &merge->store));
  RPINN_TRY(rpinn_member_store_write_unsafely(merge->context, merge->store));
  RPINN_TRY(copy_learnt(merge)); /* which may differ, and is small */
  RPINN_TRY(copy_draws(merge));
  return rpinn_member_store_flush(merge->context, merge->store);
}

/* About the bytes of the store: those of all shards. */
static size_t measure(const RpinnShardSet *set) {
  size_t bytes = 0;
  for (size_t k = 0; k <= set->count; k++) {
    char path[RPINN_PATH_SIZE];
    struct stat info;
    snprintf(path, sizeof path, "%.4000s/checkpoint.db", set->shards[k].folder ? set->shards[k].folder : "");
    if (set->shards[k].folder && stat(path, &info) == 0) bytes += (size_t)info.st_size;
  }
  return bytes;
}

RpinnStatus rpinn_merge_stores(RpinnContext *context, const RpinnShardSet *set,
                               const RpinnMergeOptions *options) {
  Merge merge = {.context = context, .set = set, .options = options, .started = rpinn_steady_seconds()};
  char path[RPINN_PATH_SIZE], *part;
  snprintf(path, sizeof path, "%.4000s/checkpoint.db", options->folder);
  part = rpinn_part_file_path(path);
  if (!part) return rpinn_fail_memory(context);
  unlink(part); /* of a merge that was killed */
  RpinnStatus status = rpinn_part_file_create(context, part, measure(set));
  if (status == RPINN_OK) status = fill(&merge, part);
  rpinn_member_store_close(merge.store);
  if (status == RPINN_OK) status = rpinn_part_file_finish(context, part, path);
  if (status != RPINN_OK) unlink(part);
  free(part);
  return status;
}
