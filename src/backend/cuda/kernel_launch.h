/* From C to the kernels. Functions return CUDA's error code, 0 where all went well; the emulated device of the tests has the same
 * functions under names of its own. */
#ifndef RPINN_BACKEND_CUDA_KERNEL_LAUNCH_H
#define RPINN_BACKEND_CUDA_KERNEL_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

#include "chain_tables.h"
#include "device_tables.h"
#include "fused_tables.h"
#include "particle_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How one launch is made. */
typedef struct RpinnLaunch {
  int is_double;
  int is_fast;         /* by the kernel whose shapes and tiles are compiled by themselves */
  size_t shared_bytes; /* of a block */
  size_t num_members;
  bool is_ahead;  /* the caller does not wait for its end, and hears of a fault in a later call */
  bool is_beside; /* ahead, and beside what is launched after it, up to the next `join` of device.h */
  void *stream;   /* CUDA's */
} RpinnLaunch;

/* Members by the kernel that fits; below, those of one precision by the kernel for all shapes. */
int rpinn_cuda_run_members(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                           const RpinnDeviceCall *call);
int rpinn_cuda_run_members_float(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                                 const RpinnDeviceCall *call);
int rpinn_cuda_run_members_double(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                                  const RpinnDeviceCall *call);
/* Members by the fused kernel that the work was planned for; below, those in FP32. */
int rpinn_cuda_run_fused(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                         const RpinnDeviceCall *call);
int rpinn_cuda_run_fused_float(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                               const RpinnFusedWork *fused, const RpinnDeviceCall *call);
/* Chains on places of the fused kernel; below, those in FP32. */
int rpinn_cuda_run_chains(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                          const RpinnDeviceCall *call, const RpinnDeviceChains *chains);
int rpinn_cuda_run_chains_float(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                                const RpinnFusedWork *fused, const RpinnDeviceCall *call,
                                const RpinnDeviceChains *chains);
int rpinn_cuda_run_product(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                           const RpinnDeviceProduct *product);

/* One loop of peak_loops.cuh, and its operations; memory: 8 bytes for each of its threads, of which a block has 256. */
int rpinn_cuda_run_peak(void *stream, RpinnDevicePeak peak, int num_blocks, int is_hopper, void *memory,
                        double *operations);
int rpinn_cuda_run_step(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceStep *step);
int rpinn_cuda_run_particles(const RpinnLaunch *launch, const RpinnDeviceParticles *particles);
/* Of these, the products in FP32. */
int rpinn_cuda_run_particle_product(const RpinnLaunch *launch, const RpinnDeviceParticles *particles);

#ifdef __cplusplus
}
#endif

#endif
