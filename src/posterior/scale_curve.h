/* Scales of the prior drawn from what the data say of them.
 *
 * A curve has the log density of x = log s, up to a constant, at points of rising s; it is linear between them and there is nothing
 * beyond its ends. Over a segment of width h with ends a and b the density integrates to h (e^b - e^a) / (b - a), and its share of
 * that up to t of the way is (e^(t (b - a)) - 1) / (e^(b - a) - 1), which can be inverted. */
#ifndef RPINN_POSTERIOR_SCALE_CURVE_H
#define RPINN_POSTERIOR_SCALE_CURVE_H

#include "problem.h"

/* The scale below which the share `probability` of the curve lies, 0 … 1. The curve has a point at least. */
double rpinn_scale_curve_quantile(const RpinnScaleCurve *curve, double probability);

#endif
