/* A problem saved as run.yaml loads again to the same posterior, bit for bit, and saves again to the same
 * bytes. */
#include <errno.h>
#include <unistd.h>

#include "problem_folder.h"

#include "problem_bench.h"
#include "temporary_folder.h"
#include "whole_file.h"

enum { MEMBER = 2 };

/* ---- folders ---- */

static const char *const saved_files[] = {"run.yaml",    "data.csv",          "truth.csv",
                                          "predict.csv", "u_field_given.csv", "u_field_points.csv"};
enum { NUM_SAVED = sizeof saved_files / sizeof saved_files[0] };

static void make_folder(char folder[64]) {
  snprintf(folder, 64, "round_trip_XXXXXX");
  check_true(mkdtemp(folder) != NULL, "no temporary folder: %s", strerror(errno));
}

static void path_in(const char *folder, const char *name, char path[PATH_SIZE]) {
  snprintf(path, PATH_SIZE, "%s/%s", folder, name);
}

static void remove_folder(const char *folder, const char *also) {
  char path[PATH_SIZE];
  for (size_t i = 0; i < NUM_SAVED; i++) {
    path_in(folder, saved_files[i], path);
    unlink(path);
  }
  if (also) unlink(also);
  assert_int_equal(rmdir(folder), 0);
}

static void write_text(const char *path, const char *bytes, size_t length) {
  FILE *file = fopen(path, "wb");
  check_true(file != NULL, "%s", path);
  assert_int_equal(fwrite(bytes, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
}

/* Both folders hold the same files with the same bytes. */
static void compare_folders(const char *first, const char *second, const char *what) {
  RpinnContext *context = rpinn_context_create();
  for (size_t i = 0; i < NUM_SAVED; i++) {
    char paths[2][PATH_SIZE];
    RpinnText text[2] = {{0}, {0}};
    path_in(first, saved_files[i], paths[0]);
    path_in(second, saved_files[i], paths[1]);
    bool there = access(paths[0], F_OK) == 0;
    assert_true(there == (access(paths[1], F_OK) == 0));
    assert_true(there || i > 0);
    for (int k = 0; k < 2 && there; k++)
      assert_int_equal(rpinn_file_read(context, paths[k], 64, &text[k]), RPINN_OK);
    check_true(
        text[0].length == text[1].length &&
            !memcmp(text[0].bytes ? text[0].bytes : "", text[1].bytes ? text[1].bytes : "", text[0].length),
        "%s of %s is saved differently the second time", saved_files[i], what);
    rpinn_text_free(&text[0]);
    rpinn_text_free(&text[1]);
  }
  rpinn_context_destroy(context);
}

/* ---- posteriors ---- */

static void same_doubles(const double *a, const double *b, size_t count, const char *what,
                         const char *problem) {
  if (count) check_true(!memcmp(a, b, count * sizeof *a), "%s of %s differ", what, problem);
}

static void compare_data(const ProblemBench *a, const ProblemBench *b, const char *name) {
  const RpinnDataSet *x = a->posterior->data, *y = b->posterior->data;
  size_t d = a->problem->num_coordinates;
  assert_int_equal(a->problem->num_terms, b->problem->num_terms);
  for (size_t t = 0; t < a->problem->num_terms; t++) {
    assert_string_equal(a->problem->terms[t].name, b->problem->terms[t].name);
    assert_int_equal(x->terms[t].points.count, y->terms[t].points.count);
    assert_int_equal(x->terms[t].missing, y->terms[t].missing);
    same_doubles(x->terms[t].points.x, y->terms[t].points.x, x->terms[t].points.count * d, "points", name);
    same_doubles(x->terms[t].values, y->terms[t].values, x->terms[t].points.count, "values", name);
    assert_int_equal(x->terms[t].num_rows, y->terms[t].num_rows);
    assert_true((x->terms[t].mix == NULL) == (y->terms[t].mix == NULL));
    if (x->terms[t].mix)
      same_doubles(x->terms[t].mix, y->terms[t].mix, x->terms[t].num_rows * x->terms[t].points.count,
                   "priors", name);
  }
  assert_int_equal(x->predict.count, y->predict.count);
  assert_int_equal(a->problem->num_predicted, b->problem->num_predicted);
  same_doubles(x->predict.x, y->predict.x, x->predict.count * d, "points of predictions", name);
  for (size_t i = 0; i < a->problem->num_predicted; i++) {
    assert_true((x->predicted_truth[i] == NULL) == (y->predicted_truth[i] == NULL));
    if (x->predicted_truth[i])
      same_doubles(x->predicted_truth[i], y->predicted_truth[i], x->predict.count, "predicted truths", name);
  }
}

/* Energy, its parts, gradient, start and offsets of a member. */
static void compare_energies(const ProblemBench *a, const ProblemBench *b, const char *name) {
  const ProblemBench *both[] = {a, b};
  size_t N = rpinn_posterior_num_parameters(a->posterior), M = rpinn_posterior_num_rows(a->posterior),
         num_terms = rpinn_posterior_num_terms(a->posterior);
  assert_int_equal(rpinn_posterior_num_parameters(b->posterior), N);
  assert_int_equal(rpinn_posterior_num_rows(b->posterior), M);
  assert_int_equal(rpinn_posterior_num_terms(b->posterior), num_terms);
  size_t count = N + M + N + N + num_terms + 2; /* start, offsets, gradient, parts, energy */
  double *found[2];
  for (int k = 0; k < 2; k++) {
    found[k] = calloc(count, sizeof(double));
    double *theta = found[k], *offsets = theta + N, *gradient = offsets + M + N, *parts = gradient + N,
           *energy = parts + num_terms + 1;
    rpinn_posterior_start_glorot(both[k]->posterior, MEMBER, theta);
    rpinn_posterior_draw_offsets(both[k]->posterior, MEMBER, offsets);
    for (size_t j = 0; j < N; j++) theta[j] += 0.01 * sin((double)j);
    assert_int_equal(
        rpinn_posterior_energy(both[k]->context, both[k]->posterior, theta, offsets, energy, gradient, parts),
        RPINN_OK);
    check_true(isfinite(*energy), "the energy of %s is %g", name, *energy);
  }
  same_doubles(found[0], found[1], N, "starts", name);
  same_doubles(found[0] + N, found[1] + N, M + N, "offsets", name);
  same_doubles(found[0] + count - 1, found[1] + count - 1, 1, "energies", name);
  same_doubles(found[0] + N + M + N + N, found[1] + N + M + N + N, num_terms + 1, "parts of the energy",
               name);
  same_doubles(found[0] + N + M + N, found[1] + N + M + N, N, "gradients", name);
  free(found[0]);
  free(found[1]);
}

/* The reverse pass adds up in the order of the active instructions: it must be the same for the same bits. */
static void compare_programs(const ProblemBench *a, const ProblemBench *b, const char *name) {
  for (size_t k = 0; k < a->posterior->model.num_terms; k++) {
    const RpinnResidualProgram *p = a->posterior->model.terms[k].program,
                               *q = b->posterior->model.terms[k].program;
    size_t i = 0, j = 0;
    assert_int_equal(p->num_instructions, q->num_instructions);
    for (; i < p->num_instructions && j < q->num_instructions; i++, j++) {
      while (i < p->num_instructions - 1 && !p->instructions[i].active) i++;
      while (j < q->num_instructions - 1 && !q->instructions[j].active) j++;
      check_true(p->instructions[i].operation == q->instructions[j].operation,
                 "a term of %s is compiled differently", name);
    }
  }
}

static void compare_settings(const ProblemBench *a, const ProblemBench *b) {
  for (int s = 0; s < RPINN_NUM_SETTINGS; s++)
    assert_string_equal(rpinn_problem_setting_text(a->problem, (RpinnSetting)s),
                        rpinn_problem_setting_text(b->problem, (RpinnSetting)s));
}

/* There and back, and saved once more. */
static void round_trip(const char *name, const RpinnProblemOptions *options) {
  char folders[2][64], path[PATH_SIZE];
  make_folder(folders[0]);
  make_folder(folders[1]);
  ProblemBench first = bench_load(name, options);
  bench_build(&first);
  bench_require(&first, rpinn_posterior_save(first.context, first.posterior, folders[0]), name);
  path_in(folders[0], "run.yaml", path);
  ProblemBench second = bench_load(path, NULL);
  bench_build(&second);
  assert_string_equal(rpinn_problem_name(first.problem), rpinn_problem_name(second.problem));
  compare_settings(&first, &second);
  compare_data(&first, &second, name);
  compare_programs(&first, &second, name);
  compare_energies(&first, &second, name);
  bench_require(&second, rpinn_posterior_save(second.context, second.posterior, folders[1]), name);
  compare_folders(folders[0], folders[1], name);
  bench_close(&first);
  bench_close(&second);
  remove_folder(folders[0], NULL);
  remove_folder(folders[1], NULL);
}

static void every_problem(void **state) {
  (void)state;
  ProblemList *list = list_problems();
  for (size_t i = 0; i < list->count; i++) round_trip(list->names[i], NULL);
  print_message("  %zu problems\n", list->count);
  free(list);
}

/* … with seeds, likelihoods and presets given from outside. */
static void with_overrides(void **state) {
  (void)state;
  ProblemList *list = list_problems();
  size_t num_presets = 0;
  for (size_t i = 0; i < list->count; i++) {
    RpinnOverride overrides[] = {
        {.name = "seed", .value = "12345678901", .origin = "--seed", .setting_only = true},
        {.name = "prior_scale", .value = i % 2 ? "inf" : "0.1", .origin = "--set"},
        {.name = "likelihood", .value = i % 3 ? "uniform" : "paper", .origin = "--set"},
        {.name = "learning_rate", .value = "1.0e-2", .origin = "--set"},
        {.name = "data_seed", .value = "7", .origin = "--set"}};
    RpinnProblemOptions options = {.num_overrides = 4 + i % 2, .overrides = overrides};
    round_trip(list->names[i], &options);
    ProblemBench bench = bench_load(list->names[i], NULL);
    for (size_t k = 0; k < rpinn_problem_num_presets(bench.problem); k++, num_presets++) {
      options.preset = rpinn_problem_preset_name(bench.problem, k);
      options.num_overrides = 1;
      round_trip(list->names[i], &options);
    }
    bench_close(&bench);
  }
  assert_true(num_presets >= 4);
  free(list);
}

/* Constants that are expressions come back as the same doubles. */
static void constants_by_override(void **state) {
  (void)state;
  RpinnOverride overrides[] = {{.name = "k", .value = "-1/3", .origin = "--set"},
                               {.name = "sigma", .value = "sqrt(2)/100", .origin = "--set"},
                               {.name = "Nf", .value = "2^4+1", .origin = "--set"}};
  RpinnProblemOptions options = {.num_overrides = 3, .overrides = overrides};
  round_trip("poisson-linear", &options);
}

/* ---- measurements ---- */

/* The Darcy problem with a file of measurements such as a user brings: few digits, terms in any order. */
static void darcy_with_data(void **state) {
  (void)state;
  char folder[64], path[PATH_SIZE];
  make_folder(folder);
  path_in(folder, "measurements.csv", path);
  ProblemBench bench = bench_load("darcy", NULL);
  bench_build(&bench);
  RpinnText csv = {0};
  RpinnStream stream = rpinn_stream(3, RPINN_PURPOSE_CHECK, 0, 0);
  rpinn_text_append(&csv, "value,term,x2,x1\n");
  for (size_t t = bench.problem->num_terms; t-- > 0;) {
    const RpinnPointSet *points = &bench.posterior->data->terms[t].points;
    for (size_t p = 0; p < points->count; p += 1 + t)
      rpinn_text_append(&csv, "%.9g,%s,%.7g,%.7g\n", rpinn_stream_normal(&stream),
                        bench.problem->terms[t].name, points->x[2 * p + 1], points->x[2 * p]);
  }
  write_text(path, csv.bytes, csv.length);
  round_trip("darcy", &(RpinnProblemOptions){.data_file = path});
  round_trip("darcy", &(RpinnProblemOptions){.data_file = path, .preset = "text"});
  rpinn_text_free(&csv);
  bench_close(&bench);
  remove_folder(folder, path);
}

/* A held-out term without rows in the file stays without data. */
static void held_out_without_rows(void **state) {
  (void)state;
  char folder[64], path[PATH_SIZE], problem[PATH_SIZE];
  const char rows[] = "term,x,value\nslope,0.25,1\nvalue,0.5,2\nslope,0.75,3\n";
  make_folder(folder);
  path_in(folder, "measurements.csv", path);
  write_text(path, rows, strlen(rows));
  snprintf(problem, sizeof problem, "%s/tests/problems/all-in-one.yaml", source_folder());
  round_trip(problem, &(RpinnProblemOptions){.data_file = path});
  remove_folder(folder, path);
}

/* What a term compiles to must not depend on whether its data were made from the truth, as in the problem
 * file, or read, as in the run directory: the gradient would sum up in another order. */
static void programs_do_not_depend_on_the_data(void **state) {
  (void)state;
  char folder[64], problem[PATH_SIZE], table[PATH_SIZE], own[PATH_SIZE];
  const char text[] =
      "name: columns\n"
      "coordinates: {x: [0, 1]}\n"
      "fields: {a: {network: [6]}, b: {network: [5]}}\n"
      "truth: table.csv\n"
      "terms:\n"
      "  one: {expect: sin(3*a) + exp(a/3) + tanh(7*a), at: {same_as: two}, data: truth, noise: 0.1}\n"
      "  two: {expect: tanh(7*a), at: {cells: all}, data: truth, noise: 0.1}\n"
      "  three: {expect: b, at: {grid: 2}, data: own.csv, noise: 0.1}\n"
      "settings: {likelihood: noise}\n";
  const char rows[] = "a,b,x\n0.1,0.2,0\n0.3,0.5,0.4\n0.2,0.6,0.7\n0.4,0.1,1\n", values[] = "value\n1\n2\n";
  make_folder(folder);
  path_in(folder, "columns.yaml", problem);
  path_in(folder, "table.csv", table);
  path_in(folder, "own.csv", own);
  write_text(problem, text, strlen(text));
  write_text(table, rows, strlen(rows));
  write_text(own, values, strlen(values));
  round_trip(problem, NULL);
  unlink(problem);
  unlink(table);
  remove_folder(folder, own);
}

/* The published data sets, where they are. */
static void reference_data(void **state) {
  (void)state;
  const char *reference = getenv("RPINN_REFERENCE_DIR");
  if (!reference) {
    print_message("  skipped: RPINN_REFERENCE_DIR is not set\n");
    skip();
  }
  static const struct {
    const char *prefix, *problem;
  } kinds[] = {
      {"poisson_linear", "poisson-linear"}, {"poisson_nonlinear", "poisson-nonlinear"}, {"darcy", "darcy"}};
  char folder[PATH_SIZE / 2], path[PATH_SIZE];
  snprintf(folder, sizeof folder, "%s/datasets", reference);
  DIR *stream = opendir(folder);
  check_true(stream != NULL, "no folder %s", folder);
  size_t count = 0;
  for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream))
    for (size_t k = 0; k < 3; k++) {
      if (strncmp(entry->d_name, kinds[k].prefix, strlen(kinds[k].prefix)) != 0) continue;
      snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
      round_trip(kinds[k].problem, &(RpinnProblemOptions){.data_file = path, .preset = "paper"});
      count++;
    }
  closedir(stream);
  print_message("  %zu data sets\n", count);
  assert_true(count >= 9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_problem),         cmocka_unit_test(with_overrides),
      cmocka_unit_test(constants_by_override), cmocka_unit_test(darcy_with_data),
      cmocka_unit_test(held_out_without_rows), cmocka_unit_test(programs_do_not_depend_on_the_data),
      cmocka_unit_test(reference_data)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
