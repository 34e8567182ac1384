/* In a build without CUDA: what is said to those who ask for a GPU. */
#include "device.h"

RpinnStatus rpinn_cuda_device_open(RpinnContext *context, RpinnDevice **device) {
  *device = NULL;
  return rpinn_cuda_device_find(context, NULL, NULL);
}

RpinnStatus rpinn_cuda_device_find(RpinnContext *context, RpinnText *description, RpinnText *identity) {
  (void)description;
  (void)identity;
  return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "backend cuda: this program was built without CUDA");
}
