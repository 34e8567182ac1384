/* Saved states: what was written is read, and anything else is refused with its reason. */
#include "check.h"

#include "saved_state.h"

enum { NUM_NUMBERS = 5 };

typedef struct Thing {
  uint64_t count;
  double numbers[NUM_NUMBERS];
} Thing;

typedef struct Owner {
  uint64_t kind;
  double rate;
} Owner;

static const RpinnStateForm form = {
    .name = "thing", .magic = 0x7468696e67, .version = 3, .owner_size = sizeof(Owner)};

static void pass(RpinnStateCursor *cursor, Thing *thing) {
  rpinn_state_field(cursor, &thing->count, sizeof thing->count);
  rpinn_state_numbers(cursor, thing->numbers, NUM_NUMBERS);
}

static size_t size_of(Thing *thing) {
  RpinnStateCursor cursor = {.use = RPINN_STATE_MEASURE};
  pass(&cursor, thing);
  return rpinn_state_size(&form, cursor.position);
}

static unsigned char *save(Thing *thing, size_t *size) {
  const Owner owner = {7, 0.25};
  *size = size_of(thing);
  unsigned char *buffer = malloc(*size);
  assert_non_null(buffer);
  RpinnStateCursor cursor = rpinn_state_begin(&form, &owner, buffer, *size);
  pass(&cursor, thing);
  rpinn_state_end(&cursor);
  assert_int_equal(cursor.position, *size);
  return buffer;
}

static RpinnStatus restore(RpinnContext *context, const RpinnStateForm *expected, const void *buffer,
                           size_t size, Thing *thing) {
  Owner owner;
  RpinnStateCursor cursor;
  RPINN_TRY(rpinn_state_header(context, expected, buffer, size, &owner));
  if (owner.kind != 7 || owner.rate != 0.25) return rpinn_fail(context, RPINN_ERROR_INPUT, "another owner");
  RPINN_TRY(rpinn_state_open(context, expected, buffer, size, size_of(thing), &cursor));
  pass(&cursor, thing);
  return RPINN_OK;
}

static void refuse(const RpinnStateForm *expected, const void *buffer, size_t size, const char *reason) {
  RpinnContext *context = rpinn_context_create();
  Thing thing = {0}, nothing = {0};
  assert_int_equal(restore(context, expected, buffer, size, &thing), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message, reason);
  assert_memory_equal(&thing, &nothing, sizeof thing);
  rpinn_context_destroy(context);
}

static void what_is_saved_is_restored(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  Thing thing = {42, {1, -0.0, 1e-310, (double)INFINITY, (double)NAN}}, again = {0};
  size_t size;
  unsigned char *buffer = save(&thing, &size);
  assert_int_equal(size, 8 * (3 + 2 + 6 + 1)); /* header, owner, fields, checksum */
  assert_int_equal(restore(context, &form, buffer, size, &again), RPINN_OK);
  assert_memory_equal(&again, &thing, sizeof thing);
  free(buffer);
  rpinn_context_destroy(context);
}

static void other_states_are_refused(void **state) {
  (void)state;
  Thing thing = {42, {1, 2, 3, 4, 5}};
  size_t size;
  unsigned char *buffer = save(&thing, &size);
  RpinnStateForm other = form;
  refuse(&form, buffer, 39, "a saved thing of 39 bytes is cut short");
  refuse(&form, buffer, 40, "the saved thing has 40 bytes, expected 96");
  refuse(&form, buffer, size - 8, "the saved thing has 88 bytes, expected 96");
  other.magic++;
  refuse(&other, buffer, size, "this is not a saved thing of this machine type");
  other = form;
  other.version = 4;
  refuse(&other, buffer, size, "the saved thing has version 3, expected 4");
  free(buffer);
}

/* Every bit counts: of the header, the owner, the fields and the checksum. */
static void every_changed_bit_is_found(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  Thing thing = {42, {1, 2, 3, 4, 5}};
  size_t size;
  unsigned char *buffer = save(&thing, &size);
  for (size_t bit = 0; bit < 8 * size; bit++) {
    Thing again = {0};
    buffer[bit / 8] ^= (unsigned char)(1u << bit % 8);
    check_true(restore(context, &form, buffer, size, &again) == RPINN_ERROR_INPUT, "bit %zu", bit);
    if (bit >= 8 * 40)
      assert_string_equal(rpinn_context_error(context)->message,
                          "the saved thing is damaged: its checksum differs");
    buffer[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
  free(buffer);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_saved_is_restored),
                                     cmocka_unit_test(other_states_are_refused),
                                     cmocka_unit_test(every_changed_bit_is_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
