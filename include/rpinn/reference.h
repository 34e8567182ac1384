/* Reference values made to order: Gaussian random fields, and steady flow through a field of conductivities. What
 * they write is a table that a problem file can name as its truth. */
#ifndef RPINN_REFERENCE_H
#define RPINN_REFERENCE_H

#include <stdint.h>

#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A Gaussian random field on equal cells, at their centres. Its covariance is variance * prod_i rho(d_i/length_i)
 * with rho(r) = exp(-r^2) for squared_exponential (no 1/2 in the exponent), exp(-r) for exponential,
 * (1 + sqrt(3) r) exp(-sqrt(3) r) for matern32, (1 + sqrt(5) r + 5/3 r^2) exp(-sqrt(5) r) for matern52. */
typedef struct RpinnReferenceField {
  size_t num_axes; /* 1 or 2; what follows is per axis */
  size_t cells[2];
  double low[2], high[2];
  const char *coordinates[2]; /* names; NULL: x1, x2 */
  const char *covariance;
  double length[2];
  double mean, variance;
  uint64_t seed;
  const char *condition_file; /* CSV of measurements, <coordinates>,value[,std]; NULL: none */
  bool kriging;               /* mean and standard deviation given the measurements in place of a draw */
} RpinnReferenceField;

/* A condition of one side: the head at the face, or what flows in through it per unit of length. */
typedef struct RpinnReferenceSide {
  bool fixes_head;
  double value;
} RpinnReferenceSide;

/* A positive rate takes water out. On an interval x[1] is NaN. */
typedef struct RpinnReferenceWell {
  double x[2];
  double rate;
} RpinnReferenceWell;

/* div(k grad h) = s on the cells of a table. Positive s takes water out; positive fluxes bring it in. */
typedef struct RpinnReferenceFlow {
  const char *conductivity_file; /* CSV of cell centres in any order: <coordinates> and the column */
  const char *coordinates[2];    /* names; NULL: x1, x2. A table without the second is an interval */
  const char *column;            /* NULL: k, or else y, the logarithm of k */
  bool is_logarithm;             /* of the column that is named */
  RpinnReferenceSide sides[4];   /* left, right, bottom, top; all zero: no flow */
  double source;
  size_t num_wells;
  const RpinnReferenceWell *wells;
} RpinnReferenceFlow;

/* Columns of numbers on cells. */
typedef struct RpinnReference RpinnReference;

/* Columns y and k = exp(y); with kriging y and y_std. All pointers are borrowed for the call. */
RPINN_API RpinnStatus rpinn_reference_field(RpinnContext *context, const RpinnReferenceField *field,
                                            RpinnReference **reference);
/* Columns y, k and h. */
RPINN_API RpinnStatus rpinn_reference_solve(RpinnContext *context, const RpinnReferenceFlow *flow,
                                            RpinnReference **reference);
RPINN_API void rpinn_reference_destroy(RpinnReference *reference);

/* As CSV, or as a VTK image where the name ends in .vti (two dimensions only). */
RPINN_API RpinnStatus rpinn_reference_write(RpinnContext *context, const RpinnReference *reference,
                                            const char *path);
/* The table itself, a summary for people and one for programs. NULL when out of memory; the caller frees. */
RPINN_API char *rpinn_reference_csv(const RpinnReference *reference);
RPINN_API char *rpinn_reference_text(const RpinnReference *reference);
RPINN_API char *rpinn_reference_json(const RpinnReference *reference);

#ifdef __cplusplus
}
#endif
#endif
