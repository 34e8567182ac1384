#include "rank_handout.h"

/* The first tasks, one for each thread as far as they go, in equal parts: rank r has those between W T_r / T and W T_(r+1) / T, where
 * T_r counts the threads before it, T all, and W is the number of these tasks. */
void rpinn_handout_begin(RpinnHandout *handout) {
  handout->next = handout->left = 0;
  handout->num_threads = 0;
  for (uint64_t k = 0; k < handout->num_tasks; k++) handout->left += !(handout->done && handout->done[k]);
  for (size_t r = 0; r < handout->num_ranks; r++) handout->num_threads += handout->threads[r];
  uint64_t all = handout->num_threads, first = handout->left < all ? handout->left : all, before = 0;
  for (size_t r = 0; r < handout->num_ranks; r++) {
    uint64_t behind = before + handout->threads[r];
    handout->reserved[r] = first * behind / all - first * before / all;
    before = behind;
  }
}

bool rpinn_handout_is_over(const RpinnHandout *handout) {
  return handout->left == 0;
}

/* Half of what would be a rank's if all that is left were dealt by threads. */
static uint64_t share(const RpinnHandout *handout, size_t rank, uint64_t available) {
  return available * handout->threads[rank] / (2 * handout->num_threads);
}

size_t rpinn_handout_take(RpinnHandout *handout, size_t rank, size_t need, size_t most, uint64_t *tasks) {
  uint64_t wanted = handout->reserved[rank], available = handout->left;
  handout->reserved[rank] = 0;
  for (size_t r = 0; r < handout->num_ranks; r++) available -= handout->reserved[r];
  if (wanted < need) wanted = need;
  if (wanted < share(handout, rank, available)) wanted = share(handout, rank, available);
  if (wanted > available) wanted = available;
  if (wanted > most) wanted = most;
  for (size_t count = 0; count < wanted; handout->next++)
    if (!(handout->done && handout->done[handout->next])) tasks[count++] = handout->next;
  handout->left -= wanted;
  return (size_t)wanted;
}
