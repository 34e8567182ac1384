/* add_factored_gram of matrix_products.h for one instruction set and one precision.
 *
 *   G[p][q] += s sum_d sum_c (zbar_c[p] . zbar_d[q]) (a_c[p] . a_d[q])
 *
 * A lane is a point q: its vectors come from panels [unit][channel d][lane], which are made once for all p. The scalar products of some points
 * p with a vector of points q, in all channels, are sums in registers, and never leave them but for the sum over channels. It goes over d and
 * within d over c, four of them at a time, so that it does not depend on how many channels d the registers have room for. */
#include "matrix_products.h"
#include "tile_vectors.h"

enum {
  LANES = RPINN_VECTOR_LANES,
  ROW_CHANNELS = 4,                                      /* c at a time, on every instruction set */
#if defined(RPINN_ISA_IS_AVX512) || defined(__aarch64__) /* 32 registers */
  COLUMN_CHANNELS = 4,                                   /* d at a time */
  MAX_SUMS = 20,
#else
  COLUMN_CHANNELS = 2,
  MAX_SUMS = 10,
#endif
  MAX_POINTS = 8
};

/* Points p that go at a time with so many channels of either kind. */
#define POINTS(channels, columns)                                                                            \
  ((channels) * (columns)*MAX_POINTS <= MAX_SUMS ? MAX_POINTS                                                \
   : (channels) * (columns) > MAX_SUMS           ? 1                                                         \
                                                 : MAX_SUMS / ((channels) * (columns)))

typedef struct Tile {
  size_t num_out, num_in;
  const Real *bars, *inputs;               /* of the first point p, in the first channel c */
  size_t bar_channel, input_channel;       /* distance to the next channel */
  const Real *bar_vectors, *input_vectors; /* panels, from the first channel d on */
  size_t width;                            /* of the panels */
  Real *totals;                            /* [points][LANES], to be added to */
} Tile;

/* sums [points][channels][columns]: scalar products over a layer's units */
RPINN_INLINE void multiply_channels(const size_t num_points, const size_t num_channels,
                                    const size_t num_columns, size_t length, const Real *x, size_t channel,
                                    const Real *vectors, size_t width,
                                    RealVector sums[MAX_POINTS][ROW_CHANNELS][COLUMN_CHANNELS]) {
  RealVector y[COLUMN_CHANNELS];
  RPINN_UNROLLED (p, num_points)
    RPINN_UNROLLED (c, num_channels)
      RPINN_UNROLLED (d, num_columns) sums[p][c][d] = vector_fill(0);
  for (size_t k = 0; k < length; k++, x++, vectors += width) {
    RPINN_UNROLLED (d, num_columns) y[d] = vector_load(vectors + d * LANES);
    RPINN_UNROLLED (p, num_points)
      RPINN_UNROLLED (c, num_channels) {
        RealVector number = vector_fill(x[p * length + c * channel]);
        RPINN_UNROLLED (d, num_columns) sums[p][c][d] = vector_multiply_add(number, y[d], sums[p][c][d]);
      }
  }
}

RPINN_INLINE void add_tile(const size_t num_points, const size_t num_channels, const size_t num_columns,
                           const Tile *tile) {
  RealVector bars[MAX_POINTS][ROW_CHANNELS][COLUMN_CHANNELS],
      inputs[MAX_POINTS][ROW_CHANNELS][COLUMN_CHANNELS];
  multiply_channels(num_points, num_channels, num_columns, tile->num_out, tile->bars, tile->bar_channel,
                    tile->bar_vectors, tile->width, bars);
  multiply_channels(num_points, num_channels, num_columns, tile->num_in, tile->inputs, tile->input_channel,
                    tile->input_vectors, tile->width, inputs);
  RPINN_UNROLLED (p, num_points) {
    RealVector total = vector_load(tile->totals + p * LANES);
    RPINN_UNROLLED (d, num_columns)
      RPINN_UNROLLED (c, num_channels) total = vector_multiply_add(bars[p][c][d], inputs[p][c][d], total);
    vector_store(tile->totals + p * LANES, total);
  }
}

/* For each number of channels of either kind: as many points as fit, and one. */
typedef struct TileFunctions {
  void (*many)(const Tile *tile);
  void (*one)(const Tile *tile);
  size_t num_points;
} TileFunctions;

#define TILE(channels, columns)                                                                              \
  static __attribute__((noinline)) void many_##channels##_##columns(const Tile *tile) {                      \
    add_tile(POINTS(channels, columns), channels, columns, tile);                                            \
  }                                                                                                          \
  static __attribute__((noinline)) void one_##channels##_##columns(const Tile *tile) {                       \
    add_tile(1, channels, columns, tile);                                                                    \
  }
#define NAME(channels, columns)                                                                              \
  { many_##channels##_##columns, one_##channels##_##columns, POINTS(channels, columns) }
/* clang-format off */
TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1)
TILE(1, 2) TILE(2, 2) TILE(3, 2) TILE(4, 2)
#if defined(RPINN_ISA_IS_AVX512) || defined(__aarch64__)
TILE(1, 3) TILE(2, 3) TILE(3, 3) TILE(4, 3)
TILE(1, 4) TILE(2, 4) TILE(3, 4) TILE(4, 4)
#define NAMES(channels) {NAME(channels, 1), NAME(channels, 2), NAME(channels, 3), NAME(channels, 4)}
#else
#define NAMES(channels) {NAME(channels, 1), NAME(channels, 2)}
#endif
    /* clang-format on */

    static const TileFunctions tiles[ROW_CHANNELS][COLUMN_CHANNELS] = {NAMES(1), NAMES(2), NAMES(3),
                                                                       NAMES(4)};

/* panel [num_units][num_channels][LANES] of num_points points, whose channels are `channel` apart; lanes without a point repeat the last. */
static void pack(size_t num_points, size_t num_channels, size_t num_units, const Real *from, size_t channel,
                 Real *panel) {
  const size_t width = num_channels * LANES, whole = num_units / LANES * LANES;
  for (size_t d = 0; d < num_channels; d++, from += channel, panel += LANES) {
    for (size_t k = 0; k < whole; k += LANES)
      vector_transpose_square(num_points, from + k, num_units, NULL, panel + k * width, width);
    for (size_t k = whole; k < num_units; k++)
      for (size_t lane = 0; lane < LANES; lane++)
        panel[k * width + lane] = from[(lane < num_points ? lane : num_points - 1) * num_units + k];
  }
}

/* totals [num_points][LANES] of points from `first` on, all channels with all */
static void sum_channels(const RpinnFactors *factors, const RpinnFactorRun *rows, size_t first,
                         size_t num_points, size_t num_column_channels, const Real *panel, Real *totals) {
  const size_t num_out = factors->num_out, num_in = factors->num_in, width = num_column_channels * LANES;
  Tile tile = {.num_out = num_out,
               .num_in = num_in,
               .bar_channel = rows->num_points * num_out,
               .input_channel = rows->num_points * num_in,
               .width = width};
  for (size_t c = 0; c < rows->num_channels; c += ROW_CHANNELS) {
    const size_t left = rows->num_channels - c, channels = left < ROW_CHANNELS ? left : ROW_CHANNELS;
    const size_t row = rows->first_row + c * rows->num_points + first;
    for (size_t d = 0; d < num_column_channels; d += COLUMN_CHANNELS) {
      const size_t rest = num_column_channels - d, columns = rest < COLUMN_CHANNELS ? rest : COLUMN_CHANNELS;
      const TileFunctions *functions = &tiles[channels - 1][columns - 1];
      tile.bar_vectors = panel + d * LANES;
      tile.input_vectors = tile.bar_vectors + num_out * width;
      for (size_t p = 0, count; p < num_points; p += count) {
        count = p + functions->num_points <= num_points ? functions->num_points : 1;
        tile.bars = factors->bars + (row + p) * num_out;
        tile.inputs = factors->inputs + (row + p) * num_in;
        tile.totals = totals + p * LANES;
        (count > 1 ? functions->many : functions->one)(&tile);
      }
    }
  }
}

enum { POINTS_AT_ONCE = 32 }; /* p, whose totals wait for all channels */

void RPINN_FACTORED_GRAM(const RpinnFactors *factors, const RpinnFactorRun *rows,
                         const RpinnFactorRun *columns, double scale, size_t num_results, Real *panel,
                         double *gram) {
  const bool is_same = rows->first_result == columns->first_result;
  for (size_t q = 0; q < columns->num_points; q += LANES) {
    const size_t left = columns->num_points - q, num_lanes = left < LANES ? left : LANES;
    const size_t row = columns->first_row + q, channel = columns->num_points;
    pack(num_lanes, columns->num_channels, factors->num_out, factors->bars + row * factors->num_out,
         channel * factors->num_out, panel);
    pack(num_lanes, columns->num_channels, factors->num_in, factors->inputs + row * factors->num_in,
         channel * factors->num_in, panel + factors->num_out * columns->num_channels * LANES);
    for (size_t p = is_same ? q : 0, count; p < rows->num_points; p += count) {
      Real totals[POINTS_AT_ONCE * LANES] = {0};
      count = rows->num_points - p < POINTS_AT_ONCE ? rows->num_points - p : POINTS_AT_ONCE;
      sum_channels(factors, rows, p, count, columns->num_channels, panel, totals);
      for (size_t i = 0; i < count; i++) {
        double *target = gram + (rows->first_result + p + i) * num_results + columns->first_result + q;
        const size_t below = p + i - q + 1, width = is_same && below < num_lanes ? below : num_lanes;
        for (size_t lane = 0; lane < width; lane++) target[lane] += scale * (double)totals[i * LANES + lane];
      }
    }
  }
}
