/* Predictions of draws, laid out along x, over the axes of a grid, or point by point; and what is known of their places. */
#include "posterior_file_state.h"
#include "tensor_grid.h"

/* ---- where they lie ---- */

static RpinnStatus arrange_on_grid(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnProblem *problem = file->posterior->problem;
  RpinnPredictionAxes *axes = &file->axes;
  RpinnTensorGrid grid;
  bool is_grid;
  RPINN_TRY(rpinn_tensor_grid_find(context, file->arena, problem->num_coordinates,
                                   &file->posterior->data->predict, &grid, &is_grid));
  if (!is_grid) return RPINN_OK;
  axes->num_axes = problem->num_coordinates;
  axes->slots = grid.slots;
  for (size_t i = 0; i < axes->num_axes; i++) {
    size_t coordinate = axes->num_axes - 1 - i;
    axes->names[i] = problem->coordinates[coordinate].name;
    axes->places[i] = grid.axes[coordinate];
    axes->counts[i] = grid.counts[coordinate];
  }
  return RPINN_OK;
}

static RpinnStatus find_axes(RpinnContext *context, RpinnPosteriorFile *file) {
  const RpinnProblem *problem = file->posterior->problem;
  const RpinnPointSet *points = &file->posterior->data->predict;
  file->axes = (RpinnPredictionAxes){.num_axes = 1,
                                     .names = {"point"},
                                     .counts = {points->count},
                                     .sorted_numbers = RPINN_ARENA_NEW(file->arena, double, points->count)};
  if (!file->axes.sorted_numbers) return rpinn_fail_memory(context);
  if (problem->num_coordinates > 1) return arrange_on_grid(context, file);
  file->axes.names[0] = problem->coordinates[0].name;
  file->axes.places[0] = points->x;
  return RPINN_OK;
}

const double *rpinn_posterior_file_arrange(const RpinnPosteriorFile *file, const double *values) {
  const RpinnPredictionAxes *axes = &file->axes;
  if (!axes->slots) return values;
  for (size_t p = 0; p < file->posterior->data->predict.count; p++)
    axes->sorted_numbers[axes->slots[p]] = values[p];
  return axes->sorted_numbers;
}

RpinnStatus rpinn_posterior_file_define_axes(RpinnContext *context, const RpinnPosteriorFile *file, int group,
                                             int dimensions[RPINN_DRAW_MAX_AXES]) {
  const RpinnPredictionAxes *axes = &file->axes;
  for (size_t i = 0; i < axes->num_axes; i++)
    RPINN_TRY(axes->places[i] ? rpinn_netcdf_define_axis(context, &file->netcdf, group, axes->names[i],
                                                         axes->counts[i], axes->places[i], &dimensions[i])
                              : rpinn_netcdf_define_numbers(context, &file->netcdf, group, axes->names[i], "",
                                                            axes->counts[i], 1, &dimensions[i]));
  return RPINN_OK;
}

/* ---- groups ---- */

static RpinnStatus define_quantities(RpinnContext *context, RpinnPosteriorFile *file,
                                     const RpinnDrawGroup *group) {
  const RpinnProblem *problem = file->posterior->problem;
  int dimensions[RPINN_DRAW_MAX_AXES];
  RPINN_TRY(rpinn_posterior_file_define_axes(context, file, group->id, dimensions));
  file->predictions = RPINN_ARENA_NEW(file->arena, RpinnDrawVariable, problem->num_predicted);
  if (!file->predictions) return rpinn_fail_memory(context);
  for (size_t q = 0; q < problem->num_predicted; q++)
    RPINN_TRY(rpinn_draw_variable_define(context, group, problem->predicted[q].name, "", NC_DOUBLE,
                                         file->axes.num_axes, dimensions, &file->predictions[q]));
  return RPINN_OK;
}

/* Quantities first: it is a held-out term of the same name that gets another one. */
static RpinnStatus define_kept(RpinnContext *context, RpinnPosteriorFile *file) {
  RpinnDrawGroup group;
  RPINN_TRY(rpinn_posterior_file_define_group(context, file, "predictions", file->num_kept, file->keep_every,
                                              &group));
  if (file->posterior->problem->has_predict) RPINN_TRY(define_quantities(context, file, &group));
  return rpinn_posterior_file_define_held_out(context, file, &group);
}

static RpinnStatus write_places(RpinnContext *context, RpinnPosteriorFile *file, int group) {
  const RpinnProblem *problem = file->posterior->problem;
  const RpinnDataSet *data = file->posterior->data;
  int dimensions[RPINN_DRAW_MAX_AXES];
  RPINN_TRY(rpinn_posterior_file_define_axes(context, file, group, dimensions));
  for (size_t i = 0; !file->axes.places[0] && i < problem->num_coordinates; i++)
    RPINN_TRY(rpinn_netcdf_write_column(context, &file->netcdf, group, "", problem->coordinates[i].name,
                                        dimensions[0], data->predict.count, data->predict.x + i,
                                        problem->num_coordinates));
  for (size_t q = 0; q < problem->num_predicted; q++)
    if (data->predicted_truth[q])
      RPINN_TRY(rpinn_netcdf_write(context, &file->netcdf, group, problem->predicted[q].name, "_truth",
                                   file->axes.num_axes, dimensions,
                                   rpinn_posterior_file_arrange(file, data->predicted_truth[q])));
  return RPINN_OK;
}

static RpinnStatus write_constant_data(RpinnContext *context, RpinnPosteriorFile *file) {
  int group;
  RPINN_TRY(rpinn_netcdf_define_group(context, &file->netcdf, "predictions_constant_data", &group));
  if (file->posterior->problem->has_predict) RPINN_TRY(write_places(context, file, group));
  return rpinn_posterior_file_write_held_out(context, file, group);
}

RpinnStatus rpinn_posterior_file_define_predictions(RpinnContext *context, RpinnPosteriorFile *file) {
  bool has_predict = file->posterior->problem->has_predict;
  if (!has_predict && !rpinn_posterior_file_num_held_out(file->posterior)) return RPINN_OK;
  if (has_predict) RPINN_TRY(find_axes(context, file));
  if (file->keep_every) RPINN_TRY(define_kept(context, file));
  return write_constant_data(context, file);
}

RpinnStatus rpinn_posterior_file_add_predictions(RpinnContext *context, RpinnPosteriorFile *file,
                                                 const double *values) {
  size_t num_points = file->posterior->data->predict.count;
  for (size_t q = 0; q < file->posterior->problem->num_predicted; q++)
    RPINN_TRY(rpinn_draw_variable_add(context, &file->predictions[q],
                                      rpinn_posterior_file_arrange(file, values + q * num_points)));
  return RPINN_OK;
}
