/* Programs at points as the kernels want them: cut into segments and tiles, with all tables on the device.
 *
 * How large tiles are, how many threads a block has and how many outputs of a product each of these holds is chosen by a count of
 * instructions over what the device can run at once; see device_plan.c. It depends on the problem and on the kind of device, never
 * on members, and so do the bits. */
#ifndef RPINN_BACKEND_CUDA_DEVICE_WORK_H
#define RPINN_BACKEND_CUDA_DEVICE_WORK_H

#include "device.h"
#include "parameter_layout.h"

/* A program at points. */
typedef struct RpinnDeviceWorkItem {
  const RpinnResidualProgram *program;
  size_t num_points;
  const double *points;       /* [num_points][num_coordinates] */
  const RpinnTermModel *term; /* NULL: no term */
} RpinnDeviceWorkItem;

typedef struct RpinnWorkTables {
  RpinnDeviceWork work; /* with pointers of the device */
  bool is_fast;
  bool is_fused;        /* for the fused kernel, see fused_work.h: no task but energies and Adam */
  bool has_tf32;        /* likewise: products by tensor cores */
  RpinnFusedWork fused; /* likewise */
  RpinnDevicePlacement placement;
  size_t shared_bytes;   /* of a block */
  size_t blocks;         /* of a multiprocessor */
  size_t workspace_size; /* Reals that a block has in global memory */
  RpinnDevice *device;
  size_t num_memories;
  void *memories[16];
} RpinnWorkTables;

RpinnStatus rpinn_work_tables_create(RpinnContext *context, RpinnDevice *device,
                                     const RpinnEnergyModel *model, const RpinnParameterLayout *layout,
                                     bool is_double, const RpinnDeviceWorkItem *items, size_t num_items,
                                     RpinnWorkTables **tables);
void rpinn_work_tables_destroy(RpinnWorkTables *tables); /* accepts NULL */
/* What a program's result lacks until the end, in double: a program that is nothing but the value of a field leaves that field's shift
 * to then, see src/backend/cpu/cpu_work.h. */
double rpinn_work_late_shift(const RpinnEnergyModel *model, const RpinnResidualProgram *program);
/* A table of the device that lives as long as these. */
RpinnStatus rpinn_work_tables_upload(RpinnContext *context, RpinnWorkTables *tables, const void *from,
                                     size_t bytes, const void **pointer);

#endif
