/* A chain of NUTS from the inside, for the files that make it and for those who drive many. */
#ifndef RPINN_SAMPLE_NUTS_CHAIN_H
#define RPINN_SAMPLE_NUTS_CHAIN_H

#include "dual_averaging.h"
#include "nuts_trajectory.h"
#include "rpinn/nuts.h"
#include "warmup_windows.h"

#define RPINN_NUTS_LARGEST_STEP 1e7

/* What the density is asked for. */
typedef enum RpinnNutsPhase {
  RPINN_NUTS_AT_REST,     /* for nothing: between two iterations, or not started */
  RPINN_NUTS_START,       /* the start */
  RPINN_NUTS_FIRST_STEP,  /* a leapfrog of the search of a step size, before the first transition */
  RPINN_NUTS_TRANSITION,  /* a leapfrog of a trajectory */
  RPINN_NUTS_METRIC_STEP, /* a leapfrog of the search of a step size for a new metric */
} RpinnNutsPhase;

struct RpinnNuts {
  RpinnArena *arena;      /* holds the chain itself and all its vectors */
  RpinnLogDensity single; /* the target for one, where it was given as such */
  RpinnNutsOptions options;
  RpinnWarmupWindows windows;
  size_t num_step_iterations; /* of the warmup, over which the step size adapts */
  /* ---- of the iteration under way ---- */
  RpinnNutsPhase phase;
  bool has_tried, grows; /* of a search: the first leapfrog has told whether the step grows or shrinks */
  uint64_t number;       /* of the chain, for messages about its start */
  RpinnNutsDraw draw;    /* of the last iteration, once it is complete */
  /* ---- what a saved state holds ---- */
  bool started;
  size_t num_iterations;
  double step;
  RpinnStream stream;
  RpinnDualAveraging averaging;
  RpinnNutsMetric metric;
  RpinnTrajectory trajectory; /* of which its current point, without the momentum, and num_leapfrogs */
};

/* ---- one request at a time: for those who answer those of many ----
 *
 *   rpinn_nuts_place, or for an iteration rpinn_nuts_set_out
 *   while ((request = rpinn_nuts_request(nuts))) { answer it; rpinn_nuts_go_on(context, nuts); }
 *
 * and then nuts->draw is that of the iteration. What is asked stays asked until the chain goes on, so that a driver may
 * leave it where it is for a while. */

/* Ask as this member from now on. */
void rpinn_nuts_set_member(RpinnNuts *nuts, size_t member);
/* Forget everything and be at theta [num_parameters], with the random stream of seed and chain. */
void rpinn_nuts_place(RpinnNuts *nuts, uint64_t seed, uint64_t chain, const double *theta);
/* Begin an iteration; nothing new for a chain in the middle of one. RPINN_ERROR_INPUT where it was not started, or is
 * finished. */
RpinnStatus rpinn_nuts_set_out(RpinnContext *context, RpinnNuts *nuts);
/* What it asks; NULL when the start or the iteration is complete. Only then can it be saved. */
RpinnRequest *rpinn_nuts_request(RpinnNuts *nuts);
/* Go on with the answer; nothing at rest. Failures are of the chain itself, which then has to be started or restored. */
RpinnStatus rpinn_nuts_go_on(RpinnContext *context, RpinnNuts *nuts);
/* Its request could not be answered: it has to be started or restored. */
void rpinn_nuts_give_up(RpinnNuts *nuts);

/* Room for what up to `capacity` chains ask, and rpinn_nuts_advance_together in it: it allocates nothing. */
typedef struct RpinnNutsCompany RpinnNutsCompany;
RpinnStatus rpinn_nuts_company_create(RpinnContext *context, size_t capacity, RpinnNutsCompany **company);
void rpinn_nuts_company_destroy(RpinnNutsCompany *company);
RpinnStatus rpinn_nuts_company_advance(RpinnContext *context, RpinnNutsCompany *company, size_t count,
                                       RpinnNuts *const *chains, RpinnNutsDraw *draws, bool *made);

#endif
