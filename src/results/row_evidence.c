/* Rows as the others foretell them, at draws rather than at the most probable point: a posterior of networks may have its peak
 * where none of its draws are. With alpha and c of the problem that draw k minimises, linearised at it, and its offsets xi, the
 * row that the others foretell, less the datum, is
 *
 *   e_i^k = xi_i - alpha_i / c_ii                                                 a draw, exact for a linear model
 *   z_i   = -mean_k e_i^k / sqrt(1 + (1 + 1/K) var_k e_i^k)
 *
 * Draws without offsets have alpha_i / c_ii as the mean and 1 / c_ii as the variance of the same. */
#include "row_evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "importance.h"
#include "linearisation.h"
#include "run_record.h"

/* The algebra of a draw takes M^3 operations and 3 M^2 numbers. */
enum { MAX_ROWS = 2000 };

typedef struct Rows {
  RpinnJudgedDraws *draws;
  RpinnRowEvidence *evidence;
  size_t M, num_terms, count; /* draws that were linearised */
  double *rows;               /* [M] */
  double *sum, *squares;      /* [M] of e */
  double *variance;           /* [M] sum of 1 / c_ii; 1 for draws with offsets */
  double *losses;             /* [num_terms][RPINN_MAX_JUDGED_DRAWS] */
  double energies[RPINN_MAX_JUDGED_DRAWS];
  RpinnRowGroup *groups; /* [num_terms] of the first draw */
  size_t *sizes;         /* [num_terms] */
} Rows;

static int compare_numbers(const void *left, const void *right) {
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

static double median_of(size_t count, double *values) {
  qsort(values, count, sizeof *values, compare_numbers);
  return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

/* ---- one draw ---- */

/* What the draw minimises, and the losses of its terms without offsets. */
static RpinnStatus measure_losses(Rows *rows, const double *theta) {
  const RpinnLeastSquares *squares = &rows->draws->squares;
  double energy = 0;
  RPINN_TRY(squares->residuals(squares->data, theta, rows->rows));
  for (size_t t = 0, i = 0; t < rows->num_terms; t++) {
    double loss = 0;
    for (size_t k = 0; k < rows->sizes[t]; k++, i++) {
      double row = rows->rows[i], own = row - rows->draws->offsets[i];
      loss += row * row;
      energy += 0.5 * own * own;
    }
    rows->losses[t * RPINN_MAX_JUDGED_DRAWS + rows->count] = loss / (double)rows->sizes[t];
  }
  for (size_t j = 0; j < squares->num_parameters; j++) {
    double row = (theta[j] - squares->prior_mean[j]) * squares->prior_root[j];
    energy += 0.5 * row * row;
  }
  rows->energies[rows->count] = energy;
  return RPINN_OK;
}

static void add_left_out(Rows *rows, const RpinnLinearisation *linearisation) {
  bool has_offsets = rpinn_run_draws_have_offsets(rows->draws->run);
  for (size_t i = 0; i < rows->M; i++) {
    double inverse = rpinn_linearisation_inverse_diagonal(linearisation, i),
           error = rows->draws->offsets[i] - rpinn_linearisation_alpha(linearisation, i) / inverse;
    rows->sum[i] += error;
    rows->squares[i] += error * error;
    rows->variance[i] += has_offsets ? 1 : 1 / inverse;
  }
}

static RpinnStatus look_at_draw(Rows *rows, size_t k) {
  RpinnLinearisation *linearisation;
  const double *theta = rpinn_judged_draw(rows->draws, k);
  RPINN_TRY(measure_losses(rows, theta));
  RpinnStatus status = rpinn_linearisation_create(&rows->draws->squares, theta, &linearisation);
  if (status == RPINN_ERROR_NUMERIC) return RPINN_OK; /* rows that are not finite there: left out */
  RPINN_TRY(status);
  rpinn_linearisation_shift(linearisation, rows->draws->offsets);
  add_left_out(rows, linearisation);
  if (!rows->count)
    status = rpinn_linearisation_groups(linearisation, rows->num_terms, rows->sizes, rows->groups);
  rpinn_linearisation_destroy(linearisation);
  rows->count++;
  return status;
}

/* ---- all of them ---- */

static double z_of(const Rows *rows, size_t i) {
  double K = (double)rows->count, mean = rows->sum[i] / K,
         spread = K > 1 ? fmax(rows->squares[i] - K * mean * mean, 0) / (K - 1) : 0;
  return -mean / sqrt(rows->variance[i] / K + (1 + 1 / K) * spread);
}

static void sum_up(Rows *rows) {
  for (size_t t = 0, i = 0; t < rows->num_terms; t++) {
    RpinnTermEvidence *term = &rows->evidence->terms[t];
    const RpinnRowGroup *group = &rows->groups[t];
    double n = (double)rows->sizes[t];
    term->z_mean = term->z_square = 0;
    for (size_t k = 0; k < rows->sizes[t]; k++, i++) {
      double z = z_of(rows, i);
      term->z_mean += z / n;
      term->z_square += z * z / n;
    }
    term->z_error = group->z_error;
    term->z_freedom = group->z_freedom;
    term->loss = median_of(rows->count, rows->losses + t * RPINN_MAX_JUDGED_DRAWS);
    /* sum r^2 over draws is sum alpha^2 + sum (1 - c_ii): its mean is n, its variance 2 sum c_ij^2 */
    term->loss_freedom = n * n * group->freedom / (group->expected * group->expected);
  }
  rows->evidence->energy = median_of(rows->count, rows->energies);
}

/* Mean square of the measured rows, at the draws and with networks at their prior means. */
static RpinnStatus find_misfit(Rows *rows) {
  const RpinnLeastSquares *squares = &rows->draws->squares;
  RpinnRowEvidence *evidence = rows->evidence;
  double here = 0, nothing = 0, count = 0;
  RPINN_TRY(squares->residuals(squares->data, rows->draws->posterior->model.prior_mean, rows->rows));
  for (size_t t = 0, i = 0; t < rows->num_terms; t++) {
    const RpinnTermEvidence *term = &evidence->terms[t];
    for (size_t k = 0; k < rows->sizes[t]; k++, i++)
      if (term->is_measured) nothing += rows->rows[i] * rows->rows[i];
    if (!term->is_measured) continue;
    here += term->loss * term->num_rows;
    count += term->num_rows;
  }
  evidence->misfit = here / count;
  evidence->misfit_of_nothing = nothing / count;
  return RPINN_OK;
}

static RpinnStatus look_at_draws(Rows *rows) {
  RpinnJudgedDraws *draws = rows->draws;
  for (size_t k = 0; k < draws->count; k++) {
    if (rpinn_run_is_stopped(draws->context, draws->run)) return rpinn_fail_interrupted(draws->context);
    RPINN_TRY(look_at_draw(rows, k));
  }
  if (!rows->count) {
    rows->evidence->unknown = "the rows are not finite at the draws";
    return RPINN_OK;
  }
  sum_up(rows);
  return find_misfit(rows);
}

static RpinnStatus allocate(Rows *rows) {
  size_t M = rows->M;
  rows->rows = calloc(4 * M + rows->num_terms * RPINN_MAX_JUDGED_DRAWS + 1, sizeof(double));
  rows->groups = calloc(rows->num_terms + 1, sizeof *rows->groups);
  rows->sizes = calloc(rows->num_terms + 1, sizeof *rows->sizes);
  if (!rows->rows || !rows->groups || !rows->sizes) return rpinn_fail_memory(rows->draws->context);
  rows->sum = rows->rows + M;
  rows->squares = rows->sum + M;
  rows->variance = rows->squares + M;
  rows->losses = rows->variance + M;
  for (size_t t = 0; t < rows->num_terms; t++)
    rows->sizes[t] = rows->draws->posterior->model.terms[t].num_rows;
  return RPINN_OK;
}

RpinnStatus rpinn_run_row_evidence(RpinnJudgedDraws *draws, RpinnRowEvidence *evidence) {
  const RpinnEnergyModel *model = &draws->posterior->model;
  if (!rpinn_importance_available(model->num_parameters, model->prior_root))
    evidence->unknown = "not every parameter has a prior";
  else if (model->num_rows > MAX_ROWS && !draws->run->laplace.at)
    evidence->unknown = "there are more than 2000 rows, and leaving each out would take long";
  if (evidence->unknown) return RPINN_OK;
  Rows rows = {.draws = draws, .evidence = evidence, .M = model->num_rows, .num_terms = model->num_terms};
  RpinnStatus status = allocate(&rows);
  if (status == RPINN_OK) status = look_at_draws(&rows);
  free(rows.rows);
  free(rows.groups);
  free(rows.sizes);
  return status == RPINN_ERROR_MEMORY ? rpinn_fail_memory(draws->context) : status;
}

void rpinn_row_evidence_free(RpinnRowEvidence *evidence) {
  free(evidence->terms);
  free(evidence->quantities);
}
