/* Where the output of a network is mapped to by default: u = shift + factor N with the mean and the standard deviation of what
 * is measured of the field u itself, so that a prior on weights of order one means the same in metres as in millimetres.
 *
 *   shift  = mean of the values          of the fitted terms that expect u; 0 without any
 *   factor = their standard deviation    where it is more than their noise explains, else 1 */
#ifndef RPINN_POSTERIOR_OUTPUT_MAP_H
#define RPINN_POSTERIOR_OUTPUT_MAP_H

#include "data_set.h"

void rpinn_output_map_find(const RpinnProblem *problem, const RpinnDataSet *data, size_t field, double *shift,
                           double *factor);

#endif
