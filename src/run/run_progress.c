#include "run_progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rpinn_run_progress_add_loss(RpinnRunProgress *progress, double loss) {
  progress->losses[progress->num_losses++ % RPINN_RECENT_LOSSES] = loss;
}

static int compare_numbers(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static void find_loss_quantiles(const RpinnRunProgress *progress, RpinnProgress *report) {
  size_t count = progress->num_losses < RPINN_RECENT_LOSSES ? progress->num_losses : RPINN_RECENT_LOSSES;
  report->loss_low = report->loss_median = report->loss_high = (double)NAN;
  if (!count) return;
  double sorted[RPINN_RECENT_LOSSES];
  memcpy(sorted, progress->losses, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_numbers);
  report->loss_low = sorted[count / 20];
  report->loss_median = sorted[count / 2];
  report->loss_high = sorted[count - 1 - count / 20];
}

static double estimate_seconds_left(const RpinnRunProgress *progress, double seconds) {
  double left = (double)(progress->total - progress->done);
  size_t num_threads = progress->num_threads ? progress->num_threads : progress->driver->num_threads;
  if (!progress->done_here) return (double)NAN;
  if (progress->seconds_per_unit > 0) return progress->seconds_per_unit * left / (double)num_threads;
  return seconds / (double)progress->done_here * left;
}

void rpinn_run_progress_report(RpinnRunProgress *progress, bool last) {
  const RpinnRunOptions *options = progress->driver->options;
  double seconds = rpinn_driver_seconds(progress->driver);
  if (!options->progress || !progress->total || (!last && seconds < progress->next_report)) return;
  progress->next_report = seconds + 0.2;
  RpinnProgress report = {.done = progress->done,
                          .total = progress->total,
                          .failed = progress->failed,
                          .divergences = progress->divergences,
                          .iterations = progress->iterations,
                          .seconds = seconds,
                          .seconds_left = estimate_seconds_left(progress, seconds),
                          .last = last};
  rpinn_format(report.unit, sizeof report.unit, "%s", progress->unit);
  find_loss_quantiles(progress, &report);
  options->progress(options->user, &report);
}

bool rpinn_run_progress_tick(RpinnRunProgress *progress) {
  const RpinnRunOptions *options = progress->driver->options;
  rpinn_run_progress_report(progress, false);
  return options->interrupted && options->interrupted(options->user);
}
