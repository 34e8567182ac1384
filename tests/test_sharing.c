/* One problem, many threads: posteriors leave the problem as it is, share what is only read, and cost the threads of a run
 * next to nothing. */
#include <pthread.h>
#include <time.h>

#include "driver.h"
#include "problem_bench.h"
#include "rpinn/check.h"

/* ---- the problem stays as it is ---- */

typedef struct Snapshot {
  RpinnProblem problem;
  RpinnExpressionPool pool;
  RpinnNode *nodes;
  RpinnNamedExpression *constants, *quantities;
  RpinnTerm *terms;
} Snapshot;

static void *copy_of(const void *bytes, size_t size) {
  void *copy = malloc(size + 1);
  assert_non_null(copy);
  if (size) memcpy(copy, bytes, size);
  return copy;
}

static Snapshot take_snapshot(const RpinnProblem *problem) {
  return (Snapshot){*problem,
                    *problem->pool,
                    copy_of(problem->pool->nodes, problem->pool->count * sizeof(RpinnNode)),
                    copy_of(problem->constants, problem->num_constants * sizeof(RpinnNamedExpression)),
                    copy_of(problem->quantities, problem->num_quantities * sizeof(RpinnNamedExpression)),
                    copy_of(problem->terms, problem->num_terms * sizeof(RpinnTerm))};
}

static void check_unchanged(const Snapshot *before, const RpinnProblem *problem) {
  assert_int_equal(problem->pool->count, before->pool.count);
  assert_int_equal(problem->pool->num_visits, before->pool.num_visits);
  assert_memory_equal(problem->pool->nodes, before->nodes, before->pool.count * sizeof(RpinnNode));
  for (size_t i = 0; i < problem->num_constants; i++)
    check_true(problem->constants[i].num_uses == before->constants[i].num_uses, "%s is used %zu times",
               problem->constants[i].name, (size_t)problem->constants[i].num_uses);
  assert_memory_equal(problem->constants, before->constants,
                      problem->num_constants * sizeof(RpinnNamedExpression));
  assert_memory_equal(problem->quantities, before->quantities,
                      problem->num_quantities * sizeof(RpinnNamedExpression));
  assert_memory_equal(problem->terms, before->terms, problem->num_terms * sizeof(RpinnTerm));
  assert_memory_equal(problem, &before->problem, sizeof *problem);
}

static void free_snapshot(Snapshot *snapshot) {
  free(snapshot->nodes);
  free(snapshot->constants);
  free(snapshot->quantities);
  free(snapshot->terms);
}

static void load_file(const char *name, ProblemBench *bench) {
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/problems/%s", getenv("RPINN_SOURCE_DIR"), name);
  *bench = bench_load(path, NULL);
}

/* Truths that are drawn, solved, tabled and derived; terms with gaussian. */
static void posteriors_and_checks_leave_the_problem_alone(void **state) {
  static const char *const files[] = {"drawn-truth.yaml", "gaussian-term.yaml", "table-truth.yaml",
                                      "all-in-one.yaml"};
  (void)state;
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    ProblemBench bench;
    load_file(files[i], &bench);
    Snapshot before = take_snapshot(bench.problem);
    RpinnPosterior *second, *shared;
    RpinnCheck *check;
    bench_require(&bench, rpinn_posterior_create(bench.context, bench.problem, false, &bench.posterior),
                  files[i]);
    bench_require(&bench, rpinn_posterior_create(bench.context, bench.problem, false, &second), files[i]);
    bench_require(&bench, rpinn_posterior_share(bench.context, bench.posterior, &shared), files[i]);
    bench_require(&bench, rpinn_check_create(bench.context, bench.problem, &check), files[i]);
    check_unchanged(&before, bench.problem);
    rpinn_check_destroy(check);
    rpinn_posterior_destroy(shared);
    rpinn_posterior_destroy(second);
    free_snapshot(&before);
    bench_close(&bench);
  }
}

/* ---- threads ---- */

enum { NUM_THREADS = 4 };

typedef struct Job {
  const RpinnProblem *problem;
  RpinnPosterior *shared; /* NULL: the thread makes one of its own from the problem */
  double energy, prediction;
  RpinnStatus status;
} Job;

static RpinnStatus evaluate(RpinnContext *context, Job *job) {
  RpinnPosterior *own = NULL, *posterior = job->shared;
  if (!posterior) RPINN_TRY(rpinn_posterior_create(context, job->problem, false, &own));
  if (!posterior) posterior = own;
  size_t num_parameters = rpinn_posterior_num_parameters(posterior);
  double *theta = calloc(2 * num_parameters, sizeof *theta),
         *values =
             calloc(rpinn_posterior_num_predictions(posterior) * posterior->problem->num_predicted + 1, 8);
  RpinnStatus status = theta && values ? RPINN_OK : RPINN_ERROR_MEMORY;
  for (uint64_t member = 0; member < 3 && status == RPINN_OK; member++) {
    rpinn_posterior_start_glorot(posterior, member, theta);
    status =
        rpinn_posterior_energy(context, posterior, theta, NULL, &job->energy, theta + num_parameters, NULL);
    if (status == RPINN_OK) status = rpinn_posterior_predict(context, posterior, theta, values);
    job->prediction = values[0];
  }
  free(theta);
  free(values);
  rpinn_posterior_destroy(own);
  return status;
}

static void *perform(void *user) {
  Job *job = user;
  RpinnContext *context = rpinn_context_create();
  job->status = context ? evaluate(context, job) : RPINN_ERROR_MEMORY;
  rpinn_context_destroy(context);
  return NULL;
}

/* All threads at once get what one of them gets alone. */
static void run_jobs(Job *jobs) {
  pthread_t threads[NUM_THREADS];
  Job alone = {.problem = jobs[0].problem};
  perform(&alone);
  assert_int_equal(alone.status, RPINN_OK);
  for (size_t i = 0; i < NUM_THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, perform, &jobs[i]), 0);
  for (size_t i = 0; i < NUM_THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (size_t i = 0; i < NUM_THREADS; i++) {
    assert_int_equal(jobs[i].status, RPINN_OK);
    assert_memory_equal(&jobs[i].energy, &alone.energy, sizeof(double));
    assert_memory_equal(&jobs[i].prediction, &alone.prediction, sizeof(double));
  }
}

static void threads_make_posteriors_of_one_problem(void **state) {
  ProblemBench bench;
  (void)state;
  load_file("drawn-truth.yaml", &bench);
  Snapshot before = take_snapshot(bench.problem);
  Job jobs[NUM_THREADS];
  for (size_t i = 0; i < NUM_THREADS; i++) jobs[i] = (Job){.problem = bench.problem};
  run_jobs(jobs);
  check_unchanged(&before, bench.problem);
  free_snapshot(&before);
  bench_close(&bench);
}

static const char *const backends[] = {"cpu", "plain"};

/* gaussian-term.yaml and its posterior on one of the backends. */
static void make_on_backend(const char *backend, ProblemBench *bench) {
  load_file("gaussian-term.yaml", bench);
  bench_require(bench,
                rpinn_settings_set(bench->context, &bench->problem->settings, RPINN_SETTING_BACKEND, backend,
                                   (RpinnPlace){0}),
                "backend");
  bench_require(bench, rpinn_posterior_create(bench->context, bench->problem, false, &bench->posterior),
                "posterior");
}

static void threads_share_one_posterior(void **state) {
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    ProblemBench bench;
    Job jobs[NUM_THREADS];
    make_on_backend(backends[k], &bench);
    for (size_t i = 0; i < NUM_THREADS; i++) {
      jobs[i] = (Job){.problem = bench.problem};
      bench_require(&bench, rpinn_posterior_share(bench.context, bench.posterior, &jobs[i].shared), "share");
      assert_ptr_equal(jobs[i].shared->data, bench.posterior->data);
      assert_ptr_not_equal(jobs[i].shared->backend, bench.posterior->backend);
    }
    run_jobs(jobs);
    for (size_t i = 0; i < NUM_THREADS; i++) rpinn_posterior_destroy(jobs[i].shared);
    bench_close(&bench);
  }
}

/* ---- evaluations that are planned once ---- */

enum { NUM_MEMBERS = 40, NUM_ROUNDS = 50 };

/* The bits of an evaluation that is planned for every call, from one that is planned once and run for many members. */
static void plans_give_the_bits_of_single_evaluations(void **state) {
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    ProblemBench bench;
    RpinnPlannedEvaluation planned;
    make_on_backend(backends[k], &bench);
    RpinnBackend *backend = bench.posterior->backend;
    RpinnEvaluation evaluation = {.num_points = bench.posterior->data->predict.count,
                                  .points = bench.posterior->data->predict.x,
                                  .num_programs = bench.problem->num_predicted,
                                  .programs = bench.posterior->predictions};
    size_t N = bench.posterior->model.num_parameters, size = evaluation.num_points * evaluation.num_programs;
    double *theta = calloc(N, sizeof *theta), *once = calloc(size, sizeof *once),
           *planned_values = calloc(size, sizeof *once), *predicted = calloc(size, sizeof *once);
    assert_true(theta && once && planned_values && predicted);
    assert_int_equal(rpinn_evaluation_plan(bench.context, backend, &evaluation, &planned), RPINN_OK);
    for (uint64_t member = 0; member < NUM_MEMBERS; member++) {
      RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = theta}};
      rpinn_posterior_start_normal(bench.posterior, member, theta);
      assert_int_equal(rpinn_backend_evaluate(bench.context, backend, &batch, &evaluation, &once), RPINN_OK);
      assert_int_equal(rpinn_evaluation_run(bench.context, &planned, &batch, &planned_values), RPINN_OK);
      assert_int_equal(rpinn_posterior_predict(bench.context, bench.posterior, theta, predicted), RPINN_OK);
      assert_memory_equal(planned_values, once, size * sizeof *once);
      assert_memory_equal(predicted, once, size * sizeof *once);
    }
    rpinn_evaluation_release(&planned);
    free(theta);
    free(once);
    free(planned_values);
    free(predicted);
    bench_close(&bench);
  }
}

/* ---- what threads cost ---- */

static double processor_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Programs at the same points share the values of their fields, and have the bits that each has alone: one and two of them as
 * values, before and after the ones with derivatives; in several blocks. */
static void programs_together_have_the_bits_of_each_alone(void **state) {
  static const char text[] =
      "name: together\ncoordinates: {a: [0, 1], b: [0, 2]}\n"
      "fields: {u: {network: [50, 50]}, v: {network: [50, 50]}}\n"
      "quantities: {product: u*v, flux: \"v*d(u, a)\", bend: \"d(u, a, a) + d(u, b, b)\", slope: \"d(u, "
      "b)\", place: a + b}\n"
      "truth: {u: a}\nterms: {d: {expect: u, at: {grid: [3, 3]}, data: truth, noise: 0.1}}\n"
      "predict: {grid: [23, 20], quantities: [v, u, product, flux, bend, slope, place]}\n"
      "settings: {backend: cpu}\n";
  (void)state;
  ProblemBench bench = bench_parse(text, NULL);
  bench_require(&bench, rpinn_posterior_create(bench.context, bench.problem, false, &bench.posterior),
                "posterior");
  RpinnBackend *backend = bench.posterior->backend;
  RpinnEvaluation all = {.num_points = bench.posterior->data->predict.count,
                         .points = bench.posterior->data->predict.x,
                         .num_programs = bench.problem->num_predicted,
                         .programs = bench.posterior->predictions};
  double *theta = calloc(bench.posterior->model.num_parameters, sizeof *theta),
         *together = calloc(all.num_points * all.num_programs, sizeof *theta),
         *alone = calloc(all.num_points, sizeof *theta);
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = theta}};
  assert_true(theta && together && alone);
  rpinn_posterior_start_normal(bench.posterior, 3, theta);
  assert_int_equal(rpinn_backend_evaluate(bench.context, backend, &batch, &all, &together), RPINN_OK);
  for (size_t q = 0; q < all.num_programs; q++) {
    RpinnEvaluation one = all;
    one.num_programs = 1;
    one.programs = all.programs + q;
    assert_int_equal(rpinn_backend_evaluate(bench.context, backend, &batch, &one, &alone), RPINN_OK);
    for (size_t p = 0; p < all.num_points; p++)
      check_true(alone[p] == together[q * all.num_points + p], "program %zu, point %zu: %.17g, alone %.17g",
                 q, p, together[q * all.num_points + p], alone[p]);
  }
  free(theta);
  free(together);
  free(alone);
  bench_close(&bench);
}

/* Seconds to prepare a run on so many threads, the least of three. */
static double prepare_seconds(const char *text, const char *threads) {
  double least = HUGE_VAL;
  for (int repetition = 0; repetition < 3; repetition++) {
    ProblemBench bench = bench_parse(text, NULL);
    RpinnRunOptions options = {0};
    RpinnDriver driver;
    bench_require(&bench,
                  rpinn_settings_set(bench.context, &bench.problem->settings, RPINN_SETTING_THREADS, threads,
                                     (RpinnPlace){0}),
                  "threads");
    double begun = processor_seconds();
    bench_require(&bench, rpinn_driver_prepare(bench.context, bench.problem, &options, &driver), "prepare");
    least = fmin(least, processor_seconds() - begun);
    assert_int_equal(driver.run->num_posteriors, (int)strtol(threads, NULL, 10));
    rpinn_run_destroy(driver.run);
    bench_close(&bench);
  }
  return least;
}

static void eight_threads_are_prepared_in_the_time_of_one(void **state) {
  static const char text[] =
      "name: prior\n"
      "coordinates: {x: [0, 1], z: [0, 1]}\n"
      "fields: {y: {network: [10, 10]}}\n"
      "terms:\n"
      "  y: {gaussian: {field: y, covariance: matern32, length: 0.3, variance: 1}, at: {grid: [30, 30]}}\n"
      "  logs: {expect: y, at: {grid: [3, 3]}, data: x*z, noise: 0.1}\n"
      "settings: {likelihood: noise, samples: 8}\n";
  (void)state;
  double one = prepare_seconds(text, "1"), eight = prepare_seconds(text, "8");
  print_message("900 points of a gaussian prior: %.3f s on 1 thread, %.3f s on 8, ratio %.2f\n", one, eight,
                eight / one);
  check_true(eight < 1.5 * one, "eight threads take %.2f times as long as one", eight / one);
}

/* Both in one loop, so that a busy machine slows both. */
static void plans_save_time(void **state) {
  (void)state;
  ProblemBench bench = bench_load("poisson-linear", NULL);
  bench_require(&bench, rpinn_posterior_create(bench.context, bench.problem, false, &bench.posterior),
                "posterior");
  RpinnBackend *backend = bench.posterior->backend;
  RpinnEvaluation evaluation = {.num_points = bench.posterior->data->predict.count,
                                .points = bench.posterior->data->predict.x,
                                .num_programs = bench.problem->num_predicted,
                                .programs = bench.posterior->predictions};
  size_t size = evaluation.num_points * evaluation.num_programs;
  double *theta = calloc(bench.posterior->model.num_parameters, sizeof *theta),
         *values = calloc(size, sizeof *values), single = HUGE_VAL, planned = HUGE_VAL;
  assert_true(theta && values);
  rpinn_posterior_start_glorot(bench.posterior, 0, theta);
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = theta}};
  for (int round = 0; round < NUM_ROUNDS; round++) {
    double begun = processor_seconds();
    for (int k = 0; k < 20; k++)
      assert_int_equal(rpinn_backend_evaluate(bench.context, backend, &batch, &evaluation, &values),
                       RPINN_OK);
    double between = processor_seconds();
    for (int k = 0; k < 20; k++)
      assert_int_equal(rpinn_posterior_predict(bench.context, bench.posterior, theta, values), RPINN_OK);
    single = fmin(single, between - begun);
    planned = fmin(planned, processor_seconds() - between);
  }
  print_message(
      "predictions of poisson-linear: %.1f us planned for each draw, %.1f us planned once, ratio %.2f\n",
      single / 20 * 1e6, planned / 20 * 1e6, single / planned);
  check_true(planned < single, "a plan takes %.2f times as long as none", planned / single);
  free(theta);
  free(values);
  bench_close(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(posteriors_and_checks_leave_the_problem_alone),
                                     cmocka_unit_test(threads_make_posteriors_of_one_problem),
                                     cmocka_unit_test(threads_share_one_posterior),
                                     cmocka_unit_test(plans_give_the_bits_of_single_evaluations),
                                     cmocka_unit_test(programs_together_have_the_bits_of_each_alone),
                                     cmocka_unit_test(eight_threads_are_prepared_in_the_time_of_one),
                                     cmocka_unit_test(plans_save_time)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
