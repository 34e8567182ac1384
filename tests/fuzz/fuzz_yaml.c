/* Any bytes either give a tree whose places point at what they name, or are refused with a place. */
#include "fuzz.h"

#include "yaml_tree.h"

/* YAML also ends lines with CR, NEL, LS and PS: places are checked in texts that have none of them. */
static bool has_odd_line_ends(const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] == '\r') return true;
    if (size - i >= 2 && memcmp(bytes + i, "\xc2\x85", 2) == 0) return true;
    if (size - i >= 3 && memcmp(bytes + i, "\xe2\x80", 2) == 0) return true;
  }
  return false;
}

static void check_first_byte(const RpinnYaml *node, const char *bytes, size_t size) {
  size_t offset = fuzz_offset(bytes, size, node->place);
  if (node->kind != RPINN_YAML_SCALAR || (!node->quoted && !node->text[0])) return;
  fuzz_require(offset < size);
  if (node->quoted)
    fuzz_require(strchr("'\"|>", bytes[offset]));
  else
    fuzz_require(bytes[offset] == node->text[0]);
}

static void check_node(const RpinnYaml *node, const char *bytes, size_t size, bool check_places) {
  fuzz_require(strcmp(node->place.file, "fuzz.yaml") == 0);
  if (check_places) check_first_byte(node, bytes, size);
  if (node->kind == RPINN_YAML_SCALAR) {
    fuzz_require(strlen(node->text) <= 3 * size && node->text_column_shift == node->quoted);
    return;
  }
  for (size_t i = 0; i < node->count; i++) {
    check_node(node->items[i], bytes, size, check_places);
    if (node->kind != RPINN_YAML_MAPPING) continue;
    fuzz_require(node->keys[i]->kind == RPINN_YAML_SCALAR);
    check_node(node->keys[i], bytes, size, check_places);
    fuzz_require(rpinn_yaml_get(node, node->keys[i]->text) == node->items[i]);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *bytes = (const char *)data;
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  fuzz_require(context && arena);
  RpinnYaml *root;
  RpinnStatus status = rpinn_yaml_parse(context, arena, "fuzz.yaml", bytes, size, &root);
  if (status == RPINN_OK)
    check_node(root, bytes, size, !has_odd_line_ends(bytes, size));
  else
    fuzz_require_refusal(context, status, size);
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
  return 0;
}
