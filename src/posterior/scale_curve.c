#include "scale_curve.h"

#include <math.h>

static double highest(const RpinnScaleCurve *curve) {
  double result = curve->log_density[0];
  for (size_t k = 1; k < curve->count; k++) result = fmax(result, curve->log_density[k]);
  return result;
}

/* Of the segment from point k to the next one, with the density divided by e^top; from its higher end, so that nothing
 * overflows. */
static double mass_of(const RpinnScaleCurve *curve, size_t k, double top) {
  double fall = fabs(curve->log_density[k + 1] - curve->log_density[k]),
         higher = fmax(curve->log_density[k], curve->log_density[k + 1]),
         mean = fall < 1e-8 ? 1 - 0.5 * fall : -expm1(-fall) / fall;
  return log(curve->scale[k + 1] / curve->scale[k]) * exp(higher - top) * mean;
}

/* How far along a segment, 0 … 1, the share of its mass lies. */
static double place_of(double rise, double share) {
  if (fabs(rise) < 1e-8) return share;
  return rise > 0 ? 1 + log(share + (1 - share) * exp(-rise)) / rise : log1p(share * expm1(rise)) / rise;
}

double rpinn_scale_curve_quantile(const RpinnScaleCurve *curve, double probability) {
  double top = highest(curve), total = 0;
  for (size_t k = 0; k + 1 < curve->count; k++) total += mass_of(curve, k, top);
  double wanted = probability * total;
  for (size_t k = 0; k + 1 < curve->count; k++) {
    double mass = mass_of(curve, k, top);
    if (wanted > mass && k + 2 < curve->count) {
      wanted -= mass;
      continue;
    }
    double share = fmin(fmax(wanted / mass, 0), 1);
    double place = place_of(curve->log_density[k + 1] - curve->log_density[k], share);
    return curve->scale[k] * pow(curve->scale[k + 1] / curve->scale[k], fmin(fmax(place, 0), 1));
  }
  return curve->scale[0];
}
