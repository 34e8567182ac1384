/* A finished run, looked at again: its table, and its members at points of the user's choice. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "draw_blocks.h"
#include "finished_run.h"
#include "linear_fields.h"
#include "moments.h"
#include "part_file.h"
#include "rank_interval.h"
#include "run_files.h"
#include "run_record.h"
#include "run_reopen.h"
#include "shard_record.h"
#include "unknown_noise.h"

/* How far it is: a shard has no results. */
static char *summarise_shard(RpinnContext *context, const char *folder, bool as_json) {
  RpinnText table = {0}, json = {0};
  bool is_told = rpinn_shard_summary(context, folder, &table, &json) == RPINN_OK;
  rpinn_text_free(as_json ? &table : &json);
  if (!is_told) rpinn_text_free(as_json ? &json : &table);
  return as_json ? json.bytes : table.bytes;
}

char *rpinn_run_summary(RpinnContext *context, const char *folder, bool json) {
  RpinnFinishedRun run;
  RpinnText text = {0};
  RpinnShard shard;
  if (rpinn_folder_holds_shard(folder, &shard)) return summarise_shard(context, folder, json);
  RpinnStatus status = rpinn_finished_run_open(context, folder, &run);
  if (status == RPINN_OK && json) rpinn_text_append_bytes(&text, run.text.bytes, run.text.length);
  if (status == RPINN_OK && !json) rpinn_summary_table(run.summary, &text);
  if (status == RPINN_OK && text.failed) status = rpinn_fail_memory(context);
  rpinn_finished_run_close(&run);
  if (status == RPINN_OK) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}

enum { KEPT_BYTES = 256 << 20, MAX_QUANTITIES = 1024 };

/* What a thread evaluates draws with. */
typedef struct Evaluator {
  RpinnPlannedEvaluation plan;
  RpinnLinearFields *linear; /* instead of the plan's, where fields are linearised; else NULL */
} Evaluator;

/* One pass over the members. */
typedef struct Prediction {
  RpinnContext *context;
  RpinnRun *run;
  RpinnPosterior *posterior; /* of the run */
  RpinnProblem *problem;     /* of the posterior: expressions are added to it */
  RpinnPointSet points;
  size_t num_quantities;
  const char **names;                    /* [num_quantities] */
  const RpinnResidualProgram **programs; /* [num_quantities] */
  Evaluator *evaluators;                 /* [num_posteriors] */
  double *mean, *deviation, *low;        /* [num_values]; low is followed by the median and high */
  RpinnMoments *moments;
  RpinnKeptDraws *kept;
  uint64_t draw;
} Prediction;

/* ---- which quantities ---- */

static RpinnStatus fail_unknown_quantity(Prediction *prediction, const char *name) {
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
static RpinnStatus add_quantity(Prediction *prediction, const char *name) {
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

static RpinnStatus choose_quantities(Prediction *prediction, const char *list) {
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
  const Prediction *prediction = user;
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
  return &((Prediction *)user)->evaluators[thread];
}

static RpinnStatus compute_draw(void *worker, RpinnContext *context, const RpinnVisitedDraw *draw,
                                double *values) {
  const Evaluator *own = worker;
  RpinnBatchMember member = {.theta = draw->stored->parameters};
  if (!own->linear)
    return rpinn_evaluation_run(context, &own->plan, &(RpinnMemberBatch){1, &member}, &values);
  return rpinn_linear_fields_evaluate(own->linear, &own->plan.evaluation, member.theta, values);
}

static RpinnStatus take_draw(void *user, const RpinnVisitedDraw *draw, const double *values) {
  Prediction *prediction = user;
  if (draw->stored->failed) return RPINN_OK;
  rpinn_moments_add(prediction->moments, values);
  return rpinn_kept_draws_add(prediction->kept, prediction->draw++, values);
}

/* The evaluation, for every thread. */
static RpinnStatus plan_evaluations(Prediction *prediction) {
  RpinnRun *run = prediction->run;
  RpinnEvaluation evaluation = {.num_points = prediction->points.count,
                                .points = prediction->points.x,
                                .num_programs = prediction->num_quantities,
                                .programs = prediction->programs};
  prediction->evaluators = calloc(run->num_posteriors, sizeof *prediction->evaluators);
  if (!prediction->evaluators) return rpinn_fail_memory(prediction->context);
  if (run->method->prepare_results) RPINN_TRY(run->method->prepare_results(prediction->context, run));
  for (size_t i = 0; i < run->num_posteriors; i++) {
    Evaluator *own = &prediction->evaluators[i];
    RPINN_TRY(
        rpinn_evaluation_plan(prediction->context, run->posteriors[i]->backend, &evaluation, &own->plan));
    if (run->laplace.at)
      RPINN_TRY(
          rpinn_linear_fields_create(prediction->context, run->posteriors[i], run->laplace.at, &own->linear));
  }
  return RPINN_OK;
}

static RpinnStatus pass_members(Prediction *prediction) {
  static const double probabilities[] = {0.025, 0.5, 0.975};
  const RpinnDrawPlan *plan = &prediction->run->plan;
  uint64_t num_draws;
  size_t count = prediction->points.count * prediction->num_quantities;
  RPINN_TRY(rpinn_draw_store_count(prediction->context, prediction->run->store, plan, &num_draws));
  if (!num_draws)
    return rpinn_fail(prediction->context, RPINN_ERROR_INPUT, "this run has no member that did not fail");
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

/* ---- the whole ---- */

static void append_number(RpinnText *csv, const char *before, double value) {
  char number[RPINN_NUMBER_TEXT] = "";
  if (!isnan(value)) rpinn_number_format(value, number);
  rpinn_text_append(csv, "%s%s", before, number);
}

static void write_csv(const Prediction *prediction, RpinnText *csv) {
  const RpinnProblem *problem = prediction->problem;
  size_t num_points = prediction->points.count, count = num_points * prediction->num_quantities;
  for (size_t i = 0; i < problem->num_coordinates; i++)
    rpinn_text_append(csv, "%s%s", i ? "," : "", problem->coordinates[i].name);
  for (size_t q = 0; q < prediction->num_quantities; q++) {
    const char *name = prediction->names[q];
    rpinn_text_append(csv, ",%s_mean,%s_std,%s_q025,%s_median,%s_q975", name, name, name, name, name);
  }
  rpinn_text_append(csv, "\n");
  for (size_t p = 0; p < num_points; p++) {
    for (size_t i = 0; i < problem->num_coordinates; i++)
      append_number(csv, i ? "," : "", prediction->points.x[p * problem->num_coordinates + i]);
    for (size_t q = 0; q < prediction->num_quantities; q++) {
      size_t at = q * num_points + p;
      append_number(csv, ",", prediction->mean[at]);
      append_number(csv, ",", prediction->deviation[at]);
      for (size_t k = 0; k < 3; k++) append_number(csv, ",", prediction->low[k * count + at]);
    }
    rpinn_text_append(csv, "\n");
  }
}

/* By whatever name: a link, another spelling. */
static RpinnStatus check_out_file(RpinnContext *context, const RpinnPredictOptions *options) {
  struct stat out, points;
  if (!options->out_file || stat(options->out_file, &out) != 0 || stat(options->points_file, &points) != 0 ||
      !S_ISREG(out.st_mode) || out.st_dev != points.st_dev || out.st_ino != points.st_ino)
    return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = options->out_file},
                       "the predictions would replace the points they are made at; choose another file");
}

static RpinnStatus check_not_of_run(RpinnContext *context, const RpinnProblem *problem, const char *folder,
                                    const char *out_file) {
  if (!out_file || !rpinn_run_owns_file(folder, problem, out_file)) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = out_file},
                       "the predictions would replace a file of the run; choose another file");
}

static RpinnStatus predict(Prediction *prediction, const char *folder, const RpinnPredictOptions *options,
                           RpinnText *csv) {
  RpinnContext *context = prediction->context;
  RPINN_TRY(check_out_file(context, options));
  RPINN_TRY(rpinn_run_open_finished(context, folder, NULL, &prediction->run));
  prediction->posterior = prediction->run->posteriors[0];
  prediction->problem = prediction->posterior->problem;
  RPINN_TRY(check_not_of_run(context, prediction->problem, folder, options->out_file));
  RPINN_TRY(choose_quantities(prediction, options->quantities));
  RPINN_TRY(rpinn_point_set_read(context, prediction->posterior->arena, prediction->problem,
                                 options->points_file, options->extrapolate, &prediction->points));
  RPINN_TRY(pass_members(prediction));
  write_csv(prediction, csv);
  if (csv->failed) return rpinn_fail_memory(context);
  return options->out_file ? rpinn_part_file_write(context, options->out_file, csv) : RPINN_OK;
}

char *rpinn_run_predict(RpinnContext *context, const char *folder, const RpinnPredictOptions *options) {
  Prediction prediction = {.context = context};
  RpinnText csv = {0};
  RpinnStatus status = predict(&prediction, folder, options, &csv);
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context); /* backends report no message of their own */
  rpinn_moments_destroy(prediction.moments);
  rpinn_kept_draws_destroy(prediction.kept);
  for (size_t i = 0; prediction.evaluators && i < prediction.run->num_posteriors; i++) {
    rpinn_evaluation_release(&prediction.evaluators[i].plan);
    rpinn_linear_fields_destroy(prediction.evaluators[i].linear);
  }
  free(prediction.evaluators);
  free(prediction.mean);
  rpinn_run_destroy(prediction.run);
  if (status == RPINN_OK) return csv.bytes;
  rpinn_text_free(&csv);
  return NULL;
}
