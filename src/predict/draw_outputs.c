#include "draw_outputs.h"

#include <math.h>
#include <stdio.h>

RpinnStatus rpinn_draw_outputs_plan(RpinnContext *context, RpinnPosterior *posterior,
                                    RpinnDrawOutputs *outputs) {
  const RpinnProblem *problem = posterior->problem;
  *outputs = (RpinnDrawOutputs){.num_quantities = problem->num_predicted,
                                .num_points = posterior->data->predict.count,
                                .test_terms = RPINN_ARENA_NEW(posterior->arena, size_t, problem->num_terms),
                                .test_starts = RPINN_ARENA_NEW(posterior->arena, size_t, problem->num_terms)};
  if (!outputs->test_terms || !outputs->test_starts) return rpinn_fail_memory(context);
  outputs->num_values = outputs->num_quantities * outputs->num_points;
  for (size_t t = 0; t < problem->num_terms; t++) {
    if (!problem->terms[t].is_test) continue;
    outputs->test_terms[outputs->num_tests] = t;
    outputs->test_starts[outputs->num_tests++] = outputs->num_values;
    outputs->num_values += posterior->data->terms[t].points.count;
  }
  outputs->unknown_start = outputs->num_values;
  outputs->num_scalars = problem->num_unknowns + posterior->num_noises;
  outputs->num_values += outputs->num_scalars;
  return RPINN_OK;
}

const char *rpinn_draw_outputs_scalar(const RpinnPosterior *posterior, size_t scalar) {
  const RpinnProblem *problem = posterior->problem;
  return scalar < problem->num_unknowns ? problem->unknowns[scalar].name
                                        : posterior->noises[scalar - problem->num_unknowns].name;
}

void rpinn_draw_outputs_name(const RpinnDrawOutputs *outputs, const RpinnPosterior *posterior, size_t index,
                             char *text, size_t size) {
  const RpinnProblem *problem = posterior->problem;
  size_t num_predicted = outputs->num_quantities * outputs->num_points, test = outputs->num_tests;
  if (index >= outputs->unknown_start) {
    snprintf(text, size, "%.80s", rpinn_draw_outputs_scalar(posterior, index - outputs->unknown_start));
  } else if (index < num_predicted) {
    snprintf(text, size, "%.80s[%zu]", problem->predicted[index / outputs->num_points].name,
             index % outputs->num_points);
  } else {
    while (test > 1 && outputs->test_starts[test - 1] > index) test--;
    snprintf(text, size, "%.80s[%zu]", problem->terms[outputs->test_terms[test - 1]].name,
             index - outputs->test_starts[test - 1]);
  }
}

bool rpinn_draw_outputs_scalar_truth(const RpinnPosterior *posterior, size_t scalar, double *value) {
  size_t num_unknowns = posterior->problem->num_unknowns;
  if (scalar < num_unknowns) return rpinn_truth_of_unknown(&posterior->data->truth, scalar, value);
  *value = posterior->noises[scalar - num_unknowns].truth;
  return !isnan(*value);
}

void rpinn_draw_outputs_unknowns(const RpinnDrawOutputs *outputs, const RpinnPosterior *posterior,
                                 const double *theta, double *values) {
  for (size_t k = 0; k < posterior->problem->num_unknowns; k++) {
    double value = theta[posterior->model.unknown_start + k];
    bool is_log = posterior->problem->unknowns[k].transform == RPINN_TRANSFORM_LOG;
    values[outputs->unknown_start + k] = is_log ? exp(value) : value;
  }
  for (size_t k = 0; k < posterior->num_noises; k++)
    values[outputs->unknown_start + posterior->problem->num_unknowns + k] =
        exp(theta[posterior->model.num_parameters + k]);
}

RpinnStatus rpinn_draw_outputs_evaluate(RpinnContext *context, const RpinnDrawOutputs *outputs,
                                        RpinnPosterior *posterior, const double *theta, double *values) {
  if (outputs->num_quantities) RPINN_TRY(rpinn_posterior_predict(context, posterior, theta, values));
  for (size_t k = 0; k < outputs->num_tests; k++) {
    size_t term = outputs->test_terms[k];
    if (posterior->data->terms[term].points.count)
      RPINN_TRY(
          rpinn_posterior_evaluate_term(context, posterior, term, theta, values + outputs->test_starts[k]));
  }
  rpinn_draw_outputs_unknowns(outputs, posterior, theta, values);
  return RPINN_OK;
}
