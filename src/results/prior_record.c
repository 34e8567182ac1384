#include "prior_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "finished_run.h"
#include "scale_curve.h"

static const char *const place_names[] = {"members", "minimum"}; /* by at_minimum */
static const char *const end_names[] = {"none", "smallest", "largest"};

void rpinn_prior_choice_free(RpinnPriorChoice *choice) {
  free(choice->lines);
  free(choice->theta);
  choice->lines = NULL;
  choice->theta = NULL;
  choice->num_lines = 0;
}

double rpinn_prior_criterion(const RpinnPriorChoice *choice, size_t trial) {
  return choice->rule == RPINN_SCALE_EVIDENCE ? choice->trials[trial].log_evidence
                                              : choice->trials[trial].leave_one_out;
}

RpinnScaleEnd rpinn_prior_choice_end(const RpinnPriorChoice *choice) {
  if (choice->num_trials < 2) return RPINN_SCALE_INSIDE;
  if (choice->chosen == 0) return RPINN_SCALE_SMALLEST;
  return choice->chosen + 1 == choice->num_trials ? RPINN_SCALE_LARGEST : RPINN_SCALE_INSIDE;
}

const char *rpinn_prior_starts_title(bool at_minimum) {
  return at_minimum ? "starts at the minimum" : "members converged";
}

const char *rpinn_prior_rule_meaning(RpinnScaleRule rule) {
  return rule == RPINN_SCALE_EVIDENCE
             ? "the scale of the highest evidence"
             : "the smallest scale within one nat of the best leave-one-out sum, and within five of "
               "the best evidence among these";
}

/* ---- JSON ---- */

static bool flag_of(const RpinnJsonValue *object, const char *key) {
  const RpinnJsonValue *value = rpinn_json_find(object, key);
  return value && value->kind == RPINN_JSON_BOOLEAN && value->boolean;
}

static void write_trial(const RpinnScaleTrial *trial, bool is_chosen, RpinnJson *json) {
  rpinn_json_open(json, NULL, '{');
  rpinn_json_number(json, "scale", trial->scale);
  rpinn_json_number(json, "leave_one_out", trial->leave_one_out);
  rpinn_json_number(json, "log_evidence", trial->log_evidence);
  rpinn_json_number(json, "energy", trial->energy);
  rpinn_json_number(json, "misfit", trial->misfit);
  rpinn_json_number(json, "starts", (double)trial->num_starts);
  rpinn_json_number(json, "starts_at_minimum", (double)trial->num_at_minimum);
  rpinn_json_boolean(json, "converged", trial->converged);
  rpinn_json_open(json, "start_energies", '[');
  for (size_t k = 0; k < trial->num_starts; k++) rpinn_json_number(json, NULL, trial->start_energies[k]);
  rpinn_json_close(json, ']');
  rpinn_json_boolean(json, "chosen", is_chosen);
  rpinn_json_close(json, '}');
}

static void write_trials(size_t count, const RpinnScaleTrial *trials, size_t chosen, RpinnJson *json) {
  rpinn_json_open(json, "trials", '[');
  for (size_t t = 0; t < count; t++) write_trial(&trials[t], t == chosen, json);
  rpinn_json_close(json, ']');
}

static void write_line(const RpinnFieldLine *line, RpinnJson *json) {
  rpinn_json_open(json, NULL, '{');
  rpinn_json_number(json, "field", (double)line->field);
  rpinn_json_open(json, "factors", '[');
  for (size_t t = 0; t < line->num_trials; t++) rpinn_json_number(json, NULL, line->factors[t]);
  rpinn_json_close(json, ']');
  write_trials(line->num_trials, line->trials, line->chosen, json);
  rpinn_json_close(json, '}');
}

void rpinn_prior_choice_write(const RpinnPriorChoice *choice, RpinnJson *json) {
  rpinn_json_text(json, "rule", rpinn_scale_rule_names[choice->rule]);
  rpinn_json_text(json, "tried_at", place_names[choice->at_minimum]);
  write_trials(choice->num_trials, choice->trials, choice->chosen, json);
  rpinn_json_open(json, "lines", '[');
  for (size_t k = 0; k < choice->num_lines; k++) write_line(&choice->lines[k], json);
  rpinn_json_close(json, ']');
}

static bool read_trial(const RpinnJsonValue *value, RpinnScaleTrial *trial) {
  const RpinnJsonValue *energies = rpinn_json_find(value, "start_energies");
  *trial = (RpinnScaleTrial){.scale = rpinn_summary_number(value, "scale"),
                             .leave_one_out = rpinn_summary_number(value, "leave_one_out"),
                             .log_evidence = rpinn_summary_number(value, "log_evidence"),
                             .energy = rpinn_summary_number(value, "energy"),
                             .misfit = rpinn_summary_number(value, "misfit"),
                             .converged = flag_of(value, "converged")};
  double at_minimum = rpinn_summary_number(value, "starts_at_minimum");
  trial->num_at_minimum = at_minimum > 0 ? (size_t)at_minimum : 0;
  if (energies && energies->kind == RPINN_JSON_ARRAY)
    for (const RpinnJsonValue *item = energies->first; item; item = item->next) {
      if (trial->num_starts == RPINN_MAX_TRIAL_STARTS) return false;
      double *energy = &trial->start_energies[trial->num_starts++];
      if (!rpinn_json_as_number(item, energy)) *energy = (double)INFINITY; /* written as null */
    }
  return trial->scale > 0;
}

/* The trials of an object, room for `most` of them; 0: they cannot be read. */
static size_t read_trials(const RpinnJsonValue *object, size_t most, RpinnScaleTrial *trials,
                          size_t *chosen) {
  const RpinnJsonValue *list = rpinn_json_find(object, "trials");
  size_t count = 0;
  if (!list || list->kind != RPINN_JSON_ARRAY || list->count > most) return 0;
  for (const RpinnJsonValue *item = list->first; item; item = item->next) {
    if (flag_of(item, "chosen")) *chosen = count;
    if (!read_trial(item, &trials[count++])) return 0;
  }
  return count;
}

static bool read_line(const RpinnJsonValue *object, RpinnFieldLine *line) {
  const RpinnJsonValue *factors = rpinn_json_find(object, "factors");
  size_t count = 0;
  double field = rpinn_summary_number(object, "field");
  if (!(field >= 0 && field < 1e6) || !factors || factors->kind != RPINN_JSON_ARRAY) return false;
  line->field = (size_t)field;
  line->num_trials = read_trials(object, RPINN_MAX_LINE_TRIALS, line->trials, &line->chosen);
  if (factors->count != line->num_trials) return false;
  for (const RpinnJsonValue *item = factors->first; item; item = item->next)
    if (!rpinn_json_as_number(item, &line->factors[count++])) return false;
  return count > 0;
}

static bool read_lines(const RpinnJsonValue *object, RpinnPriorChoice *choice) {
  const RpinnJsonValue *lines = rpinn_json_find(object, "lines");
  if (!lines || lines->kind != RPINN_JSON_ARRAY) return true;
  choice->lines = calloc(lines->count + 1, sizeof *choice->lines);
  if (!choice->lines) return false;
  for (const RpinnJsonValue *item = lines->first; item; item = item->next)
    if (!read_line(item, &choice->lines[choice->num_lines++])) return false;
  return true;
}

bool rpinn_prior_choice_read(const RpinnJsonValue *object, RpinnPriorChoice *choice) {
  const char *rule = rpinn_summary_text(object, "rule");
  rpinn_prior_choice_free(choice);
  *choice = (RpinnPriorChoice){.rule = RPINN_SCALE_GIVEN};
  for (size_t k = 0; k < RPINN_SCALE_GIVEN; k++)
    if (!strcmp(rule, rpinn_scale_rule_names[k])) choice->rule = (RpinnScaleRule)k;
  choice->at_minimum = strcmp(rpinn_summary_text(object, "tried_at"), place_names[0]) != 0;
  choice->num_trials = read_trials(object, RPINN_MAX_SCALE_TRIALS, choice->trials, &choice->chosen);
  return choice->rule != RPINN_SCALE_GIVEN && choice->num_trials > 0 && read_lines(object, choice);
}

RpinnStatus rpinn_prior_choice_load(RpinnContext *context, RpinnMemberStore *store, const char *folder,
                                    RpinnPriorChoice *choice) {
  char *text = NULL;
  const RpinnJsonValue *value;
  RPINN_TRY(rpinn_member_store_get_text(context, store, RPINN_PRIOR_CHOICE_KEY, &text));
  if (!text) return RPINN_OK;
  RpinnArena *arena = rpinn_arena_create();
  RpinnStatus status = arena ? RPINN_OK : rpinn_fail_memory(context);
  if (status == RPINN_OK) status = rpinn_json_parse(context, arena, folder, text, strlen(text), &value);
  if (status == RPINN_OK && !rpinn_prior_choice_read(value, choice)) {
    rpinn_prior_choice_free(choice);
    choice->num_trials = 0;
  }
  rpinn_arena_destroy(arena);
  free(text);
  return status;
}

static void write_fields(const RpinnPosterior *posterior, const RpinnPriorChoice *choice, RpinnJson *json) {
  rpinn_json_open(json, "fields", '{');
  for (size_t f = 0; f < posterior->problem->num_fields; f++) {
    const RpinnFieldPrior *prior = &posterior->sigmas.fields[f];
    rpinn_json_open(json, posterior->problem->fields[f].name, '{');
    rpinn_json_text(json, "shape", rpinn_prior_shape_names[prior->shape]);
    rpinn_json_number(json, "scale",
                      prior->has_own_scale ? prior->scale : posterior->sigmas.prior * prior->factor);
    for (size_t k = 0; k < choice->num_lines; k++)
      if (choice->lines[k].field == f)
        write_trials(choice->lines[k].num_trials, choice->lines[k].trials, choice->lines[k].chosen, json);
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, '}');
}

/* The scales of the members, as the curve has them; null where all share one. */
static void write_spread(const RpinnPosterior *posterior, RpinnJson *json) {
  static const char *const keys[] = {"scale_q025", "scale_median", "scale_q975"};
  static const double probabilities[] = {0.025, 0.5, 0.975};
  const RpinnScaleCurve *curve = &posterior->problem->curve;
  bool integrates = posterior->sigmas.integrates;
  rpinn_json_boolean(json, "integrated", integrates);
  for (size_t k = 0; k < 3; k++)
    rpinn_json_number(json, keys[k],
                      integrates ? rpinn_scale_curve_quantile(curve, probabilities[k]) : (double)NAN);
}

void rpinn_prior_json(const RpinnPosterior *posterior, const RpinnPriorChoice *choice, RpinnJson *json) {
  const RpinnProblem *problem = posterior->problem;
  rpinn_json_open(json, "prior", '{');
  rpinn_json_number(json, "scale", posterior->sigmas.prior);
  if (problem->was_chosen)
    rpinn_json_text(json, "chosen_by", rpinn_scale_rule_names[problem->chosen_by]);
  else
    rpinn_json_number(json, "chosen_by", (double)NAN); /* null */
  write_fields(posterior, choice, json);
  write_spread(posterior, json);
  rpinn_json_text(json, "at_end", end_names[rpinn_prior_choice_end(choice)]);
  if (choice->num_trials) rpinn_json_text(json, "tried_at", place_names[choice->at_minimum]);
  write_trials(choice->num_trials, choice->trials, choice->chosen, json);
  rpinn_json_close(json, '}');
}

/* ---- lines ---- */

static void append_shapes(const RpinnJsonValue *prior, RpinnText *table) {
  const RpinnJsonValue *fields = rpinn_json_find(prior, "fields");
  const RpinnJsonValue *first = fields && fields->kind == RPINN_JSON_OBJECT ? fields->first : NULL;
  bool alike = true;
  for (const RpinnJsonValue *field = first; field; field = field->next)
    alike &= !strcmp(rpinn_summary_text(field, "shape"), rpinn_summary_text(first, "shape"));
  for (const RpinnJsonValue *field = first; field; field = alike ? NULL : field->next)
    if (alike)
      rpinn_text_append(table, "%s", rpinn_summary_text(field, "shape"));
    else
      rpinn_text_append(table, "%s%s %s", field == first ? "" : ", ", field->key,
                        rpinn_summary_text(field, "shape"));
}

static void append_trial(const RpinnJsonValue *trial, RpinnText *table) {
  rpinn_text_append(table, "  %c %-10.4g", flag_of(trial, "chosen") ? '*' : ' ',
                    rpinn_summary_number(trial, "scale"));
  static const char *const keys[] = {"leave_one_out", "log_evidence", "energy", "misfit"};
  for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
    double value = rpinn_summary_number(trial, keys[k]);
    if (isnan(value))
      rpinn_text_append(table, " %13s", "-");
    else
      rpinn_text_append(table, " %13.5g", value);
  }
  rpinn_text_append(table, "   %.0f of %.0f%s\n", rpinn_summary_number(trial, "starts_at_minimum"),
                    rpinn_summary_number(trial, "starts"), flag_of(trial, "converged") ? "" : ": too few");
}

static void append_end(const RpinnJsonValue *prior, RpinnText *table) {
  const char *end = rpinn_summary_text(prior, "at_end");
  if (!strcmp(end, end_names[RPINN_SCALE_SMALLEST]))
    rpinn_text_append(
        table,
        "  this is the smallest scale of the ladder: a narrower prior would do as well for the data\n");
  if (!strcmp(end, end_names[RPINN_SCALE_LARGEST]))
    rpinn_text_append(table, "  this is the largest scale that was tried: a larger one may do better\n");
}

/* The chosen trial of a list and its neighbours, or all of them. */
static void append_trials(const RpinnJsonValue *trials, bool whole, RpinnText *table) {
  const RpinnJsonValue *before = NULL;
  for (const RpinnJsonValue *trial = trials->first; trial; before = trial, trial = trial->next)
    if (whole || flag_of(trial, "chosen") || (before && flag_of(before, "chosen")) ||
        (trial->next && flag_of(trial->next, "chosen")))
      append_trial(trial, table);
}

/* Fields whose scale was chosen with those of the others fixed. */
static void append_fields(const RpinnJsonValue *prior, bool whole, RpinnText *table) {
  const RpinnJsonValue *fields = rpinn_json_find(prior, "fields");
  if (!fields || fields->kind != RPINN_JSON_OBJECT) return;
  for (const RpinnJsonValue *field = fields->first; field; field = field->next) {
    const RpinnJsonValue *trials = rpinn_json_find(field, "trials");
    if (!trials || trials->kind != RPINN_JSON_ARRAY) continue;
    rpinn_text_append(table, "  field %s, scale %.4g with those of the others fixed\n", field->key,
                      rpinn_summary_number(field, "scale"));
    append_trials(trials, whole, table);
  }
}

void rpinn_prior_lines(const RpinnJsonValue *prior, bool whole, RpinnText *table) {
  const RpinnJsonValue *trials = rpinn_json_find(prior, "trials");
  const char *rule = rpinn_summary_text(prior, "chosen_by");
  bool by_evidence = !strcmp(rule, rpinn_scale_rule_names[RPINN_SCALE_EVIDENCE]);
  if (!by_evidence && strcmp(rule, rpinn_scale_rule_names[RPINN_SCALE_LOO]) != 0) return;
  rpinn_text_append(table, "\n  prior ");
  append_shapes(prior, table);
  rpinn_text_append(table, ", scale %.4g chosen by %s: %s\n", rpinn_summary_number(prior, "scale"), rule,
                    rpinn_prior_rule_meaning(by_evidence ? RPINN_SCALE_EVIDENCE : RPINN_SCALE_LOO));
  if (flag_of(prior, "integrated"))
    rpinn_text_append(
        table,
        "  every member has a scale of its own, drawn from the curve: median %.4g, 95 %% from %.4g to "
        "%.4g\n",
        rpinn_summary_number(prior, "scale_median"), rpinn_summary_number(prior, "scale_q025"),
        rpinn_summary_number(prior, "scale_q975"));
  if (!trials || trials->kind != RPINN_JSON_ARRAY || !trials->first) return;
  rpinn_text_append(
      table, "    %-10s %13s %13s %13s %13s   %s\n", "scale", "leave-one-out", "log evidence", "loss",
      "misfit", rpinn_prior_starts_title(strcmp(rpinn_summary_text(prior, "tried_at"), place_names[0]) != 0));
  append_trials(trials, whole, table);
  append_end(prior, table);
  append_fields(prior, whole, table);
}
