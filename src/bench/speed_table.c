/* What `rpinn bench` found, for people and for programs. */
#include <cblas.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "json_writer.h"
#include "rpinn/version.h"
#include "speed.h"

static const double pair_bar = 0.95;
static const double jacobian_bar = 3.5; /* at most */
static const double svgd_bar = 1.6;     /* at most */
static const double nuts_bar = 1.25;    /* at most */
static const double gram_bar = 0.70;

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static double median(const double *values, size_t count) {
  double sorted[MAX_REPETITIONS];
  memcpy(sorted, values, count * sizeof *values);
  qsort(sorted, count, sizeof *sorted, compare);
  return count % 2 ? sorted[count / 2] : 0.5 * (sorted[count / 2 - 1] + sorted[count / 2]);
}

/* Median of a figure that has fewer repetitions. */
static double long_median(const RpinnSpeed *bench, const double *values) {
  return median(values,
                bench->repetitions < MAX_LONG_REPETITIONS ? bench->repetitions : MAX_LONG_REPETITIONS);
}

/* Median over the repetitions of a figure of RpinnSquaresCost, which stands `offset` bytes from its beginning. */
static double squares_median(const RpinnSpeed *bench, size_t offset) {
  double values[MAX_LONG_REPETITIONS];
  for (size_t k = 0; k < MAX_LONG_REPETITIONS; k++)
    memcpy(&values[k], (const char *)&bench->squares[k] + offset, sizeof values[k]);
  return long_median(bench, values);
}
#define SQUARES_MEDIAN(bench, figure) squares_median(bench, offsetof(RpinnSquaresCost, figure))

double rpinn_speed_worst(const RpinnBench *base) {
  const RpinnSpeed *bench = (const RpinnSpeed *)base;
  double worst = fmin(median(bench->pair, bench->repetitions) / pair_bar,
                      jacobian_bar / median(bench->jacobian, bench->repetitions));
  worst = fmin(worst, svgd_bar / long_median(bench, bench->svgd));
  worst = fmin(worst, long_median(bench, bench->gram) / gram_bar);
  worst = fmin(worst, nuts_bar / median(bench->nuts, bench->repetitions));
  for (size_t k = 0; k < NUM_CASES; k++)
    worst = fmin(worst, median(bench->lines[k].share, bench->repetitions) / rpinn_speed_cases[k].bar);
  return worst;
}

char *rpinn_speed_text(const RpinnBench *base) {
  const RpinnSpeed *bench = (const RpinnSpeed *)base;
  RpinnText text = {0};
  rpinn_text_append(
      &text,
      "one thread, float, against the fused multiply-adds that a core does in registers, in the same run\n"
      "%s; %s; rpinn %s; medians of %zu interleaved repetitions\n\n",
      bench->cpu, openblas_get_config(), rpinn_version(), bench->repetitions);
  rpinn_text_append(&text,
                    "  peak of a core %.1f GFLOP/s in float, %.1f in double; OpenBLAS (%s) reaches %.0f %% "
                    "of the first\n\n",
                    median(bench->peak, bench->repetitions) * 1e-9,
                    median(bench->double_peak, bench->repetitions) * 1e-9, openblas_get_corename(),
                    100 * bench->blas_share);
  rpinn_text_append(&text, "  %-24s %9s %9s %9s %8s %6s %6s %9s %9s\n", "Adam iteration", "MFLOP", "us",
                    "GFLOP/s", "of peak", "bar", "aim", "sgemm GF", "of sgemm");
  for (size_t k = 0; k < NUM_CASES; k++) {
    const Line *line = &bench->lines[k];
    double seconds = median(line->seconds, bench->repetitions);
    rpinn_text_append(&text, "  %-24s %9.2f %9.2f %9.1f %7.1f%% %5.0f%% %5.0f%% %9.1f %8.1f%%\n",
                      rpinn_speed_cases[k].name, line->work * 1e-6, seconds * 1e6,
                      line->work / seconds * 1e-9, median(line->share, bench->repetitions) * 100,
                      rpinn_speed_cases[k].bar * 100, rpinn_speed_cases[k].aim * 100,
                      median(line->product_rate, bench->repetitions) * 1e-9,
                      median(line->product_share, bench->repetitions) * 100);
  }
  double gram_seconds = long_median(bench, bench->gram_seconds);
  rpinn_text_append(
      &text,
      "  %-24s %9.2f %9.2f %9.1f %7.1f%% %5.0f%%   (LM and Laplace; counted as if J were multiplied whole)\n",
      "darcy, J D J^T", bench->gram_work * 1e-6, gram_seconds * 1e6, bench->gram_work / gram_seconds * 1e-9,
      100 * long_median(bench, bench->gram), 100 * gram_bar);
  double predict_seconds = long_median(bench, bench->predict_seconds);
  rpinn_text_append(&text, "  %-24s %9.2f %9.2f %9.1f %7.1f%%          (fields of one draw on the grid)\n\n",
                    "darcy, predictions", bench->predict_work * 1e-6, predict_seconds * 1e6,
                    bench->predict_work / predict_seconds * 1e-9, 100 * long_median(bench, bench->predict));
  rpinn_text_append(
      &text, "  %-24s %38.3f  %4.2f   (gain of two members over one / gain of two sgemm loops over one)\n",
      "two threads", median(bench->pair, bench->repetitions), pair_bar);
  rpinn_text_append(&text, "  %-24s %38.3f         (%zu members at once / as many times one alone)\n",
                    "all threads", long_median(bench, bench->crowd), bench->num_threads);
  rpinn_text_append(&text, "  %-24s %38.2f  %4.2f   (at most; in gradients, both in double)\n",
                    "darcy, dense Jacobian", median(bench->jacobian, bench->repetitions), jacobian_bar);
  rpinn_text_append(&text, "  %-24s %9s %9.0f %18.2f         (in J D J^T)\n", "darcy, LM iteration", "",
                    1e6 * SQUARES_MEDIAN(bench, iteration_seconds), SQUARES_MEDIAN(bench, iteration));
  rpinn_text_append(&text, "  %-24s %9s %9.0f %18.2f         (in J D J^T; evidence, rows left out)\n",
                    "darcy, Laplace", "", 1e6 * SQUARES_MEDIAN(bench, laplace_seconds),
                    SQUARES_MEDIAN(bench, laplace));
  rpinn_text_append(&text, "  %-24s %9s %9.0f %18.2f         (in gradients; with its weight)\n",
                    "darcy, Laplace, a draw", "", 1e6 * SQUARES_MEDIAN(bench, draw_seconds),
                    SQUARES_MEDIAN(bench, draw));
  rpinn_text_append(
      &text,
      "  %-24s %38.2f  %4.2f   (at most; 1000 particles, two threads, %.0f ms / gradients + 2 sgemm)\n",
      "SVGD iteration", long_median(bench, bench->svgd), svgd_bar,
      1e3 * long_median(bench, bench->svgd_seconds));
  rpinn_text_append(&text, "  %-24s %9s %9.2f %18.2f  %4.2f   (at most; in Adam iterations, Nf=32)\n",
                    "NUTS, per leapfrog", "", median(bench->nuts_seconds, bench->repetitions) * 1e6,
                    median(bench->nuts, bench->repetitions), nuts_bar);
  if (bench->advice.length) rpinn_text_append(&text, "\nwarning: %s\n", bench->advice.bytes);
  if (!text.failed) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}

char *rpinn_speed_json(const RpinnBench *base) {
  const RpinnSpeed *bench = (const RpinnSpeed *)base;
  RpinnText text = {0};
  RpinnJson json = {.text = &text};
  rpinn_json_open(&json, NULL, '{');
  rpinn_json_text(&json, "cpu", bench->cpu);
  rpinn_json_text(&json, "openblas", openblas_get_config());
  rpinn_json_text(&json, "version", rpinn_version());
  rpinn_json_number(&json, "repetitions", (double)bench->repetitions);
  rpinn_json_number(&json, "peak_flop_per_second", median(bench->peak, bench->repetitions));
  rpinn_json_number(&json, "double_peak_flop_per_second", median(bench->double_peak, bench->repetitions));
  rpinn_json_number(&json, "openblas_share_of_peak", bench->blas_share);
  rpinn_json_text(&json, "advice", bench->advice.length ? bench->advice.bytes : "");
  rpinn_json_open(&json, "cases", '[');
  for (size_t k = 0; k < NUM_CASES; k++) {
    const Line *line = &bench->lines[k];
    rpinn_json_open(&json, NULL, '{');
    rpinn_json_text(&json, "name", rpinn_speed_cases[k].name);
    rpinn_json_number(&json, "work_flop", line->work);
    rpinn_json_number(&json, "seconds_per_iteration", median(line->seconds, bench->repetitions));
    rpinn_json_number(&json, "sgemm_flop_per_second", median(line->product_rate, bench->repetitions));
    rpinn_json_number(&json, "share_of_peak", median(line->share, bench->repetitions));
    rpinn_json_number(&json, "share_of_sgemm", median(line->product_share, bench->repetitions));
    rpinn_json_number(&json, "bar", rpinn_speed_cases[k].bar);
    rpinn_json_number(&json, "aim", rpinn_speed_cases[k].aim);
    rpinn_json_close(&json, '}');
  }
  rpinn_json_close(&json, ']');
  rpinn_json_open(&json, "two_threads", '{');
  rpinn_json_number(&json, "gain_over_sgemm_gain", median(bench->pair, bench->repetitions));
  rpinn_json_number(&json, "bar", pair_bar);
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "all_threads", '{');
  rpinn_json_number(&json, "threads", (double)bench->num_threads);
  rpinn_json_number(&json, "efficiency", long_median(bench, bench->crowd));
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "dense_jacobian", '{');
  rpinn_json_number(&json, "gradients", median(bench->jacobian, bench->repetitions));
  rpinn_json_number(&json, "bar_at_most", jacobian_bar);
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "gram_matrix", '{');
  rpinn_json_number(&json, "work_flop", bench->gram_work);
  rpinn_json_number(&json, "seconds", long_median(bench, bench->gram_seconds));
  rpinn_json_number(&json, "share_of_peak", long_median(bench, bench->gram));
  rpinn_json_number(&json, "bar", gram_bar);
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "predictions", '{');
  rpinn_json_number(&json, "work_flop", bench->predict_work);
  rpinn_json_number(&json, "seconds_per_draw", long_median(bench, bench->predict_seconds));
  rpinn_json_number(&json, "share_of_peak", long_median(bench, bench->predict));
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "marquardt_iteration", '{');
  rpinn_json_number(&json, "seconds", SQUARES_MEDIAN(bench, iteration_seconds));
  rpinn_json_number(&json, "gram_matrices", SQUARES_MEDIAN(bench, iteration));
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "laplace", '{');
  rpinn_json_number(&json, "seconds", SQUARES_MEDIAN(bench, laplace_seconds));
  rpinn_json_number(&json, "gram_matrices", SQUARES_MEDIAN(bench, laplace));
  rpinn_json_number(&json, "seconds_per_draw", SQUARES_MEDIAN(bench, draw_seconds));
  rpinn_json_number(&json, "gradients_per_draw", SQUARES_MEDIAN(bench, draw));
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "svgd_iteration", '{');
  rpinn_json_number(&json, "over_gradients_and_two_products", long_median(bench, bench->svgd));
  rpinn_json_number(&json, "seconds_per_iteration", long_median(bench, bench->svgd_seconds));
  rpinn_json_number(&json, "bar_at_most", svgd_bar);
  rpinn_json_close(&json, '}');
  rpinn_json_open(&json, "nuts_leapfrog", '{');
  rpinn_json_number(&json, "seconds", median(bench->nuts_seconds, bench->repetitions));
  rpinn_json_number(&json, "iterations", median(bench->nuts, bench->repetitions));
  rpinn_json_number(&json, "bar_at_most", nuts_bar);
  rpinn_json_close(&json, '}');
  rpinn_json_number(&json, "worst_share_of_bar", rpinn_speed_worst(base));
  rpinn_json_close(&json, '}');
  rpinn_text_append(&text, "\n");
  if (!text.failed) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}
