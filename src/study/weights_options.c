/* What a search for weights is asked for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measured_folds.h"
#include "rank_interval.h"
#include "study_words.h"
#include "weights_state.h"

enum { DEFAULT_FOLDS = 5 };

bool rpinn_weights_are_stopped(void *user) {
  const RpinnWeightSearch *search = user;
  return search->options->interrupted && search->options->interrupted(search->options->user);
}

/* The next word of a list with commas, which is moved behind it; NULL at its end. */
static char *next_word(RpinnContext *context, RpinnArena *arena, const char **list, RpinnStatus *status) {
  if (!*list) return NULL;
  size_t length = strcspn(*list, ",");
  char *word = rpinn_arena_copy_text(arena, *list, length);
  if (!word) *status = rpinn_fail_memory(context);
  *list = (*list)[length] ? *list + length + 1 : NULL;
  return word;
}

/* ---- quantities ---- */

static RpinnStatus count_quantity(RpinnContext *context, RpinnWeightSearch *search, const char *word) {
  size_t place;
  if (!search->num_quantities)
    return rpinn_fail_at(context, (RpinnPlace){.file = "--quantities"},
                         "found '%.60s', and nothing that is predicted has a truth", word);
  RPINN_TRY(rpinn_study_read_choice(context, "--quantities", word, search->quantity_names,
                                    search->num_quantities, &place));
  search->counts[place] = true;
  return RPINN_OK;
}

RpinnStatus rpinn_weights_read_quantities(RpinnContext *context, RpinnWeightSearch *search) {
  const RpinnPosterior *posterior = search->base->posteriors[0];
  const RpinnProblem *problem = posterior->problem;
  size_t most = problem->num_predicted + 1;
  const char *list = search->options->quantities;
  search->quantities = RPINN_ARENA_NEW(search->arena, size_t, most);
  search->counts = RPINN_ARENA_NEW(search->arena, bool, most);
  search->quantity_names = RPINN_ARENA_NEW(search->arena, const char *, most);
  if (!search->quantities || !search->counts || !search->quantity_names) return rpinn_fail_memory(context);
  for (size_t q = 0; q < problem->num_predicted; q++) {
    if (!posterior->data->predicted_truth[q]) continue;
    const char *name = problem->predicted[q].name;
    name = rpinn_arena_copy_text(search->arena, name, strlen(name));
    if (!name) return rpinn_fail_memory(context);
    search->counts[search->num_quantities] = !list;
    search->quantity_names[search->num_quantities] = name;
    search->quantities[search->num_quantities++] = q;
  }
  RpinnStatus status = RPINN_OK;
  for (const char *word; status == RPINN_OK && (word = next_word(context, search->arena, &list, &status));)
    status = count_quantity(context, search, word);
  return status;
}

/* ---- members ---- */

RpinnStatus rpinn_weights_read_members(RpinnContext *context, RpinnWeightSearch *search) {
  const RpinnProblem *problem = search->base->problem;
  bool by_samples = !search->options->members && rpinn_weights_have_samples(search);
  double count = problem->settings.values[RPINN_SETTING_SAMPLES].number;
  if (search->base->method->has_chains || (count >= RPINN_INTERVAL_MIN_DRAWS && count == floor(count)))
    return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = by_samples ? "--samples" : "--members"},
                       "found '%.60s'; expected a whole number of at least %d, for intervals of 95 %%",
                       problem->settings.values[RPINN_SETTING_SAMPLES].text, RPINN_INTERVAL_MIN_DRAWS);
}

/* ---- rules ---- */

bool rpinn_weights_need(const RpinnWeightSearch *search, RpinnWeightStage stage) {
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->stage == stage) return true;
  return false;
}

static RpinnStatus find_rule(RpinnContext *context, const char *word, const RpinnWeightRule **rule) {
  const char *names[RPINN_NUM_WEIGHT_RULES];
  size_t place;
  for (size_t r = 0; r < RPINN_NUM_WEIGHT_RULES; r++) names[r] = rpinn_weight_rules[r].name;
  RPINN_TRY(rpinn_study_read_choice(context, "--rule", word, names, RPINN_NUM_WEIGHT_RULES, &place));
  *rule = &rpinn_weight_rules[place];
  return RPINN_OK;
}

static RpinnStatus add_rule(RpinnContext *context, RpinnWeightSearch *search, const char *word) {
  const RpinnWeightRule *rule;
  RPINN_TRY(find_rule(context, word, &rule));
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r] == rule)
      return rpinn_fail_at(context, (RpinnPlace){.file = "--rule"}, "'%s' is given twice; expected once",
                           rule->name);
  const char *why = rule->why_not(search);
  if (why)
    return rpinn_fail_at(context, (RpinnPlace){.file = "--rule"}, "'%s' is not for this problem: %s",
                         rule->name, why);
  search->rules[search->num_rules++] = rule;
  return RPINN_OK;
}

static RpinnStatus add_all_rules(RpinnContext *context, RpinnWeightSearch *search) {
  for (size_t r = 0; r < RPINN_NUM_WEIGHT_RULES; r++) {
    const char *why = rpinn_weight_rules[r].why_not(search);
    if (why)
      rpinn_text_append(&search->left_out, "%s: %s\n", rpinn_weight_rules[r].name, why);
    else
      search->rules[search->num_rules++] = &rpinn_weight_rules[r];
  }
  if (search->left_out.failed) return rpinn_fail_memory(context);
  if (search->num_rules) return RPINN_OK;
  return rpinn_fail_at(context, search->base->problem->place, "there is no rule to choose by: %s",
                       search->left_out.bytes);
}

RpinnStatus rpinn_weights_read_rules(RpinnContext *context, RpinnWeightSearch *search) {
  const char *list = search->options->rules;
  const RpinnPosterior *posterior = search->base->posteriors[0];
  bool is_measured = false;
  for (size_t t = 0; t < search->num_terms; t++)
    is_measured |= rpinn_term_is_measured(posterior, t) && posterior->data->terms[t].points.count > 1;
  search->num_folds = search->options->num_folds ? search->options->num_folds : DEFAULT_FOLDS;
  search->folds = RPINN_ARENA_NEW(search->arena, size_t *, search->num_terms + 1);
  if (!search->folds) return rpinn_fail_memory(context);
  if (is_measured)
    RPINN_TRY(
        rpinn_measured_folds(context, search->arena, posterior, search->num_folds, false, &search->folds));
  if (!list) return add_all_rules(context, search);
  RpinnStatus status = RPINN_OK;
  for (const char *word; status == RPINN_OK && (word = next_word(context, search->arena, &list, &status));)
    status = add_rule(context, search, word);
  return status;
}

/* ---- before anything is loaded ---- */

RpinnStatus rpinn_weights_read_options(RpinnContext *context, const RpinnWeightSearch *search) {
  const RpinnWeightOptions *options = search->options;
  const RpinnWeightRule *ignored;
  const char *list = options->rules;
  RpinnStatus status = RPINN_OK;
  if (strlen(options->folder) > RPINN_PATH_SIZE / 2)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the folder has more than %d characters",
                      RPINN_PATH_SIZE / 2);
  for (const char *word; status == RPINN_OK && (word = next_word(context, search->arena, &list, &status));)
    status = find_rule(context, word, &ignored);
  RPINN_TRY(status);
  RPINN_TRY(rpinn_weights_check_axes(context, search));
  return options->file ? rpinn_weights_check_file(context, search) : RPINN_OK;
}
