/* A calibration in memory. */
#ifndef RPINN_STUDY_CALIBRATE_STATE_H
#define RPINN_STUDY_CALIBRATE_STATE_H

#include "arena.h"
#include "calibration.h"
#include "context.h"
#include "many_runs.h"
#include "rpinn/calibrate.h"
#include "run_record.h"
#include "text.h"

enum {
  RPINN_MAX_CALIBRATED_METHODS = 16,
  RPINN_MAX_METHOD_SETTINGS = 8,
  RPINN_MAX_METHOD_LABEL = 160,
  RPINN_MAX_DATA_SETS = 9999
};

/* Where data sets come from, and what they are compared with. */
typedef enum RpinnCalibrationSource {
  RPINN_FROM_TRUTH, /* of the problem */
  RPINN_FROM_PRIOR, /* parameters drawn from it */
  RPINN_FROM_DATA   /* folds of the data, and the rows that each leaves out */
} RpinnCalibrationSource;
extern const char *const rpinn_calibration_sources[3];

/* Whatever is scored: a quantity of `predict:` at its points, an unknown, the log likelihood, a measured term where it is left
 * out. */
typedef enum RpinnSubjectKind {
  RPINN_SUBJECT_QUANTITY,
  RPINN_SUBJECT_UNKNOWN,
  RPINN_SUBJECT_LIKELIHOOD,
  RPINN_SUBJECT_TERM
} RpinnSubjectKind;

typedef struct RpinnCalibrationSubject {
  const char *name;
  RpinnSubjectKind kind;
  size_t index; /* among the quantities, the unknowns and noises, or the terms of the problem */
} RpinnCalibrationSubject;

/* One run, scored: plain data, whoever made it. */
typedef struct RpinnCalibrationRow {
  double seconds, prior_scale;
  double verdict;                 /* RpinnVerdictWord; NaN: not known */
  double num_draws;               /* whose ranks were looked at: of chains, thinned */
  RpinnCalibrationScore scores[]; /* [num_subjects] */
} RpinnCalibrationRow;

typedef struct RpinnCalibratedMethod {
  const char *name;      /* as it was asked for: METHOD, or METHOD:SETTING=VALUE… */
  const char *file_name; /* the same for files */
  const char *method;
  size_t num_settings; /* of its own */
  RpinnOverride settings[RPINN_MAX_METHOD_SETTINGS];
  size_t num_made;                  /* data sets 0 … num_made - 1 are scored */
  const RpinnCalibrationRow **rows; /* [num_data_sets], of which num_made are there */
} RpinnCalibratedMethod;

/* The rows of a measured term, each left out on its own: z of rpinn_linearisation_leave_out. */
typedef struct RpinnLeftOutRows {
  double num_rows, mean, deviation, inside; /* inside: the share within 1.96 */
} RpinnLeftOutRows;

struct RpinnCalibration {
  const RpinnCalibrateOptions *options; /* NULL once it is made */
  RpinnArena *arena;
  RpinnRun
      *base; /* of the problem as it stands, never begun: its posterior has the rows; NULL once all is made */
  const char *problem, *redraw;
  RpinnCalibrationSource source;
  size_t num_data_sets; /* or folds */
  const char *members;
  size_t num_methods;
  RpinnCalibratedMethod methods[RPINN_MAX_CALIBRATED_METHODS];
  size_t num_subjects;
  RpinnCalibrationSubject *subjects;
  size_t **folds; /* [num_terms][points] the fold of each measured row; NULL: never left out */
  const RpinnLeftOutRows *left_out; /* [num_subjects]; NULL: not known */
  bool has_new_rows;                /* that no table shows yet */
  bool interrupted;
  RpinnText text, csv, json, page;
};

/* calibrate_options.c: what is asked for, as far as it can be checked before anything is loaded … */
RpinnStatus rpinn_calibration_read_options(RpinnContext *context, RpinnCalibration *calibration);
/* … and where the problem has a say: where the data come from, its method, and members. */
RpinnStatus rpinn_calibration_choose_source(RpinnContext *context, RpinnCalibration *calibration);
RpinnStatus rpinn_calibration_read_methods(RpinnContext *context, RpinnCalibration *calibration);

/* calibrate_methods.c: read a list of methods, separated by commas. */
RpinnStatus rpinn_calibration_add_methods(RpinnContext *context, RpinnCalibration *calibration,
                                          const char *list);

/* calibrate_problem.c: the problem with one of the methods (NULL: its own), as it stands or as data set number data_set has it.
 * The caller destroys it. */
RpinnStatus rpinn_calibration_load(RpinnContext *context, const RpinnCalibration *calibration,
                                   const RpinnCalibratedMethod *method, RpinnProblem **problem);
RpinnStatus rpinn_calibration_load_data_set(RpinnContext *context, const RpinnCalibration *calibration,
                                            const RpinnCalibratedMethod *method, size_t data_set,
                                            RpinnProblem **problem);

/* calibrate_prior.c: parameters from the prior, and what they say. */
typedef struct RpinnSimulation {
  double *outputs; /* [outputs.num_values] of a run of the problem */
  double log_likelihood;
} RpinnSimulation;
/* Bad input: a prior from which nothing can be drawn. */
RpinnStatus rpinn_calibration_check_prior(RpinnContext *context, const RpinnCalibration *calibration);
/* The data of the problem become data of a draw from its prior, which depends on its seed alone; it and they live in the
 * problem's arena. */
RpinnStatus rpinn_calibration_simulate(RpinnContext *context, RpinnProblem *problem,
                                       RpinnSimulation *simulation);

/* calibrate_folds.c */
RpinnStatus rpinn_calibration_make_folds(RpinnContext *context, RpinnCalibration *calibration);
/* The rows of the fold become held-out terms of the problem. */
RpinnStatus rpinn_calibration_leave_fold(RpinnContext *context, const RpinnCalibration *calibration,
                                         size_t fold, RpinnProblem *problem);
/* Where the held-out rows of a term of the whole problem begin in the outputs of a run that left the fold out, and how many there
 * are; truth and deviations [count] live in the run's problem's arena. */
typedef struct RpinnHeldOutRows {
  size_t first, count;
  const double *truth;
  RpinnTruthNoise noise;
} RpinnHeldOutRows;
RpinnStatus rpinn_calibration_find_held_out(RpinnContext *context, const RpinnCalibration *calibration,
                                            const RpinnRun *run, size_t term, RpinnHeldOutRows *rows);

/* calibrate_left_out.c: every measured row left out on its own, at the most probable point. */
RpinnStatus rpinn_calibration_leave_each_out(RpinnContext *context, RpinnCalibration *calibration);

/* calibrate_subjects.c */
RpinnStatus rpinn_calibration_list_subjects(RpinnContext *context, RpinnCalibration *calibration);
/* simulation: for RPINN_FROM_PRIOR. */
RpinnStatus rpinn_calibration_score_run(RpinnContext *context, const RpinnCalibration *calibration,
                                        const RpinnRun *run, const RpinnSimulation *simulation,
                                        size_t data_set, RpinnCalibrationRow *row);

/* calibrate_folder.c: the folder is ours, or becomes so. */
RpinnStatus rpinn_calibration_claim_folder(RpinnContext *context, const RpinnCalibration *calibration);

/* calibrate_runs.c: make the runs in the folder, where they stay only if they are to; runs: all but their folder. */
RpinnStatus rpinn_calibration_make_runs(RpinnContext *context, RpinnCalibration *calibration,
                                        const RpinnTaskShard *shard, RpinnManyRuns *runs);
/* A row for each data set and method. */
RpinnStatus rpinn_calibration_make_rows(RpinnContext *context, RpinnCalibration *calibration);

/* calibrate_scores.c: the score of a run as a small file, so that it is made once. */

/* The name of a run, and of its score. */
void rpinn_calibration_run_name(const RpinnCalibration *calibration, size_t method, size_t data_set,
                                char name[RPINN_TASK_NAME_SIZE]);
/* False in *found where there is none. */
RpinnStatus rpinn_calibration_read_row(RpinnContext *context, const RpinnCalibration *calibration,
                                       size_t method, size_t data_set, RpinnCalibrationRow *row, bool *found);
RpinnStatus rpinn_calibration_write_row(RpinnContext *context, const RpinnCalibration *calibration,
                                        size_t method, size_t data_set, const RpinnCalibrationRow *row);
RpinnStatus rpinn_calibration_read_left_out(RpinnContext *context, const RpinnCalibration *calibration,
                                            RpinnLeftOutRows *rows, bool *found);
RpinnStatus rpinn_calibration_write_left_out(RpinnContext *context, const RpinnCalibration *calibration,
                                             const RpinnLeftOutRows *rows);

/* calibrate_summary.c: what the rows so far come to. */
void rpinn_calibration_summary(const RpinnCalibration *calibration, size_t method, size_t subject,
                               RpinnCalibrationSummary *summary);
/* Ranks of a subject at one of its points [num_made], NaN left out. Returns how many. */
size_t rpinn_calibration_ranks(const RpinnCalibration *calibration, size_t method, size_t subject,
                               size_t point, double *ranks);
/* Are the ranks of a subject uniform? That of its points with the least p-value, times their number (Bonferroni); NaN where
 * there are no ranks or no memory. */
double rpinn_calibration_uniformity(const RpinnCalibration *calibration, size_t method, size_t subject);
double rpinn_calibration_seconds(const RpinnCalibratedMethod *method);
/* The least, the median and the largest of the scales that were used; NaN where they are not known. */
void rpinn_calibration_scales(const RpinnCalibratedMethod *method, double scales[3]);
/* Runs by the word of their verdict. */
void rpinn_calibration_verdicts(const RpinnCalibratedMethod *method, size_t counts[3]);
/* "rpinn: u 94.8 +- 3.4 %, f 95.2 +- 3.4 %" */
void rpinn_calibration_write_line(const RpinnCalibration *calibration, size_t method, RpinnText *line);

/* calibrate_tables.c: text, csv, json and page from the rows so far, into files. */
RpinnStatus rpinn_calibration_write_tables(RpinnContext *context, RpinnCalibration *calibration);
/* calibrate_page.c: report.html. */
RpinnStatus rpinn_calibration_write_page(RpinnContext *context, const RpinnCalibration *calibration,
                                         RpinnText *page);

#endif
