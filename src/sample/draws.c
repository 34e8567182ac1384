#include "draws.h"

#include <stdlib.h>
#include <string.h>

struct RpinnDraws {
  RpinnDrawsShape shape;
  size_t width;    /* numbers in a row */
  double values[]; /* [num_chains][num_draws][width] */
};

/* size * factor + more, or SIZE_MAX, which no machine has, where that is too much to count. */
static size_t grow(size_t size, size_t factor, size_t more) {
  return factor && size > (SIZE_MAX - more) / factor ? SIZE_MAX : size * factor + more;
}

RpinnStatus rpinn_draws_create(RpinnContext *context, const RpinnDrawsShape *shape, RpinnDraws **result) {
  size_t width = shape->num_parameters + shape->num_statistics;
  size_t count = grow(grow(shape->num_chains, shape->num_draws, 0), width, 0);
  RpinnDraws *draws = malloc(grow(count, sizeof(double), sizeof *draws));
  *result = draws;
  if (!draws) return rpinn_fail_memory(context);
  draws->shape = *shape;
  draws->width = width;
  return RPINN_OK;
}

double *rpinn_draws_row(RpinnDraws *draws, size_t chain, size_t index) {
  return draws->values + (chain * draws->shape.num_draws + index) * draws->width;
}

void rpinn_draws_destroy(RpinnDraws *draws) {
  free(draws);
}

size_t rpinn_draws_count(const RpinnDraws *draws) {
  return draws->shape.num_chains * draws->shape.num_draws;
}

size_t rpinn_draws_num_parameters(const RpinnDraws *draws) {
  return draws->shape.num_parameters;
}

RpinnDraw rpinn_draws_get(const RpinnDraws *draws, size_t i) {
  const double *row = draws->values + i * draws->width;
  return (RpinnDraw){.chain = i / draws->shape.num_draws,
                     .index = i % draws->shape.num_draws,
                     .parameters = row,
                     .statistics = row + draws->shape.num_parameters};
}

int rpinn_draws_statistic(const RpinnDraws *draws, const char *name) {
  for (size_t i = 0; i < draws->shape.num_statistics; i++)
    if (!strcmp(draws->shape.statistic_names[i], name)) return (int)i;
  return -1;
}
