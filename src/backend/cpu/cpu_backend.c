#include "cpu_backend.h"

#include "blas_threads.h"

static RpinnStatus create(RpinnContext *context, const RpinnEnergyModel *model, RpinnPrecision precision,
                          RpinnBackend **backend) {
  RPINN_TRY(rpinn_blas_reserve(context, 1));
  return precision == RPINN_PRECISION_FLOAT
             ? rpinn_cpu_engine_create_float(context, model, rpinn_isa_best(), backend)
             : rpinn_cpu_engine_create_double(context, model, rpinn_isa_best(), backend);
}

/* What an engine does is in the operations of its precision; these only make one. */
const RpinnBackendOperations rpinn_cpu_backend = {.usual_precision = RPINN_PRECISION_FLOAT,
                                                  .precisions = 1u << RPINN_PRECISION_FLOAT |
                                                                1u << RPINN_PRECISION_DOUBLE,
                                                  .create = create};
