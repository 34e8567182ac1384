/* Transitions of NUTS on the device.
 *
 * A chain keeps its seat, with position, gradient and metric, from one transition to the next; what the host has of it is complete, though, so
 * that a chain whose seat was given to another one is brought there anew, and begins the transition under way again: its random numbers are
 * those of its key, and the bits the same. A launch ends when enough chains have finished, or after about half a second; the others stay where
 * they are. When that happens leaves no mark on the bits.
 *
 * Nothing but orders is copied for a launch: theta and gradient of a chain are in memory of the host that the kernel writes to (cuda_loans.c), as
 * outcomes are. Those who finish write theirs while the others go on. */
#include <stdlib.h>
#include <string.h>

#include "cuda_engine.h"
#include "steady_clock.h"

static const double launch_seconds = 0.5;
enum {
  MOST_STEPS = 1000, /* of a launch … */
  GROWTH = 16,       /* … and from a launch to the next, at most */
  ENOUGH_SHARE = 8,  /* of the chains have finished: the launch ends */
  LEAST_STEPS = 8    /* that a chain makes all the same */
};

typedef struct Seat {
  uint64_t ticket; /* of the chain that has it; 0: nobody */
  uint64_t key;    /* of its transition … */
  bool is_under_way;
  bool has_own_prior;
  uint64_t called; /* the last call it was part of */
} Seat;

struct RpinnCudaSeats {
  size_t count, max_depth;
  Seat *seats; /* [count] */
  uint64_t num_tickets, num_calls;
  RpinnChainOutcome *outcomes; /* [num_outcomes], of the host */
  size_t num_outcomes;
  double step_seconds; /* of a leapfrog of all chains of a launch, as last seen; 0: none was made … */
  size_t step_chains, last_steps; /* … of that launch */
};

void rpinn_cuda_seats_destroy(RpinnDevice *device, RpinnCudaSeats *seats) {
  if (!seats) return;
  device->operations->release_host(device, seats->outcomes);
  free(seats->seats);
  free(seats);
}

/* What one call is about. */
typedef struct Wanted {
  RpinnWholeTransition *const *transitions;
  size_t count, max_depth;
} Wanted;

/* ---- memory ---- */

static size_t vectors_of(const Wanted *wanted) {
  return (size_t)rpinn_chain_num_vectors((int64_t)wanted->max_depth);
}

/* Bytes of a chain: of its seat, and of its place in a launch. */
static size_t bytes_of_chain(const RpinnCudaEngine *engine, const Wanted *wanted) {
  size_t doubles = RPINN_CHAIN_NUM_POSITIONS + 2, floats = vectors_of(wanted);
  return engine->layout.size * (doubles * sizeof(double) + floats * sizeof(float) + sizeof(uint16_t)) +
         sizeof(RpinnChainRecord) + sizeof(RpinnChainOrder);
}

static RpinnStatus put_model_tables(RpinnContext *context, RpinnCudaEngine *engine);

/* Seats for the chains of a slice, and for more that may come, as far as there is memory for them. Those that there are stay, where they are
 * enough. */
static RpinnStatus reserve_seats(RpinnContext *context, RpinnCudaEngine *engine, const Wanted *wanted,
                                 const RpinnCudaSlice *slice) {
  RpinnCudaSeats *seats = engine->seats;
  size_t size = engine->layout.size, count = slice->count, room = 1;
  if (!seats) seats = engine->seats = calloc(1, sizeof *seats);
  if (!seats) return rpinn_fail_memory(context);
  if (engine->buffers[RPINN_BUFFER_CHAIN_ROW_NUMBERS].memory && count <= seats->count &&
      wanted->max_depth <= seats->max_depth)
    return RPINN_OK;
  while (room < count) room *= 2;
  if (room > slice->most) room = slice->most;
  free(seats->seats);
  seats->count = 0;
  seats->seats = calloc(room, sizeof *seats->seats);
  seats->max_depth = wanted->max_depth;
  if (!seats->seats) return rpinn_fail_memory(context);
  const struct {
    RpinnDeviceBuffer buffer;
    size_t bytes;
  } all[] = {{RPINN_BUFFER_CHAIN_POSITIONS, room * RPINN_CHAIN_NUM_POSITIONS * size * sizeof(double)},
             {RPINN_BUFFER_CHAIN_VECTORS, room * vectors_of(wanted) * size * sizeof(float)},
             {RPINN_BUFFER_CHAIN_RECORDS, room * sizeof(RpinnChainRecord)},
             {RPINN_BUFFER_CHAIN_PARAMETERS, engine->layout.num_parameters * sizeof(int32_t)},
             {RPINN_BUFFER_CHAIN_PLACES, size * sizeof(uint16_t)},
             {RPINN_BUFFER_CHAIN_ROWS, (room + 1) * 2 * size * sizeof(double)},
             {RPINN_BUFFER_CHAIN_ROW_NUMBERS, (room + 1) * size * sizeof(uint16_t)}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    void *memory;
    RPINN_TRY(rpinn_cuda_reserve(context, engine, all[i].buffer, all[i].bytes, &memory));
  }
  seats->count = room;
  return put_model_tables(context, engine);
}

/* Room of the host for what is known of so many chains. */
static RpinnStatus reserve_outcomes(RpinnContext *context, RpinnCudaEngine *engine, size_t count) {
  RpinnCudaSeats *seats = engine->seats;
  if (count <= seats->num_outcomes) return RPINN_OK;
  engine->device->operations->release_host(engine->device, seats->outcomes);
  seats->outcomes = NULL;
  seats->num_outcomes = 0;
  RPINN_TRY(engine->device->operations->allocate_host(
      context, engine->device, count * sizeof *seats->outcomes, (void **)&seats->outcomes));
  seats->num_outcomes = count;
  return RPINN_OK;
}

/* Arrays of a launch. Behind the orders is the count of those who have finished, so that one copy sets both. */
static RpinnStatus reserve_places(RpinnContext *context, RpinnCudaEngine *engine, size_t count,
                                  RpinnDeviceChains *chains) {
  void *memory;
  RPINN_TRY(rpinn_cuda_reserve(context, engine, RPINN_BUFFER_CHAIN_ORDERS,
                               (count + 1) * sizeof(RpinnChainOrder), &memory));
  RPINN_TRY(reserve_outcomes(context, engine, count));
  RpinnChainOrder *orders = memory;
  chains->orders = orders;
  chains->num_finished = (int32_t *)(void *)(orders + count);
  chains->outcomes = engine->seats->outcomes;
  chains->positions = engine->buffers[RPINN_BUFFER_CHAIN_POSITIONS].memory;
  chains->vectors = engine->buffers[RPINN_BUFFER_CHAIN_VECTORS].memory;
  chains->rows = engine->buffers[RPINN_BUFFER_CHAIN_ROWS].memory;
  chains->row_numbers = engine->buffers[RPINN_BUFFER_CHAIN_ROW_NUMBERS].memory;
  chains->shared_places = engine->buffers[RPINN_BUFFER_CHAIN_PLACES].memory;
  chains->records = engine->buffers[RPINN_BUFFER_CHAIN_RECORDS].memory;
  chains->parameters = engine->buffers[RPINN_BUFFER_CHAIN_PARAMETERS].memory;
  chains->num_parameters = (int64_t)engine->layout.num_parameters;
  chains->vectors_of_seat = rpinn_chain_num_vectors((int64_t)engine->seats->max_depth);
  return RPINN_OK;
}

/* ---- chains to their seats ---- */

/* Rows that differ, of a prior: no more than parameters, which all have a place in shared memory, and that of none, so that their numbers
 * are below 2^16. As padding belongs to none, there is room for them where there is room for the layout. */
typedef struct DifferentRows {
  double (*rows)[2]; /* [count] root and shift */
  size_t count;
} DifferentRows;

/* The number of a row. Parameters that share theirs with others, layer by layer, find it among the last ones. */
static uint16_t number_of_row(DifferentRows *all, double root, double shift) {
  enum { LOOKS_BACK = 16 };
  size_t last = all->count, first = last > LOOKS_BACK ? last - LOOKS_BACK : 0;
  for (size_t i = first; i < last; i++)
    if (all->rows[i][0] == root && all->rows[i][1] == shift) return (uint16_t)i;
  all->rows[last][0] = root;
  all->rows[last][1] = shift;
  all->count++;
  return (uint16_t)last;
}

/* Rows of the prior are root theta - shift; what belongs to no parameter, or has no prior, has zeros. Number 0 is the model's, the others are
 * those of seats. */
static RpinnStatus put_prior(RpinnContext *context, RpinnCudaEngine *engine, const RpinnBatchMember *member,
                             size_t number) {
  const RpinnEnergyModel *model = engine->base.model;
  const RpinnDeviceOperations *device = engine->device->operations;
  size_t size = engine->layout.size;
  const double *offsets = member->offsets ? member->offsets + model->num_rows : NULL;
  char *staged;
  RPINN_TRY(
      rpinn_cuda_stage(context, engine, size * (2 * sizeof(double) + sizeof(uint16_t)), (void **)&staged));
  DifferentRows all = {.rows = (double(*)[2])(void *)staged};
  uint16_t *numbers = (uint16_t *)(void *)(staged + 2 * size * sizeof(double));
  uint16_t none = number_of_row(&all, 0, 0);
  for (size_t i = 0; i < size; i++) numbers[i] = none;
  for (size_t j = 0; j < model->num_parameters; j++) {
    double root = member->prior_root[j];
    if (root > 0)
      numbers[engine->layout.place[j]] =
          number_of_row(&all, root, root * model->prior_mean[j] + (offsets ? offsets[j] : 0));
  }
  double *rows = engine->buffers[RPINN_BUFFER_CHAIN_ROWS].memory;
  uint16_t *row_numbers = engine->buffers[RPINN_BUFFER_CHAIN_ROW_NUMBERS].memory;
  RPINN_TRY(device->write(context, engine->device, rows + number * 2 * size, all.rows,
                          all.count * sizeof *all.rows));
  return device->write(context, engine->device, row_numbers + number * size, numbers, size * sizeof *numbers);
}

/* What all chains share: the model's prior, and where parameters are; where in shared memory, kernels find out. */
static RpinnStatus put_model_tables(RpinnContext *context, RpinnCudaEngine *engine) {
  size_t bytes = engine->layout.num_parameters * sizeof(int32_t),
         size_of_places = engine->layout.size * sizeof(uint16_t);
  int32_t *staged;
  uint16_t *nowhere;
  RPINN_TRY(rpinn_cuda_stage(context, engine, bytes, (void **)&staged));
  for (size_t j = 0; j < engine->layout.num_parameters; j++) staged[j] = (int32_t)engine->layout.place[j];
  RPINN_TRY(engine->device->operations->write(
      context, engine->device, engine->buffers[RPINN_BUFFER_CHAIN_PARAMETERS].memory, staged, bytes));
  RPINN_TRY(rpinn_cuda_stage(context, engine, size_of_places, (void **)&nowhere));
  for (size_t i = 0; i < engine->layout.size; i++) nowhere[i] = RPINN_CHAIN_NOWHERE;
  RPINN_TRY(engine->device->operations->write(
      context, engine->device, engine->buffers[RPINN_BUFFER_CHAIN_PLACES].memory, nowhere, size_of_places));
  return put_prior(context, engine, &(RpinnBatchMember){.prior_root = engine->base.model->prior_root}, 0);
}

/* Position, gradient and metric of a chain. */
static RpinnStatus put_chain(RpinnContext *context, RpinnCudaEngine *engine,
                             const RpinnWholeTransition *transition, size_t seat) {
  const RpinnParameterLayout *layout = &engine->layout;
  size_t size = layout->size, vectors = (size_t)rpinn_chain_num_vectors((int64_t)engine->seats->max_depth);
  double *positions = engine->buffers[RPINN_BUFFER_CHAIN_POSITIONS].memory, *position;
  float *all = engine->buffers[RPINN_BUFFER_CHAIN_VECTORS].memory, *pair;
  RPINN_TRY(rpinn_cuda_stage(context, engine, size * sizeof *position, (void **)&position));
  rpinn_layout_pack(layout, true, transition->theta, layout->frozen, position);
  RPINN_TRY(engine->device->operations->write(
      context, engine->device, positions + (seat * RPINN_CHAIN_NUM_POSITIONS + RPINN_CHAIN_PROPOSED) * size,
      position, size * sizeof *position));
  RPINN_TRY(rpinn_cuda_stage(context, engine, 2 * size * sizeof *pair, (void **)&pair));
  memset(pair, 0, size * sizeof *pair);
  for (size_t j = 0; j < layout->num_parameters; j++)
    pair[layout->place[j]] = transition->inverse_metric ? (float)transition->inverse_metric[j] : 1;
  rpinn_layout_pack(layout, false, transition->gradient, NULL, pair + size);
  return engine->device->operations->write(context, engine->device,
                                           all + (seat * vectors + RPINN_CHAIN_INVERSE) * size, pair,
                                           2 * size * sizeof *pair);
}

/* The seat that nobody of this call has and that was used the longest time ago. */
static size_t find_seat(const RpinnCudaSeats *seats) {
  size_t found = 0;
  for (size_t i = 1; i < seats->count; i++)
    if (seats->seats[i].called < seats->seats[found].called) found = i;
  return found;
}

static bool has_seat(const RpinnCudaSeats *seats, const RpinnWholeTransition *transition) {
  return transition->ticket && transition->seat < seats->count &&
         seats->seats[transition->seat].ticket == transition->ticket;
}

/* Everyone to a seat: first those who have one. *takes_over: a transition under way has lost its seat, and will begin again. */
static RpinnStatus seat_chains(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                               const Wanted *wanted, RpinnChainOrder *orders, bool *takes_over) {
  RpinnCudaSeats *seats = engine->seats;
  RpinnWholeTransition *const *transitions = wanted->transitions + slice->first;
  *takes_over = false;
  seats->num_calls++;
  for (size_t k = 0; k < slice->count; k++)
    if (has_seat(seats, transitions[k])) seats->seats[transitions[k]->seat].called = seats->num_calls;
  for (size_t k = 0; k < slice->count; k++) {
    RpinnWholeTransition *own = transitions[k];
    const RpinnBatchMember *member = &slice->members[k];
    bool is_new = !has_seat(seats, own),
         has_own_prior = member->prior_root != engine->base.model->prior_root || member->offsets;
    if (is_new) {
      own->seat = find_seat(seats);
      *takes_over |= seats->seats[own->seat].is_under_way;
      seats->seats[own->seat] = (Seat){.ticket = ++seats->num_tickets, .called = seats->num_calls};
      own->ticket = seats->num_tickets;
      RPINN_TRY(put_chain(context, engine, own, own->seat));
    }
    Seat *seat = &seats->seats[own->seat];
    bool begins = !(seat->is_under_way && seat->key == own->key);
    if (begins && has_own_prior) RPINN_TRY(put_prior(context, engine, member, own->seat + 1));
    seat->is_under_way = true;
    seat->key = own->key;
    own->has_finished = false;
    orders[k] = (RpinnChainOrder){.seat = (int64_t)own->seat,
                                  .begins = begins,
                                  .is_new = is_new,
                                  .max_depth = (int32_t)own->max_depth,
                                  .turns_by_path = own->turns_by_path,
                                  .prior = has_own_prior ? (int64_t)own->seat + 1 : 0,
                                  .key = own->key,
                                  .step = own->step,
                                  .ignored = own->ignored,
                                  .max_energy_error = own->max_energy_error,
                                  .log_density = own->log_density,
                                  .theta = own->theta,
                                  .gradient = own->gradient};
  }
  return RPINN_OK;
}

/* ---- launches ---- */

static size_t steps_of_launch(const RpinnCudaSeats *seats, size_t chains) {
  double seconds = seats->step_seconds;
  if (chains > seats->step_chains) seconds *= (double)chains / (double)seats->step_chains;
  double fit = seconds > 0 ? launch_seconds / seconds : 1;
  size_t steps = fit < 1 ? 1 : fit > MOST_STEPS ? MOST_STEPS : (size_t)fit;
  return seats->last_steps && steps > GROWTH * seats->last_steps ? GROWTH * seats->last_steps : steps;
}

static RpinnStatus launch(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                          const RpinnDeviceChains *chains) {
  const RpinnWorkTables *tables = engine->fused;
  RpinnLaunch own = {.shared_bytes = tables->shared_bytes, .num_members = slice->count};
  return engine->device->operations->run_chains(context, engine->device, &own, &tables->work, &tables->fused,
                                                &slice->call, chains);
}

/* What is to be known of those that have finished. Their states are where they belong. */
static void take_outcomes(RpinnCudaSeats *seats, size_t count, RpinnChainOrder *orders,
                          RpinnWholeTransition *const *transitions) {
  for (size_t k = 0; k < count; k++) {
    const RpinnChainOutcome *outcome = &seats->outcomes[k];
    RpinnWholeTransition *own = transitions[k];
    orders[k].begins = orders[k].is_new = 0;
    if (orders[k].is_idle || !outcome->has_finished) continue;
    own->has_finished = true;
    own->log_density = outcome->log_density;
    own->energy = outcome->energy;
    own->first_energy = outcome->first_energy;
    own->max_error = outcome->max_error;
    own->acceptance_sum = outcome->acceptance_sum;
    own->depth = (unsigned)outcome->depth;
    own->num_steps = (size_t)outcome->num_steps;
    own->diverging = outcome->diverging;
    own->reached_max_depth = outcome->reached_max_depth;
    seats->seats[own->seat].is_under_way = false;
    orders[k].is_idle = 1;
  }
}

static RpinnStatus launch_once(RpinnContext *context, RpinnCudaEngine *engine, const RpinnCudaSlice *slice,
                               RpinnDeviceChains *chains, RpinnChainOrder *orders,
                               RpinnWholeTransition *const *transitions, size_t *num_left) {
  RpinnCudaSeats *seats = engine->seats;
  const RpinnDeviceOperations *device = engine->device->operations;
  size_t count = slice->count, most_made = 1, num_finished = 0;
  chains->num_steps = (int32_t)steps_of_launch(seats, *num_left);
  RPINN_TRY(
      device->write(context, engine->device, (void *)chains->orders, orders, (count + 1) * sizeof *orders));
  double start = rpinn_steady_seconds();
  RPINN_TRY(launch(context, engine, slice, chains));
  double seconds = rpinn_steady_seconds() - start;
  engine->chain_seconds += seconds;
  for (size_t k = 0; k < count; k++) {
    const RpinnChainOutcome *outcome = &seats->outcomes[k];
    if (orders[k].is_idle) continue;
    num_finished += outcome->has_finished != 0;
    if ((size_t)outcome->num_made > most_made) most_made = (size_t)outcome->num_made;
  }
  seats->step_seconds = seconds / (double)most_made;
  seats->step_chains = *num_left;
  seats->last_steps = (size_t)chains->num_steps;
  *num_left -= num_finished;
  take_outcomes(seats, count, orders, transitions);
  return RPINN_OK;
}

/* ---- calls ---- */

static RpinnStatus run_launches(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                                const Wanted *wanted, RpinnChainOrder *orders) {
  RpinnDeviceChains chains = {.least = LEAST_STEPS};
  size_t count = slice->count, num_left = count;
  bool takes_over;
  slice->call.task = RPINN_TASK_ENERGY;
  slice->call.wants_gradient = 1;
  RPINN_TRY(reserve_seats(context, engine, wanted, slice));
  RPINN_TRY(reserve_places(context, engine, count, &chains));
  RPINN_TRY(rpinn_cuda_put_offsets(context, engine, slice));
  RPINN_TRY(rpinn_cuda_clear_gradient(context, engine, slice));
  RPINN_TRY(seat_chains(context, engine, slice, wanted, orders, &takes_over));
  /* Where seats do not do for all, those who have them finish: others will need them. */
  bool to_the_end = takes_over || count < wanted->count;
  chains.enough = to_the_end ? INT32_MAX : (int32_t)((count + ENOUGH_SHARE - 1) / ENOUGH_SHARE);
  do
    RPINN_TRY(
        launch_once(context, engine, slice, &chains, orders, wanted->transitions + slice->first, &num_left));
  while (to_the_end ? num_left > 0 : num_left == count);
  return RPINN_OK;
}

static RpinnStatus run_slice(RpinnContext *context, RpinnCudaEngine *engine, RpinnCudaSlice *slice,
                             const void *wanted) {
  RpinnChainOrder *orders = calloc(slice->count + 1, sizeof *orders);
  RpinnStatus status =
      orders ? run_launches(context, engine, slice, wanted, orders) : rpinn_fail_memory(context);
  free(orders);
  return status;
}

/* Those under way first: what a launch has no time for is to be the latest work. */
static void arrange(const RpinnCudaSeats *seats, const RpinnMemberBatch *batch,
                    RpinnWholeTransition *const *transitions, RpinnBatchMember *members,
                    RpinnWholeTransition **arranged) {
  size_t count = 0;
  for (int is_late = 0; is_late < 2; is_late++)
    for (size_t k = 0; k < batch->num_members; k++) {
      bool is_under_way =
          seats && has_seat(seats, transitions[k]) && seats->seats[transitions[k]->seat].is_under_way;
      if (is_under_way == is_late) continue;
      members[count] = batch->members[k];
      arranged[count++] = transitions[k];
    }
}

/* A kernel that wrote to other memory would take the device with it. */
static RpinnStatus check_states(RpinnContext *context, const RpinnCudaEngine *engine, size_t count,
                                RpinnWholeTransition *const *transitions) {
  for (size_t k = 0; k < count; k++)
    if (!rpinn_cuda_is_lent(engine, transitions[k]->theta) ||
        !rpinn_cuda_is_lent(engine, transitions[k]->gradient))
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "backend cuda: the state of a chain is in memory that its transitions cannot be "
                        "written to; expected vectors that the target has lent");
  return RPINN_OK;
}

RpinnStatus rpinn_cuda_transitions(RpinnContext *context, RpinnBackend *backend,
                                   const RpinnMemberBatch *batch, RpinnWholeTransition *const *transitions) {
  RpinnCudaEngine *engine = (RpinnCudaEngine *)backend;
  RPINN_TRY(check_states(context, engine, batch->num_members, transitions));
  RpinnBatchMember *members = malloc((batch->num_members + 1) * sizeof *members);
  RpinnWholeTransition **arranged = malloc((batch->num_members + 1) * sizeof *arranged);
  RpinnStatus status = members && arranged ? RPINN_OK : rpinn_fail_memory(context);
  if (status == RPINN_OK) {
    Wanted wanted = {.transitions = arranged, .count = batch->num_members, .max_depth = 1};
    arrange(engine->seats, batch, transitions, members, arranged);
    for (size_t k = 0; k < batch->num_members; k++)
      if (arranged[k]->max_depth > wanted.max_depth) wanted.max_depth = arranged[k]->max_depth;
    status = rpinn_cuda_run_slices(context, engine, engine->fused,
                                   &(RpinnMemberBatch){batch->num_members, members},
                                   bytes_of_chain(engine, &wanted), run_slice, &wanted);
  }
  free(members);
  free(arranged);
  return status;
}
