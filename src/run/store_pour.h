/* What one store of a run has, into another one of the same run. */
#ifndef RPINN_RUN_STORE_POUR_H
#define RPINN_RUN_STORE_POUR_H

#include "store_walk.h"

/* The draw that a walk stands at, and on to the next one. The state that it was made from goes; one that is there already is the same. */
RpinnStatus rpinn_store_pour_draw(RpinnContext *context, RpinnStoreWalk *walk, RpinnMemberStore *to);
/* The states of what is under way, in the place of older ones; not what all have learnt, which is there already. */
RpinnStatus rpinn_store_pour_states(RpinnContext *context, RpinnMemberStore *from, RpinnMemberStore *to);
/* Both, and all is safe there afterwards; memory is that of a draw. A damaged one is bad input, with those before it poured. */
RpinnStatus rpinn_store_pour(RpinnContext *context, RpinnMemberStore *from, RpinnMemberStore *to,
                             uint64_t *num_draws);

#endif
