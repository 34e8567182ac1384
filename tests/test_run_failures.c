/* Members that turn non-finite: which of them do is known beforehand, because log(s) fails wherever the drawn prior puts
 * s <= 0 at the start. So are the attempts that each needs, what the summary counts and who gets a weight. */
#include "problem_bench.h"
#include "run_bench.h"

#include <netcdf.h>

static const char yaml[] =
    "name: wild\n"
    "coordinates: {x: [0, 1]}\n"
    "fields: {u: {network: [2]}}\n"
    "unknowns: {s: {start: 1, prior: {mean: 0, std: 1}}}\n"
    "terms:\n"
    "  a: {expect: u, at: {grid: 3}, data: 0.2*x, noise: 0.3}\n"
    "  b: {expect: log(s), at: {points: [0.5]}, data: 0.1, noise: 0.5}\n"
    "prior: {reference_term: a}\n"
    "predict: {grid: 3, quantities: [u]}\n"
    "settings: {likelihood: noise, prior_scale: 1, precision: double, seed: 1, threads: 2, method: rpinn,\n"
    "           samples: 16, start: prior, optimizer: lbfgs, iterations: 3000}\n";

enum { NUM_MEMBERS = 16 };

/* The attempt of a member that starts with s > 0; num_attempts: none of them does. */
static uint32_t first_good_attempt(const ProblemBench *problem, uint64_t member, uint32_t num_attempts) {
  const RpinnEnergyModel *model = &problem->posterior->model;
  double offsets[64];
  uint32_t attempt = 0;
  assert_true(model->num_rows + model->num_parameters <= 64);
  for (; attempt < num_attempts; attempt++) {
    rpinn_posterior_draw_offsets(problem->posterior, member | (uint64_t)attempt << 48, offsets);
    if (offsets[model->num_rows + model->unknown_start] > 0) break;
  }
  return attempt;
}

static void read_variable(int root, const char *group_name, const char *name, double *values) {
  int group, id;
  assert_int_equal(nc_inq_grp_full_ncid(root, group_name, &group), NC_NOERR);
  check_true(nc_inq_varid(group, name, &id) == NC_NOERR, "no variable %s", name);
  assert_int_equal(nc_get_var_double(group, id, values), NC_NOERR);
}

static void keep_report(void *user, const RpinnProgress *progress) {
  *(RpinnProgress *)user = *progress;
}

/* A loss is the energy with the offsets of the attempt that succeeded. */
static void check_loss(const ProblemBench *problem, uint64_t member, uint32_t attempt, const double *weights,
                       double s, double loss) {
  const RpinnEnergyModel *model = &problem->posterior->model;
  double offsets[64], theta[32], energy;
  memcpy(theta, weights, model->unknown_start * sizeof *theta);
  theta[model->unknown_start] = s;
  rpinn_posterior_draw_offsets(problem->posterior, member | (uint64_t)attempt << 48, offsets);
  bench_require(
      problem,
      rpinn_posterior_energy(problem->context, problem->posterior, theta, offsets, &energy, NULL, NULL),
      "energy");
  check_same(loss, energy, 1e-9, "loss");
}

static void check_run(const RunBench *bench, const char *name, unsigned retries) {
  RpinnRun *run;
  RpinnProgress last = {0};
  char settings[64], line[128];
  snprintf(settings, sizeof settings, "retries=%u", retries);
  run_require(bench, run_try(bench, name, yaml, settings,
                             (RpinnRunOptions){.progress = keep_report, .user = &last}, &run));
  rpinn_run_destroy(run);
  const RpinnJsonValue *summary = run_json(bench, name);
  const char *log = run_read(bench, name, "run.log");
  ProblemBench problem = bench_load(run_path(bench, name, "run.yaml"), NULL);
  bench_build(&problem);
  size_t N = problem.posterior->model.unknown_start;
  double member[NUM_MEMBERS], attempts[NUM_MEMBERS], loss[NUM_MEMBERS], s[NUM_MEMBERS];
  double weights[NUM_MEMBERS * 32];
  int root;
  assert_int_equal(nc_open(run_path(bench, name, "posterior.nc"), NC_NOWRITE, &root), NC_NOERR);
  read_variable(root, "/sample_stats", "member", member);
  read_variable(root, "/sample_stats", "attempts", attempts);
  read_variable(root, "/sample_stats", "loss", loss);
  read_variable(root, "/posterior", "s", s);
  read_variable(root, "/posterior", "u_parameters", weights);
  size_t good = 0, retried = 0;
  for (uint64_t m = 0; m < NUM_MEMBERS; m++) {
    uint32_t attempt = first_good_attempt(&problem, m, retries + 1);
    bool failed = attempt > retries;
    retried += failed ? retries > 0 : attempt > 0;
    snprintf(line, sizeof line, "member %u failed: non-finite in %u attempts", (unsigned)m, retries + 1);
    check_true((strstr(log, line) != NULL) == failed, "'%s' in the log", line);
    if (failed) continue;
    check_same(member[good], (double)m, 0, "member");
    check_same(attempts[good], attempt, 0, "attempts");
    check_loss(&problem, m, attempt, weights + good * N, s[good], loss[good]);
    good++;
  }
  nc_close(root);
  bench_close(&problem);
  double num_failed = (double)(NUM_MEMBERS - good);
  check_true(good > 2 && (retries > 4 || num_failed > 0), "%g of %d failed", num_failed, NUM_MEMBERS);
  check_same(json_number(summary, "samples"), (double)good, 0, "samples");
  check_same(json_number(summary, "samples_asked"), NUM_MEMBERS, 0, "samples_asked");
  check_same(json_number(summary, "members/failed"), num_failed, 0, "failed");
  check_same(json_number(summary, "members/retried"), (double)retried, 0, "retried");
  check_same(json_number(summary, "members/converged"), (double)good, 0, "converged");
  if (num_failed > 0)
    check_same(json_number(summary, "members/stops/not_finite"), num_failed, 0, "stops/not_finite");
  assert_int_equal(last.failed, num_failed);
  assert_int_equal(last.done, NUM_MEMBERS);
  assert_true(last.last);
  /* Weights are those of the members that are there. */
  assert_true(json_flag(summary, "weights/apply"));
  double effective = json_number(summary, "weights/effective_size");
  check_true(effective > 1 && effective <= (double)good, "effective size %g of %zu", effective, good);
}

static void failures_without_retries(void **state) {
  check_run(*state, "run", 0);
}

static void one_retry(void **state) {
  check_run(*state, "run", 1);
}

static void many_retries(void **state) {
  check_run(*state, "run", 20);
}

/* A member that failed stays failed when the run goes on, and is counted once more. */
static void failures_are_remembered(void **state) {
  RunBench *bench = *state;
  RpinnRun *run;
  RpinnProgress last = {0};
  RpinnRunOptions options = {.progress = keep_report, .user = &last};
  run_require(bench, run_try(bench, "run", yaml, "retries=0", options, &run));
  rpinn_run_destroy(run);
  uint64_t failed = last.failed;
  const char *before = run_read(bench, "run", "predictions.csv");
  options.resume = true;
  run_require(bench, run_try(bench, "run", yaml, "retries=0", options, &run));
  rpinn_run_destroy(run);
  assert_true(failed > 0);
  assert_int_equal(last.failed, failed);
  assert_int_equal(last.iterations, 0);
  assert_string_equal(run_read(bench, "run", "predictions.csv"), before);
}

/* A chain whose first start has no finite energy looks for another. */
static void chains_find_a_finite_start(void **state) {
  RunBench *bench = *state;
  ProblemBench problem = bench_parse(yaml, NULL);
  bench_build(&problem);
  bool needs_another = false;
  for (uint64_t chain = 0; chain < 6; chain++) needs_another |= first_good_attempt(&problem, chain, 1) > 0;
  bench_close(&problem);
  assert_true(needs_another);
  const RpinnJsonValue *summary =
      run_make(bench, "run", yaml, "method=nuts chains=6 samples=5 warmup=10 max_depth=4");
  check_same(json_number(summary, "samples"), 30, 0, "samples");
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(failures_without_retries), test_in_folder(one_retry),
                                     test_in_folder(many_retries), test_in_folder(failures_are_remembered),
                                     test_in_folder(chains_find_a_finite_start)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
