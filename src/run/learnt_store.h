/* What a run learns once and all of its draws need: the scale of the prior, noise, the point that draws start from. Every shard
 * learns it alike, or takes it from learnt.db, which the first one leaves: a store without draws. */
#ifndef RPINN_RUN_LEARNT_STORE_H
#define RPINN_RUN_LEARNT_STORE_H

#include "driver.h"

/* From one store into another, which may have some of it already, but nothing else under the same name: bad input, as the
 * names of the stores say. */
RpinnStatus rpinn_learnt_copy(RpinnContext *context, RpinnMemberStore *from, const char *from_name,
                              RpinnMemberStore *to, const char *to_name);
/* What the driver's store has learnt, as a store of its own. */
RpinnStatus rpinn_learnt_leave(RpinnContext *context, const RpinnDriver *driver, const char *path);
/* Was the file that its options name left by a shard of the same run? Bad input where not. */
RpinnStatus rpinn_learnt_check(RpinnContext *context, const RpinnDriver *driver, const char *identity);
/* From it into the driver's store. */
RpinnStatus rpinn_learnt_take(RpinnContext *context, const RpinnDriver *driver);

#endif
