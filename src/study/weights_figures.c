/* The criterion of a rule over the grid: a map where both axes have logarithms, else a curve, or one for each value of the axis that
 * is not drawn along. Shown is how far a point lies below the best, light where it is little; curves of errors show the error. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report_figure.h"
#include "svg_plot.h"
#include "weights_state.h"

enum { DEEPEST = 20 }; /* nats below the best that are told apart */

static const RpinnPointStyle chosen_style = {RPINN_MARKER_DIAMOND, 5, "#ffffff", RPINN_INK_BLACK},
                             given_style = {RPINN_MARKER_SQUARE, 4.5, RPINN_INK_VERMILION, RPINN_INK_BLACK},
                             balanced_style = {RPINN_MARKER_TRIANGLE, 4, RPINN_INK_GREY, RPINN_INK_BLACK};

typedef struct Figure {
  const RpinnWeightSearch *search;
  const RpinnWeightRule *rule;
  const RpinnWeightChoice *choice; /* of the rule; NULL: it found none */
  double best;
} Figure;

static const RpinnWeightChoice *find_choice(const RpinnWeightSearch *search, const RpinnWeightRule *rule) {
  for (size_t c = 0; c < search->num_choices; c++)
    if (search->choices[c].rule == rule) return &search->choices[c];
  return NULL;
}

/* What is drawn of a candidate; NaN where it has no criterion. */
static double height_of(const Figure *figure, size_t number) {
  const RpinnWeightSearch *search = figure->search;
  double criterion = figure->rule->criterion(search, &search->candidates[search->candidates[number].same_as]);
  if (figure->rule->takes_lowest || !isfinite(criterion))
    return isfinite(criterion) ? criterion : (double)NAN;
  return fmax(criterion - figure->best, -(double)DEEPEST);
}

static const char *height_label(const Figure *figure) {
  return figure->rule->takes_lowest ? figure->rule->title : "nats below the best";
}

static RpinnAxis make_axis(const RpinnWeightSearch *search, const RpinnSearchAxis *axis) {
  RpinnAxis result = rpinn_axis_empty(axis->name, rpinn_axis_is_logarithmic(axis));
  rpinn_axis_include(&result, axis->count, axis->values);
  for (size_t c = 0; c < search->num_choices; c++) {
    double at = rpinn_axis_get(search, axis, &search->candidates[search->choices[c].candidate]);
    rpinn_axis_include(&result, 1, &at);
  }
  rpinn_axis_settle(&result, 0.1);
  return result;
}

/* ---- a map ---- */

/* On a map, errors are log10(best / error). */
static double colour_of(const Figure *figure, size_t number) {
  double height = height_of(figure, number);
  return figure->rule->takes_lowest ? log10(figure->best / height) : height;
}

static void draw_cell(const RpinnPlot *plot, const Figure *figure, size_t number, const RpinnAxis *colours) {
  const RpinnWeightCandidate *candidate = &figure->search->candidates[number];
  double share = (colour_of(figure, number) - colours->low) / (colours->high - colours->low);
  uint8_t rgb[3];
  char ink[16];
  if (isnan(share)) return;
  rpinn_colour(RPINN_COLOURS_VALUE, share, rgb);
  snprintf(ink, sizeof ink, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
  rpinn_plot_points(plot, 1, &candidate->at[0], &candidate->at[1], 0,
                    (RpinnPointStyle){RPINN_MARKER_SQUARE, 11, ink, ink});
}

static void mark(const RpinnPlot *plot, const Figure *figure, const RpinnWeightChoice *choice,
                 RpinnPointStyle style) {
  const RpinnWeightSearch *search = figure->search;
  const RpinnWeightCandidate *candidate = &search->candidates[choice->candidate];
  double x = rpinn_axis_get(search, &search->axes[0], candidate),
         y = rpinn_axis_get(search, &search->axes[1], candidate);
  rpinn_plot_points(plot, 1, &x, &y, 0, style);
}

static bool has_balanced(const RpinnWeightSearch *search) {
  for (size_t c = 0; c < search->num_choices; c++)
    if (search->choices[c].rule && !search->choices[c].rule->criterion) return true;
  return false;
}

static void write_keys(const RpinnPlot *plot, const Figure *figure) {
  rpinn_text_append(plot->page, "<p class=\"keys\">\n");
  rpinn_plot_key_points(plot, false, chosen_style, "chosen");
  rpinn_plot_key_points(plot, false, given_style, figure->search->choices[0].label);
  if (has_balanced(figure->search))
    rpinn_plot_key_points(plot, false, balanced_style, "rules without a search");
  rpinn_text_append(plot->page, "</p>\n");
}

static void draw_map(const Figure *figure, const char *caption, RpinnText *page) {
  const RpinnWeightSearch *search = figure->search;
  RpinnAxis colours =
      rpinn_axis_empty(figure->rule->takes_lowest ? "log10(best / error)" : height_label(figure), false);
  RpinnPlot plot = {.page = page,
                    .frame = {440, 380, 62, 84, 20, 42},
                    .x = make_axis(search, &search->axes[0]),
                    .y = make_axis(search, &search->axes[1])};
  for (size_t k = 0; k < search->num_grid; k++) {
    double colour = colour_of(figure, k);
    rpinn_axis_include(&colours, 1, &colour);
  }
  rpinn_axis_settle(&colours, 0);
  rpinn_figure_open(page, caption);
  rpinn_plot_open(&plot, caption);
  for (size_t k = 0; k < search->num_grid; k++) draw_cell(&plot, figure, k, &colours);
  for (size_t c = 1; c < search->num_choices; c++)
    if (!search->choices[c].rule->criterion) mark(&plot, figure, &search->choices[c], balanced_style);
  mark(&plot, figure, &search->choices[0], given_style);
  if (figure->choice) mark(&plot, figure, figure->choice, chosen_style);
  rpinn_plot_close_with_colours(&plot, RPINN_COLOURS_VALUE, colours);
  write_keys(&plot, figure);
  rpinn_figure_close(page);
}

/* ---- curves ---- */

static int compare_points(const Figure *figure, size_t along, size_t a, size_t b) {
  double left = figure->search->candidates[a].at[along], right = figure->search->candidates[b].at[along];
  return left < right ? -1 : left > right;
}

/* The points of the grid with this value of the other axis, by rising value of the drawn one. Returns how many. */
static size_t list_points(const Figure *figure, size_t along, size_t other, double value, size_t *points) {
  const RpinnWeightSearch *search = figure->search;
  size_t count = 0;
  for (size_t k = 0; k < search->num_grid && count < RPINN_MAX_AXIS_VALUES; k++) {
    if (other < search->num_axes && search->candidates[k].at[other] != value) continue;
    size_t place = count++;
    for (; place > 0 && compare_points(figure, along, points[place - 1], k) > 0; place--)
      points[place] = points[place - 1];
    points[place] = k;
  }
  return count;
}

static void draw_curve(const RpinnPlot *plot, const Figure *figure, size_t along, size_t other, double value,
                       size_t series) {
  size_t points[RPINN_MAX_AXIS_VALUES];
  double x[RPINN_MAX_AXIS_VALUES], y[RPINN_MAX_AXIS_VALUES];
  size_t count = list_points(figure, along, other, value, points);
  const char *ink = rpinn_series_ink(series);
  for (size_t k = 0; k < count; k++) {
    x[k] = figure->search->candidates[points[k]].at[along];
    y[k] = height_of(figure, points[k]);
  }
  rpinn_plot_line(plot, count, x, y, (RpinnStroke){ink, 1.6, 1, NULL});
  rpinn_plot_points(plot, count, x, y, 0, (RpinnPointStyle){RPINN_MARKER_CIRCLE, 3, ink, ink});
}

static void mark_on_curve(const RpinnPlot *plot, const Figure *figure, size_t along,
                          const RpinnWeightChoice *choice, RpinnPointStyle style) {
  const RpinnWeightSearch *search = figure->search;
  double x = rpinn_axis_get(search, &search->axes[along], &search->candidates[choice->candidate]),
         y = height_of(figure, choice->candidate);
  rpinn_plot_points(plot, 1, &x, &y, 0, style);
}

static void include_heights(const Figure *figure, RpinnAxis *axis) {
  for (size_t k = 0; k < figure->search->num_candidates; k++) {
    double height = figure->search->candidates[k].is_there ? height_of(figure, k) : (double)NAN;
    rpinn_axis_include(axis, 1, &height);
  }
  rpinn_axis_settle(axis, 0.08);
}

static void draw_curves(const Figure *figure, const char *caption, RpinnText *page) {
  const RpinnWeightSearch *search = figure->search;
  size_t along = search->num_axes > 1 && !rpinn_axis_is_logarithmic(&search->axes[0]) &&
                 search->axes[1].count >= search->axes[0].count;
  size_t other = search->num_axes > 1 ? 1 - along : 1;
  size_t num_series = search->num_axes > 1 ? search->axes[other].count : 1;
  RpinnPlot plot = {.page = page,
                    .frame = {440, 290, 62, 12, 20, 42},
                    .x = make_axis(search, &search->axes[along]),
                    .y = rpinn_axis_empty(height_label(figure), figure->rule->takes_lowest)};
  include_heights(figure, &plot.y);
  rpinn_figure_open(page, caption);
  rpinn_plot_open(&plot, caption);
  for (size_t s = 0; s < num_series; s++)
    draw_curve(&plot, figure, along, other, search->num_axes > 1 ? search->axes[other].values[s] : 0, s);
  for (size_t c = 1; c < search->num_choices; c++)
    if (!search->choices[c].rule->criterion)
      mark_on_curve(&plot, figure, along, &search->choices[c], balanced_style);
  mark_on_curve(&plot, figure, along, &search->choices[0], given_style);
  if (figure->choice) mark_on_curve(&plot, figure, along, figure->choice, chosen_style);
  rpinn_plot_close(&plot);
  write_keys(&plot, figure);
  rpinn_text_append(page, "<p class=\"keys\">\n");
  for (size_t s = 0; s < num_series && search->num_axes > 1; s++) {
    RpinnText label = {0};
    rpinn_text_append(&label, "%s ", search->axes[other].name);
    rpinn_axis_write_value(&search->axes[other], search->axes[other].values[s], &label);
    rpinn_plot_key_line(&plot, (RpinnStroke){rpinn_series_ink(s), 1.6, 1, NULL},
                        label.bytes ? label.bytes : "");
    page->failed |= label.failed;
    rpinn_text_free(&label);
  }
  rpinn_text_append(page, "</p>\n");
  rpinn_figure_close(page);
}

void rpinn_weights_draw(const RpinnWeightSearch *search, const RpinnWeightRule *rule, RpinnText *page) {
  Figure figure = {search, rule, find_choice(search, rule), 0};
  char caption[160];
  if (figure.choice) figure.best = figure.choice->criterion;
  snprintf(caption, sizeof caption, "%s: %s", rule->name, rule->title);
  if (search->num_axes == 2 && rpinn_axis_is_logarithmic(&search->axes[0]) &&
      rpinn_axis_is_logarithmic(&search->axes[1]))
    draw_map(&figure, caption, page);
  else
    draw_curves(&figure, caption, page);
}
