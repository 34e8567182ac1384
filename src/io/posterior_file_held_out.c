/* Held-out terms (role: test) in the groups of predictions: what draws expect at their points, and what was observed there. */
#include <math.h>
#include <stdio.h>

#include "posterior_file_state.h"

bool rpinn_posterior_file_holds_out(const RpinnPosterior *posterior, size_t term) {
  return posterior->problem->terms[term].is_test && posterior->data->terms[term].points.count;
}

size_t rpinn_posterior_file_num_held_out(const RpinnPosterior *posterior) {
  size_t count = 0;
  for (size_t t = 0; t < posterior->problem->num_terms; t++)
    count += rpinn_posterior_file_holds_out(posterior, t);
  return count;
}

static RpinnStatus define_points(RpinnContext *context, const RpinnPosteriorFile *file, int group, size_t t,
                                 int *dimension) {
  return rpinn_netcdf_define_numbers(context, &file->netcdf, group, file->posterior->problem->terms[t].name,
                                     "_point", file->posterior->data->terms[t].points.count, 1, dimension);
}

RpinnStatus rpinn_posterior_file_define_held_out(RpinnContext *context, RpinnPosteriorFile *file,
                                                 const RpinnDrawGroup *group) {
  const RpinnPosterior *posterior = file->posterior;
  if (!rpinn_posterior_file_num_held_out(posterior)) return RPINN_OK;
  file->held_out = RPINN_ARENA_NEW(file->arena, RpinnDrawVariable, posterior->problem->num_terms);
  if (!file->held_out) return rpinn_fail_memory(context);
  for (size_t t = 0; t < posterior->problem->num_terms; t++) {
    int dimension;
    if (!rpinn_posterior_file_holds_out(posterior, t)) continue;
    RPINN_TRY(define_points(context, file, group->id, t, &dimension));
    RPINN_TRY(rpinn_draw_variable_define(context, group, posterior->problem->terms[t].name, "", NC_DOUBLE, 1,
                                         &dimension, &file->held_out[t]));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_posterior_file_add_held_out(RpinnContext *context, RpinnPosteriorFile *file,
                                              const double *values) {
  for (size_t t = 0; t < file->posterior->problem->num_terms; t++) {
    if (!rpinn_posterior_file_holds_out(file->posterior, t)) continue;
    RPINN_TRY(rpinn_draw_variable_add(context, &file->held_out[t], values));
    values += file->posterior->data->terms[t].points.count;
  }
  return RPINN_OK;
}

/* Where it is, what was observed, and how exactly, where that is known. */
static RpinnStatus write_term(RpinnContext *context, const RpinnPosteriorFile *file, int group, size_t t) {
  const RpinnProblem *problem = file->posterior->problem;
  const RpinnTermData *data = &file->posterior->data->terms[t];
  const double *sigmas = file->posterior->sigmas.rows[t], *sigma = &file->posterior->sigmas.terms[t];
  char stem[RPINN_NETCDF_NAME_SIZE];
  int dimension;
  snprintf(stem, sizeof stem, "%.119s_", problem->terms[t].name);
  RPINN_TRY(define_points(context, file, group, t, &dimension));
  for (size_t i = 0; i < problem->num_coordinates; i++)
    RPINN_TRY(rpinn_netcdf_write_column(context, &file->netcdf, group, stem, problem->coordinates[i].name,
                                        dimension, data->points.count, data->points.x + i,
                                        problem->num_coordinates));
  if (!data->missing)
    RPINN_TRY(
        rpinn_netcdf_write(context, &file->netcdf, group, stem, "observed", 1, &dimension, data->values));
  if (!sigmas && isnan(*sigma)) return RPINN_OK;
  return rpinn_netcdf_write(context, &file->netcdf, group, stem, "sigma", sigmas ? 1 : 0, &dimension,
                            sigmas ? sigmas : sigma);
}

RpinnStatus rpinn_posterior_file_write_held_out(RpinnContext *context, const RpinnPosteriorFile *file,
                                                int group) {
  for (size_t t = 0; t < file->posterior->problem->num_terms; t++)
    if (rpinn_posterior_file_holds_out(file->posterior, t)) RPINN_TRY(write_term(context, file, group, t));
  return RPINN_OK;
}
