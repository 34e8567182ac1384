/* With q = 1 + |x - y|^2 and N dimensions,
 *
 *   u(x, y) = g(x).g(y) / q^(1/2) + [(x - y).(g(x) - g(y)) + N] / q^(3/2) - 3 (q - 1) / q^(5/2).
 *
 * It knows x and y by their inner products alone: four matrix products carry the work. Points are centred first, because the
 * distances cancel when all points lie together, far from the origin. */
#include "rpinn/stein.h"

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
  /* Of the rows of a block, with the points up to its end, [BLOCK][n] each. */
  double *between;          /* x_i.x_j */
  double *gradient_between; /* g_i.g_j */
  double *across, *back;    /* x_i.g_j and g_i.x_j */
} Points;

static bool allocate(RpinnArena *arena, Points *points) {
  size_t n = points->n, block = n < BLOCK ? n : BLOCK;
  points->mean = RPINN_ARENA_NEW(arena, double, points->N);
  points->centred = RPINN_ARENA_NEW(arena, double, n * points->N);
  points->squares = RPINN_ARENA_NEW(arena, double, n);
  points->slopes = RPINN_ARENA_NEW(arena, double, n);
  double **products[] = {&points->between, &points->gradient_between, &points->across, &points->back};
  for (size_t k = 0; k < 4; k++) {
    *products[k] = RPINN_ARENA_NEW(arena, double, block *n);
    if (!*products[k]) return false;
  }
  return points->mean && points->centred && points->squares && points->slopes;
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

static double between(const Points *points, size_t i, size_t j, size_t entry) {
  double square = fmax(points->squares[i] + points->squares[j] - 2 * points->between[entry], 0);
  double slope = points->slopes[i] + points->slopes[j] - points->across[entry] - points->back[entry];
  double q = 1 + square, k = 1 / sqrt(q);
  return k * (points->gradient_between[entry] + (slope + (double)points->N - 3 * square / q) / q);
}

/* The sum of u over all pairs of a row of a block and a point before it. */
static double sum_block(const Points *points, size_t first, size_t count) {
  double sum = 0;
  multiply(points, first, count, points->centred, points->centred, points->between);
  multiply(points, first, count, points->gradients, points->gradients, points->gradient_between);
  multiply(points, first, count, points->centred, points->gradients, points->across);
  multiply(points, first, count, points->gradients, points->centred, points->back);
  for (size_t i = first; i < first + count; i++)
    for (size_t j = 0; j < i; j++) sum += between(points, i, j, (i - first) * points->n + j);
  return sum;
}

static RpinnSteinDiscrepancy sum_all(const Points *points) {
  double same = 0, pairs = 0, n = (double)points->n;
  for (size_t i = 0; i < points->n; i++) same += with_itself(points, i);
  for (size_t first = 0; first < points->n; first += BLOCK)
    pairs += sum_block(points, first, points->n - first < BLOCK ? points->n - first : BLOCK);
  double square = same + 2 * pairs; /* rounding may leave a negative zero; a number that is none stays so */
  return (RpinnSteinDiscrepancy){.value = sqrt(square < 0 ? 0 : square) / n, .by_chance = sqrt(same) / n};
}

RpinnStatus rpinn_stein_discrepancy(RpinnContext *context, size_t num_points, size_t num_parameters,
                                    const double *points, const double *gradients,
                                    RpinnSteinDiscrepancy *discrepancy) {
  Points own = {.n = num_points, .N = num_parameters, .gradients = gradients};
  if (num_points == 0 || num_parameters == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "%zu points of %zu parameters have no discrepancy",
                      num_points, num_parameters);
  if (num_points > INT32_MAX || num_parameters > INT32_MAX) /* what BLAS can count */
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "%zu points of %zu parameters are too many",
                      num_points, num_parameters);
  RPINN_TRY(rpinn_blas_reserve(context, 1));
  RpinnArena *arena = rpinn_arena_create();
  bool has_room = arena && allocate(arena, &own);
  if (has_room) {
    centre(&own, points);
    *discrepancy = sum_all(&own);
  }
  rpinn_arena_destroy(arena);
  return has_room ? RPINN_OK : rpinn_fail_memory(context);
}
