/* From evidence on a run to its verdict: a function of numbers alone, so that every bound can be tried without a run. */
#ifndef RPINN_ASSESS_VERDICT_H
#define RPINN_ASSESS_VERDICT_H

#include "chain_verdict.h"
#include "json_reader.h"
#include "json_writer.h"
#include "linearisation.h"
#include "rpinn/verdict.h"

/* X(ENUMERATOR, id), in the order in which findings of one severity are listed; docs/verdicts.md has their table. */
#define RPINN_VERDICT_FINDING_LIST(X)                                                                        \
  X(COLLAPSE, "collapse")                                                                                    \
  X(ALL_NOISE, "all_noise")                                                                                  \
  X(FAILED, "failed")                                                                                        \
  X(UNCONVERGED, "unconverged")                                                                              \
  X(NO_MINIMUM, "no_minimum")                                                                                \
  X(NOT_FORGOTTEN, "not_forgotten")                                                                          \
  X(ACCEPTANCE, "acceptance")                                                                                \
  X(MISFIT, "misfit")                                                                                        \
  X(PRIOR_CONFLICT, "prior_conflict")                                                                        \
  X(LEFT_OUT_MEAN, "left_out_mean")                                                                          \
  X(LEFT_OUT_SPREAD, "left_out_spread")                                                                      \
  X(NOISE_TOO_LARGE, "noise_too_large")                                                                      \
  X(OFF_POSTERIOR, "off_posterior")                                                                          \
  X(LIKELIHOOD, "likelihood")                                                                                \
  X(SPREAD, "spread")                                                                                        \
  X(BANDS, "bands")                                                                                          \
  X(HELD_OUT, "held_out")                                                                                    \
  X(WEIGHTS, "weights")                                                                                      \
  X(ONE_DRAW, "one_draw")                                                                                    \
  X(FEW_DRAWS, "few_draws")                                                                                  \
  X(UNDONE, "undone")                                                                                        \
  X(LINEARISED, "linearised")                                                                                \
  X(MODES, "modes")                                                                                          \
  X(NOT_JUDGED, "not_judged")

typedef enum RpinnVerdictFinding {
#define RPINN_VERDICT_FINDING_ENUM(enumerator, id) RPINN_FOUND_##enumerator,
  RPINN_VERDICT_FINDING_LIST(RPINN_VERDICT_FINDING_ENUM)
#undef RPINN_VERDICT_FINDING_ENUM
      RPINN_NUM_VERDICT_FINDINGS
} RpinnVerdictFinding;

/* The bounds. Deviates are numbers of standard deviations of chance: 4.5 is passed once in 300,000 times, so that many terms
 * and tests together raise no false alarm. Shifts are in standard deviations of the draws. */
#define RPINN_FAILED_CAUTION      0.02 /* shares of the members that failed */
#define RPINN_FAILED_BAD          0.2
#define RPINN_GAIN_LIMIT          0.5  /* nats that a converged member may still have to gain */
#define RPINN_UNCONVERGED_CAUTION 0.5  /* share of the members, unless bands stay when they go on: */
#define RPINN_WIDTH_LOW           0.6  /* … so wide at least, by those that went on */
#define RPINN_WIDTH_HIGH          2.0  /* … at most */
#define RPINN_SHIFT_CAUTION       0.75 /* … and no further from them */
#define RPINN_SHIFT_BAD           2.0
#define RPINN_PRIOR_PRESSES       1.2 /* loss by the expected one, from which on a weaker prior is tried */
#define RPINN_LEANING_CAUTION     0.75
#define RPINN_LEANING_BAD         3.0
#define RPINN_DEVIATE_CAUTION     4.5
#define RPINN_DEVIATE_BAD         6.0
#define RPINN_MISFIT_CAUTION      2.0 /* sum of squares per row */
#define RPINN_MISFIT_BAD          4.0
#define RPINN_LEFT_OUT_MEAN       0.4
#define RPINN_LEFT_OUT_SPREAD     2.5  /* mean of z^2 */
#define RPINN_OVERSTATED          0.3  /* mean of z^2 */
#define RPINN_COLLAPSE_SHARE      0.9  /* of the misfit of networks at their prior means … */
#define RPINN_COLLAPSE_MISFIT     2.0  /* … where that is a misfit at all */
#define RPINN_ALL_NOISE_SHARE     0.95 /* of the spread of data, learnt as their noise */
#define RPINN_NOISE_NOTE          1.1 /* the likelihood's deviation by the stated noise, or the other way round */
#define RPINN_NOISE_CAUTION       1.4
#define RPINN_BANDS_BY_SPREAD     6.0
#define RPINN_BANDS_BY_POINTS     3.0
#define RPINN_HELD_OUT_POINTS     20.0
#define RPINN_HELD_OUT_COVERAGE   0.85
#define RPINN_HELD_OUT_DEVIATE    4.0
#define RPINN_FEW_DRAWS           39.0 /* the fewest with an interval of 95 % */
#define RPINN_ABOVE_MINIMUM       0.1  /* nats */
#define RPINN_PARETO_K_LIMIT      0.7
#define RPINN_REMEMBERED_BAD      1.1  /* nested R-hat of members that were continued */
#define RPINN_DIVERGENT_BAD       0.05 /* share of their iterations */
#define RPINN_LOW_ACCEPTANCE      0.5

/* One fitted term. What is NaN is not known. */
typedef struct RpinnTermEvidence {
  const char *name;
  bool is_measured;    /* its data were measured; else they state how exactly something is to hold */
  double sigma, noise; /* the likelihood's deviation, and the stated one; NaN: none is stated */
  double spread;       /* of the data, where sigma was learnt from them; else NaN */
  double num_rows;
  /* The sum of squares of its whitened rows at the draws, without offsets, by their number: 1 where the model is right. */
  double loss;         /* the median over draws */
  double loss_freedom; /* it has the chance of a chi-square of so many degrees */
  /* z of its rows, each as the others foretell it, which is N(0, 1) where the model is right. */
  double z_mean, z_error;     /* their mean, and its standard deviation */
  double z_square, z_freedom; /* their mean square, with the chance of a chi-square of so many degrees */
} RpinnTermEvidence;

/* A predicted quantity. */
typedef struct RpinnQuantityEvidence {
  const char *name;
  /* Where a term measures it at enough points, as one and the same expression; NaN otherwise. */
  double at_points; /* the median of its standard deviation where it is predicted next to a measurement … */
  double widest;    /* … and the 95 % quantile of it over all points of prediction */
  double spread;    /* standard deviation of the measured values */
  /* Draws taken on by Levenberg–Marquardt, and again with half of the prior's pull. Root mean squares over the points, in standard
   * deviations there; NaN: not tried. */
  double shift;   /* of the mean, when they are taken on */
  double leaning; /* of the mean, under the weaker prior */
  double width; /* their standard deviation by that of those taken on, as a geometric mean over the points */
} RpinnQuantityEvidence;

/* Terms held out, against their 95 % intervals. */
typedef struct RpinnHeldOutEvidence {
  const char *name;
  double num_points, coverage;
} RpinnHeldOutEvidence;

/* Members that were continued as chains until they had forgotten where they began. */
typedef struct RpinnCorrectionEvidence {
  bool forgets;                    /* the pilot says so */
  double nested_rhat, limit;       /* the largest of what was watched, and what is asked for … */
  double length, shortest;         /* … after so many iterations at least */
  char worst[128];                 /* what it belongs to */
  double gradients, budget;        /* of a member */
  double acceptance;               /* mean */
  double divergent_share;          /* of the iterations */
  double num_divergent, num_draws; /* members whose chain diverged once or more, and all */
} RpinnCorrectionEvidence;

/* What is not known is NaN, zero or NULL, and is not judged. */
typedef struct RpinnVerdictEvidence {
  const char *unit;                 /* "member": what a draw is called */
  double num_draws, num_failed;     /* draws that count, and members that were never finite */
  double num_undone;                /* that the time limit left … */
  bool is_partial;                  /* … or the shards that were merged */
  const char *spread;               /* what the spread of the draws is, where it is not the posterior's */
  bool is_point;                    /* the method asks for one point, not for draws */
  double num_minimised;             /* draws that are minimisers; 0: they are not */
  double num_unconverged;           /* of these: what was still to be gained is above RPINN_GAIN_LIMIT */
  double median_gain;               /* of all of them, in nats */
  bool is_linearised;               /* the draws are those of a linearised model … */
  double above_minimum;             /* … at a point that is so many nats above its least energy */
  bool uses_weights;                /* the draws were corrected by weights … */
  double pareto_k;                  /* … whose tail has this shape */
  const RpinnChainEvidence *chains; /* NULL: the draws are none of chains */
  const RpinnCorrectionEvidence *correction; /* NULL: members are as they were made */
  const char *likelihood;                    /* its name */
  double energy,
      energy_expected; /* median over draws of what they minimise, and what it is of a good model */
  double misfit,
      misfit_of_nothing; /* mean square of the measured rows there, and with networks at their prior means */
  double num_parameters;
  size_t num_terms, num_quantities, num_held_out;
  const RpinnTermEvidence *terms;
  const RpinnQuantityEvidence *quantities;
  const RpinnHeldOutEvidence *held_out;
  const char *rows_unknown; /* why rows were not judged, as the end of a sentence; NULL: they were */
  bool is_old;              /* an earlier version made the run, and kept less evidence */
} RpinnVerdictEvidence;

void rpinn_verdict_judge(const RpinnVerdictEvidence *evidence, RpinnVerdict *verdict);

/* ---- as text ---- */

/* "verdict: WORD" and a line for each finding. */
void rpinn_verdict_text(const RpinnVerdict *verdict, RpinnText *text);
/* "verdict": {"word": …, "findings": [{"id", "severity", "sentence"}, …]} */
void rpinn_verdict_json(const RpinnVerdict *verdict, RpinnJson *json);
/* The same read again from an object of that form; false: it is none. */
bool rpinn_verdict_read(const RpinnJsonValue *object, RpinnVerdict *verdict);

#endif
