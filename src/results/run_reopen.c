/* A finished run in memory again: from run.yaml and checkpoint.db, by the same passes that made it. */
#include "run_reopen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "finished_run.h"
#include "number_text.h"
#include "run_identity.h"
#include "run_record.h"
#include "run_verdict.h"

/* Does run.yaml, as it stands, belong to the store? */
static RpinnStatus check_posterior(RpinnContext *context, RpinnMemberStore *store,
                                   const RpinnPosterior *posterior) {
  RpinnText identity = {0};
  RpinnStatus status = rpinn_run_identity(context, posterior, &identity);
  if (status == RPINN_OK) status = rpinn_member_store_check_identity(context, store, identity.bytes);
  rpinn_text_free(&identity);
  return status;
}

/* The same where the run was opened with other settings than those of run.yaml. */
static RpinnStatus check_file(RpinnContext *context, RpinnMemberStore *store, const char *path) {
  RpinnProblem *problem = NULL;
  RpinnPosterior *posterior = NULL;
  RpinnStatus status = rpinn_problem_load(context, path, NULL, &problem);
  if (status == RPINN_OK) status = rpinn_posterior_create(context, problem, true, &posterior);
  if (status == RPINN_OK) status = check_posterior(context, store, posterior);
  rpinn_posterior_destroy(posterior);
  rpinn_problem_destroy(problem);
  return status;
}

/* The summary speaks of as many draws as the store holds, unless somebody went on with the run and did not finish. */
static RpinnStatus check_count(RpinnContext *context, const RpinnRun *run, double summarised) {
  uint64_t count;
  RPINN_TRY(rpinn_draw_store_count(context, run->store, &run->plan, &count));
  if ((double)count == summarised) return RPINN_OK;
  return rpinn_fail_at(
      context, (RpinnPlace){.file = run->folder},
      "checkpoint.db holds %llu draws, summary.json speaks of %.0f: this run was resumed and is "
      "not finished; rpinn run %.500s/run.yaml --out %.500s --resume goes on with it",
      (unsigned long long)count, summarised, run->folder, run->folder);
}

/* What is told of the run already: the text is the run's own from here on. */
static void take_summary(RpinnFinishedRun *finished, RpinnRun *run) {
  double threads = rpinn_summary_number(finished->summary, "threads");
  run->out_of_time = rpinn_summary_flag(finished->summary, "out_of_time");
  run->is_partial = rpinn_summary_flag(finished->summary, "partial");
  run->made_on_threads = threads >= 1 && threads <= 1e6 ? (size_t)threads : run->num_posteriors;
  rpinn_summary_verdict(finished->summary, NULL, &run->verdict);
  rpinn_summary_table(finished->summary, &run->table);
  run->json = finished->text;
  finished->text = (RpinnText){0};
}

static RpinnStatus load_problem(RpinnContext *context, const char *folder, const RpinnProblemOptions *options,
                                RpinnRun **run) {
  char path[RPINN_PATH_SIZE];
  RpinnProblem *problem;
  snprintf(path, sizeof path, "%s/run.yaml", folder);
  RPINN_TRY(rpinn_problem_load(context, path, options, &problem));
  RpinnStatus status = rpinn_run_create(context, problem, run);
  if (status != RPINN_OK) {
    rpinn_problem_destroy(problem);
    return status;
  }
  (*run)->own_problem = problem;
  snprintf((*run)->folder, sizeof(*run)->folder, "%s", folder);
  return rpinn_run_make_posteriors(context, *run, rpinn_run_choose_threads(*run));
}

static RpinnStatus open_store(RpinnContext *context, const RpinnProblemOptions *options, RpinnRun *run) {
  char path[RPINN_PATH_SIZE];
  snprintf(path, sizeof path, "%s/checkpoint.db", run->folder);
  if (access(path, F_OK) != 0)
    return rpinn_fail_file(context, RPINN_ERROR_INPUT, "read the members of", path);
  RPINN_TRY(rpinn_member_store_open_existing(context, path, &run->store));
  snprintf(path, sizeof path, "%s/run.yaml", run->folder);
  return options ? check_file(context, run->store, path)
                 : check_posterior(context, run->store, run->posteriors[0]);
}

static RpinnStatus open_finished(RpinnContext *context, const char *folder,
                                 const RpinnProblemOptions *options, RpinnFinishedRun *finished,
                                 RpinnRun **run) {
  RPINN_TRY(rpinn_finished_run_open(context, folder, finished));
  double num_draws = rpinn_summary_number(finished->summary, "samples");
  RPINN_TRY(load_problem(context, folder, options, run));
  take_summary(finished, *run);
  RPINN_TRY(open_store(context, options, *run));
  RPINN_TRY(rpinn_run_load_noise(context, *run));
  RPINN_TRY(rpinn_draw_store_shorten_plan(context, (*run)->store, &(*run)->plan));
  return check_count(context, *run, num_draws);
}

static RpinnStatus fill(RpinnContext *context, RpinnRun *run) {
  char *seconds = NULL;
  RPINN_TRY(rpinn_member_store_get_text(context, run->store, "wall_seconds", &seconds));
  run->seconds = seconds ? rpinn_number_read(seconds, NULL) : 0;
  free(seconds);
  if (!run->plan.num_draws)
    return rpinn_fail_at(context, (RpinnPlace){.file = run->folder}, "this run has no draws");
  RPINN_TRY(rpinn_prior_choice_load(context, run->store, run->folder, &run->prior));
  RPINN_TRY(rpinn_run_make_results(context, run, false));
  if (run->method->load_results) RPINN_TRY(run->method->load_results(context, run));
  return rpinn_run_score_results(context, run);
}

/* Failures say which run they are about. */
static RpinnStatus create(RpinnContext *context, const char *folder, const RpinnProblemOptions *options,
                          bool with_results, RpinnRun **run) {
  RpinnFinishedRun finished;
  *run = NULL;
  RpinnStatus status = open_finished(context, folder, options, &finished, run);
  rpinn_finished_run_close(&finished);
  if (status == RPINN_OK && with_results) {
    status = fill(context, *run);
    rpinn_member_store_close((*run)->store);
    (*run)->store = NULL;
  }
  if (status == RPINN_OK) return RPINN_OK;
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context); /* backends report no message of their own */
  if (!context->error.file[0]) snprintf(context->error.file, sizeof context->error.file, "%.500s", folder);
  rpinn_run_destroy(*run);
  *run = NULL;
  return status;
}

RpinnStatus rpinn_run_open_finished(RpinnContext *context, const char *folder,
                                    const RpinnProblemOptions *options, RpinnRun **run) {
  return create(context, folder, options, false, run);
}

RpinnStatus rpinn_run_reopen(RpinnContext *context, const char *folder, RpinnRun **run) {
  return create(context, folder, NULL, true, run);
}
