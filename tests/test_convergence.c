/* Convergence statistics: against R's posterior on real chains, against formulas, on chains whose answers are
 * known, and where there is no answer. */
#include "check.h"

#include <time.h>

#include "autocovariance.h"
#include "distributions.h"
#include "nested_rhat.h"
#include "normal_table.h"
#include "random_stream.h"
#include "rank_order.h"
#include "rpinn/convergence.h"

static const double infinite = (double)INFINITY, nothing = (double)NAN;

/* ---- parts ---- */

static void normal_quantiles(void **state) {
  (void)state;
  /* From 40-digit arithmetic. */
  static const double known[][2] = {{0.975, 1.9599639845400542},     {0.75, 0.67448975019608174},
                                    {0.5 + 1e-12, 2.5066282746e-12}, {1e-10, -6.3613409024040562},
                                    {1e-300, -37.047096299361199},   {0.2499, -0.67480447011060999}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    double found = rpinn_normal_quantile(known[i][0]);
    /* 1e-12 is rounded in 0.5 + 1e-12: five digits of it are left. */
    double tolerance = i == 2 ? 1e-4 : 4e-16;
    check_true(fabs(found / known[i][1] - 1) <= tolerance, "quantile %g is %.17g", known[i][0], found);
  }
  assert_true(rpinn_normal_quantile(0.5) == 0);
  assert_true(rpinn_normal_quantile(0) == -infinite && rpinn_normal_quantile(1) == infinite);
  assert_true(isnan(rpinn_normal_quantile(-0.1)) && isnan(rpinn_normal_quantile(nothing)));
  /* Back again, all along: Phi loses what p has lost, an ulp of p, and some in erfc. */
  for (double p = 1e-15; p < 0.5; p *= 1.01)
    check_relative(0.5 * erfc(-rpinn_normal_quantile(p) * sqrt(0.5)) / p, 1, 1e-13);
}

/* The share below y, and its slope, against erfc and exp: of one normal distribution, and of three. */
static void shares_of_mixtures(void **state) {
  static const double means[] = {-0.3, 0.1, 2}, precisions[] = {1, 10, 0.25};
  RpinnNormalTable *table = rpinn_normal_table_create();
  double slope, zero = 0, one = 1;
  (void)state;
  assert_non_null(table);
  for (double z = -8.9995; z < 9; z += 0.00173) {
    check_close(rpinn_normal_table_mixture(table, 1, &zero, &one, z, &slope), 0.5 * erfc(-z * sqrt(0.5)),
                3e-16);
    check_close(slope, exp(-0.5 * z * z) / sqrt(2 * acos(-1)), 2e-15);
  }
  for (double y = -3; y < 3; y += 0.1) {
    double share = 0, density = 0;
    for (size_t k = 0; k < 3; k++) {
      double z = (y - means[k]) * precisions[k];
      share += 0.5 * erfc(-z * sqrt(0.5)) / 3;
      density += precisions[k] * exp(-0.5 * z * z) / sqrt(2 * acos(-1)) / 3;
    }
    check_close(rpinn_normal_table_mixture(table, 3, means, precisions, y, &slope), share, 3e-16);
    check_close(slope, density, 1e-14);
  }
  assert_true(rpinn_normal_table_mixture(table, 1, &zero, &one, 9, &slope) == 1 && slope == 0);
  assert_true(rpinn_normal_table_mixture(table, 1, &zero, &one, -infinite, &slope) == 0 && slope == 0);
  rpinn_normal_table_destroy(table);
}

static void beta_quantiles(void **state) {
  (void)state;
  /* Closed forms: I_x(a, 1) = x^a, I_x(1, b) = 1 - (1-x)^b, I_x(2, 2) = x^2 (3 - 2x), I_1/2(a, a) = 1/2. */
  for (double x = 0.05; x < 1; x += 0.1) {
    check_relative(rpinn_beta_cdf(x, 3.5, 1) / pow(x, 3.5), 1, 1e-13);
    check_relative(rpinn_beta_cdf(x, 1, 7.25), 1 - pow(1 - x, 7.25), 1e-13);
    check_relative(rpinn_beta_cdf(x, 2, 2), x * x * (3 - 2 * x), 1e-13);
    check_relative(rpinn_beta_quantile(x, 4, 1), pow(x, 0.25), 1e-13);
    check_close(rpinn_beta_quantile(rpinn_beta_cdf(x, 5, 9), 5, 9), x, 1e-10);
  }
  check_relative(rpinn_beta_cdf(0.5, 20000, 20000), 0.5, 1e-10);
  /* A large sample is nearly normal: mean 1/20, one deviation below it, with a skewness of order 1/sqrt(ess). */
  double e = 1e5, a = e * 0.05 + 1, b = e * 0.95 + 1;
  check_relative(rpinn_beta_quantile(0.1586553, a, b), a / (a + b) - sqrt(0.05 * 0.95 / e), 2e-6);
  assert_true(rpinn_beta_quantile(0, 2, 3) == 0 && rpinn_beta_quantile(1, 2, 3) == 1);
  assert_true(isnan(rpinn_beta_quantile(0.5, 0, 1)) && isnan(rpinn_beta_quantile(nothing, 1, 1)));
}

static void sorted_numbers(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  static double values[COUNT], sorted[COUNT];
  static size_t place[COUNT];
  static RpinnRanked workspace[2 * COUNT];
  RpinnStream stream = rpinn_stream(1, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t i = 0; i < COUNT; i++)
    values[i] = i % 7 ? ldexp(rpinn_stream_normal(&stream), (int)(i % 41) - 20) : i % 2 ? 0.0 : -0.0;
  rpinn_rank_order(COUNT, values, sorted, place, workspace);
  for (size_t i = 0; i < COUNT; i++) {
    assert_true(sorted[i] == values[place[i]]);
    if (i == 0) continue;
    assert_true(sorted[i - 1] <= sorted[i]);
    if (sorted[i - 1] == sorted[i]) assert_true(place[i - 1] < place[i]);
  }
}

/* Sums instead of transforms, for 1, 2 and 3 chains, whole and split, odd and even. */
static void autocovariance_by_sums(void **state) {
  (void)state;
  enum { MOST = 23 };
  double values[3 * MOST];
  RpinnStream stream = rpinn_stream(2, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t i = 0; i < 3 * MOST; i++) values[i] = 1e3 + rpinn_stream_normal(&stream);
  RpinnAutocovariance *work = rpinn_autocovariance_create(MOST);
  assert_non_null(work);
  for (size_t num_chains = 1; num_chains <= 3; num_chains++)
    for (size_t num_draws = 6; num_draws <= MOST; num_draws++)
      for (int split = 0; split < 2; split++) {
        RpinnChains chains = {values, num_chains, num_draws, split};
        size_t count = rpinn_chains_count(&chains), n = rpinn_chains_length(&chains);
        const double *found = rpinn_autocovariance(work, &chains);
        for (size_t t = 0; t < n; t++) {
          double sum = 0;
          for (size_t c = 0; c < count; c++) {
            const double *x = rpinn_chain(&chains, c);
            double mean = rpinn_mean(n, x);
            for (size_t i = 0; i + t < n; i++) sum += (x[i] - mean) * (x[i + t] - mean);
          }
          check_close(found[t], sum / (double)(n * count), 1e-13); /* 1e3 costs three of 16 digits */
        }
      }
  rpinn_autocovariance_destroy(work);
}

/* ---- R's posterior ---- */

enum { MOST_COLUMNS = 64, REFERENCE_DRAWS = 1000 };

typedef struct Reference {
  size_t num_columns;
  char names[MOST_COLUMNS][32];
  double draws[MOST_COLUMNS][2][REFERENCE_DRAWS];
} Reference;

static FILE *open_reference(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/diagnostics/%s", getenv("RPINN_REFERENCE_DIR"), name);
  FILE *file = fopen(path, "r");
  check_true(file != NULL, "cannot open %s", path);
  return file;
}

static void read_chain(Reference *reference, size_t chain, const char *name) {
  static char line[16384];
  FILE *file = open_reference(name);
  size_t row = 0;
  bool header = false;
  while (fgets(line, sizeof line, file)) {
    if (line[0] == '#' || line[0] == '\n') continue;
    size_t column = 0;
    for (char *cell = strtok(line, ",\n"); cell; cell = strtok(NULL, ",\n"), column++) {
      assert_true(column < MOST_COLUMNS && (!header || row < REFERENCE_DRAWS));
      if (header)
        reference->draws[column][chain][row] = strtod(cell, NULL);
      else
        snprintf(reference->names[column], sizeof reference->names[column], "%s", cell);
    }
    reference->num_columns = column;
    row += header;
    header = true;
  }
  assert_int_equal(row, REFERENCE_DRAWS);
  fclose(file);
}

/* "mu[1]" and "mu.1" are the same. */
static bool same_name(const char *bracketed, const char *dotted) {
  size_t i = 0;
  for (; bracketed[i] && bracketed[i] != ']'; i++)
    if (bracketed[i] != dotted[i] && !(dotted[i] == '.' && strchr("[,", bracketed[i]))) return false;
  return dotted[i] == '\0';
}

static void check_row(const Reference *reference, RpinnConvergenceWork *work, const char *name,
                      const double expected[17]) {
  size_t column = 0;
  while (column < reference->num_columns && !same_name(name, reference->names[column])) column++;
  check_true(column < reference->num_columns, "no column %s", name);
  const double *draws = reference->draws[column][0];
  RpinnConvergence all = rpinn_convergence(work, draws), brief = rpinn_convergence_brief(work, draws);
  double ess[3], mcse[3], value;
  static const double probabilities[3] = {0.01, 0.1, 0.3};
  for (size_t i = 0; i < 3; i++)
    rpinn_convergence_quantile(work, draws, probabilities[i], &value, &ess[i], &mcse[i]);
  const double found[17] = {all.rhat,   all.rhat_plain, all.ess_bulk,  all.ess_tail,    all.ess_mean,
                            all.ess_sd, all.ess_median, all.ess_plain, ess[0],          ess[1],
                            ess[2],     all.mcse_mean,  all.mcse_sd,   all.mcse_median, mcse[0],
                            mcse[1],    mcse[2]};
  for (size_t i = 0; i < 17; i++)
    check_true(fabs(found[i] - expected[i]) <= 1e-8 * fabs(expected[i]),
               "%s, statistic %zu: %.15g, expected %.15g", name, i + 1, found[i], expected[i]);
  assert_true(brief.rhat == all.rhat && brief.rhat_paper == all.rhat_paper &&
              brief.ess_bulk == all.ess_bulk && brief.ess_tail == all.ess_tail);
}

static void as_posterior_has_them(void **state) {
  (void)state;
  if (!getenv("RPINN_REFERENCE_DIR")) {
    print_message("  skipped: RPINN_REFERENCE_DIR is not set\n");
    skip();
  }
  Reference *reference = calloc(1, sizeof *reference);
  RpinnConvergenceWork *work = rpinn_convergence_work_create(2, REFERENCE_DRAWS);
  assert_true(reference && work);
  read_chain(reference, 0, "blocker.1.csv");
  read_chain(reference, 1, "blocker.2.csv");
  FILE *file = open_reference("reference_posterior.csv");
  char line[4096], name[32];
  size_t num_rows = 0;
  assert_non_null(fgets(line, sizeof line, file));
  while (fgets(line, sizeof line, file)) {
    double expected[17];
    char *end = strchr(line + 1, '"');
    assert_true(line[0] == '"' && end);
    snprintf(name, sizeof name, "%.*s", (int)(end - line - 1), line + 1);
    for (size_t i = 0; i < 17; i++) {
      assert_int_equal(*(end += i == 0), ',');
      expected[i] = strtod(end + 1, &end);
    }
    check_row(reference, work, name, expected);
    num_rows++;
  }
  assert_int_equal(num_rows, 48);
  fclose(file);
  rpinn_convergence_work_destroy(work);
  free(reference);
}

/* ---- formulas and chains that are known ---- */

static void energy_fractions(void **state) {
  (void)state;
  check_relative(rpinn_energy_fraction(4, (const double[]){1, 2, 3, 4}), 0.6, 1e-15);
  check_relative(rpinn_energy_fraction(4, (const double[]){1e6 + 1, 1e6 + 2, 1e6 + 3, 1e6 + 4}), 0.6, 1e-15);
  assert_true(isnan(rpinn_energy_fraction(1, (const double[]){1})));
  assert_true(isnan(rpinn_energy_fraction(3, (const double[]){2, 2, 2})));
  assert_true(isnan(rpinn_energy_fraction(3, (const double[]){2, infinite, 2})));
}

/* Superchains a and b of two chains with three draws. Chain means 2, 4 and 3, 3, so that both have the mean 3: nothing between. */
static void nested_with_equal_means(void **state) {
  (void)state;
  static const double x[] = {1, 2, 3, 2, 3, 4, 3, 4, 5, 1, 3, 5}; /* a, b, a, b */
  assert_true(rpinn_nested_rhat(4, 3, x, 2, (const size_t[]){0, 1, 0, 1}) == 1);
}

/* The same with b moved by s: B = s^2 / 2. Variances of chain means 2 and 0, of draws 1, 1 and 1, 4 by chain: W = (2 + 1 + 0 + 5/2)/2. */
static void nested_with_a_shift(void **state) {
  (void)state;
  for (double s = 0.125; s < 100; s *= 4) {
    const double x[] = {1, 2, 3, 2 + s, 3 + s, 4 + s, 3, 4, 5, 1 + s, 3 + s, 5 + s};
    double expected = sqrt(1 + s * s / 2 / 2.75);
    check_relative(rpinn_nested_rhat(4, 3, x, 2, (const size_t[]){0, 1, 0, 1}), expected, 1e-14);
    /* A superchain without chains is none. */
    check_relative(rpinn_nested_rhat(4, 3, x, 5, (const size_t[]){3, 1, 3, 1}), expected, 1e-14);
  }
}

/* One draw each: superchains {0, 2}, {3, 5} and {7, 9} have means 1, 4 and 8, B = 37/3, and variances 2. */
static void nested_of_one_draw(void **state) {
  (void)state;
  static const double x[] = {0, 2, 3, 5, 7, 9};
  check_relative(rpinn_nested_rhat(6, 1, x, 3, (const size_t[]){0, 0, 1, 1, 2, 2}), sqrt(1 + 37.0 / 6),
                 1e-14);
  assert_true(isinf(rpinn_nested_rhat(6, 1, x, 6, (const size_t[]){0, 1, 2, 3, 4, 5})));
}

/* Of chains {0, 2}, {1, 5} and {3, 7} the first two are a superchain: means 2 and 5, B = 9/2; chain means differ with the variance 2 in
 * the only superchain that can tell, and variances within are (2 + 8)/2 and 8. Single chains throughout: B of means 1, 3, 5 by W of 6. */
static void nested_with_single_chains(void **state) {
  (void)state;
  static const double x[] = {0, 2, 1, 5, 3, 7};
  check_relative(rpinn_nested_rhat(3, 2, x, 2, (const size_t[]){0, 0, 1}), sqrt(1 + 4.5 / (2 + 6.5)), 1e-14);
  check_relative(rpinn_nested_rhat(3, 2, x, 3, (const size_t[]){0, 1, 2}), sqrt(1 + 4.0 / 6), 1e-14);
}

/* Means {0, 2}, {3, 5} and {7, 9} of chains with variances 1 and 3: B = 37/3, S = 2 and W = 2 + 2. Of means that are {0, 2}, {0, 2} and
 * {1, 1}, which have B = 0, nothing is left to take S/m from. */
static void nested_of_many_chains(void **state) {
  (void)state;
  static const double apart[] = {0, 2, 3, 5, 7, 9}, variances[] = {1, 3, 1, 3, 1, 3},
                      equal[] = {0, 2, 0, 2, 1, 1};
  static const size_t pairs[] = {0, 0, 1, 1, 2, 2};
  check_relative(rpinn_nested_rhat_of_many(6, apart, variances, 3, pairs), sqrt(1 + (37.0 / 3 - 1) / 4),
                 1e-14);
  assert_true(rpinn_nested_rhat_of_many(6, equal, variances, 3, pairs) == 1);
  assert_true(isnan(rpinn_nested_rhat_of_many(6, (const double[6]){0}, (const double[6]){0}, 3, pairs)));
}

/* 300 pairs of chains of one draw that share nothing: nested R-hat is sqrt(1 + 1/2), that of many 1, within 4 errors of chance. */
static void nested_of_pairs_that_forgot(void **state) {
  (void)state;
  enum { PAIRS = 300 };
  double means[2 * PAIRS], none[2 * PAIRS] = {0};
  size_t superchains[2 * PAIRS];
  RpinnStream stream = rpinn_stream(1, RPINN_PURPOSE_CHECK, 0, 0);
  for (size_t c = 0; c < 2 * PAIRS; c++) {
    means[c] = rpinn_stream_normal(&stream);
    superchains[c] = c / 2;
  }
  double plain = rpinn_nested_rhat(2 * PAIRS, 1, means, PAIRS, superchains),
         many = rpinn_nested_rhat_of_many(2 * PAIRS, means, none, PAIRS, superchains);
  check_true(fabs(plain * plain - 1.5) < 4 * 0.06, "nested R-hat is %g", plain);
  check_true(many * many - 1 < 4 * 0.06, "nested R-hat of many is %g", many);
}

static void nested_without_an_answer(void **state) {
  (void)state;
  static const size_t apart[] = {0, 1};
  assert_true(isnan(rpinn_nested_rhat(2, 2, (const double[]){1, 2, 3, 4}, 1, (const size_t[]){0, 0})));
  assert_true(isnan(rpinn_nested_rhat(2, 2, (const double[]){1, 1, 1, 1}, 2, apart)));
  assert_true(isnan(rpinn_nested_rhat(2, 2, (const double[]){1, 2, (double)NAN, 4}, 2, apart)));
  assert_true(isnan(rpinn_nested_rhat(2, 0, NULL, 2, apart)));
  assert_true(isinf(rpinn_nested_rhat(2, 2, (const double[]){1, 1, 2, 2}, 2, apart)));
}

static void paper_form(void **state) {
  (void)state;
  enum { CHAINS = 3, DRAWS = 5 };
  static const double x[CHAINS][DRAWS] = {{1, 3, 2, 5, 4}, {2, 8, 5, 7, 3}, {0, -1, 4, 2, 2}};
  double m = CHAINS, n = DRAWS, W = 0, between = 0, means[CHAINS] = {0}, grand = 0;
  for (size_t c = 0; c < CHAINS; c++) {
    for (size_t i = 0; i < DRAWS; i++) means[c] += x[c][i] / n;
    for (size_t i = 0; i < DRAWS; i++) W += (x[c][i] - means[c]) * (x[c][i] - means[c]) / (n * m);
    grand += means[c] / m;
  }
  for (size_t c = 0; c < CHAINS; c++) between += (means[c] - grand) * (means[c] - grand) / (m - 1);
  RpinnConvergenceWork *work = rpinn_convergence_work_create(CHAINS, DRAWS);
  RpinnConvergence found = rpinn_convergence(work, x[0]);
  check_relative(found.rhat_paper, (m + 1) / m * (W + between) / W - (n - 1) / (m * n), 1e-14);
  /* The usual one has the square root: W n/(n-1) is its unbiased variance. */
  check_relative(found.rhat_plain, sqrt((between / (W * n / (n - 1)) * n + n - 1) / n), 1e-14);
  rpinn_convergence_work_destroy(work);
}

static void fill_autoregressive(uint64_t seed, size_t chains, size_t draws, double phi, double *x) {
  for (size_t c = 0; c < chains; c++) {
    RpinnStream stream = rpinn_stream(seed, RPINN_PURPOSE_CHECK, c, 0);
    double value = rpinn_stream_normal(&stream);
    for (size_t i = 0; i < draws; i++) {
      x[c * draws + i] = value;
      value = phi * value + sqrt(1 - phi * phi) * rpinn_stream_normal(&stream);
    }
  }
}

/* Independent draws: S of them, and R-hat exceeds 1 by about 1/(2n) times a chi-square with 2m - 1 degrees of
 * freedom over 2m - 1, twice; 1.01 is far away. AR(1) with coefficient phi has tau = (1 + phi) / (1 - phi). The
 * error of the estimated tau is about sqrt(2 (2T + 1) / S) of it (Sokal) with T some 3 tau: 4 of these. */
static void known_autocorrelation(void **state) {
  (void)state;
  enum { CHAINS = 4, DRAWS = 5000, SIZE = CHAINS * DRAWS };
  double *x = malloc(SIZE * sizeof *x);
  RpinnConvergenceWork *work = rpinn_convergence_work_create(CHAINS, DRAWS);
  assert_true(x && work);
  static const double phis[] = {0, 0.5, 0.9, -0.5};
  for (size_t k = 0; k < 4; k++) {
    double tau = (1 + phis[k]) / (1 - phis[k]), tolerance = 4 * sqrt(2 * (6 * fmax(tau, 1) + 1) / SIZE);
    fill_autoregressive(20 + k, CHAINS, DRAWS, phis[k], x);
    RpinnConvergence found = rpinn_convergence(work, x);
    print_message("  phi %g: ess %.0f mean, %.0f bulk, %.0f tail, rhat %.5f; tau asks for %.0f\n", phis[k],
                  found.ess_mean, found.ess_bulk, found.ess_tail, found.rhat, SIZE / tau);
    check_close(found.ess_mean * tau / SIZE, 1, tolerance);
    check_close(found.ess_plain * tau / SIZE, 1, tolerance);
    check_close(found.ess_bulk * tau / SIZE, 1, tolerance);
    check_true(found.rhat < 1.01 && found.rhat >= 0.999, "rhat is %g", found.rhat);
    /* Four standard errors of the truth: mean 0, deviation 1, quantiles -1.645, 0 and 1.645. */
    assert_true(fabs(found.mean) <= 4 * found.mcse_mean && fabs(found.sd - 1) <= 4 * found.mcse_sd);
    assert_true(fabs(found.median) <= 4 * found.mcse_median);
    assert_true(fabs(found.q5 + 1.6448536) <= 4 * found.mcse_q5);
    assert_true(fabs(found.q95 - 1.6448536) <= 4 * found.mcse_q95);
    check_relative(found.mcse_mean, found.sd * sqrt(tau / SIZE), tolerance);
  }
  clock_t start = clock();
  for (size_t k = 0; k < 20; k++) (void)rpinn_convergence_brief(work, x);
  print_message("  brief: %.2f ms\n", (double)(clock() - start) * 1000 / CLOCKS_PER_SEC / 20);
  rpinn_convergence_work_destroy(work);
  free(x);
}

/* Chains apart in place, or only in width: R-hat must see either. */
static void chains_that_disagree(void **state) {
  (void)state;
  enum { CHAINS = 4, DRAWS = 500 };
  static double x[CHAINS * DRAWS], y[CHAINS * DRAWS];
  RpinnConvergenceWork *work = rpinn_convergence_work_create(CHAINS, DRAWS);
  fill_autoregressive(30, CHAINS, DRAWS, 0.3, x);
  memcpy(y, x, sizeof x);
  for (size_t i = 0; i < DRAWS; i++) y[i] += 2;
  assert_true(rpinn_convergence(work, y).rhat > 1.1);
  memcpy(y, x, sizeof x);
  for (size_t i = 0; i < DRAWS; i++) y[i] *= 5;
  RpinnConvergence wide = rpinn_convergence(work, y);
  assert_true(wide.rhat > 1.1 && wide.rhat_plain < 1.01);
  /* A drift that all chains share shows in the halves only. */
  memcpy(y, x, sizeof x);
  for (size_t i = 0; i < CHAINS * DRAWS; i++) y[i] += 2 * (i % DRAWS < DRAWS / 2);
  RpinnConvergence drift = rpinn_convergence(work, y);
  assert_true(drift.rhat > 1.1 && drift.rhat_plain < 1.01);
  rpinn_convergence_work_destroy(work);
}

/* Another order of the chains adds the same numbers in another order: rounding alone may differ. A monotone map
 * changes nothing that comes from ranks. */
static void order_and_scale(void **state) {
  (void)state;
  enum { CHAINS = 3, DRAWS = 251 };
  static double x[CHAINS * DRAWS], y[CHAINS * DRAWS];
  RpinnConvergenceWork *work = rpinn_convergence_work_create(CHAINS, DRAWS);
  fill_autoregressive(40, CHAINS, DRAWS, 0.6, x);
  for (size_t i = 0; i < DRAWS; i++) x[i] = rint(10 * x[i]) / 10; /* ties */
  RpinnConvergence straight = rpinn_convergence(work, x);
  for (size_t c = 0; c < CHAINS; c++) memcpy(y + c * DRAWS, x + (CHAINS - 1 - c) * DRAWS, DRAWS * sizeof *x);
  RpinnConvergence reversed = rpinn_convergence(work, y);
  const double *a = (const double *)&straight, *b = (const double *)&reversed;
  for (size_t i = 0; i < sizeof straight / sizeof *a; i++) check_relative(b[i], a[i], 1e-11);
  for (size_t i = 0; i < CHAINS * DRAWS; i++) y[i] = exp(x[i]);
  RpinnConvergence mapped = rpinn_convergence(work, y);
  check_relative(mapped.ess_bulk, straight.ess_bulk, 1e-12);
  check_relative(mapped.ess_tail, straight.ess_tail, 1e-12);
  rpinn_convergence_work_destroy(work);
}

/* ---- where there is no answer ---- */

static void no_answer(void **state) {
  (void)state;
  enum { CHAINS = 2, DRAWS = 20 };
  double x[CHAINS * DRAWS], quantile, ess, mcse;
  RpinnConvergenceWork *work = rpinn_convergence_work_create(CHAINS, DRAWS);
  static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
  for (size_t k = 0; k < 3; k++) {
    fill_autoregressive(50, CHAINS, DRAWS, 0, x);
    x[17] = bad[k];
    RpinnConvergence found = rpinn_convergence(work, x), brief = rpinn_convergence_brief(work, x);
    for (size_t i = 0; i < sizeof found / sizeof(double); i++)
      assert_true(isnan(((double *)&found)[i]) && isnan(((double *)&brief)[i]));
    rpinn_convergence_quantile(work, x, 0.5, &quantile, &ess, &mcse);
    assert_true(isnan(quantile) && isnan(ess) && isnan(mcse));
  }
  for (size_t i = 0; i < CHAINS * DRAWS; i++) x[i] = 0.1;
  RpinnConvergence constant = rpinn_convergence(work, x);
  assert_true(constant.mean == 0.1 && constant.sd == 0 && constant.median == 0.1 && constant.q5 == 0.1);
  assert_true(isnan(constant.rhat) && isnan(constant.rhat_plain) && isnan(constant.rhat_paper));
  assert_true(isnan(constant.ess_bulk) && isnan(constant.ess_tail) && isnan(constant.mcse_mean));
  assert_true(isnan(rpinn_convergence_brief(work, x).rhat));
  /* Stuck, each somewhere else. */
  for (size_t i = DRAWS; i < CHAINS * DRAWS; i++) x[i] = 0.3;
  RpinnConvergence stuck = rpinn_convergence(work, x);
  assert_true(isinf(stuck.rhat_plain) && isinf(stuck.rhat_paper) && stuck.ess_bulk < 10);
  rpinn_convergence_work_destroy(work);
}

static void small_samples(void **state) {
  (void)state;
  static const double x[] = {3, 1, 4, 1.5, 9, 2, 6, 5.5, 3.5, 8, 7, 9.5};
  for (size_t chains = 0; chains <= 2; chains++)
    for (size_t draws = 0; draws <= 6; draws++) {
      RpinnConvergenceWork *work = rpinn_convergence_work_create(chains, draws);
      assert_non_null(work);
      RpinnConvergence found = rpinn_convergence(work, x);
      assert_true(isnan(found.mean) == (chains * draws == 0));
      assert_true(isnan(found.sd) == (chains * draws < 2));
      assert_true(isnan(found.rhat_plain) == (chains < 2 || draws < 2));
      assert_true(isnan(found.rhat) == (chains == 0 || draws < 4));
      assert_true(isnan(found.ess_bulk) == (chains == 0 || draws < 6));
      assert_true(isnan(found.ess_plain) == (chains == 0 || draws < 3));
      /* No pair of lags after the first is looked at with less than 6 draws: tau = -1 + 2 rho_0 + rho_0. */
      double size = (double)(chains * draws);
      if (chains && draws >= 3 && draws < 6)
        check_relative(found.ess_plain, size / fmax(2, 1 / log10(size)), 1e-15);
      rpinn_convergence_work_destroy(work);
    }
}

/* The middle draw of an odd number belongs to no half. Here it is the largest of one chain and the least of the
 * other, so that the median stays where it is without them. */
static void odd_chains(void **state) {
  (void)state;
  enum { DRAWS = 41, HALF = DRAWS / 2 };
  double odd[2][DRAWS], even[2][DRAWS - 1];
  fill_autoregressive(60, 2, DRAWS, 0.5, odd[0]);
  odd[0][HALF] = 1000, odd[1][HALF] = -1000;
  for (size_t c = 0; c < 2; c++)
    for (size_t i = 0; i < DRAWS - 1; i++) even[c][i] = odd[c][i + (i >= HALF)];
  RpinnConvergenceWork *work = rpinn_convergence_work_create(2, DRAWS),
                       *even_work = rpinn_convergence_work_create(2, DRAWS - 1);
  RpinnConvergence found = rpinn_convergence_brief(work, odd[0]),
                   expected = rpinn_convergence_brief(even_work, even[0]);
  assert_true(found.rhat == expected.rhat && found.ess_bulk == expected.ess_bulk);
  rpinn_convergence_work_destroy(work);
  rpinn_convergence_work_destroy(even_work);
}

static void quantiles_at_the_ends(void **state) {
  (void)state;
  enum { DRAWS = 101 };
  double x[DRAWS], quantile, ess, mcse;
  RpinnConvergenceWork *work = rpinn_convergence_work_create(1, DRAWS);
  for (size_t i = 0; i < DRAWS; i++) x[i] = (double)(i * 37 % DRAWS);
  for (int percent = 0; percent <= 100; percent++) {
    rpinn_convergence_quantile(work, x, percent / 100.0, &quantile, &ess, &mcse);
    check_true(quantile == percent, "the quantile %d %% of 0 … 100 is %.17g", percent, quantile);
    check_true(ess > 0 && mcse >= 0, "%d %%: ess %g, mcse %g", percent, ess, mcse);
  }
  rpinn_convergence_quantile(work, x, 1.5, &quantile, &ess, &mcse);
  assert_true(isnan(quantile) && isnan(ess) && isnan(mcse));
  rpinn_convergence_work_destroy(work);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(normal_quantiles),
                                     cmocka_unit_test(shares_of_mixtures),
                                     cmocka_unit_test(beta_quantiles),
                                     cmocka_unit_test(sorted_numbers),
                                     cmocka_unit_test(autocovariance_by_sums),
                                     cmocka_unit_test(as_posterior_has_them),
                                     cmocka_unit_test(energy_fractions),
                                     cmocka_unit_test(nested_with_equal_means),
                                     cmocka_unit_test(nested_with_a_shift),
                                     cmocka_unit_test(nested_of_one_draw),
                                     cmocka_unit_test(nested_with_single_chains),
                                     cmocka_unit_test(nested_of_many_chains),
                                     cmocka_unit_test(nested_of_pairs_that_forgot),
                                     cmocka_unit_test(nested_without_an_answer),
                                     cmocka_unit_test(paper_form),
                                     cmocka_unit_test(known_autocorrelation),
                                     cmocka_unit_test(chains_that_disagree),
                                     cmocka_unit_test(order_and_scale),
                                     cmocka_unit_test(no_answer),
                                     cmocka_unit_test(small_samples),
                                     cmocka_unit_test(odd_chains),
                                     cmocka_unit_test(quantiles_at_the_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
