/* What the data say of noise that is not known: the evidence over eta, where term k has s_k = exp(eta_k).
 *
 * With the model linearised at theta, rows of k divided by s_k, and alpha, c = C^-1 as in linearisation.h:
 *
 *   L(eta)     = log evidence - sum_k n_k eta_k + log prior(eta)         = log p(eta | data) + constant
 *   dL/deta_k  = sum alpha_i^2 - sum c_ii over the rows of k + slope of the log prior
 *
 * so that a maximum is the fixed point s_k^2 <- s_k^2 sum alpha_i^2 / sum c_ii. (Energies know no such point of use: the joint
 * minimum over theta and eta counts the n_k rows of a term as if no parameter had been spent on them, and is too low.) MAP and
 * eta are found in turn until neither moves. */
#ifndef RPINN_PRIOR_NOISE_EVIDENCE_H
#define RPINN_PRIOR_NOISE_EVIDENCE_H

#include <stdbool.h>

#include "context.h"
#include "linearisation.h"

/* Unknown noise of a target whose rows are whitened by the noise eta_0. */
typedef struct RpinnNoiseRows {
  size_t count;                         /* K */
  const size_t *of_row;                 /* [M] which noise; K: one that is known */
  const size_t *num_rows;               /* [K] n_k */
  const double *eta_0;                  /* [K] */
  const double *prior_mean, *prior_std; /* [K] of eta */
} RpinnNoiseRows;

/* factors [M] of the rows for eta [K]: s_0 / s, 1 where the noise is known. */
void rpinn_noise_factors(const RpinnNoiseRows *noise, size_t num_rows, const double *eta, double *factors);

/* Points at which that target is linearised: the most probable one, or some rPINN members. Of several, L is the mean of theirs; for
 * a model that is linear in its parameters all say the same. */
typedef struct RpinnNoisePoints {
  const RpinnNoiseRows *noise;
  size_t num_rows; /* M */
  size_t count;
  RpinnLinearisation **at; /* [count] */
} RpinnNoisePoints;

/* Move the linearisations to eta [K]. *value: L, without the constant of the prior; slopes [K] may be NULL. RPINN_ERROR_NUMERIC
 * where one of them is not finite. */
RpinnStatus rpinn_noise_evidence(const RpinnNoisePoints *points, const double *eta, double *value,
                                 double *slopes);
/* curvature [K][K] = -d2L, by differences of the slopes. */
RpinnStatus rpinn_noise_curvature(const RpinnNoisePoints *points, const double *eta, double *curvature);
/* Climb L from eta [K] to its maximum; *value: L there. */
RpinnStatus rpinn_noise_climb(const RpinnNoisePoints *points, double *eta, double *value);

typedef struct RpinnNoiseFit {
  double energy;   /* E at the end, with its noise and offsets */
  double value;    /* L there; -infinity where nothing finite was found */
  bool converged;  /* the last minimisation did */
  bool is_settled; /* neither theta nor eta moved any more */
} RpinnNoiseFit;
/* Minimise E, with the offsets [M + N] of an rPINN member or without (NULL), by Levenberg–Marquardt from theta [N] and climb L
 * from eta [K], in turn. squares: whitened by eta_0. iterations: of each minimisation. Once interrupted (may be NULL) says true,
 * the results are any point on the way. */
RpinnStatus rpinn_noise_fit(RpinnContext *context, const RpinnLeastSquares *squares, const double *offsets,
                            const RpinnNoiseRows *noise, size_t iterations, bool (*interrupted)(void *user),
                            void *user, double *theta, double *eta, RpinnNoiseFit *fit);

#endif
