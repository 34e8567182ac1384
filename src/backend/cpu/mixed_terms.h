/* Terms whose rows mix their points, in one precision: with D = (R - d) / s at the points of a term, where s is that of its
 * first row, and with the ratio q of 1/s of each row to that of the first,
 *
 *   rows  r = q mix D            dE/dR = mix^T (q r) / s          rows of J = q mix (rows of dD/dtheta)
 *
 * A row needs all points of its term, which may lie in several blocks. Rows and weights are therefore found before a
 * sweep with a gradient, from a forward pass of their own; and J is made point by point first. Vectors are in double.
 * row_scale [M]: 1/s of the rows of all terms. */
#ifndef RPINN_BACKEND_CPU_MIXED_TERMS_H
#define RPINN_BACKEND_CPU_MIXED_TERMS_H

#include "backend.h"
#include "real.h"

typedef struct RpinnMixedTerms {
  const RpinnEnergyModel *model;
  size_t num_points;   /* of all mixed terms; 0: there are none */
  size_t *first_point; /* [num_terms] of a mixed term among num_points */
  double *deviations;  /* [num_points] R - d, filled by the caller */
  double *weights;     /* [num_points] dE/dR */
  double *rows;        /* [M] */
  double *weighed;     /* [M] q r */
  Real *mix, *mixed;   /* of the largest mixed term, and PIECE columns of its rows of J; made on first use */
} RpinnMixedTerms;

/* false: no memory; destroy all the same. */
bool RPINN_REAL_NAME(rpinn_mixed_terms_create)(const RpinnEnergyModel *model, RpinnMixedTerms *mixed);
void RPINN_REAL_NAME(rpinn_mixed_terms_destroy)(RpinnMixedTerms *mixed);

/* From the deviations: the rows of mixed terms into rows [M], the others are left as they are. */
void RPINN_REAL_NAME(rpinn_mixed_terms_rows)(const RpinnMixedTerms *mixed, const double *row_scale,
                                             double *rows);
/* From rows [M], those of mixed terms: the weights dE/dR of E = rows . r. */
void RPINN_REAL_NAME(rpinn_mixed_terms_weigh)(const RpinnMixedTerms *mixed, const double *row_scale,
                                              const double *rows);
/* From the deviations and offsets (NULL: none): weights, and the sums of squares of mixed terms among term_sums. */
void RPINN_REAL_NAME(rpinn_mixed_terms_energies)(const RpinnMixedTerms *mixed, const double *row_scale,
                                                 const double *offsets, double *term_sums);
/* jacobian [points of all terms][N], a row per point, becomes [M][N] in its place. */
bool RPINN_REAL_NAME(rpinn_mixed_terms_jacobian)(RpinnMixedTerms *mixed, const double *row_scale,
                                                 Real *jacobian);

#endif
