#include "activation.h"

#include <math.h>

const char *const rpinn_activation_names[RPINN_NUM_ACTIVATIONS] = {
#define RPINN_ACTIVATION_NAME(name, text) text,
    RPINN_ACTIVATION_LIST(RPINN_ACTIVATION_NAME)
#undef RPINN_ACTIVATION_NAME
};

/* a = tanh z:  a' = 1 - a^2,  a'' = -2 a a',  a''' = a' (6 a^2 - 2) */
static void tanh_derivatives(double z, double derivative[4]) {
  double a = tanh(z), slope = 1 - a * a;
  derivative[0] = a;
  derivative[1] = slope;
  derivative[2] = -2 * a * slope;
  derivative[3] = slope * (6 * a * a - 2);
}

static void sine_derivatives(double z, double derivative[4]) {
  derivative[0] = sin(z);
  derivative[1] = cos(z);
  derivative[2] = -derivative[0];
  derivative[3] = -derivative[1];
}

/* s = 1/(1+e^-z) without overflow, and its derivatives s' = s (1-s), s'' = s' (1-2s), s''' = s' (1 - 6 s
 * (1-s)). */
static void sigmoid_derivatives(double z, double derivative[4]) {
  double e = exp(-fabs(z)), larger = 1 / (1 + e);
  double s = z >= 0 ? larger : e * larger;
  double slope = e * larger * larger;
  derivative[0] = s;
  derivative[1] = slope;
  derivative[2] = slope * (1 - 2 * s);
  derivative[3] = slope * (1 - 6 * slope);
}

/* log(1 + e^z) = max(z, 0) + log(1 + e^-|z|); its derivative is the sigmoid. */
static void softplus_derivatives(double z, double derivative[4]) {
  double sigmoid[4];
  sigmoid_derivatives(z, sigmoid);
  derivative[0] = fmax(z, 0) + log1p(exp(-fabs(z)));
  for (int k = 1; k < 4; k++) derivative[k] = sigmoid[k - 1];
}

/* a = z s:  a^(k) = z s^(k) + k s^(k-1) */
static void swish_derivatives(double z, double derivative[4]) {
  double sigmoid[4];
  sigmoid_derivatives(z, sigmoid);
  derivative[0] = z * sigmoid[0];
  for (int k = 1; k < 4; k++) derivative[k] = z * sigmoid[k] + k * sigmoid[k - 1];
}

void rpinn_activation_derivatives(RpinnActivation activation, double z, double derivative[4]) {
  switch (activation) {
  case RPINN_ACTIVATION_TANH: tanh_derivatives(z, derivative); return;
  case RPINN_ACTIVATION_SINE: sine_derivatives(z, derivative); return;
  case RPINN_ACTIVATION_SOFTPLUS: softplus_derivatives(z, derivative); return;
  case RPINN_ACTIVATION_SWISH: swish_derivatives(z, derivative); return;
  case RPINN_NUM_ACTIVATIONS: break;
  }
  for (int k = 0; k < 4; k++) derivative[k] = NAN;
}
