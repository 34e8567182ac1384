/* libyaml's events become nodes, one recursive call per level. The children of the collections that are still
 * open wait on one stack and move to the arena, in an array of just their size, when their collection ends.
 *
 * libyaml counts characters, our places count bytes. Places mostly move forward through the file, so two
 * cursors that remember (character index, byte offset) pairs convert them in linear time. */
#include "yaml_tree.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "names.h"
#include "whole_file.h"

enum { FOUND_TEXT = 48, WORD_LIMIT = 32 };

typedef struct Cursor {
  size_t index, offset; /* the same place in characters and in bytes */
} Cursor;

typedef struct Reader {
  RpinnContext *context;
  RpinnArena *arena;
  const char *file, *bytes;
  size_t length;
  yaml_parser_t parser;
  Cursor here, line_start;
  size_t last_line_start; /* offset; equals length when the file ends with a line end */
  RpinnYaml **pending;    /* children of the open collections */
  size_t num_pending, pending_capacity, num_nodes;
} Reader;

/* ---- Places ---- */

static bool continues_character(char byte) {
  return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t move_cursor(const Reader *reader, Cursor *cursor, size_t index) {
  while (cursor->index < index && cursor->offset < reader->length) {
    cursor->index++;
    do cursor->offset++;
    while (cursor->offset < reader->length && continues_character(reader->bytes[cursor->offset]));
  }
  while (cursor->index > index && cursor->offset > 0) {
    cursor->index--;
    do cursor->offset--;
    while (cursor->offset > 0 && continues_character(reader->bytes[cursor->offset]));
  }
  return cursor->offset;
}

/* libyaml ends a file whose last line has no line end on a line of its own, which nobody can see: stay where
 * the text ends. */
static RpinnPlace place_of(Reader *reader, yaml_mark_t mark) {
  size_t offset = move_cursor(reader, &reader->here, mark.index);
  if (offset == reader->length && mark.column == 0 && reader->last_line_start < reader->length)
    return (RpinnPlace){reader->file, mark.line, offset - reader->last_line_start + 1};
  size_t line_start = move_cursor(reader, &reader->line_start, mark.index - mark.column);
  return (RpinnPlace){reader->file, mark.line + 1, offset - line_start + 1};
}

static RpinnPlace place_of_offset(const Reader *reader, size_t offset) {
  RpinnPlace place = {reader->file, 1, 1};
  for (size_t i = 0; i < offset && i < reader->length; i++) {
    place.column++;
    if (reader->bytes[i] == '\n') place = (RpinnPlace){reader->file, place.line + 1, 1};
  }
  return place;
}

static size_t find_last_line(const char *bytes, size_t length) {
  while (length > 0 && bytes[length - 1] != '\n' && bytes[length - 1] != '\r') length--;
  return length;
}

/* ---- Bad YAML, in our words ---- */

/* The word, or else the one character, at a mark. */
static void describe_found(Reader *reader, yaml_mark_t mark, char found[FOUND_TEXT]) {
  size_t offset = move_cursor(reader, &reader->here, mark.index);
  const char *start = reader->bytes + offset;
  size_t left = reader->length - offset, length = 0;
  if (!left) {
    snprintf(found, FOUND_TEXT, "the end of the file");
  } else if (*start == '\n' || *start == '\r') {
    snprintf(found, FOUND_TEXT, "the end of the line");
  } else if (*start == '\t') {
    snprintf(found, FOUND_TEXT, "a tab");
  } else {
    while (length < left && length < WORD_LIMIT && start[length] > ' ' && start[length] < 0x7f &&
           !strchr(",:[]{}", start[length]))
      length++;
    if (!length) length = 1;
    while (length < left && continues_character(start[length])) length++;
    snprintf(found, FOUND_TEXT, "'%.*s'", (int)length, start);
  }
}

/* What libyaml says, and what we say was expected instead of what stands at the mark. Where a line is named,
 * it is the one where the unfinished thing began. */
static const struct {
  const char *problem, *expected;
  bool names_line;
} rewordings[] = {
    {"did not find expected ',' or ']'", "',' or ']' in the list that starts at line", true},
    {"did not find expected ',' or '}'", "',' or '}' in the mapping that starts at line", true},
    {"did not find expected key", "a key indented like the first one of the mapping that starts at line",
     true},
    {"did not find expected '-' indicator", "'-' and an item of the list that starts at line", true},
    {"did not find expected node content", "a value", false},
    {"did not find expected <document start>", "the end of the only document", false},
    {"could not find expected ':'", "':' after the key that starts at line", true},
    {"mapping values are not allowed in this context",
     "a value that fits the indentation; one with ': ' inside needs quotes", false},
    {"mapping keys are not allowed in this context", "a value; one that starts with '?' needs quotes", false},
    {"block sequence entries are not allowed in this context",
     "a value; a list with '-' starts on a line of its own", false},
    {"found character that cannot start any token",
     "a value; indent with spaces, and quote a text that starts with @, % or `", false},
    {"found a tab character where an indentation space is expected", "spaces as indentation", false},
    {"found a tab character that violates indentation", "spaces as indentation", false},
    {"found unexpected end of stream", "the closing quote of the text that starts at line", true},
    {"found unexpected document indicator", "the closing quote of the text that starts at line", true},
    {"found unknown escape character",
     "an escape such as \\n or \\\\; single quotes take backslashes as they are", false},
    {"did not find expected hexdecimal number", "hexadecimal digits of an escape", false},
};

static RpinnStatus fail_syntax(Reader *reader) {
  const yaml_parser_t *parser = &reader->parser;
  RpinnPlace place = place_of(reader, parser->problem_mark);
  char found[FOUND_TEXT];
  describe_found(reader, parser->problem_mark, found);
  for (size_t i = 0; i < sizeof rewordings / sizeof rewordings[0]; i++) {
    if (strcmp(parser->problem, rewordings[i].problem) != 0) continue;
    if (rewordings[i].names_line)
      return rpinn_fail_at(reader->context, place, "found %s, expected %s %zu", found, rewordings[i].expected,
                           parser->context_mark.line + 1);
    return rpinn_fail_at(reader->context, place, "found %s, expected %s", found, rewordings[i].expected);
  }
  return rpinn_fail_at(reader->context, place, "found %s, expected valid YAML: %s%s%s", found,
                       parser->context ? parser->context : "", parser->context ? ", " : "", parser->problem);
}

static RpinnStatus fail_bytes(Reader *reader) {
  const yaml_parser_t *parser = &reader->parser;
  RpinnPlace place = place_of_offset(reader, parser->problem_offset);
  if (strcmp(parser->problem, "control characters are not allowed") == 0)
    return rpinn_fail_at(reader->context, place, "found the control character U+%04X, expected text",
                         (unsigned)parser->problem_value);
  return rpinn_fail_at(reader->context, place, "found bytes that are not UTF-8, expected a UTF-8 text file");
}

static RpinnStatus fail_parser(Reader *reader) {
  if (reader->parser.error == YAML_MEMORY_ERROR) return rpinn_fail_memory(reader->context);
  if (reader->parser.error == YAML_READER_ERROR) return fail_bytes(reader);
  return fail_syntax(reader);
}

/* ---- Nodes ---- */

static RpinnStatus push(Reader *reader, RpinnYaml *node) {
  if (reader->num_pending == reader->pending_capacity) {
    size_t capacity = reader->pending_capacity ? 2 * reader->pending_capacity : 64;
    RpinnYaml **pending = realloc(reader->pending, capacity * sizeof *pending);
    if (!pending) return rpinn_fail_memory(reader->context);
    reader->pending = pending;
    reader->pending_capacity = capacity;
  }
  reader->pending[reader->num_pending++] = node;
  return RPINN_OK;
}

static RpinnStatus new_node(Reader *reader, RpinnYamlKind kind, RpinnPlace place, RpinnYaml **node) {
  if (reader->num_nodes++ == RPINN_YAML_MAX_NODES)
    return rpinn_fail_at(reader->context, place,
                         "found more than %d values, expected fewer: long lists belong in a CSV",
                         (int)RPINN_YAML_MAX_NODES);
  *node = RPINN_ARENA_NEW(reader->arena, RpinnYaml, 1);
  if (!*node) return rpinn_fail_memory(reader->context);
  (*node)->kind = kind;
  (*node)->place = place;
  return RPINN_OK;
}

static RpinnStatus refuse_properties(Reader *reader, RpinnPlace place, const yaml_char_t *anchor,
                                     const yaml_char_t *tag) {
  if (anchor)
    return rpinn_fail_at(reader->context, place,
                         "found the anchor '&%.40s', expected a value without an anchor",
                         (const char *)anchor);
  if (tag)
    return rpinn_fail_at(reader->context, place, "found the tag '%.40s', expected a value without a tag",
                         (const char *)tag);
  return RPINN_OK;
}

static RpinnStatus read_scalar(Reader *reader, const yaml_event_t *event, RpinnYaml **node) {
  RpinnPlace place = place_of(reader, event->start_mark);
  const char *value = (const char *)event->data.scalar.value;
  size_t length = event->data.scalar.length;
  RPINN_TRY(refuse_properties(reader, place, event->data.scalar.anchor, event->data.scalar.tag));
  if (memchr(value, '\0', length))
    return rpinn_fail_at(reader->context, place,
                         "found a text with the character U+0000, expected one without");
  RPINN_TRY(new_node(reader, RPINN_YAML_SCALAR, place, node));
  (*node)->text = rpinn_arena_copy_text(reader->arena, value, length);
  if (!(*node)->text) return rpinn_fail_memory(reader->context);
  (*node)->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
  (*node)->text_column_shift = (*node)->quoted;
  /* Folded lines, escapes and block texts are longer in the file than the text they stand for. */
  size_t num_characters = 0;
  for (size_t i = 0; i < length; i++) num_characters += !continues_character(value[i]);
  (*node)->verbatim =
      event->end_mark.index - event->start_mark.index == num_characters + 2 * (*node)->text_column_shift;
  return RPINN_OK;
}

static RpinnStatus refuse_repeated_keys(Reader *reader, const RpinnYaml *mapping) {
  const char **names = calloc(mapping->count + 1, sizeof *names);
  if (!names) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < mapping->count; i++) names[i] = mapping->keys[i]->text;
  RpinnRepeat repeat;
  RpinnStatus status = rpinn_names_find_repeat(reader->context, names, mapping->count, &repeat);
  free(names);
  if (status != RPINN_OK || !repeat.found) return status;
  const RpinnYaml *first = mapping->keys[repeat.first], *second = mapping->keys[repeat.second];
  return rpinn_fail_at(reader->context, second->place,
                       "found the key '%.60s' again, expected it once: it is at line %zu", second->text,
                       first->place.line);
}

static RpinnStatus read_next(Reader *reader, size_t depth, RpinnYaml **node);

/* The items from the stack to the arena. A mapping's children alternate: key, value, key, value … */
static RpinnStatus close_collection(Reader *reader, RpinnYaml *node, size_t first_child) {
  size_t num_children = reader->num_pending - first_child;
  size_t stride = node->kind == RPINN_YAML_MAPPING ? 2 : 1;
  node->count = num_children / stride;
  node->items = RPINN_ARENA_NEW(reader->arena, RpinnYaml *, node->count);
  if (!node->items) return rpinn_fail_memory(reader->context);
  for (size_t i = 0; i < node->count; i++)
    node->items[i] = reader->pending[first_child + i * stride + stride - 1];
  if (node->kind == RPINN_YAML_MAPPING) {
    node->keys = RPINN_ARENA_NEW(reader->arena, RpinnYaml *, node->count);
    if (!node->keys) return rpinn_fail_memory(reader->context);
    for (size_t i = 0; i < node->count; i++) node->keys[i] = reader->pending[first_child + i * stride];
    RPINN_TRY(refuse_repeated_keys(reader, node));
  }
  reader->num_pending = first_child;
  return RPINN_OK;
}

static RpinnStatus read_collection(Reader *reader, RpinnYamlKind kind, RpinnPlace place, size_t depth,
                                   RpinnYaml **node) {
  if (depth > RPINN_YAML_MAX_DEPTH)
    return rpinn_fail_at(reader->context, place,
                         "found nesting deeper than %d levels, expected a flatter file",
                         (int)RPINN_YAML_MAX_DEPTH);
  RPINN_TRY(new_node(reader, kind, place, node));
  size_t first_child = reader->num_pending;
  for (;;) {
    RpinnYaml *child;
    RPINN_TRY(read_next(reader, depth + 1, &child));
    if (!child) return close_collection(reader, *node, first_child);
    bool is_key = kind == RPINN_YAML_MAPPING && (reader->num_pending - first_child) % 2 == 0;
    if (is_key && child->kind != RPINN_YAML_SCALAR)
      return rpinn_fail_at(reader->context, child->place, "found %s as a key, expected a name",
                           rpinn_yaml_kind_name(child->kind));
    RPINN_TRY(push(reader, child));
  }
}

static RpinnStatus read_event(Reader *reader, const yaml_event_t *event, size_t depth, RpinnYaml **node) {
  RpinnPlace place = place_of(reader, event->start_mark);
  switch (event->type) {
  case YAML_SCALAR_EVENT: return read_scalar(reader, event, node);
  case YAML_SEQUENCE_START_EVENT:
    RPINN_TRY(
        refuse_properties(reader, place, event->data.sequence_start.anchor, event->data.sequence_start.tag));
    return read_collection(reader, RPINN_YAML_SEQUENCE, place, depth, node);
  case YAML_MAPPING_START_EVENT:
    RPINN_TRY(
        refuse_properties(reader, place, event->data.mapping_start.anchor, event->data.mapping_start.tag));
    return read_collection(reader, RPINN_YAML_MAPPING, place, depth, node);
  case YAML_ALIAS_EVENT:
    return rpinn_fail_at(reader->context, place, "found the alias '*%.40s', expected the value itself",
                         (const char *)event->data.alias.anchor);
  default: *node = NULL; return RPINN_OK;
  }
}

/* The next node; NULL when the collection, the document or the stream begins or ends here. */
static RpinnStatus read_next(Reader *reader, size_t depth, RpinnYaml **node) {
  yaml_event_t event;
  if (!yaml_parser_parse(&reader->parser, &event)) return fail_parser(reader);
  RpinnStatus status = read_event(reader, &event, depth, node);
  yaml_event_delete(&event);
  return status;
}

/* ---- The document ---- */

/* Step over a start or end event; says whether the stream ends with it. */
static RpinnStatus step_over(Reader *reader, RpinnPlace *place, bool *at_end) {
  yaml_event_t event;
  if (!yaml_parser_parse(&reader->parser, &event)) return fail_parser(reader);
  *place = place_of(reader, event.start_mark);
  *at_end = event.type == YAML_STREAM_END_EVENT;
  yaml_event_delete(&event);
  return RPINN_OK;
}

/* Events: stream start, document start, nodes, document end, stream end. */
static RpinnStatus read_document(Reader *reader, RpinnYaml **root) {
  RpinnPlace place = {0};
  bool at_end = false;
  RPINN_TRY(step_over(reader, &place, &at_end));
  RPINN_TRY(step_over(reader, &place, &at_end));
  if (!at_end) RPINN_TRY(read_next(reader, 1, root));
  if (at_end || ((*root)->kind == RPINN_YAML_SCALAR && !(*root)->quoted && !(*root)->text[0]))
    return rpinn_fail_at(reader->context, (RpinnPlace){reader->file, 1, 1},
                         "found an empty document, expected keys and values");
  RPINN_TRY(step_over(reader, &place, &at_end));
  RPINN_TRY(step_over(reader, &place, &at_end));
  if (!at_end) return rpinn_fail_at(reader->context, place, "found a second document, expected only one");
  return RPINN_OK;
}

RpinnStatus rpinn_yaml_parse(RpinnContext *context, RpinnArena *arena, const char *file, const char *bytes,
                             size_t length, RpinnYaml **root) {
  *root = NULL;
  RPINN_TRY(rpinn_file_check_size(context, file, length, RPINN_YAML_MAX_MEBIBYTES));
  if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark is no text */
    bytes += 3;
    length -= 3;
  }
  Reader reader = {.context = context, .arena = arena, .bytes = bytes, .length = length};
  reader.last_line_start = find_last_line(bytes, length);
  reader.file = rpinn_arena_copy_text(arena, file, strlen(file));
  if (!reader.file || !yaml_parser_initialize(&reader.parser)) return rpinn_fail_memory(context);
  yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&reader.parser, (const unsigned char *)bytes, length);
  RpinnYaml *document = NULL;
  RpinnStatus status = read_document(&reader, &document);
  yaml_parser_delete(&reader.parser);
  free(reader.pending);
  if (status == RPINN_OK) *root = document;
  return status;
}

RpinnStatus rpinn_yaml_read_file(RpinnContext *context, RpinnArena *arena, const char *path,
                                 RpinnYaml **root) {
  *root = NULL;
  RpinnText bytes = {0};
  RpinnStatus status = rpinn_file_read(context, path, RPINN_YAML_MAX_MEBIBYTES, &bytes);
  if (status == RPINN_OK)
    status = rpinn_yaml_parse(context, arena, path, bytes.bytes ? bytes.bytes : "", bytes.length, root);
  rpinn_text_free(&bytes);
  return status;
}

/* ---- Looking at the tree ---- */

const RpinnYaml *rpinn_yaml_get(const RpinnYaml *mapping, const char *key) {
  for (size_t i = 0; i < mapping->count; i++)
    if (strcmp(mapping->keys[i]->text, key) == 0) return mapping->items[i];
  return NULL;
}

const char *rpinn_yaml_kind_name(RpinnYamlKind kind) {
  switch (kind) {
  case RPINN_YAML_SCALAR: return "a value";
  case RPINN_YAML_SEQUENCE: return "a list";
  case RPINN_YAML_MAPPING: return "a mapping";
  }
  return "a node";
}
