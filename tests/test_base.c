/* Arena, random streams, text: the foundations. */
#include "check.h"

#include "arena.h"
#include "context.h"
#include "random_stream.h"
#include "sort_numbers.h"
#include "text.h"

static void arena_gives_zeroed_aligned_memory(void **state) {
  (void)state;
  RpinnArena *arena = rpinn_arena_create();
  for (size_t size = 1; size < 100000; size = size * 3 + 1) {
    unsigned char *bytes = rpinn_arena_allocate(arena, size, 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) assert_int_equal(bytes[i], 0);
    assert_int_equal((uintptr_t)bytes % (size >= 64 ? 64 : 16), 0);
    memset(bytes, 0xff, size);
  }
  assert_null(rpinn_arena_allocate(arena, SIZE_MAX / 4, 8));
  assert_string_equal(rpinn_arena_copy_text(arena, "abcdef", 3), "abc");
  rpinn_arena_destroy(arena);
}

/* Known answers of Philox4x32-10 (Random123's kat_vectors): zero key and counter. */
static void streams_are_philox(void **state) {
  (void)state;
  RpinnStream stream = {.key = {0, 0}};
  assert_int_equal(rpinn_stream_word(&stream), 0x6627e8d5u);
  assert_int_equal(rpinn_stream_word(&stream), 0xe169c58du);
  assert_int_equal(rpinn_stream_word(&stream), 0xbc57ac4cu);
  assert_int_equal(rpinn_stream_word(&stream), 0x9b00dbd8u);
}

/* The last block that the counter names is as ever; what follows is neither the first again nor what another
 * stream has there. Expected values: Philox written anew in Python, with the key that the block of the purpose 0
 * gives. */
static void streams_go_on_after_the_last_block(void **state) {
  (void)state;
  RpinnStream stream = rpinn_stream(0x123456789abcdefu, RPINN_PURPOSE_CHAIN, 5, 7);
  RpinnStream other = rpinn_stream(0x123456789abcdefu, RPINN_PURPOSE_START, 5, 7);
  stream.counter[0] = other.counter[0] = UINT32_MAX;
  const uint32_t expected[3][4] = {{0xe5548a3fu, 0x8a1fbbdeu, 0xde58dd0bu, 0x851daebdu},
                                   {0x233003a2u, 0xb331590bu, 0x604d65e2u, 0x1f7ac29du},
                                   {0xb27d980bu, 0xd2e1e583u, 0xeebac2a4u, 0x39f4543eu}};
  for (size_t block = 0; block < 3; block++)
    for (size_t i = 0; i < 4; i++) assert_int_equal(rpinn_stream_word(&stream), expected[block][i]);
  for (size_t i = 0; i < 4; i++) rpinn_stream_word(&other);
  for (size_t i = 0; i < 4; i++) assert_int_not_equal(rpinn_stream_word(&other), expected[1][i]);
}

static void streams_differ_by_name(void **state) {
  (void)state;
  RpinnStream streams[] = {
      rpinn_stream(1, RPINN_PURPOSE_START, 0, 0), rpinn_stream(2, RPINN_PURPOSE_START, 0, 0),
      rpinn_stream(1, RPINN_PURPOSE_NOISE, 0, 0), rpinn_stream(1, RPINN_PURPOSE_START, 1, 0),
      rpinn_stream(1, RPINN_PURPOSE_START, 0, 1), rpinn_stream(1, RPINN_PURPOSE_START, UINT64_C(1) << 32, 0)};
  enum { COUNT = sizeof streams / sizeof streams[0] };
  uint32_t first[COUNT];
  for (size_t i = 0; i < COUNT; i++) first[i] = rpinn_stream_word(&streams[i]);
  for (size_t i = 0; i < COUNT; i++)
    for (size_t j = 0; j < i; j++) assert_int_not_equal(first[i], first[j]);
}

static void moments_of_the_streams(void **state) {
  (void)state;
  enum { COUNT = 400000 };
  RpinnStream stream = rpinn_stream(7, RPINN_PURPOSE_CHECK, 3, 0);
  double mean = 0, square = 0, fourth = 0, uniform_mean = 0, uniform_square = 0;
  for (int i = 0; i < COUNT; i++) {
    double z = rpinn_stream_normal(&stream), u = rpinn_stream_uniform(&stream);
    assert_true(u > 0 && u < 1);
    mean += z / COUNT;
    square += z * z / COUNT;
    fourth += z * z * z * z / COUNT;
    uniform_mean += u / COUNT;
    uniform_square += u * u / COUNT;
  }
  /* Five standard errors. */
  check_close(mean, 0, 5 / sqrt(COUNT));
  check_close(square, 1, 5 * sqrt(2.0 / COUNT));
  check_close(fourth, 3, 5 * sqrt(96.0 / COUNT));
  check_close(uniform_mean, 0.5, 5 * sqrt(1.0 / 12 / COUNT));
  check_close(uniform_square, 1.0 / 3, 5 * sqrt(4.0 / 45 / COUNT));
}

static void permutations_are_fair(void **state) {
  (void)state;
  RpinnStream stream = rpinn_stream(1, RPINN_PURPOSE_POINTS, 0, 0);
  int seen[6] = {0};
  enum { COUNT = 60000 };
  for (int i = 0; i < COUNT; i++) {
    size_t order[3];
    rpinn_stream_permutation(&stream, 3, order);
    assert_true(order[0] != order[1] && order[1] != order[2] && order[0] != order[2]);
    seen[order[0] * 2 + (order[1] > order[2])]++;
  }
  for (int i = 0; i < 6; i++) check_close(seen[i] / (double)COUNT, 1.0 / 6, 5 * sqrt(5.0 / 36 / COUNT));
}

static void numbers_read_back(void **state) {
  (void)state;
  double values[] = {0.1, 1.0 / 3, 1e300, -2.5, 5e-324, INFINITY, 27000, 0.079056941504209485};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    char text[RPINN_NUMBER_TEXT];
    double back;
    rpinn_number_format(values[i], text);
    assert_true(rpinn_number_parse(text, &back));
    assert_true(back == values[i]);
  }
  char text[RPINN_NUMBER_TEXT];
  rpinn_number_format(0.1, text);
  assert_string_equal(text, "0.1");
  double value;
  const char *bad[] = {"", " 1", "1 ", "0x10", "nan", "nan(1)", "1e", "--1", "1,5"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_false(rpinn_number_parse(bad[i], &value));
}

static void typos_find_their_name(void **state) {
  (void)state;
  const char *names[] = {"network", "activation", "scale_inputs", "y", "h"};
  assert_string_equal(rpinn_nearest_name("netwrok", names, 5), "network");
  assert_string_equal(rpinn_nearest_name("scale_input", names, 5), "scale_inputs");
  assert_null(rpinn_nearest_name("zebra", names, 5));
  assert_null(rpinn_nearest_name("x", names, 5));
}

static void printable_texts(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"plain\ttext\n", "plain\ttext\n"},
      {"\x1b[31m red \x7f\a\r", " [31m red    "},
      {"a\xc2\x9b\x62", "a  b"}, /* U+009B begins sequences as well */
      {"a\x9b\x62", "a b"},      /* and so does the byte */
      {"\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x98\x80",
       "\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x98\x80"}, /* within characters not */
      {"\xe2\x80", "\xe2 "},                      /* a character that is cut off */
      {"", ""}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    char text[64];
    snprintf(text, sizeof text, "%s", pairs[i][0]);
    assert_string_equal(rpinn_make_printable(text), pairs[i][1]);
  }
}

static void errors_say_where(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  char text[2048];
  rpinn_fail_at(context, (RpinnPlace){"a.yaml", 3, 7}, "found '%s'", "b\n\x1b");
  rpinn_error_format(rpinn_context_error(context), text, sizeof text);
  assert_string_equal(text, "a.yaml:3:7: found 'b  '");
  assert_int_equal(rpinn_status_exit_code(RPINN_ERROR_INPUT), 2);
  assert_string_equal(rpinn_status_name(RPINN_ERROR_IO), "ERROR_IO");
  rpinn_context_clear_error(context);
  assert_int_equal(rpinn_context_error(context)->status, RPINN_OK);
  rpinn_log(context, RPINN_LOG_INFO, "nobody listens");
  rpinn_log(NULL, RPINN_LOG_INFO, "there is nobody");
  rpinn_context_destroy(context);
}

static void numbers_are_sorted(void **state) {
  (void)state;
  enum { COUNT = 10 };
  double values[COUNT] = {3,      (double)NAN,       -1.5,   (double)INFINITY, 0,
                          1e-310, -(double)INFINITY, -1e300, -(double)NAN,     -1e-5};
  const double expected[COUNT] = {-(double)INFINITY, -1e300, -1.5, -1e-5, 0, 1e-310, 3, (double)INFINITY};
  double room[COUNT];
  rpinn_sort_numbers(COUNT, values, room);
  for (size_t i = 0; i < COUNT - 2; i++) assert_true(values[i] == expected[i]);
  assert_true(isnan(values[COUNT - 2]) && isnan(values[COUNT - 1]));
}

/* Of any number of them, many of which are the same, each comes out as often as it went in: their ranks say so. */
static void sorted_numbers_are_those_of_before(void **state) {
  (void)state;
  enum { MOST = 1000 };
  static double before[MOST], after[MOST], room[MOST];
  RpinnStream stream = rpinn_stream(21, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t count = 0; count <= MOST; count = 3 * count + 1) {
    rpinn_stream_normals(&stream, count, before);
    for (size_t i = 0; i < count; i++) before[i] = i % 2 ? round(3 * before[i]) : before[i];
    memcpy(after, before, sizeof after);
    rpinn_sort_numbers(count, after, room);
    for (size_t i = 0; i < count; i++) {
      size_t less = 0, same = 0;
      for (size_t k = 0; k < count; k++) {
        less += before[k] < after[i];
        same += before[k] == after[i];
      }
      assert_true(less <= i && i < less + same);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arena_gives_zeroed_aligned_memory),
      cmocka_unit_test(streams_are_philox),
      cmocka_unit_test(streams_go_on_after_the_last_block),
      cmocka_unit_test(streams_differ_by_name),
      cmocka_unit_test(moments_of_the_streams),
      cmocka_unit_test(permutations_are_fair),
      cmocka_unit_test(numbers_read_back),
      cmocka_unit_test(numbers_are_sorted),
      cmocka_unit_test(sorted_numbers_are_those_of_before),
      cmocka_unit_test(typos_find_their_name),
      cmocka_unit_test(printable_texts),
      cmocka_unit_test(errors_say_where),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
