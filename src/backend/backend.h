/* Backends: what computes energies. A backend is a table of functions of coarse grain over members (a member
 * is one parameter vector), chosen at run time by name. `plain` is the oracle; every other one is compared
 * with it.
 *
 * The energy of a member, with whitened rows r and offsets xi (NULL: none):
 *
 *   row (t, i)   r = (R_t(x_i; theta) - d_i) / s_ti - xi         term by term, point by point, or mixed:
 *   row (t, j)   r = sum_i mix_ji (R_t(x_i; theta) - d_i) / s_t - xi
 *   prior row j  p = (theta_j - mean_j) * root_j - xi_(M+j)      for root_j > 0
 *   E            = 1/2 sum r^2 + 1/2 sum p^2
 *
 * A member's bits never depend on its batch, its thread or the number of members. Energies accumulate in
 * double. All vectors at this interface are double; a float backend converts, which is exact for what it
 * produced itself. */
#ifndef RPINN_BACKEND_BACKEND_H
#define RPINN_BACKEND_BACKEND_H

#include "context.h"
#include "network.h"
#include "residual_program.h"
#include "rpinn/choices.h"
#include "rpinn/target.h"

/* One fitted term. */
typedef struct RpinnTermModel {
  size_t num_points, num_rows; /* equal without mix */
  const double *points;        /* [num_points][num_coordinates] */
  const RpinnResidualProgram *program;
  const double *targets; /* [num_points] d_i */
  const double *mix;     /* [num_rows][num_points], num_rows <= num_points; NULL: rows are points */
  double inverse_sigma;  /* 1 / s_t */
  const double *
      inverse_sigmas; /* [num_points] 1 / s_ti of rows that differ, in place of 1 / s_t; else NULL; none with mix */
} RpinnTermModel;

/* 1 / s of the row of a point. */
static inline double rpinn_term_inverse_sigma(const RpinnTermModel *term, size_t point) {
  return term->inverse_sigmas ? term->inverse_sigmas[point] : term->inverse_sigma;
}

/* The energy, in the terms of arrays. Borrowed by a backend for its life. */
typedef struct RpinnEnergyModel {
  size_t num_coordinates;
  size_t num_fields;
  const RpinnNetwork *networks; /* [num_fields] */
  size_t num_terms;
  const RpinnTermModel *terms;
  size_t num_rows;       /* M: of all terms */
  size_t num_parameters; /* N: networks, then unknowns */
  size_t unknown_start;  /* position of the first unknown in theta */
  size_t num_unknowns;
  const double *prior_root; /* [N] 1/s_p, 0: no prior row */
  const double *prior_mean; /* [N] */
} RpinnEnergyModel;

/* Some members of a set: member k of the batch has parameters + members[k] * N and offsets + members[k] * (M
 * + N). Results are written in batch order. */
typedef struct RpinnMemberBatch {
  size_t num_members;
  const size_t *members;    /* [num_members]; NULL: 0, 1, … */
  const double *parameters; /* rows of N */
  const double *offsets;    /* rows of M + N, or NULL */
} RpinnMemberBatch;

/* Programs to evaluate at points: predictions. */
typedef struct RpinnEvaluation {
  size_t num_points;
  const double *points; /* [num_points][num_coordinates] */
  size_t num_programs;
  const RpinnResidualProgram *const *programs;
} RpinnEvaluation;

/* The state of Adam for members of a set, rows of N as in a batch. */
typedef struct RpinnAdamStates {
  double *theta, *m, *v; /* rows of N */
  size_t *t;             /* iterations done */
} RpinnAdamStates;

typedef struct RpinnBackend RpinnBackend;

typedef struct RpinnBackendOperations {
  RpinnPrecision usual_precision; /* what it computes in when nothing is asked for */
  unsigned precisions;            /* what it can: one bit each */

  /* ---- required ---- */
  RpinnStatus (*create)(RpinnContext *context, const RpinnEnergyModel *model, RpinnPrecision precision,
                        RpinnBackend **backend);
  void (*destroy)(RpinnBackend *backend);
  /* energies [num_members]; gradients [num_members][N] and term_energies [num_members][num_terms + 1] (the
   * prior comes last) may be NULL. */
  RpinnStatus (*energies)(RpinnBackend *backend, const RpinnMemberBatch *batch, double *energies,
                          double *gradients, double *term_energies);
  /* values [num_members][num_programs][num_points] */
  RpinnStatus (*evaluate)(RpinnBackend *backend, const RpinnMemberBatch *batch,
                          const RpinnEvaluation *evaluation, double *values);
  /* rows [M] without offsets, for one member; jacobian [M][N] may be NULL. */
  RpinnStatus (*residuals)(RpinnBackend *backend, const double *theta, double *rows, double *jacobian);

  /* ---- optional: NULL is composed from the above by rpinn_backend_* ---- */
  /* Prepare an evaluation for many calls; all three, or none where evaluate has nothing to prepare. Use them by
   * rpinn_evaluation_plan. */
  RpinnStatus (*prepare)(RpinnBackend *backend, const RpinnEvaluation *evaluation, void **prepared);
  void (*release)(RpinnBackend *backend, void *prepared);
  RpinnStatus (*evaluate_prepared)(RpinnBackend *backend, const RpinnMemberBatch *batch, void *prepared,
                                   double *values);
  /* product [M] = J direction; product [N] = J^T weights. */
  RpinnStatus (*jacobian_times)(RpinnBackend *backend, const double *theta, const double *direction,
                                double *product);
  RpinnStatus (*transposed_times)(RpinnBackend *backend, const double *theta, const double *weights,
                                  double *product);
  /* rows [M] and gram [M][M] = J diag(scale) J^T (scale NULL: identity). */
  RpinnStatus (*gram)(RpinnBackend *backend, const double *theta, const double *scale, double *rows,
                      double *gram);
  /* num_steps of Adam for every member of the batch (batch->parameters is not used); energies [num_members]
   * where the last gradient was taken. */
  RpinnStatus (*adam_advance)(RpinnBackend *backend, const RpinnMemberBatch *batch, const RpinnAdamRule *rule,
                              const RpinnAdamStates *states, size_t num_steps, double *energies);
} RpinnBackendOperations;

/* Every backend starts with this. */
struct RpinnBackend {
  const RpinnBackendOperations *operations;
  const RpinnEnergyModel *model;
};

/* By its place in RPINN_BACKEND_LIST; NULL behind the last one. */
const RpinnBackendOperations *rpinn_backend_at(size_t index);

/* An evaluation that is planned once and run for any number of members. It belongs to one backend, which must outlive it,
 * and borrows points and programs. */
typedef struct RpinnPlannedEvaluation {
  RpinnBackend *backend; /* NULL: nothing is planned */
  RpinnEvaluation evaluation;
  void *prepared; /* by the backend; NULL where it prepares nothing */
} RpinnPlannedEvaluation;

RpinnStatus rpinn_evaluation_plan(RpinnBackend *backend, const RpinnEvaluation *evaluation,
                                  RpinnPlannedEvaluation *planned);
/* values [num_members][num_programs][num_points], the bits of evaluate. */
RpinnStatus rpinn_evaluation_run(const RpinnPlannedEvaluation *planned, const RpinnMemberBatch *batch,
                                 double *values);
void rpinn_evaluation_release(RpinnPlannedEvaluation *planned);

/* Parameters and offsets of member k of a batch. */
const double *rpinn_batch_parameters(const RpinnMemberBatch *batch, const RpinnEnergyModel *model, size_t k);
const double *rpinn_batch_offsets(const RpinnMemberBatch *batch, const RpinnEnergyModel *model, size_t k);

/* The prior rows of one member: their energy, and root * row added to gradient (may be NULL). */
double rpinn_model_prior_energy(const RpinnEnergyModel *model, const double *theta, const double *offsets,
                                double *gradient);

extern const RpinnBackendOperations rpinn_plain_backend, rpinn_cpu_backend;

#endif
