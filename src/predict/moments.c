/* Symbols: n draws x_1 … x_n of one value, mean m, sum of squares S = sum (x - m)^2.
 *
 * Inside a block, Welford's update for the n-th draw:
 *   d = x - m,  m += d / n,  S += d (x - m)          (the second m is the new one)
 * A block (n_b, m_b, S_b) joins the total (n, m, S) by Chan, Golub and LeVeque's rule:
 *   d = m_b - m,  m += d n_b / (n + n_b),  S += S_b + d^2 n n_b / (n + n_b)
 *
 * Neither subtracts squares of nearly equal sums. In blocks, rounding errors grow with the 64 draws of a
 * block plus the number of blocks instead of with all draws, and blocks can be computed apart and joined to
 * the same bits. */
#include "moments.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

struct RpinnMoments {
  size_t num_values;
  size_t num_total, num_block;        /* draws in full blocks joined so far; draws in the open block */
  double *total_mean, *total_squares; /* [num_values] */
  double *block_mean, *block_squares; /* [num_values] */
};

RpinnMoments *rpinn_moments_create(size_t num_values) {
  RpinnMoments *moments = calloc(1, sizeof *moments);
  if (!moments || num_values > SIZE_MAX / 4 - 1 ||
      !(moments->total_mean = calloc(4 * num_values + 1, sizeof(double)))) {
    free(moments);
    return NULL;
  }
  moments->num_values = num_values;
  moments->total_squares = moments->total_mean + num_values;
  moments->block_mean = moments->total_squares + num_values;
  moments->block_squares = moments->block_mean + num_values;
  return moments;
}

void rpinn_moments_destroy(RpinnMoments *moments) {
  if (!moments) return;
  free(moments->total_mean);
  free(moments);
}

size_t rpinn_moments_count(const RpinnMoments *moments) {
  return moments->num_total + moments->num_block;
}

/* One value of the total joined with the open block; a part without draws leaves the other's bits alone. */
static void join(const RpinnMoments *moments, size_t i, double *mean, double *squares) {
  double n = (double)moments->num_total, n_block = (double)moments->num_block;
  *mean = n > 0 ? moments->total_mean[i] : moments->block_mean[i];
  *squares = n > 0 ? moments->total_squares[i] : moments->block_squares[i];
  if (!(n > 0 && n_block > 0)) return;
  double d = moments->block_mean[i] - *mean;
  *mean += d * (n_block / (n + n_block));
  *squares += moments->block_squares[i] + d * d * (n * (n_block / (n + n_block)));
}

static void close_block(RpinnMoments *moments) {
  for (size_t i = 0; i < moments->num_values; i++)
    join(moments, i, &moments->total_mean[i], &moments->total_squares[i]);
  moments->num_total += moments->num_block;
  moments->num_block = 0;
}

void rpinn_moments_add(RpinnMoments *moments, const double *values) {
  if (moments->num_block == RPINN_MOMENTS_BLOCK) close_block(moments);
  double n = (double)++moments->num_block;
  for (size_t i = 0; i < moments->num_values; i++) {
    double before = n > 1 ? moments->block_mean[i] : values[i];
    double after = before + (values[i] - before) / n;
    double squares = n > 1 ? moments->block_squares[i] : 0;
    moments->block_mean[i] = after;
    moments->block_squares[i] = squares + (values[i] - before) * (values[i] - after);
  }
}

void rpinn_moments_get(const RpinnMoments *moments, double *mean, double *deviation) {
  size_t n = rpinn_moments_count(moments);
  for (size_t i = 0; i < moments->num_values; i++) {
    double m, squares;
    join(moments, i, &m, &squares);
    if (mean) mean[i] = n > 0 ? m : (double)NAN;
    if (deviation) deviation[i] = n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN;
  }
}
