/* One run of the paper: its problem at a scale, its directory, and the figures of it.
 *
 * The standard error e of a figure comes from the bootstrap over draws (bootstrap.h). Draws of a chain resemble the
 * ones before them: there it is widened to e sqrt(n / n_eff), with n_eff the smallest bulk effective size of the
 * quantity over its points. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap.h"
#include "finished_run.h"
#include "reproduce_figures.h"
#include "run_state.h"

enum { KEPT_BYTES = 128 << 20 };

static const char *const metric_keys[] = {
#define RPINN_TABLE_METRIC_KEY(name, key, title, digit) key,
    RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_KEY)
#undef RPINN_TABLE_METRIC_KEY
};

typedef struct PaperRun {
  RpinnContext *context;
  RpinnReproduction *reproduction;
  RpinnReproducedRun *run;
  char folder[RPINN_PATH_SIZE - 128];
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RpinnDrawPlan plan;
  RpinnDrawOutputs outputs;
  RpinnMemberStore *store;
  RpinnKeptDraws *kept;
  double *values;
  size_t num_draws;
  RpinnFinishedRun finished;
} PaperRun;

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
static RpinnStatus load_problem(const PaperRun *run, bool is_scaled, RpinnProblem **problem) {
  static const char origin[] = "rpinn reproduce";
  const RpinnReproduceOptions *options = run->reproduction->options;
  const RpinnPaperCase *paper = run->run->paper_case;
  RpinnOverride overrides[RPINN_MAX_SCALE_OVERRIDES + 4];
  size_t count = 0;
  if (is_scaled) count = rpinn_scale_overrides(paper, run->run->method, run->reproduction->scale, overrides);
  if (is_scaled && options->members)
    overrides[count++] = (RpinnOverride){"samples", options->members, "--members", true};
  overrides[count++] = (RpinnOverride){"method", rpinn_paper_methods[run->run->method], origin, true};
  overrides[count++] = (RpinnOverride){"sigma", paper->sigma, origin, false};
  if (paper->num_points[0]) overrides[count++] = (RpinnOverride){"Nf", paper->num_points, origin, false};
  RpinnProblemOptions loading = {.preset = "paper", .num_overrides = count, .overrides = overrides};
  RpinnText data = {0}, truth = {0};
  if (options->data_folder) {
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
  return status;
}

/* ---- in words ---- */

static RpinnStatus keep_words(PaperRun *run, RpinnText *words, const char **kept) {
  *kept = words->failed ? NULL
                        : rpinn_arena_copy_text(run->reproduction->arena, words->bytes ? words->bytes : "",
                                                words->length);
  rpinn_text_free(words);
  return *kept ? RPINN_OK : rpinn_fail_memory(run->context);
}

static RpinnStatus describe_settings(PaperRun *run) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  const char *samples = settings->values[RPINN_SETTING_SAMPLES].text,
             *iterations = settings->values[RPINN_SETTING_ITERATIONS].text;
  RpinnText words = {0};
  if (run->plan.has_chains)
    rpinn_text_append(
        &words, "%s chains of %s warmup iterations and %s draws, trajectories of at most 2^%s - 1 steps",
        settings->values[RPINN_SETTING_CHAINS].text, settings->values[RPINN_SETTING_WARMUP].text, samples,
        settings->values[RPINN_SETTING_MAX_DEPTH].text);
  else if (run->run->method == RPINN_PAPER_SVGD)
    rpinn_text_append(&words, "%s particles of %s iterations, repulsion %s", samples, iterations,
                      settings->values[RPINN_SETTING_REPULSION].text);
  else
    rpinn_text_append(&words, "%s members of %s iterations", samples, iterations);
  return keep_words(run, &words, &run->run->settings);
}

/* Each setting in which the run is not the paper's. */
static RpinnStatus describe_departures(PaperRun *run) {
  const struct {
    RpinnSetting setting;
    const char *words;
  } settings[] = {{RPINN_SETTING_SAMPLES, run->plan.has_chains                   ? "draws"
                                          : run->run->method == RPINN_PAPER_SVGD ? "particles"
                                                                                 : "members"},
                  {RPINN_SETTING_ITERATIONS, "iterations"},
                  {RPINN_SETTING_CHAINS, "chains"},
                  {RPINN_SETTING_WARMUP, "warmup"},
                  {RPINN_SETTING_MAX_DEPTH, "largest depth"}};
  RpinnProblem *paper = NULL;
  RpinnText words = {0};
  RpinnStatus status = load_problem(run, false, &paper);
  for (size_t k = 0; k < sizeof settings / sizeof settings[0] && status == RPINN_OK; k++) {
    const char *ours = run->problem->settings.values[settings[k].setting].text,
               *theirs = paper->settings.values[settings[k].setting].text;
    if (strcmp(ours, theirs) != 0)
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
static RpinnStatus look_at_folder(PaperRun *run, bool *has_members, bool *is_finished) {
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

static RpinnStatus make_directory(PaperRun *run) {
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

/* ---- its draws ---- */

static RpinnStatus keep_draw(void *user, const RpinnVisitedDraw *draw) {
  PaperRun *run = user;
  if (draw->stored->failed) return RPINN_OK;
  RPINN_TRY(rpinn_draw_outputs_evaluate(&run->outputs, draw->stored->parameters, run->values));
  return rpinn_kept_draws_add(run->kept, run->num_draws++, run->values);
}

/* The store, which must have been made with these very settings and data. */
static RpinnStatus open_store(PaperRun *run) {
  RpinnText identity = {0};
  char path[RPINN_PATH_SIZE];
  snprintf(path, sizeof path, "%s/checkpoint.db", run->folder);
  RPINN_TRY(rpinn_posterior_create(run->context, run->problem, true, &run->posterior));
  RpinnStatus status = rpinn_run_identity(run->context, run->posterior, &identity);
  if (status == RPINN_OK) status = rpinn_member_store_open(run->context, path, identity.bytes, &run->store);
  rpinn_text_free(&identity);
  return status;
}

static RpinnStatus gather_draws(PaperRun *run) {
  RPINN_TRY(open_store(run));
  RPINN_TRY(rpinn_draw_outputs_plan(run->context, run->posterior, &run->outputs));
  RPINN_TRY(rpinn_problem_stored_plan(run->context, run->problem, run->store, &run->plan));
  size_t count = run->outputs.num_values, num_draws = (size_t)(run->plan.num_chains * run->plan.num_draws);
  run->values = RPINN_ARENA_NEW(run->posterior->arena, double, count);
  run->kept = rpinn_kept_draws_create(count, rpinn_keep_every(num_draws, count, KEPT_BYTES));
  if (!run->values || !run->kept) return rpinn_fail_memory(run->context);
  RPINN_TRY(rpinn_draw_store_visit(run->context, run->store, &run->plan, false, keep_draw, run));
  double told = rpinn_summary_number(run->finished.summary, "samples");
  if ((double)run->num_draws == told) return RPINN_OK;
  return rpinn_fail(run->context, RPINN_ERROR_INPUT,
                    "checkpoint.db has %zu draws, summary.json tells of %.0f: they do not belong together",
                    run->num_draws, told);
}

/* ---- its figures ---- */

static void fill_run(PaperRun *run) {
  const RpinnJsonValue *summary = run->finished.summary, *chains = rpinn_json_find(summary, "chains");
  bool has_chains = run->plan.has_chains;
  run->run->members = rpinn_summary_number(summary, "samples");
  run->run->seconds = rpinn_summary_number(summary, "wall_seconds");
  run->run->chains = rpinn_summary_number(chains, "count");
  run->run->warmup = rpinn_summary_number(chains, "warmup");
  run->run->iterations =
      has_chains ? (double)NAN : run->problem->settings.values[RPINN_SETTING_ITERATIONS].number;
}

/* Worth of the draws of a quantity; NaN without chains, whose draws are independent. */
static double effective_size(const PaperRun *run, const char *quantity) {
  const RpinnJsonValue *quantities =
      rpinn_json_find(rpinn_json_find(run->finished.summary, "chains"), "quantities");
  return rpinn_summary_number(rpinn_json_find(quantities, quantity), "min_ess_bulk");
}

static void fill_peak(const PaperRun *run, const char *quantity, RpinnReproducedRow *row) {
  const RpinnJsonValue *peaks =
      rpinn_json_find(rpinn_json_find(run->finished.summary, "particles"), "lpp_peaks");
  const RpinnJsonValue *peak = rpinn_json_find(peaks, quantity);
  row->has_peak = peak != NULL;
  if (!peak) return;
  row->peak_iteration = rpinn_summary_number(peak, "iteration");
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    row->peak[k] = rpinn_summary_number(peak, metric_keys[k]);
}

static RpinnStatus fill_row(PaperRun *run, RpinnReproducedRow *row) {
  const char *quantity = run->run->paper_case->quantities[row->quantity];
  const RpinnJsonValue *score =
      rpinn_json_find(rpinn_json_find(run->finished.summary, "quantities"), quantity);
  size_t q = 0, num_points = run->outputs.num_points;
  while (q < run->problem->num_predicted && strcmp(run->problem->predicted[q].name, quantity) != 0) q++;
  if (!score || q == run->problem->num_predicted || !run->posterior->data->predicted_truth[q])
    return rpinn_fail_at(run->context, (RpinnPlace){.file = run->folder}, "this run has no figures of %s",
                         quantity);
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    row->ours[k] = rpinn_summary_number(score, metric_keys[k]);
  if (rpinn_bootstrap_errors(run->kept, q * num_points, num_points, run->posterior->data->predicted_truth[q],
                             0, RPINN_BOOTSTRAP_RESAMPLES, row->errors) != RPINN_OK)
    return rpinn_fail_memory(run->context);
  row->effective_size = effective_size(run, quantity);
  double factor = rpinn_bootstrap_factor((double)rpinn_kept_draws_count(run->kept), (double)run->num_draws,
                                         row->effective_size);
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) row->errors[k] *= factor;
  fill_peak(run, quantity, row);
  rpinn_reproduction_judge(run->reproduction, row);
  return RPINN_OK;
}

static RpinnStatus fill_chains(PaperRun *run, RpinnReproducedChains *chains) {
  const RpinnJsonValue *summary = rpinn_json_find(run->finished.summary, "chains"),
                       *list = rpinn_json_find(summary, "per_chain");
  size_t most = (size_t)run->plan.num_chains;
  chains->ours = RPINN_ARENA_NEW(run->reproduction->arena, RpinnReproducedChain, most);
  if (!chains->ours) return rpinn_fail_memory(run->context);
  for (const RpinnJsonValue *item = list ? list->first : NULL; item && chains->num_ours < most;
       item = item->next) {
    RpinnReproducedChain *chain = &chains->ours[chains->num_ours];
    chain->number = ++chains->num_ours;
    for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++) {
      const RpinnJsonValue *score =
          rpinn_json_find(rpinn_json_find(item, "quantities"), run->run->paper_case->quantities[q]);
      chain->figures[q][RPINN_CHAIN_RL2] = rpinn_summary_number(score, "rl2");
      chain->figures[q][RPINN_CHAIN_LPP_TABLE] = rpinn_summary_number(score, "lpp_table");
    }
  }
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++)
    chains->max_rhat[q] = rpinn_summary_number(
        rpinn_json_find(rpinn_json_find(summary, "quantities"), run->run->paper_case->quantities[q]),
        "max_rhat");
  rpinn_chains_sort(chains->num_ours, chains->ours);
  return RPINN_OK;
}

static RpinnStatus fill_figures(PaperRun *run) {
  RpinnReproduction *reproduction = run->reproduction;
  fill_run(run);
  for (size_t i = 0; i < reproduction->num_rows; i++)
    if (reproduction->rows[i].run == run->run) RPINN_TRY(fill_row(run, &reproduction->rows[i]));
  for (size_t i = 0; i < reproduction->num_chain_tables; i++)
    if (reproduction->chain_tables[i].run == run->run)
      RPINN_TRY(fill_chains(run, &reproduction->chain_tables[i]));
  return RPINN_OK;
}

/* ---- the whole ---- */

static RpinnStatus begin(PaperRun *run) {
  snprintf(run->folder, sizeof run->folder, "%s/%s", run->reproduction->options->folder, run->run->name);
  RPINN_TRY(load_problem(run, true, &run->problem));
  run->plan = rpinn_problem_draw_plan(run->problem);
  return RPINN_OK;
}

static RpinnStatus end(PaperRun *run, RpinnStatus status) {
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

static RpinnStatus perform(PaperRun *run) {
  RPINN_TRY(begin(run));
  RPINN_TRY(describe_settings(run));
  RPINN_TRY(describe_departures(run));
  RPINN_TRY(make_directory(run));
  if (run->reproduction->interrupted) return RPINN_OK;
  RPINN_TRY(gather_draws(run));
  return fill_figures(run);
}

static RpinnStatus perform_figure(PaperRun *run) {
  RPINN_TRY(begin(run));
  RPINN_TRY(describe_settings(run));
  RPINN_TRY(describe_departures(run));
  if (rpinn_figure_needs_run(run->reproduction)) {
    RPINN_TRY(make_directory(run));
    if (run->reproduction->interrupted) return RPINN_OK;
    RPINN_TRY(open_store(run));
  } else {
    RPINN_TRY(rpinn_posterior_create(run->context, run->problem, true, &run->posterior));
  }
  return rpinn_figure_write_data(run->context, run->reproduction, run->run, run->folder, run->posterior);
}

RpinnStatus rpinn_reproduction_make_run(RpinnContext *context, RpinnReproduction *reproduction,
                                        RpinnReproducedRun *made) {
  PaperRun run = {.context = context, .reproduction = reproduction, .run = made};
  return end(&run, reproduction->is_figure ? perform_figure(&run) : perform(&run));
}

RpinnStatus rpinn_reproduction_estimate_run(RpinnContext *context, RpinnReproduction *reproduction,
                                            RpinnReproducedRun *made, double *seconds) {
  PaperRun run = {.context = context, .reproduction = reproduction, .run = made};
  bool has_members, is_finished = false;
  *seconds = 0;
  RpinnStatus status = begin(&run);
  if (status == RPINN_OK) status = look_at_folder(&run, &has_members, &is_finished);
  if (status == RPINN_OK && !is_finished) status = rpinn_run_estimate(context, run.problem, seconds);
  return end(&run, status);
}
