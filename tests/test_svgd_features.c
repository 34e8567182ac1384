/* SVGD with a kernel of features: against the formula as loops, features that are the particles themselves, particles with the same bits
 * whatever groups, threads and interruptions, and what happens to directions that no feature sees. */
#include "check.h"

#include "context.h"
#include "random_stream.h"
#include "rpinn/svgd.h"

enum { MOST_THREADS = 3 };

/* f_k = sum_j A_kj x_j + b (sum_j A_kj x_j)^2: linear where b = 0. */
typedef struct Map {
  size_t num_features, num_parameters;
  double bend;
  size_t broken;       /* the particle at which a function fails or is not finite; SIZE_MAX: none */
  bool fails_by_words; /* or by a number that is not finite */
  bool breaks_jacobian;
} Map;

static double entry(size_t k, size_t j) {
  return sin(1 + 3.1 * (double)k + 1.7 * (double)j + 0.3 * (double)(k * j));
}

static void map_one(const Map *map, const double *x, double *rows, double *jacobian) {
  for (size_t k = 0; k < map->num_features; k++) {
    double sum = 0;
    for (size_t j = 0; j < map->num_parameters; j++) sum += entry(k, j) * x[j];
    rows[k] = sum + map->bend * sum * sum;
    for (size_t j = 0; jacobian && j < map->num_parameters; j++)
      jacobian[k * map->num_parameters + j] = entry(k, j) * (1 + 2 * map->bend * sum);
  }
}

static RpinnStatus map_all(RpinnContext *context, const Map *map, size_t count, const size_t *members,
                           const double *const *thetas, double *const *rows, double *const *jacobians) {
  for (size_t k = 0; k < count; k++) {
    map_one(map, thetas[k], rows[k], jacobians ? jacobians[k] : NULL);
    if (members[k] != map->broken || map->breaks_jacobian != (jacobians != NULL)) continue;
    if (map->fails_by_words) return rpinn_fail(context, RPINN_ERROR_IO, "no map of member %zu", members[k]);
    (jacobians ? jacobians : rows)[k][0] = NAN;
  }
  return RPINN_OK;
}

static RpinnStatus rows_of(RpinnContext *context, void *data, size_t count, const size_t *members,
                           const double *const *thetas, const double *const *inputs, double *const *rows,
                           double *const *outputs) {
  (void)inputs, (void)outputs;
  return map_all(context, data, count, members, thetas, rows, NULL);
}

static RpinnStatus jacobian_of(RpinnContext *context, void *data, size_t count, const size_t *members,
                               const double *const *thetas, const double *const *inputs, double *const *rows,
                               double *const *outputs) {
  (void)inputs;
  return map_all(context, data, count, members, thetas, rows, outputs);
}

/* x_j */
static RpinnStatus rows_of_identity(void *data, const double *x, double *rows) {
  memcpy(rows, x, *(size_t *)data * sizeof *rows);
  return RPINN_OK;
}

static RpinnStatus jacobian_of_identity(void *data, const double *x, double *rows, double *jacobian) {
  size_t N = *(size_t *)data;
  for (size_t k = 0; k < N * N; k++) jacobian[k] = k % (N + 1) == 0;
  return rows_of_identity(data, x, rows);
}

/* Normal, with deviation 1 + j % 3. */
static RpinnStatus weigh(void *data, const double *x, double *value, double *gradient) {
  *value = 0;
  for (size_t j = 0; j < *(size_t *)data; j++) {
    double s = 1 + (double)(j % 3), z = x[j] / s;
    *value -= 0.5 * z * z;
    gradient[j] = -z / s;
  }
  return RPINN_OK;
}

static RpinnContext *context;

static RpinnSvgdOptions options_of(size_t num_particles, bool single_precision) {
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  options.num_particles = num_particles;
  options.rule.learning_rate = 0.05;
  options.single_precision = single_precision;
  return options;
}

static double *starts(size_t count) {
  double *numbers = malloc(count * sizeof *numbers);
  RpinnStream stream = rpinn_stream(11, RPINN_PURPOSE_START, 0, 0);
  for (size_t k = 0; k < count; k++) numbers[k] = 2 * rpinn_stream_normal(&stream);
  return numbers;
}

/* Particles that began at `starts`. The density is for one, and must stay where it is. */
static RpinnSvgd *create(Map *map, size_t group, size_t num_threads, const RpinnSvgdOptions *options,
                         const RpinnLogDensity *density) {
  RpinnBatchLogDensity targets[MOST_THREADS];
  RpinnBatchLeastSquares features[MOST_THREADS];
  RpinnSvgd *svgd;
  for (size_t k = 0; k < num_threads; k++) {
    targets[k] = rpinn_log_density_as_batch(density);
    features[k] = (RpinnBatchLeastSquares){.num_parameters = map->num_parameters,
                                           .num_rows = map->num_features,
                                           .group = group,
                                           .data = map,
                                           .residuals = rows_of,
                                           .jacobian = jacobian_of};
  }
  assert_int_equal(rpinn_svgd_create_with_features(context, num_threads, targets, features, options, &svgd),
                   RPINN_OK);
  double *particles = starts(options->num_particles * map->num_parameters);
  assert_int_equal(rpinn_svgd_start(context, svgd, particles), RPINN_OK);
  free(particles);
  return svgd;
}

/* ---- the formula ---- */

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* phi_i = 1/n sum_j k_ij [ g_j + J_j^T (f_i - f_j) / h^2 ]; returns h. */
static double direct_phi(const Map *map, size_t n, const double *x, double *phi) {
  size_t N = map->num_parameters, F = map->num_features;
  double *f = malloc(n * F * sizeof *f), *J = malloc(n * F * N * sizeof *J), *g = malloc(n * N * sizeof *g);
  double *squares = calloc(n * n, sizeof *squares), *sorted = malloc(n * n * sizeof *sorted), value;
  for (size_t i = 0; i < n; i++) {
    map_one(map, x + i * N, f + i * F, J + i * F * N);
    weigh(&N, x + i * N, &value, g + i * N);
  }
  for (size_t i = 0; i < n * n; i++)
    for (size_t k = 0; k < F; k++) squares[i] += pow(f[i / n * F + k] - f[i % n * F + k], 2);
  memcpy(sorted, squares, n * n * sizeof *sorted);
  qsort(sorted, n * n, sizeof *sorted, compare);
  double h2 = 0.5 * (sorted[(n * n - 1) / 2] + sorted[n * n / 2]) / (2 * log((double)n + 1));
  memset(phi, 0, n * N * sizeof *phi);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      double weight = exp(-squares[i * n + j] / (2 * h2)) / (double)n;
      for (size_t p = 0; p < N; p++) phi[i * N + p] += weight * g[j * N + p];
      for (size_t k = 0; k < F; k++)
        for (size_t p = 0; p < N; p++)
          phi[i * N + p] += weight / h2 * J[(j * F + k) * N + p] * (f[i * F + k] - f[j * F + k]);
    }
  free(f), free(J), free(g), free(squares), free(sorted);
  return sqrt(h2);
}

/* Adagrad's first step is rate phi / (1e-6 + |phi|), of which phi below some 1e-6 leaves its size; so the rule is followed for
 * three steps, and the norm of phi tells its size. Of 300 x 300 numbers the Jacobians of 23 particles are there at a time, of 40. */
static void particles_follow_the_formula(void **state) {
  (void)state;
  const struct {
    size_t n, N, F;
    double bend;
  } shapes[] = {{5, 3, 2, 0.2}, {6, 2, 7, -0.1}, {40, 300, 300, 0}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    size_t n = shapes[s].n, N = shapes[s].N;
    Map map = {shapes[s].F, N, shapes[s].bend, .broken = SIZE_MAX};
    RpinnLogDensity density = {.num_parameters = N, .data = &N, .evaluate = weigh};
    RpinnSvgdOptions options = options_of(n, false);
    options.optimizer = RPINN_SVGD_ADAGRAD;
    RpinnSvgd *svgd = create(&map, 4, 1, &options, &density);
    double *x = starts(n * N), *phi = malloc(n * N * sizeof *phi), *v = calloc(n * N, sizeof *v);
    for (int t = 0; t < (N > 100 ? 1 : 3); t++) {
      double norm = 0, h = direct_phi(&map, n, x, phi);
      for (size_t i = 0; i < n; i++) {
        double square = 0;
        for (size_t j = 0; j < N; j++) square += phi[i * N + j] * phi[i * N + j];
        norm += sqrt(square) / (double)n;
      }
      for (size_t k = 0; k < n * N; k++) {
        v[k] = 0.9 * v[k] + (t == 0 ? 1 : 0.1) * phi[k] * phi[k];
        x[k] += 0.05 * phi[k] / (1e-6 + sqrt(v[k]));
      }
      assert_int_equal(rpinn_svgd_advance(context, svgd, 1), RPINN_OK);
      check_relative(rpinn_svgd_bandwidth(svgd), h, 1e-11);
      check_relative(rpinn_svgd_mean_norm(svgd), norm, 1e-11);
      for (size_t k = 0; k < n * N; k++) check_close(rpinn_svgd_particles(svgd)[k], x[k], 1e-9);
    }
    free(x), free(phi), free(v);
    rpinn_svgd_destroy(svgd);
  }
}

/* Features that are the parameters: the kernel of parameters, up to rounding. */
static void parameters_as_features_change_nothing(void **state) {
  (void)state;
  size_t N = 4, n = 12;
  for (int undivided = 0; undivided < 2; undivided++) {
    RpinnSvgdOptions options = options_of(n, false);
    options.undivided_repulsion = undivided;
    RpinnLogDensity density = {.num_parameters = N, .data = &N, .evaluate = weigh};
    RpinnLeastSquares identity = {.num_parameters = N,
                                  .num_rows = N,
                                  .data = &N,
                                  .residuals = rows_of_identity,
                                  .jacobian = jacobian_of_identity};
    RpinnBatchLogDensity target = rpinn_log_density_as_batch(&density);
    RpinnBatchLeastSquares features = rpinn_least_squares_as_batch(&identity);
    RpinnSvgd *plain, *functional;
    double *particles = starts(n * N);
    assert_int_equal(rpinn_svgd_create_batch(context, 1, &target, &options, &plain), RPINN_OK);
    assert_int_equal(rpinn_svgd_create_with_features(context, 1, &target, &features, &options, &functional),
                     RPINN_OK);
    assert_int_equal(rpinn_svgd_start(context, plain, particles), RPINN_OK);
    assert_int_equal(rpinn_svgd_start(context, functional, particles), RPINN_OK);
    assert_int_equal(rpinn_svgd_advance(context, plain, 50), RPINN_OK);
    assert_int_equal(rpinn_svgd_advance(context, functional, 50), RPINN_OK);
    for (size_t k = 0; k < n * N; k++)
      check_close(rpinn_svgd_particles(functional)[k], rpinn_svgd_particles(plain)[k], 1e-9);
    check_relative(rpinn_svgd_bandwidth(functional), rpinn_svgd_bandwidth(plain), 1e-9);
    free(particles);
    rpinn_svgd_destroy(plain);
    rpinn_svgd_destroy(functional);
  }
}

/* ---- what it is for ---- */

/* The variance of n particles at rest on N(0, 1). */
static double variance_on_a_line(const RpinnSvgdOptions *options) {
  size_t N = 1, n = options->num_particles;
  RpinnLogDensity density = {.num_parameters = N, .data = &N, .evaluate = weigh};
  RpinnSvgd *svgd;
  double *particles = starts(n), sum = 0;
  assert_int_equal(rpinn_svgd_create(context, 1, &density, options, &svgd), RPINN_OK);
  assert_int_equal(rpinn_svgd_start(context, svgd, particles), RPINN_OK);
  assert_int_equal(rpinn_svgd_advance(context, svgd, 3000), RPINN_OK);
  for (size_t i = 0; i < n; i++) sum += pow(rpinn_svgd_particles(svgd)[i], 2) / (double)n;
  free(particles);
  rpinn_svgd_destroy(svgd);
  return sum;
}

/* Three parameters and one feature f, whose spread is that of SVGD in one dimension. Across it nothing pushes apart, so that all particles
 * with one f come to rest at one point, the most probable one of that f. How long that takes is a matter of the kernel's least
 * eigenvalue; that of few particles is large. */
static void what_features_do_not_see_has_no_spread(void **state) {
  (void)state;
  size_t N = 3, n = 6;
  Map map = {1, N, 0, .broken = SIZE_MAX};
  RpinnLogDensity density = {.num_parameters = N, .data = &N, .evaluate = weigh};
  RpinnSvgdOptions options = options_of(n, false);
  options.rule.decay_rate = 0.5;
  options.rule.decay_steps = 300;
  RpinnSvgd *svgd = create(&map, 7, 2, &options, &density);
  assert_int_equal(rpinn_svgd_advance(context, svgd, 3000), RPINN_OK);
  const double *x = rpinn_svgd_particles(svgd);
  /* the feature sum_j A_j x_j is normal with variance sum_j A_j^2 s_j^2; across it lie (A_1, -A_0, 0) and its kin */
  double variance = 0, seen = 0, across = 0;
  for (size_t j = 0; j < N; j++) variance += pow(entry(0, j) * (1 + (double)j), 2);
  for (size_t i = 0; i < n; i++) {
    double f = 0, share[3];
    for (size_t j = 0; j < N; j++) f += entry(0, j) * x[i * N + j];
    /* the mean of x given f: s_j^2 A_j f / variance */
    for (size_t j = 0; j < N; j++)
      share[j] = x[i * N + j] - pow(1 + (double)j, 2) * entry(0, j) * f / variance;
    seen += f * f / (double)n;
    for (size_t j = 0; j < N; j++) across += share[j] * share[j] / (double)n;
  }
  check_relative(seen / variance, variance_on_a_line(&options), 1e-3);
  check_true(across < 1e-4, "%g", across);
  rpinn_svgd_destroy(svgd);
}

/* ---- manners ---- */

static unsigned char *state_of(const RpinnSvgd *svgd, size_t *size) {
  *size = rpinn_svgd_state_size(svgd);
  unsigned char *state = malloc(*size);
  rpinn_svgd_save(svgd, state);
  return state;
}

static void groups_threads_and_interruptions_leave_no_mark(void **state) {
  (void)state;
  size_t N = 300, n = 30, size, other_size;
  Map map = {300, N, 0.01, .broken = SIZE_MAX};
  RpinnLogDensity density = {.num_parameters = N, .data = &N, .evaluate = weigh};
  for (int single = 0; single < 2; single++) {
    RpinnSvgdOptions options = options_of(n, single);
    RpinnSvgd *alone = create(&map, 1, 1, &options, &density);
    assert_int_equal(rpinn_svgd_advance(context, alone, 2), RPINN_OK);
    unsigned char *half = state_of(alone, &size);
    assert_int_equal(rpinn_svgd_advance(context, alone, 1), RPINN_OK);
    unsigned char *expected = state_of(alone, &size);
    for (size_t threads = 2; threads <= MOST_THREADS; threads++) {
      RpinnSvgd *other = create(&map, threads == 2 ? 7 : 64, threads, &options, &density);
      if (threads == 3)
        assert_int_equal(rpinn_svgd_restore(context, other, half, size), RPINN_OK);
      else
        assert_int_equal(rpinn_svgd_advance(context, other, 2), RPINN_OK);
      assert_int_equal(rpinn_svgd_advance(context, other, 1), RPINN_OK);
      unsigned char *found = state_of(other, &other_size);
      assert_int_equal(other_size, size);
      check_true(memcmp(found, expected, size) == 0, "%zu threads, single %d", threads, single);
      free(found);
      rpinn_svgd_destroy(other);
    }
    free(half);
    free(expected);
    rpinn_svgd_destroy(alone);
  }
}

static void states_belong_to_their_features(void **state) {
  (void)state;
  size_t N = 2, n = 4, size, plain_size;
  Map two = {2, N, 0, .broken = SIZE_MAX}, three = {3, N, 0, .broken = SIZE_MAX};
  RpinnLogDensity density = {.num_parameters = N, .data = &N, .evaluate = weigh};
  RpinnSvgdOptions options = options_of(n, false);
  RpinnSvgd *own = create(&two, 1, 1, &options, &density), *other = create(&three, 1, 1, &options, &density),
            *plain;
  RpinnBatchLogDensity target = rpinn_log_density_as_batch(&density);
  double *particles = starts(n * N);
  assert_int_equal(rpinn_svgd_create_batch(context, 1, &target, &options, &plain), RPINN_OK);
  assert_int_equal(rpinn_svgd_start(context, plain, particles), RPINN_OK);
  unsigned char *saved = state_of(own, &size), *without = state_of(plain, &plain_size);
  assert_int_equal(rpinn_svgd_restore(context, other, saved, size), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message, "the SVGD state was saved with other options");
  assert_int_equal(rpinn_svgd_restore(context, plain, saved, size), RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_svgd_restore(context, own, without, plain_size), RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_svgd_restore(context, own, saved, size), RPINN_OK);
  free(saved), free(without), free(particles);
  rpinn_svgd_destroy(own);
  rpinn_svgd_destroy(other);
  rpinn_svgd_destroy(plain);
}

static void failures_name_particle_and_function(void **state) {
  (void)state;
  size_t N = 2, n = 9;
  RpinnLogDensity density = {.num_parameters = N, .data = &N, .evaluate = weigh};
  RpinnSvgdOptions options = options_of(n, false);
  const struct {
    bool words, jacobian;
    RpinnStatus status;
    const char *message;
  } cases[] = {
      {true, false, RPINN_ERROR_IO, "no map of member 5"},
      {true, true, RPINN_ERROR_IO, "no map of member 5"},
      {false, false, RPINN_ERROR_NUMERIC, "the features of particle 5 are not finite after 1 iterations"},
      {false, true, RPINN_ERROR_NUMERIC,
       "the derivatives of the features of particle 5 are not finite after 1 iterations"}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
    for (size_t threads = 1; threads <= 2; threads++) {
      Map map = {3, N, 0, SIZE_MAX, cases[c].words, cases[c].jacobian};
      RpinnSvgd *svgd = create(&map, 1, threads, &options, &density);
      assert_int_equal(rpinn_svgd_advance(context, svgd, 1), RPINN_OK);
      map.broken = 5;
      assert_int_equal(rpinn_svgd_advance(context, svgd, 1), cases[c].status);
      assert_string_equal(rpinn_context_error(context)->message, cases[c].message);
      rpinn_svgd_destroy(svgd);
    }
}

static void features_must_fit(void **state) {
  (void)state;
  size_t N = 2;
  Map map = {3, N, 0, .broken = SIZE_MAX};
  RpinnLogDensity density = {.num_parameters = N, .data = &N, .evaluate = weigh};
  RpinnBatchLogDensity targets[2] = {rpinn_log_density_as_batch(&density),
                                     rpinn_log_density_as_batch(&density)};
  RpinnBatchLeastSquares good = {.num_parameters = N,
                                 .num_rows = 3,
                                 .group = 2,
                                 .data = &map,
                                 .residuals = rows_of,
                                 .jacobian = jacobian_of};
  RpinnSvgdOptions options = options_of(4, false);
  RpinnSvgd *svgd;
  RpinnBatchLeastSquares other[2] = {good, good};
  other[1].num_parameters = 5;
  assert_int_equal(rpinn_svgd_create_with_features(context, 2, targets, other, &options, &svgd),
                   RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message, "features 1 have 5 parameters, expected 2");
  other[1] = good, other[1].group = 3;
  assert_int_equal(rpinn_svgd_create_with_features(context, 2, targets, other, &options, &svgd),
                   RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message,
                      "features 1 are 3 in groups of 3 members, expected 3 in groups of 2 as in the first");
  other[0].num_rows = 0;
  assert_int_equal(rpinn_svgd_create_with_features(context, 1, targets, other, &options, &svgd),
                   RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message, "features 0 are 0, expected 1 to 2147483647");
  other[0] = good, other[0].jacobian = NULL;
  assert_int_equal(rpinn_svgd_create_with_features(context, 1, targets, other, &options, &svgd),
                   RPINN_ERROR_INPUT);
  assert_null(svgd);
}

static int open_context(void **state) {
  (void)state;
  context = rpinn_context_create();
  return context ? 0 : -1;
}

static int close_context(void **state) {
  (void)state;
  rpinn_context_destroy(context);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(particles_follow_the_formula),
                                     cmocka_unit_test(parameters_as_features_change_nothing),
                                     cmocka_unit_test(what_features_do_not_see_has_no_spread),
                                     cmocka_unit_test(groups_threads_and_interruptions_leave_no_mark),
                                     cmocka_unit_test(states_belong_to_their_features),
                                     cmocka_unit_test(failures_name_particle_and_function),
                                     cmocka_unit_test(features_must_fit)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
