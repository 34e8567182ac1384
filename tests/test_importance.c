/* Is it the posterior? Importance weights of randomised minimisers on models whose posterior is known, the
 * Pareto smoothing of weights, and the independence Metropolis step. */
#include "check.h"

#include "importance.h"
#include "independence_metropolis.h"
#include "pareto_smoothing.h"
#include "random_stream.h"

static const double infinite = (double)INFINITY, nothing = (double)NAN;

/* ---- the weight against its definition ---- */

enum { M = 3, N = 5 };

/* r_i = sum_j a_ij (theta_j + curvature theta_j^3) - y_i */
typedef struct Model {
  double a[M][N], y[M], curvature;
} Model;

static RpinnStatus model_jacobian(void *data, const double *theta, double *rows, double *jacobian) {
  const Model *model = data;
  for (size_t i = 0; i < M; i++) {
    rows[i] = -model->y[i];
    for (size_t j = 0; j < N; j++) {
      rows[i] += model->a[i][j] * theta[j] * (1 + model->curvature * theta[j] * theta[j]);
      if (jacobian) jacobian[i * N + j] = model->a[i][j] * (1 + 3 * model->curvature * theta[j] * theta[j]);
    }
  }
  return RPINN_OK;
}

static RpinnStatus model_residuals(void *data, const double *theta, double *rows) {
  return model_jacobian(data, theta, rows, NULL);
}

static Model random_model(RpinnStream *stream, double curvature) {
  Model model = {.curvature = curvature};
  rpinn_stream_normals(stream, M * N, model.a[0]);
  rpinn_stream_normals(stream, M, model.y);
  return model;
}

static const double prior_root[N] = {0.5, 1, 2, 0.1, 3}, prior_mean[N] = {1, 0, -1, 2, 0.5};

/* -1/2 log det H - Phi + 1/2 g^T H^-1 g in the space of the parameters, by elimination. */
static double weight_by_definition(const double *theta, const double *r, const double *J) {
  double H[N][N], g[N], solution[N], energy = 0, log_determinant = 0, product = 0;
  for (size_t i = 0; i < M; i++) energy += 0.5 * r[i] * r[i];
  for (size_t j = 0; j < N; j++) {
    double distance = prior_root[j] * (theta[j] - prior_mean[j]);
    energy += 0.5 * distance * distance;
    g[j] = prior_root[j] * distance;
    for (size_t i = 0; i < M; i++) g[j] += J[i * N + j] * r[i];
    solution[j] = g[j];
    for (size_t k = 0; k < N; k++) {
      H[j][k] = j == k ? prior_root[j] * prior_root[j] : 0;
      for (size_t i = 0; i < M; i++) H[j][k] += J[i * N + j] * J[i * N + k];
    }
  }
  for (size_t j = 0; j < N; j++) {
    log_determinant += log(H[j][j]);
    for (size_t i = j + 1; i < N; i++) {
      double factor = H[i][j] / H[j][j];
      for (size_t k = j; k < N; k++) H[i][k] -= factor * H[j][k];
      solution[i] -= factor * solution[j];
    }
  }
  for (size_t i = N; i-- > 0;) {
    for (size_t k = i + 1; k < N; k++) solution[i] -= H[i][k] * solution[k];
    solution[i] /= H[i][i];
  }
  for (size_t j = 0; j < N; j++) product += g[j] * solution[j];
  return -0.5 * log_determinant - energy + 0.5 * product;
}

static void test_weight_by_definition(void **state) {
  (void)state;
  RpinnStream stream = rpinn_stream(11, RPINN_PURPOSE_CHECK, 0, 0);
  RpinnImportance *importance = rpinn_importance_create(M, N, prior_root, prior_mean);
  for (size_t k = 0; k < 50; k++) {
    Model model = random_model(&stream, 0.3);
    RpinnLeastSquares problem = {.num_parameters = N,
                                 .num_rows = M,
                                 .prior_root = prior_root,
                                 .prior_mean = prior_mean,
                                 .data = &model,
                                 .residuals = model_residuals,
                                 .jacobian = model_jacobian};
    double theta[N], rows[M], jacobian[M * N], of_target;
    rpinn_stream_normals(&stream, N, theta);
    model_jacobian(&model, theta, rows, jacobian);
    double found = rpinn_importance_log_weight(importance, theta, rows, jacobian);
    check_relative(found, weight_by_definition(theta, rows, jacobian), 1e-11);
    assert_int_equal(rpinn_importance_log_weight_of_target(importance, &problem, theta, &of_target),
                     RPINN_OK);
    check_relative(of_target, found, 1e-12);
    rows[1] = k % 2 ? nothing : infinite;
    assert_true(isnan(rpinn_importance_log_weight(importance, theta, rows, jacobian)));
    rows[1] = 0, jacobian[4] = k % 2 ? nothing : infinite;
    assert_true(isnan(rpinn_importance_log_weight(importance, theta, rows, jacobian)));
  }
  rpinn_importance_destroy(importance);
  rpinn_importance_destroy(NULL);
}

static void test_weight_needs_a_prior(void **state) {
  (void)state;
  assert_true(rpinn_importance_available(N, prior_root));
  assert_false(rpinn_importance_available(N, NULL));
  assert_false(rpinn_importance_available(2, (double[]){1, 0}));
  assert_false(rpinn_importance_available(2, (double[]){nothing, 1}));
  assert_false(rpinn_importance_available(2, (double[]){1, infinite}));
  /* no rows: the prior itself, exact draws, a constant weight */
  RpinnImportance *importance = rpinn_importance_create(0, 2, (double[]){2, 4}, NULL);
  check_relative(rpinn_importance_log_weight(importance, (double[]){3, -7}, NULL, NULL), -log(8), 1e-15);
  rpinn_importance_destroy(importance);
}

/* Wherever a linear model's parameters are, their weight is the same. */
static void test_linear_weights_are_constant(void **state) {
  (void)state;
  enum { COUNT = 200 };
  RpinnStream stream = rpinn_stream(12, RPINN_PURPOSE_CHECK, 0, 0);
  Model model = random_model(&stream, 0);
  RpinnImportance *importance = rpinn_importance_create(M, N, prior_root, prior_mean);
  double log_weights[COUNT], smoothed[COUNT], theta[N], rows[M], jacobian[M * N];
  for (size_t k = 0; k < COUNT; k++) {
    for (size_t j = 0; j < N; j++) theta[j] = 10 * rpinn_stream_normal(&stream);
    model_jacobian(&model, theta, rows, jacobian);
    log_weights[k] = rpinn_importance_log_weight(importance, theta, rows, jacobian);
    check_relative(log_weights[k], log_weights[0], 1e-10);
  }
  RpinnParetoSmoothing smoothing;
  size_t chain[COUNT];
  assert_int_equal(rpinn_pareto_smooth(COUNT, log_weights, smoothed, &smoothing), RPINN_OK);
  assert_true(smoothing.usable && smoothing.constant);
  check_relative(smoothing.effective_size, COUNT, 1e-9);
  check_close(rpinn_independence_metropolis(1, COUNT, log_weights, chain), 1, 0);
  rpinn_importance_destroy(importance);
}

/* ---- one parameter with a curved model, against quadrature ---- */

/* r = (theta^3 + theta - y) / s with the prior N(0, 1). */
static const double cubic_y = 1.2, cubic_s = 0.6;

typedef struct Cubic {
  double r, J, second; /* r, r', r'' */
  double energy, gradient, H;
} Cubic;

/* With offsets on the row and on the prior row. */
static Cubic cubic_at(double theta, double offset_row, double offset_prior) {
  Cubic at = {.r = (theta * theta * theta + theta - cubic_y) / cubic_s,
              .J = (3 * theta * theta + 1) / cubic_s,
              .second = 6 * theta / cubic_s};
  double row = at.r - offset_row, prior = theta - offset_prior;
  at.energy = 0.5 * row * row + 0.5 * prior * prior;
  at.gradient = at.J * row + prior;
  at.H = 1 + at.J * at.J;
  return at;
}

static double cubic_log_weight(RpinnImportance *importance, double theta) {
  Cubic at = cubic_at(theta, 0, 0);
  return rpinn_importance_log_weight(importance, &theta, &at.r, &at.J);
}

/* The density of the minimisers without the Gauss–Newton approximation (Kac–Rice): the gradient without
 * offsets equals J xi_r + xi_p there, so that
 *   q = N(g; 0, H) E[ |H + r'' (r - xi_r)| given g ],   xi_r given g ~ N(J g / H, 1 - J^2 / H),
 * as long as every perturbed energy has one critical point. E|X| of a normal variable is in closed form. */
static double cubic_minimiser_density(double theta) {
  const double pi = 3.14159265358979323846;
  Cubic at = cubic_at(theta, 0, 0);
  double mean = at.H + at.second * (at.r - at.J * at.gradient / at.H);
  double deviation = fmax(fabs(at.second) * sqrt(1 - at.J * at.J / at.H), 1e-300), z = mean / deviation;
  double size = deviation * sqrt(2 / pi) * exp(-z * z / 2) + mean * erf(z / sqrt(2));
  return exp(-0.5 * at.gradient * at.gradient / at.H) / sqrt(at.H) * size;
}

enum { NUM_DRAWS = 20000 };
static const double left = -4, right = 4;

/* The minimiser of the perturbed energy: a scan for all minima (their number goes to *num_minima), then
 * Newton's method kept inside the bracket of the lowest. */
static double cubic_minimise(double offset_row, double offset_prior, size_t *num_minima) {
  enum { CELLS = 400 };
  double lowest = infinite, best = nothing, before = -1;
  *num_minima = 0;
  for (size_t i = 1; i <= CELLS; i++) {
    double low = left + (right - left) * (double)(i - 1) / CELLS, high = low + (right - left) / CELLS;
    double after = cubic_at(high, offset_row, offset_prior).gradient;
    if (before < 0 && after >= 0) {
      double theta = 0.5 * (low + high);
      for (size_t step = 0; step < 100; step++) {
        Cubic at = cubic_at(theta, offset_row, offset_prior);
        if (at.gradient < 0)
          low = theta;
        else
          high = theta;
        double next = theta - at.gradient / (at.H + at.second * (at.r - offset_row));
        if (!(next > low && next < high)) next = 0.5 * (low + high);
        if (fabs(next - theta) < 1e-15) break;
        theta = next;
      }
      ++*num_minima;
      Cubic at = cubic_at(theta, offset_row, offset_prior);
      if (at.energy < lowest) lowest = at.energy, best = theta;
    }
    before = after;
  }
  return best;
}

typedef struct Truth {
  double mean, deviation;   /* of the posterior */
  double raw, gauss_newton; /* mean of the minimisers, and of their law with Gauss–Newton weights */
} Truth;

static Truth cubic_truth(RpinnImportance *importance) {
  enum { CELLS = 40000 };
  double p = 0, p1 = 0, p2 = 0, q = 0, q1 = 0, w = 0, w1 = 0;
  for (size_t i = 0; i < CELLS; i++) {
    double theta = left + (right - left) * ((double)i + 0.5) / CELLS;
    double posterior = exp(-cubic_at(theta, 0, 0).energy), minimisers = cubic_minimiser_density(theta);
    double weighted = minimisers * exp(cubic_log_weight(importance, theta));
    p += posterior, p1 += posterior * theta, p2 += posterior * theta * theta;
    q += minimisers, q1 += minimisers * theta;
    w += weighted, w1 += weighted * theta;
  }
  return (Truth){p1 / p, sqrt(p2 / p - p1 / p * (p1 / p)), q1 / q, w1 / w};
}

static double weighted_mean(const double *log_weights, const double *theta) {
  double mean = 0;
  for (size_t i = 0; i < NUM_DRAWS; i++) mean += exp(log_weights[i]) * theta[i];
  return mean;
}

/* Minimisers are biased; Gauss–Newton weights take most of the bias away and leave what quadrature of the
 * weighted law predicts. */
static void test_cubic_model(void **state) {
  (void)state;
  static double theta[NUM_DRAWS], log_weights[NUM_DRAWS], exact[NUM_DRAWS], smoothed[NUM_DRAWS];
  static size_t chain[NUM_DRAWS];
  RpinnImportance *importance = rpinn_importance_create(1, 1, (double[]){1}, NULL);
  RpinnStream stream = rpinn_stream(13, RPINN_PURPOSE_OFFSETS, 0, 0);
  size_t num_ambiguous = 0;
  double raw = 0, metropolised = 0;
  for (size_t i = 0; i < NUM_DRAWS; i++) {
    double offset_row = rpinn_stream_normal(&stream), offset_prior = rpinn_stream_normal(&stream);
    size_t num_minima;
    theta[i] = cubic_minimise(offset_row, offset_prior, &num_minima);
    num_ambiguous += num_minima != 1;
    log_weights[i] = cubic_log_weight(importance, theta[i]);
    exact[i] = -cubic_at(theta[i], 0, 0).energy - log(cubic_minimiser_density(theta[i]));
    raw += theta[i] / NUM_DRAWS;
  }
  assert_int_equal(num_ambiguous, 0);
  Truth truth = cubic_truth(importance);
  rpinn_importance_destroy(importance);

  RpinnParetoSmoothing smoothing, exact_smoothing;
  assert_int_equal(rpinn_pareto_smooth(NUM_DRAWS, log_weights, smoothed, &smoothing), RPINN_OK);
  double weighted = weighted_mean(smoothed, theta);
  assert_int_equal(rpinn_pareto_smooth(NUM_DRAWS, exact, smoothed, &exact_smoothing), RPINN_OK);
  double exactly_weighted = weighted_mean(smoothed, theta);
  double acceptance = rpinn_independence_metropolis(5, NUM_DRAWS, log_weights, chain);
  for (size_t i = 0; i < NUM_DRAWS; i++) metropolised += theta[chain[i]] / NUM_DRAWS;

  double error = truth.deviation / sqrt(NUM_DRAWS);
  double weighted_error = truth.deviation / sqrt(smoothing.effective_size);
  double chain_error = error * sqrt(2 / acceptance - 1);
  print_message("cubic model: posterior %.5f (deviation %.5f), minimisers by quadrature %.5f, with "
                "Gauss-Newton weights %.5f\n",
                truth.mean, truth.deviation, truth.raw, truth.gauss_newton);
  print_message("  %d draws: raw %.5f, weighted %.5f, Metropolised %.5f, exact weights %.5f; error %.5f\n",
                NUM_DRAWS, raw, weighted, metropolised, exactly_weighted, error);
  print_message("  k %.2f, effective size %.0f, acceptance %.3f\n", smoothing.k, smoothing.effective_size,
                acceptance);

  double bias = fabs(truth.raw - truth.mean), left_over = fabs(truth.gauss_newton - truth.mean);
  assert_true(bias > 8 * error);
  assert_true(left_over < bias / 4);
  check_close(raw, truth.raw, 4 * error);
  check_close(weighted, truth.gauss_newton, 4 * weighted_error);
  check_close(metropolised, truth.gauss_newton, 4 * chain_error);
  check_close(weighted, truth.mean, left_over + 4 * weighted_error);
  check_close(metropolised, truth.mean, left_over + 4 * chain_error);
  check_close(exactly_weighted, truth.mean, 4 * truth.deviation / sqrt(exact_smoothing.effective_size));
  assert_true(fabs(weighted - truth.mean) < 0.5 * fabs(raw - truth.mean));
  assert_true(fabs(metropolised - truth.mean) < 0.5 * fabs(raw - truth.mean));
  assert_true(smoothing.k < 0.7 && acceptance > 0.7);
}

/* ---- Pareto smoothing ---- */

typedef struct Smoothed {
  double k, effective_size;
  double at[5]; /* smoothed log weights of draws 0, 1, 7, the last, and the one of the largest weight */
} Smoothed;

static void check_smoothed(size_t count, const double *log_weights, size_t largest,
                           const Smoothed *expected) {
  static double smoothed[1000];
  RpinnParetoSmoothing result;
  size_t draws[] = {0, 1, 7, count - 1, largest};
  double sum = 0;
  assert_int_equal(rpinn_pareto_smooth(count, log_weights, smoothed, &result), RPINN_OK);
  assert_true(result.usable && !result.constant);
  check_relative(result.k, expected->k, 1e-10);
  check_relative(result.effective_size, expected->effective_size, 1e-10);
  for (size_t i = 0; i < 5; i++) check_relative(smoothed[draws[i]], expected->at[i], 1e-10);
  for (size_t i = 0; i < count; i++) sum += exp(smoothed[i]);
  check_relative(sum, 1, 1e-13);
}

/* Expected values: psislw of ArviZ 0.23.4. */
static void test_smoothing_as_arviz(void **state) {
  (void)state;
  const double few[30] = {0.3,  -1.2, 2.5,  0.1,  -0.7, 1.9, -2.2, 0.8, 0.0,  -0.4,
                          1.1,  -3.0, 0.6,  -0.9, 3.4,  0.2, -1.6, 1.4, -0.1, 0.5,
                          -2.7, 2.1,  -0.3, 0.9,  -1.0, 1.7, -0.6, 0.4, 4.1,  -1.4};
  check_smoothed(30, few, 28,
                 &(Smoothed){0.54790282522183764,
                             5.3530131871334676,
                             {-4.5695091949755842, -6.0695091949755842, -4.0695091949755842,
                              -6.2695091949755843, -0.99353045698006071}});
  const double shapes[] = {0.25, 0.7, 1.2, -1}; /* -1: uniform weights */
  const Smoothed expected[] = {{0.28017770588138324,
                                893.72341623473642,
                                {-7.1955172047639504, -6.5671772634003762, -7.0535726863958512,
                                 -7.1743888924426313, -5.2954166211388225}},
                               {0.67065776831435586,
                                138.93847000409716,
                                {-8.0287865058364414, -6.2678933427402583, -7.6313418544057647,
                                 -7.9696272313367498, -2.8109455356128459}},
                               {1.1046739292502503,
                                8.3721615229315276,
                                {-9.8692279822239506, -6.8478179749084589, -9.1878942940570791,
                                 -9.7678120830816209, -1.1376930189987966}},
                               {-0.81921124944047419,
                                749.73014394405152,
                                {-13.815882693743536, -6.2996522293940682, -7.0508437169629952,
                                 -8.7221324929367743, -6.2154803592431369}}};
  for (size_t k = 0; k < 4; k++) {
    double log_weights[1000];
    for (size_t i = 0; i < 1000; i++) {
      double u = ((double)(i * 7919 % 1000) + 0.5) / 1000;
      log_weights[i] = shapes[k] > 0 ? -shapes[k] * log1p(-u) : log(u);
    }
    check_smoothed(1000, log_weights, 321, &expected[k]);
  }
}

/* (1 - u)^-k has a Pareto tail of shape k. The estimate's deviation is about (1 + k) / sqrt(tail). */
static void test_shape_of_pareto_tails(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  static double log_weights[COUNT];
  const double shapes[] = {0.2, 0.5, 0.7, 1, 1.5};
  for (size_t k = 0; k < 5; k++) {
    RpinnStream stream = rpinn_stream(14, RPINN_PURPOSE_CHECK, k, 0);
    RpinnParetoSmoothing result;
    for (size_t i = 0; i < COUNT; i++) log_weights[i] = -shapes[k] * log(rpinn_stream_uniform(&stream));
    assert_int_equal(rpinn_pareto_smooth(COUNT, log_weights, log_weights, &result), RPINN_OK);
    assert_int_equal(result.tail_size, 425); /* ceil(3 sqrt(20000)) */
    double n = (double)result.tail_size, expected = (n * shapes[k] + 5) / (n + 10);
    check_true(fabs(result.k - expected) < 4 * (1 + shapes[k]) / sqrt(n), "k %g, expected %g", result.k,
               expected);
  }
}

/* 25 exact quantiles of an exponential distribution of scale 2, where k = 0.0807 before the prior takes it
 * 10/35 of the way to 1/2. Numbers: the formulas of Zhang and Stephens in Python, written apart from ours. */
static void test_fit_of_exponential_quantiles(void **state) {
  (void)state;
  double x[25], k, sigma;
  for (size_t i = 0; i < 25; i++) x[i] = -2 * log1p(-((double)i + 0.5) / 25);
  assert_true(rpinn_pareto_fit(25, x, &k, &sigma));
  check_relative(k, 0.2005181912880508, 1e-12);
  check_relative(sigma, 1.829805383864655, 1e-12);
  double scaled_k, scaled_sigma; /* the shape has no unit */
  for (size_t i = 0; i < 25; i++) x[i] *= 1e-6;
  assert_true(rpinn_pareto_fit(25, x, &scaled_k, &scaled_sigma));
  check_relative(scaled_k, k, 1e-10);
  check_relative(scaled_sigma * 1e6, sigma, 1e-10);
  for (size_t i = 0; i < 20; i++) x[i] = 0;
  assert_false(rpinn_pareto_fit(25, x, &k, &sigma));
}

static RpinnParetoSmoothing smooth(size_t count, const double *log_weights, double *smoothed) {
  RpinnParetoSmoothing result;
  assert_int_equal(rpinn_pareto_smooth(count, log_weights, smoothed, &result), RPINN_OK);
  return result;
}

static void test_degenerate_weights(void **state) {
  (void)state;
  enum { COUNT = 100 };
  double log_weights[COUNT], smoothed[COUNT];
  for (size_t i = 0; i < COUNT; i++) log_weights[i] = -1234.5;
  RpinnParetoSmoothing result = smooth(COUNT, log_weights, smoothed);
  assert_true(result.usable && result.constant && isnan(result.k) && result.tail_size == 0);
  check_relative(result.effective_size, COUNT, 1e-12);
  check_relative(smoothed[42], -log(COUNT), 1e-14);

  result = smooth(1, log_weights, smoothed); /* one draw */
  assert_true(result.usable && isnan(result.k) && result.effective_size == 1 && smoothed[0] == 0);
  assert_false(smooth(0, log_weights, smoothed).usable); /* none */

  /* few draws are weighted but not smoothed */
  result = smooth(2, (double[]){0, log(3)}, smoothed);
  assert_true(result.usable && !result.constant && isnan(result.k));
  check_relative(exp(smoothed[1]), 0.75, 1e-15);
  check_relative(result.effective_size, 1.6, 1e-14);

  /* zero weights stay zero and the rest are smoothed as ever */
  for (size_t i = 0; i < COUNT; i++) log_weights[i] = i % 4 ? 0.02 * (double)i : -infinite;
  result = smooth(COUNT, log_weights, smoothed);
  assert_true(result.usable && isfinite(result.k) && result.tail_size == 20);
  assert_true(smoothed[4] == -infinite && isfinite(smoothed[5]) && result.effective_size < 75);
  /* all but three are zero: too few for a tail */
  for (size_t i = 0; i < COUNT; i++) log_weights[i] = i < 3 ? (double)i : -infinite;
  result = smooth(COUNT, log_weights, smoothed);
  assert_true(result.usable && isnan(result.k) && result.effective_size < 3);
  /* a few values, many ties: no five above the cutoff */
  for (size_t i = 0; i < COUNT; i++) log_weights[i] = (double)(i % 2);
  result = smooth(COUNT, log_weights, smoothed);
  assert_true(result.usable && isnan(result.k) && isfinite(result.effective_size));

  /* a weight above all range keeps its sum finite */
  for (size_t i = 0; i < COUNT; i++) log_weights[i] = -50 * (double)i;
  log_weights[7] = 1e6;
  result = smooth(COUNT, log_weights, smoothed);
  assert_true(result.usable);
  check_relative(result.effective_size, 1, 1e-12);

  const double impossible[] = {nothing, infinite};
  for (size_t k = 0; k < 2; k++) {
    log_weights[50] = impossible[k];
    result = smooth(COUNT, log_weights, smoothed);
    assert_true(!result.usable && isnan(result.k) && isnan(result.effective_size) && isnan(smoothed[0]));
  }
  for (size_t i = 0; i < COUNT; i++) log_weights[i] = -infinite;
  assert_false(smooth(COUNT, log_weights, smoothed).usable);
}

/* ---- independence Metropolis ---- */

/* Two kinds of draws in turn, of weights 1 and 3: the chain is at the heavy kind 3/4 of the time. */
static void test_chain_has_the_weighted_law(void **state) {
  (void)state;
  enum { COUNT = 40000 };
  static double log_weights[COUNT];
  static size_t chain[COUNT], shorter[COUNT];
  RpinnStream stream = rpinn_stream(15, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t i = 0; i < COUNT; i++)
    log_weights[i] = rpinn_stream_uniform(&stream) < 0.5 ? 700 : 700 + log(3);
  double acceptance = rpinn_independence_metropolis(9, COUNT, log_weights, chain);
  size_t heavy = 0;
  for (size_t i = 0; i < COUNT; i++) {
    assert_true(chain[i] <= i && (i == 0 || chain[i] == chain[i - 1] || chain[i] == i));
    heavy += log_weights[chain[i]] > 700.5;
  }
  check_close((double)heavy / COUNT, 0.75, 0.01);
  check_close(acceptance, 0.75, 0.01); /* 3/4 heavy * (1/2 + 1/2 * 1/3) + 1/4 light * 1 */
  rpinn_independence_metropolis(9, COUNT / 3, log_weights, shorter);
  assert_memory_equal(chain, shorter, COUNT / 3 * sizeof *chain);
}

static void test_chain_avoids_zero_weights(void **state) {
  (void)state;
  size_t chain[5];
  const double log_weights[] = {nothing, -infinite, 0, nothing, -infinite};
  check_relative(rpinn_independence_metropolis(1, 5, log_weights, chain), 0.25, 1e-15);
  const size_t expected[] = {0, 0, 2, 2, 2};
  assert_memory_equal(chain, expected, sizeof expected);
  assert_true(isnan(rpinn_independence_metropolis(1, 1, log_weights, chain)) && chain[0] == 0);
  assert_true(isnan(rpinn_independence_metropolis(1, 0, log_weights, chain)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_weight_by_definition),         cmocka_unit_test(test_weight_needs_a_prior),
      cmocka_unit_test(test_linear_weights_are_constant),  cmocka_unit_test(test_cubic_model),
      cmocka_unit_test(test_smoothing_as_arviz),           cmocka_unit_test(test_shape_of_pareto_tails),
      cmocka_unit_test(test_fit_of_exponential_quantiles), cmocka_unit_test(test_degenerate_weights),
      cmocka_unit_test(test_chain_has_the_weighted_law),   cmocka_unit_test(test_chain_avoids_zero_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
