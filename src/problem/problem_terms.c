/* The sections that make an energy of them: truth, terms, and what to predict. */
#include <stdlib.h>
#include <string.h>

#include "ascii.h"
#include "problem_sections.h"

/* ---- truth ---- */

/* The things that may have a truth or be predicted. */
static bool is_result(const RpinnProblem *problem, const char *name) {
  for (size_t i = 0; i < problem->num_fields; i++)
    if (!strcmp(problem->fields[i].name, name)) return true;
  for (size_t i = 0; i < problem->num_quantities; i++)
    if (!strcmp(problem->quantities[i].name, name)) return true;
  for (size_t i = 0; i < problem->num_unknowns; i++)
    if (!strcmp(problem->unknowns[i].name, name)) return true;
  return false;
}

static RpinnStatus check_result_name(RpinnReader *reader, RpinnPlace place, const char *name) {
  RpinnProblem *problem = reader->problem;
  if (is_result(problem, name)) return RPINN_OK;
  size_t count = 0;
  const char **known = RPINN_ARENA_NEW(problem->arena, const char *,
                                       problem->num_fields + problem->num_quantities + problem->num_unknowns);
  if (!known) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < problem->num_fields; i++) known[count++] = problem->fields[i].name;
  for (size_t i = 0; i < problem->num_quantities; i++) known[count++] = problem->quantities[i].name;
  for (size_t i = 0; i < problem->num_unknowns; i++) known[count++] = problem->unknowns[i].name;
  return rpinn_reader_fail_unknown(reader, place, "field, quantity or unknown", name, known, count);
}

static RpinnStatus read_truth_cells(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  if (node->kind != RPINN_YAML_SEQUENCE || node->count != problem->num_coordinates)
    return rpinn_fail_at(reader->context, node->place,
                         "cells of the truth is not a list with %zu count%s; expected one per coordinate",
                         problem->num_coordinates, problem->num_coordinates > 1 ? "s" : "");
  double total = 1;
  for (size_t i = 0; i < node->count; i++) {
    RPINN_TRY(rpinn_reader_count(reader, node->items[i], "the number of cells", 1, RPINN_MAX_POINTS,
                                 &problem->truth.cells[i]));
    total *= (double)problem->truth.cells[i];
  }
  if (total > RPINN_MAX_POINTS)
    return rpinn_fail_at(reader->context, node->place, "the truth has %.4g cells; expected at most %d", total,
                         RPINN_MAX_POINTS);
  problem->truth.has_cells = true;
  return RPINN_OK;
}

RpinnStatus rpinn_section_truth(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  RpinnTruthSpec *truth = &problem->truth;
  const RpinnYaml *field = NULL, *flow = NULL; /* read when the cells are known */
  if (!node) return RPINN_OK;
  *truth = (RpinnTruthSpec){.present = true, .place = node->place};
  if (node->kind == RPINN_YAML_SCALAR)
    return rpinn_reader_text(reader, node, "the file of the truth", &truth->file);
  RPINN_TRY(rpinn_reader_size(reader, node, "truth", 1, RPINN_MAX_NAMES));
  truth->entries = RPINN_ARENA_NEW(problem->arena, RpinnNamedExpression, node->count);
  if (!truth->entries) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++) {
    const RpinnYaml *key = node->keys[i], *value = node->items[i];
    if (!is_result(problem, key->text) && !strcmp(key->text, "csv")) {
      RPINN_TRY(rpinn_reader_text(reader, value, "the file of the truth", &truth->file));
    } else if (!is_result(problem, key->text) && !strcmp(key->text, "cells")) {
      RPINN_TRY(read_truth_cells(reader, value));
    } else if (!is_result(problem, key->text) && !strcmp(key->text, "field")) {
      field = value;
    } else if (!is_result(problem, key->text) && !strcmp(key->text, "solve")) {
      flow = value;
    } else {
      RPINN_TRY(check_result_name(reader, key->place, key->text));
      RPINN_TRY(rpinn_reader_named(reader, key, value, &truth->entries[truth->num_entries]));
      truth->num_entries++;
    }
  }
  if (field) RPINN_TRY(rpinn_section_drawn_field(reader, field));
  return flow ? rpinn_section_solved_flow(reader, flow) : RPINN_OK;
}

/* ---- terms ---- */

static bool is_csv_name(const char *text) {
  size_t length = strlen(text);
  return length > 4 && !strcmp(text + length - 4, ".csv");
}

/* "wells.txt", "data/wells.CSV": a dot and letters at the end, which no expression has. */
static bool looks_like_a_file(const char *text) {
  const char *dot = strrchr(text, '.');
  return dot && rpinn_is_letter(dot[1]) && !strpbrk(dot + 1, " ()+-*/^");
}

static RpinnStatus read_term_data(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                  RpinnTerm *term) {
  RpinnProblem *problem = reader->problem;
  if (!node) {
    if (!problem->data_file)
      return rpinn_fail_at(reader->context, term->place,
                           "%s has no 'data'; expected data: truth, an expression or a CSV file", owner);
    term->source = RPINN_DATA_CSV;
    return RPINN_OK;
  }
  term->data = (RpinnNamedExpression){.name = term->name, .place = rpinn_reader_text_place(node)};
  RPINN_TRY(rpinn_reader_text(reader, node, "data", &term->data.text));
  bool own_truth = false; /* a constant or coordinate may be called truth: it is then an expression */
  for (size_t i = 0; i < problem->num_constants; i++)
    own_truth |= !strcmp(problem->constants[i].name, "truth");
  for (size_t i = 0; i < problem->num_coordinates; i++)
    own_truth |= !strcmp(problem->coordinates[i].name, "truth");
  if (!strcmp(term->data.text, "truth") && !own_truth) {
    term->source = RPINN_DATA_TRUTH;
    if (!problem->truth.present && !problem->data_file)
      return rpinn_fail_at(reader->context, node->place,
                           "%s wants the truth but the file has none; expected a truth: section", owner);
    return RPINN_OK;
  }
  if (is_csv_name(term->data.text)) {
    term->source = RPINN_DATA_CSV;
    return RPINN_OK;
  }
  term->source = RPINN_DATA_EXPRESSION;
  if (looks_like_a_file(term->data.text))
    return rpinn_fail_at(reader->context, node->place,
                         "data is '%s'; expected truth, an expression, or a file whose name ends in .csv",
                         term->data.text);
  RPINN_TRY(rpinn_problem_expression(reader->context, problem,
                                     RPINN_NAMES_CONSTANTS | RPINN_NAMES_COORDINATES, term->data.text,
                                     term->data.place, &term->data.expression));
  term->data.state = RPINN_RESOLVED;
  return RPINN_OK;
}

static RpinnStatus read_term_weights(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                     RpinnTerm *term) {
  const RpinnYaml *noise = rpinn_yaml_get(node, "noise"), *weight = rpinn_yaml_get(node, "weight");
  term->has_weight = weight != NULL;
  term->noise_place = noise ? noise->place : term->place;
  term->weight_place = weight ? weight->place : term->place;
  if (noise) RPINN_TRY(rpinn_section_noise(reader, noise, owner, term));
  if (weight) {
    RPINN_TRY(rpinn_reader_number(reader, weight, "the weight", &term->weight));
    if (!(term->weight > 0))
      return rpinn_fail_at(reader->context, weight->place,
                           "the weight of %s is %.10g; expected a positive number", owner, term->weight);
  }
  return RPINN_OK;
}

/* Noise on data that are made; measured ones are used as they are. */
static RpinnStatus read_perturb(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                RpinnTerm *term) {
  term->perturb = term->source == RPINN_DATA_TRUTH;
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_boolean(reader, node, "perturb", &term->perturb));
  if (!term->perturb) return RPINN_OK;
  if (term->source == RPINN_DATA_CSV)
    return rpinn_fail_at(reader->context, node->place,
                         "perturb: true for %s, whose data come from a file; expected it with data that are "
                         "made: measured ones are used as they are",
                         owner);
  if (!(term->noise > 0) && !term->row_noise.text && !term->unknown_noise.present)
    return rpinn_fail_at(reader->context, node->place,
                         "perturb: true for %s, which has no noise above 0; expected noise: beside it",
                         owner);
  return RPINN_OK;
}

/* Data can only speak about what depends on the parameters. */
static RpinnStatus check_dependence(RpinnReader *reader, const char *owner, const RpinnTerm *term) {
  const RpinnExpressionPool *pool = reader->problem->pool;
  uint8_t *used = rpinn_expression_reachable(pool, term->expect.expression);
  if (!used) return rpinn_fail_memory(reader->context);
  bool depends = false;
  for (size_t i = 0; i <= term->expect.expression; i++)
    depends |= used[i] && (pool->nodes[i].operation == RPINN_OPERATION_FIELD ||
                           pool->nodes[i].operation == RPINN_OPERATION_PARAMETER);
  free(used);
  if (depends) return RPINN_OK;
  return rpinn_fail_at(reader->context, term->expect.place,
                       "%s expects '%s', which depends on no field and no unknown; expected one that does",
                       owner, term->expect.text);
}

/* What a term compares: parsed, and depending on the parameters. */
static RpinnStatus resolve_expected(RpinnReader *reader, const char *owner, RpinnTerm *term) {
  RPINN_TRY(rpinn_problem_expression(reader->context, reader->problem, RPINN_NAMES_ALL, term->expect.text,
                                     term->expect.place, &term->expect.expression));
  term->expect.state = RPINN_RESOLVED;
  return check_dependence(reader, owner, term);
}

static RpinnStatus read_compared(RpinnReader *reader, const RpinnYaml *node, const char *owner,
                                 RpinnTerm *term) {
  static const char *const roles[] = {"fit", "test"};
  RpinnProblem *problem = reader->problem;
  const RpinnYaml *expect, *at = rpinn_yaml_get(node, "at"), *value;
  RPINN_TRY(rpinn_reader_required(reader, node, owner, "expect", &expect));
  term->expect = (RpinnNamedExpression){.name = term->name, .place = rpinn_reader_text_place(expect)};
  RPINN_TRY(rpinn_reader_text(reader, expect, "expect", &term->expect.text));
  RPINN_TRY(resolve_expected(reader, owner, term));
  RPINN_TRY(read_term_data(reader, rpinn_yaml_get(node, "data"), owner, term));
  if (at) {
    RPINN_TRY(rpinn_reader_points(reader, at, "at", NULL, 0, &term->at));
  } else if (term->source == RPINN_DATA_CSV || problem->data_file) {
    term->at = (RpinnPointSpec){.sampling = RPINN_POINTS_OF_DATA, .place = term->place};
  } else {
    return rpinn_fail_at(reader->context, node->place, "%s has no 'at'; expected points such as {grid: 32}",
                         owner);
  }
  if ((value = rpinn_yaml_get(node, "role"))) {
    size_t position;
    RPINN_TRY(rpinn_reader_choice(reader, value, "role", roles, 2, &position));
    term->is_test = position == 1;
  }
  RPINN_TRY(read_term_weights(reader, node, owner, term));
  RPINN_TRY(read_perturb(reader, rpinn_yaml_get(node, "perturb"), owner, term));
  return rpinn_section_check_unknown_noise(reader, owner, term);
}

static RpinnStatus read_term(RpinnReader *reader, const RpinnYaml *node, RpinnTerm *term) {
  static const char *const keys[] = {"expect", "at",      "data", "noise",
                                     "weight", "perturb", "role", "gaussian"};
  char owner[RPINN_WHAT_SIZE];
  rpinn_reader_what(owner, "term '%s'", term->name);
  RPINN_TRY(rpinn_reader_keys(reader, node, owner, keys, sizeof keys / sizeof keys[0]));
  if (!rpinn_yaml_get(node, "gaussian")) return read_compared(reader, node, owner, term);
  term->noise_place = term->weight_place = term->place;
  RPINN_TRY(rpinn_section_gaussian(reader, node, owner, term));
  return resolve_expected(reader, owner, term);
}

/* same_as must lead to a term with points of its own. */
static RpinnStatus check_same_as(RpinnReader *reader) {
  const RpinnProblem *problem = reader->problem;
  for (size_t i = 0; i < problem->num_terms; i++) {
    size_t at = i, steps = 0;
    while (problem->terms[at].at.sampling == RPINN_POINTS_SAME_AS && steps++ <= problem->num_terms)
      at = problem->terms[at].at.term;
    if (steps > problem->num_terms)
      return rpinn_fail_at(
          reader->context, problem->terms[i].at.place,
          "same_as of term '%s' leads back to itself; expected a term with points of its own",
          problem->terms[i].name);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_section_terms(RpinnReader *reader, const RpinnYaml *node) {
  RpinnProblem *problem = reader->problem;
  RPINN_TRY(rpinn_reader_size(reader, node, "terms", 1, RPINN_MAX_TERMS));
  problem->terms = RPINN_ARENA_NEW(problem->arena, RpinnTerm, node->count);
  if (!problem->terms) return rpinn_fail_memory(reader->context);
  problem->num_terms = node->count;
  size_t num_fitted = 0;
  for (size_t i = 0; i < node->count; i++) {
    const RpinnYaml *key = node->keys[i];
    if (!rpinn_name_is_valid(key->text))
      return rpinn_fail_at(
          reader->context, key->place,
          "'%s' is no name for a term; expected letters, digits and _, not starting with a digit", key->text);
    problem->terms[i].name = key->text;
    problem->terms[i].place = key->place;
  }
  for (size_t i = 0; i < node->count; i++) {
    char buffer[RPINN_WHAT_SIZE];
    RPINN_TRY(rpinn_reader_mapping(reader, node->items[i],
                                   rpinn_reader_what(buffer, "term '%s'", node->keys[i]->text)));
    RPINN_TRY(read_term(reader, node->items[i], &problem->terms[i]));
    num_fitted += !problem->terms[i].is_test;
  }
  if (!num_fitted)
    return rpinn_fail_at(reader->context, node->place,
                         "all terms have role: test; expected at least one that is fitted");
  return check_same_as(reader);
}

/* ---- predict ---- */

RpinnStatus rpinn_section_predict(RpinnReader *reader, const RpinnYaml *node) {
  static const char *const extra[] = {"quantities"};
  RpinnProblem *problem = reader->problem;
  if (!node) return RPINN_OK;
  RPINN_TRY(rpinn_reader_points(reader, node, "predict", extra, 1, &problem->predict_at));
  const RpinnYaml *list;
  RPINN_TRY(rpinn_reader_required(reader, node, "predict", "quantities", &list));
  if (list->kind != RPINN_YAML_SEQUENCE || !list->count)
    return rpinn_fail_at(reader->context, list->place,
                         "quantities of predict is not a list of names; expected such as [%s]",
                         problem->fields[0].name);
  problem->predicted = RPINN_ARENA_NEW(problem->arena, RpinnNamedExpression, list->count);
  if (!problem->predicted) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < list->count; i++) {
    RpinnNamedExpression *predicted = &problem->predicted[i];
    RPINN_TRY(rpinn_reader_text(reader, list->items[i], "the quantity", &predicted->text));
    predicted->name = predicted->text;
    predicted->place = rpinn_reader_text_place(list->items[i]);
    RPINN_TRY(check_result_name(reader, predicted->place, predicted->name));
    for (size_t k = 0; k < i; k++)
      if (!strcmp(problem->predicted[k].name, predicted->name))
        return rpinn_fail_at(reader->context, predicted->place,
                             "'%s' is listed twice; expected each quantity once", predicted->name);
    RPINN_TRY(rpinn_problem_expression(reader->context, problem, RPINN_NAMES_ALL, predicted->text,
                                       predicted->place, &predicted->expression));
    predicted->state = RPINN_RESOLVED;
    problem->num_predicted++;
  }
  problem->has_predict = true;
  return RPINN_OK;
}
