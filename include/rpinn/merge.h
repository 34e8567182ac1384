/* `rpinn merge`: the shards of a run become one run, those of a study one folder. */
#ifndef RPINN_MERGE_H
#define RPINN_MERGE_H

#include "rpinn/run.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnMergeOptions {
  size_t num_folders;
  const char *const *folders; /* [num_folders] shards, or folders of shards */
  const char *folder;         /* for the result: absent or empty */
  bool partial;               /* what is there is enough */
  bool (*interrupted)(
      void *user); /* as in RpinnRunOptions; may be NULL: what is made so far goes, the shards stay */
  void (*progress)(void *user, const RpinnProgress *progress); /* may be NULL */
  void *user;
} RpinnMergeOptions;

/* The run that all shards of it make up, as a single process would have made it: all files of a run directory, the same bytes but
 * for times. Shards are only read; memory does not grow with the draws. Bad input, before anything is made: shards of different runs,
 * settings, versions or numbers, one of them twice, or, unless partial, draws that are missing: the log of the context then names all
 * of them, and the commands that make them. */
RPINN_API RpinnStatus rpinn_merge(RpinnContext *context, const RpinnMergeOptions *options, RpinnRun **run);

/* The shards of a study become one folder, with all of its files; the study itself, made there once more, finds all runs known and
 * writes its tables. Bad input as above; files of one name that differ are, too. */
typedef struct RpinnMergedTasks RpinnMergedTasks;
RPINN_API RpinnStatus rpinn_merge_tasks(RpinnContext *context, const RpinnMergeOptions *options,
                                        RpinnMergedTasks **tasks);
RPINN_API void rpinn_merged_tasks_destroy(RpinnMergedTasks *tasks);
/* No run is missing. */
RPINN_API bool rpinn_merged_tasks_are_complete(const RpinnMergedTasks *tasks);
/* The command that makes the study, as RpinnTaskShard has it: its arguments; NULL after the last. */
RPINN_API const char *rpinn_merged_tasks_argument(const RpinnMergedTasks *tasks, size_t index);
/* Does the folder hold a shard of a study, or folders of such shards? */
RPINN_API bool rpinn_holds_task_shards(const char *folder);

#ifdef __cplusplus
}
#endif
#endif
