#include "svgd_kernel.h"

#include <float.h>
#include <math.h>

#include "arena.h"

enum {
  GRAM_BLOCK = 192,   /* rows and columns of a tile of the Gram matrix */
  ROW_BLOCK = 16,     /* particles of a task that goes over them */
  COLUMN_BLOCK = 256, /* parameters of a task that goes over them */
};

static size_t num_blocks(size_t count, size_t block) {
  return (count + block - 1) / block;
}

static size_t block_size(size_t count, size_t block, size_t number) {
  size_t left = count - number * block;
  return left < block ? left : block;
}

/* As many Jacobians as fit into 2^21 numbers, and at least one: by n, F and N alone, so that sums over bunches have the same bits
 * whatever the threads and groups. */
static size_t bunch_of(size_t n, size_t N, size_t num_features) {
  size_t most = ((size_t)1 << 21) / (N * num_features);
  return most < 1 ? 1 : most < n ? most : n;
}

static bool make_room_for_jacobians(RpinnSvgdKernel *kernel, RpinnArena *arena) {
  size_t n = kernel->n, N = kernel->N, F = kernel->width;
  kernel->bunch = bunch_of(n, N, F);
  kernel->jacobians = rpinn_arena_allocate(arena, kernel->bunch * F * N, kernel->products->real_size);
  kernel->pushes = RPINN_ARENA_NEW(arena, double, n *N);
  return kernel->jacobians && kernel->pushes;
}

bool rpinn_svgd_kernel_create(RpinnSvgdKernel *kernel, size_t n, size_t N, size_t num_features,
                              bool single_precision, bool undivided_repulsion, RpinnArena *arena) {
  size_t width = num_features > 0 ? num_features : N;
  const RpinnSvgdProducts *products =
      single_precision ? &rpinn_svgd_products_float : &rpinn_svgd_products_double;
  *kernel = (RpinnSvgdKernel){.n = n,
                              .N = N,
                              .width = width,
                              .products = products,
                              .undivided_repulsion = undivided_repulsion,
                              .centre = RPINN_ARENA_NEW(arena, double, width),
                              .centred = rpinn_arena_allocate(arena, n * width, products->real_size),
                              .combined = rpinn_arena_allocate(arena, n * N, products->real_size),
                              .square = rpinn_arena_allocate(arena, n * n, products->real_size),
                              .squares = RPINN_ARENA_NEW(arena, double, n),
                              .pairs = RPINN_ARENA_NEW(arena, double, n *(n - 1) / 2),
                              .row_sums = RPINN_ARENA_NEW(arena, double, n)};
  return kernel->centre && kernel->centred && kernel->combined && kernel->square && kernel->squares &&
         kernel->pairs && kernel->row_sums && (num_features == 0 || make_room_for_jacobians(kernel, arena));
}

/* ---- distances ---- */

typedef struct Measure {
  RpinnSvgdKernel *kernel;
  const double *compared; /* [n][width] */
} Measure;

/* The mean as that of the differences from the first particle: exact where all particles are the same, which
 * are then exactly zero when centred. */
static void find_centre(void *user, size_t thread, size_t task) {
  const Measure *measure = user;
  (void)thread;
  size_t n = measure->kernel->n, width = measure->kernel->width, first = task * COLUMN_BLOCK;
  size_t count = block_size(width, COLUMN_BLOCK, task);
  const double *origin = measure->compared + first;
  double sums[COLUMN_BLOCK] = {0};
  for (size_t i = 1; i < n; i++) {
    const double *particle = measure->compared + i * width + first;
    for (size_t j = 0; j < count; j++) sums[j] += particle[j] - origin[j];
  }
  for (size_t j = 0; j < count; j++) measure->kernel->centre[first + j] = origin[j] + sums[j] / (double)n;
}

static void centre_rows(void *user, size_t thread, size_t task) {
  const Measure *measure = user;
  RpinnSvgdKernel *kernel = measure->kernel;
  (void)thread;
  size_t first = task * ROW_BLOCK, end = first + block_size(kernel->n, ROW_BLOCK, task);
  for (size_t i = first; i < end; i++)
    kernel->products->set_particle(kernel, i, measure->compared + i * kernel->width);
}

/* Number `task` of the tiles of the lower triangle, row by row. */
static RpinnTile lower_tile(const RpinnSvgdKernel *kernel, size_t task) {
  size_t row = 0;
  while (task > row) task -= ++row;
  return (RpinnTile){row * GRAM_BLOCK, block_size(kernel->n, GRAM_BLOCK, row), task * GRAM_BLOCK,
                     block_size(kernel->n, GRAM_BLOCK, task)};
}

static size_t num_lower_tiles(const RpinnSvgdKernel *kernel) {
  size_t blocks = num_blocks(kernel->n, GRAM_BLOCK);
  return blocks * (blocks + 1) / 2;
}

static void multiply_tile(void *user, size_t thread, size_t task) {
  RpinnSvgdKernel *kernel = ((const Measure *)user)->kernel;
  (void)thread;
  kernel->products->gram(kernel, lower_tile(kernel, task));
}

static void measure_rows(void *user, size_t thread, size_t task) {
  RpinnSvgdKernel *kernel = ((const Measure *)user)->kernel;
  (void)thread;
  size_t first = task * ROW_BLOCK, end = first + block_size(kernel->n, ROW_BLOCK, task);
  for (size_t i = first; i < end; i++) kernel->products->distances(kernel, i);
}

void rpinn_svgd_kernel_measure(RpinnSvgdKernel *kernel, RpinnTeam *team, const double *compared) {
  Measure measure = {kernel, compared};
  rpinn_team_run(team, num_blocks(kernel->width, COLUMN_BLOCK), find_centre, &measure);
  rpinn_team_run(team, num_blocks(kernel->n, ROW_BLOCK), centre_rows, &measure);
  rpinn_team_run(team, num_lower_tiles(kernel), multiply_tile, &measure);
  rpinn_team_run(team, num_blocks(kernel->n, ROW_BLOCK), measure_rows, &measure);
}

/* ---- bandwidth ---- */

/* Reorder values [count] so that values[rank] is where sorting would put it, what stands before it is no
 * larger and what stands after it no smaller (Hoare's selection). Both scans halt at values equal to the
 * pivot, so that many equal ones are shared out evenly. The pivot is the middle of three values, so one of
 * the first two is at least as large: the right scan ends left of `high`, and the range shrinks. */
static void select_rank(double *values, size_t count, size_t rank) {
  for (size_t low = 0, high = count - 1; low < high;) {
    double a = values[low], b = values[low + (high - low) / 2], c = values[high];
    double pivot = fmax(fmin(a, b), fmin(fmax(a, b), c));
    size_t left = low, right = high;
    for (;;) {
      while (values[left] < pivot) left++;
      while (values[right] > pivot) right--;
      if (left >= right) break;
      double swapped = values[left];
      values[left++] = values[right];
      values[right--] = swapped;
    }
    if (rank <= right)
      high = right;
    else
      low = right + 1;
  }
}

/* Sorted, the matrix is n zeros and then every pair twice: place p >= n holds pair (p - n) / 2 of the sorted
 * pairs. With an even number of entries the median is the mean of the two in the middle. */
double rpinn_svgd_median(size_t n, double *pairs) {
  size_t num_pairs = n * (n - 1) / 2, upper = n * n / 2, lower = (n * n - 1) / 2;
  if (upper < n) return 0;
  size_t rank = (upper - n) / 2;
  select_rank(pairs, num_pairs, rank);
  if (upper == lower || (lower >= n && (lower - n) / 2 == rank)) return pairs[rank];
  double below = 0; /* the diagonal, or the pair before */
  for (size_t k = 0; k < rank; k++) below = fmax(below, pairs[k]);
  return 0.5 * (below + pairs[rank]);
}

/* Squares that overflow leave no distances to speak of. */
static bool squares_are_finite(const RpinnSvgdKernel *kernel) {
  for (size_t i = 0; i < kernel->n; i++)
    if (!isfinite(kernel->squares[i])) return false;
  return true;
}

/* Where more than half of all distances are zero (one particle, or particles that coincide) the rule gives no
 * bandwidth: then every particle feels the gradients of all, k = 1, and nothing repels. A bandwidth whose
 * reciprocal would overflow counts as zero. */
void rpinn_svgd_kernel_find_bandwidth(RpinnSvgdKernel *kernel) {
  double n = (double)kernel->n, h2 = NAN;
  if (squares_are_finite(kernel)) h2 = rpinn_svgd_median(kernel->n, kernel->pairs) / (2 * log(n + 1));
  kernel->squared_bandwidth = h2 < DBL_MIN ? 0 : h2;
  kernel->attraction = 1 / n;
  kernel->repulsion = 0;
  if (kernel->squared_bandwidth > 0)
    kernel->repulsion = (kernel->undivided_repulsion ? 1 : 1 / n) / kernel->squared_bandwidth;
}

/* ---- weights ---- */

/* Tiles of k first, then rows of c. */
static void weigh_task(void *user, size_t thread, size_t task) {
  RpinnSvgdKernel *kernel = user;
  (void)thread;
  if (task < num_lower_tiles(kernel)) {
    kernel->products->exponentials(kernel, lower_tile(kernel, task));
    return;
  }
  task -= num_lower_tiles(kernel);
  size_t first = task * ROW_BLOCK, end = first + block_size(kernel->n, ROW_BLOCK, task);
  for (size_t i = first; i < end; i++) kernel->products->combine(kernel, i);
}

static void sum_rows(void *user, size_t thread, size_t task) {
  RpinnSvgdKernel *kernel = user;
  (void)thread;
  size_t first = task * ROW_BLOCK, end = first + block_size(kernel->n, ROW_BLOCK, task);
  for (size_t i = first; i < end; i++) kernel->products->sum_row(kernel, i);
}

void rpinn_svgd_kernel_weigh(RpinnSvgdKernel *kernel, RpinnTeam *team) {
  size_t blocks = num_blocks(kernel->n, ROW_BLOCK);
  rpinn_team_run(team, num_lower_tiles(kernel) + blocks, weigh_task, kernel);
  rpinn_team_run(team, blocks, sum_rows, kernel);
}

size_t rpinn_svgd_kernel_num_tiles(const RpinnSvgdKernel *kernel) {
  return num_blocks(kernel->n, RPINN_SVGD_TILE_ROWS) * num_blocks(kernel->N, RPINN_SVGD_TILE_COLUMNS);
}

RpinnTile rpinn_svgd_kernel_tile(const RpinnSvgdKernel *kernel, size_t number) {
  size_t across = num_blocks(kernel->N, RPINN_SVGD_TILE_COLUMNS);
  size_t row = number / across, column = number % across;
  return (RpinnTile){row * RPINN_SVGD_TILE_ROWS, block_size(kernel->n, RPINN_SVGD_TILE_ROWS, row),
                     column * RPINN_SVGD_TILE_COLUMNS,
                     block_size(kernel->N, RPINN_SVGD_TILE_COLUMNS, column)};
}
