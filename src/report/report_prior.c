/* How the data chose the scale of the prior: what each scale foretells of them, as a figure and as a table. */
#include <math.h>
#include <stdio.h>

#include "markup.h"
#include "prior_record.h"
#include "report_page.h"
#include "report_table.h"
#include "scale_curve.h"

enum { DEEPEST = 12 }; /* nats below the best that the figure shows at most */

static const RpinnStroke chosen_stroke = {RPINN_INK_BLACK, 1.2, 0.8, "5 4"};

typedef struct Curve {
  const char *label, *ink;
  RpinnMarker marker;
  double below_best[RPINN_MAX_SCALE_TRIALS]; /* NaN where a scale has no figure */
} Curve;

static void fill_curve(const RpinnPriorChoice *choice, bool is_evidence, Curve *curve) {
  double best = -(double)INFINITY;
  for (size_t t = 0; t < choice->num_trials; t++) {
    const RpinnScaleTrial *trial = &choice->trials[t];
    curve->below_best[t] = is_evidence ? trial->log_evidence : trial->leave_one_out;
    if (curve->below_best[t] > best) best = curve->below_best[t];
  }
  for (size_t t = 0; t < choice->num_trials; t++) curve->below_best[t] -= best;
}

static void draw_curves(const RpinnReport *report, const RpinnPriorChoice *choice) {
  Curve curves[] = {{.label = "leave-one-out sum", .ink = RPINN_INK_BLUE, .marker = RPINN_MARKER_CIRCLE},
                    {.label = "log evidence", .ink = RPINN_INK_VERMILION, .marker = RPINN_MARKER_DIAMOND}};
  double scales[RPINN_MAX_SCALE_TRIALS], chosen = choice->trials[choice->chosen].scale;
  RpinnPlot plot = {.page = report->page,
                    .sheet = rpinn_figure_sheet(report->figures, "prior-scale", 1),
                    .frame = {440, 290, 58, 10, 20, 42},
                    .x = rpinn_axis_empty("scale of the prior", true),
                    .y = rpinn_axis_empty("nats below the best", false)};
  for (size_t t = 0; t < choice->num_trials; t++) scales[t] = choice->trials[t].scale;
  rpinn_axis_include(&plot.x, choice->num_trials, scales);
  for (size_t k = 0; k < 2; k++) {
    fill_curve(choice, k == 1, &curves[k]);
    rpinn_axis_include(&plot.y, choice->num_trials, curves[k].below_best);
  }
  plot.y.low = fmax(plot.y.low, -DEEPEST);
  rpinn_axis_settle(&plot.x, 0.05);
  rpinn_axis_settle(&plot.y, 0.08);
  const double line_x[] = {chosen, chosen}, line_y[] = {plot.y.low, plot.y.high};
  rpinn_figure_open(report->page, "What each scale foretells of the data");
  rpinn_plot_open(&plot, "Leave-one-out sum and log evidence against the scale of the prior");
  rpinn_plot_line(&plot, 2, line_x, line_y, chosen_stroke);
  for (size_t k = 0; k < 2; k++) {
    rpinn_plot_line(&plot, choice->num_trials, scales, curves[k].below_best,
                    (RpinnStroke){curves[k].ink, 1.6, 1, NULL});
    rpinn_plot_points(&plot, choice->num_trials, scales, curves[k].below_best, 0,
                      (RpinnPointStyle){curves[k].marker, 3, curves[k].ink, curves[k].ink});
  }
  rpinn_plot_close(&plot);
  rpinn_text_append(report->page, "<p class=\"keys\">\n");
  for (size_t k = 0; k < 2; k++)
    rpinn_plot_key_line(&plot, (RpinnStroke){curves[k].ink, 1.6, 1, NULL}, curves[k].label);
  rpinn_plot_key_line(&plot, chosen_stroke, "chosen");
  rpinn_text_append(report->page, "</p>\n");
  rpinn_figure_close(report->page);
}

static void write_table(size_t count, const RpinnScaleTrial *trials, size_t chosen, bool at_minimum,
                        RpinnText *page) {
  const char *const columns[] = {
      "scale", "leave-one-out", "log evidence", "loss", "misfit", rpinn_prior_starts_title(at_minimum), "@"};
  rpinn_table_open(page, 7, columns);
  for (size_t t = 0; t < count; t++) {
    const RpinnScaleTrial *trial = &trials[t];
    rpinn_text_append(page, "<tr>");
    rpinn_table_number(page, trial->scale, 4);
    rpinn_table_number(page, trial->leave_one_out, 5);
    rpinn_table_number(page, trial->log_evidence, 5);
    rpinn_table_number(page, trial->energy, 5);
    rpinn_table_number(page, trial->misfit, 3);
    rpinn_text_append(page, "<td>%zu of %zu</td><td class=\"text\">%s%s</td></tr>\n", trial->num_at_minimum,
                      trial->num_starts, t == chosen ? "chosen" : "",
                      trial->converged ? ""
                      : t == chosen    ? ", too few"
                                       : "too few");
  }
  rpinn_table_close(page);
}

static void write_line(const RpinnProblem *problem, const RpinnFieldLine *line, bool at_minimum,
                       RpinnText *page) {
  rpinn_text_append(page, "<p>Field <code>");
  rpinn_markup_text(page, line->field < problem->num_fields ? problem->fields[line->field].name : "");
  rpinn_text_append(page, "</code>, with the scales of the others fixed: ");
  rpinn_markup_number(page, line->trials[line->chosen].scale, 4);
  rpinn_text_append(page, ".</p>\n");
  write_table(line->num_trials, line->trials, line->chosen, at_minimum, page);
}

static void write_end(const RpinnPriorChoice *choice, RpinnText *page) {
  RpinnScaleEnd end = rpinn_prior_choice_end(choice);
  if (end == RPINN_SCALE_SMALLEST)
    rpinn_text_append(page,
                      "<p>This is the smallest scale of the ladder: a narrower prior would do as well for "
                      "the data.</p>\n");
  if (end == RPINN_SCALE_LARGEST)
    rpinn_text_append(page, "<p>This is the largest scale that was tried: a larger one may do "
                            "better.</p>\n");
}

static void write_spread(const RpinnPosterior *posterior, RpinnText *page) {
  const RpinnScaleCurve *curve = &posterior->problem->curve;
  if (!posterior->sigmas.integrates) return;
  rpinn_text_append(page, "<p>Every member has a scale of its own, drawn from the curve: median ");
  rpinn_markup_number(page, rpinn_scale_curve_quantile(curve, 0.5), 4);
  rpinn_text_append(page, ", 95&#8201;%% from ");
  rpinn_markup_number(page, rpinn_scale_curve_quantile(curve, 0.025), 4);
  rpinn_text_append(page, " to ");
  rpinn_markup_number(page, rpinn_scale_curve_quantile(curve, 0.975), 4);
  rpinn_text_append(page, ".</p>\n");
}

void rpinn_report_prior(const RpinnReport *report) {
  const RpinnPriorChoice *choice = &report->run->prior;
  RpinnText *page = report->page;
  if (!choice->num_trials) return;
  rpinn_text_append(page, "<section>\n<h2>Prior</h2>\n<p>The scale ");
  rpinn_markup_number(page, choice->trials[choice->chosen].scale, 4);
  rpinn_text_append(page, " was chosen from the data by <code>%s</code>: %s.</p>\n",
                    rpinn_scale_rule_names[choice->rule], rpinn_prior_rule_meaning(choice->rule));
  write_end(choice, page);
  write_spread(report->run->posteriors[0], page);
  rpinn_text_append(page, "<div class=\"figures\">\n");
  draw_curves(report, choice);
  rpinn_text_append(page, "</div>\n");
  write_table(choice->num_trials, choice->trials, choice->chosen, choice->at_minimum, page);
  for (size_t k = 0; k < choice->num_lines; k++)
    write_line(report->run->problem, &choice->lines[k], choice->at_minimum, page);
  rpinn_text_append(page,
                    "<p class=\"note\">Leave-one-out: the log density of every measured value given all "
                    "others, summed; log evidence: that of all measured values given the tolerances; both "
                    "of the model linearised at %s under that scale, whose loss is shown. Misfit: the mean "
                    "square of (value &#8722; prediction)&#8201;/&#8201;noise there.</p>\n</section>\n",
                    choice->at_minimum ? "the most probable parameters" : "a few rPINN members");
}
