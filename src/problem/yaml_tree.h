/* YAML as a tree whose every node knows where it stands in the file.
 *
 * Only the part of YAML that problem files need: one document of mappings, lists and texts. A plain text
 * stays what was written, so that y, n, yes and 1e-3 are names and numbers for the reader to judge, never
 * booleans. Anchors, aliases, tags, repeated keys and keys that are not texts are refused. */
#ifndef RPINN_PROBLEM_YAML_TREE_H
#define RPINN_PROBLEM_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"
#include "context.h"

typedef enum RpinnYamlKind { RPINN_YAML_SCALAR, RPINN_YAML_SEQUENCE, RPINN_YAML_MAPPING } RpinnYamlKind;

typedef struct RpinnYaml RpinnYaml;
struct RpinnYaml {
  RpinnYamlKind kind;
  RpinnPlace place; /* of its first byte */
  const char *text; /* scalar: NUL-terminated, no NUL inside; "" when nothing was written */
  bool quoted;      /* scalar: was written with quotes or as a block */
  size_t
      text_column_shift; /* scalar: 1 when quoted, as the text starts one byte after place.column, else 0 */
  bool verbatim;         /* scalar: the text stands in the file byte by byte, not folded or escaped */
  size_t count;          /* sequence: items; mapping: pairs */
  RpinnYaml **keys;      /* mapping: [count] scalars, all different */
  RpinnYaml **items;     /* sequence: [count] items; mapping: [count] values */
};

/* The limits that keep a hostile file from taking the machine along. */
enum { RPINN_YAML_MAX_MEBIBYTES = 64, RPINN_YAML_MAX_DEPTH = 64, RPINN_YAML_MAX_NODES = 1 << 22 };

/* The tree of one document, in the arena; nothing borrows from file or bytes afterwards. */
RpinnStatus rpinn_yaml_parse(RpinnContext *context, RpinnArena *arena, const char *file, const char *bytes,
                             size_t length, RpinnYaml **root);
RpinnStatus rpinn_yaml_read_file(RpinnContext *context, RpinnArena *arena, const char *path,
                                 RpinnYaml **root);

/* The value of a key; NULL when absent. */
const RpinnYaml *rpinn_yaml_get(const RpinnYaml *mapping, const char *key);
/* "a value", "a list", "a mapping" */
const char *rpinn_yaml_kind_name(RpinnYamlKind kind);

#endif
