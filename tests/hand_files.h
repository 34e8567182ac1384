/* The files that runs of all methods have, against numbers made by hand: see hand_problem.h. */
#ifndef RPINN_TESTS_HAND_FILES_H
#define RPINN_TESTS_HAND_FILES_H

#include "hand_problem.h"

/* ---- posterior.nc ---- */

/* Where the terms have their points, what was measured there, and how exactly. */
static inline void hand_check_data(const HandRun *run) {
  static const struct {
    const char *name;
    size_t count;
    double sigma;
  } terms[] = {{"level", 6, 0.1}, {"law", 5, 0.2}};
  for (size_t k = 0; k < 2; k++) {
    char path[64];
    const RpinnTermData *data = bench_data(&run->problem, terms[k].name);
    snprintf(path, sizeof path, "constant_data/%s_observed", terms[k].name);
    const double *observed = hand_numbers(run, path, terms[k].count);
    snprintf(path, sizeof path, "constant_data/%s_sigma", terms[k].name);
    check_same(*hand_numbers(run, path, 1), terms[k].sigma, 1e-14, path);
    snprintf(path, sizeof path, "sigmas/terms/%s", terms[k].name);
    check_same(json_number(run->summary, path), terms[k].sigma, 1e-14, path);
    snprintf(path, sizeof path, "constant_data/%s_x", terms[k].name);
    const double *x = hand_numbers(run, path, terms[k].count);
    snprintf(path, sizeof path, "constant_data/%s_t", terms[k].name);
    const double *t = hand_numbers(run, path, terms[k].count);
    for (size_t p = 0; p < terms[k].count; p++) {
      check_same(x[p], data->points.x[2 * p], 0, "x of a datum");
      check_same(t[p], data->points.x[2 * p + 1], 0, "t of a datum");
      check_same(observed[p], data->values[p], 0, "a datum");
      if (k == 0) check_true(fabs(observed[p] - hand_truth_u((double[]){x[p], t[p]})) < 0.5, "far off");
      if (k == 1) check_same(observed[p], x[p], 0, "a datum of law");
    }
  }
  const double *level = hand_numbers(run, "observed_data/level", terms[0].count);
  for (size_t p = 0; p < terms[0].count; p++)
    check_same(level[p], bench_data(&run->problem, "level")->values[p], 0, "a datum of level");
  check_same(*hand_numbers(run, "constant_data/prior_sigma", 1), 2, 0, "prior_sigma");
  check_same(json_number(run->summary, "sigmas/prior"), 2, 0, "sigmas/prior");
}

/* Of the groups with numbers of its data: level is measured, law a tolerance. */
static inline const char *hand_prefix(const char *term) {
  return strcmp(term, "law") ? "" : "tolerance_";
}

/* log p(d | theta) = -(e - d)^2 / (2 s^2) - log s - log(2 pi) / 2; returns sum (e - d)^2 / (2 s^2) of a term. */
static inline double hand_check_likelihood(const HandRun *run, const char *term, size_t count, size_t draw) {
  char path[64];
  snprintf(path, sizeof path, "%slog_likelihood/%s", hand_prefix(term), term);
  const double *found = hand_numbers(run, path, hand_total(run) * count) + draw * count;
  snprintf(path, sizeof path, "constant_data/%s_observed", term);
  const double *observed = hand_numbers(run, path, count);
  snprintf(path, sizeof path, "constant_data/%s_sigma", term);
  double sigma = *hand_numbers(run, path, 1), energy = 0;
  snprintf(path, sizeof path, "constant_data/%s_x", term);
  const double *x = hand_numbers(run, path, count);
  snprintf(path, sizeof path, "constant_data/%s_t", term);
  const double *t = hand_numbers(run, path, count);
  for (size_t p = 0; p < count; p++) {
    double row = (hand_value(run, draw, term, (double[]){x[p], t[p]}) - observed[p]) / sigma;
    check_close(found[p], -0.5 * row * row - log(sigma) - hand_half_log_two_pi, 1e-8);
    energy += 0.5 * row * row;
  }
  return energy;
}

/* Data as draws foretell them: as far from what each expects as the noise is large. */
static inline void hand_check_predictive(const HandRun *run, const char *term, size_t count) {
  char path[64];
  size_t total = hand_total(run) * count;
  snprintf(path, sizeof path, "%sposterior_predictive/%s", hand_prefix(term), term);
  const double *found = hand_numbers(run, path, total);
  snprintf(path, sizeof path, "constant_data/%s_sigma", term);
  double sigma = *hand_numbers(run, path, 1), sum = 0, squares = 0;
  const RpinnTermData *data = bench_data(&run->problem, term);
  for (size_t i = 0; i < total; i++) {
    double z = (found[i] - hand_value(run, i / count, term, data->points.x + 2 * (i % count))) / sigma;
    sum += z;
    squares += z * z;
  }
  double n = (double)total;
  check_true(fabs(sum / n) < 4 / sqrt(n), "mean %g of the noise of %s", sum / n, term);
  check_true(fabs(squares / n - 1) < 4 * sqrt(2 / n), "its mean square %g", squares / n);
}

/* The prior's share of the energy: networks around 0, unknowns around their means. */
static inline double hand_prior_energy(const HandRun *run, size_t draw) {
  double theta[32], sum = 0;
  hand_theta(run, draw, theta);
  for (size_t j = 0; j < run->num_weights; j++) sum += 0.5 * theta[j] * theta[j] / 4;
  double k = (theta[run->num_weights] - 0.1) / 0.6, shift = (theta[run->num_weights + 1] - 0.3) / 0.5;
  return sum + 0.5 * k * k + 0.5 * shift * shift;
}

/* Its log densities, of what `posterior` has: k is log-normal. */
static inline void hand_check_log_prior(const HandRun *run) {
  size_t count = hand_total(run);
  const double *networks = hand_numbers(run, "log_prior/u_parameters", count),
               *k = hand_numbers(run, "log_prior/k", count),
               *shift = hand_numbers(run, "log_prior/shift", count);
  for (size_t i = 0; i < count; i++) {
    double n = (double)run->num_weights + 2;
    double constant = -n * hand_half_log_two_pi - (n - 2) * log(2) - log(0.6) - log(0.5) - log(run->k[i]);
    check_close(networks[i] + k[i] + shift[i], constant - hand_prior_energy(run, i), 1e-9);
    double z = (run->shift[i] - 0.3) / 0.5;
    check_close(shift[i], -0.5 * z * z - log(0.5) - hand_half_log_two_pi, 1e-9);
  }
}

static inline void hand_check_unknowns(const HandRun *run) {
  size_t count = hand_total(run);
  const double *free_k = hand_numbers(run, "unconstrained_posterior/k", count);
  const double *const draws[] = {run->k, run->shift};
  static const char *const names[] = {"k", "shift"};
  for (size_t i = 0; i < count; i++) check_same(run->k[i], exp(free_k[i]), 1e-14, "k");
  for (size_t q = 0; q < 2; q++) {
    char path[64];
    snprintf(path, sizeof path, "unknowns/%s", names[q]);
    const RpinnJsonValue *found = json_at(run->summary, path);
    check_same(json_number(found, "mean"), hand_mean(count, draws[q]), 1e-12, "mean of an unknown");
    check_same(json_number(found, "std"), hand_deviation(count, draws[q]), 1e-9, "its std");
    check_same(json_number(found, "q025"), hand_quantile(count, draws[q], 0.025), 1e-12, "its q025");
    check_same(json_number(found, "median"), hand_quantile(count, draws[q], 0.5), 1e-12, "its median");
    check_same(json_number(found, "q975"), hand_quantile(count, draws[q], 0.975), 1e-12, "its q975");
  }
}

/* Every draw of every quantity, with its place; the grid has t first. */
static inline void hand_check_predictions(const HandRun *run) {
  static const char *const names[] = {"u", "flux"};
  const double *x = hand_numbers(run, "predictions/x", 3), *t = hand_numbers(run, "predictions/t", 2);
  for (size_t q = 0; q < 2; q++) {
    char path[64];
    snprintf(path, sizeof path, "predictions/%s", names[q]);
    const double *found = hand_numbers(run, path, hand_total(run) * HAND_POINTS);
    snprintf(path, sizeof path, "predictions_constant_data/%s_truth", names[q]);
    const double *truth = hand_numbers(run, path, HAND_POINTS);
    for (size_t p = 0; p < HAND_POINTS; p++) {
      const double *at = hand_predict[p];
      check_same(x[p % 3], at[0], 1e-15, "x of a prediction");
      check_same(t[p / 3], at[1], 1e-15, "t of a prediction");
      check_close(truth[p], q ? hand_truth_flux(at) : hand_truth_u(at), 1e-14);
      for (size_t i = 0; i < hand_total(run); i++)
        check_close(found[i * HAND_POINTS + p], hand_value(run, i, names[q], at), 1e-9);
    }
  }
}

/* ---- tables ---- */

static inline void hand_check_predictions_csv(const HandRun *run) {
  static const char *const names[] = {"u", "flux"};
  const RpinnCsvTable *table = run_csv(run->bench, run->name, "predictions.csv");
  size_t count = hand_total(run);
  assert_int_equal(table->num_rows, HAND_POINTS);
  assert_int_equal(table->num_columns, 2 + 2 * 6 + 2); /* u is measured: two more */
  for (size_t p = 0; p < HAND_POINTS; p++) {
    const double *at = hand_predict[p];
    check_same(csv_number(table, p, "x"), at[0], 1e-15, "x");
    check_same(csv_number(table, p, "t"), at[1], 1e-15, "t");
    for (size_t q = 0; q < 2; q++) {
      const double *draws = hand_draws(run, names[q], 1, &hand_predict[p], 0, count);
      const struct {
        const char *suffix;
        double expected;
      } cells[] = {{"mean", hand_mean(count, draws)},
                   {"std", count > 1 ? hand_deviation(count, draws) : (double)NAN},
                   {"q025", hand_quantile(count, draws, 0.025)},
                   {"median", hand_quantile(count, draws, 0.5)},
                   {"q975", hand_quantile(count, draws, 0.975)},
                   {"truth", q ? hand_truth_flux(at) : hand_truth_u(at)}};
      for (size_t c = 0; c < 6; c++) {
        char column[64];
        snprintf(column, sizeof column, "%s_%s", names[q], cells[c].suffix);
        double found = csv_number(table, p, column);
        if (isnan(cells[c].expected))
          check_true(isnan(found), "%s is %g", column, found);
        else
          check_close_at((CheckPlace){column, __FILE__, __LINE__}, found, cells[c].expected, 1e-9);
      }
    }
  }
}

/* summary.csv has the scores of summary.json. */
static inline void hand_check_summary_csv(const HandRun *run) {
  static const char *const rows[][3] = {
      {"u", "quantity", "quantities"}, {"flux", "quantity", "quantities"}, {"later", "test", "tests"}};
  static const char *const columns[] = {"rl2",       "linf",     "mean_std",          "lpp",
                                        "lpp_table", "coverage", "interval_coverage", "crps"};
  const RpinnCsvTable *table = run_csv(run->bench, run->name, "summary.csv");
  assert_int_equal(table->num_rows, 3);
  assert_int_equal(table->num_columns, 10);
  for (size_t row = 0; row < 3; row++) {
    assert_string_equal(csv_text(table, row, "name"), rows[row][0]);
    assert_string_equal(csv_text(table, row, "role"), rows[row][1]);
    for (size_t c = 0; c < 8; c++) {
      char path[96];
      snprintf(path, sizeof path, "%s/%s/%s", rows[row][2], rows[row][0], columns[c]);
      check_same(csv_number(table, row, columns[c]), json_number(run->summary, path), 0, path);
    }
  }
}

static inline int hand_digit(char digit) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = digit ? strchr(digits, digit) : NULL;
  return at ? (int)(at - digits) : 0; /* '=' counts as zeros */
}

/* A DataArray of fields.vti: base64 of its number of bytes and then its numbers. */
static inline void hand_vti_array(const char *text, const char *name, double values[HAND_POINTS]) {
  char key[96];
  unsigned char bytes[sizeof(uint64_t) + HAND_POINTS * sizeof(double) + 2];
  snprintf(key, sizeof key, "Name=\"%s\"", name);
  const char *at = strstr(text, key);
  check_true(at != NULL, "no array %s in fields.vti", name);
  at = strchr(at, '\n') + 1;
  for (size_t i = 0; i < sizeof bytes - 2; i += 3, at += 4) {
    unsigned word = (unsigned)(hand_digit(at[0]) << 18 | hand_digit(at[1]) << 12 | hand_digit(at[2]) << 6 |
                               hand_digit(at[3]));
    bytes[i] = (unsigned char)(word >> 16);
    bytes[i + 1] = (unsigned char)(word >> 8);
    bytes[i + 2] = (unsigned char)word;
  }
  uint64_t size;
  memcpy(&size, bytes, sizeof size);
  assert_int_equal(size, HAND_POINTS * sizeof(double));
  memcpy(values, bytes + sizeof size, HAND_POINTS * sizeof(double));
}

/* fields.vti has the columns of predictions.csv, and their differences from the truth. */
static inline void hand_check_vti(const HandRun *run) {
  const char *text = run_read(run->bench, run->name, "fields.vti");
  const RpinnCsvTable *table = run_csv(run->bench, run->name, "predictions.csv");
  static const char *const names[] = {"u", "flux"};
  assert_non_null(strstr(text, "WholeExtent=\"0 2 0 1 0 0\""));
  assert_non_null(strstr(text, "Origin=\"0 0 0\""));
  assert_non_null(strstr(text, "Spacing=\"0.5 2 1\""));
  for (size_t q = 0; q < 2; q++) {
    static const char *const suffixes[] = {"mean", "std", "truth"};
    double error[HAND_POINTS];
    char name[64], mean[64], truth[64];
    for (size_t k = 0; k < 3; k++) {
      double values[HAND_POINTS];
      snprintf(name, sizeof name, "%s_%s", names[q], suffixes[k]);
      hand_vti_array(text, name, values);
      for (size_t p = 0; p < HAND_POINTS; p++) check_same(values[p], csv_number(table, p, name), 0, name);
    }
    snprintf(name, sizeof name, "%s_error", names[q]);
    snprintf(mean, sizeof mean, "%s_mean", names[q]);
    snprintf(truth, sizeof truth, "%s_truth", names[q]);
    hand_vti_array(text, name, error);
    for (size_t p = 0; p < HAND_POINTS; p++)
      check_close(error[p], csv_number(table, p, mean) - csv_number(table, p, truth), 1e-14);
  }
}

/* ---- all of it ---- */

static inline void hand_check_tests(const HandRun *run) {
  double truth[HAND_TESTS];
  for (size_t p = 0; p < HAND_TESTS; p++) truth[p] = bench_data(&run->problem, "later")->values[p];
  const double *draws = hand_draws(run, "later", HAND_TESTS, hand_later, 0, hand_total(run));
  const double *found = hand_numbers(run, "predictions/later", hand_total(run) * HAND_TESTS),
               *observed = hand_numbers(run, "predictions_constant_data/later_observed", HAND_TESTS),
               *x = hand_numbers(run, "predictions_constant_data/later_x", HAND_TESTS),
               *t = hand_numbers(run, "predictions_constant_data/later_t", HAND_TESTS);
  for (size_t p = 0; p < HAND_TESTS; p++) {
    check_same(observed[p], truth[p], 0, "a datum that is held out");
    check_same(x[p], hand_later[p][0], 0, "its x");
    check_same(t[p], hand_later[p][1], 0, "its t");
    for (size_t i = 0; i < hand_total(run); i++)
      check_close(found[i * HAND_TESTS + p], draws[p * hand_total(run) + i], 1e-9);
  }
  HandScore score = hand_score(HAND_TESTS, hand_total(run), draws, truth);
  hand_check_score(json_at(run->summary, "tests"), "later", &score, false);
}

/* Who made the run, with what and how many draws. */
static inline void hand_check_head(const HandRun *run, const char *method, double samples_asked) {
  assert_string_equal(json_text(run->summary, "problem"), "hand");
  assert_string_equal(json_text(run->summary, "method"), method);
  assert_string_equal(json_text(run->summary, "backend"), "cpu");
  assert_string_equal(json_text(run->summary, "precision"), "double");
  check_same(json_number(run->summary, "seed"), 3, 0, "seed");
  check_same(json_number(run->summary, "samples"), (double)hand_total(run), 0, "samples");
  check_same(json_number(run->summary, "samples_asked"), samples_asked, 0, "samples_asked");
  check_same(json_number(run->summary, "threads"), 2, 0, "threads");
  check_true(!json_flag(run->summary, "out_of_time"), "out of time");
  double seconds = json_number(run->summary, "wall_seconds");
  check_true(seconds > 0 && seconds < 60, "wall_seconds %g", seconds);
}

static inline void hand_check_files(const HandRun *run, const char *method, double samples_asked) {
  hand_check_head(run, method, samples_asked);
  hand_check_data(run);
  for (size_t i = 0; i < hand_total(run); i++) {
    hand_check_likelihood(run, "level", 6, i);
    hand_check_likelihood(run, "law", 5, i);
  }
  hand_check_predictive(run, "level", 6);
  hand_check_predictive(run, "law", 5);
  hand_check_log_prior(run);
  hand_check_unknowns(run);
  hand_check_predictions(run);
  hand_check_quantities(run, json_at(run->summary, "quantities"), 0, hand_total(run), false);
  hand_check_tests(run);
  hand_check_predictions_csv(run);
  hand_check_summary_csv(run);
  hand_check_vti(run);
}

#endif
