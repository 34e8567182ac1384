/* With q = 1 + |x - y|^2 and N dimensions,
 *
 *   u(x, y) = g(x).g(y) / q^(1/2) + [(x - y).(g(x) - g(y)) + N] / q^(3/2) - 3 (q - 1) / q^(5/2).
 *
 * It knows x and y by their inner products alone: four matrix products carry the work. Points are centred first, because the
 * distances cancel when all points lie together, far from the origin. */
#include "stein_team.h"

#include <cblas.h>
#include <math.h>
#include <stdint.h>

#include "arena.h"
#include "blas_threads.h"
#include "context.h"

enum { BLOCK = 128 }; /* rows of the products at a time */

typedef struct Points {
  size_t n, N;
  const double *gradients; /* [n][N] */
  double *mean;            /* [N] */
  double *centred;         /* [n][N] x */
  double *squares;         /* [n] x_i.x_i */
  double *slopes;          /* [n] x_i.g_i */
  size_t num_blocks;
  double *block_sums; /* [num_blocks] */
} Points;

/* Of the rows of a block, with the points up to its end, [BLOCK][n] each; one of a thread. */
typedef struct Products {
  double *between;          /* x_i.x_j */
  double *gradient_between; /* g_i.g_j */
  double *across, *back;    /* x_i.g_j and g_i.x_j */
} Products;

static bool allocate(RpinnArena *arena, Points *points, size_t num_threads, Products *products) {
  size_t n = points->n, block = n < BLOCK ? n : BLOCK;
  points->mean = RPINN_ARENA_NEW(arena, double, points->N);
  points->centred = RPINN_ARENA_NEW(arena, double, n * points->N);
  points->squares = RPINN_ARENA_NEW(arena, double, n);
  points->slopes = RPINN_ARENA_NEW(arena, double, n);
  points->num_blocks = (n + BLOCK - 1) / BLOCK;
  points->block_sums = RPINN_ARENA_NEW(arena, double, points->num_blocks);
  for (size_t k = 0; k < num_threads; k++) {
    double *numbers = RPINN_ARENA_NEW(arena, double, 4 * block * n);
    if (!numbers) return false;
    products[k] = (Products){numbers, numbers + block * n, numbers + 2 * block * n, numbers + 3 * block * n};
  }
  return points->mean && points->centred && points->squares && points->slopes && points->block_sums;
}

static void centre(Points *points, const double *given) {
  size_t n = points->n, N = points->N;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < N; j++) points->mean[j] += given[i * N + j] / (double)n;
  for (size_t i = 0; i < n; i++) {
    double *x = points->centred + i * N;
    for (size_t j = 0; j < N; j++) x[j] = given[i * N + j] - points->mean[j];
    points->squares[i] = cblas_ddot((int)N, x, 1, x, 1);
    points->slopes[i] = cblas_ddot((int)N, x, 1, points->gradients + i * N, 1);
  }
}

static void multiply(const Points *points, size_t first, size_t count, const double *left,
                     const double *right, double *product) {
  int N = (int)points->N;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)(first + count), N, 1,
              left + first * points->N, N, right, N, 0, product, (int)points->n);
}

/* u of point i with itself is |g|^2 + N. */
static double with_itself(const Points *points, size_t i) {
  const double *g = points->gradients + i * points->N;
  return cblas_ddot((int)points->N, g, 1, g, 1) + (double)points->N;
}

static double between(const Points *points, const Products *products, size_t i, size_t j, size_t entry) {
  double square = fmax(points->squares[i] + points->squares[j] - 2 * products->between[entry], 0);
  double slope = points->slopes[i] + points->slopes[j] - products->across[entry] - products->back[entry];
  double q = 1 + square, k = 1 / sqrt(q);
  return k * (products->gradient_between[entry] + (slope + (double)points->N - 3 * square / q) / q);
}

/* The sum of u over all pairs of a row of a block and a point before it. */
static double sum_block(const Points *points, const Products *products, size_t first, size_t count) {
  double sum = 0;
  multiply(points, first, count, points->centred, points->centred, products->between);
  multiply(points, first, count, points->gradients, points->gradients, products->gradient_between);
  multiply(points, first, count, points->centred, points->gradients, products->across);
  multiply(points, first, count, points->gradients, points->centred, products->back);
  for (size_t i = first; i < first + count; i++)
    for (size_t j = 0; j < i; j++) sum += between(points, products, i, j, (i - first) * points->n + j);
  return sum;
}

typedef struct Summing {
  const Points *points;
  const Products *products; /* [threads] */
} Summing;

/* The last block, which is the longest, first. */
static void sum_task(void *user, size_t thread, size_t task) {
  const Summing *summing = user;
  const Points *points = summing->points;
  size_t block = points->num_blocks - 1 - task, first = block * BLOCK, left = points->n - first;
  points->block_sums[block] =
      sum_block(points, &summing->products[thread], first, left < BLOCK ? left : BLOCK);
}

static RpinnSteinDiscrepancy sum_all(const Points *points, const Products *products, RpinnTeam *team) {
  double same = 0, pairs = 0, n = (double)points->n;
  Summing summing = {points, products};
  for (size_t i = 0; i < points->n; i++) same += with_itself(points, i);
  if (team) rpinn_team_run(team, points->num_blocks, sum_task, &summing);
  for (size_t block = 0; block < points->num_blocks; block++) {
    if (!team) sum_task(&summing, 0, points->num_blocks - 1 - block);
    pairs += points->block_sums[block];
  }
  double square = same + 2 * pairs; /* rounding may leave a negative zero; a number that is none stays so */
  return (RpinnSteinDiscrepancy){.value = sqrt(square < 0 ? 0 : square) / n, .by_chance = sqrt(same) / n};
}

RpinnStatus rpinn_stein_discrepancy_by(RpinnContext *context, RpinnTeam *team, size_t num_threads,
                                       size_t num_points, size_t num_parameters, const double *points,
                                       const double *gradients, RpinnSteinDiscrepancy *discrepancy) {
  Points own = {.n = num_points, .N = num_parameters, .gradients = gradients};
  if (num_points == 0 || num_parameters == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "%zu points of %zu parameters have no discrepancy",
                      num_points, num_parameters);
  if (num_points > INT32_MAX || num_parameters > INT32_MAX) /* what BLAS can count */
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "%zu points of %zu parameters are too many",
                      num_points, num_parameters);
  RPINN_TRY(rpinn_blas_reserve(context, num_threads));
  RpinnArena *arena = rpinn_arena_create();
  Products *products = arena ? RPINN_ARENA_NEW(arena, Products, num_threads) : NULL;
  bool has_room = products && allocate(arena, &own, num_threads, products);
  if (has_room) {
    centre(&own, points);
    *discrepancy = sum_all(&own, products, team);
  }
  rpinn_arena_destroy(arena);
  return has_room ? RPINN_OK : rpinn_fail_memory(context);
}

RpinnStatus rpinn_stein_discrepancy(RpinnContext *context, size_t num_points, size_t num_parameters,
                                    const double *points, const double *gradients,
                                    RpinnSteinDiscrepancy *discrepancy) {
  return rpinn_stein_discrepancy_by(context, NULL, 1, num_points, num_parameters, points, gradients,
                                    discrepancy);
}
