/* L-BFGS (Nocedal 1980; Nocedal & Wright 2006, algorithm 7.4).
 *
 *   s_k = theta_{k+1} - theta_k,  y_k = g_{k+1} - g_k,  rho_k = 1 / s_k.y_k
 *   direction = -H g by the two loops over the last `memory` pairs, with H_0 = (s.y / y.y) I of the newest
 * pair
 *
 * The first step, and the one after the pairs had to be dropped, goes down the gradient with a length of at
 * most 1: there is no curvature yet to scale it. A pair enters only with s.y clearly positive, so H stays
 * positive definite. When a line search fails the pairs are dropped and the steepest descent gets its chance;
 * when that fails too, the run stops. */
#include <math.h>
#include <string.h>

#include "dense_algebra.h"
#include "line_search.h"
#include "optimizer.h"
#include "target_check.h"

/* What the loss and gradient that were asked for are of. */
typedef enum Phase { AT_START, SEARCHING } Phase;

typedef struct Lbfgs {
  RpinnOptimizer base;
  RpinnObjective single;         /* the target for one, where it was given as such */
  RpinnBatchObjective objective; /* the target */
  double epsilon;                /* the unit of rounding of its values and gradients */
  size_t memory;
  size_t num_pairs, newest;             /* the pairs form a ring: newest, newest - 1, … modulo memory */
  double *steps, *changes;              /* s, y: [memory][N] */
  double *rho;                          /* [memory] */
  double *gradient;                     /* [N] */
  double *direction;                    /* [N] */
  double *trial_theta, *trial_gradient; /* [N] */
  double *alpha;                        /* [memory], of the first loop */
  /* ---- of the iteration under way ---- */
  Phase phase;
  RpinnLineSearch search;
} Lbfgs;

static size_t pair_index(const Lbfgs *lbfgs, size_t age) {
  return (lbfgs->newest + lbfgs->memory - age) % lbfgs->memory;
}

static void descend_gradient(Lbfgs *lbfgs) {
  for (size_t j = 0; j < lbfgs->base.num_parameters; j++) lbfgs->direction[j] = -lbfgs->gradient[j];
}

static void apply_inverse_hessian(Lbfgs *lbfgs) {
  size_t N = lbfgs->base.num_parameters;
  double *q = lbfgs->direction;
  for (size_t age = 0; age < lbfgs->num_pairs; age++) {
    size_t k = pair_index(lbfgs, age);
    lbfgs->alpha[k] = lbfgs->rho[k] * rpinn_dense_dot(N, lbfgs->steps + k * N, q);
    rpinn_dense_add(N, -lbfgs->alpha[k], lbfgs->changes + k * N, q);
  }
  const double *y = lbfgs->changes + lbfgs->newest * N;
  double scale = 1 / (lbfgs->rho[lbfgs->newest] * rpinn_dense_dot(N, y, y));
  for (size_t j = 0; j < N; j++) q[j] *= scale;
  for (size_t age = lbfgs->num_pairs; age-- > 0;) {
    size_t k = pair_index(lbfgs, age);
    double beta = lbfgs->rho[k] * rpinn_dense_dot(N, lbfgs->changes + k * N, q);
    rpinn_dense_add(N, lbfgs->alpha[k] - beta, lbfgs->steps + k * N, q);
  }
}

/* Fills direction and returns its slope, which is negative. */
static double choose_direction(Lbfgs *lbfgs) {
  size_t N = lbfgs->base.num_parameters;
  descend_gradient(lbfgs);
  if (lbfgs->num_pairs > 0) apply_inverse_hessian(lbfgs);
  double slope = rpinn_dense_dot(N, lbfgs->gradient, lbfgs->direction);
  if (slope < 0) return slope;
  lbfgs->num_pairs = 0;
  descend_gradient(lbfgs);
  return -rpinn_dense_dot(N, lbfgs->gradient, lbfgs->gradient);
}

static void remember_pair(Lbfgs *lbfgs) {
  size_t N = lbfgs->base.num_parameters, next = (lbfgs->newest + 1) % lbfgs->memory;
  double *s = lbfgs->steps + next * N, *y = lbfgs->changes + next * N;
  for (size_t j = 0; j < N; j++) {
    s[j] = lbfgs->trial_theta[j] - lbfgs->base.theta[j];
    y[j] = lbfgs->trial_gradient[j] - lbfgs->gradient[j];
  }
  double curvature = rpinn_dense_dot(N, s, y);
  if (!(curvature > lbfgs->epsilon * rpinn_dense_norm(N, s) * rpinn_dense_norm(N, y))) {
    if (lbfgs->num_pairs == lbfgs->memory) lbfgs->num_pairs--; /* its slot was the oldest pair's */
    return;
  }
  lbfgs->rho[next] = 1 / curvature;
  lbfgs->newest = next;
  if (lbfgs->num_pairs < lbfgs->memory) lbfgs->num_pairs++;
}

static void take_step(Lbfgs *lbfgs) {
  RpinnOptimizer *base = &lbfgs->base;
  size_t bytes = base->num_parameters * sizeof(double);
  remember_pair(lbfgs);
  memcpy(base->theta, lbfgs->trial_theta, bytes);
  memcpy(lbfgs->gradient, lbfgs->trial_gradient, bytes);
  rpinn_optimizer_note(base, lbfgs->search.trial_value,
                       rpinn_dense_norm(base->num_parameters, lbfgs->gradient));
}

/* -slope is about twice the decrease that a quasi-Newton direction promises. */
static void stay(Lbfgs *lbfgs) {
  RpinnOptimizer *base = &lbfgs->base;
  rpinn_optimizer_note(base, base->loss, base->gradient_norm);
  if (base->stop != RPINN_STOP_RUNNING) return;
  if (lbfgs->num_pairs == 0)
    base->stop = RPINN_STOP_LINE_SEARCH_FAILED;
  else if (-lbfgs->search.slope <= RPINN_LOSS_UNITS * lbfgs->epsilon * fabs(base->loss))
    base->stop = RPINN_STOP_NO_PROGRESS;
  lbfgs->num_pairs = 0;
}

/* ---- asking ---- */

static bool ask(Lbfgs *lbfgs, Phase phase, const double *theta, double *gradient) {
  RpinnRequest *request = &lbfgs->base.request;
  lbfgs->phase = phase;
  request->question = RPINN_QUESTION_EVALUATE;
  request->theta = theta;
  request->gradient = gradient;
  return true;
}

static bool ask_trial(Lbfgs *lbfgs) {
  return ask(lbfgs, SEARCHING, lbfgs->trial_theta, lbfgs->trial_gradient);
}

static bool begin(RpinnOptimizer *optimizer) {
  Lbfgs *lbfgs = (Lbfgs *)optimizer;
  lbfgs->num_pairs = lbfgs->newest = 0;
  return ask(lbfgs, AT_START, optimizer->theta, lbfgs->gradient);
}

static void note_start(Lbfgs *lbfgs) {
  RpinnOptimizer *base = &lbfgs->base;
  base->num_evaluations++;
  rpinn_optimizer_note(base, base->request.value, rpinn_dense_norm(base->num_parameters, lbfgs->gradient));
}

static bool iterate(RpinnOptimizer *optimizer, size_t most) {
  (void)most;
  Lbfgs *lbfgs = (Lbfgs *)optimizer;
  double slope = choose_direction(lbfgs);
  lbfgs->search =
      (RpinnLineSearch){.num_parameters = optimizer->num_parameters,
                        .theta = optimizer->theta,
                        .direction = lbfgs->direction,
                        .value = optimizer->loss,
                        .slope = slope,
                        .lowest_value = optimizer->lowest_loss,
                        .rounding = RPINN_LOSS_UNITS * lbfgs->epsilon,
                        .first_step = lbfgs->num_pairs > 0 ? 1 : fmin(1, 1 / optimizer->gradient_norm),
                        .trial_theta = lbfgs->trial_theta,
                        .trial_gradient = lbfgs->trial_gradient};
  rpinn_line_search_begin(&lbfgs->search);
  return ask_trial(lbfgs);
}

static void finish_search(Lbfgs *lbfgs) {
  lbfgs->base.num_evaluations += lbfgs->search.num_evaluations;
  lbfgs->base.num_iterations++;
  if (lbfgs->search.found)
    take_step(lbfgs);
  else
    stay(lbfgs);
}

static bool answered(RpinnOptimizer *optimizer) {
  Lbfgs *lbfgs = (Lbfgs *)optimizer;
  if (lbfgs->phase == AT_START) {
    note_start(lbfgs);
    return false;
  }
  lbfgs->search.trial_value = optimizer->request.value;
  if (rpinn_line_search_answered(&lbfgs->search)) return ask_trial(lbfgs);
  finish_search(lbfgs);
  return false;
}

/* ---- state and creation ---- */

static void transfer(RpinnOptimizer *optimizer, RpinnStateCursor *cursor) {
  Lbfgs *lbfgs = (Lbfgs *)optimizer;
  size_t N = optimizer->num_parameters;
  rpinn_state_field(cursor, &lbfgs->num_pairs, sizeof lbfgs->num_pairs);
  rpinn_state_field(cursor, &lbfgs->newest, sizeof lbfgs->newest);
  rpinn_state_numbers(cursor, lbfgs->gradient, N);
  rpinn_state_numbers(cursor, lbfgs->rho, lbfgs->memory);
  rpinn_state_numbers(cursor, lbfgs->steps, lbfgs->memory * N);
  rpinn_state_numbers(cursor, lbfgs->changes, lbfgs->memory * N);
}

static bool restored(RpinnOptimizer *optimizer) {
  const Lbfgs *lbfgs = (const Lbfgs *)optimizer;
  return lbfgs->num_pairs <= lbfgs->memory && lbfgs->newest < lbfgs->memory;
}

static const RpinnOptimizerMethod lbfgs_method = {.code = 2,
                                                  .begin = begin,
                                                  .iterate = iterate,
                                                  .answered = answered,
                                                  .transfer = transfer,
                                                  .restored = restored};

RpinnLbfgsOptions rpinn_lbfgs_default_options(void) {
  return (RpinnLbfgsOptions){.stop = {.max_iterations = 2000,
                                      .gradient_tolerance = 1e-6,
                                      .progress_window = 100,
                                      .progress_tolerance = 1e-8},
                             .memory = 20};
}

static bool allocate(Lbfgs *lbfgs) {
  RpinnOptimizer *base = &lbfgs->base;
  size_t N = base->num_parameters, memory = lbfgs->memory;
  bool failed = false;
  lbfgs->steps = rpinn_optimizer_numbers(base, memory * N, &failed);
  lbfgs->changes = rpinn_optimizer_numbers(base, memory * N, &failed);
  lbfgs->rho = rpinn_optimizer_numbers(base, memory, &failed);
  lbfgs->alpha = rpinn_optimizer_numbers(base, memory, &failed);
  lbfgs->gradient = rpinn_optimizer_numbers(base, N, &failed);
  lbfgs->direction = rpinn_optimizer_numbers(base, N, &failed);
  lbfgs->trial_theta = rpinn_optimizer_numbers(base, N, &failed);
  lbfgs->trial_gradient = rpinn_optimizer_numbers(base, N, &failed);
  return !failed;
}

RpinnStatus rpinn_lbfgs_create_member(RpinnContext *context, const RpinnBatchObjective *objective,
                                      size_t member, const RpinnLbfgsOptions *options,
                                      RpinnOptimizer **optimizer) {
  *optimizer = NULL;
  if (options->memory == 0 || options->memory > INT32_MAX)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "memory is %zu, expected at least 1 (20 is usual)",
                      options->memory);
  RPINN_TRY(rpinn_batch_objective_check(context, objective));
  RpinnOptimizer *base;
  RPINN_TRY(rpinn_optimizer_create(context, &lbfgs_method, sizeof(Lbfgs), &options->stop,
                                   objective->num_parameters, false, &base));
  Lbfgs *lbfgs = (Lbfgs *)base;
  lbfgs->objective = *objective;
  base->request = (RpinnRequest){.target = {.objective = &lbfgs->objective}, .member = member};
  lbfgs->epsilon = objective->epsilon > 0 ? objective->epsilon : DBL_EPSILON;
  lbfgs->memory = base->shape[0] = options->memory;
  if (!allocate(lbfgs)) {
    rpinn_optimizer_destroy(base);
    return rpinn_fail_memory(context);
  }
  *optimizer = base;
  return RPINN_OK;
}

RpinnStatus rpinn_lbfgs_create(RpinnContext *context, const RpinnObjective *objective,
                               const RpinnLbfgsOptions *options, RpinnOptimizer **optimizer) {
  RpinnBatchObjective batch = rpinn_objective_as_batch(objective);
  RPINN_TRY(rpinn_lbfgs_create_member(context, &batch, 0, options, optimizer));
  Lbfgs *lbfgs = (Lbfgs *)*optimizer;
  lbfgs->single = *objective;
  lbfgs->objective.data = &lbfgs->single;
  return RPINN_OK;
}
