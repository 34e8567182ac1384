/* Whose is a task? */
#ifndef RPINN_BASE_SHARD_H
#define RPINN_BASE_SHARD_H

#include <stdbool.h>
#include <stdint.h>

#include "rpinn/shard.h"

enum { RPINN_SHARD_TEXT = 48 };

/* Who has no task. */
static const RpinnShard rpinn_no_shard = {0, 1};

bool rpinn_shard_owns(RpinnShard shard, uint64_t task);
/* How many of num_tasks it has. */
uint64_t rpinn_shard_size(RpinnShard shard, uint64_t num_tasks);
/* "3/64" */
void rpinn_shard_write(RpinnShard shard, char text[RPINN_SHARD_TEXT]);

#endif
