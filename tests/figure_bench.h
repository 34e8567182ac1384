/* Figures of pages in tests, read as the scripts for print that hold what they draw. */
#ifndef RPINN_TESTS_FIGURE_BENCH_H
#define RPINN_TESTS_FIGURE_BENCH_H

#include "report_bench.h"

/* Two coordinates with units, one quantity, one measurement. */
static const char plate[] =
    "name: plate\ncoordinates: {x: [0, 2], y: [-1, 1]}\nunits: {x: m, y: km, u: K}\nfields:\n  u: {network: "
    "[4]}\n"
    "truth: {u: 10*x+y}\nterms:\n  d: {expect: u, at: {points: [[0.5, -0.25]]}, data: truth, noise: 0.1}\n"
    "prior: {reference_term: d}\npredict: {grid: [3, 2], quantities: [u]}\n";

typedef struct FigureBench {
  ReportBench made;
  RpinnFigureSet figures;
  RpinnText page;
} FigureBench;

static inline FigureBench draw(ReportBench made) {
  FigureBench drawn = {.made = made};
  RpinnReport report = {
      .context = made.bench.context, .page = &drawn.page, .run = made.run, .figures = &drawn.figures};
  bench_require(&made.bench, rpinn_report_page(&report), "page");
  return drawn;
}

static inline void close_figures(FigureBench *drawn) {
  rpinn_figure_set_free(&drawn->figures);
  rpinn_text_free(&drawn->page);
  report_bench_close(&drawn->made);
}

static inline const RpinnSheet *sheet_of(const FigureBench *drawn, const char *name) {
  for (size_t i = 0; i < drawn->figures.count; i++)
    if (!strcmp(drawn->figures.items[i]->name, name)) return &drawn->figures.items[i]->sheet;
  fail_msg("there is no figure %s", name);
  return NULL;
}

/* The data of a figure, block after block. */
static inline void check_data(const FigureBench *drawn, const char *name, const char *expected) {
  const char *found = sheet_of(drawn, name)->blocks.bytes;
  if (strcmp(found, expected) != 0) fprintf(stderr, "found\n%sexpected\n%s", found, expected);
  check_true(!strcmp(found, expected), "other data in figure %s", name);
}

/* A line of what its panel says. */
static inline void check_panel(const FigureBench *drawn, const char *name, const char *words) {
  const char *panel = sheet_of(drawn, name)->panels.bytes;
  if (!strstr(panel, words)) fprintf(stderr, "%s\n", panel);
  check_true(strstr(panel, words) != NULL, "figure %s has no '%s'", name, words);
}

#endif
