/* The kernels of pointwise.h for one instruction set and one precision.
 *
 *   forward   a   = s(z)
 *             a_d = s' z_d
 *             a_L = s' z_L + s'' Q_L,   Q_L = sum_{i<=j} c_ij z_i z_j = 1/2 z^T H z
 *   reverse   zbar_L = s' abar_L
 *             zbar_d = s' abar_d + sum_L abar_L s'' (H z)_d
 *             zbar   = s' abar + sum_d s'' z_d abar_d + sum_L abar_L (s'' z_L + s''' Q_L)
 *
 * with the derivatives of s at z. Each kernel is written once for any shape. The shapes that most problems
 * have (up to two first derivatives and one operator of second order) are compiled with their loops over
 * channels unrolled; other shapes, and the last incomplete vector of an array, take the loops: the same
 * operations, the same bits. */
#include "pointwise.h"

#include <stdint.h>

#include "activation_vectors.h"

enum { LANES = RPINN_VECTOR_LANES };

/* Sums in tiles take whole vectors: tiles are padded, the lanes beyond an array hold zeros, and a whole
 * vector is read back faster than an incomplete one. */
RPINN_INLINE void tile_add(Real *sums, RealVector value) {
  vector_store(sums, vector_load(sums) + value);
}

RPINN_INLINE void tile_add_product(Real *sums, RealVector a, RealVector b) {
  vector_store(sums, vector_fma(a, b, vector_load(sums)));
}

/* Where one vector stands: in the flat arrays, in the tiles, and at which point the tile begins. */
typedef struct Spot {
  size_t element, tile, count, point;
} Spot;

typedef enum JetPass { INPUT_FORWARD, HIDDEN_FORWARD, LAST_REVERSE, HIDDEN_REVERSE, INPUT_REVERSE } JetPass;

/* One vector of elements before the activation. */
typedef struct JetPoint {
  RealVector value;                       /* z */
  RealVector first[RPINN_JET_MAX_INPUTS]; /* z_d */
} JetPoint;

/* What an operator of second order makes of the first derivatives. */
typedef struct JetCurvature {
  RealVector twice_form;                     /* 2 Q */
  RealVector gradient[RPINN_JET_MAX_INPUTS]; /* dQ/dz_d = (H z)_d */
} JetCurvature;

RPINN_INLINE JetCurvature jet_curvature(size_t num_first, const Real *hessian, const JetPoint *point) {
  JetCurvature curvature;
  curvature.twice_form = vector_fill(0);
  for (size_t i = 0; i < num_first; i++) {
    RealVector sum = vector_fill(hessian[i * num_first]) * point->first[0];
    for (size_t j = 1; j < num_first; j++)
      sum = vector_fma(vector_fill(hessian[i * num_first + j]), point->first[j], sum);
    curvature.gradient[i] = sum;
    curvature.twice_form =
        i == 0 ? sum * point->first[0] : vector_fma(sum, point->first[i], curvature.twice_form);
  }
  return curvature;
}

/* ---- evaluate ---- */

static void activation_evaluate(RpinnActivation activation, size_t count, const Real *z,
                                Real *const derivatives[4]) {
  for (size_t i = 0; i < count; i += LANES) {
    size_t lanes = count - i < LANES ? count - i : LANES;
    RealVector x = vector_load_lanes(z + i, lanes);
    ActivationValue s = activation_value(activation, x);
    ActivationSlopes slopes = activation_slopes(activation, x, s.value, s.kept);
    vector_store_lanes(derivatives[0] + i, s.value, lanes);
    RealVector factor = activation_is_relative(activation) ? slopes.first + slopes.first : vector_fill(2);
    vector_store_lanes(derivatives[1] + i, slopes.first, lanes);
    vector_store_lanes(derivatives[2] + i, factor * slopes.half_second, lanes);
    vector_store_lanes(derivatives[3] + i, factor * slopes.half_third, lanes);
  }
}

/* ---- points before the activation ---- */

/* The arrays of one call of a jet kernel, whichever of them it uses. Copied here so that the compiler sees
 * that no store changes the pointers. */
typedef struct JetCall {
  const Real *hessians;
  size_t num_points, num_elements;
  const Real *bias;  /* tile */
  const Real *z;     /* hidden layers only */
  size_t num_inputs; /* this and the next three: first layer only */
  size_t input_of_first[RPINN_JET_MAX_INPUTS];
  const Real *coordinates[RPINN_JET_MAX_INPUTS];
  const Real *weights[RPINN_JET_MAX_INPUTS];
  Real *new_a; /* forward */
  Real *new_kept;
  const Real *a, *kept; /* this and the rest: reverse */
  const Real *a_bars;   /* not below the output */
  Real *z_bars;
  Real *bias_sums;
  Real *weight_sums[RPINN_JET_MAX_INPUTS];
  const RealBits *rows;       /* tile; this and the rest: below the output */
  const Real *output_weights; /* tile */
  const Real *output_bars;
  Real *output_weight_sums;
} JetCall;

/* Where a vector of a channel stands. Channels are as far apart as a run is long: one pointer and this distance reach them all, where a pointer for each
 * channel of each array would leave too few registers. */
RPINN_INLINE size_t in_channel(const JetCall *call, size_t channel, Spot at) {
  return channel * call->num_elements + at.element;
}

RPINN_INLINE JetPoint hidden_point(const JetCall *call, size_t num_first, Spot at) {
  JetPoint point;
  point.value = vector_load_lanes(call->z + at.element, at.count) + vector_load(call->bias + at.tile);
  for (size_t d = 0; d < num_first; d++)
    point.first[d] = vector_once(vector_load_lanes(call->z + in_channel(call, 1 + d, at), at.count));
  return point;
}

RPINN_INLINE JetPoint input_point(const JetCall *call, size_t num_inputs, size_t num_first, Spot at) {
  JetPoint point;
  point.value = vector_load(call->bias + at.tile);
  for (size_t d = 0; d < num_inputs; d++)
    point.value = vector_fma(vector_load_lanes(call->coordinates[d] + at.element, at.count),
                             vector_load(call->weights[d] + at.tile), point.value);
  for (size_t d = 0; d < num_first; d++)
    point.first[d] = vector_once(vector_load(call->weights[call->input_of_first[d]] + at.tile));
  return point;
}

/* ---- forward ---- */

/* s' z_L + s'' Q, where z_L is NULL for zero */
RPINN_INLINE RealVector forward_second(bool is_relative, ActivationSlopes slopes, RealVector twice_form,
                                       const RealVector *z_second) {
  if (z_second != NULL && is_relative)
    return slopes.first * vector_fma(slopes.half_second, twice_form, *z_second);
  RealVector bent = slopes.half_second * twice_form;
  if (z_second != NULL) return vector_fma(slopes.first, *z_second, bent);
  return is_relative ? slopes.first * bent : bent;
}

RPINN_INLINE void forward_vector(JetPass pass, const JetCall *call, RpinnActivation activation,
                                 size_t num_inputs, size_t num_first, size_t num_second, Spot at) {
  const bool is_input = pass == INPUT_FORWARD;
  JetPoint point =
      is_input ? input_point(call, num_inputs, num_first, at) : hidden_point(call, num_first, at);
  ActivationValue s = activation_value(activation, point.value);
  ActivationSlopes slopes = activation_slopes(activation, point.value, s.value, s.kept);
  vector_store_lanes(call->new_a + at.element, s.value, at.count);
  if (activation != RPINN_ACTIVATION_TANH) vector_store_lanes(call->new_kept + at.element, s.kept, at.count);
  for (size_t d = 0; d < num_first; d++)
    vector_store_lanes(call->new_a + in_channel(call, 1 + d, at), slopes.first * point.first[d], at.count);
  for (size_t l = 0; l < num_second; l++) {
    size_t channel = 1 + num_first + l;
    JetCurvature curvature = jet_curvature(num_first, call->hessians + l * num_first * num_first, &point);
    RealVector z_second =
        is_input ? vector_fill(0) : vector_load_lanes(call->z + in_channel(call, channel, at), at.count);
    RealVector a_second = forward_second(activation_is_relative(activation), slopes, curvature.twice_form,
                                         is_input ? NULL : &z_second);
    vector_store_lanes(call->new_a + in_channel(call, channel, at), a_second, at.count);
  }
}

/* ---- reverse ---- */

/* What comes down from the output: its bars of the points that a vector covers, its weights, and the sum over
 * points and channels of ubar_c a_c, which is the gradient of the weights. */
typedef struct OutputBars {
  size_t point; /* of the first lane */
  BitsVector index;
  RealVector weights, sum;
} OutputBars;

RPINN_INLINE OutputBars output_bars_at(const JetCall *call, Spot at) {
  const RealBits row = call->rows[at.tile];
  return (OutputBars){.point = at.point + (size_t)row,
                      .index = bits_load(call->rows + at.tile) - bits_fill(row),
                      .weights = vector_once(vector_load_lanes(call->output_weights + at.tile, at.count)),
                      .sum = vector_load(call->output_weight_sums + at.tile)};
}

/* abar of a channel: from memory, or below the output the product of the output's bar and weight. */
RPINN_INLINE RealVector load_bar(JetPass pass, const JetCall *call, OutputBars *output, size_t channel,
                                 Spot at) {
  if (pass != LAST_REVERSE) return vector_load_lanes(call->a_bars + in_channel(call, channel, at), at.count);
  RealVector bar = vector_pick(call->output_bars + channel * call->num_points + output->point, output->index);
  output->sum =
      vector_fma(bar, vector_load_lanes(call->a + in_channel(call, channel, at), at.count), output->sum);
  return bar * output->weights;
}

/* zbar and zbar_d of one vector; zbar_L goes to memory in a hidden layer and to nobody in the first.
 * Below, y = s' abar of a channel, and base = y or abar, whichever second and third are to be multiplied by.
 */
RPINN_INLINE JetPoint reverse_point(JetPass pass, const JetCall *call, RpinnActivation activation,
                                    size_t num_first, size_t num_second, const JetPoint *point, Spot at) {
  const bool is_relative = activation_is_relative(activation);
  RealVector a = vector_once(vector_load_lanes(call->a + at.element, at.count));
  RealVector k =
      activation == RPINN_ACTIVATION_TANH ? a : vector_load_lanes(call->kept + at.element, at.count);
  ActivationSlopes slopes = activation_slopes(activation, point->value, a, k);
  RealVector second = slopes.half_second + slopes.half_second;
  OutputBars output = pass == LAST_REVERSE ? output_bars_at(call, at) : (OutputBars){0};
  JetPoint bar;
  bar.value = slopes.first * load_bar(pass, call, &output, 0, at);
  for (size_t d = 0; d < num_first; d++) {
    RealVector a_bar = load_bar(pass, call, &output, 1 + d, at), y = slopes.first * a_bar;
    bar.first[d] = y;
    bar.value = vector_fma(second * (is_relative ? y : a_bar), point->first[d], bar.value);
  }
  for (size_t l = 0; l < num_second; l++) {
    size_t channel = 1 + num_first + l;
    JetCurvature curvature = jet_curvature(num_first, call->hessians + l * num_first * num_first, point);
    RealVector a_bar = load_bar(pass, call, &output, channel, at), y = slopes.first * a_bar;
    RealVector base = is_relative ? y : a_bar, bent = second * base;
    for (size_t d = 0; d < num_first; d++)
      bar.first[d] = vector_fma(bent, curvature.gradient[d], bar.first[d]);
    bar.value = vector_fma(slopes.half_third * base, curvature.twice_form, bar.value);
    if (pass != INPUT_REVERSE) {
      bar.value =
          vector_fma(bent, vector_load_lanes(call->z + in_channel(call, channel, at), at.count), bar.value);
      vector_store_lanes(call->z_bars + in_channel(call, channel, at), y, at.count);
    }
  }
  if (pass == LAST_REVERSE) vector_store(call->output_weight_sums + at.tile, output.sum);
  return bar;
}

RPINN_INLINE void hidden_reverse_vector(JetPass pass, const JetCall *call, RpinnActivation activation,
                                        size_t num_first, size_t num_second, Spot at) {
  JetPoint point = hidden_point(call, num_first, at);
  JetPoint bar = reverse_point(pass, call, activation, num_first, num_second, &point, at);
  vector_store_lanes(call->z_bars + at.element, bar.value, at.count);
  for (size_t d = 0; d < num_first; d++)
    vector_store_lanes(call->z_bars + in_channel(call, 1 + d, at), bar.first[d], at.count);
  tile_add(call->bias_sums + at.tile, bar.value);
}

/* wbar_d = sum over points of zbar x_d + zbar_d */
RPINN_INLINE void input_reverse_vector(const JetCall *call, RpinnActivation activation, size_t num_inputs,
                                       size_t num_first, size_t num_second, Spot at) {
  JetPoint point = input_point(call, num_inputs, num_first, at);
  JetPoint bar = reverse_point(INPUT_REVERSE, call, activation, num_first, num_second, &point, at);
  tile_add(call->bias_sums + at.tile, bar.value);
  for (size_t d = 0; d < num_inputs; d++)
    tile_add_product(call->weight_sums[d] + at.tile, bar.value,
                     vector_load_lanes(call->coordinates[d] + at.element, at.count));
  for (size_t d = 0; d < num_first; d++)
    tile_add(call->weight_sums[call->input_of_first[d]] + at.tile, bar.first[d]);
}

/* ---- loops over a run ---- */

RPINN_INLINE void jet_vector(JetPass pass, const JetCall *call, RpinnActivation activation, size_t num_inputs,
                             size_t num_first, size_t num_second, Spot at) {
  if (pass == INPUT_FORWARD || pass == HIDDEN_FORWARD)
    forward_vector(pass, call, activation, num_inputs, num_first, num_second, at);
  else if (pass == INPUT_REVERSE)
    input_reverse_vector(call, activation, num_inputs, num_first, num_second, at);
  else
    hidden_reverse_vector(pass, call, activation, num_first, num_second, at);
}

/* All complete vectors of a run. */
RPINN_INLINE void jet_vectors_of(JetPass pass, const RpinnJetRun *run, const JetCall *call,
                                 RpinnActivation activation, size_t num_inputs, size_t num_first,
                                 size_t num_second) {
  const size_t num_elements = run->num_points * run->width, tile_length = run->tile_length;
  const size_t tile_points = tile_length / run->width;
  for (size_t start = 0, point = 0; start < num_elements; start += tile_length, point += tile_points) {
    size_t length = num_elements - start < tile_length ? num_elements - start : tile_length;
    for (size_t i = 0; i + LANES <= length; i += LANES)
      jet_vector(pass, call, activation, num_inputs, num_first, num_second,
                 (Spot){start + i, i, LANES, point});
  }
}

/* The same with the usual number of inputs as a constant, all of which have their derivatives, or one has none. */
RPINN_INLINE void jet_vectors(JetPass pass, const RpinnJetRun *run, const JetCall *call,
                              RpinnActivation activation, size_t num_first, size_t num_second) {
  const size_t usual = num_first > 0 ? num_first : 1;
  const bool is_input = pass == INPUT_FORWARD || pass == INPUT_REVERSE;
  if (is_input && call->num_inputs == usual)
    jet_vectors_of(pass, run, call, activation, usual, num_first, num_second);
  else
    jet_vectors_of(pass, run, call, activation, call->num_inputs, num_first, num_second);
}

/* The incomplete vector at the end of a run. */
RPINN_INLINE void jet_tail(JetPass pass, const RpinnJetRun *run, const JetCall *call,
                           RpinnActivation activation) {
  const size_t num_elements = run->num_points * run->width, count = num_elements % LANES;
  const size_t element = num_elements - count, tile = element % run->tile_length;
  Spot at = {element, tile, count, (element - tile) / run->width};
  if (count > 0) jet_vector(pass, call, activation, call->num_inputs, run->num_first, run->num_second, at);
}

RPINN_INLINE void jet_run(JetPass pass, const RpinnJetRun *run, const JetCall *call,
                          RpinnActivation activation) {
  const size_t num_first = run->num_first, num_second = run->num_second;
  if (num_first == 0 && num_second == 0)
    jet_vectors(pass, run, call, activation, 0, 0);
  else if (num_first == 1 && num_second == 0)
    jet_vectors(pass, run, call, activation, 1, 0);
  else if (num_first == 1 && num_second == 1)
    jet_vectors(pass, run, call, activation, 1, 1);
  else if (num_first == 2 && num_second == 0)
    jet_vectors(pass, run, call, activation, 2, 0);
  else if (num_first == 2 && num_second == 1)
    jet_vectors(pass, run, call, activation, 2, 1);
  else
    jet_vectors(pass, run, call, activation, num_first, num_second);
  jet_tail(pass, run, call, activation);
}

RPINN_INLINE void jet_pass(JetPass pass, const RpinnJetRun *run, const JetCall *call) {
  switch (run->activation) {
  case RPINN_ACTIVATION_TANH: jet_run(pass, run, call, RPINN_ACTIVATION_TANH); break;
  case RPINN_ACTIVATION_SINE: jet_run(pass, run, call, RPINN_ACTIVATION_SINE); break;
  case RPINN_ACTIVATION_SOFTPLUS: jet_run(pass, run, call, RPINN_ACTIVATION_SOFTPLUS); break;
  case RPINN_ACTIVATION_SWISH: jet_run(pass, run, call, RPINN_ACTIVATION_SWISH); break;
  case RPINN_NUM_ACTIVATIONS: break;
  }
}

RPINN_INLINE void call_set_inputs(JetCall *call, const RpinnJetRun *run, const RpinnJetInputs *inputs) {
  call->num_inputs = inputs->num_inputs;
  for (size_t d = 0; d < inputs->num_inputs; d++) {
    call->coordinates[d] = inputs->coordinates[d];
    call->weights[d] = inputs->weights[d];
  }
  for (size_t d = 0; d < run->num_first; d++) call->input_of_first[d] = inputs->input_of_first[d];
}

RPINN_INLINE JetCall call_of(const RpinnJetRun *run, const Real *bias) {
  return (JetCall){.hessians = run->hessians,
                   .num_points = run->num_points,
                   .num_elements = run->num_points * run->width,
                   .bias = bias};
}

static void hidden_forward(const RpinnJetRun *run, const Real *bias, const Real *z, Real *a, Real *kept) {
  JetCall call = call_of(run, bias);
  call.z = z;
  call.new_a = a;
  call.new_kept = kept;
  jet_pass(HIDDEN_FORWARD, run, &call);
}

static void hidden_reverse(const RpinnJetRun *run, const Real *bias, const Real *z, const Real *a,
                           const Real *kept, const Real *a_bars, Real *z_bars, Real *bias_sums) {
  JetCall call = call_of(run, bias);
  call.z = z;
  call.a = a;
  call.kept = kept;
  call.a_bars = a_bars;
  call.z_bars = z_bars;
  call.bias_sums = bias_sums;
  jet_pass(HIDDEN_REVERSE, run, &call);
}

static void last_reverse(const RpinnJetRun *run, const Real *bias, const Real *z, const Real *a,
                         const Real *kept, const Real *weights, const Real *output_bars, Real *z_bars,
                         Real *bias_sums, Real *weight_sums) {
  JetCall call = call_of(run, bias);
  call.z = z;
  call.a = a;
  call.kept = kept;
  call.z_bars = z_bars;
  call.bias_sums = bias_sums;
  call.rows = run->rows;
  call.output_weights = weights;
  call.output_bars = output_bars;
  call.output_weight_sums = weight_sums;
  jet_pass(LAST_REVERSE, run, &call);
}

static void input_forward(const RpinnJetRun *run, const RpinnJetInputs *inputs, const Real *bias, Real *a,
                          Real *kept) {
  JetCall call = call_of(run, bias);
  call_set_inputs(&call, run, inputs);
  call.new_a = a;
  call.new_kept = kept;
  jet_pass(INPUT_FORWARD, run, &call);
}

static void input_reverse(const RpinnJetRun *run, const RpinnJetInputs *inputs, const Real *bias,
                          const Real *a, const Real *kept, const Real *a_bars, Real *bias_sums,
                          Real *const *weight_sums) {
  JetCall call = call_of(run, bias);
  call_set_inputs(&call, run, inputs);
  call.a = a;
  call.kept = kept;
  call.a_bars = a_bars;
  call.bias_sums = bias_sums;
  for (size_t d = 0; d < inputs->num_inputs; d++) call.weight_sums[d] = weight_sums[d];
  jet_pass(INPUT_REVERSE, run, &call);
}

/* ---- the last layer ---- */

/* One vector of units: down all rows. */
RPINN_INLINE void output_reverse_units(size_t num_rows, size_t width, const Real *a, const Real *weights,
                                       const Real *output_bars, Real *bars, Real *weight_sums, size_t count) {
  RealVector weight = vector_load_lanes(weights, count), sum = vector_load_lanes(weight_sums, count);
  for (size_t row = 0; row < num_rows; row++) {
    RealVector bar = vector_fill(output_bars[row]);
    sum = vector_fma(bar, vector_load_lanes(a + row * width, count), sum);
    vector_store_lanes(bars + row * width, bar * weight, count);
  }
  vector_store_lanes(weight_sums, sum, count);
}

static void output_reverse(size_t num_rows, size_t width, const Real *a, const Real *weights,
                           const Real *output_bars, Real *bars, Real *weight_sums) {
  size_t u = 0;
  for (; u + LANES <= width; u += LANES)
    output_reverse_units(num_rows, width, a + u, weights + u, output_bars, bars + u, weight_sums + u, LANES);
  if (u < width)
    output_reverse_units(num_rows, width, a + u, weights + u, output_bars, bars + u, weight_sums + u,
                         width - u);
}

/* ---- Jacobian ---- */

RPINN_INLINE void outer_sum_shape(size_t num_channels, size_t num_out, size_t num_in, const Real *bars,
                                  size_t bar_step, const Real *inputs, size_t input_step, Real *W) {
  for (size_t o = 0; o < num_out; o++, W += num_in)
    for (size_t i = 0; i < num_in; i += LANES) {
      size_t count = num_in - i < LANES ? num_in - i : LANES;
      RealVector sum = vector_fill(bars[o]) * vector_load_lanes(inputs + i, count);
      for (size_t c = 1; c < num_channels; c++)
        sum = vector_fma(vector_fill(bars[c * bar_step + o]),
                         vector_load_lanes(inputs + c * input_step + i, count), sum);
      vector_store_lanes(W + i, sum, count);
    }
}

/* The usual numbers of channels as constants: their loops unroll. */
static void outer_sum(size_t num_channels, size_t num_out, size_t num_in, const Real *bars, size_t bar_step,
                      const Real *inputs, size_t input_step, Real *W) {
  switch (num_channels) {
  case 1: outer_sum_shape(1, num_out, num_in, bars, bar_step, inputs, input_step, W); break;
  case 2: outer_sum_shape(2, num_out, num_in, bars, bar_step, inputs, input_step, W); break;
  case 3: outer_sum_shape(3, num_out, num_in, bars, bar_step, inputs, input_step, W); break;
  case 4: outer_sum_shape(4, num_out, num_in, bars, bar_step, inputs, input_step, W); break;
  default: outer_sum_shape(num_channels, num_out, num_in, bars, bar_step, inputs, input_step, W); break;
  }
}

/* ---- Adam ---- */

RPINN_INLINE void adam_vector(const RpinnAdamStep *step, const Real *gradient, const Real *prior_scale,
                              const Real *prior_shift, Real *theta, Real *m, Real *v, size_t count) {
  RealVector x = vector_load_lanes(theta, count);
  RealVector g = vector_load_lanes(gradient, count) +
                 vector_fma(vector_load_lanes(prior_scale, count), x, -vector_load_lanes(prior_shift, count));
  RealVector mean =
      vector_fma(vector_fill(step->beta1), vector_load_lanes(m, count), vector_fill(1 - step->beta1) * g);
  RealVector square =
      vector_fma(vector_fill(step->beta2), vector_load_lanes(v, count), vector_fill(1 - step->beta2) * g * g);
  RealVector root =
      vector_fma(vector_fill(step->root_scale), vector_root(square), vector_fill(step->epsilon));
  vector_store_lanes(m, mean, count);
  vector_store_lanes(v, square, count);
  vector_store_lanes(theta, x - vector_fill(step->rate) * mean / root, count);
}

static void adam_update(size_t count, const RpinnAdamStep *step, const Real *gradient,
                        const Real *prior_scale, const Real *prior_shift, Real *theta, Real *m, Real *v) {
  const RpinnAdamStep fixed = *step;
  for (size_t i = 0; i < count; i += LANES) {
    size_t lanes = count - i < LANES ? count - i : LANES;
    adam_vector(&fixed, gradient + i, prior_scale + i, prior_shift + i, theta + i, m + i, v + i, lanes);
  }
}

/* ---- conversions ---- */

static void to_real(size_t count, const double *from, Real *to) {
  for (size_t j = 0; j < count; j++) to[j] = (Real)from[j];
}

static void to_double(size_t count, const Real *from, double *to) {
  for (size_t j = 0; j < count; j++) to[j] = (double)from[j];
}

enum {
  BATCH = 8
}; /* parameters at a time, whatever the vectors of the machine: each lane has a sum of its own */
typedef double Doubles __attribute__((vector_size(BATCH * sizeof(double))));
typedef int64_t Mask __attribute__((vector_size(BATCH * sizeof(double))));
typedef Real Reals __attribute__((vector_size(BATCH * sizeof(Real))));

/* At most BATCH parameters: their gradient, and the squares of their rows added to sums. A parameter without a prior has a row of 0, and
 * its gradient stays as it is. */
RPINN_INLINE void finish_batch(Doubles *sums, size_t count, const Real *data, const double *theta,
                               const double *root, const double *mean, const double *offsets,
                               double *gradient) {
  Doubles x = {0}, scale = {0}, middle = {0}, offset = {0};
  memcpy(&x, theta, count * sizeof x[0]);
  memcpy(&scale, root, count * sizeof x[0]);
  if (mean) memcpy(&middle, mean, count * sizeof x[0]);
  if (offsets) memcpy(&offset, offsets, count * sizeof x[0]);
  Doubles row = (x - middle) * scale - offset;
  Mask has_prior = (Mask)(scale != (Doubles){0});
  *sums += (Doubles)((Mask)(row * row) & has_prior); /* those beyond the last have no scale */
  if (!gradient) return;
  Reals own_real = {0};
  memcpy(&own_real, data, count * sizeof *data);
  Doubles own = __builtin_convertvector(own_real, Doubles), total = own + scale * row;
  total = (Doubles)(((Mask)total & has_prior) | ((Mask)own & ~has_prior));
  memcpy(gradient, &total, count * sizeof x[0]);
}

RPINN_INLINE double finish_batches(size_t count, const Real *data, const double *theta, const double *root,
                                   const double *mean, const double *offsets, double *gradient) {
  Doubles sums = {0};
  for (size_t j = 0; j < count; j += BATCH) {
    const size_t left = count - j;
    const Real *own = gradient ? data + j : NULL;
    const double *middle = mean ? mean + j : NULL, *offset = offsets ? offsets + j : NULL;
    double *target = gradient ? gradient + j : NULL;
    if (left >= BATCH)
      finish_batch(&sums, BATCH, own, theta + j, root + j, middle, offset, target);
    else
      finish_batch(&sums, left, own, theta + j, root + j, middle, offset, target);
  }
  return 0.5 * (((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])));
}

static double finish_gradient(size_t count, const Real *data, const double *theta, const double *root,
                              const double *mean, const double *offsets, double *gradient) {
  if (!gradient) return finish_batches(count, NULL, theta, root, mean, offsets, NULL);
  return !mean && !offsets ? finish_batches(count, data, theta, root, NULL, NULL, gradient)
                           : finish_batches(count, data, theta, root, mean, offsets, gradient);
}

/* ---- tiles ---- */

static void tile_fill(size_t width, size_t tile_length, const Real *values, Real *tile) {
  for (size_t u = 0; u < width; u += LANES) {
    size_t count = width - u < LANES ? width - u : LANES;
    RealVector value = vector_load_lanes(values + u, count);
    for (size_t start = 0; start < tile_length; start += width)
      vector_store_lanes(tile + start + u, value, count);
  }
}

static void tile_fold(size_t width, size_t tile_length, const Real *tile, Real *values) {
  for (size_t u = 0; u < width; u += LANES) {
    size_t count = width - u < LANES ? width - u : LANES;
    RealVector sum = vector_load_lanes(tile + u, count);
    for (size_t start = width; start < tile_length; start += width)
      sum += vector_load_lanes(tile + start + u, count);
    vector_store_lanes(values + u, sum, count);
  }
}

extern const RpinnPointwise RPINN_POINTWISE_TABLE;
const RpinnPointwise RPINN_POINTWISE_TABLE = {.activation_evaluate = activation_evaluate,
                                              .hidden_forward = hidden_forward,
                                              .hidden_reverse = hidden_reverse,
                                              .last_reverse = last_reverse,
                                              .input_forward = input_forward,
                                              .input_reverse = input_reverse,
                                              .output_reverse = output_reverse,
                                              .outer_sum = outer_sum,
                                              .adam_update = adam_update,
                                              .to_real = to_real,
                                              .to_double = to_double,
                                              .finish_gradient = finish_gradient,
                                              .tile_fill = tile_fill,
                                              .tile_fold = tile_fold};
