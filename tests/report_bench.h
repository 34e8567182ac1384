/* Pages of runs in tests: a small run whose results are replaced by known numbers, and its page as plain text. */
#ifndef RPINN_TESTS_REPORT_BENCH_H
#define RPINN_TESTS_REPORT_BENCH_H

#include "paper_way.h"
#include "problem_bench.h"
#include "temporary_folder.h"

#include "report_page.h"

/* One coordinate, two predicted quantities, a held-out term, an unknown with a truth; x, u and c have units. */
static const char beam[] =
    "name: beam\ncoordinates: {x: [0, 2]}\nunits: {x: m, u: Pa, c: \"1/s\"}\nfields:\n  u: {network: [4]}\n"
    "unknowns:\n  c: {start: 1, prior: {mean: 1, std: 1}}\n"
    "quantities: {bend: \"c*d(u, x)\"}\ntruth: {u: x, c: 2}\nterms:\n"
    "  d: {expect: u, at: {grid: 3}, data: truth, noise: 0.1}\n"
    "  later: {expect: u, at: {grid: 2}, data: truth, noise: 0.2, role: test}\n"
    "  pde: {expect: \"c*d(u, x)\", at: {grid: 4}, data: 2, noise: 0.3}\n"
    "prior: {reference_term: d}\npredict: {grid: 3, quantities: [u, bend]}\n";

typedef struct ReportBench {
  ProblemBench bench;
  RpinnRun *run;
} ReportBench;

/* Settings: pairs of name and value, ended by NULL. */
static inline ReportBench report_bench(const char *text, const char *const *settings) {
  static size_t num_folders;
  char folder[32];
  RpinnOverride overrides[20] = {
      PAPER_OVERRIDES, {"threads", "1", "test", true}, {"backend", "plain", "test", true}};
  RpinnProblemOptions options = {.num_overrides = NUM_PAPER_OVERRIDES + 2, .overrides = overrides};
  for (size_t k = 0; settings[k]; k += 2)
    overrides[options.num_overrides++] = (RpinnOverride){settings[k], settings[k + 1], "test", true};
  snprintf(folder, sizeof folder, "run%zu", ++num_folders);
  ReportBench made = {.bench = bench_parse(text, &options)};
  RpinnRunOptions run_options = {.folder = folder};
  bench_require(&made.bench, rpinn_run(made.bench.context, made.bench.problem, &run_options, &made.run),
                "run");
  made.run->seconds = 42;
  return made;
}

static inline void report_bench_close(ReportBench *made) {
  rpinn_run_destroy(made->run);
  bench_close(&made->bench);
}

/* Score k of the run or of a chain: its eight numbers are base + 0.1, base + 0.2, … */
static inline void set_score(RpinnScore *score, double base) {
  score->rl2 = base + 0.1, score->linf = base + 0.2, score->mean_std = base + 0.3;
  score->lpp = base + 0.4, score->lpp_table = base + 0.5, score->coverage = 0.6 + base / 100;
  score->interval_coverage = 0.9 + base / 100, score->crps = base + 0.8;
}

/* ---- the page as a person reads it ---- */

/* What stands for a tag or an entity: cells end with |, rows and facts with a new line. */
static inline const char *read_markup(const char **at) {
  static const struct {
    const char *markup, *read;
  } parts[] = {{"</td>", "|"},  {"</th>", "|"},   {"</dt>", ": "},  {"<sup>", "^"},     {"&#8201;", " "},
               {"&#215;", "x"}, {"&#8722;", "-"}, {"&#8211;", "?"}, {"&#8734;", "inf"}, {"&#8217;", "'"},
               {"&amp;", "&"},  {"&lt;", "<"},    {"&gt;", ">"},    {"&quot;", "\""}};
  for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
    if (!strncmp(*at, parts[k].markup, strlen(parts[k].markup))) {
      *at += strlen(parts[k].markup);
      return parts[k].read;
    }
  if (**at != '<') return NULL;
  *at = strchr(*at, '>') + 1;
  return "";
}

/* Pictures, which may hold pictures, are left out. */
static inline const char *skip_picture(const char *at) {
  size_t depth = 0;
  do {
    if (!strncmp(at, "<svg", 4)) depth++;
    if (!strncmp(at, "</svg>", 6)) depth--;
    at = strchr(at, '>') + 1;
    while (depth && *at != '<') at++;
  } while (depth);
  return at;
}

static inline RpinnText read_page(const char *html) {
  RpinnText text = {0};
  for (const char *at = strstr(html, "<body"); *at;) {
    if (!strncmp(at, "<svg", 4)) {
      at = skip_picture(at);
      continue;
    }
    const char *read = read_markup(&at);
    if (read)
      rpinn_text_append(&text, "%s", read);
    else
      rpinn_text_append_bytes(&text, at++, 1);
  }
  return text;
}

/* The page of the run as it is now. The caller frees it. */
static inline RpinnText report_text(ReportBench *made) {
  RpinnText page = {0};
  RpinnReport report = {.context = made->bench.context, .page = &page, .run = made->run};
  bench_require(&made->bench, rpinn_report_page(&report), "page");
  RpinnText text = read_page(page.bytes);
  rpinn_text_free(&page);
  return text;
}

/* A whole line, or some of them, of the page, once. */
static inline void check_lines(const RpinnText *text, const char *lines) {
  RpinnText wanted = {0};
  rpinn_text_append(&wanted, "\n%s\n", lines);
  const char *found = strstr(text->bytes, wanted.bytes);
  bool once = found && !strstr(found + 1, wanted.bytes);
  if (!once) fprintf(stderr, "%s\n", text->bytes);
  check_true(once, "%s on the page above:\n%s", found ? "twice" : "not", lines);
  rpinn_text_free(&wanted);
}

#endif
