/* From the slopes of points to the rows of J, and products with J, all in double; every output is the sum of one thread or one
 * group, in the order of the parameters. */
#ifndef RPINN_BACKEND_CUDA_JACOBIAN_PRODUCTS_CUH
#define RPINN_BACKEND_CUDA_JACOBIAN_PRODUCTS_CUH

#include "member_pass.cuh"

RPINN_INLINE const RpinnDeviceItem &item_of_row(const RpinnDeviceWork &work, int row) {
  int t = 0; /* items are in the order of rows */
  while (row >= work.items[t].first_row + work.items[t].num_rows) t++;
  return work.items[t];
}

/* Entry `column` of row `row`, column N being the row itself. */
template <class Real>
RPINN_INLINE void finish_entry(const RpinnDeviceWork &work, const RpinnDeviceProduct &product, int64_t k, int row, int column) {
  const RpinnDeviceItem &item = item_of_row(work, row);
  int N = work.num_parameters, own = row - item.first_row;
  const double *results = product.results + k * work.num_results + item.first_result;
  const Real *slopes = (const Real *)product.slopes;
  if (slopes) slopes += (k * work.num_results + item.first_result) * (int64_t)N + column;
  const double *scales = product.row_scale + k * product.scale_step + item.first_row;
  double value = 0;
  if (item.mix < 0) {
    value = column == N ? results[own] : (double)slopes[(int64_t)own * N];
  } else { /* slopes have the scale of the first row already */
    const double *mix = work.numbers + item.mix + (int64_t)own * item.num_points;
    for (int p = 0; p < item.num_points; p++)
      value += mix[p] * (column == N ? results[p] * scales[0] : (double)slopes[(int64_t)p * N]);
    value *= row_ratio(scales, own);
  }
  if (column == N)
    product.rows[k * work.num_rows + row] = value;
  else
    product.jacobian[(k * work.num_rows + row) * (int64_t)N + column] = value;
}

/* first, step: of this thread among those of all blocks of the member. */
template <class Real>
RPINN_INLINE void finish_rows(const RpinnDeviceWork &work, const RpinnDeviceProduct &product, int64_t k, int64_t first,
                              int64_t step) {
  int64_t N = work.num_parameters, width = product.slopes ? N + 1 : 1;
  for (int64_t i = first; i < work.num_rows * width; i += step)
    finish_entry<Real>(work, product, k, (int)(i / width), product.slopes ? (int)(i % width) : (int)N);
}

/* group, step: of this group among those of all blocks of the member. */
RPINN_INLINE void jacobian_times(const Team &team, const RpinnDeviceWork &work, const RpinnDeviceProduct &product, int64_t k,
                                 int group, int step) {
  int64_t N = work.num_parameters;
  const double *direction = product.inputs + k * N;
  for (int first = 0; first < work.num_rows; first += step) {
    int row = first + group;
    bool is_mine = row < work.num_rows;
    const double *J = product.jacobian + (k * work.num_rows + (is_mine ? row : 0)) * N;
    double sum = 0;
    for (int64_t j = team.lane; is_mine && j < N; j += team.num_lanes) sum += J[j] * direction[j];
    sum = lane_sum(team, sum);
    if (is_mine && team.lane == 0) product.outputs[k * work.num_rows + row] = sum;
  }
}

/* J diag(scale) J^T, in pieces of 4 x 4 on and below the diagonal. */
RPINN_INLINE void gram(const RpinnDeviceWork &work, const RpinnDeviceProduct &product, int64_t k, int64_t first, int64_t step) {
  int M = work.num_rows, pieces = rounds(M, 4);
  int64_t N = work.num_parameters;
  const double *J = product.jacobian + k * M * N, *scale = product.inputs ? product.inputs + k * N : 0;
  double *out = product.outputs + k * (int64_t)M * M;
  for (int64_t piece = first; piece < (int64_t)pieces * pieces; piece += step) {
    int down = (int)(piece / pieces), across = (int)(piece % pieces);
    if (across > down) continue;
    double sum[4][4];
    const double *left[4], *right[4];
    RPINN_UNROLL
    for (int i = 0; i < 4; i++) {
      left[i] = J + least(4 * down + i, M - 1) * N;
      right[i] = J + least(4 * across + i, M - 1) * N;
      RPINN_UNROLL
      for (int l = 0; l < 4; l++) sum[i][l] = 0;
    }
    for (int64_t j = 0; j < N; j++) {
      double factor = scale ? scale[j] : 1.0;
      RPINN_UNROLL
      for (int i = 0; i < 4; i++) {
        double own = left[i][j] * factor;
        RPINN_UNROLL
        for (int l = 0; l < 4; l++) sum[i][l] += own * right[l][j];
      }
    }
    RPINN_UNROLL
    for (int i = 0; i < 4; i++)
      RPINN_UNROLL
      for (int l = 0; l < 4; l++) {
        int row = 4 * down + i, column = 4 * across + l;
        if (row >= M || column >= M || column > row) continue;
        out[(int64_t)row * M + column] = sum[i][l];
        out[(int64_t)column * M + row] = sum[i][l];
      }
  }
}

#endif
