/* Simulation-based calibration (Talts et al. 2018): parameters theta from the prior, and for every row of every term, measured
 * or not, the datum R_t(x_i; theta) + s_t epsilon. Then theta and the draws of a correct posterior are exchangeable, and every
 * rank of a quantity of theta among those of the draws is equally likely.
 *
 * With whitened rows r(theta) of the problem's own data d, R = d + s r, so that the new data are d + s (r + epsilon). Those of a
 * gaussian term, whose rows mix its points, r = mix (y - m) with orthogonal rows of mix, are a new mean
 * m + sum_j mix_j (r_j + epsilon_j) / |mix_j|^2. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate_state.h"
#include "double_target.h"
#include "draw_outputs.h"
#include "importance.h"
#include "unknown_noise.h"

enum { MAX_ATTEMPTS = 100 };

/* ---- can it be drawn from? ---- */

static RpinnStatus check_posterior(RpinnContext *context, const RpinnPosterior *posterior) {
  const RpinnEnergyModel *model = &posterior->model;
  if (posterior->sigmas.rule != RPINN_SCALE_GIVEN)
    return rpinn_fail_at(
        context, (RpinnPlace){.file = "--from"},
        "parameters are drawn from a prior of a fixed scale, and here the data would choose it "
        "(%s); expected a number, such as --prior-scale 0.5",
        rpinn_scale_rule_names[posterior->sigmas.rule]);
  if (!rpinn_importance_available(model->num_parameters, model->prior_root))
    return rpinn_fail_at(context, (RpinnPlace){.file = "--from"},
                         "nothing can be drawn from a prior without bounds; expected a number, such as "
                         "--prior-scale 0.5");
  return RPINN_OK;
}

static RpinnStatus check_method(RpinnContext *context, const RpinnCalibration *calibration,
                                const RpinnCalibratedMethod *method) {
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RPINN_TRY(rpinn_calibration_load(context, calibration, method, &problem));
  RpinnStatus status = rpinn_posterior_create(context, problem, true, &posterior);
  if (status == RPINN_OK) {
    status = check_posterior(context, posterior);
    rpinn_posterior_destroy(posterior);
  }
  rpinn_problem_destroy(problem);
  return status;
}

RpinnStatus rpinn_calibration_check_prior(RpinnContext *context, const RpinnCalibration *calibration) {
  for (size_t m = 0; m < calibration->num_methods; m++)
    RPINN_TRY(check_method(context, calibration, &calibration->methods[m]));
  return RPINN_OK;
}

/* ---- a draw ---- */

typedef struct Draw {
  RpinnPosterior *posterior;
  RpinnArena *arena; /* for what stays */
  RpinnDrawOutputs outputs;
  double *theta;               /* [N], then [K] logarithms of noise that is not known */
  double *rows, *noise;        /* [M] whitened at theta, [M] epsilon */
  double *values;              /* [outputs.num_values] */
  RpinnReplacedRows *replaced; /* [num_terms] */
  double log_likelihood;
} Draw;

static bool all_finite(size_t count, const double *values) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return false;
  return true;
}

/* Noise that is not known, from its prior. */
static void draw_noise(Draw *draw, size_t attempt) {
  RpinnPosterior *posterior = draw->posterior;
  double *eta = draw->theta + posterior->model.num_parameters;
  RpinnStream stream = rpinn_stream(posterior->seed, RPINN_PURPOSE_SIMULATION, attempt, 2);
  for (size_t k = 0; k < posterior->num_noises; k++)
    eta[k] = posterior->noises[k].prior_mean + posterior->noises[k].prior_std * rpinn_stream_normal(&stream);
  if (posterior->num_noises) rpinn_posterior_set_noise(posterior, eta);
}

/* Parameters whose rows or predictions are not finite have no data: others are drawn in their place. */
static RpinnStatus draw_parameters(RpinnContext *context, Draw *draw, const RpinnLeastSquares *squares) {
  const RpinnEnergyModel *model = &draw->posterior->model;
  for (size_t attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    RpinnStream parameters = rpinn_stream(draw->posterior->seed, RPINN_PURPOSE_SIMULATION, attempt, 0),
                data = rpinn_stream(draw->posterior->seed, RPINN_PURPOSE_SIMULATION, attempt, 1);
    rpinn_stream_normals(&parameters, model->num_parameters, draw->theta);
    rpinn_stream_normals(&data, model->num_rows, draw->noise);
    for (size_t j = 0; j < model->num_parameters; j++)
      draw->theta[j] = model->prior_mean[j] + draw->theta[j] / model->prior_root[j];
    draw_noise(draw, attempt);
    RPINN_TRY(squares->residuals(squares->data, draw->theta, draw->rows));
    RPINN_TRY(
        rpinn_draw_outputs_evaluate(context, &draw->outputs, draw->posterior, draw->theta, draw->values));
    if (all_finite(model->num_rows, draw->rows) && all_finite(draw->outputs.num_values, draw->values))
      return RPINN_OK;
  }
  return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                    "none of %d draws from the prior has rows and predictions that are finite", MAX_ATTEMPTS);
}

/* values [points] of fitted term t, whose rows begin at `row`. */
static void make_values(const Draw *draw, size_t t, size_t row, double *values) {
  const RpinnTermModel *term = &draw->posterior->terms[t];
  memcpy(values, term->targets, term->num_points * sizeof *values);
  for (size_t i = 0; i < term->num_rows; i++) {
    double shift =
        (draw->rows[row + i] + draw->noise[row + i]) * rpinn_posterior_row_sigma(draw->posterior, t, i);
    if (!term->mix) {
      values[i] += shift;
      continue;
    }
    const double *mix = term->mix + i * term->num_points;
    double square = 0;
    for (size_t p = 0; p < term->num_points; p++) square += mix[p] * mix[p];
    for (size_t p = 0; p < term->num_points; p++) values[p] += mix[p] * shift / square;
  }
}

/* Held-out terms stay as they are. */
static RpinnStatus keep_rows(RpinnContext *context, Draw *draw) {
  const RpinnPosterior *posterior = draw->posterior;
  const RpinnProblem *problem = posterior->problem;
  draw->replaced = RPINN_ARENA_NEW(draw->arena, RpinnReplacedRows, problem->num_terms);
  if (!draw->replaced) return rpinn_fail_memory(context);
  for (size_t t = 0; t < problem->num_terms; t++) {
    const RpinnTermData *data = &posterior->data->terms[t];
    size_t count = data->points.count;
    double *x = RPINN_ARENA_NEW(draw->arena, double, count * problem->num_coordinates + 1),
           *values = RPINN_ARENA_NEW(draw->arena, double, count + 1),
           *noise = RPINN_ARENA_NEW(draw->arena, double, count + 1);
    if (!x || !values || !noise) return rpinn_fail_memory(context);
    memcpy(x, data->points.x, count * problem->num_coordinates * sizeof *x);
    memcpy(values, data->values, count * sizeof *values);
    if (data->noise_from_file) memcpy(noise, data->noise, count * sizeof *noise);
    draw->replaced[t] = (RpinnReplacedRows){.is_measured = data->from_file && !data->is_exact,
                                            .count = count,
                                            .x = x,
                                            .values = data->missing ? NULL : values,
                                            .noise = data->noise_from_file ? noise : NULL};
  }
  return RPINN_OK;
}

static RpinnStatus make_data(RpinnContext *context, Draw *draw) {
  const RpinnPosterior *posterior = draw->posterior;
  RPINN_TRY(keep_rows(context, draw));
  for (size_t t = 0, row = 0; t < posterior->model.num_terms; row += posterior->terms[t++].num_rows) {
    RpinnReplacedRows *rows = &draw->replaced[posterior->fitted[t]];
    double *values = RPINN_ARENA_NEW(draw->arena, double, rows->count + 1);
    if (!values) return rpinn_fail_memory(context);
    make_values(draw, t, row, values);
    rows->values = values;
    rows->is_measured = true;
    for (size_t i = 0; i < posterior->terms[t].num_rows; i++)
      draw->log_likelihood -= 0.5 * draw->noise[row + i] * draw->noise[row + i] +
                              log(rpinn_posterior_row_sigma(posterior, t, i)) + 0.91893853320467274178;
  }
  return RPINN_OK;
}

static RpinnStatus make_draw(RpinnContext *context, Draw *draw) {
  RpinnPosterior *posterior = draw->posterior;
  size_t M = posterior->model.num_rows, N = posterior->model.num_parameters;
  RpinnDoubleTarget target;
  RPINN_TRY(rpinn_draw_outputs_plan(context, posterior, &draw->outputs));
  draw->theta = RPINN_ARENA_NEW(posterior->arena, double, N + posterior->num_noises + 1);
  draw->rows = RPINN_ARENA_NEW(posterior->arena, double, M + 1);
  draw->noise = RPINN_ARENA_NEW(posterior->arena, double, M + 1);
  draw->values = RPINN_ARENA_NEW(draw->arena, double, draw->outputs.num_values + 1);
  if (!draw->theta || !draw->rows || !draw->noise || !draw->values) return rpinn_fail_memory(context);
  RpinnStatus status = rpinn_double_target_open(context, posterior, &target);
  if (status == RPINN_OK) status = draw_parameters(context, draw, &target.squares);
  rpinn_double_target_close(&target);
  return status == RPINN_OK ? make_data(context, draw) : status;
}

/* A prior on weights means what the output is mapped to: that of the problem's own data, whatever the new ones are. */
static void fix_outputs(const RpinnPosterior *posterior, RpinnProblem *problem) {
  for (size_t f = 0; f < problem->num_fields; f++) {
    RpinnField *field = &problem->fields[f];
    const RpinnNetwork *network = &posterior->networks[f];
    if (!field->finds_output) continue;
    field->finds_output = false;
    field->scales_output = true;
    field->output_low = network->output_shift - network->output_factor;
    field->output_high = network->output_shift + network->output_factor;
    field->network.output_shift = network->output_shift;
    field->network.output_factor = network->output_factor;
  }
}

/* And so does that of noise which starts from the spread of the data. */
static void fix_noise(const RpinnPosterior *posterior, RpinnProblem *problem) {
  for (size_t k = 0; k < posterior->num_noises; k++) {
    const RpinnNoiseLevel *noise = &posterior->noises[k];
    RpinnUnknownNoise *unknown = &problem->terms[posterior->fitted[noise->term]].unknown_noise;
    unknown->has_prior = true;
    unknown->prior_mean = noise->prior_mean;
    unknown->prior_std = noise->prior_std;
    unknown->start = noise->start;
  }
}

RpinnStatus rpinn_calibration_simulate(RpinnContext *context, RpinnProblem *problem,
                                       RpinnSimulation *simulation) {
  Draw draw = {.arena = problem->arena};
  RPINN_TRY(rpinn_posterior_create(context, problem, true, &draw.posterior));
  RpinnStatus status = make_draw(context, &draw);
  if (status == RPINN_OK) {
    fix_outputs(draw.posterior, problem);
    fix_noise(draw.posterior, problem);
    problem->replaced = draw.replaced;
    *simulation = (RpinnSimulation){draw.values, draw.log_likelihood};
  }
  rpinn_posterior_destroy(draw.posterior);
  return status;
}
