#include "draws.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parameter_names.h"

struct RpinnDraws {
  RpinnDrawsShape shape;
  RpinnParameterNames *names;
  size_t width;  /* numbers in a row */
  size_t *first; /* [num_chains + 1] the number of the first draw of each chain, among those that were made */
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
  *result = NULL;
  if (!draws) return rpinn_fail_memory(context);
  draws->shape = *shape;
  draws->width = width;
  draws->names = NULL;
  draws->first = calloc(shape->num_chains + 1, sizeof *draws->first);
  RpinnStatus status =
      draws->first ? rpinn_parameter_names_create(context, shape->num_parameters, shape->names, &draws->names)
                   : rpinn_fail_memory(context);
  if (status != RPINN_OK) {
    rpinn_draws_destroy(draws);
    return status;
  }
  for (size_t chain = 0; chain <= shape->num_chains; chain++) draws->first[chain] = chain * shape->num_draws;
  *result = draws;
  return RPINN_OK;
}

RpinnStatus rpinn_draws_of_values(RpinnContext *context, size_t num_chains, size_t num_draws,
                                  size_t num_parameters, const char *const *names, const double *values,
                                  RpinnDraws **draws) {
  const RpinnDrawsShape shape = {
      .num_chains = num_chains, .num_draws = num_draws, .num_parameters = num_parameters, .names = names};
  *draws = NULL;
  if (!num_chains || !num_draws || !num_parameters)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "%zu chains of %zu draws of %zu parameters; expected one of each at least", num_chains,
                      num_draws, num_parameters);
  RPINN_TRY(rpinn_draws_create(context, &shape, draws));
  memcpy((*draws)->values, values, num_chains * num_draws * num_parameters * sizeof *values);
  return RPINN_OK;
}

void rpinn_draws_destroy(RpinnDraws *draws) {
  if (!draws) return;
  rpinn_parameter_names_destroy(draws->names);
  free(draws->first);
  free(draws);
}

double *rpinn_draws_row(RpinnDraws *draws, size_t chain, size_t index) {
  return draws->values + (chain * draws->shape.num_draws + index) * draws->width;
}

void rpinn_draws_cut(RpinnDraws *draws, size_t chain, size_t num_draws) {
  size_t lost = rpinn_draws_length(draws, chain) - num_draws;
  for (size_t later = chain + 1; later <= draws->shape.num_chains; later++) draws->first[later] -= lost;
}

size_t rpinn_draws_num_chains(const RpinnDraws *draws) {
  return draws->shape.num_chains;
}

size_t rpinn_draws_length(const RpinnDraws *draws, size_t chain) {
  return draws->first[chain + 1] - draws->first[chain];
}

size_t rpinn_draws_count(const RpinnDraws *draws) {
  return draws->first[draws->shape.num_chains];
}

size_t rpinn_draws_num_parameters(const RpinnDraws *draws) {
  return draws->shape.num_parameters;
}

size_t rpinn_draws_num_statistics(const RpinnDraws *draws) {
  return draws->shape.num_statistics;
}

/* The last chain whose first draw is no later than i, and that has draws. */
static size_t chain_of(const RpinnDraws *draws, size_t i) {
  size_t low = 0, high = draws->shape.num_chains; /* first[low] <= i < first[high] */
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (draws->first[middle] <= i)
      low = middle;
    else
      high = middle;
  }
  return low;
}

RpinnDraw rpinn_draws_get(const RpinnDraws *draws, size_t i) {
  size_t chain = chain_of(draws, i), index = i - draws->first[chain];
  const double *row = draws->values + (chain * draws->shape.num_draws + index) * draws->width;
  return (RpinnDraw){
      .chain = chain, .index = index, .parameters = row, .statistics = row + draws->shape.num_parameters};
}

const char *rpinn_draws_name(const RpinnDraws *draws, size_t parameter) {
  return rpinn_parameter_name(draws->names, parameter);
}

int rpinn_draws_parameter(const RpinnDraws *draws, const char *name) {
  for (size_t j = 0; j < draws->shape.num_parameters; j++)
    if (!strcmp(rpinn_parameter_name(draws->names, j), name)) return (int)j;
  return -1;
}

const char *const *rpinn_draws_statistic_names(const RpinnDraws *draws) {
  return draws->shape.statistic_names;
}

const char *rpinn_draws_statistic_name(const RpinnDraws *draws, size_t statistic) {
  return draws->shape.statistic_names[statistic];
}

int rpinn_draws_statistic(const RpinnDraws *draws, const char *name) {
  for (size_t i = 0; i < draws->shape.num_statistics; i++)
    if (!strcmp(draws->shape.statistic_names[i], name)) return (int)i;
  return -1;
}

void rpinn_draws_gather(const RpinnDraws *draws, size_t parameter, size_t num_draws, double *values) {
  for (size_t chain = 0; chain < draws->shape.num_chains; chain++)
    for (size_t i = 0; i < num_draws; i++)
      values[chain * num_draws + i] =
          draws->values[(chain * draws->shape.num_draws + i) * draws->width + parameter];
}
