/* report.html of a calibration: whether intervals hold, as pictures first. It is well-formed XML, as the page of a run is. */
#include <math.h>

#include "calibrate_figures.h"
#include "markup.h"
#include "report_page.h"
#include "report_table.h"

enum { TOP = RPINN_CALIBRATION_LEVELS - 1 };

/* ---- the head ---- */

static void write_fact(RpinnText *page, const char *name, const char *text) {
  rpinn_text_append(page, "<div><dt>%s</dt><dd>", name);
  rpinn_markup_text(page, text);
  rpinn_text_append(page, "</dd></div>\n");
}

/* Of one method: its median, and from where to where where they differ. */
static void write_scales(const RpinnCalibratedMethod *method, RpinnText *page) {
  double scales[3];
  rpinn_calibration_scales(method, scales);
  rpinn_text_append(page, "<div><dt>Prior scale, %s</dt><dd>", method->name);
  rpinn_markup_number(page, scales[1], 3);
  if (scales[0] < scales[2]) {
    rpinn_text_append(page, " (");
    rpinn_markup_number(page, scales[0], 3);
    rpinn_text_append(page, " to ");
    rpinn_markup_number(page, scales[2], 3);
    rpinn_text_append(page, ")");
  }
  rpinn_text_append(page, "</dd></div>\n");
}

static const char *describe(const RpinnCalibration *calibration) {
  switch (calibration->source) {
  case RPINN_FROM_PRIOR:
    return "Truths drawn from the prior, data of them in every row, and a run for each: the ranks of a truth "
           "among "
           "the draws of a correct posterior are uniform, and intervals hold what they promise.";
  case RPINN_FROM_DATA:
    return "The measured rows in folds that are left out in turn, and foretold by a run on the others, with "
           "their "
           "noise.";
  default:
    return "Many data sets of one truth, a run for each, and how often the truth lies within the intervals "
           "that the "
           "run states.";
  }
}

static void write_head(const RpinnCalibration *calibration, RpinnText *page) {
  size_t made = 0;
  double seconds = 0;
  for (size_t m = 0; m < calibration->num_methods; m++) {
    const RpinnCalibratedMethod *method = &calibration->methods[m];
    if (method->num_made > made) made = method->num_made;
    for (size_t d = 0; d < method->num_made; d++) seconds += method->rows[d]->seconds;
  }
  rpinn_text_append(page, "<header>\n<h1>");
  rpinn_markup_text(page, calibration->problem);
  rpinn_text_append(page, " <span>calibration</span></h1>\n<p class=\"lead\">%s</p>\n<dl class=\"facts\">\n",
                    describe(calibration));
  rpinn_text_append(page, "<div><dt>%s</dt><dd>%zu of %zu</dd></div>\n",
                    calibration->source == RPINN_FROM_DATA ? "Folds" : "Data sets", made,
                    calibration->num_data_sets);
  write_fact(page, "Truth",
             calibration->source == RPINN_FROM_PRIOR  ? "drawn from the prior"
             : calibration->source == RPINN_FROM_DATA ? "rows left out"
                                                      : "that of the problem");
  if (calibration->source == RPINN_FROM_TRUTH) write_fact(page, "Drawn anew", calibration->redraw);
  write_fact(page, "Members", calibration->members);
  for (size_t m = 0; m < calibration->num_methods; m++)
    if (calibration->methods[m].num_made) write_scales(&calibration->methods[m], page);
  rpinn_text_append(page, "<div><dt>Time of all runs</dt><dd>");
  rpinn_markup_duration(page, seconds);
  rpinn_text_append(page, "</dd></div>\n</dl>\n</header>\n");
}

/* ---- what stands out ---- */

static void add_finding(const RpinnCalibration *calibration, size_t m, size_t s, RpinnText *list) {
  RpinnCalibrationSummary summary;
  rpinn_calibration_summary(calibration, m, s, &summary);
  const RpinnCalibrationMean *held = &summary.coverage[TOP];
  double level = rpinn_calibration_levels[TOP];
  double p_value =
      calibration->source == RPINN_FROM_PRIOR ? rpinn_calibration_uniformity(calibration, m, s) : 1;
  bool is_short = held->mean < level - fmax(0.02, 3 * held->error);
  if (!is_short && !(p_value < 0.01)) return;
  rpinn_text_append(list, "<li><code>");
  rpinn_markup_text(list, calibration->subjects[s].name);
  rpinn_text_append(list, "</code> by %s: ", calibration->methods[m].name);
  if (is_short)
    rpinn_text_append(list, "intervals of 95&#8201;%% hold %.1f&#8201;&#177;&#8201;%.1f&#8201;%%%s",
                      100 * held->mean, 100 * held->error, p_value < 0.01 ? "; " : ".");
  if (p_value < 0.01) {
    rpinn_text_append(list, "its ranks are not uniform, <i>p</i> = ");
    rpinn_markup_number(list, p_value, 2);
    rpinn_text_append(list, ".");
  }
  rpinn_text_append(list, "</li>\n");
}

static void write_findings(const RpinnCalibration *calibration, RpinnText *page) {
  RpinnText list = {0};
  for (size_t m = 0; m < calibration->num_methods; m++)
    for (size_t s = 0; s < calibration->num_subjects && calibration->methods[m].num_made; s++)
      add_finding(calibration, m, s, &list);
  if (list.length) {
    rpinn_text_append(
        page, "<div class=\"warnings\" role=\"note\"><strong>Intervals that do not hold</strong>\n<ul>\n");
    rpinn_text_append_bytes(page, list.bytes, list.length);
    rpinn_text_append(page, "</ul></div>\n");
  } else {
    rpinn_text_append(
        page,
        "<p class=\"fine\">No interval of 95&#8201;%% holds less than it promises by more than three "
        "standard errors%s.</p>\n",
        calibration->source == RPINN_FROM_PRIOR ? ", and all ranks may be uniform" : "");
  }
  page->failed = page->failed || list.failed;
  rpinn_text_free(&list);
}

/* ---- tables ---- */

static void write_coverage_cell(RpinnText *page, RpinnCalibrationMean mean) {
  rpinn_text_append(page, "<td>%.1f&#8201;&#177;&#8201;%.1f</td>", 100 * mean.mean, 100 * mean.error);
}

static void write_z_cells(RpinnText *page, double mean, double deviation) {
  rpinn_text_append(page, "<td>%s%.2f</td><td>%.2f</td>", mean < -0.005 ? "&#8722;" : "", fabs(mean),
                    deviation);
}

static void write_row(const RpinnCalibration *calibration, size_t m, size_t s, RpinnText *page) {
  RpinnCalibrationSummary summary;
  rpinn_calibration_summary(calibration, m, s, &summary);
  if (!(summary.num_points > 0)) return; /* a term that no fold has left out yet */
  rpinn_table_open_row(page, calibration->subjects[s].name);
  rpinn_text_append(page, "<td class=\"text\">%s</td>", calibration->methods[m].name);
  for (size_t l = 0; l < RPINN_CALIBRATION_LEVELS; l++) write_coverage_cell(page, summary.coverage[l]);
  rpinn_table_number(page, summary.crps.mean, 3);
  rpinn_table_number(page, summary.width[TOP].mean, 3);
  rpinn_table_number(page, summary.error.mean, 3);
  if (calibration->source == RPINN_FROM_PRIOR)
    rpinn_table_number(page, rpinn_calibration_uniformity(calibration, m, s), 2);
  if (calibration->source == RPINN_FROM_DATA) {
    write_z_cells(page, summary.z_mean, summary.z_deviation);
    rpinn_table_percent(page, summary.z_inside);
  }
  rpinn_text_append(page, "</tr>\n");
}

static void write_table(const RpinnCalibration *calibration, RpinnText *page) {
  static const char *const columns[] = {"",           "@method", "50&#8201;%",          "80&#8201;%",
                                        "95&#8201;%", "CRPS",    "width of 95&#8201;%", "error",
                                        "<i>p</i>"},
                           *const folded[] = {"",
                                              "@method",
                                              "50&#8201;%",
                                              "80&#8201;%",
                                              "95&#8201;%",
                                              "CRPS",
                                              "width of 95&#8201;%",
                                              "error",
                                              "mean <i>z</i>",
                                              "spread of <i>z</i>",
                                              "within &#177;1.96"};
  rpinn_text_append(page, "<section>\n<h2>In numbers</h2>\n");
  if (calibration->source == RPINN_FROM_DATA)
    rpinn_table_open(page, 11, folded);
  else
    rpinn_table_open(page, calibration->source == RPINN_FROM_PRIOR ? 9 : 8, columns);
  for (size_t s = 0; s < calibration->num_subjects; s++)
    for (size_t m = 0; m < calibration->num_methods; m++)
      if (calibration->methods[m].num_made) write_row(calibration, m, s, page);
  rpinn_table_close(page);
  rpinn_text_append(
      page,
      "<p class=\"note\">Coverage in %% of the points, with its standard error; CRPS and widths in the "
      "unit of the quantity, lower is better; error, root mean square of that of the mean.%s</p>\n"
      "</section>\n",
      calibration->source == RPINN_FROM_PRIOR
          ? " <i>p</i>, how often ranks of a correct posterior look less uniform, at the worst of up to "
            "five points, times their number."
          : "");
}

static void write_left_out(const RpinnCalibration *calibration, RpinnText *page) {
  static const char *const columns[] = {"", "rows", "mean <i>z</i>", "spread of <i>z</i>",
                                        "within &#177;1.96"};
  if (!calibration->left_out) return;
  rpinn_text_append(
      page, "<section>\n<h2>Each row left out on its own</h2>\n<p>By the posterior linearised at its most "
            "probable point: mean 0, spread 1 and 95&#8201;%% are as it should be, but for what choosing "
            "the scale by these rows makes better.</p>\n");
  rpinn_table_open(page, 5, columns);
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    const RpinnLeftOutRows *rows = &calibration->left_out[s];
    rpinn_table_open_row(page, calibration->subjects[s].name);
    rpinn_table_number(page, rows->num_rows, 6);
    write_z_cells(page, rows->mean, rows->deviation);
    rpinn_table_percent(page, rows->inside);
    rpinn_text_append(page, "</tr>\n");
  }
  rpinn_table_close(page);
  rpinn_text_append(page, "</section>\n");
}

/* ---- figures ---- */

static void open_section(RpinnText *page, const char *title, const char *note) {
  rpinn_text_append(page, "<section>\n<h2>%s</h2>\n<p>%s</p>\n<div class=\"figures maps\">\n", title, note);
}

static void close_section(RpinnText *page) {
  rpinn_text_append(page, "</div>\n</section>\n");
}

static RpinnStatus write_coverage(const RpinnCalibration *calibration, RpinnText *page) {
  open_section(
      page, "Coverage",
      "How much intervals hold, against what they promise. Below the line they are too narrow, above it "
      "wider than need be.");
  for (size_t s = 0; s < calibration->num_subjects; s++)
    RPINN_TRY(rpinn_calibration_draw_coverage(calibration, s, page));
  close_section(page);
  return RPINN_OK;
}

/* Figures that belong together begin on a line of their own. */
static void next_row(RpinnText *page) {
  rpinn_text_append(page, "</div>\n<div class=\"figures maps\" style=\"margin-top:1.25rem\">\n");
}

static RpinnStatus draw_each_method(const RpinnCalibration *calibration, size_t subject,
                                    RpinnStatus (*draw)(const RpinnCalibration *calibration, size_t method,
                                                        size_t subject, RpinnText *page),
                                    RpinnText *page) {
  for (size_t m = 0; m < calibration->num_methods; m++)
    if (calibration->methods[m].num_made) RPINN_TRY(draw(calibration, m, subject, page));
  return RPINN_OK;
}

static const char *explain_ranks(const RpinnCalibration *calibration) {
  switch (calibration->source) {
  case RPINN_FROM_PRIOR:
    return "Where truths stand among the draws: flat where both come from one posterior. A valley: the draws "
           "are too "
           "narrow; a hill: too wide; a slope: they lie to one side.";
  case RPINN_FROM_DATA:
    return "Where rows that were left out stand among the draws, to which noise was added. A valley: the "
           "draws are too "
           "narrow, or the noise is larger than stated; a hill: wider than need be; a slope: they lie to one "
           "side.";
  default:
    return "Where the truth stands among the draws. A valley: the draws are too narrow; a hill: wider than "
           "need be; a "
           "slope: they lie to one side. Points of a data set stand and fall together: the band is that of "
           "as many ranks "
           "as there are data sets.";
  }
}

/* A row of figures for each subject, where it has several. */
static RpinnStatus write_ranks(const RpinnCalibration *calibration, RpinnText *page) {
  bool prior = calibration->source == RPINN_FROM_PRIOR;
  open_section(page, "Ranks", explain_ranks(calibration));
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    if (s && (prior || calibration->num_methods > 1)) next_row(page);
    RPINN_TRY(draw_each_method(calibration, s, rpinn_calibration_draw_ranks, page));
    if (prior && calibration->num_methods > 1) next_row(page);
    if (prior) RPINN_TRY(draw_each_method(calibration, s, rpinn_calibration_draw_distribution, page));
  }
  close_section(page);
  return RPINN_OK;
}

static RpinnStatus write_scores(const RpinnCalibration *calibration, RpinnText *page) {
  open_section(page, "Sharpness", "Scores of every run, methods side by side on the same data.");
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    if (calibration->subjects[s].kind == RPINN_SUBJECT_LIKELIHOOD) continue;
    if (s) next_row(page);
    RPINN_TRY(rpinn_calibration_draw_scores(calibration, s, false, page));
    RPINN_TRY(rpinn_calibration_draw_scores(calibration, s, true, page));
  }
  next_row(page);
  RPINN_TRY(rpinn_calibration_draw_scales(calibration, page));
  close_section(page);
  return RPINN_OK;
}

static RpinnStatus write_verdicts(const RpinnCalibration *calibration, RpinnText *page) {
  open_section(page, "Verdicts",
               "The word that every run has for itself, without knowing the truth, over the coverage that "
               "the worst of "
               "its quantities came to.");
  for (size_t m = 0; m < calibration->num_methods; m++)
    if (calibration->methods[m].num_made) RPINN_TRY(rpinn_calibration_draw_verdicts(calibration, m, page));
  close_section(page);
  return RPINN_OK;
}

static RpinnStatus write_page(const RpinnCalibration *calibration, RpinnText *page) {
  rpinn_report_open_page(calibration->problem, "calibration", page);
  write_head(calibration, page);
  write_findings(calibration, page);
  RPINN_TRY(write_coverage(calibration, page));
  write_table(calibration, page);
  write_left_out(calibration, page);
  RPINN_TRY(write_ranks(calibration, page));
  RPINN_TRY(write_verdicts(calibration, page));
  RPINN_TRY(write_scores(calibration, page));
  rpinn_report_close_page(&(RpinnReport){.page = page});
  return RPINN_OK;
}

RpinnStatus rpinn_calibration_write_page(RpinnContext *context, const RpinnCalibration *calibration,
                                         RpinnText *page) {
  RpinnStatus status = write_page(calibration, page);
  return status != RPINN_OK || page->failed ? rpinn_fail_memory(context) : RPINN_OK;
}
