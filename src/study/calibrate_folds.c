/* The problem without a fold of its measured rows, which are foretold by the others.
 *
 * A fold's problem has beside every term that loses rows a held-out one with these rows, so that a run foretells them as it does
 * with any `role: test`. A term that would lose all of its rows is held out itself. */
#include <stdio.h>
#include <string.h>

#include "calibrate_state.h"
#include "measured_folds.h"

RpinnStatus rpinn_calibration_make_folds(RpinnContext *context, RpinnCalibration *calibration) {
  return rpinn_measured_folds(context, calibration->arena, calibration->base->posteriors[0],
                              calibration->num_data_sets, calibration->options->blocks, &calibration->folds);
}

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
  *rows = (RpinnReplacedRows){.is_measured = rpinn_term_data_is_measured(&fold->problem->terms[term], data),
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
