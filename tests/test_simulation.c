/* Data of parameters from the prior, in every row of every term: on a model that is linear in its parameters the posterior is
 * known exactly, so that ranks of the truth among its draws must be uniform, and must not where it is given another noise than
 * the data have. */
#include "problem_bench.h"

#include "calibrate_state.h"
#include "double_target.h"
#include "linearisation.h"
#include "rank_uniformity.h"

enum { SETS = 60, DRAWS = 79 };

/* Measurements with two kinds of noise, a tolerance, a prior of the field at points, and an unknown. scale_fields maps outputs to the
 * data: those of the file, for every data set. */
static const char line[] =
    "name: line\ncoordinates: {x: [0, 1]}\nfields: {u: {network: [6], trainable: output}}\n"
    "unknowns: {c: {start: 0, prior: {mean: 1, std: 2}}}\ntruth: {u: 3 + x, c: 0.3}\nconstants: {s: 0.1}\n"
    "terms:\n"
    "  u: {expect: u, at: {latin_hypercube: 7}, data: truth, noise: s}\n"
    "  c: {expect: c + 0*u, at: {grid: 3}, data: truth, noise: s*(2 + x)}\n"
    "  slope: {expect: \"d(u, x)\", at: {grid: 4}, data: 1, noise: 0.5}\n"
    "  field: {gaussian: {field: u, covariance: squared_exponential, length: 0.4, mean: 3, variance: 4}, at: "
    "{grid: 5}}\n"
    "predict: {grid: 11, quantities: [u]}\n"
    "settings: {likelihood: noise, prior_scale: 1.5, scale_fields: yes, samples: 79, threads: 1}\n";

static ProblemBench bench_of(size_t data_set, const char *noise) {
  char seed[32];
  snprintf(seed, sizeof seed, "%zu", data_set + 1);
  RpinnOverride overrides[] = {
      {"seed", seed, "test", true}, {"data_seed", "1", "test", true}, {"s", noise, "test", false}};
  RpinnProblemOptions options = {.num_overrides = 3, .overrides = overrides};
  return bench_parse(line, &options);
}

typedef struct Ranks {
  double u[SETS], c[SETS], likelihood[SETS];
} Ranks;

static double rank_among(RpinnKeptDraws *kept, size_t value, double truth, RpinnStream *stream) {
  RpinnCalibrationScore score;
  assert_int_equal(rpinn_calibration_score(kept, value, 1, &truth, NULL, stream, &score), RPINN_OK);
  return score.ranks[0];
}

/* Draws of the posterior of the data, exact because it is Gaussian. */
static void rank_data_set(ProblemBench *bench, const RpinnSimulation *simulation, size_t data_set,
                          Ranks *ranks) {
  bench_build(bench);
  RpinnPosterior *posterior = bench->posterior;
  size_t M = posterior->model.num_rows, N = posterior->model.num_parameters;
  RpinnDrawOutputs outputs;
  RpinnDoubleTarget target;
  RpinnLinearisation *linearisation;
  bench_require(bench, rpinn_draw_outputs_plan(bench->context, posterior, &outputs), "outputs");
  bench_require(bench, rpinn_double_target_open(bench->context, posterior, &target), "target");
  assert_int_equal(rpinn_linearisation_create(&target.squares, posterior->model.prior_mean, &linearisation),
                   RPINN_OK);
  double *work = calloc(2 * M + 2 * N + outputs.num_values, sizeof *work), *noise = work,
         *draw = noise + M + N, *rows = draw + N, *values = rows + M;
  RpinnKeptDraws *kept = rpinn_kept_draws_create(outputs.num_values, 1),
                 *likelihoods = rpinn_kept_draws_create(1, 1);
  RpinnStream stream = rpinn_stream(77, RPINN_PURPOSE_CHECK, data_set, 0);
  for (size_t k = 0; k < DRAWS; k++) {
    rpinn_stream_normals(&stream, M + N, noise);
    assert_int_equal(rpinn_linearisation_draw(linearisation, noise, draw), RPINN_OK);
    assert_int_equal(rpinn_draw_outputs_evaluate(bench->context, &outputs, posterior, draw, values),
                     RPINN_OK);
    assert_int_equal(target.squares.residuals(target.squares.data, draw, rows), RPINN_OK);
    double log_likelihood = 0;
    for (size_t t = 0, row = 0; t < posterior->model.num_terms; t++)
      for (size_t i = 0; i < posterior->terms[t].num_rows; i++, row++)
        log_likelihood -= 0.5 * rows[row] * rows[row] + log(rpinn_posterior_row_sigma(posterior, t, i)) +
                          0.5 * log(2 * 3.14159265358979323846);
    assert_int_equal(rpinn_kept_draws_add(kept, k, values), RPINN_OK);
    assert_int_equal(rpinn_kept_draws_add(likelihoods, k, &log_likelihood), RPINN_OK);
  }
  ranks->u[data_set] = rank_among(kept, 4, simulation->outputs[4], &stream);
  ranks->c[data_set] =
      rank_among(kept, outputs.unknown_start, simulation->outputs[outputs.unknown_start], &stream);
  ranks->likelihood[data_set] = rank_among(likelihoods, 0, simulation->log_likelihood, &stream);
  rpinn_kept_draws_destroy(kept);
  rpinn_kept_draws_destroy(likelihoods);
  rpinn_linearisation_destroy(linearisation);
  rpinn_double_target_close(&target);
  free(work);
}

/* Data with one noise, a posterior with another. */
static Ranks rank_all(const char *noise, const char *stated) {
  Ranks ranks;
  for (size_t d = 0; d < SETS; d++) {
    ProblemBench source = bench_of(d, noise), judged = bench_of(d, stated);
    RpinnSimulation simulation;
    bench_require(&source, rpinn_calibration_simulate(source.context, source.problem, &simulation),
                  "simulate");
    judged.problem->replaced = source.problem->replaced;
    judged.problem->fields = source.problem->fields; /* with the same map of outputs */
    rank_data_set(&judged, &simulation, d, &ranks);
    bench_close(&judged);
    bench_close(&source);
  }
  return ranks;
}

static double p_of(const double *ranks) {
  double p_value;
  assert_int_equal(rpinn_uniformity_p_value(SETS, ranks, &p_value), RPINN_OK);
  return p_value;
}

static void exact_posteriors_have_uniform_ranks(void **state) {
  (void)state;
  Ranks ranks = rank_all("0.1", "0.1");
  check_true(p_of(ranks.u) > 0.01, "u: p = %g", p_of(ranks.u));
  check_true(p_of(ranks.c) > 0.01, "c: p = %g", p_of(ranks.c));
  check_true(p_of(ranks.likelihood) > 0.01, "log likelihood: p = %g", p_of(ranks.likelihood));
}

static void wrong_noise_is_found(void **state) {
  (void)state;
  static const char *const stated[] = {"0.03", "0.4"};
  for (size_t k = 0; k < 2; k++) {
    Ranks ranks = rank_all("0.1", stated[k]);
    check_true(p_of(ranks.c) < 1e-3, "c with noise %s: p = %g", stated[k], p_of(ranks.c));
    check_true(p_of(ranks.likelihood) < 1e-9, "log likelihood with noise %s: p = %g", stated[k],
               p_of(ranks.likelihood));
  }
}

static void check_same_points(const ProblemBench *before, const ProblemBench *after) {
  for (size_t t = 0; t < before->problem->num_terms; t++) {
    const RpinnPointSet *one = &before->posterior->data->terms[t].points,
                        *other = &after->posterior->data->terms[t].points;
    assert_int_equal(one->count, other->count);
    for (size_t p = 0; p < one->count; p++) check_close(one->x[p], other->x[p], 0);
  }
}

/* R_t(x_i; theta) + s_t epsilon in every row: whitened rows at theta are -epsilon, N(0, 1), measured or not; the file's points
 * and the map of its outputs stay. */
static void every_row_is_data_of_the_draw(void **state) {
  (void)state;
  double squares[4] = {0}, rows_of[4] = {0}, shift = (double)NAN;
  for (size_t d = 0; d < SETS; d++) {
    ProblemBench bench = bench_of(d, "0.1"), before = bench_of(d, "0.1");
    RpinnSimulation simulation;
    bench_build(&before);
    bench_require(&bench, rpinn_calibration_simulate(bench.context, bench.problem, &simulation), "simulate");
    bench_build(&bench);
    const RpinnPosterior *posterior = bench.posterior;
    check_same_points(&before, &bench);
    if (d) check_close(posterior->networks[0].output_shift, shift, 0);
    shift = posterior->networks[0].output_shift;
    check_close(shift, before.posterior->networks[0].output_shift, 1e-12);
    /* The draw itself, from the same streams. */
    size_t M = posterior->model.num_rows, N = posterior->model.num_parameters;
    double *theta = calloc(N + M, sizeof *theta), *rows = theta + N;
    RpinnStream stream = rpinn_stream(d + 1, RPINN_PURPOSE_SIMULATION, 0, 0);
    rpinn_stream_normals(&stream, N, theta);
    for (size_t j = 0; j < N; j++)
      theta[j] = posterior->model.prior_mean[j] + theta[j] / posterior->model.prior_root[j];
    check_close(theta[N - 1], simulation.outputs[11], 1e-12); /* c, behind 11 points of u */
    assert_int_equal(rpinn_posterior_residuals(bench.context, bench.posterior, theta, rows, NULL), RPINN_OK);
    double log_likelihood = 0;
    for (size_t t = 0, row = 0; t < 4; t++)
      for (size_t i = 0; i < posterior->terms[t].num_rows; i++, row++) {
        squares[t] += rows[row] * rows[row];
        rows_of[t] += 1;
        log_likelihood -= 0.5 * rows[row] * rows[row] + log(rpinn_posterior_row_sigma(posterior, t, i)) +
                          0.5 * log(2 * 3.14159265358979323846);
      }
    check_close(simulation.log_likelihood, log_likelihood, 1e-7 * fabs(log_likelihood));
    free(theta);
    bench_close(&before);
    bench_close(&bench);
  }
  for (size_t t = 0; t < 4; t++) {
    assert_true(rows_of[t] >= 3 * SETS - 1);
    check_close(squares[t] / rows_of[t], 1, 4 * sqrt(2 / rows_of[t]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_row_is_data_of_the_draw),
                                     cmocka_unit_test(exact_posteriors_have_uniform_ranks),
                                     cmocka_unit_test(wrong_noise_is_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
