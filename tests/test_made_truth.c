/* Truths that a problem file draws and solves: what they come to, what follows from them, and that they come back
 * from run.yaml. */
#include "problem_folder.h"

#include "finite_volume.h"
#include "problem_bench.h"
#include "random_field.h"
#include "temporary_folder.h"

enum { N = 256, M = 128, SIZE = N * M };

static ProblemBench load_seeded(const char *name, const char *seed, const char *data_seed) {
  RpinnOverride overrides[] = {{.name = "seed", .value = seed, .origin = "--seed"},
                               {.name = "data_seed", .value = data_seed, .origin = "--data-seed"}};
  RpinnProblemOptions options = {.num_overrides = data_seed ? 2 : 1, .overrides = overrides};
  ProblemBench bench = bench_load(name, &options);
  bench_build(&bench);
  return bench;
}

static const double *predicted(const ProblemBench *bench, const char *name) {
  for (size_t q = 0; q < bench->problem->num_predicted; q++)
    if (!strcmp(bench->problem->predicted[q].name, name)) return bench->posterior->data->predicted_truth[q];
  fail_msg("%s is not predicted", name);
  return NULL;
}

/* ---- the shipped problem ---- */

/* y is the field of its seed, h the head of exp(y): bit for bit what the library's parts give. */
static void darcy_is_drawn_and_solved(void **state) {
  (void)state;
  ProblemBench bench = load_seeded("darcy", "3", NULL);
  const double *y = predicted(&bench, "y"), *h = predicted(&bench, "h");
  assert_int_equal(bench.posterior->data->predict.count, SIZE);
  double centres[2][N], *expected = malloc(SIZE * sizeof(double)), *k = malloc(SIZE * sizeof(double));
  assert_true(expected && k);
  rpinn_cell_centres(0, 1, N, centres[0]);
  rpinn_cell_centres(0, 0.5, M, centres[1]);
  RpinnFieldModel model = {.num_axes = 2, .length = {0.5, 0.5}, .mean = -3, .variance = 0.81};
  RpinnRandomField *field;
  bench_require(&bench,
                rpinn_random_field_create(bench.context, &model, (const size_t[]){N, M},
                                          (const double *const[]){centres[0], centres[1]}, &field),
                "field");
  RpinnStream stream = rpinn_stream(3, RPINN_PURPOSE_RANDOM_FIELD, 0, 0);
  rpinn_random_field_draw(field, &stream, expected);
  assert_memory_equal(y, expected, SIZE * sizeof(double));
  for (size_t c = 0; c < SIZE; c++) {
    k[c] = exp(y[c]);
    check_relative(bench.posterior->data->predict.x[2 * c], centres[0][c % N], 1e-15);
    check_relative(bench.posterior->data->predict.x[2 * c + 1], centres[1][c / N], 1e-15);
  }
  RpinnFlow flow = {.counts = {N, M}, .high = {1, 0.5}, .conductivity = k};
  flow.sides[RPINN_FLOW_LEFT].value = 1;
  flow.sides[RPINN_FLOW_RIGHT].fixes_head = true;
  bench_require(&bench, rpinn_flow_solve(bench.context, &flow, expected, NULL), "flow");
  for (size_t c = 0; c < SIZE; c++) check_relative(h[c], expected[c], 1e-12);
  /* Water flows to the right through a domain whose head is 0 there. */
  assert_true(h[0] > 1 && h[N - 1] > 0 && h[N - 1] < h[0]);
  rpinn_random_field_destroy(field);
  free(expected);
  free(k);
  bench_close(&bench);
}

/* The same 40 cells for both, and noise of 0.1 on top: 80 normals, whose root mean square has a standard error
 * of 0.1/sqrt(160). */
static void measurements_are_truth_plus_noise(void **state) {
  (void)state;
  ProblemBench bench = load_seeded("darcy", "1", NULL);
  const RpinnTermData *y = bench_data(&bench, "y"), *h = bench_data(&bench, "h");
  double squares = 0;
  assert_int_equal(y->points.count, 40);
  for (size_t p = 0; p < 40; p++) {
    assert_int_equal(y->points.cells[p], h->points.cells[p]);
    for (size_t other = 0; other < p; other++)
      assert_int_not_equal(y->points.cells[p], y->points.cells[other]);
    squares += pow(y->values[p] - predicted(&bench, "y")[y->points.cells[p]], 2) +
               pow(h->values[p] - predicted(&bench, "h")[h->points.cells[p]], 2);
  }
  check_true(fabs(sqrt(squares / 80) - 0.1) < 4 * 0.1 / sqrt(160), "noise %g", sqrt(squares / 80));
  bench_close(&bench);
}

/* The data's seed decides field, cells and noise; another seed alone changes none of them. */
static void seeds_of_the_data_decide(void **state) {
  (void)state;
  ProblemBench first = load_seeded("darcy", "1", "5"), same = load_seeded("darcy", "2", "5"),
               other = load_seeded("darcy", "1", "6");
  assert_memory_equal(predicted(&first, "h"), predicted(&same, "h"), SIZE * sizeof(double));
  assert_memory_equal(bench_data(&first, "y")->values, bench_data(&same, "y")->values, 40 * sizeof(double));
  assert_true(predicted(&first, "y")[0] != predicted(&other, "y")[0]);
  assert_true(bench_data(&first, "y")->points.cells[0] != bench_data(&other, "y")->points.cells[0]);
  bench_close(&first);
  bench_close(&same);
  bench_close(&other);
}

static ProblemBench load_with(const char *setting, const char *value) {
  RpinnOverride overrides[] = {{.name = "data_seed", .value = "5", .origin = "--data-seed"},
                               {.name = setting, .value = value, .origin = "--set"}};
  RpinnProblemOptions options = {.num_overrides = 2, .overrides = overrides};
  ProblemBench bench = bench_load("darcy", &options);
  bench_build(&bench);
  return bench;
}

/* Truth, points and noise have seeds of their own: each redraws itself, and what follows from it, alone. */
static void seeds_of_parts(void **state) {
  (void)state;
  static const struct {
    const char *setting;
    bool moves_truth, moves_points;
  } rows[] = {{"noise_seed", false, false}, {"points_seed", false, true}, {"truth_seed", true, false}};
  for (size_t k = 0; k < 3; k++) {
    ProblemBench first = load_with(rows[k].setting, "5"), other = load_with(rows[k].setting, "6");
    const RpinnTermData *one = bench_data(&first, "y"), *two = bench_data(&other, "y");
    size_t bytes = first.posterior->data->predict.count * sizeof(double);
    assert_int_equal(memcmp(first.posterior->data->predicted_truth[0],
                            other.posterior->data->predicted_truth[0], bytes) != 0,
                     rows[k].moves_truth);
    assert_int_equal(memcmp(one->points.x, two->points.x, 2 * one->points.count * sizeof(double)) != 0,
                     rows[k].moves_points);
    assert_true(memcmp(one->values, two->values, one->points.count * sizeof(double)) != 0);
    bench_close(&first);
    bench_close(&other);
  }
}

/* One problem with data sets of two seeds, one after the other: what was kept for one is not given to the other. */
static void another_seed_draws_again(void **state) {
  (void)state;
  ProblemBench bench = load_seeded("darcy", "1", NULL);
  double y = predicted(&bench, "y")[0], h = predicted(&bench, "h")[0];
  const char *seeds[] = {"2", "1"};
  for (size_t k = 0; k < 2; k++) {
    rpinn_posterior_destroy(bench.posterior);
    bench_require(&bench,
                  rpinn_settings_set(bench.context, &bench.problem->settings, RPINN_SETTING_SEED, seeds[k],
                                     (RpinnPlace){0}),
                  "seed");
    bench_build(&bench);
    assert_int_equal(predicted(&bench, "y")[0] == y, k == 1);
    assert_int_equal(predicted(&bench, "h")[0] == h, k == 1);
  }
  bench_close(&bench);
}

static void a_drawn_truth_says_nothing_about_measurements(void **state) {
  (void)state;
  FILE *file = fopen("measured.csv", "wb");
  assert_non_null(file);
  ProblemBench bench = load_seeded("darcy", "1", NULL);
  RpinnText csv = {0};
  rpinn_data_set_write(bench.posterior->data, &csv);
  assert_int_equal(fwrite(csv.bytes, 1, csv.length, file), csv.length);
  assert_int_equal(fclose(file), 0);
  bench_close(&bench);
  bench = bench_load("darcy", &(RpinnProblemOptions){.data_file = "measured.csv"});
  bench_build(&bench);
  assert_int_equal(bench.posterior->data->predict.count, SIZE);
  assert_null(predicted(&bench, "y"));
  assert_null(predicted(&bench, "h"));
  assert_int_equal(bench_data(&bench, "y")->points.count, 40);
  bench_close(&bench);
  rpinn_text_free(&csv);
}

/* ---- tests/problems/drawn-truth.yaml ---- */

/* Entries use what was made, quantities follow, and the flow is that of the file: a head of 1 + z on the left,
 * an inflow of 0.2 on the right, a source and two wells. */
static void all_keys_at_work(void **state) {
  (void)state;
  enum { COLUMNS = 12, ROWS = 9, CELLS = COLUMNS * ROWS };
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/tests/problems/drawn-truth.yaml", source_folder());
  ProblemBench bench = load_seeded(path, "1", NULL);
  const double *y = predicted(&bench, "y"), *h = predicted(&bench, "h"), *k = predicted(&bench, "k");
  double conductivity[CELLS], sources[CELLS], heads[ROWS], expected[CELLS];
  for (size_t c = 0; c < CELLS; c++) {
    check_relative(k[c], exp(y[c]), 1e-15);
    conductivity[c] = 2 * exp(y[c]);
    sources[c] = -0.3 * ((double)(c % COLUMNS) + 0.5) * 2 / COLUMNS;
  }
  for (size_t f = 0; f < ROWS; f++) heads[f] = ((double)f + 0.5) / ROWS; /* 1 + z */
  RpinnWell wells[] = {{{0.5, -0.5}, 0.4}, {{2, 0}, -0.1}};
  RpinnFlow flow = {.counts = {COLUMNS, ROWS},
                    .low = {0, -1},
                    .high = {2, 0},
                    .conductivity = conductivity,
                    .sources = sources,
                    .num_wells = 2,
                    .wells = wells};
  flow.sides[RPINN_FLOW_LEFT] = (RpinnSideCondition){.fixes_head = true, .values = heads};
  flow.sides[RPINN_FLOW_RIGHT].value = 0.2;
  bench_require(&bench, rpinn_flow_solve(bench.context, &flow, expected, NULL), "flow");
  for (size_t c = 0; c < CELLS; c++) check_relative(h[c], expected[c] - 1, 1e-12);
  /* The field has a seed of its own: other data, the same field. */
  ProblemBench other = load_seeded(path, "2", NULL);
  assert_memory_equal(y, predicted(&other, "y"), CELLS * sizeof(double));
  assert_true(bench_data(&bench, "logs")->values[0] != bench_data(&other, "logs")->values[0]);
  bench_close(&bench);
  bench_close(&other);
}

/* An interval: layers through which 2 flows in from the right, and a pumping well in the middle. */
static void flow_along_a_line(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(
      "name: line\n"
      "coordinates: {x: [0, 1]}\n"
      "fields: {h: {network: [3]}}\n"
      "truth:\n"
      "  cells: [4]\n"
      "  solve: {name: h, conductivity: \"1 + 3*max(0, min(1, 1e6*(x - 0.5)))\", left: {head: 5}, "
      "right: {flux: 2}, wells: [{at: [0.6], rate: 0.5}]}\n"
      "terms: {t: {expect: h, at: {cells: all}, data: truth, noise: 0.1, perturb: false}}\n"
      "settings: {likelihood: noise}\n",
      NULL);
  bench_build(&bench);
  const double *h = bench_data(&bench, "t")->values;
  const double expected[] = {5 + 1.5 / 8, 5 + 1.5 * 3 / 8, 5 + 1.5 * 4 / 8 + 1.5 / 32,
                             5 + 1.5 * 4 / 8 + 1.5 / 32 + 2.0 / 16};
  for (size_t i = 0; i < 4; i++) check_relative(h[i], expected[i], 1e-13);
  bench_close(&bench);
}

/* ---- run.yaml ---- */

/* With points from a file run.yaml reads all data from data.csv, and what was drawn from truth.csv. */
static void run_yaml_keeps_a_drawn_truth(void **state) {
  (void)state;
  char folder[] = "made_truth_XXXXXX", path[PATH_SIZE];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/points.csv", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "x\n0.2\n0.9\n");
  fclose(file);
  snprintf(path, sizeof path, "%s/problem.yaml", folder);
  file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "name: kept\n"
                "coordinates: {x: [0, 1]}\n"
                "fields: {h: {network: [3]}, y: {network: [3]}}\n"
                "truth:\n"
                "  cells: [20]\n"
                "  field: {name: y, covariance: exponential, length: 0.4}\n"
                "  solve: {name: h, conductivity: exp(y), left: {head: 1}, right: {head: 0}}\n"
                "terms:\n"
                "  y: {expect: y, at: {cells: 5}, data: truth, noise: 0.1}\n"
                "  h: {expect: h, at: {csv: points.csv}, data: 0, noise: 0.1}\n"
                "predict: {cells: all, quantities: [y, h]}\n"
                "settings: {likelihood: noise}\n");
  fclose(file);
  ProblemBench bench = load_seeded(path, "9", NULL);
  bench_require(&bench, rpinn_posterior_save(bench.context, bench.posterior, folder), "run.yaml");
  snprintf(path, sizeof path, "%s/run.yaml", folder);
  ProblemBench again = bench_load(path, NULL);
  bench_build(&again);
  for (size_t c = 0; c < 20; c++) {
    assert_true(predicted(&bench, "y")[c] == predicted(&again, "y")[c]);
    assert_true(predicted(&bench, "h")[c] == predicted(&again, "h")[c]);
  }
  bench_close(&bench);
  bench_close(&again);
  const char *names[] = {"points.csv", "problem.yaml", "run.yaml", "data.csv", "truth.csv"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    assert_int_equal(unlink(path), 0);
  }
  assert_int_equal(rmdir(folder), 0);
}

/* ---- the paper's own truth ---- */

static void the_published_table_is_a_truth(void **state) {
  (void)state;
  const char *folder = getenv("RPINN_REFERENCE_DIR");
  if (!folder || !*folder) {
    print_message("skipped: RPINN_REFERENCE_DIR is not set\n");
    skip();
  }
  RpinnText text = {0};
  rpinn_text_append(&text,
                    "name: published\n"
                    "coordinates: {x1: [0, 1], x2: [0, 0.5]}\n"
                    "fields: {h: {network: [3]}, y: {network: [3]}}\n"
                    "quantities: {k: exp(y)}\n"
                    "truth: {csv: \"%s/darcy_reference_256x128.csv\", y: log(k), h: h - 141.494}\n"
                    "terms:\n"
                    "  y: {expect: y, at: {cells: 40}, data: truth, noise: 0.1}\n"
                    "  h: {expect: h, at: {same_as: y}, data: truth, noise: 0.1}\n"
                    "prior: {reference_term: y}\n"
                    "predict: {cells: truth, quantities: [y, h, k]}\n",
                    folder);
  ProblemBench bench = bench_parse(text.bytes, NULL);
  bench_build(&bench);
  const double *y = predicted(&bench, "y"), *h = predicted(&bench, "h");
  assert_int_equal(bench.posterior->data->predict.count, SIZE);
  double mean = 0, lowest = INFINITY, highest = -INFINITY;
  for (size_t c = 0; c < SIZE; c++) {
    mean += y[c] / SIZE;
    lowest = fmin(lowest, h[c]);
    highest = fmax(highest, h[c]);
  }
  check_close(mean, -2.40, 0.005); /* figures of this table, rounded to the digits here */
  check_close(lowest, 0, 1e-9);
  check_relative(highest, 155.607 - 141.494, 1e-9);
  rpinn_text_free(&text);
  bench_close(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(darcy_is_drawn_and_solved),
                                     cmocka_unit_test(measurements_are_truth_plus_noise),
                                     cmocka_unit_test(seeds_of_the_data_decide),
                                     cmocka_unit_test(seeds_of_parts),
                                     cmocka_unit_test(another_seed_draws_again),
                                     cmocka_unit_test(a_drawn_truth_says_nothing_about_measurements),
                                     cmocka_unit_test(all_keys_at_work),
                                     cmocka_unit_test(flow_along_a_line),
                                     cmocka_unit_test(run_yaml_keeps_a_drawn_truth),
                                     cmocka_unit_test(the_published_table_is_a_truth)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
