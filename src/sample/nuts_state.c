/* The saved state of a chain (saved_state.h). It belongs to a number of parameters, a number of draws and all other
 * options, bit for bit. Of symmetric matrices the lower triangle is saved. */
#include <string.h>

#include "nuts_chain.h"
#include "saved_state.h"

enum { NUM_OPTIONS = 14 };

typedef struct Owner {
  uint64_t num_parameters, num_draws;
  uint64_t options[NUM_OPTIONS];
} Owner;

static const RpinnStateForm form = {.name = "chain",
                                    .magic = 0x72706e6e2d6e7473, /* "rpnn-nts" */
                                    .version = 1,
                                    .owner_size = sizeof(Owner)};

static void pass_count(RpinnStateCursor *cursor, size_t *count) {
  uint64_t word = *count;
  rpinn_state_field(cursor, &word, sizeof word);
  if (cursor->use == RPINN_STATE_RESTORE) *count = (size_t)word;
}

static void pass_words(RpinnStateCursor *cursor, uint32_t *words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    size_t word = words[i];
    pass_count(cursor, &word);
    if (cursor->use == RPINN_STATE_RESTORE) words[i] = (uint32_t)word;
  }
}

static void pass_stream(RpinnStateCursor *cursor, RpinnStream *stream) {
  uint32_t num_words = stream->num_words, has_spare = stream->has_spare_normal != 0;
  pass_words(cursor, stream->key, 2);
  pass_words(cursor, stream->counter, 4);
  pass_words(cursor, stream->words, 4);
  pass_words(cursor, &num_words, 1);
  pass_words(cursor, &has_spare, 1);
  rpinn_state_numbers(cursor, &stream->spare_normal, 1);
  if (cursor->use != RPINN_STATE_RESTORE) return;
  stream->num_words = num_words;
  stream->has_spare_normal = has_spare != 0;
}

static void pass_matrix(RpinnStateCursor *cursor, const RpinnNutsMetric *metric, double *matrix) {
  size_t N = metric->num_parameters;
  if (metric->kind == RPINN_METRIC_DIAGONAL)
    rpinn_state_numbers(cursor, matrix, N);
  else
    for (size_t i = 0; i < N; i++) rpinn_state_numbers(cursor, matrix + i * N, i + 1);
}

static void pass_metric(RpinnStateCursor *cursor, RpinnNutsMetric *metric) {
  if (metric->kind == RPINN_METRIC_UNIT) return;
  pass_count(cursor, &metric->num_draws);
  rpinn_state_numbers(cursor, metric->mean, metric->num_parameters);
  pass_matrix(cursor, metric, metric->squares);
  pass_matrix(cursor, metric, metric->inverse);
}

/* Only a restore writes to the chain. */
static void pass_chain(RpinnStateCursor *cursor, RpinnNuts *nuts) {
  RpinnPhasePoint *current = nuts->trajectory.current;
  size_t started =
      nuts->started && nuts->phase == RPINN_NUTS_AT_REST; /* the middle is nowhere to go on from */
  pass_count(cursor, &started);
  if (cursor->use == RPINN_STATE_RESTORE) nuts->started = started != 0;
  pass_count(cursor, &nuts->num_iterations);
  pass_count(cursor, &nuts->trajectory.num_leapfrogs);
  rpinn_state_numbers(cursor, &nuts->step, 1);
  pass_stream(cursor, &nuts->stream);
  rpinn_state_numbers(cursor, &nuts->averaging.mu, 1);
  pass_count(cursor, &nuts->averaging.count);
  rpinn_state_numbers(cursor, &nuts->averaging.error, 1);
  rpinn_state_numbers(cursor, &nuts->averaging.average, 1);
  pass_metric(cursor, &nuts->metric);
  rpinn_state_numbers(cursor, &current->log_density, 1);
  rpinn_state_numbers(cursor, current->q, nuts->metric.num_parameters);
  rpinn_state_numbers(cursor, current->gradient, nuts->metric.num_parameters);
}

size_t rpinn_nuts_state_size(const RpinnNuts *nuts) {
  RpinnStateCursor cursor = {.use = RPINN_STATE_MEASURE};
  pass_chain(&cursor, (RpinnNuts *)nuts);
  return rpinn_state_size(&form, cursor.position);
}

static uint64_t bits_of(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

static Owner owner_of(const RpinnNuts *nuts) {
  const RpinnNutsOptions *o = &nuts->options;
  return (Owner){.num_parameters = nuts->metric.num_parameters,
                 .num_draws = o->num_draws,
                 .options = {o->num_warmup, o->thin, (uint64_t)o->metric | (uint64_t)o->turn << 8,
                             o->max_depth, bits_of(o->max_energy_error), bits_of(o->first_step),
                             bits_of(o->target_acceptance), bits_of(o->step_adaptation), bits_of(o->gamma),
                             bits_of(o->t0), bits_of(o->kappa), o->window_start, o->window_base,
                             o->window_end}};
}

void rpinn_nuts_save(const RpinnNuts *nuts, void *buffer) {
  Owner owner = owner_of(nuts);
  RpinnStateCursor cursor = rpinn_state_begin(&form, &owner, buffer, rpinn_nuts_state_size(nuts));
  pass_chain(&cursor, (RpinnNuts *)nuts);
  rpinn_state_end(&cursor);
}

static RpinnStatus check_owner(RpinnContext *context, const Owner *expected, const Owner *found) {
  if (found->num_parameters != expected->num_parameters)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the saved chain has %llu parameters, expected %llu",
                      (unsigned long long)found->num_parameters,
                      (unsigned long long)expected->num_parameters);
  if (memcmp(found->options, expected->options, sizeof found->options) != 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the chain was saved with other options; only num_draws may change");
  if (found->num_draws > expected->num_draws)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the chain was saved on its way to %llu draws, expected at most %llu",
                      (unsigned long long)found->num_draws, (unsigned long long)expected->num_draws);
  return RPINN_OK;
}

static void mirror(const RpinnNutsMetric *metric) {
  size_t N = metric->num_parameters;
  if (metric->kind != RPINN_METRIC_DENSE) return;
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < i; j++) metric->inverse[j * N + i] = metric->inverse[i * N + j];
}

RpinnStatus rpinn_nuts_restore(RpinnContext *context, RpinnNuts *nuts, const void *buffer, size_t size) {
  Owner expected = owner_of(nuts), found;
  RpinnStateCursor cursor;
  RPINN_TRY(rpinn_state_header(context, &form, buffer, size, &found));
  RPINN_TRY(check_owner(context, &expected, &found));
  RPINN_TRY(rpinn_state_open(context, &form, buffer, size, rpinn_nuts_state_size(nuts), &cursor));
  rpinn_nuts_give_up(nuts);
  rpinn_trajectory_clear(&nuts->trajectory);
  rpinn_trajectory_forget(&nuts->trajectory);
  pass_chain(&cursor, nuts);
  mirror(&nuts->metric);
  if (nuts->stream.num_words <= 4 && rpinn_nuts_metric_refresh(&nuts->metric)) return RPINN_OK;
  nuts->started = false;
  return rpinn_fail(context, RPINN_ERROR_INPUT, "the saved chain holds a number that is out of range");
}
