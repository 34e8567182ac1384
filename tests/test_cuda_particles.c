/* Particles of SVGD that the backend `cuda` moves by itself, on the emulated device and on a GPU where there is one: they go where those go
 * whose kernel and products are made on the host, for even and odd numbers of them, in one call or in several; where there is no room, or
 * in double no library, they go the other way, and numbers that become infinite are told of as there. Products of any sizes, and the
 * distances that come of them, are those in double, as nearly as their precision states; the median is exact. */
#include "problem_folder.h"

#include "backend_bench.h"
#include "cuda_engine.h"
#include "member_slots.h"
#include "rpinn/svgd.h"

static const char folder_problem[] = "tests/problems/all-in-one.yaml";

typedef struct Particles {
  RpinnContext *context;
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RpinnMemberSlots *slots;
  size_t n, N;
  double *start;
} Particles;

static char said[1024];

static void note_line(void *user, RpinnLogLevel level, const char *line) {
  (void)user;
  if (level == RPINN_LOG_WARNING) snprintf(said, sizeof said, "%s", line);
}

static void ask(const Particles *particles, RpinnStatus status) {
  check_true(status == RPINN_OK, "%s", rpinn_context_error(particles->context)->message);
}

/* Starts are rounded to float, which all precisions have. */
static Particles open_particles(const char *problem, const char *precision, size_t n) {
  Particles own = {.context = rpinn_context_create(), .n = n};
  char path[PATH_SIZE];
  RpinnOverride overrides[] = {{"backend", "cuda", "test", true}, {"precision", precision, "test", true}};
  RpinnProblemOptions options = {.num_overrides = 2, .overrides = overrides};
  bool is_file = strchr(problem, '/') != NULL;
  snprintf(path, sizeof path, "%s%s%s", is_file ? source_folder() : "", is_file ? "/" : "", problem);
  rpinn_context_set_log(own.context, note_line, NULL);
  said[0] = '\0';
  ask(&own, rpinn_problem_load(own.context, path, &options, &own.problem));
  ask(&own, rpinn_posterior_create(own.context, own.problem, false, &own.posterior));
  ask(&own, rpinn_member_slots_create(own.context, own.posterior, &own.slots));
  own.N = own.slots->density.num_parameters;
  own.start = numbers(n * own.N);
  for (size_t k = 0; k < n; k++) rpinn_posterior_start_glorot(own.posterior, k, own.start + k * own.N);
  for (size_t i = 0; i < n * own.N; i++) own.start[i] = (double)(float)own.start[i];
  return own;
}

static void close_particles(Particles *own) {
  free(own->start);
  rpinn_posterior_destroy(own->posterior);
  rpinn_problem_destroy(own->problem);
  rpinn_context_destroy(own->context);
}

typedef struct Way {
  bool on_host;
  bool adagrad, undivided;
  size_t pieces[4]; /* iterations of each call; 0: no further one */
} Way;

static RpinnSvgd *go(const Particles *own, const Way *way) {
  RpinnBatchLogDensity density = own->slots->density;
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  RpinnSvgd *svgd;
  options.num_particles = own->n;
  options.rule.learning_rate = 1e-2;
  options.optimizer = way->adagrad ? RPINN_SVGD_ADAGRAD : RPINN_SVGD_ADAM;
  options.undivided_repulsion = way->undivided;
  options.single_precision = own->posterior->precision != RPINN_PRECISION_DOUBLE;
  if (way->on_host) density.move_particles = NULL;
  ask(own, rpinn_svgd_create_batch(own->context, 1, &density, &options, &svgd));
  ask(own, rpinn_svgd_start(own->context, svgd, own->start));
  for (size_t i = 0; i < 4 && way->pieces[i]; i++)
    ask(own, rpinn_svgd_advance(own->context, svgd, way->pieces[i]));
  return svgd;
}

/* Of what moved, not of where it is. */
static void check_near(const Particles *own, const RpinnSvgd *found, const RpinnSvgd *expected,
                       double tolerance, const char *name) {
  size_t count = own->n * own->N;
  const double *x = rpinn_svgd_particles(found), *y = rpinn_svgd_particles(expected),
               *g = rpinn_svgd_gradients(found), *h = rpinn_svgd_gradients(expected),
               *a = rpinn_svgd_before(found), *b = rpinn_svgd_before(expected);
  double error = distance(x, y, count) / distance(y, own->start, count),
         slope_error = distance(g, h, count) / norm(h, count),
         before_error = distance(a, b, count) / distance(y, own->start, count);
  check_true(error < tolerance, "%s: %zu particles are off by %.2g of their way", name, own->n, error);
  check_true(slope_error < tolerance, "%s: gradients are off by %.2g", name, slope_error);
  check_true(before_error < tolerance && distance(x, a, count) > 0,
             "%s: where they were is off by %.2g of their way", name, before_error);
  check_relative(rpinn_svgd_bandwidth(found), rpinn_svgd_bandwidth(expected), tolerance);
  check_relative(rpinn_svgd_mean_norm(found), rpinn_svgd_mean_norm(expected), tolerance);
  assert_int_equal(rpinn_svgd_num_iterations(found), rpinn_svgd_num_iterations(expected));
  for (size_t k = 0; k < own->n; k++)
    check_relative(rpinn_svgd_log_densities(found)[k], rpinn_svgd_log_densities(expected)[k], tolerance);
}

/* ---- where they go ---- */

static void they_go_where_the_host_takes_them(void **state) {
  (void)state;
  static const size_t counts[] = {1, 2, 3, 8, 21};
  static const struct {
    const char *problem, *precision;
    double tolerance;
  } cases[] = {{folder_problem, "double", 1e-9},
               {folder_problem, "float", 2e-3},
               {"poisson-linear", "double", 1e-9},
               {"poisson-linear", "float", 2e-3}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
      Particles own = open_particles(cases[c].problem, cases[c].precision, counts[i]);
      assert_non_null(own.slots->density.move_particles);
      for (int kind = 0; kind < 3; kind++) {
        Way way = {.adagrad = kind == 1, .undivided = kind == 2, .pieces = {5}}, host = way;
        host.on_host = true;
        RpinnSvgd *found = go(&own, &way), *expected = go(&own, &host);
        check_near(&own, found, expected, cases[c].tolerance, cases[c].precision);
        rpinn_svgd_destroy(found);
        rpinn_svgd_destroy(expected);
      }
      close_particles(&own);
    }
}

/* Tensor cores round the products: the way is the same to a percent or so. */
static void tf32_is_near(void **state) {
  (void)state;
  Particles own = open_particles("poisson-linear", "tf32", 16);
  RpinnSvgd *found = go(&own, &(Way){.pieces = {4}}),
            *expected = go(&own, &(Way){.on_host = true, .pieces = {4}});
  check_near(&own, found, expected, 5e-2, "tf32");
  rpinn_svgd_destroy(found);
  rpinn_svgd_destroy(expected);
  close_particles(&own);
}

/* Calls, and states that were saved between them, leave no mark. */
static void pieces_leave_no_mark(void **state) {
  (void)state;
  Particles own = open_particles(folder_problem, "float", 9);
  RpinnSvgd *whole = go(&own, &(Way){.pieces = {9}}), *cut = go(&own, &(Way){.pieces = {2, 1, 3}}),
            *restored = go(&own, &(Way){0});
  size_t size = rpinn_svgd_state_size(cut), bytes = own.n * own.N * sizeof(double);
  void *saved = malloc(size);
  rpinn_svgd_save(cut, saved);
  ask(&own, rpinn_svgd_restore(own.context, restored, saved, size));
  ask(&own, rpinn_svgd_advance(own.context, restored, 3));
  assert_memory_equal(rpinn_svgd_particles(whole), rpinn_svgd_particles(restored), bytes);
  assert_memory_equal(rpinn_svgd_gradients(whole), rpinn_svgd_gradients(restored), bytes);
  assert_true(rpinn_svgd_bandwidth(whole) == rpinn_svgd_bandwidth(restored) &&
              rpinn_svgd_mean_norm(whole) == rpinn_svgd_mean_norm(restored));
  free(saved);
  rpinn_svgd_destroy(whole);
  rpinn_svgd_destroy(cut);
  rpinn_svgd_destroy(restored);
  close_particles(&own);
}

/* Particles that coincide feel k = 1 and do not repel each other: h is 0. */
static void particles_that_coincide_stay_together(void **state) {
  (void)state;
  Particles own = open_particles(folder_problem, "float", 6);
  for (size_t k = 1; k < own.n; k++) memcpy(own.start + k * own.N, own.start, own.N * sizeof(double));
  RpinnSvgd *found = go(&own, &(Way){.pieces = {3}}),
            *expected = go(&own, &(Way){.on_host = true, .pieces = {3}});
  check_near(&own, found, expected, 1e-3, "float");
  assert_true(rpinn_svgd_bandwidth(found) == 0);
  for (size_t k = 1; k < own.n; k++)
    assert_memory_equal(rpinn_svgd_particles(found), rpinn_svgd_particles(found) + k * own.N,
                        own.N * sizeof(double));
  rpinn_svgd_destroy(found);
  rpinn_svgd_destroy(expected);
  close_particles(&own);
}

/* ---- what goes wrong ---- */

/* The message of the host's own way: which particle, and after how many iterations. */
static void infinite_numbers_are_told_of(void **state) {
  (void)state;
  Particles own = open_particles(folder_problem, "float", 5);
  char expected[2048];
  for (size_t j = 0; j < own.N; j++) own.start[3 * own.N + j] = 1e30;
  for (int on_host = 1; on_host >= 0; on_host--) {
    Way way = {.on_host = on_host, .pieces = {0}};
    RpinnSvgd *svgd = go(&own, &way);
    assert_int_equal(rpinn_svgd_advance(own.context, svgd, 4), RPINN_ERROR_NUMERIC);
    const char *message = rpinn_context_error(own.context)->message;
    if (on_host)
      snprintf(expected, sizeof expected, "%s", message);
    else
      assert_string_equal(message, expected);
    rpinn_context_clear_error(own.context);
    rpinn_svgd_destroy(svgd);
  }
  close_particles(&own);
}

static void without_room_they_go_the_other_way(void **state) {
  (void)state;
  if (getenv("RPINN_TEST_BACKEND")) skip();
  Particles own = open_particles(folder_problem, "float", 40);
  RpinnSvgd *expected = go(&own, &(Way){.on_host = true, .pieces = {3}});
  emulated_device_have_memory(80 * 1024);
  RpinnSvgd *found = go(&own, &(Way){.pieces = {3}});
  emulated_device_have_memory(SIZE_MAX);
  assert_string_equal(said, "backend cuda: the GPU has no room for 40 particles; the products of SVGD are "
                            "made on the host, more slowly");
  assert_memory_equal(rpinn_svgd_particles(found), rpinn_svgd_particles(expected),
                      own.n * own.N * sizeof(double));
  rpinn_svgd_destroy(found);
  rpinn_svgd_destroy(expected);
  close_particles(&own);
}

/* Only in double: the others have kernels of their own. */
static void without_a_library_the_host_multiplies_in_double(void **state) {
  (void)state;
  static const char *const precisions[] = {"double", "float", "tf32"};
  if (getenv("RPINN_TEST_BACKEND")) skip();
  for (int i = 0; i < 3; i++) {
    emulated_device_lack_products(true);
    Particles own = open_particles(folder_problem, precisions[i], 2);
    emulated_device_lack_products(false);
    check_true(!own.slots->density.move_particles == (i == 0), "%s without a library", precisions[i]);
    rpinn_svgd_destroy(go(&own, &(Way){.pieces = {2}}));
    close_particles(&own);
  }
}

/* ---- products ---- */

/* Numbers of a device between two of which nothing is read: what is there is not a number. */
typedef struct Matrix {
  size_t rows, columns, stride;
  float *numbers; /* [rows][stride], of the host */
  void *memory;   /* the same, of the device */
} Matrix;

/* is_empty: to be written to. For products in TF32 numbers of that precision, which are what they take. */
static Matrix open_matrix(const Particles *own, size_t rows, size_t columns, size_t stride, bool is_empty,
                          bool is_tf32) {
  RpinnDevice *device = ((RpinnCudaEngine *)own->posterior->backend)->device;
  Matrix matrix = {rows, columns, stride, malloc(rows * stride * sizeof(float)), NULL};
  uint32_t random = (uint32_t)(rows + 7 * columns);
  for (size_t i = 0; i < rows * stride; i++) {
    random = random * 1664525u + 1013904223u;
    float number =
        is_tf32 ? (float)((int32_t)random >> 22) * 0x1p-9f : (float)((int32_t)random) * 0x1p-31f + 0.1f;
    matrix.numbers[i] = is_empty || i % stride >= columns ? NAN : number;
  }
  ask(own, device->operations->allocate(own->context, device, rows * stride * sizeof(float), &matrix.memory));
  ask(own, device->operations->write(own->context, device, matrix.memory, matrix.numbers,
                                     rows * stride * sizeof(float)));
  return matrix;
}

static void close_matrix(const Particles *own, Matrix *matrix) {
  RpinnDevice *device = ((RpinnCudaEngine *)own->posterior->backend)->device;
  device->operations->release(device, matrix->memory);
  free(matrix->numbers);
}

static void run_task(const Particles *own, RpinnDeviceParticles *work, RpinnParticleTask task,
                     Matrix *result) {
  RpinnDevice *device = ((RpinnCudaEngine *)own->posterior->backend)->device;
  work->task = task;
  ask(own, device->operations->run_particles(own->context, device, &(RpinnLaunch){0}, work));
  ask(own, device->operations->read(own->context, device, result->numbers, result->memory,
                                    result->rows * result->stride * sizeof(float)));
}

/* In the sum of their magnitudes: the tolerance of products has to hold for each sum. b: [depth][columns], or its transpose. */
static double sum_of_products(const Matrix *a, size_t i, const Matrix *b, size_t j, bool is_plain,
                              double *size) {
  double sum = *size = 0;
  for (size_t k = 0; k < a->columns; k++) {
    double term = (double)a->numbers[i * a->stride + k] *
                  (double)(is_plain ? b->numbers[k * b->stride + j] : b->numbers[j * b->stride + k]);
    sum += term;
    *size += fabs(term);
  }
  return sum;
}

/* k c, with k [n][n]; c has a layout's `size`, as y below, which is a multiple of four. */
static void check_direction(const Particles *own, size_t n, size_t size, bool is_tf32, double tolerance) {
  size_t stride = (n + 3) / 4 * 4;
  Matrix k = open_matrix(own, n, n, stride, false, is_tf32),
         c = open_matrix(own, n, size, size, false, is_tf32),
         direction = open_matrix(own, n, size, size, true, is_tf32);
  RpinnDeviceParticles work = {.n = (int32_t)n,
                               .size = (int64_t)size,
                               .stride = (int64_t)stride,
                               .num_parts = 1,
                               .is_tf32 = is_tf32,
                               .weights = k.memory,
                               .combined = c.memory,
                               .direction = direction.memory};
  double magnitude, worst = 0;
  run_task(own, &work, RPINN_PARTICLES_DIRECT, &direction);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < size; j++) {
      double expected = sum_of_products(&k, i, &c, j, true, &magnitude),
             error = fabs((double)direction.numbers[i * size + j] - expected) / magnitude;
      if (!(error <= worst)) worst = error;
    }
  check_true(worst < tolerance, "k c of %zu particles of %zu is off by %.2g", n, size, worst);
  close_matrix(own, &k);
  close_matrix(own, &c);
  close_matrix(own, &direction);
}

/* Symmetric to the bit, zero on the diagonal, and each pair counted once. */
static void check_distances(const Particles *own, RpinnDeviceParticles *work, const Matrix *y,
                            double tolerance) {
  RpinnDevice *device = ((RpinnCudaEngine *)own->posterior->backend)->device;
  size_t n = (size_t)work->n, stride = (size_t)work->stride;
  Matrix distances = open_matrix(own, n, n, stride, true, false);
  RpinnParticleSearch *search = calloc(1, sizeof *search);
  double size_i, size_j, size, worst = 0;
  size_t count = 0;
  work->weights = distances.memory;
  ask(own, device->operations->allocate(own->context, device, sizeof *search, (void **)&work->search));
  ask(own, device->operations->clear(own->context, device, work->search, sizeof *search));
  run_task(own, work, RPINN_PARTICLES_DISTANCES, &distances);
  ask(own, device->operations->read(own->context, device, search, work->search, sizeof *search));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      float found = distances.numbers[i * stride + j];
      double expected = sum_of_products(y, i, y, i, false, &size_i) +
                        sum_of_products(y, j, y, j, false, &size_j) -
                        2 * sum_of_products(y, i, y, j, false, &size),
             error = fabs((double)found - expected) / (size_i + size_j + 2 * size);
      if (!(error <= worst)) worst = error;
      assert_memory_equal(&found, &distances.numbers[j * stride + i], sizeof found);
      assert_true(i != j || found == 0);
    }
  for (size_t bin = 0; bin < RPINN_PARTICLE_BINS; bin++) count += search->counts[0][bin];
  assert_int_equal(count, n * (n - 1) / 2);
  check_true(worst < tolerance, "distances of %zu particles are off by %.2g", n, worst);
  device->operations->release(device, work->search);
  free(search);
  close_matrix(own, &distances);
}

static void check_gram(const Particles *own, size_t n, size_t size, size_t parts, bool is_tf32,
                       double tolerance) {
  size_t stride = (n + 3) / 4 * 4;
  Matrix y = open_matrix(own, n, size, size, false, is_tf32),
         gram = open_matrix(own, parts * n, n, stride, true, false);
  RpinnDeviceParticles work = {.n = (int32_t)n,
                               .size = (int64_t)size,
                               .stride = (int64_t)stride,
                               .num_parts = (int32_t)parts,
                               .is_tf32 = is_tf32,
                               .centred = y.memory,
                               .products = gram.memory};
  double magnitude, worst = 0;
  run_task(own, &work, RPINN_PARTICLES_GRAM, &gram);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double expected = sum_of_products(&y, i, &y, j, false, &magnitude), found = 0;
      for (size_t part = 0; part < parts; part++) found += (double)gram.numbers[(part * n + i) * stride + j];
      if (!(fabs(found - expected) / magnitude <= worst)) worst = fabs(found - expected) / magnitude;
    }
  check_true(worst < tolerance, "y y^T of %zu particles of %zu in %zu parts is off by %.2g", n, size, parts,
             worst);
  check_distances(own, &work, &y, tolerance);
  close_matrix(own, &y);
  close_matrix(own, &gram);
}

/* float: 2^-21 of split factors, and what rounding leaves of some tens of sums; tf32: 2^-11 of either factor. */
static void products_are_those_in_double(void **state) {
  (void)state;
  static const size_t counts[] = {1, 7, 65, 130}, sizes[] = {4, 104, 300};
  Particles own = open_particles(folder_problem, "float", 1);
  for (int is_tf32 = 0; is_tf32 < 2; is_tf32++)
    for (size_t c = 0; c < 4; c++)
      for (size_t s = 0; s < 3; s++) {
        double tolerance = is_tf32 ? 1e-5 : 2e-6;
        check_direction(&own, counts[c], sizes[s], is_tf32, tolerance);
        for (size_t parts = 1; parts < 4; parts += 2)
          check_gram(&own, counts[c], sizes[s], parts, is_tf32, tolerance);
      }
  close_particles(&own);
}

static void lanes_have_the_operands_of_their_products(void **state) {
  (void)state;
  assert_true(emulated_products_are_right());
}

/* ---- the median ---- */

static int by_size(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* The mean of number `rank` of the distances and the one before it, where nothing is left to do but the search; sorted: all of them. */
static void check_median(const Particles *own, Matrix *distances, const float *sorted, size_t rank) {
  RpinnDevice *device = ((RpinnCudaEngine *)own->posterior->backend)->device;
  size_t n = distances->rows, bytes = n * distances->stride * sizeof(float);
  RpinnParticleSearch *search = calloc(1, sizeof *search);
  double *sums = numbers(n + 1);
  RpinnDeviceParticles work = {.n = (int32_t)n,
                               .stride = (int64_t)distances->stride,
                               .is_mean = 1,
                               .rank = (uint32_t)rank,
                               .log_particles = 0.5,
                               .weights = distances->memory};
  for (size_t i = 0; i < n * (n - 1) / 2; i++) {
    uint32_t bits;
    memcpy(&bits, &sorted[i], sizeof bits);
    search->counts[0][bits >> (32 - RPINN_PARTICLE_BITS)]++;
  }
  Matrix weights = *distances;
  weights.numbers = malloc(bytes);
  ask(own, device->operations->write(own->context, device, distances->memory, distances->numbers, bytes));
  ask(own, device->operations->allocate(own->context, device, sizeof *search, (void **)&work.search));
  ask(own, device->operations->write(own->context, device, work.search, search, sizeof *search));
  ask(own,
      device->operations->allocate(own->context, device, (n + 1) * sizeof *sums, (void **)&work.row_sums));
  work.bandwidth = work.row_sums + n;
  for (work.pass = 1; work.pass < RPINN_PARTICLE_PASSES / 2; work.pass++)
    run_task(own, &work, RPINN_PARTICLES_SEARCH, &weights);
  run_task(own, &work, RPINN_PARTICLES_WEIGHTS, &weights);
  ask(own, device->operations->read(own->context, device, sums, work.row_sums, (n + 1) * sizeof *sums));
  double expected = 0.5 * ((double)sorted[rank] + (double)sorted[rank - 1]);
  check_true(sums[n] == expected, "number %zu: the median is %.17g and not %.17g", rank, sums[n], expected);
  device->operations->release(device, work.row_sums);
  device->operations->release(device, work.search);
  free(weights.numbers);
  free(sums);
  free(search);
}

/* Distances that differ much, in their last bits, or in few of them. */
static void the_median_is_exact(void **state) {
  (void)state;
  enum { N = 9, PAIRS = N * (N - 1) / 2 };
  Particles own = open_particles(folder_problem, "float", 1);
  for (int kind = 0; kind < 3; kind++) {
    Matrix distances = open_matrix(&own, N, N, 12, false, false);
    float sorted[PAIRS], *d = distances.numbers;
    for (size_t i = 0, pair = 0; i < N; i++)
      for (size_t j = 0; j <= i; j++) {
        size_t place = 12 * i + j, number = 17 * pair % PAIRS;
        float own_distance = kind == 0   ? (float)number * (float)number * 0.37f
                             : kind == 1 ? 1 + (float)(3 * number) * 0x1p-23f
                                         : (float)(number / 9);
        d[place] = i == j ? 0 : own_distance;
        d[12 * j + i] = d[place];
        if (i != j) sorted[pair++] = d[place];
      }
    qsort(sorted, PAIRS, sizeof *sorted, by_size);
    for (size_t rank = 1; rank < PAIRS; rank++) check_median(&own, &distances, sorted, rank);
    close_matrix(&own, &distances);
  }
  close_particles(&own);
}

/* RPINN_TEST_BACKEND=cuda: on the GPU itself. */
static int stand_in(void **state) {
  (void)state;
  if (!getenv("RPINN_TEST_BACKEND")) rpinn_backend_replace(&rpinn_cuda_backend, &emulated_cuda_backend);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(they_go_where_the_host_takes_them),
      cmocka_unit_test(tf32_is_near),
      cmocka_unit_test(pieces_leave_no_mark),
      cmocka_unit_test(particles_that_coincide_stay_together),
      cmocka_unit_test(infinite_numbers_are_told_of),
      cmocka_unit_test(without_room_they_go_the_other_way),
      cmocka_unit_test(without_a_library_the_host_multiplies_in_double),
      cmocka_unit_test(products_are_those_in_double),
      cmocka_unit_test(lanes_have_the_operands_of_their_products),
      cmocka_unit_test(the_median_is_exact),
  };
  return cmocka_run_group_tests(tests, stand_in, NULL);
}
