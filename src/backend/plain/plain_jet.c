/* Forward, for the channels of one point (index 0: value, d: order 1, L: order 2 with coefficients c_ij):
 *
 *   z^l = W a^(l-1) + b          z_d^l = W a_d^(l-1)        z_L^l = W a_L^(l-1)
 *   a   = s(z)                   a_d   = s'(z) z_d          a_L   = s'(z) z_L + s''(z) Q,  Q = sum_{i<=j}
 * c_ij z_i z_j
 *
 * Reverse, with bars for adjoints:
 *
 *   zbar_L = s' abar_L
 *   zbar_d = s' abar_d                 and zbar_i += abar_L s'' dQ/dz_i for the plain first derivatives i
 *   zbar   = s' abar + sum_d s'' z_d abar_d + sum_L abar_L (s'' z_L + s''' Q)
 *   Wbar  += zbar a^T over all channels,  bbar += zbar of the value,  abar of the layer below = W^T zbar */
#include "plain_jet.h"

#include <string.h>

size_t rpinn_plain_jet_size(const RpinnNetwork *network) {
  size_t max_width = 1;
  for (size_t l = 0; l <= network->num_layers; l++)
    if (network->width[l] > max_width) max_width = network->width[l];
  return (2 * network->num_layers + 3) * RPINN_MAX_CHANNELS * max_width;
}

RpinnPlainJet rpinn_plain_jet_place(const RpinnNetwork *network, double *memory) {
  RpinnPlainJet jet = {.max_width = 1};
  for (size_t l = 0; l <= network->num_layers; l++)
    if (network->width[l] > jet.max_width) jet.max_width = network->width[l];
  size_t layer = RPINN_MAX_CHANNELS * jet.max_width;
  jet.z = memory;
  jet.a = jet.z + network->num_layers * layer;
  jet.adjoint_z = jet.a + (network->num_layers + 1) * layer;
  jet.adjoint_a = jet.adjoint_z + layer;
  return jet;
}

/* Channel c of layer l in an array [layers][RPINN_MAX_CHANNELS][max_width]. */
static double *channel_of(const RpinnPlainJet *jet, double *array, size_t layer, size_t channel) {
  return array + (layer * RPINN_MAX_CHANNELS + channel) * jet->max_width;
}

/* The input is s_i = scale_i x_i + shift_i: its derivative in coordinate i is scale_i, its second ones
 * vanish. */
static void set_input(const RpinnNetwork *network, const RpinnChannelSet *set, const double *x,
                      RpinnPlainJet *jet) {
  for (size_t c = 0; c < set->count; c++) {
    const RpinnChannel *channel = &set->channels[c];
    double *a = channel_of(jet, jet->a, 0, c);
    for (size_t i = 0; i < network->num_inputs; i++) {
      size_t coordinate = network->input_coordinate[i];
      if (channel->order == 0)
        a[i] = network->input_scale[i] * x[coordinate] + network->input_shift[i];
      else if (channel->order == 1)
        a[i] = network->input_scale[i] * channel->coefficient[coordinate];
      else
        a[i] = 0;
    }
  }
}

/* Q = sum_{i<=j} c_ij z_i z_j for unit k; slope (may be NULL) gets dQ/dz_i at the position of channel i. */
static double quadratic(const RpinnPlainJet *jet, const RpinnChannelSet *set, const RpinnChannel *channel,
                        size_t layer, size_t k, double *slope) {
  double sum = 0;
  for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++)
    for (size_t j = i; j < RPINN_MAX_COORDINATES; j++) {
      double c = channel->coefficient[rpinn_pair_index(i, j)];
      if (c == 0) continue;
      size_t at_i = (size_t)rpinn_channel_set_first(set, i), at_j = (size_t)rpinn_channel_set_first(set, j);
      double z_i = channel_of(jet, jet->z, layer, at_i)[k], z_j = channel_of(jet, jet->z, layer, at_j)[k];
      sum += c * z_i * z_j;
      if (slope) {
        slope[at_i] += c * z_j;
        slope[at_j] += c * z_i;
      }
    }
  return sum;
}

static void apply_weights(const RpinnNetwork *network, const RpinnChannelSet *set, const double *theta,
                          size_t layer, RpinnPlainJet *jet) {
  size_t num_in = network->width[layer], num_out = network->width[layer + 1];
  const double *W = rpinn_network_weights(network, theta, layer), *b = W + num_in * num_out;
  for (size_t c = 0; c < set->count; c++) {
    const double *a = channel_of(jet, jet->a, layer, c);
    double *z = channel_of(jet, jet->z, layer, c);
    for (size_t o = 0; o < num_out; o++) {
      double sum = c == 0 ? b[o] : 0;
      for (size_t i = 0; i < num_in; i++) sum += W[o * num_in + i] * a[i];
      z[o] = sum;
    }
  }
}

static void apply_activation(const RpinnNetwork *network, const RpinnChannelSet *set, size_t layer,
                             RpinnPlainJet *jet) {
  for (size_t k = 0; k < network->width[layer + 1]; k++) {
    double s[4];
    rpinn_activation_derivatives(network->activation, channel_of(jet, jet->z, layer, 0)[k], s);
    for (size_t c = 0; c < set->count; c++) {
      const RpinnChannel *channel = &set->channels[c];
      double z = channel_of(jet, jet->z, layer, c)[k];
      double *a = channel_of(jet, jet->a, layer + 1, c);
      if (channel->order == 0)
        a[k] = s[0];
      else if (channel->order == 1)
        a[k] = s[1] * z;
      else
        a[k] = s[1] * z + s[2] * quadratic(jet, set, channel, layer, k, NULL);
    }
  }
}

void rpinn_plain_jet_forward(const RpinnNetwork *network, const RpinnChannelSet *set, const double *theta,
                             const double *x, RpinnPlainJet *jet, double *values) {
  size_t last = network->num_layers - 1;
  set_input(network, set, x, jet);
  for (size_t l = 0; l <= last; l++) {
    apply_weights(network, set, theta, l, jet);
    if (l < last) apply_activation(network, set, l, jet);
  }
  for (size_t c = 0; c < set->count; c++)
    values[c] =
        network->output_factor * channel_of(jet, jet->z, last, c)[0] + (c == 0 ? network->output_shift : 0);
}

/* adjoint_a of layer l+1 to adjoint_z of layer l. */
static void reverse_activation(const RpinnNetwork *network, const RpinnChannelSet *set, size_t layer,
                               RpinnPlainJet *jet) {
  for (size_t k = 0; k < network->width[layer + 1]; k++) {
    double s[4], zbar[RPINN_MAX_CHANNELS] = {0};
    rpinn_activation_derivatives(network->activation, channel_of(jet, jet->z, layer, 0)[k], s);
    for (size_t c = 0; c < set->count; c++) {
      const RpinnChannel *channel = &set->channels[c];
      double abar = channel_of(jet, jet->adjoint_a, 0, c)[k], z = channel_of(jet, jet->z, layer, c)[k];
      zbar[c] += s[1] * abar;
      if (channel->order == 1) zbar[0] += s[2] * z * abar;
      if (channel->order == 2) {
        double slope[RPINN_MAX_CHANNELS] = {0};
        double Q = quadratic(jet, set, channel, layer, k, slope);
        zbar[0] += abar * (s[2] * z + s[3] * Q);
        for (size_t d = 0; d < set->count; d++) zbar[d] += abar * s[2] * slope[d];
      }
    }
    for (size_t c = 0; c < set->count; c++) channel_of(jet, jet->adjoint_z, 0, c)[k] = zbar[c];
  }
}

/* adjoint_z of layer l to the gradient of its weights and to adjoint_a of the layer below. */
static void reverse_weights(const RpinnNetwork *network, const RpinnChannelSet *set, const double *theta,
                            size_t layer, RpinnPlainJet *jet, double *gradient) {
  size_t num_in = network->width[layer], num_out = network->width[layer + 1];
  const double *W = rpinn_network_weights(network, theta, layer);
  double *Wbar = rpinn_network_gradient(network, gradient, layer);
  for (size_t c = 0; c < set->count; c++) {
    const double *zbar = channel_of(jet, jet->adjoint_z, 0, c), *a = channel_of(jet, jet->a, layer, c);
    double *abar = channel_of(jet, jet->adjoint_a, 0, c);
    memset(abar, 0, num_in * sizeof *abar);
    for (size_t o = 0; o < num_out; o++)
      for (size_t i = 0; i < num_in; i++) {
        if (Wbar) Wbar[o * num_in + i] += zbar[o] * a[i];
        abar[i] += W[o * num_in + i] * zbar[o];
      }
    if (c == 0 && Wbar)
      for (size_t o = 0; o < num_out; o++) Wbar[num_in * num_out + o] += zbar[o];
  }
}

void rpinn_plain_jet_reverse(const RpinnNetwork *network, const RpinnChannelSet *set, const double *theta,
                             RpinnPlainJet *jet, const double *value_adjoints, double *gradient) {
  size_t last = network->num_layers - 1;
  for (size_t c = 0; c < set->count; c++)
    channel_of(jet, jet->adjoint_z, 0, c)[0] = network->output_factor * value_adjoints[c];
  for (size_t l = last + 1; l-- > 0;) {
    if (l < last) reverse_activation(network, set, l, jet);
    reverse_weights(network, set, theta, l, jet, gradient);
  }
}
