/* What the optimisers share: the record of a run, its stops, and the saved state.
 *
 * A method embeds RpinnOptimizer as its first member and fills in four functions; optimizer.c drives them. */
#ifndef RPINN_OPTIMIZE_OPTIMIZER_H
#define RPINN_OPTIMIZE_OPTIMIZER_H

#include <float.h>
#include <stdint.h>

#include "arena.h"
#include "context.h"
#include "rpinn/optimize.h"
#include "saved_state.h"

/* Two losses this close, relative to their size and in units of rounding, are the same: a loss is a sum of
 * many squares. */
#define RPINN_LOSS_UNITS    64
#define RPINN_LOSS_ROUNDING (RPINN_LOSS_UNITS * DBL_EPSILON)

typedef struct RpinnOptimizerMethod {
  uint64_t code; /* names the method in saved states */
  /* Evaluate the start, which is in theta, and note it. */
  RpinnStatus (*begin)(RpinnOptimizer *optimizer);
  /* One iteration, or for chunks at most `most`; counts them, and notes the new point. */
  RpinnStatus (*iterate)(RpinnOptimizer *optimizer, size_t most);
  /* Pass over the method's own fields. */
  void (*transfer)(RpinnOptimizer *optimizer, RpinnStateCursor *cursor);
  /* After a restore: false when a field is out of range. What is derived from the fields is out of date. */
  bool (*restored)(RpinnOptimizer *optimizer);
} RpinnOptimizerMethod;

struct RpinnOptimizer {
  const RpinnOptimizerMethod *method;
  RpinnArena *arena; /* holds the optimiser itself and all its vectors */
  RpinnStopRule rule;
  size_t num_parameters;
  size_t shape[2]; /* what else sizes the state: rows, memory */
  double *theta;   /* [num_parameters] */
  double *best;    /* [num_parameters] point of lowest_loss, or NULL for a method that never goes up */
  bool started;
  const char *called; /* the function of the target that was called last, for messages */
  /* ---- saved from here on, with theta and best ---- */
  RpinnStop stop;
  size_t num_iterations, num_evaluations;
  double loss, gradient_norm, lowest_loss;
  size_t window_start; /* the window for lack of progress: its first iteration and the lowest loss then */
  double window_loss;
  size_t num_noted, trace_stride, num_trace; /* an entry for every trace_stride-th point noted */
  RpinnTracePoint trace[RPINN_TRACE_CAPACITY];
};

/* A zeroed method struct of `size` bytes with its RpinnOptimizer, theta and (keep_best) best in place. */
RpinnStatus rpinn_optimizer_create(RpinnContext *context, const RpinnOptimizerMethod *method, size_t size,
                                   const RpinnStopRule *rule, size_t num_parameters, bool keep_best,
                                   RpinnOptimizer **optimizer);
/* count zeroed numbers from the optimiser's arena, or NULL; *failed is set when there is no memory. */
double *rpinn_optimizer_numbers(RpinnOptimizer *optimizer, size_t count, bool *failed);

/* Take note of the loss and gradient norm at theta after num_iterations: the best point, the trace, the
 * stops. */
void rpinn_optimizer_note(RpinnOptimizer *optimizer, double loss, double gradient_norm);

#endif
