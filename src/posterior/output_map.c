#include "output_map.h"

#include <math.h>

/* Is the expression the field itself, not a derivative or a function of it? */
static bool is_field(const RpinnProblem *problem, RpinnExpression expression, size_t field) {
  const RpinnNode *node = &problem->pool->nodes[expression];
  if (node->operation != RPINN_OPERATION_FIELD || node->index != field) return false;
  for (size_t i = 0; i < RPINN_MAX_COORDINATES; i++)
    if (node->orders[i]) return false;
  return true;
}

static bool is_measured(const RpinnProblem *problem, const RpinnDataSet *data, size_t term, size_t field) {
  const RpinnTerm *spec = &problem->terms[term];
  return !spec->is_test && spec->source != RPINN_DATA_GAUSSIAN && !data->terms[term].missing &&
         is_field(problem, spec->expect.expression, field);
}

typedef struct Sums {
  double count, mean, squares, noise; /* noise: sum of variances */
} Sums;

static Sums sum_up(const RpinnProblem *problem, const RpinnDataSet *data, size_t field) {
  Sums sums = {0};
  for (size_t t = 0; t < problem->num_terms; t++) {
    if (!is_measured(problem, data, t, field)) continue;
    for (size_t p = 0; p < data->terms[t].points.count; p++) { /* Welford's update */
      double noise = rpinn_data_set_noise(data, t, p);
      double difference = data->terms[t].values[p] - sums.mean;
      sums.count += 1;
      sums.mean += difference / sums.count;
      sums.squares += difference * (data->terms[t].values[p] - sums.mean);
      if (noise > 0) sums.noise += noise * noise;
    }
  }
  return sums;
}

void rpinn_output_map_find(const RpinnProblem *problem, const RpinnDataSet *data, size_t field, double *shift,
                           double *factor) {
  Sums sums = sum_up(problem, data, field);
  *shift = sums.mean;
  *factor = 1;
  if (sums.count < 2) return;
  /* The variance of n values that are noise alone has the relative error sqrt(2/(n-1)): four of them are no chance. */
  double variance = sums.squares / (sums.count - 1), noise = sums.noise / sums.count;
  if (variance > noise * (1 + 4 * sqrt(2 / (sums.count - 1))) && isfinite(variance)) *factor = sqrt(variance);
}
