/* Whole runs of Adam: theta, m and v stay on the device, in its precision, from the first iteration of a call to the last. A launch
 * makes as many iterations as take about half a second, so that no display or driver loses patience and others get their turn; how many
 * leaves no mark on the bits. */
#include <math.h>
#include <stdlib.h>

#include "cuda_engine.h"
#include "steady_clock.h"

static const double launch_seconds = 0.5, share_seconds = 0.003;
enum {
  MOST_STEPS = 1000, /* of a launch */
  GROWTH = 16,       /* from a launch to the next */
  MOST_SHARES = 16   /* of the steps of a member */
};

/* Work space of a slice. */
typedef struct AdamWork {
  double **scale, **shift; /* [count][N] of the prior */
  double *numbers;
  const double **from; /* [count] */
  double **to;
  int32_t *rows;  /* [count] which row of the steps is the member's */
  size_t *begins; /* [num_begins] iterations at which members begin, each once */
  size_t num_begins;
  RpinnDeviceAdamStep *steps; /* [num_begins][MOST_STEPS] */
  double *term_sums;
} AdamWork;

static void free_work(AdamWork *work) {
  void *parts[] = {work->scale, work->shift,  work->numbers, (void *)work->from, work->to,
                   work->rows,  work->begins, work->steps,   work->term_sums};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) free(parts[i]);
}

/* The gradient of the prior is root^2 theta - root (root mean + xi). */
static void fill_prior(const RpinnEnergyModel *model, const RpinnBatchMember *member, double *scale,
                       double *shift) {
  const double *offsets = member->offsets ? member->offsets + model->num_rows : NULL;
  for (size_t j = 0; j < model->num_parameters; j++) {
    double root = member->prior_root[j], xi = offsets && root > 0 ? offsets[j] : 0;
    scale[j] = root * root;
    shift[j] = root * (root * model->prior_mean[j] + xi);
  }
}

/* Members that begin at the same iteration share their steps. */
static void find_begins(const RpinnCudaSlice *slice, RpinnAdamState *const *states, AdamWork *work) {
  for (size_t k = 0; k < slice->count; k++) {
    size_t t = states[slice->first + k]->t, row = 0;
    while (row < work->num_begins && work->begins[row] != t) row++;
    if (row == work->num_begins) work->begins[work->num_begins++] = t;
    work->rows[k] = (int32_t)row;
  }
}

static bool make_work(const RpinnEnergyModel *model, const RpinnCudaSlice *slice,
                      RpinnAdamState *const *states, AdamWork *work) {
  size_t count = slice->count, N = model->num_parameters;
  *work = (AdamWork){.scale = calloc(count, sizeof(double *)),
                     .shift = calloc(count, sizeof(double *)),
                     .numbers = malloc((2 * count * N + 1) * sizeof(double)),
                     .from = calloc(count, sizeof(double *)),
                     .to = calloc(count, sizeof(double *)),
                     .rows = calloc(count, sizeof(int32_t)),
                     .begins = calloc(count, sizeof(size_t)),
                     .term_sums = malloc((count * model->num_terms + 1) * sizeof(double))};
  if (!work->scale || !work->shift || !work->numbers || !work->from || !work->to || !work->rows ||
      !work->begins || !work->term_sums)
    return false;
  for (size_t k = 0; k < count; k++) {
    work->scale[k] = work->numbers + 2 * k * N;
    work->shift[k] = work->scale[k] + N;
    fill_prior(model, &slice->members[k], work->scale[k], work->shift[k]);
  }
  find_begins(slice, states, work);
  work->steps = malloc(work->num_begins * MOST_STEPS * sizeof *work->steps);
  return work->steps != NULL;
}

/* ---- to the device and back ---- */

enum { STATE_THETA, STATE_M, STATE_V };

static double *part_of(const RpinnAdamState *state, int part) {
  return part == STATE_THETA ? state->theta : part == STATE_M ? state->m : state->v;
}

static RpinnStatus put_state(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                             RpinnAdamState *const *states, int part, RpinnDeviceBuffer buffer,
                             AdamWork *work, void **memory) {
  for (size_t k = 0; k < slice->count; k++) work->from[k] = part_of(states[slice->first + k], part);
  return rpinn_cuda_put_vectors(context, engine, buffer, slice->count, work->from, NULL, memory);
}

static RpinnStatus get_state(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                             RpinnAdamState *const *states, int part, RpinnDeviceBuffer buffer,
                             AdamWork *work) {
  for (size_t k = 0; k < slice->count; k++) work->to[k] = part_of(states[slice->first + k], part);
  return rpinn_cuda_get_vectors(context, engine, buffer, slice->count, work->to);
}

/* Moments and priors of the fused kernel, side by side. */
static RpinnStatus put_records(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                               RpinnAdamState *const *states, const AdamWork *work, void **memory) {
  size_t size = 4 * engine->layout.size, bytes = slice->count * size * sizeof(float);
  float *staged;
  RPINN_TRY(rpinn_cuda_stage(context, engine, bytes, (void **)&staged));
  for (size_t k = 0; k < slice->count; k++) {
    const RpinnAdamState *state = states[slice->first + k];
    const double *const vectors[4] = {state->m, state->v, work->scale[k], work->shift[k]};
    rpinn_layout_pack_records(&engine->layout, vectors, staged + k * size);
  }
  RPINN_TRY(rpinn_cuda_reserve(context, engine, RPINN_BUFFER_RECORDS, bytes, memory));
  return engine->device->operations->write(context, engine->device, *memory, staged, bytes);
}

static RpinnStatus get_records(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                               RpinnAdamState *const *states) {
  size_t size = 4 * engine->layout.size, bytes = slice->count * size * sizeof(float);
  float *staged;
  RPINN_TRY(rpinn_cuda_stage(context, engine, bytes, (void **)&staged));
  RPINN_TRY(engine->device->operations->read(context, engine->device, staged, slice->call.records, bytes));
  for (size_t k = 0; k < slice->count; k++)
    rpinn_layout_unpack_records(&engine->layout, staged + k * size, states[slice->first + k]->m,
                                states[slice->first + k]->v);
  return RPINN_OK;
}

/* Moments and priors of the other kernels, each in an array of its own. */
static RpinnStatus put_moments(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                               RpinnAdamState *const *states, AdamWork *work) {
  RpinnDeviceCall *call = &slice->call;
  RPINN_TRY(put_state(context, engine, slice, states, STATE_M, RPINN_BUFFER_M, work, &call->m));
  RPINN_TRY(put_state(context, engine, slice, states, STATE_V, RPINN_BUFFER_V, work, &call->v));
  RPINN_TRY(rpinn_cuda_put_vectors(context, engine, RPINN_BUFFER_PRIOR_SCALE, slice->count,
                                   (const double *const *)work->scale, NULL, &call->prior_scale));
  return rpinn_cuda_put_vectors(context, engine, RPINN_BUFFER_PRIOR_SHIFT, slice->count,
                                (const double *const *)work->shift, NULL, &call->prior_shift);
}

static RpinnStatus get_moments(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                               RpinnAdamState *const *states, AdamWork *work) {
  RPINN_TRY(get_state(context, engine, slice, states, STATE_M, RPINN_BUFFER_M, work));
  return get_state(context, engine, slice, states, STATE_V, RPINN_BUFFER_V, work);
}

static RpinnStatus put_all(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                           const RpinnAdamRule *rule, RpinnAdamState *const *states, AdamWork *work) {
  RpinnDeviceCall *call = &slice->call;
  size_t count = slice->count;
  call->task = RPINN_TASK_ADAM;
  call->wants_gradient = 1;
  call->beta1 = rule->beta1;
  call->beta2 = rule->beta2;
  call->epsilon = rule->epsilon;
  RPINN_TRY(rpinn_cuda_put_offsets(context, engine, slice));
  RPINN_TRY(engine->fused ? put_records(context, engine, slice, states, work, &call->records)
                          : put_moments(context, engine, slice, states, work));
  RPINN_TRY(rpinn_cuda_reserve(context, engine, RPINN_BUFFER_THETA_BEFORE,
                               count * engine->layout.size * engine->real_size, &call->theta_before));
  RPINN_TRY(engine->device->operations->clear(context, engine->device, call->theta_before,
                                              count * engine->layout.size * engine->real_size));
  RPINN_TRY(rpinn_cuda_reserve(context, engine, RPINN_BUFFER_STEP_ROW, count * sizeof(int32_t),
                               (void **)&call->step_row));
  RPINN_TRY(engine->device->operations->write(context, engine->device, (void *)call->step_row, work->rows,
                                              count * sizeof(int32_t)));
  return rpinn_cuda_clear_gradient(context, engine, slice);
}

/* ---- iterations ---- */

/* rate_t / (1 - beta1^(t+1)) and 1 / sqrt(1 - beta2^(t+1)) */
static RpinnDeviceAdamStep step_of(const RpinnAdamRule *rule, size_t t) {
  double steps = (double)(t + 1);
  double rate = rule->learning_rate * pow(rule->decay_rate, (double)t / rule->decay_steps);
  RpinnDeviceAdamStep step = {.rate = rate / (1 - pow(rule->beta1, steps)),
                              .root_scale = 1 / sqrt(1 - pow(rule->beta2, steps))};
  step.near_rate = (float)step.rate;
  step.near_root_scale = (float)step.root_scale;
  return step;
}

static size_t steps_of_launch(const RpinnCudaEngine *engine, size_t members, size_t last, size_t left) {
  double seconds = engine->step_seconds;
  if (members > engine->step_members) seconds *= (double)members / (double)engine->step_members;
  double fit = seconds > 0 ? launch_seconds / seconds : 1;
  size_t steps = fit < 1 ? 1 : fit > MOST_STEPS ? MOST_STEPS : (size_t)fit;
  if (last && steps > GROWTH * last) steps = GROWTH * last;
  return steps < left ? steps : left;
}

/* Where there are more members than blocks at a time, the last ones would leave much of the device idle. So steps fall into shares of some
 * milliseconds, to be made by one block after the other. */
static size_t shares_of_launch(const RpinnCudaEngine *engine, size_t members, size_t steps) {
  const RpinnWorkTables *tables = rpinn_cuda_member_tables(engine);
  size_t places = tables->is_fused ? engine->device->num_multiprocessors * tables->blocks : members;
  if (members <= places) return 1;
  double share = engine->step_seconds * (double)steps * (double)places / (double)members / share_seconds;
  size_t most = steps < MOST_SHARES ? steps : MOST_SHARES;
  return share < 1 ? 1 : share > (double)most ? most : (size_t)share;
}

/* Turns of the shares, none of which has begun. */
static RpinnStatus put_turns(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                             size_t steps) {
  RpinnDeviceCall *call = &slice->call;
  size_t bytes = (1 + slice->count) * sizeof *call->turns;
  call->num_shares = (int32_t)shares_of_launch(engine, slice->count, steps);
  if (call->num_shares == 1) return RPINN_OK;
  RPINN_TRY(rpinn_cuda_reserve(context, engine, RPINN_BUFFER_TURNS, bytes, (void **)&call->turns));
  return engine->device->operations->clear(context, engine->device, call->turns, bytes);
}

static RpinnStatus launch_steps(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                                const RpinnAdamRule *rule, AdamWork *work, size_t done, size_t steps) {
  RpinnDeviceCall *call = &slice->call;
  size_t bytes = work->num_begins * steps * sizeof *work->steps;
  for (size_t row = 0; row < work->num_begins; row++)
    for (size_t i = 0; i < steps; i++)
      work->steps[row * steps + i] = step_of(rule, work->begins[row] + done + i);
  call->num_steps = (int32_t)steps;
  RPINN_TRY(rpinn_cuda_reserve(context, engine, RPINN_BUFFER_STEPS, bytes, (void **)&call->steps));
  RPINN_TRY(
      engine->device->operations->write(context, engine->device, (void *)call->steps, work->steps, bytes));
  RPINN_TRY(put_turns(context, engine, slice, steps));
  double start = rpinn_steady_seconds();
  RPINN_TRY(rpinn_cuda_launch(context, engine, rpinn_cuda_member_tables(engine), slice));
  double seconds = rpinn_steady_seconds() - start;
  engine->launch_seconds += seconds;
  engine->step_seconds = seconds / (double)steps;
  engine->step_members = slice->count;
  return RPINN_OK;
}

/* The energies where the last gradient was taken. */
static RpinnStatus get_energies(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                                RpinnAdamState *const *states, AdamWork *work, double *energies) {
  const RpinnEnergyModel *model = engine->base.model;
  RPINN_TRY(engine->device->operations->read(context, engine->device, work->term_sums, slice->call.term_sums,
                                             slice->count * model->num_terms * sizeof(double)));
  RPINN_TRY(get_state(context, engine, slice, states, STATE_THETA, RPINN_BUFFER_THETA_BEFORE, work));
  for (size_t k = 0; k < slice->count; k++) {
    double *energy = &energies[slice->first + k];
    *energy = 0;
    for (size_t t = 0; t < model->num_terms; t++) *energy += 0.5 * work->term_sums[k * model->num_terms + t];
    *energy += rpinn_model_prior_energy(model, &slice->members[k], NULL);
  }
  return RPINN_OK;
}

/* What a call is to do. */
typedef struct Wanted {
  const RpinnAdamRule *rule;
  RpinnAdamState *const *states;
  size_t num_steps;
  double *energies;
} Wanted;

static RpinnStatus advance(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                           const Wanted *wanted, AdamWork *work) {
  RpinnAdamState *const *states = wanted->states;
  size_t steps = 0;
  RPINN_TRY(put_all(context, engine, slice, wanted->rule, states, work));
  for (size_t done = 0; done < wanted->num_steps; done += steps) {
    steps = steps_of_launch(engine, slice->count, steps, wanted->num_steps - done);
    RPINN_TRY(launch_steps(context, engine, slice, wanted->rule, work, done, steps));
  }
  RPINN_TRY(get_energies(context, engine, slice, states, work, wanted->energies));
  RPINN_TRY(get_state(context, engine, slice, states, STATE_THETA, RPINN_BUFFER_THETA, work));
  RPINN_TRY(engine->fused ? get_records(context, engine, slice, states)
                          : get_moments(context, engine, slice, states, work));
  for (size_t k = 0; k < slice->count; k++) states[slice->first + k]->t += wanted->num_steps;
  return RPINN_OK;
}

static RpinnStatus run_slice(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                             const void *user) {
  const Wanted *wanted = user;
  AdamWork work;
  RpinnStatus status = make_work(engine->base.model, slice, wanted->states, &work)
                           ? advance(context, engine, slice, wanted, &work)
                           : rpinn_fail_memory(context);
  free_work(&work);
  return status;
}

RpinnStatus rpinn_cuda_adam_advance(RpinnContext *context, RpinnBackend *backend,
                                    const RpinnMemberBatch *batch, const RpinnAdamRule *rule,
                                    RpinnAdamState *const *states, size_t num_steps, double *energies) {
  RpinnCudaEngine *engine = (RpinnCudaEngine *)backend;
  Wanted wanted = {rule, states, num_steps, energies};
  RpinnBatchMember *members = malloc((batch->num_members + 1) * sizeof *members);
  if (!members) return rpinn_fail_memory(context);
  for (size_t k = 0; k < batch->num_members; k++) {
    members[k] = batch->members[k];
    members[k].theta = states[k]->theta;
  }
  RpinnStatus status = rpinn_cuda_run_slices(context, engine, rpinn_cuda_member_tables(engine),
                                             &(RpinnMemberBatch){batch->num_members, members},
                                             6 * engine->layout.size * engine->real_size, run_slice, &wanted);
  free(members);
  return status;
}
