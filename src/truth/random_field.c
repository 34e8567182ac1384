/* C = V L V^T for the correlations of one axis. Of all roots of C the symmetric one, V L^(1/2) V^T, is used:
 * it is unique, whereas V L^(1/2) depends on the signs that an implementation of LAPACK gives to its vectors,
 * and the same seed would give another field with another library.
 *
 * Correlations of smooth fields have eigenvalues that fall below rounding within a few dozen. What the
 * decomposition returns for them is noise of either sign, up to n eps times the largest: the negative ones have
 * no root, and the roots of the others, 1e-7 where the values are 1, would be another machine's other noise. All
 * of them are taken as 0, which they are to rounding. A field is then the same on all machines to about 1e-8. */
#include "random_field.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>

#include "blas_threads.h"

struct RpinnRandomField {
  double mean, deviation;
  size_t counts[RPINN_FIELD_MAX_AXES]; /* 1 for an axis that is not there */
  double *roots[RPINN_FIELD_MAX_AXES]; /* [counts[i]][counts[i]], symmetric */
  double *normals, *half;              /* [n2][n1] */
};

void rpinn_cell_centres(double low, double high, size_t count, double *centres) {
  for (size_t i = 0; i < count; i++) centres[i] = low + (high - low) * (((double)i + 0.5) / (double)count);
}

/* root = C^(1/2) = W W^T with W = V L^(1/4). vectors [n][n] is overwritten. */
static RpinnStatus symmetric_root(RpinnContext *context, size_t n, double *vectors, double *eigenvalues,
                                  double *root) {
  int order = (int)n;
  if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', order, vectors, order, eigenvalues) != 0)
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "the eigenvalues of a correlation matrix of order %zu were not found", n);
  double noise = (double)n * DBL_EPSILON * eigenvalues[n - 1];
  for (size_t k = 0; k < n; k++)
    cblas_dscal(order, eigenvalues[k] > noise ? sqrt(sqrt(eigenvalues[k])) : 0, vectors + k * n, 1);
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, order, order, 1, vectors, order, 0, root, order);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++) root[i * n + j] = root[j * n + i];
  return RPINN_OK;
}

static RpinnStatus make_root(RpinnContext *context, const RpinnFieldModel *model, size_t axis, size_t n,
                             const double *places, double **root) {
  double *vectors = malloc(n * n * sizeof *vectors), *eigenvalues = malloc(n * sizeof *eigenvalues);
  *root = malloc(n * n * sizeof **root);
  RpinnStatus status = RPINN_OK;
  if (!vectors || !eigenvalues || !*root) {
    status = rpinn_fail_memory(context);
  } else {
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++)
        vectors[i * n + j] =
            rpinn_correlation(model->correlation, places[i] - places[j], model->length[axis]);
    status = symmetric_root(context, n, vectors, eigenvalues, *root);
  }
  free(vectors);
  free(eigenvalues);
  return status;
}

static RpinnStatus fill(RpinnContext *context, const RpinnFieldModel *model, const size_t *counts,
                        const double *const *places, RpinnRandomField *field) {
  field->mean = model->mean;
  field->deviation = sqrt(model->variance);
  field->counts[0] = field->counts[1] = 1;
  for (size_t i = 0; i < model->num_axes; i++) {
    field->counts[i] = counts[i];
    if (counts[i] < 1 || counts[i] > RPINN_FIELD_MAX_PLACES)
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "a random field has %zu places on an axis; expected 1 to %d", counts[i],
                        RPINN_FIELD_MAX_PLACES);
    RPINN_TRY(make_root(context, model, i, counts[i], places[i], &field->roots[i]));
  }
  size_t size = field->counts[0] * field->counts[1];
  field->normals = malloc(size * sizeof(double));
  field->half = malloc(size * sizeof(double));
  return field->normals && field->half ? RPINN_OK : rpinn_fail_memory(context);
}

RpinnStatus rpinn_random_field_create(RpinnContext *context, const RpinnFieldModel *model,
                                      const size_t *counts, const double *const *places,
                                      RpinnRandomField **field) {
  *field = NULL;
  RPINN_TRY(rpinn_field_model_check(context, model));
  RPINN_TRY(rpinn_blas_reserve(context, 1));
  RpinnRandomField *made = calloc(1, sizeof *made);
  if (!made) return rpinn_fail_memory(context);
  RpinnStatus status = fill(context, model, counts, places, made);
  if (status == RPINN_OK)
    *field = made;
  else
    rpinn_random_field_destroy(made);
  return status;
}

void rpinn_random_field_destroy(RpinnRandomField *field) {
  if (!field) return;
  for (size_t i = 0; i < RPINN_FIELD_MAX_AXES; i++) free(field->roots[i]);
  free(field->normals);
  free(field->half);
  free(field);
}

void rpinn_random_field_draw(RpinnRandomField *field, RpinnStream *stream, double *values) {
  int n1 = (int)field->counts[0], n2 = (int)field->counts[1];
  size_t size = field->counts[0] * field->counts[1];
  double *half = field->half;
  rpinn_stream_normals(stream, size, field->normals);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n2, n1, n1, field->deviation, field->normals, n1,
              field->roots[0], n1, 0, half, n1);
  if (field->roots[1])
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n2, n1, n2, 1, field->roots[1], n2, half, n1, 0,
                values, n1);
  for (size_t k = 0; k < size; k++) values[k] = field->mean + (field->roots[1] ? values[k] : half[k]);
}
