/* One transition of NUTS: a trajectory of leapfrogs that doubles until it turns back, and the point that is
 * drawn from it.
 *
 *   H(q, p) = -log density(q) + 1/2 p.p#,   p# = M^-1 p
 *
 * A trajectory does not call its target: it asks for the log density at the end of each leapfrog (request.h), and goes on
 * when it is answered.
 *
 * Points are shared by reference between the parts of a trajectory and come from a pool that is large enough
 * for the deepest one: nothing is copied and nothing allocated on the way. */
#ifndef RPINN_SAMPLE_NUTS_TRAJECTORY_H
#define RPINN_SAMPLE_NUTS_TRAJECTORY_H

#include "nuts_metric.h"
#include "phase_vectors.h"
#include "request.h"

/* A point of phase space; vectors as in phase_vectors.h. */
typedef struct RpinnPhasePoint {
  double *q, *p, *sharp; /* position, momentum, M^-1 p (the same vector as p for the unit metric) */
  double *gradient;      /* of the log density at q */
  double log_density;
  double energy; /* H; +infinity where it is not a number, or not finite at all */
  unsigned uses; /* by parts of the trajectory */
} RpinnPhasePoint;

/* A part of a trajectory. It holds one use of each of its three points, which may be the same. */
typedef struct RpinnTree {
  RpinnPhasePoint *first, *last, *proposal;
  const double *rho; /* sum of the momenta */
  double log_weight;
} RpinnTree;

typedef struct RpinnTrajectory {
  RpinnBatchLogDensity target;
  RpinnRequest request; /* for the density at `asked`, or for `transition` */
  RpinnPhasePoint *asked;
  const RpinnNutsMetric *metric;
  RpinnStream *stream;
  const RpinnPhaseVectors *vectors;
  size_t length; /* of the vectors */
  unsigned max_depth;
  double max_energy_error;
  bool turns_by_path;                     /* RPINN_TURN_PATH */
  RpinnPhasePoint *points, **free_points; /* [num_points]; those not in use are a stack */
  size_t num_points, num_free;
  RpinnPhasePoint *current; /* the state of the chain */
  /* The point one half-kick and drift of ahead_step after ahead_of, made in the same pass over memory; NULL:
   * none. */
  RpinnPhasePoint *ahead;
  const RpinnPhasePoint *ahead_of;
  double ahead_step;
  double leap;          /* the step of the leapfrog under way, backwards when negative */
  double *rho;          /* of the whole trajectory */
  double **scratch;     /* [max_depth] rho of the trees that are stacked */
  size_t num_leapfrogs; /* ever made */
  /* ---- the trajectory under way ---- */
  RpinnTree whole;
  RpinnTree *trees; /* [max_depth] of the half in the making: a stack, in the order of time, ever smaller */
  size_t num_trees;
  size_t num_leaves; /* points of the half */
  unsigned depth;    /* doublings that were kept */
  double step, first_energy, acceptance_sum, max_error;
  double ignored; /* errors of the energy up to this size count as none in the acceptance */
  size_t num_steps;
  bool diverging, reached_max_depth;
  /* ---- where the target makes whole transitions: nuts_whole.c ---- */
  RpinnWholeTransition transition;
  size_t metric_version; /* that the target has */
  double *lent[2];       /* by the target: q and gradient of `current`; NULL: none was */
} RpinnTrajectory;

/* What a transition was like; the new state is trajectory->current. */
typedef struct RpinnTransition {
  double energy_error, max_energy_error, acceptance_rate;
  unsigned tree_depth; /* doublings that were kept */
  size_t num_steps;
  bool diverging, reached_max_depth;
} RpinnTransition;

/* From the arena; borrows metric and stream. False when out of memory. */
bool rpinn_trajectory_create(RpinnArena *arena, const RpinnBatchLogDensity *target, size_t member,
                             const RpinnNutsMetric *metric, RpinnStream *stream, unsigned max_depth,
                             double max_energy_error, RpinnTrajectory *trajectory);

/* What follows asks by trajectory->request where it says so. */

/* Make theta [N] the current state, and ask for its density. */
void rpinn_trajectory_place(RpinnTrajectory *trajectory, const double *theta);
/* Take the answer. The value may be anything. */
void rpinn_trajectory_settle(RpinnTrajectory *trajectory);

/* A fresh momentum for the current state. */
void rpinn_trajectory_refresh(RpinnTrajectory *trajectory);
/* Recompute sharp and energy of a point from its momentum. */
void rpinn_trajectory_weigh(const RpinnTrajectory *trajectory, RpinnPhasePoint *point);
/* Leave `from` by one leapfrog of `step` (backwards when negative), and ask for the density where it leads. */
void rpinn_trajectory_leap(RpinnTrajectory *trajectory, const RpinnPhasePoint *from, double step);
/* Take the answer: the end of the leapfrog, from the pool. A next one from there with the same step is cheaper. */
RpinnPhasePoint *rpinn_trajectory_land(RpinnTrajectory *trajectory);
/* Give back all points but the current one. */
void rpinn_trajectory_clear(RpinnTrajectory *trajectory);

/* ---- transitions that the target makes: nuts_whole.c ---- */

/* Does it? Then it is asked for them in the place of points. */
bool rpinn_trajectory_is_whole(const RpinnTrajectory *trajectory);
/* Then the current state is where the target can write to, if it lends such memory; before anything else is done. Return it, also after
 * failure, while the target's data are there. */
RpinnStatus rpinn_trajectory_borrow(RpinnContext *context, RpinnTrajectory *trajectory);
void rpinn_trajectory_return(RpinnTrajectory *trajectory);
/* What the target has of the chain is no longer so. */
void rpinn_trajectory_forget(RpinnTrajectory *trajectory);
/* As rpinn_trajectory_set_out, go_on and arrive. */
void rpinn_trajectory_set_out_whole(RpinnTrajectory *trajectory, double step, double ignored);
bool rpinn_trajectory_go_on_whole(RpinnTrajectory *trajectory);
RpinnTransition rpinn_trajectory_arrive_whole(RpinnTrajectory *trajectory);

/* ---- a transition, whoever makes it ---- */

/* Begin a transition with the given step size, and ask for its first point. Errors of the energy up to `ignored` are of the
 * target's rounding: the acceptance that the step size learns from does not see them, the weights of points do. */
void rpinn_trajectory_set_out(RpinnTrajectory *trajectory, double step, double ignored);
/* Take the answer. True: it asks for another point; false: the transition is complete. */
bool rpinn_trajectory_go_on(RpinnTrajectory *trajectory);
/* Make the proposal of a complete transition the current state. */
RpinnTransition rpinn_trajectory_arrive(RpinnTrajectory *trajectory);

#endif
