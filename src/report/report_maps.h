/* A predicted quantity over two coordinates: maps of what is predicted, how wrong it is and how sure. */
#ifndef RPINN_REPORT_REPORT_MAPS_H
#define RPINN_REPORT_REPORT_MAPS_H

#include "run_record.h"
#include "svg_plot.h"

/* Points that are all pairs of positions along two axes. */
typedef struct RpinnMapGrid {
  size_t counts[2];
  double *positions[2]; /* [counts[i]] rising */
  size_t *points;       /* [counts[1]][counts[0]] which point stands where */
  size_t num_points;
  double *raster; /* of the image that is being drawn */
} RpinnMapGrid;

/* *is_grid: the points are a grid of at least two by two, each once. Free it on every path. */
RpinnStatus rpinn_map_grid_make(RpinnContext *context, const RpinnPointSet *points, RpinnMapGrid *grid,
                                bool *is_grid);
void rpinn_map_grid_free(RpinnMapGrid *grid);

typedef enum RpinnMapKind {
  RPINN_MAP_TRUTH,
  RPINN_MAP_MEAN,
  RPINN_MAP_ERROR, /* absolute, of the mean */
  RPINN_MAP_STD,   /* standard deviation */
  RPINN_MAP_COVERAGE, /* 1 where the truth is within two standard deviations, 0 where not, NaN where it is not known */
  RPINN_NUM_MAPS
} RpinnMapKind;

/* What the map is called, on its figure and in the name of its file. */
const char *rpinn_map_title(const RpinnRun *run, RpinnMapKind kind);
const char *rpinn_map_file_name(RpinnMapKind kind);
/* values [num_points] of a map; false where the run has no such map. */
bool rpinn_map_values(const RpinnRun *run, size_t quantity, RpinnMapKind kind, double *values);
/* The range of its colours, to be extended to the values of every map that shares them, then settled. */
RpinnAxis rpinn_map_colours(RpinnMapKind kind);

/* The axes of a map: plot.frame.height follows from the shape of the domain. */
void rpinn_map_frame(const RpinnProblem *problem, RpinnPlot *plot);
/* All of it, from open to close. */
void rpinn_map_draw(const RpinnRun *run, const RpinnMapGrid *grid, size_t quantity, RpinnMapKind kind,
                    const double *values, RpinnAxis colours, const RpinnPlot *plot);
/* Keys that belong to all maps: of the data, and of the colours of coverage. */
void rpinn_map_keys(const RpinnRun *run, size_t quantity, bool with_coverage, const RpinnPlot *plot);

#endif
