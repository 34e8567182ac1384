/* The check as a page for people and as JSON. */
#include "json_writer.h"
#include "problem_check.h"

#include <math.h>

enum { EXPRESSION_LIMIT = 240 };

static const char *plural(size_t count) {
  return count == 1 ? "" : "s";
}

static void append_shape(const RpinnNetwork *network, RpinnText *text) {
  for (size_t l = 0; l <= network->num_layers; l++)
    rpinn_text_append(text, "%s%zu", l ? "-" : "", network->width[l]);
}

/* "u, d(u, x), d(u, x, x)" */
static void append_channels(const RpinnProblem *problem, const RpinnChannelSet *set, size_t field,
                            RpinnText *text) {
  for (size_t c = 0; c < set->count; c++) {
    if (c) rpinn_text_append(text, " | ");
    rpinn_channel_print(&set->channels[c], problem->fields[field].name, problem->names.coordinates, text);
  }
}

static void text_fields(const RpinnCheck *check, RpinnText *text) {
  const RpinnProblem *problem = check->posterior->problem;
  rpinn_text_append(text, "\nfields\n");
  for (size_t f = 0; f < problem->num_fields; f++) {
    const RpinnField *field = &problem->fields[f];
    rpinn_text_append(text, "  %-12s ", field->name);
    append_shape(&field->network, text);
    rpinn_text_append(text, " %s, %zu parameters", rpinn_activation_names[field->network.activation],
                      field->network.num_trainable);
    if (field->network.output_only) rpinn_text_append(text, " (output layer only)");
    if (field->scales_inputs)
      rpinn_text_append(text, ", inputs scaled to [%g, %g]", field->scaled_low, field->scaled_high);
    if (field->scales_output)
      rpinn_text_append(text, ", output scaled to [%g, %g]", field->output_low, field->output_high);
    rpinn_text_append(text, "\n");
  }
  for (size_t k = 0; k < problem->num_unknowns; k++) {
    const RpinnUnknown *unknown = &problem->unknowns[k];
    rpinn_text_append(text, "  %-12s unknown, start %g, prior N(%g, %g^2)%s\n", unknown->name, unknown->start,
                      unknown->prior_mean, unknown->prior_std,
                      unknown->transform == RPINN_TRANSFORM_LOG ? " on its logarithm" : "");
  }
}

static void append_cell(RpinnText *text, double value) {
  if (isnan(value))
    rpinn_text_append(text, " %10s", "-");
  else
    rpinn_text_append(text, " %10.6g", value);
}

/* The least and the largest of noise that differs by row. */
static void find_noise_range(const RpinnTermData *data, double *low, double *high) {
  *low = *high = data->noise[0];
  for (size_t p = 1; p < data->points.count; p++) {
    *low = fmin(*low, data->noise[p]);
    *high = fmax(*high, data->noise[p]);
  }
}

static void text_row_noise(const RpinnTermData *data, RpinnText *text) {
  double low, high;
  if (!data->noise || !data->points.count) return;
  find_noise_range(data, &low, &high);
  rpinn_text_append(text, "  by row, %.4g to %.4g", low, high);
}

/* Noise that a run learns: where it starts, and what is thought of it before. */
static void text_unknown_noise(const RpinnPosterior *posterior, RpinnText *text) {
  for (size_t k = 0; k < posterior->num_noises; k++) {
    const RpinnNoiseLevel *noise = &posterior->noises[k];
    rpinn_text_append(text, "  %-18s start %.4g, spread of the data %.4g, prior of log s: %.4g +- %.4g\n",
                      noise->name, noise->start, noise->spread, noise->prior_mean, noise->prior_std);
  }
}

static void json_unknown_noise(const RpinnPosterior *posterior, size_t t, RpinnJson *json) {
  for (size_t k = 0; k < posterior->num_noises; k++) {
    const RpinnNoiseLevel *noise = &posterior->noises[k];
    if (posterior->fitted[noise->term] != t) continue;
    rpinn_json_open(json, "unknown_noise", '{');
    rpinn_json_number(json, "start", noise->start);
    rpinn_json_number(json, "spread", noise->spread);
    rpinn_json_number(json, "prior_mean", noise->prior_mean);
    rpinn_json_number(json, "prior_std", noise->prior_std);
    rpinn_json_close(json, '}');
  }
}

static void json_row_noise(const RpinnTermData *data, RpinnJson *json) {
  double low, high;
  if (!data->noise || !data->points.count) return;
  find_noise_range(data, &low, &high);
  rpinn_json_number(json, "noise_low", low);
  rpinn_json_number(json, "noise_high", high);
}

static void text_sigmas(const RpinnCheck *check, RpinnText *text) {
  const RpinnPosterior *posterior = check->posterior;
  const RpinnProblem *problem = posterior->problem;
  rpinn_text_append(text, "\nstandard deviations (likelihood %s)\n  %-18s %8s %10s %10s %10s\n",
                    problem->settings.values[RPINN_SETTING_LIKELIHOOD].text, "term", "N", "weight", "noise",
                    "s");
  for (size_t t = 0; t < problem->num_terms; t++) {
    const RpinnTerm *term = &problem->terms[t];
    rpinn_text_append(text, "  %-18s %8zu", term->name, posterior->data->terms[t].points.count);
    append_cell(text, posterior->sigmas.weights[t]);
    append_cell(text, posterior->data->terms[t].typical_noise);
    append_cell(text, posterior->sigmas.terms[t]);
    text_row_noise(&posterior->data->terms[t], text);
    if (term->unknown_noise.present) rpinn_text_append(text, "  noise unknown, s is its start");
    if (term->source == RPINN_DATA_GAUSSIAN)
      rpinn_text_append(text, "  gaussian prior, %zu rows", posterior->data->terms[t].num_rows);
    rpinn_text_append(text, "%s\n", term->is_test ? "  held out" : "");
  }
  rpinn_text_append(text, "  %-18s %8zu", "prior", posterior->model.unknown_start);
  append_cell(text, (double)NAN);
  append_cell(text, (double)NAN);
  if (posterior->sigmas.rule != RPINN_SCALE_GIVEN) {
    append_cell(text, (double)NAN);
    rpinn_text_append(text, "  chosen from the data by %s: rpinn check --prior shows it\n",
                      rpinn_scale_rule_names[posterior->sigmas.rule]);
    return;
  }
  append_cell(text, posterior->sigmas.prior);
  rpinn_text_append(text, "%s\n", isinf(posterior->sigmas.prior) ? "  no prior" : "");
  text_unknown_noise(posterior, text);
}

static void text_terms(const RpinnCheck *check, RpinnText *text) {
  const RpinnPosterior *posterior = check->posterior;
  const RpinnProblem *problem = posterior->problem;
  rpinn_text_append(text, "\nterms, as they are computed\n");
  for (size_t k = 0; k < posterior->model.num_terms; k++) {
    const RpinnTerm *term = &problem->terms[posterior->fitted[k]];
    const RpinnResidualProgram *program = posterior->model.terms[k].program;
    rpinn_text_append(text, "  %s = ", term->name);
    rpinn_expression_print(problem->pool, term->expect.expression, &problem->names, EXPRESSION_LIMIT, text);
    rpinn_text_append(text, "\n    %zu instruction%s; channels", program->num_instructions,
                      plural(program->num_instructions));
    for (size_t f = 0; f < program->num_fields; f++) {
      if (!program->channels[f].count) continue;
      rpinn_text_append(text, " [");
      append_channels(problem, &program->channels[f], f, text);
      rpinn_text_append(text, "]");
    }
    rpinn_text_append(text, "\n");
  }
}

static void text_derivatives(const RpinnCheck *check, RpinnText *text) {
  const RpinnPosterior *posterior = check->posterior;
  rpinn_text_append(text, "\nderivatives against finite differences (largest relative error; limit %g)\n",
                    RPINN_CHECK_TOLERANCE);
  rpinn_text_append(text, "  %-18s %12s %12s\n", "term", "jets", "Jacobian");
  for (size_t k = 0; k < posterior->model.num_terms; k++)
    rpinn_text_append(text, "  %-18s %12.2e %12.2e\n", rpinn_posterior_term_name(posterior, k),
                      check->jet_errors[k], check->jacobian_errors[k]);
  rpinn_text_append(text, "  gradient of the energy %.2e, against J^T r %.2e\n", check->gradient_error,
                    check->consistency_error);
}

char *rpinn_check_text(const RpinnCheck *check) {
  const RpinnPosterior *posterior = check->posterior;
  const RpinnProblem *problem = posterior->problem;
  RpinnText text = {0};
  rpinn_text_append(&text, "%s: %zu coordinate%s, %zu field%s, %zu fitted term%s, %zu rows, %zu parameters\n",
                    problem->name, problem->num_coordinates, plural(problem->num_coordinates),
                    problem->num_fields, plural(problem->num_fields), posterior->model.num_terms,
                    plural(posterior->model.num_terms), posterior->model.num_rows,
                    posterior->model.num_parameters);
  text_fields(check, &text);
  text_terms(check, &text);
  text_sigmas(check, &text);
  text_derivatives(check, &text);
  rpinn_text_append(&text, "\nenergy near a start: %.10g\n", check->energy);
  for (size_t i = 0; i < check->num_warnings; i++)
    rpinn_text_append(&text, "warning: %s\n", check->warnings[i]);
  rpinn_text_append(&text, "%s\n",
                    rpinn_check_passed(check)
                        ? "ok: all derivatives agree"
                        : "FAILED: a derivative is wrong or a value is not finite (see above)");
  if (!text.failed) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}

/* ---- JSON ---- */

static void json_fields(const RpinnCheck *check, RpinnJson *json) {
  const RpinnProblem *problem = check->posterior->problem;
  rpinn_json_open(json, "fields", '{');
  for (size_t f = 0; f < problem->num_fields; f++) {
    RpinnText shape = {0};
    append_shape(&problem->fields[f].network, &shape);
    rpinn_json_open(json, problem->fields[f].name, '{');
    rpinn_json_text(json, "network", shape.bytes ? shape.bytes : "");
    rpinn_json_text(json, "activation", rpinn_activation_names[problem->fields[f].network.activation]);
    rpinn_json_number(json, "parameters", (double)problem->fields[f].network.num_trainable);
    rpinn_json_close(json, '}');
    rpinn_text_free(&shape);
  }
  rpinn_json_close(json, '}');
}

static void json_channels(const RpinnProblem *problem, const RpinnResidualProgram *program, RpinnJson *json) {
  rpinn_json_open(json, "channels", '{');
  for (size_t f = 0; f < program->num_fields; f++) {
    if (!program->channels[f].count) continue;
    rpinn_json_open(json, problem->fields[f].name, '[');
    for (size_t c = 0; c < program->channels[f].count; c++) {
      RpinnText name = {0};
      rpinn_channel_print(&program->channels[f].channels[c], problem->fields[f].name,
                          problem->names.coordinates, &name);
      rpinn_json_text(json, NULL, name.bytes ? name.bytes : "");
      rpinn_text_free(&name);
    }
    rpinn_json_close(json, ']');
  }
  rpinn_json_close(json, '}');
}

static void json_terms(const RpinnCheck *check, RpinnJson *json) {
  const RpinnPosterior *posterior = check->posterior;
  const RpinnProblem *problem = posterior->problem;
  rpinn_json_open(json, "terms", '{');
  for (size_t t = 0, fitted = 0; t < problem->num_terms; t++) {
    const RpinnTerm *term = &problem->terms[t];
    rpinn_json_open(json, term->name, '{');
    rpinn_json_number(json, "points", (double)posterior->data->terms[t].points.count);
    rpinn_json_number(json, "weight", posterior->sigmas.weights[t]);
    rpinn_json_number(json, "noise", posterior->data->terms[t].typical_noise);
    json_row_noise(&posterior->data->terms[t], json);
    json_unknown_noise(posterior, t, json);
    rpinn_json_number(json, "sigma", posterior->sigmas.terms[t]);
    rpinn_json_text(json, "role",
                    term->source == RPINN_DATA_GAUSSIAN ? "prior"
                    : term->is_test                     ? "test"
                                                        : "fit");
    if (term->source == RPINN_DATA_GAUSSIAN)
      rpinn_json_number(json, "rows", (double)posterior->data->terms[t].num_rows);
    rpinn_json_boolean(json, "has_data",
                       !posterior->data->terms[t].missing && term->source != RPINN_DATA_GAUSSIAN);
    if (!term->is_test) {
      rpinn_json_number(json, "instructions",
                        (double)posterior->model.terms[fitted].program->num_instructions);
      rpinn_json_number(json, "energy", check->term_energies[fitted]);
      rpinn_json_number(json, "jet_error", check->jet_errors[fitted]);
      rpinn_json_number(json, "jacobian_error", check->jacobian_errors[fitted]);
      json_channels(problem, posterior->model.terms[fitted].program, json);
      fitted++;
    }
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, '}');
}

char *rpinn_check_json(const RpinnCheck *check) {
  const RpinnPosterior *posterior = check->posterior;
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "problem", posterior->problem->name);
  rpinn_json_boolean(&json, "passed", rpinn_check_passed(check));
  rpinn_json_number(&json, "parameters", (double)posterior->model.num_parameters);
  rpinn_json_number(&json, "rows", (double)posterior->model.num_rows);
  rpinn_json_text(&json, "likelihood", posterior->problem->settings.values[RPINN_SETTING_LIKELIHOOD].text);
  rpinn_posterior_json_sigmas(posterior, &json);
  json_fields(check, &json);
  json_terms(check, &json);
  rpinn_json_number(&json, "energy", check->energy);
  rpinn_json_open(&json, "errors", '{');
  rpinn_json_number(&json, "jets", rpinn_check_jet_error(check));
  rpinn_json_number(&json, "jacobian", rpinn_check_jacobian_error(check));
  rpinn_json_number(&json, "gradient", rpinn_check_gradient_error(check));
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "warnings", '[');
  for (size_t i = 0; i < check->num_warnings; i++) rpinn_json_text(&json, NULL, check->warnings[i]);
  rpinn_json_close(&json, ']');
  rpinn_json_close(&json, '}');
  rpinn_text_append(&text, "\n");
  if (!text.failed) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}
