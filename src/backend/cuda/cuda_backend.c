/* The backend `cuda`: an engine on the GPU of this machine. */
#include "cuda_engine.h"

static RpinnStatus create(RpinnContext *context, const RpinnEnergyModel *model, RpinnPrecision precision,
                          RpinnBackend **backend) {
  RpinnDevice *device;
  *backend = NULL;
  RPINN_TRY(rpinn_cuda_device_open(context, &device));
  return rpinn_cuda_engine_create(context, device, model, precision, backend);
}

static RpinnStatus describe(RpinnContext *context, RpinnText *line) {
  return rpinn_cuda_device_find(context, line, NULL);
}

static RpinnStatus identify(RpinnContext *context, RpinnText *line) {
  return rpinn_cuda_device_find(context, NULL, line);
}

/* What an engine does is in the operations of its own; these only make one. */
const RpinnBackendOperations rpinn_cuda_backend = {
    .usual_precision = RPINN_PRECISION_FLOAT,
    .precisions = 1u << RPINN_PRECISION_FLOAT | 1u << RPINN_PRECISION_DOUBLE | 1u << RPINN_PRECISION_TF32,
    .worth_products = 8e9, /* bench/results/cuda.md says why */
    .describe = describe,
    .identify = identify,
    .create = create};
