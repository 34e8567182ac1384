/* The driver: opens the directory and the store, shares members over threads, and ends in files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpinn/version.h"
#include "run_state.h"
#include "run_targets.h"
#include "vti_file.h"

const char *rpinn_run_precision_name(const RpinnRun *run) {
  static const char *const names[] = {"float", "double", "tf32"};
  return names[run->posteriors[0]->precision];
}

/* ---- set-up ---- */

static size_t choose_threads(const RpinnRun *run) {
  size_t wanted = (size_t)run->problem->settings.values[RPINN_SETTING_THREADS].number;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  size_t threads = wanted ? wanted : cores > 0 ? (size_t)cores : 1;
  return threads < run->num_samples ? threads : (size_t)run->num_samples;
}

uint64_t rpinn_problem_num_members(const RpinnProblem *problem) {
  bool is_map = !strcmp(problem->settings.values[RPINN_SETTING_METHOD].text, "map");
  return is_map ? 1 : (uint64_t)problem->settings.values[RPINN_SETTING_SAMPLES].number;
}

static const char *const method_names[] = {"map", "rpinn", "ensemble"}; /* in the order of RpinnMethod */
enum { NUM_METHODS = sizeof method_names / sizeof method_names[0] };

static size_t find_method(const char *name) {
  size_t k = 0;
  while (k < NUM_METHODS && strcmp(name, method_names[k]) != 0) k++;
  return k;
}

bool rpinn_run_has_method(const char *method) {
  return find_method(method) < NUM_METHODS;
}

static RpinnStatus read_method(RpinnContext *context, RpinnRun *run) {
  const char *method = run->problem->settings.values[RPINN_SETTING_METHOD].text;
  size_t k = find_method(method);
  if (k == NUM_METHODS)
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED,
                      "method %s is not in this version; expected map, rpinn or ensemble", method);
  run->method = (RpinnMethod)k;
  run->num_samples = rpinn_problem_num_members(run->problem);
  run->num_threads = choose_threads(run);
  return RPINN_OK;
}

/* One posterior per thread: a backend serves one thread at a time. */
static RpinnStatus make_posteriors(RpinnContext *context, RpinnRun *run) {
  run->posteriors = calloc(run->num_threads, sizeof(RpinnPosterior *));
  if (!run->posteriors) return rpinn_fail_memory(context);
  for (size_t i = 0; i < run->num_threads; i++)
    RPINN_TRY(rpinn_posterior_create(context, run->problem, true, &run->posteriors[i]));
  return rpinn_draw_outputs_plan(context, run->posteriors[0], &run->outputs);
}

RpinnStatus rpinn_run_identity(RpinnContext *context, const RpinnPosterior *posterior, RpinnText *identity) {
  static const char *const free_lines[] = {"  samples: ", "  threads: ", "  time_limit: ", "  correct: "};
  RpinnText yaml = {0};
  RpinnProblemFiles files = {.data = "data.csv", .truth = "truth.csv", .predict = "predict.csv"};
  RpinnStatus status = rpinn_problem_write(context, posterior->problem, &files, &yaml);
  for (const char *line = yaml.bytes; status == RPINN_OK && line && *line;) {
    size_t length = strcspn(line, "\n") + 1;
    bool is_free = false;
    for (size_t k = 0; k < sizeof free_lines / sizeof free_lines[0]; k++)
      is_free |= !strncmp(line, free_lines[k], strlen(free_lines[k]));
    if (!is_free) rpinn_text_append_bytes(identity, line, length);
    line += length;
  }
  rpinn_text_free(&yaml);
  RPINN_TRY(status);
  rpinn_data_set_write(posterior->data, identity);
  return identity->failed ? rpinn_fail_memory(context) : RPINN_OK;
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

/* ---- progress ---- */

enum { RECENT_LOSSES = 512 };

typedef struct Session {
  RpinnContext *context;
  RpinnRun *run;
  uint64_t done, failed; /* of the whole run */
  uint64_t done_here;
  double losses[RECENT_LOSSES]; /* a ring of the last ones */
  size_t num_losses;
  double next_report;
  double member_seconds; /* spent by members done here, over all threads */
  uint64_t iterations;   /* made here */
} Session;

static int compare_numbers(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static void report_progress(Session *session, bool last) {
  RpinnRun *run = session->run;
  const RpinnRunOptions *options = run->options;
  double seconds = rpinn_run_folder_seconds(&run->folder);
  if (!options->progress || (!last && seconds < session->next_report)) return;
  session->next_report = seconds + 0.2;
  RpinnProgress progress = {.done = session->done,
                            .total = run->num_samples,
                            .failed = session->failed,
                            .iterations = session->iterations,
                            .loss_low = (double)NAN,
                            .loss_median = (double)NAN,
                            .loss_high = (double)NAN,
                            .seconds = seconds,
                            .seconds_left = (double)NAN,
                            .last = last};
  uint64_t budget = (uint64_t)run->problem->settings.values[RPINN_SETTING_ITERATIONS].number;
  uint64_t left = (run->num_samples - session->done) * budget;
  progress.iterations_left = left;
  if (session->done_here)
    progress.seconds_left = session->member_seconds / (double)session->done_here *
                            (double)(run->num_samples - session->done) / (double)run->num_threads;
  size_t count = session->num_losses < RECENT_LOSSES ? session->num_losses : RECENT_LOSSES;
  if (count) {
    double sorted[RECENT_LOSSES];
    memcpy(sorted, session->losses, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_numbers);
    progress.loss_low = sorted[count / 20];
    progress.loss_median = sorted[count / 2];
    progress.loss_high = sorted[count - 1 - count / 20];
  }
  options->progress(options->user, &progress);
}

static bool tick(void *user, uint64_t iterations) {
  Session *session = user;
  const RpinnRunOptions *options = session->run->options;
  session->iterations = iterations;
  report_progress(session, false);
  return options->interrupted && options->interrupted(options->user);
}

/* ---- members ---- */

static RpinnStatus store_member(Session *session, const RpinnPoolEvent *event) {
  RpinnRun *run = session->run;
  const RpinnMemberOutcome *outcome = &event->outcome;
  size_t num_parts = run->posteriors[0]->model.num_terms + 1, count = RPINN_NUM_MEMBER_STATISTICS + num_parts;
  double *statistics = calloc(count, sizeof *statistics),
         *trace = calloc(2 * outcome->num_trace + 1, sizeof *trace);
  RpinnStatus status = RPINN_ERROR_MEMORY;
  if (statistics && trace) {
    statistics[RPINN_MEMBER_LOSS] = outcome->loss;
    statistics[RPINN_MEMBER_GRADIENT_NORM] = outcome->gradient_norm;
    statistics[RPINN_MEMBER_ITERATIONS] = (double)outcome->iterations;
    statistics[RPINN_MEMBER_EVALUATIONS] = (double)outcome->evaluations;
    statistics[RPINN_MEMBER_CONVERGED] = outcome->converged;
    statistics[RPINN_MEMBER_ATTEMPTS] = outcome->attempts;
    statistics[RPINN_MEMBER_SECONDS] = event->seconds;
    memcpy(statistics + RPINN_NUM_MEMBER_STATISTICS, outcome->parts, num_parts * sizeof(double));
    for (size_t k = 0; k < outcome->num_trace; k++) {
      trace[2 * k] = (double)outcome->trace[k].iteration;
      trace[2 * k + 1] = outcome->trace[k].loss;
    }
    RpinnStoredMember member = {.index = event->index,
                                .failed = outcome->failed,
                                .num_parameters =
                                    outcome->failed ? 0 : run->posteriors[0]->model.num_parameters,
                                .parameters = outcome->failed ? NULL : outcome->theta,
                                .num_statistics = count,
                                .statistics = statistics,
                                .num_trace = outcome->num_trace,
                                .trace = trace,
                                .stop = rpinn_stop_name(outcome->stop)};
    status = rpinn_member_store_put(session->context, run->store, &member);
  }
  free(statistics);
  free(trace);
  return status == RPINN_ERROR_MEMORY ? rpinn_fail_memory(session->context) : status;
}

static RpinnStatus handle_event(void *user, const RpinnPoolEvent *event) {
  Session *session = user;
  if (event->is_state)
    return rpinn_member_store_put_state(session->context, session->run->store, event->index, event->state,
                                        event->state_size);
  RPINN_TRY(store_member(session, event));
  session->done++;
  session->done_here++;
  session->failed += event->outcome.failed;
  session->member_seconds += event->seconds;
  if (!event->outcome.failed) session->losses[session->num_losses++ % RECENT_LOSSES] = event->outcome.loss;
  if (event->outcome.failed)
    rpinn_run_folder_log(&session->run->folder, "member %llu failed: non-finite in %u attempts",
                         (unsigned long long)event->index, event->outcome.attempts + 1);
  return RPINN_OK;
}

/* Which members are done, and the states of those that were under way. */
static RpinnStatus look_back(Session *session, uint8_t *done, RpinnPoolResume **resumes,
                             size_t *num_resumes) {
  RpinnRun *run = session->run;
  size_t capacity = 0;
  for (uint64_t k = 0; k < run->num_samples; k++) {
    bool has;
    void *state = NULL;
    size_t size;
    RPINN_TRY(rpinn_member_store_has(session->context, run->store, k, &has));
    done[k] = has;
    if (!has) RPINN_TRY(rpinn_member_store_get_state(session->context, run->store, k, &state, &size));
    if (!state) continue;
    if (*num_resumes == capacity) {
      capacity = capacity ? 2 * capacity : 16;
      RpinnPoolResume *grown = realloc(*resumes, capacity * sizeof *grown);
      if (!grown) {
        free(state);
        return rpinn_fail_memory(session->context);
      }
      *resumes = grown;
    }
    (*resumes)[(*num_resumes)++] = (RpinnPoolResume){k, state, size};
  }
  return rpinn_member_store_count(session->context, run->store, run->num_samples, &session->done,
                                  &session->failed);
}

static RpinnStatus make_members(Session *session, const RpinnMemberTarget *targets) {
  RpinnRun *run = session->run;
  uint8_t *done = calloc(run->num_samples, 1);
  RpinnPoolResume *resumes = NULL;
  size_t num_resumes = 0;
  RpinnPoolResult result = {0};
  RpinnStatus status = done ? RPINN_OK : rpinn_fail_memory(session->context);
  if (status == RPINN_OK && run->options->resume) status = look_back(session, done, &resumes, &num_resumes);
  if (status == RPINN_OK) {
    bool limited = !run->problem->settings.values[RPINN_SETTING_TIME_LIMIT].is_auto;
    RpinnPoolOptions options = {
        .num_threads = run->num_threads,
        .targets = targets,
        .minimize = rpinn_run_minimize_options(run->problem),
        .max_retries = (uint32_t)run->problem->settings.values[RPINN_SETTING_RETRIES].number,
        .num_members = run->num_samples,
        .done = done,
        .num_resumes = num_resumes,
        .resumes = resumes,
        .state_interval = 60,
        .time_limit =
            limited ? run->problem->settings.values[RPINN_SETTING_TIME_LIMIT].number : (double)INFINITY,
        .user = session,
        .handle = handle_event,
        .tick = tick};
    status = rpinn_member_pool_run(session->context, &options, &result);
  }
  for (size_t i = 0; i < num_resumes; i++) free(resumes[i].state);
  free(resumes);
  free(done);
  run->interrupted = result.interrupted && session->done < run->num_samples;
  run->out_of_time = result.out_of_time && !run->interrupted;
  return status;
}

/* Seconds of this session added to those of earlier ones. */
static RpinnStatus count_seconds(RpinnContext *context, RpinnRun *run) {
  char *before = NULL, now_text[64];
  RPINN_TRY(rpinn_member_store_get_text(context, run->store, "wall_seconds", &before));
  run->seconds = (before ? strtod(before, NULL) : 0) + rpinn_run_folder_seconds(&run->folder);
  free(before);
  snprintf(now_text, sizeof now_text, "%.3f", run->seconds);
  RPINN_TRY(rpinn_member_store_set_text(context, run->store, "wall_seconds", now_text));
  return rpinn_member_store_flush(context, run->store);
}

/* ---- the whole ---- */

RpinnStatus rpinn_run_prepare(RpinnContext *context, RpinnProblem *problem, const RpinnRunOptions *options,
                              RpinnRun **run) {
  *run = calloc(1, sizeof **run);
  if (!*run) return rpinn_fail_memory(context);
  (*run)->options = options;
  (*run)->problem = problem;
  RPINN_TRY(read_method(context, *run));
  return make_posteriors(context, *run);
}

/* fields.vti, where the predictions fill a grid of two or three dimensions. */
static RpinnStatus write_image(RpinnContext *context, RpinnRun *run) {
  char path[RPINN_PATH_SIZE];
  bool written, has_spread = run->results.num_members - run->results.num_failed > 1;
  if (run->problem->num_coordinates < 2 || !run->outputs.num_quantities) return RPINN_OK;
  snprintf(path, sizeof path, "%s/fields.vti", run->folder.path);
  return rpinn_vti_file_write(context, path, run->posteriors[0], run->results.mean,
                              has_spread ? run->results.deviation : NULL, &written);
}

static RpinnStatus perform(RpinnContext *context, RpinnRun *run) {
  RpinnMemberTarget *targets;
  RPINN_TRY(rpinn_run_targets_make(context, run, &targets));
  RPINN_TRY(rpinn_run_folder_open(context, run->options->folder, run->options->resume, &run->folder));
  RPINN_TRY(open_store(context, run));
  rpinn_run_folder_log(
      &run->folder, "rpinn %s: %s problem %s, method %s, %llu samples, backend %s %s, %zu threads, seed %llu",
      rpinn_version(), run->options->resume ? "resumed" : "new", run->problem->name,
      run->problem->settings.values[RPINN_SETTING_METHOD].text, (unsigned long long)run->num_samples,
      run->posteriors[0]->backend->operations->name, rpinn_run_precision_name(run), run->num_threads,
      (unsigned long long)run->posteriors[0]->seed);
  RPINN_TRY(rpinn_posterior_save(context, run->posteriors[0], run->folder.path));
  Session *session = calloc(1, sizeof *session);
  if (!session) return rpinn_fail_memory(context);
  session->context = context;
  session->run = run;
  RpinnStatus status = make_members(session, targets);
  if (status == RPINN_OK) report_progress(session, true);
  uint64_t done = session->done;
  free(session);
  RPINN_TRY(status);
  RPINN_TRY(count_seconds(context, run));
  rpinn_run_folder_log(&run->folder, "%llu of %llu members are done%s", (unsigned long long)done,
                       (unsigned long long)run->num_samples,
                       run->interrupted   ? "; interrupted"
                       : run->out_of_time ? "; the time limit is reached"
                                          : "");
  if (run->interrupted) return RPINN_OK;
  RPINN_TRY(rpinn_run_make_results(context, run));
  RPINN_TRY(write_image(context, run));
  return rpinn_run_write_summary(context, run);
}

RpinnStatus rpinn_run(RpinnContext *context, RpinnProblem *problem, const RpinnRunOptions *options,
                      RpinnRun **run) {
  RpinnStatus status = rpinn_run_prepare(context, problem, options, run);
  if (status == RPINN_OK) status = perform(context, *run);
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context); /* targets report no message of their own */
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
  rpinn_run_free_results(&run->results);
  for (size_t i = 0; run->posteriors && i < run->num_threads; i++)
    rpinn_posterior_destroy(run->posteriors[i]);
  free(run->posteriors);
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
