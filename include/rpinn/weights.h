/* `rpinn weights`: which weights of the terms, which scale of the prior, which epsilon? A grid of values, what several rules say of
 * each of them, those that each rule takes, and what runs with these come to. */
#ifndef RPINN_WEIGHTS_H
#define RPINN_WEIGHTS_H

#include "rpinn/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known after another piece of work. */
typedef struct RpinnWeightProgress {
  const char *work;    /* "searches", "MAP runs", "runs" */
  size_t done, total;  /* pieces of it */
  double seconds_left; /* an estimate, NaN while there is none */
} RpinnWeightProgress;

/* NULL and 0 mean the default. */
typedef struct RpinnWeightOptions {
  const char *problem;                /* a shipped name or a file */
  const RpinnProblemOptions *loading; /* preset and overrides; may be NULL */
  const char *rules;                  /* names, separated by commas; default: all that the problem allows */
  /* The grid, an axis each, one or two: NAME, NAME=V,V,… or NAME=LOW:HIGH:COUNT with even steps of the logarithm. Names: weight,
   * weight:TERM, prior, shape, epsilon, noise, noise:TERM. Default: what the likelihood leaves open. */
  size_t num_searches;
  const char *const *searches; /* [num_searches] */
  const char
      *quantities;     /* names, separated by commas: what errors and LPP are of; default: all with a truth */
  const char *members; /* of a run, at least 39; default: --samples where it is given, else 79 */
  size_t num_data_sets; /* with fresh noise, that choices are scored on; default: the data at hand alone */
  size_t num_folds;     /* default 5 */
  size_t num_jobs;      /* runs at once, which leaves no mark on them; default 1 */
  const char *folder;   /* for scores and tables; what is known there is not made again */
  RpinnTaskShard shard; /* whose runs are made, and nothing is chosen: rpinn_merge_tasks; default: all */
  const char *file;     /* a problem file that gets the values of the first rule; default: none */
  bool (*interrupted)(void *user);                               /* as in RpinnRunOptions; may be NULL */
  void (*progress)(void *user, const RpinnProgress *progress);   /* of the run under way; may be NULL */
  void (*told)(void *user, const RpinnWeightProgress *progress); /* after each piece of work; may be NULL */
  void *user;
} RpinnWeightOptions;

typedef struct RpinnWeightSearch RpinnWeightSearch;

/* Make what the rules need and write weights.md, weights.csv, weights.json, chosen.yaml and report.html into the folder. Bad input:
 * a rule or an axis that the problem does not allow, with the reason; a folder with another search; a file that is there already
 * and was not written by a search. An interruption returns RPINN_OK: what is done is kept, and nothing is chosen yet. */
RPINN_API RpinnStatus rpinn_search_weights(RpinnContext *context, const RpinnWeightOptions *options,
                                           RpinnWeightSearch **search);
RPINN_API void rpinn_weight_search_destroy(RpinnWeightSearch *search);
RPINN_API bool rpinn_weight_search_interrupted(const RpinnWeightSearch *search);
/* weights.md and weights.json; NULL after an interruption, and of a shard. */
RPINN_API const char *rpinn_weight_search_text(const RpinnWeightSearch *search);
RPINN_API const char *rpinn_weight_search_json(const RpinnWeightSearch *search);

#ifdef __cplusplus
}
#endif
#endif
