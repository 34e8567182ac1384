/* What reaches the user of SVGD, by value: the files that all methods have, and the scores along the particles' way. */
#include "hand_files.h"

#include "particle_trace.h"
#include "rpinn/stein.h"

enum { NUM_PARTICLES = 6, NUM_ITERATIONS = 30 };

static const char *const scores[] = {"rl2", "linf", "mean_std", "lpp", "lpp_table", "coverage"};

/* The last row of svgd_trace.csv is what the particles say in the end; the summary names its numbers and the peaks. */
static void check_trace(const HandRun *run) {
  const RpinnCsvTable *table = run_csv(run->bench, run->name, "svgd_trace.csv");
  const RpinnJsonValue *particles = json_at(run->summary, "particles");
  size_t last = table->num_rows - 1;
  assert_int_equal(table->num_rows, NUM_ITERATIONS); /* each of so few */
  assert_int_equal(table->num_columns, 5 + 2 * 6);
  for (size_t row = 0; row < table->num_rows; row++)
    check_same(csv_number(table, row, "iteration"), (double)(row + 1), 0, "iteration");
  check_same(json_number(particles, "iterations"), NUM_ITERATIONS, 0, "iterations");
  check_same(json_number(particles, "mean_log_density"), csv_number(table, last, "mean_log_density"), 0,
             "mean_log_density");
  check_same(json_number(particles, "bandwidth"), csv_number(table, last, "bandwidth"), 0, "bandwidth");
  check_same(json_number(particles, "stein_discrepancy"), csv_number(table, last, "stein_discrepancy"), 0,
             "stein_discrepancy");
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

/* Particles that end after 29 iterations are where the discrepancy of the thirtieth is taken. */
static void discrepancy_is_that_of_the_particles(void **state) {
  RunBench *bench = *state;
  static double thetas[NUM_PARTICLES * 32], gradients[NUM_PARTICLES * 32];
  double energy;
  RpinnSteinDiscrepancy expected;
  run_make(bench, "whole", hand_yaml, "method=svgd samples=6 iterations=30 learning_rate=0.02");
  run_make(bench, "shorter", hand_yaml, "method=svgd samples=6 iterations=29 learning_rate=0.02");
  HandRun run = hand_open(bench, "shorter");
  size_t N = run.num_weights + 2;
  for (size_t i = 0; i < NUM_PARTICLES; i++) {
    hand_theta(&run, i, thetas + i * N);
    bench_require(&run.problem,
                  rpinn_posterior_energy(run.problem.context, run.problem.posterior, thetas + i * N, NULL,
                                         &energy, gradients + i * N, NULL),
                  "energy");
    for (size_t j = 0; j < N; j++) gradients[i * N + j] *= -1;
  }
  assert_int_equal(
      rpinn_stein_discrepancy(run.problem.context, NUM_PARTICLES, N, thetas, gradients, &expected), RPINN_OK);
  hand_close(&run);
  const RpinnCsvTable *table = run_csv(bench, "whole", "svgd_trace.csv");
  check_relative(csv_number(table, NUM_ITERATIONS - 1, "stein_discrepancy"), expected.value, 1e-9);
}

/* ---- states ---- */

/* Rows of an earlier version, which are one number shorter, and a trace that is saved now; particles behind both. */
static void traces_of_earlier_versions_are_read(void **state) {
  (void)state;
  enum { OLD = 4 + RPINN_TRACE_SCORES, NEW = 5 + RPINN_TRACE_SCORES, ROWS = 2 };
  RpinnContext *context = rpinn_context_create();
  double rows[ROWS * NEW];
  RpinnParticleTrace trace = {.width = NEW, .rows = rows};
  struct Old {
    uint64_t num_rows;
    double rows[ROWS * OLD], particle;
  } old = {.num_rows = ROWS, .particle = 77};
  size_t used;
  for (size_t k = 0; k < (size_t)ROWS * OLD; k++) old.rows[k] = (double)(1 + k);
  assert_int_equal(rpinn_particle_trace_restore(context, &trace, (char *)&old, sizeof old, &used), RPINN_OK);
  assert_int_equal(used, offsetof(struct Old, particle));
  assert_int_equal(trace.num_rows, ROWS);
  for (size_t i = 0; i < ROWS; i++) {
    const double *row = rows + i * NEW;
    for (size_t k = 0; k < 4; k++) assert_true(row[k] == old.rows[i * OLD + k]);
    assert_true(isnan(row[RPINN_TRACE_DISCREPANCY]));
    for (size_t k = 4; k < OLD; k++) assert_true(row[k + 1] == old.rows[i * OLD + k]);
    rows[i * NEW + RPINN_TRACE_DISCREPANCY] = 0.25;
  }
  char saved[512];
  double again[ROWS * NEW];
  RpinnParticleTrace other = {.width = NEW, .rows = again};
  size_t size = rpinn_particle_trace_size(&trace);
  assert_true(size < sizeof saved);
  rpinn_particle_trace_save(&trace, saved);
  assert_int_equal(rpinn_particle_trace_restore(context, &other, saved, size + 1, &used), RPINN_OK);
  assert_int_equal(used, size);
  assert_memory_equal(again, rows, sizeof rows);
  for (size_t cut = 0; cut < size; cut++)
    assert_int_equal(rpinn_particle_trace_restore(context, &other, saved, cut, &used), RPINN_ERROR_INPUT);
  rpinn_context_destroy(context);
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
  const struct CMUnitTest tests[] = {test_in_folder(files_of_particles),
                                     test_in_folder(discrepancy_is_that_of_the_particles),
                                     cmocka_unit_test(traces_of_earlier_versions_are_read)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
