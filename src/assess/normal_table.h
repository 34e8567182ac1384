/* Shares and densities of the normal distribution from a table, for sums of millions of them. */
#ifndef RPINN_ASSESS_NORMAL_TABLE_H
#define RPINN_ASSESS_NORMAL_TABLE_H

#include <stddef.h>

typedef struct RpinnNormalTable RpinnNormalTable;

/* NULL: no memory. Only read from then on, by any thread. */
RpinnNormalTable *rpinn_normal_table_create(void);
void rpinn_normal_table_destroy(RpinnNormalTable *table);
/* The share of a mixture of normal distributions with means c and deviations 1/p that lies below y, and its slope there:
 *   F(y) = 1/n sum_k Phi(p_k (y - c_k)),  *slope = 1/n sum_k p_k phi(p_k (y - c_k))
 * with Phi to 2e-16 of 1 and phi to 1e-14; beyond 9 deviations Phi is 0 or 1, and phi 0. */
double rpinn_normal_table_mixture(const RpinnNormalTable *table, size_t count, const double *means,
                                  const double *precisions, double y, double *slope);

#endif
