#include "rpinn/draw_file.h"

#include <stdlib.h>
#include <string.h>

#include "ascii.h"
#include "draw_variable.h"
#include "parameter_names.h"

enum { MOST_NAME_BYTES = 120 };

/* The variables of one group, with a buffer for each chain. */
typedef struct Block {
  size_t count;
  RpinnDrawVariable *variables; /* [num_chains][count] */
} Block;

struct RpinnDrawFile {
  RpinnArena *arena;
  RpinnNetcdf netcdf;
  char *method;
  size_t num_chains, num_draws;
  size_t *num_added; /* [num_chains] */
  Block posterior, statistics, log_likelihood;
};

static size_t numbers_of(const RpinnFileVariable *variable) {
  return variable->count ? variable->count : 1;
}

static bool is_vector(const RpinnFileVariable *variable) {
  return variable->is_vector || variable->count > 1;
}

/* ---- what can be written ---- */

/* NetCDF's rules, and the dimensions of every group. */
static RpinnStatus check_name(RpinnContext *context, const char *name) {
  bool is_reserved = !strcmp(name, "chain") || !strcmp(name, "draw");
  bool begins = rpinn_is_letter(*name) || rpinn_is_digit(*name) || *name == '_' || (unsigned char)*name > 127;
  bool is_usable = begins && strlen(name) <= MOST_NAME_BYTES && name[strlen(name) - 1] != ' ';
  for (const char *c = name; *c; c++)
    if ((unsigned char)*c < ' ' || *c == '/' || *c == 127) is_usable = false;
  if (is_usable && !is_reserved) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT,
                    "'%.200s' cannot be the name of a variable; expected at most %d bytes that begin with a "
                    "letter, a digit or '_', without '/', and neither 'chain' nor 'draw'",
                    name, MOST_NAME_BYTES);
}

static RpinnStatus check_names(RpinnContext *context, size_t count, const RpinnFileVariable *variables) {
  const char **names = malloc((count + 1) * sizeof *names);
  if (!names) return rpinn_fail_memory(context);
  for (size_t k = 0; k < count; k++) names[k] = variables[k].name;
  RpinnParameterNames *distinct;
  RpinnStatus status = rpinn_parameter_names_create(context, count, names, &distinct);
  rpinn_parameter_names_destroy(distinct);
  for (size_t k = 0; k < count && status == RPINN_OK; k++) status = check_name(context, names[k]);
  free(names);
  return status;
}

static RpinnStatus check(RpinnContext *context, const char *path, const RpinnDrawFileOptions *options) {
  if (options->num_chains == 0 || options->num_draws == 0 || options->num_variables == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "there are no %s to write to '%s'",
                      options->num_variables ? "draws" : "variables", path);
  if (!options->method)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the draws of '%s' have no method; expected its name",
                      path);
  for (size_t s = 0; s < options->num_statistics; s++)
    if (is_vector(&options->statistics[s]))
      return rpinn_fail(context, RPINN_ERROR_INPUT, "statistic '%s' is a vector; expected one number",
                        options->statistics[s].name);
  RPINN_TRY(check_names(context, options->num_variables, options->variables));
  RPINN_TRY(check_names(context, options->num_statistics, options->statistics));
  return check_names(context, options->num_data_sets, options->data_sets);
}

/* ---- groups ---- */

/* Bytes that the variables of a group may take. */
static size_t block_bytes(const RpinnDrawFileOptions *options, size_t count,
                          const RpinnFileVariable *variables) {
  size_t size = 0;
  for (size_t k = 0; k < count; k++)
    size += rpinn_draw_variable_bytes(options->num_chains, options->num_draws, numbers_of(&variables[k]),
                                      NC_DOUBLE) +
            2 * numbers_of(&variables[k]) * sizeof(double);
  return size + (options->num_chains + options->num_draws) * sizeof(double);
}

static size_t largest_size(const RpinnDrawFileOptions *options) {
  enum { BASE = 1 << 20 };
  return BASE + block_bytes(options, options->num_variables, options->variables) +
         block_bytes(options, options->num_statistics, options->statistics) +
         2 * block_bytes(options, options->num_data_sets, options->data_sets);
}

static RpinnStatus define_variable(RpinnContext *context, RpinnDrawFile *file, const RpinnDrawGroup *group,
                                   const RpinnFileVariable *variable, Block *block, size_t place) {
  RpinnDrawVariable whole;
  int axis;
  size_t num_axes = is_vector(variable);
  if (num_axes)
    RPINN_TRY(rpinn_netcdf_define_numbers(context, &file->netcdf, group->id, variable->name, "_dim_0",
                                          numbers_of(variable), 1, &axis));
  RPINN_TRY(rpinn_draw_variable_define(context, group, variable->name, "",
                                       variable->is_boolean ? NC_BYTE : NC_DOUBLE, num_axes, &axis, &whole));
  for (size_t chain = 0; chain < file->num_chains; chain++)
    RPINN_TRY(rpinn_draw_variable_fork(context, file->arena, &whole, chain,
                                       &block->variables[chain * block->count + place]));
  return RPINN_OK;
}

static RpinnStatus define_block(RpinnContext *context, RpinnDrawFile *file, const char *name, size_t count,
                                const RpinnFileVariable *variables, Block *block) {
  RpinnDrawGroup group;
  if (count == 0) return RPINN_OK;
  block->count = count;
  block->variables = RPINN_ARENA_NEW(file->arena, RpinnDrawVariable, file->num_chains * count);
  if (!block->variables) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_draw_group_define(context, &file->netcdf, file->arena, name, file->num_chains,
                                    file->num_draws, 1, &group));
  for (size_t k = 0; k < count; k++)
    RPINN_TRY(define_variable(context, file, &group, &variables[k], block, k));
  return RPINN_OK;
}

static RpinnStatus write_observed(RpinnContext *context, RpinnDrawFile *file,
                                  const RpinnDrawFileOptions *options) {
  const double *values = options->observed;
  int group;
  if (!values || options->num_data_sets == 0) return RPINN_OK;
  RPINN_TRY(rpinn_netcdf_define_group(context, &file->netcdf, "observed_data", &group));
  for (size_t k = 0; k < options->num_data_sets; k++) {
    const RpinnFileVariable *set = &options->data_sets[k];
    int axis;
    if (is_vector(set))
      RPINN_TRY(rpinn_netcdf_define_numbers(context, &file->netcdf, group, set->name, "_dim_0",
                                            numbers_of(set), 1, &axis));
    RPINN_TRY(
        rpinn_netcdf_write(context, &file->netcdf, group, set->name, "", is_vector(set), &axis, values));
    values += numbers_of(set);
  }
  return RPINN_OK;
}

/* ---- life ---- */

static RpinnStatus start(RpinnContext *context, RpinnDrawFile *file, const char *path,
                         const RpinnDrawFileOptions *options) {
  if (!file->arena) return rpinn_fail_memory(context);
  file->num_added = RPINN_ARENA_NEW(file->arena, size_t, file->num_chains);
  file->method = rpinn_arena_copy_text(file->arena, options->method, strlen(options->method));
  if (!file->num_added || !file->method) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_netcdf_create(context, path, file->method, largest_size(options), &file->netcdf));
  if (options->title)
    RPINN_TRY(
        rpinn_netcdf_put_text(context, &file->netcdf, file->netcdf.root, NC_GLOBAL, "name", options->title));
  RPINN_TRY(
      define_block(context, file, "posterior", options->num_variables, options->variables, &file->posterior));
  RPINN_TRY(define_block(context, file, "sample_stats", options->num_statistics, options->statistics,
                         &file->statistics));
  RPINN_TRY(define_block(context, file, "log_likelihood", options->num_data_sets, options->data_sets,
                         &file->log_likelihood));
  return write_observed(context, file, options);
}

RpinnStatus rpinn_draw_file_create(RpinnContext *context, const char *path,
                                   const RpinnDrawFileOptions *options, RpinnDrawFile **result) {
  *result = NULL;
  rpinn_context_clear_error(context);
  RPINN_TRY(check(context, path, options));
  RpinnDrawFile *file = calloc(1, sizeof *file);
  if (!file) return rpinn_fail_memory(context);
  *file = (RpinnDrawFile){
      .arena = rpinn_arena_create(), .num_chains = options->num_chains, .num_draws = options->num_draws};
  RpinnStatus status = start(context, file, path, options);
  if (status == RPINN_OK)
    *result = file;
  else
    rpinn_draw_file_destroy(file);
  return status;
}

static RpinnStatus add_block(RpinnContext *context, Block *block, size_t chain, const double *values) {
  for (size_t k = 0; k < block->count; k++) {
    RpinnDrawVariable *variable = &block->variables[chain * block->count + k];
    RPINN_TRY(rpinn_draw_variable_add(context, variable, values));
    values += variable->row;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_draw_file_add(RpinnContext *context, RpinnDrawFile *file, size_t chain,
                                const double *variables, const double *statistics,
                                const double *log_likelihood) {
  rpinn_context_clear_error(context);
  if (chain >= file->num_chains || file->num_added[chain] == file->num_draws)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "'%s' has no room for a draw of chain %zu; expected %zu of each of %zu chains",
                      file->netcdf.path, chain, file->num_draws, file->num_chains);
  if (!variables || (file->statistics.count && !statistics) ||
      (file->log_likelihood.count && !log_likelihood))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "a draw of chain %zu of '%s' has no %s", chain,
                      file->netcdf.path,
                      !variables                              ? "numbers"
                      : file->statistics.count && !statistics ? "statistics"
                                                              : "log likelihood");
  RPINN_TRY(add_block(context, &file->posterior, chain, variables));
  RPINN_TRY(add_block(context, &file->statistics, chain, statistics));
  RPINN_TRY(add_block(context, &file->log_likelihood, chain, log_likelihood));
  file->num_added[chain]++;
  return RPINN_OK;
}

RpinnStatus rpinn_draw_file_finish(RpinnContext *context, RpinnDrawFile *file) {
  rpinn_context_clear_error(context);
  for (size_t chain = 0; chain < file->num_chains; chain++)
    if (file->num_added[chain] != file->num_draws)
      return rpinn_fail(context, RPINN_ERROR_INPUT, "chain %zu of '%s' has %zu draws; expected %zu", chain,
                        file->netcdf.path, file->num_added[chain], file->num_draws);
  return rpinn_netcdf_finish(context, &file->netcdf);
}

void rpinn_draw_file_destroy(RpinnDrawFile *file) {
  if (!file) return;
  rpinn_netcdf_destroy(&file->netcdf);
  rpinn_arena_destroy(file->arena);
  free(file);
}
