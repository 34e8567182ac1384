/* Are the draws the posterior? Their log weights, as their method weighs them, the Pareto k and effective size of these, and the
 * independence Metropolis step on them where it is asked for. */
#ifndef RPINN_RESULTS_RUN_WEIGHTS_H
#define RPINN_RESULTS_RUN_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "draw_store.h"
#include "pareto_smoothing.h"
#include "rpinn/posterior.h"
#include "rpinn/run.h"

/* How the draws of a method are weighed: log of the posterior by what they were drawn from, up to a constant. */
typedef struct RpinnWeigher {
  const char *name; /* "Gauss-Newton weights" */
  double largest_k; /* Pareto k from which on they are not to be used; infinite: left to the reader */
  /* NULL where weights make sense, else why they do not, of so many draws that did not fail and that converged. */
  const char *(*reason_against)(const RpinnRun *run, uint64_t finished, uint64_t converged);
  /* What a thread weighs with; close accepts NULL. */
  RpinnStatus (*open)(RpinnContext *context, const RpinnRun *run, RpinnPosterior *posterior, void **scales);
  void (*close)(void *scales);
  RpinnStatus (*weigh)(void *scales, RpinnContext *context, const RpinnVisitedDraw *draw, double *log_weight);
} RpinnWeigher;

extern const RpinnWeigher rpinn_gauss_newton_weigher; /* of minimisers with offsets */
extern const RpinnWeigher rpinn_variational_weigher;  /* of draws of a fitted distribution */

typedef struct RpinnRunWeights {
  bool apply;         /* the weights were computed */
  const char *reason; /* why not, in words; NULL where they were */
  RpinnParetoSmoothing smoothing;
  bool corrected;    /* the draws below are those of the Metropolis chain */
  double acceptance; /* of the chain; NaN where it was not asked for */
  uint32_t *times;   /* [draws] how often each draw is in the chain; NULL: once */
  double *
      log_weights; /* [draws] as they were found; NULL where none were computed, and of no use unless they apply */
  double *smoothed; /* [draws] with a smoothed tail, normalised */
} RpinnRunWeights;

/* Draws of a run being weighed, in a pass over them that its owner makes. */
typedef struct RpinnWeighing {
  RpinnContext *context;
  RpinnRun *run;
  const RpinnWeigher *weigher; /* NULL: the method has none */
  const char *reason;          /* why weights make no sense; NULL: they do, as far as is known */
  void **scales;               /* [num_posteriors] what threads weigh with; NULL where there is a reason */
  double *log_weights;         /* [samples + 1] */
  size_t count;                /* weighed so far */
} RpinnWeighing;

/* Close it on every path. */
void rpinn_weighing_open(RpinnContext *context, RpinnRun *run, RpinnWeighing *weighing);
/* Have the weigher's scales, which take the memory of a backend in double: before the first draw that is weighed. */
RpinnStatus rpinn_weighing_prepare(RpinnWeighing *weighing);
void rpinn_weighing_close(RpinnWeighing *weighing);
/* Is the next draw to be weighed, where so many did not fail, it included, and so many of these converged? No longer once
 * there is a reason against. */
bool rpinn_weighing_wants(RpinnWeighing *weighing, uint64_t finished, uint64_t converged);
/* The log weight of the next draw that did not fail. */
void rpinn_weighing_add(RpinnWeighing *weighing, double log_weight);
/* results.weights, of all draws: so many did not fail, and so many of these converged. */
RpinnStatus rpinn_weighing_finish(RpinnWeighing *weighing, uint64_t finished, uint64_t converged);
/* The same by a pass of its own, over so many draws that are all that they should be. */
RpinnStatus rpinn_run_make_weights(RpinnContext *context, RpinnRun *run, uint64_t num_draws);

#endif
