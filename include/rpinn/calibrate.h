/* `rpinn calibrate`: do the intervals of a problem hold? Many data sets from its truth, a run for each, and how often the truth
 * lies where the run said. */
#ifndef RPINN_CALIBRATE_H
#define RPINN_CALIBRATE_H

#include "rpinn/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known after another run. */
typedef struct RpinnCalibrateProgress {
  size_t done, total;  /* runs */
  double seconds_left; /* an estimate, NaN while there is none */
  const char *line;    /* the method, and coverage so far at 95 %: valid whatever comes */
} RpinnCalibrateProgress;

/* NULL and 0 mean the default. */
typedef struct RpinnCalibrateOptions {
  const char *problem;                /* a shipped name or a file */
  const RpinnProblemOptions *loading; /* preset and overrides for all runs; may be NULL */
  size_t num_data_sets;               /* default 40 */
  const char *redraw;  /* what is new in each: "noise" (default), "points": and those that are drawn,
                                         "truth": and a truth that is drawn */
  const char *methods; /* names, separated by commas; default: that of the problem */
  const char *members; /* members or particles of a run, default 79; at least 39 */
  const char *folder;  /* for scores and tables; runs that are scored there are not repeated */
  bool keep_runs;      /* leave their directories in folder/runs */
  bool (*interrupted)(void *user);                             /* as in RpinnRunOptions; may be NULL */
  void (*progress)(void *user, const RpinnProgress *progress); /* of the run under way; may be NULL */
  void (*scored)(void *user, const RpinnCalibrateProgress *calibration); /* after each run; may be NULL */
  void *user;
} RpinnCalibrateOptions;

typedef struct RpinnCalibration RpinnCalibration;

/* Make the runs and write calibration.md, calibration.csv and calibration.json into the folder, anew after each data set. The
 * prior's scale, the MAP and everything else that the data decide is made anew for each; frozen layers stay. Bad input: no
 * truth to compare with, a method without spread, too few members, a folder with a calibration of another problem. An
 * interruption returns RPINN_OK with the scores so far. */
RPINN_API RpinnStatus rpinn_calibrate(RpinnContext *context, const RpinnCalibrateOptions *options,
                                      RpinnCalibration **calibration);
RPINN_API void rpinn_calibration_destroy(RpinnCalibration *calibration);
RPINN_API bool rpinn_calibration_interrupted(const RpinnCalibration *calibration);
/* calibration.md and calibration.json. */
RPINN_API const char *rpinn_calibration_text(const RpinnCalibration *calibration);
RPINN_API const char *rpinn_calibration_json(const RpinnCalibration *calibration);

#ifdef __cplusplus
}
#endif
#endif
