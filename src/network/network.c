#include "network.h"

#include <math.h>

void rpinn_network_lay_out(RpinnNetwork *network, size_t num_hidden, const size_t *hidden_widths) {
  network->num_layers = num_hidden + 1;
  network->width[0] = network->num_inputs;
  for (size_t l = 0; l < num_hidden; l++) network->width[l + 1] = hidden_widths[l];
  network->width[num_hidden + 1] = 1;
  size_t start = 0;
  for (size_t l = 0; l < network->num_layers; l++) {
    network->layer_start[l] = start;
    start += (network->width[l] + 1) * network->width[l + 1];
  }
  network->num_all = start;
  network->num_trainable = network->output_only ? start - network->layer_start[num_hidden] : start;
}

/* Parameters before this one, counted over all layers, are frozen. */
static size_t num_frozen(const RpinnNetwork *network) {
  return network->num_all - network->num_trainable;
}

const double *rpinn_network_weights(const RpinnNetwork *network, const double *theta, size_t layer) {
  size_t start = network->layer_start[layer];
  if (start < num_frozen(network)) return network->frozen + start;
  return theta + network->parameter_start + start - num_frozen(network);
}

double *rpinn_network_gradient(const RpinnNetwork *network, double *gradient, size_t layer) {
  size_t start = network->layer_start[layer];
  if (start < num_frozen(network)) return NULL;
  return gradient + network->parameter_start + start - num_frozen(network);
}

void rpinn_network_initialize(const RpinnNetwork *network, size_t first_layer, size_t last_layer,
                              RpinnStream *stream, double *parameters) {
  for (size_t l = first_layer; l < last_layer; l++) {
    size_t num_in = network->width[l], num_out = network->width[l + 1];
    double deviation = sqrt(2.0 / (double)(num_in + num_out));
    for (size_t k = 0; k < num_in * num_out; k++) {
      /* A uniform variable on (-1, 1) has variance 1/3. */
      double unit = network->initialization == RPINN_GLOROT_NORMAL
                        ? rpinn_stream_normal(stream)
                        : sqrt(3.0) * (2 * rpinn_stream_uniform(stream) - 1);
      *parameters++ = deviation * unit;
    }
    for (size_t k = 0; k < num_out; k++) *parameters++ = 0;
  }
}
