/* The three products of a layer with weights W [num_out][num_in], over the columns of a tile:
 *
 *   forward    Z [num_out][c]      = W A            A [num_in][c]
 *   backward   Abar [num_in][c]    = W^T Zbar       Zbar [num_out][c]
 *   gradient   Wbar [num_out][num_in] (+)= Zbar A^T
 *
 * Each thread has tiles of ROWS x COLUMNS outputs in registers; an output is summed by one thread in the order of the inner
 * index, four of which are one load where they are neighbours in memory. Rows of a thread are spread (row = first + j * step) so
 * that neighbouring threads read neighbouring rows: with strides of 4 modulo 8 these lie in different banks. Rows beyond the
 * last are read as the last one and not stored. */
#ifndef RPINN_BACKEND_CUDA_LAYER_PRODUCTS_CUH
#define RPINN_BACKEND_CUDA_LAYER_PRODUCTS_CUH

#include "team.cuh"

RPINN_INLINE int least(int a, int b) { return a < b ? a : b; }
RPINN_INLINE int rounds(int count, int size) { return (count + size - 1) / size; }

/* One tile of the forward product: rows first_row + j * row_step, COLUMNS columns from first_column on. */
template <class Real, int ROWS, int COLUMNS>
RPINN_INLINE void forward_tile(const Real *W, int stride, int num_out, int num_in, const Real *A, Real *Z, int width,
                               int first_row, int row_step, int first_column) {
  Real sum[ROWS][COLUMNS];
  const Real *rows[ROWS];
  RPINN_UNROLL
  for (int j = 0; j < ROWS; j++) {
    rows[j] = W + least(first_row + j * row_step, num_out - 1) * stride;
    RPINN_UNROLL
    for (int n = 0; n < COLUMNS; n++) sum[j][n] = 0;
  }
  const Real *columns = A + first_column;
  int k = 0;
  for (; k + 4 <= num_in; k += 4) {
    Four<Real> w[ROWS];
    RPINN_UNROLL
    for (int j = 0; j < ROWS; j++) w[j] = load_four(rows[j] + k);
    RPINN_UNROLL
    for (int q = 0; q < 4; q++) {
      Four<Real> a[COLUMNS / 4];
      RPINN_UNROLL
      for (int n = 0; n < COLUMNS / 4; n++) a[n] = load_four(columns + (k + q) * width + 4 * n);
      RPINN_UNROLL
      for (int j = 0; j < ROWS; j++)
        RPINN_UNROLL
        for (int n = 0; n < COLUMNS; n++) sum[j][n] += w[j].at[q] * a[n / 4].at[n % 4];
    }
  }
  for (; k < num_in; k++) {
    Four<Real> a[COLUMNS / 4];
    RPINN_UNROLL
    for (int n = 0; n < COLUMNS / 4; n++) a[n] = load_four(columns + k * width + 4 * n);
    RPINN_UNROLL
    for (int j = 0; j < ROWS; j++) {
      Real w = rows[j][k];
      RPINN_UNROLL
      for (int n = 0; n < COLUMNS; n++) sum[j][n] += w * a[n / 4].at[n % 4];
    }
  }
  RPINN_UNROLL
  for (int j = 0; j < ROWS; j++) {
    int row = first_row + j * row_step;
    if (row >= num_out) continue;
    RPINN_UNROLL
    for (int n = 0; n < COLUMNS / 4; n++) {
      Four<Real> four;
      RPINN_UNROLL
      for (int q = 0; q < 4; q++) four.at[q] = sum[j][4 * n + q];
      store_four(Z + row * width + first_column + 4 * n, four);
    }
  }
}

/* One tile of the backward product: ROWS / 4 fours of rows, first_four + j * four_step. */
template <class Real, int ROWS, int COLUMNS>
RPINN_INLINE void backward_tile(const Real *W, int stride, int num_out, int num_in, const Real *bars, Real *A, int width,
                                int first_four, int four_step, int first_column) {
  Real sum[ROWS][COLUMNS];
  int place[ROWS / 4];
  RPINN_UNROLL
  for (int j = 0; j < ROWS / 4; j++) place[j] = 4 * least(first_four + j * four_step, (num_in - 1) / 4);
  RPINN_UNROLL
  for (int j = 0; j < ROWS; j++)
    RPINN_UNROLL
    for (int n = 0; n < COLUMNS; n++) sum[j][n] = 0;
  const Real *columns = bars + first_column;
  RPINN_UNROLL_TWO
  for (int k = 0; k < num_out; k++) {
    Four<Real> w[ROWS / 4], a[COLUMNS / 4];
    RPINN_UNROLL
    for (int j = 0; j < ROWS / 4; j++) w[j] = load_four(W + k * stride + place[j]);
    RPINN_UNROLL
    for (int n = 0; n < COLUMNS / 4; n++) a[n] = load_four(columns + k * width + 4 * n);
    RPINN_UNROLL
    for (int j = 0; j < ROWS; j++)
      RPINN_UNROLL
      for (int n = 0; n < COLUMNS; n++) sum[j][n] += w[j / 4].at[j % 4] * a[n / 4].at[n % 4];
  }
  RPINN_UNROLL
  for (int j = 0; j < ROWS; j++) {
    int row = 4 * (first_four + j / 4 * four_step) + j % 4;
    if (row >= num_in) continue;
    RPINN_UNROLL
    for (int n = 0; n < COLUMNS / 4; n++) {
      Four<Real> four;
      RPINN_UNROLL
      for (int q = 0; q < 4; q++) four.at[q] = sum[j][4 * n + q];
      store_four(A + row * width + first_column + 4 * n, four);
    }
  }
}

/* One tile of the gradient: rows of Zbar and of A, both spread. Sums go on from where the last tile of columns left them, which is
 * asked for before the work, for global memory takes its time. */
template <class Real, int ROWS, int COLUMNS>
RPINN_INLINE void gradient_tile(const Real *bars, const Real *A, int width, int num_columns, int num_out, int num_in,
                                Real *gradient, int stride, bool is_first, int first_row, int row_step, int first_column,
                                int column_step) {
  Real sum[ROWS][COLUMNS];
  const Real *rows[ROWS], *columns[COLUMNS];
  RPINN_UNROLL
  for (int j = 0; j < ROWS; j++) {
    int row = least(first_row + j * row_step, num_out - 1);
    rows[j] = bars + row * width;
    RPINN_UNROLL
    for (int n = 0; n < COLUMNS; n++)
      sum[j][n] = is_first ? Real(0) : gradient[row * stride + least(first_column + n * column_step, num_in - 1)];
  }
  RPINN_UNROLL
  for (int n = 0; n < COLUMNS; n++) columns[n] = A + least(first_column + n * column_step, num_in - 1) * width;
  for (int c = 0; c < num_columns; c += 4) {
    Four<Real> bar[ROWS];
    RPINN_UNROLL
    for (int j = 0; j < ROWS; j++) bar[j] = load_four(rows[j] + c);
    RPINN_UNROLL
    for (int n = 0; n < COLUMNS; n++) {
      Four<Real> a = load_four(columns[n] + c);
      RPINN_UNROLL
      for (int j = 0; j < ROWS; j++)
        RPINN_UNROLL
        for (int q = 0; q < 4; q++) sum[j][n] += bar[j].at[q] * a.at[q];
    }
  }
  RPINN_UNROLL
  for (int j = 0; j < ROWS; j++) {
    int row = first_row + j * row_step;
    if (row >= num_out) continue;
    RPINN_UNROLL
    for (int n = 0; n < COLUMNS; n++) {
      int column = first_column + n * column_step;
      if (column < num_in) gradient[row * stride + column] = sum[j][n];
    }
  }
}

#endif
