#include "linear_fields.h"

#include <stdlib.h>

#include "network_tangent.h"

struct RpinnLinearFields {
  const RpinnPosterior *posterior;
  const double *at;  /* [N] theta* */
  double *direction; /* [N] theta - theta* */
  double *values;    /* [num_fields][RPINN_MAX_CHANNELS][RPINN_TANGENT_POINTS] */
  /* grown as programs ask for them */
  size_t memory_size, num_registers, num_inputs, num_deviations;
  double *memory, *registers, *inputs, *deviations;
};

RpinnStatus rpinn_linear_fields_create(RpinnContext *context, const RpinnPosterior *posterior,
                                       const double *at, RpinnLinearFields **fields) {
  const RpinnEnergyModel *model = &posterior->model;
  RpinnLinearFields *own = *fields = calloc(1, sizeof *own);
  if (!own) return rpinn_fail_memory(context);
  own->posterior = posterior;
  own->at = at;
  own->direction = calloc(model->num_parameters + 1, sizeof(double));
  own->values = calloc(model->num_fields * RPINN_MAX_CHANNELS * RPINN_TANGENT_POINTS + 1, sizeof(double));
  if (own->direction && own->values) return RPINN_OK;
  rpinn_linear_fields_destroy(own);
  *fields = NULL;
  return rpinn_fail_memory(context);
}

void rpinn_linear_fields_destroy(RpinnLinearFields *fields) {
  if (!fields) return;
  free(fields->direction);
  free(fields->values);
  free(fields->memory);
  free(fields->registers);
  free(fields->inputs);
  free(fields->deviations);
  free(fields);
}

static RpinnStatus reserve(double **array, size_t *size, size_t needed) {
  if (*array && *size >= needed) return RPINN_OK;
  double *grown = realloc(*array, (needed + 1) * sizeof *grown);
  if (!grown) return RPINN_ERROR_MEMORY;
  *array = grown;
  *size = needed;
  return RPINN_OK;
}

static RpinnStatus prepare(RpinnLinearFields *fields, const RpinnResidualProgram *program) {
  const RpinnEnergyModel *model = &fields->posterior->model;
  size_t most = 0;
  for (size_t f = 0; f < model->num_fields; f++) {
    size_t size = rpinn_network_tangent_size(&model->networks[f], &program->channels[f]);
    if (size > most) most = size;
  }
  RPINN_TRY(reserve(&fields->memory, &fields->memory_size, most));
  RPINN_TRY(reserve(&fields->registers, &fields->num_registers, program->num_instructions));
  return reserve(&fields->inputs, &fields->num_inputs, program->num_inputs);
}

static double *field_values(const RpinnLinearFields *fields, size_t field) {
  return fields->values + field * RPINN_MAX_CHANNELS * RPINN_TANGENT_POINTS;
}

/* A program at a block of points. */
static void evaluate_block(RpinnLinearFields *fields, const RpinnResidualProgram *program,
                           const double *theta, size_t num_points, const double *points, double *values) {
  const RpinnEnergyModel *model = &fields->posterior->model;
  for (size_t f = 0; f < model->num_fields; f++)
    if (program->channels[f].count)
      rpinn_network_tangent(&model->networks[f], &program->channels[f], fields->at, fields->direction,
                            model->num_coordinates, num_points, points, fields->memory,
                            field_values(fields, f));
  for (size_t p = 0; p < num_points; p++) {
    for (size_t k = 0; k < program->num_inputs; k++)
      fields->inputs[k] = field_values(
          fields, program->inputs[k].field)[program->inputs[k].channel * RPINN_TANGENT_POINTS + p];
    values[p] = rpinn_residual_program_forward(program, points + p * model->num_coordinates, fields->inputs,
                                               theta + model->unknown_start, fields->registers);
  }
}

RpinnStatus rpinn_linear_fields_evaluate(RpinnLinearFields *fields, const RpinnEvaluation *evaluation,
                                         const double *theta, double *values) {
  const RpinnEnergyModel *model = &fields->posterior->model;
  for (size_t j = 0; j < model->num_parameters; j++) fields->direction[j] = theta[j] - fields->at[j];
  for (size_t k = 0; k < evaluation->num_programs; k++) {
    RPINN_TRY(prepare(fields, evaluation->programs[k]));
    for (size_t first = 0; first < evaluation->num_points; first += RPINN_TANGENT_POINTS) {
      size_t left = evaluation->num_points - first;
      evaluate_block(
          fields, evaluation->programs[k], theta, left < RPINN_TANGENT_POINTS ? left : RPINN_TANGENT_POINTS,
          evaluation->points + first * model->num_coordinates, values + k * evaluation->num_points + first);
    }
  }
  return RPINN_OK;
}

RpinnStatus rpinn_linear_fields_outputs(RpinnLinearFields *fields, const RpinnDrawOutputs *outputs,
                                        const double *theta, double *values) {
  const RpinnPosterior *posterior = fields->posterior;
  RpinnEvaluation predictions = {.num_points = outputs->num_points,
                                 .points = posterior->data->predict.x,
                                 .num_programs = outputs->num_quantities,
                                 .programs = posterior->predictions};
  RPINN_TRY(rpinn_linear_fields_evaluate(fields, &predictions, theta, values));
  for (size_t k = 0; k < outputs->num_tests; k++) {
    size_t term = outputs->test_terms[k];
    RpinnEvaluation test = {.num_points = posterior->data->terms[term].points.count,
                            .points = posterior->data->terms[term].points.x,
                            .num_programs = 1,
                            .programs = &posterior->programs[term]};
    RPINN_TRY(rpinn_linear_fields_evaluate(fields, &test, theta, values + outputs->test_starts[k]));
  }
  rpinn_draw_outputs_unknowns(outputs, posterior, theta, values);
  return RPINN_OK;
}

/* row_j = sum_i mix_ji (R_i - d_i) / s_j; mix NULL: the identity. scales: of the term's rows. */
static void whiten(const RpinnTermModel *term, const double *scales, double *deviations, double *rows) {
  for (size_t i = 0; i < term->num_points; i++)
    deviations[i] = (deviations[i] - term->targets[i]) * scales[term->mix ? 0 : i];
  for (size_t j = 0; j < term->num_rows; j++) {
    rows[j] = term->mix ? 0 : deviations[j];
    for (size_t i = 0; term->mix && i < term->num_points; i++)
      rows[j] += term->mix[j * term->num_points + i] * deviations[i];
    if (term->mix) rows[j] *= rpinn_mixed_row_ratio(scales, j);
  }
}

RpinnStatus rpinn_linear_fields_rows(RpinnLinearFields *fields, const double *theta, double *rows) {
  const RpinnEnergyModel *model = &fields->posterior->model;
  for (size_t t = 0; t < model->num_terms; t++) {
    const RpinnTermModel *term = &model->terms[t];
    RpinnEvaluation evaluation = {.num_points = term->num_points,
                                  .points = term->points,
                                  .num_programs = 1,
                                  .programs = &term->program};
    RPINN_TRY(reserve(&fields->deviations, &fields->num_deviations, term->num_points));
    RPINN_TRY(rpinn_linear_fields_evaluate(fields, &evaluation, theta, fields->deviations));
    whiten(term, model->row_scale + term->first_row, fields->deviations, rows);
    rows += term->num_rows;
  }
  return RPINN_OK;
}
