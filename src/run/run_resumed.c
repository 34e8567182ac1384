/* May a run go on? Its run.yaml must be the one in the folder, and its draws no fewer than there are. */
#include "run_resumed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run_identity.h"
#include "run_record.h"

/* ---- run.yaml ---- */

/* *same: does the file say of problem and settings what the run does? One that is no problem file says nothing. */
static RpinnStatus compare_statement(RpinnContext *context, const RpinnRun *run, const char *path,
                                     bool *same) {
  RpinnProblem *stated = NULL;
  RpinnText before = {0}, now = {0};
  bool truth_is_made = rpinn_posterior_saves_made_truth(run->posteriors[0]);
  RpinnStatus status = rpinn_problem_load(context, path, NULL, &stated);
  *same = false;
  if (status == RPINN_ERROR_INPUT) return RPINN_OK;
  if (status == RPINN_OK) status = rpinn_run_statement(context, stated, false, &before);
  if (status == RPINN_OK)
    status = rpinn_run_statement(context, run->posteriors[0]->problem, truth_is_made, &now);
  *same = status == RPINN_OK && !strcmp(before.bytes, now.bytes);
  rpinn_text_free(&before);
  rpinn_text_free(&now);
  rpinn_problem_destroy(stated);
  return status;
}

/* An empty one is what a full disk left of it. */
static RpinnStatus check_statement(RpinnContext *context, const RpinnRun *run) {
  char path[RPINN_PATH_SIZE];
  struct stat info;
  bool same;
  snprintf(path, sizeof path, "%s/run.yaml", run->folder);
  if (stat(path, &info) != 0 || info.st_size == 0) return RPINN_OK;
  RPINN_TRY(compare_statement(context, run, path, &same));
  if (same) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = path},
                       "this is not what the run in this folder was made from; move it away, and the run "
                       "writes its own again");
}

/* ---- numbers of draws ---- */

/* Draws that move together are as many for ever. */
static RpinnStatus check_fixed_number(RpinnContext *context, const RpinnRun *run) {
  char *before = NULL, text[32];
  RpinnStatus status = RPINN_OK;
  snprintf(text, sizeof text, "%llu", (unsigned long long)run->num_samples);
  RPINN_TRY(rpinn_member_store_get_text(context, run->store, "particles", &before));
  if (!before) return rpinn_member_store_set_text(context, run->store, "particles", text);
  if (strcmp(before, text) != 0)
    status =
        rpinn_fail(context, RPINN_ERROR_INPUT,
                   "this run has %.20s particles, which move together; found --samples %s, expected %.20s",
                   before, text, before);
  free(before);
  return status;
}

/* A correction that was asked for earlier may have made more members than are draws: those of its pilot. */
static RpinnStatus allow_pilot(RpinnContext *context, const RpinnRun *run, uint64_t *most) {
  const uint64_t keys[] = {rpinn_correction_state_key(), rpinn_pilot_progress_key()};
  for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
    void *state = NULL;
    size_t size;
    RPINN_TRY(rpinn_member_store_get_state(context, run->store, keys[k], &state, &size));
    if (state && *most < RPINN_PILOT_MEMBERS) *most = RPINN_PILOT_MEMBERS;
    free(state);
  }
  return RPINN_OK;
}

/* Results must not lose draws that are there. */
static RpinnStatus check_number(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  uint64_t length, most = run->plan.num_draws;
  if (driver->is_new) return RPINN_OK; /* to look for each of a million chains takes a minute */
  RPINN_TRY(rpinn_draw_store_longest(context, run->store, &run->plan, &length));
  if (!rpinn_run_is_corrected(run)) RPINN_TRY(allow_pilot(context, run, &most));
  if (length <= most) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = run->folder},
                       "this run has %llu %ss%s already, and --samples asks for %llu; expected no fewer than "
                       "there are, or another folder with --out",
                       (unsigned long long)length, run->method->unit,
                       run->plan.has_chains ? " in a chain" : "", (unsigned long long)run->plan.num_draws);
}

RpinnStatus rpinn_run_check_resumed(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  RPINN_TRY(check_statement(context, run));
  return run->method->moves_together ? check_fixed_number(context, run) : check_number(context, driver);
}
