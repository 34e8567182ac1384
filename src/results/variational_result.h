/* What variational inference has fitted, as the store has it. */
#ifndef RPINN_RESULTS_VARIATIONAL_RESULT_H
#define RPINN_RESULTS_VARIATIONAL_RESULT_H

#include "rpinn/posterior.h"
#include "rpinn/run.h"
#include "rpinn/variational.h"

typedef struct RpinnVariationalGaussian RpinnVariationalGaussian; /* variational_gaussian.h */
typedef struct RpinnArena RpinnArena;

/* One start. ELBOs are bounds on the log evidence of all rows, in the units of the data, as method laplace has it. */
typedef struct RpinnFittedStart {
  double num_iterations, converged;
  double elbo, error;
  double num_windows;
} RpinnFittedStart;

typedef struct RpinnVariationalResult {
  RpinnArena *arena; /* holds the rest; NULL for methods that fit nothing */
  size_t rank, num_starts, num_windows, chosen;
  RpinnFittedStart *starts;        /* [num_starts] */
  RpinnVariationalWindow *windows; /* [num_windows] those of one start after the other */
  RpinnVariationalGaussian *q;     /* of the chosen start */
} RpinnVariationalResult;

/* run->variational with room for q of a rank, and for starts and windows. */
RpinnStatus rpinn_run_make_variational_room(RpinnContext *context, RpinnRun *run, size_t rank,
                                            size_t num_starts, size_t num_windows);
/* run->variational as the store has it, unless it is there already; a run without it is refused. */
RpinnStatus rpinn_run_load_variational(RpinnContext *context, RpinnRun *run);
/* run->variational as it is kept in the store under rpinn_variational_state_key; the caller frees the state. */
RpinnStatus rpinn_run_pack_variational(RpinnContext *context, RpinnRun *run, void **state, size_t *size);

/* log p(data, theta) + E(theta), with the noise behind theta where that is not known: the constants of all rows and of the prior. */
double rpinn_posterior_log_constant(const RpinnPosterior *posterior);

#endif
