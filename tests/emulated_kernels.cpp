/* The kernels of the backend `cuda` on the host, see emulated_device.h. */
#include <stdlib.h>

#include "damped_step.cuh"
#include "kernel_launch.h"

template <class Real, bool FAST, bool POINTS>
static void run_all(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceCall *call) {
  /* Of exactly the size that is stated, so that tools see what is read or written beyond it. */
  Real *shared = (Real *)malloc(launch->shared_bytes + 1);
  if (!shared) abort();
  for (size_t k = 0; k < launch->num_members; k++) run_member<Real, FAST, POINTS>(*work, *call, (int64_t)k, shared);
  free(shared);
}

extern "C" void emulated_run_members(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceCall *call) {
  bool has_points = call->task == RPINN_TASK_JACOBIAN && call->wants_gradient;
  if (launch->is_double)
    has_points ? run_all<double, false, true>(launch, work, call) : run_all<double, false, false>(launch, work, call);
  else if (has_points)
    run_all<float, false, true>(launch, work, call);
  else
    launch->is_fast ? run_all<float, true, false>(launch, work, call) : run_all<float, false, false>(launch, work, call);
}

template <class Real>
static void run_products(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceProduct *product) {
  Team team = make_team(0);
  for (size_t k = 0; k < launch->num_members; k++) {
    if (product->task == RPINN_PRODUCT_ROWS)
      finish_rows<Real>(*work, *product, (int64_t)k, 0, 1);
    else if (product->task == RPINN_PRODUCT_TIMES)
      jacobian_times(team, *work, *product, (int64_t)k, 0, 1);
    else
      gram(*work, *product, (int64_t)k, 0, 1);
  }
}

extern "C" void emulated_run_product(const RpinnLaunch *launch, const RpinnDeviceWork *work,
                                     const RpinnDeviceProduct *product) {
  launch->is_double ? run_products<double>(launch, work, product) : run_products<float>(launch, work, product);
}

template <class Real>
static void run_steps(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceStep *step) {
  Team team = make_team(0);
  for (int64_t k = 0; k < (int64_t)launch->num_members; k++) {
    StepMemory memory;
    if (step->task == RPINN_STEP_ROOTS) take_roots(*work, *step, k, 0, 1);
    for (int row = 0; step->task == RPINN_STEP_WEIGH && row <= work->num_rows; row++) weigh_row<Real>(*work, *step, k, row, 0, 1);
    if (step->task == RPINN_STEP_SOLVE) solve_step(team, *work, *step, k, memory);
    if (step->task == RPINN_STEP_FINISH) finish_step<Real>(*work, *step, k, 0, 1);
  }
}

extern "C" void emulated_run_step(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnDeviceStep *step) {
  launch->is_double ? run_steps<double>(launch, work, step) : run_steps<float>(launch, work, step);
}
