#include "device_profile.h"

#include <string.h>

#include "cuda_engine.h"

double rpinn_device_launch_seconds(const RpinnBackend *backend) {
  return ((const RpinnCudaEngine *)backend)->launch_seconds;
}

double rpinn_device_chain_seconds(const RpinnBackend *backend) {
  return ((const RpinnCudaEngine *)backend)->chain_seconds;
}

void rpinn_device_stage_seconds(const RpinnBackend *backend, double seconds[RPINN_NUM_STAGES]) {
  memcpy(seconds, ((const RpinnCudaEngine *)backend)->stage_seconds, RPINN_NUM_STAGES * sizeof *seconds);
}

RpinnStatus rpinn_device_measure_peak(RpinnContext *context, RpinnBackend *backend, RpinnDevicePeak peak,
                                      double *rate) {
  RpinnDevice *device = ((RpinnCudaEngine *)backend)->device;
  return device->operations->measure_peak(context, device, peak, rate);
}
