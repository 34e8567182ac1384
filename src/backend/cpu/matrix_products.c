/* The products of matrix_products.h for one instruction set and one precision. */
#include "matrix_products.h"

#include "edge_tiles.h"
#include "tile_vectors.h"

/* A tile has as many sums as leave registers for a few vectors of the second factor and a number of the first. */
enum {
  LANES = RPINN_VECTOR_LANES,
  MAX_ROWS = 12,
#if defined(RPINN_ISA_IS_AVX512) || defined(__aarch64__) /* 32 registers */
  MAX_SUMS = 24,
  MAX_VECTORS = 4,
#else
  MAX_SUMS = 12,
  MAX_VECTORS = 2,
#endif
  PIECE_BYTES = 40960, /* of a gradient's factors at a time: the first cache keeps them for all tiles */
  LEAST_PIECE = 48     /* rows of these, at least: tiles are read and written again for each piece */
};

/* ---- tiles ---- */

/* The first factor of a product, element (m, k) at x[m row + k step]: as it stands, or transposed. */
typedef struct Factor {
  const Real *x;
  size_t row, step;
} Factor;

/* The second factor [length][…], and the product; last: how many lanes of a tile's last vector count. */
typedef struct Panel {
  size_t length;
  const Real *y;
  size_t y_step;
  Real *c;
  size_t c_row, last;
  bool adds;
} Panel;

RPINN_INLINE void tile(const size_t num_rows, const size_t num_vectors, const Factor *factor,
                       const Panel *panel) {
  RealVector sums[MAX_ROWS][MAX_VECTORS], y[MAX_VECTORS];
  const size_t row = factor->row, step = factor->step, y_step = panel->y_step, end = num_vectors - 1;
  const size_t length = panel->length, c_row = panel->c_row, last = panel->last;
  const Real *x = factor->x, *vectors = panel->y;
  Real *c = panel->c;
  RPINN_UNROLLED (r, num_rows)
    RPINN_UNROLLED (v, num_vectors) sums[r][v] = vector_fill(0);
  if (panel->adds) {
    const Real *old = c;
    RPINN_UNROLLED (r, num_rows) {
      RPINN_UNROLLED (v, end) sums[r][v] = vector_load(old + v * LANES);
      sums[r][end] = vector_load_lanes(old + end * LANES, last);
      old += c_row;
    }
  }
  RPINN_UNROLL_FOUR for (size_t k = 0; k < length; k++, x += step, vectors += y_step) {
    RPINN_UNROLLED (v, num_vectors) y[v] = vector_load(vectors + v * LANES);
    RPINN_UNROLLED (r, num_rows) {
      RealVector number = vector_fill(x[r * row]);
      RPINN_UNROLLED (v, num_vectors) sums[r][v] = vector_multiply_add(number, y[v], sums[r][v]);
    }
  }
  RPINN_UNROLLED (r, num_rows) {
    RPINN_UNROLLED (v, end) vector_store(c + v * LANES, sums[r][v]);
    vector_store_lanes(c + end * LANES, sums[r][end], last);
    c += c_row;
  }
}

/* Tiles of all sizes that fit the registers, as functions. */
typedef void (*TileFunction)(const Factor *factor, const Panel *panel);

#define TILE(rows, vectors)                                                                                  \
  static __attribute__((noinline)) void tile_##rows##_##vectors(const Factor *factor, const Panel *panel) {  \
    if (rows * vectors <= MAX_SUMS) tile(rows, vectors, factor, panel);                                      \
  }
#if defined(RPINN_ISA_IS_AVX512) || defined(__aarch64__)
#define TILES(rows) TILE(rows, 1) TILE(rows, 2) TILE(rows, 3) TILE(rows, 4)
#define NAMES(rows)                                                                                          \
  { tile_##rows##_1, tile_##rows##_2, tile_##rows##_3, tile_##rows##_4 }
#else
#define TILES(rows) TILE(rows, 1) TILE(rows, 2)
#define NAMES(rows)                                                                                          \
  { tile_##rows##_1, tile_##rows##_2 }
#endif
/* clang-format off */
TILES(1) TILES(2) TILES(3) TILES(4) TILES(5) TILES(6) TILES(7) TILES(8) TILES(9) TILES(10) TILES(11) TILES(12)
    /* clang-format on */

    static const TileFunction tiles[MAX_ROWS][MAX_VECTORS] = {NAMES(1), NAMES(2),  NAMES(3),  NAMES(4),
                                                              NAMES(5), NAMES(6),  NAMES(7),  NAMES(8),
                                                              NAMES(9), NAMES(10), NAMES(11), NAMES(12)};

/* c [num_rows][num_columns] of the panel, by tiles of nearly equal sizes. */
static void multiply_columns(size_t num_rows, size_t num_columns, Factor factor, Panel panel) {
  const size_t num_vectors = (num_columns + LANES - 1) / LANES;
  const size_t num_panels = (num_vectors + MAX_VECTORS - 1) / MAX_VECTORS;
  for (size_t p = 0; p < num_panels; p++) {
    const size_t first = num_vectors * p / num_panels, width = num_vectors * (p + 1) / num_panels - first;
    const size_t height = MAX_SUMS / width < MAX_ROWS ? MAX_SUMS / width : MAX_ROWS;
    const size_t num_tiles = (num_rows + height - 1) / height;
    Panel part = panel;
    part.y += first * LANES;
    part.last = p + 1 < num_panels ? LANES : num_columns - (num_vectors - 1) * LANES;
    for (size_t t = 0; t < num_tiles; t++) {
      const size_t row = num_rows * t / num_tiles, count = num_rows * (t + 1) / num_tiles - row;
      const Factor rows = {factor.x + row * factor.row, factor.row, factor.step};
      part.c = panel.c + row * panel.c_row + first * LANES;
      tiles[count - 1][width - 1](&rows, &part);
    }
  }
}

/* ---- scalar products of rows ---- */

/* sum_k x[k] y[k] */
static Real multiply_row(size_t length, const Real *x, const Real *y) {
  RealVector sums[RPINN_GROUP_VECTORS] = {{0}};
  for (size_t k = 0, part = 0; k < length; k += LANES, part = (part + 1) % RPINN_GROUP_VECTORS) {
    const size_t count = length - k < LANES ? length - k : LANES;
    sums[part] =
        vector_multiply_add(vector_load_lanes(x + k, count), vector_load_lanes(y + k, count), sums[part]);
  }
  return vector_group_sum(sums);
}

static void multiply_all_rows(size_t num_rows, size_t width, const Real *a, const Real *b, Real *sums) {
  for (size_t r = 0; r < num_rows; r++) sums[r] = multiply_row(width, a + r * width, b + r * width);
}

/* ---- the products ---- */

static void multiply(size_t num_rows, size_t num_in, size_t num_out, const Real *a, const Real *weights,
                     const Real *transposed, Real *c) {
  const size_t left = edge_columns(num_out, num_in), most = num_out - left;
  const size_t beside = left == 0 ? 0 : edge_vectors(most / LANES), columns = most - beside * LANES;
  const Factor factor = {.x = a, .row = num_in, .step = 1};
  const Panel panel = {.length = num_in, .y = weights, .y_step = num_out, .c = c, .c_row = num_out};
  multiply_columns(num_rows, columns, factor, panel);
  if (left > 0)
    edge_multiply(num_rows, beside, left, num_in, a, weights + columns, num_out, transposed + most * num_in,
                  c + columns, num_out);
}

static void multiply_vector(size_t num_rows, size_t width, const Real *a, const Real *weights,
                            Real *outputs) {
  edge_multiply(num_rows, 0, 1, width, a, weights, 1, weights, outputs, 1);
}

/* Columns of a gradient that are computed as rows of its transpose: where these are fewer vectors. */
static size_t turned_columns(size_t num_out, size_t num_in) {
  const size_t count = num_in % RPINN_REAL_GROUP;
  const size_t groups = (num_out + RPINN_REAL_GROUP - 1) / RPINN_REAL_GROUP;
  return count * groups < num_out ? count : 0;
}

/* The last `few` columns of a gradient: rows of its transpose, a few vectors at a time, which are turned at the end. */
static void add_columns(size_t num_rows, size_t num_out, size_t num_in, size_t few, const Real *bars,
                        const Real *a, bool adds, Real *gradient) {
  enum { WIDTH = MAX_VECTORS * LANES };
  Real columns[RPINN_REAL_GROUP * WIDTH], turned[LANES * LANES];
  for (size_t o = 0; o < num_out; o += WIDTH) {
    const size_t count = num_out - o < WIDTH ? num_out - o : WIDTH;
    const Factor factor = {.x = a + num_in - few, .row = 1, .step = num_in};
    const Panel panel = {.length = num_rows, .y = bars + o, .y_step = num_out, .c = columns, .c_row = WIDTH};
    multiply_columns(few, count, factor, panel);
    for (size_t j = 0; j < count; j += LANES)
      for (size_t i = 0; i < few; i += LANES) {
        const size_t height = count - j < LANES ? count - j : LANES,
                     width = few - i < LANES ? few - i : LANES;
        Real *target = gradient + (o + j) * num_in + num_in - few + i;
        vector_transpose_square(width, columns + i * WIDTH + j, WIDTH, NULL, turned, LANES);
        for (size_t r = 0; r < height; r++, target += num_in) {
          RealVector sum = vector_load(turned + r * LANES);
          if (adds) sum += vector_load_lanes(target, width);
          vector_store_lanes(target, sum, width);
        }
      }
  }
}

static size_t rows_of_piece(size_t num_out, size_t num_in) {
  const size_t rows = PIECE_BYTES / ((num_out + num_in) * sizeof(Real));
  return rows > LEAST_PIECE ? rows : LEAST_PIECE;
}

static void add_gradient(size_t num_rows, size_t num_out, size_t num_in, const Real *bars, const Real *a,
                         bool adds, Real *gradient) {
  const size_t few = turned_columns(num_out, num_in), most = rows_of_piece(num_out, num_in);
  const size_t num_pieces = (num_rows + most - 1) / most;
  for (size_t piece = 0; piece < num_pieces; piece++) {
    const size_t first = num_rows * piece / num_pieces, count = num_rows * (piece + 1) / num_pieces - first;
    const Factor factor = {.x = bars + first * num_out, .row = 1, .step = num_out};
    const Panel panel = {.length = count,
                         .y = a + first * num_in,
                         .y_step = num_in,
                         .c = gradient,
                         .c_row = num_in,
                         .adds = adds || piece > 0};
    multiply_columns(num_out, num_in - few, factor, panel);
  }
  if (few > 0) add_columns(num_rows, num_out, num_in, few, bars, a, adds, gradient);
}

/* ---- transposes ---- */

/* Where the square that follows the one at `at` begins: the last one reaches back over others, unless so little is left that
 * single elements are less work. */
static size_t next_square(size_t at, size_t count) {
  const size_t next = at + LANES, left = count - next;
  return left >= LANES || left <= LANES / 4 ? next : count - LANES;
}

static void transpose(size_t num_rows, size_t num_columns, const Real *from, Real *to) {
  size_t rows = 0, columns = 0;
  for (size_t i = 0; i + LANES <= num_rows; i = next_square(i, num_rows)) {
    for (size_t j = 0; j + LANES <= num_columns; j = next_square(j, num_columns)) {
      vector_transpose_square(LANES, from + i * num_columns + j, num_columns, NULL, to + j * num_rows + i,
                              num_rows);
      columns = j + LANES;
    }
    rows = i + LANES;
  }
  for (size_t i = 0; i < num_rows; i++)
    for (size_t j = i < rows ? columns : 0; j < num_columns; j++)
      to[j * num_rows + i] = from[i * num_columns + j];
}

/* ---- J D J^T ---- */

enum {
  GRAM_WIDTH = MAX_VECTORS * LANES,     /* columns of the product at a time */
  GRAM_HEIGHT = MAX_SUMS / MAX_VECTORS, /* rows */
  GRAM_PARTS = 2                        /* of the columns that are summed in this precision */
};

/* panel [num_columns][width] = diag(scale) A^T of num_rows rows; width is that number in whole vectors, and what is beyond it
 * anything finite. */
static void pack_rows(size_t num_rows, size_t num_columns, const Real *a, size_t distance, const Real *scale,
                      size_t width, Real *panel) {
  const size_t columns = num_columns / LANES * LANES;
  for (size_t k = 0; k < columns; k += LANES) {
    size_t j = 0;
    for (; j + LANES <= num_rows; j += LANES)
      vector_transpose_square(LANES, a + j * distance + k, distance, scale + k, panel + k * width + j, width);
    if (j < num_rows)
      vector_transpose_square(num_rows - j, a + j * distance + k, distance, scale + k, panel + k * width + j,
                              width);
  }
  for (size_t k = columns; k < num_columns; k++)
    for (size_t j = 0; j < width; j++)
      panel[k * width + j] = scale[k] * a[(j < num_rows ? j : num_rows - 1) * distance + k];
}

/* sums [GRAM_PARTS][count][GRAM_WIDTH] of rows from `row` on by columns from `first` on, to what is on or below the diagonal */
static void add_sums(size_t num_rows, size_t row, size_t count, size_t first, const Real *sums,
                     double *gram) {
  for (size_t r = 0; r < count; r++, sums += GRAM_WIDTH) {
    double *target = gram + (row + r) * num_rows + first;
    const size_t below = row + r - first + 1, width = below < GRAM_WIDTH ? below : GRAM_WIDTH;
    for (size_t j = 0; j < width; j++)
      target[j] += (double)sums[j] + (double)sums[GRAM_HEIGHT * GRAM_WIDTH + j];
  }
}

static void add_gram(size_t num_rows, size_t num_columns, const Real *a, size_t distance, const Real *scale,
                     Real *panel, double *gram) {
  const size_t half = num_columns / GRAM_PARTS, length[GRAM_PARTS] = {half, num_columns - half};
  for (size_t first = 0; first < num_rows; first += GRAM_WIDTH) {
    const size_t left = num_rows - first, used = left < GRAM_WIDTH ? left : GRAM_WIDTH;
    const size_t width = (used + LANES - 1) / LANES * LANES;
    pack_rows(used, num_columns, a + first * distance, distance, scale, width, panel);
    for (size_t row = first; row < num_rows; row += GRAM_HEIGHT) {
      Real sums[GRAM_PARTS * GRAM_HEIGHT * GRAM_WIDTH];
      const size_t count = num_rows - row < GRAM_HEIGHT ? num_rows - row : GRAM_HEIGHT;
      const size_t below = (row + count - first + LANES - 1) / LANES; /* vectors that reach the diagonal */
      const size_t num_vectors = below < width / LANES ? below : width / LANES;
      for (size_t part = 0; part < GRAM_PARTS; part++) {
        const Factor factor = {.x = a + row * distance + part * half, .row = distance, .step = 1};
        const Panel own = {.length = length[part],
                           .y = panel + part * half * width,
                           .y_step = width,
                           .c = sums + part * GRAM_HEIGHT * GRAM_WIDTH,
                           .c_row = GRAM_WIDTH,
                           .last = LANES};
        tiles[count - 1][num_vectors - 1](&factor, &own);
      }
      add_sums(num_rows, row, count, first, sums, gram);
    }
  }
}

extern const RpinnMatrixProducts RPINN_MATRIX_PRODUCTS_TABLE;
const RpinnMatrixProducts RPINN_MATRIX_PRODUCTS_TABLE = {.multiply = multiply,
                                                         .add_gradient = add_gradient,
                                                         .multiply_vector = multiply_vector,
                                                         .multiply_rows = multiply_all_rows,
                                                         .transpose = transpose,
                                                         .add_gram = add_gram,
                                                         .add_factored_gram = RPINN_FACTORED_GRAM};
