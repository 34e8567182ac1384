/* One network at one point, in double and one number at a time: forward through all channels and back. */
#ifndef RPINN_BACKEND_PLAIN_JET_H
#define RPINN_BACKEND_PLAIN_JET_H

#include "network.h"

/* What the reverse pass needs of the forward pass. */
typedef struct RpinnPlainJet {
  size_t max_width;
  double *z; /* [num_layers][RPINN_MAX_CHANNELS][max_width] before the activation */
  double *a; /* [num_layers + 1][RPINN_MAX_CHANNELS][max_width] after it; a[0] is the scaled input */
  double *adjoint_z, *adjoint_a; /* [RPINN_MAX_CHANNELS][max_width] */
} RpinnPlainJet;

/* Number of doubles that a jet of this network needs. */
size_t rpinn_plain_jet_size(const RpinnNetwork *network);
RpinnPlainJet rpinn_plain_jet_place(const RpinnNetwork *network, double *memory);

/* values [set->count]: the channels of the field at x. */
void rpinn_plain_jet_forward(const RpinnNetwork *network, const RpinnChannelSet *set, const double *theta,
                             const double *x, RpinnPlainJet *jet, double *values);
/* From dE/d values add dE/d theta to gradient (a vector like theta). */
void rpinn_plain_jet_reverse(const RpinnNetwork *network, const RpinnChannelSet *set, const double *theta,
                             RpinnPlainJet *jet, const double *value_adjoints, double *gradient);

#endif
