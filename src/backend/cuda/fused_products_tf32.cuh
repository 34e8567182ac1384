/* Products of the fused kernel by tensor cores: operands rounded to TF32 (ten bits of mantissa, to nearest), sums in FP32. What
 * they are is said in fused_products.cuh; here a warp has 32 units of a layer, all channels of eight points each, and of a gradient
 * 32 rows times 16 columns, as the instruction m16n8k8 lays them out: lane l has the units l/4 + 8 i and the points 2 (l % 4) and the
 * next one.
 *
 * Activations and bars are rounded when they go to their planes, weights when they are read, for Adam needs all of their bits. */
#ifndef RPINN_BACKEND_CUDA_FUSED_PRODUCTS_TF32_CUH
#define RPINN_BACKEND_CUDA_FUSED_PRODUCTS_TF32_CUH

#include "fused_products.cuh"
#include "tensor_tiles.cuh"

template <int FIRSTS_, int POINTS_, int MOST_GROUPS, class Sizes> struct FusedTf32 : Sizes {
  enum {
    FIRSTS = FIRSTS_,
    MOST_CHANNELS = 2 + FIRSTS_,
    POINTS = POINTS_,
    PAIRS = POINTS_ / 2,
    EIGHTS = POINTS_ / 8,
    ROWS = RPINN_FUSED_TF32_UNITS / 8,
    GROUP_ROWS = RPINN_FUSED_TF32_UNITS,
    STRIDE = RPINN_FUSED_TF32_UNITS * MOST_GROUPS + RPINN_FUSED_TF32_SPARE,
    INNER = RPINN_FUSED_TF32_INNER,
    ROWS_AT_HAND = 2,
    PARTS = 8,
    GRADIENT_ROWS = RPINN_FUSED_TF32_ROWS / 8,
    GRADIENT_COLUMNS = RPINN_FUSED_TF32_COLUMNS / 4,
    ENTRIES_STEP = (GRADIENT_ROWS * GRADIENT_COLUMNS) | 1
  };
  typedef float Sums[ROWS][MOST_CHANNELS][2];
  typedef float GradientSums[GRADIENT_ROWS][GRADIENT_COLUMNS];

  static RPINN_INLINE_METHOD FusedPlace place(int thread, int) {
    FusedPlace own;
    own.group = thread / 32 / EIGHTS;
    own.pair = thread / 32 % EIGHTS * 4 + thread % 4;
    own.unit = thread % 32 / 4;
    return own;
  }
  static RPINN_INLINE_METHOD int row(const FusedPlace &own, int i) { return GROUP_ROWS * own.group + 8 * i + own.unit; }
  static RPINN_INLINE_METHOD int weight_place(int k, int m) { return k * STRIDE + m; }
  static RPINN_INLINE_METHOD float operand(float x) { return to_operand(x); }
  static RPINN_INLINE_METHOD bool has_room(int row, int rows) { return row < rows; }
  static RPINN_INLINE_METHOD int part(int, const FusedPlace &own) { return PARTS * own.group + own.unit; }
  static RPINN_INLINE_METHOD constexpr int row_size(int channels) {
    return channels * POINTS / 4 % 2 ? channels * POINTS : channels * POINTS + 4;
  }

  static RPINN_INLINE_METHOD GradientPlace gradient_place(int thread, const RpinnFusedLayer &layer) {
    GradientPlace own;
    int across = (Sizes::width(layer.num_in) + RPINN_FUSED_TF32_COLUMNS - 1) / RPINN_FUSED_TF32_COLUMNS, warp = thread / 32;
    own.row_step = 8;
    own.column_step = 8;
    own.row = warp / across * RPINN_FUSED_TF32_ROWS + thread % 32 / 4;
    own.column = warp % across * RPINN_FUSED_TF32_COLUMNS + 2 * (thread % 4);
    own.works = warp / across * RPINN_FUSED_TF32_ROWS < Sizes::width(layer.num_out);
    return own;
  }
  static RPINN_INLINE_METHOD int gradient_row(const GradientPlace &own, int i) { return own.row + 8 * i; }
  static RPINN_INLINE_METHOD int gradient_column(const GradientPlace &own, int j) { return own.column + j / 2 * 8 + j % 2; }

#if defined(__CUDACC__)
  template <int C> static RPINN_INLINE_METHOD void forward(const RpinnFusedLayer &layer, const FusedPlace &own, const float *W,
                                                           const float *A, Sums &sums) {
    const int lane = threadIdx.x % 4;
    product<C>(Sizes::width(layer.num_in), W + lane * STRIDE + GROUP_ROWS * own.group + own.unit, STRIDE, 1,
               A + lane * row_size(C) + own.pair / 4 * 8 + own.unit, sums);
  }
  template <int C> static RPINN_INLINE_METHOD void backward(const RpinnFusedLayer &layer, const FusedPlace &own, const float *W,
                                                            const float *bars, Sums &sums) {
    const int lane = threadIdx.x % 4;
    product<C>(Sizes::width(layer.num_out), W + (GROUP_ROWS * own.group + own.unit) * STRIDE + lane, 1, STRIDE,
               bars + lane * row_size(C) + own.pair / 4 * 8 + own.unit, sums);
  }

  template <int C> static RPINN_INLINE_METHOD void gradient(const RpinnFusedLayer &layer, const GradientPlace &own, const float *bars,
                                                            const float *A, bool begins, GradientSums &sums) {
    const int lane = threadIdx.x % 4, rows = padded(Sizes::width(layer.num_out)), columns = padded(Sizes::width(layer.num_in));
    const float *z[4], *a[2];
    float tiles[2][2][4];
    RPINN_UNROLL
    for (int i = 0; i < 4; i++) {
      int row = gradient_row(own, i);
      z[i] = bars + (row < rows ? row : 0) * row_size(C) + lane;
      RPINN_UNROLL
      for (int j = 0; j < 4; j++) tiles[i / 2][j / 2][i % 2 * 2 + j % 2] = begins ? 0.0f : sums[i][j];
    }
    RPINN_UNROLL
    for (int j = 0; j < 2; j++) {
      int column = own.column - 2 * lane + 8 * j + (int)threadIdx.x % 32 / 4;
      a[j] = A + (column < columns ? column : 0) * row_size(C) + lane;
    }
    RPINN_UNROLL_TWO
    for (int q = 0; q < C * POINTS; q += 8) {
      float b[2][2];
      RPINN_UNROLL
      for (int j = 0; j < 2; j++) {
        b[j][0] = a[j][q];
        b[j][1] = a[j][q + 4];
      }
      RPINN_UNROLL
      for (int i = 0; i < 2; i++) {
        float w[4] = {z[2 * i][q], z[2 * i + 1][q], z[2 * i][q + 4], z[2 * i + 1][q + 4]};
        RPINN_UNROLL
        for (int j = 0; j < 2; j++) multiply_tiles(w, b[j][0], b[j][1], tiles[i][j]);
      }
    }
    RPINN_UNROLL
    for (int i = 0; i < 4; i++)
      RPINN_UNROLL
      for (int j = 0; j < 4; j++) sums[i][j] = tiles[i / 2][j / 2][i % 2 * 2 + j % 2];
  }

private:
  static RPINN_INLINE_METHOD int padded(int width) { return (width + INNER - 1) / INNER * INNER; }

  /* w: weights of this lane's unit and inner index, with the steps from inner index to inner index and from unit to unit; a: of this
   * lane's inner index and point. */
  template <int C> static RPINN_INLINE_METHOD void product(int inner, const float *w, int inner_step, int unit_step, const float *a,
                                                           Sums &sums) {
    float tiles[2][C][4];
    RPINN_UNROLL
    for (int i = 0; i < 2; i++)
      RPINN_UNROLL
      for (int c = 0; c < C; c++) tiles[i][c][0] = tiles[i][c][1] = tiles[i][c][2] = tiles[i][c][3] = 0;
    RPINN_UNROLL_TWO
    for (int k = 0; k < inner; k += 8, w += 8 * inner_step, a += 8 * row_size(C)) {
      float own_w[2][4];
      RPINN_UNROLL
      for (int i = 0; i < 2; i++)
        RPINN_UNROLL
        for (int r = 0; r < 4; r++) own_w[i][r] = to_operand(w[(16 * i + r % 2 * 8) * unit_step + r / 2 * 4 * inner_step]);
      RPINN_UNROLL
      for (int c = 0; c < C; c++) {
        float b0 = a[c * POINTS], b1 = a[c * POINTS + 4 * row_size(C)];
        RPINN_UNROLL
        for (int i = 0; i < 2; i++) multiply_tiles(own_w[i], b0, b1, tiles[i][c]);
      }
    }
    RPINN_UNROLL
    for (int i = 0; i < ROWS; i++)
      RPINN_UNROLL
      for (int c = 0; c < C; c++) {
        sums[i][c][0] = tiles[i / 2][c][i % 2 * 2];
        sums[i][c][1] = tiles[i / 2][c][i % 2 * 2 + 1];
      }
  }
#else
  /* The same by plain products of rounded operands. */
  template <int C> static void forward(const RpinnFusedLayer &layer, const FusedPlace &own, const float *W, const float *A, Sums &sums) {
    for (int i = 0; i < ROWS; i++)
      for (int c = 0; c < C; c++)
        for (int q = 0; q < 2; q++) {
          float sum = 0;
          for (int k = 0; k < layer.num_in; k++)
            sum += to_tf32(W[weight_place(k, row(own, i))]) * A[k * row_size(C) + c * POINTS + 2 * own.pair + q];
          sums[i][c][q] = sum;
        }
  }
  template <int C> static void backward(const RpinnFusedLayer &layer, const FusedPlace &own, const float *W, const float *bars, Sums &sums) {
    for (int i = 0; i < ROWS; i++)
      for (int c = 0; c < C; c++)
        for (int q = 0; q < 2; q++) {
          float sum = 0;
          for (int m = 0; m < layer.num_out && row(own, i) < layer.num_in; m++)
            sum += to_tf32(W[weight_place(row(own, i), m)]) * bars[m * row_size(C) + c * POINTS + 2 * own.pair + q];
          sums[i][c][q] = sum;
        }
  }
  template <int C> static void gradient(const RpinnFusedLayer &layer, const GradientPlace &own, const float *bars, const float *A,
                                        bool begins, GradientSums &sums) {
    for (int i = 0; i < GRADIENT_ROWS; i++)
      for (int j = 0; j < GRADIENT_COLUMNS; j++) {
        int row = gradient_row(own, i), column = gradient_column(own, j);
        float sum = 0;
        for (int q = 0; q < C * POINTS && row < layer.num_out && column < layer.num_in; q++)
          sum += bars[row * row_size(C) + q] * A[column * row_size(C) + q];
        sums[i][j] = begins ? sum : sums[i][j] + sum;
      }
  }
#endif
};

#endif
