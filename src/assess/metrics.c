#include "metrics.h"

#include <math.h>

double rpinn_metric_relative_l2(size_t count, const double *prediction, const double *reference) {
  double error = 0, size = 0;
  for (size_t i = 0; i < count; i++) {
    double difference = prediction[i] - reference[i];
    error += difference * difference;
    size += reference[i] * reference[i];
  }
  return sqrt(error / size);
}

double rpinn_metric_largest_error(size_t count, const double *prediction, const double *reference) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) {
    double difference = fabs(prediction[i] - reference[i]);
    if (!(difference <= largest)) largest = difference; /* keeps NaN */
  }
  return largest;
}
