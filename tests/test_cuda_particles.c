/* Particles of SVGD that the backend `cuda` moves by itself, on the emulated device and on a GPU where there is one: they go where those go
 * whose kernel and products are made on the host, for even and odd numbers of them, in one call or in several; where there is no room or
 * no library they go the other way, and numbers that become infinite are told of as there. */
#include "problem_folder.h"

#include "backend_bench.h"
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

static void without_a_library_the_host_multiplies(void **state) {
  (void)state;
  if (getenv("RPINN_TEST_BACKEND")) skip();
  emulated_device_lack_products(true);
  Particles own = open_particles(folder_problem, "float", 2);
  emulated_device_lack_products(false);
  assert_null(own.slots->density.move_particles);
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
      cmocka_unit_test(without_a_library_the_host_multiplies),
  };
  return cmocka_run_group_tests(tests, stand_in, NULL);
}
