/* A run that is a shard of one: whether it can be, whose folder it is, what it leaves. */
#ifndef RPINN_RUN_RUN_SHARD_H
#define RPINN_RUN_RUN_SHARD_H

#include "driver.h"

/* Bad input, with the reason: the draws of the method cannot be made apart from each other; what they learn is not to be had. */
RpinnStatus rpinn_run_check_split(RpinnContext *context, const RpinnDriver *driver);
/* Bad input: the store, which is open, is that of another shard, or of a whole run, or of another version. */
RpinnStatus rpinn_run_check_shard(RpinnContext *context, const RpinnDriver *driver);
/* The store says what it is. */
RpinnStatus rpinn_run_note_shard(RpinnContext *context, const RpinnDriver *driver);
/* The first shard leaves learnt.db to the others. */
RpinnStatus rpinn_run_leave_learnt(RpinnContext *context, const RpinnDriver *driver);
/* run->table and run->json: how far it is. */
RpinnStatus rpinn_run_describe_shard(RpinnContext *context, const RpinnDriver *driver);

#endif
