/* The most probable point is sought from the best draw: Levenberg–Marquardt on the energy without offsets, at the cost of
 * about one member. Draws are looked at by the sums of squares of their rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "double_target.h"
#include "importance.h"
#include "run_progress.h"
#include "run_verdict.h"
#include "scale_trial.h"

/* Draws that are looked at, and rows up to which the point is sought: its algebra takes M^3 operations and 3 M^2 numbers. */
enum { MAX_DRAWS = 64, MAX_ROWS = 2000, MAX_ITERATIONS = 200 };

typedef struct Rows {
  RpinnContext *context;
  const RpinnRun *run;
  RpinnPosterior *posterior;
  RpinnRowEvidence *evidence;
  size_t M, N, num_terms;
  uint64_t every, seen; /* draws between those that are looked at */
  double num_draws;     /* looked at */
  double least_energy;
  double *best;    /* [N] the draw of least energy */
  double *rows;    /* [M] */
  double *parts;   /* [num_terms + 1] */
  double *squares; /* [num_terms] over the draws */
  bool *is_data;   /* [M] */
} Rows;

static size_t rows_of(const Rows *rows, size_t term) {
  return rows->posterior->model.terms[term].num_rows;
}

/* ---- draws ---- */

static RpinnStatus look_at_draw(void *user, const RpinnVisitedDraw *draw) {
  Rows *rows = user;
  double energy;
  if (draw->stored->failed || rows->seen++ % rows->every != 0) return RPINN_OK;
  RPINN_TRY(
      rpinn_posterior_energy(rows->posterior, draw->stored->parameters, NULL, &energy, NULL, rows->parts));
  for (size_t t = 0; t < rows->num_terms; t++) rows->squares[t] += 2 * rows->parts[t];
  rows->num_draws += 1;
  if (!(energy < rows->least_energy)) return RPINN_OK;
  rows->least_energy = energy;
  memcpy(rows->best, draw->stored->parameters, rows->N * sizeof(double));
  return RPINN_OK;
}

/* ---- the most probable point ---- */

static bool is_stopped(void *user) {
  const Rows *rows = user;
  return rpinn_run_is_stopped(rows->context, rows->run);
}

static double mean_square(const Rows *rows) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < rows->M; i++) {
    if (!rows->is_data[i]) continue;
    sum += rows->rows[i] * rows->rows[i];
    count += 1;
  }
  return sum / count;
}

/* Mean square of the measured rows at theta. */
static RpinnStatus find_misfit(const Rows *rows, const RpinnLeastSquares *squares, const double *theta,
                               double *misfit) {
  RPINN_TRY(squares->residuals(squares->data, theta, rows->rows));
  *misfit = mean_square(rows);
  return RPINN_OK;
}

static RpinnStatus judge_groups(const Rows *rows, const RpinnLinearisation *linearisation) {
  size_t *sizes = calloc(rows->num_terms + 1, sizeof *sizes);
  RpinnRowGroup *groups = calloc(rows->num_terms + 1, sizeof *groups);
  RpinnStatus status = sizes && groups ? RPINN_OK : RPINN_ERROR_MEMORY;
  for (size_t t = 0; sizes && t < rows->num_terms; t++) sizes[t] = rows_of(rows, t);
  if (status == RPINN_OK) status = rpinn_linearisation_groups(linearisation, rows->num_terms, sizes, groups);
  for (size_t t = 0; status == RPINN_OK && t < rows->num_terms; t++) {
    RpinnTermEvidence *term = &rows->evidence->terms[t];
    term->rows = groups[t];
    term->draw_expected = groups[t].squares + groups[t].num_rows - groups[t].expected;
  }
  free(sizes);
  free(groups);
  return status;
}

static RpinnStatus linearise(const Rows *rows, const RpinnLeastSquares *squares) {
  RpinnLinearisation *linearisation;
  RPINN_TRY(rpinn_linearisation_create(squares, rows->best, &linearisation));
  rows->evidence->energy = rpinn_linearisation_energy(linearisation);
  RpinnStatus status = judge_groups(rows, linearisation);
  rpinn_linearisation_destroy(linearisation);
  return status;
}

static RpinnStatus seek_point(Rows *rows, RpinnDoubleTarget *target) {
  const RpinnLeastSquares *squares = &target->squares;
  RpinnRowEvidence *evidence = rows->evidence;
  double energy;
  bool converged;
  if (rows->run->laplace.at)
    memcpy(rows->best, rows->run->laplace.at, rows->N * sizeof(double));
  else
    RPINN_TRY(rpinn_scale_minimise(rows->context, squares, NULL, MAX_ITERATIONS, is_stopped, rows, rows->best,
                                   &energy, &converged));
  if (is_stopped(rows)) return rpinn_fail_interrupted(rows->context);
  RPINN_TRY(find_misfit(rows, squares, squares->prior_mean, &evidence->misfit_of_nothing));
  RPINN_TRY(find_misfit(rows, squares, rows->best, &evidence->misfit));
  RpinnStatus status = linearise(rows, squares);
  if (status == RPINN_ERROR_MEMORY) return rpinn_fail_memory(rows->context);
  if (status == RPINN_ERROR_NUMERIC) evidence->unknown = "the rows are not finite at the most probable point";
  return status == RPINN_ERROR_NUMERIC ? RPINN_OK : status;
}

static RpinnStatus look_at_point(Rows *rows) {
  RpinnDoubleTarget target;
  if (!rpinn_importance_available(rows->N, rows->posterior->model.prior_root))
    rows->evidence->unknown = "not every parameter has a prior";
  else if (rows->M > MAX_ROWS && !rows->run->laplace.at)
    rows->evidence->unknown = "there are more than 2000 rows, and leaving each out would take long";
  else if (!rows->run->laplace.at && !isfinite(rows->least_energy))
    rows->evidence->unknown = "no draw has a finite loss";
  if (rows->evidence->unknown) return RPINN_OK;
  RpinnStatus status = rpinn_double_target_open(rows->context, rows->posterior, &target);
  if (status == RPINN_OK) status = seek_point(rows, &target);
  rpinn_double_target_close(&target);
  return status;
}

/* ---- the whole ---- */

static RpinnStatus allocate(Rows *rows) {
  rows->best = calloc(rows->N + rows->M + 2 * rows->num_terms + 2, sizeof(double));
  rows->is_data = calloc(rows->M + 1, sizeof(bool));
  rows->evidence->terms = calloc(rows->num_terms + 1, sizeof *rows->evidence->terms);
  if (!rows->best || !rows->is_data || !rows->evidence->terms) return rpinn_fail_memory(rows->context);
  rows->rows = rows->best + rows->N;
  rows->parts = rows->rows + rows->M;
  rows->squares = rows->parts + rows->num_terms + 1;
  return RPINN_OK;
}

static void describe_terms(const Rows *rows) {
  const double nan = (double)NAN;
  rpinn_posterior_data_rows(rows->posterior, rows->is_data);
  for (size_t t = 0, first = 0; t < rows->num_terms; first += rows_of(rows, t++)) {
    size_t number = rows->posterior->fitted[t];
    const RpinnTerm *term = &rows->run->problem->terms[number];
    rows->evidence->terms[t] = (RpinnTermEvidence){
        .name = term->name,
        .is_measured = rows->is_data[first],
        .sigma = rows->posterior->sigmas.terms[number],
        .noise = term->has_noise && term->source != RPINN_DATA_GAUSSIAN ? term->noise : nan,
        .rows = {(double)rows_of(rows, t), nan, nan, nan, nan, nan, nan, nan},
        .draw_squares = nan,
        .draw_expected = nan};
  }
}

static RpinnStatus look(Rows *rows) {
  RPINN_TRY(allocate(rows));
  describe_terms(rows);
  if (!rows->run->laplace.at) {
    RPINN_TRY(
        rpinn_draw_store_visit(rows->context, rows->run->store, &rows->run->plan, false, look_at_draw, rows));
    for (size_t t = 0; t < rows->num_terms; t++)
      rows->evidence->terms[t].draw_squares = rows->squares[t] / rows->num_draws;
  }
  return look_at_point(rows);
}

RpinnStatus rpinn_run_row_evidence(RpinnContext *context, const RpinnRun *run, RpinnRowEvidence *evidence) {
  RpinnPosterior *posterior = run->posteriors[0];
  const double nan = (double)NAN;
  *evidence = (RpinnRowEvidence){.energy = nan, .misfit = nan, .misfit_of_nothing = nan};
  Rows rows = {.context = context,
               .run = run,
               .posterior = posterior,
               .evidence = evidence,
               .M = posterior->model.num_rows,
               .N = posterior->model.num_parameters,
               .num_terms = posterior->model.num_terms,
               .every = (run->results.num_draws + MAX_DRAWS - 1) / MAX_DRAWS,
               .least_energy = (double)INFINITY};
  RpinnStatus status = look(&rows);
  free(rows.best);
  free(rows.is_data);
  return status;
}
