/* Members in float whose shapes and tiles are compiled by themselves, and the choice of the kernel. */
#include "member_kernel.cuh"

extern "C" int rpinn_cuda_run_members(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceCall *call) {
  if (launch->is_double) return rpinn_cuda_run_members_double(launch, work, call);
  bool has_points = call->task == RPINN_TASK_JACOBIAN && call->wants_gradient;
  if (!launch->is_fast || has_points) return rpinn_cuda_run_members_float(launch, work, call);
  return launch_members<float, true, false>(launch, work, call);
}
