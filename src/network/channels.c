#include "channels.h"

#include <string.h>

size_t rpinn_pair_index(size_t i, size_t j) {
  size_t low = i < j ? i : j, high = i < j ? j : i;
  return low * RPINN_MAX_COORDINATES - low * (low - 1) / 2 + high - low;
}

RpinnChannel rpinn_channel_value(void) {
  return (RpinnChannel){.order = 0};
}

RpinnChannel rpinn_channel_first(size_t coordinate) {
  RpinnChannel channel = {.order = 1};
  channel.coefficient[coordinate] = 1;
  return channel;
}

bool rpinn_channel_equal(const RpinnChannel *a, const RpinnChannel *b) {
  if (a->order != b->order) return false;
  for (size_t k = 0; k < RPINN_MAX_PAIRS; k++)
    if (a->coefficient[k] != b->coefficient[k]) return false;
  return true;
}

int rpinn_channel_set_find(const RpinnChannelSet *set, const RpinnChannel *channel) {
  for (size_t k = 0; k < set->count; k++)
    if (rpinn_channel_equal(&set->channels[k], channel)) return (int)k;
  return -1;
}

int rpinn_channel_set_first(const RpinnChannelSet *set, size_t coordinate) {
  RpinnChannel first = rpinn_channel_first(coordinate);
  return rpinn_channel_set_find(set, &first);
}

/* Behind the last channel of the same or a lower order. */
static bool insert_sorted(RpinnChannelSet *set, const RpinnChannel *channel) {
  if (rpinn_channel_set_find(set, channel) >= 0) return true;
  if (set->count == RPINN_MAX_CHANNELS) return false;
  size_t at = set->count;
  while (at > 0 && set->channels[at - 1].order > channel->order) at--;
  memmove(&set->channels[at + 1], &set->channels[at], (set->count - at) * sizeof set->channels[0]);
  set->channels[at] = *channel;
  set->count++;
  return true;
}

bool rpinn_channel_set_insert(RpinnChannelSet *set, const RpinnChannel *channel) {
  RpinnChannel value = rpinn_channel_value();
  if (!insert_sorted(set, &value)) return false;
  if (channel->order == 2)
    for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++)
      for (size_t j = i; j < RPINN_MAX_COORDINATES; j++) {
        if (channel->coefficient[rpinn_pair_index(i, j)] == 0) continue;
        RpinnChannel first_i = rpinn_channel_first(i), first_j = rpinn_channel_first(j);
        if (!insert_sorted(set, &first_i) || !insert_sorted(set, &first_j)) return false;
      }
  return insert_sorted(set, channel);
}
