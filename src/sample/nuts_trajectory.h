/* One transition of NUTS: a trajectory of leapfrogs that doubles until it turns back, and the point that is
 * drawn from it.
 *
 *   H(q, p) = -log density(q) + 1/2 p.p#,   p# = M^-1 p
 *
 * Points are shared by reference between the parts of a trajectory and come from a pool that is large enough
 * for the deepest one: nothing is copied and nothing allocated on the way. */
#ifndef RPINN_SAMPLE_NUTS_TRAJECTORY_H
#define RPINN_SAMPLE_NUTS_TRAJECTORY_H

#include "nuts_metric.h"
#include "phase_vectors.h"
#include "rpinn/target.h"

/* A point of phase space; vectors as in phase_vectors.h. */
typedef struct RpinnPhasePoint {
  double *q, *p, *sharp; /* position, momentum, M^-1 p (the same vector as p for the unit metric) */
  double *gradient;      /* of the log density at q */
  double log_density;
  double energy; /* H; +infinity where it is not a number, or not finite at all */
  unsigned uses; /* by parts of the trajectory */
} RpinnPhasePoint;

typedef struct RpinnTrajectory {
  RpinnLogDensity target;
  const RpinnNutsMetric *metric;
  RpinnStream *stream;
  const RpinnPhaseVectors *vectors;
  size_t length; /* of the vectors */
  unsigned max_depth;
  double max_energy_error;
  RpinnPhasePoint *points, **free_points; /* [num_points]; those not in use are a stack */
  size_t num_points, num_free;
  RpinnPhasePoint *current; /* the state of the chain */
  /* The point one half-kick and drift of ahead_step after ahead_of, made in the same pass over memory; NULL:
   * none. */
  RpinnPhasePoint *ahead;
  const RpinnPhasePoint *ahead_of;
  double ahead_step;
  double *rho;          /* of the whole trajectory */
  double **scratch;     /* [max_depth + 1] rho of the subtrees that are being built */
  size_t num_leapfrogs; /* ever made */
  /* ---- the trajectory under way ---- */
  double step, first_energy, acceptance_sum, max_error;
  size_t num_steps;
  bool diverging;
} RpinnTrajectory;

/* What a transition was like; the new state is trajectory->current. */
typedef struct RpinnTransition {
  double energy_error, max_energy_error, acceptance_rate;
  unsigned tree_depth; /* doublings that were kept */
  size_t num_steps;
  bool diverging, reached_max_depth;
} RpinnTransition;

/* From the arena; borrows metric and stream. False when out of memory. */
bool rpinn_trajectory_create(RpinnArena *arena, const RpinnLogDensity *target, const RpinnNutsMetric *metric,
                             RpinnStream *stream, unsigned max_depth, double max_energy_error,
                             RpinnTrajectory *trajectory);
/* Evaluate the target at theta [N] and make it the current state. The value may be anything. */
RpinnStatus rpinn_trajectory_place(RpinnTrajectory *trajectory, const double *theta);
/* A fresh momentum for the current state. */
void rpinn_trajectory_refresh(RpinnTrajectory *trajectory);
/* Recompute sharp and energy of a point from its momentum. */
void rpinn_trajectory_weigh(const RpinnTrajectory *trajectory, RpinnPhasePoint *point);
/* *to = the point one leapfrog of `step` (backwards when negative) after from, taken from the pool. A next leap
 * from there with the same step is cheaper. */
RpinnStatus rpinn_trajectory_leap(RpinnTrajectory *trajectory, const RpinnPhasePoint *from, double step,
                                  RpinnPhasePoint **to);
/* Give back all points but the current one. */
void rpinn_trajectory_clear(RpinnTrajectory *trajectory);
/* One transition with the given step size. */
RpinnStatus rpinn_trajectory_transition(RpinnTrajectory *trajectory, double step,
                                        RpinnTransition *transition);

#endif
