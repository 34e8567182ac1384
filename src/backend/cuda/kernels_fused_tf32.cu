/* Fused kernels with products by tensor cores, and the choice between these and FP32. */
#include "fused_products_tf32.cuh"
#include "kernels_fused.cuh"

extern "C" int rpinn_cuda_run_fused(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                                    const RpinnDeviceCall *call) {
  switch (fused->kernel) {
#define RPINN_CASE_TEN(...)
#define RPINN_CASE_FOUR(...)
#define RPINN_CASE_TF32(NAME, FIRSTS, POINTS, GROUPS, THREADS, BLOCKS, ...) \
  case RPINN_FUSED_##NAME: return launch_fused<FusedTf32<FIRSTS, POINTS, GROUPS, FusedSizes<THREADS, __VA_ARGS__>>, THREADS, BLOCKS>(launch, work, fused, call);
#define RPINN_CASE(NAME, PRODUCTS, ...) RPINN_CASE_##PRODUCTS(NAME, __VA_ARGS__)
    RPINN_FUSED_LIST(RPINN_CASE)
  default: return rpinn_cuda_run_fused_float(launch, work, fused, call);
  }
}
