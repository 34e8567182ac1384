/* The pass that makes results of stored draws, as kinds of draws see it. */
#ifndef RPINN_RESULTS_RESULTS_PASS_H
#define RPINN_RESULTS_RESULTS_PASS_H

#include "draw_blocks.h"
#include "moments.h"
#include "posterior_file.h"
#include "run_record.h"

/* A column of sample_stats in posterior.nc. */
typedef struct RpinnFileStatistic {
  size_t statistic; /* its place among those in the store */
  const char *name;
  bool is_boolean;
} RpinnFileStatistic;
enum { RPINN_MAX_FILE_STATISTICS = 16 };

typedef struct RpinnResultsWorker RpinnResultsWorker;

typedef struct RpinnResultsPass {
  RpinnContext *context;
  RpinnRun *run;
  bool with_file;
  bool is_checked;             /* no draw in the store is damaged */
  RpinnPosteriorFile *file;    /* NULL without */
  RpinnResultsWorker *workers; /* [num_posteriors] */
  RpinnMoments *moments;
  uint64_t draw; /* draws of the posterior, so far */
  void *own;     /* what the kind gathers beside */
} RpinnResultsPass;

struct RpinnDrawKind {
  size_t num_statistics; /* of a draw in the store … */
  bool has_loss_parts;   /* … and behind them the parts of its loss */
  size_t num_file_statistics;
  const RpinnFileStatistic *file_statistics;
  /* The pass over all draws in the store: opens the file, fills it, moments, kept draws and what is this kind's own. */
  RpinnStatus (*gather)(RpinnResultsPass *pass);
};

/* A store that another problem has filled would be read beyond its ends. A member that failed has no parameters. */
RpinnStatus rpinn_results_check_lengths(const RpinnResultsPass *pass, const RpinnStoredMember *member);
/* The members themselves: how many, and how they stopped; … */
RpinnStatus rpinn_results_count_members(RpinnResultsPass *pass);
/* … and of one that did not fail, number `number` of these, its statistics, and the trace of its loss if that is one to be kept. */
RpinnStatus rpinn_results_keep_member(RpinnResultsPass *pass, const RpinnStoredMember *member,
                                      uint64_t number);
/* posterior.nc, where it is wanted: so many draws of each chain. */
RpinnStatus rpinn_results_open_file(RpinnResultsPass *pass, uint64_t num_draws);
/* Do draws count by weights, which sample_stats then has? Not those of a Metropolis chain, which count once each. */
bool rpinn_results_have_weights(const RpinnRun *run);
/* What the file is given of a draw's values. */
void rpinn_results_describe(const RpinnResultsPass *pass, const double *values, RpinnPosteriorDraw *draw);
/* Outputs of the next draw, and its log likelihood where there is a file, into the kept draws. */
RpinnStatus rpinn_results_keep(const RpinnResultsPass *pass, const double *values);
/* Threads compute the draws that `look` asks for; `take` has all of them in their order, the pass being the user of both.
 * values: outputs and, with a file, log likelihoods and what is expected in the place of each datum. */
RpinnStatus rpinn_results_visit(RpinnResultsPass *pass, bool warmup,
                                RpinnStatus (*look)(void *user, const RpinnVisitedDraw *draw, bool *compute),
                                RpinnStatus (*take)(void *user, const RpinnVisitedDraw *draw,
                                                    const double *values));

#endif
