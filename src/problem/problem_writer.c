/* A problem as a problem file again: constants as numbers, expressions as they were written, settings
 * complete. Writing what was read from a written file gives the same text. */
#include "ascii.h"
#include "problem.h"

#include <math.h>
#include <string.h>

#include "covariance.h"
#include "finite_volume.h"

/* Could YAML read this as anything but the same plain text, in braces or out of them? */
static bool is_plain(const char *value) {
  size_t length = strlen(value);
  if (!length || rpinn_is_blank(value[length - 1])) return false;
  bool starts_well = rpinn_is_letter_or_digit(value[0]) || value[0] == '(' || value[0] == '_' ||
                     value[0] == '.' || (value[0] == '-' && length > 1 && !rpinn_is_blank(value[1]));
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)value[i];
    if (byte < 0x20 || byte >= 0x7f || strchr(",[]{}#:\"'&!|>%@`\\", byte)) return false;
  }
  return starts_well;
}

/* One character of UTF-8 (the YAML reader gives nothing else); returns its length. */
static size_t decode_character(const char *text, unsigned *code) {
  unsigned first = (unsigned char)text[0];
  size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  *code = length == 1 ? first : first & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) *code = *code << 6 | ((unsigned char)text[i] & 0x3f);
  return length;
}

/* Characters that YAML refuses or folds when they stand in a text as they are: controls, line ends of all
 * kinds, the byte order mark and what is no character at all. */
static bool needs_escape(unsigned code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 || code == 0xfeff ||
         (code >= 0xfffe && code < 0x10000);
}

static void write_text(RpinnText *out, const char *value) {
  if (is_plain(value)) {
    rpinn_text_append(out, "%s", value);
    return;
  }
  rpinn_text_append(out, "\"");
  while (*value) {
    unsigned code;
    size_t length = decode_character(value, &code);
    if (code == '"' || code == '\\')
      rpinn_text_append(out, "\\%c", *value);
    else if (needs_escape(code))
      rpinn_text_append(out, "\\u%04X", code);
    else
      rpinn_text_append_bytes(out, value, length);
    value += length;
  }
  rpinn_text_append(out, "\"");
}

static void write_number(RpinnText *out, double value) {
  char number[RPINN_NUMBER_TEXT];
  rpinn_number_format(value, number);
  rpinn_text_append(out, "%s", number);
}

static void write_pair(RpinnText *out, const char *key, const char *value) {
  rpinn_text_append(out, ", %s: ", key);
  write_text(out, value);
}

static void write_constants(const RpinnProblem *problem, RpinnText *out) {
  if (!problem->num_constants) return;
  rpinn_text_append(out, "constants:\n");
  for (size_t i = 0; i < problem->num_constants; i++) {
    double value = NAN;
    rpinn_expression_is_number(problem->pool, problem->constants[i].expression, &value);
    rpinn_text_append(out, "  %s: ", problem->constants[i].name);
    write_number(out, value);
    rpinn_text_append(out, "\n");
  }
}

static void write_interval(RpinnText *out, double low, double high) {
  rpinn_text_append(out, "[");
  write_number(out, low);
  rpinn_text_append(out, ", ");
  write_number(out, high);
  rpinn_text_append(out, "]");
}

static void write_prior_spec(const RpinnPriorSpec *prior, RpinnText *out) {
  const char *separator = "";
  if (prior->has_shape) {
    rpinn_text_append(out, "shape: %s", rpinn_prior_shape_names[prior->shape]);
    separator = ", ";
  }
  if (prior->has_factor) {
    rpinn_text_append(out, "%sfactor: ", separator);
    write_number(out, prior->factor);
    separator = ", ";
  }
  if (!prior->has_scale) return;
  rpinn_text_append(out, "%sscale: ", separator);
  if (prior->rule == RPINN_SCALE_GIVEN)
    write_number(out, prior->scale);
  else
    rpinn_text_append(out, "%s", rpinn_scale_rule_names[prior->rule]);
}

static void write_field(const RpinnProblem *problem, const RpinnField *field, RpinnText *out) {
  const RpinnNetwork *network = &field->network;
  rpinn_text_append(out, "  %s: {network: [", field->name);
  for (size_t l = 1; l < network->num_layers; l++)
    rpinn_text_append(out, "%s%zu", l > 1 ? ", " : "", network->width[l]);
  rpinn_text_append(out, "], inputs: [");
  for (size_t i = 0; i < network->num_inputs; i++)
    rpinn_text_append(out, "%s%s", i ? ", " : "", problem->coordinates[network->input_coordinate[i]].name);
  rpinn_text_append(out, "]");
  rpinn_text_append(out, ", scale_inputs: ");
  if (field->scales_inputs)
    write_interval(out, field->scaled_low, field->scaled_high);
  else
    rpinn_text_append(out, "none");
  if (!field->finds_output) {
    rpinn_text_append(out, ", scale_output: ");
    if (field->scales_output)
      write_interval(out, field->output_low, field->output_high);
    else
      rpinn_text_append(out, "none");
  }
  if (field->prior.has_shape || field->prior.has_scale || field->prior.has_factor) {
    rpinn_text_append(out, ", prior: {");
    write_prior_spec(&field->prior, out);
    rpinn_text_append(out, "}");
  }
  rpinn_text_append(out, ", activation: %s, initialization: %s, trainable: %s}\n",
                    rpinn_activation_names[network->activation],
                    network->initialization == RPINN_GLOROT_NORMAL ? "glorot_normal" : "glorot_uniform",
                    network->output_only ? "output" : "all");
}

static void write_unknown(const RpinnUnknown *unknown, RpinnText *out) {
  rpinn_text_append(out, "  %s: {start: ", unknown->name);
  write_number(out, unknown->start);
  rpinn_text_append(
      out, ", transform: %s, prior: {mean: ", unknown->transform == RPINN_TRANSFORM_LOG ? "log" : "none");
  write_number(out, unknown->prior_mean);
  rpinn_text_append(out, ", std: ");
  write_number(out, unknown->prior_std);
  rpinn_text_append(out, "}}\n");
}

static void write_counts(const RpinnProblem *problem, const size_t *counts, RpinnText *out) {
  rpinn_text_append(out, "[");
  for (size_t i = 0; i < problem->num_coordinates; i++)
    rpinn_text_append(out, "%s%zu", i ? ", " : "", counts[i]);
  rpinn_text_append(out, "]");
}

static void write_listed(const RpinnProblem *problem, const RpinnPointSpec *spec, RpinnText *out) {
  rpinn_text_append(out, "points: [");
  for (size_t p = 0; p < spec->num_listed; p++) {
    rpinn_text_append(out, "%s[", p ? ", " : "");
    for (size_t i = 0; i < problem->num_coordinates; i++) {
      if (i) rpinn_text_append(out, ", ");
      write_number(out, spec->listed[p * problem->num_coordinates + i]);
    }
    rpinn_text_append(out, "]");
  }
  rpinn_text_append(out, "]");
}

/* The inside of the braces. file replaces the name of a CSV file of points. */
static void write_points(const RpinnProblem *problem, const RpinnPointSpec *spec, const char *file,
                         RpinnText *out) {
  if (spec->region == RPINN_REGION_BOUNDARY) rpinn_text_append(out, "boundary: all, ");
  if (spec->region == RPINN_REGION_SIDE) {
    const RpinnCoordinate *coordinate = &problem->coordinates[spec->side_coordinate];
    rpinn_text_append(out, "side: %s=", coordinate->name);
    write_number(out, spec->side_high ? coordinate->high : coordinate->low);
    rpinn_text_append(out, ", ");
  }
  switch (spec->sampling) {
  case RPINN_POINTS_GRID:
    rpinn_text_append(out, "grid: ");
    write_counts(problem, spec->counts, out);
    break;
  case RPINN_POINTS_LATIN_HYPERCUBE: rpinn_text_append(out, "latin_hypercube: %zu", spec->counts[0]); break;
  case RPINN_POINTS_SOBOL: rpinn_text_append(out, "sobol: %zu", spec->counts[0]); break;
  case RPINN_POINTS_UNIFORM: rpinn_text_append(out, "uniform: %zu", spec->counts[0]); break;
  case RPINN_POINTS_LISTED: write_listed(problem, spec, out); break;
  case RPINN_POINTS_CELLS:
    if (spec->counts[0])
      rpinn_text_append(out, "cells: %zu", spec->counts[0]);
    else
      rpinn_text_append(out, "cells: all");
    break;
  case RPINN_POINTS_SAME_AS: rpinn_text_append(out, "same_as: %s", problem->terms[spec->term].name); break;
  case RPINN_POINTS_CSV:
    rpinn_text_append(out, "csv: ");
    write_text(out, file ? file : spec->file);
    break;
  case RPINN_POINTS_OF_DATA: break;
  }
}

/* ", covariance: …, length: …, mean: …, variance: …" */
static void write_law(const RpinnProblem *problem, const RpinnFieldLaw *law, RpinnText *out) {
  rpinn_text_append(out, ", covariance: %s, length: [", rpinn_correlation_names[law->correlation]);
  for (size_t i = 0; i < problem->num_coordinates; i++) {
    if (i) rpinn_text_append(out, ", ");
    write_number(out, law->length[i]);
  }
  rpinn_text_append(out, "], mean: ");
  write_number(out, law->mean);
  rpinn_text_append(out, ", variance: ");
  write_number(out, law->variance);
}

static void write_drawn_field(const RpinnProblem *problem, RpinnText *out) {
  const RpinnDrawnFieldSpec *field = &problem->truth.field;
  if (!field->present) return;
  rpinn_text_append(out, "  field: {name: %s", field->name);
  write_law(problem, &field->law, out);
  if (field->has_seed) rpinn_text_append(out, ", seed: %llu", (unsigned long long)field->seed);
  rpinn_text_append(out, "}\n");
}

static void write_solved_flow(const RpinnProblem *problem, RpinnText *out) {
  const RpinnSolvedFlowSpec *flow = &problem->truth.flow;
  if (!flow->present) return;
  rpinn_text_append(out, "  solve: {name: %s", flow->name);
  write_pair(out, "conductivity", flow->conductivity.text);
  if (flow->has_source) write_pair(out, "source", flow->source.text);
  for (size_t side = 0; side < RPINN_MADE_NUM_SIDES; side++) {
    if (!flow->sides[side].present) continue;
    rpinn_text_append(out, ", %s: {%s: ", rpinn_flow_side_names[side],
                      flow->sides[side].fixes_head ? "head" : "flux");
    write_text(out, flow->sides[side].value.text);
    rpinn_text_append(out, "}");
  }
  for (size_t w = 0; w < flow->num_wells; w++) {
    rpinn_text_append(out, w ? ", {at: [" : ", wells: [{at: [");
    for (size_t i = 0; i < problem->num_coordinates; i++) {
      if (i) rpinn_text_append(out, ", ");
      write_number(out, flow->wells[w].x[i]);
    }
    rpinn_text_append(out, "], rate: ");
    write_number(out, flow->wells[w].rate);
    rpinn_text_append(out, "}");
  }
  rpinn_text_append(out, flow->num_wells ? "]}\n" : "}\n");
}

static void write_truth(const RpinnProblem *problem, const RpinnProblemFiles *files, RpinnText *out) {
  const RpinnTruthSpec *truth = &problem->truth;
  if (!truth->present) return;
  rpinn_text_append(out, "truth:\n");
  if (truth->file || files->truth_is_made) {
    rpinn_text_append(out, "  csv: ");
    write_text(out, files->truth ? files->truth : truth->file);
    rpinn_text_append(out, "\n");
  }
  if (truth->has_cells) {
    rpinn_text_append(out, "  cells: ");
    write_counts(problem, truth->cells, out);
    rpinn_text_append(out, "\n");
  }
  if (!files->truth_is_made) {
    write_drawn_field(problem, out);
    write_solved_flow(problem, out);
  }
  for (size_t i = 0; i < truth->num_entries; i++) {
    rpinn_text_append(out, "  %s: ", truth->entries[i].name);
    write_text(out, truth->entries[i].text);
    rpinn_text_append(out, "\n");
  }
}

/* <term>_<kind>.csv, or the file as it is called in the problem. */
static void write_prior_file(const RpinnTerm *term, const RpinnProblemFiles *files, const char *kind,
                             const char *file, RpinnText *out) {
  if (files->has_priors)
    rpinn_text_append(out, "%s%s_%s.csv", files->prefix ? files->prefix : "", term->name, kind);
  else
    write_text(out, file);
}

static void write_gaussian_term(const RpinnProblem *problem, const RpinnTerm *term,
                                const RpinnProblemFiles *files, RpinnText *out) {
  rpinn_text_append(out, "  %s: {gaussian: {field: ", term->name);
  write_text(out, term->expect.text);
  write_law(problem, &term->gaussian.law, out);
  if (term->gaussian.given) {
    rpinn_text_append(out, ", given: ");
    write_prior_file(term, files, "given", term->gaussian.given, out);
  }
  rpinn_text_append(out, "}, at: {");
  if (term->at.sampling == RPINN_POINTS_CSV) {
    rpinn_text_append(out, "csv: ");
    write_prior_file(term, files, "points", term->at.file, out);
  } else {
    write_points(problem, &term->at, NULL, out);
  }
  rpinn_text_append(out, "}}\n");
}

static void write_unknown_noise(const RpinnUnknownNoise *unknown, RpinnText *out) {
  rpinn_text_append(out, ", noise: {unknown: true");
  if (unknown->start > 0) {
    rpinn_text_append(out, ", start: ");
    write_number(out, unknown->start);
  }
  if (unknown->truth > 0) {
    rpinn_text_append(out, ", truth: ");
    write_number(out, unknown->truth);
  }
  if (unknown->has_prior) {
    rpinn_text_append(out, ", prior: {mean: ");
    write_number(out, unknown->prior_mean);
    rpinn_text_append(out, ", std: ");
    write_number(out, unknown->prior_std);
    rpinn_text_append(out, "}");
  }
  rpinn_text_append(out, "}");
}

static void write_term(const RpinnProblem *problem, const RpinnTerm *term, const RpinnProblemFiles *files,
                       RpinnText *out) {
  bool points_in_file =
      files->data && (term->at.sampling == RPINN_POINTS_CSV || term->at.sampling == RPINN_POINTS_OF_DATA);
  bool data_in_file = files->data && term->source == RPINN_DATA_CSV;
  rpinn_text_append(out, "  %s: {expect: ", term->name);
  write_text(out, term->expect.text);
  if (!points_in_file && term->at.sampling != RPINN_POINTS_OF_DATA) {
    rpinn_text_append(out, ", at: {");
    write_points(problem, &term->at, NULL, out);
    rpinn_text_append(out, "}");
  }
  if (!data_in_file && term->data.text) write_pair(out, "data", term->data.text);
  if (term->has_noise) {
    rpinn_text_append(out, ", noise: ");
    write_number(out, term->noise);
  }
  if (term->row_noise.text) write_pair(out, "noise", term->row_noise.text);
  if (term->unknown_noise.present) write_unknown_noise(&term->unknown_noise, out);
  if (term->has_weight) {
    rpinn_text_append(out, ", weight: ");
    write_number(out, term->weight);
  }
  if (term->perturb != (term->source == RPINN_DATA_TRUTH))
    rpinn_text_append(out, ", perturb: %s", term->perturb ? "true" : "false");
  if (term->is_test) rpinn_text_append(out, ", role: test");
  rpinn_text_append(out, "}\n");
}

static void write_curve(const RpinnScaleCurve *curve, RpinnText *out) {
  rpinn_text_append(out, ", curve: [");
  for (size_t k = 0; k < curve->count; k++) {
    rpinn_text_append(out, k ? ", [" : "[");
    write_number(out, curve->scale[k]);
    rpinn_text_append(out, ", ");
    write_number(out, curve->log_density[k]);
    rpinn_text_append(out, "]");
  }
  rpinn_text_append(out, "]");
}

static void write_prior(const RpinnProblem *problem, RpinnText *out) {
  rpinn_text_append(out, "prior: {epsilon: ");
  write_number(out, problem->prior_epsilon);
  if (problem->has_reference_term)
    rpinn_text_append(out, ", reference_term: %s", problem->terms[problem->reference_term].name);
  if (problem->prior.has_shape || problem->prior.has_scale) rpinn_text_append(out, ", ");
  write_prior_spec(&problem->prior, out);
  if (problem->was_chosen)
    rpinn_text_append(out, ", chosen_by: %s", rpinn_scale_rule_names[problem->chosen_by]);
  if (problem->scales_per_field) rpinn_text_append(out, ", per_field: true");
  if (problem->integrates_scale) rpinn_text_append(out, ", integrate: true");
  if (problem->curve.count) write_curve(&problem->curve, out);
  rpinn_text_append(out, "}\n");
}

static void write_predict(const RpinnProblem *problem, const RpinnProblemFiles *files, RpinnText *out) {
  if (!problem->has_predict) return;
  rpinn_text_append(out, "predict: {");
  write_points(problem, &problem->predict_at, files->predict, out);
  rpinn_text_append(out, ", quantities: [");
  for (size_t i = 0; i < problem->num_predicted; i++)
    rpinn_text_append(out, "%s%s", i ? ", " : "", problem->predicted[i].name);
  rpinn_text_append(out, "]}\n");
}

static void write_units(const RpinnProblem *problem, RpinnText *out) {
  for (size_t i = 0; i < problem->num_units; i++) {
    rpinn_text_append(out, "%s%s: ", i ? ", " : "units: {", problem->units[i].name);
    write_text(out, problem->units[i].text);
  }
  if (problem->num_units) rpinn_text_append(out, "}\n");
}

static void write_settings(const RpinnProblem *problem, const RpinnProblemFiles *files, RpinnText *out) {
  rpinn_text_append(out, "settings:\n");
  for (size_t i = 0; i < RPINN_NUM_SETTINGS; i++) {
    const RpinnSettingDefinition *definition = rpinn_setting_definition((RpinnSetting)i);
    bool is_default = !strcmp(problem->settings.values[i].text, definition->initial);
    if (definition->role == RPINN_SETTING_LOCAL) continue;
    if (files->only_fixed &&
        (definition->role == RPINN_SETTING_FREE || (definition->role == RPINN_SETTING_ADDED && is_default)))
      continue;
    rpinn_text_append(out, "  %s: ", definition->name);
    write_text(out, problem->settings.values[i].text);
    rpinn_text_append(out, "\n");
  }
}

RpinnStatus rpinn_problem_write(RpinnContext *context, const RpinnProblem *problem,
                                const RpinnProblemFiles *files, RpinnText *out) {
  rpinn_text_append(out, "name: ");
  write_text(out, problem->name);
  rpinn_text_append(out, "\n");
  if (files->data) {
    rpinn_text_append(out, "data: ");
    write_text(out, files->data);
    rpinn_text_append(out, "\n");
  }
  rpinn_text_append(out, "coordinates:\n");
  for (size_t i = 0; i < problem->num_coordinates; i++) {
    rpinn_text_append(out, "  %s: ", problem->coordinates[i].name);
    write_interval(out, problem->coordinates[i].low, problem->coordinates[i].high);
    rpinn_text_append(out, "\n");
  }
  if (!files->only_fixed) write_units(problem, out);
  write_constants(problem, out);
  rpinn_text_append(out, "fields:\n");
  for (size_t i = 0; i < problem->num_fields; i++) write_field(problem, &problem->fields[i], out);
  if (problem->num_unknowns) rpinn_text_append(out, "unknowns:\n");
  for (size_t i = 0; i < problem->num_unknowns; i++) write_unknown(&problem->unknowns[i], out);
  if (problem->num_quantities) rpinn_text_append(out, "quantities:\n");
  for (size_t i = 0; i < problem->num_quantities; i++) {
    rpinn_text_append(out, "  %s: ", problem->quantities[i].name);
    write_text(out, problem->quantities[i].text);
    rpinn_text_append(out, "\n");
  }
  write_truth(problem, files, out);
  rpinn_text_append(out, "terms:\n");
  for (size_t i = 0; i < problem->num_terms; i++)
    if (problem->terms[i].source == RPINN_DATA_GAUSSIAN)
      write_gaussian_term(problem, &problem->terms[i], files, out);
    else
      write_term(problem, &problem->terms[i], files, out);
  write_prior(problem, out);
  write_predict(problem, files, out);
  write_settings(problem, files, out);
  return out->failed ? rpinn_fail_memory(context) : RPINN_OK;
}
