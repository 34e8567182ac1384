/* The products of matrix_products.h for one instruction set and one precision. */
#include "matrix_products.h"

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
  PIECE_BYTES = 40960,       /* of a gradient's factors at a time: the first cache keeps them for all tiles */
  LEAST_PIECE = 48,          /* rows of these, at least: tiles are read and written again for each piece */
  FEW = RPINN_REAL_GROUP / 4 /* columns that are not worth a vector */
};

/* A value that is used more than once, loaded once: a compiler may read memory for each use, and rows that are not aligned cost
 * two reads each. */
RPINN_INLINE RealVector vector_once(RealVector value) {
#if defined(__x86_64__) && defined(__AVX512F__)
  __asm__("" : "+v"(value));
#elif defined(__x86_64__)
  __asm__("" : "+x"(value));
#endif
  return value;
}

static size_t left_over(size_t width) {
  size_t count = width % RPINN_REAL_GROUP;
  return count <= FEW ? count : 0;
}

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
  for (size_t k = 0; k < length; k++, x += step, vectors += y_step) {
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

/* The sums over a group of lanes of as many groups: sums[i] to result lane i, with the additions of vector_group_sum. */
RPINN_INLINE void group_sums(RealVector sums[RPINN_REAL_GROUP][RPINN_GROUP_VECTORS], Real *results) {
  RealVector parts[RPINN_REAL_GROUP];
  for (size_t i = 0; i < RPINN_REAL_GROUP; i++) {
    RPINN_HALVES (half, RPINN_GROUP_VECTORS)
      RPINN_UNROLLED (v, half) sums[i][v] += sums[i][v + half];
    parts[i] = sums[i][0];
  }
  /* Blocks of one result each halve in size while twice as many results share a vector. */
  RPINN_UNROLLED (set, RPINN_GROUP_VECTORS) {
    RealVector *own = parts + set * LANES;
    RPINN_HALVES (size, LANES)
      RPINN_UNROLLED (i, size) {
        VectorPair pair = vector_exchange(own[i], own[i + size], size);
        own[i] = pair.even + pair.odd;
      }
    vector_store(results + set * LANES, own[0]);
  }
}

/* So many groups of lanes are summed at a time: their vectors stay in registers. */
enum { BUNDLE = RPINN_GROUP_VECTORS == 1 ? RPINN_REAL_GROUP : RPINN_GROUP_VECTORS == 2 ? 4 : 2 };

/* sums[r, c] += the lanes x[r][k] y[c][k] of one vector, for BUNDLE pairs of rows; both have rows of `length`. */
RPINN_INLINE void add_lanes(const size_t num_columns, size_t length, const Real *x, const Real *y,
                            size_t part, size_t count, RealVector sums[BUNDLE][RPINN_GROUP_VECTORS]) {
  RealVector vectors[2];
  RPINN_UNROLLED (c, num_columns) vectors[c] = vector_load_lanes(y + c * length, count);
  RPINN_UNROLLED (r, BUNDLE / num_columns) {
    RealVector own = vector_once(vector_load_lanes(x + r * length, count));
    RPINN_UNROLLED (c, num_columns)
      sums[r * num_columns + c][part] = vector_multiply_add(own, vectors[c], sums[r * num_columns + c][part]);
  }
}

RPINN_INLINE void multiply_bundle(const size_t num_columns, size_t length, const Real *x, const Real *y,
                                  RealVector result[BUNDLE][RPINN_GROUP_VECTORS]) {
  RealVector sums[BUNDLE][RPINN_GROUP_VECTORS];
  RPINN_UNROLLED (i, BUNDLE)
    RPINN_UNROLLED (part, RPINN_GROUP_VECTORS) sums[i][part] = vector_fill(0);
  size_t k = 0;
  for (; k + RPINN_REAL_GROUP <= length; k += RPINN_REAL_GROUP)
    RPINN_UNROLLED (part, RPINN_GROUP_VECTORS)
      add_lanes(num_columns, length, x + k + part * LANES, y + k + part * LANES, part, LANES, sums);
  RPINN_UNROLLED (part, RPINN_GROUP_VECTORS) {
    if (k < length)
      add_lanes(num_columns, length, x + k, y + k, part, length - k < LANES ? length - k : LANES, sums);
    k += LANES;
  }
  RPINN_UNROLLED (i, BUNDLE)
    RPINN_UNROLLED (part, RPINN_GROUP_VECTORS) result[i][part] = sums[i][part];
}

/* c[r][i] = sum_k x[r][k] y[i][k] for RPINN_REAL_GROUP / num_columns rows r and one or two i. */
RPINN_INLINE void multiply_rows(const size_t num_columns, size_t length, const Real *x, const Real *y,
                                Real *c, size_t c_row) {
  RealVector sums[RPINN_REAL_GROUP][RPINN_GROUP_VECTORS];
  Real results[RPINN_REAL_GROUP];
  for (size_t i = 0; i < RPINN_REAL_GROUP; i += BUNDLE)
    multiply_bundle(num_columns, length, x + i / num_columns * length, y, sums + i);
  group_sums(sums, results);
  RPINN_UNROLLED (r, RPINN_REAL_GROUP / num_columns)
    memcpy(c + r * c_row, results + r * num_columns, num_columns * sizeof(Real));
}

/* The same for one row and one i. */
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

RPINN_INLINE void scalar_products(const size_t num_columns, size_t num_rows, size_t length, const Real *x,
                                  const Real *y, Real *c, size_t c_row) {
  const size_t step = RPINN_REAL_GROUP / num_columns;
  size_t r = 0;
  for (; r + step <= num_rows; r += step)
    multiply_rows(num_columns, length, x + r * length, y, c + r * c_row, c_row);
  for (; r < num_rows; r++)
    for (size_t i = 0; i < num_columns; i++)
      c[r * c_row + i] = multiply_row(length, x + r * length, y + i * length);
}

/* ---- the products ---- */

static void multiply(size_t num_rows, size_t num_in, size_t num_out, const Real *a, const Real *weights,
                     const Real *transposed, Real *c) {
  const size_t few = left_over(num_out), most = num_out - few;
  const Factor factor = {.x = a, .row = num_in, .step = 1};
  const Panel panel = {.length = num_in, .y = weights, .y_step = num_out, .c = c, .c_row = num_out};
  multiply_columns(num_rows, most, factor, panel);
  size_t i = most;
  for (; i + 2 <= num_out; i += 2)
    scalar_products(2, num_rows, num_in, a, transposed + i * num_in, c + i, num_out);
  if (i < num_out) scalar_products(1, num_rows, num_in, a, transposed + i * num_in, c + i, num_out);
}

static void multiply_vector(size_t num_rows, size_t width, const Real *a, const Real *weights,
                            Real *outputs) {
  scalar_products(1, num_rows, width, a, weights, outputs, 1);
}

/* The last `few` columns of a gradient: rows of its transpose, a few vectors at a time. */
static void add_columns(size_t num_rows, size_t num_out, size_t num_in, size_t few, const Real *bars,
                        const Real *a, bool adds, Real *gradient) {
  enum { WIDTH = MAX_VECTORS * LANES };
  Real columns[FEW * WIDTH];
  const size_t first = num_in - few;
  for (size_t o = 0; o < num_out; o += WIDTH) {
    const size_t count = num_out - o < WIDTH ? num_out - o : WIDTH;
    const Factor factor = {.x = a + first, .row = 1, .step = num_in};
    const Panel panel = {.length = num_rows, .y = bars + o, .y_step = num_out, .c = columns, .c_row = WIDTH};
    multiply_columns(few, count, factor, panel);
    for (size_t j = 0; j < count; j++)
      for (size_t i = 0; i < few; i++) {
        Real *element = &gradient[(o + j) * num_in + first + i];
        *element = columns[i * WIDTH + j] + (adds ? *element : 0);
      }
  }
}

static size_t rows_of_piece(size_t num_out, size_t num_in) {
  const size_t rows = PIECE_BYTES / ((num_out + num_in) * sizeof(Real));
  return rows > LEAST_PIECE ? rows : LEAST_PIECE;
}

static void add_gradient(size_t num_rows, size_t num_out, size_t num_in, const Real *bars, const Real *a,
                         bool adds, Real *gradient) {
  const size_t few = left_over(num_in), most = rows_of_piece(num_out, num_in);
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
