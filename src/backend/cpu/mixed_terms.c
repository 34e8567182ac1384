#include "mixed_terms.h"

#include <stdlib.h>
#include <string.h>

#include "blas.h"

enum { PIECE = 512 }; /* columns of J at a time */

bool RPINN_REAL_NAME(rpinn_mixed_terms_create)(const RpinnEnergyModel *model, RpinnMixedTerms *mixed) {
  size_t row = 0;
  *mixed = (RpinnMixedTerms){.model = model,
                             .first_row = calloc(model->num_terms + 1, sizeof(size_t)),
                             .first_point = calloc(model->num_terms + 1, sizeof(size_t))};
  if (!mixed->first_row || !mixed->first_point) return false;
  for (size_t t = 0; t < model->num_terms; t++) {
    mixed->first_row[t] = row;
    mixed->first_point[t] = mixed->num_points;
    row += model->terms[t].num_rows;
    if (model->terms[t].mix) mixed->num_points += model->terms[t].num_points;
  }
  if (!mixed->num_points) return true;
  mixed->deviations = calloc(mixed->num_points, sizeof(double));
  mixed->weights = calloc(mixed->num_points, sizeof(double));
  mixed->rows = calloc(model->num_rows, sizeof(double));
  return mixed->deviations && mixed->weights && mixed->rows;
}

void RPINN_REAL_NAME(rpinn_mixed_terms_destroy)(RpinnMixedTerms *mixed) {
  free(mixed->first_row);
  free(mixed->first_point);
  free(mixed->deviations);
  free(mixed->weights);
  free(mixed->rows);
  free(mixed->mix);
  free(mixed->mixed);
}

/* ---- rows and weights ---- */

void RPINN_REAL_NAME(rpinn_mixed_terms_rows)(const RpinnMixedTerms *mixed, double *rows) {
  for (size_t t = 0; t < mixed->model->num_terms; t++) {
    const RpinnTermModel *term = &mixed->model->terms[t];
    if (term->mix)
      cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)term->num_rows, (int)term->num_points,
                  term->inverse_sigma, term->mix, (int)term->num_points,
                  mixed->deviations + mixed->first_point[t], 1, 0, rows + mixed->first_row[t], 1);
  }
}

void RPINN_REAL_NAME(rpinn_mixed_terms_weigh)(const RpinnMixedTerms *mixed, const double *rows) {
  for (size_t t = 0; t < mixed->model->num_terms; t++) {
    const RpinnTermModel *term = &mixed->model->terms[t];
    if (term->mix)
      cblas_dgemv(CblasRowMajor, CblasTrans, (int)term->num_rows, (int)term->num_points, term->inverse_sigma,
                  term->mix, (int)term->num_points, rows + mixed->first_row[t], 1, 0,
                  mixed->weights + mixed->first_point[t], 1);
  }
}

void RPINN_REAL_NAME(rpinn_mixed_terms_energies)(const RpinnMixedTerms *mixed, const double *offsets,
                                                 double *term_sums) {
  RPINN_REAL_NAME(rpinn_mixed_terms_rows)(mixed, mixed->rows);
  for (size_t t = 0; t < mixed->model->num_terms; t++) {
    size_t first = mixed->first_row[t];
    if (!mixed->model->terms[t].mix) continue;
    for (size_t j = first; j < first + mixed->model->terms[t].num_rows; j++) {
      mixed->rows[j] -= offsets ? offsets[j] : 0.0;
      term_sums[t] += mixed->rows[j] * mixed->rows[j];
    }
  }
  RPINN_REAL_NAME(rpinn_mixed_terms_weigh)(mixed, mixed->rows);
}

/* ---- Jacobian ---- */

static bool reserve(RpinnMixedTerms *mixed) {
  size_t num_rows = 0, size = 0;
  for (size_t t = 0; t < mixed->model->num_terms; t++) {
    const RpinnTermModel *term = &mixed->model->terms[t];
    if (!term->mix) continue;
    if (term->num_rows > num_rows) num_rows = term->num_rows;
    if (term->num_rows * term->num_points > size) size = term->num_rows * term->num_points;
  }
  if (!mixed->mix) mixed->mix = malloc((size + 1) * sizeof *mixed->mix);
  if (!mixed->mixed) mixed->mixed = malloc((num_rows * PIECE + 1) * sizeof *mixed->mixed);
  return mixed->mix && mixed->mixed;
}

/* to [num_rows][N] = mix * from [num_points][N]. They may overlap where `to` does not lie behind `from`: a piece of the
 * columns is complete before any of it is written, and num_rows <= num_points. */
static void mix_rows(RpinnMixedTerms *mixed, const RpinnTermModel *term, const Real *from, Real *to) {
  size_t N = mixed->model->num_parameters, num_rows = term->num_rows, num_points = term->num_points;
  for (size_t k = 0; k < num_rows * num_points; k++) mixed->mix[k] = (Real)term->mix[k];
  for (size_t first = 0; first < N; first += PIECE) {
    size_t count = N - first < PIECE ? N - first : PIECE;
    RPINN_BLAS(gemm)
    (CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)num_rows, (int)count, (int)num_points, 1, mixed->mix,
     (int)num_points, from + first, (int)N, 0, mixed->mixed, (int)count);
    for (size_t j = 0; j < num_rows; j++)
      memcpy(to + j * N + first, mixed->mixed + j * count, count * sizeof(Real));
  }
}

bool RPINN_REAL_NAME(rpinn_mixed_terms_jacobian)(RpinnMixedTerms *mixed, Real *jacobian) {
  size_t N = mixed->model->num_parameters, first_point = 0;
  if (!reserve(mixed)) return false;
  for (size_t t = 0; t < mixed->model->num_terms; t++) {
    const RpinnTermModel *term = &mixed->model->terms[t];
    Real *from = jacobian + first_point * N, *to = jacobian + mixed->first_row[t] * N;
    if (term->mix)
      mix_rows(mixed, term, from, to);
    else if (to != from)
      memmove(to, from, term->num_rows * N * sizeof(Real));
    first_point += term->num_points;
  }
  return true;
}
