/* A multilayer perceptron u(x): its shape and the place of its parameters in the vector theta.
 *
 *   input   s_i = input_scale[i] * x_i + input_shift[i]          for the coordinates it depends on
 *   hidden  a^l = activation(W^l a^(l-1) + b^l)                  l = 1 … L-1
 *   output  u   = output_shift + output_factor * (W^L a^(L-1) + b^L)
 *
 * Parameters of a layer: W [num_out][num_in] row-major, then b [num_out]; layers in order. With trainable:
 * output only the last layer is in theta; the hidden layers are drawn once and kept in `frozen`, so that u is
 * linear in theta and its posterior is Gaussian in closed form. */
#ifndef RPINN_NETWORK_NETWORK_H
#define RPINN_NETWORK_NETWORK_H

#include <stddef.h>

#include "activation.h"
#include "channels.h"
#include "random_stream.h"

enum { RPINN_MAX_LAYERS = 64, RPINN_MAX_WIDTH = 4096 };

typedef enum RpinnInitialization { RPINN_GLOROT_NORMAL, RPINN_GLOROT_UNIFORM } RpinnInitialization;

typedef struct RpinnNetwork {
  size_t num_inputs;
  size_t input_coordinate[RPINN_MAX_COORDINATES]; /* which coordinate feeds input i */
  double input_scale[RPINN_MAX_COORDINATES], input_shift[RPINN_MAX_COORDINATES];
  double output_shift, output_factor;
  RpinnActivation activation;
  RpinnInitialization initialization;
  bool output_only; /* trainable: output */

  size_t num_layers;                    /* L: hidden layers and the output layer */
  size_t width[RPINN_MAX_LAYERS + 1];   /* width[0] = num_inputs, width[L] = 1 */
  size_t layer_start[RPINN_MAX_LAYERS]; /* of layer l's W within all parameters of the network */
  size_t num_all;                       /* parameters of all layers */
  size_t num_trainable;                 /* of those in theta */
  size_t parameter_start;               /* of the first one in theta */
  double *frozen;                       /* [num_all - num_trainable] hidden layers, or NULL */
} RpinnNetwork;

/* Set layer_start, num_all and num_trainable from num_inputs, the hidden widths and output_only. */
void rpinn_network_lay_out(RpinnNetwork *network, size_t num_hidden, const size_t *hidden_widths);

/* W of layer l (0-based) for the parameter vector theta; b follows W directly. */
const double *rpinn_network_weights(const RpinnNetwork *network, const double *theta, size_t layer);
/* Where the gradient of layer l's W goes in a vector like theta; NULL when the layer is frozen. */
double *rpinn_network_gradient(const RpinnNetwork *network, double *gradient, size_t layer);

/* Glorot's start for the layers [first, last): weights of variance 2/(num_in + num_out), normal or uniform,
 * biases zero. Writes the layers one after another to parameters. */
void rpinn_network_initialize(const RpinnNetwork *network, size_t first_layer, size_t last_layer,
                              RpinnStream *stream, double *parameters);

#endif
