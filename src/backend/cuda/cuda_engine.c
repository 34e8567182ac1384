/* The life of an engine, and the table of what it does. */
#include "cuda_engine.h"

#include <stdlib.h>

enum { WAVES = 4 }; /* of blocks in a group: enough to hide the end of the last one */
static const size_t group_bytes = (size_t)1
                                  << 30; /* that callers are to keep for the members of a group, about */

static void destroy(RpinnBackend *backend) {
  RpinnCudaEngine *engine = (RpinnCudaEngine *)backend;
  if (!engine) return;
  rpinn_work_tables_destroy(engine->fused);
  rpinn_work_tables_destroy(engine->terms);
  rpinn_cuda_seats_destroy(engine->device, engine->seats);
  rpinn_cuda_release_loans(engine);
  rpinn_cuda_release_all(engine);
  engine->device->operations->close(engine->device);
  if (engine->arena) rpinn_arena_destroy(engine->arena);
  free(engine);
}

static const RpinnBackendOperations operations = {.destroy = destroy,
                                                  .energies = rpinn_cuda_energies,
                                                  .evaluate = rpinn_cuda_evaluate,
                                                  .residuals = rpinn_cuda_residuals,
                                                  .prepare = rpinn_cuda_prepare,
                                                  .release = rpinn_cuda_release,
                                                  .evaluate_prepared = rpinn_cuda_evaluate_prepared,
                                                  .jacobian_times = rpinn_cuda_jacobian_times,
                                                  .transposed_times = rpinn_cuda_transposed_times,
                                                  .gram = rpinn_cuda_gram,
                                                  .damped_steps = rpinn_cuda_damped_steps,
                                                  .adam_advance = rpinn_cuda_adam_advance,
                                                  .move_particles = rpinn_cuda_move_particles,
                                                  .transitions = rpinn_cuda_transitions,
                                                  .lend_vector = rpinn_cuda_lend_vector,
                                                  .return_vector = rpinn_cuda_return_vector};

/* As many members as keep the device busy, within reason for a caller who has some ten vectors for each. */
static size_t find_group(const RpinnCudaEngine *engine) {
  size_t group = engine->device->num_multiprocessors * rpinn_cuda_member_tables(engine)->blocks * WAVES,
         most = group_bytes / (10 * (engine->base.model->num_parameters + 1) * sizeof(double));
  if (engine->device->most_members) most = engine->device->most_members;
  if (group > most) group = most;
  return group ? group : 1;
}

static RpinnStatus make_terms(RpinnContext *context, RpinnCudaEngine *engine) {
  const RpinnEnergyModel *model = engine->base.model;
  RpinnDeviceWorkItem *items = calloc(model->num_terms + 1, sizeof *items);
  if (!items) return rpinn_fail_memory(context);
  for (size_t t = 0; t < model->num_terms; t++)
    items[t] = (RpinnDeviceWorkItem){model->terms[t].program, model->terms[t].num_points,
                                     model->terms[t].points, &model->terms[t]};
  RpinnStatus status = rpinn_work_tables_create(context, engine->device, model, &engine->layout,
                                                engine->is_double, items, model->num_terms, &engine->terms);
  free(items);
  return status;
}

/* What goes slower than it could with this GPU's libraries: what has products in double. */
static void say_what_is_missing(RpinnContext *context, const RpinnCudaEngine *engine) {
  if (!engine->device->has_products)
    rpinn_log(context, RPINN_LOG_INFO,
              "backend cuda: there is no cuBLAS (libcublas.so.13, 12 or 11), so that Levenberg–Marquardt "
              "takes its steps%s on the host, more slowly",
              engine->is_double ? " and SVGD moves its particles" : "");
}

/* Members of a float engine take the fused kernel where it takes them; else the log says why they go a slower way. *reason: why there is no
 * such kernel. */
static RpinnStatus make_fused(RpinnContext *context, RpinnCudaEngine *engine, const char **reason) {
  *reason = "the precision is double";
  if (engine->is_double) return RPINN_OK;
  RPINN_TRY(rpinn_fused_tables_create(context, engine->device, engine->base.model, &engine->layout,
                                      engine->is_tf32, engine->terms, &engine->fused, reason));
  if (!engine->fused)
    rpinn_log(context, RPINN_LOG_INFO, "backend cuda: members take a slower way%s, for %s",
              engine->is_tf32 ? " with products in FP32" : "", *reason);
  else if (engine->is_tf32 && !engine->fused->has_tf32)
    rpinn_log(context, RPINN_LOG_INFO,
              "backend cuda: products are in FP32, for layers are too narrow to gain from tensor cores");
  return RPINN_OK;
}

static RpinnStatus fill(RpinnContext *context, RpinnCudaEngine *engine) {
  const RpinnEnergyModel *model = engine->base.model;
  size_t bytes = model->num_rows * sizeof(double);
  const char *reason;
  engine->arena = rpinn_arena_create();
  if (!engine->arena || !rpinn_parameter_layout_make(engine->arena, model, &engine->layout))
    return rpinn_fail_memory(context);
  RPINN_TRY(make_terms(context, engine));
  RPINN_TRY(engine->device->operations->allocate(context, engine->device, bytes + 16, &engine->model_scale));
  RPINN_TRY(engine->device->operations->write(context, engine->device, engine->model_scale, model->row_scale,
                                              bytes));
  RPINN_TRY(make_fused(context, engine, &reason));
  if (!engine->fused) { /* which alone makes transitions */
    engine->operations.transitions = NULL;
    engine->operations.no_transitions = reason;
  }
  engine->base.group = find_group(engine);
  engine->base.step_places = rpinn_cuda_step_places(engine);
  say_what_is_missing(context, engine);
  return RPINN_OK;
}

RpinnStatus rpinn_cuda_engine_create(RpinnContext *context, RpinnDevice *device,
                                     const RpinnEnergyModel *model, RpinnPrecision precision,
                                     RpinnBackend **backend) {
  RpinnCudaEngine *engine = calloc(1, sizeof *engine);
  *backend = NULL;
  if (!engine) {
    device->operations->close(device);
    return rpinn_fail_memory(context);
  }
  engine->operations = operations;
  if (!device->has_products) {
    engine->operations.damped_steps = NULL;
    if (precision == RPINN_PRECISION_DOUBLE) engine->operations.move_particles = NULL;
  }
  engine->base = (RpinnBackend){.operations = &engine->operations, .model = model, .group = 1};
  engine->device = device;
  engine->is_double = precision == RPINN_PRECISION_DOUBLE;
  engine->is_tf32 = precision == RPINN_PRECISION_TF32;
  engine->real_size = engine->is_double ? sizeof(double) : sizeof(float);
  RpinnStatus status = fill(context, engine);
  if (status == RPINN_OK)
    *backend = &engine->base;
  else
    destroy(&engine->base);
  return status;
}
