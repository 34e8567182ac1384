#include "member_slots.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "unknown_noise.h"

/* ---- what sets members apart ---- */

/* Do slots have priors of their own? */
static bool has_own_priors(const RpinnPosterior *posterior) {
  return posterior->sigmas.integrates || posterior->sigmas.start > 0;
}

/* 1/s of all rows [M] with noise eta [K]. */
static void scale_rows(const RpinnPosterior *posterior, const double *eta, double *scales) {
  const RpinnEnergyModel *model = &posterior->model;
  memcpy(scales, model->row_scale, model->num_rows * sizeof *scales);
  for (size_t k = 0; k < posterior->num_noises; k++) {
    const RpinnNoiseLevel *noise = &posterior->noises[k];
    double scale = 1 / exp(eta[k]);
    size_t first = 0;
    for (size_t t = 0; t < noise->term; t++) first += model->terms[t].num_rows;
    for (size_t i = 0; i < model->terms[noise->term].num_rows; i++) scales[first + i] = scale;
  }
}

void rpinn_member_slot_take_noise(RpinnMemberSlots *slots, size_t slot, const double *eta) {
  RpinnMemberSlot *own = &slots->slots[slot];
  memmove(own->eta, eta, slots->posterior->num_noises * sizeof *eta);
  if (own->row_scale) scale_rows(slots->posterior, eta, own->row_scale);
}

void rpinn_member_slot_take_scale(RpinnMemberSlots *slots, size_t slot, double scale) {
  const RpinnEnergyModel *model = &slots->posterior->model;
  double *root = slots->slots[slot].prior_root;
  if (!root) return;
  memcpy(root, model->prior_root, model->num_parameters * sizeof *root);
  rpinn_posterior_network_roots(slots->posterior, scale, root);
}

void rpinn_member_slot_clear(RpinnMemberSlots *slots, size_t slot) {
  slots->slots[slot].has_offsets = false;
  rpinn_member_slot_take_noise(slots, slot, slots->posterior->eta);
  rpinn_member_slot_take_scale(slots, slot, slots->posterior->sigmas.prior);
}

/* ---- targets ---- */

/* The batch of a call: members are slots. thetas NULL: Adam brings them. */
static RpinnMemberBatch batch_of(RpinnMemberSlots *slots, size_t count, const size_t *members,
                                 const double *const *thetas) {
  for (size_t k = 0; k < count; k++) {
    const RpinnMemberSlot *slot = &slots->slots[members[k]];
    slots->members[k] = (RpinnBatchMember){.theta = thetas ? thetas[k] : NULL,
                                           .offsets = slot->has_offsets ? slot->offsets : NULL,
                                           .row_scale = slot->row_scale,
                                           .prior_root = slot->prior_root};
  }
  return (RpinnMemberBatch){.num_members = count, .members = slots->members};
}

static RpinnStatus evaluate(RpinnContext *context, void *data, size_t count, const size_t *members,
                            const double *const *thetas, double *values, double *const *gradients) {
  RpinnMemberSlots *slots = data;
  RpinnMemberBatch batch = batch_of(slots, count, members, thetas);
  return rpinn_backend_energies(context, slots->backend, &batch, values, gradients, NULL);
}

static RpinnStatus evaluate_parts(RpinnContext *context, void *data, size_t count, const size_t *members,
                                  const double *const *thetas, double *values, double *const *gradients,
                                  double *const *parts) {
  RpinnMemberSlots *slots = data;
  RpinnMemberBatch batch = batch_of(slots, count, members, thetas);
  return rpinn_backend_energies(context, slots->backend, &batch, values, gradients, parts);
}

static RpinnStatus adam_advance(RpinnContext *context, void *data, size_t count, const size_t *members,
                                const RpinnAdamRule *rule, RpinnAdamState *const *states, size_t num_steps,
                                double *values) {
  RpinnMemberSlots *slots = data;
  RpinnMemberBatch batch = batch_of(slots, count, members, NULL);
  return rpinn_backend_adam_advance(context, slots->backend, &batch, rule, states, num_steps, values);
}

static const double *prior_root(void *data, size_t member) {
  const RpinnMemberSlots *slots = data;
  const double *own = slots->slots[member].prior_root;
  return own ? own : slots->posterior->model.prior_root;
}

static RpinnStatus residuals(RpinnContext *context, void *data, size_t count, const size_t *members,
                             const double *const *thetas, const double *const *inputs, double *const *rows,
                             double *const *outputs) {
  RpinnMemberSlots *slots = data;
  RpinnMemberBatch batch = batch_of(slots, count, members, thetas);
  (void)inputs, (void)outputs;
  return rpinn_backend_residuals(context, slots->backend, &batch, rows, NULL);
}

static RpinnStatus jacobian(RpinnContext *context, void *data, size_t count, const size_t *members,
                            const double *const *thetas, const double *const *inputs, double *const *rows,
                            double *const *outputs) {
  RpinnMemberSlots *slots = data;
  RpinnMemberBatch batch = batch_of(slots, count, members, thetas);
  (void)inputs;
  return rpinn_backend_residuals(context, slots->backend, &batch, rows, outputs);
}

static RpinnStatus times(RpinnContext *context, void *data, size_t count, const size_t *members,
                         const double *const *thetas, const double *const *inputs, double *const *rows,
                         double *const *outputs) {
  RpinnMemberSlots *slots = data;
  RpinnMemberBatch batch = batch_of(slots, count, members, thetas);
  (void)rows;
  return rpinn_backend_jacobian_times(context, slots->backend, &batch, inputs, outputs);
}

static RpinnStatus transposed(RpinnContext *context, void *data, size_t count, const size_t *members,
                              const double *const *thetas, const double *const *inputs, double *const *rows,
                              double *const *outputs) {
  RpinnMemberSlots *slots = data;
  RpinnMemberBatch batch = batch_of(slots, count, members, thetas);
  (void)rows;
  return rpinn_backend_transposed_times(context, slots->backend, &batch, inputs, outputs);
}

static RpinnStatus gram(RpinnContext *context, void *data, size_t count, const size_t *members,
                        const double *const *thetas, const double *const *inputs, double *const *rows,
                        double *const *outputs) {
  RpinnMemberSlots *slots = data;
  RpinnMemberBatch batch = batch_of(slots, count, members, thetas);
  return rpinn_backend_gram(context, slots->backend, &batch, inputs, rows, outputs);
}

static RpinnStatus damped_steps(RpinnContext *context, void *data, size_t count, const size_t *members,
                                const double *const *thetas, RpinnDampedStep *const *steps) {
  RpinnMemberSlots *slots = data;
  RpinnBackend *backend = slots->backend;
  RpinnMemberBatch batch = batch_of(slots, count, members, thetas);
  return backend->operations->damped_steps(context, backend, &batch, steps);
}

/* ---- the joint energy of theta and eta ---- */

/* members: where slots have priors of their own, the slots whose priors they have; NULL: the posterior's. Elsewhere they may be any numbers,
 * such as those of particles. */
static RpinnStatus joint_energies(RpinnContext *context, RpinnMemberSlots *slots, size_t count,
                                  const size_t *members, const double *const *thetas, double *values,
                                  double *const *gradients, double *const *parts) {
  size_t N = slots->posterior->model.num_parameters;
  bool has_priors = members && has_own_priors(slots->posterior);
  for (size_t k = 0; k < count; k++) {
    slots->members[k] = (RpinnBatchMember){
        .theta = thetas[k], .prior_root = has_priors ? slots->slots[members[k]].prior_root : NULL};
    if (!slots->row_scales) continue;
    scale_rows(slots->posterior, thetas[k] + N, slots->row_scales[k]);
    slots->members[k].row_scale = slots->row_scales[k];
  }
  RpinnMemberBatch batch = {.num_members = count, .members = slots->members};
  return rpinn_backend_energies(context, slots->backend, &batch, values, gradients, parts);
}

static RpinnStatus evaluate_jointly(RpinnContext *context, void *data, size_t count, const size_t *members,
                                    const double *const *thetas, double *values, double *const *gradients) {
  RpinnMemberSlots *slots = data;
  const RpinnPosterior *posterior = slots->posterior;
  size_t N = posterior->model.num_parameters;
  RPINN_TRY(joint_energies(context, slots, count, members, thetas, values, gradients,
                           slots->row_scales ? slots->part_energies : NULL));
  for (size_t k = 0; slots->row_scales && k < count; k++) {
    double *slopes = gradients && gradients[k] ? gradients[k] + N : NULL;
    values[k] += rpinn_noise_energy(posterior, thetas[k] + N, slopes);
    for (size_t i = 0; slopes && i < posterior->num_noises; i++)
      slopes[i] -= 2 * slots->part_energies[k][posterior->noises[i].term];
  }
  return RPINN_OK;
}

/* Of the density, whose data are the joint energy. */
static RpinnStatus move_particles(RpinnContext *context, void *data, RpinnParticleMoves *moves) {
  const RpinnMemberSlots *slots = ((const RpinnBatchObjective *)data)->data;
  RpinnBackend *backend = slots->backend;
  return backend->operations->move_particles(context, backend, moves);
}

/* Transitions under - E, where eta is not among the parameters. */
static RpinnStatus transitions(RpinnContext *context, void *data, size_t count, const size_t *members,
                               RpinnWholeTransition *const *all) {
  RpinnMemberSlots *slots = ((const RpinnBatchObjective *)data)->data;
  RpinnBackend *backend = slots->backend;
  for (size_t k = 0; k < count; k++)
    slots->members[k] = (RpinnBatchMember){.prior_root = slots->slots[members[k]].prior_root};
  RpinnMemberBatch batch = {.num_members = count, .members = slots->members};
  return backend->operations->transitions(context, backend, &batch, all);
}

static RpinnBackend *backend_of(void *data) {
  return ((const RpinnMemberSlots *)((const RpinnBatchObjective *)data)->data)->backend;
}

static RpinnStatus lend_vector(RpinnContext *context, void *data, double **vector) {
  RpinnBackend *backend = backend_of(data);
  return backend->operations->lend_vector(context, backend, vector);
}

static void return_vector(void *data, double *vector) {
  RpinnBackend *backend = backend_of(data);
  backend->operations->return_vector(backend, vector);
}

RpinnStatus rpinn_member_slots_draw_energy(RpinnContext *context, RpinnMemberSlots *slots,
                                           const double *theta, double *energy, double *parts,
                                           double *gradient) {
  return joint_energies(context, slots, 1, NULL, &theta, energy, &gradient, &parts);
}

/* ---- life ---- */

/* count vectors of `length` numbers each; NULL: no memory. */
static double **vectors(RpinnArena *arena, size_t count, size_t length) {
  double **all = RPINN_ARENA_NEW(arena, double *, count);
  double *numbers = RPINN_ARENA_NEW(arena, double, count *length + 1);
  if (!all || !numbers) return NULL;
  for (size_t k = 0; k < count; k++) all[k] = numbers + k * length;
  return all;
}

/* Everything but the targets; false: no memory. */
static bool allocate(RpinnMemberSlots *slots) {
  const RpinnPosterior *posterior = slots->posterior;
  size_t M = posterior->model.num_rows, N = posterior->model.num_parameters, count = slots->count;
  RpinnArena *arena = posterior->arena;
  bool has_noises = posterior->num_noises > 0;
  slots->twin = RPINN_ARENA_NEW(arena, RpinnMemberSlots, 1);
  slots->slots = RPINN_ARENA_NEW(arena, RpinnMemberSlot, count);
  slots->members = RPINN_ARENA_NEW(arena, RpinnBatchMember, count);
  slots->part_energies = vectors(arena, count, posterior->model.num_terms + 1);
  slots->row_scales = has_noises ? vectors(arena, count, M) : NULL;
  double **offsets = vectors(arena, count, M + N), **etas = vectors(arena, count, posterior->num_noises);
  double **own_scales = has_noises ? vectors(arena, count, M) : NULL;
  bool has_priors = has_own_priors(posterior);
  double **roots = has_priors ? vectors(arena, count, N) : NULL;
  if (!slots->twin || !slots->slots || !slots->members || !slots->part_energies || !offsets || !etas ||
      (has_noises && !(slots->row_scales && own_scales)) || (has_priors && !roots))
    return false;
  for (size_t k = 0; k < count; k++)
    slots->slots[k] = (RpinnMemberSlot){.offsets = offsets[k],
                                        .eta = etas[k],
                                        .row_scale = own_scales ? own_scales[k] : NULL,
                                        .prior_root = roots ? roots[k] : NULL};
  return true;
}

/* A device moves theta alone, and all particles under one prior. */
static void find_host_work(RpinnMemberSlots *slots) {
  const RpinnBackendOperations *operations = slots->backend->operations;
  const char *noise = slots->row_scales ? "the noise is among the unknowns" : NULL;
  slots->host_chains = operations->transitions ? noise : operations->no_transitions;
  if (!operations->move_particles) return;
  slots->host_particles = noise;
  if (!noise && has_own_priors(slots->posterior)) slots->host_particles = "members have priors of their own";
}

static void make_targets(RpinnMemberSlots *slots) {
  const RpinnPosterior *posterior = slots->posterior;
  const RpinnEnergyModel *model = &posterior->model;
  const RpinnBackendOperations *operations = slots->backend->operations;
  slots->objective = (RpinnBatchObjective){
      .num_parameters = model->num_parameters,
      .group = slots->backend->group,
      .data = slots,
      .evaluate = evaluate,
      .adam_advance = operations->adam_advance ? adam_advance : NULL,
      .num_parts = model->num_terms + 1,
      .evaluate_parts = evaluate_parts,
      .epsilon = slots->precision == RPINN_PRECISION_DOUBLE ? DBL_EPSILON : (double)FLT_EPSILON};
  slots->squares =
      (RpinnBatchLeastSquares){.num_parameters = model->num_parameters,
                               .num_rows = model->num_rows,
                               .group = slots->backend->group,
                               .prior_mean = model->prior_mean,
                               .data = slots,
                               .prior_root = prior_root,
                               .residuals = residuals,
                               .jacobian = jacobian,
                               .jacobian_times = operations->jacobian_times ? times : NULL,
                               .transposed_times = operations->transposed_times ? transposed : NULL,
                               .gram = operations->gram ? gram : NULL,
                               .damped_steps = operations->damped_steps ? damped_steps : NULL};
  slots->joint = slots->objective;
  slots->joint.num_parameters = rpinn_posterior_num_drawn(posterior);
  slots->joint.evaluate = evaluate_jointly;
  slots->joint.adam_advance = NULL;
  slots->joint.evaluate_parts = NULL;
  slots->density = rpinn_log_density_of_batch(&slots->joint);
  find_host_work(slots);
  if (operations->move_particles && !slots->host_particles) slots->density.move_particles = move_particles;
  if (!operations->transitions || slots->host_chains) return;
  slots->density.transitions = transitions;
  if (!operations->lend_vector) return;
  slots->density.lend_vector = lend_vector;
  slots->density.return_vector = return_vector;
}

RpinnStatus rpinn_member_slots_create(RpinnContext *context, RpinnPosterior *posterior,
                                      RpinnMemberSlots **slots) {
  RpinnMemberSlots *created = *slots = RPINN_ARENA_NEW(posterior->arena, RpinnMemberSlots, 1);
  if (!created) return rpinn_fail_memory(context);
  created->posterior = posterior;
  created->backend = posterior->backend;
  created->precision = posterior->precision;
  created->count = posterior->backend->group;
  if (!allocate(created)) return rpinn_fail_memory(context);
  for (size_t k = 0; k < created->count; k++) rpinn_member_slot_clear(created, k);
  make_targets(created);
  return RPINN_OK;
}

/* The backend in double is `cpu` whatever the posterior's is: few members need it, and a device has its memory full of the others. */
RpinnStatus rpinn_member_slots_open_double(RpinnContext *context, RpinnMemberSlots *slots,
                                           const RpinnMemberSlots **in_double) {
  RpinnPosterior *posterior = slots->posterior;
  RpinnMemberSlots *twin = slots->twin;
  *in_double = NULL;
  if (!posterior->double_backend)
    RPINN_TRY(rpinn_backend_in_place_of(&rpinn_cpu_backend)
                  ->create(context, &posterior->model, RPINN_PRECISION_DOUBLE, &posterior->double_backend));
  if (!twin->backend) {
    *twin = *slots;
    twin->twin = NULL;
    twin->backend = posterior->double_backend;
    twin->precision = RPINN_PRECISION_DOUBLE;
    make_targets(twin);
  }
  *in_double = twin;
  return RPINN_OK;
}
