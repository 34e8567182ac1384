#include "shard.h"

#include <stdio.h>

#include "ascii.h"
#include "context.h"

bool rpinn_shard_owns(RpinnShard shard, uint64_t task) {
  if (!shard.count) return true;
  return shard.number && task % shard.count == shard.number - 1;
}

uint64_t rpinn_shard_size(RpinnShard shard, uint64_t num_tasks) {
  if (!shard.count) return num_tasks;
  return shard.number && num_tasks >= shard.number ? (num_tasks - shard.number) / shard.count + 1 : 0;
}

void rpinn_shard_write(RpinnShard shard, char text[RPINN_SHARD_TEXT]) {
  snprintf(text, RPINN_SHARD_TEXT, "%zu/%zu", shard.number, shard.count);
}

/* Digits up to whatever ends them; 0 where there are none, or too many. */
static const char *read_count(const char *text, size_t *count, bool *is_good) {
  const char *start = text;
  *count = 0;
  while (rpinn_is_digit(*text) && *count <= RPINN_MAX_SHARDS) *count = 10 * *count + (size_t)(*text++ - '0');
  *is_good = text > start && *count <= RPINN_MAX_SHARDS;
  return text;
}

RpinnStatus rpinn_shard_parse(RpinnContext *context, const char *text, RpinnShard *shard) {
  RpinnShard found;
  bool has_number, has_count = false;
  const char *end = read_count(text, &found.number, &has_number);
  if (*end == '/') end = read_count(end + 1, &found.count, &has_count);
  if (!has_number || !has_count || *end || !found.count || found.number > found.count)
    return rpinn_fail_at(
        context, (RpinnPlace){.file = "--shard"},
        "found '%.60s'; expected I/N such as 3/64: shard I from 1 to N, with N up to %d; 0/N "
        "learns what all of them need",
        text, RPINN_MAX_SHARDS);
  *shard = found;
  return RPINN_OK;
}
