/* The folders of shards, as they are named on a command line. */
#ifndef RPINN_BASE_SHARD_FOLDERS_H
#define RPINN_BASE_SHARD_FOLDERS_H

#include <stdbool.h>

#include "context.h"
#include "shard.h"

typedef struct RpinnShardFolders {
  size_t count, capacity;
  char **paths;
} RpinnShardFolders;

/* Is there such a file in the folder? */
bool rpinn_folder_has(const char *folder, const char *file);
/* Each of the folders that has the marker, and those in the others that have it, by name. Bad input: a path that is no folder, a
 * folder without any. Free them on every path. */
RpinnStatus rpinn_shard_folders_find(RpinnContext *context, size_t num_folders, const char *const *folders,
                                     const char *marker, RpinnShardFolders *found);
void rpinn_shard_folders_free(RpinnShardFolders *found);
/* Bad input: this shard is in two folders, or its folder has been named twice. */
RpinnStatus rpinn_fail_shard_twice(RpinnContext *context, RpinnShard shard, const char *folder,
                                   const char *there);
/* Where shards are joined: a folder that is absent, or holds nothing but what may be in it (NULL: nothing). */
RpinnStatus rpinn_check_empty_folder(RpinnContext *context, const char *folder, const char *allowed);

#endif
