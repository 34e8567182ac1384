/* What a truth makes by itself on its declared cells: a random field, and the head of a flow. The cells are
 * numbered with the first coordinate fastest; *values [cells] lives in the problem's arena. */
#ifndef RPINN_DATA_MADE_TRUTH_H
#define RPINN_DATA_MADE_TRUTH_H

#include "covariance.h"
#include "problem.h"

/* A random field of a problem file in the terms of covariance.h. */
RpinnFieldModel rpinn_field_of_law(const RpinnProblem *problem, const RpinnFieldLaw *law);

RpinnStatus rpinn_made_field(RpinnContext *context, RpinnProblem *problem, uint64_t seed, double **values);
/* conductivity [cells] above 0; sources [cells] or NULL. */
RpinnStatus rpinn_made_flow(RpinnContext *context, RpinnProblem *problem, const double *conductivity,
                            const double *sources, double **values);

#endif
