#include "parameter_layout.h"

#include <string.h>

size_t rpinn_spread_stride(size_t size) {
  return (size + 3) / 8 * 8 + 4;
}

static size_t at_four(size_t place) {
  return (place + 3) / 4 * 4;
}

/* Places of one layer, from `place` on; returns the first place behind it. */
static size_t place_layer(const RpinnNetwork *network, size_t l, size_t place, RpinnDeviceLayer *layer) {
  size_t num_in = network->width[l], num_out = network->width[l + 1];
  size_t num_frozen = network->num_all - network->num_trainable;
  size_t stride = l ? rpinn_spread_stride(num_in) : num_in, bias = at_four(place + stride * num_out);
  bool is_frozen = network->layer_start[l] < num_frozen;
  *layer = (RpinnDeviceLayer){
      .num_in = (int32_t)num_in,
      .num_out = (int32_t)num_out,
      .stride = (int32_t)stride,
      .weights = (int32_t)place,
      .bias = (int32_t)bias,
      .plain = is_frozen ? -1 : (int32_t)(network->parameter_start + network->layer_start[l] - num_frozen)};
  return at_four(bias + num_out);
}

/* Where entry `index` of a layer's W and b lies. */
static size_t entry_place(const RpinnDeviceLayer *layer, size_t index) {
  size_t num_in = (size_t)layer->num_in, size = num_in * (size_t)layer->num_out;
  if (index >= size) return (size_t)layer->bias + index - size;
  return (size_t)layer->weights + index / num_in * (size_t)layer->stride + index % num_in;
}

static void fill_places(const RpinnNetwork *network, size_t l, const RpinnDeviceLayer *layer,
                        RpinnParameterLayout *layout) {
  size_t count = (network->width[l] + 1) * network->width[l + 1];
  for (size_t i = 0; i < count; i++)
    if (layer->plain < 0)
      layout->frozen[entry_place(layer, i)] = network->frozen[network->layer_start[l] + i];
    else
      layout->place[(size_t)layer->plain + i] = entry_place(layer, i);
}

bool rpinn_parameter_layout_make(RpinnArena *arena, const RpinnEnergyModel *model,
                                 RpinnParameterLayout *layout) {
  *layout = (RpinnParameterLayout){.num_parameters = model->num_parameters};
  for (size_t f = 0; f < model->num_fields; f++) layout->num_layers += model->networks[f].num_layers;
  layout->layers = RPINN_ARENA_NEW(arena, RpinnDeviceLayer, layout->num_layers);
  layout->first_layer = RPINN_ARENA_NEW(arena, size_t, model->num_fields);
  layout->place = RPINN_ARENA_NEW(arena, size_t, model->num_parameters);
  if (!layout->layers || !layout->first_layer || !layout->place) return false;
  size_t layer = 0;
  for (size_t f = 0; f < model->num_fields; f++) {
    layout->first_layer[f] = layer;
    for (size_t l = 0; l < model->networks[f].num_layers; l++)
      layout->size = place_layer(&model->networks[f], l, layout->size, &layout->layers[layer++]);
  }
  layout->unknowns = layout->size;
  layout->size = at_four(layout->size + model->num_unknowns);
  layout->frozen = RPINN_ARENA_NEW(arena, double, layout->size);
  if (!layout->frozen) return false;
  for (size_t f = 0; f < model->num_fields; f++)
    for (size_t l = 0; l < model->networks[f].num_layers; l++)
      fill_places(&model->networks[f], l, &layout->layers[layout->first_layer[f] + l], layout);
  for (size_t k = 0; k < model->num_unknowns; k++)
    layout->place[model->unknown_start + k] = layout->unknowns + k;
  return true;
}

void rpinn_layout_pack(const RpinnParameterLayout *layout, bool is_double, const double *theta,
                       const double *rest, void *to) {
  double *doubles = to;
  float *floats = to;
  for (size_t i = 0; i < layout->size; i++)
    if (is_double)
      doubles[i] = rest ? rest[i] : 0;
    else
      floats[i] = rest ? (float)rest[i] : 0;
  for (size_t j = 0; j < layout->num_parameters; j++)
    if (is_double)
      doubles[layout->place[j]] = theta[j];
    else
      floats[layout->place[j]] = (float)theta[j];
}

void rpinn_layout_unpack(const RpinnParameterLayout *layout, bool is_double, const void *from,
                         double *theta) {
  const double *doubles = from;
  const float *floats = from;
  for (size_t j = 0; j < layout->num_parameters; j++)
    theta[j] = is_double ? doubles[layout->place[j]] : (double)floats[layout->place[j]];
}

void rpinn_layout_pack_records(const RpinnParameterLayout *layout, const double *const vectors[4],
                               float *to) {
  memset(to, 0, 4 * layout->size * sizeof *to);
  for (size_t j = 0; j < layout->num_parameters; j++)
    for (size_t i = 0; i < 4; i++) to[4 * layout->place[j] + i] = (float)vectors[i][j];
}

void rpinn_layout_unpack_records(const RpinnParameterLayout *layout, const float *from, double *first,
                                 double *second) {
  for (size_t j = 0; j < layout->num_parameters; j++) {
    first[j] = (double)from[4 * layout->place[j]];
    second[j] = (double)from[4 * layout->place[j] + 1];
  }
}
