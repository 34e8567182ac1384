/* The shape of a posterior on a page: drops of the log density below its highest value, and the sizes of eigenvalues by
 * their sign. */
#include "figure_bench.h"

enum { CHAINS = 2, EIGENVALUES = 4 };

/* A plane of 3 by 2, whose highest value lies at a corner outside of the grid, and two spectra in falling order. */
static FigureBench draw_shape(ReportBench made, bool in_full) {
  static double plane[] = {-9, -99, 0, -999, -9999, -(double)INFINITY},
                hessian[CHAINS * EIGENVALUES] = {100, 10, -0.5, -20, 1000, 1, 0, -3},
                gauss_newton[CHAINS * EIGENVALUES] = {90, 9, 0.9, 0.09, 80, 8, 0.8, 0};
  RpinnPosteriorShape shape = {
      .run = made.run,
      .corners = {{0, 0, -1, 0.5, 1}, {1, 0, 1, 0.5, 0}, {1, 5, 0, 1.5, -7}},
      .grid = {.num_x = 3, .num_y = 2, .x_low = -2, .x_high = 2, .y_low = 0, .y_high = 2},
      .plane = plane,
      .num_spectra = CHAINS,
      .num_eigenvalues = EIGENVALUES,
      .hessian = hessian,
      .gauss_newton = in_full ? gauss_newton : NULL};
  FigureBench drawn = {.made = made};
  RpinnReport report = {.context = made.bench.context,
                        .page = &drawn.page,
                        .run = made.run,
                        .figures = &drawn.figures,
                        .shape = &shape};
  bench_require(&made.bench, rpinn_report_page(&report), "page");
  return drawn;
}

static ReportBench make_chains(void) {
  static const char *const settings[] = {"method", "nuts",   "samples", "6", "warmup",
                                         "9",      "chains", "2",       NULL};
  return report_bench(beam, settings);
}

/* -log10(1 + drop) below the highest, 1 at the first corner; the upper row of the plane first. */
static void the_plane_shows_drops(void **state) {
  (void)state;
  FigureBench drawn = draw_shape(make_chains(), true);
  const char *data = sheet_of(&drawn, "posterior-plane")->blocks.bytes;
  static const char rows[] = "$d1 << EOD\n-3 -4 NaN \n-1.041 -2.004 -0.301 \nEOD\n";
  check_true(!strncmp(data, rows, sizeof rows - 1), "%s", data);
  assert_non_null(strstr(data, "-1 0.5 \n1 0.5 \n0 1.5 \nEOD\n")); /* the corners */
  check_panel(&drawn, "posterior-plane", "matrix using (-2+$1*2):(2-$2*2):3 with image");
  check_panel(&drawn, "posterior-plane", "  set xrange [-2:2]\n");
  check_panel(&drawn, "posterior-plane", "  set yrange [0:2]\n");
  char range[64];
  snprintf(range, sizeof range, "  set cbrange [%.9g:0]\n", -log10(1 + 1 + 9999.0));
  check_panel(&drawn, "posterior-plane", range);
  close_figures(&drawn);
}

/* The largest first, counted from 1; negative ones as points. */
static void spectra_are_split_by_sign(void **state) {
  (void)state;
  FigureBench drawn = draw_shape(make_chains(), true);
  check_data(&drawn, "hessian-spectrum",
             "$d1 << EOD\n1 100 \n2 10 \nEOD\n$d2 << EOD\n1 90 \n2 9 \n3 0.9 \n4 0.09 \nEOD\n"
             "$d3 << EOD\n1 20 \n2 0.5 \nEOD\n"
             "$d4 << EOD\n1 1000 \n2 1 \nEOD\n$d5 << EOD\n1 80 \n2 8 \n3 0.8 \nEOD\n$d6 << EOD\n1 3 \nEOD\n");
  check_panel(&drawn, "hessian-spectrum", "  set xlabel \"number, by size\" noenhanced\n");
  check_panel(&drawn, "hessian-spectrum", "  set logscale y\n");
  RpinnText text = read_page(drawn.page.bytes);
  assert_non_null(strstr(text.bytes, "Right: at the last draw of each chain, 4 eigenvalues."));
  assert_null(strstr(text.bytes, "members of rPINN need not be"));
  rpinn_text_free(&text);
  close_figures(&drawn);
  /* The leading ones by magnitude alone: negative ones in their own order, and no Gauss-Newton. */
  drawn = draw_shape(make_chains(), false);
  check_data(&drawn, "hessian-spectrum",
             "$d1 << EOD\n1 100 \n2 10 \nEOD\n$d2 << EOD\n1 0.5 \n2 20 \nEOD\n"
             "$d3 << EOD\n1 1000 \n2 1 \nEOD\n$d4 << EOD\n1 3 \nEOD\n");
  assert_null(strstr(sheet_of(&drawn, "hessian-spectrum")->keys.bytes, "Gauss"));
  close_figures(&drawn);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_plane_shows_drops),
                                     cmocka_unit_test(spectra_are_split_by_sign)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
