/* Fused kernels with products in FP32. */
#include "kernels_fused.cuh"

extern "C" int rpinn_cuda_run_fused_float(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                                          const RpinnDeviceCall *call) {
  switch (fused->kernel) {
#define RPINN_CASE_TEN(NAME, FIRSTS, POINTS, GROUPS, THREADS, BLOCKS, ...) \
  case RPINN_FUSED_##NAME: return launch_fused<FusedTen<FIRSTS, POINTS, GROUPS, FusedSizes<THREADS, __VA_ARGS__>>, THREADS, BLOCKS>(launch, work, fused, call);
#define RPINN_CASE_FOUR(NAME, FIRSTS, POINTS, GROUPS, THREADS, BLOCKS, ...) \
  case RPINN_FUSED_##NAME: return launch_fused<FusedFour<FIRSTS, POINTS, GROUPS, FusedSizes<THREADS, __VA_ARGS__>>, THREADS, BLOCKS>(launch, work, fused, call);
#define RPINN_CASE_TF32(...)
#define RPINN_CASE(NAME, PRODUCTS, ...) RPINN_CASE_##PRODUCTS(NAME, __VA_ARGS__)
    RPINN_FUSED_LIST(RPINN_CASE)
  default: return (int)cudaErrorInvalidValue;
  }
}
