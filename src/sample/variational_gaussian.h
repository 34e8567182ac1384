/* A normal distribution of a diagonal and a low rank, in units of its deviations s = exp(omega). With
 *
 *   y = e + V z,  e ~ N(0, I_N), z ~ N(0, I_r),     G = (I + V V^T)^-1 = I - V C^-1 V^T,  C = I + V^T V  (r x r)
 *
 * it is theta = mu + s x where
 *
 *   factors of the covariance: x = y,    u = G y    covariance S (I + V V^T) S
 *   factors of the precision:  x = G y,  u = y      covariance S G S
 *
 * so that s u is in both the gradient of -log q by theta in units of s, log q = -log_scale - 1/2 x·u, and nothing of the size N x N
 * is ever made. r = 0 is the mean field. */
#ifndef RPINN_SAMPLE_VARIATIONAL_GAUSSIAN_H
#define RPINN_SAMPLE_VARIATIONAL_GAUSSIAN_H

#include <stdbool.h>

#include "arena.h"
#include "random_stream.h"

typedef struct RpinnVariationalGaussian {
  size_t N, rank;
  bool of_precision;              /* what the factors are of */
  double *phi;                    /* [N (2 + rank)]: all parameters, one block after the other */
  double *mean, *omega, *factors; /* [N], [N], V [N][rank]: in phi */
  /* ---- of phi, once it is settled ---- */
  double *deviation; /* [N] s */
  double *root;      /* [rank][rank] C = L L^T, in its lower triangle */
  double *
      unit; /* [rank] sqrt(C_kk / N), in which a column of V is measured: it is about as long as 1 is there */
  double log_scale; /* N/2 log 2 pi + sum omega +- 1/2 log det C */
} RpinnVariationalGaussian;

/* A pair of draws mu + s x and mu - s x, and what a log density says there. */
typedef struct RpinnVariationalPair {
  double *z, *x, *u;       /* [rank], [N], [N] */
  double *solved;          /* [rank] C^-1 V^T y */
  double *pulled;          /* [rank] C^-1 V^T h of the gradient below */
  double *theta[2];        /* [N] each */
  double log_q;            /* at both */
  double log_p[2];         /* … and of the density */
  const double *slopes[2]; /* [N] each: its gradients */
} RpinnVariationalPair;

/* Numbers of phi. */
size_t rpinn_variational_gaussian_size(size_t N, size_t rank);
/* From the arena, all zero; false when out of memory. */
bool rpinn_variational_gaussian_create(RpinnArena *arena, size_t N, size_t rank, bool of_precision,
                                       RpinnVariationalGaussian *gaussian);
/* What follows from phi. False where that is not finite. */
bool rpinn_variational_gaussian_settle(RpinnVariationalGaussian *gaussian);

/* z, x, u and solved, z first from the stream; gives log q. */
double rpinn_variational_gaussian_draw(const RpinnVariationalGaussian *gaussian, RpinnStream *stream,
                                       double *z, double *x, double *u, double *solved);
/* Draw number `draw` of it: theta [N], and log q there (may be NULL); room [2 N + 2 rank]. */
void rpinn_variational_gaussian_make_draw(const RpinnVariationalGaussian *gaussian, uint64_t seed,
                                          uint64_t draw, double *room, double *theta, double *log_q);
/* log q at theta [N]; room [2 N + rank]. */
double rpinn_variational_gaussian_log_density(const RpinnVariationalGaussian *gaussian, const double *theta,
                                              double *room);

/* The gradient of the ELBO by phi, from pairs with slopes. With a = s (g+ + g-) / 2, b = s (g+ - g-) / 2 and h = b + u it is, in the
 * mean over pairs,
 *
 *   mu: a      omega: h x      V of the covariance: h z^T      V of the precision: G h (z - V^T x)^T - x (V^T G h)^T
 *
 * that of mu for steps in units of s. The total gradient has h = b, and 1 beside for omega and +- V C^-1 for V, which are the means of
 * what u brings: both forms have the same mean. The first has no variance where q is p.
 *
 * `pull` for each pair first, then `gradient` for the parameters first … first + count - 1 of the N, at their places in gradient [size
 * of phi]. V^T G = C^-1 V^T makes of the products with G those with vectors of length r. */
void rpinn_variational_gaussian_pull(const RpinnVariationalGaussian *gaussian, bool total,
                                     RpinnVariationalPair *pair);
void rpinn_variational_gaussian_gradient(const RpinnVariationalGaussian *gaussian, size_t num_pairs,
                                         const RpinnVariationalPair *pairs, bool total, size_t first,
                                         size_t count, double *gradient);

#endif
