/* p(eta | data): the evidence over the logarithms of noise that is not known, as a density to draw from.
 *
 * With the mode eta^, the curvature H = L L^T there and eta = eta^ + L^-T u, the density of u is taken as a product of those along
 * each of its axes through the mode, which are the evidence itself: exact for one unknown noise, and for several as far as they
 * are independent up to their covariance. Along an axis it is found at some points of -5 … 5 and interpolated as its departure
 * from a normal one, which is small and smooth. */
#ifndef RPINN_PRIOR_NOISE_POSTERIOR_H
#define RPINN_PRIOR_NOISE_POSTERIOR_H

#include "arena.h"
#include "noise_evidence.h"
#include "random_stream.h"

enum { RPINN_NOISE_NODES = 21, RPINN_NOISE_FINE = 801 };

typedef struct RpinnNoisePosterior {
  size_t count;      /* K */
  double *mode;      /* [K] */
  double *axes;      /* [K][K] column k: the axis of u_k */
  double *inverse;   /* [K][K] u = inverse (eta - mode) */
  double *departure; /* [K][RPINN_NOISE_NODES] log density along each axis, less that of a normal one */
  double *density;   /* [K][RPINN_NOISE_FINE] along each axis, normalised; linear in between */
} RpinnNoisePosterior;

/* All pointers in the arena, for K noises. */
RpinnStatus rpinn_noise_posterior_make_room(RpinnContext *context, RpinnArena *arena, size_t count,
                                            RpinnNoisePosterior *posterior);
/* At the maximum eta [K] of the evidence at these points. RPINN_ERROR_NUMERIC where it is no maximum that is curved. */
RpinnStatus rpinn_noise_posterior_make(RpinnContext *context, const RpinnNoisePoints *points,
                                       const double *eta, RpinnNoisePosterior *posterior);
/* inverse and density from mode, axes and departure, such as those read from a file. */
void rpinn_noise_posterior_complete(RpinnNoisePosterior *posterior);

void rpinn_noise_posterior_draw(const RpinnNoisePosterior *posterior, RpinnStream *stream, double *eta);
/* log p(eta | data); -infinity beyond the points. */
double rpinn_noise_posterior_log_density(const RpinnNoisePosterior *posterior, const double *eta);

#endif
