/* Draws of one chain as CmdStan writes them: comments with the configuration, a row of names, a row per draw.
 *
 *   # method = sample (Default)              lp__, accept_stat__, stepsize__, treedepth__, n_leapfrog__,
 *   #   num_warmup = 1000 (Default)          divergent__ and energy__ come before the parameters; old files lack
 *   #   save_warmup = 0 (Default)            some of them, or say n_divergent__
 *   #   thin = 1 (Default)
 *   lp__,accept_stat__,…,theta.1,theta.2
 *   -3.1,0.95,…
 *
 * Rows of the warmup, which are there with save_warmup = 1, are left out. */
#ifndef RPINN_IO_CMDSTAN_CSV_H
#define RPINN_IO_CMDSTAN_CSV_H

#include <stddef.h>

#include "arena.h"
#include "context.h"

typedef struct RpinnCmdstanChain {
  const char *file;
  size_t num_columns, num_draws; /* both at least 1 */
  size_t header_line, last_line; /* of the names and of the last draw; 1-based */
  const char **names;            /* [num_columns] all different, "lp__" among them */
  const size_t *name_columns;    /* [num_columns] where each name begins on its line; 1-based */
  const double *values;          /* [num_columns][num_draws]; CmdStan also writes nan, inf and -inf */
  size_t num_warmup_rows;        /* rows that were left out */
  size_t max_depth;              /* of the trees; 0 when the file does not say */
} RpinnCmdstanChain;

/* The chain, in the arena; nothing borrows from file or bytes afterwards. What is not such a file is bad input. */
RpinnStatus rpinn_cmdstan_csv_parse(RpinnContext *context, RpinnArena *arena, const char *file,
                                    const char *bytes, size_t length, RpinnCmdstanChain **chain);
RpinnStatus rpinn_cmdstan_csv_read_file(RpinnContext *context, RpinnArena *arena, const char *path,
                                        RpinnCmdstanChain **chain);

/* Bad input unless `other` has the columns and the number of draws of `first`. */
RpinnStatus rpinn_cmdstan_csv_agree(RpinnContext *context, const RpinnCmdstanChain *first,
                                    const RpinnCmdstanChain *other);

/* The draws of a column [num_draws]; NULL when the file has no such column. */
const double *rpinn_cmdstan_csv_column(const RpinnCmdstanChain *chain, const char *name);

#endif
