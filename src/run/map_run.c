/* The method map: the minimiser of the energy (with --prior-scale inf: of the misfit alone), as a run
 * directory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_writer.h"
#include "metrics.h"
#include "minimize.h"
#include "posterior.h"
#include "rpinn/run.h"
#include "rpinn/version.h"
#include "run_folder.h"

struct RpinnRun {
  RpinnPosterior *posterior;
  RpinnRunFolder folder;
  const RpinnRunOptions *options; /* while running */
  double *theta;                  /* [N] the best point */
  double *gradient;               /* [N] */
  double *term_energies;          /* [num_terms + 1] there */
  double *predictions;            /* [num_predicted][predict.count] there */
  double energy, gradient_norm, start_energy, seconds;
  RpinnStop stop;
  size_t num_iterations, num_evaluations;
  RpinnTracePoint trace[RPINN_TRACE_CAPACITY];
  size_t num_trace;
  RpinnText json, table;
};

/* ---- the minimisation ---- */

static double number_of(const RpinnProblem *problem, RpinnSetting setting) {
  return problem->settings.values[setting].number;
}

static RpinnMinimizeOptions minimize_options(const RpinnRun *run) {
  const RpinnProblem *problem = run->posterior->problem;
  RpinnAdamRule adam = rpinn_adam_default_options().rule;
  adam.learning_rate = number_of(problem, RPINN_SETTING_LEARNING_RATE);
  adam.decay_rate = number_of(problem, RPINN_SETTING_DECAY_RATE);
  adam.decay_steps = number_of(problem, RPINN_SETTING_DECAY_STEPS);
  bool own_window = !problem->settings.values[RPINN_SETTING_PROGRESS_WINDOW].is_auto;
  return (RpinnMinimizeOptions){
      .minimizer = (RpinnMinimizer)(int)number_of(problem, RPINN_SETTING_OPTIMIZER),
      .iterations = (size_t)number_of(problem, RPINN_SETTING_ITERATIONS),
      .adam = adam,
      .gradient_tolerance = number_of(problem, RPINN_SETTING_GRADIENT_TOLERANCE),
      .progress_tolerance = number_of(problem, RPINN_SETTING_PROGRESS_TOLERANCE),
      .progress_window = own_window ? (size_t)number_of(problem, RPINN_SETTING_PROGRESS_WINDOW) : 0,
      .interrupted = run->options->interrupted,
      .user = run->options->user};
}

static RpinnStatus set_start(RpinnContext *context, RpinnRun *run) {
  const char *start = run->posterior->problem->settings.values[RPINN_SETTING_START].text;
  if (!strcmp(start, "glorot"))
    rpinn_posterior_start_glorot(run->posterior, 0, run->theta);
  else if (!strcmp(start, "zero"))
    rpinn_posterior_start_zero(run->posterior, run->theta);
  else
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED,
                      "start '%s' is not for method map; expected glorot or zero", start);
  return RPINN_OK;
}

/* Advance in slices, so that progress is seen about five times a second. */
static RpinnStatus advance(RpinnRun *run, RpinnOptimizer *optimizer, size_t max_iterations) {
  enum { SLICE = 100 };
  double last_report = 0;
  RpinnOptimum optimum;
  do {
    RPINN_TRY(rpinn_optimizer_advance(optimizer, SLICE));
    optimum = rpinn_optimizer_optimum(optimizer);
    double seconds = rpinn_run_folder_seconds(&run->folder);
    bool report =
        run->options->progress && (seconds - last_report > 0.2 || optimum.stop != RPINN_STOP_RUNNING);
    if (report) {
      RpinnProgress progress = {optimum.num_iterations, max_iterations, optimum.best_loss, seconds};
      run->options->progress(run->options->user, &progress);
      last_report = seconds;
    }
  } while (optimum.stop == RPINN_STOP_RUNNING);
  run->stop = optimum.stop;
  run->num_iterations = optimum.num_iterations;
  run->num_evaluations = optimum.num_evaluations;
  run->num_trace = optimum.num_trace;
  memcpy(run->trace, optimum.trace, optimum.num_trace * sizeof *run->trace);
  memcpy(run->theta, optimum.best_theta, run->posterior->model.num_parameters * sizeof *run->theta);
  return RPINN_OK;
}

static RpinnStatus minimize(RpinnContext *context, RpinnRun *run) {
  RpinnPosteriorMember member = {run->posterior, NULL};
  RpinnObjective objective = rpinn_posterior_objective(&member);
  RpinnLeastSquares squares = rpinn_posterior_least_squares(run->posterior);
  RpinnMinimizeOptions options = minimize_options(run);
  RpinnOptimizer *optimizer = NULL;
  RPINN_TRY(set_start(context, run));
  RPINN_TRY(rpinn_posterior_energy(run->posterior, run->theta, NULL, &run->start_energy, NULL, NULL));
  rpinn_run_folder_log(&run->folder, "start: energy %.10g", run->start_energy);
  RPINN_TRY(rpinn_minimize_create(context, &options, &objective, &squares, NULL, &optimizer));
  RpinnStatus status = rpinn_optimizer_start(optimizer, run->theta);
  if (status == RPINN_OK) status = advance(run, optimizer, options.iterations);
  rpinn_optimizer_destroy(optimizer);
  RPINN_TRY(status);
  RPINN_TRY(rpinn_posterior_energy(run->posterior, run->theta, NULL, &run->energy, run->gradient,
                                   run->term_energies));
  double sum = 0;
  for (size_t j = 0; j < run->posterior->model.num_parameters; j++)
    sum += run->gradient[j] * run->gradient[j];
  run->gradient_norm = sqrt(sum);
  run->seconds = rpinn_run_folder_seconds(&run->folder);
  rpinn_run_folder_log(
      &run->folder, "stop: %s (%s) after %zu iterations, %zu evaluations: energy %.10g, gradient norm %.3g",
      rpinn_stop_name(run->stop), rpinn_stop_meaning(run->stop), run->num_iterations, run->num_evaluations,
      run->energy, run->gradient_norm);
  return run->posterior->problem->has_predict
             ? rpinn_posterior_predict(run->posterior, run->theta, run->predictions)
             : RPINN_OK;
}

/* ---- results ---- */

static const char *precision_name(const RpinnPosterior *posterior) {
  static const char *const names[] = {"float", "double", "tf32"};
  return names[posterior->precision];
}

static void json_quantities(const RpinnRun *run, RpinnJson *json) {
  const RpinnProblem *problem = run->posterior->problem;
  const RpinnDataSet *data = run->posterior->data;
  rpinn_json_open(json, "quantities", '{');
  for (size_t q = 0; q < problem->num_predicted; q++) {
    const double *truth = data->predicted_truth[q], *prediction = run->predictions + q * data->predict.count;
    rpinn_json_open(json, problem->predicted[q].name, '{');
    rpinn_json_number(json, "rl2",
                      truth ? rpinn_metric_relative_l2(data->predict.count, prediction, truth) : (double)NAN);
    rpinn_json_number(json, "linf",
                      truth ? rpinn_metric_largest_error(data->predict.count, prediction, truth)
                            : (double)NAN);
    rpinn_json_close(json, '}');
  }
  rpinn_json_close(json, '}');
}

static void json_map(const RpinnRun *run, RpinnJson *json) {
  const RpinnPosterior *posterior = run->posterior;
  rpinn_json_open(json, "map", '{');
  rpinn_json_text(json, "optimizer", posterior->problem->settings.values[RPINN_SETTING_OPTIMIZER].text);
  rpinn_json_text(json, "start", posterior->problem->settings.values[RPINN_SETTING_START].text);
  rpinn_json_text(json, "stop", rpinn_stop_name(run->stop));
  rpinn_json_text(json, "stop_meaning", rpinn_stop_meaning(run->stop));
  rpinn_json_number(json, "loss", run->energy);
  rpinn_json_number(json, "start_loss", run->start_energy);
  rpinn_json_open(json, "term_losses", '{');
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    rpinn_json_number(json, rpinn_posterior_term_name(posterior, t), run->term_energies[t]);
  rpinn_json_close(json, '}');
  rpinn_json_number(json, "prior_loss", run->term_energies[posterior->model.num_terms]);
  rpinn_json_number(json, "gradient_norm", run->gradient_norm);
  rpinn_json_number(json, "iterations", (double)run->num_iterations);
  rpinn_json_number(json, "evaluations", (double)run->num_evaluations);
  rpinn_json_open(json, "trace", '[');
  for (size_t k = 0; k < run->num_trace; k++) {
    rpinn_json_open(json, NULL, '[');
    rpinn_json_number(json, NULL, (double)run->trace[k].iteration);
    rpinn_json_number(json, NULL, run->trace[k].loss);
    rpinn_json_close(json, ']');
  }
  rpinn_json_close(json, ']');
  rpinn_json_close(json, '}');
}

static void json_unknowns(const RpinnRun *run, RpinnJson *json) {
  const RpinnProblem *problem = run->posterior->problem;
  rpinn_json_open(json, "unknowns", '{');
  for (size_t k = 0; k < problem->num_unknowns; k++) {
    double value = run->theta[run->posterior->model.unknown_start + k];
    if (problem->unknowns[k].transform == RPINN_TRANSFORM_LOG) value = exp(value);
    rpinn_json_number(json, problem->unknowns[k].name, value);
  }
  rpinn_json_close(json, '}');
}

static void make_json(RpinnRun *run) {
  const RpinnPosterior *posterior = run->posterior;
  RpinnJson json = {.text = &run->json};
  bool converged = rpinn_stop_is_converged(run->stop);
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "problem", posterior->problem->name);
  rpinn_json_text(&json, "method", "map");
  rpinn_json_text(&json, "backend", posterior->backend->operations->name);
  rpinn_json_text(&json, "precision", precision_name(posterior));
  rpinn_json_number(&json, "seed", (double)posterior->seed);
  rpinn_json_number(&json, "samples", 1);
  rpinn_json_number(&json, "wall_seconds", run->seconds);
  rpinn_json_text(&json, "version", rpinn_version());
  rpinn_json_open(&json, "sigmas", '{');
  rpinn_json_open(&json, "terms", '{');
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    rpinn_json_number(&json, rpinn_posterior_term_name(posterior, t),
                      rpinn_posterior_term_sigma(posterior, t));
  rpinn_json_close(&json, '}');
  rpinn_json_number(&json, "prior", posterior->sigmas.prior);
  rpinn_json_close(&json, '}');
  json_quantities(run, &json);
  json_unknowns(run, &json);
  rpinn_json_open(&json, "members", '{');
  rpinn_json_number(&json, "converged", converged);
  rpinn_json_number(&json, "failed", run->stop == RPINN_STOP_NOT_FINITE);
  rpinn_json_number(&json, "loss_median", run->energy);
  rpinn_json_number(&json, "gradient_norm_median", run->gradient_norm);
  rpinn_json_number(&json, "iterations", (double)run->num_iterations);
  rpinn_json_close(&json, '}');
  json_map(run, &json);
  rpinn_json_close(&json, '}');
  rpinn_text_append(&run->json, "\n");
}

static void make_table(RpinnRun *run) {
  const RpinnPosterior *posterior = run->posterior;
  const RpinnProblem *problem = posterior->problem;
  RpinnText *text = &run->table;
  rpinn_text_append(text, "%s, map by %s: stopped after %zu iterations in %.2f s because %s\n", problem->name,
                    problem->settings.values[RPINN_SETTING_OPTIMIZER].text, run->num_iterations, run->seconds,
                    rpinn_stop_meaning(run->stop));
  rpinn_text_append(text, "\n  %-18s %12s\n", "loss", "");
  for (size_t t = 0; t < posterior->model.num_terms; t++)
    rpinn_text_append(text, "  %-18s %12.5g\n", rpinn_posterior_term_name(posterior, t),
                      run->term_energies[t]);
  rpinn_text_append(text, "  %-18s %12.5g\n  %-18s %12.5g  (at the start %.5g)\n  %-18s %12.3g\n", "prior",
                    run->term_energies[posterior->model.num_terms], "total", run->energy, run->start_energy,
                    "gradient norm", run->gradient_norm);
  if (problem->num_predicted) rpinn_text_append(text, "\n  %-18s %12s %12s\n", "quantity", "rl2", "linf");
  for (size_t q = 0; q < problem->num_predicted; q++) {
    size_t count = posterior->data->predict.count;
    const double *truth = posterior->data->predicted_truth[q], *prediction = run->predictions + q * count;
    if (truth)
      rpinn_text_append(text, "  %-18s %12.3e %12.3e\n", problem->predicted[q].name,
                        rpinn_metric_relative_l2(count, prediction, truth),
                        rpinn_metric_largest_error(count, prediction, truth));
    else
      rpinn_text_append(text, "  %-18s %12s %12s  (no truth to compare with)\n", problem->predicted[q].name,
                        "-", "-");
  }
  for (size_t k = 0; k < problem->num_unknowns; k++) {
    double value = run->theta[posterior->model.unknown_start + k];
    if (problem->unknowns[k].transform == RPINN_TRANSFORM_LOG) value = exp(value);
    rpinn_text_append(text, "  %-18s %12.6g\n", problem->unknowns[k].name, value);
  }
}

/* <coordinates>,<quantities>, and <quantity>_truth where it is known. */
static void write_predictions(const RpinnRun *run, RpinnText *csv) {
  const RpinnProblem *problem = run->posterior->problem;
  const RpinnDataSet *data = run->posterior->data;
  char number[RPINN_NUMBER_TEXT];
  for (size_t i = 0; i < problem->num_coordinates; i++)
    rpinn_text_append(csv, "%s,", problem->coordinates[i].name);
  for (size_t q = 0; q < problem->num_predicted; q++) {
    rpinn_text_append(csv, "%s%s", q ? "," : "", problem->predicted[q].name);
    if (data->predicted_truth[q]) rpinn_text_append(csv, ",%s_truth", problem->predicted[q].name);
  }
  rpinn_text_append(csv, "\n");
  for (size_t p = 0; p < data->predict.count; p++) {
    for (size_t i = 0; i < problem->num_coordinates; i++) {
      rpinn_number_format(data->predict.x[p * problem->num_coordinates + i], number);
      rpinn_text_append(csv, "%s,", number);
    }
    for (size_t q = 0; q < problem->num_predicted; q++) {
      rpinn_number_format(run->predictions[q * data->predict.count + p], number);
      rpinn_text_append(csv, "%s%s", q ? "," : "", number);
      if (!data->predicted_truth[q]) continue;
      rpinn_number_format(data->predicted_truth[q][p], number);
      rpinn_text_append(csv, ",%s", number);
    }
    rpinn_text_append(csv, "\n");
  }
}

static RpinnStatus write_results(RpinnContext *context, RpinnRun *run) {
  if (run->posterior->problem->has_predict) {
    RpinnText csv = {0};
    write_predictions(run, &csv);
    RpinnStatus status = rpinn_run_folder_write(context, &run->folder, "predictions.csv", &csv);
    rpinn_text_free(&csv);
    RPINN_TRY(status);
  }
  make_json(run);
  make_table(run);
  if (run->table.failed) return rpinn_fail_memory(context);
  return rpinn_run_folder_write(context, &run->folder, "summary.json", &run->json);
}

/* ---- the whole ---- */

static RpinnStatus perform(RpinnContext *context, RpinnProblem *problem, RpinnRun *run) {
  const char *method = problem->settings.values[RPINN_SETTING_METHOD].text;
  if (strcmp(method, "map") != 0)
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED,
                      "method %s is not in this version; expected --method map", method);
  RPINN_TRY(rpinn_posterior_create(context, problem, true, &run->posterior));
  const RpinnEnergyModel *model = &run->posterior->model;
  RpinnArena *arena = run->posterior->arena;
  run->theta = RPINN_ARENA_NEW(arena, double, model->num_parameters);
  run->gradient = RPINN_ARENA_NEW(arena, double, model->num_parameters);
  run->term_energies = RPINN_ARENA_NEW(arena, double, model->num_terms + 1);
  run->predictions =
      RPINN_ARENA_NEW(arena, double, problem->num_predicted * run->posterior->data->predict.count);
  if (!run->theta || !run->gradient || !run->term_energies || !run->predictions)
    return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_run_folder_create(context, run->options->folder, &run->folder));
  rpinn_run_folder_log(&run->folder, "rpinn %s: problem %s, method map, backend %s, precision %s, seed %llu",
                       rpinn_version(), problem->name, run->posterior->backend->operations->name,
                       precision_name(run->posterior), (unsigned long long)run->posterior->seed);
  RPINN_TRY(rpinn_posterior_save(context, run->posterior, run->folder.path));
  RPINN_TRY(minimize(context, run));
  return write_results(context, run);
}

RpinnStatus rpinn_run(RpinnContext *context, RpinnProblem *problem, const RpinnRunOptions *options,
                      RpinnRun **run) {
  *run = calloc(1, sizeof **run);
  if (!*run) return rpinn_fail_memory(context);
  (*run)->options = options;
  RpinnStatus status = perform(context, problem, *run);
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context); /* targets report no message of their own */
  if (status != RPINN_OK) rpinn_run_folder_log(&(*run)->folder, "failed: %s", context->error.message);
  rpinn_run_folder_close(&(*run)->folder);
  (*run)->options = NULL;
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_run_destroy(*run);
  *run = NULL;
  return status;
}

void rpinn_run_destroy(RpinnRun *run) {
  if (!run) return;
  rpinn_posterior_destroy(run->posterior);
  rpinn_text_free(&run->json);
  rpinn_text_free(&run->table);
  free(run);
}

bool rpinn_run_interrupted(const RpinnRun *run) {
  return run->stop == RPINN_STOP_INTERRUPTED;
}
const char *rpinn_run_json(const RpinnRun *run) {
  return run->json.bytes;
}
const char *rpinn_run_table(const RpinnRun *run) {
  return run->table.bytes;
}
