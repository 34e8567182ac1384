/* JSON: what is read, what is refused and where, and bytes that nobody meant. */
#include "check.h"

#include <string.h>

#include "json_reader.h"
#include "json_writer.h"
#include "random_stream.h"

static RpinnStatus parse(RpinnContext *context, RpinnArena *arena, const char *text,
                         const RpinnJsonValue **value) {
  return rpinn_json_parse(context, arena, "t.json", text, strlen(text), value);
}

static void test_values(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  const RpinnJsonValue *root;
  double number;
  assert_int_equal(
      parse(context, arena,
            " {\"a\": [1, -2.5e-3, 0, true, false, null, \"inf\", \"-inf\"],\r\n"
            "  \"b\": {\"\": {}, \"c\\n\\u00e9\\ud83d\\ude00\\/\": []}, \"text\": \"x \\\" y\"}\n",
            &root),
      RPINN_OK);
  assert_true(root->kind == RPINN_JSON_OBJECT && root->count == 3);
  const RpinnJsonValue *item = rpinn_json_find(root, "a")->first;
  const double expected[] = {1, -2.5e-3, 0};
  for (size_t i = 0; i < 3; i++, item = item->next) {
    assert_true(item->kind == RPINN_JSON_NUMBER && item->number == expected[i]);
    assert_true(rpinn_json_as_number(item, &number) && number == expected[i]);
  }
  assert_true(item->kind == RPINN_JSON_BOOLEAN && item->boolean && !rpinn_json_as_number(item, &number));
  item = item->next;
  assert_true(item->kind == RPINN_JSON_BOOLEAN && !item->boolean);
  item = item->next;
  assert_true(item->kind == RPINN_JSON_NULL && rpinn_json_as_number(item, &number) && isnan(number));
  assert_true(rpinn_json_as_number(item->next, &number) && number == (double)INFINITY);
  assert_true(rpinn_json_as_number(item->next->next, &number) && number == -(double)INFINITY);
  const RpinnJsonValue *b = rpinn_json_find(root, "b");
  assert_int_equal(b->place.line, 2);
  assert_int_equal(b->place.column, 8);
  assert_non_null(rpinn_json_find(b, "c\n\xc3\xa9\xf0\x9f\x98\x80/"));
  assert_string_equal(rpinn_json_find(root, "text")->text, "x \" y");
  assert_null(rpinn_json_find(root, "absent"));
  assert_null(rpinn_json_find(NULL, "absent"));
  assert_true(rpinn_json_as_number(NULL, &number) && isnan(number));
  const RpinnJsonValue *found;
  assert_int_equal(rpinn_json_require(context, root, "b", RPINN_JSON_OBJECT, &found), RPINN_OK);
  assert_int_equal(rpinn_json_require(context, root, "b", RPINN_JSON_TEXT, &found), RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_json_require(context, root, "z", RPINN_JSON_TEXT, &found), RPINN_ERROR_INPUT);
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
}

static void test_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
    size_t line, column;
  } cases[] = {
      {"", "the text ends here; expected a value", 1, 1},
      {"{", "expected a key in quotes", 1, 2},
      {"{\"a\": 1,}", "found '}'; expected a key", 1, 9},
      {"[1,]", "expected a value", 1, 4},
      {"[1 2]", "expected ',' or ']'", 1, 4},
      {"{\"a\" 1}", "expected ':'", 1, 6},
      {"{\"a\": 1\n\"b\": 2}", "expected ',' or '}'", 2, 1},
      {"{\"a\": 1, \"b\": 2, \"a\": 3}", "the key 'a' is here a second time", 1, 23},
      {"1 1", "expected the end of the text", 1, 3},
      {"01", "expected the end of the text", 1, 2},
      {"1.", "expected a digit", 1, 3},
      {"-", "expected a digit", 1, 2},
      {"1e", "expected a digit", 1, 3},
      {"+1", "found '+'; expected a value", 1, 1},
      {".5", "expected a value", 1, 1},
      {"1e999", "1e999 is too large", 1, 1},
      {"NaN", "expected a value", 1, 1},
      {"nul", "expected a value", 1, 1},
      {"'a'", "expected a value", 1, 1},
      {"\"a", "expected a closing quote", 1, 3},
      {"\"a\\", "expected one of", 1, 4},
      {"\"\\x\"", "expected one of", 1, 3},
      {"\"\\u12\"", "four hexadecimal digits", 1, 6},
      {"\"\\u\x10\x10\x10\x10\"", "four hexadecimal digits", 1, 4},
      {"\"\\u0000\"", "no NUL", 1, 8},
      {"\"\\ud800\"", "second half of a pair", 1, 8},
      {"\"\\udc00\"", "first half of a pair", 1, 8},
      {"\"\\ud800\\u0041\"", "second half of a pair", 1, 14},
      {"\"a\nb\"", "no control characters", 1, 3},
      {"\"\xff\"", "expected UTF-8", 1, 2},
      {"\"\xc0\x80\"", "expected UTF-8", 1, 2},
      {"\"\xed\xa0\x80\"", "expected UTF-8", 1, 2},
      {"\"\xf4\x90\x80\x80\"", "expected UTF-8", 1, 2},
      {"\"\xe2\x82", "expected UTF-8", 1, 2},
      {"// no\n1", "expected a value", 1, 1},
      {"\xef\xbb\xbf{}", "found the byte 0xef", 1, 1},
  };
  RpinnContext *context = rpinn_context_create();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    RpinnArena *arena = rpinn_arena_create();
    const RpinnJsonValue *value;
    rpinn_context_clear_error(context);
    RpinnStatus status = parse(context, arena, cases[i].text, &value);
    const RpinnError *error = rpinn_context_error(context);
    if (status != RPINN_ERROR_INPUT || !strstr(error->message, cases[i].message) ||
        error->line != cases[i].line || error->column != cases[i].column)
      fail_msg("'%s': status %d, %zu:%zu: %s; expected %zu:%zu: %s", cases[i].text, (int)status, error->line,
               error->column, error->message, cases[i].line, cases[i].column, cases[i].message);
    assert_null(value);
    rpinn_arena_destroy(arena);
  }
  rpinn_context_destroy(context);
}

static void test_depth(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  for (size_t depth = RPINN_JSON_MAX_DEPTH; depth <= RPINN_JSON_MAX_DEPTH + 2; depth++) {
    RpinnArena *arena = rpinn_arena_create();
    char text[2 * RPINN_JSON_MAX_DEPTH + 8];
    const RpinnJsonValue *value;
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    bool fits = depth - 1 <= RPINN_JSON_MAX_DEPTH; /* the outermost value has depth 0 */
    assert_int_equal(rpinn_json_parse(context, arena, "t.json", text, 2 * depth, &value),
                     fits ? RPINN_OK : RPINN_ERROR_INPUT);
    rpinn_arena_destroy(arena);
  }
  /* A million brackets must not exhaust the stack. */
  enum { MANY = 1000000 };
  char *brackets = malloc(MANY);
  RpinnArena *arena = rpinn_arena_create();
  const RpinnJsonValue *value;
  memset(brackets, '[', MANY);
  assert_int_equal(rpinn_json_parse(context, arena, "t.json", brackets, MANY, &value), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "nested deeper"));
  rpinn_arena_destroy(arena);
  free(brackets);
  rpinn_context_destroy(context);
}

/* What the writer wrote, the reader reads to the same bits. */
static void test_round_trip(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnStream stream = rpinn_stream(3, RPINN_PURPOSE_CHECK, 0, 0);
  RpinnArena *arena = rpinn_arena_create();
  enum { COUNT = 2000 };
  static double numbers[COUNT];
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "odd \"\\\x01 \xc3\xa9", "\t\n\"");
  rpinn_json_open(&json, "numbers", '[');
  for (size_t i = 0; i < COUNT; i++) {
    numbers[i] = ldexp(rpinn_stream_normal(&stream), (int)rpinn_stream_below(&stream, 1800) - 900);
    rpinn_json_number(&json, NULL, numbers[i]);
  }
  rpinn_json_close(&json, ']');
  rpinn_json_close(&json, '}');
  const RpinnJsonValue *root;
  assert_int_equal(rpinn_json_parse(context, arena, "t.json", text.bytes, text.length, &root), RPINN_OK);
  assert_string_equal(rpinn_json_find(root, "odd \"\\\x01 \xc3\xa9")->text, "\t\n\"");
  const RpinnJsonValue *item = rpinn_json_find(root, "numbers")->first;
  for (size_t i = 0; i < COUNT; i++, item = item->next) assert_true(item->number == numbers[i]);
  rpinn_text_free(&text);
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
}

/* A good text with a few bytes changed, cut or repeated: never a crash, always a message with a place. */
static void test_mutations(void **state) {
  (void)state;
  static const char good[] = "{\"problem\": \"poisson-linear\", \"seed\": 0, \"x\": [1.5e-3, null, true, "
                             "\"\\u00e9\\ud83d\\ude00\"],\n"
                             " \"quantities\": {\"u\": {\"rl2\": 0.171, \"lpp\": -1e3}, \"f\": {}}, \"end\": "
                             "[[], {\"a\": \"\xc3\xa9\"}]}";
  static const char alphabet[] = "{}[],:\"\\u0019eE+-. \n\tntf\xc3\xa9\xff\x00";
  RpinnContext *context = rpinn_context_create();
  RpinnStream stream = rpinn_stream(4, RPINN_PURPOSE_CHECK, 0, 0);
  size_t num_good = 0;
  for (size_t round = 0; round < 20000; round++) {
    char text[2 * sizeof good];
    size_t length = sizeof good - 1;
    memcpy(text, good, length);
    for (uint64_t k = 1 + rpinn_stream_below(&stream, 4); k > 0; k--) {
      size_t at = (size_t)rpinn_stream_below(&stream, length);
      char byte = alphabet[rpinn_stream_below(&stream, sizeof alphabet - 1)];
      switch (rpinn_stream_below(&stream, 4)) {
      case 0: text[at] = byte; break;
      case 1:
        if (length > 1) memmove(text + at, text + at + 1, --length - at);
        break;
      case 2:
        memmove(text + at + 1, text + at, length++ - at);
        text[at] = byte;
        break;
      default: length = at > 0 ? at : 1; break;
      }
    }
    /* A copy of exactly this size, so that sanitizers see a read past its end. */
    char *exact = malloc(length);
    memcpy(exact, text, length);
    RpinnArena *arena = rpinn_arena_create();
    const RpinnJsonValue *value;
    rpinn_context_clear_error(context);
    RpinnStatus status = rpinn_json_parse(context, arena, "t.json", exact, length, &value);
    const RpinnError *error = rpinn_context_error(context);
    if (status == RPINN_OK) {
      num_good++;
      assert_non_null(value);
    } else {
      assert_int_equal(status, RPINN_ERROR_INPUT);
      assert_true(error->line >= 1 && error->column >= 1 && error->message[0]);
    }
    rpinn_arena_destroy(arena);
    free(exact);
  }
  assert_true(num_good > 500 && num_good < 15000);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_refused),
                                     cmocka_unit_test(test_depth), cmocka_unit_test(test_round_trip),
                                     cmocka_unit_test(test_mutations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
