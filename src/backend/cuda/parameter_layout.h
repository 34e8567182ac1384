/* Parameters as they lie on the device: layer by layer W and b, each beginning at a multiple of four; rows of W behind the first
 * layer have a stride of 4 modulo 8, so that rows begin at multiples of four and neighbouring ones in different banks of shared
 * memory. Frozen layers are among them; unknowns come last. What belongs to no parameter is zero and stays so. */
#ifndef RPINN_BACKEND_CUDA_PARAMETER_LAYOUT_H
#define RPINN_BACKEND_CUDA_PARAMETER_LAYOUT_H

#include "arena.h"
#include "backend.h"
#include "device_tables.h"

typedef struct RpinnParameterLayout {
  size_t num_parameters, size;
  size_t unknowns;   /* place of the first unknown */
  size_t *place;     /* [num_parameters] of theta_j */
  double *frozen;    /* [size] values of frozen layers, zero elsewhere */
  size_t num_layers; /* of all networks */
  RpinnDeviceLayer *layers;
  size_t *first_layer; /* [num_fields] */
} RpinnParameterLayout;

/* false: no memory. */
bool rpinn_parameter_layout_make(RpinnArena *arena, const RpinnEnergyModel *model,
                                 RpinnParameterLayout *layout);

/* The next size of 4 modulo 8. */
size_t rpinn_spread_stride(size_t size);

/* Between theta (double) and the device's layout in its precision. pack: what belongs to no parameter is taken from rest [size],
 * NULL for zeros. */
void rpinn_layout_pack(const RpinnParameterLayout *layout, bool is_double, const double *theta,
                       const double *rest, void *to);
void rpinn_layout_unpack(const RpinnParameterLayout *layout, bool is_double, const void *from, double *theta);

/* Four vectors like theta, interleaved in float: to [size][4]; and the first two of them back. */
void rpinn_layout_pack_records(const RpinnParameterLayout *layout, const double *const vectors[4], float *to);
void rpinn_layout_unpack_records(const RpinnParameterLayout *layout, const float *from, double *first,
                                 double *second);

#endif
