/* LAPACK's divide and conquer for dense matrices. The lower triangle of a row-major matrix is the upper one of a
 * column-major matrix, and columns of eigenvectors become rows, so nothing is transposed.
 *
 * ARPACK (implicitly restarted Lanczos) asks for products through a state that it keeps outside of its arguments:
 * calls are made one at a time, behind a lock. Its starting vector comes from a stream of ours, so that the same
 * operator gives the same digits. */
#include "symmetric_spectrum.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>

static RpinnStatus fail_not_finite(RpinnContext *context) {
  return rpinn_fail(context, RPINN_ERROR_NUMERIC, "the matrix is not finite, so that it has no eigenvalues");
}

RpinnStatus rpinn_symmetric_spectrum(RpinnContext *context, size_t n, double *matrix, bool vectors,
                                     double *eigenvalues) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++)
      if (!isfinite(matrix[i * n + j])) return fail_not_finite(context);
  if (n == 0) return RPINN_OK;
  int info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, vectors ? 'V' : 'N', 'U', (int)n, matrix, (int)n, eigenvalues);
  if (info == LAPACK_WORK_MEMORY_ERROR) return rpinn_fail_memory(context);
  if (info != 0)
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "LAPACK found no eigenvalues of a %zu x %zu matrix (code %d)", n, n, info);
  return RPINN_OK;
}

#ifdef RPINN_HAVE_ARPACK

#include <arpack.h>
#include <pthread.h>
#include <string.h>

#include "random_stream.h"

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* What the calls of ARPACK share; sizes as its manual has them. */
typedef struct Lanczos {
  int n, count, basis;
  double tolerance;
  int parameters[11], pointers[11];
  double *residual;  /* [n] */
  double *vectors;   /* [basis][n] */
  double *products;  /* [3 n] */
  double *workspace; /* [basis (basis + 8)] */
  double *values;    /* [count] */
} Lanczos;

static bool lanczos_allocate(Lanczos *lanczos) {
  size_t n = (size_t)lanczos->n, basis = (size_t)lanczos->basis;
  lanczos->residual =
      calloc(4 * n + basis * n + basis * (basis + 8) + (size_t)lanczos->count, sizeof(double));
  if (!lanczos->residual) return false;
  lanczos->products = lanczos->residual + n;
  lanczos->vectors = lanczos->products + 3 * n;
  lanczos->workspace = lanczos->vectors + basis * n;
  lanczos->values = lanczos->workspace + basis * (basis + 8);
  return true;
}

/* Until ARPACK is content. */
static RpinnStatus iterate(RpinnContext *context, Lanczos *lanczos, RpinnSymmetricProduct product,
                           void *user) {
  enum { SHIFTS = 0, ITERATIONS = 2, MODE = 6, PRODUCT = 1, PRODUCT_AT_START = -1 };
  int task = 0, info = 1, size = lanczos->basis * (lanczos->basis + 8); /* info 1: the start is in residual */
  lanczos->parameters[SHIFTS] = 1;
  lanczos->parameters[ITERATIONS] = 1000;
  lanczos->parameters[MODE] = 1;
  RpinnStream stream = rpinn_stream(1, RPINN_PURPOSE_CHECK, 0, 0);
  rpinn_stream_normals(&stream, (size_t)lanczos->n, lanczos->residual);
  for (;;) {
    dsaupd_c(&task, "I", lanczos->n, "LM", lanczos->count, lanczos->tolerance, lanczos->residual,
             lanczos->basis, lanczos->vectors, lanczos->n, lanczos->parameters, lanczos->pointers,
             lanczos->products, lanczos->workspace, size, &info);
    if (task != PRODUCT && task != PRODUCT_AT_START) break;
    double *result = lanczos->products + lanczos->pointers[1] - 1;
    RPINN_TRY(product(user, lanczos->products + lanczos->pointers[0] - 1, result));
    for (int i = 0; i < lanczos->n; i++)
      if (!isfinite(result[i])) return fail_not_finite(context);
  }
  if (info != 0)
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "ARPACK found %d of %d leading eigenvalues (code %d); expected all of them",
                      lanczos->parameters[4], lanczos->count, info);
  return RPINN_OK;
}

static RpinnStatus extract(RpinnContext *context, Lanczos *lanczos) {
  int info = 0, size = lanczos->basis * (lanczos->basis + 8);
  int *select = calloc((size_t)lanczos->basis, sizeof *select);
  if (!select) return rpinn_fail_memory(context);
  dseupd_c(1, "A", select, lanczos->values, lanczos->vectors, lanczos->n, 0, "I", lanczos->n, "LM",
           lanczos->count, lanczos->tolerance, lanczos->residual, lanczos->basis, lanczos->vectors,
           lanczos->n, lanczos->parameters, lanczos->pointers, lanczos->products, lanczos->workspace, size,
           &info);
  free(select);
  if (info != 0)
    return rpinn_fail(context, RPINN_ERROR_NUMERIC, "ARPACK gave no eigenvectors (code %d)", info);
  return RPINN_OK;
}

/* In falling order of magnitude; ARPACK's own order is rising, with signs. */
static void sort_out(const Lanczos *lanczos, double *eigenvalues, double *eigenvectors) {
  size_t low = 0, high = (size_t)lanczos->count, n = (size_t)lanczos->n;
  for (size_t i = 0; i < (size_t)lanczos->count; i++) {
    bool take_low = fabs(lanczos->values[low]) > fabs(lanczos->values[high - 1]);
    size_t chosen = take_low ? low++ : --high;
    eigenvalues[i] = lanczos->values[chosen];
    if (eigenvectors) memcpy(eigenvectors + i * n, lanczos->vectors + chosen * n, n * sizeof(double));
  }
}

bool rpinn_leading_spectrum_available(void) {
  return true;
}

RpinnStatus rpinn_leading_spectrum(RpinnContext *context, size_t n, RpinnSymmetricProduct product, void *user,
                                   size_t count, double *eigenvalues, double *eigenvectors) {
  enum { LEAST_BASIS = 20, MOST_PARAMETERS = 1 << 30 };
  if (count == 0 || count >= n || n > MOST_PARAMETERS)
    return rpinn_fail(
        context, RPINN_ERROR_INPUT,
        "%zu leading eigenvalues of %zu parameters are asked for; expected at least 1 and fewer than the "
        "parameters",
        count, n);
  size_t basis = 2 * count + 1 > LEAST_BASIS ? 2 * count + 1 : LEAST_BASIS;
  if (basis > n) basis = n;
  /* Products are differences with some 9 digits: asking for more would chase noise. */
  Lanczos lanczos = {.n = (int)n, .count = (int)count, .basis = (int)basis, .tolerance = 1e-9};
  if (!lanczos_allocate(&lanczos)) return rpinn_fail_memory(context);
  pthread_mutex_lock(&one_at_a_time);
  RpinnStatus status = iterate(context, &lanczos, product, user);
  if (status == RPINN_OK) status = extract(context, &lanczos);
  pthread_mutex_unlock(&one_at_a_time);
  if (status == RPINN_OK) sort_out(&lanczos, eigenvalues, eigenvectors);
  free(lanczos.residual);
  return status;
}

#else

bool rpinn_leading_spectrum_available(void) {
  return false;
}

RpinnStatus rpinn_leading_spectrum(RpinnContext *context, size_t n, RpinnSymmetricProduct product, void *user,
                                   size_t count, double *eigenvalues, double *eigenvectors) {
  (void)n, (void)product, (void)user, (void)count, (void)eigenvalues, (void)eigenvectors;
  return rpinn_fail(
      context, RPINN_ERROR_UNSUPPORTED,
      "leading eigenvalues need ARPACK, which this build lacks; install libarpack2-dev and build again, or "
      "ask for the full spectrum");
}

#endif
