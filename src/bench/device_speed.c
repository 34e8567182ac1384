/* Speed of the backend `cuda`, as a share of what the GPU does in registers, measured in the same run.
 *
 *   Adam         3 x the forward products of the hidden layers, for the channels that are needed / time of launches / FP32 or TF32
 *   NUTS         leapfrogs per second / gradients per second of Adam, in the same run (device_chains.c)
 *   lm           the Gram matrices, M (M + 1) N operations each / their time / FP64 by tensor cores; and what the other stages take
 *   predictions  forward products / time of a call / FP32
 *
 * Members begin at Glorot's starts, and each call goes on where the last one ended. The first call is not counted. */
#include "device_speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "posterior.h"
#include "steady_clock.h"

const RpinnDeviceCase rpinn_device_cases[RPINN_NUM_DEVICE_CASES] = {
    {"poisson-linear, Nf=32", "poisson-linear", "32", 5000, 200, {0.60 / 2000, 0.40 / 2000}},
    {"poisson-linear, Nf=128", "poisson-linear", "128", 5000, 100, {2.0 / 2000, 1.1 / 2000}},
    {"darcy", "darcy", NULL, 500, 20, {3.6e-3, 1.8e-3}}};

enum {
  DEFAULT_REPETITIONS = 5,
  MAX_REPETITIONS = 100,
  STEP_CASE = 2,
  PREDICTED_MEMBERS = 100,
  NUM_CHAINS = 512
};

/* ---- a problem on the device, and its members ---- */

typedef struct Herd {
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RpinnBackend *backend;
  size_t count, M, N;
  double *numbers; /* [count][5 N + M] */
  RpinnBatchMember *members;
  RpinnAdamState *states, **state_of;
  RpinnDampedStep *steps, **step_of;
  double **rows, **gradients, *energies;
} Herd;

static void close_herd(Herd *herd) {
  void *parts[] = {herd->numbers, herd->members, herd->states,    herd->state_of, herd->steps,
                   herd->step_of, herd->rows,    herd->gradients, herd->energies};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) free(parts[i]);
  rpinn_posterior_destroy(herd->posterior);
  rpinn_problem_destroy(herd->problem);
}

static void place_member(Herd *herd, size_t k) {
  size_t N = herd->N;
  double *own = herd->numbers + k * (5 * N + herd->M);
  herd->states[k] = (RpinnAdamState){own, own + N, own + 2 * N, 0};
  herd->state_of[k] = &herd->states[k];
  herd->members[k].theta = own;
  herd->gradients[k] = own + 3 * N;
  herd->rows[k] = own + 5 * N;
  herd->steps[k] = (RpinnDampedStep){
      .inverse = own + 4 * N, .pull = own + 3 * N, .step = own + 2 * N, .rows = herd->rows[k]};
  herd->step_of[k] = &herd->steps[k];
  rpinn_posterior_start_glorot(herd->posterior, k, own);
  for (size_t j = 0; j < N; j++) own[4 * N + j] = 1;
}

static RpinnStatus open_herd(RpinnContext *context, const RpinnDeviceCase *of, const char *precision,
                             Herd *herd) {
  RpinnOverride overrides[] = {{"backend", rpinn_device_speed_kind.backend, "bench", true},
                               {"precision", precision, "bench", true},
                               {"Nf", of->setting, "bench", false}};
  RpinnProblemOptions options = {
      .preset = "paper", .num_overrides = of->setting ? 3 : 2, .overrides = overrides};
  RPINN_TRY(rpinn_problem_load(context, of->problem, &options, &herd->problem));
  RPINN_TRY(rpinn_posterior_create(context, herd->problem, false, &herd->posterior));
  size_t count = of->num_members, M = herd->posterior->model.num_rows,
         N = herd->posterior->model.num_parameters;
  herd->backend = herd->posterior->backend;
  herd->count = count;
  herd->M = M;
  herd->N = N;
  herd->numbers = calloc(count * (5 * N + M), sizeof(double));
  herd->members = calloc(count, sizeof *herd->members);
  herd->states = calloc(count, sizeof *herd->states);
  herd->state_of = calloc(count, sizeof *herd->state_of);
  herd->steps = calloc(count, sizeof *herd->steps);
  herd->step_of = calloc(count, sizeof *herd->step_of);
  herd->rows = calloc(count, sizeof *herd->rows);
  herd->gradients = calloc(count, sizeof *herd->gradients);
  herd->energies = calloc(count, sizeof *herd->energies);
  if (!herd->numbers || !herd->members || !herd->states || !herd->state_of || !herd->steps ||
      !herd->step_of || !herd->rows || !herd->gradients || !herd->energies)
    return rpinn_fail_memory(context);
  for (size_t k = 0; k < count; k++) place_member(herd, k);
  return RPINN_OK;
}

/* ---- numbers ---- */

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, compare);
  return values[count / 2];
}

/* Forward products of the hidden layers of a member, for a prediction's program. */
static double count_products(const RpinnEnergyModel *model, const RpinnResidualProgram *program,
                             size_t num_points) {
  double work = 0;
  for (size_t f = 0; f < model->num_fields; f++)
    for (size_t l = 1; l + 1 < model->networks[f].num_layers; l++)
      work += 2.0 * (double)(model->networks[f].width[l] * model->networks[f].width[l + 1] * num_points *
                             program->channels[f].count);
  return work;
}

/* ---- Adam ---- */

static RpinnStatus measure_adam(RpinnContext *context, RpinnDeviceSpeed *speed, const RpinnDeviceCase *of,
                                Herd *herd, bool is_tf32) {
  RpinnDeviceLine *line = &speed->lines[speed->num_lines++];
  RpinnAdamRule rule = {1e-3, 0.9, 5000, 0.9, 0.999, 1e-8};
  double launches[MAX_REPETITIONS], calls[MAX_REPETITIONS];
  *line = (RpinnDeviceLine){.of = of, .is_tf32 = is_tf32};
  line->work = (double)herd->count * rpinn_model_products(&herd->posterior->model);
  for (size_t k = 0; k <= speed->repetitions; k++) {
    double begun = rpinn_steady_seconds(), before = rpinn_device_launch_seconds(herd->backend);
    RPINN_TRY(rpinn_backend_adam_advance(context, herd->backend,
                                         &(RpinnMemberBatch){herd->count, herd->members}, &rule,
                                         herd->state_of, of->num_steps, herd->energies));
    if (!k) continue;
    launches[k - 1] = (rpinn_device_launch_seconds(herd->backend) - before) / (double)of->num_steps;
    calls[k - 1] = (rpinn_steady_seconds() - begun) / (double)of->num_steps;
  }
  line->seconds = median(launches, speed->repetitions);
  line->call = median(calls, speed->repetitions);
  return RPINN_OK;
}

/* ---- NUTS ---- */

/* From where Adam's members are. */
static RpinnStatus measure_chains(RpinnContext *context, RpinnDeviceSpeed *speed, Herd *herd) {
  const double **starts = malloc(herd->count * sizeof *starts);
  if (!starts) return rpinn_fail_memory(context);
  for (size_t k = 0; k < herd->count; k++) starts[k] = herd->states[k].theta;
  RpinnStatus status = rpinn_device_chains_measure(context, herd->posterior, NUM_CHAINS, starts,
                                                   speed->repetitions, &speed->chaining);
  free(starts);
  return status;
}

/* ---- Levenberg–Marquardt ---- */

static RpinnStatus measure_steps(RpinnContext *context, RpinnDeviceSpeed *speed, Herd *herd) {
  RpinnDeviceStepping *stepping = &speed->stepping;
  RpinnBackend *backend = herd->backend;
  RpinnMemberBatch batch = {herd->count, herd->members};
  double rows[MAX_REPETITIONS], gradients[MAX_REPETITIONS], steps[MAX_REPETITIONS], before[RPINN_NUM_STAGES],
      after[RPINN_NUM_STAGES];
  speed->has_steps = backend->operations->damped_steps != NULL;
  if (!speed->has_steps) return RPINN_OK;
  for (size_t k = 0; k <= speed->repetitions; k++) {
    double begun = rpinn_steady_seconds();
    if (k == 1) rpinn_device_stage_seconds(backend, before);
    RPINN_TRY(rpinn_backend_residuals(context, backend, &batch, herd->rows, NULL));
    double of_rows = rpinn_steady_seconds();
    RPINN_TRY(rpinn_backend_transposed_times(context, backend, &batch, (const double *const *)herd->rows,
                                             herd->gradients));
    double of_gradients = rpinn_steady_seconds();
    RPINN_TRY(backend->operations->damped_steps(context, backend, &batch, herd->step_of));
    if (!k) continue;
    rows[k - 1] = of_rows - begun;
    gradients[k - 1] = of_gradients - of_rows;
    steps[k - 1] = rpinn_steady_seconds() - of_gradients;
  }
  stepping->num_members = herd->count;
  stepping->rows = median(rows, speed->repetitions);
  stepping->gradient = median(gradients, speed->repetitions);
  stepping->steps = median(steps, speed->repetitions);
  stepping->gram_work = (double)herd->count * (double)herd->M * (double)(herd->M + 1) * (double)herd->N;
  rpinn_device_stage_seconds(backend, after);
  for (size_t i = 0; i < RPINN_NUM_STAGES; i++)
    stepping->stages[i] = (after[i] - before[i]) / (double)speed->repetitions;
  return RPINN_OK;
}

/* ---- predictions ---- */

static RpinnStatus time_predictions(RpinnContext *context, RpinnDeviceSpeed *speed, Herd *herd,
                                    const RpinnEvaluation *evaluation, double *values, double **value_of) {
  RpinnDevicePrediction *prediction = &speed->prediction;
  RpinnPlannedEvaluation planned = {0};
  double seconds[MAX_REPETITIONS];
  RpinnMemberBatch batch = {prediction->num_members, herd->members};
  for (size_t k = 0; k < prediction->num_members; k++)
    value_of[k] = values + k * evaluation->num_points * evaluation->num_programs;
  RPINN_TRY(rpinn_evaluation_plan(context, herd->backend, evaluation, &planned));
  RpinnStatus status = RPINN_OK;
  for (size_t k = 0; k <= speed->repetitions && status == RPINN_OK; k++) {
    double begun = rpinn_steady_seconds();
    status = rpinn_evaluation_run(context, &planned, &batch, value_of);
    if (k) seconds[k - 1] = rpinn_steady_seconds() - begun;
  }
  rpinn_evaluation_release(&planned);
  if (status == RPINN_OK) prediction->seconds = median(seconds, speed->repetitions);
  return status;
}

static RpinnStatus measure_predictions(RpinnContext *context, RpinnDeviceSpeed *speed, Herd *herd) {
  const RpinnPosterior *posterior = herd->posterior;
  RpinnDevicePrediction *prediction = &speed->prediction;
  RpinnEvaluation evaluation = {.num_points = posterior->data->predict.count,
                                .points = posterior->data->predict.x,
                                .num_programs = posterior->problem->num_predicted,
                                .programs = posterior->predictions};
  prediction->num_members = herd->count < PREDICTED_MEMBERS ? herd->count : PREDICTED_MEMBERS;
  prediction->num_points = evaluation.num_points;
  for (size_t q = 0; q < evaluation.num_programs; q++)
    prediction->work += (double)prediction->num_members *
                        count_products(&posterior->model, evaluation.programs[q], evaluation.num_points);
  double *values = malloc(prediction->num_members * evaluation.num_points * evaluation.num_programs *
                          sizeof *values),
         **value_of = malloc(prediction->num_members * sizeof *value_of);
  RpinnStatus status = values && value_of
                           ? time_predictions(context, speed, herd, &evaluation, values, value_of)
                           : rpinn_fail_memory(context);
  free(values);
  free(value_of);
  return status;
}

/* ---- the whole ---- */

static RpinnStatus measure_case(RpinnContext *context, RpinnDeviceSpeed *speed, size_t index, bool is_tf32) {
  const RpinnDeviceCase *of = &rpinn_device_cases[index];
  Herd herd = {0};
  RpinnStatus status = open_herd(context, of, is_tf32 ? "tf32" : "float", &herd);
  for (int i = 0; i < RPINN_NUM_DEVICE_PEAKS && index == 0 && !is_tf32 && status == RPINN_OK; i++)
    status = rpinn_device_measure_peak(context, herd.backend, (RpinnDevicePeak)i, &speed->peaks[i]);
  if (status == RPINN_OK) status = measure_adam(context, speed, of, &herd, is_tf32);
  if (index == 0 && !is_tf32 && status == RPINN_OK && herd.backend->operations->transitions)
    status = measure_chains(context, speed, &herd);
  if (index == STEP_CASE && !is_tf32 && status == RPINN_OK) status = measure_steps(context, speed, &herd);
  if (index == STEP_CASE && !is_tf32 && status == RPINN_OK)
    status = measure_predictions(context, speed, &herd);
  close_herd(&herd);
  return status;
}

static RpinnStatus measure(RpinnContext *context, const RpinnBenchOptions *options, RpinnDeviceSpeed *speed) {
  bool has_tf32 = rpinn_cuda_backend.precisions >> RPINN_PRECISION_TF32 & 1;
  RPINN_TRY(
      rpinn_backend_describe(context, rpinn_device_speed_kind.backend, speed->device, sizeof speed->device));
  for (size_t k = 0; k < RPINN_NUM_DEVICE_CASES; k++)
    for (int is_tf32 = 0; is_tf32 <= has_tf32; is_tf32++) {
      if (options->interrupted && options->interrupted(options->user))
        return rpinn_fail(context, RPINN_ERROR_INTERRUPTED, "interrupted before %s",
                          rpinn_device_cases[k].name);
      RPINN_TRY(measure_case(context, speed, k, is_tf32));
    }
  return RPINN_OK;
}

static void destroy(RpinnBench *bench) {
  free(bench);
}

static RpinnStatus create(RpinnContext *context, const RpinnBenchOptions *options, RpinnBench **bench) {
  RpinnDeviceSpeed *speed = calloc(1, sizeof *speed);
  if (!speed) return rpinn_fail_memory(context);
  speed->base.kind = &rpinn_device_speed_kind;
  speed->repetitions = options->repetitions ? options->repetitions : DEFAULT_REPETITIONS;
  if (speed->repetitions > MAX_REPETITIONS) speed->repetitions = MAX_REPETITIONS;
  RpinnStatus status = measure(context, options, speed);
  if (status == RPINN_OK)
    *bench = &speed->base;
  else
    free(speed);
  return status;
}

const RpinnBenchKind rpinn_device_speed_kind = {.backend = "cuda",
                                                .create = create,
                                                .destroy = destroy,
                                                .worst = rpinn_device_speed_worst,
                                                .text = rpinn_device_speed_text,
                                                .json = rpinn_device_speed_json};
