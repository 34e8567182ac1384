/* Runs that can be trusted: the same bytes for any number of threads, draws that have the closed form's mean
 * and covariance on a linear model, members that fail and are counted, and time limits that cut no member
 * short. */
#include <sys/stat.h>
#include <unistd.h>

#include "problem_folder.h"
#include "temporary_folder.h"

#include "member_store.h"
#include "posterior.h"
#include "rpinn/run.h"
#include "task_pool.h"

static void require(RpinnContext *context, RpinnStatus status) {
  check_true(status == RPINN_OK, "%s", rpinn_context_error(context)->message);
}

enum { MAX_SETTINGS = 16 };

typedef struct Setup {
  const char *problem; /* a name or a path below the source tree */
  size_t num_settings;
  const char *settings[MAX_SETTINGS][2];
} Setup;

/* Make a run in folder/name; returns its status. */
static RpinnStatus make_run(const char *folder, const char *name, const Setup *setup, bool resume,
                            RpinnRun **run) {
  char path[PATH_SIZE], problem_path[PATH_SIZE];
  RpinnOverride overrides[MAX_SETTINGS];
  RpinnContext *context = rpinn_context_create();
  for (size_t k = 0; k < setup->num_settings; k++)
    overrides[k] = (RpinnOverride){setup->settings[k][0], setup->settings[k][1], "test", false};
  bool is_shipped = !strchr(setup->problem, '/'); /* the others state all of their settings */
  RpinnProblemOptions options = {
      .preset = is_shipped ? "paper" : NULL, .num_overrides = setup->num_settings, .overrides = overrides};
  RpinnProblem *problem;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (!is_shipped)
    snprintf(problem_path, sizeof problem_path, "%s/%s", source_folder(), setup->problem);
  else
    snprintf(problem_path, sizeof problem_path, "%s", setup->problem);
  require(context, rpinn_problem_load(context, problem_path, &options, &problem));
  RpinnRunOptions run_options = {.folder = path, .resume = resume};
  RpinnStatus status = rpinn_run(context, problem, &run_options, run);
  if (status != RPINN_OK) print_message("  %s\n", rpinn_context_error(context)->message);
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
  return status;
}

static char *read_text(const char *folder, const char *name, const char *file) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/%s/%s", folder, name, file);
  FILE *stream = fopen(path, "rb");
  check_true(stream != NULL, "no %s", path);
  char *text = calloc(1 << 22, 1);
  size_t length = fread(text, 1, (1 << 22) - 1, stream);
  assert_true(length > 0);
  fclose(stream);
  return text;
}

static size_t read_bytes(const char *folder, const char *name, const char *file, char *bytes, size_t limit) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/%s/%s", folder, name, file);
  FILE *stream = fopen(path, "rb");
  check_true(stream != NULL, "no %s", path);
  size_t length = fread(bytes, 1, limit, stream);
  assert_true(length > 0 && length < limit);
  fclose(stream);
  return length;
}

static void assert_same_posterior(const char *folder, const char *first, const char *second) {
  enum { LIMIT = 1 << 22 };
  char *a = malloc(LIMIT), *b = malloc(LIMIT);
  size_t length = read_bytes(folder, first, "posterior.nc", a, LIMIT);
  assert_int_equal(read_bytes(folder, second, "posterior.nc", b, LIMIT), length);
  assert_memory_equal(a, b, length);
  free(a);
  free(b);
}

static void assert_same_file(const char *folder, const char *first, const char *second, const char *file) {
  char *a = read_text(folder, first, file), *b = read_text(folder, second, file);
  assert_string_equal(a, b);
  free(a);
  free(b);
}

/* A fresh folder, removed with all that is in it. */
static void make_folder(char folder[32]) {
  snprintf(folder, 32, "run_test_XXXXXX");
  assert_non_null(mkdtemp(folder));
}

static void remove_folder(const char *folder) {
  remove_tree(folder);
}

static void threads_leave_no_mark(void **state) {
  (void)state;
  char folder[32];
  RpinnRun *run;
  Setup setup = {
      "poisson-nonlinear",
      5,
      {{"method", "rpinn"}, {"samples", "9"}, {"iterations", "150"}, {"Nf", "8"}, {"threads", "1"}}};
  make_folder(folder);
  assert_int_equal(make_run(folder, "one", &setup, false, &run), RPINN_OK);
  rpinn_run_destroy(run);
  setup.settings[4][1] = "3";
  assert_int_equal(make_run(folder, "three", &setup, false, &run), RPINN_OK);
  rpinn_run_destroy(run);
  assert_same_file(folder, "one", "three", "predictions.csv");
  assert_same_file(folder, "one", "three", "summary.csv");
  assert_same_posterior(folder, "one", "three");
  /* Member k does not depend on how many there are: 4 extended to 9 give the same. */
  setup.settings[1][1] = "4";
  assert_int_equal(make_run(folder, "extended", &setup, false, &run), RPINN_OK);
  rpinn_run_destroy(run);
  setup.settings[1][1] = "9";
  assert_int_equal(make_run(folder, "extended", &setup, true, &run), RPINN_OK);
  rpinn_run_destroy(run);
  assert_same_file(folder, "one", "extended", "predictions.csv");
  assert_same_posterior(folder, "one", "extended");
  /* Other settings are refused, and nothing is lost by trying. */
  setup.settings[2][1] = "151";
  assert_int_equal(make_run(folder, "extended", &setup, true, &run), RPINN_ERROR_INPUT);
  assert_null(run);
  setup.settings[2][1] = "150";
  assert_int_equal(make_run(folder, "extended", &setup, true, &run), RPINN_OK);
  rpinn_run_destroy(run);
  assert_same_file(folder, "one", "extended", "predictions.csv");
  remove_folder(folder);
}

static double number_after(const char *text, const char *key) {
  const char *at = strstr(text, key);
  check_true(at != NULL, "no %s in %s", key, text);
  return strtod(at + strlen(key), NULL);
}

/* The numbers of one line of CSV. */
static size_t split_line(const char *line, size_t limit, double *fields) {
  size_t count = 0;
  for (const char *at = line; count < limit; at++) {
    char *end;
    fields[count++] = strtod(at, &end);
    at = end;
    if (*at != ',') break;
  }
  return count;
}

/* Solve A x = b for symmetric positive definite A [n][n] and several right sides b [n][m], by elimination. */
static void solve(size_t n, size_t m, double *A, double *b) {
  for (size_t k = 0; k < n; k++)
    for (size_t i = k + 1; i < n; i++) {
      double factor = A[i * n + k] / A[k * n + k];
      for (size_t j = k; j < n; j++) A[i * n + j] -= factor * A[k * n + j];
      for (size_t j = 0; j < m; j++) b[i * m + j] -= factor * b[k * m + j];
    }
  for (size_t i = n; i-- > 0;)
    for (size_t j = 0; j < m; j++) {
      for (size_t k = i + 1; k < n; k++) b[i * m + j] -= A[i * n + k] * b[k * m + j];
      b[i * m + j] /= A[i * n + i];
    }
}

/* On a linear model u(x) = phi(x) theta the posterior of u is normal with phi C phi^T, C = (J^T J + P^2)^-1:
 * the draws' mean and standard deviation at every prediction point must agree within Monte Carlo error. */
static void check_linear_draws(const char *file) {
  enum { SAMPLES = 4000 };
  char folder[32], path[PATH_SIZE];
  RpinnRun *run;
  Setup setup = {file,
                 5,
                 {{"method", "rpinn"},
                  {"samples", "4000"},
                  {"optimizer", "lm"},
                  {"precision", "double"},
                  {"iterations", "100"}}};
  make_folder(folder);
  assert_int_equal(make_run(folder, "linear", &setup, false, &run), RPINN_OK);
  assert_true(number_after(rpinn_run_json(run), "\"effective_size\": ") > SAMPLES - 1e-3);
  assert_non_null(strstr(rpinn_run_json(run), "\"constant\": true"));
  rpinn_run_destroy(run);

  RpinnContext *context = rpinn_context_create();
  RpinnOverride plain = {"backend", "plain", "test", true};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = &plain};
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  snprintf(path, sizeof path, "%s/%s", source_folder(), setup.problem);
  require(context, rpinn_problem_load(context, path, &options, &problem));
  require(context, rpinn_posterior_create(context, problem, true, &posterior));
  size_t M = posterior->model.num_rows, N = posterior->model.num_parameters;
  size_t V = problem->num_predicted * posterior->data->predict.count;
  double *theta = calloc(N, sizeof(double)), *rows = calloc(M, sizeof(double)),
         *J = calloc(M * N, sizeof(double));
  double *A = calloc(N * N, sizeof(double)), *mean = calloc(N, sizeof(double)),
         *at_zero = calloc(V, sizeof(double));
  double *phi = calloc(V * N, sizeof(double)), *right = calloc(N * V, sizeof(double)),
         *column = calloc(V, sizeof(double));
  require(context, rpinn_posterior_residuals(context, posterior, theta, rows, J));
  require(context, rpinn_posterior_predict(context, posterior, theta, at_zero));
  for (size_t a = 0; a < N; a++) {
    double root = posterior->model.prior_root[a];
    theta[a] = 1;
    require(context, rpinn_posterior_predict(context, posterior, theta, column));
    theta[a] = 0;
    for (size_t v = 0; v < V; v++) right[a * V + v] = phi[v * N + a] = column[v] - at_zero[v];
    for (size_t i = 0; i < M; i++) mean[a] -= J[i * N + a] * rows[i];
    for (size_t b = 0; b < N; b++) {
      A[a * N + b] = a == b ? root * root : 0;
      for (size_t i = 0; i < M; i++) A[a * N + b] += J[i * N + a] * J[i * N + b];
    }
  }
  double *copy = calloc(N * N, sizeof(double));
  memcpy(copy, A, N * N * sizeof(double));
  solve(N, 1, copy, mean);
  solve(N, V, A, right); /* C phi^T */
  char *csv = read_text(folder, "linear", "predictions.csv");
  char *line = strchr(csv, '\n') + 1;
  double worst_mean = 0, worst_spread = 0;
  size_t points = posterior->data->predict.count, d = problem->num_coordinates;
  for (size_t p = 0; p < points; p++, line = strchr(line, '\n') + 1) {
    double fields[32];
    size_t num_fields = split_line(line, 32, fields);
    /* coordinates; mean, std, three quantiles, truth; bands of measurements may follow */
    assert_true(num_fields >= d + 6 * problem->num_predicted);
    for (size_t q = 0; q < problem->num_predicted; q++) {
      size_t v = q * points + p;
      double expected = at_zero[v], variance = 0;
      for (size_t a = 0; a < N; a++) {
        expected += phi[v * N + a] * mean[a];
        variance += phi[v * N + a] * right[a * V + v];
      }
      double found_mean = fields[d + 6 * q], found_spread = fields[d + 1 + 6 * q], spread = sqrt(variance);
      worst_mean = fmax(worst_mean, fabs(found_mean - expected) / (spread / sqrt(SAMPLES)));
      worst_spread = fmax(worst_spread, fabs(found_spread / spread - 1) * sqrt(2.0 * SAMPLES));
    }
  }
  print_message("  mean off by at most %.2f, spread by %.2f standard errors over %zu values\n", worst_mean,
                worst_spread, V);
  assert_true(worst_mean < 5);
  assert_true(worst_spread < 5);
  double *rest[] = {theta, rows, J, A, mean, at_zero, phi, right, column, copy};
  for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) free(rest[i]);
  free(csv);
  rpinn_posterior_destroy(posterior);
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
  remove_folder(folder);
}

static void linear_draws_are_the_posterior(void **state) {
  (void)state;
  check_linear_draws("tests/problems/linear-model.yaml");
}

/* The same with a Gaussian prior among the terms: offsets act on its mixed rows like on any other. Its closed form is
 * compared with dense formulas in test_gaussian_term.c. */
static void linear_draws_with_a_gaussian_prior(void **state) {
  (void)state;
  check_linear_draws("tests/problems/linear-gaussian.yaml");
}

/* A learning rate that throws every member to infinity: all fail, after all their retries, and the run says
 * so. */
static void failures_are_counted(void **state) {
  (void)state;
  char folder[32];
  RpinnRun *run;
  Setup setup = {"tests/problems/functions.yaml",
                 6,
                 {{"method", "ensemble"},
                  {"samples", "3"},
                  {"iterations", "300"},
                  {"learning_rate", "900000"},
                  {"decay_rate", "1"},
                  {"retries", "1"}}};
  make_folder(folder);
  assert_int_equal(make_run(folder, "wild", &setup, false, &run), RPINN_ERROR_NUMERIC);
  assert_null(run);
  char *log = read_text(folder, "wild", "run.log");
  assert_non_null(strstr(log, "member 0 failed: non-finite in 2 attempts"));
  assert_non_null(strstr(log, "all 3 failed"));
  free(log);
  remove_folder(folder);
}

/* A time limit ends the run between members: those that were begun are whole, and the rest is made by
 * resuming. */
static void time_limits_cut_no_member(void **state) {
  (void)state;
  char folder[32];
  RpinnRun *run;
  Setup setup = {"poisson-linear",
                 5,
                 {{"method", "ensemble"},
                  {"samples", "40"},
                  {"iterations", "1500"},
                  {"threads", "1"},
                  {"time_limit", "0.02"}}};
  make_folder(folder);
  assert_int_equal(make_run(folder, "limited", &setup, false, &run), RPINN_OK);
  double made = number_after(rpinn_run_json(run), "\"samples\": ");
  assert_true(made >= 1 && made < 40);
  assert_non_null(strstr(rpinn_run_json(run), "\"out_of_time\": true"));
  check_close(number_after(rpinn_run_json(run), "\"budget\": "), made,
              0); /* all of them to their last iteration */
  rpinn_run_destroy(run);
  setup.settings[4][1] = "auto";
  assert_int_equal(make_run(folder, "limited", &setup, true, &run), RPINN_OK);
  check_close(number_after(rpinn_run_json(run), "\"samples\": "), 40, 0);
  rpinn_run_destroy(run);
  assert_int_equal(make_run(folder, "whole", &setup, false, &run), RPINN_OK);
  rpinn_run_destroy(run);
  assert_same_file(folder, "whole", "limited", "predictions.csv");
  remove_folder(folder);
}

static RpinnStatus note_task(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  (void)context;
  (void)pool;
  *(uint64_t *)worker += task + 1;
  return RPINN_OK;
}

static RpinnStatus lend_sum(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                            void **worker) {
  (void)context;
  (void)pool;
  (void)thread;
  *worker = user;
  return RPINN_OK;
}

static void keep_sum(void *worker) {
  (void)worker;
}

/* However short the time is, one task is begun: a job that is resumed again and again comes to its end. */
static void a_time_limit_leaves_room_for_one_task(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnTaskPoolResult result = {0};
  uint64_t sum = 0;
  const uint8_t done[] = {1, 0, 0};
  RpinnTaskPoolOptions options = {.num_threads = 1,
                                  .num_tasks = 3,
                                  .done = done,
                                  .time_limit = 1e-12,
                                  .user = &sum,
                                  .open_worker = lend_sum,
                                  .close_worker = keep_sum,
                                  .perform = note_task};
  require(context, rpinn_task_pool_run(context, &options, &result));
  assert_true(result.out_of_time);
  assert_int_equal(sum, 2); /* task 1 alone */
  rpinn_context_destroy(context);
}

/* A store whose members are not those of run.yaml is refused before any of their numbers is read. */
static void members_of_other_lengths_are_refused(void **state) {
  (void)state;
  char folder[32], path[64], store_path[96];
  RpinnRun *run;
  RpinnContext *context = rpinn_context_create();
  RpinnMemberStore *store;
  const Setup setup = {"poisson-linear", 3, {{"method", "ensemble"}, {"samples", "2"}, {"iterations", "20"}}};
  const RpinnStoredMember bare = {.index = 1, .stop = "budget"};
  make_folder(folder);
  assert_int_equal(make_run(folder, "bare", &setup, false, &run), RPINN_OK);
  rpinn_run_destroy(run);
  snprintf(path, sizeof path, "%s/bare", folder);
  snprintf(store_path, sizeof store_path, "%s/checkpoint.db", path);
  require(context, rpinn_member_store_open_existing(context, store_path, &store));
  require(context, rpinn_member_store_put(context, store, &bare));
  require(context, rpinn_member_store_flush(context, store));
  rpinn_member_store_close(store);
  assert_int_equal(rpinn_run_reopen(context, path, &run), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message,
                         "draw 1 has 0 parameters and 0 statistics, expected 2701 and 10"));
  rpinn_context_destroy(context);
  remove_folder(folder);
}

/* Members may begin at the MAP estimate or where those of an earlier run ended; a run of another problem is refused. */
static void starts_from_elsewhere(void **state) {
  (void)state;
  char folder[32], earlier[64];
  RpinnRun *run;
  Setup setup = {"poisson-linear",
                 5,
                 {{"method", "ensemble"},
                  {"samples", "3"},
                  {"iterations", "400"},
                  {"threads", "2"},
                  {"start", "glorot"}}};
  make_folder(folder);
  assert_int_equal(make_run(folder, "earlier", &setup, false, &run), RPINN_OK);
  double first = number_after(rpinn_run_json(run), "\"loss_median\": ");
  rpinn_run_destroy(run);
  snprintf(earlier, sizeof earlier, "%s/earlier", folder);
  setup.settings[4][1] = earlier;
  assert_int_equal(make_run(folder, "later", &setup, false, &run), RPINN_OK);
  assert_true(number_after(rpinn_run_json(run), "\"loss_median\": ") < first);
  rpinn_run_destroy(run);
  setup.settings[4][1] = "map";
  assert_int_equal(make_run(folder, "map", &setup, false, &run), RPINN_OK);
  assert_true(number_after(rpinn_run_json(run), "\"loss_median\": ") < first);
  rpinn_run_destroy(run);
  setup.problem = "tests/problems/burgers.yaml";
  setup.settings[4][1] = earlier;
  assert_int_equal(make_run(folder, "other", &setup, false, &run), RPINN_ERROR_INPUT);
  setup.settings[4][1] = "run_test_nowhere/at/all";
  assert_int_not_equal(make_run(folder, "none", &setup, false, &run), RPINN_OK);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_leave_no_mark),
                                     cmocka_unit_test(linear_draws_are_the_posterior),
                                     cmocka_unit_test(linear_draws_with_a_gaussian_prior),
                                     cmocka_unit_test(failures_are_counted),
                                     cmocka_unit_test(time_limits_cut_no_member),
                                     cmocka_unit_test(a_time_limit_leaves_room_for_one_task),
                                     cmocka_unit_test(members_of_other_lengths_are_refused),
                                     cmocka_unit_test(starts_from_elsewhere)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
