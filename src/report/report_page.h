/* The page of a run, section by section. */
#ifndef RPINN_REPORT_REPORT_PAGE_H
#define RPINN_REPORT_REPORT_PAGE_H

#include "posterior_shape.h"
#include "rank_interval.h"
#include "report_figure.h"
#include "run_record.h"

typedef struct RpinnReport {
  RpinnContext *context;
  RpinnText *page;
  RpinnFigureSet *figures; /* for print; NULL: none are wanted */
  const RpinnRun *run;
  const RpinnPosteriorShape *shape; /* NULL: not asked for */
} RpinnReport;

/* Draws that the results are made of. */
static inline uint64_t rpinn_report_num_draws(const RpinnRun *run) {
  return run->results.num_draws;
}

/* Whether enough of them are kept for intervals of 95 %. */
static inline bool rpinn_report_has_intervals(const RpinnRun *run) {
  return (rpinn_report_num_draws(run) - 1) / run->results.keep_every + 1 >= RPINN_INTERVAL_MIN_DRAWS;
}

static inline const char *rpinn_report_setting(const RpinnRun *run, RpinnSetting setting) {
  return run->problem->settings.values[setting].text;
}

/* By which a page is known as one of ours. */
#define RPINN_REPORT_MARK "<meta name=\"generator\" content=\"rpinn\"/>"

/* report_style.c: everything up to <body>, and what comes after the last section. */
void rpinn_report_open_page(const char *title, const char *subtitle, RpinnText *page);
void rpinn_report_close_page(const RpinnReport *report);
/* report_head.c: name, method and the facts about a run. */
void rpinn_report_head(const RpinnReport *report);
/* report_verdict.c: a verdict as a box with a title, and that on the run. */
void rpinn_report_verdict_box(RpinnText *page, const char *title, const RpinnVerdict *verdict);
void rpinn_report_verdict(const RpinnReport *report);
/* report_predictions.c: curves over one coordinate, maps over two, or a sentence that says why neither. */
RpinnStatus rpinn_report_predictions(const RpinnReport *report);
/* report_scores.c */
void rpinn_report_unknowns(const RpinnReport *report);
void rpinn_report_scores(const RpinnReport *report);
/* The cells of a score behind its name that the paper's tables have; all of them; and the note that explains the
 * columns. */
void rpinn_report_table_cells(RpinnText *page, const RpinnScore *score);
void rpinn_report_score_cells(RpinnText *page, const RpinnScore *score);
void rpinn_report_open_scores(RpinnText *page);
void rpinn_report_score_note(RpinnText *page);
/* report_prior.c: how the scale of the prior was chosen; nothing where it was given. */
void rpinn_report_prior(const RpinnReport *report);
/* Sections that methods name, in report_NAME.c. */
#define RPINN_SECTION_DECLARATION(enumerator, name)                                                          \
  RpinnStatus rpinn_report_##name(const RpinnReport *report);
RPINN_REPORT_SECTION_LIST(RPINN_SECTION_DECLARATION)
#undef RPINN_SECTION_DECLARATION
/* Traces of the losses and the histogram of those at the end. */
RpinnStatus rpinn_report_losses(const RpinnReport *report);
/* report_shape.c: the plane and the spectra. */
RpinnStatus rpinn_report_shape(const RpinnReport *report);
/* report_settings.c: settings and problem. */
RpinnStatus rpinn_report_details(const RpinnReport *report);

/* report_write.c: the page as FOLDER/NAME and its figures in FOLDER/figures; folders are made. Bad input: a file of that name that
 * is no page of ours, or a link. */
RpinnStatus rpinn_report_save_page(RpinnContext *context, const char *folder, const char *name,
                                   const RpinnText *page, const RpinnFigureSet *figures, size_t *num_drawn,
                                   RpinnDrawing *drawing);

/* All of it. */
RpinnStatus rpinn_report_page(const RpinnReport *report);

#endif
