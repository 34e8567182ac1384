/* The backend `plain`: scalar C in double, point by point, never optimised. The oracle for all others. */
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "plain_jet.h"

typedef struct PlainBackend {
  RpinnBackend base;
  RpinnPlainJet *jets; /* [num_fields] */
  double *jet_memory;
  double *registers, *adjoints; /* longest program seen */
  double *channels, *channel_adjoints;
  double *field_values, *field_adjoints; /* [num_fields][RPINN_MAX_CHANNELS] */
  size_t num_registers, num_channels;
  double *deviations, *mixed; /* [points of the largest mixed term], [its rows] */
  double *slope;              /* [N] */
} PlainBackend;

static void destroy(RpinnBackend *backend) {
  PlainBackend *plain = (PlainBackend *)backend;
  if (!plain) return;
  free(plain->jets);
  free(plain->jet_memory);
  free(plain->registers);
  free(plain->adjoints);
  free(plain->channels);
  free(plain->channel_adjoints);
  free(plain->field_values);
  free(plain->field_adjoints);
  free(plain->deviations);
  free(plain->mixed);
  free(plain->slope);
  free(plain);
}

/* Room for a program's registers and inputs. */
static RpinnStatus reserve(RpinnContext *context, PlainBackend *plain, const RpinnResidualProgram *program) {
  double **arrays[] = {&plain->registers, &plain->adjoints, &plain->channels, &plain->channel_adjoints};
  size_t need[] = {program->num_instructions, program->num_instructions, program->num_inputs,
                   program->num_inputs};
  if (program->num_instructions > plain->num_registers || program->num_inputs > plain->num_channels ||
      !plain->registers) {
    for (int k = 0; k < 4; k++) {
      double *grown = realloc(*arrays[k], (need[k] + 1) * sizeof(double));
      if (!grown) return rpinn_fail_memory(context);
      *arrays[k] = grown;
    }
    plain->num_registers = program->num_instructions;
    plain->num_channels = program->num_inputs;
  }
  return RPINN_OK;
}

static RpinnStatus create(RpinnContext *context, const RpinnEnergyModel *model, RpinnPrecision precision,
                          RpinnBackend **backend) {
  (void)precision; /* always double */
  PlainBackend *plain = calloc(1, sizeof *plain);
  if (!plain) return rpinn_fail_memory(context);
  *backend = &plain->base;
  plain->base = (RpinnBackend){.operations = &rpinn_plain_backend, .model = model, .group = 1};
  size_t total = 0, num_mixed = 0;
  for (size_t t = 0; t < model->num_terms; t++)
    if (model->terms[t].mix && model->terms[t].num_points > num_mixed) num_mixed = model->terms[t].num_points;
  for (size_t f = 0; f < model->num_fields; f++) total += rpinn_plain_jet_size(&model->networks[f]);
  plain->jets = calloc(model->num_fields, sizeof *plain->jets);
  plain->jet_memory = calloc(total, sizeof(double));
  plain->field_values = calloc(model->num_fields * RPINN_MAX_CHANNELS, sizeof(double));
  plain->field_adjoints = calloc(model->num_fields * RPINN_MAX_CHANNELS, sizeof(double));
  plain->deviations = calloc(num_mixed + 1, sizeof(double));
  plain->mixed = calloc(num_mixed + 1, sizeof(double));
  plain->slope = calloc(model->num_parameters + 1, sizeof(double));
  if (!plain->jets || !plain->jet_memory || !plain->field_values || !plain->field_adjoints ||
      !plain->deviations || !plain->mixed || !plain->slope) {
    destroy(*backend);
    *backend = NULL;
    return rpinn_fail_memory(context);
  }
  double *memory = plain->jet_memory;
  for (size_t f = 0; f < model->num_fields; f++) {
    plain->jets[f] = rpinn_plain_jet_place(&model->networks[f], memory);
    memory += rpinn_plain_jet_size(&model->networks[f]);
  }
  return RPINN_OK;
}

/* The program's result at one point; leaves the jets and registers for the reverse pass. */
static double point_forward(PlainBackend *plain, const RpinnResidualProgram *program, const double *theta,
                            const double *x) {
  const RpinnEnergyModel *model = plain->base.model;
  for (size_t f = 0; f < model->num_fields; f++)
    if (program->channels[f].count)
      rpinn_plain_jet_forward(&model->networks[f], &program->channels[f], theta, x, &plain->jets[f],
                              plain->field_values + f * RPINN_MAX_CHANNELS);
  for (size_t k = 0; k < program->num_inputs; k++)
    plain->channels[k] =
        plain->field_values[program->inputs[k].field * RPINN_MAX_CHANNELS + program->inputs[k].channel];
  return rpinn_residual_program_forward(program, x, plain->channels, theta + model->unknown_start,
                                        plain->registers);
}

/* gradient += weight * dR/dtheta at the point of the last forward pass. */
static void point_reverse(PlainBackend *plain, const RpinnResidualProgram *program, const double *theta,
                          double weight, double *gradient) {
  const RpinnEnergyModel *model = plain->base.model;
  rpinn_residual_program_reverse(program, plain->registers, weight, plain->adjoints, plain->channel_adjoints,
                                 gradient + model->unknown_start);
  memset(plain->field_adjoints, 0, model->num_fields * RPINN_MAX_CHANNELS * sizeof(double));
  for (size_t k = 0; k < program->num_inputs; k++)
    plain->field_adjoints[program->inputs[k].field * RPINN_MAX_CHANNELS + program->inputs[k].channel] +=
        plain->channel_adjoints[k];
  for (size_t f = 0; f < model->num_fields; f++)
    if (program->channels[f].count)
      rpinn_plain_jet_reverse(&model->networks[f], &program->channels[f], theta, &plain->jets[f],
                              plain->field_adjoints + f * RPINN_MAX_CHANNELS, gradient);
}

/* ---- mixed terms: scales are those of the term's rows ---- */

/* deviations = (R - d) / s at all points of the term, with the s of its first row */
static void fill_deviations(PlainBackend *plain, const RpinnTermModel *term, const double *theta,
                            const double *scales) {
  for (size_t p = 0; p < term->num_points; p++)
    plain->deviations[p] =
        (point_forward(plain, term->program, theta, term->points + p * plain->base.model->num_coordinates) -
         term->targets[p]) *
        scales[0];
}

static double mixed_row(const PlainBackend *plain, const RpinnTermModel *term, const double *scales,
                        size_t row) {
  double sum = 0;
  for (size_t p = 0; p < term->num_points; p++)
    sum += term->mix[row * term->num_points + p] * plain->deviations[p];
  return sum * rpinn_mixed_row_ratio(scales, row);
}

/* sum of squares of the rows; with a gradient, rows^T mix dR/dtheta / s is added to it. */
static double mixed_energy(PlainBackend *plain, const RpinnTermModel *term, const double *theta,
                           const double *scales, const double *offsets, double *gradient) {
  double sum = 0;
  fill_deviations(plain, term, theta, scales);
  for (size_t j = 0; j < term->num_rows; j++) {
    double row = mixed_row(plain, term, scales, j) - (offsets ? offsets[j] : 0.0);
    sum += row * row;
    plain->mixed[j] = row * rpinn_mixed_row_ratio(scales, j);
  }
  for (size_t p = 0; gradient && p < term->num_points; p++) {
    double weight = 0;
    for (size_t j = 0; j < term->num_rows; j++)
      weight += term->mix[j * term->num_points + p] * plain->mixed[j] * scales[0];
    point_forward(plain, term->program, theta, term->points + p * plain->base.model->num_coordinates);
    point_reverse(plain, term->program, theta, weight, gradient);
  }
  return sum;
}

/* rows [num_rows]; jacobian [num_rows][N], cleared, or NULL. */
static void mixed_residuals(PlainBackend *plain, const RpinnTermModel *term, const double *theta,
                            const double *scales, double *rows, double *jacobian) {
  const RpinnEnergyModel *model = plain->base.model;
  size_t N = model->num_parameters;
  fill_deviations(plain, term, theta, scales);
  for (size_t j = 0; j < term->num_rows; j++) rows[j] = mixed_row(plain, term, scales, j);
  for (size_t p = 0; jacobian && p < term->num_points; p++) {
    memset(plain->slope, 0, N * sizeof *plain->slope);
    point_forward(plain, term->program, theta, term->points + p * model->num_coordinates);
    point_reverse(plain, term->program, theta, scales[0], plain->slope);
    for (size_t j = 0; j < term->num_rows; j++) {
      double factor = term->mix[j * term->num_points + p] * rpinn_mixed_row_ratio(scales, j);
      for (size_t k = 0; k < N; k++) jacobian[j * N + k] += factor * plain->slope[k];
    }
  }
}

/* ---- terms whose rows are their points ---- */

static double point_energy(PlainBackend *plain, const RpinnTermModel *term, const double *theta,
                           const double *scales, const double *offsets, double *gradient) {
  size_t dimension = plain->base.model->num_coordinates;
  double sum = 0;
  for (size_t p = 0; p < term->num_points; p++) {
    double value = point_forward(plain, term->program, theta, term->points + p * dimension);
    double row = (value - term->targets[p]) * scales[p] - (offsets ? offsets[p] : 0.0);
    sum += row * row;
    if (gradient) point_reverse(plain, term->program, theta, row * scales[p], gradient);
  }
  return sum;
}

static void point_residuals(PlainBackend *plain, const RpinnTermModel *term, const double *theta,
                            const double *scales, double *rows, double *jacobian) {
  size_t dimension = plain->base.model->num_coordinates, N = plain->base.model->num_parameters;
  for (size_t p = 0; p < term->num_points; p++) {
    double value = point_forward(plain, term->program, theta, term->points + p * dimension);
    rows[p] = (value - term->targets[p]) * scales[p];
    if (jacobian) point_reverse(plain, term->program, theta, scales[p], jacobian + p * N);
  }
}

/* ---- members ---- */

/* Energies of the terms and of the prior, and the gradient when asked for. */
static RpinnStatus member_energy(RpinnContext *context, PlainBackend *plain, const RpinnBatchMember *member,
                                 double *energy, double *gradient, double *term_energies) {
  const RpinnEnergyModel *model = plain->base.model;
  if (gradient) memset(gradient, 0, model->num_parameters * sizeof *gradient);
  *energy = 0;
  for (size_t t = 0; t < model->num_terms; t++) {
    const RpinnTermModel *term = &model->terms[t];
    const double *scales = member->row_scale + term->first_row,
                 *offsets = member->offsets ? member->offsets + term->first_row : NULL;
    RPINN_TRY(reserve(context, plain, term->program));
    double sum = term->mix ? mixed_energy(plain, term, member->theta, scales, offsets, gradient)
                           : point_energy(plain, term, member->theta, scales, offsets, gradient);
    if (term_energies) term_energies[t] = 0.5 * sum;
    *energy += 0.5 * sum;
  }
  double prior = rpinn_model_prior_energy(model, member, gradient);
  if (term_energies) term_energies[model->num_terms] = prior;
  *energy += prior;
  return RPINN_OK;
}

static RpinnStatus energies(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                            double *values, double *const *gradients, double *const *term_energies) {
  for (size_t k = 0; k < batch->num_members; k++) {
    RpinnBatchMember member = rpinn_batch_member(backend->model, batch, k);
    RPINN_TRY(member_energy(context, (PlainBackend *)backend, &member, &values[k],
                            gradients ? gradients[k] : NULL, term_energies ? term_energies[k] : NULL));
  }
  return RPINN_OK;
}

static RpinnStatus evaluate(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                            const RpinnEvaluation *evaluation, double *const *values) {
  PlainBackend *plain = (PlainBackend *)backend;
  for (size_t k = 0; k < batch->num_members; k++)
    for (size_t q = 0; q < evaluation->num_programs; q++) {
      const RpinnResidualProgram *program = evaluation->programs[q];
      RPINN_TRY(reserve(context, plain, program));
      for (size_t p = 0; p < evaluation->num_points; p++)
        values[k][q * evaluation->num_points + p] =
            point_forward(plain, program, batch->members[k].theta,
                          evaluation->points + p * backend->model->num_coordinates);
    }
  return RPINN_OK;
}

static RpinnStatus member_residuals(RpinnContext *context, PlainBackend *plain,
                                    const RpinnBatchMember *member, double *rows, double *jacobian) {
  const RpinnEnergyModel *model = plain->base.model;
  if (jacobian) memset(jacobian, 0, model->num_rows * model->num_parameters * sizeof *jacobian);
  for (size_t t = 0; t < model->num_terms; t++) {
    const RpinnTermModel *term = &model->terms[t];
    size_t first = term->first_row;
    RPINN_TRY(reserve(context, plain, term->program));
    (term->mix ? mixed_residuals
               : point_residuals)(plain, term, member->theta, member->row_scale + first, rows + first,
                                  jacobian ? jacobian + first * model->num_parameters : NULL);
  }
  return RPINN_OK;
}

static RpinnStatus residuals(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                             double *const *rows, double *const *jacobians) {
  for (size_t k = 0; k < batch->num_members; k++) {
    RpinnBatchMember member = rpinn_batch_member(backend->model, batch, k);
    RPINN_TRY(member_residuals(context, (PlainBackend *)backend, &member, rows[k],
                               jacobians ? jacobians[k] : NULL));
  }
  return RPINN_OK;
}

const RpinnBackendOperations rpinn_plain_backend = {.usual_precision = RPINN_PRECISION_DOUBLE,
                                                    .precisions = 1u << RPINN_PRECISION_DOUBLE,
                                                    .create = create,
                                                    .destroy = destroy,
                                                    .energies = energies,
                                                    .evaluate = evaluate,
                                                    .residuals = residuals};
