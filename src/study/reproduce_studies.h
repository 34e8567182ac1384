/* The paper's claims in words, measured; and everything at once. */
#ifndef RPINN_STUDY_REPRODUCE_STUDIES_H
#define RPINN_STUDY_REPRODUCE_STUDIES_H

#include "claims.h"
#include "reproduce_state.h"

extern const RpinnReproduceKind rpinn_uniform_likelihood, rpinn_prior_scale, rpinn_everything;

/* Room for so many runs and the rows of both their quantities. */
RpinnStatus rpinn_study_make_room(RpinnContext *context, RpinnReproduction *reproduction, size_t num_runs);
/* A run with its rows; NULL: no memory. See rpinn_reproduction_add_run. */
RpinnReproducedRun *rpinn_study_add_run(RpinnReproduction *reproduction, const RpinnPaperCase *paper,
                                        RpinnPaperMethod method, const char *folder, const char *suffix);
void rpinn_study_set(RpinnReproducedRun *run, const char *setting, const char *value);
/* A figure of a quantity of a run: RpinnTableMetric or RPINN_FIGURE_LPP. */
RpinnEstimate rpinn_study_figure(const RpinnReproduction *reproduction, const RpinnReproducedRun *run,
                                 size_t quantity, size_t figure);
/* " value (error) |", in the width of a column; value alone where there is no error. */
void rpinn_study_append_cell(RpinnText *text, size_t figure, RpinnEstimate estimate);
/* A line of words on a run: its settings, and in what they depart from the paper's. */
void rpinn_study_append_settings(RpinnText *text, const RpinnReproducedRun *run, const char *title);
/* "# rpinn reproduce NAME, scale …, … data sets" and an empty line. */
void rpinn_study_append_title(RpinnText *text, const RpinnReproduction *reproduction);
/* A number in a line of CSV, after a comma; nothing for NaN. */
void rpinn_study_append_number(RpinnText *csv, double value);

extern const char *const rpinn_study_figure_keys[RPINN_NUM_FIGURES],
    *const rpinn_study_figure_titles[RPINN_NUM_FIGURES];

#endif
