/* How items are cut into segments and tiles, and how a block works on them. */
#ifndef RPINN_BACKEND_CUDA_DEVICE_PLAN_H
#define RPINN_BACKEND_CUDA_DEVICE_PLAN_H

#include "device_work.h"

/* What planning needs to know of the items. */
typedef struct RpinnPlanSubject {
  const RpinnEnergyModel *model;
  const RpinnDevice *device;
  size_t layout_size;
  size_t real_size;
  size_t table_bytes; /* of tables that do not depend on the plan */
  bool can_be_fast;   /* the fast kernel knows the precision and all shapes */
  size_t num_items;
  const RpinnDeviceWorkItem *items;
  const size_t *num_channels; /* [num_items][num_fields]; 0: the field is not used */
} RpinnPlanSubject;

typedef struct RpinnPlannedSegment {
  size_t item, first_point, num_points, num_padded;
  size_t tile;
} RpinnPlannedSegment;

typedef struct RpinnPlan {
  size_t num_segments, num_tiles, first_mixed_tile;
  RpinnPlannedSegment *segments; /* in the order of tiles */
  size_t *max_columns;           /* [num_fields] of any tile */
  size_t max_points;             /* of any segment, padded */
  bool is_fast;
  RpinnDevicePlacement placement;
  size_t num_threads, num_lanes;
  int forward_tile, backward_tile, gradient_tile;
  size_t arrays_size; /* Reals */
  bool tables_in_shared;
  size_t shared_bytes, blocks;
} RpinnPlan;

/* false: no memory. */
bool rpinn_plan_make(RpinnArena *arena, const RpinnPlanSubject *subject, RpinnPlan *plan);
/* From unit to unit of a field's arrays. */
size_t rpinn_plan_stride(const RpinnPlan *plan, size_t field);
/* Units that an array of the field has room for. */
size_t rpinn_plan_array_units(const RpinnNetwork *network);

#endif
