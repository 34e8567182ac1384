/* What a benchmark asks of a backend on a device: how long its parts took, and what the device can do at most. */
#ifndef RPINN_BACKEND_CUDA_DEVICE_PROFILE_H
#define RPINN_BACKEND_CUDA_DEVICE_PROFILE_H

#include "backend.h"
#include "device_tables.h"

/* What a step of Levenberg–Marquardt consists of. X(STAGE, what it is) */
#define RPINN_STEP_STAGE_LIST(X)                                                                             \
  X(PUT, "numbers to the device")                                                                            \
  X(SLOPES, "Jacobian")                                                                                      \
  X(WEIGH, "Jacobian in double, weighed")                                                                    \
  X(GRAM, "Gram matrix")                                                                                     \
  X(SOLVE, "factor and solution")                                                                            \
  X(FINISH, "step")                                                                                          \
  X(GET, "numbers from the device")

typedef enum RpinnStepStage {
#define RPINN_STEP_STAGE_ENUM(stage, meaning) RPINN_STAGE_##stage,
  RPINN_STEP_STAGE_LIST(RPINN_STEP_STAGE_ENUM)
#undef RPINN_STEP_STAGE_ENUM
      RPINN_NUM_STAGES
} RpinnStepStage;

/* Seconds of all launches of Adam so far, of all of chains, and of all stages of steps. */
double rpinn_device_launch_seconds(const RpinnBackend *backend);
double rpinn_device_chain_seconds(const RpinnBackend *backend);
void rpinn_device_stage_seconds(const RpinnBackend *backend, double seconds[RPINN_NUM_STAGES]);
/* Operations per second, at most. */
RpinnStatus rpinn_device_measure_peak(RpinnContext *context, RpinnBackend *backend, RpinnDevicePeak peak,
                                      double *rate);

#endif
