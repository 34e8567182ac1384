/* The driver: opens the directory and the store, shares members over threads, and ends in files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blas_threads.h"
#include "number_text.h"
#include "rpinn/version.h"
#include "run_noise.h"
#include "run_progress.h"
#include "run_state.h"
#include "run_targets.h"
#include "unknown_noise.h"
#include "vti_file.h"

const char *rpinn_run_precision_name(const RpinnRun *run) {
  static const char *const names[] = {
#define RPINN_PRECISION_NAME(precision, name) [precision] = name,
      RPINN_PRECISION_LIST(RPINN_PRECISION_NAME)
#undef RPINN_PRECISION_NAME
  };
  return names[run->posteriors[0]->precision];
}

double rpinn_run_draw_bytes(const RpinnRun *run) {
  return 8.0 * ((double)rpinn_posterior_num_drawn(run->posteriors[0]) + 600);
}

/* ---- set-up ---- */

static size_t choose_threads(const RpinnRun *run) {
  size_t wanted = (size_t)run->problem->settings.values[RPINN_SETTING_THREADS].number;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  size_t threads = wanted ? wanted : cores > 0 ? (size_t)cores : 1;
  if (!rpinn_blas_is_shareable()) threads = 1;
  uint64_t tasks = rpinn_draw_plan_num_starts(&run->plan);
  return threads < tasks ? threads : (size_t)tasks;
}

double rpinn_run_time_limit(const RpinnRun *run) {
  bool limited = !run->problem->settings.values[RPINN_SETTING_TIME_LIMIT].is_auto;
  return limited ? run->problem->settings.values[RPINN_SETTING_TIME_LIMIT].number : 0;
}

void rpinn_run_read_method(RpinnRun *run) {
  run->method = rpinn_problem_method(run->problem);
  run->plan = run->method->plan(&run->problem->settings);
  run->num_samples = run->plan.num_draws;
  run->num_threads = run->made_on_threads = choose_threads(run);
}

/* One posterior made, and shared with a backend for every other thread: a backend serves one thread at a time. */
RpinnStatus rpinn_run_make_posteriors(RpinnContext *context, RpinnRun *run, size_t count) {
  run->posteriors = calloc(count, sizeof(RpinnPosterior *));
  if (!run->posteriors) return rpinn_fail_memory(context);
  run->num_posteriors = count;
  RPINN_TRY(rpinn_posterior_create(context, run->problem, true, &run->posteriors[0]));
  for (size_t i = 1; i < count; i++)
    RPINN_TRY(rpinn_posterior_share(context, run->posteriors[0], &run->posteriors[i]));
  return rpinn_draw_outputs_plan(context, run->posteriors[0], &run->outputs);
}

static RpinnStatus open_store(RpinnContext *context, RpinnRun *run) {
  RpinnText identity = {0};
  char path[RPINN_PATH_SIZE];
  snprintf(path, sizeof path, "%s/checkpoint.db", run->folder.path);
  RpinnStatus status = rpinn_run_identity(context, run->posteriors[0], &identity);
  if (status == RPINN_OK) status = rpinn_member_store_open(context, path, identity.bytes, &run->store);
  rpinn_text_free(&identity);
  return status;
}

/* Seconds of this session added to those of earlier ones. */
static RpinnStatus count_seconds(RpinnContext *context, RpinnRun *run) {
  char *before = NULL, now_text[64];
  RPINN_TRY(rpinn_member_store_get_text(context, run->store, "wall_seconds", &before));
  run->seconds = (before ? rpinn_number_read(before, NULL) : 0) + rpinn_run_folder_seconds(&run->folder);
  free(before);
  rpinn_format(now_text, sizeof now_text, "%.3f", run->seconds);
  run->seconds = rpinn_number_read(now_text, NULL); /* as the next reader will see it */
  RPINN_TRY(rpinn_member_store_set_text(context, run->store, "wall_seconds", now_text));
  return rpinn_member_store_flush(context, run->store);
}

/* ---- the whole ---- */

/* What no run can do without: two vectors of the prior, four of each thread; particles have six each, and the squares and
 * the list of all their distances. Systems promise more memory than there is, and end a program that believes them. */
static RpinnStatus check_memory(RpinnContext *context, const RpinnRun *run) {
  double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE),
         parameters = (double)run->problem->num_unknowns, particles = (double)run->num_samples;
  for (size_t f = 0; f < run->problem->num_fields; f++)
    parameters += (double)run->problem->fields[f].network.num_all;
  double bytes = sizeof(double) * parameters * (2 + 4 * (double)run->num_threads);
  if (run->method->moves_together) bytes += sizeof(double) * particles * (6 * parameters + particles);
  if (!(machine > 0) || bytes <= machine) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED,
                    "this run needs at least %.0f GB of memory, and the machine has %.0f GB; expected %s",
                    bytes * 1e-9, machine * 1e-9,
                    run->method->moves_together ? "fewer --samples or smaller networks"
                                                : "smaller networks or fewer --threads");
}

RpinnStatus rpinn_run_prepare(RpinnContext *context, const RpinnProblem *problem,
                              const RpinnRunOptions *options, RpinnRun **run) {
  *run = calloc(1, sizeof **run);
  if (!*run) return rpinn_fail_memory(context);
  (*run)->options = options;
  (*run)->problem = problem;
  rpinn_run_read_method(*run);
  RPINN_TRY(check_memory(context, *run));
  return rpinn_run_make_posteriors(context, *run, (*run)->num_threads);
}

/* fields.vti, where the predictions fill a grid of two or three dimensions. */
static RpinnStatus write_image(RpinnContext *context, RpinnRun *run) {
  char path[RPINN_PATH_SIZE];
  bool written, has_spread = run->results.num_draws > 1;
  if (run->problem->num_coordinates < 2 || !run->outputs.num_quantities) return RPINN_OK;
  snprintf(path, sizeof path, "%s/fields.vti", run->folder.path);
  return rpinn_vti_file_write(context, path, run->posteriors[0], run->results.mean,
                              has_spread ? run->results.deviation : NULL, &written);
}

/* Large files take seconds each: a stop is looked for between them. */
static RpinnStatus check_stop(RpinnContext *context, const RpinnRun *run) {
  return rpinn_run_is_stopped(context, run) ? rpinn_fail_interrupted(context) : RPINN_OK;
}

static RpinnStatus make_files(RpinnContext *context, RpinnRun *run) {
  rpinn_run_folder_log(&run->folder, "the results are being made");
  RPINN_TRY(rpinn_run_make_results(context, run, true));
  RPINN_TRY(check_stop(context, run));
  RPINN_TRY(write_image(context, run));
  RPINN_TRY(check_stop(context, run));
  RPINN_TRY(rpinn_run_write_summary(context, run));
  rpinn_run_folder_log(&run->folder, "the results are made");
  return RPINN_OK;
}

/* All draws are in the store: a run that is stopped here makes its files when it is resumed. */
static RpinnStatus finish(RpinnContext *context, RpinnRun *run) {
  RpinnStatus status = make_files(context, run);
  if (status != RPINN_ERROR_INTERRUPTED) return status;
  rpinn_context_clear_error(context);
  run->interrupted = true;
  return RPINN_OK;
}

static RpinnStatus perform(RpinnContext *context, RpinnRun *run) {
  RpinnMemberTarget *targets;
  RPINN_TRY(rpinn_run_targets_make(context, run, &targets));
  RPINN_TRY(
      rpinn_run_folder_open(context, run->options->folder, run->problem, run->options->resume, &run->folder));
  RPINN_TRY(rpinn_run_settle_prior(context, run));
  RPINN_TRY(open_store(context, run));
  RPINN_TRY(rpinn_run_check_resumed(context, run));
  RPINN_TRY(rpinn_run_folder_open_log(context, &run->folder));
  RPINN_TRY(rpinn_run_note_prior(context, run));
  rpinn_run_folder_log(
      &run->folder, "rpinn %s: %s problem %s, method %s, %llu samples, backend %s %s, %zu threads, seed %llu",
      rpinn_version(), run->folder.is_new ? "new" : "resumed", run->problem->name,
      run->problem->settings.values[RPINN_SETTING_METHOD].text, (unsigned long long)run->num_samples,
      run->problem->settings.values[RPINN_SETTING_BACKEND].text, rpinn_run_precision_name(run),
      run->num_threads, (unsigned long long)run->posteriors[0]->seed);
  RPINN_TRY(rpinn_posterior_save(context, run->posteriors[0], run->folder.path));
  RPINN_TRY(rpinn_run_learn_noise(context, run, targets));
  if (!run->interrupted) RPINN_TRY(rpinn_run_start_from_map(context, run, targets));
  if (!run->interrupted) RPINN_TRY(run->method->make_draws(context, run, targets));
  RPINN_TRY(count_seconds(context, run));
  if (run->out_of_time) rpinn_run_folder_log(&run->folder, "the time limit is reached");
  if (!run->interrupted) RPINN_TRY(finish(context, run));
  if (run->interrupted) rpinn_run_folder_log(&run->folder, "interrupted");
  return RPINN_OK;
}

RpinnStatus rpinn_run(RpinnContext *context, const RpinnProblem *problem, const RpinnRunOptions *options,
                      RpinnRun **run) {
  RpinnStatus status = rpinn_run_prepare(context, problem, options, run);
  if (!rpinn_blas_is_shareable() && (size_t)problem->settings.values[RPINN_SETTING_THREADS].number != 1)
    rpinn_log(context, RPINN_LOG_WARNING,
              "this OpenBLAS is a serial build, in which threads disturb each other: the run has one thread "
              "(the pthread build allows more)");
  if (status == RPINN_OK) status = rpinn_blas_reserve(context, (*run)->num_threads);
  if (status == RPINN_OK) status = perform(context, *run);
  if (status == RPINN_ERROR_MEMORY && context->error.status != status)
    rpinn_fail_memory(context); /* targets report no message of their own */
  if (!*run) return status;
  if (status != RPINN_OK) rpinn_run_folder_log(&(*run)->folder, "failed: %s", context->error.message);
  rpinn_member_store_close((*run)->store);
  (*run)->store = NULL;
  rpinn_run_folder_close(&(*run)->folder);
  (*run)->options = NULL;
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_run_destroy(*run);
  *run = NULL;
  return status;
}

void rpinn_run_destroy(RpinnRun *run) {
  if (!run) return;
  rpinn_member_store_close(run->store);
  rpinn_run_free_results(run);
  for (size_t i = run->num_posteriors; i-- > 0;)
    rpinn_posterior_destroy(run->posteriors[i]); /* the first, last */
  free(run->posteriors);
  rpinn_problem_destroy(run->own_problem);
  free(run->laplace.at);
  free(run->rows.terms);
  rpinn_prior_choice_free(&run->prior);
  free(run->rows.quantities);
  rpinn_text_free(&run->json);
  rpinn_text_free(&run->table);
  free(run);
}

bool rpinn_run_interrupted(const RpinnRun *run) {
  return run->interrupted;
}
const char *rpinn_run_json(const RpinnRun *run) {
  return run->json.bytes;
}
const char *rpinn_run_table(const RpinnRun *run) {
  return run->table.bytes;
}
