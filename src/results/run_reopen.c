/* A finished run in memory again: from run.yaml and checkpoint.db, by the same passes that made it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "finished_run.h"
#include "number_text.h"
#include "run_noise.h"
#include "run_state.h"
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
      context, (RpinnPlace){.file = run->folder.path},
      "checkpoint.db holds %llu draws, summary.json speaks of %.0f: this run was resumed and is "
      "not finished; rpinn run %.500s/run.yaml --out %.500s --resume goes on with it",
      (unsigned long long)count, summarised, run->folder.path, run->folder.path);
}

static RpinnStatus open_finished(RpinnContext *context, const char *folder,
                                 const RpinnProblemOptions *options, RpinnRun *run) {
  RpinnFinishedRun finished;
  char path[RPINN_PATH_SIZE];
  RpinnStatus status = rpinn_finished_run_open(context, folder, &finished);
  double num_draws = (double)NAN; /* of which summary.json speaks */
  double threads = status == RPINN_OK ? rpinn_summary_number(finished.summary, "threads") : 0;
  if (status == RPINN_OK) {
    num_draws = rpinn_summary_number(finished.summary, "samples");
    const RpinnJsonValue *out_of_time = rpinn_json_find(finished.summary, "out_of_time");
    run->out_of_time = out_of_time && out_of_time->kind == RPINN_JSON_BOOLEAN && out_of_time->boolean;
    run->json = finished.text; /* the run's own from here on */
    finished.text = (RpinnText){0};
    rpinn_summary_verdict(finished.summary, NULL, &run->verdict);
    rpinn_summary_table(finished.summary, &run->table);
  }
  rpinn_finished_run_close(&finished);
  RPINN_TRY(status);
  snprintf(run->folder.path, sizeof run->folder.path, "%s", folder);
  snprintf(path, sizeof path, "%s/run.yaml", folder);
  RPINN_TRY(rpinn_problem_load(context, path, options, &run->own_problem));
  run->problem = run->own_problem;
  rpinn_run_read_method(run);
  if (threads >= 1 && threads <= 1e6) run->made_on_threads = (size_t)threads;
  RPINN_TRY(rpinn_run_make_posteriors(context, run, run->num_threads));
  snprintf(path, sizeof path, "%s/checkpoint.db", folder);
  if (access(path, F_OK) != 0)
    return rpinn_fail_file(context, RPINN_ERROR_INPUT, "read the members of", path);
  RPINN_TRY(rpinn_member_store_open_existing(context, path, &run->store));
  snprintf(path, sizeof path, "%s/run.yaml", folder);
  RPINN_TRY(options ? check_file(context, run->store, path)
                    : check_posterior(context, run->store, run->posteriors[0]));
  RPINN_TRY(rpinn_run_load_noise(context, run));
  RPINN_TRY(rpinn_draw_store_shorten_plan(context, run->store, &run->plan));
  return check_count(context, run, num_draws);
}

static RpinnStatus fill(RpinnContext *context, RpinnRun *run) {
  char *seconds = NULL;
  RPINN_TRY(rpinn_member_store_get_text(context, run->store, "wall_seconds", &seconds));
  run->seconds = seconds ? rpinn_number_read(seconds, NULL) : 0;
  free(seconds);
  if (!run->plan.num_draws)
    return rpinn_fail_at(context, (RpinnPlace){.file = run->folder.path}, "this run has no draws");
  RPINN_TRY(rpinn_run_load_prior(context, run));
  RPINN_TRY(rpinn_run_make_results(context, run, false));
  if (run->method->load_results) RPINN_TRY(run->method->load_results(context, run));
  return rpinn_run_score_results(context, run);
}

/* Failures say which run they are about. */
static RpinnStatus create(RpinnContext *context, const char *folder, const RpinnProblemOptions *options,
                          bool with_results, RpinnRun **run) {
  *run = calloc(1, sizeof **run);
  if (!*run) return rpinn_fail_memory(context);
  RpinnStatus status = open_finished(context, folder, options, *run);
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
