/* The single steps of optimisers: which systems are solved, which point a line search accepts, what L-BFGS remembers, when Levenberg-Marquardt gives
 * up, and how few iterations a known function takes. */
#include <float.h>

#include "optimizer_bench.h"

#include "dense_algebra.h"
#include "line_search.h"
#include "saved_state.h"

/* ---- systems ---- */

enum { ORDER = 5 };

/* A_ij = 1 / (1 + |i - j|), 3 on the diagonal; x_j = j - 1 */
static void fill_system(double *matrix, double *right) {
  for (size_t i = 0; i < ORDER; i++) {
    right[i] = 0;
    for (size_t j = 0; j < ORDER; j++) {
      double distance = fabs((double)i - (double)j);
      matrix[i * ORDER + j] = i == j ? 3 : 1 / (1 + distance);
      right[i] += matrix[i * ORDER + j] * ((double)j - 1);
    }
  }
}

static void systems_are_solved(void **state) {
  (void)state;
  double matrix[ORDER * ORDER], x[ORDER];
  for (int again = 0; again < 2; again++) {
    fill_system(matrix, x);
    if (again) {
      assert_true(rpinn_dense_factor(ORDER, matrix));
      rpinn_dense_solve_factored(ORDER, matrix, x);
    } else {
      assert_true(rpinn_dense_solve(ORDER, matrix, x));
    }
    for (size_t j = 0; j < ORDER; j++) check_close(x[j], (double)j - 1, 1e-14);
  }
  assert_true(rpinn_dense_solve(0, matrix, x));
}

/* A number that is none, or is not finite, below the diagonal or on it, and a matrix that is not definite. */
static void others_are_refused(void **state) {
  (void)state;
  static const double spoilt[] = {NAN, INFINITY, -INFINITY};
  double matrix[ORDER * ORDER], x[ORDER];
  for (size_t k = 0; k < sizeof spoilt / sizeof *spoilt; k++)
    for (size_t place = 0; place < ORDER * ORDER; place++) {
      if (place % ORDER > place / ORDER) continue;
      fill_system(matrix, x);
      matrix[place] = spoilt[k];
      check_true(!rpinn_dense_factor(ORDER, matrix), "%g at %zu", spoilt[k], place);
    }
  fill_system(matrix, x);
  matrix[3 * ORDER + 3] = 0.1;
  assert_false(rpinn_dense_solve(ORDER, matrix, x));
  fill_system(matrix, x);
  x[2] = NAN;
  assert_false(rpinn_dense_solve(ORDER, matrix, x));
}

/* ---- line search ---- */

/* 1 - x + x^12 / 2 is lower at 1 than at 0, but rises steeply there. */
static RpinnStatus wall(void *data, const double *x, double *value, double *gradient) {
  (void)data;
  *value = 1 - x[0] + 0.5 * pow(x[0], 12);
  gradient[0] = -1 + 6 * pow(x[0], 11);
  return RPINN_OK;
}

/* Both Wolfe conditions, whichever side of the minimum the first trial is on. */
static void accepted_steps_are_flat(void **state) {
  (void)state;
  static const double first_steps[] = {1, 1.05, 0.02, 5};
  for (size_t k = 0; k < sizeof first_steps / sizeof *first_steps; k++) {
    double theta = 0, direction = 1, trial, gradient;
    RpinnLineSearch search = {.num_parameters = 1,
                              .theta = &theta,
                              .direction = &direction,
                              .value = 1,
                              .slope = -1,
                              .lowest_value = 1,
                              .rounding = 64 * DBL_EPSILON,
                              .first_step = first_steps[k],
                              .trial_theta = &trial,
                              .trial_gradient = &gradient};
    rpinn_line_search_begin(&search);
    do wall(NULL, &trial, &search.trial_value, &gradient);
    while (rpinn_line_search_answered(&search));
    assert_true(search.found);
    check_true(fabs(gradient) <= 0.9, "first step %g: accepted at %g with a slope of %g", first_steps[k],
               trial, gradient);
    assert_true(search.trial_value <= 1 - 1e-4 * trial);
  }
}

/* -x has no flat point: after 40 trials, each ten times as far, the search settles for the farthest. */
static void a_search_without_end_settles(void **state) {
  (void)state;
  double theta = 0, direction = 1, trial, gradient = -1;
  RpinnLineSearch search = {.num_parameters = 1,
                            .theta = &theta,
                            .direction = &direction,
                            .slope = -1,
                            .rounding = 64 * DBL_EPSILON,
                            .first_step = 1,
                            .trial_theta = &trial,
                            .trial_gradient = &gradient};
  rpinn_line_search_begin(&search);
  do search.trial_value = -trial;
  while (rpinn_line_search_answered(&search));
  assert_true(search.found);
  assert_int_equal(search.num_evaluations, 40 + 1);
  check_relative(trial, 1e39, 1e-12);
}

/* ---- L-BFGS ---- */

/* A quadratic of the curvatures 1 and 4; or, from a point on, the tangent plane there, which has no curvature. */
typedef struct Stage {
  bool is_plane;
  double at[2], value, gradient[2];
  size_t num_calls;
  double first_trial[2]; /* of the last iteration */
} Stage;

static RpinnStatus staged(void *data, const double *x, double *value, double *gradient) {
  Stage *stage = data;
  if (!stage->num_calls++) memcpy(stage->first_trial, x, sizeof stage->first_trial);
  *value = 0.5 * (x[0] * x[0] + 4 * x[1] * x[1]);
  gradient[0] = x[0];
  gradient[1] = 4 * x[1];
  if (!stage->is_plane) return RPINN_OK;
  *value =
      stage->value + stage->gradient[0] * (x[0] - stage->at[0]) + stage->gradient[1] * (x[1] - stage->at[1]);
  memcpy(gradient, stage->gradient, sizeof stage->gradient);
  return RPINN_OK;
}

/* Where a step of length 1 leads with one pair: theta - H g, H = V^T (s.y / y.y) V + rho s s^T, V = I - rho y s^T,
 * rho = 1 / s.y. The pair is the step from `before` to `after` on the quadratic. */
static void expect_trial(const Stage *stage, const double *before, const double *after, const double *theta,
                         const double *g) {
  static const double c[2] = {1, 4};
  double s[2], y[2], v[2], sy = 0, yy = 0, sg = 0, along = 0;
  for (int i = 0; i < 2; i++) {
    s[i] = after[i] - before[i];
    y[i] = c[i] * s[i];
    sy += s[i] * y[i];
    yy += y[i] * y[i];
    sg += s[i] * g[i];
  }
  for (int i = 0; i < 2; i++) {
    v[i] = sy / yy * (g[i] - sg / sy * y[i]); /* (s.y / y.y) V g */
    along += y[i] * v[i];
  }
  for (int i = 0; i < 2; i++)
    check_relative(stage->first_trial[i], theta[i] - (v[i] - along / sy * s[i] + sg / sy * s[i]), 1e-9);
}

typedef struct Search {
  Stage stage;
  RpinnObjective objective;
  RpinnOptimizer *optimizer;
} Search;

static void open_search(Search *search, size_t memory) {
  static const double start[2] = {3, 2};
  *search = (Search){0};
  search->objective = (RpinnObjective){.num_parameters = 2, .data = &search->stage, .evaluate = staged};
  RpinnLbfgsOptions options = {.stop = {.max_iterations = 100}, .memory = memory};
  assert_int_equal(rpinn_lbfgs_create(context, &search->objective, &options, &search->optimizer), RPINN_OK);
  assert_int_equal(rpinn_optimizer_start(context, search->optimizer, start), RPINN_OK);
}

/* One iteration; theta [2] becomes where it led. */
static void step_on(Search *search, double *theta) {
  search->stage.num_calls = 0;
  assert_int_equal(rpinn_optimizer_advance(context, search->optimizer, 1), RPINN_OK);
  memcpy(theta, rpinn_optimizer_optimum(search->optimizer).theta, 2 * sizeof *theta);
}

static void second_step_follows_the_formula(void **state) {
  (void)state;
  Search search;
  double first[2], second[2];
  open_search(&search, 5);
  step_on(&search, first);
  step_on(&search, second);
  expect_trial(&search.stage, (double[]){3, 2}, first, first, (double[]){first[0], 4 * first[1]});
  rpinn_optimizer_destroy(search.optimizer);
}

/* A step without curvature takes the place of the oldest pair and is no pair itself: of two only the newest is left. */
static void steps_without_curvature_are_forgotten(void **state) {
  (void)state;
  Search search;
  Stage *stage = &search.stage;
  double first[2], second[2], third[2], fourth[2];
  open_search(&search, 2);
  step_on(&search, first);
  step_on(&search, second);
  memcpy(stage->at, second, sizeof stage->at);
  staged(stage, stage->at, &stage->value, stage->gradient);
  stage->is_plane = true;
  step_on(&search, third);
  assert_int_equal(rpinn_optimizer_optimum(search.optimizer).stop, RPINN_STOP_RUNNING);
  assert_true(rpinn_optimizer_optimum(search.optimizer).loss < stage->value); /* it is taken all the same */
  step_on(&search, fourth);
  expect_trial(stage, first, second, third, stage->gradient);
  rpinn_optimizer_destroy(search.optimizer);
}

enum { WIDTH = 30 };

/* sum c_j x_j^2 / 2 with c from 1 to 1000. */
static RpinnStatus ellipse(void *data, const double *x, double *value, double *gradient) {
  (void)data;
  *value = 0;
  for (int j = 0; j < WIDTH; j++) {
    double c = pow(1000, j / (double)(WIDTH - 1));
    *value += 0.5 * c * x[j] * x[j];
    gradient[j] = c * x[j];
  }
  return RPINN_OK;
}

/* sum 100 (x_{j+1} - x_j^2)^2 + (1 - x_j)^2 */
static RpinnStatus rosenbrock(void *data, const double *x, double *value, double *gradient) {
  (void)data;
  *value = 0;
  memset(gradient, 0, WIDTH * sizeof *gradient);
  for (int j = 0; j + 1 < WIDTH; j++) {
    double off = x[j + 1] - x[j] * x[j];
    *value += 100 * off * off + (1 - x[j]) * (1 - x[j]);
    gradient[j] += -400 * off * x[j] - 2 * (1 - x[j]);
    gradient[j + 1] += 200 * off;
  }
  return RPINN_OK;
}

static RpinnOptimum minimise(RpinnStatus (*function)(void *, const double *, double *, double *),
                             size_t memory) {
  RpinnObjective objective = {.num_parameters = WIDTH, .evaluate = function};
  RpinnLbfgsOptions options = {.stop = {.max_iterations = 2000, .gradient_tolerance = 1e-8},
                               .memory = memory};
  RpinnOptimizer *optimizer;
  double start[WIDTH];
  for (int j = 0; j < WIDTH; j++) start[j] = j % 2 ? 1 : -1.2;
  assert_int_equal(rpinn_lbfgs_create(context, &objective, &options, &optimizer), RPINN_OK);
  assert_int_equal(rpinn_optimizer_start(context, optimizer, start), RPINN_OK);
  assert_int_equal(rpinn_optimizer_advance(context, optimizer, SIZE_MAX), RPINN_OK);
  RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
  assert_int_equal(optimum.stop, RPINN_STOP_GRADIENT_SMALL);
  print_message("  memory %zu: %zu iterations, %zu evaluations\n", memory, optimum.num_iterations,
                optimum.num_evaluations);
  rpinn_optimizer_destroy(optimizer);
  return optimum;
}

/* A Hessian that is scaled well needs one evaluation per iteration, and few iterations. */
static void few_evaluations_suffice(void **state) {
  (void)state;
  static const struct {
    RpinnStatus (*function)(void *, const double *, double *, double *);
    size_t memory, most_iterations, most_evaluations;
  } budgets[] = {
      {ellipse, 5, 440, 470}, {ellipse, 20, 320, 340}, {rosenbrock, 5, 270, 310}, {rosenbrock, 20, 240, 290}};
  for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
    RpinnOptimum optimum = minimise(budgets[k].function, budgets[k].memory);
    check_true(optimum.num_iterations <= budgets[k].most_iterations, "%zu iterations",
               optimum.num_iterations);
    check_true(optimum.num_evaluations <= budgets[k].most_evaluations, "%zu evaluations",
               optimum.num_evaluations);
  }
}

/* A saved ring of pairs whose newest lies behind its end would be read beyond it: refused, also with a good checksum. */
static void rings_end_where_they_end(void **state) {
  (void)state;
  enum { MEMORY = 4, NUM_ITERATIONS = 3 };
  RpinnObjective objective = {.num_parameters = WIDTH, .evaluate = ellipse};
  RpinnLbfgsOptions options = {.stop = {.max_iterations = 100}, .memory = MEMORY};
  RpinnOptimizer *optimizer;
  double start[WIDTH] = {1, 1, 1, 1};
  assert_int_equal(rpinn_lbfgs_create(context, &objective, &options, &optimizer), RPINN_OK);
  assert_int_equal(rpinn_optimizer_start(context, optimizer, start), RPINN_OK);
  assert_int_equal(rpinn_optimizer_advance(context, optimizer, NUM_ITERATIONS), RPINN_OK);
  size_t size = rpinn_optimizer_state_size(optimizer), num_found = 0;
  unsigned char *state_bytes = malloc(size);
  rpinn_optimizer_save(optimizer, state_bytes);
  /* The count of pairs and the newest of them stand side by side, and are both 3. */
  for (size_t at = 0; at + 3 * sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
    uint64_t pair[2], ends = MEMORY;
    memcpy(pair, state_bytes + at, sizeof pair);
    if (pair[0] != NUM_ITERATIONS || pair[1] != NUM_ITERATIONS) continue;
    unsigned char *forged = malloc(size);
    memcpy(forged, state_bytes, size);
    memcpy(forged + at + sizeof ends, &ends, sizeof ends);
    rpinn_state_end(
        &(RpinnStateCursor){.use = RPINN_STATE_SAVE, .target = forged, .position = size - sizeof(uint64_t)});
    assert_int_equal(rpinn_optimizer_restore(context, optimizer, forged, size), RPINN_ERROR_INPUT);
    assert_non_null(strstr(rpinn_context_error(context)->message, "out of range"));
    num_found++;
    free(forged);
  }
  assert_int_equal(num_found, 1);
  assert_int_equal(rpinn_optimizer_restore(context, optimizer, state_bytes, size), RPINN_OK);
  free(state_bytes);
  rpinn_optimizer_destroy(optimizer);
}

/* ---- Levenberg-Marquardt ---- */

/* x near its start, and the same as at the start farther away. */
static RpinnStatus plateau(void *data, const double *x, double *rows) {
  (void)data;
  rows[0] = fabs(x[0] - 1) <= 0.1 ? x[0] : 1;
  return RPINN_OK;
}

static RpinnStatus plateau_jacobian(void *data, const double *x, double *rows, double *J) {
  J[0] = 1;
  return plateau(data, x, rows);
}

/* A step that changes nothing though much was promised is too long, not the end: shorter ones lead on. */
static void equal_losses_are_not_the_end(void **state) {
  (void)state;
  RpinnLeastSquares problem = {
      .num_parameters = 1, .num_rows = 1, .residuals = plateau, .jacobian = plateau_jacobian};
  RpinnLevenbergMarquardtOptions options = {.stop = {.max_iterations = 60}, .initial_damping = 1e-3};
  RpinnOptimizer *optimizer;
  double start = 1;
  assert_int_equal(rpinn_levenberg_marquardt_create(context, &problem, NULL, &options, &optimizer), RPINN_OK);
  assert_int_equal(rpinn_optimizer_start(context, optimizer, &start), RPINN_OK);
  assert_int_equal(rpinn_optimizer_advance(context, optimizer, SIZE_MAX), RPINN_OK);
  RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
  check_true(optimum.best_theta[0] < 0.97, "stopped at %g for %s", optimum.best_theta[0],
             rpinn_stop_name(optimum.stop));
  rpinn_optimizer_destroy(optimizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(systems_are_solved),
                                     cmocka_unit_test(others_are_refused),
                                     cmocka_unit_test(accepted_steps_are_flat),
                                     cmocka_unit_test(a_search_without_end_settles),
                                     cmocka_unit_test(second_step_follows_the_formula),
                                     cmocka_unit_test(steps_without_curvature_are_forgotten),
                                     cmocka_unit_test(few_evaluations_suffice),
                                     cmocka_unit_test(rings_end_where_they_end),
                                     cmocka_unit_test(equal_losses_are_not_the_end)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
