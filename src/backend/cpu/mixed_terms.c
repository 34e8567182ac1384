#include "mixed_terms.h"

#include <stdlib.h>
#include <string.h>

#include "blas.h"

enum { PIECE = 512 }; /* columns of J at a time */

bool RPINN_REAL_NAME(rpinn_mixed_terms_create)(const RpinnEnergyModel *model, RpinnMixedTerms *mixed) {
  *mixed = (RpinnMixedTerms){.model = model, .first_point = calloc(model->num_terms + 1, sizeof(size_t))};
  if (!mixed->first_point) return false;
  for (size_t t = 0; t < model->num_terms; t++) {
    mixed->first_point[t] = mixed->num_points;
    if (model->terms[t].mix) mixed->num_points += model->terms[t].num_points;
  }
  if (!mixed->num_points) return true;
  mixed->deviations = calloc(mixed->num_points, sizeof(double));
  mixed->weights = calloc(mixed->num_points, sizeof(double));
  mixed->rows = calloc(model->num_rows, sizeof(double));
  mixed->weighed = calloc(model->num_rows, sizeof(double));
  return mixed->deviations && mixed->weights && mixed->rows && mixed->weighed;
}

void RPINN_REAL_NAME(rpinn_mixed_terms_destroy)(RpinnMixedTerms *mixed) {
  free(mixed->first_point);
  free(mixed->deviations);
  free(mixed->weights);
  free(mixed->rows);
  free(mixed->weighed);
  free(mixed->mix);
  free(mixed->mixed);
}

/* ---- rows and weights ---- */

void RPINN_REAL_NAME(rpinn_mixed_terms_rows)(const RpinnMixedTerms *mixed, const double *row_scale,
                                             double *rows) {
  for (size_t t = 0; t < mixed->model->num_terms; t++) {
    const RpinnTermModel *term = &mixed->model->terms[t];
    const double *scales = row_scale + term->first_row;
    double *own = rows + term->first_row;
    if (!term->mix) continue;
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)term->num_rows, (int)term->num_points, scales[0], term->mix,
                (int)term->num_points, mixed->deviations + mixed->first_point[t], 1, 0, own, 1);
    for (size_t j = 0; j < term->num_rows; j++) own[j] *= rpinn_mixed_row_ratio(scales, j);
  }
}

void RPINN_REAL_NAME(rpinn_mixed_terms_weigh)(const RpinnMixedTerms *mixed, const double *row_scale,
                                              const double *rows) {
  for (size_t t = 0; t < mixed->model->num_terms; t++) {
    const RpinnTermModel *term = &mixed->model->terms[t];
    const double *scales = row_scale + term->first_row, *own = rows + term->first_row;
    if (!term->mix) continue;
    for (size_t j = 0; j < term->num_rows; j++) mixed->weighed[j] = own[j] * rpinn_mixed_row_ratio(scales, j);
    cblas_dgemv(CblasRowMajor, CblasTrans, (int)term->num_rows, (int)term->num_points, scales[0], term->mix,
                (int)term->num_points, mixed->weighed, 1, 0, mixed->weights + mixed->first_point[t], 1);
  }
}

void RPINN_REAL_NAME(rpinn_mixed_terms_energies)(const RpinnMixedTerms *mixed, const double *row_scale,
                                                 const double *offsets, double *term_sums) {
  RPINN_REAL_NAME(rpinn_mixed_terms_rows)(mixed, row_scale, mixed->rows);
  for (size_t t = 0; t < mixed->model->num_terms; t++) {
    size_t first = mixed->model->terms[t].first_row;
    if (!mixed->model->terms[t].mix) continue;
    for (size_t j = first; j < first + mixed->model->terms[t].num_rows; j++) {
      mixed->rows[j] -= offsets ? offsets[j] : 0.0;
      term_sums[t] += mixed->rows[j] * mixed->rows[j];
    }
  }
  RPINN_REAL_NAME(rpinn_mixed_terms_weigh)(mixed, row_scale, mixed->rows);
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

/* to [num_rows][N] = q mix * from [num_points][N]. They may overlap where `to` does not lie behind `from`: a piece of the
 * columns is complete before any of it is written, and num_rows <= num_points. */
static void mix_rows(RpinnMixedTerms *mixed, const RpinnTermModel *term, const double *scales,
                     const Real *from, Real *to) {
  size_t N = mixed->model->num_parameters, num_rows = term->num_rows, num_points = term->num_points;
  for (size_t k = 0; k < num_rows * num_points; k++) mixed->mix[k] = (Real)term->mix[k];
  for (size_t first = 0; first < N; first += PIECE) {
    size_t count = N - first < PIECE ? N - first : PIECE;
    RPINN_BLAS(gemm)
    (CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)num_rows, (int)count, (int)num_points, 1, mixed->mix,
     (int)num_points, from + first, (int)N, 0, mixed->mixed, (int)count);
    for (size_t j = 0; j < num_rows; j++) {
      Real ratio = (Real)rpinn_mixed_row_ratio(scales, j);
      for (size_t k = 0; k < count; k++) to[j * N + first + k] = ratio * mixed->mixed[j * count + k];
    }
  }
}

bool RPINN_REAL_NAME(rpinn_mixed_terms_jacobian)(RpinnMixedTerms *mixed, const double *row_scale,
                                                 Real *jacobian) {
  size_t N = mixed->model->num_parameters, first_point = 0;
  if (!reserve(mixed)) return false;
  for (size_t t = 0; t < mixed->model->num_terms; t++) {
    const RpinnTermModel *term = &mixed->model->terms[t];
    Real *from = jacobian + first_point * N, *to = jacobian + term->first_row * N;
    if (term->mix)
      mix_rows(mixed, term, row_scale + term->first_row, from, to);
    else if (to != from)
      memmove(to, from, term->num_rows * N * sizeof(Real));
    first_point += term->num_points;
  }
  return true;
}
