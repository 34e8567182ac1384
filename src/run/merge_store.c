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

typedef struct Merge {
  RpinnContext *context;
  const RpinnShardSet *set;
  const RpinnMergeOptions *options;
  RpinnMemberStore *store; /* of the run */
  double started, next_report;
} Merge;

/* ---- draws ---- */

static RpinnStatus copy_draw(const Merge *merge, const RpinnOpenShard *shard, uint64_t key, bool *found) {
  RpinnStoredMember draw;
  RPINN_TRY(rpinn_member_store_get(merge->context, shard->store, key, &draw, found));
  return *found ? rpinn_member_store_add(merge->context, merge->store, &draw) : RPINN_OK;
}

static RpinnStatus copy_state(const Merge *merge, const RpinnOpenShard *shard, uint64_t key) {
  void *state = NULL;
  size_t size;
  RPINN_TRY(rpinn_member_store_get_state(merge->context, shard->store, key, &state, &size));
  RpinnStatus status =
      state ? rpinn_member_store_put_state(merge->context, merge->store, key, state, size) : RPINN_OK;
  free(state);
  return status;
}

/* Its draws from the first one on: there are no gaps in a chain. */
static RpinnStatus copy_chain(const Merge *merge, const RpinnOpenShard *shard, uint64_t chain) {
  for (int is_warmup = 1; is_warmup >= 0; is_warmup--) {
    bool found = true;
    for (uint64_t draw = 0; found; draw++)
      RPINN_TRY(copy_draw(merge, shard, rpinn_chain_draw_key(chain, is_warmup, draw), &found));
  }
  return copy_state(merge, shard, rpinn_chain_state_key(chain));
}

/* A draw, or else the state of what makes it. */
static RpinnStatus copy_member(const Merge *merge, const RpinnOpenShard *shard, uint64_t key) {
  bool found;
  RPINN_TRY(copy_draw(merge, shard, key, &found));
  return found ? RPINN_OK : copy_state(merge, shard, key);
}

/* ---- the caller ---- */

static void report(Merge *merge, uint64_t done, uint64_t total) {
  const RpinnMergeOptions *options = merge->options;
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
           merge->set->plan.has_chains ? "chains" : "members");
  options->progress(options->user, &progress);
}

static bool is_stopped(const Merge *merge) {
  const RpinnMergeOptions *options = merge->options;
  return (options->interrupted && options->interrupted(options->user)) ||
         rpinn_is_interrupted(merge->context);
}

/* ---- the whole ---- */

static RpinnStatus copy_draws(Merge *merge) {
  const RpinnDrawPlan *plan = &merge->set->plan;
  uint64_t num_tasks = rpinn_draw_plan_num_starts(plan);
  for (uint64_t task = 0; task < num_tasks; task++) {
    const RpinnOpenShard *shard = rpinn_shard_set_owner(merge->set, task);
    if (!shard) continue;
    if (is_stopped(merge)) return rpinn_fail_interrupted(merge->context);
    RPINN_TRY(plan->has_chains ? copy_chain(merge, shard, task) : copy_member(merge, shard, task));
    if (plan->is_corrected) RPINN_TRY(copy_member(merge, shard, rpinn_corrected_key(task)));
    report(merge, task + 1, num_tasks);
  }
  return RPINN_OK;
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
