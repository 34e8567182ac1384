#include "peer_problem.h"

#include <stdio.h>
#include <string.h>

enum { MAX_OVERRIDES = 16, NAME_SIZE = 64 };

RpinnStatus peer_problem_load(RpinnContext *context, const char *name, const char *preset,
                              size_t num_settings, const RpinnOverride *settings, int num_constants,
                              char **constants, RpinnProblem **problem) {
  RpinnOverride overrides[MAX_OVERRIDES];
  char names[MAX_OVERRIDES][NAME_SIZE];
  size_t count = 0;
  while (count < num_settings) {
    overrides[count] = settings[count];
    count++;
  }
  for (int i = 0; i < num_constants && count < MAX_OVERRIDES; i++, count++) {
    const char *equals = strchr(constants[i], '=');
    if (!equals || equals - constants[i] >= NAME_SIZE)
      return rpinn_fail(context, RPINN_ERROR_INPUT, "'%s', expected NAME=VALUE", constants[i]);
    snprintf(names[count], NAME_SIZE, "%.*s", (int)(equals - constants[i]), constants[i]);
    overrides[count] = (RpinnOverride){names[count], equals + 1, "command line", false};
  }
  RpinnProblemOptions options = {.preset = preset, .num_overrides = count, .overrides = overrides};
  return rpinn_problem_load(context, name, &options, problem);
}

void peer_json_numbers(RpinnJson *json, const char *key, const double *values, size_t count) {
  rpinn_json_open(json, key, '[');
  for (size_t i = 0; i < count; i++) rpinn_json_number(json, NULL, values[i]);
  rpinn_json_close(json, ']');
}

static void json_fields(RpinnJson *json, const RpinnPosterior *posterior) {
  const RpinnEnergyModel *model = &posterior->model;
  rpinn_json_open(json, "fields", '[');
  for (size_t f = 0; f < model->num_fields; f++) {
    const RpinnNetwork *network = &model->networks[f];
    rpinn_json_open(json, NULL, '{');
    rpinn_json_text(json, "name", posterior->problem->fields[f].name);
    rpinn_json_number(json, "parameter_start", (double)network->parameter_start);
    rpinn_json_open(json, "widths", '[');
    for (size_t l = 0; l <= network->num_layers; l++)
      rpinn_json_number(json, NULL, (double)network->width[l]);
    rpinn_json_close(json, ']');
    peer_json_numbers(json, "input_scale", network->input_scale, network->num_inputs);
    peer_json_numbers(json, "input_shift", network->input_shift, network->num_inputs);
    rpinn_json_number(json, "output_factor", network->output_factor);
    rpinn_json_number(json, "output_shift", network->output_shift);
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, ']');
}

void peer_json_model(RpinnJson *json, const RpinnPosterior *posterior) {
  const RpinnEnergyModel *model = &posterior->model;
  rpinn_json_text(json, "problem", rpinn_problem_name(posterior->problem));
  rpinn_json_number(json, "num_coordinates", (double)model->num_coordinates);
  json_fields(json, posterior);
  rpinn_json_open(json, "terms", '[');
  for (size_t t = 0; t < model->num_terms; t++) {
    const RpinnTermModel *term = &model->terms[t];
    rpinn_json_open(json, NULL, '{');
    rpinn_json_text(json, "name", rpinn_posterior_term_name(posterior, t));
    rpinn_json_number(json, "sigma", 1 / model->row_scale[term->first_row]);
    peer_json_numbers(json, "points", term->points, term->num_points * model->num_coordinates);
    peer_json_numbers(json, "data", term->targets, term->num_points);
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, ']');
  peer_json_numbers(json, "prior_root", model->prior_root, model->num_parameters);
  peer_json_numbers(json, "prior_mean", model->prior_mean, model->num_parameters);
}

RpinnStatus peer_json_print(RpinnContext *context, RpinnJson *json) {
  if (json->text->failed) return rpinn_fail_memory(context);
  puts(json->text->bytes);
  rpinn_text_free(json->text);
  return RPINN_OK;
}

double peer_seconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
