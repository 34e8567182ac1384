/* The posterior of one thread as the target of its members. */
#ifndef RPINN_RUN_RUN_TARGETS_H
#define RPINN_RUN_RUN_TARGETS_H

#include "driver.h"
#include "member.h"
#include "member_slots.h"

typedef struct RpinnRunTarget {
  RpinnMemberSlots *slots;          /* with the posterior */
  double *eta;                      /* [K] of one draw */
  const RpinnNoisePosterior *noise; /* what eta is drawn from; NULL: all noise is known */
  RpinnStart start;
  size_t num_given;    /* points to start from, taken in turn; 0 for starts that are drawn */
  const double *given; /* [num_given][N]: the MAP estimate, or the members of an earlier run */
} RpinnRunTarget;

/* targets [num_threads] and what they point to, in the posteriors' arenas. With `start: map` they begin as with
 * glorot until the next function has been called. */
RpinnStatus rpinn_run_targets_make(RpinnContext *context, RpinnDriver *driver, RpinnMemberTarget **targets);
/* With `start: map`, once the store is open: seek the estimate and let all targets begin there. Method map with `start:
 * prior`: let it begin at the lowest of several minima. The caller may want an end before it is found:
 * driver->interrupted. */
RpinnStatus rpinn_run_start_from_map(RpinnContext *context, RpinnDriver *driver,
                                     const RpinnMemberTarget *targets);
/* Let members begin at starts [count][N], taken in turn, which are borrowed. */
void rpinn_run_give_starts(const RpinnDriver *driver, const RpinnMemberTarget *targets, size_t count,
                           const double *starts);
/* eta [K] of a draw; where it is not learnt yet, that of the posterior. */
void rpinn_run_target_draw_noise(const RpinnRunTarget *target, uint64_t member, uint32_t attempt,
                                 double *eta);
/* eta [K] of the member in a slot. */
const double *rpinn_run_target_noise(const RpinnMemberTarget *target, size_t slot);
/* How the settings ask for members to be minimised. */
RpinnMinimizeOptions rpinn_run_minimize_options(const RpinnProblem *problem);

#endif
