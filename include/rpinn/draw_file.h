/* Draws to a file that ArviZ and xarray open: NetCDF-4 with the groups of InferenceData, for draws of any sampler.
 *
 *   posterior        each variable (chain, draw), or (chain, draw, NAME_dim_0) where it is a vector
 *   sample_stats     each statistic (chain, draw)
 *   log_likelihood   each set of data (chain, draw, NAME_dim_0), for leave-one-out
 *   observed_data    the same names (NAME_dim_0), where the data are given
 *
 * Draws pass through: memory does not grow with their number. The file is written as path.part and renamed into its place when it is
 * whole, so that readers see the old one or the new one. It holds no times, so that equal draws in equal order give equal bytes. One
 * thread at a time per file; threads may write files of their own. */
#ifndef RPINN_DRAW_FILE_H
#define RPINN_DRAW_FILE_H

#include <stdint.h>

#include "rpinn/draws.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnFileVariable {
  const char *
      name; /* up to 120 bytes that begin with a letter, a digit or '_', without '/'; not "chain" or "draw" */
  size_t count;    /* of numbers: 1 is a scalar without a dimension of its own, 0 counts as 1 */
  bool is_vector;  /* has a dimension of its own also where it has one number; always with more */
  bool is_boolean; /* 0 and 1 are no and yes */
} RpinnFileVariable;

typedef struct RpinnDrawFileOptions {
  const char *title;            /* of the whole, attribute `name` of the file; NULL: none */
  const char *method;           /* what made the draws, attribute `method`: "nuts" */
  size_t num_chains, num_draws; /* of each chain: > 0; all must come */
  size_t num_variables;
  const RpinnFileVariable *variables; /* [num_variables] > 0 of the posterior */
  size_t num_statistics;
  const RpinnFileVariable *statistics; /* [num_statistics], of one number each */
  size_t num_data_sets;
  const RpinnFileVariable *data_sets; /* [num_data_sets] whose log likelihood is kept */
  const double *observed;             /* all data, set by set; NULL: no observed_data */
} RpinnDrawFileOptions;

typedef struct RpinnDrawFile RpinnDrawFile;

/* Starts path.part; copies what it needs of the options. Names that cannot be used, or that two variables of a group share, are
 * RPINN_ERROR_INPUT; a disk that is full or a folder that cannot be written to is RPINN_ERROR_IO. */
RPINN_API RpinnStatus rpinn_draw_file_create(RpinnContext *context, const char *path,
                                             const RpinnDrawFileOptions *options, RpinnDrawFile **file);
/* The next draw of a chain: the numbers of all variables, of all statistics and of all log likelihoods, each in the order of the
 * options (NULL where there are none). Chains may come in turns or one after the other. RPINN_ERROR_INPUT where the chain has all its
 * draws already. */
RPINN_API RpinnStatus rpinn_draw_file_add(RpinnContext *context, RpinnDrawFile *file, size_t chain,
                                          const double *variables, const double *statistics,
                                          const double *log_likelihood);
/* Put the file into its place; an existing one is replaced. RPINN_ERROR_INPUT where draws are missing. Destroy the handle afterwards. */
RPINN_API RpinnStatus rpinn_draw_file_finish(RpinnContext *context, RpinnDrawFile *file);
/* Without finish, or after it failed: path.part is removed. Accepts NULL. */
RPINN_API void rpinn_draw_file_destroy(RpinnDrawFile *file);

/* Draws in memory as such a file: the first num_draws of every chain that has as many (others are left out; none: RPINN_ERROR_INPUT),
 * with all their statistics. Parameters that are called b[0], b[1], … one after the other become one vector b. */
RPINN_API RpinnStatus rpinn_draws_write(RpinnContext *context, const RpinnDraws *draws, size_t num_draws,
                                        const char *method, const char *path);

#ifdef __cplusplus
}
#endif
#endif
