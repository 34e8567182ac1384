/* Activation functions of hidden layers, with the three derivatives that second-order jets and their reverse
 * pass need. Scalar and in double: the oracle that the fast kernels are compared with. */
#ifndef RPINN_NETWORK_ACTIVATION_H
#define RPINN_NETWORK_ACTIVATION_H

#include <stdbool.h>

/* X(enumerator, name in problem files) */
#define RPINN_ACTIVATION_LIST(X)                                                                             \
  X(TANH, "tanh")         /* tanh z */                                                                       \
  X(SINE, "sine")         /* sin z */                                                                        \
  X(SOFTPLUS, "softplus") /* log(1 + e^z) */                                                                 \
  X(SWISH, "swish")       /* z / (1 + e^-z) */

typedef enum RpinnActivation {
#define RPINN_ACTIVATION_ENUM(name, text) RPINN_ACTIVATION_##name,
  RPINN_ACTIVATION_LIST(RPINN_ACTIVATION_ENUM)
#undef RPINN_ACTIVATION_ENUM
      RPINN_NUM_ACTIVATIONS
} RpinnActivation;

extern const char *const rpinn_activation_names[RPINN_NUM_ACTIVATIONS];

/* derivative[k] = k-th derivative at z, k = 0 … 3. */
void rpinn_activation_derivatives(RpinnActivation activation, double z, double derivative[4]);

#endif
