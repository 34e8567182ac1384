/* `rpinn run`: a problem and its settings become a run directory. */
#ifndef RPINN_RUN_H
#define RPINN_RUN_H

#include <stdint.h>

#include "rpinn/problem.h"
#include "rpinn/ranks.h"
#include "rpinn/shard.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How far a run is: plain data, which may be sent to another process. */
typedef struct RpinnProgress {
  char unit[64];        /* what done and total count: "members", "iterations" */
  uint64_t done, total; /* of the whole run */
  uint64_t failed;      /* members */
  uint64_t divergences; /* of chains, in this session */
  uint64_t iterations;  /* made in this session, over all members or chains */
  double loss_low,
      loss_median, /* of the members, or draws, done in this session: 5 %, 50 %, 95 %; NaN before */
      loss_high;   /* the first */
  double seconds, seconds_left; /* since the start; an estimate, NaN while there is none */
  bool last;                    /* no further report follows */
} RpinnProgress;

typedef struct RpinnRunOptions {
  /* Made if need be; refused: one that holds a run already, unless it is resumed, or files of somebody else that the run
   * would replace. */
  const char *folder;
  /* Go on with the run in the folder: the same settings, samples may be more. Where the folder is absent or empty it
   * begins, with a line in the log of the context. */
  bool resume;
  /* A shard of the run, or all of it: its members or chains in a store of their own, and no results; rpinn_merge makes these. */
  RpinnShard shard;
  /* learnt.db of a shard of the same run: what all shards learn alike is taken from it. NULL: it is learnt here. */
  const char *learnt;
  /* Those who make the run together, all of them with the same problem and options; NULL: it is made by this process alone. Rank 0 has the results, all
   * others a run without any. */
  RpinnRanks *ranks;
  size_t num_threads;              /* where the setting `threads` is 0: at most so many; 0: one per core */
  bool (*interrupted)(void *user); /* asked often; true saves and stops */
  void (*progress)(void *user, const RpinnProgress *progress); /* called now and then; may be NULL */
  void *user;
} RpinnRunOptions;

typedef struct RpinnRun RpinnRun;

/* Make the run: run.yaml, run.log and checkpoint.db while it goes, then posterior.nc, predictions.csv,
 * summary.csv and summary.json. A run that was interrupted has saved its members, but not made these, and
 * returns RPINN_OK: see rpinn_run_interrupted. */
RPINN_API RpinnStatus rpinn_run(RpinnContext *context, const RpinnProblem *problem,
                                const RpinnRunOptions *options, RpinnRun **run);
RPINN_API void rpinn_run_destroy(RpinnRun *run);
RPINN_API bool rpinn_run_interrupted(const RpinnRun *run);
/* It has draws, and no results: rpinn_run_json and rpinn_run_table say how many. */
RPINN_API bool rpinn_run_is_shard(const RpinnRun *run);
/* summary.json, and the same as a table for people. NULL after an interruption. */
RPINN_API const char *rpinn_run_json(const RpinnRun *run);
RPINN_API const char *rpinn_run_table(const RpinnRun *run);

/* What a run, or a shard of it, would do, in words: members, iterations, threads, and estimates of time (from a short trial),
 * memory and disk. NULL on failure, with the reason on the context; the caller frees the text. */
RPINN_API char *rpinn_run_plan(RpinnContext *context, const RpinnProblem *problem, RpinnShard shard);

/* Finished runs, by their directories. Those that return a text return NULL on failure, with the reason on the context (a
 * missing, unfinished or damaged run is bad input); the caller frees the text. */

/* All of a run in memory again, for rpinn_report_write and its kin: nothing is sampled, and nothing is written into the
 * directory, which may be write-protected. */
RPINN_API RpinnStatus rpinn_run_reopen(RpinnContext *context, const char *folder, RpinnRun **run);

/* The table of a run, or with json its summary.json. */
RPINN_API char *rpinn_run_summary(RpinnContext *context, const char *folder, bool json);

typedef struct RpinnPredictOptions {
  const char *points_file; /* CSV with one column per coordinate */
  const char *quantities; /* names of fields and quantities, separated by commas; NULL: those of `predict:` */
  bool extrapolate;       /* allow points outside the domain */
  const char *out_file; /* where the result goes too, whole or not at all; NULL: nowhere. Never the points. */
} RpinnPredictOptions;

/* The run at other points: CSV with the coordinates, and mean, std, q025, median and q975 of every quantity
 * over the members, in the order of the points. */
RPINN_API char *rpinn_run_predict(RpinnContext *context, const char *folder,
                                  const RpinnPredictOptions *options);

typedef struct RpinnPointOptions {
  size_t num_points;
  const double *points; /* [num_points][num_coordinates], in the order of the problem's coordinates */
  const char *quantities;
  bool extrapolate; /* both as in RpinnPredictOptions */
  bool keep_draws;  /* of all draws that did not fail, and not only what they come to */
} RpinnPointOptions;

typedef struct RpinnPrediction RpinnPrediction;

/* The same at points in memory: the numbers that rpinn_run_predict writes. */
RPINN_API RpinnStatus rpinn_run_predict_at(RpinnContext *context, const char *folder,
                                           const RpinnPointOptions *options, RpinnPrediction **prediction);
RPINN_API void rpinn_prediction_destroy(RpinnPrediction *prediction);
RPINN_API size_t rpinn_prediction_num_quantities(const RpinnPrediction *prediction);
RPINN_API const char *rpinn_prediction_name(const RpinnPrediction *prediction, size_t quantity);
/* Draws of all chains, chain by chain, each with as many; 1 chain where the method has none. */
RPINN_API size_t rpinn_prediction_num_chains(const RpinnPrediction *prediction);
RPINN_API size_t rpinn_prediction_num_draws(const RpinnPrediction *prediction);
/* [num_quantities][num_points] each: mean, standard deviation, and quantiles 0.025, 0.5 and 0.975 of the draws; NaN where there
 * are too few. */
typedef enum RpinnPredictedStatistic {
  RPINN_PREDICTED_MEAN,
  RPINN_PREDICTED_STD,
  RPINN_PREDICTED_Q025,
  RPINN_PREDICTED_MEDIAN,
  RPINN_PREDICTED_Q975,
  RPINN_NUM_PREDICTED_STATISTICS
} RpinnPredictedStatistic;
RPINN_API const double *rpinn_prediction_statistic(const RpinnPrediction *prediction,
                                                   RpinnPredictedStatistic statistic);
/* [num_draws][num_quantities][num_points]; NULL without keep_draws. */
RPINN_API const double *rpinn_prediction_draws(const RpinnPrediction *prediction);

#ifdef __cplusplus
}
#endif
#endif
