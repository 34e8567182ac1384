/* Programs at points, cut into blocks: what an energy or a prediction is made of.
 *
 * An item is a program at a list of points (a term, a quantity). Items are cut into segments and segments
 * gathered into blocks, so that the matrices of a block stay small enough for the cache. How they are cut depends on the networks and the points alone, never on threads
 * or members. */
#ifndef RPINN_BACKEND_CPU_CPU_WORK_H
#define RPINN_BACKEND_CPU_CPU_WORK_H

#include "backend.h"
#include "channel_map.h"
#include "program_pass.h"

typedef struct RpinnWorkItem {
  const RpinnResidualProgram *program;
  size_t num_points;
  const double *points; /* [num_points][num_coordinates] */
} RpinnWorkItem;

typedef struct RpinnSegment {
  size_t item, first_point, num_points;
  size_t first_result; /* position of its first point among the results of all items */
  size_t host;         /* the segment at the same points whose fields it takes; mostly itself */
  RpinnProgramPass program;
} RpinnSegment;

typedef struct RpinnBlock {
  size_t first_segment, num_segments;
  size_t *num_rows;     /* [num_fields] */
  RpinnFieldRun **runs; /* [num_fields][num_segments] */
} RpinnBlock;

typedef struct RpinnCpuWork {
  const RpinnEnergyModel *model;
  size_t num_items, num_segments, num_blocks, num_results;
  RpinnSegment *segments;
  RpinnBlock *blocks;
  RpinnJetShape *shapes; /* [num_items][num_fields] */
  RpinnChannelMap *maps; /* [num_items][num_fields] */
  size_t *hosts; /* [num_items] the item whose fields it takes, which is computed with them; mostly itself */
  /* [num_items] to be added to an item's results in double. A value near 100 with noise 0.01 has few digits
   * left in float; where the program is the value itself, its large constant part waits until the data are
   * subtracted. */
  double *late_shift;
  size_t *max_rows;  /* [num_fields] of any block */
  size_t max_points; /* of any segment */
  RpinnArena *arena;
  Real *scratch; /* registers of the segment at hand */
} RpinnCpuWork;

/* NULL when out of memory. The items are borrowed for the call, what they point to for the life of the work.
 * shares_values: an item of values of fields alone takes them from another one that has the same points and derivatives of these
 * fields, and its segments stand behind the other's, out of the order of results: for work that goes forward only. */
RpinnCpuWork *RPINN_REAL_NAME(rpinn_cpu_work_create)(const RpinnEnergyModel *model,
                                                     const RpinnWorkItem *items, size_t num_items,
                                                     bool shares_values);
void RPINN_REAL_NAME(rpinn_cpu_work_destroy)(RpinnCpuWork *work);

/* The channels of a segment from the fields' outputs (one array per field) to its program's registers; and
 * the adjoints of its channels to the fields' output bars, which the caller has cleared. */
void RPINN_REAL_NAME(rpinn_cpu_work_gather)(const RpinnCpuWork *work, const RpinnBlock *block, size_t segment,
                                            const Real *const *outputs);
void RPINN_REAL_NAME(rpinn_cpu_work_scatter)(const RpinnCpuWork *work, const RpinnBlock *block,
                                             size_t segment, Real *const *bars);

#endif
