/* posterior.nc, read back with NetCDF: groups, dimensions, numbers; equal draws give equal bytes; a failure
 * leaves nothing behind. tests/python/check_posterior_file.py opens it with ArviZ and xarray. */
#include "check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <netcdf.h>

#include "posterior_file.h"
#include "problem_bench.h"
#include "temporary_folder.h"
#include "tensor_grid.h"

enum { NUM_STATISTICS = 3, NUM_HELD_OUT = 3, PATH_SIZE = 1024 };

static const char *const statistic_names[NUM_STATISTICS] = {"loss", "converged", "draw"};
static const bool statistic_is_boolean[NUM_STATISTICS] = {false, true, false};

/* Two fields, an unknown of each kind, a table of names that collide with those of the file. */
static const char one_dimension[] =
    "name: line\n"
    "coordinates: {x: [-1, 1]}\n"
    "fields: {u: {network: [3]}, v: {network: [2, 2]}}\n"
    "unknowns: {rate: {start: 2, transform: log}, draw: {start: 1}}\n"
    "truth: {u: x^2}\n"
    "terms:\n"
    "  a: {expect: rate*u + draw*v, at: {grid: 4}, data: x, noise: 0.1}\n"
    "  a_point: {expect: u, at: {points: [0, 1]}, data: 1, noise: 0.2}\n"
    "  chain: {expect: v, at: {points: [0.5]}, data: 2, noise: 0.3}\n"
    "  held: {expect: v, at: {points: [0.25, 0.75]}, data: 2*x, noise: 0.3, role: test}\n"
    "  u: {expect: u, at: {points: [0.125]}, data: 3, role: test}\n"
    "prior: {reference_term: a}\n"
    "predict: {points: [0.5, -1, 1], quantities: [u, v]}\n";

/* Predictions on a grid of x by y, or at scattered points. */
static const char two_dimensions[] = "name: plane\n"
                                     "coordinates: {x: [0, 2], y: [-1, 1]}\n"
                                     "fields: {u: {network: [3]}}\n"
                                     "truth: {u: x + 10*y}\n"
                                     "terms: {a: {expect: u, at: {grid: 2}, data: truth, noise: 0.1}}\n"
                                     "prior: {reference_term: a}\n"
                                     "predict: {%s, quantities: [u]}\n";

static ProblemBench plane_bench(const char *points) {
  char text[sizeof two_dimensions + 64];
  snprintf(text, sizeof text, two_dimensions, points);
  return bench_parse(text, NULL);
}

/* ---- writing ---- */

/* Number i of a row of a draw, different for each kind of row. */
static double number(char kind, size_t chain, size_t draw, size_t i) {
  return sin((double)(kind + 1000 * chain + 17 * draw) + 0.37 * (double)i);
}

static void fill(double *values, size_t count, char kind, size_t chain, size_t draw) {
  for (size_t i = 0; i < count; i++) values[i] = number(kind, chain, draw, i);
}

typedef struct DrawBuffers {
  double *parameters, *log_likelihood, *expected, *predictions, held_out[NUM_HELD_OUT],
      statistics[NUM_STATISTICS];
  size_t num_predictions;
} DrawBuffers;

static DrawBuffers buffers_create(const RpinnPosterior *posterior) {
  DrawBuffers buffers = {.num_predictions =
                             posterior->problem->num_predicted * posterior->data->predict.count};
  buffers.parameters = malloc((posterior->model.num_parameters + posterior->num_noises) * sizeof(double));
  buffers.log_likelihood = malloc(posterior->model.num_rows * sizeof(double));
  buffers.expected = malloc(posterior->model.num_rows * sizeof(double));
  buffers.predictions = malloc((buffers.num_predictions + 1) * sizeof(double));
  assert_true(buffers.parameters && buffers.log_likelihood && buffers.expected && buffers.predictions);
  return buffers;
}

static void buffers_free(DrawBuffers *buffers) {
  free(buffers->parameters);
  free(buffers->log_likelihood);
  free(buffers->expected);
  free(buffers->predictions);
}

static RpinnPosteriorDraw make_draw(const RpinnPosterior *posterior, const DrawBuffers *buffers, size_t chain,
                                    size_t draw) {
  fill(buffers->parameters, posterior->model.num_parameters + posterior->num_noises, 'p', chain, draw);
  fill((double *)buffers->statistics, NUM_STATISTICS, 's', chain, draw);
  ((double *)buffers->statistics)[1] = draw % 2 == 0;
  fill(buffers->log_likelihood, posterior->model.num_rows, 'l', chain, draw);
  fill(buffers->expected, posterior->model.num_rows, 'e', chain, draw);
  fill(buffers->predictions, buffers->num_predictions, 'q', chain, draw);
  fill((double *)buffers->held_out, NUM_HELD_OUT, 'h', chain, draw);
  return (RpinnPosteriorDraw){chain,
                              draw,
                              100 + 2 * draw,
                              1,
                              buffers->parameters,
                              buffers->statistics,
                              buffers->log_likelihood,
                              buffers->expected,
                              buffers->predictions,
                              buffers->held_out};
}

static RpinnPosteriorFileOptions make_options(size_t num_chains, size_t num_draws, size_t keep_every) {
  return (RpinnPosteriorFileOptions){.method = "rpinn",
                                     .num_chains = num_chains,
                                     .num_draws = num_draws,
                                     .num_statistics = NUM_STATISTICS,
                                     .statistic_names = statistic_names,
                                     .statistic_is_boolean = statistic_is_boolean,
                                     .keep_every = keep_every};
}

static RpinnStatus write_file(const ProblemBench *bench, const char *path,
                              const RpinnPosteriorFileOptions *options) {
  RpinnPosteriorFile *file;
  RPINN_TRY(rpinn_posterior_file_create(bench->context, path, bench->posterior, options, &file));
  DrawBuffers buffers = buffers_create(bench->posterior);
  RpinnStatus status = RPINN_OK;
  for (size_t chain = 0; chain < options->num_chains; chain++)
    for (size_t draw = 0; draw < options->num_draws && status == RPINN_OK; draw++) {
      RpinnPosteriorDraw added = make_draw(bench->posterior, &buffers, chain, draw);
      if (options->keep_every == 0 || draw % options->keep_every != 0)
        added.predictions = added.expected = added.held_out = NULL;
      status = rpinn_posterior_file_add(bench->context, file, &added);
    }
  buffers_free(&buffers);
  if (status == RPINN_OK) status = rpinn_posterior_file_finish(bench->context, file);
  rpinn_posterior_file_destroy(file);
  return status;
}

/* ---- reading ---- */

static int group_of(int root, const char *name) {
  int group;
  check_true(nc_inq_grp_ncid(root, name, &group) == NC_NOERR, "no group %s", name);
  return group;
}

static bool has_group(int root, const char *name) {
  int group;
  return nc_inq_grp_ncid(root, name, &group) == NC_NOERR;
}

/* The variable with these dimensions, "chain,draw,x"; its numbers as doubles, for the caller to free. */
static double *read_numbers(int group, const char *name, const char *dimensions, nc_type type,
                            size_t *count) {
  int variable, num_dimensions, ids[NC_MAX_VAR_DIMS];
  nc_type found;
  char list[512] = "", dimension[NC_MAX_NAME + 1];
  check_true(nc_inq_varid(group, name, &variable) == NC_NOERR, "no variable %s", name);
  assert_int_equal(nc_inq_var(group, variable, NULL, &found, &num_dimensions, ids, NULL), NC_NOERR);
  assert_int_equal(found, type);
  *count = 1;
  for (int i = 0; i < num_dimensions; i++) {
    size_t length, used = strlen(list);
    assert_int_equal(nc_inq_dim(group, ids[i], dimension, &length), NC_NOERR);
    *count *= length;
    snprintf(list + used, sizeof list - used, "%s%s", i ? "," : "", dimension);
  }
  assert_string_equal(list, dimensions);
  double *numbers = malloc(*count * sizeof *numbers);
  assert_non_null(numbers);
  assert_int_equal(nc_get_var_double(group, variable, numbers), NC_NOERR);
  return numbers;
}

static void expect_numbers(int group, const char *name, const char *dimensions, nc_type type, size_t count,
                           const double *expected) {
  size_t num_found;
  double *found = read_numbers(group, name, dimensions, type, &num_found);
  assert_int_equal(num_found, count);
  for (size_t i = 0; i < count; i++)
    check_true(found[i] == (type == NC_FLOAT ? (double)(float)expected[i] : expected[i]),
               "%s[%zu] is %.17g, expected %.17g", name, i, found[i], expected[i]);
  free(found);
}

/* Rows first … first + count of every draw that is kept. */
static void expect_rows(int group, const char *name, const char *dimensions, nc_type type,
                        const RpinnPosteriorFileOptions *options, size_t step, char kind, size_t first,
                        size_t count) {
  size_t num_draws = (options->num_draws - 1) / step + 1, total = options->num_chains * num_draws * count;
  double *expected = malloc(total * sizeof *expected), *next = expected;
  assert_non_null(expected);
  for (size_t chain = 0; chain < options->num_chains; chain++)
    for (size_t draw = 0; draw < options->num_draws; draw += step)
      for (size_t i = 0; i < count; i++) *next++ = number(kind, chain, draw, first + i);
  expect_numbers(group, name, dimensions, type, total, expected);
  free(expected);
}

static void expect_text(int group, const char *name, const char *expected) {
  char text[256] = "";
  size_t length;
  assert_int_equal(nc_inq_attlen(group, NC_GLOBAL, name, &length), NC_NOERR);
  assert_true(length < sizeof text);
  assert_int_equal(nc_get_att_text(group, NC_GLOBAL, name, text), NC_NOERR);
  assert_string_equal(text, expected);
}

static void expect_fill(int group, const char *name) {
  int variable;
  double value = 0;
  assert_int_equal(nc_inq_varid(group, name, &variable), NC_NOERR);
  assert_int_equal(nc_get_att_double(group, variable, "_FillValue", &value), NC_NOERR);
  assert_true(isnan(value));
}

static int open_file(const char *path) {
  int root, num_variables, num_dimensions;
  assert_int_equal(nc_open(path, NC_NOWRITE, &root), NC_NOERR);
  assert_int_equal(nc_inq(root, &num_dimensions, &num_variables, NULL, NULL), NC_NOERR);
  assert_int_equal(num_variables + num_dimensions, 0); /* xarray: the root holds attributes only */
  expect_text(root, "inference_library", "rpinn");
  expect_text(root, "method", "rpinn");
  return root;
}

static void check_draw_groups(int root, const RpinnPosteriorFileOptions *options, nc_type real) {
  enum { NUM_U = 10, NUM_V = 13 };
  int posterior = group_of(root, "posterior"), statistics = group_of(root, "sample_stats"),
      likelihood = group_of(root, "tolerance_log_likelihood"),
      unconstrained = group_of(root, "unconstrained_posterior");
  expect_rows(posterior, "u_parameters", "chain,draw,u_parameter", real, options, 1, 'p', 0, NUM_U);
  expect_rows(posterior, "v_parameters", "chain,draw,v_parameter", real, options, 1, 'p', NUM_U, NUM_V);
  expect_rows(posterior, "draw_", "chain,draw", NC_DOUBLE, options, 1, 'p', NUM_U + NUM_V + 1, 1);
  expect_rows(unconstrained, "rate", "chain,draw", NC_DOUBLE, options, 1, 'p', NUM_U + NUM_V, 1);
  int id;
  assert_int_equal(nc_inq_varid(unconstrained, "draw_", &id), NC_ENOTVAR);
  expect_fill(posterior, "u_parameters");
  expect_fill(posterior, "rate");

  expect_rows(statistics, "loss", "chain,draw", NC_DOUBLE, options, 1, 's', 0, 1);
  expect_rows(statistics, "draw_", "chain,draw", NC_DOUBLE, options, 1, 's', 2, 1);
  expect_rows(likelihood, "a", "chain,draw,a_point", NC_DOUBLE, options, 1, 'l', 0, 4);
  expect_rows(likelihood, "a_point_", "chain,draw,a_point_point", NC_DOUBLE, options, 1, 'l', 4, 2);
  expect_rows(likelihood, "chain_", "chain,draw,chain_point", NC_DOUBLE, options, 1, 'l', 6, 1);

  size_t count, total = options->num_chains * options->num_draws;
  double *rate = read_numbers(posterior, "rate", "chain,draw", NC_DOUBLE, &count);
  double *logarithm = read_numbers(unconstrained, "rate", "chain,draw", NC_DOUBLE, &count);
  double *converged = read_numbers(statistics, "converged", "chain,draw", NC_BYTE, &count);
  double *member = read_numbers(statistics, "member", "chain,draw", NC_INT64, &count);
  double *draw = read_numbers(statistics, "draw", "draw", NC_INT64, &count);
  assert_int_equal(count, options->num_draws);
  for (size_t k = 0; k < total; k++) {
    size_t d = k % options->num_draws;
    assert_true(rate[k] == exp(logarithm[k]));
    assert_true(converged[k] == (d % 2 == 0));
    assert_true(member[k] == (double)(100 + 2 * d));
    assert_true(draw[d] == (double)d);
  }
  free(rate);
  free(logarithm);
  free(converged);
  free(member);
  free(draw);
  char type[5] = "";
  assert_int_equal(nc_inq_varid(statistics, "converged", &id), NC_NOERR);
  assert_int_equal(nc_get_att_text(statistics, id, "dtype", type), NC_NOERR);
  assert_string_equal(type, "bool");
}

static void check_data_groups(int root, const RpinnPosterior *posterior) {
  int constant = group_of(root, "constant_data");
  static const double prediction_points[] = {0.5, -1, 1}, truth[] = {0.25, 1, 1}, numbers[] = {0, 1, 2, 3};
  double sigma = rpinn_posterior_term_sigma(posterior, 0), prior = rpinn_posterior_prior_sigma(posterior);
  expect_numbers(constant, "a_observed", "a_point", NC_DOUBLE, 4, posterior->terms[0].targets);
  expect_numbers(constant, "a_point", "a_point", NC_INT64, 4, numbers);
  expect_numbers(constant, "a_point_observed", "a_point_point", NC_DOUBLE, 2, posterior->terms[1].targets);
  expect_numbers(constant, "chain_observed", "chain_point", NC_DOUBLE, 1, posterior->terms[2].targets);
  expect_numbers(constant, "a_x", "a_point", NC_DOUBLE, 4, posterior->terms[0].points);
  expect_numbers(constant, "a_sigma", "", NC_DOUBLE, 1, &sigma);
  expect_numbers(constant, "prior_sigma", "", NC_DOUBLE, 1, &prior);
  int places = group_of(root, "predictions_constant_data"), id;
  expect_numbers(places, "x", "x", NC_DOUBLE, 3, prediction_points);
  expect_numbers(places, "u_truth", "x", NC_DOUBLE, 3, truth);
  assert_int_equal(nc_inq_varid(places, "v_truth", &id), NC_ENOTVAR);
  static const double held_points[] = {0.25, 0.75}, held_observed[] = {0.5, 1.5}, held_sigma = 0.3;
  expect_numbers(places, "held_x", "held_point", NC_DOUBLE, 2, held_points);
  expect_numbers(places, "held_observed", "held_point", NC_DOUBLE, 2, held_observed);
  expect_numbers(places, "held_sigma", "", NC_DOUBLE, 1, &held_sigma);
}

/* ---- tests ---- */

static void test_line(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(one_dimension, NULL);
  bench_build(&bench);
  static const double kept[] = {0, 3, 6};
  RpinnPosteriorFileOptions options = make_options(2, 7, 3);
  bench_require(&bench, write_file(&bench, "posterior_line.nc", &options), "write");
  assert_int_equal(access("posterior_line.nc.part", F_OK), -1);
  int root = open_file("posterior_line.nc");
  expect_text(root, "name", "line");
  check_draw_groups(root, &options, NC_DOUBLE);
  check_data_groups(root, bench.posterior);
  int predictions = group_of(root, "predictions");
  expect_text(predictions, "inference_library", "rpinn");
  expect_rows(predictions, "u", "chain,draw,x", NC_DOUBLE, &options, 3, 'q', 0, 3);
  expect_rows(predictions, "v", "chain,draw,x", NC_DOUBLE, &options, 3, 'q', 3, 3);
  expect_rows(predictions, "held", "chain,draw,held_point", NC_DOUBLE, &options, 3, 'h', 0, 2);
  expect_rows(predictions, "u_", "chain,draw,u_point", NC_DOUBLE, &options, 3, 'h', 2, 1);
  expect_numbers(predictions, "draw", "draw", NC_INT64, 3, kept);
  nc_close(root);

  options = make_options(1, 1, 0); /* no predictions */
  bench_require(&bench, write_file(&bench, "posterior_line.nc", &options), "write");
  root = open_file("posterior_line.nc");
  assert_false(has_group(root, "predictions"));
  assert_false(has_group(root, "posterior_predictive"));
  assert_false(has_group(root, "tolerance_posterior_predictive"));
  assert_true(has_group(root, "predictions_constant_data"));
  nc_close(root);
  bench_close(&bench);
}

/* Without `predict:` the held-out terms are all that is predicted. Hidden layers that are not in theta are a constant. */
static void test_held_out_alone(void **state) {
  (void)state;
  static const char text[] = "name: frozen\n"
                             "coordinates: {x: [0, 1]}\n"
                             "fields: {u: {network: [3, 2], trainable: output}}\n"
                             "terms:\n"
                             "  a: {expect: u, at: {grid: 3}, data: x, noise: 0.1}\n"
                             "  b: {expect: u, at: {points: [0.5, 0.6]}, data: x, role: test}\n"
                             "prior: {reference_term: a}\n";
  ProblemBench bench = bench_parse(text, NULL);
  bench_build(&bench);
  static const double observed[] = {0.5, 0.6};
  const RpinnNetwork *network = &bench.posterior->networks[0];
  RpinnPosteriorFileOptions options = make_options(1, 4, 2);
  bench_require(&bench, write_file(&bench, "posterior_frozen.nc", &options), "write");
  int root = open_file("posterior_frozen.nc"), places = group_of(root, "predictions_constant_data"), id;
  expect_rows(group_of(root, "predictions"), "b", "chain,draw,b_point", NC_DOUBLE, &options, 2, 'h', 0, 2);
  expect_numbers(places, "b_observed", "b_point", NC_DOUBLE, 2, observed);
  assert_int_equal(nc_inq_varid(places, "b_sigma", &id), NC_ENOTVAR); /* it states none */
  assert_int_equal(network->num_trainable, 3);
  expect_numbers(group_of(root, "constant_data"), "u_frozen", "u_frozen_parameter", NC_DOUBLE, 6 + 8,
                 network->frozen);
  nc_close(root);
  bench_close(&bench);
}

/* z = (foretold - expected) / sigma of every number that is kept of a term, in the order of the file; the caller frees. */
static double *read_noise(int group, const RpinnPosteriorFileOptions *options, const char *name,
                          const char *dimensions, double sigma, size_t first, size_t width, size_t *count) {
  double *z = read_numbers(group, name, dimensions, NC_DOUBLE, count);
  size_t num_kept = (options->num_draws - 1) / options->keep_every + 1;
  assert_int_equal(*count, options->num_chains * num_kept * width);
  for (size_t k = 0; k < *count; k++) {
    size_t chain = k / width / num_kept, draw = k / width % num_kept * options->keep_every;
    z[k] = (z[k] - number('e', chain, draw, first + k % width)) / sigma;
  }
  return z;
}

/* Mean 0 and deviation 1, and nothing in common with what comes `lag` numbers later, each to four standard errors. */
static void expect_normal(size_t count, const double *z, size_t lag) {
  double sum = 0, squares = 0, products = 0, root = sqrt((double)count);
  for (size_t k = 0; k < count; k++) {
    sum += z[k];
    squares += z[k] * z[k];
    if (k + lag < count) products += z[k] * z[k + lag];
  }
  check_true(fabs(sum) < 4 * root, "mean %g", sum / (double)count);
  check_true(fabs(squares - (double)count) < 4 * sqrt(2) * root, "variance %g", squares / (double)count);
  check_true(fabs(products) < 4 * root, "correlation %g at %zu", products / (double)count, lag);
}

/* Data as draws foretell them: what is expected and noise of the deviation of the term, anew for each datum, draw and chain. */
static void test_predictive(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(one_dimension, NULL);
  bench_build(&bench);
  RpinnPosteriorFileOptions options = make_options(2, 3000, 2);
  bench_require(&bench, write_file(&bench, "posterior_predictive.nc", &options), "write");
  int root = open_file("posterior_predictive.nc");
  size_t count, other_count;
  double *a = read_noise(group_of(root, "tolerance_posterior_predictive"), &options, "a",
                         "chain,draw,a_point", 0.1, 0, 4, &count);
  double *b = read_noise(group_of(root, "tolerance_posterior_predictive"), &options, "chain_",
                         "chain,draw,chain_point", 0.3, 6, 1, &other_count);
  for (size_t lag = 1; lag <= 4; lag++) expect_normal(count, a, lag); /* neighbours, and the next draw */
  expect_normal(count, a, count / 2);                                 /* the other chain */
  expect_normal(other_count, b, 1);
  for (size_t k = 0; k < other_count; k++)
    b[k] -= a[4 * k]; /* another term: the difference has twice the variance */
  for (size_t k = 0; k < other_count; k++) b[k] /= sqrt(2);
  expect_normal(other_count, b, other_count / 2);
  free(a);
  free(b);
  nc_close(root);
  bench_close(&bench);
}

/* The deviation is that of the draw where the noise is not known, and that of the row where rows differ. */
static void test_predictive_of_noises(void **state) {
  (void)state;
  static const char text[] =
      "name: noises\n"
      "coordinates: {x: [0, 1]}\n"
      "fields: {u: {network: [3]}}\n"
      "truth: {u: x}\n"
      "terms:\n"
      "  a: {expect: u, at: {grid: 2}, data: x, noise: \"0.1 + x\"}\n"
      "  b: {expect: u, at: {grid: 3}, data: truth, noise: {unknown: true, start: 0.2}}\n"
      "prior: {reference_term: a}\n"
      "settings: {likelihood: noise}\n";
  static const double sigmas[] = {0.1, 1.1};
  ProblemBench bench = bench_parse(text, NULL);
  bench_build(&bench);
  size_t count, eta = bench.posterior->model.num_parameters;
  RpinnPosteriorFileOptions options = make_options(1, 2000, 1);
  bench_require(&bench, write_file(&bench, "posterior_noises.nc", &options), "write");
  int root = open_file("posterior_noises.nc");
  double *a = read_noise(group_of(root, "tolerance_posterior_predictive"), &options, "a",
                         "chain,draw,a_point", 1, 0, 2, &count);
  for (size_t k = 0; k < count; k++) a[k] /= sigmas[k % 2];
  expect_normal(count, a, 1);
  double *b = read_noise(group_of(root, "posterior_predictive"), &options, "b", "chain,draw,b_point", 1, 2, 3,
                         &count);
  for (size_t k = 0; k < count; k++) b[k] /= exp(number('p', 0, k / 3, eta));
  expect_normal(count, b, 1);
  free(a);
  free(b);
  nc_close(root);
  bench_close(&bench);
}

/* ---- log_prior ---- */

static const double half_log_two_pi = 0.91893853320467274178;

static double log_normal(double value, double mean, double deviation) {
  double z = (value - mean) / deviation;
  return -0.5 * z * z - log(deviation) - half_log_two_pi;
}

/* Networks of 10, 13 and 4 parameters, the last without a prior; an unknown that is log-normal and one that is normal; noise that is
 * not known. */
static void test_log_prior(void **state) {
  (void)state;
  static const char text[] =
      "name: log_prior\n"
      "coordinates: {x: [0, 1]}\n"
      "fields: {u: {network: [3]}, v: {network: [2, 2]}, w: {network: [1], prior: {scale: inf}}}\n"
      "unknowns:\n"
      "  rate: {start: 2, transform: log, prior: {mean: 0.5, std: 0.3}}\n"
      "  shift: {start: 0, prior: {mean: -1, std: 2}}\n"
      "truth: {u: x}\n"
      "terms:\n"
      "  a: {expect: rate*u + shift*v + w, at: {grid: 4}, data: x, noise: 0.1}\n"
      "  b: {expect: u, at: {grid: 3}, data: truth, noise: {unknown: true, start: "
      "0.2, prior: {mean: -2, std: 0.7}}}\n"
      "prior: {reference_term: a}\n"
      "settings: {likelihood: noise, prior_scale: 1.5}\n";
  ProblemBench bench = bench_parse(text, NULL);
  bench_build(&bench);
  RpinnPosteriorFileOptions options = make_options(2, 3, 0);
  bench_require(&bench, write_file(&bench, "posterior_log_prior.nc", &options), "write");
  int root = open_file("posterior_log_prior.nc"), group = group_of(root, "log_prior"), id;
  double expected[5][6] = {{0}};
  for (size_t k = 0; k < 6; k++) {
    double theta[30];
    for (size_t j = 0; j < 30; j++) theta[j] = number('p', k / 3, k % 3, j);
    for (size_t j = 0; j < 23; j++) expected[j < 10 ? 0 : 1][k] += log_normal(theta[j], 0, 1.5);
    expected[2][k] = log_normal(theta[27], 0.5, 0.3) - theta[27];
    expected[3][k] = log_normal(theta[28], -1, 2);
    expected[4][k] = log_normal(theta[29], -2, 0.7) - theta[29];
  }
  static const char *const names[] = {"u_parameters", "v_parameters", "rate", "shift", "noise_b"};
  for (size_t v = 0; v < 5; v++) {
    size_t count;
    double *found = read_numbers(group, names[v], "chain,draw", NC_DOUBLE, &count);
    assert_int_equal(count, 6);
    for (size_t k = 0; k < 6; k++) check_close(found[k], expected[v][k], 1e-12);
    free(found);
  }
  assert_int_equal(nc_inq_varid(group, "w_parameters", &id), NC_ENOTVAR);
  nc_close(root);
  bench_close(&bench);
}

/* The white rows of a gaussian term, and their sizes: the density of (y - m) along its directions. */
static void check_prior_of_term(int root, const RpinnPosterior *posterior,
                                const RpinnPosteriorFileOptions *options) {
  const RpinnTermModel *term = &posterior->terms[1];
  size_t count;
  double *found = read_numbers(group_of(root, "log_prior"), "g", "chain,draw", NC_DOUBLE, &count);
  assert_int_equal(count, options->num_draws);
  for (size_t draw = 0; draw < count; draw++) {
    double sum = 0;
    for (size_t j = 0; j < term->num_rows; j++) {
      double square = 0;
      for (size_t p = 0; p < 9; p++) square += term->mix[j * 9 + p] * term->mix[j * 9 + p];
      sum += number('l', 0, draw, 3 + j) + log(sqrt(square));
    }
    check_close(found[draw], sum, 1e-12);
  }
  free(found);
}

/* A Gaussian prior among the terms is no data: no likelihood of it and nothing observed, and the rows of the terms behind
 * it are found. */
static void test_prior_term(void **state) {
  (void)state;
  static const char text[] =
      "name: prior\n"
      "coordinates: {x: [0, 1]}\n"
      "fields: {u: {network: [3]}}\n"
      "terms:\n"
      "  a: {expect: u, at: {grid: 3}, data: x, noise: 0.1}\n"
      "  g: {gaussian: {field: u, covariance: squared_exponential, length: 2, mean: 0.5}, at: {grid: 9}}\n"
      "  b: {expect: u, at: {grid: 2}, data: 1, noise: 0.2}\n"
      "prior: {reference_term: a}\n";
  ProblemBench bench = bench_parse(text, NULL);
  bench_build(&bench);
  size_t num_rows = bench.posterior->terms[1].num_rows;
  double mean[9];
  for (size_t p = 0; p < 9; p++) mean[p] = 0.5;
  assert_true(num_rows < 9);
  RpinnPosteriorFileOptions options = make_options(1, 4, 0);
  bench_require(&bench, write_file(&bench, "posterior_prior.nc", &options), "write");
  int root = open_file("posterior_prior.nc"), id;
  int likelihood = group_of(root, "tolerance_log_likelihood"), constant = group_of(root, "constant_data");
  expect_rows(likelihood, "a", "chain,draw,a_point", NC_DOUBLE, &options, 1, 'l', 0, 3);
  expect_rows(likelihood, "b", "chain,draw,b_point", NC_DOUBLE, &options, 1, 'l', 3 + num_rows, 2);
  assert_int_equal(nc_inq_varid(likelihood, "g", &id), NC_ENOTVAR);
  assert_int_equal(nc_inq_varid(constant, "g_observed", &id), NC_ENOTVAR);
  expect_numbers(constant, "b_observed", "b_point", NC_DOUBLE, 2, bench.posterior->terms[2].targets);
  expect_numbers(constant, "g_x", "g_point", NC_DOUBLE, 9, bench.posterior->terms[1].points);
  expect_numbers(constant, "g_mean", "g_point", NC_DOUBLE, 9, mean);
  assert_int_equal(nc_inq_varid(constant, "g_sigma", &id), NC_ENOTVAR);
  check_prior_of_term(root, bench.posterior, &options);
  nc_close(root);
  bench_close(&bench);
}

/* ---- what leave-one-out is over ---- */

/* A variable of measured data with the names of terms as a coordinate, or without where names is NULL. */
static void expect_terms(int group, const char *variable, size_t count, const char *const *names) {
  int id;
  char text[16] = "", *found[8];
  assert_int_equal(nc_inq_varid(group, variable, &id), NC_NOERR);
  if (!names) {
    assert_int_equal(nc_inq_att(group, id, "coordinates", NULL, NULL), NC_ENOTATT);
    assert_int_equal(nc_inq_varid(group, "term", &id), NC_ENOTVAR);
    return;
  }
  assert_int_equal(nc_get_att_text(group, id, "coordinates", text), NC_NOERR);
  assert_string_equal(text, "term");
  assert_int_equal(nc_inq_varid(group, "term", &id), NC_NOERR);
  assert_int_equal(nc_get_var_string(group, id, found), NC_NOERR);
  for (size_t k = 0; k < count; k++) assert_string_equal(found[k], names[k]);
  nc_free_string(count, found);
}

/* Terms whose data are the truth's or perturbed are measured, and one variable; what stands between them is a tolerance, a
 * variable of its own group. */
static void test_measured(void **state) {
  (void)state;
  static const char text[] = "name: measured\n"
                             "coordinates: {x: [0, 1]}\n"
                             "fields: {u: {network: [3]}}\n"
                             "truth: {u: x}\n"
                             "terms:\n"
                             "  first: {expect: u, at: {grid: 3}, data: truth, noise: 0.1}\n"
                             "  law: {expect: u, at: {grid: 4}, data: 1, noise: 0.2}\n"
                             "  term: {expect: u, at: {grid: 2}, data: %s, noise: 0.3}\n"
                             "settings: {prior_scale: 1}\n";
  static const char *const names[] = {"first", "first", "first", "term", "term"};
  for (int several = 0; several < 2; several++) {
    char own[sizeof text + 32];
    snprintf(own, sizeof own, text, several ? "\"2\", perturb: true" : "2");
    ProblemBench bench = bench_parse(own, NULL);
    bench_build(&bench);
    const RpinnTermModel *terms = bench.posterior->terms;
    RpinnPosteriorFileOptions options = make_options(2, 3, 2);
    bench_require(&bench, write_file(&bench, "posterior_measured.nc", &options), "write");
    int root = open_file("posterior_measured.nc"), observed = group_of(root, "observed_data"),
        likelihood = group_of(root, "log_likelihood"), foretold = group_of(root, "posterior_predictive"),
        count;
    const char *name = several ? "measured" : "first";
    char point[32], dimensions[48];
    size_t num_data = several ? 5 : 3, num_foretold;
    const double data[] = {terms[0].targets[0], terms[0].targets[1], terms[0].targets[2], terms[2].targets[0],
                           terms[2].targets[1]};
    snprintf(point, sizeof point, "%s_point", name);
    snprintf(dimensions, sizeof dimensions, "chain,draw,%s", point);
    expect_numbers(observed, name, point, NC_DOUBLE, num_data, data);
    free(read_numbers(foretold, name, dimensions, NC_DOUBLE, &num_foretold));
    assert_int_equal(num_foretold, 2 * 2 * num_data);
    double *found = read_numbers(likelihood, name, dimensions, NC_DOUBLE, &num_foretold);
    assert_int_equal(num_foretold, 2 * 3 * num_data);
    for (size_t k = 0; k < num_foretold; k++) { /* rows 0 to 2, and 7 and 8 behind the tolerance */
      size_t i = k % num_data;
      assert_true(found[k] == number('l', k / num_data / 3, k / num_data % 3, i < 3 ? i : i + 4));
    }
    free(found);
    const int groups[] = {observed, likelihood, foretold};
    for (size_t g = 0; g < 3; g++) {
      expect_terms(groups[g], name, num_data, several ? names : NULL);
      assert_int_equal(nc_inq_nvars(groups[g], &count), NC_NOERR); /* of draws: chain and draw, too */
      assert_int_equal(count, (g ? 4 : 2) + several);
    }
    expect_rows(group_of(root, "tolerance_log_likelihood"), "law", "chain,draw,law_point", NC_DOUBLE,
                &options, 1, 'l', 3, 4);
    expect_numbers(group_of(root, "constant_data"), "law_observed", "law_point", NC_DOUBLE, 4,
                   terms[1].targets);
    nc_close(root);
    bench_close(&bench);
  }
}

/* A backend in float: its parameters are kept as floats. */
static void test_float(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(one_dimension, NULL);
  RpinnSettingsValues *settings = &bench.problem->settings;
  bench_require(&bench,
                rpinn_settings_set(bench.context, settings, RPINN_SETTING_BACKEND, "cpu", (RpinnPlace){0}),
                "backend");
  bench_require(
      &bench, rpinn_settings_set(bench.context, settings, RPINN_SETTING_PRECISION, "float", (RpinnPlace){0}),
      "precision");
  bench_require(&bench, rpinn_posterior_create(bench.context, bench.problem, false, &bench.posterior),
                "posterior");
  RpinnPosteriorFileOptions options = make_options(1, 3000, 1); /* several chunks */
  bench_require(&bench, write_file(&bench, "posterior_float.nc", &options), "write");
  int root = open_file("posterior_float.nc");
  check_draw_groups(root, &options, NC_FLOAT);
  nc_close(root);
  bench_close(&bench);
}

static void test_plane(void **state) {
  (void)state;
  static const double xs[] = {0, 1, 2}, ys[] = {-1, 1};
  static const double truth[] = {-10, -9, -8, 10, 11, 12};
  RpinnPosteriorFileOptions options = make_options(1, 2, 1);
  ProblemBench bench = plane_bench("grid: [3, 2]");
  bench_build(&bench);
  bench_require(&bench, write_file(&bench, "posterior_plane.nc", &options), "write");
  int root = open_file("posterior_plane.nc");
  int predictions = group_of(root, "predictions"), places = group_of(root, "predictions_constant_data");
  assert_false(has_group(root, "unconstrained_posterior"));
  expect_rows(predictions, "u", "chain,draw,y,x", NC_DOUBLE, &options, 1, 'q', 0, 6);
  expect_numbers(predictions, "x", "x", NC_DOUBLE, 3, xs);
  expect_numbers(predictions, "y", "y", NC_DOUBLE, 2, ys);
  expect_numbers(places, "u_truth", "y,x", NC_DOUBLE, 6, truth);
  nc_close(root);
  bench_close(&bench);

  /* The same grid with y fastest: stored by axis all the same. */
  bench = plane_bench("points: [[0, -1], [0, 1], [1, -1], [1, 1], [2, -1], [2, 1]]");
  bench_build(&bench);
  bench_require(&bench, write_file(&bench, "posterior_plane.nc", &options), "write");
  root = open_file("posterior_plane.nc");
  expect_numbers(group_of(root, "predictions_constant_data"), "u_truth", "y,x", NC_DOUBLE, 6, truth);
  double expected[12];
  for (size_t k = 0; k < 12; k++)
    expected[k] = number('q', 0, k / 6, k % 3 * 2 + k / 3 % 2); /* k: draw, y, x */
  expect_numbers(group_of(root, "predictions"), "u", "chain,draw,y,x", NC_DOUBLE, 12, expected);
  nc_close(root);
  bench_close(&bench);

  bench = plane_bench("points: [[0, -1], [0, 1], [1, -1], [1, 1], [2, -1], [2, 0.5]]");
  bench_build(&bench);
  bench_require(&bench, write_file(&bench, "posterior_plane.nc", &options), "write");
  root = open_file("posterior_plane.nc");
  static const double scattered_y[] = {-1, 1, -1, 1, -1, 0.5};
  expect_rows(group_of(root, "predictions"), "u", "chain,draw,point", NC_DOUBLE, &options, 1, 'q', 0, 6);
  expect_numbers(group_of(root, "predictions_constant_data"), "y", "point", NC_DOUBLE, 6, scattered_y);
  nc_close(root);
  bench_close(&bench);
}

static void expect_grid(size_t count, const double *x, bool expected) {
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  RpinnPointSet points = {.count = count, .x = (double *)x};
  RpinnTensorGrid grid;
  bool found;
  assert_int_equal(rpinn_tensor_grid_find(context, arena, 2, &points, &grid, &found), RPINN_OK);
  assert_int_equal(found, expected);
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
}

static void test_tensor_grid(void **state) {
  (void)state;
  expect_grid(4, (const double[]){0, 0, 1, 0, 0, 1, 1, 1}, true);
  expect_grid(4, (const double[]){1, 1, 0, 0, 0, 1, 1, 0}, true);
  expect_grid(4, (const double[]){0, 0, 1, 0, 0, 1, 0, 1}, false); /* one twice, one missing */
  expect_grid(4, (const double[]){0, 0, 1, 0, 0, 1, 1, 2}, false);
  expect_grid(3, (const double[]){0, 5, 1, 5, 2, 5}, true); /* a line */
  expect_grid(1, (const double[]){3, 4}, true);
  expect_grid(2, (const double[]){3, 4, 3, 4}, false);
}

static char *read_bytes(const char *path, size_t *size) {
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  fseek(stream, 0, SEEK_END);
  *size = (size_t)ftell(stream);
  rewind(stream);
  char *bytes = malloc(*size);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, stream), *size);
  fclose(stream);
  return bytes;
}

/* In another second, after other use of the heap, under another name. */
static void test_equal_bytes(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(one_dimension, NULL);
  bench_build(&bench);
  RpinnPosteriorFileOptions options = make_options(2, 2500, 2);
  bench_require(&bench, write_file(&bench, "posterior_first.nc", &options), "write");
  nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
  char *dirt[64];
  for (size_t i = 0; i < 64; i++) {
    dirt[i] = malloc(1000 << i % 8);
    assert_non_null(dirt[i]);
    memset(dirt[i], 0xa5, 1000 << i % 8);
  }
  for (size_t i = 0; i < 64; i++) free(dirt[i]);
  bench_require(&bench, write_file(&bench, "posterior_second.nc", &options), "write");
  size_t size, other_size;
  char *bytes = read_bytes("posterior_first.nc", &size);
  char *other = read_bytes("posterior_second.nc", &other_size);
  assert_int_equal(size, other_size);
  check_true(memcmp(bytes, other, size) == 0, "two files of the same draws differ");
  free(bytes);
  free(other);
  bench_close(&bench);
}

static void test_mistakes(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(one_dimension, NULL);
  bench_build(&bench);
  RpinnPosteriorFileOptions options = make_options(1, 3, 2);
  RpinnPosteriorFile *file;
  assert_int_equal(rpinn_posterior_file_create(bench.context, "missing_folder/posterior.nc", bench.posterior,
                                               &options, &file),
                   RPINN_ERROR_IO);
  assert_null(file);
  check_true(strstr(rpinn_context_error(bench.context)->message, "No such file"), "%s",
             rpinn_context_error(bench.context)->message);
  options.num_draws = 0;
  assert_int_equal(
      rpinn_posterior_file_create(bench.context, "posterior_mistake.nc", bench.posterior, &options, &file),
      RPINN_ERROR_INPUT);
  options.num_draws = 3;
  bench_require(
      &bench,
      rpinn_posterior_file_create(bench.context, "posterior_mistake.nc", bench.posterior, &options, &file),
      "create");
  DrawBuffers buffers = buffers_create(bench.posterior);
  RpinnPosteriorDraw draw = make_draw(bench.posterior, &buffers, 0, 1);
  assert_int_equal(rpinn_posterior_file_add(bench.context, file, &draw), RPINN_ERROR_INPUT);
  draw = make_draw(bench.posterior, &buffers, 0, 0);
  draw.predictions = NULL;
  assert_int_equal(rpinn_posterior_file_add(bench.context, file, &draw), RPINN_ERROR_INPUT);
  draw = make_draw(bench.posterior, &buffers, 0, 0);
  draw.expected = NULL;
  assert_int_equal(rpinn_posterior_file_add(bench.context, file, &draw), RPINN_ERROR_INPUT);
  assert_int_equal(rpinn_posterior_file_finish(bench.context, file), RPINN_ERROR_INPUT);
  assert_int_equal(access("posterior_mistake.nc.part", F_OK), 0);
  rpinn_posterior_file_destroy(file);
  rpinn_posterior_file_destroy(NULL);
  buffers_free(&buffers);
  assert_int_equal(access("posterior_mistake.nc.part", F_OK), -1);
  assert_int_equal(access("posterior_mistake.nc", F_OK), -1);
  bench_close(&bench);
}

/* In a child: the limit is for a whole process. It ends by exit, where HDF5 would crash if it had begun. */
static int write_on_full_disk(size_t limit_bytes) {
  ProblemBench bench = bench_parse(one_dimension, NULL);
  bench_build(&bench);
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = {.rlim_cur = limit_bytes, .rlim_max = RLIM_INFINITY};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 10;
  RpinnPosteriorFileOptions options = make_options(1, 3000, 1);
  RpinnStatus status = write_file(&bench, "posterior_full.nc", &options);
  if (status != RPINN_ERROR_IO) return 11;
  const char *text = rpinn_context_error(bench.context)->message;
  if (!strstr(text, "cannot write 'posterior_full.nc.part'") || !strstr(text, "File too large")) {
    fprintf(stderr, "%s\n", text);
    return 12;
  }
  if (access("posterior_full.nc.part", F_OK) == 0 || access("posterior_full.nc", F_OK) == 0) return 13;
  bench_close(&bench);
  limit.rlim_cur = RLIM_INFINITY;
  return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? 0 : 14;
}

static void test_full_disk(void **state) {
  (void)state;
  static const size_t limits[] = {1000, 50000, 300000, 1000000};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) exit(write_on_full_disk(limits[i]));
    while (waitpid(child, &status, 0) < 0) continue;
    check_true(WIFEXITED(status) && WEXITSTATUS(status) == 0, "limit %zu: status %d, signal %d", limits[i],
               WEXITSTATUS(status), WTERMSIG(status));
  }
}

/* With an argument: write sample files there, for the readers in other languages. */
static int write_samples(const char *folder) {
  char path[PATH_SIZE];
  RpinnPosteriorFileOptions options = make_options(2, 7, 3);
  ProblemBench bench = bench_parse(one_dimension, NULL);
  bench_build(&bench);
  snprintf(path, sizeof path, "%s/line.nc", folder);
  RpinnStatus status = write_file(&bench, path, &options);
  bench_close(&bench);
  bench = plane_bench("grid: [3, 2]");
  bench_build(&bench);
  snprintf(path, sizeof path, "%s/plane.nc", folder);
  if (status == RPINN_OK) status = write_file(&bench, path, &options);
  bench_close(&bench);
  return status == RPINN_OK ? 0 : 1;
}

int main(int num_arguments, char **arguments) {
  if (num_arguments == 2) return write_samples(arguments[1]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_line),
                                     cmocka_unit_test(test_predictive),
                                     cmocka_unit_test(test_held_out_alone),
                                     cmocka_unit_test(test_log_prior),
                                     cmocka_unit_test(test_predictive_of_noises),
                                     cmocka_unit_test(test_prior_term),
                                     cmocka_unit_test(test_measured),
                                     cmocka_unit_test(test_float),
                                     cmocka_unit_test(test_plane),
                                     cmocka_unit_test(test_tensor_grid),
                                     cmocka_unit_test(test_equal_bytes),
                                     cmocka_unit_test(test_mistakes),
                                     cmocka_unit_test(test_full_disk)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
