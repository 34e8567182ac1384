#include "noise_evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dense_algebra.h"
#include "scale_trial.h"
#include "scaled_rows.h"

enum { MAX_ROUNDS = 40, MAX_CLIMB = 60, MAX_HALVINGS = 12 };
static const double settled = 1e-4;    /* of eta: a tenth of a per mille of s */
static const double longest_step = 2;  /* of eta: what a linearisation may be asked about at once */
static const double difference = 1e-3; /* of eta, for curvatures */

void rpinn_noise_factors(const RpinnNoiseRows *noise, size_t num_rows, const double *eta, double *factors) {
  for (size_t i = 0; i < num_rows; i++) {
    size_t k = noise->of_row[i];
    factors[i] = k < noise->count ? exp(noise->eta_0[k] - eta[k]) : 1;
  }
}

/* ---- L, its slopes and curvature ---- */

/* Log evidence, and the slopes of its rows, at one point. */
static RpinnStatus add_point(RpinnLinearisation *at, const RpinnNoisePoints *points, const double *factors,
                             double *value, double *slopes) {
  const RpinnNoiseRows *noise = points->noise;
  double share = 1 / (double)points->count;
  RpinnStatus status = rpinn_linearisation_rescale(at, factors);
  if (status != RPINN_OK) return status;
  *value += share * rpinn_linearisation_log_evidence(at);
  for (size_t i = 0; slopes && i < points->num_rows; i++) {
    if (noise->of_row[i] == noise->count) continue;
    double alpha = rpinn_linearisation_alpha(at, i);
    slopes[noise->of_row[i]] += share * (alpha * alpha - rpinn_linearisation_inverse_diagonal(at, i));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_noise_evidence(const RpinnNoisePoints *points, const double *eta, double *value,
                                 double *slopes) {
  const RpinnNoiseRows *noise = points->noise;
  double *factors = malloc((points->num_rows + 1) * sizeof *factors);
  RpinnStatus status = factors ? RPINN_OK : RPINN_ERROR_MEMORY;
  *value = 0;
  for (size_t k = 0; k < noise->count; k++) {
    double z = (eta[k] - noise->prior_mean[k]) / noise->prior_std[k];
    *value -= (double)noise->num_rows[k] * eta[k] + 0.5 * z * z;
    if (slopes) slopes[k] = -z / noise->prior_std[k];
  }
  if (factors) rpinn_noise_factors(noise, points->num_rows, eta, factors);
  for (size_t p = 0; p < points->count && status == RPINN_OK; p++)
    status = add_point(points->at[p], points, factors, value, slopes);
  free(factors);
  if (status != RPINN_OK) return status;
  return isfinite(*value) ? RPINN_OK : RPINN_ERROR_NUMERIC;
}

RpinnStatus rpinn_noise_curvature(const RpinnNoisePoints *points, const double *eta, double *curvature) {
  size_t K = points->noise->count;
  double *moved = malloc((3 * K + 1) * sizeof *moved), value;
  if (!moved) return RPINN_ERROR_MEMORY;
  double *above = moved + K, *below = above + K;
  RpinnStatus status = RPINN_OK;
  memcpy(moved, eta, K * sizeof *eta);
  for (size_t k = 0; k < K && status == RPINN_OK; k++) {
    moved[k] = eta[k] + difference;
    status = rpinn_noise_evidence(points, moved, &value, above);
    moved[k] = eta[k] - difference;
    if (status == RPINN_OK) status = rpinn_noise_evidence(points, moved, &value, below);
    moved[k] = eta[k];
    for (size_t j = 0; j < K; j++) curvature[j * K + k] = -(above[j] - below[j]) / (2 * difference);
  }
  for (size_t j = 0; j < K && status == RPINN_OK; j++)
    for (size_t k = 0; k < j; k++)
      curvature[j * K + k] = curvature[k * K + j] = 0.5 * (curvature[j * K + k] + curvature[k * K + j]);
  free(moved);
  return status;
}

/* ---- the maximum of L at given points ---- */

typedef struct Climb {
  const RpinnNoisePoints *points;
  double *eta;                                             /* [K] */
  double value;                                            /* L there */
  double *slopes;                                          /* [K] */
  double *step, *candidate, *candidate_slopes, *curvature; /* [K], [K], [K], [K][K] */
} Climb;

/* Newton's step; the fixed point's, 1/2 log(sum alpha^2 / sum c), where L is not curved downwards. */
static RpinnStatus find_step(Climb *climb) {
  size_t K = climb->points->noise->count;
  RpinnStatus status = rpinn_noise_curvature(climb->points, climb->eta, climb->curvature);
  if (status != RPINN_OK) return status;
  memcpy(climb->step, climb->slopes, K * sizeof *climb->step);
  if (!rpinn_dense_solve(K, climb->curvature, climb->step))
    for (size_t k = 0; k < K; k++)
      climb->step[k] = 0.5 * climb->slopes[k] / (double)climb->points->noise->num_rows[k];
  for (size_t k = 0; k < K; k++) climb->step[k] = fmax(-longest_step, fmin(longest_step, climb->step[k]));
  return RPINN_OK;
}

/* Along the step, shorter until L rises. *moved: how far eta went; 0 where it could not. */
static RpinnStatus take_step(Climb *climb, double *moved) {
  size_t K = climb->points->noise->count;
  double length = 1;
  *moved = 0;
  for (int halving = 0; halving < MAX_HALVINGS; halving++, length *= 0.5) {
    double value;
    for (size_t k = 0; k < K; k++) climb->candidate[k] = climb->eta[k] + length * climb->step[k];
    RpinnStatus status =
        rpinn_noise_evidence(climb->points, climb->candidate, &value, climb->candidate_slopes);
    if (status == RPINN_ERROR_MEMORY) return status;
    if (status != RPINN_OK || !(value >= climb->value)) continue;
    for (size_t k = 0; k < K; k++) *moved = fmax(*moved, fabs(length * climb->step[k]));
    climb->value = value;
    memcpy(climb->eta, climb->candidate, K * sizeof(double));
    memcpy(climb->slopes, climb->candidate_slopes, K * sizeof(double));
    break;
  }
  return RPINN_OK;
}

static RpinnStatus climb_from(Climb *climb) {
  double moved = (double)INFINITY;
  RpinnStatus status = rpinn_noise_evidence(climb->points, climb->eta, &climb->value, climb->slopes);
  for (int k = 0; k < MAX_CLIMB && status == RPINN_OK && moved > 1e-8; k++) {
    status = find_step(climb);
    if (status == RPINN_OK) status = take_step(climb, &moved);
  }
  return status;
}

RpinnStatus rpinn_noise_climb(const RpinnNoisePoints *points, double *eta, double *value) {
  size_t K = points->noise->count;
  double *memory = malloc((4 * K + K * K + 1) * sizeof *memory);
  if (!memory) return RPINN_ERROR_MEMORY;
  Climb climb = {.points = points,
                 .eta = eta,
                 .slopes = memory,
                 .step = memory + K,
                 .candidate = memory + 2 * K,
                 .candidate_slopes = memory + 3 * K,
                 .curvature = memory + 4 * K};
  RpinnStatus status = climb_from(&climb);
  *value = climb.value;
  free(memory);
  return status;
}

/* ---- theta and eta in turn ---- */

typedef struct Fit {
  RpinnContext *context;
  RpinnScaledRows scaled;
  const double *offsets;
  const RpinnNoiseRows *noise;
  size_t iterations;
  bool (*interrupted)(void *user);
  void *user;
  double *theta, *eta; /* [N], [K] */
} Fit;

/* theta for eta, then eta for theta. */
static RpinnStatus fit_once(Fit *self, RpinnNoiseFit *fit) {
  size_t M = self->scaled.squares.num_rows;
  RpinnLinearisation *linearisation = NULL;
  rpinn_noise_factors(self->noise, M, self->eta, self->scaled.factors);
  RPINN_TRY(rpinn_scale_minimise(self->context, &self->scaled.squares, self->offsets, self->iterations,
                                 self->interrupted, self->user, self->theta, &fit->energy, &fit->converged));
  if (!isfinite(fit->energy)) return RPINN_ERROR_NUMERIC;
  RpinnStatus status = rpinn_linearisation_create(self->scaled.base, self->theta, &linearisation);
  RpinnNoisePoints points = {.noise = self->noise, .num_rows = M, .count = 1, .at = &linearisation};
  if (status == RPINN_OK) status = rpinn_noise_climb(&points, self->eta, &fit->value);
  rpinn_linearisation_destroy(linearisation);
  return status;
}

/* before [K]: room. */
static RpinnStatus fit_in_turn(Fit *self, double *before, RpinnNoiseFit *fit) {
  size_t K = self->noise->count;
  for (int round = 0; round < MAX_ROUNDS && !fit->is_settled; round++) {
    double moved = 0;
    memcpy(before, self->eta, K * sizeof *before);
    RPINN_TRY(fit_once(self, fit));
    for (size_t k = 0; k < K; k++) moved = fmax(moved, fabs(self->eta[k] - before[k]));
    fit->is_settled = moved <= settled;
    if (self->interrupted && self->interrupted(self->user)) break;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_noise_fit(RpinnContext *context, const RpinnLeastSquares *squares, const double *offsets,
                            const RpinnNoiseRows *noise, size_t iterations, bool (*interrupted)(void *user),
                            void *user, double *theta, double *eta, RpinnNoiseFit *fit) {
  Fit self = {.context = context,
              .offsets = offsets,
              .noise = noise,
              .iterations = iterations,
              .interrupted = interrupted,
              .user = user,
              .theta = theta,
              .eta = eta};
  double *before = malloc((noise->count + 1) * sizeof *before);
  *fit = (RpinnNoiseFit){.energy = (double)INFINITY, .value = -(double)INFINITY};
  RpinnStatus status = rpinn_scaled_rows_open(squares, &self.scaled);
  if (status == RPINN_OK && before) status = fit_in_turn(&self, before, fit);
  rpinn_scaled_rows_close(&self.scaled);
  free(before);
  if (!before || status == RPINN_ERROR_MEMORY) return rpinn_fail_memory(context);
  if (status != RPINN_ERROR_NUMERIC) return status;
  *fit = (RpinnNoiseFit){.energy = (double)INFINITY,
                         .value = -(double)INFINITY}; /* such a start is not chosen */
  return RPINN_OK;
}
