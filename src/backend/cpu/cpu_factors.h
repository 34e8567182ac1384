/* The linear model at a point in factors, for J v, J^T w and J D J^T without J.
 *
 * The row of J of a point p is, for W of a layer, a sum of as many products of two vectors as the point has channels:
 *
 *   J_p = sum_c zbar_c[p] a_c[p]^T
 *
 * and so, with V of the layer's shape, and D = s of one value within W, as priors have it,
 *
 *   (J v)_p     = sum_c zbar_c[p] . V a_c[p]
 *   J^T w       = sum_p sum_c w_p zbar_c[p] a_c[p]^T                      the product that the gradient is
 *   (J D J^T)_pq = s sum_c sum_d (zbar_c[p] . zbar_d[q]) (a_c[p] . a_d[q])
 *
 * The last takes S^2 (n + m) multiplications in place of M^2 n m, for M rows with S channels of a layer of n units above m (Novak, Sohl-Dickstein
 * and Schoenholz 2022): fewer where there are fewer channels to a row than about the root of half the width. Layers of which this is true are kept
 * in factors; all other parameters, among them all b, the first and the last layer, stand in vectors of a row each. The factors take less memory
 * and time than J, and are kept for the last point that was asked for. */
#ifndef RPINN_BACKEND_CPU_CPU_FACTORS_H
#define RPINN_BACKEND_CPU_CPU_FACTORS_H

#include "cpu_engine.h"

/* Is the linear model of this problem to be kept in factors? It depends on the problem alone, for the bits of products do. */
bool RPINN_REAL_NAME(rpinn_cpu_wants_factors)(const RpinnCpuEngine *engine);
/* At engine->theta, with the scales of the member at hand: made, unless they are known. */
RpinnStatus RPINN_REAL_NAME(rpinn_cpu_factors_make)(RpinnContext *context, RpinnCpuEngine *engine);
void RPINN_REAL_NAME(rpinn_cpu_factors_destroy)(RpinnCpuFactors *factors);

/* ---- once they are made ---- */

/* product [M] = J v, v in engine->gradient */
void RPINN_REAL_NAME(rpinn_cpu_factors_times)(RpinnCpuEngine *engine, double *product);
/* engine->gradient = J^T w */
void RPINN_REAL_NAME(rpinn_cpu_factors_transposed)(RpinnCpuEngine *engine, const double *weights);
/* Has D [N] (NULL: ones) one value within each W that is kept in factors? */
bool RPINN_REAL_NAME(rpinn_cpu_factors_take)(const RpinnCpuEngine *engine, const double *scale);
/* Then: the lower triangle of product [M][M] = J D J^T, and rows [M]; engine->panel is there. */
void RPINN_REAL_NAME(rpinn_cpu_factors_gram)(RpinnCpuEngine *engine, const double *scale, double *rows,
                                             double *product);

#endif
