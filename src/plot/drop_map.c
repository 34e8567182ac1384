#include "drop_map.h"

#include <math.h>
#include <stdlib.h>

static const RpinnStroke contour_stroke = {"#ffffff", 1, 0.9, NULL};

static double grid_x(const RpinnDropMap *map, size_t i) {
  return map->x_low + (map->x_high - map->x_low) * (double)i / (double)(map->num_x - 1);
}
static double grid_y(const RpinnDropMap *map, size_t j) {
  return map->y_low + (map->y_high - map->y_low) * (double)j / (double)(map->num_y - 1);
}

/* Where the segment between two corners of a cell crosses the level, as a share of it; false: nowhere. */
static bool crossing(double from, double to, double level, double *share) {
  if (!isfinite(from) || !isfinite(to) || (from < level) == (to < level)) return false;
  *share = (level - from) / (to - from);
  return true;
}

/* Marching squares: in every cell the crossings of its sides are joined in pairs. segments hold up to 6 points for each
 * cell, with a gap behind each pair; returns how many points there are. */
static size_t find_contour(const RpinnDropMap *map, const double *z, double level, double *x, double *y) {
  static const size_t corners[5][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}};
  size_t count = 0;
  for (size_t j = 0; j + 1 < map->num_y; j++)
    for (size_t i = 0; i + 1 < map->num_x; i++) {
      size_t found = 0;
      for (size_t side = 0; side < 4; side++) {
        const size_t *a = corners[side], *b = corners[side + 1];
        double share, from = z[(j + a[1]) * map->num_x + i + a[0]],
                      to = z[(j + b[1]) * map->num_x + i + b[0]];
        if (!crossing(from, to, level, &share)) continue;
        double xa = grid_x(map, i + a[0]), xb = grid_x(map, i + b[0]);
        double ya = grid_y(map, j + a[1]), yb = grid_y(map, j + b[1]);
        x[count] = xa + share * (xb - xa);
        y[count++] = ya + share * (yb - ya);
        if (++found % 2 == 0) x[count] = y[count] = (double)NAN, count++;
      }
      if (found % 2) count--; /* a neighbour is not finite */
    }
  return count;
}

/* drops [num_y][num_x]; returns the largest. */
static double find_drops(const RpinnDropMap *map, double *drops) {
  size_t count = map->num_x * map->num_y;
  double highest = map->highest, largest = 0;
  for (size_t k = 0; k < count; k++) highest = fmax(highest, map->values[k]);
  for (size_t k = 0; k < count; k++) {
    drops[k] = log10(1 + highest - map->values[k]);
    if (isfinite(drops[k])) largest = fmax(largest, drops[k]);
  }
  return fmax(largest, 1e-3);
}

RpinnStatus rpinn_plot_drop_map(const RpinnPlot *plot, const RpinnDropMap *map, RpinnAxis *colours) {
  enum { CONTOUR_POINTS = 6 };
  size_t columns = map->num_x, rows = map->num_y, count = columns * rows, most = CONTOUR_POINTS * count;
  double half_x = 0.5 * (map->x_high - map->x_low) / (double)(columns - 1),
         half_y = 0.5 * (map->y_high - map->y_low) / (double)(rows - 1);
  double *drops = calloc(2 * count + 2 * most, sizeof *drops);
  if (!drops) return RPINN_ERROR_MEMORY;
  double *raster = drops + count, *x = raster + count, *y = x + most, largest = find_drops(map, drops);
  *colours = (RpinnAxis){.label = "", .low = -largest, .high = 0};
  for (size_t row = 0; row < rows; row++) /* images begin at the top */
    for (size_t column = 0; column < columns; column++)
      raster[row * columns + column] = -drops[(rows - 1 - row) * columns + column];
  RpinnPlotImage image = {.x_low = map->x_low - half_x,
                          .x_high = map->x_high + half_x,
                          .y_low = map->y_low - half_y,
                          .y_high = map->y_high + half_y,
                          .map = RPINN_COLOURS_VALUE,
                          .columns = columns,
                          .rows = rows,
                          .values = raster,
                          .low = colours->low,
                          .high = colours->high};
  rpinn_plot_image(plot, &image);
  for (double drop = 1; log10(1 + drop) < largest; drop *= 10)
    rpinn_plot_line(plot, find_contour(map, drops, log10(1 + drop), x, y), x, y, contour_stroke);
  free(drops);
  return RPINN_OK;
}
