/* What `rpinn diagnose` does: can the draws of these chains be trusted? */
#ifndef RPINN_DIAGNOSE_H
#define RPINN_DIAGNOSE_H

#include "rpinn/draws.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnDiagnoseOptions {
  bool json; /* for programs, with all scalars */
  bool all;  /* a row for every scalar, in the order of the files; else for the worst 20 */
  /* of runs alone: */
  bool strict; /* parameters of networks count too, not only what is predicted */
  bool shape;  /* also write shape_plane.csv, shape_points.csv and shape_spectrum.csv into the run */
} RpinnDiagnoseOptions;

/* A report on chains that CmdStan wrote, one file each: statistics of lp__ and every parameter, findings with what to
 * try, and a verdict. *healthy: nothing speaks against the draws. NULL on failure, with the reason on the context (a
 * file that is no such chain, or chains that do not belong together, are bad input); the caller frees the text. */
RPINN_API char *rpinn_diagnose_csv(RpinnContext *context, size_t num_files, const char *const *files,
                                   const RpinnDiagnoseOptions *options, bool *healthy);

/* The same for a finished run, by its directory: tables of its chains where it has some, and its verdict (rpinn/verdict.h).
 * *healthy: the verdict is not bad, and with strict nothing speaks against its chains. */
RPINN_API char *rpinn_diagnose_run(RpinnContext *context, const char *folder,
                                   const RpinnDiagnoseOptions *options, bool *healthy);

/* The same for draws in memory, by the names of their parameters: lp, where it is among their statistics, and every parameter. Where
 * chains were interrupted, the first n draws of those are judged that have as many, with the n that keeps most draws. No draws at
 * all are bad input. */
RPINN_API char *rpinn_diagnose_draws(RpinnContext *context, const RpinnDraws *draws,
                                     const RpinnDiagnoseOptions *options, bool *healthy);

#ifdef __cplusplus
}
#endif
#endif
