/* Rules by which weights are found: one struct each. */
#ifndef RPINN_STUDY_WEIGHTS_RULES_H
#define RPINN_STUDY_WEIGHTS_RULES_H

#include <stdbool.h>
#include <stddef.h>

struct RpinnWeightSearch;
struct RpinnWeightCandidate;

/* What has to be made of a candidate. */
typedef enum RpinnWeightStage {
  RPINN_STAGE_LOOK,    /* a linearisation */
  RPINN_STAGE_FOLDS,   /* linearisations without each fold */
  RPINN_STAGE_MAP,     /* a run of the most probable parameters */
  RPINN_STAGE_DRAWS,   /* a run with a spread */
  RPINN_STAGE_BALANCE, /* nothing: the rule gives weights of its own, without a search */
  RPINN_NUM_STAGES
} RpinnWeightStage;

/* Sizes of a term's energy E_t = 1/2 sum r^2 of whitened rows at some point, means over several. */
typedef struct RpinnTermSizes {
  double gradient_norm; /* |grad E_t|_2 */
  double gradient_most; /* max |grad E_t| */
  double gradient_mean; /* mean |grad E_t| */
  double kernel_trace;  /* sum over rows of |grad r_i|^2 */
} RpinnTermSizes;

typedef struct RpinnWeightRule {
  const char *name;
  const char *title;   /* of its criterion, for figures */
  const char *meaning; /* a sentence */
  RpinnWeightStage stage;
  bool takes_lowest;
  double
      alike; /* how far from the best a criterion says nothing: nats, or a share where the lowest is taken */
  /* NULL: it gives weights without a search. */
  double (*criterion)(const struct RpinnWeightSearch *search, const struct RpinnWeightCandidate *candidate);
  /* Of those: lambda_t is multiplied by this; reference: the sizes of the reference term. */
  double (*balance)(const RpinnTermSizes *reference, const RpinnTermSizes *term);
  /* Why the problem does not allow it; NULL: it does. */
  const char *(*why_not)(const struct RpinnWeightSearch *search);
} RpinnWeightRule;

/* In the order in which they are asked where nothing else is said. */
enum { RPINN_NUM_WEIGHT_RULES = 8, RPINN_NUM_BALANCE_POINTS = 2 };
extern const RpinnWeightRule rpinn_weight_rules[RPINN_NUM_WEIGHT_RULES];
/* Where balanced rules look: "start", "MAP". */
extern const char *const rpinn_balance_points[RPINN_NUM_BALANCE_POINTS];

#endif
