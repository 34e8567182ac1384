#include "svgd_parts.h"

const RpinnSvgdParts rpinn_svgd_whole = {.part = 0, .num_parts = 1};

size_t rpinn_svgd_first_task(const RpinnSvgdParts *parts, size_t num_tasks, size_t part) {
  return num_tasks * part / parts->num_parts;
}

void rpinn_svgd_deal_items(const RpinnSvgdParts *parts, size_t num_items, size_t size, size_t *first) {
  size_t num_tasks = (num_items + size - 1) / size;
  for (size_t part = 0; part <= parts->num_parts; part++) {
    size_t item = rpinn_svgd_first_task(parts, num_tasks, part) * size;
    first[part] = item < num_items ? item : num_items;
  }
}
