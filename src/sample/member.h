/* One member of an ensemble: a minimisation from its own start with its own offsets, which can be stopped,
 * saved, resumed, and retried. MAP is an ensemble of one member without offsets, a deep ensemble has many
 * without, rPINN many with. Knows targets, not problems: starts and offsets come from callbacks. */
#ifndef RPINN_SAMPLE_MEMBER_H
#define RPINN_SAMPLE_MEMBER_H

#include <stdint.h>

#include "minimize.h"

/* The target of one thread, and where its members begin. `attempt` counts fresh tries of a member, from 0. */
typedef struct RpinnMemberTarget {
  size_t num_parameters, num_rows;
  void *data;
  /* offsets [num_rows + num_parameters] of the member; NULL: the method has none */
  void (*draw_offsets)(void *data, uint64_t member, uint32_t attempt, double *offsets);
  RpinnStatus (*draw_start)(void *data, uint64_t member, uint32_t attempt, const double *offsets,
                            double *theta);
  /* The energy with these offsets (NULL: none), in the form that the optimiser takes. Valid until the next
   * call. */
  const RpinnObjective *(*objective)(void *data, const double *offsets);
  const RpinnLeastSquares *squares;
  /* parts [num_parts] of the loss at theta, and the norm of the gradient */
  size_t num_parts;
  RpinnStatus (*loss_parts)(void *data, const double *theta, const double *offsets, double *loss,
                            double *parts, double *gradient_norm);
} RpinnMemberTarget;

typedef struct RpinnMember RpinnMember; /* workspace of one thread */

typedef struct RpinnMemberOutcome {
  bool finished; /* false: stopped by the caller; save the state to go on later */
  bool failed;   /* finished, but non-finite in every attempt */
  bool converged;
  RpinnStop stop;
  uint32_t attempts; /* fresh ones beside the first */
  size_t iterations, evaluations;
  double loss, gradient_norm;
  const double *theta; /* [num_parameters] best point */
  const double *parts; /* [num_parts] */
  const RpinnTracePoint *trace;
  size_t num_trace;
} RpinnMemberOutcome;

/* options: the same for all members. */
RpinnStatus rpinn_member_create(RpinnContext *context, const RpinnMemberTarget *target,
                                const RpinnMinimizeOptions *options, uint32_t max_retries,
                                RpinnMember **member);
void rpinn_member_destroy(RpinnMember *member);
/* Begin a member anew, or from a saved state (NULL: anew). */
RpinnStatus rpinn_member_begin(RpinnContext *context, RpinnMember *member, uint64_t index, const void *state,
                               size_t state_size);
/* Iterations that its attempt has made, those before the state was saved included. */
size_t rpinn_member_num_iterations(const RpinnMember *member);
/* At most num_iterations further ones. The outcome's pointers are valid until the next call. */
RpinnStatus rpinn_member_advance(RpinnContext *context, RpinnMember *member, size_t num_iterations,
                                 RpinnMemberOutcome *outcome);
/* The state of a member that is not finished: size, then bytes. */
size_t rpinn_member_state_size(const RpinnMember *member);
void rpinn_member_save(const RpinnMember *member, void *state);

#endif
