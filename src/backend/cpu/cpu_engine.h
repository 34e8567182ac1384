/* The backend `cpu` in one precision: our own vector code, and OpenBLAS for products with the Jacobian.
 *
 * One member at a time. Its work is cut into blocks in a way that depends on the problem alone, and OpenBLAS
 * runs on one thread, so a member's bits depend on nothing but its own inputs. Rows are formed and energies
 * added up in double: row = (R - d) / s - xi,   E += row^2 / 2,   dE/dR = row / s; see mixed_terms.h for terms whose rows
 * are not their points. */
#ifndef RPINN_BACKEND_CPU_CPU_ENGINE_H
#define RPINN_BACKEND_CPU_CPU_ENGINE_H

#include "backend.h"
#include "cpu_work.h"
#include "field_pass.h"
#include "mixed_terms.h"
#include "pointwise.h"

typedef struct RpinnCpuFactors RpinnCpuFactors; /* cpu_factors.h */

typedef struct RpinnCpuEngine {
  RpinnBackend base;
  const RpinnPointwise *kernels;
  const RpinnMatrixProducts *products;
  RpinnCpuWork *work;              /* the terms */
  RpinnFieldPass **passes;         /* [num_fields] for blocks of work */
  const Real **outputs;            /* [num_fields] */
  Real **bars;                     /* [num_fields] */
  RpinnBatchMember member;         /* the one at hand, with its own scales and roots or the model's */
  Real *theta, *gradient, *m, *v;  /* [N] of the member at hand */
  Real *prior_scale, *prior_shift; /* [N] root^2, root^2 mean + root xi */
  const double *prior_mean;        /* of the model; NULL when it is zero: one array less to read */
  Real *weights;                   /* [max_points] dE/dR of a segment */
  double *unknown_sums;            /* [num_unknowns] */
  double *term_sums;               /* [num_terms] sums of squares */
  double *rows;                    /* [M], of the Jacobian */
  Real *partial;                   /* [points of all terms], of J v */
  RpinnMixedTerms mixed;
  RpinnCpuWork *mixed_work; /* their points alone; NULL without such terms */
  RpinnFieldPass **mixed_passes;
  Real *unknown_slopes; /* [num_unknowns][max_points] */
  Real **row_jacobians; /* [segments of a block] */
  bool is_factored;     /* the linear model at a point is kept in factors, not as a matrix */
  /* ---- made on first use ---- */
  bool has_jacobian;
  Real *jacobian;         /* [M][N], with the point and the scales that it belongs to: */
  Real *jacobian_theta;   /* [N] */
  double *jacobian_scale; /* [M] */
  Real *block_rows;       /* [rows of the largest block][N] */
  double *block_product;  /* [rows of the largest block] */
  Real *panel;            /* [RPINN_GRAM_PANEL] */
  RpinnCpuFactors *factors;
} RpinnCpuEngine;

enum { RPINN_CPU_PIECE = 512 }; /* columns of J at a time, in J v */

/* ---- life: cpu_engine.c ---- */

/* Zeros, aligned for vectors; NULL: no memory. */
Real *RPINN_REAL_NAME(rpinn_cpu_reals)(size_t count);
/* Passes of all fields over blocks of a work; NULL: no memory. */
RpinnFieldPass **RPINN_REAL_NAME(rpinn_cpu_passes_create)(const RpinnCpuEngine *engine,
                                                          const RpinnCpuWork *work);
void RPINN_REAL_NAME(rpinn_cpu_passes_destroy)(const RpinnEnergyModel *model, RpinnFieldPass **passes);

/* ---- sweeps over the blocks: cpu_sweep.c ---- */

/* What a sweep does with the results R of a segment: fill engine->weights with dE/dR, or return false to go
 * no further than the forward pass. */
typedef bool (*RpinnRowFunction)(RpinnCpuEngine *engine, const RpinnSegment *segment, const Real *results,
                                 void *user);

/* Have member k of a batch at hand: engine->member, and engine->theta where it has a theta. */
void RPINN_REAL_NAME(rpinn_cpu_take_member)(RpinnCpuEngine *engine, const RpinnMemberBatch *batch, size_t k);
/* The passes with the weights of engine->theta. */
void RPINN_REAL_NAME(rpinn_cpu_set_passes)(RpinnCpuEngine *engine, RpinnFieldPass **passes);
/* The fields of a block to engine->outputs. */
void RPINN_REAL_NAME(rpinn_cpu_forward_fields)(RpinnCpuEngine *engine, RpinnFieldPass **passes,
                                               const RpinnBlock *block);
/* engine->bars, zeros. */
void RPINN_REAL_NAME(rpinn_cpu_clear_bars)(RpinnCpuEngine *engine, const RpinnBlock *block);
/* R of one segment of a block whose fields went forward. */
const Real *RPINN_REAL_NAME(rpinn_cpu_segment_results)(RpinnCpuEngine *engine, const RpinnCpuWork *work,
                                                       const RpinnBlock *block, size_t segment);
/* All terms at engine->theta; with a gradient [N] where `rows` gives weights. */
void RPINN_REAL_NAME(rpinn_cpu_sweep)(RpinnCpuEngine *engine, RpinnRowFunction rows, void *user,
                                      Real *gradient);
/* The results of all items of a work at engine->theta: values [num_results]. */
void RPINN_REAL_NAME(rpinn_cpu_evaluate_items)(RpinnCpuEngine *engine, const RpinnCpuWork *work,
                                               RpinnFieldPass **passes, double *values);
/* engine->weights of a segment of a mixed term, which are known before the sweep; true. */
bool RPINN_REAL_NAME(rpinn_cpu_mixed_weights)(RpinnCpuEngine *engine, const RpinnSegment *segment);
/* The first row of a segment whose rows are its points. */
static inline size_t rpinn_cpu_first_row(const RpinnCpuEngine *engine, const RpinnSegment *segment) {
  return engine->base.model->terms[segment->item].first_row + segment->first_point;
}

/* ---- rows and Jacobian: cpu_jacobian.c ---- */

/* Of a block whose fields went forward: engine->bars, rows [M] of its points (of a mixed term its deviations are noted), and the slopes of
 * the unknowns, of its first point at `unknowns` and those of the others `stride` apart. */
void RPINN_REAL_NAME(rpinn_cpu_block_bars)(RpinnCpuEngine *engine, const RpinnBlock *block, Real *unknowns,
                                           size_t stride, double *rows);
/* engine->row_jacobians: where each segment of a block has its first point, with that of the block at `first`. */
void RPINN_REAL_NAME(rpinn_cpu_place_segments)(RpinnCpuEngine *engine, const RpinnBlock *block, Real *first,
                                               size_t stride);
/* The rows of J of one block, one per point, each a vector like theta; its fields went forward. jacobian: the first of
 * them. rows [M]: those of its points, but for a mixed term, whose deviations are noted. */
void RPINN_REAL_NAME(rpinn_cpu_block_jacobian)(RpinnCpuEngine *engine, const RpinnBlock *block,
                                               Real *jacobian, double *rows);
/* How many they are: consecutive, and the next block goes on after them. */
size_t RPINN_REAL_NAME(rpinn_cpu_rows_of_block)(const RpinnCpuWork *work, const RpinnBlock *block);
/* Room for those of the largest block. */
RpinnStatus RPINN_REAL_NAME(rpinn_cpu_reserve_block)(RpinnContext *context, RpinnCpuEngine *engine);
/* Is the Jacobian that is kept the one of the member at hand? */
bool RPINN_REAL_NAME(rpinn_cpu_has_jacobian)(const RpinnCpuEngine *engine);
/* engine->jacobian [M][N] and engine->rows [M] of the member at hand. The last one is kept: what asks for J J^T at a
 * point mostly asks for J v there as well. */
RpinnStatus RPINN_REAL_NAME(rpinn_cpu_dense_jacobian)(RpinnContext *context, RpinnCpuEngine *engine);

/* ---- products: cpu_products.c ---- */

/* product [num_rows] = matrix [num_rows][num_columns] direction [num_columns] */
void RPINN_REAL_NAME(rpinn_cpu_matrix_times)(RpinnCpuEngine *engine, size_t num_rows, size_t num_columns,
                                             const Real *matrix, const Real *direction, double *product);

/* ---- operations, as backend.h describes them ---- */

RpinnStatus RPINN_REAL_NAME(rpinn_cpu_energies)(RpinnContext *context, RpinnBackend *backend,
                                                const RpinnMemberBatch *batch, double *energies,
                                                double *const *gradients, double *const *term_energies);
/* 1/2 sum of squares of all rows of the member at hand, engine->term_sums term by term; gradient [N] may be NULL. */
double RPINN_REAL_NAME(rpinn_cpu_data_energy)(RpinnCpuEngine *engine, Real *gradient);
/* 1/2 sum of squares of the prior's rows of the member at hand, the same with a gradient and without: gradient [N], which may be
 * NULL, becomes theirs and that of the data, which engine->gradient has. */
double RPINN_REAL_NAME(rpinn_cpu_prior_energy)(RpinnCpuEngine *engine, double *gradient);
RpinnStatus RPINN_REAL_NAME(rpinn_cpu_adam_advance)(RpinnContext *context, RpinnBackend *backend,
                                                    const RpinnMemberBatch *batch, const RpinnAdamRule *rule,
                                                    RpinnAdamState *const *states, size_t num_steps,
                                                    double *energies);
RpinnStatus RPINN_REAL_NAME(rpinn_cpu_prepare)(RpinnContext *context, RpinnBackend *backend,
                                               const RpinnEvaluation *evaluation, void **prepared);
void RPINN_REAL_NAME(rpinn_cpu_release)(RpinnBackend *backend, void *prepared);
RpinnStatus RPINN_REAL_NAME(rpinn_cpu_evaluate_prepared)(RpinnContext *context, RpinnBackend *backend,
                                                         const RpinnMemberBatch *batch, void *prepared,
                                                         double *const *values);
RpinnStatus RPINN_REAL_NAME(rpinn_cpu_evaluate)(RpinnContext *context, RpinnBackend *backend,
                                                const RpinnMemberBatch *batch,
                                                const RpinnEvaluation *evaluation, double *const *values);
RpinnStatus RPINN_REAL_NAME(rpinn_cpu_residuals)(RpinnContext *context, RpinnBackend *backend,
                                                 const RpinnMemberBatch *batch, double *const *rows,
                                                 double *const *jacobians);
RpinnStatus RPINN_REAL_NAME(rpinn_cpu_jacobian_times)(RpinnContext *context, RpinnBackend *backend,
                                                      const RpinnMemberBatch *batch,
                                                      const double *const *directions,
                                                      double *const *products);
RpinnStatus RPINN_REAL_NAME(rpinn_cpu_transposed_times)(RpinnContext *context, RpinnBackend *backend,
                                                        const RpinnMemberBatch *batch,
                                                        const double *const *weights,
                                                        double *const *products);
RpinnStatus RPINN_REAL_NAME(rpinn_cpu_gram)(RpinnContext *context, RpinnBackend *backend,
                                            const RpinnMemberBatch *batch, const double *const *scales,
                                            double *const *rows, double *const *grams);

#endif
