/* The kernels of the backend `cuda` on the host, see emulated_device.h. */
#include <stdlib.h>
#include <string.h>

#include "fused_products_tf32.cuh"

#include "damped_step.cuh"
#include "fused_member.cuh"
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

/* All threads of a block, phase by phase. */
template <class S>
static void run_fused_all(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                          const RpinnDeviceCall *call) {
  void *shared = aligned_alloc(16, launch->shared_bytes);
  FusedOwn<S> *own = (FusedOwn<S> *)malloc((size_t)fused->num_threads * sizeof *own);
  if (!shared || !own) abort();
  for (size_t k = 0; k < launch->num_members; k++) {
    memset(shared, 0xff, launch->shared_bytes); /* not a number: what is read must have been written */
    run_fused<S>(*work, *fused, *call, (int64_t)k, (float *)shared, own);
  }
  free(shared);
  free(own);
}

extern "C" void emulated_run_fused(const RpinnLaunch *launch, const RpinnDeviceWork *work, const RpinnFusedWork *fused,
                                   const RpinnDeviceCall *call) {
  switch (fused->kernel) {
#define EMULATED_TEN(FIRSTS, POINTS, GROUPS) FusedTen<FIRSTS, POINTS, GROUPS>
#define EMULATED_SIX(FIRSTS, POINTS, GROUPS) FusedSix<FIRSTS, POINTS, GROUPS>
#define EMULATED_TF32(FIRSTS, POINTS, GROUPS) FusedTf32<FIRSTS, POINTS, GROUPS>
#define EMULATED_CASE(NAME, PRODUCTS, FIRSTS, POINTS, GROUPS, THREADS, BLOCKS)                                             \
  case RPINN_FUSED_##NAME: run_fused_all<EMULATED_##PRODUCTS(FIRSTS, POINTS, GROUPS)>(launch, work, fused, call); break;
    RPINN_FUSED_LIST(EMULATED_CASE)
  default: abort();
  }
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
