/* Recursive descent with a bound on the depth. A list of items is linked as it grows: its length is not known
 * before its end, and an arena does not move things. */
#include "json_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "text.h"
#include "whole_file.h"

typedef struct Reader {
  RpinnContext *context;
  RpinnArena *arena;
  const char *file;
  const char *at, *end;
  size_t line;
  const char *line_start;
} Reader;

static RpinnPlace place_here(const Reader *reader) {
  return (RpinnPlace){reader->file, reader->line, (size_t)(reader->at - reader->line_start) + 1};
}

/* What stands at the current place, in words. */
static RpinnStatus fail_expected(Reader *reader, const char *expected) {
  if (reader->at == reader->end)
    return rpinn_fail_at(reader->context, place_here(reader), "the text ends here; expected %s", expected);
  unsigned char byte = (unsigned char)*reader->at;
  if (byte < 0x20 || byte >= 0x7f)
    return rpinn_fail_at(reader->context, place_here(reader), "found the byte 0x%02x; expected %s", byte,
                         expected);
  return rpinn_fail_at(reader->context, place_here(reader), "found '%c'; expected %s", byte, expected);
}

static void skip_blanks(Reader *reader) {
  for (; reader->at < reader->end; reader->at++) {
    if (*reader->at == '\n') {
      reader->line++;
      reader->line_start = reader->at + 1;
    } else if (*reader->at != ' ' && *reader->at != '\t' && *reader->at != '\r') {
      return;
    }
  }
}

static bool next_is(const Reader *reader, char byte) {
  return reader->at < reader->end && *reader->at == byte;
}

/* ---- texts ---- */

static RpinnStatus read_hex(Reader *reader, unsigned *code) {
  *code = 0;
  for (int i = 0; i < 4; i++, reader->at++) {
    static const char digits[] = "0123456789abcdef";
    char lower = reader->at < reader->end ? (char)(*reader->at | 0x20) : '\0';
    const char *digit = lower > ' ' ? strchr(digits, lower) : NULL;
    bool is_digit = digit && !(digit - digits < 10 && *reader->at != *digit); /* 0x10 | 0x20 is no '0' */
    if (!is_digit) return fail_expected(reader, "four hexadecimal digits after \\u");
    *code = *code * 16 + (unsigned)(digit - digits);
  }
  return RPINN_OK;
}

static char *append_code(char *to, unsigned code) {
  if (code < 0x80) {
    *to++ = (char)code;
  } else if (code < 0x800) {
    *to++ = (char)(0xc0 | code >> 6);
    *to++ = (char)(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *to++ = (char)(0xe0 | code >> 12);
    *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    *to++ = (char)(0x80 | (code & 0x3f));
  } else {
    *to++ = (char)(0xf0 | code >> 18);
    *to++ = (char)(0x80 | (code >> 12 & 0x3f));
    *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    *to++ = (char)(0x80 | (code & 0x3f));
  }
  return to;
}

/* \uXXXX, or a pair of them for a character beyond 0xffff. */
static RpinnStatus read_unicode(Reader *reader, char **to) {
  unsigned code, low;
  RPINN_TRY(read_hex(reader, &code));
  if (code == 0) return fail_expected(reader, "no NUL (\\u0000) in a text");
  if (code >= 0xdc00 && code < 0xe000)
    return fail_expected(reader, "the first half of a pair before this one");
  if (code >= 0xd800 && code < 0xdc00) {
    if (reader->end - reader->at < 2 || reader->at[0] != '\\' || reader->at[1] != 'u')
      return fail_expected(reader, "the second half of a pair");
    reader->at += 2;
    RPINN_TRY(read_hex(reader, &low));
    if (low < 0xdc00 || low >= 0xe000) return fail_expected(reader, "a second half of a pair before this");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  *to = append_code(*to, code);
  return RPINN_OK;
}

static RpinnStatus read_escape(Reader *reader, char **to) {
  static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  if (next_is(reader, 'u')) {
    reader->at++;
    return read_unicode(reader, to);
  }
  const char *name = reader->at < reader->end && *reader->at ? strchr(names, *reader->at) : NULL;
  if (!name) return fail_expected(reader, "one of \" \\ / b f n r t u after a backslash");
  *(*to)++ = meanings[name - names];
  reader->at++;
  return RPINN_OK;
}

/* Bytes of the UTF-8 sequence at `at`; 0 when it is none. Overlong forms, halves of pairs and codes past
 * 0x10ffff are none. */
static size_t sequence_length(const char *at, const char *end) {
  const unsigned char *byte = (const unsigned char *)at;
  size_t length = byte[0] < 0x80                      ? 1
                  : byte[0] >= 0xc2 && byte[0] < 0xe0 ? 2
                  : byte[0] >= 0xe0 && byte[0] < 0xf0 ? 3
                  : byte[0] >= 0xf0 && byte[0] < 0xf5 ? 4
                                                      : 0;
  if (!length || (size_t)(end - at) < length) return 0;
  for (size_t i = 1; i < length; i++)
    if ((byte[i] & 0xc0) != 0x80) return 0;
  if (byte[0] == 0xe0 && byte[1] < 0xa0) return 0;
  if (byte[0] == 0xed && byte[1] >= 0xa0) return 0;
  if (byte[0] == 0xf0 && byte[1] < 0x90) return 0;
  if (byte[0] == 0xf4 && byte[1] >= 0x90) return 0;
  return length;
}

/* After the opening quote. What an escape stands for is never longer than the escape. */
static RpinnStatus read_text(Reader *reader, const char **text) {
  const char *close = reader->at;
  while (close < reader->end && *close != '"') close += *close == '\\' && close + 1 < reader->end ? 2 : 1;
  char *to = rpinn_arena_allocate(reader->arena, (size_t)(close - reader->at) + 1, 1);
  if (!to) return rpinn_fail_memory(reader->context);
  *text = to;
  while (!next_is(reader, '"')) {
    if (reader->at == reader->end) return fail_expected(reader, "a closing quote");
    if (next_is(reader, '\\')) {
      reader->at++;
      RPINN_TRY(read_escape(reader, &to));
      continue;
    }
    size_t length = sequence_length(reader->at, reader->end);
    if (!length) return fail_expected(reader, "UTF-8");
    if ((unsigned char)*reader->at < 0x20) return fail_expected(reader, "no control characters in a text");
    memcpy(to, reader->at, length);
    to += length;
    reader->at += length;
  }
  *to = '\0';
  reader->at++;
  return RPINN_OK;
}

/* ---- numbers and words ---- */

static RpinnStatus read_digits(Reader *reader) {
  const char *first = reader->at;
  while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') reader->at++;
  return reader->at > first ? RPINN_OK : fail_expected(reader, "a digit");
}

/* -? (0 | 1-9 digits) (. digits)? ([eE] [+-]? digits)? */
static RpinnStatus read_number(Reader *reader, RpinnJsonValue *value) {
  const char *first = reader->at;
  if (next_is(reader, '-')) reader->at++;
  if (next_is(reader, '0'))
    reader->at++;
  else
    RPINN_TRY(read_digits(reader));
  if (next_is(reader, '.')) {
    reader->at++;
    RPINN_TRY(read_digits(reader));
  }
  if (next_is(reader, 'e') || next_is(reader, 'E')) {
    reader->at++;
    if (next_is(reader, '-') || next_is(reader, '+')) reader->at++;
    RPINN_TRY(read_digits(reader));
  }
  char *copy = rpinn_arena_copy_text(reader->arena, first, (size_t)(reader->at - first));
  if (!copy) return rpinn_fail_memory(reader->context);
  value->kind = RPINN_JSON_NUMBER;
  value->number = rpinn_number_read(copy, NULL);
  if (isfinite(value->number)) return RPINN_OK;
  return rpinn_fail_at(reader->context, value->place, "%.40s is too large; expected a number below 1e308",
                       copy);
}

static RpinnStatus read_word(Reader *reader, RpinnJsonValue *value) {
  static const struct {
    const char *word;
    RpinnJsonKind kind;
    bool boolean;
  } words[] = {{"null", RPINN_JSON_NULL, false},
               {"true", RPINN_JSON_BOOLEAN, true},
               {"false", RPINN_JSON_BOOLEAN, false}};
  for (size_t i = 0; i < 3; i++) {
    size_t length = strlen(words[i].word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, words[i].word, length) != 0)
      continue;
    value->kind = words[i].kind;
    value->boolean = words[i].boolean;
    reader->at += length;
    return RPINN_OK;
  }
  return fail_expected(reader, "a value");
}

/* ---- values ---- */

static RpinnStatus read_value(Reader *reader, size_t depth, RpinnJsonValue *value);

static RpinnStatus refuse_repeated_keys(Reader *reader, const RpinnJsonValue *object) {
  if (object->count < 2) return RPINN_OK;
  const char **keys = RPINN_ARENA_NEW(reader->arena, const char *, object->count);
  const RpinnJsonValue *item = object->first;
  RpinnRepeat repeat;
  if (!keys) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < object->count; i++, item = item->next) keys[i] = item->key;
  RPINN_TRY(rpinn_names_find_repeat(reader->context, keys, object->count, &repeat));
  if (!repeat.found) return RPINN_OK;
  item = object->first;
  for (size_t i = 0; i < repeat.second; i++) item = item->next;
  return rpinn_fail_at(reader->context, item->place,
                       "the key '%.60s' is here a second time; expected it once", item->key);
}

static RpinnStatus read_key(Reader *reader, RpinnJsonValue *item) {
  skip_blanks(reader);
  if (!next_is(reader, '"')) return fail_expected(reader, "a key in quotes");
  reader->at++;
  RPINN_TRY(read_text(reader, &item->key));
  skip_blanks(reader);
  if (!next_is(reader, ':')) return fail_expected(reader, "':'");
  reader->at++;
  return RPINN_OK;
}

/* After the opening bracket. */
static RpinnStatus read_items(Reader *reader, size_t depth, RpinnJsonValue *value) {
  bool is_object = value->kind == RPINN_JSON_OBJECT;
  char close = is_object ? '}' : ']';
  RpinnJsonValue **end = &value->first;
  skip_blanks(reader);
  if (next_is(reader, close)) {
    reader->at++;
    return RPINN_OK;
  }
  for (;;) {
    RpinnJsonValue *item = RPINN_ARENA_NEW(reader->arena, RpinnJsonValue, 1);
    if (!item) return rpinn_fail_memory(reader->context);
    if (is_object) RPINN_TRY(read_key(reader, item));
    RPINN_TRY(read_value(reader, depth + 1, item));
    *end = item;
    end = &item->next;
    value->count++;
    skip_blanks(reader);
    if (next_is(reader, close)) break;
    if (!next_is(reader, ',')) return fail_expected(reader, is_object ? "',' or '}'" : "',' or ']'");
    reader->at++;
  }
  reader->at++;
  return is_object ? refuse_repeated_keys(reader, value) : RPINN_OK;
}

static RpinnStatus read_value(Reader *reader, size_t depth, RpinnJsonValue *value) {
  skip_blanks(reader);
  value->place = place_here(reader);
  if (depth > RPINN_JSON_MAX_DEPTH)
    return rpinn_fail_at(reader->context, value->place, "brackets are nested deeper than %d",
                         RPINN_JSON_MAX_DEPTH);
  char byte = reader->at < reader->end ? *reader->at : '\0';
  if (byte == '{' || byte == '[') {
    value->kind = byte == '{' ? RPINN_JSON_OBJECT : RPINN_JSON_ARRAY;
    reader->at++;
    return read_items(reader, depth, value);
  }
  if (byte == '"') {
    value->kind = RPINN_JSON_TEXT;
    reader->at++;
    return read_text(reader, &value->text);
  }
  if (byte == '-' || (byte >= '0' && byte <= '9')) return read_number(reader, value);
  return read_word(reader, value);
}

RpinnStatus rpinn_json_parse(RpinnContext *context, RpinnArena *arena, const char *file, const char *bytes,
                             size_t length, const RpinnJsonValue **value) {
  *value = NULL;
  RPINN_TRY(rpinn_file_check_size(context, file, length, RPINN_JSON_MAX_MEBIBYTES));
  const char *name = rpinn_arena_copy_text(arena, file, strlen(file));
  RpinnJsonValue *root = RPINN_ARENA_NEW(arena, RpinnJsonValue, 1);
  if (!name || !root) return rpinn_fail_memory(context);
  Reader reader = {.context = context,
                   .arena = arena,
                   .file = name,
                   .at = bytes,
                   .end = bytes + length,
                   .line = 1,
                   .line_start = bytes};
  RPINN_TRY(read_value(&reader, 0, root));
  skip_blanks(&reader);
  if (reader.at != reader.end) return fail_expected(&reader, "the end of the text");
  *value = root;
  return RPINN_OK;
}

/* ---- looking at values ---- */

const RpinnJsonValue *rpinn_json_find(const RpinnJsonValue *object, const char *key) {
  if (!object || object->kind != RPINN_JSON_OBJECT) return NULL;
  for (const RpinnJsonValue *item = object->first; item; item = item->next)
    if (!strcmp(item->key, key)) return item;
  return NULL;
}

bool rpinn_json_as_number(const RpinnJsonValue *value, double *number) {
  *number = (double)NAN;
  if (!value || value->kind == RPINN_JSON_NULL) return true;
  if (value->kind == RPINN_JSON_NUMBER)
    *number = value->number;
  else if (value->kind == RPINN_JSON_TEXT && !strcmp(value->text, "inf"))
    *number = (double)INFINITY;
  else if (value->kind == RPINN_JSON_TEXT && !strcmp(value->text, "-inf"))
    *number = -(double)INFINITY;
  else
    return false;
  return true;
}

RpinnStatus rpinn_json_require(RpinnContext *context, const RpinnJsonValue *object, const char *key,
                               RpinnJsonKind kind, const RpinnJsonValue **value) {
  static const char *const names[] = {"null", "true or false", "a number", "a text", "a list", "an object"};
  *value = rpinn_json_find(object, key);
  if (!*value)
    return rpinn_fail_at(context, object->place, "no '%s' in this object; expected %s", key, names[kind]);
  if ((*value)->kind == kind) return RPINN_OK;
  return rpinn_fail_at(context, (*value)->place, "'%s' is %s; expected %s", key, names[(*value)->kind],
                       names[kind]);
}
