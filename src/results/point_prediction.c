#include "point_prediction.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw_blocks.h"
#include "rank_interval.h"
#include "run_reopen.h"
#include "unknown_noise.h"

enum { KEPT_BYTES = 256 << 20, MAX_QUANTITIES = 1024 };

RpinnStatus rpinn_point_prediction_open(RpinnPointPrediction *prediction, const char *folder) {
  RPINN_TRY(rpinn_run_open_finished(prediction->context, folder, NULL, &prediction->run));
  prediction->posterior = prediction->run->posteriors[0];
  prediction->problem = prediction->posterior->problem;
  return RPINN_OK;
}

void rpinn_point_prediction_close(RpinnPointPrediction *prediction) {
  rpinn_moments_destroy(prediction->moments);
  rpinn_kept_draws_destroy(prediction->kept);
  for (size_t i = 0; prediction->evaluators && i < prediction->run->num_posteriors; i++) {
    rpinn_evaluation_release(&prediction->evaluators[i].plan);
    rpinn_linear_fields_destroy(prediction->evaluators[i].linear);
  }
  free(prediction->evaluators);
  free(prediction->mean);
  free(prediction->draws);
  rpinn_run_destroy(prediction->run);
}

/* ---- which quantities ---- */

static RpinnStatus fail_unknown_quantity(RpinnPointPrediction *prediction, const char *name) {
  const RpinnProblem *problem = prediction->problem;
  size_t count = 0, most = problem->num_fields + problem->num_quantities;
  const char **known = RPINN_ARENA_NEW(prediction->posterior->arena, const char *, most);
  RpinnText list = {0};
  if (!known) return rpinn_fail_memory(prediction->context);
  for (size_t i = 0; i < problem->num_fields; i++) known[count++] = problem->fields[i].name;
  for (size_t i = 0; i < problem->num_quantities; i++) known[count++] = problem->quantities[i].name;
  for (size_t i = 0; i < count; i++) rpinn_text_append(&list, "%s%s", i ? ", " : "", known[i]);
  const char *near = rpinn_nearest_name(name, known, count);
  rpinn_fail_at(prediction->context, (RpinnPlace){.file = "--quantities"},
                "unknown quantity '%.60s'; expected some of %.500s%s%s%s", name, list.bytes ? list.bytes : "",
                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  rpinn_text_free(&list);
  return RPINN_ERROR_INPUT;
}

/* A field or quantity by its name, compiled. */
static RpinnStatus add_quantity(RpinnPointPrediction *prediction, const char *name) {
  RpinnProblem *problem = prediction->problem;
  RpinnPlace place = {.file = "--quantities"};
  bool known = false;
  for (size_t i = 0; i < problem->num_fields; i++) known |= !strcmp(problem->fields[i].name, name);
  for (size_t i = 0; i < problem->num_quantities; i++) known |= !strcmp(problem->quantities[i].name, name);
  if (!known) return fail_unknown_quantity(prediction, name);
  for (size_t i = 0; i < prediction->num_quantities; i++)
    if (!strcmp(prediction->names[i], name))
      return rpinn_fail_at(prediction->context, place, "'%.60s' is given twice; expected it once", name);
  if (prediction->num_quantities == MAX_QUANTITIES)
    return rpinn_fail_at(prediction->context, place, "more than %d quantities", MAX_QUANTITIES);
  RpinnExpression expression;
  RpinnResidualProgram *program;
  char owner[256];
  snprintf(owner, sizeof owner, "quantity '%.200s'", name);
  RPINN_TRY(
      rpinn_problem_expression(prediction->context, problem, RPINN_NAMES_ALL, name, place, &expression));
  RPINN_TRY(rpinn_residual_program_compile(prediction->context, prediction->posterior->arena, problem->pool,
                                           expression, problem->num_fields, &problem->names, owner, place,
                                           &program));
  prediction->names[prediction->num_quantities] = name;
  prediction->programs[prediction->num_quantities++] = program;
  return RPINN_OK;
}

RpinnStatus rpinn_point_prediction_choose(RpinnPointPrediction *prediction, const char *list) {
  RpinnArena *arena = prediction->posterior->arena;
  const RpinnProblem *problem = prediction->problem;
  prediction->names = RPINN_ARENA_NEW(arena, const char *, MAX_QUANTITIES);
  prediction->programs = RPINN_ARENA_NEW(arena, const RpinnResidualProgram *, MAX_QUANTITIES);
  if (!prediction->names || !prediction->programs) return rpinn_fail_memory(prediction->context);
  for (size_t q = 0; !list && q < problem->num_predicted && q < MAX_QUANTITIES; q++) {
    prediction->names[q] = problem->predicted[q].name;
    prediction->programs[q] = prediction->posterior->predictions[q];
    prediction->num_quantities = q + 1;
  }
  while (list) {
    size_t length = strcspn(list, ",");
    const char *name = rpinn_arena_copy_text(arena, list, length);
    if (!name) return rpinn_fail_memory(prediction->context);
    RPINN_TRY(add_quantity(prediction, name));
    list = list[length] ? list + length + 1 : NULL;
  }
  if (prediction->num_quantities) return RPINN_OK;
  return rpinn_fail(prediction->context, RPINN_ERROR_INPUT,
                    "the problem predicts nothing of its own; expected --quantities NAME,NAME");
}

/* ---- the pass ---- */

static RpinnStatus look_at_draw(void *user, const RpinnVisitedDraw *draw, bool *compute) {
  const RpinnPointPrediction *prediction = user;
  const RpinnStoredMember *member = draw->stored;
  *compute = !member->failed;
  if (member->failed || member->num_parameters == rpinn_posterior_num_drawn(prediction->posterior))
    return RPINN_OK;
  return rpinn_fail(prediction->context, RPINN_ERROR_INPUT,
                    "member %llu has %zu parameters, run.yaml has %zu: they do not belong together",
                    (unsigned long long)member->index, member->num_parameters,
                    rpinn_posterior_num_drawn(prediction->posterior));
}

static void *worker_of(void *user, size_t thread) {
  return &((RpinnPointPrediction *)user)->evaluators[thread];
}

static RpinnStatus compute_draw(void *worker, RpinnContext *context, const RpinnVisitedDraw *draw,
                                double *values) {
  const RpinnDrawEvaluator *own = worker;
  RpinnBatchMember member = {.theta = draw->stored->parameters};
  if (!own->linear)
    return rpinn_evaluation_run(context, &own->plan, &(RpinnMemberBatch){1, &member}, &values);
  return rpinn_linear_fields_evaluate(own->linear, &own->plan.evaluation, member.theta, values);
}

static RpinnStatus take_draw(void *user, const RpinnVisitedDraw *draw, const double *values) {
  RpinnPointPrediction *prediction = user;
  if (draw->stored->failed) return RPINN_OK;
  rpinn_moments_add(prediction->moments, values);
  if (prediction->draws)
    memcpy(prediction->draws + prediction->draw * prediction->num_values, values,
           prediction->num_values * sizeof *values);
  return rpinn_kept_draws_add(prediction->kept, prediction->draw++, values);
}

/* The evaluation, for every thread. */
static RpinnStatus plan_evaluations(RpinnPointPrediction *prediction) {
  RpinnRun *run = prediction->run;
  RpinnEvaluation evaluation = {.num_points = prediction->points.count,
                                .points = prediction->points.x,
                                .num_programs = prediction->num_quantities,
                                .programs = prediction->programs};
  prediction->evaluators = calloc(run->num_posteriors, sizeof *prediction->evaluators);
  if (!prediction->evaluators) return rpinn_fail_memory(prediction->context);
  if (run->method->prepare_results) RPINN_TRY(run->method->prepare_results(prediction->context, run));
  for (size_t i = 0; i < run->num_posteriors; i++) {
    RpinnDrawEvaluator *own = &prediction->evaluators[i];
    RPINN_TRY(
        rpinn_evaluation_plan(prediction->context, run->posteriors[i]->backend, &evaluation, &own->plan));
    if (run->laplace.at)
      RPINN_TRY(
          rpinn_linear_fields_create(prediction->context, run->posteriors[i], run->laplace.at, &own->linear));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_point_prediction_make(RpinnPointPrediction *prediction) {
  static const double probabilities[] = {0.025, 0.5, 0.975};
  const RpinnDrawPlan *plan = &prediction->run->plan;
  uint64_t num_draws;
  size_t count = prediction->num_values = prediction->points.count * prediction->num_quantities;
  RPINN_TRY(rpinn_draw_store_count(prediction->context, prediction->run->store, plan, &num_draws));
  if (!num_draws)
    return rpinn_fail(prediction->context, RPINN_ERROR_INPUT, "this run has no member that did not fail");
  if (prediction->keeps_draws) prediction->draws = calloc((size_t)num_draws, count * sizeof(double));
  if (prediction->keeps_draws && !prediction->draws) return rpinn_fail_memory(prediction->context);
  prediction->mean = malloc(5 * count * sizeof(double));
  prediction->moments = rpinn_moments_create(count);
  prediction->kept = rpinn_kept_draws_create(count, rpinn_keep_every((size_t)num_draws, count, KEPT_BYTES));
  if (!prediction->mean || !prediction->moments || !prediction->kept)
    return rpinn_fail_memory(prediction->context);
  prediction->deviation = prediction->mean + count;
  prediction->low = prediction->deviation + count;
  RPINN_TRY(plan_evaluations(prediction));
  RpinnDrawBlocks blocks = {.run = prediction->run,
                            .num_values = count,
                            .user = prediction,
                            .look = look_at_draw,
                            .worker = worker_of,
                            .compute = compute_draw,
                            .take = take_draw};
  RPINN_TRY(rpinn_draw_blocks_visit(prediction->context, &blocks));
  rpinn_moments_get(prediction->moments, prediction->mean, prediction->deviation);
  return rpinn_rank_quantiles(prediction->kept, 3, probabilities, prediction->low);
}
