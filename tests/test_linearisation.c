/* The linearised posterior against other routes to the same numbers: evidences as products of conditional densities, rows left
 * out one by one, the covariance of draws in parameter space, and minimisers of randomised energies. */
#include "check.h"

#include "linearisation.h"
#include "random_stream.h"
#include "rpinn/optimize.h"

enum { MOST_ROWS = 6, N = 4 };

/* r_i = sum_j a_ij (theta_j + curvature theta_j^2) - d_i, for the first num_rows rows. */
typedef struct Model {
  size_t num_rows;
  double a[MOST_ROWS][N], d[MOST_ROWS], curvature;
} Model;

static const double prior_root[N] = {0.5, 1, 2, 0.25}, prior_mean[N] = {1, 0, -1, 2};

static RpinnStatus model_jacobian(void *data, const double *theta, double *rows, double *jacobian) {
  const Model *model = data;
  for (size_t i = 0; i < model->num_rows; i++) {
    rows[i] = -model->d[i];
    for (size_t j = 0; j < N; j++) {
      rows[i] += model->a[i][j] * theta[j] * (1 + model->curvature * theta[j]);
      if (jacobian) jacobian[i * N + j] = model->a[i][j] * (1 + 2 * model->curvature * theta[j]);
    }
  }
  return RPINN_OK;
}

static RpinnStatus model_residuals(void *data, const double *theta, double *rows) {
  return model_jacobian(data, theta, rows, NULL);
}

static RpinnLeastSquares squares_of(Model *model) {
  return (RpinnLeastSquares){.num_parameters = N,
                             .num_rows = model->num_rows,
                             .prior_root = prior_root,
                             .prior_mean = prior_mean,
                             .data = model,
                             .residuals = model_residuals,
                             .jacobian = model_jacobian};
}

static Model random_model(uint64_t number, size_t num_rows, double curvature) {
  RpinnStream stream = rpinn_stream(21, RPINN_PURPOSE_CHECK, number, 0);
  Model model = {.num_rows = num_rows, .curvature = curvature};
  rpinn_stream_normals(&stream, MOST_ROWS * N, model.a[0]);
  rpinn_stream_normals(&stream, MOST_ROWS, model.d);
  return model;
}

static RpinnLinearisation *linearised(const RpinnLeastSquares *squares, const double *theta) {
  RpinnLinearisation *linearisation;
  assert_int_equal(rpinn_linearisation_create(squares, theta, &linearisation), RPINN_OK);
  return linearisation;
}

/* log N(d; A m, I + A S A^T) of a linear model, row after row: each given those before it, by updating mean and covariance of
 * theta (a Kalman filter). */
static double evidence_by_conditioning(const Model *model, const bool *chosen) {
  double mean[N], covariance[N][N] = {{0}}, sum = 0;
  for (size_t j = 0; j < N; j++) {
    mean[j] = prior_mean[j];
    covariance[j][j] = 1 / (prior_root[j] * prior_root[j]);
  }
  for (size_t i = 0; i < model->num_rows; i++) {
    double gain[N] = {0}, expected = 0, variance = 1;
    if (chosen && !chosen[i]) continue;
    for (size_t j = 0; j < N; j++) {
      expected += model->a[i][j] * mean[j];
      for (size_t k = 0; k < N; k++) gain[j] += covariance[j][k] * model->a[i][k];
      variance += model->a[i][j] * gain[j];
    }
    double error = model->d[i] - expected;
    sum += -0.5 * error * error / variance - 0.5 * log(variance) - 0.91893853320467274178;
    for (size_t j = 0; j < N; j++) {
      mean[j] += gain[j] * error / variance;
      for (size_t k = 0; k < N; k++) covariance[j][k] -= gain[j] * gain[k] / variance;
    }
  }
  return sum;
}

static const double elsewhere[N] = {0.3, -2, 1, 0.7};

static void test_evidence(void **state) {
  (void)state;
  for (size_t rows = 1; rows <= MOST_ROWS; rows++) { /* fewer and more rows than parameters */
    Model model = random_model(rows, rows, 0);
    RpinnLeastSquares squares = squares_of(&model);
    RpinnLinearisation *linearisation = linearised(&squares, elsewhere);
    check_close(rpinn_linearisation_log_evidence(linearisation), evidence_by_conditioning(&model, NULL),
                1e-12);
    const bool chosen[MOST_ROWS] = {false, true, false, true, true, false};
    check_close(rpinn_linearisation_log_evidence_of(linearisation, chosen),
                evidence_by_conditioning(&model, chosen), 1e-12);
    rpinn_linearisation_destroy(linearisation);
  }
}

static void test_left_out_rows(void **state) {
  (void)state;
  Model model = random_model(7, MOST_ROWS, 0);
  RpinnLeastSquares squares = squares_of(&model);
  RpinnLinearisation *linearisation = linearised(&squares, elsewhere);
  double whole = evidence_by_conditioning(&model, NULL);
  for (size_t i = 0; i < MOST_ROWS; i++) {
    bool others[MOST_ROWS];
    for (size_t k = 0; k < MOST_ROWS; k++) others[k] = k != i;
    double density = whole - evidence_by_conditioning(&model, others);
    RpinnLeftOut left_out = rpinn_linearisation_leave_out(linearisation, i);
    check_close(left_out.log_density, density, 1e-12);
    /* A row far above what the others expect has a positive z: moved up by its standard deviation, z grows by one. */
    double variance = 1 / rpinn_linearisation_inverse_diagonal(linearisation, i);
    check_close(left_out.z, rpinn_linearisation_alpha(linearisation, i) * sqrt(variance), 1e-12);
    Model moved = model;
    moved.d[i] += sqrt(variance);
    RpinnLeastSquares moved_squares = squares_of(&moved);
    RpinnLinearisation *other = linearised(&moved_squares, elsewhere);
    check_close(rpinn_linearisation_leave_out(other, i).z, left_out.z + 1, 1e-12);
    rpinn_linearisation_destroy(other);
  }
  rpinn_linearisation_destroy(linearisation);
}

/* Data of the model itself, drawn many times: the statistics of a group of rows have the means and variances that it states. */
static void test_groups_of_rows(void **state) {
  (void)state;
  enum { NUM_DATA = 20000 };
  const size_t sizes[2] = {2, 4};
  Model model = random_model(12, MOST_ROWS, 0);
  RpinnLeastSquares squares = squares_of(&model);
  RpinnStream stream = rpinn_stream(22, RPINN_PURPOSE_CHECK, 0, 0);
  double mean[2] = {0}, variance[2] = {0}, z_mean[2] = {0}, z_variance[2] = {0}, z_square[2] = {0},
         z_square_variance[2] = {0};
  RpinnRowGroup groups[2];
  for (size_t k = 0; k < NUM_DATA; k++) {
    double noise[MOST_ROWS + N], theta[N];
    rpinn_stream_normals(&stream, MOST_ROWS + N, noise);
    for (size_t j = 0; j < N; j++) theta[j] = prior_mean[j] + noise[MOST_ROWS + j] / prior_root[j];
    for (size_t i = 0; i < MOST_ROWS; i++) {
      model.d[i] = noise[i];
      for (size_t j = 0; j < N; j++) model.d[i] += model.a[i][j] * theta[j];
    }
    RpinnLinearisation *linearisation = linearised(&squares, elsewhere);
    assert_int_equal(rpinn_linearisation_groups(linearisation, 2, sizes, groups), RPINN_OK);
    rpinn_linearisation_destroy(linearisation);
    for (size_t g = 0; g < 2; g++) {
      double ratio = groups[g].squares / groups[g].expected;
      mean[g] += ratio / NUM_DATA;
      variance[g] += (ratio - 1) * (ratio - 1) / NUM_DATA;
      z_mean[g] += groups[g].z_mean / NUM_DATA;
      z_variance[g] += groups[g].z_mean * groups[g].z_mean / NUM_DATA;
      z_square[g] += groups[g].z_square / NUM_DATA;
      z_square_variance[g] += (groups[g].z_square - 1) * (groups[g].z_square - 1) / NUM_DATA;
    }
  }
  for (size_t g = 0; g < 2; g++) {
    assert_true(groups[g].num_rows == (double)sizes[g]);
    assert_true(groups[g].freedom > 1 && groups[g].freedom < (double)sizes[g]);
    check_close(mean[g], 1, 0.03);
    check_close(variance[g], 2 / groups[g].freedom, 0.06);
    assert_true(fabs(z_mean[g]) < 0.02);
    check_close(z_variance[g], groups[g].z_error * groups[g].z_error, 0.04);
    check_close(z_square[g], 1, 0.03);
    check_close(z_square_variance[g], 2 / groups[g].z_freedom, 0.06);
  }
}

/* Rows moved by a shift are those of data that are larger by it. */
static void test_shifted_rows(void **state) {
  (void)state;
  static const double shift[MOST_ROWS] = {0.5, -1, 2, 0, 0.25, -3};
  Model model = random_model(13, MOST_ROWS, 0), moved = model;
  for (size_t i = 0; i < MOST_ROWS; i++) moved.d[i] += shift[i];
  RpinnLeastSquares squares = squares_of(&model), moved_squares = squares_of(&moved);
  RpinnLinearisation *linearisation = linearised(&squares, elsewhere),
                     *other = linearised(&moved_squares, elsewhere);
  rpinn_linearisation_shift(linearisation, shift);
  check_close(rpinn_linearisation_energy(linearisation), rpinn_linearisation_energy(other), 1e-12);
  for (size_t i = 0; i < MOST_ROWS; i++)
    check_close(rpinn_linearisation_leave_out(linearisation, i).z, rpinn_linearisation_leave_out(other, i).z,
                1e-12);
  rpinn_linearisation_destroy(linearisation);
  rpinn_linearisation_destroy(other);
}

/* (P^2 + A^T A) times the covariance of the draws is the identity, and the mean solves the normal equations. */
static void test_draws_of_a_linear_model(void **state) {
  (void)state;
  Model model = random_model(8, 3, 0);
  RpinnLeastSquares squares = squares_of(&model);
  RpinnLinearisation *linearisation = linearised(&squares, elsewhere);
  double noise[3 + N] = {0}, mean[N], origin[N], draw[N], covariance[N][N] = {{0}};
  assert_int_equal(rpinn_linearisation_mean(linearisation, mean), RPINN_OK);
  assert_int_equal(rpinn_linearisation_draw(linearisation, noise, origin), RPINN_OK);
  for (size_t k = 0; k < 3 + N; k++) { /* a draw is mean + B noise: its covariance is B B^T */
    memset(noise, 0, sizeof noise);
    noise[k] = 1;
    assert_int_equal(rpinn_linearisation_draw(linearisation, noise, draw), RPINN_OK);
    for (size_t i = 0; i < N; i++)
      for (size_t j = 0; j < N; j++) covariance[i][j] += (draw[i] - origin[i]) * (draw[j] - origin[j]);
  }
  for (size_t i = 0; i < N; i++) {
    double gradient = prior_root[i] * prior_root[i] * (mean[i] - prior_mean[i]);
    check_close(origin[i], mean[i], 1e-12);
    for (size_t m = 0; m < 3; m++) {
      double row = -model.d[m];
      for (size_t j = 0; j < N; j++) row += model.a[m][j] * mean[j];
      gradient += model.a[m][i] * row;
    }
    check_close(gradient, 0, 1e-12);
    for (size_t j = 0; j < N; j++) {
      double sum = prior_root[i] * prior_root[i] * covariance[i][j];
      for (size_t m = 0; m < 3; m++)
        for (size_t k = 0; k < N; k++) sum += model.a[m][i] * model.a[m][k] * covariance[k][j];
      check_close(sum, i == j ? 1 : 0, 1e-12);
    }
  }
  rpinn_linearisation_destroy(linearisation);
}

static double minimise(const RpinnLeastSquares *squares, const double *offsets, double *theta) {
  RpinnContext *context = rpinn_context_create();
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  RpinnOptimizer *optimizer;
  options.stop.gradient_tolerance = 1e-12;
  options.stop.progress_tolerance = 0;
  assert_int_equal(rpinn_levenberg_marquardt_create(context, squares, offsets, &options, &optimizer),
                   RPINN_OK);
  assert_int_equal(rpinn_optimizer_start(context, optimizer, elsewhere), RPINN_OK);
  assert_int_equal(rpinn_optimizer_advance(context, optimizer, SIZE_MAX), RPINN_OK);
  RpinnOptimum optimum = rpinn_optimizer_optimum(optimizer);
  double loss = optimum.loss;
  memcpy(theta, optimum.theta, N * sizeof *theta);
  rpinn_optimizer_destroy(optimizer);
  rpinn_context_destroy(context);
  return loss;
}

/* A member of rPINN on a linear model is a draw of its linearised posterior. */
static void test_draws_are_randomised_minimisers(void **state) {
  (void)state;
  Model model = random_model(9, 5, 0);
  RpinnLeastSquares squares = squares_of(&model);
  RpinnLinearisation *linearisation = linearised(&squares, elsewhere);
  RpinnStream stream = rpinn_stream(22, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t k = 0; k < 5; k++) {
    double offsets[5 + N], theta[N], draw[N];
    rpinn_stream_normals(&stream, 5 + N, offsets);
    minimise(&squares, offsets, theta);
    assert_int_equal(rpinn_linearisation_draw(linearisation, offsets, draw), RPINN_OK);
    for (size_t j = 0; j < N; j++) check_close(draw[j], theta[j], 1e-7);
  }
  rpinn_linearisation_destroy(linearisation);
}

/* At a minimiser of a curved model: alpha = -r, the energy is E, and the mean is the point itself; elsewhere not. */
static void test_curved_model_at_its_minimum(void **state) {
  (void)state;
  Model model = random_model(10, 5, 0.1);
  RpinnLeastSquares squares = squares_of(&model);
  double theta[N], rows[5], mean[N], loss = minimise(&squares, NULL, theta);
  RpinnLinearisation *linearisation = linearised(&squares, theta);
  check_close(rpinn_linearisation_energy(linearisation), loss, 1e-10);
  model_residuals(&model, theta, rows);
  for (size_t i = 0; i < 5; i++) check_close(rpinn_linearisation_alpha(linearisation, i), -rows[i], 1e-7);
  assert_int_equal(rpinn_linearisation_mean(linearisation, mean), RPINN_OK);
  for (size_t j = 0; j < N; j++) check_close(mean[j], theta[j], 1e-7);
  rpinn_linearisation_destroy(linearisation);
  linearisation = linearised(&squares, elsewhere);
  assert_true(fabs(rpinn_linearisation_energy(linearisation) - loss) > 1e-3);
  rpinn_linearisation_destroy(linearisation);
}

static void test_what_is_not_finite(void **state) {
  (void)state;
  Model model = random_model(11, 3, 0);
  model.d[1] = (double)NAN;
  RpinnLeastSquares squares = squares_of(&model);
  RpinnLinearisation *linearisation;
  assert_int_equal(rpinn_linearisation_create(&squares, elsewhere, &linearisation), RPINN_ERROR_NUMERIC);
  assert_null(linearisation);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_evidence),
                                     cmocka_unit_test(test_left_out_rows),
                                     cmocka_unit_test(test_groups_of_rows),
                                     cmocka_unit_test(test_shifted_rows),
                                     cmocka_unit_test(test_draws_of_a_linear_model),
                                     cmocka_unit_test(test_draws_are_randomised_minimisers),
                                     cmocka_unit_test(test_curved_model_at_its_minimum),
                                     cmocka_unit_test(test_what_is_not_finite)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
