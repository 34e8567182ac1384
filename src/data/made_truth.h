/* What a truth makes by itself on its declared cells: a random field, and the head of a flow. The cells are
 * numbered with the first coordinate fastest; *values [cells] lives in the problem's arena. */
#ifndef RPINN_DATA_MADE_TRUTH_H
#define RPINN_DATA_MADE_TRUTH_H

#include "problem.h"

RpinnStatus rpinn_made_field(RpinnContext *context, RpinnProblem *problem, uint64_t seed, double **values);
/* conductivity [cells] above 0; sources [cells] or NULL. */
RpinnStatus rpinn_made_flow(RpinnContext *context, RpinnProblem *problem, const double *conductivity,
                            const double *sources, double **values);

#endif
