/* A run of the paper that is being made or looked at. */
#ifndef RPINN_STUDY_REPRODUCE_RUN_H
#define RPINN_STUDY_REPRODUCE_RUN_H

#include "finished_run.h"
#include "reproduce_state.h"
#include "run_record.h"

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

/* Does the entry need more of it than its problem? */
bool rpinn_reproduction_needs_run(const RpinnReproduction *reproduction, const RpinnReproducedRun *run);
/* Its folder, problem and plan. Close it on every path. */
RpinnStatus rpinn_made_run_open(RpinnMadeRun *run);
void rpinn_made_run_close(RpinnMadeRun *run);
/* Is it finished in its folder, with as many draws? */
RpinnStatus rpinn_made_run_look(RpinnMadeRun *run, bool *is_finished);

/* reproduce_problem.c: the problem with the preset `paper`, at the scale or, without is_scaled, as the paper has it … */
RpinnStatus rpinn_reproduction_load(RpinnContext *context, const RpinnReproduction *reproduction,
                                    const RpinnReproducedRun *run, bool is_scaled, RpinnProblem **problem);
/* … and what its settings are, and in what they depart from the paper's. */
RpinnStatus rpinn_made_run_describe(RpinnMadeRun *run);

/* Close its store: nobody opens one twice. */
void rpinn_made_run_release(RpinnMadeRun *made);
/* Show the finished run with its results to somebody who keeps what it needs of it. */
RpinnStatus rpinn_made_run_show(RpinnMadeRun *made,
                                RpinnStatus (*keep)(RpinnMadeRun *made, const RpinnRun *run));

#endif
