/* One member of an ensemble: a minimisation from its own start with its own offsets, which can be stopped,
 * saved, resumed, and retried. MAP is an ensemble of one member without offsets, a deep ensemble has many
 * without, rPINN many with. Where float cannot tell any more whether a step goes down, the rest of it is made in double. Knows targets, not problems: starts and offsets come from callbacks. Several are advanced together:
 * each asks (request.h), one question at a time. */
#ifndef RPINN_SAMPLE_MEMBER_H
#define RPINN_SAMPLE_MEMBER_H

#include <stdint.h>

#include "minimize.h"
#include "request.h"

/* The target of one thread, which has slots for the members that it works on at a time, and where its members begin. `attempt`
 * counts fresh tries of a member, from 0. */
typedef struct RpinnMemberTarget {
  size_t num_parameters;
  size_t num_slots;
  bool has_offsets; /* do its members have any? */
  void *data;
  /* The energy of the member in a slot, in the forms that optimisers take; its place in these targets is the slot. The objective
   * has parts. */
  const RpinnBatchObjective *objective;
  const RpinnBatchLeastSquares *squares;
  /* Let a slot be at this attempt of a member: its offsets [num_rows + num_parameters], or NULL without. Valid until the slot is
   * taken again. */
  const double *(*take_slot)(void *data, size_t slot, uint64_t member, uint32_t attempt, bool with_offsets);
  RpinnStatus (*draw_start)(void *data, size_t slot, uint64_t member, uint32_t attempt, double *theta);
  /* The same energies in double, for members that Levenberg–Marquardt cannot bring further in the precision of the above; made when first
   * asked for. NULL: there is no other precision. */
  RpinnStatus (*open_double)(RpinnContext *context, void *data, const RpinnBatchObjective **objective,
                             const RpinnBatchLeastSquares **squares);
} RpinnMemberTarget;

typedef struct RpinnMember RpinnMember; /* workspace of one slot */

typedef struct RpinnMemberOutcome {
  bool finished; /* false: stopped by the caller; save the state to go on later */
  bool failed;   /* finished, but non-finite in every attempt */
  bool converged;
  bool in_double; /* it went on in double where it had come to the limit of damping */
  RpinnStop stop;
  uint32_t attempts; /* fresh ones beside the first */
  size_t iterations, evaluations;
  double loss, gradient_norm;
  const double *theta; /* [num_parameters] best point */
  const double *parts; /* [objective->num_parts] */
  const RpinnTracePoint *trace;
  size_t num_trace;
} RpinnMemberOutcome;

/* For a slot of the target. options: the same for all members. */
RpinnStatus rpinn_member_create(RpinnContext *context, const RpinnMemberTarget *target, size_t slot,
                                const RpinnMinimizeOptions *options, uint32_t max_retries,
                                RpinnMember **member);
void rpinn_member_destroy(RpinnMember *member);
/* Begin a member anew, or from a saved state (NULL: anew). Nothing is asked of the target yet. */
RpinnStatus rpinn_member_begin(RpinnContext *context, RpinnMember *member, uint64_t index, const void *state,
                               size_t state_size);
/* Iterations that its attempt has made, those before the state was saved included. */
size_t rpinn_member_num_iterations(const RpinnMember *member);
/* At most num_iterations further ones. The outcome's pointers are valid until the next call. */
RpinnStatus rpinn_member_advance(RpinnContext *context, RpinnMember *member, size_t num_iterations,
                                 RpinnMemberOutcome *outcome);

/* The same, one request at a time, for those who answer those of many: set out, and next until there is none. The request that
 * next gives must be answered before the next call. */
RpinnStatus rpinn_member_set_out(RpinnContext *context, RpinnMember *member, size_t num_iterations);
/* *request: what it asks, or NULL, and then the outcome. */
RpinnStatus rpinn_member_next(RpinnContext *context, RpinnMember *member, RpinnRequest **request,
                              RpinnMemberOutcome *outcome);

/* The state of a member that is not finished and asks nothing: size, then bytes. One that has only begun an attempt has none. */
bool rpinn_member_can_be_saved(const RpinnMember *member);
size_t rpinn_member_state_size(const RpinnMember *member);
void rpinn_member_save(const RpinnMember *member, void *state);

#endif
