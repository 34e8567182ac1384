/* A predicted quantity over one coordinate: mean, 95 % band, members, truth and data. */
#ifndef RPINN_REPORT_REPORT_CURVES_H
#define RPINN_REPORT_REPORT_CURVES_H

#include "run_record.h"
#include "svg_plot.h"

/* Curves over the points in rising order of x, thinned. */
typedef struct RpinnCurves {
  size_t num_points;
  size_t *order; /* [num_points] numbers of points */
  double *x;     /* [num_points] */
  double *scratch[3];
} RpinnCurves;

/* Free them on every path. */
RpinnStatus rpinn_curves_make(RpinnContext *context, const RpinnPointSet *points, RpinnCurves *curves);
void rpinn_curves_free(RpinnCurves *curves);
/* Extend an axis to all that is drawn of the quantity. */
void rpinn_curves_include(const RpinnRun *run, const RpinnCurves *curves, size_t quantity, RpinnAxis *y);
void rpinn_curves_draw(const RpinnRun *run, const RpinnCurves *curves, size_t quantity, bool with_members,
                       const RpinnPlot *plot);
/* A line of keys for it. */
void rpinn_curves_keys(const RpinnRun *run, size_t quantity, bool with_members, const RpinnPlot *plot);

/* Is the term data of the quantity, with points to draw? */
bool rpinn_is_data_of(const RpinnRun *run, size_t term, size_t quantity);

#endif
