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

#include "activation.h"

enum { LANES = RPINN_VECTOR_LANES, GROUP_VECTORS = RPINN_REAL_GROUP / RPINN_VECTOR_LANES };

/* Loads and stores of count lanes: all of them but in the last vector of an array. */
RPINN_INLINE RealVector load_lanes(const Real *source, size_t count) {
  return count == LANES ? vector_load(source) : vector_load_part(source, count);
}

RPINN_INLINE void store_lanes(Real *target, RealVector value, size_t count) {
  if (count == LANES)
    vector_store(target, value);
  else
    vector_store_part(target, value, count);
}

RPINN_INLINE void add_lanes(Real *target, RealVector value, size_t count) {
  store_lanes(target, load_lanes(target, count) + value, count);
}

/* Where one vector stands in the flat arrays and in the tiles. */
typedef struct Spot {
  size_t element, tile, count;
} Spot;

/* One vector of elements before the activation. */
typedef struct JetPoint {
  RealVector value;                       /* z */
  RealVector first[RPINN_JET_MAX_INPUTS]; /* z_d */
} JetPoint;

/* What an operator of second order makes of the first derivatives. */
typedef struct JetCurvature {
  RealVector form;                           /* Q */
  RealVector gradient[RPINN_JET_MAX_INPUTS]; /* dQ/dz_d = (H z)_d */
} JetCurvature;

RPINN_INLINE JetCurvature jet_curvature(size_t num_first, const Real *hessian, const JetPoint *point) {
  JetCurvature curvature;
  RealVector twice = vector_fill(0);
  for (size_t i = 0; i < num_first; i++) {
    RealVector sum = vector_fill(hessian[i * num_first]) * point->first[0];
    for (size_t j = 1; j < num_first; j++)
      sum = vector_fma(vector_fill(hessian[i * num_first + j]), point->first[j], sum);
    curvature.gradient[i] = sum;
    twice = i == 0 ? sum * point->first[0] : vector_fma(sum, point->first[i], twice);
  }
  curvature.form = vector_fill(RPINN_REAL(0.5)) * twice;
  return curvature;
}

/* ---- evaluate ---- */

static void activation_evaluate(RpinnActivation activation, size_t count, const Real *z,
                                Real *const derivatives[4]) {
  for (size_t i = 0; i < count; i += LANES) {
    size_t lanes = count - i < LANES ? count - i : LANES;
    RealVector x = load_lanes(z + i, lanes);
    ActivationValue s = activation_value(activation, x);
    ActivationSlopes slopes = activation_slopes(activation, x, s.value, s.kept);
    store_lanes(derivatives[0] + i, s.value, lanes);
    store_lanes(derivatives[1] + i, slopes.first, lanes);
    store_lanes(derivatives[2] + i, slopes.second, lanes);
    store_lanes(derivatives[3] + i, slopes.third, lanes);
  }
}

/* ---- points before the activation ---- */

/* The arrays of one call of a jet kernel, whichever of them it uses. Copied here so that the compiler sees
 * that no store changes the pointers. */
typedef struct JetCall {
  const Real *hessians;
  const Real *bias;                      /* tile */
  const Real *z[RPINN_JET_MAX_CHANNELS]; /* hidden layers only */
  size_t num_inputs;                     /* this and the next three: first layer only */
  size_t input_of_first[RPINN_JET_MAX_INPUTS];
  const Real *coordinates[RPINN_JET_MAX_INPUTS];
  const Real *weights[RPINN_JET_MAX_INPUTS];
  Real *new_a[RPINN_JET_MAX_CHANNELS]; /* forward */
  Real *new_kept;
  const Real *a, *kept; /* this and the rest: reverse */
  const Real *a_bars[RPINN_JET_MAX_CHANNELS];
  Real *z_bars[RPINN_JET_MAX_CHANNELS];
  Real *bias_sums;
  Real *weight_sums[RPINN_JET_MAX_INPUTS];
} JetCall;

RPINN_INLINE JetPoint hidden_point(const JetCall *call, size_t num_first, Spot at) {
  JetPoint point;
  point.value = load_lanes(call->z[0] + at.element, at.count) + load_lanes(call->bias + at.tile, at.count);
  for (size_t d = 0; d < num_first; d++) point.first[d] = load_lanes(call->z[1 + d] + at.element, at.count);
  return point;
}

RPINN_INLINE JetPoint input_point(const JetCall *call, size_t num_first, Spot at) {
  JetPoint point;
  point.value = load_lanes(call->bias + at.tile, at.count);
  for (size_t d = 0; d < call->num_inputs; d++)
    point.value = vector_fma(load_lanes(call->coordinates[d] + at.element, at.count),
                             load_lanes(call->weights[d] + at.tile, at.count), point.value);
  for (size_t d = 0; d < num_first; d++)
    point.first[d] = load_lanes(call->weights[call->input_of_first[d]] + at.tile, at.count);
  return point;
}

/* ---- forward ---- */

RPINN_INLINE void forward_vector(const JetCall *call, RpinnActivation activation, size_t num_first,
                                 size_t num_second, bool is_input, Spot at) {
  JetPoint point = is_input ? input_point(call, num_first, at) : hidden_point(call, num_first, at);
  ActivationValue s = activation_value(activation, point.value);
  ActivationSlopes slopes = activation_slopes(activation, point.value, s.value, s.kept);
  store_lanes(call->new_a[0] + at.element, s.value, at.count);
  if (activation != RPINN_ACTIVATION_TANH) store_lanes(call->new_kept + at.element, s.kept, at.count);
  for (size_t d = 0; d < num_first; d++)
    store_lanes(call->new_a[1 + d] + at.element, slopes.first * point.first[d], at.count);
  for (size_t l = 0; l < num_second; l++) {
    const Real *hessian = call->hessians + l * num_first * num_first;
    size_t channel = 1 + num_first + l;
    RealVector result = slopes.second * jet_curvature(num_first, hessian, &point).form;
    if (!is_input)
      result = vector_fma(slopes.first, load_lanes(call->z[channel] + at.element, at.count), result);
    store_lanes(call->new_a[channel] + at.element, result, at.count);
  }
}

/* ---- reverse ---- */

/* zbar and zbar_d of one vector; zbar_L goes to memory in a hidden layer and to nobody in the first. */
RPINN_INLINE JetPoint reverse_point(const JetCall *call, RpinnActivation activation, size_t num_first,
                                    size_t num_second, bool is_input, const JetPoint *point, Spot at) {
  RealVector a = load_lanes(call->a + at.element, at.count);
  RealVector k = activation == RPINN_ACTIVATION_TANH ? a : load_lanes(call->kept + at.element, at.count);
  ActivationSlopes slopes = activation_slopes(activation, point->value, a, k);
  JetPoint bar;
  bar.value = slopes.first * load_lanes(call->a_bars[0] + at.element, at.count);
  for (size_t d = 0; d < num_first; d++) {
    RealVector a_bar = load_lanes(call->a_bars[1 + d] + at.element, at.count);
    bar.first[d] = slopes.first * a_bar;
    bar.value = vector_fma(slopes.second * point->first[d], a_bar, bar.value);
  }
  for (size_t l = 0; l < num_second; l++) {
    size_t channel = 1 + num_first + l;
    RealVector a_bar = load_lanes(call->a_bars[channel] + at.element, at.count);
    RealVector bent = slopes.second * a_bar;
    JetCurvature curvature = jet_curvature(num_first, call->hessians + l * num_first * num_first, point);
    for (size_t d = 0; d < num_first; d++)
      bar.first[d] = vector_fma(bent, curvature.gradient[d], bar.first[d]);
    bar.value = vector_fma(slopes.third * a_bar, curvature.form, bar.value);
    if (!is_input) {
      bar.value = vector_fma(bent, load_lanes(call->z[channel] + at.element, at.count), bar.value);
      store_lanes(call->z_bars[channel] + at.element, slopes.first * a_bar, at.count);
    }
  }
  return bar;
}

RPINN_INLINE void hidden_reverse_vector(const JetCall *call, RpinnActivation activation, size_t num_first,
                                        size_t num_second, Spot at) {
  JetPoint point = hidden_point(call, num_first, at);
  JetPoint bar = reverse_point(call, activation, num_first, num_second, false, &point, at);
  store_lanes(call->z_bars[0] + at.element, bar.value, at.count);
  for (size_t d = 0; d < num_first; d++)
    store_lanes(call->z_bars[1 + d] + at.element, bar.first[d], at.count);
  add_lanes(call->bias_sums + at.tile, bar.value, at.count);
}

/* wbar_d = sum over points of zbar x_d + zbar_d */
RPINN_INLINE void input_reverse_vector(const JetCall *call, RpinnActivation activation, size_t num_first,
                                       size_t num_second, Spot at) {
  JetPoint point = input_point(call, num_first, at);
  JetPoint bar = reverse_point(call, activation, num_first, num_second, true, &point, at);
  add_lanes(call->bias_sums + at.tile, bar.value, at.count);
  for (size_t d = 0; d < call->num_inputs; d++) {
    RealVector sum = load_lanes(call->weight_sums[d] + at.tile, at.count);
    RealVector x = load_lanes(call->coordinates[d] + at.element, at.count);
    store_lanes(call->weight_sums[d] + at.tile, vector_fma(bar.value, x, sum), at.count);
  }
  for (size_t d = 0; d < num_first; d++)
    add_lanes(call->weight_sums[call->input_of_first[d]] + at.tile, bar.first[d], at.count);
}

/* ---- loops over a run ---- */

typedef enum JetPass { HIDDEN_FORWARD, HIDDEN_REVERSE, INPUT_FORWARD, INPUT_REVERSE } JetPass;

RPINN_INLINE void jet_vector(JetPass pass, const JetCall *call, RpinnActivation activation, size_t num_first,
                             size_t num_second, Spot at) {
  if (pass == HIDDEN_FORWARD) forward_vector(call, activation, num_first, num_second, false, at);
  if (pass == HIDDEN_REVERSE) hidden_reverse_vector(call, activation, num_first, num_second, at);
  if (pass == INPUT_FORWARD) forward_vector(call, activation, num_first, num_second, true, at);
  if (pass == INPUT_REVERSE) input_reverse_vector(call, activation, num_first, num_second, at);
}

/* All complete vectors of a run. */
RPINN_INLINE void jet_vectors(JetPass pass, const RpinnJetRun *run, const JetCall *call,
                              RpinnActivation activation, size_t num_first, size_t num_second) {
  const size_t num_elements = run->num_elements, tile_length = run->tile_length;
  for (size_t start = 0; start < num_elements; start += tile_length) {
    size_t length = num_elements - start < tile_length ? num_elements - start : tile_length;
    for (size_t i = 0; i + LANES <= length; i += LANES)
      jet_vector(pass, call, activation, num_first, num_second, (Spot){start + i, i, LANES});
  }
}

/* The incomplete vector at the end of a run. */
RPINN_INLINE void jet_tail(JetPass pass, const RpinnJetRun *run, const JetCall *call,
                           RpinnActivation activation) {
  size_t count = run->num_elements % LANES, element = run->num_elements - count;
  Spot at = {element, element % run->tile_length, count};
  if (count > 0) jet_vector(pass, call, activation, run->num_first, run->num_second, at);
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

static void hidden_forward(const RpinnJetRun *run, const Real *bias, const Real *const *z, Real *const *a,
                           Real *kept) {
  JetCall call = {.hessians = run->hessians, .bias = bias, .new_kept = kept};
  for (size_t c = 0; c < 1 + run->num_first + run->num_second; c++) {
    call.z[c] = z[c];
    call.new_a[c] = a[c];
  }
  jet_pass(HIDDEN_FORWARD, run, &call);
}

static void hidden_reverse(const RpinnJetRun *run, const Real *bias, const Real *const *z, const Real *a,
                           const Real *kept, const Real *const *a_bars, Real *const *z_bars,
                           Real *bias_sums) {
  JetCall call = {.hessians = run->hessians, .bias = bias, .a = a, .kept = kept, .bias_sums = bias_sums};
  for (size_t c = 0; c < 1 + run->num_first + run->num_second; c++) {
    call.z[c] = z[c];
    call.a_bars[c] = a_bars[c];
    call.z_bars[c] = z_bars[c];
  }
  jet_pass(HIDDEN_REVERSE, run, &call);
}

static void input_forward(const RpinnJetRun *run, const RpinnJetInputs *inputs, const Real *bias,
                          Real *const *a, Real *kept) {
  JetCall call = {.hessians = run->hessians, .bias = bias, .new_kept = kept};
  call_set_inputs(&call, run, inputs);
  for (size_t c = 0; c < 1 + run->num_first + run->num_second; c++) call.new_a[c] = a[c];
  jet_pass(INPUT_FORWARD, run, &call);
}

static void input_reverse(const RpinnJetRun *run, const RpinnJetInputs *inputs, const Real *bias,
                          const Real *a, const Real *kept, const Real *const *a_bars, Real *bias_sums,
                          Real *const *weight_sums) {
  JetCall call = {.hessians = run->hessians, .bias = bias, .a = a, .kept = kept, .bias_sums = bias_sums};
  call_set_inputs(&call, run, inputs);
  for (size_t c = 0; c < 1 + run->num_first + run->num_second; c++) call.a_bars[c] = a_bars[c];
  for (size_t d = 0; d < inputs->num_inputs; d++) call.weight_sums[d] = weight_sums[d];
  jet_pass(INPUT_REVERSE, run, &call);
}

/* ---- the last layer ---- */

/* The sum over a group of lanes, halves upon halves. */
RPINN_INLINE Real group_sum(const RealVector sums[GROUP_VECTORS]) {
  Real lanes[RPINN_REAL_GROUP];
  for (size_t part = 0; part < GROUP_VECTORS; part++) vector_store(lanes + part * LANES, sums[part]);
  for (size_t half = RPINN_REAL_GROUP / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; lane++) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

static void output_forward(size_t num_rows, size_t width, const Real *a, const Real *weights, Real *outputs) {
  for (size_t row = 0; row < num_rows; row++) {
    RealVector sums[GROUP_VECTORS] = {{0}};
    const Real *units = a + row * width;
    size_t u = 0;
    for (; u + RPINN_REAL_GROUP <= width; u += RPINN_REAL_GROUP)
      for (size_t part = 0; part < GROUP_VECTORS; part++)
        sums[part] = vector_fma(vector_load(units + u + part * LANES),
                                vector_load(weights + u + part * LANES), sums[part]);
    for (size_t part = 0; u < width; part++, u += LANES) {
      size_t count = width - u < LANES ? width - u : LANES;
      sums[part] = vector_fma(load_lanes(units + u, count), load_lanes(weights + u, count), sums[part]);
    }
    outputs[row] = group_sum(sums);
  }
}

/* One vector of units: down all rows. */
RPINN_INLINE void output_reverse_units(size_t num_rows, size_t width, const Real *a, const Real *weights,
                                       const Real *output_bars, Real *bars, Real *weight_sums, size_t count) {
  RealVector weight = load_lanes(weights, count), sum = load_lanes(weight_sums, count);
  for (size_t row = 0; row < num_rows; row++) {
    RealVector bar = vector_fill(output_bars[row]);
    sum = vector_fma(bar, load_lanes(a + row * width, count), sum);
    store_lanes(bars + row * width, bar * weight, count);
  }
  store_lanes(weight_sums, sum, count);
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

/* ---- Adam ---- */

RPINN_INLINE void adam_vector(const RpinnAdamStep *step, const Real *gradient, const Real *prior_scale,
                              const Real *prior_shift, Real *theta, Real *m, Real *v, size_t count) {
  RealVector x = load_lanes(theta, count);
  RealVector g = load_lanes(gradient, count) +
                 vector_fma(load_lanes(prior_scale, count), x, -load_lanes(prior_shift, count));
  RealVector mean =
      vector_fma(vector_fill(step->beta1), load_lanes(m, count), vector_fill(1 - step->beta1) * g);
  RealVector square =
      vector_fma(vector_fill(step->beta2), load_lanes(v, count), vector_fill(1 - step->beta2) * g * g);
  RealVector root =
      vector_fma(vector_fill(step->root_scale), vector_root(square), vector_fill(step->epsilon));
  store_lanes(m, mean, count);
  store_lanes(v, square, count);
  store_lanes(theta, x - vector_fill(step->rate) * mean / root, count);
}

static void adam_update(size_t count, const RpinnAdamStep *step, const Real *gradient,
                        const Real *prior_scale, const Real *prior_shift, Real *theta, Real *m, Real *v) {
  const RpinnAdamStep fixed = *step;
  for (size_t i = 0; i < count; i += LANES) {
    size_t lanes = count - i < LANES ? count - i : LANES;
    adam_vector(&fixed, gradient + i, prior_scale + i, prior_shift + i, theta + i, m + i, v + i, lanes);
  }
}

extern const RpinnPointwise RPINN_POINTWISE_TABLE;
const RpinnPointwise RPINN_POINTWISE_TABLE = {.activation_evaluate = activation_evaluate,
                                              .hidden_forward = hidden_forward,
                                              .hidden_reverse = hidden_reverse,
                                              .input_forward = input_forward,
                                              .input_reverse = input_reverse,
                                              .output_forward = output_forward,
                                              .output_reverse = output_reverse,
                                              .adam_update = adam_update};
