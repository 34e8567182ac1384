/* Tiles of a product for columns that do not fill a vector, beside a few that do.
 *
 *   c [rows][16 V + L] = x y,   x [rows][length]
 *
 * The L columns at the edge are cut into parts of p = 8, 4, 2 or 1, the binary digits of L. A group of lanes takes a part at
 * GROUP / p = steps of the sum at once: lane column * steps + step. The numbers of a row of x stand together in memory and are read as they
 * stand, `steps` at a time, repeated for every column; y comes in this order in a panel of its own. So p columns cost p / GROUP of a vector. The
 * lanes of a column are added up at the end, neighbours first, for all rows of a tile at once, while the next tile is on its way.
 *
 * Where there are 32 registers a tile has whole vectors as well: one after another, edges would wait for the end of their short sums. */
#ifndef RPINN_BACKEND_CPU_EDGE_TILES_H
#define RPINN_BACKEND_CPU_EDGE_TILES_H

#include "tile_vectors.h"

enum {
  EDGE_GROUP = RPINN_REAL_GROUP,
  EDGE_LANES = RPINN_VECTOR_LANES,
  EDGE_PIECES = RPINN_GROUP_VECTORS, /* vectors of a group */
#ifdef RPINN_ISA_IS_AVX512
  EDGE_SUMS = 25,
  EDGE_VECTORS = 3,
#else
  EDGE_SUMS = 12,
  EDGE_VECTORS = 0,
#endif
  EDGE_ROWS = 8,   /* of a tile at most: each of them needs a pointer */
  EDGE_PARTS = 2,  /* more are not worth it */
  EDGE_DEPTH = 256 /* longer sums have whole vectors alone: panels fit the stack and the first cache */
};

/* One tile: sums of `length`, of rows of x and of y [length][…], whose whole vectors are y_step apart and whose parts stand in panels. */
typedef struct Edge {
  size_t length;
  const Real *x;
  size_t x_row;
  const Real *y;
  size_t y_step;
  const Real *panels[EDGE_PARTS];
  Real *c;
  size_t c_row;
} Edge;

/* The columns of the first and the second part of `left`; 0: there is none. */
RPINN_INLINE size_t edge_part(const size_t left, const size_t number) {
  const size_t lowest = left & -left, first = left - lowest ? left - lowest : lowest;
  return number == 0 ? first : left - first;
}

/* How many of a product's columns are its edge: none where whole vectors take less. */
static inline size_t edge_columns(size_t width, size_t length) {
  const size_t left = width % EDGE_GROUP;
  if (left == 0 || __builtin_popcountll(left) > EDGE_PARTS || length > EDGE_DEPTH) return 0;
  size_t cost = 0; /* in vectors of a row; adding up lanes is worth three of them */
  for (size_t part = 0; part < EDGE_PARTS && edge_part(left, part); part++) {
    const size_t steps = EDGE_GROUP / edge_part(left, part);
    cost += (length + steps - 1) / steps + 3;
  }
  return cost < length ? left : 0;
}

/* Of so many whole vectors, those that share tiles with an edge: the last of panels of nearly equal sizes. */
static inline size_t edge_vectors(size_t num_vectors) {
#ifdef RPINN_ISA_IS_AVX512
  const size_t num_panels = (num_vectors + EDGE_VECTORS - 1) / EDGE_VECTORS;
  return num_panels == 0 ? 0 : num_vectors - num_vectors * (num_panels - 1) / num_panels;
#else
  (void)num_vectors;
  return 0;
#endif
}

/* The rows of a tile. */
RPINN_INLINE size_t edge_height(const size_t num_vectors, const size_t left) {
  const size_t sums = num_vectors + (size_t)__builtin_popcountll(left) * EDGE_PIECES;
  return EDGE_SUMS / sums > EDGE_ROWS ? EDGE_ROWS : EDGE_SUMS / sums > 2 ? EDGE_SUMS / sums : 2;
}

/* Lanes of a vector that repeats `own` numbers from number `first` on, whose number is below count. */
RPINN_INLINE BitsVector edge_numbers_below(const size_t own, const size_t first, size_t count) {
  static const RealBits order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const BitsVector number = (bits_load(order) & bits_fill((RealBits)own - 1)) + bits_fill((RealBits)first);
  return (BitsVector)(number < bits_fill((RealBits)count));
}

/* A vector of numbers from number `first` on, those from count on as zeros. */
RPINN_INLINE RealVector edge_load(const Real *from, size_t count, size_t first) {
  const size_t rest = count > first ? count - first : 0;
  return vector_load_part(from, rest < EDGE_LANES ? rest : EDGE_LANES);
}

/* The next `steps` numbers of every row, of which count are in the sum. */
RPINN_INLINE void edge_add(const size_t p, const size_t num_rows, const Real *x, size_t x_row,
                           const Real *panel, size_t count, RealVector sums[EDGE_ROWS][EDGE_PIECES]) {
  const size_t steps = EDGE_GROUP / p, own = steps < EDGE_LANES ? steps : EDGE_LANES;
  RPINN_UNROLLED (v, EDGE_PIECES) {
    const size_t first = v * EDGE_LANES % steps;
    /* A column of its own is no copy: nothing behind it is read. */
    const RealVector y = p == 1 && count < steps ? edge_load(panel + first, count, first)
                                                 : vector_load(panel + v * EDGE_LANES);
    RPINN_UNROLLED (r, num_rows) {
      RealVector row = vector_repeat(x + r * x_row + first, own);
      if (count < steps) row = (RealVector)((BitsVector)row & edge_numbers_below(own, first, count));
      sums[r][v] = vector_multiply_add(row, y, sums[r][v]);
    }
  }
}

/* The sums over the lanes of each column, to c [num_rows][p]. Two vectors become one at each step, in the order of rows, columns and lanes. */
RPINN_INLINE void edge_finish(const size_t p, const size_t num_rows, RealVector sums[EDGE_ROWS][EDGE_PIECES],
                              Real *c, size_t c_row) {
  const size_t steps = EDGE_GROUP / p, used = num_rows * EDGE_PIECES;
  const size_t count = (used + steps - 1) / steps * steps;
  RealVector list[2 * EDGE_GROUP];
  Real results[2 * EDGE_GROUP * EDGE_LANES];
  RPINN_UNROLLED (i, count) list[i] = i < used ? sums[i / EDGE_PIECES][i % EDGE_PIECES] : vector_fill(0);
  RPINN_HALVES (half, steps)
    RPINN_UNROLLED (i, count * half / steps) {
      VectorPair pair = vector_unzip(list[2 * i], list[2 * i + 1]);
      list[i] = pair.even + pair.odd;
    }
  RPINN_UNROLLED (i, count / steps) vector_store(results + i * EDGE_LANES, list[i]);
  RPINN_UNROLLED (r, num_rows) memcpy(c + r * c_row, results + r * p, p * sizeof(Real));
}

/* One step of the whole vectors. */
RPINN_INLINE void edge_add_vectors(const size_t num_rows, const size_t num_vectors, const Real *x,
                                   size_t x_row, const Real *y,
                                   RealVector sums[EDGE_ROWS][EDGE_VECTORS + 1]) {
  RealVector vectors[EDGE_VECTORS + 1];
  RPINN_UNROLLED (v, num_vectors) vectors[v] = vector_load(y + v * EDGE_LANES);
  RPINN_UNROLLED (r, num_rows) {
    const RealVector number = vector_fill(x[r * x_row]);
    RPINN_UNROLLED (v, num_vectors) sums[r][v] = vector_multiply_add(number, vectors[v], sums[r][v]);
  }
}

RPINN_INLINE void edge_tile(const size_t num_rows, const size_t num_vectors, const size_t left,
                            const Edge *edge) {
  const size_t p = edge_part(left, 0), q = edge_part(left, 1); /* p > q, or q = 0 */
  const size_t few = EDGE_GROUP / p, many = q ? EDGE_GROUP / q : few;
  const size_t length = edge->length, x_row = edge->x_row, y_step = edge->y_step, c_row = edge->c_row;
  Real *c = edge->c;
  const Real *x = edge->x, *y = edge->y, *first = edge->panels[0], *second = edge->panels[1];
  RealVector sums[EDGE_ROWS][EDGE_VECTORS + 1];
  RealVector parts[EDGE_PARTS][EDGE_ROWS][EDGE_PIECES];
  RPINN_UNROLLED (r, num_rows) {
    RPINN_UNROLLED (v, num_vectors) sums[r][v] = vector_fill(0);
    RPINN_UNROLLED (v, EDGE_PIECES) parts[0][r][v] = parts[1][r][v] = vector_fill(0);
  }
  size_t k = 0;
  for (; k + many <= length; k += many) {
    RPINN_UNROLLED (turn, many / few) {
      if (num_vectors > 0) RPINN_UNROLL_FOUR
      for (size_t j = 0; j < few; j++, y += y_step)
        edge_add_vectors(num_rows, num_vectors, x + k + turn * few + j, x_row, y, sums);
      edge_add(p, num_rows, x + k + turn * few, x_row, first, few, parts[0]);
      first += EDGE_GROUP;
    }
    if (q > 0) {
      edge_add(q, num_rows, x + k, x_row, second, many, parts[1]);
      second += EDGE_GROUP;
    }
  }
  if (k < length) {
    for (size_t j = k; num_vectors > 0 && j < length; j++, y += y_step)
      edge_add_vectors(num_rows, num_vectors, x + j, x_row, y, sums);
    for (size_t at = k; at < length; at += few, first += EDGE_GROUP)
      edge_add(p, num_rows, x + at, x_row, first, length - at, parts[0]);
    if (q > 0) edge_add(q, num_rows, x + k, x_row, second, length - k, parts[1]);
  }
  RPINN_UNROLLED (r, num_rows)
    RPINN_UNROLLED (v, num_vectors) vector_store(c + r * c_row + v * EDGE_LANES, sums[r][v]);
  edge_finish(p, num_rows, parts[0], c + num_vectors * EDGE_LANES, c_row);
  if (q > 0) edge_finish(q, num_rows, parts[1], c + num_vectors * EDGE_LANES + p, c_row);
}

/* Tiles of the full height, of one row less, and of one row. */
typedef void (*EdgeFunction)(const Edge *edge);

#define EDGE_TILE(vectors, left)                                                                             \
  static __attribute__((noinline)) void edge_full_##vectors##_##left(const Edge *edge) {                     \
    edge_tile(edge_height(vectors, left), vectors, left, edge);                                              \
  }                                                                                                          \
  static __attribute__((noinline)) void edge_less_##vectors##_##left(const Edge *edge) {                     \
    edge_tile(edge_height(vectors, left) - 1, vectors, left, edge);                                          \
  }                                                                                                          \
  static __attribute__((noinline)) void edge_one_##vectors##_##left(const Edge *edge) {                      \
    edge_tile(1, vectors, left, edge);                                                                       \
  }
#define EDGE_NAMES(vectors, left)                                                                            \
  [vectors][left] = {edge_full_##vectors##_##left, edge_less_##vectors##_##left, edge_one_##vectors##_##left},
#define EDGE_COMMON(each, vectors)                                                                           \
  each(vectors, 1) each(vectors, 2) each(vectors, 3) each(vectors, 4) each(vectors, 5) each(vectors, 6)
#ifdef RPINN_REAL_FLOAT
#define EDGE_ALL(each, vectors)                                                                              \
  EDGE_COMMON(each, vectors) each(vectors, 8) each(vectors, 9) each(vectors, 10) each(vectors, 12)
#else
#define EDGE_ALL(each, vectors) EDGE_COMMON(each, vectors)
#endif
#ifdef RPINN_ISA_IS_AVX512
#define EDGE_EVERY(each) EDGE_ALL(each, 0) EDGE_ALL(each, 1) EDGE_ALL(each, 2) EDGE_ALL(each, 3)
#else
#define EDGE_EVERY(each) EDGE_ALL(each, 0)
#endif
/* clang-format off */
EDGE_EVERY(EDGE_TILE)

static const EdgeFunction edge_tiles[EDGE_VECTORS + 1][EDGE_GROUP][3] = {EDGE_EVERY(EDGE_NAMES)};
/* clang-format on */

/* The panel of a part: p rows of y^T [p][length], with zeros behind their ends. A vector may reach into the next column, which is written later, and
 * behind the last. */
RPINN_INLINE void edge_pack(const size_t p, size_t length, const Real *y, Real *panel) {
  const size_t steps = EDGE_GROUP / p;
  size_t k = 0;
  for (; k + steps <= length; k += steps, panel += EDGE_GROUP)
    RPINN_UNROLLED (column, p) memcpy(panel + column * steps, y + column * length + k, steps * sizeof(Real));
  if (k < length)
    RPINN_UNROLLED (column, p) {
      for (size_t j = 0; j < steps; j += EDGE_LANES)
        vector_store(panel + column * steps + j, edge_load(y + column * length + k + j, length - k, j));
    }
}

static void edge_pack_part(size_t p, size_t length, const Real *y, Real *panel) {
  if (p == 2) edge_pack(2, length, y, panel);
  if (p == 4) edge_pack(4, length, y, panel);
#ifdef RPINN_REAL_FLOAT
  if (p == 8) edge_pack(8, length, y, panel);
#endif
}

/* c [num_rows][num_vectors EDGE_LANES + left] = x y:  x [num_rows][length], y [length][…] with rows y_step apart, and its last `left` columns
 * once more as rows, turned [left][length]. A single column may be of any length, others have EDGE_DEPTH at most. */
static void edge_multiply(size_t num_rows, size_t num_vectors, size_t left, size_t length, const Real *x,
                          const Real *y, size_t y_step, const Real *turned, Real *c, size_t c_row) {
  Real panels[EDGE_PARTS][(EDGE_DEPTH + EDGE_GROUP) * EDGE_GROUP / 2];
  /* All rows in tiles of the full height and of one row less, if that can be; else what is left row by row. */
  const size_t height = edge_height(num_vectors, left), num_tiles = (num_rows + height - 1) / height;
  const size_t missing = num_tiles * height - num_rows, num_less = missing <= num_tiles ? missing : 0;
  const size_t num_full = num_less > 0 ? num_tiles - num_less : num_rows / height;
  const EdgeFunction *tiles = edge_tiles[num_vectors][left];
  Edge edge = {.length = length, .x = x, .x_row = length, .y = y, .y_step = y_step, .c = c, .c_row = c_row};
  for (size_t part = 0; part < EDGE_PARTS && edge_part(left, part) > 0; part++) {
    const Real *rows = turned + (part == 0 ? 0 : edge_part(left, 0)) * length;
    const size_t p = edge_part(left, part);
    edge.panels[part] = p == 1 ? rows : panels[part]; /* the lanes of a column of its own are its numbers */
    if (p > 1) edge_pack_part(p, length, rows, panels[part]);
  }
  for (size_t t = 0, row = 0; row < num_rows; t++) {
    const size_t count = t < num_full ? height : num_less > 0 ? height - 1 : 1;
    tiles[t < num_full ? 0 : num_less > 0 ? 1 : 2](&edge);
    row += count;
    edge.x += count * length;
    edge.c += count * c_row;
  }
}

#endif
