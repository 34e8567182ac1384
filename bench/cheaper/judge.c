#include "judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "rpinn/convergence.h"

enum { MOST_ERRORS = 4 };

JudgedDraws judged_draws(const Subject *subject, size_t num_chains, size_t num_draws) {
  return (JudgedDraws){.num_chains = num_chains,
                       .num_draws = num_draws,
                       .outputs = calloc(num_chains * num_draws * subject->num_judged, sizeof(double))};
}

RpinnStatus judged_take(Subject *subject, const JudgedDraws *draws, size_t chain, size_t draw,
                        const double *theta) {
  double *values = draws->outputs + (chain * draws->num_draws + draw) * subject->num_judged,
         *size = values + subject->outputs.num_values;
  *size = 0;
  for (size_t j = 0; j < subject->num_parameters; j++)
    *size += pow((theta[j] - subject_prior_mean(subject, j)) * subject->squares.prior_root[j], 2);
  return rpinn_draw_outputs_evaluate(subject->context, &subject->outputs, subject->posterior, theta, values);
}

/* ---- statistics ---- */

typedef struct Row {
  double mean, sd, mean_error, sd_error, ess, rhat;
} Row;

/* rows [K] */
static RpinnStatus find_rows(const Subject *subject, const JudgedDraws *draws, Row *rows) {
  size_t total = draws->num_chains * draws->num_draws, K = subject->num_judged;
  RpinnConvergenceWork *work = rpinn_convergence_work_create(draws->num_chains, draws->num_draws);
  double *column = malloc(total * sizeof *column);
  for (size_t k = 0; k < K && work && column; k++) {
    for (size_t i = 0; i < total; i++) column[i] = draws->outputs[i * K + k];
    RpinnConvergence found = rpinn_convergence(work, column);
    rows[k] = (Row){found.mean, found.sd, found.mcse_mean, found.mcse_sd, found.ess_bulk, found.rhat};
  }
  bool has_room = work && column;
  rpinn_convergence_work_destroy(work);
  free(column);
  return has_room ? RPINN_OK : rpinn_fail_memory(subject->context);
}

/* ---- the truth ---- */

static FILE *open_truth(const Subject *subject, const char *folder, const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/truth.csv", folder);
  FILE *file = fopen(path, mode);
  if (!file) rpinn_fail_file(subject->context, RPINN_ERROR_IO, "open", path);
  return file;
}

RpinnStatus judge_write_truth(Subject *subject, const char *folder, const JudgedDraws *draws) {
  size_t K = subject->num_judged;
  Row *rows = calloc(K, sizeof *rows);
  FILE *file = NULL;
  RpinnStatus status = rows ? find_rows(subject, draws, rows) : rpinn_fail_memory(subject->context);
  if (status == RPINN_OK && !(file = open_truth(subject, folder, "w"))) status = RPINN_ERROR_IO;
  for (size_t k = 0; k < K && status == RPINN_OK; k++)
    fprintf(file, "%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", rows[k].mean, rows[k].sd, rows[k].mean_error,
            rows[k].sd_error, rows[k].ess, rows[k].rhat);
  if (file && fclose(file) != 0)
    status = rpinn_fail(subject->context, RPINN_ERROR_IO, "truth.csv: disk full");
  free(rows);
  return status;
}

static RpinnStatus read_truth(const Subject *subject, const char *folder, Row *rows) {
  FILE *file = open_truth(subject, folder, "r");
  RpinnStatus status = file ? RPINN_OK : RPINN_ERROR_IO;
  for (size_t k = 0; k < subject->num_judged && status == RPINN_OK; k++)
    if (fscanf(file, "%lg,%lg,%lg,%lg,%lg,%lg\n", &rows[k].mean, &rows[k].sd, &rows[k].mean_error,
               &rows[k].sd_error, &rows[k].ess, &rows[k].rhat) != 6)
      status = rpinn_fail(subject->context, RPINN_ERROR_INPUT, "%s/truth.csv has no row %zu: make it anew",
                          folder, k);
  if (file) fclose(file);
  return status;
}

/* ---- the row of the table ---- */

static int compare_numbers(const void *left, const void *right) {
  const double *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

/* The median of values [count], which are put into order. */
static double median(size_t count, double *values) {
  qsort(values, count, sizeof *values, compare_numbers);
  return count ? values[count / 2] : (double)NAN;
}

/* Share of differences within MOST_ERRORS of their errors, and the largest. */
typedef struct Agreement {
  size_t count, within;
  double largest;
} Agreement;

static void compare(Agreement *agreement, double difference, double error, double other_error) {
  double errors = fabs(difference) / hypot(error, other_error);
  if (isnan(errors)) return;
  agreement->count++;
  agreement->within += errors <= MOST_ERRORS;
  agreement->largest = fmax(agreement->largest, errors);
}

static void print_agreement(const Agreement *agreement) {
  printf(" %.0f %% (%.1f) |", 100 * (double)agreement->within / (double)agreement->count, agreement->largest);
}

/* Names of values are name[point]: the median ratio of deviations for each name. */
static void print_ratios(const Subject *subject, const Row *rows, const Row *truth, double *ratios) {
  char name[128], before[128] = "";
  size_t count = 0, K = subject->num_judged;
  for (size_t k = 0; k <= K; k++) {
    snprintf(name, sizeof name, "%s", k < K ? "\\|z\\|²" : "");
    if (k < subject->outputs.num_values)
      rpinn_draw_outputs_name(&subject->outputs, subject->posterior, k, name, sizeof name);
    name[strcspn(name, "[")] = '\0';
    if (strcmp(name, before) != 0) {
      if (count) printf(" %s %.3g", before, median(count, ratios));
      count = 0;
      snprintf(before, sizeof before, "%s", name);
    }
    if (k < K && truth[k].sd > 0) ratios[count++] = rows[k].sd / truth[k].sd;
  }
}

static void print_row(const Subject *subject, const JudgedDraws *draws, const Row *rows, const Row *truth,
                      double *numbers) {
  Agreement means = {0}, deviations = {0};
  double rhat = 0, least = (double)INFINITY;
  size_t count = 0;
  for (size_t k = 0; k < subject->num_judged; k++) {
    if (!(truth[k].sd > 0) || isnan(rows[k].ess)) continue;
    compare(&means, rows[k].mean - truth[k].mean, rows[k].mean_error, truth[k].mean_error);
    compare(&deviations, rows[k].sd - truth[k].sd, rows[k].sd_error, truth[k].sd_error);
    rhat = fmax(rhat, rows[k].rhat);
    least = fmin(least, rows[k].ess);
    numbers[count++] = rows[k].ess;
  }
  double middle = median(count, numbers);
  printf("| %s | %s | %zu × %zu | %.2g | %.3f | %.0f, %.0f | %.2g |", draws->way, draws->note,
         draws->num_chains, draws->num_draws, draws->price, rhat, least, middle, draws->price / middle);
  print_agreement(&means);
  print_agreement(&deviations);
  print_ratios(subject, rows, truth, numbers);
  printf(" |\n");
}

RpinnStatus judge_print(Subject *subject, const char *folder, const JudgedDraws *draws) {
  size_t K = subject->num_judged;
  Row *rows = calloc(2 * K, sizeof *rows), *truth = rows + K;
  double *numbers = calloc(K, sizeof *numbers);
  RpinnStatus status = rows && numbers ? RPINN_OK : rpinn_fail_memory(subject->context);
  if (status == RPINN_OK) status = find_rows(subject, draws, rows);
  if (status == RPINN_OK) status = read_truth(subject, folder, truth);
  if (status == RPINN_OK) print_row(subject, draws, rows, truth, numbers);
  free(rows);
  free(numbers);
  return status;
}
