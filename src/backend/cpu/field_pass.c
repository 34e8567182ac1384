#include "field_pass.h"

#include <stdlib.h>
#include <string.h>

typedef struct HiddenLayer {
  size_t num_in, num_out, tile_length;
  RealBits *tile_rows;    /* tile */
  Real *bias, *bias_sums; /* tiles */
  Real *transposed;       /* [num_in][num_out] W^T; not for the first layer */
  Real *z, *a, *kept;     /* [max_rows][num_out]; z not for the first layer */
} HiddenLayer;

struct RpinnFieldPass {
  const RpinnNetwork *network;
  const RpinnPointwise *kernels;
  const RpinnMatrixProducts *products;
  size_t num_hidden, max_rows, max_width;
  HiddenLayer *layers;                       /* [num_hidden] */
  Real *input_weights[RPINN_JET_MAX_INPUTS]; /* tiles of the first layer's columns */
  Real *input_sums[RPINN_JET_MAX_INPUTS];
  Real *output_weights, *output_sums; /* tiles of the last hidden width */
  Real output_bias;
  double output_bias_sum;
  Real *bars, *other_bars;     /* [max_rows][max_width] */
  Real *outputs, *output_bars; /* [max_rows + a group] */
  Real *column;                /* [max_width] scratch */
  Real *first_z; /* [max_rows][first width]: for the Jacobian, which needs the first layer's zbar */
  Real *frozen;  /* the hidden layers of trainable: output */
  const Real *theta;
  bool gradient_is_set; /* matrices' gradients hold earlier blocks */
  Real *memory;
};

/* ---- memory: one block, cut into cache lines ---- */

/* Hands out parts of one allocation; with base NULL it only counts. */
typedef struct Cutter {
  Real *base;
  size_t used;
} Cutter;

static Real *cut(Cutter *cutter, size_t count) {
  Real *part = cutter->base ? cutter->base + cutter->used : NULL;
  cutter->used += (count + 2 * RPINN_REAL_GROUP - 1) / RPINN_REAL_GROUP * RPINN_REAL_GROUP;
  return part;
}

static void place(RpinnFieldPass *pass, Cutter *cutter) {
  const RpinnNetwork *network = pass->network;
  size_t rows = pass->max_rows;
  for (size_t l = 0; l < pass->num_hidden; l++) {
    HiddenLayer *layer = &pass->layers[l];
    layer->bias = cut(cutter, layer->tile_length);
    layer->bias_sums = cut(cutter, layer->tile_length);
    layer->tile_rows = (RealBits *)cut(cutter, layer->tile_length);
    layer->transposed = l ? cut(cutter, layer->num_in * layer->num_out) : NULL;
    layer->z = l ? cut(cutter, rows * layer->num_out) : NULL;
    layer->a = cut(cutter, rows * layer->num_out);
    layer->kept = network->activation == RPINN_ACTIVATION_TANH ? NULL : cut(cutter, rows * layer->num_out);
  }
  for (size_t d = 0; d < network->num_inputs; d++) {
    pass->input_weights[d] = cut(cutter, pass->layers[0].tile_length);
    pass->input_sums[d] = cut(cutter, pass->layers[0].tile_length);
  }
  pass->output_weights = cut(cutter, pass->layers[pass->num_hidden - 1].tile_length);
  pass->output_sums = cut(cutter, pass->layers[pass->num_hidden - 1].tile_length);
  pass->bars = cut(cutter, rows * pass->max_width);
  pass->other_bars = cut(cutter, rows * pass->max_width);
  pass->outputs = cut(cutter, rows + RPINN_REAL_GROUP);
  pass->output_bars = cut(cutter, rows + RPINN_REAL_GROUP);
  pass->column = cut(cutter, pass->max_width);
  pass->first_z = cut(cutter, rows * pass->layers[0].num_out);
  pass->frozen = network->frozen ? cut(cutter, network->num_all - network->num_trainable) : NULL;
}

RpinnFieldPass *RPINN_REAL_NAME(rpinn_field_pass_create)(const RpinnNetwork *network,
                                                         const RpinnPointwise *kernels,
                                                         const RpinnMatrixProducts *products,
                                                         size_t max_rows) {
  RpinnFieldPass *pass = calloc(1, sizeof *pass);
  if (!pass) return NULL;
  pass->network = network;
  pass->kernels = kernels;
  pass->products = products;
  pass->num_hidden = network->num_layers - 1;
  pass->max_rows = max_rows;
  pass->layers = calloc(pass->num_hidden, sizeof *pass->layers);
  for (size_t l = 0; pass->layers && l < pass->num_hidden; l++) {
    HiddenLayer *layer = &pass->layers[l];
    layer->num_in = network->width[l];
    layer->num_out = network->width[l + 1];
    layer->tile_length = RPINN_REAL_NAME(rpinn_tile_length)(layer->num_out);
    if (layer->num_out > pass->max_width) pass->max_width = layer->num_out;
  }
  Cutter cutter = {0};
  if (pass->layers) place(pass, &cutter);
  size_t bytes = cutter.used * sizeof(Real);
  pass->memory = pass->layers ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
  if (!pass->memory) {
    RPINN_REAL_NAME(rpinn_field_pass_destroy)(pass);
    return NULL;
  }
  memset(pass->memory, 0, bytes); /* kernels may read, but not use, what was never written */
  cutter = (Cutter){.base = pass->memory};
  place(pass, &cutter);
  for (size_t l = 0; l < pass->num_hidden; l++)
    RPINN_REAL_NAME(rpinn_tile_rows)(pass->layers[l].num_out, pass->layers[l].tile_rows);
  for (size_t k = 0; pass->frozen && k < network->num_all - network->num_trainable; k++)
    pass->frozen[k] = (Real)network->frozen[k];
  return pass;
}

void RPINN_REAL_NAME(rpinn_field_pass_destroy)(RpinnFieldPass *pass) {
  if (!pass) return;
  free(pass->layers);
  free(pass->memory);
  free(pass);
}

/* ---- parameters ---- */

/* W of a layer: as rpinn_network_weights, in this precision. */
static const Real *weights_of(const RpinnFieldPass *pass, size_t layer) {
  const RpinnNetwork *network = pass->network;
  size_t start = network->layer_start[layer], num_frozen = network->num_all - network->num_trainable;
  return start < num_frozen ? pass->frozen + start
                            : pass->theta + network->parameter_start + start - num_frozen;
}

static Real *gradient_of(const RpinnFieldPass *pass, Real *gradient, size_t layer) {
  const RpinnNetwork *network = pass->network;
  size_t start = network->layer_start[layer], num_frozen = network->num_all - network->num_trainable;
  return start < num_frozen ? NULL : gradient + network->parameter_start + start - num_frozen;
}

void RPINN_REAL_NAME(rpinn_field_pass_set)(RpinnFieldPass *pass, const Real *theta) {
  const RpinnPointwise *kernels = pass->kernels;
  HiddenLayer *first = &pass->layers[0], *last = &pass->layers[pass->num_hidden - 1];
  pass->theta = theta;
  for (size_t l = 0; l < pass->num_hidden; l++) {
    HiddenLayer *layer = &pass->layers[l];
    const Real *W = weights_of(pass, l);
    kernels->tile_fill(layer->num_out, layer->tile_length, W + layer->num_in * layer->num_out, layer->bias);
    memset(layer->bias_sums, 0, layer->tile_length * sizeof(Real));
    if (l) pass->products->transpose(layer->num_out, layer->num_in, W, layer->transposed);
  }
  const Real *W = weights_of(pass, 0);
  for (size_t d = 0; d < first->num_in; d++) {
    const Real *column = W;
    if (first->num_in > 1) {
      for (size_t u = 0; u < first->num_out; u++) pass->column[u] = W[u * first->num_in + d];
      column = pass->column;
    }
    kernels->tile_fill(first->num_out, first->tile_length, column, pass->input_weights[d]);
    memset(pass->input_sums[d], 0, first->tile_length * sizeof(Real));
  }
  W = weights_of(pass, pass->num_hidden);
  kernels->tile_fill(last->num_out, last->tile_length, W, pass->output_weights);
  memset(pass->output_sums, 0, last->tile_length * sizeof(Real));
  pass->output_bias = W[last->num_out];
  pass->output_bias_sum = 0;
  pass->gradient_is_set = false;
}

/* ---- forward ---- */

static RpinnJetRun jet_run(const RpinnFieldPass *pass, const RpinnFieldRun *run, const HiddenLayer *layer) {
  return (RpinnJetRun){.activation = pass->network->activation,
                       .num_points = run->num_points,
                       .width = layer->num_out,
                       .tile_length = layer->tile_length,
                       .rows = layer->tile_rows,
                       .num_first = run->shape->num_first,
                       .num_second = run->shape->num_second,
                       .hessians = run->shape->hessians};
}

static RpinnJetInputs jet_inputs(const RpinnFieldPass *pass, const RpinnFieldRun *run) {
  return (RpinnJetInputs){.num_inputs = pass->network->num_inputs,
                          .coordinates = run->repeated,
                          .weights = (const Real *const *)pass->input_weights,
                          .input_of_first = run->shape->input_of_first};
}

/* A run's rows of an array [rows][width], channel by channel. */
static Real *rows_of(const RpinnFieldRun *run, Real *array, size_t width) {
  return array + run->first_row * width;
}

static Real *kept_of(const RpinnFieldRun *run, const HiddenLayer *layer) {
  return layer->kept ? rows_of(run, layer->kept, layer->num_out) : NULL;
}

const Real *RPINN_REAL_NAME(rpinn_field_pass_forward)(RpinnFieldPass *pass, const RpinnFieldRun *runs,
                                                      size_t num_runs, size_t num_rows) {
  const RpinnPointwise *kernels = pass->kernels;
  for (size_t l = 0; l < pass->num_hidden; l++) {
    HiddenLayer *layer = &pass->layers[l];
    if (l)
      pass->products->multiply(num_rows, layer->num_in, layer->num_out, pass->layers[l - 1].a,
                               layer->transposed, weights_of(pass, l), layer->z);
    for (size_t r = 0; r < num_runs; r++) {
      const RpinnFieldRun *run = &runs[r];
      if (!run->num_points) continue;
      RpinnJetRun jet = jet_run(pass, run, layer);
      Real *a = rows_of(run, layer->a, layer->num_out);
      if (l) {
        kernels->hidden_forward(&jet, layer->bias, rows_of(run, layer->z, layer->num_out), a,
                                kept_of(run, layer));
      } else {
        RpinnJetInputs inputs = jet_inputs(pass, run);
        kernels->input_forward(&jet, &inputs, layer->bias, a, kept_of(run, layer));
      }
    }
  }
  const HiddenLayer *last = &pass->layers[pass->num_hidden - 1];
  pass->products->multiply_vector(num_rows, last->num_out, last->a, weights_of(pass, pass->num_hidden),
                                  pass->outputs);
  for (size_t r = 0; r < num_runs; r++) /* the bias belongs to values only */
    for (size_t p = 0; p < runs[r].num_points; p++) pass->outputs[runs[r].first_row + p] += pass->output_bias;
  return pass->outputs;
}

Real *RPINN_REAL_NAME(rpinn_field_pass_bars)(RpinnFieldPass *pass) {
  return pass->output_bars;
}

/* ---- reverse ---- */

/* The activation of the last hidden layer and the output's weights at once; with a single hidden layer, the
 * products one by one. */
static void reverse_output(RpinnFieldPass *pass, const RpinnFieldRun *run) {
  HiddenLayer *layer = &pass->layers[pass->num_hidden - 1];
  const size_t width = layer->num_out;
  RpinnJetRun jet = jet_run(pass, run, layer);
  pass->kernels->last_reverse(&jet, layer->bias, rows_of(run, layer->z, width), rows_of(run, layer->a, width),
                              kept_of(run, layer), pass->output_weights, rows_of(run, pass->output_bars, 1),
                              rows_of(run, pass->bars, width), layer->bias_sums, pass->output_sums);
}

static void reverse_hidden(RpinnFieldPass *pass, const RpinnFieldRun *run, size_t l) {
  HiddenLayer *layer = &pass->layers[l];
  const size_t width = layer->num_out;
  RpinnJetRun jet = jet_run(pass, run, layer);
  Real *bars = rows_of(run, pass->bars, width);
  pass->kernels->hidden_reverse(&jet, layer->bias, rows_of(run, layer->z, width),
                                rows_of(run, layer->a, width), kept_of(run, layer), bars, bars,
                                layer->bias_sums);
}

static void reverse_input(RpinnFieldPass *pass, const RpinnFieldRun *run) {
  HiddenLayer *layer = &pass->layers[0];
  const size_t width = layer->num_out;
  RpinnJetRun jet = jet_run(pass, run, layer);
  RpinnJetInputs inputs = jet_inputs(pass, run);
  pass->kernels->input_reverse(&jet, &inputs, layer->bias, rows_of(run, layer->a, width), kept_of(run, layer),
                               rows_of(run, pass->bars, width), layer->bias_sums, pass->input_sums);
}

static void swap_bars(RpinnFieldPass *pass) {
  Real *swap = pass->bars;
  pass->bars = pass->other_bars;
  pass->other_bars = swap;
}

/* abar of the layer below, from zbar of layer l. */
static void reverse_product(RpinnFieldPass *pass, size_t l, size_t num_rows) {
  const HiddenLayer *layer = &pass->layers[l];
  pass->products->multiply(num_rows, layer->num_out, layer->num_in, pass->bars, weights_of(pass, l),
                           layer->transposed, pass->other_bars);
  swap_bars(pass);
}

void RPINN_REAL_NAME(rpinn_field_pass_reverse)(RpinnFieldPass *pass, const RpinnFieldRun *runs,
                                               size_t num_runs, size_t num_rows, Real *gradient) {
  HiddenLayer *last = &pass->layers[pass->num_hidden - 1];
  bool hidden_is_fixed = pass->network->output_only;
  for (size_t r = 0; r < num_runs; r++)
    for (size_t p = 0; p < runs[r].num_points; p++)
      pass->output_bias_sum += (double)pass->output_bars[runs[r].first_row + p];
  if (hidden_is_fixed || pass->num_hidden == 1) {
    /* output_reverse adds to plain sums, not to a tile: they go where finish folds them from. */
    pass->kernels->output_reverse(num_rows, last->num_out, last->a, weights_of(pass, pass->num_hidden),
                                  pass->output_bars, pass->bars, pass->output_sums);
    if (hidden_is_fixed) return;
  }
  for (size_t l = pass->num_hidden - 1; l > 0; l--) {
    HiddenLayer *layer = &pass->layers[l];
    for (size_t r = 0; r < num_runs; r++) {
      if (!runs[r].num_points) continue;
      if (l == pass->num_hidden - 1)
        reverse_output(pass, &runs[r]);
      else
        reverse_hidden(pass, &runs[r], l);
    }
    pass->products->add_gradient(num_rows, layer->num_out, layer->num_in, pass->bars, pass->layers[l - 1].a,
                                 pass->gradient_is_set, gradient_of(pass, gradient, l));
    reverse_product(pass, l, num_rows);
  }
  for (size_t r = 0; r < num_runs; r++)
    if (runs[r].num_points) reverse_input(pass, &runs[r]);
  pass->gradient_is_set = true;
}

void RPINN_REAL_NAME(rpinn_field_pass_finish)(RpinnFieldPass *pass, Real *gradient) {
  const RpinnPointwise *kernels = pass->kernels;
  HiddenLayer *first = &pass->layers[0], *last = &pass->layers[pass->num_hidden - 1];
  Real *output = gradient_of(pass, gradient, pass->num_hidden);
  kernels->tile_fold(last->num_out, last->tile_length, pass->output_sums, output);
  output[last->num_out] = (Real)pass->output_bias_sum;
  if (pass->network->output_only) return;
  for (size_t l = 0; l < pass->num_hidden; l++) {
    HiddenLayer *layer = &pass->layers[l];
    kernels->tile_fold(layer->num_out, layer->tile_length, layer->bias_sums,
                       gradient_of(pass, gradient, l) + layer->num_in * layer->num_out);
  }
  Real *input = gradient_of(pass, gradient, 0);
  for (size_t d = 0; d < first->num_in; d++) {
    Real *column = first->num_in > 1 ? pass->column : input;
    kernels->tile_fold(first->num_out, first->tile_length, pass->input_sums[d], column);
    for (size_t u = 0; first->num_in > 1 && u < first->num_out; u++) input[u * first->num_in + d] = column[u];
  }
}

/* ---- point by point ---- */

/* jacobian [p] of a layer: W[o][i] = sum_c zbar_c[p][o] a_c[p][i], b[o] = zbar_0[p][o] */
static void jacobian_of_layer(const RpinnPointwise *kernels, const RpinnFieldRun *run, size_t num_out,
                              size_t num_in, const Real *bars, const Real *a, Real *jacobian, size_t stride) {
  for (size_t p = 0; p < run->num_points; p++) {
    Real *W = jacobian + p * stride;
    const Real *bar = bars + (run->first_row + p) * num_out, *in = a + (run->first_row + p) * num_in;
    kernels->outer_sum(run->shape->num_channels, num_out, num_in, bar, run->num_points * num_out, in,
                       run->num_points * num_in, W);
    memcpy(W + num_out * num_in, bar, num_out * sizeof *bar);
  }
}

/* z of the first layer, which the other passes never store: value without bias, w_d for first derivatives,
 * zero. */
static void fill_first_z(RpinnFieldPass *pass, const RpinnFieldRun *run) {
  size_t width = pass->layers[0].num_out, num_in = pass->layers[0].num_in, count = run->num_points;
  Real *z = pass->first_z + run->first_row * width;
  memset(z, 0, run->shape->num_channels * count * width * sizeof *z);
  for (size_t p = 0; p < count; p++, z += width)
    for (size_t d = 0; d < num_in; d++)
      for (size_t u = 0; u < width; u++) z[u] += run->x[p * num_in + d] * pass->input_weights[d][u];
  for (size_t c = 0; c < run->shape->num_first; c++)
    for (size_t p = 0; p < count; p++, z += width)
      memcpy(z, pass->input_weights[run->shape->input_of_first[c]], width * sizeof *z);
}

/* W[u][d] = zbar_0[u] x_d + sum of zbar_k[u] over first derivatives k in input d */
static void jacobian_of_input(const RpinnFieldRun *run, size_t width, size_t num_in, const Real *bars,
                              Real *jacobian, size_t stride) {
  for (size_t p = 0; p < run->num_points; p++) {
    Real *W = jacobian + p * stride;
    const Real *bar = bars + (run->first_row + p) * width;
    for (size_t d = 0; d < num_in; d++)
      for (size_t u = 0; u < width; u++) W[u * num_in + d] = bar[u] * run->x[p * num_in + d];
    for (size_t k = 0; k < run->shape->num_first; k++) {
      const Real *first = bars + (run->first_row + (1 + k) * run->num_points + p) * width;
      for (size_t u = 0; u < width; u++) W[u * num_in + run->shape->input_of_first[k]] += first[u];
    }
    memcpy(W + width * num_in, bar, width * sizeof *bar);
  }
}

static Real *slopes_of(const RpinnFieldPass *pass, const RpinnSlopePlace *place, size_t run, size_t layer) {
  if (!place->layer_start) return gradient_of(pass, place->rows[run], layer);
  return place->rows[run] + place->layer_start[layer];
}

static bool is_factored(const RpinnSlopePlace *place, size_t layer) {
  return place->bars && place->bars[layer];
}

/* b of each point, and the factors of W for all rows of the block. */
static void keep_factors(const RpinnFieldPass *pass, const RpinnFieldRun *runs, size_t num_runs,
                         size_t num_rows, size_t l, const RpinnSlopePlace *place) {
  const HiddenLayer *layer = &pass->layers[l];
  for (size_t r = 0; r < num_runs; r++)
    for (size_t p = 0; p < runs[r].num_points; p++)
      memcpy(slopes_of(pass, place, r, l) + p * place->stride,
             pass->bars + (runs[r].first_row + p) * layer->num_out, layer->num_out * sizeof(Real));
  memcpy(place->bars[l], pass->bars, num_rows * layer->num_out * sizeof(Real));
  memcpy(place->inputs[l], pass->layers[l - 1].a, num_rows * layer->num_in * sizeof(Real));
}

/* From abar of hidden layer l to its zbar, and the slopes of its parameters. */
static void reverse_points(RpinnFieldPass *pass, const RpinnFieldRun *runs, size_t num_runs, size_t num_rows,
                           size_t l, const RpinnSlopePlace *place) {
  HiddenLayer *layer = &pass->layers[l];
  Real *own_z = layer->z;
  if (l == 0) layer->z = pass->first_z;
  for (size_t r = 0; r < num_runs; r++) {
    if (!runs[r].num_points) continue;
    if (l == 0) fill_first_z(pass, &runs[r]);
    reverse_hidden(pass, &runs[r], l); /* its bias sums are not used here */
    if (l == 0)
      jacobian_of_input(&runs[r], layer->num_out, layer->num_in, pass->bars, slopes_of(pass, place, r, l),
                        place->stride);
    else if (!is_factored(place, l))
      jacobian_of_layer(pass->kernels, &runs[r], layer->num_out, layer->num_in, pass->bars,
                        pass->layers[l - 1].a, slopes_of(pass, place, r, l), place->stride);
  }
  layer->z = own_z;
  if (is_factored(place, l)) keep_factors(pass, runs, num_runs, num_rows, l, place);
}

void RPINN_REAL_NAME(rpinn_field_pass_slopes)(RpinnFieldPass *pass, const RpinnFieldRun *runs,
                                              size_t num_runs, size_t num_rows,
                                              const RpinnSlopePlace *place) {
  HiddenLayer *last = &pass->layers[pass->num_hidden - 1];
  const Real *output_weights = weights_of(pass, pass->num_hidden);
  for (size_t r = 0; r < num_runs; r++) { /* the output layer is a layer of one unit */
    if (!runs[r].num_points) continue;
    jacobian_of_layer(pass->kernels, &runs[r], 1, last->num_out, pass->output_bars, last->a,
                      slopes_of(pass, place, r, pass->num_hidden), place->stride);
  }
  if (pass->network->output_only) return;
  pass->kernels->output_reverse(num_rows, last->num_out, last->a, output_weights, pass->output_bars,
                                pass->bars, pass->output_sums); /* whose sums are not used here */
  for (size_t l = pass->num_hidden; l-- > 0;) {
    reverse_points(pass, runs, num_runs, num_rows, l, place);
    if (l) reverse_product(pass, l, num_rows);
  }
}
