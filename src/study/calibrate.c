/* Many data sets of one problem, a run for each, and their scores. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrate_state.h"
#include "method.h"
#include "part_file.h"
#include "run_state.h"
#include "task_pool.h"
#include "whole_file.h"

static const char origin[] = "rpinn calibrate";
enum { DEFAULT_DATA_SETS = 40, MAX_DATA_SETS = 9999, MAX_OWN_OVERRIDES = 8 };

/* ---- what is asked for ---- */

static RpinnStatus add_method(RpinnContext *context, RpinnCalibration *calibration, const char *name,
                              size_t length) {
  char text[64];
  snprintf(text, sizeof text, "%.*s", (int)(length < 60 ? length : 60), name);
  const RpinnMethod *method = rpinn_method_find(text);
  if (!method)
    return rpinn_fail_at(context, (RpinnPlace){.file = "--methods"},
                         "found '%s'; expected names of methods, separated by commas", text);
  if (method->has_one_draw)
    return rpinn_fail_at(context, (RpinnPlace){.file = "--methods"},
                         "method %s has one draw and no intervals; expected one with a spread", text);
  const char *known = NULL; /* the name in the list, which stays */
  for (size_t k = 0; rpinn_method_name(k); k++)
    if (rpinn_method_at(k) == method) known = rpinn_method_name(k);
  for (size_t m = 0; m < calibration->num_methods; m++)
    if (!strcmp(calibration->methods[m].name, known))
      return rpinn_fail_at(context, (RpinnPlace){.file = "--methods"}, "%s is given twice; expected it once",
                           text);
  if (calibration->num_methods == RPINN_MAX_CALIBRATED_METHODS)
    return rpinn_fail_at(context, (RpinnPlace){.file = "--methods"}, "more than %d methods; expected fewer",
                         RPINN_MAX_CALIBRATED_METHODS);
  calibration->methods[calibration->num_methods++].name = known;
  return RPINN_OK;
}

static RpinnStatus read_methods(RpinnContext *context, RpinnCalibration *calibration, const char *list) {
  while (list) {
    size_t length = strcspn(list, ",");
    RPINN_TRY(add_method(context, calibration, list, length));
    list = list[length] ? list + length + 1 : NULL;
  }
  return RPINN_OK;
}

static RpinnStatus read_redraw(RpinnContext *context, RpinnCalibration *calibration) {
  static const char *const choices[] = {"noise", "points", "truth"};
  const char *found = calibration->options->redraw ? calibration->options->redraw : choices[0];
  for (size_t k = 0; k < 3; k++)
    if (!strcmp(found, choices[k])) calibration->redraw = choices[k];
  if (calibration->redraw) return RPINN_OK;
  const char *near = rpinn_nearest_name(found, choices, 3);
  return rpinn_fail_at(context, (RpinnPlace){.file = "--redraw"},
                       "found '%.60s'; expected noise, points or truth%s%s%s", found,
                       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static RpinnStatus check_members(RpinnContext *context, RpinnCalibration *calibration) {
  double count;
  calibration->members = calibration->options->members ? calibration->options->members : "79";
  if (rpinn_number_parse(calibration->members, &count) && count >= RPINN_INTERVAL_MIN_DRAWS &&
      count <= 1e9 && count == floor(count))
    return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = "--members"},
                       "found '%.60s'; expected a whole number of at least %d, for intervals of 95 %% reach "
                       "from rank 1 to rank %d there",
                       calibration->members, RPINN_INTERVAL_MIN_DRAWS, RPINN_INTERVAL_MIN_DRAWS);
}

/* Data set k of seed s has the seed 10000 s + k, and seeds end where doubles stop to count. */
static RpinnStatus check_seed(RpinnContext *context, const RpinnProblem *base) {
  const double most = 900719925473;
  if (base->settings.values[RPINN_SETTING_SEED].number <= most) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = "--seed"},
                       "found %s; expected at most %.0f to calibrate with",
                       base->settings.values[RPINN_SETTING_SEED].text, most);
}

/* ---- the problem of one data set ---- */

typedef struct OwnOverrides {
  char values[MAX_OWN_OVERRIDES][32];
  size_t count;
} OwnOverrides;

static void add_override(OwnOverrides *own, RpinnOverride *overrides, size_t *count, const char *name,
                         const char *value) {
  char *copy = own->values[own->count++];
  snprintf(copy, sizeof own->values[0], "%s", value);
  overrides[(*count)++] = (RpinnOverride){name, copy, origin, true};
}

static void add_seed(OwnOverrides *own, RpinnOverride *overrides, size_t *count, const char *name,
                     uint64_t seed) {
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
  add_override(own, overrides, count, name, text);
}

/* base: the problem as it stands, for its seeds; NULL: load that one. Other seeds have other data
 * sets. */
static RpinnStatus load_problem(RpinnContext *context, const RpinnCalibration *calibration,
                                const RpinnProblem *base, const char *method, size_t data_set,
                                RpinnProblem **problem) {
  RpinnProblemOptions loading =
      calibration->options->loading ? *calibration->options->loading : (RpinnProblemOptions){0};
  RpinnOverride *overrides = calloc(loading.num_overrides + MAX_OWN_OVERRIDES, sizeof *overrides);
  OwnOverrides own = {0};
  if (!overrides) return rpinn_fail_memory(context);
  size_t count = loading.num_overrides;
  if (count) memcpy(overrides, loading.overrides, count * sizeof *overrides);
  if (method) add_override(&own, overrides, &count, "method", method);
  if (method && !rpinn_method_find(method)->has_chains)
    add_override(&own, overrides, &count, "samples", calibration->members);
  if (base) {
    uint64_t seed = 10000 * (uint64_t)base->settings.values[RPINN_SETTING_SEED].number + data_set + 1;
    bool points = strcmp(calibration->redraw, "noise") != 0, truth = !strcmp(calibration->redraw, "truth");
    add_seed(&own, overrides, &count, "data_seed",
             rpinn_settings_seed(&base->settings, RPINN_SETTING_DATA_SEED));
    add_seed(&own, overrides, &count, "seed", seed);
    add_seed(&own, overrides, &count, "noise_seed", seed);
    if (points) add_seed(&own, overrides, &count, "points_seed", seed);
    if (truth) add_seed(&own, overrides, &count, "truth_seed", seed);
  }
  loading.overrides = overrides;
  loading.num_overrides = count;
  RpinnStatus status = rpinn_problem_load(context, calibration->options->problem, &loading, problem);
  free(overrides);
  return status;
}

/* ---- subjects ---- */

/* An unknown that predict: names too is scored once, as the number that it is. */
static bool is_unknown_too(const RpinnPosterior *posterior, size_t predicted) {
  const RpinnProblem *problem = posterior->problem;
  double ignored;
  for (size_t k = 0; k < problem->num_unknowns; k++)
    if (!strcmp(problem->unknowns[k].name, problem->predicted[predicted].name))
      return rpinn_truth_of_unknown(&posterior->data->truth, k, &ignored);
  return false;
}

static RpinnStatus list_subjects(RpinnContext *context, RpinnCalibration *calibration,
                                 const RpinnPosterior *posterior) {
  const RpinnProblem *problem = posterior->problem;
  calibration->subjects = RPINN_ARENA_NEW(calibration->arena, RpinnCalibrationSubject,
                                          problem->num_predicted + problem->num_unknowns + 1);
  if (!calibration->subjects) return rpinn_fail_memory(context);
  for (size_t q = 0; q < problem->num_predicted + problem->num_unknowns; q++) {
    bool is_unknown = q >= problem->num_predicted;
    size_t index = is_unknown ? q - problem->num_predicted : q;
    double ignored;
    if (is_unknown ? !rpinn_truth_of_unknown(&posterior->data->truth, index, &ignored)
                   : !posterior->data->predicted_truth[index] || is_unknown_too(posterior, index))
      continue;
    const char *name = is_unknown ? problem->unknowns[index].name : problem->predicted[index].name;
    RpinnCalibrationSubject subject = {rpinn_arena_copy_text(calibration->arena, name, strlen(name)),
                                       is_unknown, index};
    if (!subject.name) return rpinn_fail_memory(context);
    calibration->subjects[calibration->num_subjects++] = subject;
  }
  if (calibration->num_subjects) return RPINN_OK;
  return rpinn_fail_at(
      context, problem->place,
      "nothing that is predicted has a truth to be compared with; expected truth: with an entry for a "
      "quantity of predict:, or for an unknown");
}

/* ---- one run ---- */

static RpinnStatus score_run(RpinnContext *context, RpinnCalibration *calibration, const RpinnRun *run,
                             size_t data_set, RpinnCalibrationRow *row) {
  const RpinnDataSet *data = run->posteriors[0]->data;
  if (run->results.num_draws < RPINN_INTERVAL_MIN_DRAWS)
    return rpinn_fail(
        context, RPINN_ERROR_INPUT,
        "the run for data set %zu has %zu draws; expected at least %d, for intervals of 95 %%: a longer "
        "--time-limit, or more --samples of chains",
        data_set + 1, (size_t)run->results.num_draws, RPINN_INTERVAL_MIN_DRAWS);
  RpinnStream stream = rpinn_stream(run->posteriors[0]->seed, RPINN_PURPOSE_RANKS, data_set, 0);
  for (size_t s = 0; s < calibration->num_subjects; s++) {
    const RpinnCalibrationSubject *subject = &calibration->subjects[s];
    double unknown;
    const double *truth = subject->is_unknown ? &unknown : data->predicted_truth[subject->index];
    size_t first = subject->is_unknown ? run->outputs.unknown_start + subject->index
                                       : subject->index * run->outputs.num_points;
    if (subject->is_unknown) rpinn_truth_of_unknown(&data->truth, subject->index, &unknown);
    RpinnStatus status =
        rpinn_calibration_score(run->results.kept, first, subject->is_unknown ? 1 : run->outputs.num_points,
                                truth, &stream, &row->scores[s]);
    if (status != RPINN_OK) return rpinn_fail_memory(context);
  }
  row->seconds = run->seconds;
  row->prior_scale = run->posteriors[0]->sigmas.prior;
  row->is_made = true;
  return RPINN_OK;
}

/* The files of a run directory, which holds no folders of its own but figures. */
static void remove_run(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) return;
  for (struct dirent *entry; (entry = readdir(folder));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      unlinkat(dirfd(folder), entry->d_name, 0);
  closedir(folder);
  rmdir(path);
}

static RpinnStatus make_run(RpinnContext *context, RpinnCalibration *calibration, RpinnProblem *problem,
                            size_t method, size_t data_set) {
  const RpinnCalibrateOptions *options = calibration->options;
  char folder[RPINN_PATH_SIZE], store[RPINN_PATH_SIZE + 16];
  snprintf(folder, sizeof folder, "%.3900s/runs/%s-%04zu", options->folder, calibration->methods[method].name,
           data_set + 1);
  snprintf(store, sizeof store, "%s/checkpoint.db", folder);
  RpinnRunOptions run_options = {.folder = folder,
                                 .resume = access(store, F_OK) == 0,
                                 .interrupted = options->interrupted,
                                 .progress = options->progress,
                                 .user = options->user};
  RpinnRun *run;
  RPINN_TRY(rpinn_run(context, problem, &run_options, &run));
  calibration->interrupted = rpinn_run_interrupted(run);
  RpinnStatus status = RPINN_OK;
  if (!calibration->interrupted)
    status = score_run(context, calibration, run, data_set, &calibration->methods[method].rows[data_set]);
  if (!calibration->interrupted && status == RPINN_OK)
    status = rpinn_calibration_write_row(context, calibration, method, data_set);
  rpinn_run_destroy(run);
  if (status == RPINN_OK && !calibration->interrupted && !options->keep_runs) remove_run(folder);
  return status;
}

static RpinnStatus make_row(RpinnContext *context, RpinnCalibration *calibration, const RpinnProblem *base,
                            size_t method, size_t data_set) {
  RpinnProblem *problem;
  RPINN_TRY(load_problem(context, calibration, base, calibration->methods[method].name, data_set, &problem));
  RpinnStatus status = make_run(context, calibration, problem, method, data_set);
  rpinn_problem_destroy(problem);
  return status;
}

/* ---- all of them ---- */

typedef struct Pace {
  double started;
  size_t done, made; /* runs; of these, in this session */
} Pace;

static RpinnStatus tell(RpinnContext *context, const RpinnCalibration *calibration, size_t method,
                        const Pace *pace) {
  const RpinnCalibrateOptions *options = calibration->options;
  size_t total = calibration->num_methods * calibration->num_data_sets;
  RpinnText line = {0};
  if (!options->scored) return RPINN_OK;
  rpinn_calibration_write_line(calibration, method, &line);
  if (line.failed) {
    rpinn_text_free(&line);
    return rpinn_fail_memory(context);
  }
  double each = (rpinn_task_pool_now() - pace->started) / (double)pace->made;
  RpinnCalibrateProgress progress = {.done = pace->done,
                                     .total = total,
                                     .seconds_left =
                                         pace->made ? each * (double)(total - pace->done) : (double)NAN,
                                     .line = line.bytes};
  options->scored(options->user, &progress);
  rpinn_text_free(&line);
  return RPINN_OK;
}

/* Data set by data set, so that all methods have seen the same ones whenever it ends. */
static RpinnStatus make_rows(RpinnContext *context, RpinnCalibration *calibration, const RpinnProblem *base) {
  Pace pace = {.started = rpinn_task_pool_now()};
  for (size_t d = 0; d < calibration->num_data_sets; d++) {
    for (size_t m = 0; m < calibration->num_methods; m++) {
      bool found;
      RPINN_TRY(rpinn_calibration_read_row(context, calibration, m, d, &found));
      if (!found) RPINN_TRY(make_row(context, calibration, base, m, d));
      if (calibration->interrupted) return RPINN_OK;
      calibration->methods[m].num_made++;
      pace.done++;
      pace.made += !found;
      if (!found) RPINN_TRY(tell(context, calibration, m, &pace));
    }
    RPINN_TRY(rpinn_calibration_write_tables(context, calibration));
  }
  return RPINN_OK;
}

/* ---- whose folder ---- */

/* A folder that was not calibrated in must hold nothing that would be replaced, and no run. */
static RpinnStatus check_folder(RpinnContext *context, const char *folder) {
  static const char *const names[] = {"calibration.md", "calibration.csv", "calibration.json", "scores",
                                      "runs",           "run.yaml",        "checkpoint.db"};
  char path[RPINN_PATH_SIZE];
  struct stat info;
  for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
    snprintf(path, sizeof path, "%.3900s/%s", folder, names[k]);
    if (lstat(path, &info) == 0)
      return rpinn_fail_at(
          context, (RpinnPlace){.file = folder},
          "there is no calibration here, but %s; move it away, or choose another folder with "
          "--out",
          names[k]);
  }
  return RPINN_OK;
}

/* The file says what the scores are of: it is written once, and says the same for ever. */
static RpinnStatus claim(RpinnContext *context, const char *path, const RpinnText *identity) {
  RpinnText found = {0};
  if (identity->failed) return rpinn_fail_memory(context);
  if (access(path, F_OK) != 0) return rpinn_part_file_write(context, path, identity);
  RpinnStatus status = rpinn_file_read(context, path, RPINN_JSON_MAX_MEBIBYTES, &found);
  if (status == RPINN_OK && strcmp(found.bytes ? found.bytes : "", identity->bytes) != 0)
    status = rpinn_fail_at(
        context, (RpinnPlace){.file = path},
        "the scores in this folder are of another problem, other settings or other data sets; expected "
        "another --out");
  rpinn_text_free(&found);
  return status;
}

/* All settings of the method but threads: its own values may stand in the problem file, and what a single run may change when
 * it goes on makes other scores too. */
static RpinnStatus claim_method(RpinnContext *context, const RpinnCalibration *calibration,
                                const char *method) {
  char path[RPINN_PATH_SIZE];
  RpinnText settings = {0};
  RpinnProblem *problem;
  RPINN_TRY(load_problem(context, calibration, NULL, method, 0, &problem));
  snprintf(path, sizeof path, "%.3900s/calibrated-%s.yaml", calibration->options->folder, method);
  for (size_t k = 0; k < RPINN_NUM_SETTINGS; k++)
    if (k != RPINN_SETTING_THREADS)
      rpinn_text_append(&settings, "%s: %s\n", rpinn_setting_definition((RpinnSetting)k)->name,
                        problem->settings.values[k].text);
  RpinnStatus status = claim(context, path, &settings);
  rpinn_text_free(&settings);
  rpinn_problem_destroy(problem);
  return status;
}

/* The folder belongs to one problem with its settings, and to one way to draw data sets. */
static RpinnStatus claim_folder(RpinnContext *context, const RpinnCalibration *calibration,
                                const RpinnPosterior *posterior) {
  const char *folder = calibration->options->folder;
  char path[RPINN_PATH_SIZE], scores[RPINN_PATH_SIZE];
  RpinnText identity = {0};
  snprintf(path, sizeof path, "%.3900s/calibrated.yaml", folder);
  snprintf(scores, sizeof scores, "%.3900s/scores", folder);
  if (access(path, F_OK) != 0) RPINN_TRY(check_folder(context, folder));
  RPINN_TRY(rpinn_make_folders(context, folder));
  rpinn_text_append(&identity,
                    "# calibrated with fresh %s and %s members; rpinn calibrate asks for the same again\n",
                    calibration->redraw, calibration->members);
  RpinnStatus status = rpinn_run_identity(context, posterior, &identity);
  if (status == RPINN_OK) status = claim(context, path, &identity);
  rpinn_text_free(&identity);
  for (size_t m = 0; m < calibration->num_methods && status == RPINN_OK; m++)
    status = claim_method(context, calibration, calibration->methods[m].name);
  return status == RPINN_OK ? rpinn_make_folders(context, scores) : status;
}

static RpinnStatus allocate_rows(RpinnContext *context, RpinnCalibration *calibration) {
  for (size_t m = 0; m < calibration->num_methods; m++) {
    calibration->methods[m].rows =
        RPINN_ARENA_NEW(calibration->arena, RpinnCalibrationRow, calibration->num_data_sets);
    if (!calibration->methods[m].rows) return rpinn_fail_memory(context);
    for (size_t d = 0; d < calibration->num_data_sets; d++) {
      RpinnCalibrationRow *row = &calibration->methods[m].rows[d];
      row->scores = RPINN_ARENA_NEW(calibration->arena, RpinnCalibrationScore, calibration->num_subjects);
      if (!row->scores) return rpinn_fail_memory(context);
    }
  }
  return RPINN_OK;
}

static RpinnStatus calibrate(RpinnContext *context, RpinnCalibration *calibration, const RpinnProblem *base,
                             const RpinnPosterior *posterior) {
  const char *own = base->settings.values[RPINN_SETTING_METHOD].text;
  RPINN_TRY(read_methods(context, calibration,
                         calibration->options->methods ? calibration->options->methods : own));
  calibration->problem = rpinn_arena_copy_text(calibration->arena, base->name, strlen(base->name));
  if (!calibration->problem) return rpinn_fail_memory(context);
  RPINN_TRY(list_subjects(context, calibration, posterior));
  RPINN_TRY(allocate_rows(context, calibration));
  RPINN_TRY(claim_folder(context, calibration, posterior));
  return make_rows(context, calibration, base);
}

static RpinnStatus begin(RpinnContext *context, RpinnCalibration *calibration) {
  const RpinnCalibrateOptions *options = calibration->options;
  RpinnProblem *base = NULL;
  RpinnRun *run = NULL; /* never begun: it knows whether there is memory for its like */
  RpinnRunOptions usual = {0};
  calibration->num_data_sets = options->num_data_sets ? options->num_data_sets : DEFAULT_DATA_SETS;
  if (calibration->num_data_sets > MAX_DATA_SETS)
    return rpinn_fail_at(context, (RpinnPlace){.file = "--datasets"}, "found %zu; expected at most %d",
                         calibration->num_data_sets, MAX_DATA_SETS);
  if (strlen(options->folder) > RPINN_PATH_SIZE / 2)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the folder has more than %d characters",
                      RPINN_PATH_SIZE / 2);
  RPINN_TRY(read_redraw(context, calibration));
  RPINN_TRY(check_members(context, calibration));
  RpinnStatus status = load_problem(context, calibration, NULL, NULL, 0, &base);
  if (status == RPINN_OK) status = check_seed(context, base);
  if (status == RPINN_OK) status = rpinn_run_prepare(context, base, &usual, &run);
  if (status == RPINN_OK) status = calibrate(context, calibration, base, run->posteriors[0]);
  rpinn_run_destroy(run);
  rpinn_problem_destroy(base);
  return status;
}

RpinnStatus rpinn_calibrate(RpinnContext *context, const RpinnCalibrateOptions *options,
                            RpinnCalibration **calibration) {
  RpinnArena *arena = rpinn_arena_create();
  *calibration = arena ? RPINN_ARENA_NEW(arena, RpinnCalibration, 1) : NULL;
  if (!*calibration) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  **calibration = (RpinnCalibration){.options = options, .arena = arena};
  RpinnStatus status = begin(context, *calibration);
  if (status == RPINN_ERROR_INTERRUPTED) { /* while a scale was chosen */
    rpinn_context_clear_error(context);
    (*calibration)->interrupted = true;
    status = RPINN_OK;
  }
  (*calibration)->options = NULL;
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_calibration_destroy(*calibration);
  *calibration = NULL;
  return status;
}

void rpinn_calibration_destroy(RpinnCalibration *calibration) {
  if (!calibration) return;
  rpinn_text_free(&calibration->text);
  rpinn_text_free(&calibration->csv);
  rpinn_text_free(&calibration->json);
  rpinn_arena_destroy(calibration->arena); /* it lives there itself */
}

bool rpinn_calibration_interrupted(const RpinnCalibration *calibration) {
  return calibration->interrupted;
}
const char *rpinn_calibration_text(const RpinnCalibration *calibration) {
  return calibration->text.bytes;
}
const char *rpinn_calibration_json(const RpinnCalibration *calibration) {
  return calibration->json.bytes;
}
