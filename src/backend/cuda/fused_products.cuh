/* Products of the fused kernel in true FP32. A thread has a group of units of a layer, all channels of two points each, in registers:
 *
 *   forward    z[m] = sum_k W[m][k] a[k]      backward   abar[k] = sum_m W[m][k] zbar[m]
 *
 * and of a gradient some rows times some columns, Wbar[m][k] = sum over channels and points of zbar[m] a[k].
 *
 * Half a warp has sixteen pairs of points of one group of units, so that weights are read once for all of it and points side by
 * side; pairs beyond the sixteenth come last. Units of a group lie together. A row of a plane
 * is of 4 modulo 8 floats, so that neighbouring rows begin in different banks. */
#ifndef RPINN_BACKEND_CUDA_FUSED_PRODUCTS_CUH
#define RPINN_BACKEND_CUDA_FUSED_PRODUCTS_CUH

#include "fused_jets.cuh"
#include "fused_tables.h"

struct alignas(8) Two { float x, y; };
RPINN_INLINE Two load_two(const float *from) { return *reinterpret_cast<const Two *>(from); }
RPINN_INLINE void store_two(float *to, float x, float y) {
  Two two = {x, y};
  *reinterpret_cast<Two *>(to) = two;
}

/* Which units and points a thread has. */
struct FusedPlace {
  int group, pair;
  int unit; /* of tensor cores: the first of the group */
};

/* Which entries of a gradient: row + i * row_step, column + j * column_step. */
struct GradientPlace {
  int row, column, row_step, column_step;
  bool works;
};

/* What the compiler knows of the networks, see RPINN_FUSED_LIST; each is given what the tables state. */
template <int THREADS, int WIDTH, int HIDDEN, int FIELDS> struct FusedSizes {
  /* The weights of one matrix are few enough for sums over all tiles to stay in registers. */
  enum { IS_KNOWN = WIDTH > 0, HAS_ONE_MATRIX = HIDDEN == 2 && FIELDS == 1 };
  static RPINN_INLINE_METHOD int threads(int stated) { return IS_KNOWN ? THREADS : stated; }
  static RPINN_INLINE_METHOD int width(int stated) { return IS_KNOWN ? WIDTH : stated; } /* of a hidden layer */
  static RPINN_INLINE_METHOD int groups(int stated, int units) { return IS_KNOWN ? (WIDTH + units - 1) / units : stated; }
  static RPINN_INLINE_METHOD int hidden(int stated) { return IS_KNOWN ? HIDDEN : stated; }
  static RPINN_INLINE_METHOD int fields(int stated) { return IS_KNOWN ? FIELDS : stated; }
  /* … of several fields or of more than two hidden layers */
  static RPINN_INLINE_METHOD bool has_several_fields(bool stated) { return IS_KNOWN ? FIELDS > 1 : stated; }
  static RPINN_INLINE_METHOD bool has_several_matrices(bool stated) { return IS_KNOWN ? FIELDS > 1 || HIDDEN > 2 : stated; }
};

template <int FIRSTS_, int POINTS_, int MOST_GROUPS, class Sizes, int UNITS, int ROOM_, int GRADIENT_ROWS_, int GRADIENT_COLUMNS_,
          int IS_SQUARE>
struct FusedFloat : Sizes {
  enum {
    FIRSTS = FIRSTS_,
    MOST_CHANNELS = 2 + FIRSTS_,
    POINTS = POINTS_,
    PAIRS = POINTS_ / 2,
    ROWS = UNITS, /* of a thread */
    GROUP_ROWS = UNITS,
    ROOM = ROOM_, /* of a group of weights */
    FOURS = ROOM % 4 ? 0 : ROWS / 4 * 4, /* weights that are loaded by fours, which begin at multiples of four */
    STRIDE = ROOM * MOST_GROUPS,
    INNER = GROUP_ROWS, /* units of a plane are padded to a multiple of this */
    ROWS_AT_HAND = Sizes::HAS_ONE_MATRIX ? 3 : 2, /* of a gradient, whose records are on their way or in use */
    PARTS = 1, /* of a group, into which the sum over its units falls */
    GRADIENT_ROWS = GRADIENT_ROWS_,
    GRADIENT_COLUMNS = GRADIENT_COLUMNS_,
    ENTRIES_STEP = (GRADIENT_ROWS_ * GRADIENT_COLUMNS_) | 1
  };
  typedef float Sums[ROWS][MOST_CHANNELS][2];
  typedef float GradientSums[GRADIENT_ROWS][GRADIENT_COLUMNS];

  static RPINN_INLINE_METHOD FusedPlace place(int thread, int stated) {
    const int groups = Sizes::groups(stated, UNITS);
    FusedPlace own;
    own.unit = 0;
    if (thread < 16 * groups) {
      own.group = thread / 16;
      own.pair = thread % 16;
    } else {
      own.group = (thread - 16 * groups) / (PAIRS - 16);
      own.pair = 16 + (thread - 16 * groups) % (PAIRS - 16);
    }
    return own;
  }
  static RPINN_INLINE_METHOD int row(const FusedPlace &own, int i) { return ROWS * own.group + i; }
  static RPINN_INLINE_METHOD int weight_place(int k, int m) { return k * STRIDE + m / GROUP_ROWS * ROOM + m % GROUP_ROWS; }
  static RPINN_INLINE_METHOD float operand(float x) { return x; }
  static RPINN_INLINE_METHOD bool has_room(int, int) { return true; }
  static RPINN_INLINE_METHOD int part(int, const FusedPlace &own) { return own.group; }
  static RPINN_INLINE_METHOD constexpr int row_size(int channels) {
    return channels * POINTS / 4 % 2 ? channels * POINTS : channels * POINTS + 4;
  }

  /* The loads of one inner index are made during the products of another; those behind the last are not used. */
  template <int C> static RPINN_INLINE_METHOD void forward(const RpinnFusedLayer &layer, const FusedPlace &own, const float *W,
                                                           const float *A, Sums &sums) {
    enum { UNROLL = Sizes::IS_KNOWN ? 3 : 1 };
    const float *w = W + own.group * ROOM, *a = A + 2 * own.pair;
    clear<C>(sums);
    Inner<C> one, two;
    one.load(w, a);
    RPINN_UNROLL_SIZES
    for (int k = 0; k < Sizes::width(layer.num_in); k += 2) {
      two.load(w, a);
      one.multiply(sums);
      one.load(w, a);
      two.multiply(sums);
    }
  }

  template <int C> static RPINN_INLINE_METHOD void backward(const RpinnFusedLayer &layer, const FusedPlace &own, const float *W,
                                                            const float *bars, Sums &sums) {
    const float *w = W + own.group * ROWS * STRIDE, *z = bars + 2 * own.pair;
    clear<C>(sums);
    RPINN_UNROLL_ONE
    for (int group = 0; group < Sizes::groups(layer.out_groups, UNITS); group++, w += ROOM - GROUP_ROWS)
      RPINN_UNROLL_ONE
      for (int m = 0; m < GROUP_ROWS; m += 2, w += 2, z += 2 * row_size(C)) {
        Two first[C], second[C];
        RPINN_UNROLL
        for (int c = 0; c < C; c++) {
          first[c] = load_two(z + c * POINTS);
          second[c] = load_two(z + c * POINTS + row_size(C));
        }
        RPINN_UNROLL
        for (int i = 0; i < ROWS; i++) {
          Two own_w = load_two(w + i * STRIDE);
          RPINN_UNROLL
          for (int c = 0; c < C; c++) {
            sums[i][c][0] = multiply_add(own_w.x, first[c].x, sums[i][c][0]);
            sums[i][c][1] = multiply_add(own_w.x, first[c].y, sums[i][c][1]);
            sums[i][c][0] = multiply_add(own_w.y, second[c].x, sums[i][c][0]);
            sums[i][c][1] = multiply_add(own_w.y, second[c].y, sums[i][c][1]);
          }
        }
      }
  }

  static RPINN_INLINE_METHOD GradientPlace gradient_place(int thread, const RpinnFusedLayer &layer) {
    GradientPlace own;
    own.row_step = (Sizes::width(layer.num_out) + GRADIENT_ROWS - 1) / GRADIENT_ROWS;
    own.column_step = (Sizes::width(layer.num_in) + GRADIENT_COLUMNS - 1) / GRADIENT_COLUMNS;
    if (IS_SQUARE) {
      enum { DOWN = RPINN_FUSED_SQUARE_ROWS, ACROSS = RPINN_FUSED_SQUARE_COLUMNS };
      int across = (own.column_step + ACROSS - 1) / ACROSS, down = (own.row_step + DOWN - 1) / DOWN, warp = thread / 32;
      own.row_step = DOWN * down;
      own.column_step = ACROSS * across;
      own.row = warp / across * DOWN + thread % 32 / ACROSS;
      own.column = warp % across * ACROSS + thread % ACROSS;
      own.works = warp < across * down;
    } else {
      own.row = thread / own.column_step;
      own.column = thread % own.column_step;
      own.works = own.row < own.row_step;
    }
    return own;
  }
  static RPINN_INLINE_METHOD int gradient_row(const GradientPlace &own, int i) { return own.row + i * own.row_step; }
  static RPINN_INLINE_METHOD int gradient_column(const GradientPlace &own, int j) { return own.column + j * own.column_step; }

  template <int C> static RPINN_INLINE_METHOD void gradient(const RpinnFusedLayer &layer, const GradientPlace &own, const float *bars,
                                                            const float *A, bool begins, GradientSums &sums) {
    const float *z[GRADIENT_ROWS], *a[GRADIENT_COLUMNS];
    RPINN_UNROLL
    for (int i = 0; i < GRADIENT_ROWS; i++) {
      int row = gradient_row(own, i);
      z[i] = bars + (row < Sizes::width(layer.num_out) ? row : 0) * row_size(C);
      RPINN_UNROLL
      for (int j = 0; j < GRADIENT_COLUMNS && begins; j++) sums[i][j] = 0;
    }
    RPINN_UNROLL
    for (int j = 0; j < GRADIENT_COLUMNS; j++) {
      int column = gradient_column(own, j);
      a[j] = A + (column < Sizes::width(layer.num_in) ? column : 0) * row_size(C);
    }
    RPINN_UNROLL_THREE
    for (int q = 0; q < C * POINTS; q += 4) {
      Four<float> bar[GRADIENT_ROWS];
      RPINN_UNROLL
      for (int i = 0; i < GRADIENT_ROWS; i++) bar[i] = load_four(z[i] + q);
      RPINN_UNROLL
      for (int j = 0; j < GRADIENT_COLUMNS; j++) {
        Four<float> four = load_four(a[j] + q);
        RPINN_UNROLL
        for (int i = 0; i < GRADIENT_ROWS; i++)
          RPINN_UNROLL
          for (int p = 0; p < 4; p++) sums[i][j] = multiply_add(bar[i].at[p], four.at[p], sums[i][j]);
      }
    }
  }

private:
  template <int C> static RPINN_INLINE_METHOD void clear(Sums &sums) {
    RPINN_UNROLL
    for (int i = 0; i < ROWS; i++)
      RPINN_UNROLL
      for (int c = 0; c < C; c++) sums[i][c][0] = sums[i][c][1] = 0;
  }

  /* Weights and activations of one inner index. */
  template <int C> struct Inner {
    Two a[C];
    float w[ROWS];

    /* and on to the next */
    RPINN_INLINE_METHOD void load(const float *&from_w, const float *&from_a) {
      RPINN_UNROLL
      for (int c = 0; c < C; c++) a[c] = load_two(from_a + c * POINTS);
      RPINN_UNROLL
      for (int i = 0; i < FOURS; i += 4) {
        Four<float> four = load_four(from_w + i);
        RPINN_UNROLL
        for (int q = 0; q < 4; q++) w[i + q] = four.at[q];
      }
      RPINN_UNROLL
      for (int i = FOURS; i < ROWS; i += 2) {
        Two two = load_two(from_w + i);
        w[i] = two.x;
        w[i + 1] = two.y;
      }
      from_w += STRIDE;
      from_a += row_size(C);
    }
    RPINN_INLINE_METHOD void multiply(Sums &sums) const {
      RPINN_UNROLL
      for (int i = 0; i < ROWS; i++)
        RPINN_UNROLL
        for (int c = 0; c < C; c++) {
          sums[i][c][0] = multiply_add(w[i], a[c].x, sums[i][c][0]);
          sums[i][c][1] = multiply_add(w[i], a[c].y, sums[i][c][1]);
        }
    }
  };
};

template <int FIRSTS, int POINTS, int MOST_GROUPS, class Sizes>
using FusedTen = FusedFloat<FIRSTS, POINTS, MOST_GROUPS, Sizes, RPINN_FUSED_TEN_UNITS, RPINN_FUSED_TEN_ROOM, RPINN_FUSED_TEN_ROWS, RPINN_FUSED_TEN_COLUMNS, RPINN_FUSED_TEN_IS_SQUARE>;
template <int FIRSTS, int POINTS, int MOST_GROUPS, class Sizes>
using FusedFour = FusedFloat<FIRSTS, POINTS, MOST_GROUPS, Sizes, RPINN_FUSED_FOUR_UNITS, RPINN_FUSED_FOUR_ROOM, RPINN_FUSED_FOUR_ROWS, RPINN_FUSED_FOUR_COLUMNS, RPINN_FUSED_FOUR_IS_SQUARE>;

#endif
