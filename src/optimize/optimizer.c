/* The run of an optimiser: stops, trace, best point, and the saved state.
 *
 * A saved state (saved_state.h) belongs to a method, a number of parameters and a shape; its fields are those of the
 * run and then those of the method. */
#include "optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "askers.h"

/* ---- stops ---- */

static const struct {
  const char *name, *meaning;
} stop_table[] = {
#define RPINN_STOP_ROW(name, text, meaning) {text, meaning},
    RPINN_STOP_LIST(RPINN_STOP_ROW)
#undef RPINN_STOP_ROW
};

const char *rpinn_stop_name(RpinnStop stop) {
  return (size_t)stop < RPINN_NUM_STOPS ? stop_table[stop].name : "unknown";
}

const char *rpinn_stop_meaning(RpinnStop stop) {
  return (size_t)stop < RPINN_NUM_STOPS ? stop_table[stop].meaning : "not a reason to stop";
}

/* ---- create and destroy ---- */

static RpinnStatus check_rule(RpinnContext *context, const RpinnStopRule *rule) {
  if (rule->max_iterations == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "max_iterations is 0, expected at least 1");
  if (!(rule->gradient_tolerance >= 0))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "gradient_tolerance is %g, expected 0 or more",
                      rule->gradient_tolerance);
  if (!(rule->progress_tolerance >= 0))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "progress_tolerance is %g, expected 0 or more",
                      rule->progress_tolerance);
  if (!(rule->progress_amount >= 0))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "progress_amount is %g, expected 0 or more",
                      rule->progress_amount);
  return RPINN_OK;
}

double *rpinn_optimizer_numbers(RpinnOptimizer *optimizer, size_t count, bool *failed) {
  double *numbers = RPINN_ARENA_NEW(optimizer->arena, double, count);
  if (!numbers) *failed = true;
  return numbers;
}

RpinnStatus rpinn_optimizer_create(RpinnContext *context, const RpinnOptimizerMethod *method, size_t size,
                                   const RpinnStopRule *rule, size_t num_parameters, bool keep_best,
                                   RpinnOptimizer **optimizer) {
  *optimizer = NULL;
  RPINN_TRY(check_rule(context, rule));
  if (num_parameters == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "there are no parameters to optimise");
  if (num_parameters > INT32_MAX) /* what BLAS can count */
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "%zu parameters are too many", num_parameters);
  RpinnArena *arena = rpinn_arena_create();
  RpinnOptimizer *created = arena ? rpinn_arena_allocate(arena, 1, size) : NULL;
  bool failed = !created;
  if (created) {
    created->method = method;
    created->arena = arena;
    created->rule = *rule;
    created->num_parameters = num_parameters;
    created->theta = rpinn_optimizer_numbers(created, num_parameters, &failed);
    created->best = keep_best ? rpinn_optimizer_numbers(created, num_parameters, &failed) : NULL;
  }
  if (failed) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  *optimizer = created;
  return RPINN_OK;
}

void rpinn_optimizer_destroy(RpinnOptimizer *optimizer) {
  if (optimizer) rpinn_arena_destroy(optimizer->arena);
}

/* ---- the record of a run ---- */

static void thin_trace(RpinnOptimizer *optimizer) {
  size_t kept = 0;
  for (size_t i = 0; i < optimizer->num_trace; i += 2) optimizer->trace[kept++] = optimizer->trace[i];
  optimizer->num_trace = kept;
  optimizer->trace_stride *= 2;
}

static void extend_trace(RpinnOptimizer *optimizer) {
  size_t number = optimizer->num_noted++;
  if (optimizer->num_trace == RPINN_TRACE_CAPACITY) thin_trace(optimizer);
  if (number % optimizer->trace_stride == 0)
    optimizer->trace[optimizer->num_trace++] = (RpinnTracePoint){optimizer->num_iterations, optimizer->loss};
}

/* A window ends after progress_window iterations; the next one begins where it ends. */
static bool window_without_progress(RpinnOptimizer *optimizer) {
  const RpinnStopRule *rule = &optimizer->rule;
  if (rule->progress_window == 0 ||
      optimizer->num_iterations - optimizer->window_start < rule->progress_window)
    return false;
  double decrease = optimizer->window_loss - optimizer->lowest_loss;
  if (!(decrease > rule->progress_tolerance * fabs(optimizer->window_loss))) return true;
  if (!(decrease > rule->progress_amount)) return true;
  optimizer->window_start = optimizer->num_iterations;
  optimizer->window_loss = optimizer->lowest_loss;
  return false;
}

void rpinn_optimizer_note(RpinnOptimizer *optimizer, double loss, double gradient_norm) {
  optimizer->loss = loss;
  optimizer->gradient_norm = gradient_norm;
  extend_trace(optimizer);
  if (!isfinite(loss) || !isfinite(gradient_norm)) {
    optimizer->stop = RPINN_STOP_NOT_FINITE;
    return;
  }
  if (loss < optimizer->lowest_loss) {
    optimizer->lowest_loss = loss;
    if (optimizer->best)
      memcpy(optimizer->best, optimizer->theta, optimizer->num_parameters * sizeof(double));
  }
  if (gradient_norm <= optimizer->rule.gradient_tolerance)
    optimizer->stop = RPINN_STOP_GRADIENT_SMALL;
  else if (window_without_progress(optimizer))
    optimizer->stop = RPINN_STOP_NO_PROGRESS;
}

/* ---- advancing ---- */

void rpinn_optimizer_place(RpinnOptimizer *optimizer, const double *theta) {
  size_t bytes = optimizer->num_parameters * sizeof(double);
  memcpy(optimizer->theta, theta, bytes);
  if (optimizer->best) memcpy(optimizer->best, theta, bytes);
  optimizer->started = optimizer->is_asking = optimizer->is_stalled = false;
  optimizer->is_beginning = true;
  optimizer->end = 0;
  optimizer->stop = RPINN_STOP_RUNNING;
  optimizer->num_iterations = optimizer->num_evaluations = 0;
  optimizer->lowest_loss = HUGE_VAL;
  optimizer->window_start = 0;
  optimizer->num_noted = optimizer->num_trace = 0;
  optimizer->trace_stride = 1;
}

void rpinn_optimizer_follow(RpinnOptimizer *optimizer, const RpinnOptimizer *before) {
  rpinn_optimizer_place(optimizer, rpinn_optimizer_optimum(before).best_theta);
  optimizer->num_iterations = optimizer->window_start = before->num_iterations;
  optimizer->num_evaluations = before->num_evaluations;
  optimizer->num_noted = before->num_noted;
  optimizer->trace_stride = before->trace_stride;
  optimizer->num_trace = before->num_trace;
  memcpy(optimizer->trace, before->trace, sizeof optimizer->trace);
}

static bool may_go_on(const RpinnOptimizer *optimizer) {
  switch (optimizer->stop) {
  case RPINN_STOP_RUNNING:
  case RPINN_STOP_INTERRUPTED: return true;
  case RPINN_STOP_BUDGET: return optimizer->num_iterations < optimizer->rule.max_iterations;
  default: return false;
  }
}

RpinnStatus rpinn_optimizer_set_out(RpinnContext *context, RpinnOptimizer *optimizer, size_t num_iterations) {
  if (!optimizer->started)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the optimiser was not started, or has failed before");
  if (!may_go_on(optimizer)) return RPINN_OK;
  size_t done = optimizer->num_iterations;
  optimizer->stop = RPINN_STOP_RUNNING;
  optimizer->end = num_iterations < SIZE_MAX - done ? done + num_iterations : SIZE_MAX;
  return RPINN_OK;
}

void rpinn_optimizer_give_up(RpinnOptimizer *optimizer) {
  optimizer->started = optimizer->is_beginning = optimizer->is_asking = optimizer->is_stalled = false;
  optimizer->end = 0;
}

/* Is there another iteration to be made? Finds the stops that are looked for between iterations. */
static bool goes_on(RpinnOptimizer *optimizer) {
  const RpinnStopRule *rule = &optimizer->rule;
  if (!optimizer->started || optimizer->stop != RPINN_STOP_RUNNING) return false;
  if (optimizer->num_iterations >= rule->max_iterations)
    optimizer->stop = RPINN_STOP_BUDGET;
  else if (optimizer->num_iterations >= optimizer->end)
    return false;
  else if (rule->interrupted && rule->interrupted(rule->interrupted_user))
    optimizer->stop = RPINN_STOP_INTERRUPTED;
  return optimizer->stop == RPINN_STOP_RUNNING;
}

static void finish_beginning(RpinnOptimizer *optimizer) {
  optimizer->is_beginning = false;
  optimizer->window_loss = optimizer->lowest_loss;
  optimizer->started = true;
}

RpinnRequest *rpinn_optimizer_next(RpinnOptimizer *optimizer) {
  const RpinnOptimizerMethod *method = optimizer->method;
  bool asks = optimizer->is_asking ? method->answered(optimizer)
                                   : optimizer->is_beginning && method->begin(optimizer);
  if (!asks && optimizer->is_beginning) finish_beginning(optimizer);
  while (!asks && goes_on(optimizer))
    asks = method->iterate(optimizer, optimizer->end - optimizer->num_iterations);
  optimizer->is_asking = asks;
  return asks ? &optimizer->request : NULL;
}

static RpinnStatus go(RpinnContext *context, RpinnOptimizer *optimizer) {
  for (RpinnRequest *request; (request = rpinn_optimizer_next(optimizer));)
    RPINN_TRY(rpinn_request_answer(context, request));
  return RPINN_OK;
}

/* To its end, or until the target fails. */
static RpinnStatus pursue(RpinnContext *context, RpinnOptimizer *optimizer) {
  rpinn_context_clear_error(context);
  RpinnStatus status = go(context, optimizer);
  if (status != RPINN_OK) rpinn_optimizer_give_up(optimizer);
  return status;
}

RpinnStatus rpinn_optimizer_start(RpinnContext *context, RpinnOptimizer *optimizer, const double *theta) {
  rpinn_optimizer_place(optimizer, theta);
  return pursue(context, optimizer);
}

RpinnStatus rpinn_optimizer_advance(RpinnContext *context, RpinnOptimizer *optimizer, size_t num_iterations) {
  RPINN_TRY(rpinn_optimizer_set_out(context, optimizer, num_iterations));
  return may_go_on(optimizer) ? pursue(context, optimizer) : RPINN_OK;
}

/* ---- several together ---- */

static RpinnStatus ask(RpinnContext *context, void *self, RpinnRequest **request) {
  (void)context;
  *request = rpinn_optimizer_next(self);
  return RPINN_OK;
}

static RpinnStatus pursue_together(RpinnContext *context, size_t count, RpinnOptimizer *const *optimizers) {
  RpinnAsker *askers = calloc(count + 1, sizeof *askers);
  if (!askers) return rpinn_fail_memory(context);
  rpinn_context_clear_error(context);
  for (size_t k = 0; k < count; k++) askers[k] = (RpinnAsker){.self = optimizers[k], .next = ask};
  RpinnStatus status = rpinn_askers_run(context, count, askers);
  for (size_t k = 0; status != RPINN_OK && k < count; k++) rpinn_optimizer_give_up(optimizers[k]);
  free(askers);
  return status;
}

RpinnStatus rpinn_optimizers_start(RpinnContext *context, size_t count, RpinnOptimizer *const *optimizers,
                                   const double *const *thetas) {
  for (size_t k = 0; k < count; k++) rpinn_optimizer_place(optimizers[k], thetas[k]);
  return pursue_together(context, count, optimizers);
}

RpinnStatus rpinn_optimizers_advance(RpinnContext *context, size_t count, RpinnOptimizer *const *optimizers,
                                     size_t num_iterations) {
  for (size_t k = 0; k < count; k++)
    RPINN_TRY(rpinn_optimizer_set_out(context, optimizers[k], num_iterations));
  return pursue_together(context, count, optimizers);
}

RpinnOptimum rpinn_optimizer_optimum(const RpinnOptimizer *optimizer) {
  return (RpinnOptimum){.stop = optimizer->stop,
                        .num_iterations = optimizer->num_iterations,
                        .num_evaluations = optimizer->num_evaluations,
                        .theta = optimizer->theta,
                        .loss = optimizer->loss,
                        .gradient_norm = optimizer->gradient_norm,
                        .best_theta = optimizer->best ? optimizer->best : optimizer->theta,
                        .best_loss = optimizer->best || !isfinite(optimizer->loss) ? optimizer->lowest_loss
                                                                                   : optimizer->loss,
                        .trace = optimizer->trace,
                        .num_trace = optimizer->num_trace};
}

/* ---- the saved state ---- */

typedef struct Owner {
  uint64_t method, num_parameters, shape[2];
} Owner;

static const RpinnStateForm form = {.name = "optimiser state",
                                    .magic = 0x72706e6e2d6f7074, /* "rpnn-opt" */
                                    .version = 2,
                                    .owner_size = sizeof(Owner)};

static void transfer_trace(RpinnOptimizer *optimizer, RpinnStateCursor *cursor) {
  for (size_t i = 0; i < RPINN_TRACE_CAPACITY; i++) {
    rpinn_state_field(cursor, &optimizer->trace[i].iteration, sizeof(size_t));
    rpinn_state_numbers(cursor, &optimizer->trace[i].loss, 1);
  }
}

/* Only a restore writes to the optimiser. */
static void transfer(RpinnOptimizer *optimizer, RpinnStateCursor *cursor) {
  uint64_t stop = (uint64_t)optimizer->stop;
  rpinn_state_field(cursor, &stop, sizeof stop);
  if (cursor->use == RPINN_STATE_RESTORE)
    optimizer->stop = stop < RPINN_NUM_STOPS ? (RpinnStop)stop : RPINN_NUM_STOPS;
  size_t *const counts[] = {&optimizer->num_iterations, &optimizer->num_evaluations, &optimizer->window_start,
                            &optimizer->num_noted,      &optimizer->trace_stride,    &optimizer->num_trace};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
    rpinn_state_field(cursor, counts[i], sizeof *counts[i]);
  rpinn_state_numbers(cursor, &optimizer->loss, 1);
  rpinn_state_numbers(cursor, &optimizer->gradient_norm, 1);
  rpinn_state_numbers(cursor, &optimizer->lowest_loss, 1);
  rpinn_state_numbers(cursor, &optimizer->window_loss, 1);
  transfer_trace(optimizer, cursor);
  rpinn_state_numbers(cursor, optimizer->theta, optimizer->num_parameters);
  if (optimizer->best) rpinn_state_numbers(cursor, optimizer->best, optimizer->num_parameters);
  optimizer->method->transfer(optimizer, cursor);
}

static bool run_is_in_range(const RpinnOptimizer *optimizer) {
  return (size_t)optimizer->stop < RPINN_NUM_STOPS && optimizer->num_trace <= RPINN_TRACE_CAPACITY &&
         optimizer->trace_stride > 0 && optimizer->window_start <= optimizer->num_iterations;
}

size_t rpinn_optimizer_state_size(const RpinnOptimizer *optimizer) {
  RpinnStateCursor cursor = {.use = RPINN_STATE_MEASURE};
  transfer((RpinnOptimizer *)optimizer, &cursor);
  return rpinn_state_size(&form, cursor.position);
}

static Owner owner_of(const RpinnOptimizer *optimizer) {
  return (Owner){
      optimizer->method->code, optimizer->num_parameters, {optimizer->shape[0], optimizer->shape[1]}};
}

void rpinn_optimizer_save(const RpinnOptimizer *optimizer, void *buffer) {
  Owner owner = owner_of(optimizer);
  RpinnStateCursor cursor = rpinn_state_begin(&form, &owner, buffer, rpinn_optimizer_state_size(optimizer));
  transfer((RpinnOptimizer *)optimizer, &cursor);
  rpinn_state_end(&cursor);
}

RpinnStatus rpinn_optimizer_restore(RpinnContext *context, RpinnOptimizer *optimizer, const void *buffer,
                                    size_t size) {
  Owner expected = owner_of(optimizer), found;
  RpinnStateCursor cursor;
  RPINN_TRY(rpinn_state_header(context, &form, buffer, size, &found));
  if (memcmp(&found, &expected, sizeof found) != 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the optimiser state was saved by another method or for another size of problem "
                      "(%llu parameters, expected %zu)",
                      (unsigned long long)found.num_parameters, optimizer->num_parameters);
  RPINN_TRY(rpinn_state_open(context, &form, buffer, size, rpinn_optimizer_state_size(optimizer), &cursor));
  transfer(optimizer, &cursor);
  rpinn_optimizer_give_up(optimizer);
  optimizer->started = run_is_in_range(optimizer) && optimizer->method->restored(optimizer);
  if (!optimizer->started)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the optimiser state holds a count that is out of range");
  return RPINN_OK;
}
