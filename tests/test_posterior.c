/* The posterior: its energy against the formula written out by hand, starts and offsets, the abstract
 * targets, and the closed form of a model that is linear in its parameters. */
#include "hand_network.h"
#include "problem_folder.h"

#include "problem_bench.h"

/* ---- the energy by hand ---- */

/* u = W2 tanh(w1 x + b1) + b2 with two hidden units: theta = w1[2] b1[2] w2[2] b2, then the unknown log c. */
static const char small[] = "name: small\n"
                            "coordinates: {x: [0, 2]}\n"
                            "fields: {u: {network: [2]}}\n"
                            "unknowns: {c: {start: 0.5, transform: log, prior: {mean: -0.3, std: 0.8}}}\n"
                            "terms:\n"
                            "  value: {expect: u, at: {points: [0.5, 1.5]}, data: 1 + x, noise: 0.1}\n"
                            "  unseen: {expect: u, at: {grid: 3}, data: 7, noise: 0.1, role: test}\n"
                            "  pde: {expect: \"c*d(u, x, x) - u^2\", at: {grid: 3}, data: x^2, noise: 0.4}\n"
                            "  slope: {expect: \"d(u, x)\", at: {side: x=2}, data: -1, noise: 0.05}\n"
                            "settings: {likelihood: noise, prior_scale: 1.5, scale_fields: no}\n";
enum { SMALL_PARAMETERS = 8, SMALL_ROWS = 6 };

static void small_field(const double *theta, double x, double jet[3]) {
  jet[0] = theta[6], jet[1] = jet[2] = 0;
  for (int k = 0; k < 2; k++) {
    double w = theta[k], a = tanh(w * x + theta[2 + k]), v = theta[4 + k];
    jet[0] += v * a;
    jet[1] += v * (1 - a * a) * w;
    jet[2] += v * -2 * a * (1 - a * a) * w * w;
  }
}

/* E = sum_t 1/(2 s_t^2) sum_i (R_t(x_i) - d_i - w_i)^2 + sum_j (theta_j - m_j - w_j)^2 / (2 s_j^2), w = s xi
 */
static double small_energy(const double *theta, const double *xi, double parts[4]) {
  const double none[SMALL_ROWS + SMALL_PARAMETERS] = {0};
  double u[3];
  if (!xi) xi = none;
  parts[0] = parts[1] = parts[2] = parts[3] = 0;
  for (int i = 0; i < 2; i++) {
    double x = i ? 1.5 : 0.5, s = 0.1;
    small_field(theta, x, u);
    parts[0] += pow(u[0] - (1 + x) - s * xi[i], 2) / (2 * s * s);
  }
  for (int i = 0; i < 3; i++) {
    double x = i, s = 0.4;
    small_field(theta, x, u);
    parts[1] += pow(exp(theta[7]) * u[2] - u[0] * u[0] - x * x - s * xi[2 + i], 2) / (2 * s * s);
  }
  small_field(theta, 2, u);
  parts[2] = pow(u[1] + 1 - 0.05 * xi[5], 2) / (2 * 0.05 * 0.05);
  for (int j = 0; j < 7; j++) parts[3] += pow(theta[j] - 1.5 * xi[6 + j], 2) / (2 * 1.5 * 1.5);
  parts[3] += pow(theta[7] + 0.3 - 0.8 * xi[13], 2) / (2 * 0.8 * 0.8);
  return parts[0] + parts[1] + parts[2] + parts[3];
}

static void energy_by_hand(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(small, NULL);
  bench_build(&bench);
  assert_int_equal(rpinn_posterior_num_parameters(bench.posterior), SMALL_PARAMETERS);
  assert_int_equal(rpinn_posterior_num_rows(bench.posterior), SMALL_ROWS);
  RpinnStream stream = rpinn_stream(1, RPINN_PURPOSE_CHECK, 0, 0);
  for (int repeat = 0; repeat < 20; repeat++) {
    double theta[SMALL_PARAMETERS], xi[SMALL_ROWS + SMALL_PARAMETERS], found[4], expected[4], energy;
    rpinn_stream_normals(&stream, SMALL_PARAMETERS, theta);
    rpinn_stream_normals(&stream, SMALL_ROWS + SMALL_PARAMETERS, xi);
    const double *offsets = repeat % 2 ? xi : NULL;
    assert_int_equal(
        rpinn_posterior_energy(bench.context, bench.posterior, theta, offsets, &energy, NULL, found),
        RPINN_OK);
    check_relative(energy, small_energy(theta, offsets, expected), 1e-13);
    for (int k = 0; k < 4; k++) check_relative(found[k], expected[k], 1e-13);
    check_relative(found[0] + found[1] + found[2] + found[3], energy, 1e-15);
    /* Rows are (R - d)/s, without offsets. */
    double rows[SMALL_ROWS], u[3];
    assert_int_equal(rpinn_posterior_residuals(bench.context, bench.posterior, theta, rows, NULL), RPINN_OK);
    small_field(theta, 1.5, u);
    check_relative(rows[1], (u[0] - 2.5) / 0.1, 1e-13);
    small_field(theta, 2, u);
    check_relative(rows[4], (exp(theta[7]) * u[2] - u[0] * u[0] - 4) / 0.4, 1e-13);
    check_relative(rows[5], (u[1] + 1) / 0.05, 1e-13);
  }
  bench_close(&bench);
}

/* The gradient by central differences of the hand-written energy. */
static void gradient_by_hand(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(small, NULL);
  bench_build(&bench);
  RpinnStream stream = rpinn_stream(2, RPINN_PURPOSE_CHECK, 0, 0);
  for (int repeat = 0; repeat < 10; repeat++) {
    double theta[SMALL_PARAMETERS], xi[SMALL_ROWS + SMALL_PARAMETERS], gradient[SMALL_PARAMETERS], parts[4],
        energy;
    rpinn_stream_normals(&stream, SMALL_PARAMETERS, theta);
    rpinn_stream_normals(&stream, SMALL_ROWS + SMALL_PARAMETERS, xi);
    rpinn_posterior_energy(bench.context, bench.posterior, theta, xi, &energy, gradient, NULL);
    for (int j = 0; j < SMALL_PARAMETERS; j++) {
      double middle = theta[j], step = 1e-3, values[4];
      const double at[] = {-2, -1, 1, 2};
      for (int k = 0; k < 4; k++) {
        theta[j] = middle + at[k] * step;
        values[k] = small_energy(theta, xi, parts);
      }
      theta[j] = middle;
      double numeric = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step);
      check_true(fabs(gradient[j] - numeric) <= 1e-7 * fmax(fabs(numeric), energy),
                 "gradient %d is %.12g, not %.12g", j, gradient[j], numeric);
    }
  }
  bench_close(&bench);
}

/* ---- the abstract targets ---- */

static void targets_agree(void **state) {
  (void)state;
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/tests/problems/burgers.yaml", source_folder());
  ProblemBench bench = bench_load(path, NULL);
  bench_build(&bench);
  size_t N = rpinn_posterior_num_parameters(bench.posterior), M = rpinn_posterior_num_rows(bench.posterior);
  double *theta = calloc(5 * N + 2 * M, sizeof *theta), *offsets = theta + N, *gradient = offsets + M + N,
         *other = gradient + N, *direct = other + N;
  rpinn_posterior_start_glorot(bench.posterior, 0, theta);
  rpinn_posterior_draw_offsets(bench.posterior, 0, offsets);
  for (int with = 0; with < 2; with++) {
    const double *xi = with ? offsets : NULL;
    double value, composed, energy;
    RpinnPosteriorMember member = {bench.posterior, xi, bench.context};
    RpinnObjective objective = rpinn_posterior_objective(&member);
    assert_int_equal(objective.num_parameters, N);
    assert_int_equal(objective.evaluate(objective.data, theta, &value, gradient), RPINN_OK);
    rpinn_posterior_energy(bench.context, bench.posterior, theta, xi, &energy, direct, NULL);
    assert_true(value == energy && !memcmp(gradient, direct, N * sizeof *gradient));
    assert_int_equal(objective.evaluate(objective.data, theta, &energy, NULL), RPINN_OK);
    assert_true(value == energy); /* with or without the gradient */
    RpinnLeastSquares squares = rpinn_posterior_least_squares(&member);
    assert_true(squares.num_rows == M && squares.num_parameters == N);
    RpinnEnergyObjective *adapter = rpinn_energy_objective_create(&squares, xi);
    RpinnObjective energies = rpinn_energy_objective(adapter);
    assert_int_equal(energies.evaluate(energies.data, theta, &composed, other), RPINN_OK);
    check_relative(composed, value, 1e-13);
    double size = 0;
    for (size_t j = 0; j < N; j++) size = fmax(size, fabs(gradient[j]));
    for (size_t j = 0; j < N; j++) assert_true(fabs(gradient[j] - other[j]) <= 1e-12 * size);
    rpinn_energy_objective_destroy(adapter);
    RpinnLogDensity density = rpinn_log_density_of_objective(&objective);
    double log_density;
    assert_int_equal(density.evaluate(density.data, theta, &log_density, other), RPINN_OK);
    assert_true(log_density == -value && other[0] == -gradient[0]);
  }
  free(theta);
  bench_close(&bench);
}

/* A member's bits do not depend on its batch. */
static void batches(void **state) {
  (void)state;
  enum { MEMBERS = 4 };
  ProblemBench bench = bench_parse(small, NULL);
  bench_build(&bench);
  double theta[MEMBERS * SMALL_PARAMETERS], offsets[MEMBERS * (SMALL_ROWS + SMALL_PARAMETERS)];
  double energies[MEMBERS], gradients[MEMBERS * SMALL_PARAMETERS], parts[MEMBERS * 4];
  for (uint64_t k = 0; k < MEMBERS; k++) {
    rpinn_posterior_start_glorot(bench.posterior, k, theta + k * SMALL_PARAMETERS);
    rpinn_posterior_draw_offsets(bench.posterior, k, offsets + k * (SMALL_ROWS + SMALL_PARAMETERS));
  }
  const size_t order[] = {3, 0, 2};
  RpinnBatchMember members[3];
  double *gradient_of[3], *parts_of[3];
  for (size_t k = 0; k < 3; k++) {
    members[k] = (RpinnBatchMember){.theta = theta + order[k] * SMALL_PARAMETERS,
                                    .offsets = offsets + order[k] * (SMALL_ROWS + SMALL_PARAMETERS)};
    gradient_of[k] = gradients + k * SMALL_PARAMETERS;
    parts_of[k] = parts + k * 4;
  }
  assert_int_equal(rpinn_backend_energies(bench.context, bench.posterior->backend,
                                          &(RpinnMemberBatch){3, members}, energies, gradient_of, parts_of),
                   RPINN_OK);
  for (size_t k = 0; k < 3; k++) {
    double energy, gradient[SMALL_PARAMETERS], alone[4];
    rpinn_posterior_energy(bench.context, bench.posterior, theta + order[k] * SMALL_PARAMETERS,
                           offsets + order[k] * (SMALL_ROWS + SMALL_PARAMETERS), &energy, gradient, alone);
    assert_true(energy == energies[k]);
    assert_memory_equal(gradient, gradients + k * SMALL_PARAMETERS, sizeof gradient);
    assert_memory_equal(alone, parts + k * 4, sizeof alone);
  }
  bench_close(&bench);
}

/* ---- starts ---- */

static const char wide[] =
    "name: wide\n"
    "coordinates: {x: [0, 1], y: [0, 1]}\n"
    "fields:\n"
    "  u: {network: [50, 30]}\n"
    "  v: {network: [40, 20], initialization: glorot_uniform}\n"
    "unknowns: {a: {start: 3, transform: log}, b: {start: -2, prior: {mean: 4, std: 0.5}}}\n"
    "terms: {t: {expect: u + v + a + b, at: {grid: 2}, data: 0, noise: 1}}\n"
    "settings: {likelihood: noise, prior_scale: 2, scale_fields: no}\n";

static void glorot_starts(void **state) {
  (void)state;
  enum { MEMBERS = 40 };
  ProblemBench bench = bench_parse(wide, NULL);
  bench_build(&bench);
  size_t N = rpinn_posterior_num_parameters(bench.posterior);
  double *theta = calloc(MEMBERS * N, sizeof *theta);
  for (uint64_t k = 0; k < MEMBERS; k++) rpinn_posterior_start_glorot(bench.posterior, k, theta + k * N);
  for (size_t f = 0; f < 2; f++) {
    const RpinnNetwork *network = &bench.posterior->networks[f];
    size_t at = network->parameter_start;
    for (size_t l = 0; l < network->num_layers; l++) {
      size_t num_in = network->width[l], num_out = network->width[l + 1], count = num_in * num_out;
      double variance = 2.0 / (double)(num_in + num_out), sum = 0, squares = 0, fourth = 0, largest = 0;
      for (size_t k = 0; k < MEMBERS; k++)
        for (size_t j = at; j < at + count; j++) {
          double w = theta[k * N + j];
          sum += w, squares += w * w, fourth += w * w * w * w, largest = fmax(largest, fabs(w));
        }
      double n = (double)(MEMBERS * count), kurtosis = f ? 1.8 : 3, bound = sqrt(3 * variance);
      check_true(fabs(sum / n) < 5 * sqrt(variance / n), "mean %g in layer %zu", sum / n, l);
      check_true(fabs(squares / n / variance - 1) < 5 * sqrt((kurtosis - 1) / n),
                 "variance %g in layer %zu, not %g", squares / n, l, variance);
      check_true(fabs(fourth / n / (variance * variance) / kurtosis - 1) < 0.3, "kurtosis in layer %zu", l);
      assert_true(f == 0 || largest < bound);
      assert_true(f == 1 || largest > bound);
      at += count;
      for (size_t k = 0; k < MEMBERS; k++)
        for (size_t j = at; j < at + num_out; j++) assert_true(theta[k * N + j] == 0); /* biases */
      at += num_out;
    }
  }
  for (size_t k = 0; k < MEMBERS; k++)
    assert_true(theta[k * N + N - 2] == log(3) && theta[k * N + N - 1] == -2); /* unknowns at their start */
  /* Members differ, and member 7 is member 7 in a posterior of its own, not with another seed. */
  assert_true(memcmp(theta, theta + N, (N - 2) * sizeof *theta) != 0);
  RpinnOverride override = {.name = "seed", .value = "1", .origin = "--seed"};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = &override};
  ProblemBench alone = bench_parse(wide, NULL), seeded = bench_parse(wide, &options);
  bench_build(&alone);
  bench_build(&seeded);
  double *again = calloc(N, sizeof *again);
  rpinn_posterior_start_glorot(alone.posterior, 7, again);
  assert_memory_equal(again, theta + 7 * N, N * sizeof *again);
  rpinn_posterior_start_glorot(seeded.posterior, 7, again);
  assert_true(memcmp(again, theta + 7 * N, 100 * sizeof *again) != 0);
  bench_close(&alone);
  bench_close(&seeded);
  free(again);
  free(theta);
  bench_close(&bench);
}

static void zero_and_prior_starts(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(wide, NULL);
  bench_build(&bench);
  size_t N = rpinn_posterior_num_parameters(bench.posterior), M = rpinn_posterior_num_rows(bench.posterior);
  double *theta = calloc(2 * N + M, sizeof *theta), *offsets = theta + N, energy, parts[2];
  rpinn_posterior_start_zero(bench.posterior, theta);
  for (size_t j = 0; j < N - 2; j++) assert_true(theta[j] == 0);
  assert_true(theta[N - 2] == log(3) && theta[N - 1] == -2);
  /* The prior draw costs no prior energy: it is where the offsets put the prior's mean. */
  rpinn_posterior_draw_offsets(bench.posterior, 5, offsets);
  rpinn_posterior_start_prior(bench.posterior, offsets, theta);
  for (size_t j = 0; j < N - 2; j++) check_relative(theta[j], 2 * offsets[M + j], 1e-15);
  check_relative(theta[N - 2], offsets[M + N - 2], 1e-15);
  check_relative(theta[N - 1], 4 + 0.5 * offsets[M + N - 1], 1e-15);
  rpinn_posterior_energy(bench.context, bench.posterior, theta, offsets, &energy, NULL, parts);
  assert_true(parts[1] < 1e-25);
  bench_close(&bench);
  /* Without a prior there is nothing to draw from: those parameters stay as they are. */
  RpinnOverride override = {.name = "prior_scale", .value = "inf", .origin = "--prior-scale"};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = &override};
  bench = bench_parse(wide, &options);
  bench_build(&bench);
  for (size_t j = 0; j < N; j++) theta[j] = 1 + (double)j;
  rpinn_posterior_start_prior(bench.posterior, offsets, theta);
  for (size_t j = 0; j < N - 2; j++) assert_true(theta[j] == 1 + (double)j);
  check_relative(theta[N - 1], 4 + 0.5 * offsets[M + N - 1], 1e-15);
  free(theta);
  bench_close(&bench);
}

static void offset_streams(void **state) {
  (void)state;
  enum { MEMBERS = 12 };
  ProblemBench bench = bench_parse(wide, NULL), alone = bench_parse(wide, NULL);
  bench_build(&bench);
  bench_build(&alone);
  size_t count = rpinn_posterior_num_parameters(bench.posterior) + rpinn_posterior_num_rows(bench.posterior);
  double *all = calloc((MEMBERS + 1) * count, sizeof *all), *one = all + MEMBERS * count;
  for (uint64_t k = 0; k < MEMBERS; k++) rpinn_posterior_draw_offsets(bench.posterior, k, all + k * count);
  /* Member 9 is the same without those before it. */
  rpinn_posterior_draw_offsets(alone.posterior, 9, one);
  assert_memory_equal(one, all + 9 * count, count * sizeof *one);
  double n = (double)(MEMBERS * count), sum = 0, squares = 0, fourth = 0, neighbours = 0;
  for (size_t k = 0; k < MEMBERS * count; k++) {
    sum += all[k], squares += all[k] * all[k], fourth += pow(all[k], 4);
    if (k >= count) neighbours += all[k] * all[k - count]; /* the same row of the next member */
  }
  check_true(fabs(sum / n) < 5 / sqrt(n) && fabs(squares / n - 1) < 5 * sqrt(2 / n) &&
                 fabs(fourth / n - 3) < 5 * sqrt(96 / n) && fabs(neighbours / n) < 5 / sqrt(n),
             "mean %g, variance %g, fourth %g, between members %g", sum / n, squares / n, fourth / n,
             neighbours / n);
  /* Offsets and starts are different draws. */
  double *theta = calloc(count, sizeof *theta);
  rpinn_posterior_start_glorot(bench.posterior, 0, theta);
  double ratio = theta[0] / all[0];
  assert_true(fabs(theta[1] / all[1] - ratio) > 1e-6);
  free(theta);
  free(all);
  bench_close(&bench);
  bench_close(&alone);
}

/* ---- a model that is linear in its parameters ---- */

/* Solve A x = b for symmetric positive definite A [n][n] by Cholesky's factors; A and b are overwritten. */
static void solve(double *A, double *b, size_t n) {
  for (size_t j = 0; j < n; j++)
    for (size_t i = j; i < n; i++) {
      double sum = A[i * n + j];
      for (size_t k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
      if (i == j) check_true(sum > 0, "pivot %zu is %g", j, sum);
      A[i * n + j] = i == j ? sqrt(sum) : sum / A[j * n + j];
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

static double norm(const double *x, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

/* trainable: output. (J^T J + P^2) theta = J^T (xi_r - r(0)) + P xi_p is where the gradient vanishes. */
static void linear_model(void **state) {
  (void)state;
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/tests/problems/linear-model.yaml", source_folder());
  ProblemBench bench = bench_load(path, NULL);
  bench_build(&bench);
  size_t N = rpinn_posterior_num_parameters(bench.posterior), M = rpinn_posterior_num_rows(bench.posterior);
  assert_int_equal(N, 13 + 11);
  const double *root = bench.posterior->model.prior_root;
  double *J = calloc(2 * M * N + N * N + 2 * M + 6 * N, sizeof *J), *other = J + M * N, *A = other + M * N,
         *rows = A + N * N, *xi = rows + M, *theta = xi + M + N, *moved = theta + N, *gradient = moved + N,
         *origin = gradient + N, energy, higher;
  assert_int_equal(rpinn_posterior_residuals(bench.context, bench.posterior, origin, rows, J), RPINN_OK);
  /* Linear: the Jacobian is the same everywhere, and r(theta) = r(0) + J theta. */
  rpinn_posterior_start_glorot(bench.posterior, 1, theta);
  double *there = calloc(M, sizeof *there);
  assert_int_equal(rpinn_posterior_residuals(bench.context, bench.posterior, theta, there, other), RPINN_OK);
  for (size_t i = 0; i < M; i++) {
    double sum = rows[i];
    for (size_t j = 0; j < N; j++) sum += J[i * N + j] * theta[j];
    check_relative(there[i], sum, 1e-12);
  }
  for (size_t k = 0; k < M * N; k++) check_close(other[k], J[k], 1e-14);
  free(there);
  for (uint64_t member = 0; member < 4; member++) {
    const double *offsets = member ? xi : NULL;
    if (member) rpinn_posterior_draw_offsets(bench.posterior, member, xi);
    for (size_t a = 0; a < N; a++) {
      theta[a] = member ? root[a] * xi[M + a] : 0;
      for (size_t i = 0; i < M; i++) theta[a] += J[i * N + a] * ((member ? xi[i] : 0) - rows[i]);
      for (size_t b = 0; b < N; b++) {
        A[a * N + b] = a == b ? root[a] * root[a] : 0;
        for (size_t i = 0; i < M; i++) A[a * N + b] += J[i * N + a] * J[i * N + b];
      }
    }
    solve(A, theta, N);
    rpinn_posterior_energy(bench.context, bench.posterior, origin, offsets, &higher, gradient, NULL);
    double scale = norm(gradient, N);
    rpinn_posterior_energy(bench.context, bench.posterior, theta, offsets, &energy, gradient, NULL);
    check_true(norm(gradient, N) <= 1e-11 * scale, "the gradient is %g at the closed-form MAP, %g at 0",
               norm(gradient, N), scale);
    assert_true(energy < higher);
    /* Around it the energy is a parabola with curvature J^T J + P^2 in every direction. */
    RpinnStream stream = rpinn_stream(9, RPINN_PURPOSE_CHECK, member, 0);
    double curvature = 0;
    for (size_t j = 0; j < N; j++) moved[j] = rpinn_stream_normal(&stream);
    for (size_t i = 0; i < M; i++) {
      double product = 0;
      for (size_t j = 0; j < N; j++) product += J[i * N + j] * moved[j];
      curvature += product * product;
    }
    for (size_t j = 0; j < N; j++) curvature += pow(root[j] * moved[j], 2);
    for (size_t j = 0; j < N; j++) moved[j] += theta[j];
    rpinn_posterior_energy(bench.context, bench.posterior, moved, offsets, &higher, NULL, NULL);
    check_true(fabs(higher - energy - 0.5 * curvature) <= 1e-11 * curvature, "%g, expected %g",
               higher - energy, 0.5 * curvature);
  }
  free(J);
  bench_close(&bench);
}

/* The frozen layers belong to the data_seed, and u is what the frozen layers and theta make of it. */
static void frozen_layers(void **state) {
  (void)state;
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/tests/problems/linear-model.yaml", source_folder());
  RpinnOverride overrides[] = {{.name = "seed", .value = "99", .origin = "--seed"},
                               {.name = "data_seed", .value = "18", .origin = "--set"}};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = overrides};
  ProblemBench bench = bench_load(path, NULL), reseeded = bench_load(path, &options);
  options.overrides = overrides + 1;
  ProblemBench other = bench_load(path, &options);
  bench_build(&bench);
  bench_build(&reseeded);
  bench_build(&other);
  const RpinnNetwork *network = &bench.posterior->networks[0];
  size_t num_frozen = network->num_all - network->num_trainable;
  assert_int_equal(num_frozen, 3 * 8 + 9 * 12);
  assert_memory_equal(network->frozen, reseeded.posterior->networks[0].frozen, num_frozen * sizeof(double));
  assert_true(memcmp(network->frozen, other.posterior->networks[0].frozen, num_frozen * sizeof(double)) != 0);
  double theta[24], rows[64];
  assert_true(rpinn_posterior_num_rows(bench.posterior) <= 64);
  rpinn_posterior_start_glorot(bench.posterior, 0, theta);
  double *all = bench_parameters(&bench, 0, theta);
  rpinn_posterior_residuals(bench.context, bench.posterior, theta, rows, NULL);
  for (size_t p = 0; p < 20; p++) {
    double u = hand_network(network, all, bench_data(&bench, "u")->points.x + 2 * p, 0, 0).v;
    check_relative(rows[p], (u - bench_data(&bench, "u")->values[p]) / 0.1, 1e-12);
  }
  free(all);
  bench_close(&bench);
  bench_close(&reseeded);
  bench_close(&other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(energy_by_hand), cmocka_unit_test(gradient_by_hand),
      cmocka_unit_test(targets_agree),  cmocka_unit_test(batches),
      cmocka_unit_test(glorot_starts),  cmocka_unit_test(zero_and_prior_starts),
      cmocka_unit_test(offset_streams), cmocka_unit_test(linear_model),
      cmocka_unit_test(frozen_layers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
