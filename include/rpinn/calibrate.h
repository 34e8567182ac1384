/* `rpinn calibrate`: do the intervals of a problem hold? Many data sets whose truth is known, a run for each, and how often the
 * truth lies where the run said; or, of measurements without a truth, how well they are foretold where they are left out. */
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
  /* "truth": data sets are made from the truth of the problem. "prior": the truth of each is drawn from the prior, and every row
   * of every term is data of it (simulation-based calibration). "data": the data of the problem itself, in folds that are left
   * out in turn. Default: truth where there is one, else data. */
  const char *from;
  size_t num_data_sets; /* default 40; not for "data" */
  size_t num_folds;     /* for "data", default 5 */
  bool blocks;          /* folds that are regions of space, and not rows at random */
  const char
      *redraw; /* for "truth", what is new in each: "noise" (default), "points": and those that are drawn,
                           "truth": and a truth that is drawn */
  const char *methods; /* separated by commas: NAME, or NAME:SETTING=VALUE…; default: that of the problem */
  const char *
      members; /* members, particles or draws of a run, at least 39; default: --samples where it is given, else 79 */
  const char *folder;              /* for scores and tables; runs that are scored there are not repeated */
  size_t num_jobs;                 /* runs at once, which leaves no mark on them; default 1 */
  RpinnTaskShard shard;            /* whose runs are made, and no tables: rpinn_merge_tasks; default: all */
  bool keep_runs;                  /* leave their directories in folder/runs; not for "prior" */
  bool (*interrupted)(void *user); /* as in RpinnRunOptions; may be NULL */
  void (*progress)(void *user, const RpinnProgress *progress); /* of the run under way; may be NULL */
  void (*scored)(void *user, const RpinnCalibrateProgress *calibration); /* after each run; may be NULL */
  void *user;
} RpinnCalibrateOptions;

typedef struct RpinnCalibration RpinnCalibration;

/* Make the runs and write calibration.md, calibration.csv, calibration.json and report.html into the folder, anew after each data
 * set. The prior's scale, the MAP, the verdict and everything else that the data decide is made anew for each; frozen layers
 * stay. Bad input: nothing to compare with, a method without spread, too few members, a scale that is not fixed for "prior", a
 * folder with a calibration of another problem. An interruption returns RPINN_OK with the scores so far. */
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
