/* One run of the paper: its problem at a scale, and its directory. */
#include "reproduce_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the problem ---- */

/* The published truth as YAML: log conductivity, and the head above that of the right side. */
static void append_truth(const char *data_folder, RpinnText *yaml) {
  rpinn_text_append(yaml, "{csv: '");
  for (const char *c = data_folder; *c; c++) rpinn_text_append(yaml, *c == '\'' ? "''" : "%c", *c);
  rpinn_text_append(yaml, "/../darcy_reference_256x128.csv', y: log(k), h: h - 141.494}");
}

/* The name of a data set: poisson_linear_Nf32_sigma0.1.csv, darcy_sigma0.1.csv. */
static void append_data_file(const RpinnPaperCase *paper, const char *data_folder, RpinnText *path) {
  rpinn_text_append(path, "%s/", data_folder);
  for (const char *c = paper->problem; *c; c++) rpinn_text_append(path, "%c", *c == '-' ? '_' : *c);
  if (paper->num_points[0]) rpinn_text_append(path, "_Nf%s", paper->num_points);
  rpinn_text_append(path, "_sigma%s.csv", paper->sigma);
}

/* The problem with the preset `paper`, at the scale or, without is_scaled, as the paper has it. */
static RpinnStatus load_problem(const RpinnMadeRun *run, bool is_scaled, RpinnProblem **problem) {
  static const char origin[] = "rpinn reproduce";
  const RpinnReproduceOptions *options = run->reproduction->options;
  const RpinnPaperCase *paper = run->run->paper_case;
  RpinnOverride overrides[RPINN_MAX_SCALE_OVERRIDES + RPINN_MAX_RUN_OVERRIDES + 4];
  size_t count = 0;
  if (is_scaled) count = rpinn_scale_overrides(paper, run->run->method, run->reproduction->scale, overrides);
  for (size_t k = 0; is_scaled && k < run->run->num_overrides; k++) {
    overrides[count] = run->run->overrides[k];
    overrides[count].origin = origin;
    overrides[count++].setting_only = true;
  }
  if (is_scaled && options->members && !rpinn_paper_method(run->run->method)->has_one_draw)
    overrides[count++] = (RpinnOverride){"samples", options->members, "--members", true};
  overrides[count++] = (RpinnOverride){"method", rpinn_paper_methods[run->run->method], origin, true};
  overrides[count++] = (RpinnOverride){"sigma", paper->sigma, origin, false};
  if (paper->num_points[0]) overrides[count++] = (RpinnOverride){"Nf", paper->num_points, origin, false};
  RpinnProblemOptions loading = {.preset = "paper", .num_overrides = count, .overrides = overrides};
  RpinnText data = {0}, truth = {0};
  if (options->data_folder && !run->run->is_synthetic) {
    append_data_file(paper, options->data_folder, &data);
    loading.data_file = data.bytes;
    if (!strcmp(paper->problem, "darcy")) append_truth(options->data_folder, &truth);
    loading.truth = truth.bytes;
  }
  RpinnStatus status = data.failed || truth.failed
                           ? rpinn_fail_memory(run->context)
                           : rpinn_problem_load(run->context, paper->problem, &loading, problem);
  rpinn_text_free(&data);
  rpinn_text_free(&truth);
  if (status == RPINN_OK && is_scaled && run->run->epsilon > 0) (*problem)->prior_epsilon = run->run->epsilon;
  return status;
}

/* ---- in words ---- */

static RpinnStatus keep_words(RpinnMadeRun *run, RpinnText *words, const char **kept) {
  *kept = words->failed ? NULL
                        : rpinn_arena_copy_text(run->reproduction->arena, words->bytes ? words->bytes : "",
                                                words->length);
  rpinn_text_free(words);
  return *kept ? RPINN_OK : rpinn_fail_memory(run->context);
}

static RpinnStatus describe_settings(RpinnMadeRun *run) {
  RpinnText words = {0};
  rpinn_paper_method(run->run->method)->describe_settings(&run->problem->settings, &words);
  return keep_words(run, &words, &run->run->settings);
}

/* Each setting in which the run is not the paper's. */
static RpinnStatus describe_departures(RpinnMadeRun *run) {
  const RpinnMethod *method = rpinn_paper_method(run->run->method);
  char samples[32];
  snprintf(samples, sizeof samples, "%ss", method->unit);
  const struct {
    RpinnSetting setting;
    const char *words;
  } settings[] = {{RPINN_SETTING_SAMPLES, samples},         {RPINN_SETTING_OPTIMIZER, "optimizer"},
                  {RPINN_SETTING_ITERATIONS, "iterations"}, {RPINN_SETTING_CHAINS, "chains"},
                  {RPINN_SETTING_WARMUP, "warmup"},         {RPINN_SETTING_MAX_DEPTH, "largest depth"}};
  RpinnProblem *paper = NULL;
  RpinnText words = {0};
  RpinnStatus status = load_problem(run, false, &paper);
  for (size_t k = 0; k < sizeof settings / sizeof settings[0] && status == RPINN_OK; k++) {
    const char *ours = run->problem->settings.values[settings[k].setting].text,
               *theirs = paper->settings.values[settings[k].setting].text;
    bool is_idle = method->has_one_draw && settings[k].setting == RPINN_SETTING_SAMPLES;
    if (strcmp(ours, theirs) != 0 && !is_idle)
      rpinn_text_append(&words, "%s%s %s (paper: %s)", words.length ? ", " : "", settings[k].words, ours,
                        theirs);
  }
  rpinn_problem_destroy(paper);
  if (status == RPINN_OK) return keep_words(run, &words, &run->run->departures);
  rpinn_text_free(&words);
  return status;
}

/* ---- its directory ---- */

/* Is the directory's run finished, with as many draws? */
static RpinnStatus look_at_folder(RpinnMadeRun *run, bool *has_members, bool *is_finished) {
  char path[RPINN_PATH_SIZE];
  *is_finished = false;
  snprintf(path, sizeof path, "%s/checkpoint.db", run->folder);
  *has_members = access(path, F_OK) == 0;
  snprintf(path, sizeof path, "%s/summary.json", run->folder);
  if (!*has_members || access(path, F_OK) != 0) return RPINN_OK;
  RPINN_TRY(rpinn_finished_run_open(run->context, run->folder, &run->finished));
  *is_finished = rpinn_summary_number(run->finished.summary, "samples_asked") ==
                 (double)(run->plan.num_chains * run->plan.num_draws);
  if (!*is_finished) rpinn_finished_run_close(&run->finished);
  return RPINN_OK;
}

static RpinnStatus make_directory(RpinnMadeRun *run) {
  const RpinnReproduceOptions *options = run->reproduction->options;
  bool has_members, is_finished;
  RPINN_TRY(look_at_folder(run, &has_members, &is_finished));
  if (is_finished) return RPINN_OK;
  if (options->begins) options->begins(options->user, run->run->name);
  RpinnRunOptions run_options = {.folder = run->folder,
                                 .resume = has_members,
                                 .interrupted = options->interrupted,
                                 .progress = options->progress,
                                 .user = options->user};
  RpinnRun *made;
  RPINN_TRY(rpinn_run(run->context, run->problem, &run_options, &made));
  run->reproduction->interrupted = rpinn_run_interrupted(made);
  rpinn_run_destroy(made);
  if (run->reproduction->interrupted) return RPINN_OK;
  return rpinn_finished_run_open(run->context, run->folder, &run->finished);
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

/* ---- the whole ---- */

static RpinnStatus begin(RpinnMadeRun *run) {
  snprintf(run->folder, sizeof run->folder, "%s/%s", run->reproduction->options->folder, run->run->name);
  RPINN_TRY(load_problem(run, true, &run->problem));
  run->plan = rpinn_problem_method(run->problem)->plan(&run->problem->settings);
  return RPINN_OK;
}

static RpinnStatus end(RpinnMadeRun *run, RpinnStatus status) {
  /* Say which of the directories it is. */
  if (status == RPINN_ERROR_INPUT && !run->context->error.file[0])
    snprintf(run->context->error.file, sizeof run->context->error.file, "%.500s", run->folder);
  rpinn_finished_run_close(&run->finished);
  rpinn_kept_draws_destroy(run->kept);
  rpinn_member_store_close(run->store);
  rpinn_posterior_destroy(run->posterior);
  rpinn_problem_destroy(run->problem);
  return status;
}

static RpinnStatus perform(RpinnMadeRun *run) {
  const RpinnReproduceKind *kind = run->reproduction->entry->kind;
  RPINN_TRY(begin(run));
  RPINN_TRY(describe_settings(run));
  RPINN_TRY(describe_departures(run));
  if (kind->needs_no_run || run->run->only_loaded) {
    RPINN_TRY(rpinn_posterior_create(run->context, run->problem, true, &run->posterior));
  } else {
    RPINN_TRY(make_directory(run));
    if (run->reproduction->interrupted) return RPINN_OK;
    RPINN_TRY(open_store(run));
  }
  return kind->take(run);
}

RpinnStatus rpinn_reproduction_make_run(RpinnContext *context, RpinnReproduction *reproduction,
                                        RpinnReproducedRun *made) {
  RpinnMadeRun run = {.context = context, .reproduction = reproduction, .run = made};
  return end(&run, perform(&run));
}

RpinnStatus rpinn_reproduction_estimate_run(RpinnContext *context, RpinnReproduction *reproduction,
                                            RpinnReproducedRun *made, double *seconds) {
  RpinnMadeRun run = {.context = context, .reproduction = reproduction, .run = made};
  bool has_members, is_finished = false;
  *seconds = 0;
  if (made->only_loaded) return RPINN_OK;
  RpinnStatus status = begin(&run);
  if (status == RPINN_OK) status = look_at_folder(&run, &has_members, &is_finished);
  if (status == RPINN_OK && !is_finished) {
    RpinnReproducedRun *like = made->costs_like ? made->costs_like : made;
    *seconds = like->trial_seconds;
    if (!(*seconds > 0)) status = rpinn_run_estimate(context, run.problem, seconds);
    made->trial_seconds = like->trial_seconds = *seconds; /* like may be finished and have had no trial */
  }
  return end(&run, status);
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
