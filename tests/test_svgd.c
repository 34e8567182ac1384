/* SVGD against the formula written as two loops, on targets with known answers, and its manners: the same bits
 * for any number of threads and after a restore, no fear of particles that coincide. */
#include "check.h"

#include <cblas.h>

#include "arena.h"
#include "random_stream.h"
#include "rpinn/svgd.h"
#include "svgd_kernel.h"

enum { MOST_THREADS = 3 };

/* ---- a normal target with independent components, and ways to break it ---- */

typedef struct Normal {
  size_t N;
  double mean[8], deviation[8]; /* component j has those of j % 8 */
  const double *broken;         /* [1]: not finite where x_0 is this number */
  double broken_value;          /* what the density is there */
  bool broken_gradient;         /* the gradient instead */
} Normal;

static RpinnStatus normal_evaluate(void *data, const double *x, double *log_density, double *gradient) {
  const Normal *normal = data;
  *log_density = 0;
  for (size_t j = 0; j < normal->N; j++) {
    double s = normal->deviation[j % 8], z = (x[j] - normal->mean[j % 8]) / s;
    *log_density -= 0.5 * z * z;
    if (gradient) gradient[j] = -z / s;
  }
  if (!normal->broken || x[0] != *normal->broken) return RPINN_OK;
  if (normal->broken_gradient)
    gradient[normal->N - 1] = NAN;
  else
    *log_density = normal->broken_value;
  return RPINN_OK;
}

static Normal make_normal(size_t N) {
  Normal normal = {.N = N};
  for (size_t j = 0; j < 8; j++) {
    normal.mean[j] = (double)j - 2;
    normal.deviation[j] = 0.5 + 0.25 * (double)j;
  }
  return normal;
}

typedef struct Fixture {
  RpinnContext *context;
  RpinnSvgd *svgd;
} Fixture;

static Fixture create(Normal *normal, size_t num_threads, const RpinnSvgdOptions *options) {
  RpinnLogDensity targets[MOST_THREADS];
  Fixture fixture = {.context = rpinn_context_create()};
  for (size_t k = 0; k < num_threads; k++)
    targets[k] = (RpinnLogDensity){.num_parameters = normal->N, .data = normal, .evaluate = normal_evaluate};
  assert_non_null(fixture.context);
  assert_int_equal(rpinn_svgd_create(fixture.context, num_threads, targets, options, &fixture.svgd),
                   RPINN_OK);
  return fixture;
}

static void destroy(Fixture *fixture) {
  rpinn_svgd_destroy(fixture->svgd);
  rpinn_context_destroy(fixture->context);
}

static double *normals(size_t count, uint64_t member, double scale, double shift) {
  double *numbers = malloc(count * sizeof *numbers);
  RpinnStream stream = rpinn_stream(7, RPINN_PURPOSE_START, member, 0);
  assert_non_null(numbers);
  for (size_t k = 0; k < count; k++) numbers[k] = shift + scale * rpinn_stream_normal(&stream);
  return numbers;
}

/* ---- the formula, directly ---- */

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static double squared_distance(size_t N, const double *x, const double *y) {
  double sum = 0;
  for (size_t j = 0; j < N; j++) sum += (x[j] - y[j]) * (x[j] - y[j]);
  return sum;
}

/* By sorting all n^2 of them. */
static double direct_median(size_t n, const double *matrix) {
  double *sorted = malloc(n * n * sizeof *sorted);
  assert_non_null(sorted);
  memcpy(sorted, matrix, n * n * sizeof *sorted);
  qsort(sorted, n * n, sizeof *sorted, compare);
  double median = 0.5 * (sorted[(n * n - 1) / 2] + sorted[n * n / 2]);
  free(sorted);
  return median;
}

/* phi [n][N]; returns h. */
static double direct_phi(size_t n, size_t N, const double *x, const double *g, bool undivided, double *phi) {
  double *squares = malloc(n * n * sizeof *squares);
  assert_non_null(squares);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++) squares[i * n + k] = squared_distance(N, x + i * N, x + k * N);
  double h2 = direct_median(n, squares) / (2 * log((double)n + 1));
  memset(phi, 0, n * N * sizeof *phi);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++) {
      double weight = exp(-squares[i * n + k] / (2 * h2));
      for (size_t j = 0; j < N; j++) {
        double repulsion = weight * (x[i * N + j] - x[k * N + j]) / h2;
        phi[i * N + j] += weight * g[k * N + j] / (double)n + repulsion / (undivided ? 1 : (double)n);
      }
    }
  free(squares);
  return sqrt(h2);
}

/* The same by the kernel under test; also k [n][n] where it is wanted, in double only. */
static double kernel_phi(size_t n, size_t N, const double *x, const double *g, bool undivided, bool single,
                         double *phi, double *k) {
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  RpinnTeam *team;
  RpinnSvgdKernel kernel;
  size_t tile_size = (size_t)RPINN_SVGD_TILE_ROWS * RPINN_SVGD_TILE_COLUMNS;
  double *product = malloc(tile_size * sizeof *product), *tile_phi = malloc(tile_size * sizeof *tile_phi);
  assert_true(rpinn_svgd_kernel_create(&kernel, n, N, 0, single, undivided, arena));
  assert_int_equal(rpinn_team_create(context, 2, &team), RPINN_OK);
  rpinn_svgd_kernel_measure(&kernel, team, x);
  rpinn_svgd_kernel_find_bandwidth(&kernel);
  for (size_t i = 0; i < n; i++) kernel.products->set_gradient(&kernel, i, g + i * N);
  rpinn_svgd_kernel_weigh(&kernel, team);
  for (size_t t = 0; t < rpinn_svgd_kernel_num_tiles(&kernel); t++) {
    RpinnTile tile = rpinn_svgd_kernel_tile(&kernel, t);
    kernel.products->direction(&kernel, tile, product, tile_phi);
    for (size_t i = 0; i < tile.num_rows; i++)
      memcpy(phi + (tile.row + i) * N + tile.column, tile_phi + i * tile.num_columns,
             tile.num_columns * sizeof *phi);
  }
  if (k) memcpy(k, kernel.square, n * n * sizeof *k);
  double h = sqrt(kernel.squared_bandwidth);
  free(product);
  free(tile_phi);
  rpinn_team_destroy(team);
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
  return h;
}

/* ---- kernel ---- */

/* Four points whose squared distances are 10, 13, 37, 41, 90, 100: with four zeros and each twice, the middle
 * of sixteen is (13 + 37) / 2 = 25, h^2 = 25 / (2 log 5), and so k = 5^(-d^2 / 25). */
static void test_kernel_by_hand(void **state) {
  (void)state;
  const double x[] = {1, 2, 10, 5, 7, 3, 2, -1}, g[8] = {0};
  const double squares[4][4] = {{0, 90, 37, 10}, {90, 0, 13, 100}, {37, 13, 0, 41}, {10, 100, 41, 0}};
  double phi[8], k[16], h = kernel_phi(4, 2, x, g, false, false, phi, k);
  check_relative(h * h, 25 / (2 * log(5.0)), 1e-14);
  for (size_t i = 0; i < 4; i++)
    for (size_t j = 0; j < 4; j++) check_relative(k[4 * i + j], pow(5, -squares[i][j] / 25), 1e-14);
}

/* Against sorting, for sizes with odd and even numbers of entries and pairs, and with many equal distances. */
static void test_median(void **state) {
  (void)state;
  for (size_t n = 1; n <= 40; n++)
    for (uint64_t kind = 0; kind < 4; kind++) {
      double *matrix = calloc(n * n, sizeof *matrix), *pairs = calloc(n * n, sizeof *pairs);
      RpinnStream stream = rpinn_stream(n, RPINN_PURPOSE_CHECK, kind, 0);
      size_t count = 0;
      for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
          double value = kind == 0   ? rpinn_stream_uniform(&stream)
                         : kind == 1 ? (double)rpinn_stream_below(&stream, 3) /* many equal, many zero */
                         : kind == 2 ? (double)count                          /* sorted */
                                     : -(double)count + (double)(n * n);
          matrix[i * n + j] = matrix[j * n + i] = pairs[count++] = value;
        }
      check_close(rpinn_svgd_median(n, pairs), direct_median(n, matrix), 0);
      free(matrix);
      free(pairs);
    }
}

/* Particles far from the origin compared with their spread, more than one tile of each matrix, both
 * repulsions. In double what is lost is rounding, some 1e-16 times the largest product; in float 6e-8, times a few
 * for the sums of a few hundred terms. */
static void test_phi(void **state) {
  (void)state;
  const struct {
    size_t n, N;
    double shift;
  } shapes[] = {{2, 5, 0}, {3, 1, 1}, {37, 300, 1000}, {300, 401, -5}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (int undivided = 0; undivided < 2; undivided++) {
      size_t n = shapes[s].n, N = shapes[s].N;
      double *x = normals(n * N, s, 1, shapes[s].shift), *g = normals(n * N, 10 + s, 3, 1);
      double *expected = malloc(n * N * sizeof(double)), *found = malloc(n * N * sizeof(double)), scale = 0;
      double h = direct_phi(n, N, x, g, undivided, expected);
      for (size_t k = 0; k < n * N; k++) scale = fmax(scale, fabs(expected[k]));
      for (int single = 0; single < 2; single++) {
        double tolerance = single ? 3e-6 : 1e-12;
        check_close(kernel_phi(n, N, x, g, undivided, single, found, NULL) / h, 1, tolerance);
        for (size_t k = 0; k < n * N; k++)
          check_true(fabs(found[k] - expected[k]) <= tolerance * scale,
                     "%zu x %zu, single %d, undivided %d: phi[%zu] is %.17g, expected %.17g of at most %g", n,
                     N, single, undivided, k, found[k], expected[k], scale);
      }
      free(x);
      free(g);
      free(expected);
      free(found);
    }
}

/* Ten pairs a hundred-thousandth of their size apart: float cannot see that and must say zero, not its own rounding;
 * double sees it to 16 - 10 digits. */
static void test_rounded_distances(void **state) {
  (void)state;
  enum { n = 20, N = 300 };
  RpinnContext *context = rpinn_context_create();
  RpinnTeam *team;
  double *x = normals(n * N, 12, 1, 0);
  for (size_t i = 1; i < n; i += 2)
    for (size_t j = 0; j < N; j++) x[i * N + j] = x[(i - 1) * N + j] * (1 + 1e-5 * cos((double)j));
  assert_int_equal(rpinn_team_create(context, 1, &team), RPINN_OK);
  for (int single = 0; single < 2; single++) {
    RpinnArena *arena = rpinn_arena_create();
    RpinnSvgdKernel kernel;
    assert_true(rpinn_svgd_kernel_create(&kernel, n, N, 0, single, false, arena));
    rpinn_svgd_kernel_measure(&kernel, team, x);
    for (size_t i = 1; i < n; i += 2) {
      double found = kernel.pairs[i * (i - 1) / 2 + i - 1];
      double square = squared_distance(N, x + i * N, x + (i - 1) * N);
      check_close(found / square, single ? 0 : 1, single ? 0 : 1e-4);
    }
    rpinn_arena_destroy(arena);
  }
  rpinn_team_destroy(team);
  rpinn_context_destroy(context);
  free(x);
}

/* ---- optimisers ---- */

/* Five iterations of the formulas in the header, and what is said about the last one. */
static void check_optimizer(RpinnSvgdOptimizer optimizer, bool undivided) {
  enum { n = 5, N = 3, ITERATIONS = 5 };
  Normal normal = make_normal(N);
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  options.num_particles = n;
  options.optimizer = optimizer;
  options.undivided_repulsion = undivided;
  options.rule.learning_rate = 0.1;
  options.rule.decay_rate = 0.5;
  options.rule.decay_steps = 3;
  Fixture fixture = create(&normal, 1, &options);
  double *x = normals(n * N, 1, 1, 0), g[n * N], phi[n * N], m[n * N] = {0}, v[n * N] = {0}, density[n];
  assert_int_equal(rpinn_svgd_start(fixture.context, fixture.svgd, x), RPINN_OK);
  assert_true(isnan(rpinn_svgd_bandwidth(fixture.svgd)) && isnan(rpinn_svgd_mean_norm(fixture.svgd)) &&
              isnan(rpinn_svgd_log_densities(fixture.svgd)[n - 1]));
  for (int t = 0; t < ITERATIONS; t++) {
    double norm = 0, rate = 0.1 * pow(0.5, t / 3.0);
    for (size_t i = 0; i < n; i++) normal_evaluate(&normal, x + i * N, &density[i], g + i * N);
    double h = direct_phi(n, N, x, g, undivided, phi);
    for (size_t i = 0; i < n; i++) norm += sqrt(squared_distance(N, phi + i * N, (double[N]){0})) / n;
    for (size_t k = 0; k < n * N; k++) {
      if (optimizer == RPINN_SVGD_ADAGRAD) {
        v[k] = t == 0 ? phi[k] * phi[k] : 0.9 * v[k] + 0.1 * phi[k] * phi[k];
        x[k] += rate * phi[k] / (1e-6 + sqrt(v[k]));
      } else {
        m[k] = 0.9 * m[k] + 0.1 * phi[k];
        v[k] = 0.999 * v[k] + 0.001 * phi[k] * phi[k];
        x[k] += rate * (m[k] / (1 - pow(0.9, t + 1))) / (sqrt(v[k] / (1 - pow(0.999, t + 1))) + 1e-8);
      }
    }
    assert_int_equal(rpinn_svgd_advance(fixture.context, fixture.svgd, 1), RPINN_OK);
    for (size_t k = 0; k < n * N; k++) check_relative(rpinn_svgd_particles(fixture.svgd)[k], x[k], 1e-12);
    for (size_t i = 0; i < n; i++)
      check_relative(rpinn_svgd_log_densities(fixture.svgd)[i], density[i], 1e-12);
    for (size_t k = 0; k < n * N; k++) check_relative(rpinn_svgd_gradients(fixture.svgd)[k], g[k], 1e-10);
    check_relative(rpinn_svgd_bandwidth(fixture.svgd), h, 1e-12);
    check_relative(rpinn_svgd_mean_norm(fixture.svgd), norm, 1e-12);
  }
  assert_int_equal(rpinn_svgd_num_iterations(fixture.svgd), ITERATIONS);
  free(x);
  destroy(&fixture);
}

static void test_optimizers(void **state) {
  (void)state;
  check_optimizer(RPINN_SVGD_ADAM, false);
  check_optimizer(RPINN_SVGD_ADAM, true);
  check_optimizer(RPINN_SVGD_ADAGRAD, false);
}

/* ---- what it is for ---- */

/* Exact draws, 200 of them, would miss the mean by 1/sqrt(200) = 0.07 deviations and the variance by sqrt(2/200)
 * = 10 % (one standard error). The particles of SVGD are placed better than that; what is left (about 0.01 and 5 %,
 * too narrow) is the bias of a finite number. */
static void test_normal_target(void **state) {
  (void)state;
  enum { n = 200, N = 2 };
  for (int single = 0; single < 2; single++) {
    Normal normal = make_normal(N);
    RpinnSvgdOptions options = rpinn_svgd_default_options();
    options.num_particles = n;
    options.single_precision = single;
    options.rule.learning_rate = 0.05;
    options.rule.decay_rate = 0.5;
    options.rule.decay_steps = 300;
    Fixture fixture = create(&normal, 1, &options);
    double *start = normals(n * N, 3, 1, 4);
    assert_int_equal(rpinn_svgd_start(fixture.context, fixture.svgd, start), RPINN_OK);
    assert_int_equal(rpinn_svgd_advance(fixture.context, fixture.svgd, 1500), RPINN_OK);
    const double *x = rpinn_svgd_particles(fixture.svgd);
    for (size_t j = 0; j < N; j++) {
      double mean = 0, square = 0, deviation = normal.deviation[j];
      for (size_t i = 0; i < n; i++) mean += x[i * N + j] / n;
      for (size_t i = 0; i < n; i++) square += pow(x[i * N + j] - mean, 2) / n;
      check_close((mean - normal.mean[j]) / deviation, 0, 1 / sqrt(n));
      check_close(square / (deviation * deviation), 1, sqrt(2.0 / n));
    }
    free(start);
    destroy(&fixture);
  }
}

/* On N(0, I) with no fewer dimensions than particles these come to rest at equal distances r, where k_ij = 1/(n+1) for all pairs and
 * phi vanishes for h^2 = 1, undivided for h^2 = n: r^2 = 2 h^2 log(n+1). */
static void test_spread_in_many_dimensions(void **state) {
  (void)state;
  enum { n = 30, N = 60 };
  for (int undivided = 0; undivided < 2; undivided++) {
    Normal normal = {.N = N, .deviation = {1, 1, 1, 1, 1, 1, 1, 1}};
    RpinnSvgdOptions options = rpinn_svgd_default_options();
    options.num_particles = n;
    options.undivided_repulsion = undivided;
    options.rule.learning_rate = 0.1;
    options.rule.decay_rate = 1e-3;
    options.rule.decay_steps = 3000;
    Fixture fixture = create(&normal, 1, &options);
    double *start = normals(n * N, 4, 1, 0), mean[N] = {0}, square = 0;
    assert_int_equal(rpinn_svgd_start(fixture.context, fixture.svgd, start), RPINN_OK);
    assert_int_equal(rpinn_svgd_advance(fixture.context, fixture.svgd, 3000), RPINN_OK);
    const double *x = rpinn_svgd_particles(fixture.svgd);
    for (size_t k = 0; k < n * N; k++) mean[k % N] += x[k] / n;
    for (size_t k = 0; k < n * N; k++) square += pow(x[k] - mean[k % N], 2) / (n - 1);
    check_relative(square / N, (undivided ? n : 1) * log(n + 1) / N, 1e-3);
    free(start);
    destroy(&fixture);
  }
}

/* Plain ascent: k = 1, no repulsion, whatever the repulsion is divided by. */
static void test_one_particle(void **state) {
  (void)state;
  enum { N = 10 };
  Normal normal = make_normal(N);
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  options.num_particles = 1;
  options.undivided_repulsion = true;
  options.rule.learning_rate = 0.1;
  options.rule.decay_rate = 0.5;
  options.rule.decay_steps = 100;
  Fixture fixture = create(&normal, 2, &options);
  double *start = normals(N, 4, 1, 0);
  assert_int_equal(rpinn_svgd_start(fixture.context, fixture.svgd, start), RPINN_OK);
  assert_int_equal(rpinn_svgd_advance(fixture.context, fixture.svgd, 2000), RPINN_OK);
  for (size_t j = 0; j < N; j++) check_close(rpinn_svgd_particles(fixture.svgd)[j], normal.mean[j % 8], 1e-3);
  check_close(rpinn_svgd_bandwidth(fixture.svgd), 0, 0);
  free(start);
  destroy(&fixture);
}

/* Does OpenBLAS add up equal rows alike? Kernels for some processors take the last rows and columns of a product another way. */
static bool equal_rows_have_equal_sums(size_t n, size_t N) {
  float *numbers = calloc(n * n + 2 * n * N, sizeof *numbers), *rows = numbers + n * n, *sums = rows + n * N;
  double *wide = calloc(n * n + 2 * n * N, sizeof *wide), *wide_rows = wide + n * n,
         *wide_sums = wide_rows + n * N;
  assert_true(numbers && wide);
  for (size_t k = 0; k < n * n; k++) numbers[k] = 1, wide[k] = 1;
  for (size_t k = 0; k < n * N; k++) wide_rows[k] = rows[k] = (float)sin(0.7 * (double)(k % N));
  int height = (int)n, width = (int)N;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, height, width, height, 1, numbers, height, rows,
              width, 0, sums, width);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, height, width, height, 1, wide, height, wide_rows,
              width, 0, wide_sums, width);
  bool alike = true;
  for (size_t i = 1; i < n; i++)
    alike &= memcmp(sums + i * N, sums, N * sizeof *sums) == 0 &&
             memcmp(wide_sums + i * N, wide_sums, N * sizeof *wide_sums) == 0;
  free(numbers);
  free(wide);
  return alike;
}

/* All in one place, they climb together as one, where OpenBLAS lets them; nearly all (the median is still zero), everything stays
 * finite; and so it does with spreads whose squares barely are numbers. */
static void test_coincident_particles(void **state) {
  (void)state;
  enum { n = 250, N = 301 };
  Normal normal = make_normal(N);
  const bool stay_together = equal_rows_have_equal_sums(n, N);
  if (!stay_together) print_message("OpenBLAS does not add up equal rows alike: coincident particles part\n");
  for (int single = 0; single < 2; single++)
    for (int apart = 0; apart < 4; apart++) {
      RpinnSvgdOptions options = rpinn_svgd_default_options();
      options.num_particles = n;
      options.single_precision = single;
      options.undivided_repulsion = true;
      Fixture fixture = create(&normal, 2, &options);
      double *start = normals(n * N, 5, apart == 2 ? 1e-22 : 1e-161, 0), *place = normals(N, 6, 1, 0.1);
      for (size_t i = 0; i < n && apart < 2; i++) memcpy(start + i * N, place, N * sizeof *start);
      for (size_t j = 0; j < N && apart == 1; j++) start[(n - 1) * N + j] *= 1 + 1e3 * sin((double)j);
      assert_int_equal(rpinn_svgd_start(fixture.context, fixture.svgd, start), RPINN_OK);
      assert_int_equal(rpinn_svgd_advance(fixture.context, fixture.svgd, 5), RPINN_OK);
      const double *x = rpinn_svgd_particles(fixture.svgd);
      if (apart < 2 && stay_together) check_close(rpinn_svgd_bandwidth(fixture.svgd), 0, 0);
      assert_true(isfinite(rpinn_svgd_mean_norm(fixture.svgd)));
      for (size_t k = 0; k < n * N; k++) assert_true(isfinite(x[k]));
      for (size_t i = 1; i < n && apart == 0 && stay_together; i++)
        assert_memory_equal(x + i * N, x, N * sizeof *x);
      free(start);
      free(place);
      destroy(&fixture);
    }
}

/* ---- bits ---- */

enum { BITS_n = 300, BITS_N = 410, BITS_ITERATIONS = 6 };

static RpinnSvgdOptions bits_options(RpinnSvgdOptimizer optimizer, bool single) {
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  options.num_particles = BITS_n;
  options.optimizer = optimizer;
  options.single_precision = single;
  return options;
}

static void *save(const RpinnSvgd *svgd) {
  void *buffer = malloc(rpinn_svgd_state_size(svgd));
  assert_non_null(buffer);
  rpinn_svgd_save(svgd, buffer);
  return buffer;
}

/* The saved state has all there is to compare. */
static void test_threads_change_no_bit(void **state) {
  (void)state;
  Normal normal = make_normal(BITS_N);
  double *start = normals(BITS_n * BITS_N, 8, 1, 0);
  for (int single = 0; single < 2; single++) {
    void *expected = NULL;
    for (size_t num_threads = 1; num_threads <= MOST_THREADS; num_threads++) {
      RpinnSvgdOptions options = bits_options(RPINN_SVGD_ADAM, single);
      Fixture fixture = create(&normal, num_threads, &options);
      assert_int_equal(rpinn_svgd_start(fixture.context, fixture.svgd, start), RPINN_OK);
      assert_int_equal(rpinn_svgd_advance(fixture.context, fixture.svgd, BITS_ITERATIONS), RPINN_OK);
      void *found = save(fixture.svgd);
      if (expected) assert_memory_equal(found, expected, rpinn_svgd_state_size(fixture.svgd));
      free(expected);
      expected = found;
      destroy(&fixture);
    }
    free(expected);
  }
  free(start);
}

static void test_saved_and_restored(void **state) {
  (void)state;
  Normal normal = make_normal(BITS_N);
  double *start = normals(BITS_n * BITS_N, 9, 1, 0);
  for (int kind = 0; kind < 4; kind++) {
    RpinnSvgdOptions options = bits_options(kind % 2 ? RPINN_SVGD_ADAGRAD : RPINN_SVGD_ADAM, kind / 2);
    Fixture whole = create(&normal, 1, &options), cut = create(&normal, 2, &options);
    size_t size = rpinn_svgd_state_size(whole.svgd);
    assert_int_equal(rpinn_svgd_start(whole.context, whole.svgd, start), RPINN_OK);
    assert_int_equal(rpinn_svgd_advance(whole.context, whole.svgd, 2), RPINN_OK);
    void *middle = save(whole.svgd);
    assert_int_equal(rpinn_svgd_advance(whole.context, whole.svgd, BITS_ITERATIONS - 2), RPINN_OK);
    assert_int_equal(rpinn_svgd_restore(cut.context, cut.svgd, middle, size), RPINN_OK);
    assert_int_equal(rpinn_svgd_num_iterations(cut.svgd), 2);
    assert_int_equal(rpinn_svgd_advance(cut.context, cut.svgd, BITS_ITERATIONS - 2), RPINN_OK);
    void *expected = save(whole.svgd), *found = save(cut.svgd);
    assert_memory_equal(found, expected, size);
    free(middle);
    free(expected);
    free(found);
    destroy(&whole);
    destroy(&cut);
  }
  free(start);
}

static void check_refused(Fixture *fixture, const void *buffer, size_t size, const char *message) {
  assert_int_equal(rpinn_svgd_restore(fixture->context, fixture->svgd, buffer, size), RPINN_ERROR_INPUT);
  const char *found = rpinn_context_error(fixture->context)->message;
  check_true(strstr(found, message), "'%s' does not say '%s'", found, message);
}

static void test_bad_states(void **state) {
  (void)state;
  Normal normal = make_normal(3);
  RpinnSvgdOptions options = rpinn_svgd_default_options(), others = options, more = options;
  options.num_particles = others.num_particles = 4;
  more.num_particles = 5;
  others.undivided_repulsion = true;
  Fixture fixture = create(&normal, 1, &options), other = create(&normal, 1, &others),
          larger = create(&normal, 1, &more);
  double *start = normals(4 * 3, 2, 1, 0);
  assert_int_equal(rpinn_svgd_start(fixture.context, fixture.svgd, start), RPINN_OK);
  size_t size = rpinn_svgd_state_size(fixture.svgd);
  unsigned char *buffer = save(fixture.svgd);
  check_refused(&fixture, buffer, 10, "cut short");
  check_refused(&fixture, buffer, size - 8, "bytes");
  check_refused(&other, buffer, size, "other options");
  check_refused(&larger, buffer, size, "4 particles of 3 parameters, expected 5 of 3");
  for (size_t k = 0; k < size; k++) {
    buffer[k] ^= 16;
    assert_int_equal(rpinn_svgd_restore(fixture.context, fixture.svgd, buffer, size), RPINN_ERROR_INPUT);
    buffer[k] ^= 16;
  }
  buffer[size / 2] ^= 1;
  check_refused(&fixture, buffer, size, "damaged");
  free(buffer);
  free(start);
  destroy(&fixture);
  destroy(&other);
  destroy(&larger);
}

/* ---- failures ---- */

/* The particle is named, and none has moved. */
static void test_not_finite(void **state) {
  (void)state;
  enum { n = 20, N = 4, BAD = 13 };
  for (int kind = 0; kind < 3; kind++) {
    Normal normal = make_normal(N);
    RpinnSvgdOptions options = rpinn_svgd_default_options();
    options.num_particles = n;
    double *start = normals(n * N, 11, 1, 0);
    normal.broken = &start[BAD * N];
    normal.broken_value = kind == 0 ? NAN : -INFINITY;
    normal.broken_gradient = kind == 2;
    Fixture fixture = create(&normal, 2, &options);
    assert_int_equal(rpinn_svgd_start(fixture.context, fixture.svgd, start), RPINN_OK);
    assert_int_equal(rpinn_svgd_advance(fixture.context, fixture.svgd, 3), RPINN_ERROR_NUMERIC);
    const char *message = rpinn_context_error(fixture.context)->message;
    check_true(strstr(message, "particle 13 "), "'%s' does not name particle 13", message);
    assert_int_equal(rpinn_svgd_num_iterations(fixture.svgd), 0);
    assert_memory_equal(rpinn_svgd_particles(fixture.svgd), start, n * N * sizeof *start);
    free(start);
    destroy(&fixture);
  }
}

/* Squares of 1e25 are no floats: an error, not a kernel of nonsense. */
static void test_overflow(void **state) {
  (void)state;
  Normal normal = make_normal(2);
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  options.num_particles = 3;
  for (int single = 0; single < 2; single++) {
    options.single_precision = single;
    Fixture fixture = create(&normal, 1, &options);
    double start[] = {1e25, 0, -1e25, 0, 0, 1};
    assert_int_equal(rpinn_svgd_start(fixture.context, fixture.svgd, start), RPINN_OK);
    assert_int_equal(rpinn_svgd_advance(fixture.context, fixture.svgd, 1),
                     single ? RPINN_ERROR_NUMERIC : RPINN_OK);
    start[3] = NAN;
    assert_int_equal(rpinn_svgd_start(fixture.context, fixture.svgd, start), RPINN_ERROR_INPUT);
    assert_non_null(strstr(rpinn_context_error(fixture.context)->message, "particle 1 "));
    destroy(&fixture);
  }
}

/* ---- a target that moves the particles by itself ---- */

static size_t num_moves;

static RpinnStatus move_nothing(RpinnContext *context, void *data, RpinnParticleMoves *moves) {
  (void)context, (void)data, (void)moves;
  num_moves++;
  return RPINN_ERROR_UNSUPPORTED;
}

/* Whose bandwidth is infinite, though all else is not. */
static RpinnStatus move_apart(RpinnContext *context, void *data, RpinnParticleMoves *moves) {
  (void)context, (void)data;
  num_moves++;
  for (size_t i = 0; i < moves->num_particles; i++) moves->particles[i] += 1;
  memset(moves->gradients, 0, moves->num_particles * sizeof *moves->gradients);
  memset(moves->log_densities, 0, moves->num_particles * sizeof *moves->log_densities);
  moves->squared_bandwidth = HUGE_VAL;
  moves->mean_norm = 1;
  return RPINN_OK;
}

static Fixture create_moving(Normal *normal, RpinnLogDensity *density,
                             RpinnStatus (*move)(RpinnContext *, void *, RpinnParticleMoves *)) {
  Fixture fixture = {.context = rpinn_context_create()};
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  const double start[] = {-1, 0, 2};
  options.num_particles = 3;
  *density = (RpinnLogDensity){.num_parameters = 1, .data = normal, .evaluate = normal_evaluate};
  RpinnBatchLogDensity target = rpinn_log_density_as_batch(density);
  target.move_particles = move;
  assert_int_equal(rpinn_svgd_create_batch(fixture.context, 1, &target, &options, &fixture.svgd), RPINN_OK);
  assert_int_equal(rpinn_svgd_start(fixture.context, fixture.svgd, start), RPINN_OK);
  num_moves = 0;
  return fixture;
}

/* It has no room: they are moved here, whoever hears of it. */
static void test_target_without_room(void **state) {
  (void)state;
  Normal normal = make_normal(1);
  RpinnLogDensity densities[2];
  Fixture here = create_moving(&normal, &densities[0], NULL),
          there = create_moving(&normal, &densities[1], move_nothing);
  assert_int_equal(rpinn_svgd_advance(NULL, here.svgd, 3), RPINN_OK);
  assert_int_equal(rpinn_svgd_advance(NULL, there.svgd, 3), RPINN_OK);
  assert_int_equal(num_moves, 1);
  assert_memory_equal(rpinn_svgd_particles(there.svgd), rpinn_svgd_particles(here.svgd), 3 * sizeof(double));
  destroy(&here);
  destroy(&there);
}

/* What has moved is not moved again. */
static void test_target_that_moves_apart(void **state) {
  (void)state;
  Normal normal = make_normal(1);
  RpinnLogDensity density;
  Fixture fixture = create_moving(&normal, &density, move_apart);
  assert_int_equal(rpinn_svgd_advance(fixture.context, fixture.svgd, 3), RPINN_ERROR_NUMERIC);
  assert_int_equal(num_moves, 1);
  assert_true(rpinn_svgd_particles(fixture.svgd)[1] == 1);
  destroy(&fixture);
}

static void test_bad_options(void **state) {
  (void)state;
  Normal normal = make_normal(3);
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity targets[2] = {{.num_parameters = 3, .data = &normal, .evaluate = normal_evaluate},
                                {.num_parameters = 3, .data = &normal, .evaluate = normal_evaluate}};
  const RpinnSvgdOptions good = rpinn_svgd_default_options();
  RpinnSvgdOptions bad[9];
  for (size_t k = 0; k < 9; k++) bad[k] = good;
  bad[0].num_particles = 0;
  bad[1].optimizer = (RpinnSvgdOptimizer)7;
  bad[2].rule.learning_rate = 0;
  bad[3].rule.learning_rate = INFINITY;
  bad[4].rule.decay_rate = -1;
  bad[5].rule.decay_steps = NAN;
  bad[6].rule.beta1 = 1;
  bad[7].rule.beta2 = NAN;
  bad[8].rule.epsilon = 0;
  const char *names[] = {"num_particles", "optimizer", "learning_rate", "learning_rate", "decay_rate",
                         "decay_steps",   "beta1",     "beta2",         "epsilon"};
  RpinnSvgd *svgd;
  for (size_t k = 0; k < 9; k++) {
    assert_int_equal(rpinn_svgd_create(context, 1, targets, &bad[k], &svgd), RPINN_ERROR_INPUT);
    assert_null(svgd);
    check_true(strstr(rpinn_context_error(context)->message, names[k]), "'%s' does not name %s",
               rpinn_context_error(context)->message, names[k]);
  }
  bad[8].optimizer = RPINN_SVGD_ADAGRAD; /* which has an epsilon of its own */
  assert_int_equal(rpinn_svgd_create(context, 1, targets, &bad[8], &svgd), RPINN_OK);
  assert_int_equal(rpinn_svgd_advance(context, svgd, 1), RPINN_ERROR_INPUT); /* not started */
  rpinn_svgd_destroy(svgd);
  assert_int_equal(rpinn_svgd_create(context, 0, targets, &good, &svgd), RPINN_ERROR_INPUT);
  targets[1].num_parameters = 4;
  assert_int_equal(rpinn_svgd_create(context, 2, targets, &good, &svgd), RPINN_ERROR_INPUT);
  targets[0].num_parameters = 0;
  assert_int_equal(rpinn_svgd_create(context, 1, targets, &good, &svgd), RPINN_ERROR_INPUT);
  rpinn_svgd_destroy(NULL);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kernel_by_hand),
      cmocka_unit_test(test_median),
      cmocka_unit_test(test_phi),
      cmocka_unit_test(test_rounded_distances),
      cmocka_unit_test(test_optimizers),
      cmocka_unit_test(test_normal_target),
      cmocka_unit_test(test_spread_in_many_dimensions),
      cmocka_unit_test(test_one_particle),
      cmocka_unit_test(test_coincident_particles),
      cmocka_unit_test(test_threads_change_no_bit),
      cmocka_unit_test(test_saved_and_restored),
      cmocka_unit_test(test_bad_states),
      cmocka_unit_test(test_not_finite),
      cmocka_unit_test(test_overflow),
      cmocka_unit_test(test_target_without_room),
      cmocka_unit_test(test_target_that_moves_apart),
      cmocka_unit_test(test_bad_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
