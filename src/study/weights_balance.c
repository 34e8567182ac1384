/* Weights without a search: sizes of the terms at starts of the networks, and at the most probable parameters of what is given. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "double_target.h"
#include "weights_state.h"

enum { NUM_STARTS = 8 };

typedef struct Measure {
  RpinnContext *context;
  const RpinnPosterior *posterior;
  const RpinnLeastSquares *squares;
  double *rows, *weights;   /* [M] */
  double *theta, *gradient; /* [N] */
} Measure;

/* ---- sizes at a point ---- */

/* |grad r_i|^2 for row i: a product with the transposed Jacobian for each. */
static RpinnStatus add_trace(const Measure *measure, size_t first, size_t count, double *trace) {
  const RpinnLeastSquares *squares = measure->squares;
  for (size_t i = first; i < first + count; i++) {
    memset(measure->weights, 0, squares->num_rows * sizeof *measure->weights);
    measure->weights[i] = 1;
    RPINN_TRY(
        rpinn_least_squares_transposed_times(squares, measure->theta, measure->weights, measure->gradient));
    for (size_t j = 0; j < squares->num_parameters; j++)
      *trace += measure->gradient[j] * measure->gradient[j];
  }
  return RPINN_OK;
}

/* grad E_t = J_t^T r_t */
static RpinnStatus find_gradient(const Measure *measure, size_t first, size_t count) {
  const RpinnLeastSquares *squares = measure->squares;
  memset(measure->weights, 0, squares->num_rows * sizeof *measure->weights);
  memcpy(measure->weights + first, measure->rows + first, count * sizeof *measure->weights);
  return rpinn_least_squares_transposed_times(squares, measure->theta, measure->weights, measure->gradient);
}

/* sizes [num_terms of the model] plus those at theta. */
static RpinnStatus add_sizes(const Measure *measure, RpinnTermSizes *sizes) {
  const RpinnPosterior *posterior = measure->posterior;
  size_t N = measure->squares->num_parameters;
  RPINN_TRY(measure->squares->residuals(measure->squares->data, measure->theta, measure->rows));
  for (size_t t = 0, row = 0; t < posterior->model.num_terms; row += posterior->terms[t++].num_rows) {
    double square = 0, most = 0, sum = 0;
    RPINN_TRY(find_gradient(measure, row, posterior->terms[t].num_rows));
    for (size_t j = 0; j < N; j++) {
      double size = fabs(measure->gradient[j]);
      square += size * size;
      most = fmax(most, size);
      sum += size;
    }
    sizes[t].gradient_norm += sqrt(square);
    sizes[t].gradient_most += most;
    sizes[t].gradient_mean += sum / (double)N;
    RPINN_TRY(add_trace(measure, row, posterior->terms[t].num_rows, &sizes[t].kernel_trace));
  }
  return RPINN_OK;
}

/* Sums over Glorot's starts of the first members; ratios of sums are those of means. */
static RpinnStatus measure_starts(const Measure *measure, RpinnTermSizes *sizes) {
  for (uint64_t member = 0; member < NUM_STARTS; member++) {
    rpinn_posterior_start_glorot(measure->posterior, member, measure->theta);
    RPINN_TRY(add_sizes(measure, sizes));
  }
  return RPINN_OK;
}

static RpinnStatus measure_at(RpinnContext *context, RpinnWeightSearch *search, const Measure *measure,
                              size_t point, RpinnTermSizes *sizes) {
  RpinnStatus status;
  if (point == 0) {
    status = measure_starts(measure, sizes);
  } else {
    RPINN_TRY(rpinn_weights_find_minimum(context, search, measure->posterior, measure->theta));
    status = add_sizes(measure, sizes);
  }
  return status == RPINN_ERROR_MEMORY ? rpinn_fail_memory(context) : status;
}

/* ---- weights ---- */

/* lambda_t times what the rule says, for every fitted term with a weight. */
static RpinnStatus add_candidate(RpinnContext *context, RpinnWeightSearch *search,
                                 const RpinnPosterior *posterior, size_t rule, size_t point,
                                 const RpinnTermSizes *sizes) {
  const double *given = search->candidates[search->num_grid].values.weights;
  double *weights = RPINN_ARENA_NEW(search->arena, double, search->num_terms + 1);
  const RpinnTermSizes *reference = sizes;
  if (!weights) return rpinn_fail_memory(context);
  memcpy(weights, given, search->num_terms * sizeof *weights);
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    if (posterior->fitted[t] == posterior->problem->reference_term) reference = &sizes[t];
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    size_t term = posterior->fitted[t];
    if (!search->is_weighted[term]) continue;
    weights[term] *= rpinn_weight_rules[rule].balance(reference, &sizes[t]);
    if (!(weights[term] > 0 && isfinite(weights[term]))) {
      rpinn_text_append(&search->left_out, "%s at the %s: the gradient of term %s vanishes there\n",
                        rpinn_weight_rules[rule].name, rpinn_balance_points[point], search->term_names[term]);
      return search->left_out.failed ? rpinn_fail_memory(context) : RPINN_OK;
    }
  }
  return rpinn_weights_add_candidate(context, search,
                                     search->num_grid + 1 + rule * RPINN_NUM_BALANCE_POINTS + point, weights);
}

static bool is_asked(const RpinnWeightSearch *search, size_t rule) {
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r] == &rpinn_weight_rules[rule]) return true;
  return false;
}

static RpinnStatus balance_at(RpinnContext *context, RpinnWeightSearch *search, const Measure *measure,
                              size_t point) {
  size_t count = measure->posterior->model.num_terms;
  char name[64];
  bool found;
  RpinnTermSizes *sizes = RPINN_ARENA_NEW(search->arena, RpinnTermSizes, count + 1);
  if (!sizes) return rpinn_fail_memory(context);
  double *numbers = &sizes[0].gradient_norm;
  size_t num_numbers = count * (sizeof *sizes / sizeof *numbers);
  snprintf(name, sizeof name, "sizes-%s", rpinn_balance_points[point]);
  RPINN_TRY(rpinn_weights_read_numbers(context, search, name, num_numbers, numbers, &found));
  if (!found) {
    RPINN_TRY(measure_at(context, search, measure, point, sizes));
    RPINN_TRY(rpinn_weights_write_numbers(context, search, name, num_numbers, numbers));
  }
  for (size_t rule = 0; rule < RPINN_NUM_WEIGHT_RULES; rule++)
    if (rpinn_weight_rules[rule].balance && is_asked(search, rule))
      RPINN_TRY(add_candidate(context, search, measure->posterior, rule, point, sizes));
  return RPINN_OK;
}

RpinnStatus rpinn_weights_balance(RpinnContext *context, RpinnWeightSearch *search) {
  const RpinnPosterior *posterior = search->base->posteriors[0];
  size_t M = posterior->model.num_rows, N = posterior->model.num_parameters;
  RpinnDoubleTarget target = {0};
  if (!rpinn_weights_need(search, RPINN_STAGE_BALANCE)) return RPINN_OK;
  double *memory = malloc((2 * M + 2 * N + 1) * sizeof *memory);
  if (!memory) return rpinn_fail_memory(context);
  Measure measure = {context,    posterior,      &target.squares,   memory,
                     memory + M, memory + 2 * M, memory + 2 * M + N};
  RpinnStatus status = rpinn_double_target_open(context, posterior, &target);
  for (size_t point = 0; point < RPINN_NUM_BALANCE_POINTS && status == RPINN_OK; point++)
    status = balance_at(context, search, &measure, point);
  rpinn_double_target_close(&target);
  free(memory);
  return status;
}
