#include "network_tangent.h"

#include <string.h>

enum { POINTS = RPINN_TANGENT_POINTS };

/* Two layers at a time, each [channels][width][POINTS], and their changes. */
typedef struct Tangent {
  const RpinnNetwork *network;
  const RpinnChannelSet *set;
  size_t max_width;
  double *a, *a_dot, *z, *z_dot;
} Tangent;

static size_t widest(const RpinnNetwork *network) {
  size_t width = 1;
  for (size_t l = 0; l <= network->num_layers; l++)
    if (network->width[l] > width) width = network->width[l];
  return width;
}

size_t rpinn_network_tangent_size(const RpinnNetwork *network, const RpinnChannelSet *set) {
  return 4 * set->count * widest(network) * POINTS;
}

/* Unit k of a channel: [POINTS]. */
static double *unit(const Tangent *own, double *array, size_t channel, size_t k) {
  return array + (channel * own->max_width + k) * POINTS;
}

/* The scaled input: its derivative in coordinate i is scale_i, its second ones vanish, and theta does not enter. */
static void set_input(const Tangent *own, size_t num_coordinates, size_t num_points, const double *points) {
  const RpinnNetwork *network = own->network;
  memset(own->a, 0, own->set->count * own->max_width * POINTS * sizeof(double));
  memset(own->a_dot, 0, own->set->count * own->max_width * POINTS * sizeof(double));
  for (size_t c = 0; c < own->set->count; c++) {
    const RpinnChannel *channel = &own->set->channels[c];
    for (size_t i = 0; i < network->num_inputs; i++) {
      size_t coordinate = network->input_coordinate[i];
      double *a = unit(own, own->a, c, i);
      for (size_t p = 0; p < num_points; p++) {
        if (channel->order == 0)
          a[p] = network->input_scale[i] * points[p * num_coordinates + coordinate] + network->input_shift[i];
        else if (channel->order == 1)
          a[p] = network->input_scale[i] * channel->coefficient[coordinate];
      }
    }
  }
}

/* z and z. of a layer; change NULL: the layer is frozen. */
static void apply_weights(const Tangent *own, size_t layer, const double *W, const double *change) {
  size_t num_in = own->network->width[layer], num_out = own->network->width[layer + 1];
  for (size_t c = 0; c < own->set->count; c++)
    for (size_t o = 0; o < num_out; o++) {
      double *restrict z = unit(own, own->z, c, o), *restrict z_dot = unit(own, own->z_dot, c, o);
      double bias = c == 0 ? W[num_in * num_out + o] : 0,
             bias_change = c == 0 && change ? change[num_in * num_out + o] : 0;
      for (size_t p = 0; p < POINTS; p++) {
        z[p] = bias;
        z_dot[p] = bias_change;
      }
      for (size_t i = 0; i < num_in; i++) {
        const double *a = unit(own, own->a, c, i), *a_dot = unit(own, own->a_dot, c, i);
        double w = W[o * num_in + i], dw = change ? change[o * num_in + i] : 0;
        for (size_t p = 0; p < POINTS; p++) {
          z[p] += w * a[p];
          z_dot[p] += w * a_dot[p] + dw * a[p];
        }
      }
    }
}

/* Q and Q. of an order-2 channel at unit k and point p. */
static void quadratic(const Tangent *own, const RpinnChannel *channel, size_t k, size_t p, double *Q,
                      double *Q_dot) {
  *Q = *Q_dot = 0;
  for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++)
    for (size_t j = i; j < RPINN_MAX_COORDINATES; j++) {
      double c = channel->coefficient[rpinn_pair_index(i, j)];
      if (c == 0) continue;
      size_t at_i = (size_t)rpinn_channel_set_first(own->set, i),
             at_j = (size_t)rpinn_channel_set_first(own->set, j);
      double z_i = unit(own, own->z, at_i, k)[p], z_j = unit(own, own->z, at_j, k)[p];
      *Q += c * z_i * z_j;
      *Q_dot += c * (unit(own, own->z_dot, at_i, k)[p] * z_j + z_i * unit(own, own->z_dot, at_j, k)[p]);
    }
}

static void apply_activation(const Tangent *own, size_t layer, size_t num_points) {
  for (size_t k = 0; k < own->network->width[layer + 1]; k++)
    for (size_t p = 0; p < num_points; p++) {
      double s[4], z_0_dot = unit(own, own->z_dot, 0, k)[p];
      rpinn_activation_derivatives(own->network->activation, unit(own, own->z, 0, k)[p], s);
      for (size_t c = 0; c < own->set->count; c++) {
        const RpinnChannel *channel = &own->set->channels[c];
        double z = unit(own, own->z, c, k)[p], z_dot = unit(own, own->z_dot, c, k)[p], Q = 0, Q_dot = 0;
        double *a = unit(own, own->a, c, k) + p, *a_dot = unit(own, own->a_dot, c, k) + p;
        if (channel->order == 0) {
          *a = s[0];
          *a_dot = s[1] * z_dot;
          continue;
        }
        if (channel->order == 2) quadratic(own, channel, k, p, &Q, &Q_dot);
        *a = s[1] * z + s[2] * Q;
        *a_dot = s[1] * z_dot + s[2] * (z_0_dot * z + Q_dot) + s[3] * z_0_dot * Q;
      }
    }
}

void rpinn_network_tangent(const RpinnNetwork *network, const RpinnChannelSet *set, const double *at,
                           const double *direction, size_t num_coordinates, size_t num_points,
                           const double *points, double *memory, double *values) {
  size_t last = network->num_layers - 1, max_width = widest(network), size = set->count * max_width * POINTS;
  Tangent own = {network, set, max_width, memory, memory + size, memory + 2 * size, memory + 3 * size};
  set_input(&own, num_coordinates, num_points, points);
  for (size_t l = 0; l <= last; l++) {
    bool is_frozen = network->output_only && l < last;
    apply_weights(&own, l, rpinn_network_weights(network, at, l),
                  is_frozen ? NULL : rpinn_network_weights(network, direction, l));
    if (l < last) apply_activation(&own, l, num_points);
  }
  for (size_t c = 0; c < set->count; c++)
    for (size_t p = 0; p < num_points; p++)
      values[c * POINTS + p] =
          network->output_factor * (unit(&own, own.z, c, 0)[p] + unit(&own, own.z_dot, c, 0)[p]) +
          (c == 0 ? network->output_shift : 0);
}
