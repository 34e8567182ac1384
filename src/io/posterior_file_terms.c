/* What belongs to the fitted terms: the log likelihood of each datum in each draw, and the data. */
#include <stdio.h>

#include "posterior_file_state.h"

RpinnStatus rpinn_posterior_file_define_term_points(RpinnContext *context, RpinnPosteriorFile *file,
                                                    int group, bool data_only, int **dimensions) {
  const RpinnPosterior *posterior = file->posterior;
  *dimensions = RPINN_ARENA_NEW(file->arena, int, posterior->model.num_terms);
  if (!*dimensions) return rpinn_fail_memory(context);
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    if (!data_only || rpinn_posterior_file_has_data(posterior, t))
      RPINN_TRY(rpinn_netcdf_define_numbers(context, &file->netcdf, group,
                                            rpinn_posterior_term_name(posterior, t), "_point",
                                            posterior->terms[t].num_points, 1, &(*dimensions)[t]));
  return RPINN_OK;
}

RpinnStatus rpinn_posterior_file_define_data_group(RpinnContext *context, RpinnPosteriorFile *file,
                                                   const char *name, size_t num_draws, size_t step,
                                                   RpinnDrawVariable **variables) {
  const RpinnPosterior *posterior = file->posterior;
  RpinnDrawGroup group;
  int *dimensions;
  RPINN_TRY(rpinn_posterior_file_define_group(context, file, name, num_draws, step, &group));
  RPINN_TRY(rpinn_posterior_file_define_term_points(context, file, group.id, true, &dimensions));
  *variables = RPINN_ARENA_NEW(file->arena, RpinnDrawVariable, posterior->model.num_terms);
  if (!*variables) return rpinn_fail_memory(context);
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    if (rpinn_posterior_file_has_data(posterior, t))
      RPINN_TRY(rpinn_draw_variable_define(context, &group, rpinn_posterior_term_name(posterior, t), "",
                                           NC_DOUBLE, 1, &dimensions[t], &(*variables)[t]));
  return RPINN_OK;
}

RpinnStatus rpinn_posterior_file_define_log_likelihood(RpinnContext *context, RpinnPosteriorFile *file) {
  return rpinn_posterior_file_define_data_group(context, file, "log_likelihood", file->draws.num_draws, 1,
                                                &file->log_likelihood);
}

RpinnStatus rpinn_posterior_file_add_log_likelihood(RpinnContext *context, RpinnPosteriorFile *file,
                                                    const double *values) {
  const RpinnPosterior *posterior = file->posterior;
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    if (rpinn_posterior_file_has_data(posterior, t))
      RPINN_TRY(rpinn_draw_variable_add(context, &file->log_likelihood[t], values));
    values += posterior->terms[t].num_rows;
  }
  return RPINN_OK;
}

static RpinnStatus write_observed_data(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnPosterior *posterior = file->posterior;
  int group, *dimensions;
  RPINN_TRY(rpinn_netcdf_define_group(context, &file->netcdf, "observed_data", &group));
  RPINN_TRY(rpinn_posterior_file_define_term_points(context, file, group, true, &dimensions));
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    if (rpinn_posterior_file_has_data(posterior, t))
      RPINN_TRY(rpinn_netcdf_write(context, &file->netcdf, group, rpinn_posterior_term_name(posterior, t), "",
                                   1, &dimensions[t], posterior->terms[t].targets));
  return RPINN_OK;
}

/* Where a term is, and its sigma; the mean of a gaussian one. */
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
  int group, *dimensions;
  RPINN_TRY(rpinn_netcdf_define_group(context, &file->netcdf, "constant_data", &group));
  RPINN_TRY(rpinn_posterior_file_define_term_points(context, file, group, false, &dimensions));
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
