/* A network evaluated by hand: every number is hyper-dual (value, two first derivatives, one mixed second
 * derivative), activations are built from exp, log, sin and division, and parameters are taken one after
 * another as network.h describes their order. Slow, and with nothing in common with the jets. */
#ifndef RPINN_TESTS_HAND_NETWORK_H
#define RPINN_TESTS_HAND_NETWORK_H

#include "check.h"

#include "network.h"

typedef struct Hyper {
  double v, a, b, ab; /* value, d/da, d/db, d2/da db */
} Hyper;

static inline Hyper hyper(double v) {
  return (Hyper){v, 0, 0, 0};
}
static inline Hyper hyper_plus(Hyper x, Hyper y) {
  return (Hyper){x.v + y.v, x.a + y.a, x.b + y.b, x.ab + y.ab};
}
static inline Hyper hyper_times(Hyper x, Hyper y) {
  return (Hyper){x.v * y.v, x.a * y.v + x.v * y.a, x.b * y.v + x.v * y.b,
                 x.ab * y.v + x.a * y.b + x.b * y.a + x.v * y.ab};
}
/* f(x) from f, f' and f'' at the value of x. */
static inline Hyper hyper_apply(Hyper x, double f, double slope, double curvature) {
  return (Hyper){f, slope * x.a, slope * x.b, slope * x.ab + curvature * x.a * x.b};
}
static inline Hyper hyper_exp(Hyper x) {
  return hyper_apply(x, exp(x.v), exp(x.v), exp(x.v));
}
static inline Hyper hyper_log(Hyper x) {
  return hyper_apply(x, log(x.v), 1 / x.v, -1 / (x.v * x.v));
}
static inline Hyper hyper_inverse(Hyper x) {
  return hyper_apply(x, 1 / x.v, -1 / (x.v * x.v), 2 / (x.v * x.v * x.v));
}

static inline Hyper hand_activation(RpinnActivation activation, Hyper z) {
  Hyper rise = hyper_exp(hyper_times(z, hyper(-1))), one = hyper(1);
  switch (activation) {
  case RPINN_ACTIVATION_TANH: { /* (1 - e^-2z) / (1 + e^-2z) */
    Hyper square = hyper_times(rise, rise);
    return hyper_times(hyper_plus(one, hyper_times(square, hyper(-1))),
                       hyper_inverse(hyper_plus(one, square)));
  }
  case RPINN_ACTIVATION_SINE: return hyper_apply(z, sin(z.v), cos(z.v), -sin(z.v));
  case RPINN_ACTIVATION_SOFTPLUS: return hyper_log(hyper_plus(one, hyper_exp(z)));
  case RPINN_ACTIVATION_SWISH: return hyper_times(z, hyper_inverse(hyper_plus(one, rise)));
  default: fail_msg("no such activation");
  }
  return one;
}

/* u with derivatives in a and b: coordinates i and j, or parameter `seed` in place of a (i then names no
 * coordinate). parameters: all layers, frozen ones included. */
static inline Hyper hand_network_seeded(const RpinnNetwork *network, const double *parameters, size_t seed,
                                        const double *x, size_t i, size_t j) {
  enum { WIDEST = 64 };
  Hyper a[WIDEST], z[WIDEST];
  for (size_t k = 0; k < network->num_inputs; k++) {
    size_t coordinate = network->input_coordinate[k];
    double scale = network->input_scale[k];
    a[k] = (Hyper){scale * x[coordinate] + network->input_shift[k], coordinate == i ? scale : 0,
                   coordinate == j ? scale : 0, 0};
  }
  size_t num_in = network->num_inputs, start = 0;
  for (size_t layer = 1; layer <= network->num_layers; layer++) {
    size_t num_out = network->width[layer], bias = start + num_out * num_in;
    check_true(num_out <= WIDEST, "a network wider than %d", WIDEST);
    for (size_t o = 0; o < num_out; o++) {
      z[o] = (Hyper){parameters[bias + o], bias + o == seed, 0, 0};
      for (size_t k = 0; k < num_in; k++) {
        size_t at = start + o * num_in + k;
        z[o] = hyper_plus(z[o], hyper_times((Hyper){parameters[at], at == seed, 0, 0}, a[k]));
      }
    }
    start = bias + num_out;
    num_in = num_out;
    for (size_t o = 0; o < num_out; o++)
      a[o] = layer < network->num_layers ? hand_activation(network->activation, z[o]) : z[o];
  }
  return hyper_plus(hyper(network->output_shift), hyper_times(hyper(network->output_factor), a[0]));
}

static inline Hyper hand_network(const RpinnNetwork *network, const double *parameters, const double *x,
                                 size_t i, size_t j) {
  return hand_network_seeded(network, parameters, SIZE_MAX, x, i, j);
}

#endif
