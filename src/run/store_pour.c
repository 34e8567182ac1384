#include "store_pour.h"

#include <stdlib.h>

#include "draw_store.h"
#include "store_copy.h"

RpinnStatus rpinn_store_pour_draw(RpinnContext *context, RpinnStoreWalk *walk, RpinnMemberStore *to) {
  RpinnStoreRange place = {walk->index, walk->index + 1};
  RPINN_TRY(rpinn_member_store_drop(context, to, place));
  RPINN_TRY(rpinn_store_walk_copy(context, walk, to));
  return rpinn_store_walk_next(context, walk);
}

static bool is_learnt(uint64_t key) {
  for (size_t k = 0; k < rpinn_num_shared_states(); k++)
    if (rpinn_shared_state_key(k) == key) return true;
  return false;
}

RpinnStatus rpinn_store_pour_states(RpinnContext *context, RpinnMemberStore *from, RpinnMemberStore *to) {
  bool found;
  for (uint64_t key = 0, at;; key = at + 1) {
    void *state = NULL;
    size_t size;
    RPINN_TRY(rpinn_member_store_next_state(context, from, key, &at, &found));
    if (!found) return RPINN_OK;
    if (is_learnt(at)) continue;
    RPINN_TRY(rpinn_member_store_get_state(context, from, at, &state, &size));
    RpinnStatus status = state ? rpinn_member_store_put_state(context, to, at, state, size) : RPINN_OK;
    free(state);
    RPINN_TRY(status);
  }
}

/* Draws first: a chain whose draws are further than its state makes these again, and has no gap. */
RpinnStatus rpinn_store_pour(RpinnContext *context, RpinnMemberStore *from, RpinnMemberStore *to,
                             uint64_t *num_draws) {
  RpinnStoreWalk walk;
  *num_draws = 0;
  RpinnStatus status = rpinn_store_walk_begin(context, from, (RpinnStoreRange){0, UINT64_MAX}, &walk);
  while (status == RPINN_OK && walk.has_member) {
    status = rpinn_store_pour_draw(context, &walk, to);
    *num_draws += status == RPINN_OK;
  }
  rpinn_store_walk_end(&walk);
  if (status == RPINN_OK) status = rpinn_store_pour_states(context, from, to);
  return status == RPINN_OK ? rpinn_member_store_flush(context, to) : status;
}
