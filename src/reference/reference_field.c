/* rpinn_reference_field: a draw, a draw given measurements, or what kriging says. */
#include <math.h>
#include <string.h>

#include "given_values.h"
#include "kriging.h"
#include "reference_state.h"

/* ---- what was asked for ---- */

static RpinnStatus read_model(RpinnContext *context, const RpinnReferenceField *asked,
                              RpinnFieldModel *model) {
  *model = (RpinnFieldModel){.num_axes = asked->num_axes,
                             .length = {asked->length[0], asked->length[1]},
                             .mean = asked->mean,
                             .variance = asked->variance};
  if (asked->num_axes < 1 || asked->num_axes > RPINN_FIELD_MAX_AXES)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "a random field in %zu dimensions; expected one or two",
                      asked->num_axes);
  RPINN_TRY(rpinn_field_model_check(context, model));
  const char *name = asked->covariance ? asked->covariance : "";
  for (size_t k = 0; k < RPINN_NUM_CORRELATIONS; k++)
    if (!strcmp(rpinn_correlation_names[k], name)) {
      model->correlation = (RpinnCorrelation)k;
      return RPINN_OK;
    }
  const char *near = rpinn_nearest_name(name, rpinn_correlation_names, RPINN_NUM_CORRELATIONS);
  return rpinn_fail(context, RPINN_ERROR_INPUT,
                    "unknown covariance '%.60s'; expected squared_exponential, exponential, matern32 or "
                    "matern52%s%s%s",
                    name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static RpinnStatus make_grid(RpinnContext *context, const RpinnReferenceField *asked,
                             RpinnReference *reference) {
  RPINN_TRY(rpinn_reference_name_axes(context, reference, asked->num_axes, asked->coordinates));
  reference->counts[1] = 1;
  reference->num_cells = 1;
  for (size_t i = 0; i < asked->num_axes; i++) {
    size_t count = asked->cells[i];
    if (count < 1 || count > RPINN_FIELD_MAX_PLACES)
      return rpinn_fail(context, RPINN_ERROR_INPUT, "%zu cells along %s; expected 1 to %d", count,
                        reference->names[i], RPINN_FIELD_MAX_PLACES);
    if (!(asked->low[i] < asked->high[i]) || !isfinite(asked->high[i] - asked->low[i]))
      return rpinn_fail(context, RPINN_ERROR_INPUT, "%s goes from %.10g to %.10g; expected %s",
                        reference->names[i], asked->low[i], asked->high[i],
                        asked->low[i] < asked->high[i] ? "a width that a double can hold, at most 1.79e308"
                                                       : "low < high");
    reference->counts[i] = count;
    reference->num_cells *= count;
    reference->low[i] = asked->low[i];
    reference->high[i] = asked->high[i];
    reference->centres[i] = RPINN_ARENA_NEW(reference->arena, double, count);
    if (!reference->centres[i]) return rpinn_fail_memory(context);
    rpinn_cell_centres(asked->low[i], asked->high[i], count, reference->centres[i]);
  }
  return RPINN_OK;
}

/* ---- values ---- */

static RpinnStatus draw(RpinnContext *context, const RpinnFieldModel *model, const RpinnReference *reference,
                        RpinnStream *stream, double *values) {
  RpinnRandomField *field;
  RPINN_TRY(rpinn_random_field_create(context, model, reference->counts,
                                      (const double *const *)reference->centres, &field));
  rpinn_random_field_draw(field, stream, values);
  rpinn_random_field_destroy(field);
  return RPINN_OK;
}

static RpinnStatus krige(RpinnContext *context, const RpinnKriging *kriging, RpinnReference *reference,
                         double *mean) {
  double *std,
      *points = RPINN_ARENA_NEW(reference->arena, double, reference->num_cells * reference->num_axes);
  if (!points) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_reference_add_column(context, reference, "y_std", &std));
  for (size_t c = 0; c < reference->num_cells; c++) {
    points[c * reference->num_axes] = reference->centres[0][c % reference->counts[0]];
    if (reference->num_axes > 1) points[2 * c + 1] = reference->centres[1][c / reference->counts[0]];
  }
  RPINN_TRY(rpinn_kriging_predict(context, kriging, reference->num_cells, points, mean, std));
  for (size_t c = 0; c < reference->num_cells; c++) std[c] = sqrt(std[c]);
  return RPINN_OK;
}

static RpinnStatus make_conditional(RpinnContext *context, const RpinnReferenceField *asked,
                                    const RpinnFieldModel *model, RpinnReference *reference,
                                    RpinnStream *stream, double *y) {
  RpinnCsvTable *table;
  RpinnGivenValues given;
  RpinnKriging *kriging;
  RPINN_TRY(rpinn_csv_read_file(context, reference->arena, asked->condition_file, &table));
  RPINN_TRY(rpinn_given_values_read(context, reference->arena, table, reference->num_axes, reference->names,
                                    &given));
  RPINN_TRY(rpinn_given_values_krige(context, reference->arena, &given, model, &kriging));
  RpinnStatus status = asked->kriging
                           ? krige(context, kriging, reference, y)
                           : rpinn_kriging_simulate(context, kriging, reference->counts,
                                                    (const double *const *)reference->centres, stream, y);
  rpinn_kriging_destroy(kriging);
  return status;
}

static RpinnStatus fill(RpinnContext *context, const RpinnReferenceField *asked, RpinnReference *reference) {
  RpinnFieldModel model;
  double *y, *k;
  RPINN_TRY(read_model(context, asked, &model));
  RPINN_TRY(make_grid(context, asked, reference));
  if (asked->kriging && !asked->condition_file)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "kriging without measurements; expected a file of them");
  RPINN_TRY(rpinn_reference_add_column(context, reference, "y", &y));
  RpinnStream stream = rpinn_stream(asked->seed, RPINN_PURPOSE_RANDOM_FIELD, 0, 0);
  RPINN_TRY(asked->condition_file ? make_conditional(context, asked, &model, reference, &stream, y)
                                  : draw(context, &model, reference, &stream, y));
  reference->title = asked->kriging          ? "mean and deviation of a random field given measurements"
                     : asked->condition_file ? "a random field given measurements, k = exp(y)"
                                             : "a random field, k = exp(y)";
  if (asked->kriging) return RPINN_OK;
  RPINN_TRY(rpinn_reference_add_column(context, reference, "k", &k));
  for (size_t c = 0; c < reference->num_cells; c++) k[c] = exp(y[c]);
  return RPINN_OK;
}

RpinnStatus rpinn_reference_field(RpinnContext *context, const RpinnReferenceField *field,
                                  RpinnReference **reference) {
  RPINN_TRY(rpinn_reference_create(context, reference));
  RpinnStatus status = fill(context, field, *reference);
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_reference_destroy(*reference);
  *reference = NULL;
  return status;
}
