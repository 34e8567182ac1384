/* Draws in memory to a file. b[0], b[1], … are one vector there: its stem is what stands before the bracket. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "rpinn/draw_file.h"

enum { LONGEST_NAME = 128 };

typedef struct Writing {
  const RpinnDraws *draws;
  size_t num_draws, num_chains; /* that are written */
  RpinnFileVariable *variables; /* [num_parameters] at most */
  size_t num_variables;
  char (*stems)[LONGEST_NAME];   /* [num_parameters] */
  RpinnFileVariable *statistics; /* [num_statistics] */
} Writing;

static bool is_boolean(const char *statistic) {
  static const char *const names[] = {"diverging", "reached_max_treedepth", "converged"};
  for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
    if (!strcmp(names[k], statistic)) return true;
  return false;
}

/* The length of the stem of "stem[index]"; 0: it is no such name, or one too long to have its stem taken. */
static size_t stem_length(const char *name, size_t index) {
  char end[32];
  size_t length = strlen(name), tail = (size_t)snprintf(end, sizeof end, "[%zu]", index);
  bool fits = length > tail && length - tail < LONGEST_NAME;
  return fits && !strcmp(name + length - tail, end) ? length - tail : 0;
}

/* How many parameters from the first on are the entries 0, 1, … of one vector; 0: it is none. */
static size_t vector_length(const RpinnDraws *draws, size_t first) {
  size_t length = stem_length(rpinn_draws_name(draws, first), 0), count = 0;
  if (length == 0) return 0;
  while (first + count < rpinn_draws_num_parameters(draws)) {
    const char *name = rpinn_draws_name(draws, first + count);
    if (stem_length(name, count) != length || strncmp(name, rpinn_draws_name(draws, first), length) != 0)
      break;
    count++;
  }
  return count;
}

static void name_variables(Writing *writing) {
  for (size_t j = 0; j < rpinn_draws_num_parameters(writing->draws);) {
    const char *name = rpinn_draws_name(writing->draws, j);
    size_t count = vector_length(writing->draws, j);
    RpinnFileVariable *variable = &writing->variables[writing->num_variables];
    *variable = (RpinnFileVariable){.name = name, .count = 1};
    if (count) {
      char *stem = writing->stems[writing->num_variables];
      snprintf(stem, LONGEST_NAME, "%.*s", (int)stem_length(name, 0), name);
      *variable = (RpinnFileVariable){.name = stem, .count = count, .is_vector = true};
    }
    writing->num_variables++;
    j += count ? count : 1;
  }
  for (size_t s = 0; s < rpinn_draws_num_statistics(writing->draws); s++) {
    const char *name = rpinn_draws_statistic_name(writing->draws, s);
    writing->statistics[s] = (RpinnFileVariable){.name = name, .count = 1, .is_boolean = is_boolean(name)};
  }
}

static RpinnStatus add_draws(RpinnContext *context, const Writing *writing, RpinnDrawFile *file) {
  size_t first = 0, place = 0; /* of the chain, among all draws and in the file */
  for (size_t chain = 0; chain < rpinn_draws_num_chains(writing->draws); chain++) {
    size_t length = rpinn_draws_length(writing->draws, chain);
    for (size_t i = 0; length >= writing->num_draws && i < writing->num_draws; i++) {
      RpinnDraw draw = rpinn_draws_get(writing->draws, first + i);
      RPINN_TRY(rpinn_draw_file_add(context, file, place, draw.parameters, draw.statistics, NULL));
    }
    place += length >= writing->num_draws;
    first += length;
  }
  return RPINN_OK;
}

static RpinnStatus write(RpinnContext *context, const Writing *writing, const char *method,
                         const char *path) {
  const RpinnDrawFileOptions options = {.method = method,
                                        .num_chains = writing->num_chains,
                                        .num_draws = writing->num_draws,
                                        .num_variables = writing->num_variables,
                                        .variables = writing->variables,
                                        .num_statistics = rpinn_draws_num_statistics(writing->draws),
                                        .statistics = writing->statistics};
  RpinnDrawFile *file;
  RPINN_TRY(rpinn_draw_file_create(context, path, &options, &file));
  RpinnStatus status = add_draws(context, writing, file);
  if (status == RPINN_OK) status = rpinn_draw_file_finish(context, file);
  rpinn_draw_file_destroy(file);
  return status;
}

RpinnStatus rpinn_draws_write(RpinnContext *context, const RpinnDraws *draws, size_t num_draws,
                              const char *method, const char *path) {
  size_t N = rpinn_draws_num_parameters(draws);
  Writing writing = {.draws = draws, .num_draws = num_draws};
  for (size_t chain = 0; chain < rpinn_draws_num_chains(draws); chain++)
    writing.num_chains += num_draws && rpinn_draws_length(draws, chain) >= num_draws;
  if (writing.num_chains == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "no chain has %zu draws to write to '%s'", num_draws, path);
  writing.variables = calloc(N + 1, sizeof *writing.variables);
  writing.stems = calloc(N + 1, sizeof *writing.stems);
  writing.statistics = calloc(rpinn_draws_num_statistics(draws) + 1, sizeof *writing.statistics);
  RpinnStatus status = RPINN_ERROR_MEMORY;
  if (writing.variables && writing.stems && writing.statistics) {
    name_variables(&writing);
    status = write(context, &writing, method, path);
  } else {
    rpinn_fail_memory(context);
  }
  free(writing.variables);
  free(writing.stems);
  free(writing.statistics);
  return status;
}
