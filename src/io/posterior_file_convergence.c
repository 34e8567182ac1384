/* constant_data/diagnostics: how far chains have converged, of every parameter and every predicted number. */
#include <stdio.h>
#include <stdlib.h>

#include "posterior_file_state.h"

enum { NUM_MEASURES = 3 };
static const char *const measure_names[NUM_MEASURES] = {"_rhat", "_ess_bulk", "_ess_tail"};

static double get_measure(const RpinnConvergence *convergence, size_t measure) {
  const double values[NUM_MEASURES] = {convergence->rhat, convergence->ess_bulk, convergence->ess_tail};
  return values[measure];
}

/* The measures of scalars in a row. */
static RpinnStatus write_measures(RpinnContext *context, const RpinnPosteriorFile *file, int group,
                                  const char *name, size_t num_dimensions, const int *dimensions,
                                  bool is_prediction, size_t count, const RpinnConvergence *convergence) {
  double *values = malloc((count ? count : 1) * sizeof *values);
  RpinnStatus status = values ? RPINN_OK : rpinn_fail_memory(context);
  for (size_t m = 0; m < NUM_MEASURES && status == RPINN_OK; m++) {
    for (size_t i = 0; i < count; i++) values[i] = get_measure(&convergence[i], m);
    status =
        rpinn_netcdf_write(context, &file->netcdf, group, name, measure_names[m], num_dimensions, dimensions,
                           is_prediction ? rpinn_posterior_file_arrange(file, values) : values);
  }
  free(values);
  return status;
}

static RpinnStatus write_fields(RpinnContext *context, const RpinnPosteriorFile *file, int group,
                                const RpinnConvergence *parameters) {
  const RpinnPosterior *posterior = file->posterior;
  for (size_t f = 0; f < posterior->problem->num_fields; f++) {
    const char *field = posterior->problem->fields[f].name;
    const RpinnNetwork *network = &posterior->networks[f];
    char name[RPINN_NETCDF_NAME_SIZE];
    int dimension;
    snprintf(name, sizeof name, "%.100s_parameters", field);
    RPINN_TRY(rpinn_netcdf_define_numbers(context, &file->netcdf, group, field, "_parameter",
                                          network->num_trainable, 1, &dimension));
    RPINN_TRY(write_measures(context, file, group, name, 1, &dimension, false, network->num_trainable,
                             parameters + network->parameter_start));
  }
  return RPINN_OK;
}

static RpinnStatus write_scalars(RpinnContext *context, const RpinnPosteriorFile *file, int group,
                                 const RpinnConvergence *parameters) {
  const RpinnPosterior *posterior = file->posterior;
  for (size_t k = 0; k < posterior->problem->num_unknowns; k++)
    RPINN_TRY(write_measures(context, file, group, posterior->problem->unknowns[k].name, 0, NULL, false, 1,
                             parameters + posterior->model.unknown_start + k));
  for (size_t k = 0; k < posterior->num_noises; k++)
    RPINN_TRY(write_measures(context, file, group, posterior->noises[k].name, 0, NULL, false, 1,
                             parameters + posterior->model.num_parameters + k));
  return RPINN_OK;
}

static RpinnStatus write_predictions(RpinnContext *context, const RpinnPosteriorFile *file, int group,
                                     const RpinnConvergence *predictions) {
  const RpinnProblem *problem = file->posterior->problem;
  size_t num_points = file->posterior->data->predict.count;
  int dimensions[RPINN_DRAW_MAX_AXES];
  RPINN_TRY(rpinn_posterior_file_define_axes(context, file, group, dimensions));
  for (size_t q = 0; q < problem->num_predicted; q++)
    RPINN_TRY(write_measures(context, file, group, problem->predicted[q].name, file->axes.num_axes,
                             dimensions, true, num_points, predictions + q * num_points));
  return RPINN_OK;
}

RpinnStatus rpinn_posterior_file_add_convergence(RpinnContext *context, RpinnPosteriorFile *file,
                                                 const RpinnConvergence *parameters,
                                                 const RpinnConvergence *predictions) {
  int group, outer;
  RPINN_TRY_NETCDF(context, &file->netcdf, nc_inq_grp_ncid(file->netcdf.root, "constant_data", &outer));
  RPINN_TRY(rpinn_netcdf_define_inner_group(context, &file->netcdf, outer, "diagnostics", &group));
  RPINN_TRY(write_fields(context, file, group, parameters));
  RPINN_TRY(write_scalars(context, file, group, parameters));
  if (!file->posterior->problem->has_predict) return RPINN_OK;
  return write_predictions(context, file, group, predictions);
}
