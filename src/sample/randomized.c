/* Members on a problem of a user's own. Every thread has one slot: its offsets lie at one place, which the energy of the thread
 * looks at, and are drawn anew for each member. A row of draws belongs to the member of its number until all are made; then those
 * that there are move up. */
#include "rpinn/randomized.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draws.h"
#include "importance.h"
#include "member.h"
#include "random_stream.h"
#include "target_check.h"
#include "watched_work.h"

enum { ATTEMPT_SHIFT = 48 }; /* every attempt of a member has streams of its own */

typedef enum Statistic {
  MEMBER,
  LOSS,
  GRADIENT_NORM,
  ITERATIONS,
  EVALUATIONS,
  CONVERGED,
  ATTEMPTS,
  LOG_WEIGHT,
  NUM_STATISTICS
} Statistic;
static const char *const statistic_names[NUM_STATISTICS] = {
    "member", "loss", "gradient_norm", "iterations", "evaluations", "converged", "attempts", "log_weight"};

/* What all threads share. */
typedef struct Sampling {
  const RpinnLeastSquares *problems; /* [num_problems] */
  const RpinnRandomizedOptions *options;
  RpinnDraws *draws;
  bool *is_made; /* [num_draws] */
} Sampling;

/* One thread. */
typedef struct Slot {
  const Sampling *sampling;
  const RpinnLeastSquares *problem;
  RpinnWork *work;
  double *offsets; /* [M + N] */
  RpinnEnergyObjective *energy;
  RpinnObjective single;
  RpinnBatchObjective objective;
  RpinnBatchLeastSquares squares;
  RpinnMemberTarget target;
  RpinnMember *member;
  RpinnImportance *importance; /* NULL: no weights */
} Slot;

/* ---- the target of a slot ---- */

static RpinnStatus evaluate(RpinnContext *context, void *data, size_t count, const size_t *members,
                            const double *const *thetas, double *values, double *const *gradients) {
  const RpinnObjective *single = &((Slot *)data)->single;
  (void)context, (void)members;
  for (size_t k = 0; k < count; k++)
    RPINN_TRY(single->evaluate(single->data, thetas[k], &values[k], gradients ? gradients[k] : NULL));
  return RPINN_OK;
}

/* The energy is one part. */
static RpinnStatus evaluate_parts(RpinnContext *context, void *data, size_t count, const size_t *members,
                                  const double *const *thetas, double *values, double *const *gradients,
                                  double *const *parts) {
  RPINN_TRY(evaluate(context, data, count, members, thetas, values, gradients));
  for (size_t k = 0; k < count; k++) parts[k][0] = values[k];
  return RPINN_OK;
}

static const double *take_slot(void *data, size_t slot, uint64_t member, uint32_t attempt,
                               bool with_offsets) {
  Slot *own = data;
  (void)slot, (void)with_offsets;
  RpinnStream stream = rpinn_stream(own->sampling->options->seed, RPINN_PURPOSE_OFFSETS,
                                    member | (uint64_t)attempt << ATTEMPT_SHIFT, 0);
  rpinn_stream_normals(&stream, own->problem->num_rows + own->problem->num_parameters, own->offsets);
  return own->offsets;
}

/* The attempts of a member at given starts go on to those of the next ones. */
static RpinnStatus draw_start(void *data, size_t slot, uint64_t member, uint32_t attempt, double *theta) {
  const Slot *own = data;
  const RpinnRandomizedOptions *options = own->sampling->options;
  const RpinnLeastSquares *problem = own->problem;
  size_t N = problem->num_parameters;
  (void)slot;
  if (options->num_starts) {
    memcpy(theta, options->starts + (member + attempt) % options->num_starts * N, N * sizeof *theta);
    return RPINN_OK;
  }
  RpinnStream stream =
      rpinn_stream(options->seed, RPINN_PURPOSE_START, member | (uint64_t)attempt << ATTEMPT_SHIFT, 0);
  rpinn_stream_normals(&stream, N, theta);
  for (size_t j = 0; j < N; j++)
    theta[j] = (problem->prior_mean ? problem->prior_mean[j] : 0) + theta[j] / problem->prior_root[j];
  return RPINN_OK;
}

/* ---- members ---- */

static RpinnStatus weigh(RpinnContext *context, Slot *slot, const RpinnMemberOutcome *outcome,
                         double *log_weight) {
  *log_weight = (double)NAN;
  if (!slot->importance || !outcome->converged) return RPINN_OK;
  return rpinn_explain_failure(
      context, "problem", "jacobian",
      rpinn_importance_log_weight_of_target(slot->importance, slot->problem, outcome->theta, log_weight));
}

static RpinnStatus keep(RpinnContext *context, Slot *slot, uint64_t member,
                        const RpinnMemberOutcome *outcome) {
  size_t N = slot->problem->num_parameters;
  double *row = rpinn_draws_row(slot->sampling->draws, 0, member), log_weight;
  rpinn_work_count(slot->work, 1);
  if (outcome->failed) {
    rpinn_work_note_failure(slot->work);
    return RPINN_OK;
  }
  RPINN_TRY(weigh(context, slot, outcome, &log_weight));
  memcpy(row, outcome->theta, N * sizeof *row);
  const double statistics[NUM_STATISTICS] = {[MEMBER] = (double)member,
                                             [LOSS] = outcome->loss,
                                             [GRADIENT_NORM] = outcome->gradient_norm,
                                             [ITERATIONS] = (double)outcome->iterations,
                                             [EVALUATIONS] = (double)outcome->evaluations,
                                             [CONVERGED] = outcome->converged,
                                             [ATTEMPTS] = outcome->attempts,
                                             [LOG_WEIGHT] = log_weight};
  memcpy(row + N, statistics, sizeof statistics);
  slot->sampling->is_made[member] = true;
  return RPINN_OK;
}

static RpinnStatus make_members(RpinnContext *context, Slot *slot) {
  uint64_t member;
  while (rpinn_work_take(slot->work, &member)) {
    RpinnMemberOutcome outcome = {0};
    RPINN_TRY(rpinn_member_begin(context, slot->member, member, NULL, 0));
    while (!outcome.finished && !rpinn_work_is_stopped(slot->work))
      RPINN_TRY(rpinn_member_advance(context, slot->member, SIZE_MAX, &outcome));
    if (outcome.finished) RPINN_TRY(keep(context, slot, member, &outcome));
  }
  return RPINN_OK;
}

/* ---- room ---- */

/* A window of 0 iterations means none, where it stands for a default in the options of a member. */
static RpinnMinimizeOptions minimize_options(const RpinnRandomizedOptions *options, RpinnWork *work) {
  const RpinnStopRule *stop = &options->stop;
  return (RpinnMinimizeOptions){.minimizer = options->minimizer,
                                .iterations = stop->max_iterations,
                                .adam = options->adam,
                                .gradient_tolerance = stop->gradient_tolerance,
                                .progress_tolerance = stop->progress_tolerance,
                                .progress_window = stop->progress_window ? stop->progress_window : SIZE_MAX,
                                .progress_amount = stop->progress_amount,
                                .momentum = options->momentum,
                                .acceleration = options->acceleration,
                                .interrupted = rpinn_work_wants_end,
                                .user = work};
}

static uint32_t useful_retries(const RpinnRandomizedOptions *options) {
  bool few = options->num_starts && options->num_starts <= options->max_retries;
  return few ? (uint32_t)options->num_starts - 1 : options->max_retries;
}

static RpinnStatus open_slot(RpinnContext *context, Slot *slot) {
  const RpinnLeastSquares *problem = slot->problem;
  const RpinnRandomizedOptions *options = slot->sampling->options;
  size_t M = problem->num_rows, N = problem->num_parameters;
  slot->offsets = calloc(M + N + 1, sizeof(double));
  if (!slot->offsets) return rpinn_fail_memory(context);
  slot->energy = rpinn_energy_objective_create(problem, slot->offsets);
  if (!slot->energy) return rpinn_fail_memory(context);
  slot->single = rpinn_energy_objective(slot->energy);
  slot->objective = (RpinnBatchObjective){.num_parameters = N,
                                          .group = 1,
                                          .data = slot,
                                          .evaluate = evaluate,
                                          .num_parts = 1,
                                          .evaluate_parts = evaluate_parts,
                                          .epsilon = slot->single.epsilon};
  slot->squares = rpinn_least_squares_as_batch(problem);
  slot->target = (RpinnMemberTarget){.num_parameters = N,
                                     .num_slots = 1,
                                     .has_offsets = true,
                                     .data = slot,
                                     .objective = &slot->objective,
                                     .squares = &slot->squares,
                                     .take_slot = take_slot,
                                     .draw_start = draw_start};
  if (options->weights && rpinn_importance_available(N, problem->prior_root)) {
    slot->importance = rpinn_importance_create(M, N, problem->prior_root, problem->prior_mean);
    if (!slot->importance) return rpinn_fail_memory(context);
  }
  RpinnMinimizeOptions minimize = minimize_options(options, slot->work);
  return rpinn_member_create(context, &slot->target, 0, &minimize, useful_retries(options), &slot->member);
}

static void close_slot(Slot *slot) {
  rpinn_member_destroy(slot->member);
  rpinn_importance_destroy(slot->importance);
  rpinn_energy_objective_destroy(slot->energy);
  free(slot->offsets);
}

static RpinnStatus perform(void *user, RpinnContext *context, RpinnWork *work, size_t worker) {
  const Sampling *sampling = user;
  Slot slot = {.sampling = sampling, .problem = &sampling->problems[worker], .work = work};
  RpinnStatus status = open_slot(context, &slot);
  if (status == RPINN_OK) status = make_members(context, &slot);
  close_slot(&slot);
  return status;
}

/* ---- all draws ---- */

static RpinnStatus check_problems(RpinnContext *context, size_t num_problems,
                                  const RpinnLeastSquares *problems) {
  if (num_problems == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "there is no problem; expected one for each thread");
  for (size_t i = 0; i < num_problems; i++) {
    RpinnBatchLeastSquares squares = rpinn_least_squares_as_batch(&problems[i]);
    RPINN_TRY(rpinn_batch_least_squares_check(context, &squares));
    if (problems[i].num_parameters != problems[0].num_parameters ||
        problems[i].num_rows != problems[0].num_rows)
      return rpinn_fail(
          context, RPINN_ERROR_INPUT,
          "problem %zu has %zu rows and %zu parameters; expected those of problem 0, %zu and %zu", i,
          problems[i].num_rows, problems[i].num_parameters, problems[0].num_rows, problems[0].num_parameters);
  }
  return RPINN_OK;
}

static RpinnStatus check(RpinnContext *context, const RpinnLeastSquares *problem,
                         const RpinnRandomizedOptions *options) {
  if (options->minimizer != RPINN_MINIMIZER_ADAM && options->minimizer != RPINN_MINIMIZER_LBFGS &&
      options->minimizer != RPINN_MINIMIZER_LM)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "minimizer %d is none; expected Adam, L-BFGS or LM",
                      (int)options->minimizer);
  if (options->num_draws >> ATTEMPT_SHIFT)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "%zu draws are too many; expected fewer than 2^%d",
                      options->num_draws, ATTEMPT_SHIFT);
  if (options->max_retries > UINT16_MAX)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "%lu retries are too many; expected at most %d",
                      (unsigned long)options->max_retries, UINT16_MAX);
  if (options->num_starts && !options->starts)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "%zu starts are announced, but none is given",
                      options->num_starts);
  for (size_t j = 0; j < problem->num_parameters && !options->num_starts; j++) {
    double root = problem->prior_root ? problem->prior_root[j] : 0;
    if (!(root > 0 && isfinite(root)))
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "parameter %zu has no prior to start from; expected starts, or a positive prior root",
                        j);
  }
  return RPINN_OK;
}

/* Members that there are not leave no gaps. */
static void close_ranks(Sampling *sampling) {
  size_t num_made = 0, width = rpinn_draws_num_parameters(sampling->draws) + NUM_STATISTICS;
  for (size_t i = 0; i < sampling->options->num_draws; i++)
    if (sampling->is_made[i])
      memmove(rpinn_draws_row(sampling->draws, 0, num_made++), rpinn_draws_row(sampling->draws, 0, i),
              width * sizeof(double));
  rpinn_draws_cut(sampling->draws, 0, num_made);
}

static RpinnStatus sample(RpinnContext *context, size_t num_problems, Sampling *sampling) {
  const RpinnRandomizedOptions *options = sampling->options;
  const RpinnDrawsShape shape = {.num_chains = 1,
                                 .num_draws = options->num_draws,
                                 .num_parameters = sampling->problems[0].num_parameters,
                                 .num_statistics = NUM_STATISTICS,
                                 .statistic_names = statistic_names,
                                 .names = options->names};
  const RpinnWorkPlan plan = {.num_workers =
                                  num_problems < options->num_draws ? num_problems : options->num_draws,
                              .num_tasks = options->num_draws,
                              .total = options->num_draws,
                              .watch = &options->watch,
                              .user = sampling,
                              .perform = perform};
  sampling->is_made = calloc(options->num_draws + 1, sizeof *sampling->is_made);
  if (!sampling->is_made) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_draws_create(context, &shape, &sampling->draws));
  return rpinn_work_run(context, &plan);
}

RpinnRandomizedOptions rpinn_randomized_default_options(void) {
  return (RpinnRandomizedOptions){.num_draws = 1000,
                                  .minimizer = RPINN_MINIMIZER_LM,
                                  .stop = rpinn_levenberg_marquardt_default_options().stop,
                                  .adam = rpinn_adam_default_options().rule,
                                  .max_retries = 3,
                                  .weights = true};
}

RpinnStatus rpinn_randomized_sample(RpinnContext *context, size_t num_problems,
                                    const RpinnLeastSquares *problems, const RpinnRandomizedOptions *options,
                                    RpinnDraws **draws) {
  Sampling sampling = {.problems = problems, .options = options};
  *draws = NULL;
  rpinn_context_clear_error(context);
  RPINN_TRY(check_problems(context, num_problems, problems));
  RPINN_TRY(check(context, &problems[0], options));
  RpinnStatus status = sample(context, num_problems, &sampling);
  if (status == RPINN_OK || status == RPINN_ERROR_INTERRUPTED) {
    close_ranks(&sampling);
    *draws = sampling.draws;
  } else {
    rpinn_draws_destroy(sampling.draws);
  }
  free(sampling.is_made);
  return status;
}
