/* Where terms are evaluated, and what is expected there. */
#include "problem_folder.h"

#include "problem_bench.h"
#include "sobol.h"

/* tests/problems/point-sets.yaml: x in [0, 2], y in [-1, 1], the truth of u is x - y on 5 x 4 cells. */
static ProblemBench load_points(const char *seed) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/tests/problems/point-sets.yaml", source_folder());
  RpinnOverride overrides[] = {{.name = "seed", .value = seed, .origin = "--seed"}};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = overrides};
  ProblemBench bench = bench_load(path, &options);
  bench_build(&bench);
  return bench;
}

static void expect_points(const ProblemBench *bench, const char *term, const double *expected, size_t count) {
  const RpinnPointSet *points = &bench_data(bench, term)->points;
  check_true(points->count == count, "%s has %zu points, expected %zu", term, points->count, count);
  for (size_t k = 0; k < 2 * count; k++)
    check_true(fabs(points->x[k] - expected[k]) <= 1e-15,
               "%s: point %zu has coordinate %zu at %.17g, not %.17g", term, k / 2, k % 2, points->x[k],
               expected[k]);
}
#define EXPECT_POINTS(bench, term, ...)                                                                      \
  expect_points(bench, term, (const double[]){__VA_ARGS__},                                                  \
                sizeof((const double[]){__VA_ARGS__}) / (2 * sizeof(double)))

static void grids_sides_and_lists(void **state) {
  (void)state;
  ProblemBench bench = load_points("1");
  /* The first coordinate runs fastest, ends included. */
  EXPECT_POINTS(&bench, "grid", 0, -1, 1, -1, 2, -1, 0, 0, 1, 0, 2, 0, 0, 1, 1, 1, 2, 1);
  EXPECT_POINTS(&bench, "grid_list", 0, -1, 1, -1, 2, -1, 0, -0.6, 1, -0.6, 2, -0.6, 0, -0.2, 1, -0.2, 2,
                -0.2, 0, 0.2, 1, 0.2, 2, 0.2, 0, 0.6, 1, 0.6, 2, 0.6, 0, 1, 1, 1, 2, 1);
  /* x low, x high, y low, y high; corners belong to both of their sides. */
  const double a = -1 + 2.0 / 3, b = -1 + 4.0 / 3, c = 2.0 / 3, d = 4.0 / 3;
  EXPECT_POINTS(&bench, "edge", 0, -1, 0, a, 0, b, 0, 1, 2, -1, 2, a, 2, b, 2, 1, 0, -1, c, -1, d, -1, 2, -1,
                0, 1, c, 1, d, 1, 2, 1);
  EXPECT_POINTS(&bench, "edge_grid", 0, -1, 0, 1, 2, -1, 2, 1, 0, -1, 1, -1, 2, -1, 0, 1, 1, 1, 2, 1);
  EXPECT_POINTS(&bench, "side", 0, -1, c, -1, d, -1, 2, -1);
  EXPECT_POINTS(&bench, "listed", 0, 0, 2, 1.0 / 3);
  EXPECT_POINTS(&bench, "file", 0.1, 0.2, 1.9, -0.8, 2, 1);
  EXPECT_POINTS(&bench, "all_cells", 0.2, -0.75, 0.6, -0.75, 1, -0.75, 1.4, -0.75, 1.8, -0.75, 0.2, -0.25,
                0.6, -0.25, 1, -0.25, 1.4, -0.25, 1.8, -0.25, 0.2, 0.25, 0.6, 0.25, 1, 0.25, 1.4, 0.25, 1.8,
                0.25, 0.2, 0.75, 0.6, 0.75, 1, 0.75, 1.4, 0.75, 1.8, 0.75);
  bench_close(&bench);
}

static void one_point_per_axis_sits_in_the_middle(void **state) {
  (void)state;
  ProblemBench bench = bench_parse("name: middle\n"
                                   "coordinates: {x: [0, 1], y: [2, 5]}\n"
                                   "fields: {u: {network: [3]}}\n"
                                   "terms:\n"
                                   "  one: {expect: u, at: {grid: [1, 2]}, data: 0, noise: 1}\n"
                                   "  side: {expect: u, at: {side: y=5, grid: 1}, data: 0, noise: 1}\n"
                                   "settings: {likelihood: noise}\n",
                                   NULL);
  bench_build(&bench);
  EXPECT_POINTS(&bench, "one", 0.5, 2, 0.5, 5);
  EXPECT_POINTS(&bench, "side", 0.5, 5);
  bench_close(&bench);
}

/* -2 + (-0.9 + 2) is not -0.9 in doubles; the end of the domain is. */
static void ends_are_exact(void **state) {
  (void)state;
  ProblemBench bench = bench_parse("name: ends\n"
                                   "coordinates: {x: [-2, -0.9]}\n"
                                   "fields: {u: {network: [3]}}\n"
                                   "terms: {t: {expect: u, at: {grid: 5}, data: 0, noise: 1}}\n"
                                   "settings: {likelihood: noise}\n",
                                   NULL);
  bench_build(&bench);
  assert_true(bench_data(&bench, "t")->points.x[0] == -2 && bench_data(&bench, "t")->points.x[4] == -0.9);
  bench_close(&bench);
}

static void one_dimension(void **state) {
  (void)state;
  ProblemBench bench = bench_parse("name: line\n"
                                   "coordinates: {x: [-1, 3]}\n"
                                   "fields: {u: {network: [3]}}\n"
                                   "terms:\n"
                                   "  ends: {expect: u, at: {boundary: all}, data: 0, noise: 1}\n"
                                   "  same_ends: {expect: u, at: {boundary: 1}, data: 0, noise: 1}\n"
                                   "  right: {expect: u, at: {side: x=3}, data: 0, noise: 1}\n"
                                   "  inside: {expect: u, at: {grid: 5}, data: x^2, noise: 1}\n"
                                   "  listed: {expect: u, at: {points: [0, [1], 2.5]}, data: 0, noise: 1}\n"
                                   "settings: {likelihood: noise}\n",
                                   NULL);
  bench_build(&bench);
  const struct {
    const char *term;
    size_t count;
    double x[5];
  } cases[] = {{"ends", 2, {-1, 3}},
               {"same_ends", 2, {-1, 3}},
               {"right", 1, {3}},
               {"inside", 5, {-1, 0, 1, 2, 3}},
               {"listed", 3, {0, 1, 2.5}}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const RpinnPointSet *points = &bench_data(&bench, cases[i].term)->points;
    assert_int_equal(points->count, cases[i].count);
    for (size_t p = 0; p < points->count; p++) assert_true(points->x[p] == cases[i].x[p]);
  }
  for (size_t p = 0; p < 5; p++)
    assert_true(bench_data(&bench, "inside")->values[p] == pow((double)p - 1, 2));
  bench_close(&bench);
}

/* Every stratum of [low, high] holds one point. */
static void expect_strata(const RpinnPointSet *points, size_t first, size_t count, size_t coordinate,
                          double low, double high) {
  bool taken[64] = {false};
  assert_true(count <= 64 && first + count <= points->count);
  for (size_t p = first; p < first + count; p++) {
    double unit = (points->x[2 * p + coordinate] - low) / (high - low);
    check_true(unit > 0 && unit < 1, "%g is not inside", unit);
    size_t stratum = (size_t)(unit * (double)count);
    check_true(!taken[stratum], "stratum %zu twice", stratum);
    taken[stratum] = true;
  }
}

static void random_points(void **state) {
  (void)state;
  ProblemBench bench = load_points("1");
  const RpinnPointSet *latin = &bench_data(&bench, "latin")->points;
  assert_int_equal(latin->count, 10);
  expect_strata(latin, 0, 10, 0, 0, 2);
  expect_strata(latin, 0, 10, 1, -1, 1);
  const RpinnPointSet *edge = &bench_data(&bench, "edge_random")->points; /* four sides of five points */
  assert_int_equal(edge->count, 20);
  for (size_t side = 0; side < 4; side++) {
    size_t fixed = side / 2;
    double end = fixed ? (side % 2 ? 1 : -1) : (side % 2 ? 2 : 0);
    for (size_t p = 5 * side; p < 5 * side + 5; p++) assert_true(edge->x[2 * p + fixed] == end);
    expect_strata(edge, 5 * side, 5, 1 - fixed, fixed ? 0 : -1, fixed ? 2 : 1);
  }
  const RpinnPointSet *sobol = &bench_data(&bench, "sobol")->points;
  assert_int_equal(sobol->count, 10);
  for (uint32_t p = 0; p < 10; p++) {
    double unit[2];
    rpinn_sobol_point(p, 2, unit);
    check_relative(sobol->x[2 * p], 2 * unit[0], 1e-15);
    check_close(sobol->x[2 * p + 1], -1 + 2 * unit[1], 1e-15);
  }
  /* The first points of Sobol's sequence: the centre, then the quarters. */
  assert_true(sobol->x[0] == 1 && sobol->x[1] == 0 && sobol->x[2] == 1.5 && sobol->x[3] == -0.5);
  const RpinnPointSet *edge_sobol = &bench_data(&bench, "edge_sobol")->points;
  assert_int_equal(edge_sobol->count, 16);
  assert_true(edge_sobol->x[0] == 0 && edge_sobol->x[1] == 0 &&
              edge_sobol->x[3] == 0.5); /* x = 0; y middle */
  const RpinnPointSet *uniform = &bench_data(&bench, "uniform")->points;
  assert_int_equal(uniform->count, 10);
  for (size_t p = 0; p < 10; p++)
    assert_true(uniform->x[2 * p] > 0 && uniform->x[2 * p] < 2 && fabs(uniform->x[2 * p + 1]) < 1);
  const RpinnPointSet *side = &bench_data(&bench, "side_random")->points;
  assert_int_equal(side->count, 4);
  for (size_t p = 0; p < 4; p++) assert_true(side->x[2 * p] == 2 && fabs(side->x[2 * p + 1]) < 1);
  bench_close(&bench);
}

static void cells_and_same_as(void **state) {
  (void)state;
  ProblemBench bench = load_points("1");
  const RpinnPointSet *cells = &bench_data(&bench, "cells")->points,
                      *all = &bench_data(&bench, "all_cells")->points;
  bool taken[20] = {false};
  assert_int_equal(cells->count, 6);
  assert_int_equal(all->count, 20);
  for (size_t p = 0; p < 6; p++) {
    size_t cell = cells->cells[p];
    assert_true(cell < 20 && !taken[cell]); /* without repetition */
    taken[cell] = true;
    assert_true(cells->x[2 * p] == all->x[2 * cell] && cells->x[2 * p + 1] == all->x[2 * cell + 1]);
  }
  const char *const same[] = {"same", "same_again"};
  for (int k = 0; k < 2; k++) {
    const RpinnPointSet *points = &bench_data(&bench, same[k])->points;
    assert_int_equal(points->count, 6);
    assert_memory_equal(points->x, cells->x, 12 * sizeof(double));
  }
  const RpinnPointSet *predict = &bench.posterior->data->predict;
  assert_int_equal(predict->count, 10);
  assert_memory_equal(predict->x, bench_data(&bench, "latin")->points.x, 20 * sizeof(double));
  bench_close(&bench);
}

/* Four coordinates: a side is a box of three. */
static void boundary_of_four_dimensions(void **state) {
  (void)state;
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/tests/problems/wave-3d.yaml", source_folder());
  ProblemBench bench = bench_load(path, NULL);
  bench_build(&bench);
  const RpinnPointSet *points = &bench_data(&bench, "boundary")->points;
  assert_int_equal(points->count, 8 * 4);
  for (size_t p = 0; p < points->count; p++) {
    size_t fixed = p / 8, high = p / 4 % 2;
    double unit[3];
    rpinn_sobol_point((uint32_t)(p % 4), 3, unit);
    for (size_t i = 0, k = 0; i < 4; i++) {
      const RpinnCoordinate *c = &bench.problem->coordinates[i];
      double expected = i != fixed ? c->low + (c->high - c->low) * unit[k++] : high ? c->high : c->low;
      check_close(points->x[4 * p + i], expected, 1e-15);
    }
  }
  const RpinnPointSet *velocity = &bench_data(&bench, "velocity")->points;
  assert_int_equal(velocity->count, 2 * 2 * 3);
  for (size_t p = 0; p < 12; p++) {
    const double *x = velocity->x + 4 * p;
    assert_true(x[0] == (double)(p % 2) && x[1] == (double)(p / 2 % 2) && x[2] == (double)(p / 4) &&
                x[3] == 0);
  }
  bench_close(&bench);
}

/* ---- seeds ---- */

static bool same_term(const ProblemBench *a, const ProblemBench *b, const char *term, bool points) {
  const RpinnTermData *x = bench_data(a, term), *y = bench_data(b, term);
  return points ? !memcmp(x->points.x, y->points.x, 2 * x->points.count * sizeof(double))
                : !memcmp(x->values, y->values, x->points.count * sizeof(double));
}

static void seeds(void **state) {
  (void)state;
  const char *const drawn[] = {"latin", "uniform", "cells", "side_random", "edge_random"},
                    *const fixed[] = {"grid", "edge", "sobol", "listed", "file", "all_cells", "side"};
  ProblemBench one = load_points("1"), again = load_points("1"), two = load_points("2");
  for (size_t k = 0; k < sizeof drawn / sizeof drawn[0]; k++) {
    assert_true(same_term(&one, &again, drawn[k], true) && same_term(&one, &again, drawn[k], false));
    assert_false(same_term(&one, &two, drawn[k], true));
  }
  for (size_t k = 0; k < sizeof fixed / sizeof fixed[0]; k++) {
    assert_true(same_term(&one, &two, fixed[k], true));
    assert_false(same_term(&one, &two, fixed[k], false)); /* the noise is another */
  }
  /* Terms draw from streams of their own. */
  assert_true(memcmp(bench_data(&one, "uniform")->points.x, bench_data(&one, "latin")->points.x,
                     20 * sizeof(double)));
  bench_close(&one);
  bench_close(&again);
  bench_close(&two);
}

static ProblemBench parse_seeded(const char *text, const char *name, const char *value) {
  RpinnOverride override = {.name = name, .value = value, .origin = "--set"};
  RpinnProblemOptions options = {.num_overrides = name ? 1 : 0, .overrides = &override};
  ProblemBench bench = bench_parse(text, &options);
  bench_build(&bench);
  return bench;
}

/* ---- noise ---- */

static const char noisy[] =
    "name: noisy\n"
    "coordinates: {x: [0, 1]}\n"
    "constants: {n: 20000}\n"
    "fields: {u: {network: [3]}}\n"
    "truth: {u: 3 + x}\n"
    "terms:\n"
    "  truth: {expect: u, at: {grid: n}, data: truth, noise: 0.25}\n"
    "  plain: {expect: u, at: {grid: 50}, data: 3 + x, noise: 0.25}\n"
    "  moved: {expect: u, at: {grid: n}, data: 3 + x, perturb: true, noise: 2}\n"
    "  still: {expect: u, at: {grid: 50}, data: 3 + x, perturb: false, noise: 0.25}\n"
    "  exact: {expect: u, at: {grid: 50}, data: truth, weight: 1, role: test}\n"
    "  zero: {expect: u, at: {grid: 50}, data: truth, noise: 0, weight: 1, role: test}\n"
    "settings: {likelihood: noise}\n";

static void moments(const RpinnTermData *data, double noise) {
  double sum = 0, squares = 0, cubes = 0, fourth = 0, neighbours = 0, last = 0;
  double n = (double)data->points.count;
  for (size_t p = 0; p < data->points.count; p++) {
    double z = (data->values[p] - 3 - data->points.x[p]) / noise;
    sum += z, squares += z * z, cubes += z * z * z, fourth += z * z * z * z, neighbours += z * last;
    last = z;
  }
  /* Five standard errors of the moments of a normal distribution. */
  double unit = 5 / sqrt(n);
  check_true(fabs(sum / n) < unit && fabs(squares / n - 1) < unit * sqrt(2) &&
                 fabs(cubes / n) < unit * sqrt(15) && fabs(fourth / n - 3) < unit * sqrt(96) &&
                 fabs(neighbours / n) < unit,
             "mean %g, variance %g, third %g, fourth %g, neighbours %g", sum / n, squares / n, cubes / n,
             fourth / n, neighbours / n);
}

static void noise(void **state) {
  (void)state;
  ProblemBench bench = parse_seeded(noisy, "seed", "3");
  moments(bench_data(&bench, "truth"), 0.25);
  moments(bench_data(&bench, "moved"), 2);
  const char *const without[] = {"plain", "still", "exact", "zero"};
  for (int k = 0; k < 4; k++)
    for (size_t p = 0; p < 50; p++)
      assert_true(bench_data(&bench, without[k])->values[p] ==
                  3 + bench_data(&bench, without[k])->points.x[p]);
  /* Two terms have two noises. */
  double product = 0;
  for (size_t p = 0; p < 20000; p++)
    product += (bench_data(&bench, "truth")->values[p] - 3 - bench_data(&bench, "truth")->points.x[p]) /
               0.25 *
               (bench_data(&bench, "moved")->values[p] - 3 - bench_data(&bench, "moved")->points.x[p]) / 2;
  check_true(fabs(product / 20000) < 5 / sqrt(20000), "correlation %g", product / 20000);
  bench_close(&bench);
}

/* The noise of a term depends on data_seed and the term: not on the counts of others, the method's seed, or
 * how many points it has itself. */
static void noise_is_its_own(void **state) {
  (void)state;
  char changed[sizeof noisy + 64];
  snprintf(changed, sizeof changed, "%s", noisy);
  char *count = strstr(changed, "grid: n}, data: truth");
  memcpy(count, "grid: 9}", 8); /* fewer points of the first term */
  ProblemBench bench = parse_seeded(noisy, "data_seed", "11"),
               fewer = parse_seeded(changed, "data_seed", "11"),
               other = parse_seeded(noisy, "data_seed", "12"), auto_seed = parse_seeded(noisy, "seed", "11");
  assert_int_equal(bench_data(&fewer, "truth")->points.count, 9);
  for (size_t p = 1; p < 8; p++) {
    double z = bench_data(&bench, "truth")->values[p] - bench_data(&bench, "truth")->points.x[p];
    check_relative(bench_data(&fewer, "truth")->values[p] - bench_data(&fewer, "truth")->points.x[p], z,
                   1e-14);
    assert_true(bench_data(&fewer, "moved")->values[p] == bench_data(&bench, "moved")->values[p]);
    assert_true(bench_data(&other, "moved")->values[p] != bench_data(&bench, "moved")->values[p]);
    assert_true(bench_data(&auto_seed, "moved")->values[p] == bench_data(&bench, "moved")->values[p]);
  }
  bench_close(&bench);
  bench_close(&fewer);
  bench_close(&other);
  bench_close(&auto_seed);
  /* With data_seed given, the seed of the run does not touch the data. */
  RpinnOverride overrides[] = {{.name = "data_seed", .value = "11", .origin = "--set"},
                               {.name = "seed", .value = "5", .origin = "--set"}};
  RpinnProblemOptions options = {.num_overrides = 2, .overrides = overrides};
  bench = bench_parse(noisy, &options);
  bench_build(&bench);
  options.num_overrides = 1;
  other = bench_parse(noisy, &options);
  bench_build(&other);
  assert_memory_equal(bench_data(&bench, "truth")->values, bench_data(&other, "truth")->values,
                      20000 * sizeof(double));
  assert_true(bench.posterior->seed == 5 && other.posterior->seed == 0);
  bench_close(&bench);
  bench_close(&other);
}

/* ---- truth ---- */

static void derived_truth(void **state) {
  (void)state;
  const double pi = 3.14159265358979323846;
  ProblemBench bench =
      bench_parse("name: derived\n"
                  "coordinates: {x: [-1, 1], y: [0, 1]}\n"
                  "constants: {k: 0.3}\n"
                  "fields: {u: {network: [3]}, w: {network: [3], inputs: [x]}}\n"
                  "unknowns: {c: {start: 2, transform: log}, e: {start: 1}}\n"
                  "quantities: {f: \"k*d(u, x, x) + tanh(u)\", g: \"c*d(u, x, y)*w - e\", given: u + 1}\n"
                  "truth: {u: sin(pi*x)*y^2, w: exp(x), c: 5, e: 0.7, given: 42}\n"
                  "terms:\n"
                  "  f: {expect: f, at: {grid: 5}, data: truth, weight: 1}\n"
                  "  g: {expect: g, at: {same_as: f}, data: truth, weight: 1}\n"
                  "  written: {expect: \"2*d(u, y) - w\", at: {same_as: f}, data: truth, weight: 1}\n"
                  "  given: {expect: given, at: {same_as: f}, data: truth, weight: 1}\n"
                  "  flat: {expect: \"d(w, y) + u\", at: {same_as: f}, data: truth, weight: 1}\n"
                  "  ref: {expect: u, at: {grid: 2}, data: truth, noise: 1}\n"
                  "prior: {reference_term: ref}\n"
                  "settings: {likelihood: paper, scale_fields: no}\n"
                  "predict: {grid: 4, quantities: [u, f, g, c, given]}\n",
                  NULL);
  bench_build(&bench);
  const double *x = bench_data(&bench, "f")->points.x;
  for (size_t p = 0; p < 25; p++, x += 2) {
    double s = sin(pi * x[0]), c = cos(pi * x[0]), y = x[1], u = s * y * y;
    check_close(bench_data(&bench, "f")->values[p], -0.3 * pi * pi * u + tanh(u), 1e-14);
    check_relative(bench_data(&bench, "g")->values[p], 5 * 2 * pi * c * y * exp(x[0]) - 0.7, 1e-14);
    check_relative(bench_data(&bench, "written")->values[p], 4 * s * y - exp(x[0]), 1e-14);
    check_close(bench_data(&bench, "given")->values[p], 42, 0); /* an entry of that name comes first */
    check_close(bench_data(&bench, "flat")->values[p], u, 1e-14);
  }
  const RpinnDataSet *data = bench.posterior->data;
  for (size_t p = 0; p < data->predict.count; p++) {
    double u = sin(pi * data->predict.x[2 * p]) * pow(data->predict.x[2 * p + 1], 2);
    check_close(data->predicted_truth[0][p], u, 1e-14);
    check_close(data->predicted_truth[1][p], -0.3 * pi * pi * u + tanh(u), 1e-14);
    check_relative(data->predicted_truth[3][p], 5, 1e-15);
    check_close(data->predicted_truth[4][p], 42, 0);
  }
  bench_close(&bench);
}

/* A table: columns by name, expressions of columns, and expressions of coordinates. */
static void truth_from_a_table(void **state) {
  (void)state;
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/tests/problems/table-truth.yaml", source_folder());
  ProblemBench bench = bench_load(path, NULL);
  for (size_t t = 0; t < bench.problem->num_terms; t++)
    bench.problem->terms[t].has_noise = false; /* bare truth */
  for (size_t t = 0; t < bench.problem->num_terms; t++) bench.problem->terms[t].has_weight = true;
  for (size_t t = 0; t < bench.problem->num_terms; t++) bench.problem->terms[t].weight = 1;
  RpinnDataSet *data;
  bench_require(&bench, rpinn_data_set_create(bench.context, bench.problem, true, &data), path);
  const RpinnTermData *h = &data->terms[bench_term(&bench, "h")],
                      *y = &data->terms[bench_term(&bench, "y_log")],
                      *k = &data->terms[bench_term(&bench, "k")],
                      *g = &data->terms[bench_term(&bench, "slope")];
  assert_int_equal(h->points.count, 5);
  for (size_t p = 0; p < 5; p++) { /* the table was made with k = exp(sin 3x + y), h = 1 - x + y/10 */
    double at_x = h->points.x[2 * p], at_y = h->points.x[2 * p + 1];
    check_relative(h->values[p], 1 - at_x + 0.1 * at_y, 1e-8);
    check_relative(y->values[p], sin(3 * at_x) + at_y, 1e-8);
  }
  assert_int_equal(k->points.count, 12);
  for (size_t p = 0; p < 12; p++)
    check_relative(k->values[p], exp(sin(3 * k->points.x[2 * p]) + k->points.x[2 * p + 1]), 1e-8);
  for (size_t p = 0; p < 9; p++)
    check_close(g->values[p], cos(g->points.x[2 * p]) * g->points.x[2 * p + 1], 1e-15);
  for (size_t p = 0; p < 12; p++) {
    check_relative(data->predicted_truth[1][p], log(k->values[p]), 1e-15);
    check_relative(data->predicted_truth[2][p], k->values[p], 1e-15);
  }
  rpinn_data_set_destroy(data);
  bench_close(&bench);
}

/* ---- files ---- */

static void measurements_from_files(void **state) {
  (void)state;
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/tests/problems/measured.yaml", source_folder());
  ProblemBench bench = bench_load(path, NULL);
  bench_build(&bench);
  const RpinnTermData *sensors = bench_data(&bench, "sensors"), *wall = bench_data(&bench, "wall"),
                      *pde = bench_data(&bench, "pde"), *later = bench_data(&bench, "later");
  assert_int_equal(sensors->points.count, 9);
  assert_true(sensors->from_file && wall->from_file && later->from_file && !pde->from_file);
  /* Read, not perturbed, although the term states a noise. */
  for (size_t p = 0; p < 4; p++) {
    check_close(wall->points.x[2 * p], 1, 0);
    check_close(wall->points.x[2 * p + 1], 2.0 * (double)p / 3, 1e-15);
    check_close(wall->values[p], 0.1 * exp(-wall->points.x[2 * p + 1]) * sin(1), 1e-7);
  }
  assert_int_equal(pde->points.count, 12); /* columns in another order than the coordinates */
  for (size_t p = 0; p < 12; p++) assert_true(pde->points.x[2 * p] <= 1 && pde->values[p] == 0);
  for (size_t p = 0; p < 3; p++) {
    assert_true(later->points.x[2 * p + 1] == 2);
    check_close(later->values[p], 0.1 * cos(later->points.x[2 * p]), 1e-7);
  }
  bench_close(&bench);
  snprintf(path, sizeof path, "%s/tests/problems/all-in-one.yaml", source_folder());
  bench = bench_load(path, NULL);
  bench_build(&bench);
  const double slopes[] = {-0.9, -0.3, 0.2, 0.8}; /* rows of a term keep their order among those of others */
  assert_int_equal(bench_data(&bench, "slope")->points.count, 4);
  for (size_t p = 0; p < 4; p++) {
    assert_true(bench_data(&bench, "slope")->points.x[p] == slopes[p]);
    check_close(bench_data(&bench, "slope")->values[p], -sin(slopes[p]), 1e-6);
  }
  assert_int_equal(bench_data(&bench, "value")->points.count, 2); /* the file rules, not the grid of three */
  assert_int_equal(bench_data(&bench, "late")->points.count, 1);
  bench_close(&bench);
}

/* A table that some terms name: each takes its rows; terms that do not name it keep what they have. */
static void a_table_that_terms_share(void **state) {
  (void)state;
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/tests/problems/shared-table.yaml", source_folder());
  ProblemBench bench = bench_load(path, NULL);
  bench_build(&bench);
  const RpinnTermData *slope = bench_data(&bench, "slope"), *value = bench_data(&bench, "value"),
                      *curve = bench_data(&bench, "curve"), *late = bench_data(&bench, "late");
  assert_true(slope->from_file && value->from_file && !curve->from_file && !late->from_file);
  assert_int_equal(slope->points.count, 4);
  for (size_t p = 0; p < 4; p++) check_close(slope->values[p], -sin(slope->points.x[p]), 1e-6);
  assert_int_equal(value->points.count, 2);
  for (size_t p = 0; p < 2; p++) check_close(value->values[p], cos(value->points.x[p]), 1e-6);
  assert_int_equal(curve->points.count, 5);
  check_close(curve->values[2], -1, 0);
  check_close(late->points.x[0], 0.9, 0); /* the table has a row for it, at 0.7, and it does not ask */
  bench_close(&bench);
}

/* Held-out terms have data and no part in the energy. */
static void test_terms(void **state) {
  (void)state;
  const char *with_role = "name: held\n"
                          "coordinates: {x: [0, 1]}\n"
                          "fields: {u: {network: [4]}}\n"
                          "truth: {u: x}\n"
                          "terms:\n"
                          "  a: {expect: u, at: {grid: 3}, data: truth, noise: 0.1}\n"
                          "  b: {expect: \"d(u, x)\", at: {grid: 7}, data: truth, noise: 0.1, role: test}\n"
                          "  c: {expect: u^2, at: {grid: 2}, data: truth, noise: 0.1, role: fit}\n"
                          "prior: {reference_term: a}\n";
  ProblemBench bench = bench_parse(with_role, NULL);
  bench_build(&bench);
  assert_int_equal(rpinn_posterior_num_rows(bench.posterior), 5);
  assert_int_equal(rpinn_posterior_num_terms(bench.posterior), 2);
  assert_string_equal(rpinn_posterior_term_name(bench.posterior, 0), "a");
  assert_string_equal(rpinn_posterior_term_name(bench.posterior, 1), "c");
  assert_int_equal(bench_data(&bench, "b")->points.count, 7);
  double theta[13], energy, parts[3], again;
  for (size_t j = 0; j < 13; j++) theta[j] = 0.1 * (double)j;
  rpinn_posterior_energy(bench.context, bench.posterior, theta, NULL, &energy, NULL, parts);
  bench_data(&bench, "b")->values[0] += 1000;
  rpinn_posterior_energy(bench.context, bench.posterior, theta, NULL, &again, NULL, NULL);
  assert_true(energy == again);
  check_relative(parts[0] + parts[1] + parts[2], energy, 1e-15);
  bench_close(&bench);
}

/* Without data: an error when they are required, zeros otherwise. */
static void missing_data(void **state) {
  (void)state;
  ProblemBench bench =
      bench_parse("name: waiting\n"
                  "coordinates: {x1: [0, 1], x2: [0, 0.5]}\n"
                  "constants: {sigma: 0.1}\n"
                  "fields: {h: {network: [3]}, y: {network: [3]}}\n"
                  "truth: {cells: [16, 8]}\n"
                  "terms:\n"
                  "  pde: {expect: \"d(exp(y)*d(h, x1), x1)\", at: {uniform: 500}, data: 0, perturb: true, "
                  "noise: sigma}\n"
                  "  y: {expect: y, at: {cells: 40}, data: truth, noise: sigma}\n"
                  "  h: {expect: h, at: {same_as: y}, data: truth, noise: sigma}\n"
                  "prior: {reference_term: y}\n",
                  NULL);
  assert_int_equal(rpinn_posterior_create(bench.context, bench.problem, true, &bench.posterior),
                   RPINN_ERROR_INPUT);
  assert_non_null(strstr(rpinn_context_error(bench.context)->message, "--data"));
  bench_build(&bench);
  assert_true(bench_data(&bench, "y")->missing && bench_data(&bench, "h")->missing);
  for (size_t p = 0; p < 40; p++) assert_true(bench_data(&bench, "y")->values[p] == 0);
  /* The zero targets of the PDE carry noise: perturb. */
  double squares = 0;
  assert_int_equal(bench_data(&bench, "pde")->points.count, 500);
  for (size_t p = 0; p < 500; p++) squares += pow(bench_data(&bench, "pde")->values[p], 2);
  check_relative(sqrt(squares / 500), 0.1, 0.15);
  bench_close(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(grids_sides_and_lists),
                                     cmocka_unit_test(one_point_per_axis_sits_in_the_middle),
                                     cmocka_unit_test(one_dimension),
                                     cmocka_unit_test(ends_are_exact),
                                     cmocka_unit_test(random_points),
                                     cmocka_unit_test(cells_and_same_as),
                                     cmocka_unit_test(boundary_of_four_dimensions),
                                     cmocka_unit_test(seeds),
                                     cmocka_unit_test(noise),
                                     cmocka_unit_test(noise_is_its_own),
                                     cmocka_unit_test(derived_truth),
                                     cmocka_unit_test(truth_from_a_table),
                                     cmocka_unit_test(measurements_from_files),
                                     cmocka_unit_test(a_table_that_terms_share),
                                     cmocka_unit_test(test_terms),
                                     cmocka_unit_test(missing_data)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
