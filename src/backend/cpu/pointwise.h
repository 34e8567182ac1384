/* The pointwise work of the CPU backend: all that is not a matrix product. One table of functions per
 * instruction set; compiled for float and double (real.h).
 *
 * Layout. A layer of one network at many points is one row-major matrix [rows][width] without gaps; a row is
 * one channel (value, a first derivative, an operator of second order) at one point, an element of it one
 * unit. A *run* is a range of points that carry the same channels, and each channel of a run is a contiguous
 * range of rows. So a channel of a run is a flat array of num_elements = points * width, element e belonging
 * to unit e mod width, and pointwise formulas run over flat arrays with no waste for odd widths.
 *
 * Tiles. What belongs to a unit (a bias, its gradient) is needed along the flat array with period width. A
 * tile holds it written down until the pattern meets a 64-byte boundary: rpinn_tile_length(width) elements, a
 * multiple of both. Sums over points are collected in a tile and folded at the end, in an order fixed by the
 * width alone.
 *
 * Bits. Each element gets the same result on every instruction set, under every compiler and at every
 * address. Arrays need no alignment (64 bytes are faster). Only tiles are padded, by their definition:
 * elsewhere nothing is read or written beyond an array, but for output_bars in last_reverse. */
#ifndef RPINN_BACKEND_CPU_POINTWISE_H
#define RPINN_BACKEND_CPU_POINTWISE_H

#include <stddef.h>

#include "activation.h"
#include "isa.h"
#include "real.h"

enum {
  RPINN_JET_MAX_INPUTS = 4,
  RPINN_JET_MAX_CHANNELS = 16, /* the value, 4 first and 10 second derivatives, and one to spare */
  RPINN_SINE_LIMIT = 10000     /* arguments of the sine up to here are accurate */
};

/* Channel c of a run: c = 0 the value, then num_first first derivatives, then num_second operators
 * L = sum_{i<=j} c_ij d_ij over the first derivatives of the run. */
typedef struct RpinnJetRun {
  RpinnActivation activation;
  size_t num_points, width;
  size_t tile_length;   /* rpinn_tile_length(width) */
  const RealBits *rows; /* the tile of rpinn_tile_rows(width); for last_reverse only */
  size_t num_first, num_second;
  const Real *hessians; /* [num_second][num_first][num_first], symmetric: H_ii = 2 c_ii, H_ij = c_ij */
} RpinnJetRun;

/* The inputs of a network as its first layer sees them: z = sum_d x_d w_d + b, z_d = w_d, all z_L = 0. */
typedef struct RpinnJetInputs {
  size_t num_inputs;
  const Real *const *coordinates; /* [num_inputs] flat arrays: x_d of the point, repeated for each unit */
  const Real *const *weights;     /* [num_inputs] tiles */
  const size_t *input_of_first;   /* [num_first] */
} RpinnJetInputs;

typedef struct RpinnAdamStep {
  Real beta1, beta2;
  Real rate;       /* rate_t / (1 - beta1^(t+1)) */
  Real root_scale; /* 1 / sqrt(1 - beta2^(t+1)) */
  Real epsilon;
} RpinnAdamStep;

typedef struct RpinnPointwise {
  /* s, s', s'', s''' at z: derivatives[order][count]; for tests and small work. */
  void (*activation_evaluate)(RpinnActivation activation, size_t count, const Real *z,
                              Real *const derivatives[4]);

  /* Arrays of all channels: z, a and their bars are [channel][point][unit]. */

  /* The value of z is that of the products, without the bias; writes a, and kept [num_elements] (not used for tanh). */
  void (*hidden_forward)(const RpinnJetRun *run, const Real *bias, const Real *z, Real *a, Real *kept);
  /* a_bars, z_bars: the derivatives of the energy with respect to a and z; may be the same array. Of a only the value is
   * read. Adds to the tile bias_sums. */
  void (*hidden_reverse)(const RpinnJetRun *run, const Real *bias, const Real *z, const Real *a,
                         const Real *kept, const Real *a_bars, Real *z_bars, Real *bias_sums);
  /* hidden_reverse for the layer below the output, where abar = output_bars[channel][point] weights[unit]. All channels of a are
   * read; weights is a tile; output_bars can be read RPINN_REAL_GROUP elements beyond its end, of any finite value. Adds to the tile
   * weight_sums the gradient of the weights. */
  void (*last_reverse)(const RpinnJetRun *run, const Real *bias, const Real *z, const Real *a,
                       const Real *kept, const Real *weights, const Real *output_bars, Real *z_bars,
                       Real *bias_sums, Real *weight_sums);
  /* The same for the first layer. Adds to the tiles bias_sums and weight_sums[num_inputs]. */
  void (*input_forward)(const RpinnJetRun *run, const RpinnJetInputs *inputs, const Real *bias, Real *a,
                        Real *kept);
  void (*input_reverse)(const RpinnJetRun *run, const RpinnJetInputs *inputs, const Real *bias, const Real *a,
                        const Real *kept, const Real *a_bars, Real *bias_sums, Real *const *weight_sums);

  /* The last layer, one output: bars[row][u] = output_bars[row] weights[u]; weight_sums[u] += sum_row output_bars[row] a[row][u]. */
  void (*output_reverse)(size_t num_rows, size_t width, const Real *a, const Real *weights,
                         const Real *output_bars, Real *bars, Real *weight_sums);

  /* One point's row of the Jacobian: W[o][i] = sum_c bars[c bar_step + o] inputs[c input_step + i], with
   * num_channels > 0. */
  void (*outer_sum)(size_t num_channels, size_t num_out, size_t num_in, const Real *bars, size_t bar_step,
                    const Real *inputs, size_t input_step, Real *W);

  /* With the gradient g = gradient + prior_scale theta - prior_shift:
   *   m = beta1 m + (1-beta1) g;  v = beta2 v + (1-beta2) g^2;
   *   theta -= rate m / (root_scale sqrt(v) + epsilon). */
  void (*adam_update)(size_t count, const RpinnAdamStep *step, const Real *gradient, const Real *prior_scale,
                      const Real *prior_shift, Real *theta, Real *m, Real *v);

  /* Between the caller's double and Real. */
  void (*to_real)(size_t count, const double *from, Real *to);
  void (*to_double)(size_t count, const Real *from, double *to);
  /* The gradient of the data to double with that of the prior added, where root > 0, in one pass:
   *   row = (theta - mean) root - offset,  gradient = data + root row.   Returns 1/2 sum of row^2, in an
   * order that their number alone decides. mean and offsets may be NULL, for zeros; gradient and data may be, for the same sum alone. */
  double (*finish_gradient)(size_t count, const Real *data, const double *theta, const double *root,
                            const double *mean, const double *offsets, double *gradient);

  /* A tile from the values of the units; and back, values[u] = the sum of the tile's elements of unit u. */
  void (*tile_fill)(size_t width, size_t tile_length, const Real *values, Real *tile);
  void (*tile_fold)(size_t width, size_t tile_length, const Real *tile, Real *values);
} RpinnPointwise;

/* The kernels for one instruction set; NULL where this machine or this build has none. */
const RpinnPointwise *RPINN_REAL_NAME(rpinn_pointwise)(RpinnIsa isa);

/* The tile of a width: the least common multiple with RPINN_REAL_GROUP. */
size_t RPINN_REAL_NAME(rpinn_tile_length)(size_t width);
/* rows[e] = e / width for each element of a tile. */
void RPINN_REAL_NAME(rpinn_tile_rows)(size_t width, RealBits *rows);

#endif
