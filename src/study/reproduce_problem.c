/* The problem of one run of the paper: its data, its settings at a scale, and these in words. */
#include <stdio.h>
#include <string.h>

#include "reproduce_run.h"

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

RpinnStatus rpinn_reproduction_load(RpinnContext *context, const RpinnReproduction *reproduction,
                                    const RpinnReproducedRun *run, bool is_scaled, RpinnProblem **problem) {
  static const char origin[] = "rpinn reproduce";
  const RpinnReproduceOptions *options = reproduction->options;
  const RpinnPaperCase *paper = run->paper_case;
  RpinnOverride overrides[RPINN_MAX_SCALE_OVERRIDES + RPINN_MAX_RUN_OVERRIDES + 6];
  size_t count = 0;
  if (is_scaled) count = rpinn_scale_overrides(paper, run->method, reproduction->scale, overrides);
  for (size_t k = 0; is_scaled && k < run->num_overrides; k++) {
    overrides[count] = run->overrides[k];
    overrides[count].origin = origin;
    overrides[count++].setting_only = true;
  }
  if (is_scaled && options->members && !rpinn_paper_method(run->method)->has_one_draw)
    overrides[count++] = (RpinnOverride){"samples", options->members, "--members", true};
  if (is_scaled && options->backend)
    overrides[count++] = (RpinnOverride){"backend", options->backend, "--backend", true};
  if (is_scaled && options->precision)
    overrides[count++] = (RpinnOverride){"precision", options->precision, "--precision", true};
  overrides[count++] = (RpinnOverride){"method", rpinn_paper_methods[run->method], origin, true};
  overrides[count++] = (RpinnOverride){"sigma", paper->sigma, origin, false};
  if (paper->num_points[0]) overrides[count++] = (RpinnOverride){"Nf", paper->num_points, origin, false};
  RpinnProblemOptions loading = {.preset = "paper", .num_overrides = count, .overrides = overrides};
  RpinnText data = {0}, truth = {0};
  if (options->data_folder && !run->is_synthetic) {
    append_data_file(paper, options->data_folder, &data);
    loading.data_file = data.bytes;
    if (!strcmp(paper->problem, "darcy")) append_truth(options->data_folder, &truth);
    loading.truth = truth.bytes;
  }
  RpinnStatus status = data.failed || truth.failed
                           ? rpinn_fail_memory(context)
                           : rpinn_problem_load(context, paper->problem, &loading, problem);
  rpinn_text_free(&data);
  rpinn_text_free(&truth);
  if (status == RPINN_OK && is_scaled && run->epsilon > 0) (*problem)->prior_epsilon = run->epsilon;
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

/* Each setting in which the run is not the paper's; of backend and precision the paper says nothing, and the preset does. */
static RpinnStatus describe_departures(RpinnMadeRun *run) {
  const RpinnMethod *method = rpinn_paper_method(run->run->method);
  char samples[32];
  snprintf(samples, sizeof samples, "%ss", method->unit);
  const struct {
    RpinnSetting setting;
    const char *words, *source;
  } settings[] = {
      {RPINN_SETTING_SAMPLES, samples, "paper"},         {RPINN_SETTING_OPTIMIZER, "optimizer", "paper"},
      {RPINN_SETTING_ITERATIONS, "iterations", "paper"}, {RPINN_SETTING_CHAINS, "chains", "paper"},
      {RPINN_SETTING_WARMUP, "warmup", "paper"},         {RPINN_SETTING_MAX_DEPTH, "largest depth", "paper"},
      {RPINN_SETTING_BACKEND, "backend", "preset"},      {RPINN_SETTING_PRECISION, "precision", "preset"}};
  RpinnProblem *paper = NULL;
  RpinnText words = {0};
  RpinnStatus status = rpinn_reproduction_load(run->context, run->reproduction, run->run, false, &paper);
  for (size_t k = 0; k < sizeof settings / sizeof settings[0] && status == RPINN_OK; k++) {
    const char *ours = run->problem->settings.values[settings[k].setting].text,
               *theirs = paper->settings.values[settings[k].setting].text;
    bool is_idle = method->has_one_draw && settings[k].setting == RPINN_SETTING_SAMPLES;
    if (strcmp(ours, theirs) != 0 && !is_idle)
      rpinn_text_append(&words, "%s%s %s (%s: %s)", words.length ? ", " : "", settings[k].words, ours,
                        settings[k].source, theirs);
  }
  rpinn_problem_destroy(paper);
  if (status == RPINN_OK) return keep_words(run, &words, &run->run->departures);
  rpinn_text_free(&words);
  return status;
}

RpinnStatus rpinn_made_run_describe(RpinnMadeRun *run) {
  RPINN_TRY(describe_settings(run));
  return describe_departures(run);
}
