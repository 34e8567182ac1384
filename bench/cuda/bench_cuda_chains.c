/* NUTS on the backend `cuda`: chains from Glorot starts, with trees of depth 8 that nothing turns back.
 *
 *   bench_cuda_chains PROBLEM CHAINS DRAWS PRECISION [NAME=VALUE...]
 *
 * A line has the leapfrogs per second of whole calls, and the share of their time that launches take. */
#include <stdio.h>

#include "bench_subject.h"
#include "device_speed.h"

static RpinnStatus measure(RpinnContext *context, const BenchSubject *subject, const char *title) {
  size_t count = subject->num_members, N = subject->posterior->model.num_parameters;
  double *thetas = malloc(count * N * sizeof *thetas);
  const double **starts = malloc(count * sizeof *starts);
  RpinnDeviceChaining chaining;
  RpinnStatus status = thetas && starts ? RPINN_OK : rpinn_fail_memory(context);
  for (size_t k = 0; k < count && status == RPINN_OK; k++) {
    rpinn_posterior_start_glorot(subject->posterior, k, thetas + k * N);
    starts[k] = thetas + k * N;
  }
  if (status == RPINN_OK)
    status = rpinn_device_chains_measure(context, subject->posterior, count, starts, subject->num_calls,
                                         &chaining);
  if (status == RPINN_OK)
    printf("%s, %zu chains: %zu leapfrogs in %.3f s, %.3f million per second, %.1f %% of it in launches\n",
           title, chaining.num_chains, chaining.num_leapfrogs, chaining.seconds,
           1e-6 * (double)chaining.num_leapfrogs / chaining.seconds,
           100 * chaining.launches / chaining.seconds);
  free(thetas);
  free(starts);
  return status;
}

static RpinnStatus run(RpinnContext *context, int argc, char **argv) {
  BenchSubject subject;
  RPINN_TRY(open_subject(context, argc, argv, &subject));
  RpinnStatus status =
      subject.posterior->backend->operations->transitions
          ? measure(context, &subject, argv[1])
          : rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "the backend makes no transitions of %s", argv[1]);
  close_subject(&subject);
  return status;
}

int main(int argc, char **argv) {
  RpinnContext *context = rpinn_context_create();
  if (argc < 5 || !context) {
    fprintf(stderr, "usage: bench_cuda_chains PROBLEM CHAINS DRAWS PRECISION [NAME=VALUE...]\n");
    return 2;
  }
  RpinnStatus status = run(context, argc, argv);
  if (status != RPINN_OK) fprintf(stderr, "bench_cuda_chains: %s\n", rpinn_context_error(context)->message);
  rpinn_context_destroy(context);
  return rpinn_status_exit_code(status);
}
