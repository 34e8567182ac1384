/* What the kernel of chains reads and writes: plain structs for C17 and CUDA C++ alike.
 *
 * A chain that is on the device has a *seat*: vectors like theta in the device's layout, and a record of the transition under way. They
 * stay from launch to launch. A launch has *places*, a block of threads each, and an order for each place says which seat
 * it goes on with. */
#ifndef RPINN_BACKEND_CUDA_CHAIN_TABLES_H
#define RPINN_BACKEND_CUDA_CHAIN_TABLES_H

#include <stdint.h>

/* Positions of a seat, double [layout_size] each. */
enum {
  RPINN_CHAIN_PROPOSED, /* two of them: that of the trajectory and that of its new half */
  RPINN_CHAIN_REACHED = RPINN_CHAIN_PROPOSED + 2, /* at both ends */
  RPINN_CHAIN_NUM_POSITIONS = RPINN_CHAIN_REACHED + 2
};

/* Other vectors of a seat, float [layout_size] each: what the gradient's precision does for. */
enum {
  RPINN_CHAIN_INVERSE,         /* M^-1; 0 for what belongs to no parameter, which so stays where it is */
  RPINN_CHAIN_PROPOSED_SLOPES, /* the gradient of the log density at both proposals */
  RPINN_CHAIN_SLOPES = RPINN_CHAIN_PROPOSED_SLOPES + 2, /* at both ends, of which no half grows */
  RPINN_CHAIN_MOMENTA = RPINN_CHAIN_SLOPES + 2, /* at both ends; half a step ahead where a half grows */
  RPINN_CHAIN_SEAM = RPINN_CHAIN_MOMENTA + 2,   /* momentum at the end that the new half began from */
  RPINN_CHAIN_SUM,                              /* of the momenta of the trajectory */
  RPINN_CHAIN_PART,                             /* of those of the tree that the last point completes */
  RPINN_CHAIN_LAST,                             /* momentum at the last point, while it completes trees */
  RPINN_CHAIN_TREES /* [max_depth]: momenta at the first and last point of the tree that waits for another of its size, and their sum */
};
static inline int64_t rpinn_chain_num_vectors(int64_t max_depth) {
  return RPINN_CHAIN_TREES + 3 * max_depth;
}

/* What every point needs and changes of the transition under way, as src/sample/nuts_trajectory.h has it. */
typedef struct RpinnChainCourse {
  double first_energy, acceptance_sum, max_error;
  double log_weight, half_weight; /* of the trajectory, of its new half */
  int64_t num_steps, num_leaves;  /* points of the trajectory, of its new half */
  int32_t depth, direction, end;  /* that grows; -1: backwards in time */
  int32_t chosen;                 /* proposal of the trajectory; that of the half is the other one */
  int32_t diverging, reached_max_depth, has_finished;
} RpinnChainCourse;

/* Between leapfrogs of a half (num_leaves > 0) the position at its end is that of the last point, and the momentum half a step ahead. */
typedef struct RpinnChainRecord {
  RpinnChainCourse course;
  double energy[2], log_density[2]; /* of the proposals */
} RpinnChainRecord;

/* No place in shared memory: a block has at most 227 KiB, 58112 floats. */
enum { RPINN_CHAIN_NOWHERE = UINT16_MAX };

typedef struct RpinnChainOrder {
  int64_t seat;
  int32_t is_idle; /* nothing is to be done */
  int32_t begins;  /* a transition */
  int32_t is_new;  /* the host has brought its state, as the first proposal */
  int32_t max_depth, turns_by_path;
  int64_t prior; /* which of the priors is its own */
  uint64_t key;  /* of its random numbers */
  double step, ignored, max_energy_error;
  double log_density;       /* where the transition begins */
  double *theta, *gradient; /* [num_parameters] of the host, for the state that it leads to */
} RpinnChainOrder;

typedef struct RpinnChainOutcome {
  int32_t has_finished;
  int32_t depth, diverging, reached_max_depth;
  int32_t num_made; /* leapfrogs of this launch */
  int64_t num_steps;
  double log_density, energy, first_energy, max_error, acceptance_sum;
} RpinnChainOutcome;

/* Pointers are the device's, but for outcomes and where orders want states. */
typedef struct RpinnDeviceChains {
  double *positions; /* [seats][RPINN_CHAIN_NUM_POSITIONS][layout_size] */
  float *vectors;    /* [seats][vectors_of_seat][layout_size] */
  int64_t vectors_of_seat;
  /* A row of a prior is root theta - shift. */
  const double *rows;            /* [priors][layout_size][2] root and shift of rows that differ … */
  const uint16_t *row_numbers;   /* [priors][layout_size] … and which of them a parameter has */
  RpinnChainRecord *records;     /* [seats] */
  const RpinnChainOrder *orders; /* [places] */
  uint16_t *shared_places;       /* [layout_size] in shared memory, or RPINN_CHAIN_NOWHERE */
  RpinnChainOutcome *outcomes;   /* [places], of the host */
  const int32_t *parameters;     /* [num_parameters] where in the layout a parameter is */
  int64_t num_parameters;
  int32_t *num_finished;
  int32_t enough;    /* when so many have finished, the others stop where they are … */
  int32_t least;     /* … having made so many leapfrogs */
  int32_t num_steps; /* leapfrogs, at most */
} RpinnDeviceChains;

#endif
