/* What belongs to the fitted terms: numbers of each datum in each draw, and the data.
 *
 * ArviZ takes leave-one-out, predictive checks and their ranks of the one variable that log_likelihood, posterior_predictive and
 * observed_data have in common: the measured data of all terms, one after the other. It is called by its term where only one is
 * measured, and `measured` otherwise, with the terms as a coordinate. */
#include <stdio.h>

#include "posterior_file_state.h"

static bool is_measured(const RpinnPosterior *posterior, size_t term) {
  return rpinn_posterior_file_has_data(posterior, term) &&
         !posterior->data->terms[posterior->fitted[term]].is_exact;
}

static bool is_tolerance(const RpinnPosterior *posterior, size_t term) {
  return rpinn_posterior_file_has_data(posterior, term) && !is_measured(posterior, term);
}

static bool has_tolerances(const RpinnPosterior *posterior) {
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    if (is_tolerance(posterior, t)) return true;
  return false;
}

/* ---- measured data ---- */

RpinnStatus rpinn_posterior_file_count_measured(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnPosterior *posterior = file->posterior;
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    if (is_measured(posterior, t)) file->num_measured += posterior->terms[t].num_rows;
  file->measured = RPINN_ARENA_NEW(file->arena, double, file->num_measured + 1);
  return file->measured ? RPINN_OK : rpinn_fail_memory(context);
}

/* The measured ones of numbers [M], until the next call. */
static const double *gather(RpinnPosteriorFile *file, const double *values) {
  const RpinnPosterior *posterior = file->posterior;
  double *next = file->measured;
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    const RpinnTermModel *term = &posterior->terms[t];
    for (size_t i = 0; is_measured(posterior, t) && i < term->num_rows; i++)
      *next++ = values[term->first_row + i];
  }
  return file->measured;
}

/* The one measured term, or NULL. */
static const char *find_only_measured(const RpinnPosterior *posterior) {
  const char *name = NULL;
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    if (!is_measured(posterior, t)) continue;
    if (name) return NULL;
    name = rpinn_posterior_term_name(posterior, t);
  }
  return name;
}

/* The coordinate `term` of the dimension. */
static RpinnStatus write_term_names(RpinnContext *context, RpinnPosteriorFile *file, int group,
                                    int dimension) {
  const RpinnPosterior *posterior = file->posterior;
  const char **names = RPINN_ARENA_NEW(file->arena, const char *, file->num_measured);
  if (!names) return rpinn_fail_memory(context);
  const char **next = names;
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    for (size_t i = 0; is_measured(posterior, t) && i < posterior->terms[t].num_rows; i++)
      *next++ = rpinn_posterior_term_name(posterior, t);
  return rpinn_netcdf_write_words(context, &file->netcdf, group, "term", dimension, names);
}

/* The dimension of measured data in a group; *name: of the variable. */
static RpinnStatus define_measured(RpinnContext *context, RpinnPosteriorFile *file, int group,
                                   const char **name, int *dimension) {
  const char *only = find_only_measured(file->posterior);
  *name = only ? only : "measured";
  RPINN_TRY(rpinn_netcdf_define_numbers(context, &file->netcdf, group, *name, "_point", file->num_measured, 1,
                                        dimension));
  return only ? RPINN_OK : write_term_names(context, file, group, *dimension);
}

static RpinnStatus name_coordinate(RpinnContext *context, const RpinnPosteriorFile *file, int group,
                                   int variable) {
  if (find_only_measured(file->posterior)) return RPINN_OK;
  return rpinn_netcdf_put_text(context, &file->netcdf, group, variable, "coordinates", "term");
}

/* ---- numbers of each datum in each draw ---- */

static RpinnStatus define_tolerances(RpinnContext *context, RpinnPosteriorFile *file, const char *name,
                                     size_t num_draws, size_t step, RpinnDrawVariable *variables) {
  const RpinnPosterior *posterior = file->posterior;
  char full_name[RPINN_NETCDF_NAME_SIZE];
  RpinnDrawGroup group;
  int dimension;
  snprintf(full_name, sizeof full_name, "tolerance_%s", name);
  RPINN_TRY(rpinn_posterior_file_define_group(context, file, full_name, num_draws, step, &group));
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    const char *term = rpinn_posterior_term_name(posterior, t);
    if (!is_tolerance(posterior, t)) continue;
    RPINN_TRY(rpinn_netcdf_define_numbers(context, &file->netcdf, group.id, term, "_point",
                                          posterior->terms[t].num_points, 1, &dimension));
    RPINN_TRY(rpinn_draw_variable_define(context, &group, term, "", NC_DOUBLE, 1, &dimension, &variables[t]));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_posterior_file_define_data_groups(RpinnContext *context, RpinnPosteriorFile *file,
                                                    const char *name, size_t num_draws, size_t step,
                                                    RpinnDatumVariables *variables) {
  const RpinnPosterior *posterior = file->posterior;
  const char *measured;
  RpinnDrawGroup group;
  int dimension;
  RPINN_TRY(rpinn_posterior_file_define_group(context, file, name, num_draws, step, &group));
  if (file->num_measured > 0) {
    RPINN_TRY(define_measured(context, file, group.id, &measured, &dimension));
    RPINN_TRY(rpinn_draw_variable_define(context, &group, measured, "", NC_DOUBLE, 1, &dimension,
                                         &variables->measured));
    RPINN_TRY(name_coordinate(context, file, group.id, variables->measured.id));
  }
  variables->tolerances = RPINN_ARENA_NEW(file->arena, RpinnDrawVariable, posterior->model.num_terms);
  if (!variables->tolerances) return rpinn_fail_memory(context);
  if (!has_tolerances(posterior)) return RPINN_OK;
  return define_tolerances(context, file, name, num_draws, step, variables->tolerances);
}

RpinnStatus rpinn_posterior_file_add_data(RpinnContext *context, RpinnPosteriorFile *file,
                                          RpinnDatumVariables *variables, const double *values) {
  const RpinnPosterior *posterior = file->posterior;
  if (file->num_measured > 0)
    RPINN_TRY(rpinn_draw_variable_add(context, &variables->measured, gather(file, values)));
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    if (is_tolerance(posterior, t))
      RPINN_TRY(rpinn_draw_variable_add(context, &variables->tolerances[t],
                                        values + posterior->terms[t].first_row));
  return RPINN_OK;
}

/* ---- the data ---- */

static RpinnStatus write_observed_data(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnPosterior *posterior = file->posterior;
  const char *name;
  int group, dimension, variable;
  RPINN_TRY(rpinn_netcdf_define_group(context, &file->netcdf, "observed_data", &group));
  if (file->num_measured == 0) return RPINN_OK;
  double *values = RPINN_ARENA_NEW(file->arena, double, posterior->model.num_rows);
  if (!values) return rpinn_fail_memory(context);
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    for (size_t i = 0; rpinn_posterior_file_has_data(posterior, t) && i < posterior->terms[t].num_rows; i++)
      values[posterior->terms[t].first_row + i] = posterior->terms[t].targets[i];
  RPINN_TRY(define_measured(context, file, group, &name, &dimension));
  RPINN_TRY(rpinn_netcdf_write(context, &file->netcdf, group, name, "", 1, &dimension, gather(file, values)));
  RPINN_TRY_NETCDF(context, &file->netcdf, nc_inq_varid(group, name, &variable));
  return name_coordinate(context, file, group, variable);
}

/* Where a term is, what was observed of it, and its sigma; the mean of a gaussian one. */
static RpinnStatus write_constants_of_term(RpinnContext *context, const RpinnPosteriorFile *file, int group,
                                           size_t t, const int *dimension) {
  const RpinnPosterior *posterior = file->posterior;
  const RpinnTermModel *term = &posterior->terms[t];
  size_t width = posterior->model.num_coordinates;
  char stem[RPINN_NETCDF_NAME_SIZE];
  snprintf(stem, sizeof stem, "%.119s_", rpinn_posterior_term_name(posterior, t));
  for (size_t i = 0; i < width; i++)
    RPINN_TRY(rpinn_netcdf_write_column(context, &file->netcdf, group, stem,
                                        posterior->problem->coordinates[i].name, *dimension, term->num_points,
                                        term->points + i, width));
  if (!rpinn_posterior_file_has_data(posterior, t))
    return rpinn_netcdf_write(context, &file->netcdf, group, stem, "mean", 1, dimension, term->targets);
  RPINN_TRY(rpinn_netcdf_write(context, &file->netcdf, group, stem, "observed", 1, dimension, term->targets));
  double sigma = rpinn_posterior_term_sigma(posterior, t);
  const double *sigmas = posterior->sigmas.rows[posterior->fitted[t]]; /* NULL: one for all rows */
  return rpinn_netcdf_write(context, &file->netcdf, group, stem, "sigma", sigmas ? 1 : 0, dimension,
                            sigmas ? sigmas : &sigma);
}

/* Hidden layers that are drawn once and belong to every draw. */
static RpinnStatus write_frozen(RpinnContext *context, const RpinnPosteriorFile *file, int group) {
  const RpinnPosterior *posterior = file->posterior;
  for (size_t f = 0; f < posterior->problem->num_fields; f++) {
    const RpinnNetwork *network = &posterior->networks[f];
    const char *name = posterior->problem->fields[f].name;
    int dimension;
    if (!network->frozen) continue;
    RPINN_TRY(rpinn_netcdf_define_numbers(context, &file->netcdf, group, name, "_frozen_parameter",
                                          network->num_all - network->num_trainable, 1, &dimension));
    RPINN_TRY(
        rpinn_netcdf_write(context, &file->netcdf, group, name, "_frozen", 1, &dimension, network->frozen));
  }
  return RPINN_OK;
}

static RpinnStatus write_constant_data(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnPosterior *posterior = file->posterior;
  int group, *dimensions = RPINN_ARENA_NEW(file->arena, int, posterior->model.num_terms);
  if (!dimensions) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_netcdf_define_group(context, &file->netcdf, "constant_data", &group));
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    RPINN_TRY(rpinn_netcdf_define_numbers(context, &file->netcdf, group,
                                          rpinn_posterior_term_name(posterior, t), "_point",
                                          posterior->terms[t].num_points, 1, &dimensions[t]));
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    RPINN_TRY(write_constants_of_term(context, file, group, t, &dimensions[t]));
  RPINN_TRY(write_frozen(context, file, group));
  double sigma = rpinn_posterior_prior_sigma(posterior);
  return rpinn_netcdf_write(context, &file->netcdf, group, "prior_sigma", "", 0, NULL, &sigma);
}

RpinnStatus rpinn_posterior_file_write_data(RpinnContext *context, RpinnPosteriorFile *file) {
  RPINN_TRY(write_observed_data(context, file));
  return write_constant_data(context, file);
}
