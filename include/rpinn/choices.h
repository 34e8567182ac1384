/* The choices of settings. Each list stands here once: a row has the enumerator and the word that users write. The
 * methods have a list of their own in rpinn/methods.h. */
#ifndef RPINN_CHOICES_H
#define RPINN_CHOICES_H

/* The words of a list, "a|b|c": every word behind a bar, and the first bar left out. */
#define RPINN_CHOICE_WORD(enumerator, word)       "|" word
#define RPINN_CHOICE_ENUMERATOR(enumerator, word) enumerator,
#define RPINN_CHOICES(list)                       (&("" list(RPINN_CHOICE_WORD))[1])
#define RPINN_CHOICES_AND(list, more)             (&("" list(RPINN_CHOICE_WORD) "|" more)[1])

/* Adagrad moves the particles of svgd and minimises nothing. */
#define RPINN_MINIMIZER_LIST(X)                                                                              \
  X(RPINN_MINIMIZER_ADAM, "adam")                                                                            \
  X(RPINN_MINIMIZER_LBFGS, "lbfgs")                                                                          \
  X(RPINN_MINIMIZER_LM, "lm")                                                                                \
  X(RPINN_MINIMIZER_ADAGRAD, "adagrad")
typedef enum RpinnMinimizer { RPINN_MINIMIZER_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnMinimizer;

/* The inverse metric M^-1 of NUTS, an estimate of the covariance of the target. */
#define RPINN_METRIC_LIST(X)                                                                                 \
  X(RPINN_METRIC_UNIT, "unit")                                                                               \
  X(RPINN_METRIC_DIAGONAL, "diagonal")                                                                       \
  X(RPINN_METRIC_DENSE, "dense")
typedef enum RpinnMetric { RPINN_METRIC_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnMetric;

#define RPINN_WARMUP_LIST(X)                                                                                 \
  X(RPINN_WARMUP_DROPPED, "no")                                                                              \
  X(RPINN_WARMUP_KEPT, "yes")
typedef enum RpinnWarmup { RPINN_WARMUP_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnWarmup;

#define RPINN_REPULSION_LIST(X)                                                                              \
  X(RPINN_REPULSION_DIVIDED, "divided")                                                                      \
  X(RPINN_REPULSION_UNDIVIDED, "undivided")
typedef enum RpinnRepulsion { RPINN_REPULSION_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnRepulsion;

/* What particles of svgd push each other apart by. */
#define RPINN_KERNEL_LIST(X)                                                                                 \
  X(RPINN_KERNEL_PARAMETERS, "parameters")                                                                   \
  X(RPINN_KERNEL_FUNCTIONS, "functions")
typedef enum RpinnKernel { RPINN_KERNEL_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnKernel;

/* What normal distributions variational inference chooses from: those with a deviation for each parameter, and with factors of their
 * covariance, or of its inverse, beside. */
#define RPINN_FAMILY_LIST(X)                                                                                 \
  X(RPINN_FAMILY_MEAN_FIELD, "mean_field")                                                                   \
  X(RPINN_FAMILY_LOW_RANK, "low_rank")                                                                       \
  X(RPINN_FAMILY_PRECISION, "precision")
typedef enum RpinnFamily { RPINN_FAMILY_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnFamily;

#define RPINN_LIKELIHOOD_LIST(X)                                                                             \
  X(RPINN_LIKELIHOOD_PAPER, "paper")                                                                         \
  X(RPINN_LIKELIHOOD_NOISE, "noise")                                                                         \
  X(RPINN_LIKELIHOOD_UNIFORM, "uniform")
typedef enum RpinnLikelihood { RPINN_LIKELIHOOD_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnLikelihood;

/* The prior of the parameters of a network, all of mean 0: standard deviation scale for biases, and for weights scale (IID) or
 * scale / sqrt(fan_in) (FAN_IN). */
#define RPINN_PRIOR_SHAPE_LIST(X)                                                                            \
  X(RPINN_PRIOR_IID, "iid")                                                                                  \
  X(RPINN_PRIOR_FAN_IN, "fan_in")
typedef enum RpinnPriorShape { RPINN_PRIOR_SHAPE_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnPriorShape;

/* How the data choose the scale of a prior. */
#define RPINN_SCALE_RULE_LIST(X)                                                                             \
  X(RPINN_SCALE_EVIDENCE, "evidence")                                                                        \
  X(RPINN_SCALE_LOO, "loo")
typedef enum RpinnScaleRule {
  RPINN_SCALE_RULE_LIST(RPINN_CHOICE_ENUMERATOR) RPINN_SCALE_GIVEN
} RpinnScaleRule;

/* Do the fields differ in scale? */
#define RPINN_SCALE_DIVISION_LIST(X)                                                                         \
  X(RPINN_SCALE_COMMON, "no")                                                                                \
  X(RPINN_SCALE_PER_FIELD, "yes")
typedef enum RpinnScaleDivision { RPINN_SCALE_DIVISION_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnScaleDivision;

/* Does every member draw a scale of its own from what the data say of scales? */
#define RPINN_SCALE_SPREAD_LIST(X)                                                                           \
  X(RPINN_SCALE_SHARED, "no")                                                                                \
  X(RPINN_SCALE_INTEGRATED, "yes")
typedef enum RpinnScaleSpread { RPINN_SCALE_SPREAD_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnScaleSpread;

#define RPINN_FIELD_MAP_LIST(X)                                                                              \
  X(RPINN_FIELDS_AS_THEY_ARE, "no")                                                                          \
  X(RPINN_FIELDS_MAPPED, "yes")
typedef enum RpinnFieldMap { RPINN_FIELD_MAP_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnFieldMap;

#define RPINN_MOMENTUM_LIST(X)                                                                               \
  X(RPINN_MOMENTUM_NONE, "no")                                                                               \
  X(RPINN_MOMENTUM_KEPT, "yes")
typedef enum RpinnMomentum { RPINN_MOMENTUM_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnMomentum;

#define RPINN_ACCELERATION_LIST(X)                                                                           \
  X(RPINN_ACCELERATION_NONE, "no")                                                                           \
  X(RPINN_ACCELERATION_GEODESIC, "yes")
typedef enum RpinnAcceleration { RPINN_ACCELERATION_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnAcceleration;

/* Any other start is the directory of an earlier run. */
#define RPINN_START_LIST(X)                                                                                  \
  X(RPINN_START_GLOROT, "glorot")                                                                            \
  X(RPINN_START_PRIOR, "prior")                                                                              \
  X(RPINN_START_MEMBER, "member")                                                                            \
  X(RPINN_START_MAP, "map")                                                                                  \
  X(RPINN_START_ZERO, "zero")                                                                                \
  X(RPINN_START_NORMAL, "normal")                                                                            \
  X(RPINN_START_ZERO_THEN_NORMAL, "zero_then_normal")
typedef enum RpinnStart { RPINN_START_LIST(RPINN_CHOICE_ENUMERATOR) RPINN_START_RUN } RpinnStart;

#define RPINN_BACKEND_LIST(X)                                                                                \
  X(rpinn_cpu_backend, "cpu")                                                                                \
  X(rpinn_plain_backend, "plain")                                                                            \
  X(rpinn_cuda_backend, "cuda")

#define RPINN_PRECISION_LIST(X)                                                                              \
  X(RPINN_PRECISION_FLOAT, "float")                                                                          \
  X(RPINN_PRECISION_DOUBLE, "double")                                                                        \
  X(RPINN_PRECISION_TF32, "tf32")
typedef enum RpinnPrecision { RPINN_PRECISION_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnPrecision;

#define RPINN_CORRECTION_LIST(X)                                                                             \
  X(RPINN_CORRECTION_NONE, "none")                                                                           \
  X(RPINN_CORRECTION_MH, "mh")                                                                               \
  X(RPINN_CORRECTION_NUTS, "nuts")
typedef enum RpinnCorrection { RPINN_CORRECTION_LIST(RPINN_CHOICE_ENUMERATOR) } RpinnCorrection;

#endif
