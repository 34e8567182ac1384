/* How much the figures of a table would move with other members: the bootstrap over members. */
#ifndef RPINN_STUDY_BOOTSTRAP_H
#define RPINN_STUDY_BOOTSTRAP_H

#include <stdint.h>

#include "kept_draws.h"
#include "published.h"

/* The figures of one quantity from its mean and deviation at num_points points. */
void rpinn_table_metrics(size_t num_points, const double *mean, const double *deviation,
                         const double *reference, double metrics[RPINN_NUM_FIGURES]);

/* errors: standard deviation of every figure over num_resamples resamples of the kept draws, drawn with
 * replacement in a stream of their own (seed, resample): the same resample for every quantity. Values
 * first_value … first_value + num_values - 1 are the quantity at its points, reference [num_values] its
 * truth. NaN with fewer than two draws or resamples. */
RpinnStatus rpinn_bootstrap_errors(const RpinnKeptDraws *kept, size_t first_value, size_t num_values,
                                   const double *reference, uint64_t seed, size_t num_resamples,
                                   double errors[RPINN_NUM_FIGURES]);

/* What makes of the errors of num_kept thinned draws, taken as independent, those of all num_draws draws, which are
 * worth effective_size independent ones; NaN: all of them are independent. An effective size above num_draws earns
 * nothing. */
double rpinn_bootstrap_factor(double num_kept, double num_draws, double effective_size);

#endif
