/* Gaussian random fields on rectangular grids, exact: the covariance of the drawn values is that of the model.
 *
 * On a grid of n1 x n2 places the covariance is variance * C2 (x) C1, one matrix of correlations per axis, and
 * so is its root: with Z [n2][n1] of independent normals
 *
 *   field = mean + sqrt(variance) * C2^(1/2) Z C1^(1/2)
 *
 * costs one eigendecomposition per axis and two products per field, not one of order n1 n2. */
#ifndef RPINN_TRUTH_RANDOM_FIELD_H
#define RPINN_TRUTH_RANDOM_FIELD_H

#include "covariance.h"
#include "random_stream.h"

enum { RPINN_FIELD_MAX_PLACES = 4096 }; /* per axis: the roots are dense matrices */

typedef struct RpinnRandomField RpinnRandomField;

/* places[i] [counts[i]]: where the field is wanted along axis i, in any order. All is copied. */
RpinnStatus rpinn_random_field_create(RpinnContext *context, const RpinnFieldModel *model,
                                      const size_t *counts, const double *const *places,
                                      RpinnRandomField **field);
void rpinn_random_field_destroy(RpinnRandomField *field);
/* One field, [n2][n1]: the first axis runs fastest. */
void rpinn_random_field_draw(RpinnRandomField *field, RpinnStream *stream, double *values);

/* Centres of count equal cells of [low, high]. */
void rpinn_cell_centres(double low, double high, size_t count, double *centres);

#endif
