/* The YAML tree: what is read, where it stands, and every way to refuse a file. */
#include "check.h"
#include "temporary_folder.h"

#include "context.h"
#include "yaml_tree.h"

typedef struct Fixture {
  RpinnContext *context;
  RpinnArena *arena;
} Fixture;

static int set_up(void **state) {
  static Fixture fixture;
  fixture = (Fixture){rpinn_context_create(), rpinn_arena_create()};
  *state = &fixture;
  return !fixture.context || !fixture.arena;
}

static int tear_down(void **state) {
  Fixture *fixture = *state;
  rpinn_context_destroy(fixture->context);
  rpinn_arena_destroy(fixture->arena);
  return 0;
}

static RpinnYaml *parse(Fixture *fixture, const char *text) {
  RpinnYaml *root;
  RpinnStatus status =
      rpinn_yaml_parse(fixture->context, fixture->arena, "a.yaml", text, strlen(text), &root);
  check_true(status == RPINN_OK, "%s", rpinn_context_error(fixture->context)->message);
  return root;
}

static void check_place(const RpinnYaml *node, size_t line, size_t column) {
  assert_string_equal(node->place.file, "a.yaml");
  assert_int_equal(node->place.line, line);
  assert_int_equal(node->place.column, column);
}

static void tree_has_kinds_texts_and_places(void **state) {
  RpinnYaml *root = parse(*state, "name: poisson\n"
                                  "coordinates: {x: [-1, 1]}\n"
                                  "terms:\n"
                                  "  f: {expect: \"d(u, x)\", data: 'it''s'}\n"
                                  "list:\n"
                                  "- one\n"
                                  "-  two\n");
  assert_int_equal(root->kind, RPINN_YAML_MAPPING);
  assert_int_equal(root->count, 4);
  check_place(root, 1, 1);
  check_place(root->keys[1], 2, 1);
  assert_string_equal(root->keys[1]->text, "coordinates");
  const RpinnYaml *range = rpinn_yaml_get(rpinn_yaml_get(root, "coordinates"), "x");
  assert_int_equal(range->kind, RPINN_YAML_SEQUENCE);
  assert_int_equal(range->count, 2);
  check_place(range, 2, 18);
  assert_string_equal(range->items[0]->text, "-1");
  check_place(range->items[1], 2, 23);
  assert_false(range->items[1]->quoted);
  assert_int_equal(range->items[1]->text_column_shift, 0);
  const RpinnYaml *term = rpinn_yaml_get(rpinn_yaml_get(root, "terms"), "f");
  const RpinnYaml *expect = rpinn_yaml_get(term, "expect");
  assert_string_equal(expect->text, "d(u, x)");
  check_place(expect, 4, 15);
  assert_true(expect->quoted);
  assert_int_equal(expect->text_column_shift, 1);
  assert_string_equal(rpinn_yaml_get(term, "data")->text, "it's");
  check_place(rpinn_yaml_get(root, "list")->items[1], 7, 4);
  assert_null(rpinn_yaml_get(root, "nothing"));
}

static void plain_texts_stay_text(void **state) {
  static const char *const words[] = {"y", "n",    "yes",  "No",   "true", "null",
                                      "~", "0x10", "1e-3", ".inf", "<<"};
  RpinnYaml *root = parse(*state, "[y, n, yes, No, true, 'null', ~, 0x10, 1e-3, .inf, <<]");
  assert_int_equal(root->count, sizeof words / sizeof words[0]);
  for (size_t i = 0; i < root->count; i++) {
    assert_int_equal(root->items[i]->kind, RPINN_YAML_SCALAR);
    assert_string_equal(root->items[i]->text, words[i]);
  }
}

static void blocks_and_absent_values(void **state) {
  RpinnYaml *root = parse(*state, "a: |\n  one\n  two\nb:\nc: ''\nd: {}\ne: []\n");
  assert_string_equal(rpinn_yaml_get(root, "a")->text, "one\ntwo\n");
  assert_true(rpinn_yaml_get(root, "a")->quoted);
  assert_string_equal(rpinn_yaml_get(root, "b")->text, "");
  assert_false(rpinn_yaml_get(root, "b")->quoted);
  assert_true(rpinn_yaml_get(root, "c")->quoted);
  assert_int_equal(rpinn_yaml_get(root, "d")->kind, RPINN_YAML_MAPPING);
  assert_int_equal(rpinn_yaml_get(root, "d")->count, 0);
  assert_int_equal(rpinn_yaml_get(root, "e")->kind, RPINN_YAML_SEQUENCE);
  root = parse(*state, "a: 1\nb:"); /* an absent value stands where the text ends */
  check_place(rpinn_yaml_get(root, "b"), 2, 3);
  assert_string_equal(rpinn_yaml_kind_name(RPINN_YAML_SCALAR), "a value");
  assert_string_equal(rpinn_yaml_kind_name(RPINN_YAML_SEQUENCE), "a list");
  assert_string_equal(rpinn_yaml_kind_name(RPINN_YAML_MAPPING), "a mapping");
}

/* Columns count bytes: an e with an accent takes two, and a byte order mark none. */
static void columns_are_bytes(void **state) {
  RpinnYaml *root = parse(*state, "\xef\xbb\xbf{\xc3\xa9: \xc3\xa9t\xc3\xa9, b: c}\r\n");
  check_place(root->keys[0], 1, 2);
  check_place(root->items[0], 1, 6);
  check_place(root->keys[1], 1, 13);
  check_place(root->items[1], 1, 16);
  root = parse(*state, "\xc3\xa9:\r\n  \xc3\xa9: [\xc3\xa9, 1]\r\n  b: 2\r\n");
  check_place(rpinn_yaml_get(root->items[0], "\xc3\xa9")->items[1], 2, 12);
  check_place(rpinn_yaml_get(root->items[0], "b"), 3, 6);
}

/* The same tree from the same text, whatever becomes of the text. */
static void tree_borrows_nothing(void **state) {
  Fixture *fixture = *state;
  char file[] = "a.yaml", text[] = "{key: [value]}";
  RpinnYaml *root;
  assert_int_equal(rpinn_yaml_parse(fixture->context, fixture->arena, file, text, strlen(text), &root),
                   RPINN_OK);
  memset(file, 'X', sizeof file - 1);
  memset(text, 'X', sizeof text - 1);
  assert_string_equal(rpinn_yaml_get(root, "key")->items[0]->text, "value");
  check_place(rpinn_yaml_get(root, "key")->items[0], 1, 8);
}

static const struct {
  const char *text;
  size_t line, column;
  const char *message;
} mistakes[] = {
    {"", 1, 1, "found an empty document, expected keys and values"},
    {"# only a comment\n", 1, 1, "found an empty document, expected keys and values"},
    {"---\n...\n", 1, 1, "found an empty document, expected keys and values"},
    {"a: 1\n---\nb: 2\n", 2, 1, "found a second document, expected only one"},
    {"a: 1\nb: 2\na: 3\n", 3, 1, "found the key 'a' again, expected it once: it is at line 1"},
    {"{b: 1, a: 2, 'a': 3, b: 4}", 1, 14, "found the key 'a' again, expected it once: it is at line 1"},
    {"a: &base 1\n", 1, 4, "found the anchor '&base', expected a value without an anchor"},
    {"a: &base [1]\n", 1, 4, "found the anchor '&base', expected a value without an anchor"},
    {"a:\n  b: *base\n", 2, 6, "found the alias '*base', expected the value itself"},
    {"a: !!int 1\n", 1, 4, "found the tag 'tag:yaml.org,2002:int', expected a value without a tag"},
    {"a: !mine {}\n", 1, 4, "found the tag '!mine', expected a value without a tag"},
    {"a: ! b\n", 1, 4, "found the tag '!', expected a value without a tag"},
    {"[a]: 1\n", 1, 1, "found a list as a key, expected a name"},
    {"{{a: 1}: 1}\n", 1, 2, "found a mapping as a key, expected a name"},
    {"a: \"\\0\"\n", 1, 4, "found a text with the character U+0000, expected one without"},
    {"a: b\x01\n", 1, 5, "found the control character U+0001, expected text"},
    {"a: 1\nb: \xff\n", 2, 4, "found bytes that are not UTF-8, expected a UTF-8 text file"},
    {"a: 1\nb: \xc3", 2, 4, "found bytes that are not UTF-8, expected a UTF-8 text file"},
    {"\xff\xfe-", 1, 1, "found bytes that are not UTF-8, expected a UTF-8 text file"},
    {"a: [1, 2\nb: 3\n", 2, 2, "found ':', expected ',' or ']' in the list that starts at line 1"},
    {"a: [1, 2", 1, 9, "found the end of the file, expected ',' or ']' in the list that starts at line 1"},
    {"\na: {b: 1 c: 2}", 2, 11, "found ':', expected ',' or '}' in the mapping that starts at line 2"},
    {"a: 1\n b: 2\n", 2, 3,
     "found ':', expected a value that fits the indentation; one with ': ' inside needs quotes"},
    {"f: a: b\n", 1, 5,
     "found ':', expected a value that fits the indentation; one with ': ' inside needs quotes"},
    {"a:\n  b: 1\n c: 2\n", 3, 2,
     "found 'c', expected a key indented like the first one of the mapping that starts at line 1"},
    {"- 1\n- 2\nb: 3\n", 3, 1, "found 'b', expected '-' and an item of the list that starts at line 1"},
    {"a:\n\t- 1\n", 2, 1,
     "found a tab, expected a value; indent with spaces, and quote a text that starts with @, % or `"},
    {"a: @home\n", 1, 4,
     "found '@home', expected a value; indent with spaces, and quote a text that starts with @, % or `"},
    {"a: 1\nb: \"open\n\n", 4, 1,
     "found the end of the file, expected the closing quote of the text that starts at line 2"},
    {"a: \"\\q\"\n", 1, 5,
     "found '\\q\"', expected an escape such as \\n or \\\\; single quotes take backslashes as they are"},
    {"a: 1\nb\nc: 2\n", 3, 1, "found 'c', expected ':' after the key that starts at line 2"},
    {"a: ]\n", 1, 4, "found ']', expected a value"},
    {"[a] b\n", 1, 5, "found 'b', expected the end of the only document"},
    {"a: - b\n", 1, 4, "found '-', expected a value; a list with '-' starts on a line of its own"},
    {"%YAML 3.0\n---\na: 1\n", 1, 1, "found '%YAML', expected valid YAML: found incompatible YAML document"},
};

static void mistakes_are_refused_with_their_place(void **state) {
  Fixture *fixture = *state;
  for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
    RpinnYaml *root = NULL;
    RpinnStatus status = rpinn_yaml_parse(fixture->context, fixture->arena, "a.yaml", mistakes[i].text,
                                          strlen(mistakes[i].text), &root);
    const RpinnError *error = rpinn_context_error(fixture->context);
    check_true(status == RPINN_ERROR_INPUT && !root, "%s", mistakes[i].text);
    check_true(strcmp(error->message, mistakes[i].message) == 0, "%s\n%s\n%s", mistakes[i].text,
               error->message, mistakes[i].message);
    check_true(error->line == mistakes[i].line && error->column == mistakes[i].column, "%s\n%zu:%zu",
               mistakes[i].text, error->line, error->column);
    assert_string_equal(error->file, "a.yaml");
    rpinn_context_clear_error(fixture->context);
  }
}

static void nul_bytes_are_refused(void **state) {
  Fixture *fixture = *state;
  RpinnYaml *root;
  assert_int_equal(rpinn_yaml_parse(fixture->context, fixture->arena, "a.yaml", "a: b\0c\n", 7, &root),
                   RPINN_ERROR_INPUT);
  const RpinnError *error = rpinn_context_error(fixture->context);
  assert_string_equal(error->message, "found the control character U+0000, expected text");
  assert_int_equal(error->column, 5);
}

static void depth_is_limited(void **state) {
  Fixture *fixture = *state;
  enum { LEVELS = RPINN_YAML_MAX_DEPTH };
  char text[2 * (LEVELS + 1) + 1] = "";
  memset(text, '[', LEVELS);
  memset(text + LEVELS, ']', LEVELS);
  assert_non_null(parse(fixture, text));
  memset(text, '[', LEVELS + 1);
  memset(text + LEVELS + 1, ']', LEVELS + 1);
  RpinnYaml *root;
  assert_int_equal(rpinn_yaml_parse(fixture->context, fixture->arena, "a.yaml", text, strlen(text), &root),
                   RPINN_ERROR_INPUT);
  const RpinnError *error = rpinn_context_error(fixture->context);
  assert_string_equal(error->message, "found nesting deeper than 64 levels, expected a flatter file");
  assert_int_equal(error->column, LEVELS + 1);
}

/* Judged before a byte is parsed. */
static void size_is_limited(void **state) {
  Fixture *fixture = *state;
  size_t length = ((size_t)RPINN_YAML_MAX_MEBIBYTES << 20) + 1;
  char *bytes = malloc(length);
  assert_non_null(bytes);
  memset(bytes, ' ', length);
  RpinnYaml *root;
  assert_int_equal(rpinn_yaml_parse(fixture->context, fixture->arena, "a.yaml", bytes, length, &root),
                   RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(fixture->context)->message,
                      "found more than 64 MiB, expected a smaller file");
  free(bytes);
}

/* A mapping of many keys on one line: columns and repeats in well under quadratic time. */
static void wide_mappings_are_fast(void **state) {
  Fixture *fixture = *state;
  enum { KEYS = 50000 };
  RpinnYaml *root = NULL;
  char *text = malloc(16 * KEYS);
  assert_non_null(text);
  size_t length = 0;
  for (int i = 0; i < KEYS; i++)
    length += (size_t)sprintf(text + length, "%ck%d: \xc3\xa9", i ? ',' : '{', i);
  text[length++] = '}';
  assert_int_equal(rpinn_yaml_parse(fixture->context, fixture->arena, "a.yaml", text, length, &root),
                   RPINN_OK);
  assert_int_equal(root->count, KEYS);
  const RpinnYaml *last = root->keys[KEYS - 1];
  assert_memory_equal(text + last->place.column - 1, "k49999:", 7);
  free(text);
}

static void files_are_read_or_refused(void **state) {
  Fixture *fixture = *state;
  RpinnYaml *root;
  FILE *file = fopen("test_yaml_tree.yaml", "w");
  assert_non_null(file);
  fputs("a: 1\nb: [2, 3\n", file);
  fclose(file);
  assert_int_equal(rpinn_yaml_read_file(fixture->context, fixture->arena, "test_yaml_tree.yaml", &root),
                   RPINN_ERROR_INPUT);
  char text[2048];
  rpinn_error_format(rpinn_context_error(fixture->context), text, sizeof text);
  assert_string_equal(text,
                      "test_yaml_tree.yaml:3:1: found the end of the file, expected ',' or ']' in the list "
                      "that starts at line 2");
  assert_int_equal(rpinn_yaml_read_file(fixture->context, fixture->arena, "absent.yaml", &root),
                   RPINN_ERROR_INPUT);
  rpinn_error_format(rpinn_context_error(fixture->context), text, sizeof text);
  assert_string_equal(text, "absent.yaml: cannot open this file: No such file or directory");
  assert_int_equal(rpinn_yaml_read_file(fixture->context, fixture->arena, ".", &root), RPINN_ERROR_INPUT);
  rpinn_error_format(rpinn_context_error(fixture->context), text, sizeof text);
  assert_string_equal(text, ".: this is a directory; expected a file");
  assert_int_equal(rpinn_yaml_read_file(fixture->context, fixture->arena, "/dev/zero", &root),
                   RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_yaml_read_file(fixture->context, fixture->arena, "/dev/null", &root),
                   RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(fixture->context)->message,
                      "this is a device; expected a file or a pipe");
}

#define TREE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TREE_TEST(tree_has_kinds_texts_and_places),
      TREE_TEST(plain_texts_stay_text),
      TREE_TEST(blocks_and_absent_values),
      TREE_TEST(columns_are_bytes),
      TREE_TEST(tree_borrows_nothing),
      TREE_TEST(mistakes_are_refused_with_their_place),
      TREE_TEST(nul_bytes_are_refused),
      TREE_TEST(depth_is_limited),
      TREE_TEST(size_is_limited),
      TREE_TEST(wide_mappings_are_fast),
      TREE_TEST(files_are_read_or_refused),
  };
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
