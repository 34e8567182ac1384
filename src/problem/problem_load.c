/* YAML to problem, section by section, in the order in which they need one another: constants (with what was
 * given from outside), coordinates, fields, unknowns, quantities, truth, terms, prior, predict. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "embedded_text.h"
#include "printable.h"
#include "problem_sections.h"
#include "whole_file.h"

static const char *const top_keys[] = {"name",       "coordinates", "constants", "fields", "unknowns",
                                       "quantities", "truth",       "terms",     "prior",  "predict",
                                       "settings",   "presets",     "data",      "units"};
enum { NUM_TOP_KEYS = sizeof top_keys / sizeof top_keys[0] };

static RpinnStatus read_data_file(RpinnReader *reader, const RpinnYaml *node,
                                  const RpinnProblemOptions *options) {
  RpinnProblem *problem = reader->problem;
  if (node) {
    const char *text;
    RPINN_TRY(rpinn_reader_text(reader, node, "data", &text));
    problem->data_file = rpinn_problem_path(problem, text);
    problem->data_place = node->place;
    if (!problem->data_file) return rpinn_fail_memory(reader->context);
  }
  if (options && options->data_file) {
    problem->data_file =
        rpinn_arena_copy_text(problem->arena, options->data_file, strlen(options->data_file));
    problem->data_place = (RpinnPlace){.file = "--data"};
    if (!problem->data_file) return rpinn_fail_memory(reader->context);
  }
  return RPINN_OK;
}

/* The section truth, or what was given from outside in its place. File names of the latter are relative to the
 * current folder, as on any command line. */
static RpinnStatus read_truth(RpinnReader *reader, const RpinnYaml *node,
                              const RpinnProblemOptions *options) {
  RpinnProblem *problem = reader->problem;
  RpinnYaml *given;
  char folder[4096];
  if (!options || !options->truth) return rpinn_section_truth(reader, node);
  RPINN_TRY(rpinn_yaml_parse(reader->context, problem->arena, "--truth", options->truth,
                             strlen(options->truth), &given));
  RPINN_TRY(rpinn_section_truth(reader, given));
  if (!problem->truth.file || problem->truth.file[0] == '/' || !problem->folder[0] ||
      rpinn_problem_file_in_memory(problem, problem->truth.file))
    return RPINN_OK;
  if (!getcwd(folder, sizeof folder))
    return rpinn_fail_file(reader->context, RPINN_ERROR_IO, "find", "the current folder");
  size_t size = strlen(folder) + strlen(problem->truth.file) + 2;
  char *path = rpinn_arena_allocate(problem->arena, size, 1);
  if (!path) return rpinn_fail_memory(reader->context);
  snprintf(path, size, "%s/%s", folder, problem->truth.file);
  problem->truth.file = path;
  return RPINN_OK;
}

static void collect_names(RpinnProblem *problem, const char **coordinates, const char **fields,
                          const char **unknowns) {
  for (size_t i = 0; i < problem->num_coordinates; i++) coordinates[i] = problem->coordinates[i].name;
  for (size_t i = 0; i < problem->num_fields; i++) fields[i] = problem->fields[i].name;
  for (size_t i = 0; i < problem->num_unknowns; i++) unknowns[i] = problem->unknowns[i].name;
  problem->names =
      (RpinnExpressionNames){.coordinates = coordinates, .fields = fields, .parameters = unknowns};
}

/* Run directories are called after the problem. */
static RpinnStatus read_name(RpinnReader *reader, const RpinnYaml *node) {
  enum { MOST_BYTES = 200 };
  RPINN_TRY(rpinn_reader_text(reader, node, "name", &reader->problem->name));
  const char *name = reader->problem->name;
  if (strchr(name, '/') || rpinn_has_control(name))
    return rpinn_fail_at(reader->context, node->place,
                         "name is '%.200s'; expected no '/' and no control characters: folders are called "
                         "after it",
                         name);
  if (strlen(name) <= MOST_BYTES) return RPINN_OK;
  return rpinn_fail_at(reader->context, node->place,
                       "name has %zu bytes; expected at most %d: folders are called after it", strlen(name),
                       MOST_BYTES);
}

static RpinnStatus read_problem(RpinnReader *reader, const RpinnYaml *root,
                                const RpinnProblemOptions *options) {
  RpinnProblem *problem = reader->problem;
  const RpinnYaml *name, *coordinates, *fields, *terms;
  RPINN_TRY(rpinn_reader_keys(reader, root, "the problem file", top_keys, NUM_TOP_KEYS));
  problem->place = problem->prior_place = root->place;
  RPINN_TRY(rpinn_reader_required(reader, root, "the problem file", "name", &name));
  RPINN_TRY(rpinn_reader_required(reader, root, "the problem file", "coordinates", &coordinates));
  RPINN_TRY(rpinn_reader_required(reader, root, "the problem file", "fields", &fields));
  RPINN_TRY(rpinn_reader_required(reader, root, "the problem file", "terms", &terms));
  RPINN_TRY(read_name(reader, name));
  RPINN_TRY(rpinn_section_constants(reader, rpinn_yaml_get(root, "constants")));
  RPINN_TRY(rpinn_section_settings(reader, rpinn_yaml_get(root, "settings")));
  RPINN_TRY(rpinn_section_presets(reader, rpinn_yaml_get(root, "presets")));
  RPINN_TRY(rpinn_section_apply_options(reader, options));
  rpinn_settings_resolve(&problem->settings);
  RPINN_TRY(rpinn_section_resolve_constants(reader));
  RPINN_TRY(rpinn_section_check_presets(reader));
  RPINN_TRY(rpinn_section_coordinates(reader, coordinates));
  RPINN_TRY(rpinn_section_fields(reader, fields));
  RPINN_TRY(rpinn_section_unknowns(reader, rpinn_yaml_get(root, "unknowns")));
  RPINN_TRY(rpinn_section_quantities(reader, rpinn_yaml_get(root, "quantities")));
  const char **coordinate_names = RPINN_ARENA_NEW(problem->arena, const char *, RPINN_MAX_COORDINATES);
  const char **field_names = RPINN_ARENA_NEW(problem->arena, const char *, problem->num_fields);
  const char **unknown_names = RPINN_ARENA_NEW(problem->arena, const char *, problem->num_unknowns);
  if (!coordinate_names || !field_names || !unknown_names) return rpinn_fail_memory(reader->context);
  collect_names(problem, coordinate_names, field_names, unknown_names);
  RPINN_TRY(rpinn_section_units(reader, rpinn_yaml_get(root, "units")));
  RPINN_TRY(read_data_file(reader, rpinn_yaml_get(root, "data"), options));
  RPINN_TRY(read_truth(reader, rpinn_yaml_get(root, "truth"), options));
  RPINN_TRY(rpinn_section_terms(reader, terms));
  RPINN_TRY(rpinn_section_prior(reader, rpinn_yaml_get(root, "prior")));
  return rpinn_section_predict(reader, rpinn_yaml_get(root, "predict"));
}

static RpinnStatus create_problem(RpinnContext *context, const char *file, RpinnProblem **problem) {
  RpinnArena *arena = rpinn_arena_create();
  *problem = arena ? RPINN_ARENA_NEW(arena, RpinnProblem, 1) : NULL;
  if (!*problem) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  (*problem)->arena = arena;
  const char *slash = strrchr(file, '/');
  (*problem)->file = rpinn_arena_copy_text(arena, file, strlen(file));
  (*problem)->folder = rpinn_arena_copy_text(arena, file, slash ? (size_t)(slash - file) + 1 : 0);
  RpinnStatus status = (*problem)->file && (*problem)->folder
                           ? rpinn_expression_pool_create(context, &(*problem)->pool)
                           : rpinn_fail_memory(context);
  if (status != RPINN_OK) {
    rpinn_problem_destroy(*problem);
    *problem = NULL;
  }
  return status;
}

RpinnStatus rpinn_problem_parse(RpinnContext *context, const char *file, const char *text, size_t length,
                                const RpinnProblemOptions *options, RpinnProblem **problem) {
  RPINN_TRY(create_problem(context, file, problem));
  RpinnReader reader = {context, *problem};
  RpinnYaml *root;
  RpinnStatus status = rpinn_yaml_parse(context, (*problem)->arena, (*problem)->file, text, length, &root);
  if (status == RPINN_OK && options && options->num_files)
    status = rpinn_problem_keep_files(context, *problem, options->num_files, options->files);
  if (status == RPINN_OK) status = read_problem(&reader, root, options);
  if (status != RPINN_OK) {
    rpinn_problem_destroy(*problem);
    *problem = NULL;
  }
  return status;
}

static RpinnStatus load_file(RpinnContext *context, const char *path, const RpinnProblemOptions *options,
                             RpinnProblem **problem) {
  RpinnText bytes = {0};
  RpinnStatus status = rpinn_file_read(context, path, RPINN_YAML_MAX_MEBIBYTES, &bytes);
  if (status == RPINN_OK)
    status =
        rpinn_problem_parse(context, path, bytes.bytes ? bytes.bytes : "", bytes.length, options, problem);
  rpinn_text_free(&bytes);
  return status;
}

static bool looks_like_a_path(const char *text) {
  size_t length = strlen(text);
  return strchr(text, '/') || (length > 5 && !strcmp(text + length - 5, ".yaml")) ||
         (length > 4 && !strcmp(text + length - 4, ".yml"));
}

RpinnStatus rpinn_problem_load(RpinnContext *context, const char *name_or_path,
                               const RpinnProblemOptions *options, RpinnProblem **problem) {
  *problem = NULL;
  for (size_t i = 0; options && i < options->num_files; i++)
    if (!strcmp(options->files[i].name, name_or_path))
      return rpinn_problem_parse(context, name_or_path, options->files[i].bytes, options->files[i].length,
                                 options, problem);
  if (looks_like_a_path(name_or_path)) return load_file(context, name_or_path, options, problem);
  for (size_t i = 0; i < rpinn_shipped_count(); i++)
    if (!strcmp(rpinn_shipped_name(i), name_or_path))
      return rpinn_problem_parse(context, rpinn_shipped_name(i), rpinn_shipped_text(i),
                                 strlen(rpinn_shipped_text(i)), options, problem);
  if (access(name_or_path, F_OK) == 0) return load_file(context, name_or_path, options, problem);
  const char **names = calloc(rpinn_shipped_count() + 1, sizeof *names);
  if (!names) return rpinn_fail_memory(context);
  for (size_t i = 0; i < rpinn_shipped_count(); i++) names[i] = rpinn_shipped_name(i);
  const char *near = rpinn_nearest_name(name_or_path, names, rpinn_shipped_count());
  free(names);
  return rpinn_fail(
      context, RPINN_ERROR_INPUT,
      "no problem '%s'; expected a shipped name (rpinn list shows them) or a path to a YAML file%s%s%s",
      name_or_path, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static RpinnNamedExpression *copy_named(RpinnArena *arena, const RpinnNamedExpression *named, size_t count) {
  RpinnNamedExpression *copy = RPINN_ARENA_NEW(arena, RpinnNamedExpression, count);
  if (copy && count) memcpy(copy, named, count * sizeof *copy);
  return copy;
}

RpinnStatus rpinn_problem_fork(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                               RpinnProblem **fork) {
  RpinnProblem *own = *fork = RPINN_ARENA_NEW(arena, RpinnProblem, 1);
  if (!own) return rpinn_fail_memory(context);
  *own = *problem;
  own->arena = arena;
  own->pool = NULL;
  own->constants = copy_named(arena, problem->constants, problem->num_constants);
  own->quantities = copy_named(arena, problem->quantities, problem->num_quantities);
  if (!own->constants || !own->quantities) return rpinn_fail_memory(context);
  return rpinn_expression_pool_copy(context, problem->pool, &own->pool);
}

void rpinn_problem_destroy(RpinnProblem *problem) {
  if (!problem) return;
  rpinn_expression_pool_destroy(problem->pool);
  rpinn_arena_destroy(problem->arena); /* the problem itself lives in it */
}

const char *rpinn_problem_name(const RpinnProblem *problem) {
  return problem->name;
}
size_t rpinn_problem_num_terms(const RpinnProblem *problem) {
  return problem->num_terms;
}
const char *rpinn_problem_term_name(const RpinnProblem *problem, size_t term) {
  return problem->terms[term].name;
}
size_t rpinn_problem_num_coordinates(const RpinnProblem *problem) {
  return problem->num_coordinates;
}
const char *rpinn_problem_coordinate_name(const RpinnProblem *problem, size_t coordinate) {
  return problem->coordinates[coordinate].name;
}
void rpinn_problem_coordinate_range(const RpinnProblem *problem, size_t coordinate, double *low,
                                    double *high) {
  *low = problem->coordinates[coordinate].low;
  *high = problem->coordinates[coordinate].high;
}
size_t rpinn_problem_num_predictable(const RpinnProblem *problem) {
  return problem->num_fields + problem->num_quantities;
}
const char *rpinn_problem_predictable_name(const RpinnProblem *problem, size_t index) {
  return index < problem->num_fields ? problem->fields[index].name
                                     : problem->quantities[index - problem->num_fields].name;
}
const char *rpinn_problem_setting_text(const RpinnProblem *problem, RpinnSetting setting) {
  return problem->settings.values[setting].text;
}
double rpinn_problem_setting_number(const RpinnProblem *problem, RpinnSetting setting) {
  return problem->settings.values[setting].number;
}
size_t rpinn_problem_num_presets(const RpinnProblem *problem) {
  return problem->num_presets;
}
const char *rpinn_problem_preset_name(const RpinnProblem *problem, size_t preset) {
  return problem->presets[preset].name;
}

size_t rpinn_shipped_count(void) {
  size_t count = 0;
  while (rpinn_shipped_texts[count].name) count++;
  return count;
}
const char *rpinn_shipped_name(size_t index) {
  return rpinn_shipped_texts[index].name;
}
const char *rpinn_shipped_text(size_t index) {
  return rpinn_shipped_texts[index].text;
}
