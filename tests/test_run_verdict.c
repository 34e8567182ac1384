/* The evidence of runs against what is known of them: a model that is linear in its parameters, for which the left-out rows have
 * a closed form, at one point and over members; members that had not converged; a prior that presses. */
#include "problem_bench.h"
#include "temporary_folder.h"

#include "linearisation.h"
#include "member_gain.h"
#include "member_statistics.h"
#include "run_record.h"

/* Output weights alone are free: linear in them. */
static const char linear[] =
    "name: linear\ncoordinates: {x: [0, 2]}\nfields:\n  u: {network: [12], trainable: output}\n"
    "truth: {u: 2*sin(2*x)}\nterms:\n"
    "  d: {expect: u, at: {grid: 9}, data: truth, noise: 0.2}\n"
    "  slope: {expect: \"d(u, x)\", at: {grid: 7}, data: truth, noise: 0.5}\n"
    "predict: {grid: 11, quantities: [u]}\n";

typedef struct MadeRun {
  ProblemBench bench;
  RpinnRun *run;
} MadeRun;

/* Settings: pairs of name and value, ended by NULL. */
static MadeRun make_run(const char *text, const char *const *settings) {
  static size_t num_folders;
  char folder[32];
  RpinnOverride overrides[20] = {{"threads", "1", "test", true},
                                 {"backend", "plain", "test", true},
                                 {"likelihood", "noise", "test", true},
                                 {"scale_fields", "no", "test", true},
                                 {"prior_shape", "iid", "test", true}};
  RpinnProblemOptions options = {.num_overrides = 5, .overrides = overrides};
  for (size_t k = 0; settings[k]; k += 2)
    overrides[options.num_overrides++] = (RpinnOverride){settings[k], settings[k + 1], "test", true};
  snprintf(folder, sizeof folder, "run%zu", ++num_folders);
  MadeRun made = {.bench = bench_parse(text, &options)};
  RpinnRunOptions run_options = {.folder = folder};
  bench_require(&made.bench, rpinn_run(made.bench.context, made.bench.problem, &run_options, &made.run),
                "run");
  return made;
}

static void close_run(MadeRun *made) {
  rpinn_run_destroy(made->run);
  bench_close(&made->bench);
}

/* Mean of z and of z^2 of a term, in closed form. */
static void find_exactly(const MadeRun *made, size_t term, double *mean, double *square) {
  RpinnPosterior *posterior = made->run->posteriors[0];
  RpinnPosteriorMember member = {.posterior = posterior};
  RpinnLeastSquares squares = rpinn_posterior_least_squares(&member);
  RpinnLinearisation *linearisation;
  double *theta = calloc(squares.num_parameters, sizeof *theta);
  size_t first = 0, count = posterior->model.terms[term].num_rows;
  for (size_t t = 0; t < term; t++) first += posterior->model.terms[t].num_rows;
  assert_int_equal(rpinn_linearisation_create(&squares, theta, &linearisation), RPINN_OK);
  *mean = *square = 0;
  for (size_t i = first; i < first + count; i++) {
    double z = rpinn_linearisation_leave_out(linearisation, i).z;
    *mean += z / (double)count;
    *square += z * z / (double)count;
  }
  rpinn_linearisation_destroy(linearisation);
  free(theta);
}

static void rows_that_others_foretell(void **state) {
  (void)state;
  const char *const laplace[] = {"method", "laplace", "samples", "40", "prior_scale", "2", NULL};
  const char *const members[] = {"method", "rpinn", "samples", "64",         "prior_scale", "2", "optimizer",
                                 "lm",     "start", "prior",   "iterations", "50",          NULL};
  for (int k = 0; k < 2; k++) {
    MadeRun made = make_run(linear, k ? members : laplace);
    for (size_t t = 0; t < 2; t++) {
      const RpinnTermEvidence *term = &made.run->rows.terms[t];
      double mean, square;
      find_exactly(&made, t, &mean, &square);
      /* 16 members leave some chance */
      check_true(fabs(term->z_mean - mean) < (k ? 0.2 : 1e-6), "z of term %zu: %g, expected %g", t,
                 term->z_mean, mean);
      check_true(fabs(term->z_square / square - 1) < (k ? 0.4 : 1e-6), "z^2 of term %zu: %g, expected %g", t,
                 term->z_square, square);
      assert_true(term->num_rows == (t ? 7 : 9) && term->is_measured);
    }
    assert_int_equal(rpinn_run_verdict(made.run)->word, RPINN_VERDICT_GOOD);
    assert_true(made.run->rows.misfit_of_nothing > 30 && made.run->rows.misfit < 3);
    close_run(&made);
  }
}

/* Those with a budget of some steps of Adam had much to gain, minimisers of Levenberg–Marquardt nothing. */
static void what_members_had_to_gain(void **state) {
  (void)state;
  const char *const hasty[] = {"method", "rpinn", "samples", "40",         "prior_scale", "2", "optimizer",
                               "adam",   "start", "glorot",  "iterations", "200",         NULL};
  const char *const patient[] = {"method", "rpinn", "samples", "40",         "prior_scale", "2", "optimizer",
                                 "lm",     "start", "glorot",  "iterations", "50",          NULL};
  MadeRun made = make_run(linear, hasty);
  const RpinnQuantityEvidence *u = &made.run->rows.quantities[0];
  assert_true(made.run->rows.num_unconverged == 40);
  assert_true(made.run->rows.median_gain > 0.5);
  assert_true(u->shift > 0.75 && isnan(u->leaning));
  assert_int_equal(made.run->verdict.word, RPINN_VERDICT_BAD);
  close_run(&made);
  made = make_run(linear, patient);
  u = &made.run->rows.quantities[0];
  assert_true(made.run->rows.num_unconverged == 0);
  assert_true(made.run->rows.median_gain < 1e-3);
  assert_true(isnan(u->shift) && !(u->leaning > 1));
  close_run(&made);
}

/* With a prior of a tenth of what the data ask for, half of its pull moves predictions far. */
/* The bound by the gradient is 0.5 * 0.5^2 * 2^2. */
static void gains_by_stop(void **state) {
  const RpinnGainRule rule = {.progress_tolerance = 1e-4, .progress_amount = 0.1, .widest_prior = 2};
  static const struct {
    RpinnStop stop;
    double loss, gain;
  } cases[] = {{RPINN_STOP_GRADIENT_SMALL, 20, 0.5}, {RPINN_STOP_DECREASE_SMALL, 20, 0.1},
               {RPINN_STOP_NO_PROGRESS, 20, 0.1},    {RPINN_STOP_NO_PROGRESS, 3000, 0.3},
               {RPINN_STOP_NO_PROGRESS, 1e6, 0.5},   {RPINN_STOP_BUDGET, 20, 0.25},
               {RPINN_STOP_BUDGET, 10, 0.5}};
  double trace[] = {0, 50, 90, 20.25, 95, 20.125}; /* the last tenth of 100 iterations begins at 20.25 */
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    double statistics[RPINN_NUM_MEMBER_STATISTICS] = {0};
    statistics[RPINN_MEMBER_LOSS] = cases[k].loss;
    statistics[RPINN_MEMBER_GRADIENT_NORM] = 0.5;
    statistics[RPINN_MEMBER_ITERATIONS] = 100;
    RpinnStoredMember member = {.statistics = statistics,
                                .num_statistics = RPINN_NUM_MEMBER_STATISTICS,
                                .num_trace = 3,
                                .trace = trace,
                                .stop = rpinn_stop_name(cases[k].stop)};
    check_close(rpinn_member_gain(&rule, &member), cases[k].gain, 1e-15);
  }
}

static void prior_that_presses(void **state) {
  (void)state;
  const char *const narrow[] = {"method", "rpinn", "samples", "40",         "prior_scale", "0.1", "optimizer",
                                "lm",     "start", "prior",   "iterations", "50",          NULL};
  MadeRun made = make_run(linear, narrow);
  assert_true(made.run->rows.energy > 1.2 * 16);
  assert_true(made.run->rows.quantities[0].leaning > 1.5);
  assert_int_equal(made.run->verdict.word, RPINN_VERDICT_BAD);
  close_run(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_that_others_foretell),
                                     cmocka_unit_test(what_members_had_to_gain),
                                     cmocka_unit_test(gains_by_stop), cmocka_unit_test(prior_that_presses)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
