/* The shape of the posterior: the log density on the plane through three draws, and the curvature at the end of each
 * chain. Log densities of networks fall by thousands within a step, so that the plane shows the drop from its highest
 * point, z = log10(1 + max - log p), with contours where the drop is 1, 10, 100, … */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report_page.h"

static const RpinnStroke contour_stroke = {"#ffffff", 1, 0.9, NULL};
static const RpinnPointStyle corner_style = {RPINN_MARKER_DIAMOND, 4, "#ffffff", RPINN_INK_BLACK};

/* ---- the plane ---- */

/* Where the segment between two corners of a cell crosses the level, as a share of it; false: nowhere. */
static bool crossing(double from, double to, double level, double *share) {
  if (!isfinite(from) || !isfinite(to) || (from < level) == (to < level)) return false;
  *share = (level - from) / (to - from);
  return true;
}

/* Marching squares: in every cell the crossings of its sides are joined in pairs. segments hold up to 6 points for each
 * cell, with a gap behind each pair; returns how many points there are. */
static size_t find_contour(const RpinnPlaneGrid *grid, const double *z, double level, double *x, double *y) {
  static const size_t corners[5][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}};
  size_t count = 0;
  for (size_t j = 0; j + 1 < grid->num_y; j++)
    for (size_t i = 0; i + 1 < grid->num_x; i++) {
      size_t found = 0;
      for (size_t side = 0; side < 4; side++) {
        const size_t *a = corners[side], *b = corners[side + 1];
        double share, from = z[(j + a[1]) * grid->num_x + i + a[0]],
                      to = z[(j + b[1]) * grid->num_x + i + b[0]];
        if (!crossing(from, to, level, &share)) continue;
        double xa = rpinn_plane_grid_x(grid, i + a[0]), xb = rpinn_plane_grid_x(grid, i + b[0]);
        double ya = rpinn_plane_grid_y(grid, j + a[1]), yb = rpinn_plane_grid_y(grid, j + b[1]);
        x[count] = xa + share * (xb - xa);
        y[count++] = ya + share * (yb - ya);
        if (++found % 2 == 0) x[count] = y[count] = (double)NAN, count++;
      }
      if (found % 2) count--; /* a neighbour is not finite */
    }
  return count;
}

/* drops [num_y][num_x], the first row at the top for the image, from the log density. */
static double find_drops(const RpinnPosteriorShape *shape, double *drops) {
  size_t count = shape->grid.num_x * shape->grid.num_y;
  double highest = -(double)INFINITY, largest = 0;
  for (size_t k = 0; k < count; k++) highest = fmax(highest, shape->plane[k]);
  for (size_t k = 0; k < RPINN_SHAPE_CORNERS; k++) highest = fmax(highest, shape->corners[k].log_density);
  for (size_t k = 0; k < count; k++) {
    drops[k] = log10(1 + highest - shape->plane[k]);
    if (isfinite(drops[k])) largest = fmax(largest, drops[k]);
  }
  return largest;
}

static void draw_plane(const RpinnPosteriorShape *shape, const double *drops, double largest, double *work,
                       const RpinnPlot *plot) {
  const RpinnPlaneGrid *grid = &shape->grid;
  size_t columns = grid->num_x, rows = grid->num_y, most = 6 * columns * rows;
  double half_x = 0.5 * (grid->x_high - grid->x_low) / (double)(columns - 1),
         half_y = 0.5 * (grid->y_high - grid->y_low) / (double)(rows - 1);
  double *raster = work, *x = work + columns * rows, *y = x + most;
  RpinnAxis colours = {.label = "", .low = -largest, .high = 0};
  for (size_t row = 0; row < rows; row++) /* high densities are light */
    for (size_t column = 0; column < columns; column++)
      raster[row * columns + column] = -drops[(rows - 1 - row) * columns + column];
  RpinnPlotImage image = {.x_low = grid->x_low - half_x,
                          .x_high = grid->x_high + half_x,
                          .y_low = grid->y_low - half_y,
                          .y_high = grid->y_high + half_y,
                          .map = RPINN_COLOURS_VALUE,
                          .columns = columns,
                          .rows = rows,
                          .values = raster,
                          .low = colours.low,
                          .high = colours.high};
  rpinn_plot_open(plot, "Log density on a plane through three draws");
  rpinn_plot_image(plot, &image);
  for (double drop = 1; log10(1 + drop) < largest; drop *= 10)
    rpinn_plot_line(plot, find_contour(grid, drops, log10(1 + drop), x, y), x, y, contour_stroke);
  for (size_t k = 0; k < RPINN_SHAPE_CORNERS; k++)
    rpinn_plot_points(plot, 1, &shape->corners[k].x, &shape->corners[k].y, 0, corner_style);
  rpinn_plot_close_with_colours(plot, RPINN_COLOURS_VALUE, colours);
}

static RpinnStatus write_plane(const RpinnReport *report) {
  const RpinnPosteriorShape *shape = report->shape;
  const RpinnPlaneGrid *grid = &shape->grid;
  size_t count = grid->num_x * grid->num_y;
  double *drops = calloc((2 + 12) * count, sizeof *drops);
  if (!drops) return rpinn_fail_memory(report->context);
  double largest = fmax(find_drops(shape, drops), 1e-3);
  static const char caption[] = "Log density on the plane through three draws";
  RpinnPlot plot = {.page = report->page,
                    .sheet = rpinn_figure_sheet(report->figures, "posterior-plane", 1),
                    .title = caption,
                    .frame = {440, 380, 58, 74, 20, 42},
                    .x = {.label = "distance in parameters", .low = grid->x_low, .high = grid->x_high},
                    .y = {.label = "distance in parameters", .low = grid->y_low, .high = grid->y_high},
                    .without_grid = true};
  rpinn_figure_open(report->page, caption);
  draw_plane(shape, drops, largest, drops + count, &plot);
  rpinn_text_append(report->page, "<p class=\"keys\">\n");
  rpinn_plot_key_points(&plot, false, corner_style,
                        report->run->plan.has_chains ? "the draws" : "the members");
  rpinn_text_append(report->page, "</p>\n");
  rpinn_figure_close(report->page);
  free(drops);
  return RPINN_OK;
}

/* ---- spectra ---- */

/* Eigenvalues of one sign, from the largest size to the smallest: their numbers and sizes; returns how many. Where all
 * are there, they come in falling order, so that the largest negative one is the last. */
static size_t pick_sign(const RpinnPosteriorShape *shape, const double *values, double sign, double *index,
                        double *sizes) {
  size_t picked = 0, count = shape->num_eigenvalues;
  bool backwards = sign < 0 && shape->gauss_newton;
  for (size_t i = 0; i < count; i++) {
    double value = values[backwards ? count - 1 - i : i];
    if (!(sign * value > 0)) continue;
    index[picked] = (double)(picked + 1);
    sizes[picked++] = fabs(value);
  }
  return picked;
}

static RpinnStatus write_spectra(const RpinnReport *report) {
  const RpinnPosteriorShape *shape = report->shape;
  static const RpinnStroke hessian = {RPINN_INK_BLUE, 1.6, 0.8, NULL},
                           gauss_newton = {RPINN_INK_BLACK, 1.2, 0.8, "6 4"};
  static const RpinnPointStyle negative = {RPINN_MARKER_CIRCLE, 1.8, RPINN_INK_VERMILION,
                                           RPINN_INK_VERMILION};
  static const char caption[] = "Eigenvalues of the energy's second derivatives";
  size_t count = shape->num_eigenvalues, num_chains = shape->run->plan.num_chains;
  double *index = calloc(2 * count, sizeof *index), *sizes = index ? index + count : NULL;
  if (!index) return rpinn_fail_memory(report->context);
  RpinnPlot plot = {.page = report->page,
                    .sheet = rpinn_figure_sheet(report->figures, "hessian-spectrum", 1),
                    .frame = {440, 380, 58, 10, 20, 42},
                    .x = {.label = "number, by size", .low = 1, .high = (double)count, .logarithmic = true},
                    .y = rpinn_axis_empty("size of the eigenvalue", true)};
  for (uint64_t c = 0; c < num_chains; c++)
    for (int sign = -1; sign <= 1; sign += 2)
      rpinn_axis_include(&plot.y, pick_sign(shape, shape->hessian + c * count, sign, index, sizes), sizes);
  rpinn_axis_settle(&plot.x, 0.015);
  rpinn_axis_settle(&plot.y, 0.05);
  rpinn_figure_open(report->page, caption);
  rpinn_plot_open(&plot, caption);
  for (uint64_t c = 0; c < num_chains; c++) {
    size_t picked = pick_sign(shape, shape->hessian + c * count, 1, index, sizes);
    rpinn_plot_line(&plot, picked, index, sizes, hessian);
    picked = shape->gauss_newton ? pick_sign(shape, shape->gauss_newton + c * count, 1, index, sizes) : 0;
    rpinn_plot_line(&plot, picked, index, sizes, gauss_newton);
    picked = pick_sign(shape, shape->hessian + c * count, -1, index, sizes);
    rpinn_plot_points(&plot, picked, index, sizes, 0, negative);
  }
  rpinn_plot_close(&plot);
  rpinn_text_append(report->page, "<p class=\"keys\">\n");
  rpinn_plot_key_line(&plot, hessian, "Hessian, positive");
  rpinn_plot_key_points(&plot, false, negative, "Hessian, negative");
  if (shape->gauss_newton) rpinn_plot_key_line(&plot, gauss_newton, "Gauss\xe2\x80\x93Newton");
  rpinn_text_append(report->page, "</p>\n");
  rpinn_figure_close(report->page);
  free(index);
  return RPINN_OK;
}

RpinnStatus rpinn_report_shape(const RpinnReport *report) {
  const RpinnPosteriorShape *shape = report->shape;
  bool has_chains = report->run->plan.has_chains;
  rpinn_text_append(report->page, "<section>\n<h2>Shape of the posterior</h2>\n<div class=\"figures\">\n");
  RPINN_TRY(write_plane(report));
  RPINN_TRY(write_spectra(report));
  rpinn_text_append(report->page,
                    "</div>\n<p class=\"note\">Left: colours show "
                    "&#8722;log<sub>10</sub>(1&#8201;+&#8201;drop), where the drop is how "
                    "far the log density lies below its highest value on the plane; contours are at drops of "
                    "1, 10, 100 and so on. "
                    "A valley between the draws is a barrier that a chain has to cross. Right: %s, %zu "
                    "eigenvalues. Many small ones "
                    "are directions that neither data nor equations decide, and negative ones say that the "
                    "point is no minimum of "
                    "the energy%s.</p>\n</section>\n",
                    has_chains ? "at the last draw of each chain" : "at the last member",
                    shape->num_eigenvalues,
                    report->run->method == RPINN_METHOD_RPINN
                        ? ", which members of rPINN need not be: each minimises a loss of its own"
                        : "");
  return RPINN_OK;
}
