/* What reaches the user, by value: each number of posterior.nc, summary.json and the tables of a run of members, against
 * one made by hand from the draws in posterior.nc. */
#include "hand_files.h"

enum { NUM_MEMBERS = 42 };

/* The loss of a member is the energy with its own offsets, in parts by terms and prior; its gradient is that of this. */
static void check_losses(const HandRun *run, bool has_offsets) {
  RpinnPosterior *posterior = run->problem.posterior;
  size_t M = posterior->model.num_rows, N = posterior->model.num_parameters, count = hand_total(run);
  const double *member = hand_numbers(run, "sample_stats/member", count),
               *loss = hand_numbers(run, "sample_stats/loss", count),
               *norm = hand_numbers(run, "sample_stats/gradient_norm", count);
  double parts[3][NUM_MEMBERS];
  for (size_t i = 0; i < count; i++) {
    double theta[32], offsets[64] = {0}, gradient[32], energy, own[3], square = 0;
    check_same(member[i], (double)i, 0, "member");
    hand_theta(run, i, theta);
    if (has_offsets) rpinn_posterior_draw_offsets(posterior, i, offsets);
    assert_true(M + N <= 64 && N <= 32);
    bench_require(
        &run->problem,
        rpinn_posterior_energy(NULL, posterior, theta, has_offsets ? offsets : NULL, &energy, gradient, own),
        "energy");
    for (size_t j = 0; j < N; j++) square += gradient[j] * gradient[j];
    check_same(loss[i], energy, 1e-9, "loss");
    check_close(norm[i], sqrt(square), 1e-6);
    if (!has_offsets) {
      own[0] = hand_check_likelihood(run, "level", 6, i);
      own[1] = hand_check_likelihood(run, "law", 5, i);
      own[2] = hand_prior_energy(run, i);
      check_same(own[0] + own[1] + own[2], energy, 1e-9, "energy by hand");
    }
    for (size_t k = 0; k < 3; k++) parts[k][i] = own[k];
  }
  const RpinnJsonValue *members = json_at(run->summary, "members");
  check_same(json_number(members, "loss_median"), hand_quantile(count, loss, 0.5), 1e-12, "loss_median");
  check_same(json_number(members, "gradient_norm_median"), hand_quantile(count, norm, 0.5), 1e-12,
             "gradient_norm_median");
  check_same(json_number(members, "term_loss_medians/level"), hand_quantile(count, parts[0], 0.5), 1e-8,
             "level");
  check_same(json_number(members, "term_loss_medians/law"), hand_quantile(count, parts[1], 0.5), 1e-8, "law");
  check_same(json_number(members, "prior_loss_median"), hand_quantile(count, parts[2], 0.5), 1e-8, "prior");
}

static void check_members(const HandRun *run, const char *optimizer) {
  size_t count = hand_total(run);
  const RpinnJsonValue *members = json_at(run->summary, "members");
  const double *iterations = hand_numbers(run, "sample_stats/iterations", count),
               *evaluations = hand_numbers(run, "sample_stats/evaluations", count),
               *converged = hand_numbers(run, "sample_stats/converged", count),
               *attempts = hand_numbers(run, "sample_stats/attempts", count),
               *loss = hand_numbers(run, "sample_stats/loss", count);
  double num_converged = 0, num_retried = 0, num_stops = 0;
  for (size_t i = 0; i < count; i++) {
    assert_true(evaluations[i] >= iterations[i] && iterations[i] > 0);
    num_converged += converged[i];
    num_retried += attempts[i] > 0;
  }
  check_same(json_number(members, "converged"), num_converged, 0, "converged");
  check_same(json_number(members, "retried"), num_retried, 0, "retried");
  check_same(json_number(members, "failed"), 0, 0, "failed");
  check_same(json_number(members, "iterations"), hand_quantile(count, iterations, 0.5), 0, "iterations");
  double seconds = json_number(members, "seconds_median");
  check_true(seconds > 0 && seconds < 30, "seconds_median %g", seconds);
  assert_string_equal(json_text(members, "optimizer"), optimizer);
  assert_string_equal(json_text(members, "start"), "glorot");
  for (const RpinnJsonValue *stop = json_at(members, "stops")->first; stop; stop = stop->next)
    num_stops += stop->number;
  check_same(num_stops, (double)count, 0, "stops");
  /* The way of member 0: from its start down to its loss. */
  const RpinnJsonValue *trace = json_at(members, "first_trace");
  assert_true(trace->count >= 2);
  double last_iteration = -1, last = HUGE_VAL;
  for (const RpinnJsonValue *pair = trace->first; pair; pair = pair->next) {
    assert_int_equal(pair->count, 2);
    assert_true(pair->first->number > last_iteration);
    last_iteration = pair->first->number;
    last = pair->first->next->number;
  }
  check_same(trace->first->first->number, 0, 0, "first iteration");
  assert_true(last_iteration <= iterations[0] && last_iteration > 0.9 * iterations[0]); /* thinned */
  check_same(last, loss[0], 1e-6, "last loss");
}

static void members_with_offsets(void **state) {
  RunBench *bench = *state;
  run_make(bench, "run", hand_yaml, "method=rpinn samples=42 optimizer=lbfgs iterations=3000");
  HandRun run = hand_open(bench, "run");
  hand_check_files(&run, "rpinn", NUM_MEMBERS);
  check_losses(&run, true);
  check_members(&run, "lbfgs");
  check_same(json_number(run.summary, "members/converged"), NUM_MEMBERS, 0, "converged");
  hand_close(&run);
}

static void members_without_offsets(void **state) {
  RunBench *bench = *state;
  run_make(bench, "run", hand_yaml, "method=ensemble samples=42 optimizer=adam iterations=60");
  HandRun run = hand_open(bench, "run");
  hand_check_files(&run, "ensemble", NUM_MEMBERS);
  check_losses(&run, false);
  check_members(&run, "adam");
  check_same(json_number(run.summary, "members/stops/budget"), NUM_MEMBERS, 0, "stops/budget");
  check_same(json_number(run.summary, "members/converged"), 0, 0, "converged");
  check_same(json_number(run.summary, "members/iterations"), 60, 0, "iterations");
  hand_close(&run);
}

/* An interval of 95 % reaches from rank 0.025 (n + 1) to rank 0.975 (n + 1): of 39 draws from the least to the largest, of 38
 * nowhere, and the table says so. */
static void few_draws_have_no_intervals(void **state) {
  RunBench *bench = *state;
  static const struct {
    const char *name, *settings;
    bool has_intervals;
  } cases[] = {{"few", "method=ensemble samples=38 iterations=20", false},
               {"enough", "method=ensemble samples=39 iterations=20", true}};
  for (size_t c = 0; c < 2; c++) {
    run_make(bench, cases[c].name, hand_yaml, cases[c].settings);
    HandRun run = hand_open(bench, cases[c].name);
    const RpinnCsvTable *table = run_csv(bench, cases[c].name, "predictions.csv");
    size_t count = hand_total(&run);
    const double *draws = hand_draws(&run, "u", 1, &hand_predict[0], 0, count);
    double least = draws[0], largest = draws[0], none = (double)NAN;
    for (size_t i = 1; i < count; i++) least = fmin(least, draws[i]), largest = fmax(largest, draws[i]);
    bool has = cases[c].has_intervals;
    check_same(csv_number(table, 0, "u_q025"), has ? least : none, 1e-9, "u_q025");
    check_same(csv_number(table, 0, "u_q975"), has ? largest : none, 1e-9, "u_q975");
    assert_int_equal(isnan(json_number(run.summary, "quantities/u/interval_coverage")), !has);
    assert_int_equal(isnan(json_number(run.summary, "unknowns/k/q025")), !has);
    assert_false(isnan(json_number(run.summary, "quantities/u/coverage"))); /* the mean and two deviations */
    check_same(json_number(run.summary, "interval_draws"), (double)count, 0, "interval_draws");
    char *words = rpinn_run_summary(bench->context, run_path(bench, cases[c].name, NULL), false);
    const char note[] =
        "note: 38 draws have no interval of 95%, which begins at rank 0.025 (n + 1) of n: it takes 39\n";
    check_true((strstr(words, note) != NULL) == !has, "%s", words);
    check_true((strstr(words, ", 95% in [") != NULL) == has, "%s", words);
    free(words);
    hand_close(&run);
  }
}

/* One point has no spread: the cells of it are empty, and fields.vti leaves them out. */
static void one_point_has_no_spread(void **state) {
  RunBench *bench = *state;
  run_make(bench, "run", hand_yaml, "method=map samples=5 optimizer=lm iterations=200");
  HandRun run = hand_open(bench, "run");
  assert_int_equal(hand_total(&run), 1);
  check_same(json_number(run.summary, "samples_asked"), 1, 0, "samples_asked");
  hand_check_predictions(&run);
  hand_check_predictions_csv(&run);
  hand_check_summary_csv(&run);
  assert_true(isnan(json_number(run.summary, "unknowns/k/std")));
  assert_true(isnan(json_number(run.summary, "quantities/u/lpp")));
  const char *image = run_read(bench, "run", "fields.vti");
  assert_null(strstr(image, "u_std"));
  double values[HAND_POINTS];
  hand_vti_array(image, "u_mean", values);
  for (size_t p = 0; p < HAND_POINTS; p++)
    check_close(values[p], hand_value(&run, 0, "u", hand_predict[p]), 1e-9);
  hand_close(&run);
}

/* More draws than are worked on at once: all of them are there, once and in order. */
static void many_members(void **state) {
  RunBench *bench = *state;
  enum { COUNT = 5000 };
  run_make(bench, "run", hand_yaml, "method=ensemble samples=5000 iterations=2 start=normal");
  HandRun run = hand_open(bench, "run");
  assert_int_equal(hand_total(&run), COUNT);
  const double *member = hand_numbers(&run, "sample_stats/member", COUNT),
               *found = hand_numbers(&run, "predictions/u", COUNT * HAND_POINTS);
  for (size_t i = 0; i < COUNT; i++) {
    check_same(member[i], (double)i, 0, "member");
    size_t p = i % HAND_POINTS;
    check_close(found[i * HAND_POINTS + p], hand_value(&run, i, "u", hand_predict[p]), 1e-9);
  }
  const RpinnCsvTable *table = run_csv(bench, "run", "predictions.csv");
  for (size_t p = 0; p < HAND_POINTS; p++) {
    const double *draws = hand_draws(&run, "u", 1, &hand_predict[p], 0, COUNT);
    check_close(csv_number(table, p, "u_mean"), hand_mean(COUNT, draws), 1e-9);
    check_relative(csv_number(table, p, "u_std"), hand_deviation(COUNT, draws), 1e-9);
  }
  check_same(json_number(run.summary, "samples"), COUNT, 0, "samples");
  hand_close(&run);
}

/* Data that draws foretell are the same whichever thread computes a draw, and others under another seed. */
static void foretold_data_know_no_threads(void **state) {
  RunBench *bench = *state;
  static const char *const settings[] = {"method=ensemble samples=42 iterations=20 threads=1",
                                         "method=ensemble samples=42 iterations=20 threads=3",
                                         "method=ensemble samples=42 iterations=20 threads=3 seed=4"};
  const double *foretold[3];
  for (size_t k = 0; k < 3; k++) {
    char name[16];
    snprintf(name, sizeof name, "run%zu", k);
    run_make(bench, name, hand_yaml, settings[k]);
    HandRun run = hand_open(bench, name);
    foretold[k] = hand_numbers(&run, "posterior_predictive/level", NUM_MEMBERS * 6);
    hand_close(&run);
  }
  assert_memory_equal(foretold[0], foretold[1], NUM_MEMBERS * 6 * sizeof(double));
  assert_memory_not_equal(foretold[0], foretold[2], NUM_MEMBERS * 6 * sizeof(double));
}

/* Importance weights of converged members: as they were found, and normalised with a smoothed tail, whose effective size
 * summary.json has. The draws of a Metropolis chain count once each and have none. */
static void members_have_weights(void **state) {
  RunBench *bench = *state;
  run_make(bench, "run", hand_yaml, "method=rpinn samples=42 optimizer=lbfgs iterations=3000");
  HandRun run = hand_open(bench, "run");
  const double *found = hand_numbers(&run, "sample_stats/log_weight", NUM_MEMBERS),
               *smoothed = hand_numbers(&run, "sample_stats/smoothed_log_weight", NUM_MEMBERS);
  double sum = 0, squares = 0, median = hand_quantile(NUM_MEMBERS, found, 0.5), level = (double)NAN;
  for (size_t i = 0; i < NUM_MEMBERS; i++) {
    if (found[i] < median && isnan(level)) level = smoothed[i] - found[i];
    if (found[i] < median) check_close(smoothed[i] - found[i], level, 1e-9); /* not the tail: a constant */
    sum += exp(smoothed[i]);
    squares += exp(2 * smoothed[i]);
    for (size_t j = 0; j < i; j++) /* smoothing keeps their order */
      assert_true((found[i] - found[j]) * (smoothed[i] - smoothed[j]) >= 0);
  }
  assert_false(isnan(level));
  check_close(sum, 1, 1e-12);
  check_same(json_number(run.summary, "weights/effective_size"), 1 / squares, 1e-9, "effective_size");
  hand_close(&run);

  run_make(bench, "chain", hand_yaml, "method=rpinn samples=42 optimizer=lbfgs iterations=3000 correct=mh");
  run = hand_open(bench, "chain");
  int group, id;
  assert_int_equal(nc_inq_grp_full_ncid(run.root, "/sample_stats", &group), NC_NOERR);
  assert_int_equal(nc_inq_varid(group, "log_weight", &id), NC_ENOTVAR);
  hand_close(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(members_with_offsets),
                                     test_in_folder(members_without_offsets),
                                     test_in_folder(few_draws_have_no_intervals),
                                     test_in_folder(one_point_has_no_spread),
                                     test_in_folder(many_members),
                                     test_in_folder(foretold_data_know_no_threads),
                                     test_in_folder(members_have_weights)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
