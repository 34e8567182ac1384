/* The in-memory sink: rows of (chain, index, parameters, statistics), sorted when the sampler is done. */
#include "rpinn/draws.h"

#include <stdlib.h>
#include <string.h>

typedef struct Row {
  uint64_t chain, index;
  double *values; /* [num_parameters + num_statistics] */
} Row;

struct RpinnDraws {
  size_t num_parameters, num_statistics;
  char **statistic_names;
  Row *rows;
  size_t count, capacity;
};

RpinnDraws *rpinn_draws_create(void) {
  return calloc(1, sizeof(RpinnDraws));
}

static void clear(RpinnDraws *draws) {
  for (size_t i = 0; i < draws->count; i++) free(draws->rows[i].values);
  for (size_t i = 0; draws->statistic_names && i < draws->num_statistics; i++)
    free(draws->statistic_names[i]);
  free(draws->statistic_names);
  free(draws->rows);
  *draws = (RpinnDraws){0};
}

void rpinn_draws_destroy(RpinnDraws *draws) {
  if (!draws) return;
  clear(draws);
  free(draws);
}

static RpinnStatus begin(void *data, const RpinnDrawLayout *layout) {
  RpinnDraws *draws = data;
  clear(draws);
  draws->num_parameters = layout->num_parameters;
  draws->statistic_names = calloc(layout->num_statistics + 1, sizeof(char *));
  if (!draws->statistic_names) return RPINN_ERROR_MEMORY;
  draws->num_statistics = layout->num_statistics;
  for (size_t i = 0; i < layout->num_statistics; i++) {
    draws->statistic_names[i] = strdup(layout->statistic_names[i]);
    if (!draws->statistic_names[i]) return RPINN_ERROR_MEMORY;
  }
  return RPINN_OK;
}

static RpinnStatus write_draw(void *data, const RpinnDraw *draw) {
  RpinnDraws *draws = data;
  if (draws->count == draws->capacity) {
    size_t capacity = draws->capacity ? 2 * draws->capacity : 64;
    Row *rows = realloc(draws->rows, capacity * sizeof *rows);
    if (!rows) return RPINN_ERROR_MEMORY;
    draws->rows = rows;
    draws->capacity = capacity;
  }
  double *values = malloc((draws->num_parameters + draws->num_statistics + 1) * sizeof *values);
  if (!values) return RPINN_ERROR_MEMORY;
  memcpy(values, draw->parameters, draws->num_parameters * sizeof *values);
  if (draws->num_statistics)
    memcpy(values + draws->num_parameters, draw->statistics, draws->num_statistics * sizeof *values);
  draws->rows[draws->count++] = (Row){draw->chain, draw->index, values};
  return RPINN_OK;
}

static int compare_rows(const void *left, const void *right) {
  const Row *a = left, *b = right;
  if (a->chain != b->chain) return a->chain < b->chain ? -1 : 1;
  if (a->index != b->index) return a->index < b->index ? -1 : 1;
  return 0;
}

static RpinnStatus finish(void *data) {
  RpinnDraws *draws = data;
  if (draws->count) qsort(draws->rows, draws->count, sizeof *draws->rows, compare_rows);
  return RPINN_OK;
}

RpinnDrawSink rpinn_draws_sink(RpinnDraws *draws) {
  return (RpinnDrawSink){.data = draws, .begin = begin, .write = write_draw, .finish = finish};
}

size_t rpinn_draws_count(const RpinnDraws *draws) {
  return draws->count;
}
size_t rpinn_draws_num_parameters(const RpinnDraws *draws) {
  return draws->num_parameters;
}

RpinnDraw rpinn_draws_get(const RpinnDraws *draws, size_t i) {
  const Row *row = &draws->rows[i];
  return (RpinnDraw){row->chain, row->index, row->values, row->values + draws->num_parameters};
}

int rpinn_draws_statistic(const RpinnDraws *draws, const char *name) {
  for (size_t i = 0; i < draws->num_statistics; i++)
    if (!strcmp(draws->statistic_names[i], name)) return (int)i;
  return -1;
}
