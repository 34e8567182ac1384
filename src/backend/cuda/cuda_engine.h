/* The backend `cuda` in one precision: members on a device, a block of threads each.
 *
 * What a call needs goes to buffers of the device that grow as needed and stay; a call of more members than there is memory for is
 * made in slices. The prior's energies are added here, in double. */
#ifndef RPINN_BACKEND_CUDA_CUDA_ENGINE_H
#define RPINN_BACKEND_CUDA_CUDA_ENGINE_H

#include "backend.h"
#include "device_profile.h"
#include "device_work.h"
#include "fused_work.h"

/* Arrays of the device, one part for each member: RpinnDeviceCall, RpinnDeviceProduct, RpinnDeviceStep, RpinnDeviceParticles
 * and RpinnDeviceChains say what they are. */
typedef enum RpinnDeviceBuffer {
  RPINN_BUFFER_THETA,
  RPINN_BUFFER_THETA_BEFORE,
  RPINN_BUFFER_GRADIENT,
  RPINN_BUFFER_M,
  RPINN_BUFFER_V,
  RPINN_BUFFER_PRIOR_SCALE,
  RPINN_BUFFER_PRIOR_SHIFT,
  RPINN_BUFFER_RECORDS,
  RPINN_BUFFER_ROW_SCALE,
  RPINN_BUFFER_OFFSETS,
  RPINN_BUFFER_WEIGHTS,
  RPINN_BUFFER_RESULTS,
  RPINN_BUFFER_SQUARES,
  RPINN_BUFFER_TERM_SUMS,
  RPINN_BUFFER_MIXED,
  RPINN_BUFFER_UNKNOWN_SLOPES,
  RPINN_BUFFER_REGISTERS,
  RPINN_BUFFER_WORKSPACE,
  RPINN_BUFFER_SLOPES,
  RPINN_BUFFER_ROWS,
  RPINN_BUFFER_JACOBIAN,
  RPINN_BUFFER_INPUTS,
  RPINN_BUFFER_OUTPUTS,
  RPINN_BUFFER_STEPS,
  RPINN_BUFFER_TURNS,
  RPINN_BUFFER_STEP_ROW,
  RPINN_BUFFER_ROOTS,
  RPINN_BUFFER_PULL,
  RPINN_BUFFER_WEIGHED,
  RPINN_BUFFER_GRAM,
  RPINN_BUFFER_POINT_WEIGHTS,
  RPINN_BUFFER_OUTCOME,
  RPINN_BUFFER_STEP,
  RPINN_BUFFER_MOVABLE,
  RPINN_BUFFER_SUMS,
  RPINN_BUFFER_CENTRED,
  RPINN_BUFFER_COMBINED,
  RPINN_BUFFER_DIRECTION,
  RPINN_BUFFER_DISTANCE_PRODUCTS,
  RPINN_BUFFER_PARTICLE_WEIGHTS,
  RPINN_BUFFER_SEARCH,
  RPINN_BUFFER_PARTICLE_NUMBERS,
  RPINN_BUFFER_CHAIN_POSITIONS,
  RPINN_BUFFER_CHAIN_VECTORS,
  RPINN_BUFFER_CHAIN_ROWS,
  RPINN_BUFFER_CHAIN_ROW_NUMBERS,
  RPINN_BUFFER_CHAIN_PARAMETERS,
  RPINN_BUFFER_CHAIN_RECORDS,
  RPINN_BUFFER_CHAIN_ORDERS,
  RPINN_BUFFER_CHAIN_PLACES,
  RPINN_NUM_DEVICE_BUFFERS
} RpinnDeviceBuffer;

enum { RPINN_CUDA_MOST_BLOCKS = 40 };

typedef struct RpinnGrowingMemory {
  void *memory;
  size_t bytes;
} RpinnGrowingMemory;

typedef struct RpinnCudaSeats RpinnCudaSeats;

/* Vectors of the host that kernels write to. */
typedef struct RpinnCudaLoans {
  size_t num_blocks, num_vectors, num_free;
  double *blocks
      [RPINN_CUDA_MOST_BLOCKS]; /* of the first vectors, and then each of as many as there were before it */
  double **free;                /* [num_free], of [num_vectors] */
} RpinnCudaLoans;

typedef struct RpinnCudaEngine {
  RpinnBackend base;
  RpinnBackendOperations operations; /* what it has on this device */
  RpinnDevice *device;
  bool is_double;
  bool is_tf32; /* products of the fused kernel by tensor cores */
  size_t real_size;
  RpinnArena *arena;
  RpinnParameterLayout layout;
  RpinnWorkTables *terms;
  RpinnWorkTables *fused; /* the terms for the fused kernel; NULL: it does not take them */
  void *model_scale;      /* the model's row scales, on the device */
  RpinnGrowingMemory buffers[RPINN_NUM_DEVICE_BUFFERS];
  RpinnGrowingMemory staging; /* of the host, for one copy at a time */
  size_t most_members;        /* of a slice, found by running out of memory; 0: no limit so far */
  double step_seconds;        /* of one iteration of Adam of a whole launch, as last seen; 0: none was made */
  size_t step_members;        /* of that launch */
  double launch_seconds;      /* of all launches of Adam so far */
  double stage_seconds[RPINN_NUM_STAGES];
  double chain_seconds;  /* of all launches of chains so far */
  RpinnCudaSeats *seats; /* of chains; NULL: there was none */
  RpinnCudaLoans loans;
} RpinnCudaEngine;

/* Takes over the device, also where it fails. */
RpinnStatus rpinn_cuda_engine_create(RpinnContext *context, RpinnDevice *device,
                                     const RpinnEnergyModel *model, RpinnPrecision precision,
                                     RpinnBackend **backend);

/* The terms for the kernel that takes members: the fused one where it can. */
static inline const RpinnWorkTables *rpinn_cuda_member_tables(const RpinnCudaEngine *engine) {
  return engine->fused ? engine->fused : engine->terms;
}

/* The same for what has products in FP32 where members have them in TF32: rows, and products with J^T. */
static inline const RpinnWorkTables *rpinn_cuda_row_tables(const RpinnCudaEngine *engine) {
  return engine->fused && !engine->fused->has_tf32 ? engine->fused : engine->terms;
}

/* ---- memory and copies: cuda_memory.c ---- */

/* Room for `bytes` in a buffer, whose contents are lost where it grows. */
RpinnStatus rpinn_cuda_reserve(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceBuffer buffer,
                               size_t bytes, void **memory);
/* Memory of the host for one copy. */
RpinnStatus rpinn_cuda_stage(RpinnContext *context, RpinnCudaEngine *engine, size_t bytes, void **memory);
void rpinn_cuda_release_buffers(RpinnCudaEngine *engine);
void rpinn_cuda_release_all(RpinnCudaEngine *engine);
/* Vectors like theta, [N] of each of count members, to a buffer in the device's layout, and back. rest: as in rpinn_layout_pack. */
RpinnStatus rpinn_cuda_put_vectors(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceBuffer buffer,
                                   size_t count, const double *const *vectors, const double *rest,
                                   void **memory);
RpinnStatus rpinn_cuda_get_vectors(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceBuffer buffer,
                                   size_t count, double *const *vectors);
/* Numbers, [size] of each of count members (NULL: zeros), to a buffer, and back. */
RpinnStatus rpinn_cuda_put_numbers(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceBuffer buffer,
                                   size_t count, size_t size, const double *const *numbers, void **memory);
RpinnStatus rpinn_cuda_get_numbers(RpinnContext *context, RpinnCudaEngine *engine, RpinnDeviceBuffer buffer,
                                   size_t count, size_t size, double *const *numbers);

/* ---- vectors that are lent: cuda_loans.c ---- */

RpinnStatus rpinn_cuda_lend_vector(RpinnContext *context, RpinnBackend *backend, double **vector);
void rpinn_cuda_return_vector(RpinnBackend *backend, double *vector);
/* Is it one of them? */
bool rpinn_cuda_is_lent(const RpinnCudaEngine *engine, const double *vector);
void rpinn_cuda_release_loans(RpinnCudaEngine *engine);

/* ---- launches: cuda_launch.c ---- */

/* A slice of a batch: its members, each with what the model has where it has nothing of its own. */
typedef struct RpinnCudaSlice {
  size_t first, count;
  size_t most;               /* members that there is memory for at a time, by the share of one engine */
  RpinnBatchMember *members; /* [count] */
  const double **vectors;    /* [count] to fill, for copies */
  RpinnDeviceCall call;      /* with the members' parameters, scales and scratch */
  bool is_ahead;             /* its launches are not waited for */
  bool is_beside;            /* they run beside what is launched after them, see RpinnLaunch */
} RpinnCudaSlice;

/* The slice of a batch from its member `first` on, at most as many as there is memory for when each needs `bytes` beside what every
 * call needs. */
RpinnStatus rpinn_cuda_slice_open(RpinnContext *context, RpinnCudaEngine *engine,
                                  const RpinnWorkTables *tables, const RpinnMemberBatch *batch, size_t first,
                                  size_t bytes, RpinnCudaSlice *slice);
void rpinn_cuda_slice_close(RpinnCudaSlice *slice); /* also where it failed to open */
RpinnStatus rpinn_cuda_put_offsets(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice);
RpinnStatus rpinn_cuda_clear_gradient(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice);
RpinnStatus rpinn_cuda_launch(RpinnContext *context, RpinnCudaEngine *engine, const RpinnWorkTables *tables,
                              const RpinnCudaSlice *slice);

/* Slices of a batch in turn, each opened, handed to `run` and closed; bytes: as above. Where the device's memory does not do for one, it
 * is cut in half and tried again, which the log says: `run` leaves no mark on its members before it has all memory that it needs. */
typedef RpinnStatus RpinnCudaSliceRun(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                                      const void *wanted);
RpinnStatus rpinn_cuda_run_slices(RpinnContext *context, RpinnCudaEngine *engine,
                                  const RpinnWorkTables *tables, const RpinnMemberBatch *batch, size_t bytes,
                                  RpinnCudaSliceRun *run, const void *wanted);

/* ---- Jacobians: cuda_jacobian.c ---- */

/* Results of the slice's points, and with with_slopes what they depend on, Real [num_results][N]: slice->call has where. */
RpinnStatus rpinn_cuda_form_slopes(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                                   bool with_slopes);

/* ---- what a backend does ---- */

RpinnStatus rpinn_cuda_energies(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                double *energies, double *const *gradients, double *const *term_energies);
RpinnStatus rpinn_cuda_adam_advance(RpinnContext *context, RpinnBackend *backend,
                                    const RpinnMemberBatch *batch, const RpinnAdamRule *rule,
                                    RpinnAdamState *const *states, size_t num_steps, double *energies);
RpinnStatus rpinn_cuda_transitions(RpinnContext *context, RpinnBackend *backend,
                                   const RpinnMemberBatch *batch, RpinnWholeTransition *const *transitions);
void rpinn_cuda_seats_destroy(RpinnDevice *device, RpinnCudaSeats *seats); /* accepts NULL */
RpinnStatus rpinn_cuda_residuals(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                 double *const *rows, double *const *jacobians);
RpinnStatus rpinn_cuda_jacobian_times(RpinnContext *context, RpinnBackend *backend,
                                      const RpinnMemberBatch *batch, const double *const *directions,
                                      double *const *products);
RpinnStatus rpinn_cuda_transposed_times(RpinnContext *context, RpinnBackend *backend,
                                        const RpinnMemberBatch *batch, const double *const *weights,
                                        double *const *products);
RpinnStatus rpinn_cuda_gram(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                            const double *const *scales, double *const *rows, double *const *grams);
RpinnStatus rpinn_cuda_damped_steps(RpinnContext *context, RpinnBackend *backend,
                                    const RpinnMemberBatch *batch, RpinnDampedStep *const *steps);
size_t rpinn_cuda_step_places(const RpinnCudaEngine *engine); /* of the backend */
RpinnStatus rpinn_cuda_move_particles(RpinnContext *context, RpinnBackend *backend,
                                      RpinnParticleMoves *moves);
RpinnStatus rpinn_cuda_evaluate(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                const RpinnEvaluation *evaluation, double *const *values);
RpinnStatus rpinn_cuda_prepare(RpinnContext *context, RpinnBackend *backend,
                               const RpinnEvaluation *evaluation, void **prepared);
void rpinn_cuda_release(RpinnBackend *backend, void *prepared);
RpinnStatus rpinn_cuda_evaluate_prepared(RpinnContext *context, RpinnBackend *backend,
                                         const RpinnMemberBatch *batch, void *prepared,
                                         double *const *values);

#endif
