/* A tiny plotting layer: SVG with axes, lines, bands, points, bars and images.
 *
 *   RpinnAxis x = rpinn_axis_empty("x", false), y = rpinn_axis_empty("u", false);
 *   rpinn_axis_include(&x, count, xs); … rpinn_axis_settle(&x, 0); rpinn_axis_settle(&y, 0.05);
 *   RpinnPlot plot = {.page = page, .x = x, .y = y, .frame = …};
 *   rpinn_plot_open(&plot, "u over x"); rpinn_plot_line(&plot, …); rpinn_plot_close(&plot);
 *
 * Numbers that are not finite leave gaps: every number in the SVG is finite. What lies outside of the axes is
 * cut off. Failures stay on the page's text. */
#ifndef RPINN_PLOT_SVG_PLOT_H
#define RPINN_PLOT_SVG_PLOT_H

#include "colour_map.h"
#include "text.h"

/* Colours of Okabe and Ito, which people with any kind of colour vision tell apart. */
#define RPINN_INK_BLACK     "#111827"
#define RPINN_INK_BLUE      "#0072b2"
#define RPINN_INK_VERMILION "#d55e00"
#define RPINN_INK_GREEN     "#009e73"
#define RPINN_INK_PURPLE    "#a8467f" /* darker than theirs, for thin lines */
#define RPINN_INK_SKY       "#56b4e9" /* for areas */
#define RPINN_INK_GREY      "#6b7280"

/* The colour of the k-th of several like things: chains, quantities. */
const char *rpinn_series_ink(size_t k);

typedef struct RpinnAxis {
  const char *label;
  double low, high;
  bool logarithmic;
  bool whole; /* no ticks between whole numbers */
} RpinnAxis;

RpinnAxis rpinn_axis_empty(const char *label, bool logarithmic);
/* Extend the axis to the finite values (for a logarithmic axis: the positive ones). */
void rpinn_axis_include(RpinnAxis *axis, size_t count, const double *values);
/* Extend both to the values of both. */
void rpinn_axis_join(RpinnAxis *first, RpinnAxis *second);
/* After the last value: a range of positive length, widened by a share of it on both sides. */
void rpinn_axis_settle(RpinnAxis *axis, double margin);
/* Where a settled axis has its labels, about `wanted` of them and at most `room`. Returns how many. */
size_t rpinn_axis_ticks(const RpinnAxis *axis, double wanted, size_t room, double *values);

typedef struct RpinnStroke {
  const char *colour;
  double width, opacity;
  const char *dashes; /* as in SVG, or NULL */
} RpinnStroke;

typedef enum RpinnMarker {
  RPINN_MARKER_CIRCLE,
  RPINN_MARKER_SQUARE,
  RPINN_MARKER_DIAMOND,
  RPINN_MARKER_TRIANGLE,
  RPINN_NUM_MARKERS
} RpinnMarker;

typedef struct RpinnPointStyle {
  RpinnMarker marker;
  double size; /* radius */
  const char *fill, *outline;
} RpinnPointStyle;

/* Where the axes lie, in units of about a pixel. */
typedef struct RpinnFrame {
  double width, height; /* of the whole picture */
  double left, right, top, bottom;
} RpinnFrame;

struct RpinnSheet;

typedef struct RpinnPlot {
  RpinnText *page;
  struct RpinnSheet *sheet; /* for print as well, see plot_sheet.h; may be NULL */
  const char *title;        /* there; may be NULL: on a page it stands in the caption */
  RpinnFrame frame;         /* margins around the axes */
  RpinnAxis x, y;           /* settled */
  bool without_grid;
} RpinnPlot;

void rpinn_plot_open(const RpinnPlot *plot, const char *description);
void rpinn_plot_line(const RpinnPlot *plot, size_t count, const double *x, const double *y,
                     RpinnStroke stroke);
/* Between low and high. */
void rpinn_plot_band(const RpinnPlot *plot, size_t count, const double *x, const double *low,
                     const double *high, const char *colour, double opacity);
/* error: half the length of the bars, or 0 or NaN for none. */
void rpinn_plot_points(const RpinnPlot *plot, size_t count, const double *x, const double *y, double error,
                       RpinnPointStyle style);
/* Bars from the lower end of the y axis; edges [count + 1]. */
void rpinn_plot_bars(const RpinnPlot *plot, size_t count, const double *edges, const double *heights,
                     const char *colour);
/* An image over a rectangle of the axes; rest as for rpinn_raster_image_append. */
typedef struct RpinnPlotImage {
  double x_low, x_high, y_low, y_high;
  RpinnColourMap map;
  size_t columns, rows;
  const double *values;
  double low, high;
} RpinnPlotImage;
void rpinn_plot_image(const RpinnPlot *plot, const RpinnPlotImage *image);
void rpinn_plot_close(const RpinnPlot *plot);
/* Closed, where the picture has an image of a few colours that keys explain. */
void rpinn_plot_close_with_keys(const RpinnPlot *plot, RpinnColourMap map, double low, double high);
/* Closed, and with the colours of a map in the margin at the right. */
void rpinn_plot_close_with_colours(const RpinnPlot *plot, RpinnColourMap map, RpinnAxis colours);

/* Keys for the legend: in HTML beside the picture, where the label is escaped, and on the sheet. */
void rpinn_plot_key_line(const RpinnPlot *plot, RpinnStroke stroke, const char *label);
void rpinn_plot_key_band(const RpinnPlot *plot, const char *colour, double opacity, const char *label);
void rpinn_plot_key_points(const RpinnPlot *plot, bool with_error, RpinnPointStyle style, const char *label);
/* "chain 1", "chain 2", … in the inks of a series; of many, the first eight. */
void rpinn_plot_key_chains(const RpinnPlot *plot, size_t num_chains);

#endif
