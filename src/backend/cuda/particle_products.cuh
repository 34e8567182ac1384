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

enum {
  PRODUCT_STEP = 8, /* of the depth in an instruction */
  PART_STEP = 16    /* parts of the depth are multiples of this, in every precision */
};

/* IS_PLAIN: B [depth][columns], as c is, else [columns][depth]. Tiles are such that 1000 particles of 2704 numbers are one wave of blocks on
 * 132 multiprocessors. Rows in shared memory have room to spare, so that the lanes of a warp read from 32 banks. IS_DEEP: slabs
 * for which TF32, with a third of the instructions of `float`, has fewer barriers, where blocks may have that much memory; sums are the same. */
template <bool IS_PLAIN_, bool IS_SPLIT_, bool IS_DEEP_ = false> struct ProductShape {
  enum {
    IS_PLAIN = IS_PLAIN_,
    IS_SPLIT = IS_SPLIT_,
    ROWS = RPINN_PARTICLE_TILE,
    COLUMNS = IS_PLAIN_ ? 176 : RPINN_PARTICLE_TILE,
    DEPTH = IS_DEEP_ ? 32 : 16, /* of a slab */
    STEPS = DEPTH / PRODUCT_STEP, /* an even number */
    SETS = IS_SPLIT_ ? 1 : 2,     /* of operands: there are registers for one or two */
    UNROLL = IS_PLAIN_ && IS_SPLIT_ ? 1 : STEPS,
    SLABS = 4,                    /* in shared memory */
    WARPS_DOWN = IS_PLAIN_ ? 4 : 2,
    WARPS_ACROSS = IS_PLAIN_ ? 2 : 4,
    THREADS = 32 * WARPS_DOWN * WARPS_ACROSS,
    WARP_ROWS = ROWS / WARPS_DOWN,
    WARP_COLUMNS = COLUMNS / WARPS_ACROSS,
    DOWN = WARP_ROWS / 16,     /* tiles of an instruction in those of a warp */
    ACROSS = WARP_COLUMNS / 8,
    TOGETHER = IS_PLAIN_ ? 3 : 2, /* columns of them that are summed at a time: six or eight sums hide how long an instruction takes */
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
  int64_t steps = (own.size + PART_STEP - 1) / PART_STEP;
  TileProduct tile;
  tile.a = tile.b = (const float *)own.centred;
  tile.a_stride = tile.b_stride = own.size;
  tile.c = (float *)own.products + part * own.n * own.stride;
  tile.c_stride = own.stride;
  tile.rows = tile.columns = own.n;
  tile.row = row * Shape::ROWS;
  tile.column = column * Shape::COLUMNS;
  tile.first = steps * part / own.num_parts * PART_STEP;
  tile.end = steps * (part + 1) / own.num_parts * PART_STEP;
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

/* ---- which lane has what ----
 *
 * Operands come from shared memory in few instructions. A tile of four numbers of the depth, of eight rows, is one of the 8 x 8 tiles of half
 * numbers that `ldmatrix` reads: of each row 16 bytes, of which lane l gets the number l % 4 of row l / 4, as multiply_tiles wants it. Four
 * such tiles are one instruction, to which lane l gives the address of row l % 8 of tile l / 8. So A comes, and B where its columns lie along
 * the depth.
 *
 * In a plain B the two numbers that a lane has of a tile are in different rows, and a register each: wider loads would be moved about. */
/* In a slab: the row of four numbers whose address a lane gives for the i-th sixteen of a warp's rows of A, … */
template <class Shape> RPINN_INLINE int left_row(int warp, int lane, int i) {
  return (warp / Shape::WARPS_ACROSS * Shape::WARP_ROWS + 16 * i + lane % 16) * Shape::A_STRIDE + lane / 16 * 4;
}
/* … for its tiles j and j + 1 of a B along the depth, … */
template <class Shape> RPINN_INLINE int right_row(int warp, int lane, int j) {
  return (warp % Shape::WARPS_ACROSS * Shape::WARP_COLUMNS + 8 * j + lane / 16 * 8 + lane % 8) * Shape::B_STRIDE + lane / 8 % 2 * 4;
}
/* … and its number r of tile j of a plain one. */
template <class Shape> RPINN_INLINE int right_number(int warp, int lane, int j, int r) {
  return (lane % 4 + 4 * r) * Shape::B_STRIDE + warp % Shape::WARPS_ACROSS * Shape::WARP_COLUMNS + 8 * j + lane / 4;
}
/* Of a tile of C, the first row and column that a lane has; the others are 8 rows and one column on. */
template <class Shape> RPINN_INLINE int first_row(int warp, int lane) { return warp / Shape::WARPS_ACROSS * Shape::WARP_ROWS + lane / 4; }
template <class Shape> RPINN_INLINE int first_column(int warp, int lane) {
  return warp % Shape::WARPS_ACROSS * Shape::WARP_COLUMNS + 2 * (lane % 4);
}

#if defined(__CUDACC__)
/* 16 bytes to shared memory, of which the first `bytes` are there and the others 0. */
RPINN_INLINE void copy_four(unsigned to, const float *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
/* Of so many numbers, four at the most. */
RPINN_INLINE int bytes_of_four(int count) { return count >= 4 ? 16 : count > 0 ? 4 * count : 0; }
RPINN_INLINE unsigned shared_address(const float *place) { return (unsigned)__cvta_generic_to_shared(place); }
RPINN_INLINE void end_slab() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/* All slabs but the last `AHEAD` are there. */
template <int AHEAD> RPINN_INLINE void wait_for_slab() { asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD) : "memory"); }

/* What a thread brings of the slabs of an operand: from where, and how much of the depth is left there. Of what is outside
 * no byte is read, whatever its address. Rows that go along the depth, [rows][depth]: */
template <int ROWS, int DEPTH, int STRIDE, int THREADS> struct RowCopies {
  enum { COUNT = ROWS * DEPTH / 4 / THREADS, STEP = THREADS / (DEPTH / 4) /* rows from one to the next */ };
  const float *from;
  int64_t step;
  int left, rows_left, to;

  RPINN_INLINE_METHOD void begin(const float *matrix, int64_t stride, int64_t row, int64_t rows, int64_t k, int64_t end) {
    const int r = (int)threadIdx.x / (DEPTH / 4), q = (int)threadIdx.x % (DEPTH / 4) * 4;
    step = STEP * stride;
    from = matrix + (row + r) * stride + k + q;
    to = r * STRIDE + q;
    left = (int)(end - k) - q;
    rows_left = (int)(rows - row) - r;
  }
  RPINN_INLINE_METHOD void copy(float *slab) {
    const float *at = from;
    const unsigned place = shared_address(slab + to);
    const int bytes = bytes_of_four(left);
    RPINN_UNROLL
    for (int i = 0; i < COUNT; i++) {
      copy_four(place + 4 * i * STEP * STRIDE, at, i * STEP < rows_left ? bytes : 0);
      at += step;
    }
    left -= DEPTH;
    from += DEPTH;
  }
};

/* The same of [depth][columns]: as many rows at a time as there are threads for. */
template <int COLUMNS, int DEPTH, int STRIDE, int THREADS> struct ColumnCopies {
  enum { FOURS = COLUMNS / 4, STEP = THREADS / FOURS, COUNT = (DEPTH + STEP - 1) / STEP };
  const float *from;
  int64_t step, last_step; /* numbers from a row to the next of this thread, and to its first one in the next slab */
  int row, bytes, left, to;

  RPINN_INLINE_METHOD void begin(const float *matrix, int64_t stride, int64_t column, int64_t columns, int64_t k, int64_t end) {
    const int q = (int)threadIdx.x % FOURS * 4;
    const bool is_idle = (int)threadIdx.x >= STEP * FOURS;
    row = is_idle ? DEPTH : (int)threadIdx.x / FOURS;
    step = STEP * stride;
    last_step = (DEPTH - (COUNT - 1) * STEP) * stride;
    from = matrix + (k + row) * stride + column + q;
    bytes = columns > column + q ? bytes_of_four((int)(columns - column) - q) : 0;
    left = (int)(end - k) - row;
    to = row * STRIDE + q;
  }
  RPINN_INLINE_METHOD void copy(float *slab) {
    const unsigned place = shared_address(slab + to);
    RPINN_UNROLL
    for (int i = 0; i < COUNT; i++) {
      if (row < DEPTH - i * STEP) copy_four(place + 4 * i * STEP * STRIDE, from, i * STEP < left ? bytes : 0);
      from += i + 1 < COUNT ? step : last_step;
    }
    left -= DEPTH;
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

/* Four tiles of four numbers of the depth, see above. */
RPINN_INLINE void load_tiles(const float *row, float &a, float &b, float &c, float &d) {
  unsigned bits[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits[0]), "=r"(bits[1]), "=r"(bits[2]), "=r"(bits[3])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
  a = __uint_as_float(bits[0]);
  b = __uint_as_float(bits[1]);
  c = __uint_as_float(bits[2]);
  d = __uint_as_float(bits[3]);
}

/* A lane's numbers for a step of the depth. */
template <class Shape> struct StepOperands {
  float left[Shape::DOWN][4], right[Shape::ACROSS][2];

  /* a, b: the slab's operands at this step */
  RPINN_INLINE_METHOD void load(const float *a, const float *b, int warp, int lane) {
    static_assert(Shape::IS_PLAIN || Shape::ACROSS % 2 == 0, "columns along the depth come sixteen at a time");
    RPINN_UNROLL
    for (int i = 0; i < Shape::DOWN; i++) load_tiles(a + left_row<Shape>(warp, lane, i), left[i][0], left[i][1], left[i][2], left[i][3]);
    RPINN_UNROLL
    for (int j = 0; j < Shape::ACROSS; j++)
      if (Shape::IS_PLAIN) {
        right[j][0] = b[right_number<Shape>(warp, lane, j, 0)];
        right[j][1] = b[right_number<Shape>(warp, lane, j, 1)];
      } else if (j % 2 == 0)
        load_tiles(b + right_row<Shape>(warp, lane, j), right[j][0], right[j][1], right[j + 1][0], right[j + 1][1]);
  }
};

/* Rounded, and what is behind that. */
template <int COUNT, int NUMBERS> struct Operands { float near[COUNT][NUMBERS], behind[COUNT][NUMBERS]; };

template <class Shape, class Own> RPINN_INLINE void set_operand(Own &own, int i, int r, float x) {
  own.near[i][r] = Shape::IS_SPLIT ? to_tf32(x) : x; /* rounded before, see product_operand */
  if (Shape::IS_SPLIT) own.behind[i][r] = behind_tf32(x, own.near[i][r]);
}

/* Sums of the warp's tile. */
template <class Shape> RPINN_INLINE void multiply_step(const StepOperands<Shape> &step, float (&sums)[Shape::DOWN][Shape::ACROSS][4]) {
  enum { DOWN = Shape::DOWN, TOGETHER = Shape::TOGETHER };
  Operands<DOWN, 4> left;
  RPINN_UNROLL
  for (int i = 0; i < DOWN; i++)
    RPINN_UNROLL
    for (int r = 0; r < 4; r++) set_operand<Shape>(left, i, r, step.left[i][r]);
  RPINN_UNROLL
  for (int first = 0; first < Shape::ACROSS; first += TOGETHER) {
    Operands<TOGETHER, 2> right;
    RPINN_UNROLL
    for (int j = 0; j < TOGETHER && first + j < Shape::ACROSS; j++)
      RPINN_UNROLL
      for (int r = 0; r < 2; r++) set_operand<Shape>(right, j, r, step.right[first + j][r]);
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

/* With two sets of operands those of a step are read while the one before it is multiplied, also from one slab to the next. */
template <class Shape> RPINN_INLINE void multiply_tile(const TileProduct &tile, float *shared) {
  enum { AHEAD = Shape::SLABS - 1, STEPS = Shape::STEPS };
  static_assert(STEPS % 2 == 0, "a slab begins with the first of two sets of operands");
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int right = tile.is_diagonal ? 0 : Shape::A_SIZE, right_step = PRODUCT_STEP * (Shape::IS_PLAIN ? Shape::B_STRIDE : 1);
  const int count = (int)((tile.end - tile.first + Shape::DEPTH - 1) / Shape::DEPTH);
  float sums[Shape::DOWN][Shape::ACROSS][4];
  RPINN_UNROLL
  for (int i = 0; i < Shape::DOWN; i++)
    RPINN_UNROLL
    for (int j = 0; j < Shape::ACROSS; j++) sums[i][j][0] = sums[i][j][1] = sums[i][j][2] = sums[i][j][3] = 0;
  SlabCopies<Shape> copies;
  StepOperands<Shape> operands[Shape::SETS];
  auto load = [&](int s, int step) {
    const float *slab = shared + s % Shape::SLABS * Shape::SLAB_SIZE;
    operands[step % Shape::SETS].load(slab + step * PRODUCT_STEP, slab + right + step * right_step, warp, lane);
  };
  copies.begin(tile);
  for (int s = 0; s < AHEAD; s++) {
    if (s < count) copies.copy(shared + s * Shape::SLAB_SIZE);
    end_slab();
  }
  if (Shape::SETS == 2) {
    wait_for_slab<AHEAD - 1>();
    barrier();
    load(0, 0);
  }
  RPINN_UNROLL_ONE
  for (int s = 0; s < count; s++) {
    if (Shape::SETS == 1) {
      wait_for_slab<AHEAD - 1>();
      barrier(); /* the slab is there, and nobody reads the one before it any more */
    }
    if (s + AHEAD < count) copies.copy(shared + (s + AHEAD) % Shape::SLABS * Shape::SLAB_SIZE);
    end_slab();
    RPINN_UNROLL_SHAPE
    for (int k = 0; k < STEPS; k++) {
      if (Shape::SETS == 1)
        load(s, k);
      else if (k + 1 < STEPS)
        load(s, k + 1);
      else if (s + 1 < count) {
        wait_for_slab<AHEAD - 1>();
        barrier(); /* the next slab is there, and nobody reads this one any more */
        load(s + 1, 0);
      }
      multiply_step<Shape>(operands[k % Shape::SETS], sums);
    }
  }
  store_tile<Shape>(tile, tile.row + first_row<Shape>(warp, lane), tile.column + first_column<Shape>(warp, lane), sums);
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
