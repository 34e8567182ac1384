/* What the studies share: runs with their rows, and numbers on a page. */
#include "reproduce_studies.h"

#include <math.h>
#include <stdio.h>

#include "number_text.h"

const char *const rpinn_study_figure_keys[] = {
#define RPINN_TABLE_METRIC_KEY(name, key, title, digit) key,
    RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_KEY)
#undef RPINN_TABLE_METRIC_KEY
        "lpp"};
const char *const rpinn_study_figure_titles[] = {
#define RPINN_TABLE_METRIC_TITLE(name, key, title, digit) title,
    RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_TITLE)
#undef RPINN_TABLE_METRIC_TITLE
        "LPP"};

/* ---- runs ---- */

RpinnStatus rpinn_study_make_room(RpinnContext *context, RpinnReproduction *reproduction, size_t num_runs) {
  reproduction->runs = RPINN_ARENA_NEW(reproduction->arena, RpinnReproducedRun, num_runs);
  reproduction->rows =
      RPINN_ARENA_NEW(reproduction->arena, RpinnReproducedRow, num_runs * RPINN_PAPER_QUANTITIES);
  return reproduction->runs && reproduction->rows ? RPINN_OK : rpinn_fail_memory(context);
}

RpinnReproducedRun *rpinn_study_add_run(RpinnReproduction *reproduction, const RpinnPaperCase *paper,
                                        RpinnPaperMethod method, const char *folder, const char *suffix) {
  RpinnReproducedRun *run = rpinn_reproduction_add_run(reproduction, paper, method, folder, suffix);
  for (size_t q = 0; run && q < RPINN_PAPER_QUANTITIES; q++)
    reproduction->rows[reproduction->num_rows++] = (RpinnReproducedRow){.run = run, .quantity = q};
  return run;
}

void rpinn_study_set(RpinnReproducedRun *run, const char *setting, const char *value) {
  run->overrides[run->num_overrides++] = (RpinnOverride){.name = setting, .value = value};
}

RpinnEstimate rpinn_study_figure(const RpinnReproduction *reproduction, const RpinnReproducedRun *run,
                                 size_t quantity, size_t figure) {
  for (size_t i = 0; i < reproduction->num_rows; i++) {
    const RpinnReproducedRow *row = &reproduction->rows[i];
    if (row->run == run && row->quantity == quantity)
      return (RpinnEstimate){row->ours[figure], row->errors[figure]};
  }
  return (RpinnEstimate){(double)NAN, (double)NAN};
}

/* ---- pages ---- */

void rpinn_study_append_title(RpinnText *text, const RpinnReproduction *reproduction) {
  rpinn_text_append(text, "# rpinn reproduce %s, scale %s, %s\n\n", reproduction->entry->name,
                    rpinn_paper_scales[reproduction->scale],
                    reproduction->has_data ? "published data sets" : "synthetic data");
}

void rpinn_study_append_cell(RpinnText *text, size_t figure, RpinnEstimate estimate) {
  char cell[64] = "-";
  bool has_error = !isnan(estimate.error), is_share = figure == RPINN_TABLE_COVERAGE;
  const char *format = is_share ? has_error ? "%.1f%% (%.1f)" : "%.1f%%"
                       : figure == RPINN_TABLE_LPP_TABLE || figure == RPINN_FIGURE_LPP
                           ? has_error ? "%.0f (%.2g)" : "%.0f"
                       : has_error ? "%.2e (%.0e)"
                                   : "%.2e";
  double factor = is_share ? 100 : 1;
  if (!isnan(estimate.value))
    rpinn_format(cell, sizeof cell, format, estimate.value * factor, estimate.error * factor);
  rpinn_text_append(text, " %18s |", cell);
}

void rpinn_study_append_settings(RpinnText *text, const RpinnReproducedRun *run, const char *title) {
  rpinn_text_append(text, "- %s: %s. ", title, run->settings);
  if (run->departures[0])
    rpinn_text_append(text, "Departs from the paper: %s.\n", run->departures);
  else
    rpinn_text_append(text, "As in the paper.\n");
}

void rpinn_study_append_number(RpinnText *csv, double value) {
  char number[RPINN_NUMBER_TEXT] = "";
  if (!isnan(value)) rpinn_number_format(value, number);
  rpinn_text_append(csv, ",%s", number);
}
