/* The terms of a model for the fused kernel: which kernel takes them, how their points are gathered into tiles, where things lie in
 * the memory of a block. All of it depends on the problem and the kind of device alone. */
#ifndef RPINN_BACKEND_CUDA_FUSED_WORK_H
#define RPINN_BACKEND_CUDA_FUSED_WORK_H

#include "device_work.h"

/* Tables for the fused kernel from those of the terms, which must outlive them. *tables is NULL where no fused kernel takes the model,
 * and reason then says why in a clause, in words that last. */
RpinnStatus rpinn_fused_tables_create(RpinnContext *context, RpinnDevice *device,
                                      const RpinnEnergyModel *model, const RpinnParameterLayout *layout,
                                      bool is_tf32, const RpinnWorkTables *terms, RpinnWorkTables **tables,
                                      const char **reason);

#endif
