/* The whole way to a MAP estimate: on a model that is linear in its parameters every optimiser must find the
 * closed form; and a run directory must hold what it promises. */
#include "problem_folder.h"
#include "temporary_folder.h"

#include "minimize.h"
#include "posterior.h"
#include "rpinn/run.h"

typedef struct Linear {
  RpinnContext *context;
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  size_t M, N;
  double *exact; /* [N] closed form */
  double *offsets;
} Linear;

static void require(RpinnContext *context, RpinnStatus status) {
  check_true(status == RPINN_OK, "%s", rpinn_context_error(context)->message);
}

/* Solve A x = b for a symmetric positive definite A [n][n] by Cholesky. */
static void solve(size_t n, double *A, double *b) {
  for (size_t j = 0; j < n; j++) {
    for (size_t k = 0; k < j; k++) A[j * n + j] -= A[j * n + k] * A[j * n + k];
    A[j * n + j] = sqrt(A[j * n + j]);
    for (size_t i = j + 1; i < n; i++) {
      for (size_t k = 0; k < j; k++) A[i * n + j] -= A[i * n + k] * A[j * n + k];
      A[i * n + j] /= A[j * n + j];
    }
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) b[i] -= A[i * n + k] * b[k];
    b[i] /= A[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; k++) b[i] -= A[k * n + i] * b[k];
    b[i] /= A[i * n + i];
  }
}

/* r(theta) = r0 + J theta, so E is least where (J^T J + P^2) theta = J^T (xi_r - r0) + P^2 mu + P xi_p. */
static void find_exact(Linear *linear) {
  size_t M = linear->M, N = linear->N;
  const RpinnEnergyModel *model = &linear->posterior->model;
  double *theta = calloc(N, sizeof(double)), *rows = calloc(M, sizeof(double)),
         *J = calloc(M * N, sizeof(double));
  double *A = calloc(N * N, sizeof(double));
  require(linear->context, rpinn_posterior_residuals(linear->context, linear->posterior, theta, rows, J));
  for (size_t a = 0; a < N; a++) {
    double root = model->prior_root[a];
    linear->exact[a] = root * (root * model->prior_mean[a] + linear->offsets[M + a]);
    for (size_t i = 0; i < M; i++) linear->exact[a] += J[i * N + a] * (linear->offsets[i] - rows[i]);
    for (size_t b = 0; b < N; b++) {
      A[a * N + b] = a == b ? root * root : 0;
      for (size_t i = 0; i < M; i++) A[a * N + b] += J[i * N + a] * J[i * N + b];
    }
  }
  solve(N, A, linear->exact);
  free(theta);
  free(rows);
  free(J);
  free(A);
}

static Linear open_linear(const char *backend) {
  Linear linear = {.context = rpinn_context_create()};
  char path[PATH_SIZE];
  RpinnOverride overrides[] = {{"backend", backend, "test", true}, {"precision", "double", "test", true}};
  RpinnProblemOptions options = {.num_overrides = 2, .overrides = overrides};
  snprintf(path, sizeof path, "%s/tests/problems/linear-model.yaml", source_folder());
  require(linear.context, rpinn_problem_load(linear.context, path, &options, &linear.problem));
  require(linear.context, rpinn_posterior_create(linear.context, linear.problem, true, &linear.posterior));
  linear.M = rpinn_posterior_num_rows(linear.posterior);
  linear.N = rpinn_posterior_num_parameters(linear.posterior);
  linear.exact = calloc(linear.N, sizeof(double));
  linear.offsets = calloc(linear.M + linear.N, sizeof(double));
  rpinn_posterior_draw_offsets(linear.posterior, 3, linear.offsets);
  find_exact(&linear);
  return linear;
}

static void close_linear(Linear *linear) {
  free(linear->exact);
  free(linear->offsets);
  rpinn_posterior_destroy(linear->posterior);
  rpinn_problem_destroy(linear->problem);
  rpinn_context_destroy(linear->context);
}

static double minimize(Linear *linear, RpinnMinimizer minimizer) {
  RpinnPosteriorMember member = {linear->posterior, linear->offsets, linear->context};
  RpinnObjective objective = rpinn_posterior_objective(&member);
  RpinnLeastSquares squares = rpinn_posterior_least_squares(&member);
  /* Adam's steps must shrink as the end comes near. */
  RpinnMinimizeOptions options = {
      .minimizer = minimizer,
      .iterations = 300000,
      .adam = {5e-2, 0.5, 9000, 0.9, 0.999, 1e-8},
      .gradient_tolerance = minimizer == RPINN_MINIMIZER_ADAM ? (double)NAN : 1e-9,
      .progress_tolerance = minimizer == RPINN_MINIMIZER_LBFGS ? 1e-18 : (double)NAN,
      .progress_window = minimizer == RPINN_MINIMIZER_LBFGS ? 2000 : 0};
  RpinnOptimizer *optimizer;
  double *theta = calloc(linear->N, sizeof(double)), worst = 0;
  RpinnBatchObjective objectives = rpinn_objective_as_batch(&objective);
  RpinnBatchLeastSquares all_squares = rpinn_least_squares_as_batch(&squares);
  require(linear->context, rpinn_minimize_create(linear->context, &options, &objectives, &all_squares, 0,
                                                 linear->offsets, &optimizer));
  rpinn_posterior_start_glorot(linear->posterior, 0, theta);
  require(linear->context, rpinn_optimizer_start(linear->context, optimizer, theta));
  require(linear->context, rpinn_optimizer_advance(linear->context, optimizer, SIZE_MAX));
  RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
  for (size_t j = 0; j < linear->N; j++) worst = fmax(worst, fabs(optimum.theta[j] - linear->exact[j]));
  print_message("  %zu iterations, stop %s, off by %.1e\n", optimum.num_iterations,
                rpinn_stop_name(optimum.stop), worst);
  rpinn_optimizer_destroy(optimizer);
  free(theta);
  return worst;
}

static void every_optimizer_finds_the_closed_form(void **state) {
  (void)state;
  const char *backends[] = {"cpu", "plain"};
  for (size_t k = 0; k < 2; k++) {
    Linear linear = open_linear(backends[k]);
    assert_true(minimize(&linear, RPINN_MINIMIZER_LM) < 1e-8);
    assert_true(minimize(&linear, RPINN_MINIMIZER_LBFGS) < 1e-8);
    if (k == 0) assert_true(minimize(&linear, RPINN_MINIMIZER_ADAM) < 1e-8);
    close_linear(&linear);
  }
}

/* ---- run directories ---- */

static bool is_stopped(void *user) {
  return *(bool *)user;
}

static void run_in(const char *folder, const char *problem_name, const char *optimizer, bool *stop,
                   bool resume, RpinnRun **run) {
  RpinnContext *context = rpinn_context_create();
  RpinnOverride overrides[] = {{"method", "map", "test", true},
                               {"optimizer", optimizer, "test", true},
                               {"iterations", "300", "test", true},
                               {"prior_scale", "inf", "test", true}};
  bool is_shipped = !strchr(problem_name, '/'); /* run.yaml has no presets */
  RpinnProblemOptions options = {
      .preset = is_shipped ? "paper" : NULL, .num_overrides = 4, .overrides = overrides};
  RpinnProblem *problem;
  require(context, rpinn_problem_load(context, problem_name, &options, &problem));
  RpinnRunOptions run_options = {.folder = folder, .resume = resume, .interrupted = is_stopped, .user = stop};
  require(context, rpinn_run(context, problem, &run_options, run));
  /* A second run in the same folder is refused. */
  RpinnRun *second;
  run_options.resume = false;
  assert_int_equal(rpinn_run(context, problem, &run_options, &second), RPINN_ERROR_INPUT);
  assert_null(second);
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
}

static char *read_text(const char *folder, const char *name) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  check_true(file != NULL, "no %s", path);
  char *text = calloc(1 << 20, 1);
  size_t length = fread(text, 1, (1 << 20) - 1, file);
  assert_true(length > 0);
  fclose(file);
  return text;
}

static void remove_run(const char *folder) {
  const char *names[] = {"run.yaml",    "run.log",         "checkpoint.db", "summary.json",
                         "summary.csv", "predictions.csv", "posterior.nc"};
  char path[PATH_SIZE];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    assert_int_equal(unlink(path), 0); /* all there, and nothing else */
  }
  assert_int_equal(rmdir(folder), 0);
}

static void runs_leave_a_directory(void **state) {
  (void)state;
  const char *optimizers[] = {"adam", "lbfgs", "lm"};
  for (size_t k = 0; k < 3; k++) {
    char folder[] = "map_run_XXXXXX", inner[64];
    bool stop = false;
    RpinnRun *run;
    assert_non_null(mkdtemp(folder));
    snprintf(inner, sizeof inner, "%s/a/b", folder);
    run_in(inner, "poisson-linear", optimizers[k], &stop, false, &run);
    assert_false(rpinn_run_interrupted(run));
    char *json = read_text(inner, "summary.json"), *yaml = read_text(inner, "run.yaml"),
         *log = read_text(inner, "run.log");
    assert_string_equal(json, rpinn_run_json(run));
    assert_non_null(strstr(json, "\"prior\": \"inf\"")); /* maximum likelihood */
    assert_non_null(strstr(json, "\"prior_loss_median\": 0,"));
    /* Levenberg–Marquardt has done before its 300 iterations. */
    assert_non_null(strstr(json, k == 2 ? "\"stops\": {\"no_progress\": 1}" : "\"stops\": {\"budget\": 1}"));
    assert_non_null(strstr(json, "\"rl2\": "));
    assert_non_null(strstr(yaml, "prior_scale: inf"));
    assert_non_null(strstr(log, "1 of 1 members are done"));
    free(json);
    free(yaml);
    free(log);
    /* The same run again from its run.yaml writes the same run.yaml and predictions. */
    char again[64], source[80];
    snprintf(again, sizeof again, "%s/again", folder);
    snprintf(source, sizeof source, "%s/run.yaml", inner);
    RpinnRun *repeated;
    run_in(again, source, optimizers[k], &stop, false, &repeated);
    char *first = read_text(inner, "predictions.csv"), *second = read_text(again, "predictions.csv");
    assert_string_equal(first, second);
    free(first);
    free(second);
    first = read_text(inner, "run.yaml");
    second = read_text(again, "run.yaml");
    assert_string_equal(first, second);
    free(first);
    free(second);
    rpinn_run_destroy(run);
    rpinn_run_destroy(repeated);
    remove_run(inner);
    remove_run(again);
    snprintf(inner, sizeof inner, "%s/a", folder);
    assert_int_equal(rmdir(inner), 0);
    assert_int_equal(rmdir(folder), 0);
  }
}

/* Interrupted at once, then resumed: the same predictions as a run that was never stopped. */
static void an_interrupted_run_goes_on(void **state) {
  (void)state;
  char folder[] = "map_run_XXXXXX", whole[64], broken[64];
  bool stop = false;
  RpinnRun *run;
  assert_non_null(mkdtemp(folder));
  snprintf(whole, sizeof whole, "%s/whole", folder);
  snprintf(broken, sizeof broken, "%s/broken", folder);
  run_in(whole, "poisson-nonlinear", "adam", &stop, false, &run);
  rpinn_run_destroy(run);
  stop = true;
  run_in(broken, "poisson-nonlinear", "adam", &stop, false, &run);
  assert_true(rpinn_run_interrupted(run));
  assert_null(rpinn_run_json(run));
  rpinn_run_destroy(run);
  stop = false;
  run_in(broken, "poisson-nonlinear", "adam", &stop, true, &run);
  assert_false(rpinn_run_interrupted(run));
  rpinn_run_destroy(run);
  char *first = read_text(whole, "predictions.csv"), *second = read_text(broken, "predictions.csv");
  assert_string_equal(first, second);
  free(first);
  free(second);
  remove_run(whole);
  remove_run(broken);
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_optimizer_finds_the_closed_form),
                                     cmocka_unit_test(runs_leave_a_directory),
                                     cmocka_unit_test(an_interrupted_run_goes_on)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
