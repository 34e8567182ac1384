/* The activation functions of hidden layers. */
#ifndef RPINN_BACKEND_CPU_ACTIVATION_KIND_H
#define RPINN_BACKEND_CPU_ACTIVATION_KIND_H

typedef enum RpinnActivation {
  RPINN_ACTIVATION_TANH,
  RPINN_ACTIVATION_SINE,
  RPINN_ACTIVATION_SOFTPLUS, /* log(1 + e^z) */
  RPINN_ACTIVATION_SWISH,    /* z / (1 + e^-z) */
  RPINN_NUM_ACTIVATIONS
} RpinnActivation;

#endif
