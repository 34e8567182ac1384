/* A calibration in memory. */
#ifndef RPINN_STUDY_CALIBRATE_STATE_H
#define RPINN_STUDY_CALIBRATE_STATE_H

#include "arena.h"
#include "calibration.h"
#include "context.h"
#include "rpinn/calibrate.h"
#include "text.h"

enum { RPINN_MAX_CALIBRATED_METHODS = 8 };

/* Whatever has a truth: a quantity of `predict:` at its points, or an unknown. */
typedef struct RpinnCalibrationSubject {
  const char *name;
  bool is_unknown;
  size_t index; /* among the quantities, or the unknowns */
} RpinnCalibrationSubject;

/* One run, scored. */
typedef struct RpinnCalibrationRow {
  bool is_made;
  double seconds, prior_scale;
  RpinnCalibrationScore *scores; /* [num_subjects] */
} RpinnCalibrationRow;

typedef struct RpinnCalibratedMethod {
  const char *name;
  size_t num_made;           /* data sets 0 … num_made - 1 are scored */
  RpinnCalibrationRow *rows; /* [num_data_sets] */
} RpinnCalibratedMethod;

struct RpinnCalibration {
  const RpinnCalibrateOptions *options; /* NULL once it is made */
  RpinnArena *arena;
  const char *problem, *redraw;
  size_t num_data_sets;
  const char *members;
  size_t num_methods;
  RpinnCalibratedMethod methods[RPINN_MAX_CALIBRATED_METHODS];
  size_t num_subjects;
  RpinnCalibrationSubject *subjects;
  bool interrupted;
  RpinnText text, csv, json;
};

/* calibrate_scores.c: the score of a run as a small file, so that it is made once. */

/* False in *found where there is none. */
RpinnStatus rpinn_calibration_read_row(RpinnContext *context, const RpinnCalibration *calibration,
                                       size_t method, size_t data_set, bool *found);
RpinnStatus rpinn_calibration_write_row(RpinnContext *context, const RpinnCalibration *calibration,
                                        size_t method, size_t data_set);

/* calibrate_tables.c: text, csv and json from the rows so far. */
RpinnStatus rpinn_calibration_write_tables(RpinnContext *context, RpinnCalibration *calibration);
/* "rpinn: u 94.8 +- 3.4 %, f 95.2 +- 3.4 %" */
void rpinn_calibration_write_line(const RpinnCalibration *calibration, size_t method, RpinnText *line);

#endif
