/* Studies: many runs at once. */
#ifndef RPINN_STUDY_H
#define RPINN_STUDY_H

#include "rpinn/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finished runs side by side: one table per quantity with a row per run, or the same as JSON. NULL on
 * failure, with the reason on the context (a missing, unfinished or damaged run is bad input); the caller
 * frees the text. */
RPINN_API char *rpinn_compare(RpinnContext *context, size_t num_runs, const char *const *folders, bool json);

/* Which part of the paper, how, and where to. NULL means the default. */
typedef struct RpinnReproduceOptions {
  const char *name;    /* one of rpinn_reproduce_name */
  const char *scale;   /* "paper": the published settings; "medium": shortened, an hour or two, still judged;
                          "quick" (default): a minute's worth, not judged */
  const char *methods; /* names with commas between them; default: all that the table has */
  const char *members; /* another number of members, of particles, or of draws per chain, for every run */
  const char *backend, *precision; /* of every run, as in a problem file; NULL: the usual ones */
  const char *data_folder;         /* with the published data sets; NULL: synthetic data, not judged */
  const char *folder;              /* for the runs and the tables; finished runs in it are not repeated */
  RpinnTaskShard shard;            /* whose runs are made, and no tables: rpinn_merge_tasks; default: all */
  bool (*interrupted)(void *user); /* as in RpinnRunOptions; may be NULL */
  void (*progress)(void *user, const RpinnProgress *progress); /* of the run under way; may be NULL */
  void (*begins)(void *user, const char *run);                 /* a run that is about to begin; may be NULL */
  /* Before the first run, at scales above quick: how many runs are to be made and about how long they take, at
   * most; may be NULL. */
  void (*estimate)(void *user, size_t num_runs, double seconds);
  /* A figure remains NAME.gp in the folder: there is no gnuplot, or it failed; may be NULL. */
  void (*not_drawn)(void *user, const char *folder, const char *name, bool has_gnuplot);
  void *user;
} RpinnReproduceOptions;

typedef struct RpinnReproduction RpinnReproduction;

/* What can be reproduced, each with a line about it; NULL after the last. */
RPINN_API const char *rpinn_reproduce_name(size_t index);
RPINN_API const char *rpinn_reproduce_description(size_t index);

/* Make the runs of a table of the paper, compare their figures with the published ones and with those of an
 * independent re-run, and write NAME.md, NAME.csv and NAME.json; of a figure: NAME.md, NAME.json, CSV files of its
 * panels and NAME.gp, a script for gnuplot; of "all": every entry in turn, and an index. Figures that differ are an outcome, not an error. An interruption
 * returns RPINN_OK with the runs so far saved, and no tables. */
RPINN_API RpinnStatus rpinn_reproduce(RpinnContext *context, const RpinnReproduceOptions *options,
                                      RpinnReproduction **reproduction);
RPINN_API void rpinn_reproduction_destroy(RpinnReproduction *reproduction);
RPINN_API bool rpinn_reproduction_interrupted(const RpinnReproduction *reproduction);
/* NAME.md and NAME.json. NULL after an interruption, and of a shard. */
RPINN_API const char *rpinn_reproduction_text(const RpinnReproduction *reproduction);
RPINN_API const char *rpinn_reproduction_json(const RpinnReproduction *reproduction);

#ifdef __cplusplus
}
#endif
#endif
