/* `rpinn run --plan`: what would be done and what it would cost, from a short trial on this machine. */
#include <math.h>
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

/* Seconds per iteration of one member on one thread: half a second of work. Of particles: of all of them on all
 * threads. */
static RpinnStatus try_iterations(RpinnContext *context, RpinnRun *run, double *seconds) {
  RpinnMemberTarget *targets;
  RpinnMember *member;
  RpinnMinimizeOptions options = rpinn_run_minimize_options(run->problem);
  if (run->method == RPINN_METHOD_NUTS) options.minimizer = RPINN_MINIMIZER_ADAM;
  RPINN_TRY(rpinn_run_targets_make(context, run, &targets));
  if (run->method == RPINN_METHOD_SVGD) return rpinn_run_try_particles(context, run, targets, seconds);
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

/* What is made: members, chains or particles. */
static void append_what(const RpinnRun *run, RpinnText *text) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  unsigned long long count = run->num_samples;
  rpinn_text_append(text, "%s, method %s: ", run->problem->name, settings->values[RPINN_SETTING_METHOD].text);
  if (run->plan.has_chains)
    rpinn_text_append(
        text, "%llu chain%s of %s warmup iterations and %llu draw%s, trajectories of at most 2^%s - 1 steps",
        (unsigned long long)run->plan.num_chains, run->plan.num_chains == 1 ? "" : "s",
        settings->values[RPINN_SETTING_WARMUP].text, count, count == 1 ? "" : "s",
        settings->values[RPINN_SETTING_MAX_DEPTH].text);
  else
    rpinn_text_append(text, "%llu %s%s of %zu parameters, at most %s iterations of %s each", count,
                      run->method == RPINN_METHOD_SVGD ? "particle" : "member", count == 1 ? "" : "s",
                      run->posteriors[0]->model.num_parameters,
                      settings->values[RPINN_SETTING_ITERATIONS].text,
                      settings->values[RPINN_SETTING_OPTIMIZER].text);
  rpinn_text_append(text, ", on %zu thread%s\n", run->num_threads, run->num_threads == 1 ? "" : "s");
}

/* Iterations that one thread makes, one after the other. A trajectory of NUTS may be shorter. */
static double count_iterations(const RpinnRun *run) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  double iterations = settings->values[RPINN_SETTING_ITERATIONS].number;
  if (run->method == RPINN_METHOD_SVGD) return iterations;
  if (!run->plan.has_chains) return iterations * (double)run->num_samples / (double)run->num_threads;
  double steps = ldexp(1, (int)settings->values[RPINN_SETTING_MAX_DEPTH].number) - 1;
  return steps * ceil((double)run->plan.num_chains / (double)run->num_threads) *
         (settings->values[RPINN_SETTING_WARMUP].number +
          (double)run->num_samples * settings->values[RPINN_SETTING_THIN].number);
}

static RpinnStatus describe(RpinnContext *context, RpinnRun *run, RpinnText *text) {
  const RpinnPosterior *posterior = run->posteriors[0];
  double iteration = 0;
  RPINN_TRY(try_iterations(context, run, &iteration));
  double draws = (double)(run->plan.num_chains * run->num_samples), threads = (double)run->num_threads;
  double draw_bytes = 8.0 * ((double)posterior->model.num_parameters + 600),
         output_bytes = 8.0 * (double)run->outputs.num_values;
  double kept = draws / (double)rpinn_keep_every((size_t)draws, run->outputs.num_values + 1, 96 << 20);
  append_what(run, text);
  rpinn_text_append(text, "  time    about ");
  append_time(text, iteration * count_iterations(run));
  rpinn_text_append(text, " at most (%.3g ms per %s measured just now%s)\n", iteration * 1e3,
                    run->plan.has_chains ? "gradient" : "iteration",
                    run->method == RPINN_METHOD_SVGD ? "" : " on one thread");
  double spool = run->plan.has_chains ? draws * (draw_bytes + output_bytes) : 0;
  rpinn_text_append(text, "  memory  about %.0f MB\n",
                    (20e6 + kept * output_bytes + threads * 40 * draw_bytes + 6 * output_bytes +
                     (run->method == RPINN_METHOD_SVGD ? 6 * draws * draw_bytes : 0)) *
                        1e-6);
  rpinn_text_append(text, "  disk    about %.0f MB\n",
                    (draws * (2 * draw_bytes + output_bytes) + spool) * 1e-6 + 1);
  return text->failed ? rpinn_fail_memory(context) : RPINN_OK;
}

RpinnStatus rpinn_run_estimate(RpinnContext *context, RpinnProblem *problem, double *seconds) {
  RpinnRunOptions options = {0};
  RpinnRun *run = NULL;
  double iteration = 0;
  RpinnStatus status = rpinn_run_prepare(context, problem, &options, &run);
  if (status == RPINN_OK) status = try_iterations(context, run, &iteration);
  if (status == RPINN_OK) *seconds = iteration * count_iterations(run);
  rpinn_run_destroy(run);
  return status;
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
