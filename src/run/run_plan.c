/* `rpinn run --plan`: what would be done and what it would cost, from a short trial on this machine. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run_state.h"
#include "run_targets.h"

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds per iteration of one member on one thread: half a second of work. */
static RpinnStatus try_iterations(RpinnContext *context, RpinnRun *run, double *seconds) {
  RpinnMemberTarget *targets;
  RpinnMember *member;
  RpinnMinimizeOptions options = rpinn_run_minimize_options(run->problem);
  RPINN_TRY(rpinn_run_targets_make(context, run, &targets));
  RPINN_TRY(rpinn_member_create(context, &targets[0], &options, 0, &member));
  RpinnStatus status = rpinn_member_begin(context, member, 0, NULL, 0);
  double start = now();
  RpinnMemberOutcome outcome = {0};
  while (status == RPINN_OK && !outcome.finished && now() - start < 0.5)
    status = rpinn_member_advance(context, member, 10, &outcome);
  if (status == RPINN_OK) *seconds = (now() - start) / (double)(outcome.iterations ? outcome.iterations : 1);
  rpinn_member_destroy(member);
  return status;
}

static void append_time(RpinnText *text, double seconds) {
  if (seconds < 120)
    rpinn_text_append(text, "%.1f s", seconds);
  else if (seconds < 7200)
    rpinn_text_append(text, "%.1f min", seconds / 60);
  else
    rpinn_text_append(text, "%.1f h", seconds / 3600);
}

static RpinnStatus describe(RpinnContext *context, RpinnRun *run, RpinnText *text) {
  const RpinnPosterior *posterior = run->posteriors[0];
  double iteration = 0, budget = run->problem->settings.values[RPINN_SETTING_ITERATIONS].number;
  RPINN_TRY(try_iterations(context, run, &iteration));
  double members = (double)run->num_samples, threads = (double)run->num_threads;
  double member_bytes = 8.0 * ((double)posterior->model.num_parameters + 600),
         output_bytes = 8.0 * (double)run->outputs.num_values;
  double kept = members / (double)rpinn_keep_every(run->num_samples, run->outputs.num_values + 1, 96 << 20);
  rpinn_text_append(
      text,
      "%s, method %s: %llu member%s of %zu parameters, at most %.0f iterations of %s each, on %zu thread%s\n",
      run->problem->name, run->problem->settings.values[RPINN_SETTING_METHOD].text,
      (unsigned long long)run->num_samples, run->num_samples == 1 ? "" : "s", posterior->model.num_parameters,
      budget, run->problem->settings.values[RPINN_SETTING_OPTIMIZER].text, run->num_threads,
      run->num_threads == 1 ? "" : "s");
  rpinn_text_append(text, "  time    about ");
  append_time(text, iteration * budget * members / threads);
  rpinn_text_append(text, " at most (%.3g ms per iteration measured just now on one thread)\n",
                    iteration * 1e3);
  rpinn_text_append(text, "  memory  about %.0f MB\n",
                    (20e6 + kept * output_bytes + threads * 40 * member_bytes + 6 * output_bytes) * 1e-6);
  rpinn_text_append(text, "  disk    about %.0f MB\n",
                    members * (2 * member_bytes + output_bytes) * 1e-6 + 1);
  return text->failed ? rpinn_fail_memory(context) : RPINN_OK;
}

char *rpinn_run_plan(RpinnContext *context, RpinnProblem *problem) {
  RpinnText text = {0};
  RpinnRunOptions options = {0};
  RpinnRun *run = NULL;
  RpinnStatus status = rpinn_run_prepare(context, problem, &options, &run);
  if (status == RPINN_OK) status = describe(context, run, &text);
  rpinn_run_destroy(run);
  if (status == RPINN_OK) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}
