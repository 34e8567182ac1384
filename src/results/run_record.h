/* A run as everybody who reads it sees it: made by the driver, or opened again when it is finished. */
#ifndef RPINN_RESULTS_RUN_RECORD_H
#define RPINN_RESULTS_RUN_RECORD_H

#include "draw_outputs.h"
#include "draw_store.h"
#include "folders.h"
#include "laplace_result.h"
#include "learnt_noise.h"
#include "member_correction.h"
#include "method.h"
#include "posterior.h"
#include "prior_record.h"
#include "row_evidence.h"
#include "run_results.h"
#include "variational_result.h"

struct RpinnRun {
  const RpinnProblem *problem;
  RpinnProblem *own_problem; /* the same where it goes with the run, else NULL */
  const RpinnMethod *method;
  uint64_t num_samples;       /* members, particles, or draws of each chain, that the settings ask for */
  RpinnDrawPlan plan;         /* the draws that there are */
  const RpinnDrawKind *draws; /* what the store keeps of them: the method's, or members that were continued */
  uint64_t num_warmup_kept;   /* of each chain, in the store */
  char backend[32];           /* of the run before, where `backend: auto` goes on with one; or empty … */
  size_t members_at_a_time;   /* … and by how many members or chains it is chosen */
  size_t num_posteriors;
  RpinnPosterior **posteriors; /* [num_posteriors], one for each thread; the first also serves the results */
  RpinnDrawOutputs outputs;
  char folder[RPINN_FOLDER_SIZE]; /* its directory */
  RpinnMemberStore *store;        /* NULL once it is closed */
  bool (*wants_end)(void *user);  /* whoever has it made, while it is made; NULL: nobody is asked */
  void *user;

  RpinnRunNoise noise;
  RpinnLaplaceResult laplace;
  RpinnVariationalResult variational;
  RpinnMemberCorrection correction;
  RpinnPriorChoice prior; /* by which the scale was chosen; no trials where it was given */
  RpinnRunResults results;
  RpinnRowEvidence rows;  /* of a run that was made here */
  RpinnVerdict verdict;   /* of a run with results */
  double seconds;         /* of all sessions of this run */
  size_t made_on_threads; /* by the session that finished it */
  RpinnShard shard;       /* of a run, whose draws it has, and no results; count 0: the whole run */
  bool interrupted;       /* it has no results yet … */
  bool out_of_time;       /* … or those of fewer draws than were asked for … */
  bool is_partial;        /* … because not all shards were there */
  RpinnText json, table;
};

/* A run of the problem, which it borrows: its method, and how many draws the settings ask for. The caller destroys it. */
RpinnStatus rpinn_run_create(RpinnContext *context, const RpinnProblem *problem, RpinnRun **run);
/* Threads that a run has work for, by its settings, this machine and its BLAS. */
size_t rpinn_run_choose_threads(const RpinnRun *run);
/* As many posteriors as there are to be threads. */
RpinnStatus rpinn_run_make_posteriors(RpinnContext *context, RpinnRun *run, size_t num_threads);

/* Are its draws minimisers, and of energies with offsets? Members that were continued are neither. */
bool rpinn_run_draws_are_minimisers(const RpinnRun *run);
bool rpinn_run_draws_have_offsets(const RpinnRun *run);

const char *rpinn_run_precision_name(const RpinnRun *run);
/* Are members made by Levenberg–Marquardt without matrices, because there are many rows? */
bool rpinn_run_is_matrix_free(const RpinnRun *run);
/* Does whoever has the run made, or the caller of the function that looks at a finished one, want an end? */
bool rpinn_run_is_stopped(const RpinnContext *context, const RpinnRun *run);

#endif
