/* The products of SVGD in FP32 by tensor cores: y y^T, of which tiles on and below the diagonal are made, and k c. A block of threads has a
 * tile of C = A B^T or A B, whose operands come to shared memory in slabs of the depth, several ahead of what is multiplied.
 *
 * In TF32 operands are rounded to nearest where they are made. In `float` they are split, x = h + l with h = tf32(x), and
 *
 *   a b ~ l_a h_b + h_a l_b + h_a h_b
 *
 * l_a l_b and what TF32 leaves of l are at most 2^-22 and 2^-23 of the factors. Tensor cores cut off what they add to a sum, always towards
 * zero: eight steps of the depth are summed by them, and these sums in registers, to nearest. */
#ifndef RPINN_BACKEND_CUDA_PARTICLE_PRODUCTS_CUH
#define RPINN_BACKEND_CUDA_PARTICLE_PRODUCTS_CUH

#include "particles.cuh"
#include "tensor_tiles.cuh"

enum { PRODUCT_STEP = 8 /* of the depth in an instruction */ };

/* IS_PLAIN: B [depth][columns], as c is, else [columns][depth]. Tiles are such that 1000 particles of 2704 numbers are one wave of blocks on
 * 132 multiprocessors. Rows in shared memory have room to spare, so that the lanes of a warp read from 32 banks. */
template <bool IS_PLAIN_, bool IS_SPLIT_> struct ProductShape {
  enum {
    IS_PLAIN = IS_PLAIN_,
    IS_SPLIT = IS_SPLIT_,
    ROWS = RPINN_PARTICLE_TILE,
    COLUMNS = IS_PLAIN_ ? 176 : RPINN_PARTICLE_TILE,
    DEPTH = 16, /* of a slab */
    SLABS = 4,  /* in shared memory */
    WARPS_DOWN = IS_PLAIN_ ? 4 : 2,
    WARPS_ACROSS = IS_PLAIN_ ? 2 : 4,
    THREADS = 32 * WARPS_DOWN * WARPS_ACROSS,
    WARP_ROWS = ROWS / WARPS_DOWN,
    WARP_COLUMNS = COLUMNS / WARPS_ACROSS,
    DOWN = WARP_ROWS / 16,     /* tiles of an instruction in those of a warp */
    ACROSS = WARP_COLUMNS / 8,
    TOGETHER = IS_PLAIN_ ? 3 : 2, /* columns of them that are summed at a time: six or eight sums hide how long an instruction takes */
    UNROLL = IS_PLAIN_ && IS_SPLIT_ ? 1 : 2, /* steps of the depth: as registers allow */
    A_STRIDE = DEPTH + 4,
    B_STRIDE = IS_PLAIN_ ? COLUMNS + 8 : DEPTH + 4,
    A_SIZE = ROWS * A_STRIDE,
    B_SIZE = IS_PLAIN_ ? DEPTH * B_STRIDE : COLUMNS * B_STRIDE,
    SLAB_SIZE = A_SIZE + B_SIZE,
    SHARED_BYTES = SLABS * SLAB_SIZE * 4
  };
};

/* What a block multiplies: C at [row][column] and to the right and below, from A's row `row` and B's column `column`, over the depth from
 * `first` to before `end`. Strides are multiples of four, and so is `first`. */
struct TileProduct {
  const float *a, *b;
  float *c;
  int64_t a_stride, b_stride, c_stride;
  int64_t rows, columns; /* of C */
  int64_t row, column;
  int64_t first, end;
  bool is_diagonal; /* the tile's rows of B are those of A */
};

/* Tile and part of the depth of y y^T; parts lie behind each other in `products`. */
template <class Shape> RPINN_INLINE TileProduct gram_tile(const RpinnDeviceParticles &own, int64_t index, int part) {
  int64_t row = triangle_row(index), column = index - row * (row + 1) / 2;
  int64_t slabs = (own.size + Shape::DEPTH - 1) / Shape::DEPTH;
  TileProduct tile;
  tile.a = tile.b = (const float *)own.centred;
  tile.a_stride = tile.b_stride = own.size;
  tile.c = (float *)own.products + part * own.n * own.stride;
  tile.c_stride = own.stride;
  tile.rows = tile.columns = own.n;
  tile.row = row * Shape::ROWS;
  tile.column = column * Shape::COLUMNS;
  tile.first = slabs * part / own.num_parts * Shape::DEPTH;
  tile.end = slabs * (part + 1) / own.num_parts * Shape::DEPTH;
  if (tile.end > own.size) tile.end = own.size;
  tile.is_diagonal = row == column;
  return tile;
}

/* Tile of k c. */
template <class Shape> RPINN_INLINE TileProduct direction_tile(const RpinnDeviceParticles &own, int64_t down, int64_t across) {
  TileProduct tile;
  tile.a = (const float *)own.weights;
  tile.a_stride = own.stride;
  tile.b = (const float *)own.combined;
  tile.b_stride = own.size;
  tile.c = (float *)own.direction;
  tile.c_stride = own.size;
  tile.rows = own.n;
  tile.columns = own.size;
  tile.row = down * Shape::ROWS;
  tile.column = across * Shape::COLUMNS;
  tile.first = 0;
  tile.end = own.n;
  tile.is_diagonal = false;
  return tile;
}

#if defined(__CUDACC__)
/* Four numbers to shared memory, of which the first `count` are there and the others 0. */
RPINN_INLINE void copy_four(float *to, const float *from, int count) {
  int bytes = count >= 4 ? 16 : count > 0 ? 4 * count : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes) : "memory");
}
RPINN_INLINE void end_slab() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/* All slabs but the last `AHEAD` are there. */
template <int AHEAD> RPINN_INLINE void wait_for_slab() { asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD) : "memory"); }

/* What a thread brings of the slabs of an operand: from where, and how much of the depth is left there. What is outside is read from where
 * there is something, and none of it. Rows that go along the depth, [rows][depth]: */
template <int ROWS, int DEPTH, int STRIDE, int THREADS> struct RowCopies {
  enum { COUNT = ROWS * DEPTH / 4 / THREADS, STEP = THREADS / (DEPTH / 4) /* rows from one to the next */ };
  const float *start, *from;
  int64_t stride;
  int left[COUNT], to;

  RPINN_INLINE_METHOD void begin(const float *matrix, int64_t own_stride, int64_t row, int64_t rows, int64_t k, int64_t end) {
    const int r = (int)threadIdx.x / (DEPTH / 4), q = (int)threadIdx.x % (DEPTH / 4) * 4;
    start = matrix;
    stride = own_stride;
    from = matrix + (row + r) * stride + k + q;
    to = r * STRIDE + q;
    RPINN_UNROLL
    for (int i = 0; i < COUNT; i++) left[i] = row + r + i * STEP < rows ? (int)(end - k) - q : 0;
  }
  RPINN_INLINE_METHOD void copy(float *slab) {
    RPINN_UNROLL
    for (int i = 0; i < COUNT; i++) {
      copy_four(slab + to + i * STEP * STRIDE, left[i] > 0 ? from + i * STEP * stride : start, left[i]);
      left[i] -= DEPTH;
    }
    from += DEPTH;
  }
};

/* The same of [depth][columns]. */
template <int COLUMNS, int DEPTH, int STRIDE, int THREADS> struct ColumnCopies {
  enum { COUNT = (COLUMNS * DEPTH / 4 + THREADS - 1) / THREADS, FOURS = COLUMNS / 4 };
  const float *start, *from[COUNT];
  int64_t step;
  int width[COUNT], left[COUNT], to[COUNT];

  RPINN_INLINE_METHOD void begin(const float *matrix, int64_t stride, int64_t column, int64_t columns, int64_t k, int64_t end) {
    start = matrix;
    step = DEPTH * stride;
    RPINN_UNROLL
    for (int i = 0; i < COUNT; i++) {
      int place = i * THREADS + (int)threadIdx.x, r = place / FOURS, q = place % FOURS * 4;
      from[i] = matrix + (k + r) * stride + column + q;
      width[i] = column + q < columns ? (columns - (column + q) < 4 ? (int)(columns - (column + q)) : 4) : 0;
      left[i] = width[i] > 0 ? (int)(end - k) - r : 0;
      to[i] = r < DEPTH ? r * STRIDE + q : -1;
    }
  }
  RPINN_INLINE_METHOD void copy(float *slab) {
    RPINN_UNROLL
    for (int i = 0; i < COUNT; i++) {
      if (to[i] >= 0) copy_four(slab + to[i], left[i] > 0 ? from[i] : start, left[i] > 0 ? width[i] : 0);
      from[i] += step;
      left[i] -= DEPTH;
    }
  }
};

/* Of both operands. */
template <class Shape, bool IS_PLAIN = Shape::IS_PLAIN> struct SlabCopies {
  RowCopies<Shape::ROWS, Shape::DEPTH, Shape::A_STRIDE, Shape::THREADS> a;
  RowCopies<Shape::COLUMNS, Shape::DEPTH, Shape::B_STRIDE, Shape::THREADS> b;
  bool is_diagonal;

  RPINN_INLINE_METHOD void begin(const TileProduct &tile) {
    is_diagonal = tile.is_diagonal;
    a.begin(tile.a, tile.a_stride, tile.row, tile.rows, tile.first, tile.end);
    b.begin(tile.b, tile.b_stride, tile.column, tile.columns, tile.first, tile.end);
  }
  RPINN_INLINE_METHOD void copy(float *slab) {
    a.copy(slab);
    if (!is_diagonal) b.copy(slab + Shape::A_SIZE);
  }
};
template <class Shape> struct SlabCopies<Shape, true> {
  RowCopies<Shape::ROWS, Shape::DEPTH, Shape::A_STRIDE, Shape::THREADS> a;
  ColumnCopies<Shape::COLUMNS, Shape::DEPTH, Shape::B_STRIDE, Shape::THREADS> b;

  RPINN_INLINE_METHOD void begin(const TileProduct &tile) {
    a.begin(tile.a, tile.a_stride, tile.row, tile.rows, tile.first, tile.end);
    b.begin(tile.b, tile.b_stride, tile.column, tile.columns, tile.first, tile.end);
  }
  RPINN_INLINE_METHOD void copy(float *slab) {
    a.copy(slab);
    b.copy(slab + Shape::A_SIZE);
  }
};

/* A lane's numbers of operands: rounded, and what is behind that. */
template <int COUNT, int NUMBERS> struct Operands { float near[COUNT][NUMBERS], behind[COUNT][NUMBERS]; };

template <class Shape, class Own> RPINN_INLINE void set_operand(Own &own, int i, int r, float x) {
  own.near[i][r] = Shape::IS_SPLIT ? to_tf32(x) : x; /* rounded before, see product_operand */
  if (Shape::IS_SPLIT) own.behind[i][r] = behind_tf32(x, own.near[i][r]);
}

/* a, b: of this lane, in a slab; sums of the warp's tile. */
template <class Shape> RPINN_INLINE void multiply_step(const float *a, const float *b, float (&sums)[Shape::DOWN][Shape::ACROSS][4]) {
  enum { DOWN = Shape::DOWN, TOGETHER = Shape::TOGETHER, K = Shape::IS_PLAIN ? Shape::B_STRIDE : 1, COLUMN = Shape::IS_PLAIN ? 1 : Shape::B_STRIDE };
  Operands<DOWN, 4> left;
  RPINN_UNROLL
  for (int i = 0; i < DOWN; i++)
    RPINN_UNROLL
    for (int r = 0; r < 4; r++) set_operand<Shape>(left, i, r, a[(16 * i + r % 2 * 8) * Shape::A_STRIDE + r / 2 * 4]);
  RPINN_UNROLL
  for (int first = 0; first < Shape::ACROSS; first += TOGETHER) {
    Operands<TOGETHER, 2> right;
    RPINN_UNROLL
    for (int j = 0; j < TOGETHER && first + j < Shape::ACROSS; j++)
      RPINN_UNROLL
      for (int r = 0; r < 2; r++) set_operand<Shape>(right, j, r, b[8 * (first + j) * COLUMN + 4 * r * K]);
    float own[DOWN][TOGETHER][4];
    RPINN_UNROLL
    for (int i = 0; i < DOWN && Shape::IS_SPLIT; i++)
      RPINN_UNROLL
      for (int j = 0; j < TOGETHER; j++) own[i][j][0] = own[i][j][1] = own[i][j][2] = own[i][j][3] = 0;
    RPINN_UNROLL
    for (int kind = Shape::IS_SPLIT ? 0 : 2; kind < 3; kind++)
      RPINN_UNROLL
      for (int j = 0; j < TOGETHER && first + j < Shape::ACROSS; j++)
        RPINN_UNROLL
        for (int i = 0; i < DOWN; i++)
          multiply_tiles(kind == 0 ? left.behind[i] : left.near[i], kind == 1 ? right.behind[j][0] : right.near[j][0],
                         kind == 1 ? right.behind[j][1] : right.near[j][1], Shape::IS_SPLIT ? own[i][j] : sums[i][first + j]);
    RPINN_UNROLL
    for (int i = 0; i < DOWN && Shape::IS_SPLIT; i++)
      RPINN_UNROLL
      for (int j = 0; j < TOGETHER && first + j < Shape::ACROSS; j++)
        RPINN_UNROLL
        for (int r = 0; r < 4; r++) sums[i][first + j][r] += own[i][j][r];
  }
}

/* Two numbers at a time: a row of C has an even number of places. */
template <class Shape>
RPINN_INLINE void store_tile(const TileProduct &tile, int64_t row, int64_t column, const float (&sums)[Shape::DOWN][Shape::ACROSS][4]) {
  RPINN_UNROLL
  for (int i = 0; i < 2 * Shape::DOWN; i++)
    RPINN_UNROLL
    for (int j = 0; j < Shape::ACROSS; j++)
      if (row + 8 * i < tile.rows && column + 8 * j < tile.columns)
        *reinterpret_cast<float2 *>(tile.c + (row + 8 * i) * tile.c_stride + column + 8 * j) =
            make_float2(sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]);
}

template <class Shape> RPINN_INLINE void multiply_tile(const TileProduct &tile, float *shared) {
  enum { AHEAD = Shape::SLABS - 1 };
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int row = warp / Shape::WARPS_ACROSS * Shape::WARP_ROWS, column = warp % Shape::WARPS_ACROSS * Shape::WARP_COLUMNS;
  const int a_place = (row + lane / 4) * Shape::A_STRIDE + lane % 4;
  const int b_place = Shape::IS_PLAIN ? Shape::A_SIZE + lane % 4 * Shape::B_STRIDE + column + lane / 4
                                     : (tile.is_diagonal ? 0 : Shape::A_SIZE) + (column + lane / 4) * Shape::B_STRIDE + lane % 4;
  const int count = (int)((tile.end - tile.first + Shape::DEPTH - 1) / Shape::DEPTH);
  float sums[Shape::DOWN][Shape::ACROSS][4];
  RPINN_UNROLL
  for (int i = 0; i < Shape::DOWN; i++)
    RPINN_UNROLL
    for (int j = 0; j < Shape::ACROSS; j++) sums[i][j][0] = sums[i][j][1] = sums[i][j][2] = sums[i][j][3] = 0;
  SlabCopies<Shape> copies;
  copies.begin(tile);
  for (int s = 0; s < AHEAD; s++) {
    if (s < count) copies.copy(shared + s * Shape::SLAB_SIZE);
    end_slab();
  }
  for (int s = 0; s < count; s++) {
    const float *slab = shared + s % Shape::SLABS * Shape::SLAB_SIZE;
    wait_for_slab<AHEAD - 1>();
    barrier(); /* and nobody reads the slab before this one any more */
    if (s + AHEAD < count) copies.copy(shared + (s + AHEAD) % Shape::SLABS * Shape::SLAB_SIZE);
    end_slab();
    RPINN_UNROLL_SHAPE
    for (int k = 0; k < Shape::DEPTH; k += PRODUCT_STEP)
      multiply_step<Shape>(slab + a_place + k, slab + b_place + k * (Shape::IS_PLAIN ? Shape::B_STRIDE : 1), sums);
  }
  store_tile<Shape>(tile, tile.row + row + lane / 4, tile.column + column + 2 * (lane % 4), sums);
}
#else
/* The same sums, number by number. */
template <class Shape> RPINN_INLINE float multiply_numbers(const TileProduct &tile, int64_t i, int64_t j) {
  float sum = 0;
  for (int64_t first = tile.first; first < tile.end; first += PRODUCT_STEP) {
    float own = 0;
    for (int kind = Shape::IS_SPLIT ? 0 : 2; kind < 3; kind++)
      for (int64_t k = first; k < first + PRODUCT_STEP && k < tile.end; k++) {
        float a = tile.a[i * tile.a_stride + k], b = Shape::IS_PLAIN ? tile.b[k * tile.b_stride + j] : tile.b[j * tile.b_stride + k];
        float near_a = to_tf32(a), near_b = to_tf32(b);
        own += (kind == 0 ? behind_tf32(a, near_a) : near_a) * (kind == 1 ? behind_tf32(b, near_b) : near_b);
      }
    sum += own;
  }
  return sum;
}

template <class Shape> RPINN_INLINE void multiply_tile(const TileProduct &tile, float *) {
  for (int64_t i = tile.row; i < tile.row + Shape::ROWS && i < tile.rows; i++)
    for (int64_t j = tile.column; j < tile.column + Shape::COLUMNS && j < tile.columns; j++)
      tile.c[i * tile.c_stride + j] = multiply_numbers<Shape>(tile, i, j);
}
#endif

#endif
