/* The matrix products of the CPU backend, in one precision: one table of functions per instruction set.
 *
 *   z^l = a^(l-1) W^lT        Wbar^l += zbar^lT a^(l-1)        abar^(l-1) = zbar^l W^l        J D J^T, of J as it stands or in factors
 *
 * Those of layers are small and of odd widths, as the networks have them, and the same weights meet many rows. Matrices are
 * row-major without gaps, unless a distance between rows is given.
 *
 * A product is cut into tiles of several rows by a few vectors whose sums stay in registers: each step takes one column
 * of the first factor, a number for every row of the tile, and one row of the second, the vectors. Columns that are left over when the width of a
 * layer is cut into groups of RPINN_REAL_GROUP would waste a part of a vector: edge_tiles.h makes several steps of their sums at once, for which the
 * second factor is given transposed as well, and in Wbar they are rows of its transpose.
 *
 * Bits. An element's sum is taken in an order that the sizes of its matrices alone decide, with fused multiply-adds, so that
 * every instruction set that has these gives the same bits. Factors are read up to a group beyond their end; what is
 * read there is not used. */
#ifndef RPINN_BACKEND_CPU_MATRIX_PRODUCTS_H
#define RPINN_BACKEND_CPU_MATRIX_PRODUCTS_H

#include <stdbool.h>
#include <stddef.h>

#include "isa.h"
#include "real.h"

enum {
  RPINN_GRAM_COLUMNS = 1024,                                   /* at most in one call of add_gram */
  RPINN_GRAM_PANEL = RPINN_GRAM_COLUMNS * 4 * RPINN_REAL_GROUP /* room that it needs */
};

/* The Jacobian of a layer's W in factors: the row of a point is sum_c zbar_c a_c^T over its channels. */
typedef struct RpinnFactors {
  size_t num_out, num_in;
  const Real *bars, *inputs; /* zbar [rows][num_out], a [rows][num_in] */
} RpinnFactors;

/* Points with the same channels: their rows in factors, channel by channel and point by point, and their place among the results. */
typedef struct RpinnFactorRun {
  size_t first_row, num_channels, num_points, first_result;
} RpinnFactorRun;

typedef struct RpinnMatrixProducts {
  /* c [num_rows][num_out] = a [num_rows][num_in] weights [num_in][num_out];  transposed [num_out][num_in]: the weights
   * once more. */
  void (*multiply)(size_t num_rows, size_t num_in, size_t num_out, const Real *a, const Real *weights,
                   const Real *transposed, Real *c);
  /* gradient [num_out][num_in] = bars^T a, added to what it holds where `adds`;  bars [num_rows][num_out],
   * a [num_rows][num_in] */
  void (*add_gradient)(size_t num_rows, size_t num_out, size_t num_in, const Real *bars, const Real *a,
                       bool adds, Real *gradient);
  /* outputs[row] = sum_u a[row][u] weights[u] */
  void (*multiply_vector)(size_t num_rows, size_t width, const Real *a, const Real *weights, Real *outputs);
  /* sums[row] = sum_u a[row][u] b[row][u] */
  void (*multiply_rows)(size_t num_rows, size_t width, const Real *a, const Real *b, Real *sums);
  /* to [num_columns][num_rows] = the transpose of from [num_rows][num_columns] */
  void (*transpose)(size_t num_rows, size_t num_columns, const Real *from, Real *to);
  /* The lower triangle of gram [num_rows][num_rows] += A diag(scale) A^T, A [num_rows][num_columns] with its rows `distance`
   * apart. Sums over 512 columns are in this precision, sums of these in double. panel: room for RPINN_GRAM_PANEL. */
  void (*add_gram)(size_t num_rows, size_t num_columns, const Real *a, size_t distance, const Real *scale,
                   Real *panel, double *gram);
  /* gram [num_results][num_results] += scale J J^T of a layer's W, for the points of two runs, `columns` no later than `rows`; of one
   * run with itself the lower triangle. panel: room for (num_out + num_in) RPINN_REAL_GROUP numbers for each channel of `columns`. */
  void (*add_factored_gram)(const RpinnFactors *factors, const RpinnFactorRun *rows,
                            const RpinnFactorRun *columns, double scale, size_t num_results, Real *panel,
                            double *gram);
} RpinnMatrixProducts;

#ifdef RPINN_FACTORED_GRAM /* that of an instruction set, which stands in a file of its own */
void RPINN_FACTORED_GRAM(const RpinnFactors *factors, const RpinnFactorRun *rows,
                         const RpinnFactorRun *columns, double scale, size_t num_results, Real *panel,
                         double *gram);
#endif

/* The kernels for one instruction set; NULL where this machine or this build has none. */
const RpinnMatrixProducts *RPINN_REAL_NAME(rpinn_matrix_products)(RpinnIsa isa);

#endif
