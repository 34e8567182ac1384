#include "tensor_grid.h"

#include <math.h>
#include <stdlib.h>

static int compare_numbers(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static size_t place_on_axis(const double *axis, size_t count, double value) {
  const double *place = bsearch(&value, axis, count, sizeof value, compare_numbers);
  return (size_t)(place - axis);
}

/* The distinct values of one coordinate. */
static RpinnStatus find_axis(RpinnContext *context, RpinnArena *arena, size_t num_coordinates,
                             const RpinnPointSet *points, size_t coordinate, RpinnTensorGrid *grid) {
  double *axis = RPINN_ARENA_NEW(arena, double, points->count);
  if (!axis) return rpinn_fail_memory(context);
  for (size_t p = 0; p < points->count; p++) axis[p] = points->x[p * num_coordinates + coordinate];
  qsort(axis, points->count, sizeof *axis, compare_numbers);
  size_t count = 0;
  for (size_t p = 0; p < points->count; p++)
    if (count == 0 || axis[p] > axis[count - 1]) axis[count++] = axis[p];
  grid->axes[coordinate] = axis;
  grid->counts[coordinate] = count;
  return RPINN_OK;
}

RpinnStatus rpinn_tensor_grid_find(RpinnContext *context, RpinnArena *arena, size_t num_coordinates,
                                   const RpinnPointSet *points, RpinnTensorGrid *grid, bool *found) {
  *grid = (RpinnTensorGrid){.num_axes = num_coordinates};
  *found = false;
  size_t size = 1;
  for (size_t i = 0; i < num_coordinates; i++) {
    RPINN_TRY(find_axis(context, arena, num_coordinates, points, i, grid));
    if (grid->counts[i] == 0 || size > points->count / grid->counts[i]) return RPINN_OK;
    size *= grid->counts[i];
  }
  if (size != points->count) return RPINN_OK;
  bool *taken = RPINN_ARENA_NEW(arena, bool, size);
  grid->slots = RPINN_ARENA_NEW(arena, size_t, size);
  if (!taken || !grid->slots) return rpinn_fail_memory(context);
  for (size_t p = 0; p < size; p++) {
    size_t slot = 0;
    for (size_t i = num_coordinates; i-- > 0;)
      slot = slot * grid->counts[i] +
             place_on_axis(grid->axes[i], grid->counts[i], points->x[p * num_coordinates + i]);
    if (taken[slot]) return RPINN_OK;
    taken[slot] = true;
    grid->slots[p] = slot;
  }
  *found = true;
  return RPINN_OK;
}

/* Coordinates may come from files with few digits. */
bool rpinn_tensor_grid_is_even(const RpinnTensorGrid *grid, size_t axis, double *step) {
  const double *places = grid->axes[axis];
  size_t count = grid->counts[axis];
  *step = count > 1 ? (places[count - 1] - places[0]) / (double)(count - 1) : 0;
  for (size_t i = 1; i < count; i++)
    if (fabs(places[i] - (places[0] + (double)i * *step)) > RPINN_DOMAIN_TOLERANCE * *step * (double)count)
      return false;
  return true;
}
