/* Members that float stops and that go on in double: how low they come, what the run says of them, and that threads, groups, shards and
 * sessions leave no mark on their bytes. */
#include <stdatomic.h>
#include <time.h>

#include "member_statistics.h"
#include "member_store.h"
#include "mock_backend.h"
#include "rpinn/merge.h"
#include "run_bench.h"

enum { MEMBERS = 12 };

/* Under so wide a prior the curvatures of the rows are far more than float can tell from those of the prior. */
static const char wave_yaml[] =
    "name: wave\n"
    "coordinates: {x: [0, 1], y: [0, 1], z: [0, 2], t: [0, 1]}\n"
    "constants: {c: 0.5, k: pi, omega: c*k*sqrt(3)}\n"
    "fields: {u: {network: [9, 9], activation: sine}}\n"
    "truth: {u: sin(k*x)*sin(k*y)*sin(k*z)*cos(omega*t)}\n"
    "terms:\n"
    "  pde: {expect: \"d(u, t, t) - c^2*(d(u, x, x) + d(u, y, y) + d(u, z, z))\", at: {sobol: 64}, data: 0, "
    "noise: 0.1}\n"
    "  boundary: {expect: u, at: {boundary: 4}, data: truth, noise: 0.02}\n"
    "  velocity: {expect: \"d(u, t)\", at: {side: t=0, grid: [2, 2, 3, 1]}, data: 0, noise: 0.02}\n"
    "predict: {grid: [3, 3, 3, 2], quantities: [u]}\n"
    "settings: {prior_shape: fan_in, prior_scale: 10, samples: 12, threads: 1, seed: 5}\n";

/* ---- what the store has of members ---- */

typedef struct Members {
  double loss[MEMBERS];
  bool in_double[MEMBERS], converged[MEMBERS];
  size_t num_in_double, num_at_limit;
} Members;

static RpinnStatus take_member(void *user, const RpinnStoredMember *member) {
  Members *members = user;
  assert_true(member->index < MEMBERS);
  members->loss[member->index] = member->statistics[RPINN_MEMBER_LOSS];
  members->converged[member->index] = member->statistics[RPINN_MEMBER_CONVERGED] > 0;
  members->in_double[member->index] = strstr(member->stop, "_in_double") != NULL;
  members->num_in_double += members->in_double[member->index];
  members->num_at_limit += !strcmp(member->stop, "damping_limit");
  return RPINN_OK;
}

static Members read_members(const RunBench *bench, const char *name) {
  Members members = {0};
  RpinnMemberStore *store;
  const char *path = run_path(bench, name, "checkpoint.db");
  run_require(bench, rpinn_member_store_open_existing(bench->context, path, &store));
  run_require(bench, rpinn_member_store_visit(bench->context, store, (RpinnStoreRange){0, MEMBERS},
                                              take_member, &members));
  rpinn_member_store_close(store);
  return members;
}

static void compare_file(const RunBench *bench, const char *one, const char *other, const char *file) {
  RpinnText left = {0}, right = {0};
  run_require(bench, rpinn_file_read(bench->context, run_path(bench, one, file), 64, &left));
  run_require(bench, rpinn_file_read(bench->context, run_path(bench, other, file), 64, &right));
  check_true(left.length == right.length && left.length > 0 && !memcmp(left.bytes, right.bytes, left.length),
             "%s of %s and of %s differ", file, one, other);
  rpinn_text_free(&left);
  rpinn_text_free(&right);
}

static void compare_runs(const RunBench *bench, const char *one, const char *other) {
  Members left = read_members(bench, one), right = read_members(bench, other);
  compare_file(bench, one, other, "posterior.nc");
  compare_file(bench, one, other, "predictions.csv");
  assert_memory_equal(left.in_double, right.in_double, sizeof left.in_double);
}

/* ---- a backend that is watched: `cpu`, with counts of what there is in double ---- */

static struct {
  RpinnBackendOperations stand_in, in_double;
  const RpinnBackendOperations *own;
  bool has_no_memory;
  atomic_size_t num_made; /* in double */
  atomic_size_t num_rows; /* calls for rows in double */
  size_t interrupts_at;   /* the call that waits until the run has heard of its end; 0: none */
  atomic_bool wants_end, was_heard;
  size_t num_made_for_draws;
} watch;

static void pause_for(long milliseconds) {
  nanosleep(&(struct timespec){0, milliseconds * 1000000}, NULL);
}

static RpinnStatus watched_rows(RpinnContext *context, RpinnBackend *backend, const RpinnMemberBatch *batch,
                                double *const *rows, double *const *jacobians) {
  if (++watch.num_rows == watch.interrupts_at) {
    watch.wants_end = true;
    for (size_t k = 0; k < 5000 && !watch.was_heard; k++) pause_for(1);
    pause_for(50); /* until the pool has passed it on */
  }
  return watch.own->residuals(context, backend, batch, rows, jacobians);
}

static RpinnStatus create_watched(RpinnContext *context, const RpinnEnergyModel *model,
                                  RpinnPrecision precision, RpinnBackend **backend) {
  *backend = NULL;
  if (precision == RPINN_PRECISION_DOUBLE && watch.has_no_memory) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_cpu_backend.create(context, model, precision, backend));
  if (precision != RPINN_PRECISION_DOUBLE) return RPINN_OK;
  if (watch.num_made++ == 0) {
    watch.own = (*backend)->operations;
    watch.in_double = *watch.own;
    watch.in_double.residuals = watched_rows;
  }
  (*backend)->operations = &watch.in_double;
  return RPINN_OK;
}

static bool is_enough(void *user) {
  (void)user;
  if (watch.wants_end) watch.was_heard = true;
  return watch.wants_end;
}

/* Results come after the draws, and have targets in double of their own. */
static void note_draws(void *user, const RpinnProgress *progress) {
  (void)user;
  if (progress->last) watch.num_made_for_draws = watch.num_made;
}

/* interrupts_at: the call for rows in double that it is interrupted at; 0: none. */
static RpinnStatus make_watched(const RunBench *bench, const char *name, const char *settings, bool resume,
                                size_t interrupts_at, bool *interrupted) {
  RpinnRun *run = NULL;
  RpinnRunOptions options = {.resume = resume, .interrupted = is_enough, .progress = note_draws};
  watch.num_made = watch.num_rows = watch.num_made_for_draws = 0;
  watch.wants_end = watch.was_heard = false;
  watch.interrupts_at = interrupts_at;
  watch.stand_in = rpinn_cpu_backend;
  watch.stand_in.create = create_watched;
  rpinn_backend_replace(&rpinn_cpu_backend, &watch.stand_in);
  RpinnStatus status = run_try(bench, name, wave_yaml, settings, options, &run);
  rpinn_backend_replace(&rpinn_cpu_backend, NULL);
  if (interrupted) *interrupted = status == RPINN_OK && rpinn_run_interrupted(run);
  rpinn_run_destroy(run);
  return status;
}

/* ---- tests ---- */

/* One case: what a run in double finds, members of float find as well where they went on in double. */
static void check_depth(const RunBench *bench, const char *name, const char *more) {
  char deep[64], settings[256];
  snprintf(deep, sizeof deep, "%s-double", name);
  snprintf(settings, sizeof settings, "precision=double %s", more);
  const RpinnJsonValue *summary = run_make(bench, name, wave_yaml, more);
  run_make(bench, deep, wave_yaml, settings);
  Members found = read_members(bench, name), expected = read_members(bench, deep);
  print_message("%s: %zu of %d members went on in double\n", name, found.num_in_double, MEMBERS);
  check_true(found.num_in_double >= MEMBERS / 2, "%s: %zu members went on in double", name,
             found.num_in_double);
  assert_int_equal(found.num_at_limit, 0);
  assert_int_equal(expected.num_in_double, 0);
  for (size_t k = 0; k < MEMBERS; k++)
    if (found.in_double[k])
      check_true(found.loss[k] <= 1.5 * expected.loss[k], "%s: member %zu has a loss of %g, and in double %g",
                 name, k, found.loss[k], expected.loss[k]);
  /* The summary counts them. */
  double counted = 0, number;
  for (const RpinnJsonValue *stop = json_at(summary, "members/stops")->first; stop; stop = stop->next)
    if (strstr(stop->key, "_in_double") && rpinn_json_as_number(stop, &number)) counted += number;
  check_same(counted, (double)found.num_in_double, 0, "the number of members in double");
}

static void they_come_as_low_as_in_double(void **state) {
  check_depth(*state, "rpinn", "");
  Members members = read_members(*state, "rpinn");
  for (size_t k = 0; k < MEMBERS; k++) check_true(members.converged[k], "member %zu has not converged", k);
}

/* Without offsets. */
static void ensembles_do_likewise(void **state) {
  check_depth(*state, "ensemble", "method=ensemble");
}

static void threads_groups_and_shards_leave_no_mark(void **state) {
  RunBench *bench = *state;
  RpinnRun *run;
  run_make(bench, "one", wave_yaml, "");
  assert_true(read_members(bench, "one").num_in_double >= 2);
  run_make(bench, "three", wave_yaml, "threads=3");
  compare_runs(bench, "one", "three");
  mock_backend_use(&mock_backend);
  run_make(bench, "seven", wave_yaml, "");
  mock_backend_stop();
  compare_runs(bench, "one", "seven");
  for (uint64_t k = 1; k <= 2; k++) {
    RpinnRunOptions options = {.shard = {k, 2}};
    run_require(bench, run_try(bench, k == 1 ? "first" : "second", wave_yaml, "", options, &run));
    rpinn_run_destroy(run);
  }
  const char *shards[] = {run_path(bench, "first", NULL), run_path(bench, "second", NULL)};
  RpinnMergeOptions merge = {.folder = run_path(bench, "merged", NULL), .num_folders = 2, .folders = shards};
  run_require(bench, rpinn_merge(bench->context, &merge, &run));
  rpinn_run_destroy(run);
  compare_runs(bench, "one", "merged");
}

/* Stopped in the middle of steps in double, several times, and gone on with, by seven at a time in the end. */
static void sessions_go_on_in_double(void **state) {
  RunBench *bench = *state;
  run_make(bench, "whole", wave_yaml, "");
  for (size_t session = 0; session < 4; session++) {
    bool interrupted;
    run_require(bench, make_watched(bench, "pieces", "", session > 0, 5 + 9 * session, &interrupted));
    check_true(interrupted && watch.num_rows > 0, "session %zu was not stopped", session);
  }
  mock_backend_use(&mock_backend);
  run_resume(bench, "pieces", wave_yaml, "");
  mock_backend_stop();
  compare_runs(bench, "whole", "pieces");
}

static void no_double_where_nobody_needs_it(void **state) {
  RunBench *bench = *state;
  run_require(bench, make_watched(bench, "narrow", "prior_scale=1.5", false, 0, NULL));
  assert_int_equal(read_members(bench, "narrow").num_in_double, 0);
  assert_int_equal(watch.num_made_for_draws, 0);
  run_require(bench, make_watched(bench, "wide", "", false, 0, NULL));
  assert_int_equal(watch.num_made_for_draws, 1);
}

static void no_memory_for_double_is_a_status(void **state) {
  RunBench *bench = *state;
  watch.has_no_memory = true;
  assert_int_equal(make_watched(bench, "wide", "", false, 0, NULL), RPINN_ERROR_MEMORY);
  watch.has_no_memory = false;
  run_require(bench, make_watched(bench, "wide", "", true, 0, NULL));
  run_make(bench, "whole", wave_yaml, "");
  compare_runs(bench, "whole", "wide");
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(they_come_as_low_as_in_double),
                                     test_in_folder(ensembles_do_likewise),
                                     test_in_folder(threads_groups_and_shards_leave_no_mark),
                                     test_in_folder(sessions_go_on_in_double),
                                     test_in_folder(no_double_where_nobody_needs_it),
                                     test_in_folder(no_memory_for_double_is_a_status)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
