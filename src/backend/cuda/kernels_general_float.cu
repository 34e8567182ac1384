/* Members of any kind in float. */
#include "member_kernel.cuh"

extern "C" int rpinn_cuda_run_members_float(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                                         const RpinnDeviceCall *call) {
  return call->task == RPINN_TASK_JACOBIAN && call->wants_gradient ? launch_members<float, false, true>(launch, work, call)
                                           : launch_members<float, false, false>(launch, work, call);
}
