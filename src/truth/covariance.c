#include "covariance.h"

#include <math.h>

const char *const rpinn_correlation_names[RPINN_NUM_CORRELATIONS] = {"squared_exponential", "exponential",
                                                                     "matern32", "matern52"};

double rpinn_correlation(RpinnCorrelation correlation, double distance, double length) {
  double r = fabs(distance) / length, root;
  switch (correlation) {
  case RPINN_EXPONENTIAL: return exp(-r);
  case RPINN_MATERN32: root = sqrt(3) * r; return (1 + root) * exp(-root);
  case RPINN_MATERN52: root = sqrt(5) * r; return (1 + root + root * root / 3) * exp(-root);
  default: return exp(-r * r);
  }
}

double rpinn_field_covariance(const RpinnFieldModel *model, const double *a, const double *b) {
  double product = model->variance;
  for (size_t i = 0; i < model->num_axes; i++)
    product *= rpinn_correlation(model->correlation, a[i] - b[i], model->length[i]);
  return product;
}

RpinnStatus rpinn_field_model_check(RpinnContext *context, const RpinnFieldModel *model) {
  for (size_t i = 0; i < model->num_axes; i++)
    if (!(model->length[i] > 0) || !isfinite(model->length[i]))
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "a correlation length is %.10g; expected a positive number", model->length[i]);
  if (!(model->variance > 0) || !isfinite(model->variance))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the variance is %.10g; expected a positive number",
                      model->variance);
  if (!isfinite(model->mean))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the mean is %g; expected a finite number", model->mean);
  return RPINN_OK;
}
