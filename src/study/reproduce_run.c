/* The runs of a reproduction as tasks. What they yield is their folders, from which more than one entry takes what it needs. */
#include "reproduce_run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "many_runs.h"
#include "run_identity.h"

bool rpinn_reproduction_needs_run(const RpinnReproduction *reproduction, const RpinnReproducedRun *run) {
  return !run->reason && !run->only_loaded && !reproduction->entry->kind->needs_no_run;
}

RpinnStatus rpinn_made_run_open(RpinnMadeRun *run) {
  snprintf(run->folder, sizeof run->folder, "%s/%s", run->reproduction->options->folder, run->run->name);
  RPINN_TRY(rpinn_reproduction_load(run->context, run->reproduction, run->run, true, &run->problem));
  run->plan = rpinn_problem_method(run->problem)->plan(&run->problem->settings);
  return RPINN_OK;
}

void rpinn_made_run_close(RpinnMadeRun *run) {
  rpinn_finished_run_close(&run->finished);
  rpinn_kept_draws_destroy(run->kept);
  rpinn_member_store_close(run->store);
  rpinn_posterior_destroy(run->posterior);
  rpinn_problem_destroy(run->problem);
}

RpinnStatus rpinn_made_run_look(RpinnMadeRun *run, bool *is_finished) {
  char store[RPINN_PATH_SIZE], summary[RPINN_PATH_SIZE];
  *is_finished = false;
  snprintf(store, sizeof store, "%s/checkpoint.db", run->folder);
  snprintf(summary, sizeof summary, "%s/summary.json", run->folder);
  if (access(store, F_OK) != 0 || access(summary, F_OK) != 0) return RPINN_OK;
  RPINN_TRY(rpinn_finished_run_open(run->context, run->folder, &run->finished));
  *is_finished = rpinn_summary_number(run->finished.summary, "samples_asked") ==
                 (double)(run->plan.num_chains * run->plan.num_draws);
  return RPINN_OK;
}

/* ---- what is taken of a finished one ---- */

/* Where auto was asked for: what the run has chosen by its number of members, or had before. */
static RpinnStatus settle_backend(RpinnMadeRun *run) {
  if (!rpinn_problem_backend_is_open(run->problem)) return RPINN_OK;
  return rpinn_settings_set(run->context, &run->problem->settings, RPINN_SETTING_BACKEND,
                            rpinn_summary_text(run->finished.summary, "backend"),
                            (RpinnPlace){.file = run->finished.folder});
}

/* The store, which must have been made with these very settings and data. */
static RpinnStatus open_store(RpinnMadeRun *run) {
  RpinnText identity = {0};
  char path[RPINN_PATH_SIZE];
  snprintf(path, sizeof path, "%s/checkpoint.db", run->folder);
  RPINN_TRY(rpinn_posterior_create(run->context, run->problem, true, &run->posterior));
  RpinnStatus status = rpinn_run_identity(run->context, run->posterior, &identity);
  if (status == RPINN_OK) status = rpinn_member_store_open(run->context, path, identity.bytes, &run->store);
  rpinn_text_free(&identity);
  return status;
}

static RpinnStatus take(RpinnMadeRun *run) {
  bool needs_run = rpinn_reproduction_needs_run(run->reproduction, run->run);
  RPINN_TRY(rpinn_made_run_open(run));
  if (needs_run) {
    RPINN_TRY(rpinn_finished_run_open(run->context, run->folder, &run->finished));
    RPINN_TRY(settle_backend(run));
  }
  RPINN_TRY(rpinn_made_run_describe(run));
  RPINN_TRY(needs_run ? open_store(run)
                      : rpinn_posterior_create(run->context, run->problem, true, &run->posterior));
  return run->reproduction->entry->kind->take(run);
}

void rpinn_made_run_release(RpinnMadeRun *made) {
  rpinn_member_store_close(made->store);
  made->store = NULL;
}

RpinnStatus rpinn_made_run_show(RpinnMadeRun *made,
                                RpinnStatus (*keep)(RpinnMadeRun *made, const RpinnRun *run)) {
  RpinnRun *run;
  rpinn_made_run_release(made);
  RPINN_TRY(rpinn_run_reopen(made->context, made->folder, &run));
  RpinnStatus status = keep(made, run);
  rpinn_run_destroy(run);
  return status;
}

/* ---- as tasks ---- */

static void name_run(const void *user, size_t task, char name[RPINN_TASK_NAME_SIZE]) {
  const RpinnReproduction *reproduction = user;
  snprintf(name, RPINN_TASK_NAME_SIZE, "%s", reproduction->runs[task].name);
}

static RpinnStatus recall(void *user, RpinnContext *context, size_t task, void *yield, bool *is_known) {
  (void)yield;
  RpinnReproduction *reproduction = user;
  RpinnMadeRun run = {.context = context, .reproduction = reproduction, .run = &reproduction->runs[task]};
  *is_known = !rpinn_reproduction_needs_run(reproduction, run.run);
  if (*is_known) return RPINN_OK;
  RpinnStatus status = rpinn_made_run_open(&run);
  if (status == RPINN_OK) status = rpinn_made_run_look(&run, is_known);
  rpinn_made_run_close(&run);
  return status;
}

static RpinnStatus open_run(const void *user, RpinnContext *context, size_t task, RpinnProblem **problem,
                            const void **beside) {
  (void)beside;
  const RpinnReproduction *reproduction = user;
  return rpinn_reproduction_load(context, reproduction, &reproduction->runs[task], true, problem);
}

static RpinnStatus deliver(void *user, RpinnContext *context, size_t task, const void *yield,
                           const RpinnManyProgress *progress) {
  (void)yield, (void)progress;
  RpinnReproduction *reproduction = user;
  RpinnMadeRun run = {.context = context, .reproduction = reproduction, .run = &reproduction->runs[task]};
  if (run.run->reason) return RPINN_OK;
  RpinnStatus status = take(&run);
  rpinn_made_run_close(&run);
  return status;
}

/* Entries share runs: the number of a run is that of the first one of its name, over all entries that are made. */
static size_t place_of(const RpinnReproduction *reproduction, const char *name) {
  const RpinnReproduction *whole = reproduction->whole ? reproduction->whole : reproduction;
  size_t place = 0;
  for (size_t i = 0; i < (whole->num_parts ? whole->num_parts : 1); i++) {
    const RpinnReproduction *part = whole->num_parts ? whole->parts[i] : whole;
    for (size_t r = 0; r < part->num_runs; r++, place++)
      if (!strcmp(part->runs[r].name, name)) return place;
  }
  return place;
}

static size_t place(const void *user, size_t task) {
  const RpinnReproduction *reproduction = user;
  return place_of(reproduction, reproduction->runs[task].name);
}

RpinnStatus rpinn_reproduction_make_runs(RpinnContext *context, RpinnReproduction *reproduction) {
  const RpinnReproduceOptions *options = reproduction->options;
  RpinnManyRuns runs = {.num_tasks = reproduction->num_runs,
                        .folder = options->folder,
                        .keep_folders = true,
                        .user = reproduction,
                        .name = name_run,
                        .recall = recall,
                        .place = place,
                        .deliver = deliver,
                        .open = open_run};
  RpinnManyOptions many = {.interrupted = options->interrupted,
                           .begins = options->begins,
                           .progress = options->progress,
                           .user = options->user,
                           .study = options->folder,
                           .shard = &options->shard};
  return rpinn_many_runs_make(context, &runs, &many, &reproduction->interrupted);
}
