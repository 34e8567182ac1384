#include "cpu_backend.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "blas_threads.h"
#include "machine_peak.h"

static RpinnStatus create(RpinnContext *context, const RpinnEnergyModel *model, RpinnPrecision precision,
                          RpinnBackend **backend) {
  RPINN_TRY(rpinn_blas_reserve(context, 1));
  return precision == RPINN_PRECISION_FLOAT
             ? rpinn_cpu_engine_create_float(context, model, rpinn_isa_best(), backend)
             : rpinn_cpu_engine_create_double(context, model, rpinn_isa_best(), backend);
}

/* The name of this processor's kind for OpenBLAS, whose older versions take processors that are newer than they are for very old
 * ones. NULL: none that we know. */
static const char *core_type(void) {
  static const char *const types[RPINN_NUM_ISAS] = {
      [RPINN_ISA_AVX2] = "HASWELL", [RPINN_ISA_AVX512] = "SKYLAKEX"};
  return types[rpinn_isa_best()];
}

/* Once for a process: studies make many runs. */
static RpinnStatus advise(RpinnContext *context, RpinnText *line) {
  static atomic_flag is_measured = ATOMIC_FLAG_INIT;
  const double enough = 0.5;
  if (atomic_flag_test_and_set(&is_measured)) return RPINN_OK;
  RPINN_TRY(rpinn_blas_reserve(context, 1));
  double share = rpinn_blas_share_of_peak();
  if (share >= enough) return RPINN_OK;
  rpinn_text_append(line,
                    "OpenBLAS computes for a processor of kind %s and reaches %.0f %% of what this one can: ",
                    rpinn_blas_core_name(), 100 * share);
  if (core_type() && !getenv("OPENBLAS_CORETYPE"))
    rpinn_text_append(line, "set OPENBLAS_CORETYPE=%s in the environment, or install a newer OpenBLAS",
                      core_type());
  else
    rpinn_text_append(line, "install a newer OpenBLAS%s",
                      getenv("OPENBLAS_CORETYPE") ? ", or take OPENBLAS_CORETYPE out of the environment"
                                                  : "");
  return RPINN_OK;
}

/* The number goes up with every change of the kernels that changes bits: an older run is not continued with other ones. */
static RpinnStatus identify(RpinnContext *context, RpinnText *line) {
  (void)context;
  rpinn_text_append(line, "kernels 4");
  return RPINN_OK;
}

/* What an engine does is in the operations of its precision; these only make one. */
const RpinnBackendOperations rpinn_cpu_backend = {.usual_precision = RPINN_PRECISION_FLOAT,
                                                  .precisions = 1u << RPINN_PRECISION_FLOAT |
                                                                1u << RPINN_PRECISION_DOUBLE,
                                                  .identify = identify,
                                                  .advise = advise,
                                                  .create = create};
