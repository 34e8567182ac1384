/* The posterior of one thread as the target of its members. */
#ifndef RPINN_RUN_RUN_TARGETS_H
#define RPINN_RUN_RUN_TARGETS_H

#include "driver.h"
#include "member.h"

typedef struct RpinnRunTarget {
  RpinnPosterior *posterior;
  RpinnPosteriorMember member;
  RpinnObjective objective;
  RpinnLeastSquares squares;
  double *gradient; /* [N] */
  double *offsets;  /* [M + N] room for those that a start is made of, where the method has none */
  double *eta;      /* [K] of one draw */
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
/* Offsets of a member, for targets whose method has them, and the prior of its scale. */
void rpinn_run_target_draw_offsets(void *data, uint64_t member, uint32_t attempt, double *offsets);
/* eta [K] of a draw; where it is not learnt yet, that of the posterior. */
void rpinn_run_target_draw_noise(const RpinnRunTarget *target, uint64_t member, uint32_t attempt,
                                 double *eta);
/* The energy over theta and eta, for methods that sample both. Valid until the next objective is asked for. */
const RpinnObjective *rpinn_run_target_joint_objective(const RpinnMemberTarget *target);
/* How the settings ask for members to be minimised. */
RpinnMinimizeOptions rpinn_run_minimize_options(const RpinnProblem *problem);

#endif
