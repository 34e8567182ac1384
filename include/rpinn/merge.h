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

#ifdef __cplusplus
}
#endif
#endif
