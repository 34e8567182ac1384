/* What the draws of a finished run say of fields and quantities at points of the user's choice: one pass over the store. */
#ifndef RPINN_RESULTS_POINT_PREDICTION_H
#define RPINN_RESULTS_POINT_PREDICTION_H

#include "kept_draws.h"
#include "linear_fields.h"
#include "moments.h"
#include "run_record.h"

/* What a thread evaluates draws with. */
typedef struct RpinnDrawEvaluator {
  RpinnPlannedEvaluation plan;
  RpinnLinearFields *linear; /* instead of the plan's, where fields are linearised; else NULL */
} RpinnDrawEvaluator;

typedef struct RpinnPointPrediction {
  RpinnContext *context; /* by the caller, before it is opened */
  bool keeps_draws;      /* likewise: all values of all draws */
  RpinnRun *run;
  RpinnPosterior *posterior; /* of the run */
  RpinnProblem *problem;     /* of the posterior: expressions are added to it */
  RpinnPointSet points;      /* by the caller, before it is made */
  size_t num_quantities;
  const char **names;                    /* [num_quantities] */
  const RpinnResidualProgram **programs; /* [num_quantities] */
  size_t num_values;                     /* quantities times points */
  double *mean, *deviation, *low;        /* [num_values]; low is followed by the median and high */
  uint64_t draw;                         /* how many there are */
  double *draws;                         /* [draw][num_values] where they are kept; else NULL */
  /* ---- while it is made ---- */
  RpinnDrawEvaluator *evaluators; /* [num_posteriors] */
  RpinnMoments *moments;
  RpinnKeptDraws *kept;
} RpinnPointPrediction;

/* The finished run in a folder. */
RpinnStatus rpinn_point_prediction_open(RpinnPointPrediction *prediction, const char *folder);
/* list: names of fields and quantities, separated by commas; NULL: those of `predict:`. */
RpinnStatus rpinn_point_prediction_choose(RpinnPointPrediction *prediction, const char *list);
RpinnStatus rpinn_point_prediction_make(RpinnPointPrediction *prediction);
/* Accepts one that was not opened. */
void rpinn_point_prediction_close(RpinnPointPrediction *prediction);

#endif
