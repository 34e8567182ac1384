/* What the optimisers share: the record of a run, its stops, and the saved state.
 *
 * A method embeds RpinnOptimizer as its first member and fills in its functions; optimizer.c drives them. It never calls its
 * target: it asks (request.h) and goes on when it is answered. */
#ifndef RPINN_OPTIMIZE_OPTIMIZER_H
#define RPINN_OPTIMIZE_OPTIMIZER_H

#include <float.h>
#include <stdint.h>

#include "arena.h"
#include "context.h"
#include "request.h"
#include "rpinn/optimize.h"
#include "saved_state.h"

/* Two losses this close, relative to their size and in units of rounding, are the same: a loss is a sum of
 * many squares. */
#define RPINN_LOSS_UNITS    64
#define RPINN_LOSS_ROUNDING (RPINN_LOSS_UNITS * DBL_EPSILON)

typedef struct RpinnOptimizerMethod {
  uint64_t code; /* names the method in saved states */
  /* Look at the start, which is in theta, and note it; and one iteration, or for chunks at most `most`: count them, and note the
   * new point. True: it asks, with optimizer->request; once answered it goes on, and is done when it does not ask again. */
  bool (*begin)(RpinnOptimizer *optimizer);
  bool (*iterate)(RpinnOptimizer *optimizer, size_t most);
  bool (*answered)(RpinnOptimizer *optimizer);
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
  bool is_beginning, is_asking; /* the request is to be answered, or is, and has not been taken note of */
  size_t end;                   /* iterations to go to */
  bool is_stalled; /* it has stopped though its model promises more: exacter values may bring it further */
  RpinnRequest request;
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

/* ---- one request at a time: for those who answer those of many ---- */

/* Be at theta [num_parameters] and forget everything before; what the target says of it is asked first. */
void rpinn_optimizer_place(RpinnOptimizer *optimizer, const double *theta);
/* Be where another optimiser of as many parameters has come to, with its counts of iterations and evaluations and its trace, and begin from
 * there: for a target that is the same in another precision. */
void rpinn_optimizer_follow(RpinnOptimizer *optimizer, const RpinnOptimizer *before);
/* Be ready for at most num_iterations further ones, as in rpinn_optimizer_advance. */
RpinnStatus rpinn_optimizer_set_out(RpinnContext *context, RpinnOptimizer *optimizer, size_t num_iterations);
/* Go on, with the answer to the last request where there was one: the next request, or NULL when it has stopped or come as
 * far as it was to go. Only then can it be saved. */
RpinnRequest *rpinn_optimizer_next(RpinnOptimizer *optimizer);
/* Its request could not be answered: it has to be started or restored. */
void rpinn_optimizer_give_up(RpinnOptimizer *optimizer);

/* Take note of the loss and gradient norm at theta after num_iterations: the best point, the trace, the
 * stops. */
void rpinn_optimizer_note(RpinnOptimizer *optimizer, double loss, double gradient_norm);

#endif
