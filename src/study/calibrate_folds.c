/* Measured rows in folds, each left out in turn and foretold by the others.
 *
 * At random, the rows of a term are dealt out to the folds one by one. In blocks, the points of all measured terms together are cut
 * in two across their widest extent, as large as the folds on either side want, and so on: a fold is then a region, and what is
 * left out has no neighbours that would tell it.
 *
 * A fold's problem has beside every term that loses rows a held-out one with these rows, so that a run foretells them as it does
 * with any `role: test`. A term that would lose all of its rows is held out itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate_state.h"

bool rpinn_calibration_is_measured(const RpinnPosterior *posterior, size_t term) {
  const RpinnTerm *own = &posterior->problem->terms[term];
  const RpinnTermData *data = &posterior->data->terms[term];
  bool is_made = own->source == RPINN_DATA_EXPRESSION && !own->perturb && !data->from_file;
  return !own->is_test && own->source != RPINN_DATA_GAUSSIAN && !data->missing && !is_made;
}

/* ---- which fold ---- */

typedef struct Place {
  const double *x; /* in shares of the domain */
  size_t *fold;
  size_t number; /* of the row, among all */
  double along;  /* the axis that is cut */
} Place;

static int compare_places(const void *left, const void *right) {
  const Place *a = left, *b = right;
  if (a->along != b->along) return a->along < b->along ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

static size_t widest_axis(size_t num_axes, size_t count, const Place *places) {
  size_t widest = 0;
  double width = -1;
  for (size_t i = 0; i < num_axes; i++) {
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (size_t p = 0; p < count; p++) {
      low = fmin(low, places[p].x[i]);
      high = fmax(high, places[p].x[i]);
    }
    if (high - low <= width) continue;
    width = high - low;
    widest = i;
  }
  return widest;
}

/* Folds first_fold … first_fold + num_folds - 1 to the places. */
static void cut(size_t num_axes, size_t count, Place *places, size_t first_fold, size_t num_folds) {
  if (num_folds == 1) {
    for (size_t p = 0; p < count; p++) *places[p].fold = first_fold;
    return;
  }
  size_t left_folds = num_folds / 2, left = count * left_folds / num_folds;
  size_t axis = widest_axis(num_axes, count, places);
  for (size_t p = 0; p < count; p++) places[p].along = places[p].x[axis];
  qsort(places, count, sizeof *places, compare_places);
  cut(num_axes, left, places, first_fold, left_folds);
  cut(num_axes, count - left, places + left, first_fold + left_folds, num_folds - left_folds);
}

static RpinnStatus cut_into_blocks(RpinnContext *context, RpinnCalibration *calibration, size_t total) {
  const RpinnPosterior *posterior = calibration->base->posteriors[0];
  const RpinnProblem *problem = posterior->problem;
  size_t axes = problem->num_coordinates, count = 0;
  Place *places = calloc(total + 1, sizeof *places);
  double *x = calloc(total * axes + 1, sizeof *x);
  for (size_t t = 0; places && x && t < problem->num_terms; t++)
    for (size_t p = 0; calibration->folds[t] && p < posterior->data->terms[t].points.count; p++, count++) {
      places[count] = (Place){.x = x + count * axes, .fold = &calibration->folds[t][p], .number = count};
      for (size_t i = 0; i < axes; i++) {
        const RpinnCoordinate *coordinate = &problem->coordinates[i];
        x[count * axes + i] = (posterior->data->terms[t].points.x[p * axes + i] - coordinate->low) /
                              (coordinate->high - coordinate->low);
      }
    }
  if (places && x) cut(axes, count, places, 0, calibration->num_data_sets);
  bool good = places && x;
  free(places);
  free(x);
  return good ? RPINN_OK : rpinn_fail_memory(context);
}

/* The first row of a term goes to the fold after the last row of the term before, so that those of small terms differ. */
static RpinnStatus deal_out(RpinnContext *context, RpinnCalibration *calibration) {
  const RpinnPosterior *posterior = calibration->base->posteriors[0];
  size_t next = 0;
  for (size_t t = 0; t < posterior->problem->num_terms; t++) {
    size_t count = posterior->data->terms[t].points.count;
    if (!calibration->folds[t]) continue;
    size_t *order = malloc((count + 1) * sizeof *order);
    if (!order) return rpinn_fail_memory(context);
    RpinnStream stream = rpinn_stream(rpinn_settings_seed(&posterior->problem->settings, RPINN_SETTING_SEED),
                                      RPINN_PURPOSE_FOLDS, t, 0);
    rpinn_stream_permutation(&stream, count, order);
    for (size_t p = 0; p < count; p++) calibration->folds[t][order[p]] = next++ % calibration->num_data_sets;
    free(order);
  }
  return RPINN_OK;
}

/* A term of one row would vanish with it, and has nothing that foretells it of its own kind: it stays. */
RpinnStatus rpinn_calibration_make_folds(RpinnContext *context, RpinnCalibration *calibration) {
  const RpinnPosterior *posterior = calibration->base->posteriors[0];
  size_t num_terms = posterior->problem->num_terms, total = 0;
  calibration->folds = RPINN_ARENA_NEW(calibration->arena, size_t *, num_terms);
  if (!calibration->folds) return rpinn_fail_memory(context);
  for (size_t t = 0; t < num_terms; t++) {
    size_t count = posterior->data->terms[t].points.count;
    if (!rpinn_calibration_is_measured(posterior, t) || count < 2) continue;
    calibration->folds[t] = RPINN_ARENA_NEW(calibration->arena, size_t, count);
    if (!calibration->folds[t]) return rpinn_fail_memory(context);
    total += count;
  }
  if (total < calibration->num_data_sets)
    return rpinn_fail_at(
        context, (RpinnPlace){.file = "--folds"},
        "found %zu, and there are %zu measured rows that can be left out; expected at most as many",
        calibration->num_data_sets, total);
  return calibration->options->blocks ? cut_into_blocks(context, calibration, total)
                                      : deal_out(context, calibration);
}

/* ---- the problem without a fold ---- */

typedef struct Fold {
  RpinnContext *context;
  const RpinnCalibration *calibration;
  size_t number;
  RpinnProblem *problem;
  RpinnReplacedRows *rows; /* [terms, and held-out ones behind them] */
} Fold;

static bool is_in(const Fold *fold, size_t term, size_t point) {
  const size_t *folds = fold->calibration->folds[term];
  return folds && folds[point] == fold->number;
}

/* Those rows of the whole problem's term that are, or are not, in the fold. */
static RpinnStatus take_rows(const Fold *fold, size_t term, bool in, RpinnReplacedRows *rows) {
  const RpinnTermData *data = &fold->calibration->base->posteriors[0]->data->terms[term];
  size_t axes = fold->problem->num_coordinates, all = data->points.count;
  RpinnArena *arena = fold->problem->arena;
  double *x = RPINN_ARENA_NEW(arena, double, all *axes + 1),
         *values = RPINN_ARENA_NEW(arena, double, all + 1), *noise = RPINN_ARENA_NEW(arena, double, all + 1);
  if (!x || !values || !noise) return rpinn_fail_memory(fold->context);
  size_t count = 0;
  for (size_t p = 0; p < all; p++) {
    if (is_in(fold, term, p) != in) continue;
    memcpy(x + count * axes, data->points.x + p * axes, axes * sizeof *x);
    values[count] = data->values[p];
    noise[count++] = data->noise_from_file ? data->noise[p] : 0;
  }
  bool is_gaussian = fold->problem->terms[term].source == RPINN_DATA_GAUSSIAN;
  *rows = (RpinnReplacedRows){.is_measured =
                                  data->from_file ||
                                  rpinn_calibration_is_measured(fold->calibration->base->posteriors[0], term),
                              .count = count,
                              .x = x,
                              .values = data->missing || is_gaussian ? NULL : values,
                              .noise = data->noise_from_file ? noise : NULL};
  return RPINN_OK;
}

static bool is_name_of_term(const RpinnProblem *problem, const char *name) {
  for (size_t t = 0; t < problem->num_terms; t++)
    if (!strcmp(problem->terms[t].name, name)) return true;
  return false;
}

/* The rows that a term loses, as a term behind the last one. */
static RpinnStatus hold_out(const Fold *fold, size_t term) {
  RpinnProblem *problem = fold->problem;
  RpinnTerm *held = &problem->terms[problem->num_terms];
  char name[512];
  size_t number = 1;
  do snprintf(name, sizeof name, "%.300s_left_out%zu", problem->terms[term].name, number++);
  while (is_name_of_term(problem, name));
  *held = problem->terms[term];
  held->name = rpinn_arena_copy_text(problem->arena, name, strlen(name));
  if (!held->name) return rpinn_fail_memory(fold->context);
  held->is_test = true;
  held->unknown_noise = (RpinnUnknownNoise){0}; /* as the term's, see find_noise */
  held->source = RPINN_DATA_CSV;
  held->data.text = "data.csv";
  held->perturb = false;
  held->at = (RpinnPointSpec){.place = held->at.place, .sampling = RPINN_POINTS_OF_DATA};
  return take_rows(fold, term, true, &fold->rows[problem->num_terms++]);
}

RpinnStatus rpinn_calibration_leave_fold(RpinnContext *context, const RpinnCalibration *calibration,
                                         size_t number, RpinnProblem *problem) {
  size_t num_terms = problem->num_terms;
  RpinnTerm *terms = RPINN_ARENA_NEW(problem->arena, RpinnTerm, 2 * num_terms);
  Fold fold = {context, calibration, number, problem,
               RPINN_ARENA_NEW(problem->arena, RpinnReplacedRows, 2 * num_terms)};
  if (!terms || !fold.rows) return rpinn_fail_memory(context);
  memcpy(terms, problem->terms, num_terms * sizeof *terms);
  problem->terms = terms;
  for (size_t t = 0; t < num_terms; t++) {
    size_t all = calibration->base->posteriors[0]->data->terms[t].points.count;
    RPINN_TRY(take_rows(&fold, t, false, &fold.rows[t]));
    if (fold.rows[t].count == all) continue;
    if (fold.rows[t].count) {
      RPINN_TRY(hold_out(&fold, t));
    } else {
      terms[t].is_test = true;
      terms[t].unknown_noise = (RpinnUnknownNoise){0};
      RPINN_TRY(take_rows(&fold, t, true, &fold.rows[t]));
    }
  }
  problem->replaced = fold.rows;
  return RPINN_OK;
}

/* ---- what became of it ---- */

/* The held-out term with the rows of a term: itself, or one behind the terms of the whole problem; num_terms: none. */
static size_t find_term(const RpinnCalibration *calibration, const RpinnProblem *problem, size_t term) {
  size_t num_terms = calibration->base->posteriors[0]->problem->num_terms;
  if (problem->terms[term].is_test) return term;
  for (size_t t = num_terms; t < problem->num_terms; t++)
    if (problem->terms[t].expect.text == problem->terms[term].expect.text)
      return t; /* the same text, not a like one */
  return problem->num_terms;
}

/* The deviation of a held-out row: as stated, or what the likelihood gives the rows of its term. */
static double find_deviation(const RpinnCalibration *calibration, const RpinnRun *run, size_t held,
                             size_t term, size_t point) {
  double stated = rpinn_data_set_noise(run->posteriors[0]->data, held, point);
  return stated > 0 ? stated : calibration->base->posteriors[0]->sigmas.terms[term];
}

/* Noise that is not known is a value of every draw, as long as the term has rows that tell it. */
static bool is_drawn(const RpinnRun *run, size_t term, RpinnTruthNoise *noise) {
  const RpinnPosterior *posterior = run->posteriors[0];
  for (size_t k = 0; k < posterior->num_noises; k++)
    if (posterior->fitted[posterior->noises[k].term] == term) {
      *noise = (RpinnTruthNoise){.drawn = run->outputs.unknown_start + posterior->problem->num_unknowns + k};
      return true;
    }
  return false;
}

RpinnStatus rpinn_calibration_find_held_out(RpinnContext *context, const RpinnCalibration *calibration,
                                            const RpinnRun *run, size_t term, RpinnHeldOutRows *rows) {
  const RpinnPosterior *posterior = run->posteriors[0];
  size_t held = find_term(calibration, run->problem, term);
  *rows = (RpinnHeldOutRows){0};
  for (size_t k = 0; k < run->outputs.num_tests; k++) {
    if (run->outputs.test_terms[k] != held) continue;
    rows->first = run->outputs.test_starts[k];
    rows->count = posterior->data->terms[held].points.count;
    rows->truth = posterior->data->terms[held].values;
    if (is_drawn(run, term, &rows->noise)) continue;
    double *deviations = RPINN_ARENA_NEW(posterior->arena, double, rows->count + 1);
    if (!deviations) return rpinn_fail_memory(context);
    for (size_t p = 0; p < rows->count; p++) deviations[p] = find_deviation(calibration, run, held, term, p);
    rows->noise = (RpinnTruthNoise){.deviations = deviations};
  }
  return RPINN_OK;
}
