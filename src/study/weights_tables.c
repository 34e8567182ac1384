/* What a search for weights found, for people and for programs. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "json_writer.h"
#include "part_file.h"
#include "weights_state.h"

typedef struct ScoreColumn {
  const char *title, *key;
  size_t offset;
  double factor; /* for people */
  int digits;
} ScoreColumn;

static const ScoreColumn score_columns[] = {
    {"rl2", "rl2", offsetof(RpinnQuantityScore, rl2), 1, 3},
    {"CRPS", "crps", offsetof(RpinnQuantityScore, crps), 1, 3},
    {"95 %", "coverage", offsetof(RpinnQuantityScore, coverage), 100, 3},
    {"LPP", "lpp", offsetof(RpinnQuantityScore, lpp), 1, 4}};
enum { NUM_SCORE_COLUMNS = sizeof score_columns / sizeof score_columns[0] };

static const RpinnWeightCandidate *found_of(const RpinnWeightSearch *search, size_t candidate) {
  return &search->candidates[search->candidates[candidate].same_as];
}

/* Whose noise is multiplied by something in the grid. */
static bool has_noise_column(const RpinnWeightSearch *search, size_t t) {
  for (size_t k = 0; k < search->num_grid; k++)
    if (search->candidates[k].values.noise[t] != 1) return true;
  return false;
}

/* ---- values, one after the other, for whoever writes them ---- */

typedef void PutValue(void *user, const char *name, const char *word, double value);

static void walk_values(const RpinnWeightSearch *search, const RpinnWeightCandidate *candidate, PutValue *put,
                        void *user) {
  const RpinnWeightValues *values = &candidate->values;
  char name[400];
  for (size_t t = 0; t < search->num_terms; t++) {
    if (!search->is_weighted[t]) continue;
    snprintf(name, sizeof name, "weight:%.300s", search->term_names[t]);
    put(user, name, NULL, values->weights[t]);
  }
  for (size_t t = 0; t < search->num_terms; t++) {
    if (!has_noise_column(search, t)) continue;
    snprintf(name, sizeof name, "noise:%.300s", search->term_names[t]);
    put(user, name, NULL, values->noise[t]);
  }
  if (!isnan(values->epsilon)) put(user, "epsilon", NULL, values->epsilon);
  if (!isnan(values->shape)) put(user, "shape", rpinn_prior_shape_names[(size_t)values->shape], 0);
}

static void walk_sigmas(const RpinnWeightSearch *search, const RpinnWeightCandidate *candidate, PutValue *put,
                        void *user) {
  for (size_t t = 0; t < search->num_terms; t++)
    if (!search->base->problem->terms[t].is_test)
      put(user, search->term_names[t], NULL, candidate->sigmas[t]);
}

static void put_title(void *user, const char *name, const char *word, double value) {
  (void)word, (void)value;
  rpinn_text_append(user, " %s |", name);
}

static void put_sigma_title(void *user, const char *name, const char *word, double value) {
  (void)word, (void)value;
  rpinn_text_append(user, " s_%s |", name);
}

static void put_rule(void *user, const char *name, const char *word, double value) {
  (void)name, (void)word, (void)value;
  rpinn_text_append(user, "---|");
}

/* Four digits, and no power of ten before a million: 27000, 638.3. */
static void put_cell(void *user, const char *name, const char *word, double value) {
  char number[RPINN_NUMBER_TEXT];
  double rounded = value;
  (void)name;
  rpinn_format(number, sizeof number, "%.4g", value);
  if (word)
    rpinn_text_append(user, " %s |", word);
  else if (rpinn_number_parse(number, &rounded))
    rpinn_text_append(user, " %.7g |", rounded);
  else
    rpinn_text_append(user, " %s |", number);
}

/* ---- for people ---- */

static void write_number_cell(RpinnText *text, double value, int digits) {
  if (isnan(value))
    rpinn_text_append(text, " – |");
  else
    rpinn_text_append(text, " %.*g |", digits, value);
}

static void write_likelihood(const RpinnWeightSearch *search, RpinnText *text) {
  const RpinnProblem *problem = search->base->problem;
  switch (search->likelihood) {
  case RPINN_LIKELIHOOD_PAPER:
    rpinn_text_append(
        text,
        "Likelihood paper: with reference term R = %s, s_p^2 = (noise_R + epsilon)^2 weight_R/N_R "
        "and s_t^2 = N_t s_p^2/weight_t.",
        problem->terms[problem->reference_term].name);
    break;
  case RPINN_LIKELIHOOD_NOISE:
    rpinn_text_append(
        text, "Likelihood noise: the deviation of a term is its stated noise, its weight 1/noise^2. "
              "Weights and epsilon have no meaning; what is open is the prior, its scale and its shape, "
              "and how far the noise of a term is trusted.");
    break;
  default:
    rpinn_text_append(text,
                      "Likelihood uniform: every deviation is the noise of the reference term. Weights and "
                      "epsilon have no meaning; what is open is the scale of the prior.");
  }
}

static void write_introduction(const RpinnWeightSearch *search, RpinnText *text) {
  rpinn_text_append(text, "# Weights of %s\n\n", search->problem);
  write_likelihood(search, text);
  rpinn_text_append(text, "\n\nSearched:");
  for (size_t a = 0; a < search->num_axes; a++) {
    rpinn_text_append(text, "%s %s in", a ? ";" : "", search->axes[a].name);
    for (size_t k = 0; k < search->axes[a].count; k++) {
      rpinn_text_append(text, "%s", k ? ", " : " ");
      rpinn_axis_write_value(&search->axes[a], search->axes[a].values[k], text);
    }
  }
  rpinn_text_append(text, ". Linearised at %s of each; runs by %s with %s draws.\n\n",
                    search->at_minimum ? "the most probable parameters" : "8 rPINN members",
                    search->draw_method, search->base->problem->settings.values[RPINN_SETTING_SAMPLES].text);
  if (search->given_by != RPINN_SCALE_GIVEN)
    rpinn_text_append(text, "The given scale of the prior is what a run chooses by %s.\n\n",
                      rpinn_scale_rule_names[search->given_by]);
}

static void write_criteria_titles(const RpinnWeightSearch *search, RpinnText *text) {
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->criterion) rpinn_text_append(text, " %s |", search->rules[r]->name);
}

static void write_criteria(const RpinnWeightSearch *search, size_t candidate, RpinnText *text) {
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->criterion)
      write_number_cell(text, search->rules[r]->criterion(search, found_of(search, candidate)),
                        search->rules[r]->takes_lowest ? 3 : 5);
}

static void write_note(const RpinnWeightSearch *search, const RpinnWeightChoice *choice, RpinnText *text) {
  bool any = false;
  if (!isnan(choice->criterion))
    rpinn_text_append(text, " %zu of %zu |", choice->num_alike, search->num_grid);
  else
    rpinn_text_append(text, " |");
  for (size_t a = 0; a < search->num_axes; a++) {
    if (!choice->is_at_end[a]) continue;
    rpinn_text_append(text, "%s %s", any ? "," : " at the end of", search->axes[a].name);
    any = true;
  }
  rpinn_text_append(text, " |\n");
}

static void write_choices(const RpinnWeightSearch *search, RpinnText *text) {
  const RpinnWeightCandidate *given = &search->candidates[search->num_grid];
  rpinn_text_append(text, "## Chosen\n\n| by |");
  walk_values(search, given, put_title, text);
  walk_sigmas(search, given, put_sigma_title, text);
  rpinn_text_append(text, " s_p |");
  write_criteria_titles(search, text);
  rpinn_text_append(text, " alike | |\n|---|");
  walk_values(search, given, put_rule, text);
  walk_sigmas(search, given, put_rule, text);
  rpinn_text_append(text, "---|");
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->criterion) rpinn_text_append(text, "---|");
  rpinn_text_append(text, "---|---|\n");
  for (size_t c = 0; c < search->num_choices; c++) {
    const RpinnWeightChoice *choice = &search->choices[c];
    const RpinnWeightCandidate *candidate = &search->candidates[choice->candidate];
    rpinn_text_append(text, "| %s |", choice->label);
    walk_values(search, candidate, put_cell, text);
    walk_sigmas(search, candidate, put_cell, text);
    write_number_cell(text, candidate->prior, 4);
    write_criteria(search, choice->candidate, text);
    write_note(search, choice, text);
  }
  rpinn_text_append(text,
                    "\nalike: points of the grid that the rule cannot tell from its best: within one nat, "
                    "or 5 %% of the error.\n\n");
  for (size_t r = 0; r < search->num_rules; r++)
    rpinn_text_append(text, "- %s: %s%s\n", search->rules[r]->name, search->rules[r]->meaning,
                      !search->rules[r]->criterion     ? "; no search"
                      : search->rules[r]->takes_lowest ? ", the lowest"
                                                       : ", the highest");
  rpinn_text_append(text, "\n");
}

static void write_mean(RpinnText *text, RpinnScoreMean mean, const ScoreColumn *column) {
  if (isnan(mean.mean)) {
    rpinn_text_append(text, " – |");
    return;
  }
  rpinn_text_append(text, " %.*g", column->digits, column->factor * mean.mean);
  if (!isnan(mean.error)) rpinn_text_append(text, " ± %.2g", column->factor * mean.error);
  rpinn_text_append(text, " |");
}

static void write_scores(const RpinnWeightSearch *search, RpinnText *text) {
  size_t num_data_sets = search->options->num_data_sets;
  if (!search->num_quantities) return;
  rpinn_text_append(text, "## Against the truth\n\nRuns with the values above, ");
  if (num_data_sets)
    rpinn_text_append(
        text,
        "on %zu data set%s with fresh noise, which no rule has seen; ± is a standard error over "
        "them",
        num_data_sets, num_data_sets == 1 ? "" : "s");
  else
    rpinn_text_append(text, "on the data at hand");
  rpinn_text_append(text, ". rl2: relative error of the mean; 95 %%: how much of the truth the intervals of "
                          "95 %% hold; CRPS: lower is better.\n\n| by | |");
  for (size_t k = 0; k < NUM_SCORE_COLUMNS; k++) rpinn_text_append(text, " %s |", score_columns[k].title);
  rpinn_text_append(text, "\n|---|---|---|---|---|---|\n");
  for (size_t q = 0; q < search->num_quantities; q++)
    for (size_t c = 0; c < search->num_choices; c++) {
      rpinn_text_append(text, "| %s | %s |", search->choices[c].label, search->quantity_names[q]);
      for (size_t k = 0; k < NUM_SCORE_COLUMNS; k++)
        write_mean(text,
                   rpinn_weights_mean(search, &search->candidates[search->choices[c].candidate], q,
                                      score_columns[k].offset),
                   &score_columns[k]);
      rpinn_text_append(text, "\n");
    }
  rpinn_text_append(text, "\n");
}

static bool has_criteria(const RpinnWeightSearch *search) {
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->criterion) return true;
  return false;
}

static void write_grid(const RpinnWeightSearch *search, RpinnText *text) {
  if (!has_criteria(search)) return;
  rpinn_text_append(text, "## The grid\n\n|");
  for (size_t a = 0; a < search->num_axes; a++) rpinn_text_append(text, " %s |", search->axes[a].name);
  write_criteria_titles(search, text);
  rpinn_text_append(text, "\n|");
  for (size_t a = 0; a < search->num_axes; a++) rpinn_text_append(text, "---|");
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->criterion) rpinn_text_append(text, "---|");
  rpinn_text_append(text, "\n");
  for (size_t k = 0; k < search->num_grid; k++) {
    rpinn_text_append(text, "|");
    for (size_t a = 0; a < search->num_axes; a++) {
      rpinn_text_append(text, " ");
      rpinn_axis_write_value(&search->axes[a], search->candidates[k].at[a], text);
      rpinn_text_append(text, " |");
    }
    write_criteria(search, k, text);
    rpinn_text_append(text, "\n");
  }
  rpinn_text_append(text, "\n");
}

static void write_left_out(const RpinnWeightSearch *search, RpinnText *text) {
  const char *line = search->left_out.bytes;
  if (!line) return;
  rpinn_text_append(text, "## Left out\n\n");
  for (size_t length; *line; line += length + 1) {
    length = strcspn(line, "\n");
    rpinn_text_append(text, "- %.*s\n", (int)length, line);
  }
  rpinn_text_append(text, "\n");
}

/* The values of the first rule; of what is given, where none found any. */
static void write_yaml(RpinnWeightSearch *search) {
  const RpinnWeightChoice *choice = &search->choices[search->num_choices > 1];
  rpinn_text_append(&search->yaml, "# %s, by %s\n", search->problem, choice->label);
  rpinn_weights_write_values(search, &search->candidates[choice->candidate].values, &search->yaml);
}

static void write_text(RpinnWeightSearch *search) {
  RpinnText *text = &search->text;
  write_introduction(search, text);
  write_choices(search, text);
  write_scores(search, text);
  write_grid(search, text);
  write_left_out(search, text);
  rpinn_text_append(text, "## To paste\n\n```yaml\n%s```\n", search->yaml.bytes ? search->yaml.bytes : "");
}

/* ---- for programs ---- */

static void put_csv_title(void *user, const char *name, const char *word, double value) {
  (void)word, (void)value;
  rpinn_text_append(user, ",%s", name);
}

static void put_csv_sigma_title(void *user, const char *name, const char *word, double value) {
  (void)word, (void)value;
  rpinn_text_append(user, ",s_%s", name);
}

static void put_csv_cell(void *user, const char *name, const char *word, double value) {
  (void)name;
  if (word)
    rpinn_text_append(user, ",%s", word);
  else
    rpinn_text_append(user, ",%.10g", value);
}

static void write_csv_number(RpinnText *csv, double value) {
  if (isnan(value))
    rpinn_text_append(csv, ",");
  else
    rpinn_text_append(csv, ",%.10g", value);
}

static void write_csv_head(const RpinnWeightSearch *search, RpinnText *csv) {
  const RpinnWeightCandidate *given = &search->candidates[search->num_grid];
  rpinn_text_append(csv, "candidate,chosen_by");
  walk_values(search, given, put_csv_title, csv);
  walk_sigmas(search, given, put_csv_sigma_title, csv);
  rpinn_text_append(csv, ",s_p");
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->criterion) rpinn_text_append(csv, ",%s", search->rules[r]->name);
  for (size_t q = 0; q < search->num_quantities; q++)
    for (size_t k = 0; k < NUM_SCORE_COLUMNS; k++)
      rpinn_text_append(csv, ",%s_%s,%s_%s_error", search->quantity_names[q], score_columns[k].key,
                        search->quantity_names[q], score_columns[k].key);
  rpinn_text_append(csv, "\n");
}

static void write_csv_row(const RpinnWeightSearch *search, size_t number, RpinnText *csv) {
  const RpinnWeightCandidate *candidate = &search->candidates[number];
  const char *comma = "";
  rpinn_text_append(csv, "%zu,\"", number);
  for (size_t c = 0; c < search->num_choices; c++) {
    if (search->choices[c].candidate != number) continue;
    rpinn_text_append(csv, "%s%s", comma, search->choices[c].label);
    comma = "; ";
  }
  rpinn_text_append(csv, "\"");
  walk_values(search, candidate, put_csv_cell, csv);
  walk_sigmas(search, candidate, put_csv_cell, csv);
  write_csv_number(csv, candidate->prior);
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->criterion)
      write_csv_number(csv, search->rules[r]->criterion(search, found_of(search, number)));
  for (size_t q = 0; q < search->num_quantities; q++)
    for (size_t k = 0; k < NUM_SCORE_COLUMNS; k++) {
      RpinnScoreMean mean = rpinn_weights_mean(search, candidate, q, score_columns[k].offset);
      write_csv_number(csv, mean.mean);
      write_csv_number(csv, mean.error);
    }
  rpinn_text_append(csv, "\n");
}

static void write_csv(RpinnWeightSearch *search) {
  write_csv_head(search, &search->csv);
  for (size_t k = 0; k < search->num_candidates; k++)
    if (search->candidates[k].is_there) write_csv_row(search, k, &search->csv);
}

static void put_json(void *user, const char *name, const char *word, double value) {
  if (word)
    rpinn_json_text(user, name, word);
  else
    rpinn_json_number(user, name, value);
}

static void json_candidate(const RpinnWeightSearch *search, size_t number, RpinnJson *json) {
  const RpinnWeightCandidate *candidate = &search->candidates[number];
  rpinn_json_number(json, "candidate", (double)number);
  rpinn_json_open(json, "values", '{');
  walk_values(search, candidate, put_json, json);
  if (!isnan(candidate->values.prior)) rpinn_json_number(json, "prior", candidate->values.prior);
  rpinn_json_close(json, '}');
  rpinn_json_open(json, "sigmas", '{');
  rpinn_json_open(json, "terms", '{');
  walk_sigmas(search, candidate, put_json, json);
  rpinn_json_close(json, '}');
  rpinn_json_number(json, "prior", candidate->prior);
  rpinn_json_close(json, '}');
  rpinn_json_open(json, "criteria", '{');
  for (size_t r = 0; r < search->num_rules; r++)
    if (search->rules[r]->criterion)
      rpinn_json_number(json, search->rules[r]->name,
                        search->rules[r]->criterion(search, found_of(search, number)));
  rpinn_json_close(json, '}');
}

static void json_scores(const RpinnWeightSearch *search, size_t number, RpinnJson *json) {
  rpinn_json_open(json, "scores", '{');
  for (size_t q = 0; q < search->num_quantities; q++) {
    rpinn_json_open(json, search->quantity_names[q], '{');
    for (size_t k = 0; k < NUM_SCORE_COLUMNS; k++) {
      RpinnScoreMean mean =
          rpinn_weights_mean(search, &search->candidates[number], q, score_columns[k].offset);
      rpinn_json_open(json, score_columns[k].key, '{');
      rpinn_json_number(json, "mean", mean.mean);
      rpinn_json_number(json, "error", mean.error);
      rpinn_json_close(json, '}');
    }
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, '}');
}

static void json_axes(const RpinnWeightSearch *search, RpinnJson *json) {
  rpinn_json_open(json, "axes", '[');
  for (size_t a = 0; a < search->num_axes; a++) {
    rpinn_json_open(json, NULL, '{');
    rpinn_json_text(json, "name", search->axes[a].name);
    rpinn_json_open(json, "values", '[');
    for (size_t k = 0; k < search->axes[a].count; k++)
      rpinn_json_number(json, NULL, search->axes[a].values[k]);
    rpinn_json_close(json, ']');
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, ']');
}

static void json_choices(const RpinnWeightSearch *search, RpinnJson *json) {
  rpinn_json_open(json, "choices", '[');
  for (size_t c = 0; c < search->num_choices; c++) {
    const RpinnWeightChoice *choice = &search->choices[c];
    rpinn_json_open(json, NULL, '{');
    rpinn_json_text(json, "by", choice->label);
    if (choice->rule) rpinn_json_text(json, "rule", choice->rule->name);
    json_candidate(search, choice->candidate, json);
    if (!isnan(choice->criterion)) rpinn_json_number(json, "alike", (double)choice->num_alike);
    rpinn_json_open(json, "at_end_of", '[');
    for (size_t a = 0; a < search->num_axes; a++)
      if (choice->is_at_end[a]) rpinn_json_text(json, NULL, search->axes[a].name);
    rpinn_json_close(json, ']');
    json_scores(search, choice->candidate, json);
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, ']');
}

static void write_json(RpinnWeightSearch *search) {
  static const char *const likelihoods[] = {
#define LIKELIHOOD_WORD(enumerator, word) [enumerator] = word,
      RPINN_LIKELIHOOD_LIST(LIKELIHOOD_WORD)
#undef LIKELIHOOD_WORD
  };
  RpinnJson json = {.text = &search->json};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "problem", search->problem);
  rpinn_json_text(&json, "likelihood", likelihoods[search->likelihood]);
  rpinn_json_text(&json, "method", search->draw_method);
  rpinn_json_number(&json, "data_sets", (double)search->options->num_data_sets);
  json_axes(search, &json);
  json_choices(search, &json);
  rpinn_json_open(&json, "grid", '[');
  for (size_t k = 0; k < search->num_grid; k++) {
    rpinn_json_open(&json, NULL, '{');
    json_candidate(search, k, &json);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, ']');
  rpinn_json_text(&json, "left_out", search->left_out.bytes ? search->left_out.bytes : "");
  rpinn_json_text(&json, "yaml", search->yaml.bytes ? search->yaml.bytes : "");
  rpinn_json_close(&json, '}');
  rpinn_text_append(&search->json, "\n");
}

RpinnStatus rpinn_weights_write_tables(RpinnContext *context, RpinnWeightSearch *search) {
  const char *folder = search->options->folder;
  write_yaml(search);
  write_text(search);
  write_csv(search);
  write_json(search);
  RPINN_TRY(rpinn_weights_write_page(context, search, &search->page));
  RPINN_TRY(rpinn_folder_write(context, folder, "weights.md", &search->text));
  RPINN_TRY(rpinn_folder_write(context, folder, "weights.csv", &search->csv));
  RPINN_TRY(rpinn_folder_write(context, folder, "chosen.yaml", &search->yaml));
  RPINN_TRY(rpinn_folder_write(context, folder, "report.html", &search->page));
  return rpinn_folder_write(context, folder, "weights.json", &search->json);
}
