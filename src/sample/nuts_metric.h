/* The metric M of NUTS through its inverse, an estimate of the target's covariance that is learnt from draws.
 *
 *   p ~ N(0, M),   sharp momentum p# = M^-1 p,   kinetic energy 1/2 p.p#
 *
 * The unit metric has p# = p and no vectors at all. */
#ifndef RPINN_SAMPLE_NUTS_METRIC_H
#define RPINN_SAMPLE_NUTS_METRIC_H

#include "arena.h"
#include "context.h"
#include "random_stream.h"
#include "rpinn/nuts.h"

typedef struct RpinnNutsMetric {
  RpinnMetric kind;
  size_t num_parameters;
  size_t version;  /* another one for every new inverse */
  double *inverse; /* M^-1: diagonal, padded for phase_vectors.h, or [N][N]; NULL: unit */
  double *root;    /* of M^-1: square roots [N], or its Cholesky factor in the lower triangle of [N][N] */
  /* ---- the estimate: Welford's mean and sums of squares ---- */
  size_t num_draws;
  double *mean;    /* [N] */
  double *squares; /* [N], or [N][N] in the lower triangle */
  double *offset;  /* [N] of a draw from the mean before it */
} RpinnNutsMetric;

/* From the arena, with the unit matrix as inverse. False when out of memory. */
bool rpinn_nuts_metric_create(RpinnArena *arena, RpinnMetric kind, size_t num_parameters,
                              RpinnNutsMetric *metric);
/* Back to the unit matrix, without draws. */
void rpinn_nuts_metric_reset(RpinnNutsMetric *metric);

/* p [N] ~ N(0, M). */
void rpinn_nuts_metric_draw(const RpinnNutsMetric *metric, RpinnStream *stream, double *p);

/* Take a draw into the estimate. */
void rpinn_nuts_metric_learn(RpinnNutsMetric *metric, const double *theta);
/* Make the estimate the metric, shrunk a little towards 1e-3 I, and begin a new one. RPINN_ERROR_NUMERIC when
 * it is not finite or not positive definite. */
RpinnStatus rpinn_nuts_metric_update(RpinnContext *context, RpinnNutsMetric *metric);
/* Be the inverse metric [N] or [N][N]; nothing for the unit metric. False as below. */
bool rpinn_nuts_metric_take(RpinnNutsMetric *metric, const double *inverse);
/* After a change of inverse: compute root. False when inverse is not positive definite and finite. */
bool rpinn_nuts_metric_refresh(RpinnNutsMetric *metric);

#endif
