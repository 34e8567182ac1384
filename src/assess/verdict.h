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
  X(FAILED, "failed")                                                                                        \
  X(UNCONVERGED, "unconverged")                                                                              \
  X(NO_MINIMUM, "no_minimum")                                                                                \
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
  X(NOT_JUDGED, "not_judged")

typedef enum RpinnVerdictFinding {
#define RPINN_VERDICT_FINDING_ENUM(enumerator, id) RPINN_FOUND_##enumerator,
  RPINN_VERDICT_FINDING_LIST(RPINN_VERDICT_FINDING_ENUM)
#undef RPINN_VERDICT_FINDING_ENUM
      RPINN_NUM_VERDICT_FINDINGS
} RpinnVerdictFinding;

/* The bounds. Deviates are standard deviations of a normal number: 4 is passed by chance once in 30,000 times. */
#define RPINN_GAIN_LIMIT          0.5 /* nats that a converged member may still have to gain */
#define RPINN_UNCONVERGED_CAUTION 0.1 /* share of the members */
#define RPINN_UNCONVERGED_BAD     0.5
#define RPINN_FAILED_CAUTION      0.02
#define RPINN_FAILED_BAD          0.2
#define RPINN_FEW_DRAWS           39.0 /* the least and the largest of 39 hold 95 % of what is drawn like them */
#define RPINN_ABOVE_MINIMUM       0.1 /* nats */
#define RPINN_PARETO_K_LIMIT      0.7

/* One fitted term. */
typedef struct RpinnTermEvidence {
  const char *name;
  bool is_measured;    /* its data were measured; else they state how exactly something is to hold */
  double sigma, noise; /* the likelihood's deviation, and the stated one; NaN: none is stated */
  RpinnRowGroup rows;  /* at the most probable point; all NaN: not known */
  /* Mean over the draws of the sum of squares of its whitened rows, without offsets, and what the linearised posterior says it
   * is: sum alpha_i^2 + sum (1 - c_ii). NaN: not known. */
  double draw_squares, draw_expected;
} RpinnTermEvidence;

/* A predicted quantity that is also measured, as one and the same expression. */
typedef struct RpinnBandEvidence {
  const char *name;
  double at_points; /* the median of its standard deviation where it is predicted next to a measurement … */
  double widest;    /* … and the 95 % quantile of it over all points of prediction */
  double spread;    /* standard deviation of the measured values */
} RpinnBandEvidence;

/* Terms held out, against their 95 % intervals. */
typedef struct RpinnHeldOutEvidence {
  const char *name;
  double num_points, coverage;
} RpinnHeldOutEvidence;

/* What is not known is NaN, zero or NULL, and is not judged. */
typedef struct RpinnVerdictEvidence {
  const char *unit;                 /* "member": what a draw is called */
  double num_draws, num_failed;     /* draws that count, and members that were never finite */
  double num_undone;                /* that the time limit left */
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
  const char *likelihood;           /* its name */
  double energy, num_rows;          /* E at the most probable point, and the rows of the model */
  double misfit,
      misfit_of_nothing; /* mean square of the measured rows there, and with networks at their prior means */
  double num_parameters;
  size_t num_terms, num_bands, num_held_out;
  const RpinnTermEvidence *terms;
  const RpinnBandEvidence *bands;
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
