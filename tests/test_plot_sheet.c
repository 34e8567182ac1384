/* Pictures for print: a sheet of panels as a script, and what gnuplot makes of it where there is one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "drop_map.h"
#include "gnuplot.h"
#include "plot_sheet.h"
#include "temporary_folder.h"

enum { COUNT = 41, COLUMNS = 12, ROWS = 6 };

static const RpinnStroke line = {RPINN_INK_BLUE, 2, 1, NULL}, dashed = {RPINN_INK_BLACK, 1.6, 1, "6 4"};
static const RpinnPointStyle dot = {RPINN_MARKER_CIRCLE, 3, RPINN_INK_VERMILION, RPINN_INK_VERMILION};

static void draw_curves(RpinnText *page, RpinnSheet *sheet, const char *title) {
  double x[COUNT], y[COUNT], low[COUNT], high[COUNT];
  for (int i = 0; i < COUNT; i++) {
    x[i] = -1 + 2.0 * i / (COUNT - 1);
    y[i] = i == 20 ? (double)NAN : sin(3 * x[i]);
    low[i] = sin(3 * x[i]) - 0.2;
    high[i] = sin(3 * x[i]) + 0.2;
  }
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .title = title,
                    .frame = {440, 310, 58, 10, 20, 42},
                    .x = {.label = "x", .low = -1, .high = 1},
                    .y = {.label = "u_1 [m/s]", .low = -1.5, .high = 1.5}};
  rpinn_plot_open(&plot, "curves");
  rpinn_plot_band(&plot, COUNT, x, low, high, line.colour, 0.22);
  rpinn_plot_line(&plot, COUNT, x, y, line);
  rpinn_plot_line(&plot, COUNT, x, high, dashed);
  for (int i = 0; i < COUNT; i += 5) rpinn_plot_points(&plot, 1, &x[i], &low[i], 0.1, dot);
  rpinn_plot_close(&plot);
  rpinn_plot_key_band(&plot, line.colour, 0.22, "95 %");
  rpinn_plot_key_line(&plot, line, "mean");
  rpinn_plot_key_line(&plot, dashed, "truth");
  rpinn_plot_key_points(&plot, true, dot, "data");
}

static void draw_bars(RpinnText *page, RpinnSheet *sheet) {
  double edges[] = {1, 2, 4, 8, 16}, heights[] = {3, 5, 2, 1};
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .title = "bars",
                    .frame = {440, 310, 58, 10, 20, 42},
                    .x = {.label = "loss", .low = 1, .high = 16, .logarithmic = true},
                    .y = {.label = "members", .low = 0, .high = 6, .whole = true}};
  rpinn_plot_open(&plot, "bars");
  rpinn_plot_bars(&plot, 4, edges, heights, RPINN_INK_GREEN);
  rpinn_plot_close(&plot);
}

static void draw_map(RpinnText *page, RpinnSheet *sheet) {
  double values[ROWS * COLUMNS];
  for (int k = 0; k < ROWS * COLUMNS; k++) values[k] = k % COLUMNS + k / COLUMNS;
  values[3] = (double)INFINITY;
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .title = "map",
                    .frame = {440, 240, 58, 74, 20, 42},
                    .x = {.label = "x1", .low = 0, .high = 1},
                    .y = {.label = "x2", .low = 0, .high = 0.5},
                    .without_grid = true};
  RpinnPlotImage image = {0, 1, 0, 0.5, RPINN_COLOURS_VALUE, COLUMNS, ROWS, values, 0, 16};
  rpinn_plot_open(&plot, "map");
  rpinn_plot_image(&plot, &image);
  double x = 0.25, y = 0.125;
  rpinn_plot_points(&plot, 1, &x, &y, 0, dot);
  rpinn_plot_close_with_colours(&plot, RPINN_COLOURS_VALUE, (RpinnAxis){.label = "", .low = 0, .high = 16});
}

static size_t count_of(const char *text, const char *part) {
  size_t count = 0;
  for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) count++;
  return count;
}

static void make_script(RpinnText *script) {
  RpinnText page = {0};
  RpinnSheet sheet = {.columns = 2};
  draw_curves(&page, &sheet, "one \"quoted\" \\title");
  draw_curves(&page, &sheet, "two");
  draw_bars(&page, &sheet);
  draw_map(&page, &sheet);
  rpinn_sheet_write(&sheet, "sheet", script);
  assert_false(script->failed);
  rpinn_sheet_free(&sheet);
  rpinn_text_free(&page);
}

/* Every panel once, points of one look in one block, every key once, gaps for what is not finite. */
static void test_script(void **state) {
  (void)state;
  RpinnText script = {0};
  make_script(&script);
  assert_int_equal(count_of(script.bytes, "set origin across("), 4);
  assert_non_null(strstr(script.bytes, "columns = 2\nrows = 2\n"));
  assert_int_equal(count_of(script.bytes, "keyentry"), 4);
  assert_int_equal(count_of(script.bytes, " << EOD\n"), 4 + 4 + 1 + 2);
  assert_int_equal(count_of(script.bytes, "\nEOD\n"), 4 + 4 + 1 + 2);
  assert_non_null(strstr(script.bytes, "set title \"one \\\"quoted\\\" \\\\title\" noenhanced"));
  assert_non_null(strstr(script.bytes, "0 NaN \n"));
  assert_null(strstr(script.bytes, "inf"));
  rpinn_text_free(&script);
}

static void assert_begins(const char *folder, const char *name, const char *magic) {
  char path[256], bytes[16] = {0};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t got = fread(bytes, 1, sizeof bytes - 1, file);
  fclose(file);
  assert_true(got > strlen(magic) && !memcmp(bytes, magic, strlen(magic)));
  assert_int_equal(unlink(path), 0);
}

static void write_script(const char *folder, const RpinnText *script) {
  char path[256];
  snprintf(path, sizeof path, "%s/sheet.gp", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(script->bytes, 1, script->length, file), script->length);
  assert_int_equal(fclose(file), 0);
}

static void test_drawing(void **state) {
  (void)state;
  char folder[] = "sheet_XXXXXX", path[256];
  RpinnText script = {0};
  make_script(&script);
  assert_non_null(mkdtemp(folder));
  write_script(folder, &script);
  RpinnDrawing drawing = rpinn_gnuplot(folder, "sheet.gp");
  if (drawing == RPINN_NO_GNUPLOT) {
    print_message("no gnuplot: nothing was drawn\n");
  } else {
    assert_int_equal(drawing, RPINN_DRAWN);
    assert_begins(folder, "sheet.svg", "<?xml");
    assert_begins(folder, "sheet.pdf", "%PDF-");
    assert_begins(folder, "sheet.png", "\x89PNG");
    rpinn_text_append(&script, "this is no command\n");
    write_script(folder, &script);
    assert_int_equal(rpinn_gnuplot(folder, "sheet.gp"), RPINN_DRAWING_FAILED);
    for (int k = 0; k < 3; k++) {
      static const char *const kinds[] = {"svg", "pdf", "png"};
      snprintf(path, sizeof path, "%s/sheet.%s", folder, kinds[k]);
      unlink(path);
    }
  }
  snprintf(path, sizeof path, "%s/sheet.gp", folder);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(folder), 0);
  rpinn_text_free(&script);
}

/* log p = -(x^2 + y^2): the contours of the drops 1 and 10 are circles of the radii 1 and sqrt(10). */
static void test_drop_map(void **state) {
  (void)state;
  enum { SIDE = 81 };
  static double values[SIDE * SIDE];
  for (int j = 0; j < SIDE; j++)
    for (int i = 0; i < SIDE; i++) {
      double x = -4 + 8.0 * i / (SIDE - 1), y = -4 + 8.0 * j / (SIDE - 1);
      values[j * SIDE + i] = -(x * x + y * y);
    }
  RpinnText page = {0};
  RpinnSheet sheet = {0};
  RpinnAxis colours;
  RpinnPlot plot = {.page = &page,
                    .sheet = &sheet,
                    .frame = {440, 380, 58, 74, 20, 42},
                    .x = {.label = "x", .low = -4, .high = 4},
                    .y = {.label = "y", .low = -4, .high = 4}};
  RpinnDropMap map = {SIDE, SIDE, -4, 4, -4, 4, values, -(double)INFINITY};
  rpinn_plot_open(&plot, "drops");
  assert_int_equal(rpinn_plot_drop_map(&plot, &map, &colours), RPINN_OK);
  check_relative(colours.low, -log10(33), 1e-12);
  assert_true(colours.high == 0);
  /* The blocks: the image, and the contours of 1 and 10. */
  const char *block = sheet.blocks.bytes;
  for (int contour = 0; contour < 2; contour++) {
    double radius = contour ? sqrt(10) : 1, x, y;
    size_t count = 0;
    block = strstr(block + 1, contour ? "$d3 << EOD\n" : "$d2 << EOD\n");
    assert_non_null(block);
    for (const char *row = strchr(block, '\n') + 1; strncmp(row, "EOD", 3) != 0; row = strchr(row, '\n') + 1)
      if (sscanf(row, "%lf %lf", &x, &y) == 2 && isfinite(x)) {
        check_close(hypot(x, y), radius, 0.002);
        count++;
      }
    assert_true(count > 60);
  }
  rpinn_plot_close_with_colours(&plot, RPINN_COLOURS_VALUE, colours);
  rpinn_sheet_free(&sheet);
  rpinn_text_free(&page);
}

static void test_no_gnuplot(void **state) {
  (void)state;
  const char *path = getenv("PATH");
  char *saved = strdup(path ? path : "");
  assert_non_null(saved);
  setenv("PATH", "/nowhere", 1);
  assert_int_equal(rpinn_gnuplot(".", "none.gp"), RPINN_NO_GNUPLOT);
  setenv("PATH", saved, 1);
  free(saved);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_script), cmocka_unit_test(test_drawing),
                                     cmocka_unit_test(test_drop_map), cmocka_unit_test(test_no_gnuplot)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
