/* A saved state (saved_state.h) belongs to all options and to the number of parameters; its fields are those of one start after the
 * other: counts, phi, moments, the sum over the window, windows. */
#include <string.h>

#include "saved_state.h"
#include "variational_fit.h"

typedef struct Owner {
  uint64_t num_parameters, family, rank, num_starts, num_pairs, max_iterations, window, num_halvings,
      num_final_pairs, total_gradient, seed;
  double first_deviation;
  RpinnAdamRule rule;
} Owner;

static const RpinnStateForm form = {.name = "variational state",
                                    .magic = 0x72706e6e76617269, /* "rpnnvari" */
                                    .version = 1,
                                    .owner_size = sizeof(Owner)};

/* Only a restore writes to the fields; there windows are read as far as there is room for them. */
static void transfer_climb(const RpinnVariational *fit, RpinnVariationalClimb *climb,
                           RpinnStateCursor *cursor) {
  rpinn_state_field(cursor, &climb->counts, sizeof climb->counts);
  rpinn_state_numbers(cursor, climb->q.phi, fit->size);
  rpinn_state_numbers(cursor, climb->m, fit->size);
  rpinn_state_numbers(cursor, climb->v, fit->size);
  rpinn_state_numbers(cursor, climb->sum, fit->size);
}

static void transfer_windows(RpinnVariationalClimb *climb, RpinnStateCursor *cursor) {
  if (climb->counts.num_windows)
    rpinn_state_field(cursor, climb->windows, (size_t)climb->counts.num_windows * sizeof *climb->windows);
}

/* The vectors of all starts first, so that the numbers of windows are known before the windows. */
static size_t measure_vectors(const RpinnVariational *fit) {
  RpinnStateCursor cursor = {.use = RPINN_STATE_MEASURE};
  for (size_t k = 0; k < fit->options.num_starts; k++) transfer_climb(fit, &fit->climbs[k], &cursor);
  return cursor.position;
}

size_t rpinn_variational_state_size(const RpinnVariational *fit) {
  RpinnStateCursor cursor = {.use = RPINN_STATE_MEASURE, .position = measure_vectors(fit)};
  for (size_t k = 0; k < fit->options.num_starts; k++) transfer_windows(&fit->climbs[k], &cursor);
  return rpinn_state_size(&form, cursor.position);
}

static Owner owner_of(const RpinnVariational *fit) {
  const RpinnVariationalOptions *options = &fit->options;
  return (Owner){fit->N,
                 options->family,
                 options->rank,
                 options->num_starts,
                 options->num_pairs,
                 options->max_iterations,
                 options->window,
                 options->num_halvings,
                 options->num_final_pairs,
                 options->total_gradient,
                 options->seed,
                 options->first_deviation,
                 options->rule};
}

void rpinn_variational_save(const RpinnVariational *fit, void *buffer) {
  Owner owner = owner_of(fit);
  RpinnStateCursor cursor = rpinn_state_begin(&form, &owner, buffer, rpinn_variational_state_size(fit));
  for (size_t k = 0; k < fit->options.num_starts; k++) transfer_climb(fit, &fit->climbs[k], &cursor);
  for (size_t k = 0; k < fit->options.num_starts; k++) transfer_windows(&fit->climbs[k], &cursor);
  rpinn_state_end(&cursor);
}

/* How many windows the starts have together, from counts that were read without looking whether there is so much behind them. */
static RpinnStatus restore_windows(RpinnContext *context, RpinnVariational *fit, RpinnStateCursor *cursor,
                                   size_t left) {
  size_t room = left / sizeof(RpinnVariationalWindow);
  for (size_t k = 0; k < fit->options.num_starts; k++) {
    RpinnVariationalClimb *climb = &fit->climbs[k];
    if (climb->counts.num_windows > room) {
      climb->counts.num_windows = 0;
      return rpinn_fail(context, RPINN_ERROR_INPUT, "the saved variational state is damaged");
    }
    room -= (size_t)climb->counts.num_windows;
    RPINN_TRY(rpinn_variational_grow(context, climb, (size_t)climb->counts.num_windows));
    transfer_windows(climb, cursor);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_variational_restore(RpinnContext *context, RpinnVariational *fit, const void *buffer,
                                      size_t size) {
  Owner expected = owner_of(fit), found;
  RpinnStateCursor cursor;
  size_t vectors = measure_vectors(fit), least = rpinn_state_size(&form, vectors);
  RPINN_TRY(rpinn_state_header(context, &form, buffer, size, &found));
  if (found.num_parameters != expected.num_parameters || found.num_starts != expected.num_starts)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the variational state has %llu starts of %llu parameters, expected %zu of %zu",
                      (unsigned long long)found.num_starts, (unsigned long long)found.num_parameters,
                      fit->options.num_starts, fit->N);
  if (memcmp(&found, &expected, sizeof found) != 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the variational state was saved with other options");
  fit->started = false;
  RPINN_TRY(rpinn_state_open(context, &form, buffer, size, size < least ? least : size, &cursor));
  for (size_t k = 0; k < fit->options.num_starts; k++) transfer_climb(fit, &fit->climbs[k], &cursor);
  RPINN_TRY(restore_windows(context, fit, &cursor, size - least));
  for (size_t k = 0; k < fit->options.num_starts; k++) rpinn_variational_gaussian_settle(&fit->climbs[k].q);
  fit->started = true;
  return RPINN_OK;
}
