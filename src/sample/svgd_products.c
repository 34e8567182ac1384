/* The parts of SVGD's kernel that are made of reals of one precision; compiled once with RPINN_REAL_FLOAT and
 * once with RPINN_REAL_DOUBLE. Sums over particles that are not matrix products are in double. */
#include <cblas.h>
#include <float.h>
#include <math.h>

#include "svgd_kernel.h"

#ifdef RPINN_REAL_FLOAT
typedef float Real;
static const double epsilon = (double)FLT_EPSILON, smallest = (double)FLT_MIN;
#define RPINN_SVGD_PRODUCTS rpinn_svgd_products_float
#define GEMM                cblas_sgemm
#define SYRK                cblas_ssyrk
#else
typedef double Real;
static const double epsilon = DBL_EPSILON, smallest = DBL_MIN;
#define RPINN_SVGD_PRODUCTS rpinn_svgd_products_double
#define GEMM                cblas_dgemm
#define SYRK                cblas_dsyrk
#endif

static void set_particle(RpinnSvgdKernel *kernel, size_t i, const double *particle) {
  Real *y = (Real *)kernel->centred + i * kernel->width;
  for (size_t j = 0; j < kernel->width; j++) y[j] = (Real)(particle[j] - kernel->centre[j]);
}

static void set_gradient(RpinnSvgdKernel *kernel, size_t i, const double *gradient) {
  Real *c = (Real *)kernel->combined + i * kernel->N;
  for (size_t j = 0; j < kernel->N; j++) c[j] = (Real)gradient[j];
}

static void gram(RpinnSvgdKernel *kernel, RpinnTile tile) {
  int n = (int)kernel->n, width = (int)kernel->width, num_rows = (int)tile.num_rows;
  const Real *rows = (Real *)kernel->centred + tile.row * kernel->width,
             *columns = (Real *)kernel->centred + tile.column * kernel->width;
  Real *product = (Real *)kernel->square + tile.row * kernel->n + tile.column;
  if (tile.row != tile.column) {
    GEMM(CblasRowMajor, CblasNoTrans, CblasTrans, num_rows, (int)tile.num_columns, width, 1, rows, width,
         columns, width, 0, product, n);
    return;
  }
  SYRK(CblasRowMajor, CblasLower, CblasNoTrans, num_rows, width, 1, rows, width, 0, product, n);
  for (size_t i = 0; i < tile.num_rows; i++) kernel->squares[tile.row + i] = product[i * (kernel->n + 1)];
}

/* |y_i|^2 + |y_j|^2 - 2 y_i.y_j, and zero where rounding leaves nothing of it: particles that coincide must
 * not be told apart by the order in which their products were summed. */
static double squared_distance(const RpinnSvgdKernel *kernel, size_t i, size_t j, Real product) {
  double scale = kernel->squares[i] + kernel->squares[j], square = scale - 2 * (double)product;
  return square <= 16 * epsilon * scale ? 0 : square;
}

static void distances(RpinnSvgdKernel *kernel, size_t i) {
  const Real *row = (Real *)kernel->square + i * kernel->n;
  double *pairs = kernel->pairs + i * (i - (i > 0)) / 2;
  for (size_t j = 0; j < i; j++) pairs[j] = squared_distance(kernel, i, j, row[j]);
}

/* Denormal numbers would slow the product down and add nothing to it: they count as zero. */
static void exponentials(RpinnSvgdKernel *kernel, RpinnTile tile) {
  Real *k = kernel->square;
  double h2 = kernel->squared_bandwidth, factor = h2 > 0 ? -0.5 / h2 : 0;
  for (size_t i = tile.row; i < tile.row + tile.num_rows; i++) {
    size_t end = tile.column + tile.num_columns < i ? tile.column + tile.num_columns : i;
    for (size_t j = tile.column; j < end; j++) {
      Real *entry = &k[i * kernel->n + j];
      double value = exp(factor * squared_distance(kernel, i, j, *entry));
      *entry = value < smallest ? 0 : (Real)value;
      k[j * kernel->n + i] = *entry;
    }
    if (tile.row == tile.column) k[i * kernel->n + i] = 1;
  }
}

static void sum_row(RpinnSvgdKernel *kernel, size_t i) {
  const Real *row = (Real *)kernel->square + i * kernel->n;
  double sum = 0;
  for (size_t j = 0; j < kernel->n; j++) sum += (double)row[j];
  kernel->row_sums[i] = sum;
}

static void combine(RpinnSvgdKernel *kernel, size_t i) {
  const Real *y = (Real *)kernel->centred + i * kernel->width;
  Real *c = (Real *)kernel->combined + i * kernel->N;
  for (size_t j = 0; j < kernel->N; j++) {
    double repelled = kernel->bunch ? 0 : kernel->repulsion * (double)y[j];
    c[j] = (Real)(kernel->attraction * (double)c[j] - repelled);
  }
}

/* ---- features ---- */

static void set_jacobian(RpinnSvgdKernel *kernel, size_t slot, const double *jacobian) {
  size_t count = kernel->width * kernel->N;
  Real *own = (Real *)kernel->jacobians + slot * count;
  for (size_t k = 0; k < count; k++) own[k] = (Real)jacobian[k];
}

/* Row i of a: (b / h^2) k_ij (y_i - y_j) for the particles j of the bunch. */
static void weigh_differences(const RpinnSvgdKernel *kernel, size_t i, size_t first, size_t count,
                              Real *row) {
  size_t F = kernel->width;
  const Real *k = (Real *)kernel->square + i * kernel->n, *y = kernel->centred;
  for (size_t j = first; j < first + count; j++) {
    double weight = kernel->repulsion * (double)k[j];
    for (size_t f = 0; f < F; f++) *row++ = (Real)(weight * ((double)y[i * F + f] - (double)y[j * F + f]));
  }
}

static void push(RpinnSvgdKernel *kernel, RpinnTile tile, size_t first, size_t count, void *differences,
                 void *product) {
  size_t N = kernel->N, length = count * kernel->width;
  Real *a = differences;
  for (size_t i = 0; i < tile.num_rows; i++)
    weigh_differences(kernel, tile.row + i, first, count, a + i * length);
  GEMM(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)tile.num_rows, (int)tile.num_columns, (int)length, 1,
       a, (int)length, (Real *)kernel->jacobians + tile.column, (int)N, 0, product, (int)tile.num_columns);
  const Real *sums = product;
  for (size_t i = 0; i < tile.num_rows; i++, sums += tile.num_columns) {
    double *pushes = kernel->pushes + (tile.row + i) * N + tile.column;
    for (size_t j = 0; j < tile.num_columns; j++) pushes[j] = (first ? pushes[j] : 0) + (double)sums[j];
  }
}

/* ---- the direction ---- */

/* What particle i is pushed by: (b / h^2) y_i sum_j k_ij, or what Jacobians made of it. */
static void add_push(const RpinnSvgdKernel *kernel, size_t i, size_t column, size_t count, double *phi) {
  if (kernel->bunch) {
    const double *pushes = kernel->pushes + i * kernel->N + column;
    for (size_t j = 0; j < count; j++) phi[j] += pushes[j];
    return;
  }
  const Real *y = (Real *)kernel->centred + i * kernel->N + column;
  double weight = kernel->repulsion * kernel->row_sums[i];
  for (size_t j = 0; j < count; j++) phi[j] += weight * (double)y[j];
}

static void direction(const RpinnSvgdKernel *kernel, RpinnTile tile, void *product, double *phi) {
  int n = (int)kernel->n, N = (int)kernel->N, num_rows = (int)tile.num_rows,
      num_columns = (int)tile.num_columns;
  const Real *k = (Real *)kernel->square + tile.row * kernel->n, *c = (Real *)kernel->combined + tile.column;
  const Real *sums = product;
  GEMM(CblasRowMajor, CblasNoTrans, CblasNoTrans, num_rows, num_columns, n, 1, k, n, c, N, 0, product,
       num_columns);
  for (size_t i = 0; i < tile.num_rows; i++, sums += num_columns, phi += num_columns) {
    for (size_t j = 0; j < tile.num_columns; j++) phi[j] = (double)sums[j];
    add_push(kernel, tile.row + i, tile.column, tile.num_columns, phi);
  }
}

const RpinnSvgdProducts RPINN_SVGD_PRODUCTS = {
    .real_size = sizeof(Real),
    .set_particle = set_particle,
    .set_gradient = set_gradient,
    .gram = gram,
    .distances = distances,
    .exponentials = exponentials,
    .sum_row = sum_row,
    .combine = combine,
    .direction = direction,
    .set_jacobian = set_jacobian,
    .push = push,
};
