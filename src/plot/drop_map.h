/* A log density on a grid. Those of networks fall by thousands within a step, so that colours show the drop from the
 * highest point, z = log10(1 + max - log p), light where it is small, with contours where the drop is 1, 10, 100, … */
#ifndef RPINN_PLOT_DROP_MAP_H
#define RPINN_PLOT_DROP_MAP_H

#include "svg_plot.h"

typedef struct RpinnDropMap {
  size_t num_x, num_y;                 /* at least 2 each */
  double x_low, x_high, y_low, y_high; /* the outermost points */
  const double *values;                /* [num_y][num_x] the log density, y rising */
  double highest;                      /* known from elsewhere, or -INFINITY */
} RpinnDropMap;

/* Into an open plot; *colours is what to close it with, beside RPINN_COLOURS_VALUE. */
RpinnStatus rpinn_plot_drop_map(const RpinnPlot *plot, const RpinnDropMap *map, RpinnAxis *colours);

#endif
