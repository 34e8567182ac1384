/* Members of any kind in double. */
#include "member_kernel.cuh"

extern "C" int rpinn_cuda_run_members_double(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                                         const RpinnDeviceCall *call) {
  return call->task == RPINN_TASK_JACOBIAN && call->wants_gradient ? launch_members<double, false, true>(launch, work, call)
                                           : launch_members<double, false, false>(launch, work, call);
}
