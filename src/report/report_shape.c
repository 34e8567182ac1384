/* The shape of the posterior: the log density on the plane through three draws, and the curvature at the end of each
 * chain. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "drop_map.h"
#include "report_page.h"

static const RpinnPointStyle corner_style = {RPINN_MARKER_DIAMOND, 4, "#ffffff", RPINN_INK_BLACK};

/* ---- the plane ---- */

static RpinnStatus write_plane(const RpinnReport *report) {
  const RpinnPosteriorShape *shape = report->shape;
  const RpinnPlaneGrid *grid = &shape->grid;
  RpinnDropMap map = {grid->num_x, grid->num_y,  grid->x_low,  grid->x_high,
                      grid->y_low, grid->y_high, shape->plane, -(double)INFINITY};
  RpinnAxis colours;
  char label[64];
  for (size_t k = 0; k < RPINN_SHAPE_CORNERS; k++)
    map.highest = fmax(map.highest, shape->corners[k].log_density);
  static const char caption[] = "Log density on the plane through three draws";
  RpinnPlot plot = {.page = report->page,
                    .sheet = rpinn_figure_sheet(report->figures, "posterior-plane", 1),
                    .title = caption,
                    .frame = {440, 380, 58, 74, 20, 42},
                    .x = {.label = "distance in parameters", .low = grid->x_low, .high = grid->x_high},
                    .y = {.label = "distance in parameters", .low = grid->y_low, .high = grid->y_high},
                    .without_grid = true};
  rpinn_figure_open(report->page, caption);
  rpinn_plot_open(&plot, "Log density on a plane through three draws");
  if (rpinn_plot_drop_map(&plot, &map, &colours) != RPINN_OK) return rpinn_fail_memory(report->context);
  for (size_t k = 0; k < RPINN_SHAPE_CORNERS; k++)
    rpinn_plot_points(&plot, 1, &shape->corners[k].x, &shape->corners[k].y, 0, corner_style);
  rpinn_plot_close_with_colours(&plot, RPINN_COLOURS_VALUE, colours);
  rpinn_text_append(report->page, "<p class=\"keys\">\n");
  snprintf(label, sizeof label, "the %ss", report->run->method->legend);
  rpinn_plot_key_points(&plot, false, corner_style, label);
  rpinn_text_append(report->page, "</p>\n");
  rpinn_figure_close(report->page);
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
  const RpinnMethod *method = report->run->method;
  rpinn_text_append(report->page, "<section>\n<h2>Shape of the posterior</h2>\n<div class=\"figures\">\n");
  RPINN_TRY(write_plane(report));
  RPINN_TRY(write_spectra(report));
  rpinn_text_append(
      report->page,
      "</div>\n<p class=\"note\">Left: colours show "
      "&#8722;log<sub>10</sub>(1&#8201;+&#8201;drop), where the drop is how "
      "far the log density lies below its highest value on the plane; contours are at drops of "
      "1, 10, 100 and so on. "
      "A valley between the draws is a barrier that a chain has to cross. Right: at the last %s%s, %zu "
      "eigenvalues. Many small ones "
      "are directions that neither data nor equations decide, and negative ones say that the "
      "point is no minimum of "
      "the energy%s.</p>\n</section>\n",
      method->legend, method->has_chains ? " of each chain" : "", shape->num_eigenvalues,
      method->has_offsets ? ", which members of rPINN need not be: each minimises a loss of its own" : "");
  return RPINN_OK;
}
