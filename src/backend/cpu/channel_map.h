/* From the channels that a program asks for to those that the kernels compute, and back.
 *
 * With inputs s_i = scale_i x_i + shift_i and output u = output_shift + output_factor N(s):
 *
 *   value          u                 = output_shift + output_factor * N
 *   order 1        sum_i c_i d_i u   = output_factor * sum_i (c_i scale_i) N_i           one kernel channel
 * per i order 2        sum c_ij d_ij u   = output_factor * (the operator with c_ij scale_i scale_j on N) */
#ifndef RPINN_BACKEND_CPU_CHANNEL_MAP_H
#define RPINN_BACKEND_CPU_CHANNEL_MAP_H

#include "field_pass.h"

typedef struct RpinnChannelMap {
  size_t num_program, num_kernel;
  Real shift; /* added to the value */
  Real factor[RPINN_MAX_CHANNELS]
             [RPINN_JET_MAX_CHANNELS]; /* program channel = sum of factor * kernel channel */
  size_t num_used[RPINN_MAX_CHANNELS]; /* kernel channels with a factor … */
  size_t used[RPINN_MAX_CHANNELS][RPINN_JET_MAX_CHANNELS]; /* … and which */
} RpinnChannelMap;

void RPINN_REAL_NAME(rpinn_channel_map_make)(const RpinnNetwork *network, const RpinnChannelSet *set,
                                             RpinnJetShape *shape, RpinnChannelMap *map);

#endif
