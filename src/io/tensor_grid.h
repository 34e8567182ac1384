/* Do points fill a grid of axes, in whatever order? Files can then store values by axis instead of by point.
 */
#ifndef RPINN_IO_TENSOR_GRID_H
#define RPINN_IO_TENSOR_GRID_H

#include "point_set.h"

typedef struct RpinnTensorGrid {
  size_t num_axes;
  size_t counts[RPINN_MAX_COORDINATES];
  double *axes[RPINN_MAX_COORDINATES]; /* [counts[i]] increasing */
  size_t *slots; /* [points] place of each point in the grid, the first coordinate fastest */
} RpinnTensorGrid;

/* *found is false when some place has no point or two; coordinates are compared exactly. */
RpinnStatus rpinn_tensor_grid_find(RpinnContext *context, RpinnArena *arena, size_t num_coordinates,
                                   const RpinnPointSet *points, RpinnTensorGrid *grid, bool *found);
/* Are the places of an axis a step apart, to the digits of a file? *step is 0 for a single place. */
bool rpinn_tensor_grid_is_even(const RpinnTensorGrid *grid, size_t axis, double *step);

#endif
