#include "point_set.h"

#include "latin_hypercube.h"
#include "sobol.h"

size_t rpinn_point_spec_count(const RpinnProblem *problem, const RpinnPointSpec *spec, size_t fixed) {
  if (spec->sampling == RPINN_POINTS_LISTED) return spec->num_listed;
  if (spec->sampling != RPINN_POINTS_GRID) return spec->counts[0];
  size_t count = 1;
  for (size_t i = 0; i < problem->num_coordinates; i++)
    if (i != fixed) count *= spec->counts[i];
  return count;
}

/* Ends included; a single point sits in the middle. */
static double grid_position(const RpinnCoordinate *coordinate, size_t index, size_t count) {
  if (count == 1) return 0.5 * (coordinate->low + coordinate->high);
  if (index == count - 1) return coordinate->high;
  return coordinate->low + (coordinate->high - coordinate->low) * (double)index / (double)(count - 1);
}

/* Point number `index` of the grid over all coordinates but `fixed`. */
static void grid_point(const RpinnProblem *problem, const RpinnPointSpec *spec, size_t fixed, size_t index,
                       double *x) {
  for (size_t i = 0; i < problem->num_coordinates; i++) {
    if (i == fixed) continue;
    x[i] = grid_position(&problem->coordinates[i], index % spec->counts[i], spec->counts[i]);
    index /= spec->counts[i];
  }
}

/* count points of the unit cube over the free coordinates, [count][num_free]. */
static RpinnStatus unit_points(RpinnContext *context, RpinnArena *arena, RpinnSampling sampling, size_t count,
                               size_t num_free, RpinnStream *stream, double **unit) {
  *unit = RPINN_ARENA_NEW(arena, double, count *num_free);
  size_t *scratch = sampling == RPINN_POINTS_LATIN_HYPERCUBE ? RPINN_ARENA_NEW(arena, size_t, count) : NULL;
  if (!*unit || (sampling == RPINN_POINTS_LATIN_HYPERCUBE && !scratch)) return rpinn_fail_memory(context);
  if (sampling == RPINN_POINTS_LATIN_HYPERCUBE)
    rpinn_latin_hypercube(stream, count, num_free, *unit, scratch);
  else if (sampling == RPINN_POINTS_SOBOL)
    for (size_t i = 0; i < count; i++) rpinn_sobol_point((uint32_t)i, num_free, *unit + i * num_free);
  else
    for (size_t i = 0; i < count * num_free; i++) (*unit)[i] = rpinn_stream_uniform(stream);
  return RPINN_OK;
}

/* Fill count points: coordinate `fixed` is held at `value`, the others are sampled. */
static RpinnStatus fill(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                        const RpinnPointSpec *spec, size_t fixed, double value, size_t count,
                        RpinnStream *stream, double *x) {
  size_t num_coordinates = problem->num_coordinates;
  size_t num_free = num_coordinates - (fixed < num_coordinates);
  double *unit = NULL;
  if (spec->sampling != RPINN_POINTS_GRID && num_free)
    RPINN_TRY(unit_points(context, arena, spec->sampling, count, num_free, stream, &unit));
  for (size_t p = 0; p < count; p++) {
    double *point = x + p * num_coordinates;
    if (!unit) grid_point(problem, spec, fixed, p, point);
    for (size_t i = 0, k = 0; unit && i < num_coordinates; i++) {
      if (i == fixed) continue;
      const RpinnCoordinate *coordinate = &problem->coordinates[i];
      point[i] = coordinate->low + (coordinate->high - coordinate->low) * unit[p * num_free + k++];
    }
    if (fixed < num_coordinates) point[fixed] = value;
  }
  return RPINN_OK;
}

static RpinnStatus allocate(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                            size_t count, RpinnPointSet *points) {
  *points =
      (RpinnPointSet){.count = count, .x = RPINN_ARENA_NEW(arena, double, count * problem->num_coordinates)};
  return points->x ? RPINN_OK : rpinn_fail_memory(context);
}

RpinnStatus rpinn_point_set_generate(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                                     const RpinnPointSpec *spec, RpinnStream *stream, RpinnPointSet *points) {
  size_t num_coordinates = problem->num_coordinates;
  if (spec->sampling == RPINN_POINTS_LISTED) {
    *points = (RpinnPointSet){.count = spec->num_listed, .x = spec->listed};
    return RPINN_OK;
  }
  if (spec->region == RPINN_REGION_INSIDE) {
    size_t count = rpinn_point_spec_count(problem, spec, num_coordinates);
    RPINN_TRY(allocate(context, arena, problem, count, points));
    return fill(context, arena, problem, spec, num_coordinates, 0, count, stream, points->x);
  }
  size_t first = spec->region == RPINN_REGION_SIDE ? spec->side_coordinate : 0;
  size_t last = spec->region == RPINN_REGION_SIDE ? first : num_coordinates - 1;
  size_t total = 0;
  for (size_t i = first; i <= last; i++)
    total += rpinn_point_spec_count(problem, spec, i) * (spec->region == RPINN_REGION_SIDE ? 1 : 2);
  RPINN_TRY(allocate(context, arena, problem, total, points));
  double *x = points->x;
  for (size_t i = first; i <= last; i++)
    for (int high = 0; high < 2; high++) {
      if (spec->region == RPINN_REGION_SIDE && spec->side_high != (high == 1)) continue;
      size_t count = rpinn_point_spec_count(problem, spec, i);
      double value = high ? problem->coordinates[i].high : problem->coordinates[i].low;
      RPINN_TRY(fill(context, arena, problem, spec, i, value, count, stream, x));
      x += count * num_coordinates;
    }
  return RPINN_OK;
}

RpinnStatus rpinn_point_set_cells(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                                  const size_t *counts, RpinnPointSet *points) {
  size_t count = 1;
  for (size_t i = 0; i < problem->num_coordinates; i++) count *= counts[i];
  RPINN_TRY(allocate(context, arena, problem, count, points));
  for (size_t p = 0; p < count; p++)
    for (size_t i = 0, index = p; i < problem->num_coordinates; index /= counts[i], i++) {
      const RpinnCoordinate *coordinate = &problem->coordinates[i];
      double middle = ((double)(index % counts[i]) + 0.5) / (double)counts[i];
      points->x[p * problem->num_coordinates + i] =
          coordinate->low + (coordinate->high - coordinate->low) * middle;
    }
  return RPINN_OK;
}
