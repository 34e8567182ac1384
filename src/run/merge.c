/* The shards of a run become one run: found, compared, put into one store, and that made into results as any run's. */
#include <string.h>

#include "folders.h"
#include "merge_store.h"
#include "open_files.h"
#include "rpinn/version.h"
#include "run_record.h"
#include "shard_folders.h"
#include "stored_run.h"

static RpinnStatus check_target(RpinnContext *context, const char *folder) {
  RpinnShard shard;
  if (rpinn_folder_holds_shard(folder, &shard))
    return rpinn_fail_at(context, (RpinnPlace){.file = folder},
                         "this folder holds shard %zu/%zu; expected another one for the run, with --out",
                         shard.number, shard.count);
  if (rpinn_folder_has(folder, "checkpoint.db"))
    return rpinn_fail_at(context, (RpinnPlace){.file = folder},
                         "this folder holds a run already; rpinn run %.400s/run.yaml --out %.400s --resume "
                         "goes on with it, or choose another with --out",
                         folder, folder);
  return rpinn_check_empty_folder(context, folder, "checkpoint.db.part"); /* of a merge that was killed */
}

/* ---- the whole ---- */

static RpinnStatus fail_gaps(RpinnContext *context, const RpinnShardSet *set) {
  return rpinn_fail(
      context, RPINN_ERROR_INPUT,
      "draws of this run are missing in its %zu shards, as listed above; expected all of them, or "
      "--partial for a run of those that are there",
      set->count);
}

/* Results are those of some draws at least. */
static RpinnStatus check_draws(RpinnContext *context, const RpinnShardSet *set) {
  for (size_t number = 1; number <= set->count; number++)
    if (set->shards[number].num_draws) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT,
                    "no shard has %s yet; --partial makes results of those that are there",
                    set->plan.has_chains     ? "a draw"
                    : set->plan.is_corrected ? "a corrected member"
                                             : "a member");
}

/* Chains are as long as the shortest of them, and must all be there. */
static RpinnStatus check_chains(RpinnContext *context, const RpinnShardSet *set) {
  for (uint64_t chain = 0; set->plan.has_chains && chain < set->plan.num_chains; chain++) {
    const RpinnOpenShard *shard = rpinn_shard_set_owner(set, chain);
    uint64_t made = 0;
    if (shard) RPINN_TRY(rpinn_draw_store_count_task(context, shard->store, &set->plan, chain, &made));
    if (!made)
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "chain %llu has no draw yet; --partial merges chains as far as the shortest of them",
                        (unsigned long long)chain);
  }
  return RPINN_OK;
}

static void compare_versions(RpinnContext *context, const RpinnShardSet *set) {
  const char *version = set->shards[set->first].record.version;
  if (strcmp(version, rpinn_version()) != 0)
    rpinn_log(context, RPINN_LOG_WARNING,
              "the shards were made by rpinn %.40s, and the results are made by %.40s", version,
              rpinn_version());
}

static RpinnStatus check(RpinnContext *context, RpinnShardSet *set, const RpinnMergeOptions *options) {
  RPINN_TRY(rpinn_shard_set_find_gaps(context, set));
  if (!set->is_complete && !options->partial) return fail_gaps(context, set);
  RPINN_TRY(check_draws(context, set));
  if (!set->is_complete) RPINN_TRY(check_chains(context, set));
  compare_versions(context, set);
  return check_target(context, options->folder);
}

static RpinnStatus make(RpinnContext *context, const RpinnShardSet *set, const RpinnMergeOptions *options,
                        RpinnRun **run) {
  RpinnRunOptions run_options = {.folder = options->folder,
                                 .resume = true,
                                 .interrupted = options->interrupted,
                                 .progress = options->progress,
                                 .user = options->user};
  RPINN_TRY(rpinn_make_folders(context, options->folder));
  RPINN_TRY(rpinn_merge_stores(context, set, options));
  return rpinn_run_from_store(context, set->problem, &run_options, !set->is_complete, run);
}

RpinnStatus rpinn_merge(RpinnContext *context, const RpinnMergeOptions *options, RpinnRun **run) {
  RpinnShardFolders folders;
  RpinnShardSet set = {0};
  *run = NULL;
  RpinnStatus status =
      rpinn_shard_folders_find(context, options->num_folders, options->folders, "checkpoint.db", &folders);
  if (status == RPINN_OK) status = rpinn_check_open_files(context, folders.count, "shards");
  if (status == RPINN_OK)
    status = rpinn_shard_set_open(context, folders.count, (const char *const *)folders.paths, &set);
  if (status == RPINN_OK) status = check(context, &set, options);
  if (status == RPINN_OK) status = make(context, &set, options, run);
  rpinn_shard_folders_free(&folders);
  if (*run) { /* which goes on with its problem */
    (*run)->own_problem = set.problem;
    set.problem = NULL;
  }
  rpinn_shard_set_close(&set);
  return status;
}
