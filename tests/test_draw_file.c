/* Draws of any sampler in a file: read back by name with NetCDF, chains in turns, memory that stays, and what goes wrong. */
#include <netcdf.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "temporary_folder.h"

#include "rpinn/draw_file.h"
#include "rpinn/nuts.h"

enum { CHAINS = 2, DRAWS = 3, NUMBERS = 4, DATA = 2 };

static const RpinnFileVariable variables[] = {{.name = "mu", .count = 1},
                                              {.name = "beta", .count = 2},
                                              {.name = "last", .count = 1, .is_vector = true}};
static const RpinnFileVariable statistics[] = {{.name = "lp"}, {.name = "diverging", .is_boolean = true}};
static const RpinnFileVariable sets[] = {{.name = "y", .count = DATA}};
static const double observed[DATA] = {7, 8};

static RpinnDrawFileOptions options_of(size_t num_draws) {
  return (RpinnDrawFileOptions){.title = "a test",
                                .method = "nuts",
                                .num_chains = CHAINS,
                                .num_draws = num_draws,
                                .num_variables = 3,
                                .variables = variables,
                                .num_statistics = 2,
                                .statistics = statistics,
                                .num_data_sets = 1,
                                .data_sets = sets,
                                .observed = observed};
}

/* Number k of a draw: 100 chain + 10 draw + k. */
static RpinnStatus add(RpinnContext *context, RpinnDrawFile *file, size_t chain, size_t draw) {
  double numbers[NUMBERS], base = 100.0 * (double)chain + 10.0 * (double)draw;
  double statistic[2] = {-base, (double)(draw % 2)}, likelihood[DATA] = {base + 0.5, base + 0.25};
  for (size_t k = 0; k < NUMBERS; k++) numbers[k] = base + (double)k;
  return rpinn_draw_file_add(context, file, chain, numbers, statistic, likelihood);
}

static int open_group(const char *path, const char *name, int *id) {
  int group;
  assert_int_equal(nc_open(path, NC_NOWRITE, id), NC_NOERR);
  assert_int_equal(nc_inq_grp_ncid(*id, name, &group), NC_NOERR);
  return group;
}

static size_t num_axes_of(int group, const char *name) {
  int variable, count;
  assert_int_equal(nc_inq_varid(group, name, &variable), NC_NOERR);
  assert_int_equal(nc_inq_varndims(group, variable, &count), NC_NOERR);
  return (size_t)count;
}

static void read_numbers(int group, const char *name, double *values) {
  int variable;
  assert_int_equal(nc_inq_varid(group, name, &variable), NC_NOERR);
  assert_int_equal(nc_get_var_double(group, variable, values), NC_NOERR);
}

static void write_in_turns(RpinnContext *context, const char *path, bool in_turns) {
  RpinnDrawFileOptions options = options_of(DRAWS);
  RpinnDrawFile *file;
  assert_int_equal(rpinn_draw_file_create(context, path, &options, &file), RPINN_OK);
  for (size_t k = 0; k < CHAINS * DRAWS; k++)
    assert_int_equal(in_turns ? add(context, file, k % CHAINS, k / CHAINS)
                              : add(context, file, k / DRAWS, k % DRAWS),
                     RPINN_OK);
  assert_int_equal(access(path, F_OK), -1); /* nothing is in its place before it is whole */
  assert_int_equal(rpinn_draw_file_finish(context, file), RPINN_OK);
  rpinn_draw_file_destroy(file);
  assert_int_equal(access(path, F_OK), 0);
}

static void numbers_are_where_their_names_say(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  const char *const paths[] = {"turns.nc", "chains.nc"};
  for (size_t p = 0; p < 2; p++) {
    double mu[CHAINS][DRAWS], beta[CHAINS][DRAWS][2], last[CHAINS][DRAWS], lp[CHAINS][DRAWS],
        diverging[CHAINS][DRAWS], y[CHAINS][DRAWS][DATA], data[DATA];
    char text[32] = "";
    int id, group;
    write_in_turns(context, paths[p], p == 0);
    group = open_group(paths[p], "posterior", &id);
    assert_int_equal(num_axes_of(group, "mu"), 2);
    assert_int_equal(num_axes_of(group, "beta"), 3);
    assert_int_equal(num_axes_of(group, "last"), 3);
    read_numbers(group, "mu", mu[0]);
    read_numbers(group, "beta", beta[0][0]);
    read_numbers(group, "last", last[0]);
    assert_int_equal(num_axes_of(group, "beta_dim_0"), 1);
    assert_int_equal(nc_get_att_text(id, NC_GLOBAL, "name", text), NC_NOERR);
    assert_string_equal(text, "a test");
    memset(text, 0, sizeof text);
    assert_int_equal(nc_get_att_text(group, NC_GLOBAL, "method", text), NC_NOERR);
    assert_string_equal(text, "nuts");
    assert_int_equal(nc_inq_grp_ncid(id, "sample_stats", &group), NC_NOERR);
    read_numbers(group, "lp", lp[0]);
    read_numbers(group, "diverging", diverging[0]);
    assert_int_equal(nc_inq_grp_ncid(id, "log_likelihood", &group), NC_NOERR);
    read_numbers(group, "y", y[0][0]);
    assert_int_equal(nc_inq_grp_ncid(id, "observed_data", &group), NC_NOERR);
    read_numbers(group, "y", data);
    assert_memory_equal(data, observed, sizeof data);
    for (size_t c = 0; c < CHAINS; c++)
      for (size_t i = 0; i < DRAWS; i++) {
        double base = 100.0 * (double)c + 10.0 * (double)i;
        assert_true(mu[c][i] == base && beta[c][i][0] == base + 1 && beta[c][i][1] == base + 2);
        assert_true(last[c][i] == base + 3 && lp[c][i] == -base && diverging[c][i] == (double)(i % 2));
        assert_true(y[c][i][0] == base + 0.5 && y[c][i][1] == base + 0.25);
      }
    assert_int_equal(nc_close(id), NC_NOERR);
  }
  rpinn_context_destroy(context);
}

static void what_is_missing_is_said(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnDrawFileOptions options = options_of(DRAWS);
  RpinnDrawFile *file;
  assert_int_equal(rpinn_draw_file_create(context, "short.nc", &options, &file), RPINN_OK);
  for (size_t i = 0; i < DRAWS; i++) assert_int_equal(add(context, file, 0, i), RPINN_OK);
  assert_int_equal(add(context, file, 0, 0), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message,
                      "'short.nc' has no room for a draw of chain 0; expected 3 of each of 2 chains");
  assert_int_equal(rpinn_draw_file_add(context, file, 1, observed, NULL, observed), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message,
                      "a draw of chain 1 of 'short.nc' has no statistics");
  assert_int_equal(rpinn_draw_file_finish(context, file), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message, "chain 1 of 'short.nc' has 0 draws; expected 3");
  rpinn_draw_file_destroy(file);
  assert_int_equal(access("short.nc", F_OK), -1);
  assert_int_equal(access("short.nc.part", F_OK), -1);
  assert_int_equal(rpinn_draw_file_create(context, "no/folder/x.nc", &options, &file), RPINN_ERROR_IO);
  assert_null(file);
  rpinn_draw_file_destroy(NULL);
  rpinn_context_destroy(context);
}

static void names_that_cannot_be_are_refused(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  const char *const bad[] = {"draw", "a/b", "", " a", "a ", "b\n", NULL};
  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
    RpinnFileVariable named[] = {{.name = "fine"}, {.name = bad[k]}};
    RpinnDrawFileOptions options = {
        .method = "m", .num_chains = 1, .num_draws = 1, .num_variables = 2, .variables = named};
    RpinnDrawFile *file;
    assert_int_equal(rpinn_draw_file_create(context, "bad.nc", &options, &file), RPINN_ERROR_INPUT);
    assert_int_equal(access("bad.nc.part", F_OK), -1);
  }
  RpinnFileVariable twice[] = {{.name = "a"}, {.name = "a"}};
  RpinnDrawFileOptions options = {
      .method = "m", .num_chains = 1, .num_draws = 1, .num_variables = 2, .variables = twice};
  RpinnDrawFile *file;
  assert_int_equal(rpinn_draw_file_create(context, "bad.nc", &options, &file), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message,
                      "parameters 0 and 1 are both called 'a'; expected names that differ");
  rpinn_context_destroy(context);
}

/* 80 MB of draws pass through; the program does not grow by them. */
static void memory_does_not_grow_with_draws(void **state) {
  (void)state;
  enum { WIDTH = 1000, MANY = 5000 };
  RpinnContext *context = rpinn_context_create();
  RpinnFileVariable wide = {.name = "x", .count = WIDTH};
  RpinnDrawFileOptions options = {
      .method = "m", .num_chains = 2, .num_draws = MANY, .num_variables = 1, .variables = &wide};
  RpinnDrawFile *file;
  struct rusage before, after;
  double numbers[WIDTH] = {0};
  assert_int_equal(rpinn_draw_file_create(context, "wide.nc", &options, &file), RPINN_OK);
  for (size_t i = 0; i < 100; i++)
    assert_int_equal(rpinn_draw_file_add(context, file, 0, numbers, NULL, NULL), RPINN_OK);
  getrusage(RUSAGE_SELF, &before);
  for (size_t i = 100; i < 2 * MANY; i++) {
    numbers[i % WIDTH] = (double)i;
    assert_int_equal(rpinn_draw_file_add(context, file, i / MANY, numbers, NULL, NULL), RPINN_OK);
  }
  getrusage(RUSAGE_SELF, &after);
  assert_int_equal(rpinn_draw_file_finish(context, file), RPINN_OK);
  rpinn_draw_file_destroy(file);
  double grown = (double)(after.ru_maxrss - before.ru_maxrss) / 1024;
  print_message("grown by %.1f MiB\n", grown);
  check_true(grown < 20, "grown by %g MiB", grown);
  rpinn_context_destroy(context);
}

/* ---- draws in memory ---- */

static RpinnStatus normal(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = 0;
  for (size_t j = 0; j < 4; j++) {
    *log_density -= 0.5 * x[j] * x[j];
    if (gradient) gradient[j] = -x[j];
  }
  return RPINN_OK;
}

static void draws_in_memory_become_a_file(void **state) {
  (void)state;
  enum { MADE = 40, KEPT = 30 };
  RpinnContext *context = rpinn_context_create();
  const char *const names[] = {"mu", "b[0]", "b[1]", "c[1]"};
  RpinnLogDensity target = {.num_parameters = 4, .evaluate = normal};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnNutsChains chains = {.seed = 1, .num_chains = 2, .names = names};
  RpinnDraws *draws;
  double mu[2][KEPT], b[2][KEPT][2], c[2][KEPT], steps[2][KEPT];
  int id, type, variable;
  options.num_warmup = 50;
  options.num_draws = MADE;
  assert_int_equal(rpinn_nuts_sample_chains(context, 1, &target, &options, &chains, &draws), RPINN_OK);
  assert_int_equal(rpinn_draws_write(context, draws, KEPT, "nuts", "draws.nc"), RPINN_OK);
  int group = open_group("draws.nc", "posterior", &id);
  read_numbers(group, "mu", mu[0]);
  read_numbers(group, "b", b[0][0]);
  read_numbers(group, "c[1]", c[0]); /* no vector: it does not begin with 0 */
  assert_int_equal(nc_inq_grp_ncid(id, "sample_stats", &group), NC_NOERR);
  read_numbers(group, "n_steps", steps[0]);
  assert_int_equal(nc_inq_varid(group, "diverging", &variable), NC_NOERR);
  assert_int_equal(nc_inq_vartype(group, variable, &type), NC_NOERR);
  assert_int_equal(type, NC_BYTE);
  for (size_t chain = 0; chain < 2; chain++)
    for (size_t i = 0; i < KEPT; i++) {
      RpinnDraw draw = rpinn_draws_get(draws, chain * MADE + i);
      assert_true(mu[chain][i] == draw.parameters[0] && b[chain][i][0] == draw.parameters[1]);
      assert_true(b[chain][i][1] == draw.parameters[2] && c[chain][i] == draw.parameters[3]);
      assert_true(steps[chain][i] == draw.statistics[rpinn_draws_statistic(draws, "n_steps")]);
    }
  assert_int_equal(nc_close(id), NC_NOERR);
  assert_int_equal(rpinn_draws_write(context, draws, MADE + 1, "nuts", "more.nc"), RPINN_ERROR_INPUT);
  assert_string_equal(rpinn_context_error(context)->message, "no chain has 41 draws to write to 'more.nc'");
  rpinn_draws_destroy(draws);
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_where_their_names_say), cmocka_unit_test(what_is_missing_is_said),
      cmocka_unit_test(names_that_cannot_be_are_refused), cmocka_unit_test(memory_does_not_grow_with_draws),
      cmocka_unit_test(draws_in_memory_become_a_file)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
