/* Errors of a prediction against a reference. */
#ifndef RPINN_ASSESS_METRICS_H
#define RPINN_ASSESS_METRICS_H

#include <stddef.h>

/* |prediction - reference|_2 / |reference|_2 */
double rpinn_metric_relative_l2(size_t count, const double *prediction, const double *reference);
/* max |prediction - reference| */
double rpinn_metric_largest_error(size_t count, const double *prediction, const double *reference);

#endif
