/* The kernel of SVGD for n particles x_i in N dimensions,
 *
 *   k_ij = exp(-|x_i - x_j|^2 / (2 h^2)),   h^2 = median / (2 log(n + 1)),
 *
 * the median being that of all n^2 squared distances, zero diagonal included, and the direction
 *
 *   phi_i = sum_j k_ij [ a g_j + b (x_i - x_j) / h^2 ] = sum_j k_ij c_j + (b / h^2) y_i sum_j k_ij,
 *   c_j = a g_j - (b / h^2) y_j,   y_i = x_i - centre,
 *
 * with the gradients g_j, a = 1/n, and b = 1/n (Liu & Wang) or 1 (undivided repulsion). Two products carry the
 * work: the Gram matrix y y^T, from which the distances follow, and k c. The particles are centred first,
 * because |y_i|^2 + |y_j|^2 - 2 y_i.y_j cancels when all particles lie together, far from the origin.
 *
 * A kernel of features has f(x) with the Jacobian J(x) in the place of x wherever it is compared: y_i = f(x_i) - centre, and
 *
 *   phi_i = sum_j k_ij c_j + sum_j J_j^T a_ij,   c_j = a g_j,   a_ij = (b / h^2) k_ij (y_i - y_j)
 *
 * The second sum is a product [n][n F] x [n F][N], made for a bunch of particles j at a time, whose Jacobians are all that is kept.
 *
 * All work is cut into tasks that depend on n and N alone, so that bits do not depend on the threads. */
#ifndef RPINN_SAMPLE_SVGD_KERNEL_H
#define RPINN_SAMPLE_SVGD_KERNEL_H

#include "thread_team.h"

typedef struct RpinnSvgdKernel RpinnSvgdKernel;

/* A piece of a matrix. */
typedef struct RpinnTile {
  size_t row, num_rows, column, num_columns;
} RpinnTile;

/* What depends on the precision of the products: svgd_products.c, once in float and once in double. */
typedef struct RpinnSvgdProducts {
  size_t real_size;
  /* y_i = x_i - centre; c_i = g_i for now */
  void (*set_particle)(RpinnSvgdKernel *kernel, size_t i, const double *particle);
  void (*set_gradient)(RpinnSvgdKernel *kernel, size_t i, const double *gradient);
  /* A tile of y y^T, in the lower triangle; a tile on the diagonal also fills squares. */
  void (*gram)(RpinnSvgdKernel *kernel, RpinnTile tile);
  /* |x_i - x_j|^2 for all j < i, to pairs. */
  void (*distances)(RpinnSvgdKernel *kernel, size_t i);
  /* The Gram matrix to k, in a lower tile and its mirror image. */
  void (*exponentials)(RpinnSvgdKernel *kernel, RpinnTile tile);
  void (*sum_row)(RpinnSvgdKernel *kernel, size_t i);
  /* c_i from g_i */
  void (*combine)(RpinnSvgdKernel *kernel, size_t i);
  /* A tile of phi [num_rows][num_columns]; product has room for as many numbers of this precision. */
  void (*direction)(const RpinnSvgdKernel *kernel, RpinnTile tile, void *product, double *phi);
  /* Of features: the Jacobian [F][N] at place `slot` of the bunch. */
  void (*set_jacobian)(RpinnSvgdKernel *kernel, size_t slot, const double *jacobian);
  /* The bunch, particles first to first + count - 1, to a tile of pushes; differences has room for RPINN_SVGD_TILE_ROWS rows a
   * [bunch F], product for a tile. */
  void (*push)(RpinnSvgdKernel *kernel, RpinnTile tile, size_t first, size_t count, void *differences,
               void *product);
} RpinnSvgdProducts;

extern const RpinnSvgdProducts rpinn_svgd_products_float, rpinn_svgd_products_double;

/* The largest tile of phi. */
enum { RPINN_SVGD_TILE_ROWS = 256, RPINN_SVGD_TILE_COLUMNS = 384 };

struct RpinnSvgdKernel {
  size_t n, N;
  size_t width; /* what particles are compared by: N, or F features */
  const RpinnSvgdProducts *products;
  bool undivided_repulsion;
  double *centre;               /* [width] mean of what is compared */
  void *centred;                /* [n][width] y */
  void *combined;               /* [n][N] c */
  void *square;                 /* [n][n] Gram matrix, then k */
  double *squares;              /* [n] |y_i|^2 */
  double *pairs;                /* [n (n-1) / 2] squared distances; in another order after the median */
  double *row_sums;             /* [n] sum_j k_ij */
  double squared_bandwidth;     /* h^2; 0: k = 1 everywhere and no repulsion; NaN: distances overflowed */
  double attraction, repulsion; /* a, and b / h^2 */
  /* ---- of features; without them bunch is 0 ---- */
  size_t bunch;    /* particles whose Jacobians are there at a time */
  void *jacobians; /* [bunch][F][N] */
  double *pushes;  /* [n][N] the second sum, so far */
};

typedef struct RpinnArena RpinnArena;
/* num_features 0: a kernel of the particles themselves. False when out of memory. */
bool rpinn_svgd_kernel_create(RpinnSvgdKernel *kernel, size_t n, size_t N, size_t num_features,
                              bool single_precision, bool undivided_repulsion, RpinnArena *arena);

/* The steps of an iteration, in this order; gradients are set before `weigh`, and what Jacobians push after it. */
/* compared [n][width]: the particles, or their features. */
void rpinn_svgd_kernel_measure(RpinnSvgdKernel *kernel, RpinnTeam *team, const double *compared);
/* One thread's work, beside which others may set gradients. */
void rpinn_svgd_kernel_find_bandwidth(RpinnSvgdKernel *kernel);
void rpinn_svgd_kernel_weigh(RpinnSvgdKernel *kernel, RpinnTeam *team);
size_t rpinn_svgd_kernel_num_tiles(const RpinnSvgdKernel *kernel);
RpinnTile rpinn_svgd_kernel_tile(const RpinnSvgdKernel *kernel, size_t number);

/* The median of the n x n matrix with zero diagonal whose lower triangle is pairs [n (n-1) / 2], all >= 0;
 * pairs come out in another order. */
double rpinn_svgd_median(size_t n, double *pairs);

#endif
