/* Which values each rule takes. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "weights_state.h"

static const RpinnWeightCandidate *found_of(const RpinnWeightSearch *search, size_t candidate) {
  return &search->candidates[search->candidates[candidate].same_as];
}

static double criterion_of(const RpinnWeightSearch *search, const RpinnWeightRule *rule, size_t candidate) {
  return rule->criterion(search, found_of(search, candidate));
}

/* Can the rule not tell a criterion from the best? */
static bool is_alike(const RpinnWeightRule *rule, double best, double criterion) {
  return rule->takes_lowest ? criterion <= best * (1 + rule->alike) : criterion >= best - rule->alike;
}

static void note_ends(const RpinnWeightSearch *search, RpinnWeightChoice *choice) {
  for (size_t a = 0; a < search->num_axes; a++) {
    const RpinnSearchAxis *axis = &search->axes[a];
    double at = search->candidates[choice->candidate].at[a], low = at, high = at;
    for (size_t k = 0; k < axis->count; k++) {
      low = fmin(low, axis->values[k]);
      high = fmax(high, axis->values[k]);
    }
    /* Shapes and an epsilon of zero have nothing beyond. */
    choice->is_at_end[a] = rpinn_axis_is_logarithmic(axis) ? low < high && (at == low || at == high)
                                                           : axis->count > 2 && at == high;
  }
}

static void add_best(RpinnWeightSearch *search, const RpinnWeightRule *rule) {
  RpinnWeightChoice choice = {.rule = rule, .candidate = search->num_grid, .criterion = (double)NAN};
  for (size_t k = 0; k < search->num_grid; k++) {
    double criterion = criterion_of(search, rule, k);
    bool is_better = rule->takes_lowest ? criterion < choice.criterion : criterion > choice.criterion;
    if (!isfinite(criterion) || (!isnan(choice.criterion) && !is_better)) continue;
    choice.criterion = criterion;
    choice.candidate = k;
  }
  if (isnan(choice.criterion)) {
    rpinn_text_append(&search->left_out, "%s: no point of the grid led to finite numbers\n", rule->name);
    return;
  }
  for (size_t k = 0; k < search->num_grid; k++)
    choice.num_alike += is_alike(rule, choice.criterion, criterion_of(search, rule, k));
  note_ends(search, &choice);
  snprintf(choice.label, sizeof choice.label, "%s", rule->name);
  search->choices[search->num_choices++] = choice;
}

static void add_balanced(RpinnWeightSearch *search, const RpinnWeightRule *rule) {
  size_t number = (size_t)(rule - rpinn_weight_rules);
  for (size_t point = 0; point < RPINN_NUM_BALANCE_POINTS; point++) {
    RpinnWeightChoice choice = {.rule = rule,
                                .candidate = search->num_grid + 1 + number * RPINN_NUM_BALANCE_POINTS + point,
                                .criterion = (double)NAN};
    if (!search->candidates[choice.candidate].is_there) continue;
    snprintf(choice.label, sizeof choice.label, "%s, %s", rule->name, rpinn_balance_points[point]);
    search->choices[search->num_choices++] = choice;
  }
}

void rpinn_weights_choose(RpinnWeightSearch *search) {
  const RpinnProblemOptions *loading = search->options->loading;
  RpinnWeightChoice given = {.candidate = search->num_grid, .criterion = (double)NAN};
  snprintf(given.label, sizeof given.label, "%.60s", loading && loading->preset ? loading->preset : "given");
  search->num_choices = 0;
  search->choices[search->num_choices++] = given;
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->criterion)
      add_best(search, search->rules[r]);
    else
      add_balanced(search, search->rules[r]);
}

/* offset: of the score within RpinnQuantityScore. */
static double score_at(const RpinnWeightRow *row, size_t quantity, size_t offset) {
  double score;
  memcpy(&score, (const char *)&row->scores[quantity] + offset, sizeof score);
  return score;
}

RpinnScoreMean rpinn_weights_mean(const RpinnWeightSearch *search, const RpinnWeightCandidate *candidate,
                                  size_t quantity, size_t offset) {
  const RpinnWeightCandidate *found = &search->candidates[candidate->same_as];
  size_t count = search->options->num_data_sets;
  double sum = 0, squares = 0, n = (double)count;
  if (!found->scores)
    return (RpinnScoreMean){found->draws ? score_at(found->draws, quantity, offset) : (double)NAN,
                            (double)NAN};
  for (size_t d = 0; d < count; d++) sum += score_at(found->scores[d], quantity, offset);
  for (size_t d = 0; d < count; d++) {
    double difference = score_at(found->scores[d], quantity, offset) - sum / n;
    squares += difference * difference;
  }
  double error = count > 1 ? sqrt(squares / (n - 1) / n) : (double)NAN;
  if (offset == offsetof(RpinnQuantityScore, coverage))
    error = fmax(error, sqrt(0.95 * 0.05 / n)); /* what chance does, even where all were covered alike */
  return (RpinnScoreMean){sum / n, error};
}
