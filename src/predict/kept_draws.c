/* Draws lie one after the other in chunks of about a megabyte, so that memory never exceeds what is kept by
 * more than one chunk (a growing array would hold up to three times as much while it moves). */
#include "kept_draws.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sort_numbers.h"

enum { CHUNK_BYTES = 1 << 20, VALUES_AT_ONCE = 8 };

struct RpinnKeptDraws {
  size_t num_values, keep_every;
  size_t count;           /* draws kept */
  size_t draws_per_chunk; /* >= 1 */
  size_t num_chunks, capacity;
  double **chunks; /* [num_chunks] of [draws_per_chunk][num_values] */
};

size_t rpinn_keep_every(size_t num_draws, size_t num_values, size_t byte_limit) {
  if (num_values == 0 || num_draws <= 1) return 1;
  size_t room = byte_limit / sizeof(double) / num_values;
  if (room == 0) room = 1;
  return num_draws / room + (num_draws % room != 0);
}

RpinnKeptDraws *rpinn_kept_draws_create(size_t num_values, size_t keep_every) {
  if (num_values > SIZE_MAX / sizeof(double) - 1) return NULL;
  RpinnKeptDraws *kept = calloc(1, sizeof *kept);
  if (!kept) return NULL;
  kept->num_values = num_values;
  kept->keep_every = keep_every > 0 ? keep_every : 1;
  kept->draws_per_chunk = CHUNK_BYTES / sizeof(double) / (num_values + 1) + 1;
  return kept;
}

void rpinn_kept_draws_destroy(RpinnKeptDraws *kept) {
  if (!kept) return;
  for (size_t k = 0; k < kept->num_chunks; k++) free(kept->chunks[k]);
  free(kept->chunks);
  free(kept);
}

size_t rpinn_kept_draws_count(const RpinnKeptDraws *kept) {
  return kept->count;
}

size_t rpinn_kept_draws_num_values(const RpinnKeptDraws *kept) {
  return kept->num_values;
}

static RpinnStatus add_chunk(RpinnKeptDraws *kept) {
  if (kept->num_chunks == kept->capacity) {
    size_t capacity = kept->capacity ? 2 * kept->capacity : 16;
    double **chunks = realloc(kept->chunks, capacity * sizeof *chunks);
    if (!chunks) return RPINN_ERROR_MEMORY;
    kept->chunks = chunks;
    kept->capacity = capacity;
  }
  double *chunk = malloc((kept->draws_per_chunk * kept->num_values + 1) * sizeof *chunk);
  if (!chunk) return RPINN_ERROR_MEMORY;
  kept->chunks[kept->num_chunks++] = chunk;
  return RPINN_OK;
}

static double *draw_at(const RpinnKeptDraws *kept, size_t draw) {
  return kept->chunks[draw / kept->draws_per_chunk] + draw % kept->draws_per_chunk * kept->num_values;
}

const double *rpinn_kept_draws_get(const RpinnKeptDraws *kept, size_t draw) {
  return draw_at(kept, draw);
}

RpinnStatus rpinn_kept_draws_add(RpinnKeptDraws *kept, size_t draw_number, const double *values) {
  if (draw_number % kept->keep_every != 0) return RPINN_OK;
  if (kept->count == kept->num_chunks * kept->draws_per_chunk) {
    RpinnStatus status = add_chunk(kept);
    if (status != RPINN_OK) return status;
  }
  memcpy(draw_at(kept, kept->count++), values, kept->num_values * sizeof *values);
  return RPINN_OK;
}

void rpinn_kept_draws_sort(const RpinnKeptDraws *kept, size_t first_value, size_t num_values,
                           double *sorted) {
  for (size_t draw = 0; draw < kept->count; draw++) {
    const double *values = draw_at(kept, draw) + first_value;
    for (size_t i = 0; i < num_values; i++) sorted[i * kept->count + draw] = values[i];
  }
  for (size_t i = 0; i < num_values; i++)
    rpinn_sort_numbers(kept->count, sorted + i * kept->count, sorted + num_values * kept->count);
}

/* h = (n - 1) p;  q = x_[floor h] + (h - floor h) (x_[floor h + 1] - x_[floor h]), counting from 0. */
double rpinn_sorted_quantile(size_t count, const double *sorted, double probability) {
  if (count == 0 || isnan(sorted[count - 1])) return (double)NAN;
  double h = (double)(count - 1) * probability;
  size_t below = (size_t)h;
  if (below + 1 >= count) return sorted[count - 1];
  double part = h - (double)below;
  if (part == 0) return sorted[below]; /* 0 * infinity is not a number */
  return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

RpinnStatus rpinn_kept_draws_quantiles(const RpinnKeptDraws *kept, size_t num_probabilities,
                                       const double *probabilities, double *quantiles) {
  double *sorted = malloc(((VALUES_AT_ONCE + 1) * kept->count + 1) * sizeof *sorted);
  if (!sorted) return RPINN_ERROR_MEMORY;
  for (size_t first = 0; first < kept->num_values; first += VALUES_AT_ONCE) {
    size_t left = kept->num_values - first, num = left < VALUES_AT_ONCE ? left : VALUES_AT_ONCE;
    rpinn_kept_draws_sort(kept, first, num, sorted);
    for (size_t k = 0; k < num_probabilities; k++)
      for (size_t i = 0; i < num; i++)
        quantiles[k * kept->num_values + first + i] =
            rpinn_sorted_quantile(kept->count, sorted + i * kept->count, probabilities[k]);
  }
  free(sorted);
  return RPINN_OK;
}
