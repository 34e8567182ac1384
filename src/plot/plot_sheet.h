/* Pictures for print: the plots of a page once more, as panels of one sheet that gnuplot draws.
 *
 *   RpinnSheet sheet = {.columns = 4};
 *   RpinnPlot plot = {.page = page, .sheet = &sheet, .title = "rPINN", …};  … any number of plots, row by row …
 *   rpinn_sheet_save(context, &sheet, folder, "fig-linear", &drawing); rpinn_sheet_free(&sheet);
 *
 * The script holds its data and is drawn by `gnuplot fig-linear.gp`: fig-linear.svg, .pdf and .png. Failures stay on
 * the script's text. What svg_plot.h draws calls the rest of this file; figures do not. */
#ifndef RPINN_PLOT_PLOT_SHEET_H
#define RPINN_PLOT_PLOT_SHEET_H

#include "context.h"
#include "gnuplot.h"
#include "svg_plot.h"

/* Begins as {.columns = …}. */
typedef struct RpinnSheet {
  size_t columns;       /* of panels; 0 means 1 */
  RpinnText blocks;     /* data: $d1, $d2, … */
  RpinnText panels;     /* commands, panel by panel */
  RpinnText clauses;    /* of the plot command of the open panel */
  RpinnText keys;       /* entries of the legend, each label once */
  RpinnText last_style; /* of the points that were drawn last: more of the same go to the same block */
  size_t num_panels, num_blocks;
  size_t num_keys, longest_key; /* in bytes */
  double width, height;         /* of a panel: of the largest one */
} RpinnSheet;

/* The whole as a script that writes NAME.svg, NAME.pdf and NAME.png beside it. */
void rpinn_sheet_write(const RpinnSheet *sheet, const char *name, RpinnText *script);
/* NAME.gp in the folder, and its pictures where there is gnuplot: a figure that could not be drawn is no error. */
RpinnStatus rpinn_sheet_save(RpinnContext *context, const RpinnSheet *sheet, const char *folder,
                             const char *name, RpinnDrawing *drawing);
void rpinn_sheet_free(RpinnSheet *sheet);

void rpinn_sheet_open_panel(const RpinnPlot *plot);
void rpinn_sheet_close_panel(const RpinnPlot *plot);
void rpinn_sheet_line(const RpinnPlot *plot, size_t count, const double *x, const double *y,
                      RpinnStroke stroke);
void rpinn_sheet_band(const RpinnPlot *plot, size_t count, const double *x, const double *low,
                      const double *high, const char *colour, double opacity);
void rpinn_sheet_points(const RpinnPlot *plot, size_t count, const double *x, const double *y, double error,
                        RpinnPointStyle style);
void rpinn_sheet_bars(const RpinnPlot *plot, size_t count, const double *edges, const double *heights,
                      const char *colour);
void rpinn_sheet_image(const RpinnPlot *plot, const RpinnPlotImage *image);
void rpinn_sheet_colours(const RpinnPlot *plot, RpinnColourMap map, const RpinnAxis *colours);
void rpinn_sheet_key_line(RpinnSheet *sheet, RpinnStroke stroke, const char *label);
void rpinn_sheet_key_band(RpinnSheet *sheet, const char *colour, double opacity, const char *label);
void rpinn_sheet_key_points(RpinnSheet *sheet, RpinnPointStyle style, const char *label);

#endif
