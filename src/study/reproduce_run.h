/* A run of the paper that is being made or looked at. */
#ifndef RPINN_STUDY_REPRODUCE_RUN_H
#define RPINN_STUDY_REPRODUCE_RUN_H

#include "finished_run.h"
#include "reproduce_state.h"
#include "run_state.h"

struct RpinnMadeRun {
  RpinnContext *context;
  RpinnReproduction *reproduction;
  RpinnReproducedRun *run;
  char folder[RPINN_PATH_SIZE - 128]; /* its directory */
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  /* Not where the kind needs no run. */
  RpinnDrawPlan plan;
  RpinnMemberStore *store; /* checked to be of these settings and data */
  RpinnFinishedRun finished;
  /* Its draws at the points of the predictions, for whoever gathers them. */
  RpinnDrawOutputs outputs;
  RpinnKeptDraws *kept;
  double *values;
  size_t num_draws;
};

/* Close its store: nobody opens one twice. */
void rpinn_made_run_release(RpinnMadeRun *made);
/* Show the finished run with its results to somebody who keeps what it needs of it. */
RpinnStatus rpinn_made_run_show(RpinnMadeRun *made,
                                RpinnStatus (*keep)(RpinnMadeRun *made, const RpinnRun *run));

#endif
