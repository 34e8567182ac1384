/* A sheet of every kind of panel gives the script in tests/golden/sheet.gp, to the letter: data, axes, styles, colours,
 * legend and sizes. */
#include "golden.h"

#include "plot_sheet.h"

static const RpinnFrame frame = {440, 310, 58, 10, 20, 42};

static void draw_curves(RpinnText *page, RpinnSheet *sheet) {
  const double x[] = {0, 0.5, 1}, y[] = {1, (double)NAN, -2}, low[] = {0, 0.25, -3}, high[] = {2, 1e301, -1};
  const RpinnStroke mean = {RPINN_INK_BLUE, 2, 1, NULL}, truth = {RPINN_INK_BLACK, 1.6, 0.5, "6 4"};
  const RpinnPointStyle full = {RPINN_MARKER_SQUARE, 3, RPINN_INK_VERMILION, RPINN_INK_VERMILION},
                        hollow = {RPINN_MARKER_TRIANGLE, 4, "#ffffff", RPINN_INK_GREEN};
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .title = "curves",
                    .frame = frame,
                    .x = {.label = "x [m]", .low = 0, .high = 1},
                    .y = {.label = "u", .low = -3, .high = 2}};
  rpinn_plot_open(&plot, "curves");
  rpinn_plot_band(&plot, 3, x, low, high, RPINN_INK_BLUE, 0.25);
  rpinn_plot_line(&plot, 3, x, y, mean);
  rpinn_plot_line(&plot, 2, x, low, truth);
  rpinn_plot_points(&plot, 1, &x[0], &y[0], 0.125, full);
  rpinn_plot_points(&plot, 1, &x[2], &y[2], 0.125, full); /* of one look: one block */
  rpinn_plot_points(&plot, 1, &x[1], &low[1], 0, hollow);
  rpinn_plot_close(&plot);
  rpinn_plot_key_line(&plot, mean, "mean");
  rpinn_plot_key_line(&plot, truth, "the \"truth\"");
  rpinn_plot_key_band(&plot, RPINN_INK_BLUE, 0.25, "95 %");
  rpinn_plot_key_points(&plot, true, full, "data");
  rpinn_plot_key_points(&plot, false, hollow, "held-out data");
  rpinn_plot_key_line(&plot, mean, "mean"); /* once */
}

static void draw_bars(RpinnText *page, RpinnSheet *sheet) {
  const double edges[] = {1, 10, 100}, heights[] = {3, 1};
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .title = "bars",
                    .frame = frame,
                    .x = {.label = "loss", .low = 1, .high = 100, .logarithmic = true},
                    .y = {.label = "members", .low = 0, .high = 3, .whole = true}};
  rpinn_plot_open(&plot, "bars");
  rpinn_plot_bars(&plot, 2, edges, heights, RPINN_INK_GREEN);
  rpinn_plot_close(&plot);
}

static void draw_map(RpinnText *page, RpinnSheet *sheet) {
  const double values[] = {1, 2, (double)INFINITY, 4, 5, 6};
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .title = "map",
                    .frame = {450, 240, 58, 74, 20, 42},
                    .x = {.label = "x", .low = 0, .high = 3},
                    .y = {.label = "y", .low = -1, .high = 1},
                    .without_grid = true};
  RpinnPlotImage image = {0, 3, -1, 1, RPINN_COLOURS_VALUE, 3, 2, values, 1, 6};
  rpinn_plot_open(&plot, "map");
  rpinn_plot_image(&plot, &image);
  rpinn_plot_close_with_colours(&plot, RPINN_COLOURS_VALUE, (RpinnAxis){.low = 1, .high = 6});
}

/* Many decades, in the fourth panel of a sheet of two columns; and a map whose colours keys explain. */
static void draw_the_rest(RpinnText *page, RpinnSheet *sheet) {
  const double x[] = {1e-6, 1}, y[] = {2, 5}, inside[] = {1, 0};
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .frame = frame,
                    .x = {.label = "size", .low = 1e-6, .high = 1, .logarithmic = true},
                    .y = {.label = "number", .low = 2, .high = 5, .logarithmic = true}};
  rpinn_plot_open(&plot, "decades");
  rpinn_plot_line(&plot, 2, x, y, (RpinnStroke){RPINN_INK_PURPLE, 1, 1, NULL});
  rpinn_plot_close(&plot);
  plot.title = "inside";
  plot.x = plot.y = (RpinnAxis){.label = "", .low = 0, .high = 1};
  RpinnPlotImage image = {0, 1, 0, 1, RPINN_COLOURS_INSIDE, 2, 1, inside, 0, 1};
  rpinn_plot_open(&plot, "inside");
  rpinn_plot_image(&plot, &image);
  rpinn_plot_close_with_keys(&plot, RPINN_COLOURS_INSIDE, 0, 1);
}

static void the_script_is_the_golden_one(void **state) {
  (void)state;
  RpinnText page = {0}, script = {0};
  RpinnSheet sheet = {.columns = 2};
  draw_curves(&page, &sheet);
  draw_bars(&page, &sheet);
  draw_map(&page, &sheet);
  draw_the_rest(&page, &sheet);
  rpinn_sheet_write(&sheet, "sheet", &script);
  check_golden("sheet.gp", &script);
  rpinn_sheet_free(&sheet);
  rpinn_text_free(&script);
  rpinn_text_free(&page);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_script_is_the_golden_one)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
