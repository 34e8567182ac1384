/* Backends: what computes energies. A backend is a table of functions of coarse grain over batches of members (a
 * member is one parameter vector), chosen at run time by name. `plain` is the oracle; every other one is compared
 * with it.
 *
 * The energy of a member, with whitened rows r, row scales 1/s, prior roots and offsets xi (NULL: none) of its own:
 *
 *   row (t, i)   r = (R_t(x_i; theta) - d_i) / s_ti - xi         term by term, point by point, or mixed:
 *   row (t, j)   r = sum_i mix_ji (R_t(x_i; theta) - d_i) / s_tj - xi
 *   prior row j  p = (theta_j - mean_j) * root_j - xi_(M+j)      for root_j > 0
 *   E            = 1/2 sum r^2 + 1/2 sum p^2
 *
 * A member's bits depend on nothing but its own inputs: never on the others of its batch, its place among them or their
 * number, nor on its thread. Energies accumulate in double. All vectors at this interface are double; a float backend
 * converts, which is exact for what it produced itself. A function that fails leaves its message on the context, which
 * may be NULL. */
#ifndef RPINN_BACKEND_BACKEND_H
#define RPINN_BACKEND_BACKEND_H

#include "context.h"
#include "network.h"
#include "residual_program.h"
#include "rpinn/backends.h"
#include "rpinn/choices.h"
#include "rpinn/target.h"
#include "text.h"

/* One fitted term. */
typedef struct RpinnTermModel {
  size_t num_points, num_rows; /* equal without mix */
  size_t first_row;            /* among the M rows of all terms */
  const double *points;        /* [num_points][num_coordinates] */
  const RpinnResidualProgram *program;
  const double *targets; /* [num_points] d_i */
  const double *mix;     /* [num_rows][num_points], num_rows <= num_points; NULL: rows are points */
} RpinnTermModel;

/* The energy, in the terms of arrays. Borrowed by a backend for its life. */
typedef struct RpinnEnergyModel {
  size_t num_coordinates;
  size_t num_fields;
  const RpinnNetwork *networks; /* [num_fields] */
  size_t num_terms;
  const RpinnTermModel *terms;
  size_t num_rows;         /* M: of all terms */
  const double *row_scale; /* [M] 1/s of every row, > 0 */
  size_t num_parameters;   /* N: networks, then unknowns */
  size_t unknown_start;    /* position of the first unknown in theta */
  size_t num_unknowns;
  const double *prior_root; /* [N] 1/s_p, 0: no prior row */
  const double *prior_mean; /* [N] */
} RpinnEnergyModel;

/* One member of a batch. NULL: what the model has. */
typedef struct RpinnBatchMember {
  const double *theta;      /* [N]; not used by adam_advance and transitions */
  const double *offsets;    /* [M + N], of energies and Adam; NULL: none */
  const double *row_scale;  /* [M] 1/s of every row, > 0 */
  const double *prior_root; /* [N] */
} RpinnBatchMember;

typedef struct RpinnMemberBatch {
  size_t num_members;
  const RpinnBatchMember *members; /* [num_members] */
} RpinnMemberBatch;

/* Programs to evaluate at points: predictions. */
typedef struct RpinnEvaluation {
  size_t num_points;
  const double *points; /* [num_points][num_coordinates] */
  size_t num_programs;
  const RpinnResidualProgram *const *programs;
} RpinnEvaluation;

typedef struct RpinnBackend RpinnBackend;

/* Results of a batch are arrays of pointers, one for each member in the order of the batch. */
typedef struct RpinnBackendOperations {
  RpinnPrecision usual_precision; /* what it computes in when nothing is asked for */
  unsigned precisions;            /* what it can: one bit each */
  /* From how many operations of products in an iteration of all members on it is faster than the first of the list, so that `auto` takes
   * it where it can; 0: it never does. Of no machine in particular: the choice is to be the same for all processes that share a run. */
  double worth_products;
  /* What there is of it on this machine, as a line; fails with the reason where there is nothing. NULL: every machine has it. */
  RpinnStatus (*describe)(RpinnContext *context, RpinnText *line);
  /* What a member's bits depend on beside its inputs, as a line. NULL: nothing. */
  RpinnStatus (*identify)(RpinnContext *context, RpinnText *line);
  /* What makes it slow on this machine and can be mended, as a line; left empty where nothing does. NULL: never. */
  RpinnStatus (*advise)(RpinnContext *context, RpinnText *line);

  /* ---- required ---- */
  RpinnStatus (*create)(RpinnContext *context, const RpinnEnergyModel *model, RpinnPrecision precision,
                        RpinnBackend **backend);
  void (*destroy)(RpinnBackend *backend);
  /* energies [num_members]; gradients, each [N], and term_energies, each [num_terms + 1] with the prior last, may be
   * NULL, and so may each of them. */
  RpinnStatus (*energies)(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                          double *energies, double *const *gradients, double *const *term_energies);
  /* values, each [num_programs][num_points] */
  RpinnStatus (*evaluate)(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                          const RpinnEvaluation *evaluation, double *const *values);
  /* rows, each [M], without offsets; jacobians, each [M][N], may be NULL. */
  RpinnStatus (*residuals)(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                           double *const *rows, double *const *jacobians);

  /* ---- optional: what is NULL is composed of the above by the functions rpinn_backend_* further down ---- */
  /* Prepare an evaluation for many calls; all three, or none where evaluate has nothing to prepare. Use them by
   * rpinn_evaluation_plan. */
  RpinnStatus (*prepare)(RpinnContext *context, RpinnBackend *backend, const RpinnEvaluation *evaluation,
                         void **prepared);
  void (*release)(RpinnBackend *backend, void *prepared);
  RpinnStatus (*evaluate_prepared)(RpinnContext *context, RpinnBackend *backend,
                                   const RpinnMemberBatch *batch, void *prepared, double *const *values);
  /* products, each [M] = J direction; each [N] = J^T weights. */
  RpinnStatus (*jacobian_times)(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                const double *const *directions, double *const *products);
  RpinnStatus (*transposed_times)(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                  const double *const *weights, double *const *products);
  /* rows, each [M], and grams, each [M][M] = J diag(scale) J^T; scales, or each of them [N], may be NULL: identity. */
  RpinnStatus (*gram)(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                      const double *const *scales, double *const *rows, double *const *grams);
  /* The steps of Levenberg–Marquardt at the members' points, see rpinn/target.h; rows and pulls have the offsets already. NULL:
   * methods make them of products. */
  RpinnStatus (*damped_steps)(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                              RpinnDampedStep *const *steps);
  /* Iterations of SVGD under the model's own prior and scales, see rpinn/target.h. NULL: methods make them of energies. */
  RpinnStatus (*move_particles)(RpinnContext *context, RpinnBackend *backend, RpinnParticleMoves *moves);
  /* num_steps of Adam for the state of every member; energies [num_members] where the last gradient was taken. */
  RpinnStatus (*adam_advance)(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                              const RpinnAdamRule *rule, RpinnAdamState *const *states, size_t num_steps,
                              double *energies);
  /* Goes on with a transition of NUTS for every member, with log density -E; theta of members is not read, see rpinn/target.h. At least
   * one has finished at the end. NULL: methods make them of energies. */
  RpinnStatus (*transitions)(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                             RpinnWholeTransition *const *transitions);
  /* Memory of the host for theta and gradient of transitions, which take no other, and its return, before the backend goes: see
   * rpinn/target.h. Both, or NULL: any memory does. */
  RpinnStatus (*lend_vector)(RpinnContext *context, RpinnBackend *backend, double **vector);
  void (*return_vector)(RpinnBackend *backend, double *vector); /* accepts NULL */
  /* Why transitions are NULL where the device makes them of other problems, or in another precision, as the end of a sentence. */
  const char *no_transitions;
} RpinnBackendOperations;

/* Every backend starts with this. */
struct RpinnBackend {
  const RpinnBackendOperations *operations;
  const RpinnEnergyModel *model;
  /* How many members a call is best made for, and the most that it takes. 1: members are computed one after the
   * other, however many a call has. */
  size_t group;
  /* Members that damped_steps makes steps of at a time: fewer take as long. 0: there is no such number. */
  size_t step_places;
};

/* By its place in RPINN_BACKEND_LIST; NULL behind the last one. */
const RpinnBackendOperations *rpinn_backend_at(size_t index);
/* One of the list, or what stands in for it. */
const RpinnBackendOperations *rpinn_backend_in_place_of(const RpinnBackendOperations *own);
/* For tests: wherever `own` of the list is asked for, `other` computes; NULL: own again. For one of the list at a time, and
 * while no thread makes backends. */
void rpinn_backend_replace(const RpinnBackendOperations *own, const RpinnBackendOperations *other);

/* Which word of the list `auto` stands for where an iteration of all members takes so many operations; reason: why, as a line. */
const char *rpinn_backend_choose(RpinnContext *context, double num_products, RpinnText *reason);
/* Operations of the products of hidden layers in a gradient of one member. */
double rpinn_model_products(const RpinnEnergyModel *model);

/* ---- calls: a backend's own function, or what the required ones make of it (backend_compositions.c) ---- */

void rpinn_backend_destroy(RpinnBackend *backend); /* accepts NULL */
RpinnStatus rpinn_backend_energies(RpinnContext *context, RpinnBackend *backend,
                                   const RpinnMemberBatch *batch, double *energies, double *const *gradients,
                                   double *const *term_energies);
RpinnStatus rpinn_backend_evaluate(RpinnContext *context, RpinnBackend *backend,
                                   const RpinnMemberBatch *batch, const RpinnEvaluation *evaluation,
                                   double *const *values);
RpinnStatus rpinn_backend_residuals(RpinnContext *context, RpinnBackend *backend,
                                    const RpinnMemberBatch *batch, double *const *rows,
                                    double *const *jacobians);
RpinnStatus rpinn_backend_jacobian_times(RpinnContext *context, RpinnBackend *backend,
                                         const RpinnMemberBatch *batch, const double *const *directions,
                                         double *const *products);
RpinnStatus rpinn_backend_transposed_times(RpinnContext *context, RpinnBackend *backend,
                                           const RpinnMemberBatch *batch, const double *const *weights,
                                           double *const *products);
RpinnStatus rpinn_backend_gram(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                               const double *const *scales, double *const *rows, double *const *grams);
RpinnStatus rpinn_backend_adam_advance(RpinnContext *context, RpinnBackend *backend,
                                       const RpinnMemberBatch *batch, const RpinnAdamRule *rule,
                                       RpinnAdamState *const *states, size_t num_steps, double *energies);

/* An evaluation that is planned once and run for any number of batches. It belongs to one backend, which must outlive it,
 * and borrows points and programs. */
typedef struct RpinnPlannedEvaluation {
  RpinnBackend *backend; /* NULL: nothing is planned */
  RpinnEvaluation evaluation;
  void *prepared; /* by the backend; NULL where it prepares nothing */
} RpinnPlannedEvaluation;

RpinnStatus rpinn_evaluation_plan(RpinnContext *context, RpinnBackend *backend,
                                  const RpinnEvaluation *evaluation, RpinnPlannedEvaluation *planned);
/* values, each [num_programs][num_points]: the bits of evaluate. */
RpinnStatus rpinn_evaluation_run(RpinnContext *context, const RpinnPlannedEvaluation *planned,
                                 const RpinnMemberBatch *batch, double *const *values);
void rpinn_evaluation_release(RpinnPlannedEvaluation *planned);

/* ---- what backends share ---- */

/* Member k of a batch, with what the model has in the place of row scales and roots that are NULL. */
RpinnBatchMember rpinn_batch_member(const RpinnEnergyModel *model, const RpinnMemberBatch *batch, size_t k);

/* The rows of a mixed term are scaled in two steps: its points by the scale of its first row, and each row by the ratio of
 * its own to that, which is exactly 1 where they share one. scales: of the term's rows. */
static inline double rpinn_mixed_row_ratio(const double *scales, size_t row) {
  return scales[row] == scales[0] ? 1 : scales[row] / scales[0];
}

/* The prior rows of a member that has all it needs: their energy, and root * row added to gradient (may be NULL). */
double rpinn_model_prior_energy(const RpinnEnergyModel *model, const RpinnBatchMember *member,
                                double *gradient);

#define RPINN_BACKEND_DECLARATION(operations, name) extern const RpinnBackendOperations operations;
RPINN_BACKEND_LIST(RPINN_BACKEND_DECLARATION)
#undef RPINN_BACKEND_DECLARATION

#endif
