/* What reaches the user of SVGD, by value: the files that all methods have, and the scores along the particles' way. */
#include "hand_files.h"

enum { NUM_PARTICLES = 6, NUM_ITERATIONS = 30 };

static const char *const scores[] = {"rl2", "linf", "mean_std", "lpp", "lpp_table", "coverage"};

/* The last row of svgd_trace.csv is what the particles say in the end; the summary names its numbers and the peaks. */
static void check_trace(const HandRun *run) {
  const RpinnCsvTable *table = run_csv(run->bench, run->name, "svgd_trace.csv");
  const RpinnJsonValue *particles = json_at(run->summary, "particles");
  size_t last = table->num_rows - 1;
  assert_int_equal(table->num_rows, NUM_ITERATIONS); /* each of so few */
  assert_int_equal(table->num_columns, 4 + 2 * 6);
  for (size_t row = 0; row < table->num_rows; row++)
    check_same(csv_number(table, row, "iteration"), (double)(row + 1), 0, "iteration");
  check_same(json_number(particles, "iterations"), NUM_ITERATIONS, 0, "iterations");
  check_same(json_number(particles, "mean_log_density"), csv_number(table, last, "mean_log_density"), 0,
             "mean_log_density");
  check_same(json_number(particles, "bandwidth"), csv_number(table, last, "bandwidth"), 0, "bandwidth");
  assert_true(csv_number(table, last, "bandwidth") > 0 && csv_number(table, last, "mean_norm") > 0);
  static const char *const names[] = {"u", "flux"};
  for (size_t q = 0; q < 2; q++) {
    char column[64], path[96];
    size_t best = 0;
    snprintf(column, sizeof column, "%s_lpp", names[q]);
    for (size_t row = 0; row < table->num_rows; row++)
      if (csv_number(table, row, column) > csv_number(table, best, column)) best = row;
    for (size_t k = 0; k < 6; k++) {
      snprintf(column, sizeof column, "%s_%s", names[q], scores[k]);
      snprintf(path, sizeof path, "quantities/%s/%s", names[q], scores[k]);
      check_same(csv_number(table, last, column), json_number(run->summary, path), 1e-12, path);
      snprintf(path, sizeof path, "particles/lpp_peaks/%s/%s", names[q], scores[k]);
      check_same(json_number(run->summary, path), csv_number(table, best, column), 0, path);
    }
    snprintf(path, sizeof path, "particles/lpp_peaks/%s/iteration", names[q]);
    check_same(json_number(run->summary, path), (double)(best + 1), 0, path);
  }
}

/* A particle has no offsets: its loss is the energy, and the log density of the trace is that of the last but one move. */
static void check_losses(const HandRun *run) {
  const double *loss = hand_numbers(run, "sample_stats/loss", NUM_PARTICLES),
               *norm = hand_numbers(run, "sample_stats/gradient_norm", NUM_PARTICLES),
               *iterations = hand_numbers(run, "sample_stats/iterations", NUM_PARTICLES),
               *member = hand_numbers(run, "sample_stats/member", NUM_PARTICLES);
  double mean = 0;
  for (size_t i = 0; i < NUM_PARTICLES; i++) {
    double theta[32], gradient[32], energy, square = 0;
    hand_theta(run, i, theta);
    bench_require(&run->problem,
                  rpinn_posterior_energy(run->problem.context, run->problem.posterior, theta, NULL, &energy,
                                         gradient, NULL),
                  "energy");
    for (size_t j = 0; j < run->num_weights + 2; j++) square += gradient[j] * gradient[j];
    double by_hand = hand_check_likelihood(run, "level", 6, i) + hand_check_likelihood(run, "law", 5, i) +
                     hand_prior_energy(run, i);
    check_same(loss[i], by_hand, 1e-9, "loss");
    check_same(norm[i], sqrt(square), 1e-9, "gradient_norm");
    check_same(iterations[i], NUM_ITERATIONS, 0, "iterations");
    check_same(member[i], (double)i, 0, "member");
    mean -= energy / NUM_PARTICLES;
  }
  double found = json_number(run->summary, "particles/mean_log_density");
  check_true(fabs(found - mean) < 0.1 * fabs(mean), "%g beside %g", found, mean);
  check_same(json_number(run->summary, "members/loss_median"), hand_quantile(NUM_PARTICLES, loss, 0.5), 1e-12,
             "loss_median");
  check_same(json_number(run->summary, "members/iterations"), NUM_ITERATIONS, 0, "iterations");
}

static void files_of_particles(void **state) {
  RunBench *bench = *state;
  run_make(bench, "run", hand_yaml, "method=svgd samples=6 iterations=30 learning_rate=0.02");
  HandRun run = hand_open(bench, "run");
  hand_check_files(&run, "svgd", NUM_PARTICLES);
  assert_string_equal(json_text(run.summary, "particles/repulsion"), "divided");
  check_trace(&run);
  check_losses(&run);
  hand_close(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(files_of_particles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
