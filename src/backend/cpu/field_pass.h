/* One network over the rows of one block: forward through all channels and back.
 *
 * A block is a list of runs; a run is the network at the points of one segment, with the channels that the
 * segment's program asks for. Rows of a block: run by run, channel by channel, point by point. The layout and
 * the pointwise formulas are those of pointwise.h; what is between them are the matrix products of matrix_products.h.
 *
 * Derivatives here are with respect to the scaled inputs and of the unscaled output: channel_map.h
 * translates. */
#ifndef RPINN_BACKEND_CPU_FIELD_PASS_H
#define RPINN_BACKEND_CPU_FIELD_PASS_H

#include "matrix_products.h"
#include "network.h"
#include "pointwise.h"

/* The channels of a run, as the kernels count them: the value, num_first derivatives, num_second operators.
 */
typedef struct RpinnJetShape {
  size_t num_channels;
  size_t num_first, num_second;
  size_t input_of_first[RPINN_JET_MAX_INPUTS];
  Real hessians[RPINN_MAX_PAIRS * RPINN_JET_MAX_INPUTS * RPINN_JET_MAX_INPUTS];
} RpinnJetShape;

typedef struct RpinnFieldRun {
  const RpinnJetShape *shape;
  size_t num_points; /* 0: the segment does not use this field */
  size_t first_row;
  const Real *x;                              /* [num_points][num_inputs] scaled inputs */
  const Real *repeated[RPINN_JET_MAX_INPUTS]; /* [num_points][first hidden width]: x_d for every unit */
} RpinnFieldRun;

typedef struct RpinnFieldPass RpinnFieldPass;

/* For blocks of at most max_rows rows. NULL when out of memory. */
RpinnFieldPass *RPINN_REAL_NAME(rpinn_field_pass_create)(const RpinnNetwork *network,
                                                         const RpinnPointwise *kernels,
                                                         const RpinnMatrixProducts *products,
                                                         size_t max_rows);
void RPINN_REAL_NAME(rpinn_field_pass_destroy)(RpinnFieldPass *pass);

/* Take new parameters (theta: of all networks and unknowns) and forget the sums of the last reverse pass. */
void RPINN_REAL_NAME(rpinn_field_pass_set)(RpinnFieldPass *pass, const Real *theta);
/* outputs [num_rows], the bias included. Valid until the next forward pass. */
const Real *RPINN_REAL_NAME(rpinn_field_pass_forward)(RpinnFieldPass *pass, const RpinnFieldRun *runs,
                                                      size_t num_runs, size_t num_rows);
/* Where the caller puts dE/d outputs [num_rows] before a reverse pass over the same block. */
Real *RPINN_REAL_NAME(rpinn_field_pass_bars)(RpinnFieldPass *pass);
/* Add to the sums; the matrices' gradients go to gradient (a vector like theta), which the first reverse pass
 * after `set` overwrites. */
void RPINN_REAL_NAME(rpinn_field_pass_reverse)(RpinnFieldPass *pass, const RpinnFieldRun *runs,
                                               size_t num_runs, size_t num_rows, Real *gradient);
/* The rest of the gradient, once all blocks went back. */
void RPINN_REAL_NAME(rpinn_field_pass_finish)(RpinnFieldPass *pass, Real *gradient);
/* Where slopes point by point go: point p of a run has the vector rows[run] + p * stride. */
typedef struct RpinnSlopePlace {
  Real *const *rows;
  size_t stride;
  /* [num_layers] where a layer's slopes begin in that vector, or NULL: it is a vector like theta. */
  const size_t *layer_start;
  /* [num_layers] zbar [num_rows][num_out] and a [num_rows][num_in] of a layer whose W is kept in these factors, with b alone in the
   * vectors; NULL for layers whose W stands before b there, and for the array where all do. */
  Real *const *bars, *const *inputs;
} RpinnSlopePlace;

/* The reverse pass point by point. */
void RPINN_REAL_NAME(rpinn_field_pass_slopes)(RpinnFieldPass *pass, const RpinnFieldRun *runs,
                                              size_t num_runs, size_t num_rows, const RpinnSlopePlace *place);

#endif
