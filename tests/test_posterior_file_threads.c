/* posterior.nc in several threads of a program, each with a file of its own: NetCDF and HDF5 serve one at a time, and nobody
 * notices. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "posterior_file.h"
#include "problem_bench.h"
#include "temporary_folder.h"
#include "whole_file.h"

enum { NUM_THREADS = 4, NUM_FILES = 3, NUM_DRAWS = 4 };

static const char yaml[] = "name: line\n"
                           "coordinates: {x: [0, 1]}\n"
                           "truth: {u: x}\n"
                           "fields: {u: {network: [3]}}\n"
                           "terms: {a: {expect: u, at: {grid: 4}, data: truth, noise: 0.1}}\n"
                           "prior: {reference_term: a}\n"
                           "predict: {grid: 5, quantities: [u]}\n";

/* ---- calls of NetCDF, which take their time here and meet nobody ---- */

static atomic_int num_inside, num_meetings, num_calls;

static void enter(void) {
  atomic_fetch_add(&num_calls, 1);
  if (atomic_fetch_add(&num_inside, 1) > 0) atomic_fetch_add(&num_meetings, 1);
  nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}
static int leave(int code) {
  atomic_fetch_sub(&num_inside, 1);
  return code;
}

#define WRAPPED(name, parameters, arguments)                                                                 \
  int __real_##name parameters;                                                                              \
  int __wrap_##name parameters;                                                                              \
  int __wrap_##name parameters {                                                                             \
    enter();                                                                                                 \
    return leave(__real_##name arguments);                                                                   \
  }
WRAPPED(nc_create, (const char *path, int mode, int *id), (path, mode, id))
WRAPPED(nc_close, (int id), (id))
WRAPPED(nc_def_grp, (int parent, const char *name, int *id), (parent, name, id))
WRAPPED(nc_def_dim, (int group, const char *name, size_t size, int *id), (group, name, size, id))
WRAPPED(nc_inq_varid, (int group, const char *name, int *id), (group, name, id))
WRAPPED(nc_put_var_double, (int group, int id, const double *numbers), (group, id, numbers))
WRAPPED(nc_put_var_longlong, (int group, int id, const long long *numbers), (group, id, numbers))
WRAPPED(nc_put_vara, (int group, int id, const size_t *start, const size_t *count, const void *numbers),
        (group, id, start, count, numbers))

/* ---- a file, or one that is given up ---- */

static RpinnStatus write_file(RpinnContext *context, const RpinnPosterior *posterior, const char *path,
                              bool is_finished) {
  static const char *const names[] = {"loss"};
  RpinnPosteriorFileOptions options = {.method = "rpinn",
                                       .num_chains = 1,
                                       .num_draws = NUM_DRAWS,
                                       .num_statistics = 1,
                                       .statistic_names = names,
                                       .keep_every = 1};
  double numbers[64];
  RpinnPosteriorFile *file;
  assert_true(posterior->model.num_parameters <= 64 && posterior->model.num_rows <= 64);
  RPINN_TRY(rpinn_posterior_file_create(context, path, posterior, &options, &file));
  RpinnStatus status = RPINN_OK;
  for (size_t draw = 0; draw < NUM_DRAWS && status == RPINN_OK; draw++) {
    for (size_t i = 0; i < 64; i++) numbers[i] = (double)(draw * 64 + i);
    status = rpinn_posterior_file_add(
        context, file,
        &(RpinnPosteriorDraw){0, draw, draw, 1, numbers, numbers, numbers, numbers, numbers, numbers});
  }
  if (status == RPINN_OK && is_finished) status = rpinn_posterior_file_finish(context, file);
  rpinn_posterior_file_destroy(file);
  return status;
}

/* ---- a thread ---- */

typedef struct Writer {
  const RpinnPosterior *posterior;
  char path[64];
  RpinnStatus status;
  char message[256];
} Writer;

static void *write_files(void *user) {
  Writer *writer = user;
  RpinnContext *context = rpinn_context_create();
  for (size_t k = 0; k < NUM_FILES && writer->status == RPINN_OK; k++)
    writer->status = write_file(context, writer->posterior, writer->path, k % 2 == 0);
  snprintf(writer->message, sizeof writer->message, "%.200s", rpinn_context_error(context)->message);
  rpinn_context_destroy(context);
  return NULL;
}

static void files_of_threads_are_those_of_one(void **state) {
  (void)state;
  ProblemBench bench = bench_parse(yaml, NULL);
  Writer writers[NUM_THREADS];
  pthread_t threads[NUM_THREADS];
  RpinnText alone = {0};
  bench_build(&bench);
  bench_require(&bench, write_file(bench.context, bench.posterior, "alone.nc", true), "write");
  bench_require(&bench, rpinn_file_read(bench.context, "alone.nc", 16, &alone), "read");
  for (size_t t = 0; t < NUM_THREADS; t++) {
    writers[t] = (Writer){.posterior = bench.posterior};
    snprintf(writers[t].path, sizeof writers[t].path, "posterior_%zu.nc", t);
    assert_int_equal(pthread_create(&threads[t], NULL, write_files, &writers[t]), 0);
  }
  for (size_t t = 0; t < NUM_THREADS; t++) pthread_join(threads[t], NULL);
  assert_true(num_calls > NUM_THREADS * NUM_FILES * NUM_DRAWS);
  assert_int_equal(num_meetings, 0);
  for (size_t t = 0; t < NUM_THREADS; t++) {
    check_true(writers[t].status == RPINN_OK, "thread %zu: %s", t, writers[t].message);
    RpinnText found = {0};
    bench_require(&bench, rpinn_file_read(bench.context, writers[t].path, 16, &found), "read");
    check_true(found.length == alone.length && !memcmp(found.bytes, alone.bytes, alone.length), "%s differs",
               writers[t].path);
    rpinn_text_free(&found);
  }
  rpinn_text_free(&alone);
  bench_close(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(files_of_threads_are_those_of_one)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
