/* The paper's tables: run what they ran, and put ours beside theirs.
 *
 * Ours agrees with the re-run in a figure when
 *
 *   |ours - rerun| <= 4 sqrt(e^2 + e_r^2) + 0.02 |rerun| + half a digit
 *
 * with e the bootstrap standard error of ours from n members and e_r = e sqrt(n / n_r) that of the re-run
 * from its n_r, which is not known and taken to scale as ours. The last term is for shares printed as whole
 * per cent.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap.h"
#include "finished_run.h"
#include "reproduce_state.h"
#include "run_state.h"

enum { QUICK_SAMPLES = 12, QUICK_ITERATIONS = 60, KEPT_BYTES = 128 << 20 };

static const RpinnPaperCase cases[] = {
    {"table1", "poisson-linear", "32", "0.1", 5000, 2000, RPINN_NUM_TABLE_METRICS},
    {"table1", "poisson-linear", "32", "0.01", 5000, 2000, RPINN_NUM_TABLE_METRICS},
    {"table1", "poisson-linear", "128", "0.1", 5000, 2000, RPINN_NUM_TABLE_METRICS},
    {"table1", "poisson-linear", "128", "0.01", 5000, 2000, RPINN_NUM_TABLE_METRICS},
    {"table2", "poisson-nonlinear", "32", "0.1", 5000, 2000, RPINN_NUM_TABLE_METRICS},
    {"table2", "poisson-nonlinear", "32", "0.01", 1000, 20000, RPINN_TABLE_RL2}};
enum { NUM_CASES = sizeof cases / sizeof cases[0] };

static const char *const method_names[] = {"rpinn", "ensemble", "nuts", "svgd"};
enum { NUM_METHODS = 4, NUM_OUR_METHODS = 2, NUM_QUANTITIES = 2 };
static const char *const quantity_names[NUM_QUANTITIES] = {"u", "f"};

/* ---- what is asked for ---- */

static RpinnStatus fail_choice(RpinnContext *context, const char *origin, const char *found,
                               const char *const *names, size_t count) {
  RpinnText list = {0};
  const char *near = rpinn_nearest_name(found, names, count);
  for (size_t i = 0; i < count; i++) rpinn_text_append(&list, "%s%s", i ? " or " : "", names[i]);
  rpinn_fail_at(context, (RpinnPlace){.file = origin}, "found '%.60s'; expected %s%s%s%s", found,
                list.bytes ? list.bytes : "", near ? "; did you mean '" : "", near ? near : "",
                near ? "'?" : "");
  rpinn_text_free(&list);
  return RPINN_ERROR_INPUT;
}

static RpinnStatus read_methods(RpinnContext *context, RpinnReproduction *reproduction, const char *list) {
  while (list) {
    char name[64];
    size_t length = strcspn(list, ","), k = 0;
    snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), list);
    while (k < NUM_METHODS && strcmp(name, method_names[k]) != 0) k++;
    if (k == NUM_METHODS) return fail_choice(context, "--methods", name, method_names, NUM_OUR_METHODS);
    if (k >= NUM_OUR_METHODS)
      return rpinn_fail_at(context, (RpinnPlace){.file = "--methods"},
                           "%s comes with a later version; expected rpinn or ensemble", name);
    if (reproduction->methods[k])
      return rpinn_fail_at(context, (RpinnPlace){.file = "--methods"}, "%s is given twice; expected it once",
                           name);
    reproduction->methods[k] = true;
    list = list[length] ? list + length + 1 : NULL;
  }
  return RPINN_OK;
}

static RpinnStatus read_options(RpinnContext *context, RpinnReproduction *reproduction) {
  static const char *const tables[] = {"table1", "table2"}, *const scales[] = {"quick", "paper"};
  const RpinnReproduceOptions *options = reproduction->options;
  const char *text = rpinn_published_text(options->name);
  if (!text) return fail_choice(context, "rpinn reproduce", options->name, tables, 2);
  reproduction->name = rpinn_arena_copy_text(reproduction->arena, options->name, strlen(options->name));
  reproduction->is_paper_scale = options->scale && !strcmp(options->scale, "paper");
  if (options->scale && !reproduction->is_paper_scale && strcmp(options->scale, "quick") != 0)
    return fail_choice(context, "--scale", options->scale, scales, 2);
  reproduction->has_data = options->data_folder != NULL;
  if (strlen(options->folder) > RPINN_PATH_SIZE / 2 ||
      (options->data_folder && strlen(options->data_folder) > RPINN_PATH_SIZE / 2))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "a folder has more than %d characters",
                      RPINN_PATH_SIZE / 2);
  RPINN_TRY(read_methods(context, reproduction, options->methods ? options->methods : "rpinn,ensemble"));
  return rpinn_published_parse(context, reproduction->arena, options->name, text, &reproduction->published);
}

/* ---- one run ---- */

/* A method on a case: its problem, its directory, its results. */
typedef struct PaperRun {
  RpinnContext *context;
  RpinnReproduction *reproduction;
  const RpinnPaperCase *paper_case;
  const char *method, *name;
  uint64_t samples;
  char folder[RPINN_PATH_SIZE - 128];
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RpinnDrawOutputs outputs;
  RpinnMemberStore *store;
  RpinnKeptDraws *kept;
  double *values;
  size_t num_draws;
  RpinnFinishedRun finished;
} PaperRun;

static RpinnStatus load_problem(PaperRun *run) {
  const RpinnReproduction *reproduction = run->reproduction;
  const RpinnPaperCase *paper = run->paper_case;
  char samples[32], iterations[32], data[RPINN_PATH_SIZE];
  bool full = reproduction->is_paper_scale;
  snprintf(samples, sizeof samples, "%u", full ? paper->samples : QUICK_SAMPLES);
  snprintf(iterations, sizeof iterations, "%u", full ? paper->iterations : QUICK_ITERATIONS);
  static const char origin[] = "rpinn reproduce";
  const RpinnOverride overrides[] = {{"method", run->method, origin, true},
                                     {"samples", samples, origin, true},
                                     {"iterations", iterations, origin, true},
                                     {"Nf", paper->num_points, origin, false},
                                     {"sigma", paper->sigma, origin, false}};
  RpinnProblemOptions options = {.preset = "paper", .num_overrides = 5, .overrides = overrides};
  if (reproduction->has_data) {
    snprintf(data, sizeof data, "%s/%s_Nf%s_sigma%s.csv", reproduction->options->data_folder, paper->problem,
             paper->num_points, paper->sigma);
    char *hyphen = strchr(data + strlen(reproduction->options->data_folder), '-');
    if (hyphen) *hyphen = '_';
    options.data_file = data;
  }
  RPINN_TRY(rpinn_problem_load(run->context, paper->problem, &options, &run->problem));
  run->samples = rpinn_problem_draw_plan(run->problem).num_draws;
  return RPINN_OK;
}

/* Is the directory's run finished, with as many members? */
static RpinnStatus look_at_folder(PaperRun *run, bool *has_members, bool *is_finished) {
  char path[RPINN_PATH_SIZE];
  *is_finished = false;
  snprintf(path, sizeof path, "%s/checkpoint.db", run->folder);
  *has_members = access(path, F_OK) == 0;
  snprintf(path, sizeof path, "%s/summary.json", run->folder);
  if (!*has_members || access(path, F_OK) != 0) return RPINN_OK;
  RPINN_TRY(rpinn_finished_run_open(run->context, run->folder, &run->finished));
  *is_finished = rpinn_summary_number(run->finished.summary, "samples_asked") == (double)run->samples;
  if (!*is_finished) rpinn_finished_run_close(&run->finished);
  return RPINN_OK;
}

static RpinnStatus make_run(PaperRun *run) {
  const RpinnReproduceOptions *options = run->reproduction->options;
  bool has_members, is_finished;
  RPINN_TRY(look_at_folder(run, &has_members, &is_finished));
  if (is_finished) return RPINN_OK;
  if (options->begins) options->begins(options->user, run->name);
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

/* ---- its figures ---- */

static RpinnStatus keep_member(void *user, const RpinnStoredMember *member) {
  PaperRun *run = user;
  if (member->failed) return RPINN_OK;
  RPINN_TRY(rpinn_draw_outputs_evaluate(&run->outputs, member->parameters, run->values));
  return rpinn_kept_draws_add(run->kept, run->num_draws++, run->values);
}

/* The draws of the store, which must have been made with these very settings and data. */
static RpinnStatus gather_draws(PaperRun *run) {
  RpinnText identity = {0};
  char path[RPINN_PATH_SIZE];
  snprintf(path, sizeof path, "%s/checkpoint.db", run->folder);
  RPINN_TRY(rpinn_posterior_create(run->context, run->problem, true, &run->posterior));
  RPINN_TRY(rpinn_draw_outputs_plan(run->context, run->posterior, &run->outputs));
  RpinnStatus status = rpinn_run_identity(run->context, run->posterior, &identity);
  if (status == RPINN_OK) status = rpinn_member_store_open(run->context, path, identity.bytes, &run->store);
  rpinn_text_free(&identity);
  RPINN_TRY(status);
  size_t count = run->outputs.num_values;
  run->values = RPINN_ARENA_NEW(run->posterior->arena, double, count);
  run->kept = rpinn_kept_draws_create(count, rpinn_keep_every((size_t)run->samples, count, KEPT_BYTES));
  if (!run->values || !run->kept) return rpinn_fail_memory(run->context);
  return rpinn_member_store_visit(run->context, run->store, run->samples, keep_member, run);
}

void rpinn_reproduction_judge(const RpinnReproduction *reproduction, RpinnReproducedRow *row) {
  static const double digits[] = {
#define RPINN_TABLE_METRIC_DIGIT(name, key, title, digit) digit,
      RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_DIGIT)
#undef RPINN_TABLE_METRIC_DIGIT
  };
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) {
    row->verdicts[k] = RPINN_VERDICT_NONE;
    row->tolerances[k] = (double)NAN;
    if (!row->rerun || !reproduction->is_paper_scale || !reproduction->has_data) continue;
    double rerun = row->rerun->metrics[k], error = row->errors[k];
    row->tolerances[k] = 4 * sqrt(error * error * (1 + row->members / row->rerun->members)) +
                         0.02 * fabs(rerun) + digits[k] / 2;
    bool only_reported = !strcmp(row->quantity, "u") && row->paper_case->only_reported == (RpinnTableMetric)k;
    row->verdicts[k] = only_reported                                      ? RPINN_VERDICT_REPORTED
                       : fabs(row->ours[k] - rerun) <= row->tolerances[k] ? RPINN_VERDICT_AGREES
                                                                          : RPINN_VERDICT_DIFFERS;
  }
}

static RpinnStatus fill_row(PaperRun *run, RpinnReproducedRow *row) {
  static const char *const keys[] = {
#define RPINN_TABLE_METRIC_KEY(name, key, title, digit) key,
      RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_KEY)
#undef RPINN_TABLE_METRIC_KEY
  };
  const RpinnJsonValue *summary = run->finished.summary,
                       *score = rpinn_json_find(rpinn_json_find(summary, "quantities"), row->quantity);
  size_t q = 0;
  while (q < run->problem->num_predicted && strcmp(run->problem->predicted[q].name, row->quantity) != 0) q++;
  if (!score || q == run->problem->num_predicted || !run->posterior->data->predicted_truth[q])
    return rpinn_fail_at(run->context, (RpinnPlace){.file = run->folder}, "this run has no figures of %s",
                         row->quantity);
  row->run = run->name;
  row->members = rpinn_summary_number(summary, "samples");
  row->iterations = run->problem->settings.values[RPINN_SETTING_ITERATIONS].number;
  row->seconds = rpinn_summary_number(summary, "wall_seconds");
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) row->ours[k] = rpinn_summary_number(score, keys[k]);
  size_t num_points = run->outputs.num_points;
  if (rpinn_bootstrap_errors(run->kept, q * num_points, num_points, run->posterior->data->predicted_truth[q],
                             0, RPINN_BOOTSTRAP_RESAMPLES, row->errors) != RPINN_OK)
    return rpinn_fail_memory(run->context);
  /* Thinned draws vary more than all of them do. */
  double share = sqrt((double)rpinn_kept_draws_count(run->kept) / (double)run->num_draws);
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++) row->errors[k] *= share;
  rpinn_reproduction_judge(run->reproduction, row);
  return RPINN_OK;
}

/* ---- the table ---- */

/* The rows of one case: quantity by quantity, and in each the methods that the table has. */
static RpinnStatus plan_rows(RpinnContext *context, RpinnReproduction *reproduction) {
  reproduction->rows =
      RPINN_ARENA_NEW(reproduction->arena, RpinnReproducedRow, NUM_CASES * NUM_METHODS * NUM_QUANTITIES);
  if (!reproduction->rows) return rpinn_fail_memory(context);
  for (size_t c = 0; c < NUM_CASES; c++)
    for (size_t i = 0; i < NUM_QUANTITIES * NUM_METHODS; i++) {
      const RpinnPaperCase *paper = &cases[c];
      const char *quantity = quantity_names[i / NUM_METHODS], *method = method_names[i % NUM_METHODS];
      const RpinnPublishedRow *published = rpinn_published_find(&reproduction->published, paper->num_points,
                                                                paper->sigma, method, quantity, false);
      if (strcmp(paper->table, reproduction->name) != 0 || !published) continue;
      size_t m = i % NUM_METHODS;
      reproduction->rows[reproduction->num_rows++] =
          (RpinnReproducedRow){.paper_case = paper,
                               .method = method,
                               .quantity = quantity,
                               .published = published,
                               .rerun = rpinn_published_find(&reproduction->published, paper->num_points,
                                                             paper->sigma, method, quantity, true),
                               .reason = m >= NUM_OUR_METHODS        ? "with a later version"
                                         : !reproduction->methods[m] ? "not asked for"
                                                                     : NULL};
    }
  return RPINN_OK;
}

static RpinnStatus perform_run(PaperRun *run) {
  RPINN_TRY(load_problem(run));
  RPINN_TRY(make_run(run));
  if (run->reproduction->interrupted) return RPINN_OK;
  RPINN_TRY(gather_draws(run));
  for (size_t i = 0; i < run->reproduction->num_rows; i++) {
    RpinnReproducedRow *row = &run->reproduction->rows[i];
    if (row->paper_case == run->paper_case && !strcmp(row->method, run->method))
      RPINN_TRY(fill_row(run, row));
  }
  return RPINN_OK;
}

static RpinnStatus reproduce_run(RpinnContext *context, RpinnReproduction *reproduction,
                                 const RpinnPaperCase *paper, const char *method) {
  PaperRun run = {.context = context, .reproduction = reproduction, .paper_case = paper, .method = method};
  char name[128];
  int length = snprintf(name, sizeof name, "%s_Nf%s_sigma%s_%s", paper->problem, paper->num_points,
                        paper->sigma, method);
  run.name = rpinn_arena_copy_text(reproduction->arena, name, (size_t)length);
  if (!run.name) return rpinn_fail_memory(context);
  snprintf(run.folder, sizeof run.folder, "%s/%s", reproduction->options->folder, name);
  RpinnStatus status = perform_run(&run);
  /* Say which of the directories it is. */
  if (status == RPINN_ERROR_INPUT && !context->error.file[0])
    snprintf(context->error.file, sizeof context->error.file, "%.500s", run.folder);
  rpinn_finished_run_close(&run.finished);
  rpinn_kept_draws_destroy(run.kept);
  rpinn_member_store_close(run.store);
  rpinn_posterior_destroy(run.posterior);
  rpinn_problem_destroy(run.problem);
  return status;
}

static RpinnStatus write_files(RpinnContext *context, RpinnReproduction *reproduction) {
  RpinnRunFolder folder = {0};
  snprintf(folder.path, sizeof folder.path, "%s", reproduction->options->folder);
  RPINN_TRY(rpinn_run_folder_write(context, &folder, "reproduce.md", &reproduction->text));
  RPINN_TRY(rpinn_run_folder_write(context, &folder, "reproduce.csv", &reproduction->csv));
  return rpinn_run_folder_write(context, &folder, "reproduce.json", &reproduction->json);
}

static RpinnStatus reproduce(RpinnContext *context, RpinnReproduction *reproduction) {
  RPINN_TRY(read_options(context, reproduction));
  RPINN_TRY(plan_rows(context, reproduction));
  for (size_t c = 0; c < NUM_CASES; c++)
    for (size_t m = 0; m < NUM_OUR_METHODS; m++) {
      if (strcmp(cases[c].table, reproduction->name) != 0 || !reproduction->methods[m]) continue;
      RPINN_TRY(reproduce_run(context, reproduction, &cases[c], method_names[m]));
      if (reproduction->interrupted) return RPINN_OK;
    }
  rpinn_reproduction_report(reproduction);
  return write_files(context, reproduction);
}

RpinnStatus rpinn_reproduce(RpinnContext *context, const RpinnReproduceOptions *options,
                            RpinnReproduction **result) {
  RpinnArena *arena = rpinn_arena_create();
  RpinnReproduction *reproduction = arena ? RPINN_ARENA_NEW(arena, RpinnReproduction, 1) : NULL;
  *result = NULL;
  if (!reproduction) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  reproduction->arena = arena;
  reproduction->options = options;
  RpinnStatus status = reproduce(context, reproduction);
  reproduction->options = NULL;
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context); /* backends report no message of their own */
  if (status == RPINN_OK)
    *result = reproduction;
  else
    rpinn_reproduction_destroy(reproduction);
  return status;
}

void rpinn_reproduction_destroy(RpinnReproduction *reproduction) {
  if (!reproduction) return;
  rpinn_text_free(&reproduction->text);
  rpinn_text_free(&reproduction->csv);
  rpinn_text_free(&reproduction->json);
  rpinn_arena_destroy(reproduction->arena); /* it lives there itself */
}

bool rpinn_reproduction_interrupted(const RpinnReproduction *reproduction) {
  return reproduction->interrupted;
}
const char *rpinn_reproduction_text(const RpinnReproduction *reproduction) {
  return reproduction->text.bytes;
}
const char *rpinn_reproduction_json(const RpinnReproduction *reproduction) {
  return reproduction->json.bytes;
}
