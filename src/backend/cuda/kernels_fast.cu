/* Members in float whose shapes and tiles are compiled by themselves, and the choice of the kernel. */
#include "member_kernel.cuh"

extern "C" int rpinn_cuda_run_members(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceCall *call) {
  if (launch->is_double) return rpinn_cuda_run_members_double(launch, work, call);
  if (!launch->is_fast || call->task == RPINN_TASK_JACOBIAN) return rpinn_cuda_run_members_float(launch, work, call);
  return launch_members<float, true, false>(launch, work, call);
}
