/* Noise that is not known: on models that are linear in their parameters against p(eta | data) integrated on a grid here, by
 * every method; over many data sets; in files; and what is refused. */
#include "member_slots.h"
#include "posterior_numbers.h"
#include "problem_bench.h"

#include "noise_posterior.h"
#include "predictive_bands.h"
#include "run_noise.h"
#include "run_record.h"
#include "unknown_noise.h"

static const char linear_yaml[] =
    "name: linear\n"
    "coordinates: {x: [-1, 1]}\n"
    "fields: {u: {network: [9], activation: tanh, trainable: output}}\n"
    "truth: {u: sin(2*x)}\n"
    "terms:\n"
    "  d: {expect: u, at: {grid: 16}, data: truth, noise: {unknown: true, truth: 0.2, prior: {mean: -2, std: "
    "1.5}}}\n"
    "  flat: {expect: \"d(u, x)\", at: {points: [0.5]}, data: 1, noise: 0.5}\n"
    "predict: {grid: 16, quantities: [u]}\n"
    "settings: {likelihood: noise, prior_scale: 2, prior_shape: iid, scale_fields: 'no', precision: double, "
    "seed: 4,"
    " samples: 1000, threads: 2, optimizer: lm, iterations: 200, start: prior, method: laplace}\n";
static const char two_yaml[] =
    "name: two\n"
    "coordinates: {x: [-1, 1]}\n"
    "fields: {u: {network: [9], activation: tanh, trainable: output}}\n"
    "truth: {u: sin(2*x)}\n"
    "terms:\n"
    "  d: {expect: u, at: {grid: 12}, data: truth, noise: {unknown: true, truth: 0.2, start: 0.1}}\n"
    "  slope: {expect: \"d(u, x)\", at: {grid: 14}, data: truth, noise: {unknown: true, truth: 0.5}}\n"
    "predict: {grid: 5, quantities: [u]}\n"
    "settings: {likelihood: noise, prior_scale: 2, prior_shape: iid, scale_fields: 'no', precision: double, "
    "seed: 4,"
    " samples: 1000, threads: 2, optimizer: lm, iterations: 200, start: prior, method: laplace}\n";

/* ---- the exact answer ---- */

enum { MOST_ROWS = 40, MOST_PARAMETERS = 16, POINTS = 16 };

/* d = A theta + noise in the units of the data, u = B theta, theta ~ N(0, 4 I). */
typedef struct Linear {
  size_t M, N;
  size_t noise_of[MOST_ROWS]; /* which unknown noise; the count of them: 0.5 */
  double A[MOST_ROWS][MOST_PARAMETERS], d[MOST_ROWS], B[POINTS][MOST_PARAMETERS];
} Linear;

static Linear linear_of(RpinnPosterior *posterior) {
  Linear linear = {.M = posterior->model.num_rows, .N = posterior->model.num_parameters};
  double theta[MOST_PARAMETERS] = {0}, zero[MOST_ROWS], rows[MOST_ROWS], nothing[64], values[64];
  assert_true(linear.M <= MOST_ROWS && linear.N <= MOST_PARAMETERS &&
              rpinn_posterior_num_predictions(posterior) <= POINTS);
  rpinn_posterior_set_noise(posterior, NULL);
  assert_int_equal(rpinn_posterior_residuals(NULL, posterior, theta, zero, NULL), RPINN_OK);
  assert_int_equal(rpinn_posterior_predict(NULL, posterior, theta, nothing), RPINN_OK);
  for (size_t j = 0; j < linear.N; j++) { /* columns: the model at unit vectors */
    theta[j] = 1;
    assert_int_equal(rpinn_posterior_residuals(NULL, posterior, theta, rows, NULL), RPINN_OK);
    assert_int_equal(rpinn_posterior_predict(NULL, posterior, theta, values), RPINN_OK);
    for (size_t i = 0; i < linear.M; i++) linear.A[i][j] = rows[i] - zero[i];
    for (size_t p = 0; p < rpinn_posterior_num_predictions(posterior); p++)
      linear.B[p][j] = values[p] - nothing[p];
    theta[j] = 0;
  }
  for (size_t t = 0, i = 0; t < posterior->model.num_terms; t++)
    for (size_t k = 0; k < posterior->terms[t].num_rows; k++, i++) {
      double sigma = rpinn_posterior_row_sigma(posterior, t, k);
      linear.noise_of[i] = posterior->num_noises;
      for (size_t n = 0; n < posterior->num_noises; n++)
        if (posterior->noises[n].term == t) linear.noise_of[i] = n;
      linear.d[i] = -zero[i] * sigma;
      for (size_t j = 0; j < linear.N; j++) linear.A[i][j] *= sigma;
    }
  return linear;
}

/* log N(d; 0, 4 A A^T + diag s^2); with u: mean and variance of B theta at point p given d. */
static double log_density(const Linear *linear, const double *sigmas, size_t num_noises, size_t p,
                          double *mean, double *variance) {
  size_t M = linear->M;
  double L[MOST_ROWS][MOST_ROWS], z[MOST_ROWS], w[MOST_ROWS], sum = 0;
  for (size_t i = 0; i < M; i++) {
    double sigma = linear->noise_of[i] == num_noises ? 0.5 : sigmas[linear->noise_of[i]];
    for (size_t k = 0; k <= i; k++) {
      double value = i == k ? sigma * sigma : 0;
      for (size_t j = 0; j < linear->N; j++) value += 4 * linear->A[i][j] * linear->A[k][j];
      for (size_t j = 0; j < k; j++) value -= L[i][j] * L[k][j];
      L[i][k] = i == k ? sqrt(value) : value / L[k][k];
    }
    z[i] = linear->d[i];
    w[i] = 0; /* covariance of u(p) with d_i */
    for (size_t j = 0; j < linear->N; j++) w[i] += 4 * linear->B[p][j] * linear->A[i][j];
    for (size_t j = 0; j < i; j++) {
      z[i] -= L[i][j] * z[j];
      w[i] -= L[i][j] * w[j];
    }
    z[i] /= L[i][i];
    w[i] /= L[i][i];
    sum += -0.5 * z[i] * z[i] - log(L[i][i]) - 0.91893853320467274178;
  }
  *mean = 0;
  *variance = 0;
  for (size_t j = 0; j < linear->N; j++) *variance += 4 * linear->B[p][j] * linear->B[p][j];
  for (size_t i = 0; i < M; i++) {
    *mean += w[i] * z[i];
    *variance -= w[i] * w[i];
  }
  return sum;
}

/* Moments under p(eta | data), by sums over a fine grid; of two noises over the square. */
typedef struct Exact {
  double mode[2], mean[2], deviation[2];    /* of eta */
  double sigma_mean[2], sigma_deviation[2]; /* of s */
  double u_mean[POINTS], u_deviation[POINTS];
  double log_total; /* log of the sum of exp(log density) over the cells, times their size */
} Exact;

static Exact integrate(const RpinnPosterior *posterior, const Linear *linear, size_t num_cells,
                       double reach) {
  size_t K = posterior->num_noises, num_points = posterior->data->predict.count;
  Exact exact = {.log_total = 0};
  double top = -INFINITY, total = 0, u1[POINTS] = {0}, u2[POINTS] = {0}, e1[2] = {0}, e2[2] = {0},
         s1[2] = {0}, s2[2] = {0};
  size_t num_second = K == 2 ? num_cells : 1;
  double *values = malloc(num_cells * num_second * sizeof *values), mean, variance;
  assert_non_null(values);
  for (int pass = 0; pass < 2; pass++)
    for (size_t a = 0; a < num_cells; a++)
      for (size_t b = 0; b < num_second; b++) {
        size_t cell[2] = {a, b};
        double eta[2], sigma[2], prior = 0, *value = &values[a * num_second + b];
        for (size_t k = 0; k < K; k++) {
          const RpinnNoiseLevel *noise = &posterior->noises[k];
          double centre = log(k == 0 ? 0.2 : 0.5);
          eta[k] = centre + reach * (2 * ((double)cell[k] + 0.5) / (double)num_cells - 1);
          sigma[k] = exp(eta[k]);
          double z = (eta[k] - noise->prior_mean) / noise->prior_std;
          prior -= 0.5 * z * z;
        }
        if (pass == 0) {
          *value = log_density(linear, sigma, K, 0, &mean, &variance) + prior;
          if (*value > top) memcpy(exact.mode, eta, sizeof eta);
          top = fmax(top, *value);
          continue;
        }
        double weight = exp(*value - top);
        if (weight < 1e-9) continue;
        total += weight;
        for (size_t k = 0; k < K; k++) {
          e1[k] += weight * eta[k];
          e2[k] += weight * eta[k] * eta[k];
          s1[k] += weight * sigma[k];
          s2[k] += weight * sigma[k] * sigma[k];
        }
        for (size_t p = 0; p < num_points; p++) {
          log_density(linear, sigma, K, p, &mean, &variance);
          u1[p] += weight * mean;
          u2[p] += weight * (variance + mean * mean);
        }
      }
  for (size_t k = 0; k < K; k++) {
    exact.mean[k] = e1[k] / total;
    exact.deviation[k] = sqrt(e2[k] / total - exact.mean[k] * exact.mean[k]);
    exact.sigma_mean[k] = s1[k] / total;
    exact.sigma_deviation[k] = sqrt(s2[k] / total - exact.sigma_mean[k] * exact.sigma_mean[k]);
  }
  for (size_t p = 0; p < num_points; p++) {
    exact.u_mean[p] = u1[p] / total;
    exact.u_deviation[p] = sqrt(u2[p] / total - exact.u_mean[p] * exact.u_mean[p]);
  }
  exact.log_total = top + log(total) + (double)K * log(2 * reach / (double)num_cells);
  free(values);
  return exact;
}

/* Draws of a method against the exact answer; independent: so many independent draws they are worth. */
static void check_draws(const RpinnRun *run, const Exact *exact, double independent) {
  const RpinnPosterior *posterior = run->posteriors[0];
  for (size_t k = 0; k < posterior->num_noises; k++) {
    size_t at = run->outputs.unknown_start + posterior->problem->num_unknowns + k;
    double deviation = exact->sigma_deviation[k];
    check_close(run->results.mean[at], exact->sigma_mean[k], 4 * deviation / sqrt(independent));
    check_relative(run->results.deviation[at], deviation, 6 / sqrt(2 * independent)); /* s has a tail */
  }
  for (size_t p = 0; p < run->outputs.num_points; p++) {
    check_close(run->results.mean[p], exact->u_mean[p], 4 * exact->u_deviation[p] / sqrt(independent));
    check_relative(run->results.deviation[p], exact->u_deviation[p], 5 / sqrt(2 * independent));
  }
}

static RpinnRun *made_again(const RunBench *bench, const char *name, const char *yaml, const char *settings) {
  RpinnRun *run;
  run_make(bench, name, yaml, settings);
  run_require(bench, rpinn_run_reopen(bench->context, run_path(bench, name, NULL), &run));
  return run;
}

/* ---- one noise ---- */

/* Mode, density and draws of laplace and rPINN, which are the same ones; weights that know it. */
static void one_noise_is_exact(void **state) {
  RunBench *bench = *state;
  RpinnRun *run = made_again(bench, "laplace", linear_yaml, ""),
           *members = made_again(bench, "rpinn", linear_yaml, "method=rpinn");
  const RpinnPosterior *posterior = run->posteriors[0];
  const RpinnNoisePosterior *learnt = &run->noise.posterior;
  Linear linear = linear_of(run->posteriors[0]);
  Exact exact = integrate(posterior, &linear, 4000, 4);
  double step = 2 * 4.0 / 4000, mean, variance;
  check_close(learnt->mode[0], exact.mode[0], 1.01 * step);
  check_relative(json_number(run_json(bench, "laplace"), "noise/d/estimate"), exp(learnt->mode[0]), 1e-14);
  for (double u = -3; u <= 3; u += 0.75) {
    double eta = exact.mean[0] + u * exact.deviation[0], sigma = exp(eta), z = (eta + 2) / 1.5;
    double expected = log_density(&linear, &sigma, 1, 0, &mean, &variance) - 0.5 * z * z - exact.log_total;
    check_close(rpinn_noise_posterior_log_density(learnt, &eta), expected, 0.01);
  }
  check_draws(run, &exact, 1000);
  check_draws(members, &exact, 1000);
  for (size_t i = 0; i < run->outputs.num_values; i++) /* the draws of rPINN's members */
    check_close(run->results.mean[i], members->results.mean[i], 1e-6);
  const RpinnJsonValue *summary = run_json(bench, "rpinn");
  check_true(json_number(summary, "weights/effective_size") > 999.9,
             "draws of a linear model weigh the same");
  check_relative(json_number(summary, "unknowns/noise_d/mean"), exact.sigma_mean[0], 0.05);
  rpinn_run_destroy(run);
  rpinn_run_destroy(members);
}

static void nuts_samples_it(void **state) {
  RunBench *bench = *state;
  RpinnRun *run = made_again(bench, "nuts", linear_yaml,
                             "method=nuts warmup=500 samples=1500 chains=2 optimizer=adam start=prior");
  Linear linear = linear_of(run->posteriors[0]);
  Exact exact = integrate(run->posteriors[0], &linear, 4000, 4);
  const RpinnJsonValue *summary = run_json(bench, "nuts");
  check_true(json_number(summary, "chains/max_rhat") < 1.03, "the chains mix");
  double size = json_number(summary, "chains/min_ess_bulk");
  check_true(size > 300, "only %g effective draws", size);
  check_draws(run, &exact, size);
  rpinn_run_destroy(run);
}

/* Particles find about where it is; their spread is no promise. */
static void svgd_moves_it(void **state) {
  RunBench *bench = *state;
  RpinnRun *run =
      made_again(bench, "svgd", linear_yaml,
                 "method=svgd samples=40 optimizer=adam learning_rate=0.02 iterations=1500 start=glorot");
  Linear linear = linear_of(run->posteriors[0]);
  Exact exact = integrate(run->posteriors[0], &linear, 1000, 4);
  size_t at = run->outputs.unknown_start;
  check_close(run->results.mean[at], exact.sigma_mean[0], 1.5 * exact.sigma_deviation[0]);
  check_true(run->results.deviation[at] > 0.1 * exact.sigma_deviation[0], "particles differ in their noise");
  rpinn_run_destroy(run);
}

static void joint_energy(RpinnContext *context, const RpinnMemberSlots *slots, const double *theta,
                         double *value, double *gradient) {
  const size_t slot = 0;
  assert_int_equal(slots->joint.evaluate(context, slots->joint.data, 1, &slot, &theta, value, &gradient),
                   RPINN_OK);
}

/* E(theta, eta) and its slopes against differences, and against the sum by hand. */
static void joint_energy_has_its_slopes(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(two_yaml, NULL);
  bench_build(&bench);
  RpinnPosterior *posterior = bench.posterior;
  RpinnMemberSlots *slots;
  assert_int_equal(rpinn_member_slots_create(bench.context, posterior, &slots), RPINN_OK);
  size_t N = posterior->model.num_parameters;
  double theta[MOST_PARAMETERS + 2], gradient[MOST_PARAMETERS + 2], value, above, below, parts[3], plain;
  assert_int_equal(slots->joint.num_parameters, N + 2);
  for (size_t j = 0; j < N + 2; j++) theta[j] = 0.3 * sin((double)j) - (j >= N);
  joint_energy(bench.context, slots, theta, &value, gradient);
  for (size_t j = 0; j < N + 2; j++) {
    double kept = theta[j];
    theta[j] = kept + 1e-6;
    joint_energy(bench.context, slots, theta, &above, NULL);
    theta[j] = kept - 1e-6;
    joint_energy(bench.context, slots, theta, &below, NULL);
    theta[j] = kept;
    check_close(gradient[j], (above - below) / 2e-6, 1e-5 * (1 + fabs(gradient[j])));
  }
  rpinn_posterior_set_noise(posterior, NULL); /* parts at the starts, scaled to eta by hand */
  assert_int_equal(rpinn_posterior_energy(NULL, posterior, theta, NULL, &plain, NULL, parts), RPINN_OK);
  double expected = parts[2];
  for (size_t k = 0; k < 2; k++) {
    const RpinnNoiseLevel *noise = &posterior->noises[k];
    double ratio = noise->start / exp(theta[N + k]), z = (theta[N + k] - log(noise->start)) / 3;
    expected += parts[k] * ratio * ratio + (k ? 14 : 12) * theta[N + k] + 0.5 * z * z;
  }
  check_relative(value, expected, 1e-12);
  bench_close(&bench);
}

/* ---- several ---- */

static void two_noises_are_learnt_together(void **state) {
  RunBench *bench = *state;
  RpinnRun *run = made_again(bench, "two", two_yaml, "");
  Linear linear = linear_of(run->posteriors[0]);
  Exact exact = integrate(run->posteriors[0], &linear, 160, 2);
  for (size_t k = 0; k < 2; k++) check_close(run->noise.posterior.mode[k], exact.mode[k], 4.0 / 160);
  check_draws(run, &exact, 700); /* independent but for their covariance: not exact, and close */
  rpinn_run_destroy(run);
}

/* s of the joint minimum over theta and s, which is where s^2 is the mean square of the residuals of its own minimiser. */
static double joint_minimum(const Linear *linear, double sigma) {
  for (int round = 0; round < 50; round++) {
    double squares = 0, mean, variance;
    for (size_t i = 0; i < linear->M; i++) { /* u at the data: B = A */
      Linear there = *linear;
      memcpy(there.B[0], linear->A[i], sizeof there.B[0]);
      log_density(&there, &sigma, 1, 0, &mean, &variance);
      squares += (linear->d[i] - mean) * (linear->d[i] - mean);
    }
    sigma = sqrt(squares / (double)linear->M);
  }
  return sigma;
}

/* Over data sets the estimate is not biased, where the joint minimum is. */
static void it_is_recovered_over_data_sets(void **state) {
  RunBench *bench = *state;
  enum { SETS = 60 };
  static const char yaml[] =
      "name: line\n"
      "coordinates: {x: [-1, 1]}\n"
      "fields: {u: {network: [12], activation: tanh, trainable: output}}\n"
      "truth: {u: 0.7*x}\n"
      "terms: {d: {expect: u, at: {grid: 20}, data: truth, noise: {unknown: true, truth: 0.1}}}\n"
      "predict: {grid: 3, quantities: [u]}\n"
      "settings: {likelihood: noise, prior_scale: 2, prior_shape: iid, scale_fields: 'no', precision: "
      "double, seed: 2,"
      " method: map, threads: 1, optimizer: lm, iterations: 200, start: prior}\n";
  double sum = 0, square = 0, joint = 0;
  for (int set = 0; set < SETS; set++) {
    char name[32], settings[64];
    snprintf(name, sizeof name, "set%d", set);
    snprintf(settings, sizeof settings, "noise_seed=%d", 1000 + set);
    RpinnRun *run = made_again(bench, name, yaml, settings);
    Linear linear = linear_of(run->posteriors[0]);
    double ratio = exp(run->noise.posterior.mode[0]) / 0.1;
    sum += ratio / SETS;
    square += ratio * ratio / SETS;
    joint += joint_minimum(&linear, 0.1) / 0.1 / SETS;
    check_close(run->results.mean[run->outputs.unknown_start], 0.1 * ratio,
                1e-12); /* what the MAP is made with */
    rpinn_run_destroy(run);
  }
  double error = sqrt((square - sum * sum) / (SETS - 1));
  print_message("s / truth over %d data sets: %.4f +- %.4f; of joint minima %.4f\n", SETS, sum, error, joint);
  check_close(sum, 1, 3 * error);
  check_true(error < 0.04 && joint < sum - 0.04, "the joint minimum is lower");
}

/* ---- files ---- */

/* Every draw by its own noise: log likelihoods, losses, and the bands of measurements, made here from what the file holds. */
static void files_have_it(void **state) {
  RunBench *bench = *state;
  enum { DRAWS = 60, ROWS = 16 };
  run_make(bench, "run", linear_yaml, "method=rpinn samples=60");
  double noise[DRAWS], logarithm[DRAWS], likelihood[DRAWS * ROWS], u[DRAWS * ROWS], d[ROWS], least = 1e9,
                                                                                             most = 0;
  read_numbers(bench, "run", "/posterior", "noise_d", DRAWS, noise);
  read_numbers(bench, "run", "/unconstrained_posterior", "noise_d", DRAWS, logarithm);
  read_numbers(bench, "run", "/log_likelihood", "d", DRAWS * ROWS, likelihood);
  read_numbers(bench, "run", "/predictions", "u", DRAWS * ROWS, u); /* at the points of d */
  read_numbers(bench, "run", "/observed_data", "d", ROWS, d);
  for (size_t k = 0; k < DRAWS; k++) {
    check_relative(noise[k], exp(logarithm[k]), 1e-14);
    least = fmin(least, noise[k]);
    most = fmax(most, noise[k]);
    for (size_t i = 0; i < ROWS; i++) {
      double row = (u[k * ROWS + i] - d[i]) / noise[k];
      check_close(likelihood[k * ROWS + i], -0.5 * row * row - log(noise[k]) - 0.91893853320467274178, 1e-9);
    }
  }
  check_true(most > 1.3 * least, "members have noise of their own");
  const RpinnCsvTable *table = run_csv(bench, "run", "predictions.csv");
  for (size_t i = 0; i < ROWS; i += 5) {
    double low = 0, high = 0;
    for (size_t k = 0; k < DRAWS; k++) {
      double scale = noise[k] * sqrt(2);
      low += 0.5 * erfc(-(csv_number(table, i, "u_predictive_q025") - u[k * ROWS + i]) / scale) / DRAWS;
      high += 0.5 * erfc(-(csv_number(table, i, "u_predictive_q975") - u[k * ROWS + i]) / scale) / DRAWS;
    }
    check_close(low, 0.025, 1e-7);
    check_close(high, 0.975, 1e-7);
    check_true(csv_number(table, i, "u_predictive_q975") > csv_number(table, i, "u_q975"),
               "wider with noise");
  }
  const RpinnJsonValue *summary = run_json(bench, "run");
  check_close(json_number(summary, "noise/d/truth"), 0.2, 0);
  check_close(json_number(summary, "noise/d/prior_mean"), -2, 0);
  assert_false(json_flag(summary, "noise/d/all_noise"));
  check_relative(json_number(summary, "sigmas/terms/d"), json_number(summary, "noise/d/estimate"), 1e-14);
  assert_non_null(strstr(run_read(bench, "run", "run.yaml"),
                         "noise: {unknown: true, truth: 0.2, prior: {mean: -2, std: 1.5}}"));
  /* The constant beside them is what was learnt, whoever made the last draw. */
  double sigma;
  read_numbers(bench, "run", "/constant_data", "d_sigma", 1, &sigma);
  for (size_t k = 1; k <= 3; k++) {
    char name[16], settings[64];
    double other;
    snprintf(name, sizeof name, "threads%zu", k);
    snprintf(settings, sizeof settings, "method=rpinn samples=%zu threads=%zu", 59 + k, k);
    run_make(bench, name, linear_yaml, settings);
    read_numbers(bench, name, "/constant_data", "d_sigma", 1, &other);
    check_close(other, sigma, 0);
  }
}

/* The warmup has its noise in a group of its own, and changes nothing about that of the draws. */
static void warmup_keeps_its_noise_apart(void **state) {
  RunBench *bench = *state;
  enum { CHAINS = 2, WARMUP = 30, DRAWS = 20 };
  double warmup[CHAINS * WARMUP], noise[CHAINS * DRAWS], alone[CHAINS * DRAWS], logarithm[CHAINS * DRAWS];
  run_make(bench, "alone", linear_yaml, "method=nuts chains=2 warmup=30 samples=20 optimizer=adam");
  run_make(bench, "kept", linear_yaml,
           "method=nuts chains=2 warmup=30 samples=20 optimizer=adam keep_warmup=yes");
  read_numbers(bench, "alone", "/posterior", "noise_d", CHAINS * DRAWS, alone);
  read_numbers(bench, "kept", "/posterior", "noise_d", CHAINS * DRAWS, noise);
  read_numbers(bench, "kept", "/unconstrained_posterior", "noise_d", CHAINS * DRAWS, logarithm);
  read_numbers(bench, "kept", "/warmup_posterior", "noise_d", CHAINS * WARMUP, warmup);
  for (size_t k = 0; k < CHAINS * DRAWS; k++) {
    check_close(noise[k], alone[k], 0);
    check_relative(noise[k], exp(logarithm[k]), 1e-14);
  }
  for (size_t k = 0; k < CHAINS * WARMUP; k++) assert_true(warmup[k] > 0 && isfinite(warmup[k]));
}

/* Bands of measurements with known noise: by row where it is an expression, none where nothing measures the quantity. */
static void known_noise_has_predictive_bands(void **state) {
  RunBench *bench = *state;
  static const char yaml[] = "name: known\n"
                             "coordinates: {x: [-1, 1]}\n"
                             "fields: {u: {network: [5], activation: tanh, trainable: output}}\n"
                             "quantities: {v: \"d(u, x)\"}\n"
                             "terms:\n"
                             "  exact: {expect: v, at: {points: [0]}, data: 1, noise: 0.1}\n"
                             "  d: {expect: u, at: {grid: 7}, data: x, perturb: true, noise: 0.3*(2 + x)}\n"
                             "predict: {grid: 3, quantities: [u, v]}\n"
                             "settings: {likelihood: noise, prior_scale: 0.001, prior_shape: iid, "
                             "scale_fields: 'no', precision: double, seed: 4,"
                             " samples: 100, threads: 1, method: laplace}\n";
  run_make(bench, "run", yaml, "");
  const RpinnCsvTable *table = run_csv(bench, "run", "predictions.csv");
  for (size_t p = 0; p < 3;
       p++) { /* with so narrow a prior u is nearly known, and the noise is all there is */
    double x = (double)p - 1, half = 1.95996398454 * 0.3 * (2 + x);
    check_close(csv_number(table, p, "u_predictive_q975"), csv_number(table, p, "u_mean") + half,
                1e-3 * half);
    check_close(csv_number(table, p, "u_predictive_q025"), csv_number(table, p, "u_mean") - half,
                1e-3 * half);
  }
  assert_true(rpinn_csv_column(table, "v_predictive_q975") < 0);
}

/* ---- sessions ---- */

static size_t count_lines(const char *text, const char *words) {
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, words)); at++) count++;
  return count;
}

/* Learnt once: a run that goes on ends in the bytes of one that was never stopped. */
static void resumed_runs_do_not_learn_again(void **state) {
  RunBench *bench = *state;
  static const char *const methods[] = {"rpinn", "laplace", "nuts", "ensemble"};
  for (size_t k = 0; k < 4; k++) {
    char few[128], many[128], one[32], two[32];
    snprintf(one, sizeof one, "one_%s", methods[k]);
    snprintf(two, sizeof two, "two_%s", methods[k]);
    const char *more = !strcmp(methods[k], "nuts") ? " warmup=30 chains=2 optimizer=adam" : "";
    snprintf(few, sizeof few, "method=%s samples=6%s threads=1", methods[k], more);
    snprintf(many, sizeof many, "method=%s samples=45%s threads=2", methods[k], more);
    run_make(bench, one, linear_yaml, many);
    run_make(bench, two, linear_yaml, few);
    run_resume(bench, two, linear_yaml, many);
    assert_string_equal(run_read(bench, one, "predictions.csv"), run_read(bench, two, "predictions.csv"));
    double first[90], second[90];
    size_t count = !strcmp(methods[k], "nuts") ? 90 : 45;
    read_numbers(bench, one, "/posterior", "noise_d", count, first);
    read_numbers(bench, two, "/posterior", "noise_d", count, second);
    assert_memory_equal(first, second, count * sizeof *first);
    assert_int_equal(count_lines(run_read(bench, two, "run.log"), "the noise is being learnt"), 1);
  }
}

/* run.yaml is a problem that gives the same draws. */
static void run_yaml_gives_the_same(void **state) {
  RunBench *bench = *state;
  RpinnProblem *problem;
  RpinnRun *run;
  run_make(bench, "run", linear_yaml, "method=rpinn samples=40 prior_scale=evidence");
  run_require(bench, rpinn_problem_load(bench->context, run_path(bench, "run", "run.yaml"), NULL, &problem));
  RpinnRunOptions options = {.folder = run_path(bench, "again", NULL)};
  run_require(bench, rpinn_run(bench->context, problem, &options, &run));
  rpinn_run_destroy(run);
  rpinn_problem_destroy(problem);
  assert_string_equal(run_read(bench, "run", "run.yaml"), run_read(bench, "again", "run.yaml"));
  assert_string_equal(run_read(bench, "run", "predictions.csv"), run_read(bench, "again", "predictions.csv"));
}

/* ---- with the scale of the prior ---- */

/* The scale is chosen with noise found anew for each: its curve is the evidence at the best noise, by laplace's own figures. */
static void scale_and_noise_are_chosen_together(void **state) {
  RunBench *bench = *state;
  RpinnRun *run;
  run_require(bench, run_try(bench, "chosen", linear_yaml, "prior_scale=evidence samples=40",
                             (RpinnRunOptions){0}, &run));
  size_t chosen = run->prior.chosen, compared = 0;
  double reference = (double)NAN;
  assert_true(run->prior.num_trials >= 5);
  for (size_t t = 0; t < run->prior.num_trials; t += 2) {
    char name[32], settings[96];
    snprintf(name, sizeof name, "given%zu", t);
    snprintf(settings, sizeof settings, "prior_scale=%.17g samples=2", run->prior.trials[t].scale);
    const RpinnJsonValue *given = run_make(bench, name, linear_yaml, settings);
    check_close(run->prior.trials[t].leave_one_out, json_number(given, "laplace/leave_one_out"), 1e-3);
    double z = (log(json_number(given, "noise/d/estimate")) + 2) / 1.5;
    /* all rows, and the prior of eta; the tolerance row, which the curve is given, is the rest */
    double evidence = json_number(given, "laplace/log_evidence") - 0.5 * z * z;
    RpinnRun *again;
    run_require(bench, rpinn_run_reopen(bench->context, run_path(bench, name, NULL), &again));
    Linear linear = linear_of(again->posteriors[0]);
    double variance = 0.25, scale = run->prior.trials[t].scale;
    for (size_t j = 0; j < linear.N; j++) variance += scale * scale * linear.A[16][j] * linear.A[16][j];
    double tolerance =
        -0.5 * linear.d[16] * linear.d[16] / variance - 0.5 * log(variance) - 0.91893853320467274178;
    double difference = run->prior.trials[t].log_evidence - (evidence - tolerance);
    if (compared++) check_close(difference, reference, 1e-4);
    reference = difference; /* the same constant for all scales: the units of the tolerance row */
    rpinn_run_destroy(again);
  }
  for (size_t t = 0; t < run->prior.num_trials; t++)
    assert_true(run->prior.trials[t].log_evidence <= run->prior.trials[chosen].log_evidence);
  RpinnRun *members; /* of a linear model they say the same as the minimum */
  run_require(bench, run_try(bench, "members", linear_yaml, "prior_scale=evidence samples=40 method=rpinn",
                             (RpinnRunOptions){0}, &members));
  for (size_t t = 0; t < run->prior.num_trials && t < members->prior.num_trials; t++) {
    check_close(members->prior.trials[t].log_evidence, run->prior.trials[t].log_evidence, 1e-4);
    check_close(members->prior.trials[t].leave_one_out, run->prior.trials[t].leave_one_out, 1e-3);
  }
  rpinn_run_destroy(members);
  rpinn_run_destroy(run);
}

/* ---- collapse, and what is refused ---- */

static void check_refused(const RunBench *bench, const char *yaml, const char *settings, const char *words) {
  RpinnRun *run;
  RpinnStatus status = run_try(bench, "refused", yaml, settings, (RpinnRunOptions){0}, &run);
  check_true(status == RPINN_ERROR_INPUT, "not refused");
  check_true(strstr(run_message(bench), words) != NULL, "'%s' lacks '%s'", run_message(bench), words);
  remove_tree(run_path(bench, "refused", NULL));
}

static void collapses_are_told(void **state) {
  RunBench *bench = *state;
  static const char format[] =
      "name: collapse\n"
      "coordinates: {x: [-1, 1]}\n"
      "fields: {u: {network: [60], activation: tanh, trainable: output}}\n"
      "truth: {u: %s}\n"
      "terms: {d: {expect: u, at: {grid: %s}, data: truth, noise: {unknown: true, truth: %s}}}\n"
      "predict: {grid: 3, quantities: [u]}\n"
      "settings: {likelihood: noise, prior_scale: 2, prior_shape: iid, scale_fields: 'no', precision: "
      "double, seed: 4,"
      " samples: 40, threads: 1, method: laplace}\n";
  char yaml[1024];
  snprintf(yaml, sizeof yaml, format, "x", "6", "1e-12");
  check_refused(bench, yaml, "", "cannot be learnt");
  snprintf(yaml, sizeof yaml, format, "0", "40", "0.5");
  assert_true(json_flag(run_make(bench, "nothing", yaml, ""), "noise/d/all_noise"));
  assert_non_null(strstr(run_read(bench, "nothing", "summary.json"), "The noise of 'd' is learnt as"));
  check_refused(bench, yaml, "prior_scale=evidence", "explains the data as noise");
  check_refused(bench, linear_yaml, "prior_scale=inf method=rpinn", "needs a prior on every parameter");
  check_refused(bench, linear_yaml, "likelihood=uniform",
                "is unknown, which likelihood uniform has no place for");
}

/* The example that is shipped: rate and noise within what their data allow. */
static void the_example_learns_its_noise(void **state) {
  RunBench *bench = *state;
  RpinnOverride overrides[] = {
      {"samples", "3", "test", false}, {"threads", "1", "test", false}, {"method", "laplace", "test", false}};
  RpinnProblemOptions options = {.num_overrides = 3, .overrides = overrides};
  char path[RUN_PATH];
  RpinnProblem *problem;
  RpinnRun *run;
  snprintf(path, sizeof path, "%s/examples/cooling.yaml", getenv("RPINN_SOURCE_DIR"));
  run_require(bench, rpinn_problem_load(bench->context, path, &options, &problem));
  RpinnRunOptions made = {.folder = run_path(bench, "cooling", NULL)};
  run_require(bench, rpinn_run(bench->context, problem, &made, &run));
  rpinn_run_destroy(run);
  rpinn_problem_destroy(problem);
  check_close(json_number(run_json(bench, "cooling"), "noise/readings/estimate"), 1.5, 0.6);
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(one_noise_is_exact),
                                     test_in_folder(nuts_samples_it),
                                     test_in_folder(svgd_moves_it),
                                     cmocka_unit_test(joint_energy_has_its_slopes),
                                     test_in_folder(two_noises_are_learnt_together),
                                     test_in_folder(it_is_recovered_over_data_sets),
                                     test_in_folder(files_have_it),
                                     test_in_folder(warmup_keeps_its_noise_apart),
                                     test_in_folder(known_noise_has_predictive_bands),
                                     test_in_folder(resumed_runs_do_not_learn_again),
                                     test_in_folder(run_yaml_gives_the_same),
                                     test_in_folder(scale_and_noise_are_chosen_together),
                                     test_in_folder(collapses_are_told),
                                     test_in_folder(the_example_learns_its_noise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
