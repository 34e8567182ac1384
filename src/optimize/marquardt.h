/* Levenberg–Marquardt in memory, for the files that share it: levenberg_marquardt.c, where its formulas are, marquardt_products.c,
 * marquardt_linearisation.c, marquardt_steps.c, marquardt_bend.c, marquardt_vectors.c and marquardt_create.c. */
#ifndef RPINN_OPTIMIZE_MARQUARDT_H
#define RPINN_OPTIMIZE_MARQUARDT_H

#include "normal_equations.h"
#include "optimizer.h"

/* The phases of an iteration, and of the look at the start. A phase is a function: it takes the answer to what the one before
 * asked, does its work, names the phase that follows, and returns true where it asks in its turn. */
#define RPINN_MARQUARDT_PHASE_LIST(X)                                                                        \
  /* a point and what is known there */                                                                      \
  X(LOOK, look)           /* the rows at theta */                                                            \
  X(MEASURE, measure)     /* r, p and E of them */                                                           \
  X(LINEARISE, linearise) /* J, where it is dense */                                                         \
  X(SLOPE, slope)         /* J^T r */                                                                        \
  X(CURVE, curve)         /* g; J^T J or J B^-1 J^T */                                                       \
  X(UNIT, unit)           /* at the start: the trace that sizes D */                                         \
  X(SCALE, scale)         /* D from it */                                                                    \
  /* a step */                                                                                               \
  X(SOLVE, solve)             /* A^-1; the normal equations, or the beginning of another form */             \
  X(DATA_MATRIX, data_matrix) /* I + J A^-1 J^T; J A^-1 P p */                                               \
  X(DATA_ROWS, data_rows)     /* y; J^T y */                                                                 \
  X(DATA_STEP, data_step)     /* d */                                                                        \
  X(OWN_STEP, own_step)       /* d, which the target has found */                                            \
  X(CONJUGATE, conjugate)     /* another product of conjugate gradients, or d */                             \
  /* a trial, and what becomes of it */                                                                      \
  X(TRY, try)               /* the decrease predicted; the rows at theta + d */                              \
  X(JUDGE, judge)           /* E there */                                                                    \
  X(BEND, bend)             /* with acceleration: what J has not foreseen of these rows; J^T of it */        \
  X(BEND_STEP, bend_step)   /* a; where it is small beside d, the rows at theta + d + a */                   \
  X(BEND_JUDGE, bend_judge) /* E there: is it lower? */                                                      \
  X(DECIDE, decide)         /* is E lower than at theta? */                                                  \
  X(REJECT, reject)         /* more damping */                                                               \
  X(REACH, reach)           /* with momentum: the rows at theta + d + beta w */                              \
  X(COMPARE, compare)       /* E there: is it lower still? */                                                \
  X(ARRIVE, arrive)         /* w and beta for the next time */                                               \
  X(ACCEPT, accept)         /* less damping, and theta is the new point */                                   \
  X(NOTE, note)             /* loss and gradient are taken note of */

typedef enum RpinnMarquardtPhase {
#define RPINN_MARQUARDT_ENUM(phase, function) RPINN_MARQUARDT_##phase,
  RPINN_MARQUARDT_PHASE_LIST(RPINN_MARQUARDT_ENUM)
#undef RPINN_MARQUARDT_ENUM
      RPINN_MARQUARDT_DONE
} RpinnMarquardtPhase;

/* How a step is found. */
typedef enum RpinnMarquardtForm {
  RPINN_MARQUARDT_NORMAL,    /* N < M: the normal equations */
  RPINN_MARQUARDT_IN_DATA,   /* M <= N: in data space … */
  RPINN_MARQUARDT_BY_TARGET, /* … or likewise by the target itself */
  RPINN_MARQUARDT_NO_MATRIX  /* by conjugate gradients */
} RpinnMarquardtForm;

typedef struct RpinnMarquardtPoint {
  double *theta;      /* [N] */
  double *rows;       /* r [M] */
  double *prior_rows; /* p [N], 0 where there is no prior */
  double loss;        /* E */
} RpinnMarquardtPoint;

typedef struct RpinnMarquardt {
  RpinnOptimizer base;
  RpinnLeastSquares single;       /* the target for one, where it was given as such */
  RpinnBatchLeastSquares squares; /* the target */
  const double *prior_root;       /* P [N] of the member; NULL: no prior at all */
  const double *offsets;          /* [M+N] or NULL */
  double initial_damping;
  RpinnMarquardtForm form;
  bool has_partial_prior; /* on some parameters only */
  bool has_momentum;
  bool has_acceleration;
  double *prior_square; /* P^2 [N] */
  double *base_inverse; /* 1/B [N] */
  /* ---- saved ---- */
  double damping, growth; /* lambda, nu */
  double unit;
  double *scale;             /* D [N] */
  double momentum;           /* beta */
  double *way;               /* w [N]; NULL without momentum */
  size_t num_promises_small; /* iterations in a row that had next to nothing to gain */
  /* ---- derived from theta ---- */
  bool is_linearised;
  RpinnMarquardtPoint here; /* at theta */
  double *jacobian;         /* [M][N]; NULL: the target's own products */
  double *gradient;         /* [N] */
  double gradient_square;   /* |g|^2 */
  double *gram;             /* order n = min(M, N): J^T J, or J B^-1 J^T */
  /* ---- of one iteration ---- */
  RpinnMarquardtPhase phase;
  RpinnMarquardtPhase after_linearisation;
  double *factor;         /* [n][n] */
  double *inverse;        /* A^-1 [N] */
  double *remaining;      /* y [M]; then the rows at theta + d less y */
  double *step, *product; /* d; J^T of something, or a [N] */
  double *block;          /* [M * RPINN_DENSE_BLOCK] */
  RpinnNormalEquations equations;
  RpinnDampedStep own_step;  /* that the target finds */
  bool is_solved;            /* there is a step at this damping */
  double slope, step_square; /* g.d, sum_j D_j d_j^2 */
  double predicted;
  RpinnMarquardtPoint trial;
  RpinnMarquardtPoint far; /* with momentum or acceleration */
  double reach;            /* beta of the far point */
  size_t num_reached;      /* far points that were lower */
} RpinnMarquardt;

#define RPINN_MARQUARDT_DECLARE(phase, function) bool rpinn_marquardt_##function(RpinnMarquardt *self);
RPINN_MARQUARDT_PHASE_LIST(RPINN_MARQUARDT_DECLARE)
#undef RPINN_MARQUARDT_DECLARE

extern const RpinnOptimizerMethod rpinn_marquardt_method;
extern const double rpinn_marquardt_most_damping;

/* ---- the target, or its dense Jacobian ---- */

/* The rows at point->theta; once they are there, r, p and E. */
bool rpinn_marquardt_ask_rows(RpinnMarquardt *self, const RpinnMarquardtPoint *point);
void rpinn_marquardt_find_energy(const RpinnMarquardt *self, RpinnMarquardtPoint *point);

/* At theta: J; J v [M]; J^T w [N]; gram = J diag(inverse) J^T, or J J^T when inverse is NULL. True: the target is asked. False:
 * it is done, by the dense Jacobian. */
bool rpinn_marquardt_ask_jacobian(RpinnMarquardt *self);
bool rpinn_marquardt_ask_times(RpinnMarquardt *self, const double *direction, double *product);
bool rpinn_marquardt_ask_transposed(RpinnMarquardt *self, const double *weights, double *product);
bool rpinn_marquardt_ask_gram(RpinnMarquardt *self, const double *inverse);
/* At theta, with A^-1 = inverse: the trace, and into step, where that is not NULL, d. The target is asked. */
bool rpinn_marquardt_ask_step(RpinnMarquardt *self, const double *inverse, double *step);

/* ---- small parts ---- */

/* Is a factor kept here, by which another right-hand side is solved for at little cost? */
static inline bool rpinn_marquardt_has_factor(RpinnMarquardtForm form) {
  return form == RPINN_MARQUARDT_NORMAL || form == RPINN_MARQUARDT_IN_DATA;
}

/* (P p)_j */
static inline double rpinn_marquardt_prior_pull(const RpinnMarquardt *self, size_t j) {
  return self->prior_root ? self->prior_root[j] * self->here.prior_rows[j] : 0;
}

/* D_j; a parameter that no row has depended on so far may have any positive one. */
static inline double rpinn_marquardt_damping_scale(const RpinnMarquardt *self, size_t j) {
  return self->scale[j] > 0 ? self->scale[j] : 1;
}

/* ---- loops over all parameters: marquardt_vectors.c ---- */

/* p of a point; |p|^2. There is a prior. */
double rpinn_marquardt_find_prior_rows(const RpinnMarquardt *self, RpinnMarquardtPoint *point);
/* step = A^-1 P p */
void rpinn_marquardt_scale_pull(RpinnMarquardt *self);
/* step = -A^-1 (P p + product) */
void rpinn_marquardt_step_from_rows(RpinnMarquardt *self);
/* gradient += P p; |gradient|^2 */
double rpinn_marquardt_add_pull(RpinnMarquardt *self);
/* trial.theta = theta + d; slope = g.d, step_square = sum_j D_j d_j^2 */
void rpinn_marquardt_measure_step(RpinnMarquardt *self);
/* product = A^-1 product, but for the normal equations, which have solved for it; far.theta = trial.theta - product; sum_j D_j product_j^2 */
double rpinn_marquardt_measure_bend(RpinnMarquardt *self);

/* D of the normal equations, from the columns of J at theta and those before. */
void rpinn_marquardt_follow_scale(RpinnMarquardt *self);

#endif
