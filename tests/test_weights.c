/* rpinn weights on models that are linear in their parameters, where all that its rules say can be computed by hand: densities of
 * data from their covariance, balanced weights from the factors of the terms. */
#include "temporary_folder.h"

#include "rpinn/posterior.h"
#include "weights_state.h"

/* Nothing but a test writes here. */
static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static char *read_text(const char *path) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  char *text = calloc(1, 1 << 20);
  assert_non_null(text);
  text[fread(text, 1, (1 << 20) - 1, file)] = '\0';
  fclose(file);
  return text;
}

static RpinnWeightSearch *search_with(RpinnContext *context, const RpinnWeightOptions *options) {
  RpinnWeightSearch *search = NULL;
  RpinnStatus status = rpinn_search_weights(context, options, &search);
  char message[2560];
  rpinn_error_format(rpinn_context_error(context), message, sizeof message);
  check_true(status == RPINN_OK, "%s", message);
  return search;
}

/* Two kinds of measurements and a tolerance, under the paper's likelihood. */
static const char line[] =
    "name: line\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [6], trainable: output}}\n"
    "truth: {u: 0.5 + x}\n"
    "terms:\n"
    "  u: {expect: u, at: {latin_hypercube: 9}, data: truth, noise: 0.1, weight: 40}\n"
    "  ends: {expect: 2*u, at: {boundary: all}, data: 1 + 2*x, perturb: true, noise: 0.2, weight: 5}\n"
    "  slope: {expect: \"d(u, x)\", at: {grid: 3}, data: 1, noise: 0.5, weight: 2}\n"
    "prior: {reference_term: u}\npredict: {grid: 11, quantities: [u]}\n"
    "settings: {likelihood: paper, optimizer: lm, iterations: 60, start: prior, samples: 39, scale_fields: "
    "no, "
    "precision: double, threads: 1}\n";

/* ---- densities from covariances ---- */

enum { MOST_ROWS = 32 };

/* The rows of a posterior whose model is linear, in units of the data: d ~ N(mean, covariance). */
typedef struct Normal {
  size_t count;
  double difference[MOST_ROWS]; /* d - mean */
  double covariance[MOST_ROWS][MOST_ROWS];
} Normal;

static Normal normal_of(const char *file) {
  RpinnContext *context = rpinn_context_create();
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  Normal normal = {0};
  assert_int_equal(rpinn_problem_load(context, file, NULL, &problem), RPINN_OK);
  assert_int_equal(rpinn_posterior_create(context, problem, true, &posterior), RPINN_OK);
  size_t M = rpinn_posterior_num_rows(posterior), N = rpinn_posterior_num_parameters(posterior);
  double scale = rpinn_posterior_prior_sigma(posterior);
  double *theta = calloc(N, sizeof *theta), *jacobian = calloc(M * N, sizeof *jacobian), rows[MOST_ROWS],
         sigma[MOST_ROWS];
  assert_true(M <= MOST_ROWS && theta && jacobian);
  assert_int_equal(rpinn_posterior_residuals(context, posterior, theta, rows, jacobian), RPINN_OK);
  for (size_t t = 0, row = 0; t < posterior->model.num_terms; t++)
    for (size_t i = 0; i < posterior->terms[t].num_rows; i++)
      sigma[row++] = rpinn_posterior_term_sigma(posterior, t);
  normal.count = M;
  for (size_t i = 0; i < M; i++) {
    normal.difference[i] = -sigma[i] * rows[i];
    for (size_t k = 0; k < M; k++) {
      double sum = 0;
      for (size_t j = 0; j < N; j++) sum += jacobian[i * N + j] * jacobian[k * N + j];
      normal.covariance[i][k] = sigma[i] * sigma[k] * (scale * scale * sum + (i == k));
    }
  }
  free(theta);
  free(jacobian);
  rpinn_posterior_destroy(posterior);
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
  return normal;
}

/* log N(d; mean, covariance) of the chosen rows, by elimination. */
static double log_density(const Normal *normal, const bool *chosen) {
  double matrix[MOST_ROWS][MOST_ROWS + 1], result = 0;
  size_t index[MOST_ROWS], count = 0;
  for (size_t i = 0; i < normal->count; i++)
    if (chosen[i]) index[count++] = i;
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < count; k++) matrix[i][k] = normal->covariance[index[i]][index[k]];
    matrix[i][count] = normal->difference[index[i]];
  }
  for (size_t p = 0; p < count; p++) { /* what the rows before say of this one: its variance is the pivot */
    double pivot = matrix[p][p], rest = matrix[p][count];
    result -= 0.5 * (log(2 * 3.14159265358979323846 * pivot) + rest * rest / pivot);
    for (size_t i = p + 1; i < count; i++) {
      double factor = matrix[i][p] / pivot;
      for (size_t k = p; k <= count; k++) matrix[i][k] -= factor * matrix[p][k];
    }
  }
  return result;
}

/* log p(some | others), both of all rows. */
static double log_conditional(const Normal *normal, const bool *some, const bool *others) {
  bool both[MOST_ROWS] = {false};
  for (size_t i = 0; i < normal->count; i++) both[i] = some[i] || others[i];
  return log_density(normal, both) - log_density(normal, others);
}

/* Rows 0 … 8 are u, 9 and 10 ends, the others slope. */
enum { NUM_MEASURED = 11, NUM_ROWS = 14 };

static double evidence_of(const Normal *normal) {
  bool data[MOST_ROWS] = {false}, tolerances[MOST_ROWS] = {false};
  for (size_t i = 0; i < NUM_ROWS; i++) *(i < NUM_MEASURED ? &data[i] : &tolerances[i]) = true;
  return log_conditional(normal, data, tolerances);
}

static double leave_one_out_of(const Normal *normal) {
  double sum = 0;
  for (size_t i = 0; i < NUM_MEASURED; i++) {
    bool one[MOST_ROWS] = {false}, others[MOST_ROWS] = {false};
    for (size_t k = 0; k < NUM_ROWS; k++) others[k] = k != i;
    one[i] = true;
    sum += log_conditional(normal, one, others);
  }
  return sum;
}

static double folds_of(const Normal *normal, const RpinnWeightSearch *search) {
  double sum = 0;
  for (size_t fold = 0; fold < search->num_folds; fold++) {
    bool left[MOST_ROWS] = {false}, others[MOST_ROWS] = {false};
    for (size_t i = 0; i < NUM_ROWS; i++) {
      size_t own = i < 9              ? search->folds[0][i]
                   : i < NUM_MEASURED ? search->folds[1][i - 9]
                                      : search->num_folds;
      left[i] = own == fold;
      others[i] = own != fold;
    }
    sum += log_conditional(normal, left, others);
  }
  return sum;
}

/* The problem with other numbers in the place of weights and epsilon. */
static void write_line(const char *path, double weight_u, double weight_ends, double epsilon) {
  char text[2048], *at;
  snprintf(text, sizeof text, "%s", line);
  char *copy = text;
  char result[4096] = "";
  size_t used = 0;
  for (const char *next; (next = strstr(copy, "weight: "));) {
    used += (size_t)snprintf(result + used, sizeof result - used, "%.*sweight: ", (int)(next - copy), copy);
    at = (char *)next + strlen("weight: ");
    if (!strncmp(at, "40}", 3))
      used += (size_t)snprintf(result + used, sizeof result - used, "%.17g", weight_u);
    else if (!strncmp(at, "5}", 2))
      used += (size_t)snprintf(result + used, sizeof result - used, "%.17g", weight_ends);
    else
      used += (size_t)snprintf(result + used, sizeof result - used, "2");
    copy = at + strcspn(at, "}");
  }
  const char *prior = strstr(copy, "prior: {");
  assert_non_null(prior);
  used += (size_t)snprintf(result + used, sizeof result - used, "%.*sprior: {epsilon: %.17g, ",
                           (int)(prior - copy), copy, epsilon);
  snprintf(result + used, sizeof result - used, "%s", prior + strlen("prior: {"));
  write_text(path, result);
}

/* Every candidate of a map of two weights: leave-one-out, evidence and folds are those of the exact covariance, at members and
 * wherever the searches ended, because the model is linear. */
static void densities_are_exact(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  const char *const searches[] = {"weight:u=4,40,400", "weight:ends=1,5"};
  write_text("line.yaml", line);
  RpinnWeightOptions options = {.problem = "line.yaml",
                                .rules = "loo,evidence,folds",
                                .num_searches = 2,
                                .searches = searches,
                                .num_folds = 4,
                                .members = "39",
                                .folder = "exact"};
  RpinnWeightSearch *search = search_with(context, &options);
  assert_int_equal(search->num_grid, 6);
  size_t best[3] = {0};
  for (size_t k = 0; k < 6; k++) {
    const RpinnWeightCandidate *candidate = &search->candidates[k];
    write_line("other.yaml", candidate->at[0], candidate->at[1], 0);
    Normal normal = normal_of("other.yaml");
    assert_int_equal(normal.count, NUM_ROWS);
    check_close(candidate->look.leave_one_out, leave_one_out_of(&normal), 1e-6);
    check_close(candidate->look.log_evidence, evidence_of(&normal), 1e-6);
    check_close(candidate->folds, folds_of(&normal, search), 1e-6);
    if (candidate->look.leave_one_out > search->candidates[best[0]].look.leave_one_out) best[0] = k;
    if (candidate->look.log_evidence > search->candidates[best[1]].look.log_evidence) best[1] = k;
    if (candidate->folds > search->candidates[best[2]].folds) best[2] = k;
  }
  assert_int_equal(search->num_choices, 4);
  for (size_t c = 0; c < 3; c++) assert_int_equal(search->choices[c + 1].candidate, best[c]);
  /* s_u = noise_u and s_p^2 = noise_u^2 weight_u / N_u, s_t^2 = N_t s_p^2 / weight_t */
  const RpinnWeightCandidate *last = &search->candidates[5];
  check_relative(last->sigmas[0], 0.1, 1e-12);
  check_relative(last->prior, 0.1 * sqrt(400 / 9.0), 1e-12);
  check_relative(last->sigmas[1], last->prior * sqrt(2 / 5.0), 1e-12);
  /* What is given stands in the grid, and is found by the same looks. */
  assert_int_equal(search->candidates[6].same_as, 3);
  rpinn_weight_search_destroy(search);
  rpinn_context_destroy(context);
}

/* Epsilon widens all deviations: it is found by the same densities, and mse has nothing to say of it. */
static void epsilon_is_searched(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  const char *const searches[] = {"epsilon=0,0.05,0.3"};
  write_text("line.yaml", line);
  RpinnWeightOptions options = {.problem = "line.yaml",
                                .rules = "evidence",
                                .num_searches = 1,
                                .searches = searches,
                                .members = "39",
                                .folder = "epsilon",
                                .file = "with.yaml"};
  RpinnWeightSearch *search = search_with(context, &options);
  for (size_t k = 0; k < 3; k++) {
    write_line("other.yaml", 40, 5, search->candidates[k].at[0]);
    Normal normal = normal_of("other.yaml");
    check_close(search->candidates[k].look.log_evidence, evidence_of(&normal), 1e-6);
  }
  rpinn_weight_search_destroy(search);
  options.rules = "mse";
  assert_int_equal(rpinn_search_weights(context, &options, &search), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "do not depend on it"));
  rpinn_context_destroy(context);
}

/* ---- weights without a search ---- */

/* Terms that are c times the same: L_t = c^2 L, whatever the point, so that weights go as 1/c^2. A term with every point twice has the
 * same mean square, gradient and trace for each row. */
static const char alike[] =
    "name: alike\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [5]}}\n"
    "terms:\n"
    "  one: {expect: u, at: {points: [[0], [0.3], [1]]}, data: 1 + x, noise: 0.1, weight: 100}\n"
    "  three: {expect: 3*u, at: {points: [[0], [0.3], [1]]}, data: 3 + 3*x, noise: 0.1, weight: 7}\n"
    "  twice: {expect: 0.5*u, at: {points: [[0], [0.3], [1], [0], [0.3], [1]]}, data: 0.5 + 0.5*x, noise: "
    "0.1, "
    "weight: 900}\n"
    "prior: {reference_term: one}\npredict: {grid: 3, quantities: [u]}\n"
    "settings: {likelihood: paper, samples: 39, scale_fields: no, threads: 1}\n";

static const RpinnWeightCandidate *chosen_by(const RpinnWeightSearch *search, const char *label) {
  for (size_t c = 0; c < search->num_choices; c++)
    if (!strcmp(search->choices[c].label, label)) return &search->candidates[search->choices[c].candidate];
  print_error("nothing was chosen by %s\n", label);
  fail();
  return NULL;
}

static void balance_is_exact(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  const char *const searches[] = {"weight=1"}, *const labels[] = {"gradients, start", "gradients, MAP",
                                                                  "kernel, start", "kernel, MAP"};
  write_text("alike.yaml", alike);
  RpinnWeightOptions options = {.problem = "alike.yaml",
                                .rules = "gradients,kernel,annealing",
                                .num_searches = 1,
                                .searches = searches,
                                .folder = "balance"};
  RpinnWeightSearch *search = search_with(context, &options);
  for (size_t k = 0; k < 4; k++) {
    const double *weights = chosen_by(search, labels[k])->values.weights;
    check_relative(weights[0], 100, 1e-12);
    check_relative(weights[1], 100 / 9.0, 1e-5);
    check_relative(weights[2], 100 / 0.25, 1e-5);
  }
  for (size_t k = 0; k < 2; k++) { /* the largest entry is at least the mean, and alike for both */
    const double *weights = chosen_by(search, k ? "annealing, MAP" : "annealing, start")->values.weights;
    check_relative(weights[0], 100, 1e-12);
    assert_true(9 * weights[1] > 1.01 * weights[0] && 9 * weights[1] < 30 * weights[0]);
    check_relative(weights[2] / weights[1], 9 / 0.25, 1e-5);
  }
  rpinn_weight_search_destroy(search);
  rpinn_context_destroy(context);
}

/* ---- what is written ---- */

/* The file loads to a posterior with the deviations of the table, another search may replace it, and nothing else of ours may be. */
static void written_values_are_chosen(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  const char *const searches[] = {"weight:ends=1,25"};
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  write_text("line.yaml", line);
  RpinnWeightOptions options = {.problem = "line.yaml",
                                .rules = "evidence,loo",
                                .num_searches = 1,
                                .searches = searches,
                                .folder = "written",
                                .file = "chosen-line.yaml"};
  RpinnWeightSearch *search = search_with(context, &options);
  const RpinnWeightCandidate *chosen = &search->candidates[search->choices[1].candidate];
  assert_int_equal(rpinn_problem_load(context, "chosen-line.yaml", NULL, &problem), RPINN_OK);
  assert_int_equal(rpinn_posterior_create(context, problem, true, &posterior), RPINN_OK);
  for (size_t t = 0; t < 3; t++)
    check_relative(rpinn_posterior_term_sigma(posterior, t), chosen->sigmas[t], 1e-15);
  check_relative(rpinn_posterior_prior_sigma(posterior), chosen->prior, 1e-15);
  rpinn_posterior_destroy(posterior);
  rpinn_problem_destroy(problem);
  char *yaml = read_text("written/chosen.yaml");
  char expected[64];
  snprintf(expected, sizeof expected, "  ends: {weight: %g}", chosen->values.weights[1]);
  assert_non_null(strstr(yaml, expected));
  free(yaml);
  rpinn_weight_search_destroy(search);
  rpinn_weight_search_destroy(search_with(context, &options)); /* it is ours */
  options.file = "line.yaml";
  assert_int_equal(rpinn_search_weights(context, &options, &search), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "was not written by a search"));
  rpinn_context_destroy(context);
}

/* ---- going on, and side by side ---- */

typedef struct Patience {
  size_t questions, most;
} Patience;

static bool loses_patience(void *user) {
  Patience *patience = user;
  return ++patience->questions > patience->most;
}

static void check_same(const RpinnWeightSearch *one, const RpinnWeightSearch *other) {
  assert_string_equal(rpinn_weight_search_text(one), rpinn_weight_search_text(other));
  assert_string_equal(rpinn_weight_search_json(one), rpinn_weight_search_json(other));
  assert_string_equal(one->csv.bytes, other->csv.bytes);
}

/* All rules: stopped again and again it ends in the same tables, and so do two runs at once. */
static void stops_and_jobs_leave_no_mark(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  const char *const searches[] = {"weight:u=4,40"};
  Patience patience = {.most = 40};
  size_t num_stops = 0;
  write_text("line.yaml", line);
  RpinnWeightOptions options = {.problem = "line.yaml",
                                .num_searches = 1,
                                .searches = searches,
                                .num_data_sets = 2,
                                .folder = "whole",
                                .user = &patience};
  RpinnWeightSearch *whole = search_with(context, &options), *other;
  check_true(whole->num_rules == 8, "%zu rules", whole->num_rules);
  options.folder = "jobs";
  options.num_jobs = 2;
  other = search_with(context, &options);
  check_same(whole, other);
  rpinn_weight_search_destroy(other);
  options.folder = "stopped";
  options.num_jobs = 0;
  options.interrupted = loses_patience;
  for (;; num_stops++) {
    patience.questions = 0;
    patience.most += 10;
    other = search_with(context, &options);
    if (!rpinn_weight_search_interrupted(other)) break;
    assert_null(rpinn_weight_search_text(other));
    rpinn_weight_search_destroy(other);
  }
  check_true(num_stops >= 3, "%zu stops", num_stops);
  check_same(whole, other);
  rpinn_weight_search_destroy(other);
  rpinn_weight_search_destroy(whole);
  rpinn_context_destroy(context);
}

/* ---- stated noise ---- */

/* Weights mean nothing there, and the noise of data that are made with it is known: a factor moves the tolerance alone. */
static void stated_noise_has_no_weights(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnOverride likelihood = {"likelihood", "noise", "test", true};
  RpinnProblemOptions loading = {.num_overrides = 1, .overrides = &likelihood};
  const char *searches[] = {"weight"};
  RpinnWeightSearch *search;
  write_text("line.yaml", line);
  RpinnWeightOptions options = {.problem = "line.yaml",
                                .loading = &loading,
                                .rules = "evidence",
                                .num_searches = 1,
                                .searches = searches,
                                .folder = "noise"};
  assert_int_equal(rpinn_search_weights(context, &options, &search), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "1/noise^2"));
  searches[0] = "noise:u";
  assert_int_equal(rpinn_search_weights(context, &options, &search), RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(context)->message, "made with the noise that is stated"));
  searches[0] = "noise=0.5,2";
  search = search_with(context, &options);
  check_relative(search->candidates[1].sigmas[0], 0.1, 1e-12);
  check_relative(search->candidates[1].sigmas[1], 0.2, 1e-12);
  check_relative(search->candidates[1].sigmas[2], 1, 1e-12);
  assert_true(search->candidates[0].look.log_evidence != search->candidates[1].look.log_evidence);
  assert_true(search->candidates[0].prior == search->candidates[1].prior);
  rpinn_weight_search_destroy(search);
  options.folder = "usual"; /* scale and shape of the prior, and a given scale that the data choose */
  options.num_searches = 0;
  search = search_with(context, &options);
  assert_int_equal(search->num_axes, 2);
  assert_string_equal(search->axes[0].name, "prior");
  assert_string_equal(search->axes[1].name, "shape");
  assert_int_equal(search->num_grid, 14);
  assert_true(search->candidates[search->num_grid].values.shape == RPINN_PRIOR_FAN_IN);
  check_relative(search->candidates[2].prior, 0.5, 1e-12);
  assert_null(strstr(rpinn_weight_search_text(search), "weight:"));
  rpinn_weight_search_destroy(search);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(densities_are_exact),
                                     cmocka_unit_test(epsilon_is_searched),
                                     cmocka_unit_test(balance_is_exact),
                                     cmocka_unit_test(written_values_are_chosen),
                                     cmocka_unit_test(stops_and_jobs_leave_no_mark),
                                     cmocka_unit_test(stated_noise_has_no_weights)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
