/* fields.vti, parsed: its extents and every number. tests/python/check_vti_file.py opens it with VTK. */
#include "check.h"

#include <unistd.h>

#include "problem_bench.h"
#include "temporary_folder.h"
#include "vti_file.h"
#include "whole_file.h"

enum { PATH_SIZE = 1024 };

/* x runs over [0, 3], y over [-1, 1]; the truth tells where a number belongs. */
static ProblemBench plane_bench(const char *predict) {
  char text[1024];
  snprintf(text, sizeof text,
           "name: plane\n"
           "coordinates: {x: [0, 3], y: [-1, 1]}\n"
           "fields: {u: {network: [3]}, v: {network: [3]}}\n"
           "truth: {cells: [3, 2], u: x + 10*y}\n"
           "terms: {a: {expect: u + v, at: {grid: 2}, data: 1, noise: 0.1}}\n"
           "prior: {reference_term: a}\n"
           "predict: {%s, quantities: [u, v]}\n",
           predict);
  ProblemBench bench = bench_parse(text, NULL);
  bench_build(&bench);
  return bench;
}

/* The mean is the truth plus a quarter, the standard deviation counts; the mean of v has a NaN. */
static bool write_plane(const ProblemBench *bench, const char *path, bool with_std) {
  size_t count = bench->posterior->data->predict.count;
  double *mean = malloc(2 * count * sizeof *mean), *std = malloc(2 * count * sizeof *std);
  assert_true(mean && std);
  for (size_t p = 0; p < 2 * count; p++) {
    mean[p] = p < count ? bench->posterior->data->predicted_truth[0][p] + 0.25 : (double)NAN;
    std[p] = (double)p + 1;
  }
  bool written;
  bench_require(
      bench,
      rpinn_vti_file_write(bench->context, path, bench->posterior, mean, with_std ? std : NULL, &written),
      "write");
  free(mean);
  free(std);
  return written;
}

/* ---- parsing ---- */

static RpinnText read_text(const ProblemBench *bench, const char *path) {
  RpinnText text = {0};
  bench_require(bench, rpinn_file_read(bench->context, path, 1, &text), path);
  return text;
}

static void expect_part(const RpinnText *text, const char *part) {
  check_true(strstr(text->bytes, part) != NULL, "no %s in\n%.600s", part, text->bytes);
}

static unsigned base64_value(char digit) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *place = strchr(digits, digit);
  check_true(place && digit, "no digit of base64: '%c'", digit);
  return (unsigned)(place - digits);
}

/* The numbers of an array: their count in bytes, then they. */
static size_t read_array(const RpinnText *text, const char *name, double *numbers, size_t capacity) {
  char tag[128];
  unsigned char bytes[4096];
  size_t size = 0;
  snprintf(tag, sizeof tag, "<DataArray type=\"Float64\" Name=\"%s\" format=\"binary\">\n", name);
  const char *at = strstr(text->bytes, tag);
  check_true(at != NULL, "no array %s", name);
  for (at += strlen(tag); *at != '\n'; at += 4) {
    unsigned word = base64_value(at[0]) << 18 | base64_value(at[1]) << 12;
    if (at[2] != '=') word |= base64_value(at[2]) << 6;
    if (at[3] != '=') word |= base64_value(at[3]);
    assert_true(size + 3 <= sizeof bytes);
    bytes[size++] = (unsigned char)(word >> 16);
    if (at[2] != '=') bytes[size++] = (unsigned char)(word >> 8);
    if (at[3] != '=') bytes[size++] = (unsigned char)word;
  }
  uint64_t num_bytes;
  memcpy(&num_bytes, bytes, sizeof num_bytes);
  assert_int_equal(size, sizeof num_bytes + num_bytes);
  assert_true(num_bytes <= capacity * sizeof *numbers);
  memcpy(numbers, bytes + sizeof num_bytes, num_bytes);
  return num_bytes / sizeof *numbers;
}

static void expect_array(const RpinnText *text, const char *name, size_t count, const double *expected) {
  double found[256];
  assert_int_equal(read_array(text, name, found, 256), count);
  for (size_t i = 0; i < count; i++)
    check_true(found[i] == expected[i], "%s[%zu] is %g, expected %g", name, i, found[i], expected[i]);
}

/* Every element is closed in the order that XML wants. */
static void check_nesting(const RpinnText *text) {
  char open[16][64];
  size_t depth = 0;
  for (const char *at = strchr(text->bytes, '<'); at; at = strchr(at + 1, '<')) {
    char name[64];
    if (at[1] == '?') continue;
    if (sscanf(at, at[1] == '/' ? "</%63[A-Za-z]" : "<%63[A-Za-z]", name) != 1) fail_msg("%.20s", at);
    if (at[1] == '/') {
      assert_true(depth > 0);
      assert_string_equal(name, open[--depth]);
    } else {
      assert_true(depth < 16);
      memcpy(open[depth++], name, sizeof name);
    }
  }
  assert_int_equal(depth, 0);
}

/* ---- tests ---- */

static void test_points(void **state) {
  (void)state;
  static const double truth[] = {-10, -8.5, -7, 0, 1.5, 3, 10, 11.5, 13};
  static const double std[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  ProblemBench bench = plane_bench("grid: [3, 3]");
  assert_true(write_plane(&bench, "points.vti", true));
  assert_int_equal(access("points.vti.part", F_OK), -1);
  RpinnText text = read_text(&bench, "points.vti");
  expect_part(&text, "<ImageData WholeExtent=\"0 2 0 2 0 0\" Origin=\"0 -1 0\" Spacing=\"1.5 1 1\">");
  expect_part(&text, "<Piece Extent=\"0 2 0 2 0 0\">\n      <PointData>");
  check_nesting(&text);
  expect_array(&text, "u_truth", 9, truth);
  expect_array(&text, "u_std", 9, std);
  double mean[9], error[9], found[9];
  for (size_t i = 0; i < 9; i++) {
    mean[i] = truth[i] + 0.25;
    error[i] = 0.25;
  }
  expect_array(&text, "u_mean", 9, mean);
  expect_array(&text, "u_error", 9, error);
  assert_int_equal(read_array(&text, "v_mean", found, 9), 9);
  assert_true(isnan(found[4]));
  assert_null(strstr(text.bytes, "v_truth"));
  rpinn_text_free(&text);
  assert_true(write_plane(&bench, "points.vti", false));
  text = read_text(&bench, "points.vti");
  assert_null(strstr(text.bytes, "_std"));
  rpinn_text_free(&text);
  bench_close(&bench);
}

static void test_cells(void **state) {
  (void)state;
  static const double truth[] = {-4.5, -3.5, -2.5, 5.5, 6.5, 7.5};
  ProblemBench bench = plane_bench("cells: truth");
  assert_true(write_plane(&bench, "cells.vti", true));
  RpinnText text = read_text(&bench, "cells.vti");
  expect_part(&text, "<ImageData WholeExtent=\"0 3 0 2 0 0\" Origin=\"0 -1 0\" Spacing=\"1 1 1\">");
  expect_part(&text, "<CellData>");
  check_nesting(&text);
  expect_array(&text, "u_truth", 6, truth);
  rpinn_text_free(&text);
  bench_close(&bench);
}

/* Points in another order are sorted; uneven steps and scattered points make no image. */
static void test_other_points(void **state) {
  (void)state;
  static const double truth[] = {-10, -9, -8, 10, 11, 12};
  ProblemBench bench = plane_bench("points: [[2, 1], [0, -1], [0, 1], [1, -1], [1, 1], [2, -1]]");
  assert_true(write_plane(&bench, "other.vti", true));
  RpinnText text = read_text(&bench, "other.vti");
  expect_array(&text, "u_truth", 6, truth);
  rpinn_text_free(&text);
  remove("other.vti");
  bench_close(&bench);

  static const char *const none[] = {"points: [[0, -1], [1, -1], [3, -1], [0, 1], [1, 1], [3, 1]]",
                                     "points: [[0, -1], [1, -1], [3, 1]]", "latin_hypercube: 9"};
  for (size_t i = 0; i < 3; i++) {
    bench = plane_bench(none[i]);
    assert_false(write_plane(&bench, "other.vti", true));
    assert_int_equal(access("other.vti", F_OK), -1);
    bench_close(&bench);
  }
}

static void test_no_folder(void **state) {
  (void)state;
  ProblemBench bench = plane_bench("grid: 2");
  double mean[8] = {0};
  bool written = true;
  assert_int_equal(
      rpinn_vti_file_write(bench.context, "missing_folder/fields.vti", bench.posterior, mean, mean, &written),
      RPINN_ERROR_IO);
  assert_false(written);
  bench_close(&bench);
}

/* With an argument: write sample files there, for VTK's own reader. */
static int write_samples(const char *folder) {
  static const char *const names[] = {"points", "cells"}, *const predicts[] = {"grid: [3, 3]",
                                                                               "cells: truth"};
  for (size_t i = 0; i < 2; i++) {
    char path[PATH_SIZE];
    ProblemBench bench = plane_bench(predicts[i]);
    snprintf(path, sizeof path, "%s/%s.vti", folder, names[i]);
    bool written = write_plane(&bench, path, true);
    bench_close(&bench);
    if (!written) return 1;
  }
  return 0;
}

int main(int num_arguments, char **arguments) {
  if (num_arguments == 2) return write_samples(arguments[1]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_points), cmocka_unit_test(test_cells),
                                     cmocka_unit_test(test_other_points), cmocka_unit_test(test_no_folder)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
