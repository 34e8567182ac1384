/* The two precisions of the backend `cpu`, and its choice between them. */
#ifndef RPINN_BACKEND_CPU_CPU_BACKEND_H
#define RPINN_BACKEND_CPU_CPU_BACKEND_H

#include "backend.h"
#include "isa.h"

extern const RpinnBackendOperations rpinn_cpu_operations_float, rpinn_cpu_operations_double;

RpinnStatus rpinn_cpu_engine_create_float(RpinnContext *context, const RpinnEnergyModel *model, RpinnIsa isa,
                                          RpinnBackend **backend);
RpinnStatus rpinn_cpu_engine_create_double(RpinnContext *context, const RpinnEnergyModel *model, RpinnIsa isa,
                                           RpinnBackend **backend);

#endif
