/* SVGD on the backend `cuda`: particles from Glorot starts, all iterations in one call.
 *
 *   bench_cuda_particles PROBLEM PARTICLES ITERATIONS PRECISION [NAME=VALUE...]
 *
 * A first call of two iterations wakes the GPU. Prints the seconds of the iterations alone and of the call, with its copies. */
#include <stdio.h>
#include <stdlib.h>

#include "bench_subject.h"
#include "cuda_engine.h"
#include "steady_clock.h"

/* Arrays [n][N] of RpinnParticleMoves. */
enum { NUM_ARRAYS = 5 };

static RpinnStatus measure(RpinnContext *context, RpinnPosterior *posterior, size_t n, size_t iterations,
                           double *numbers) {
  RpinnCudaEngine *engine = (RpinnCudaEngine *)posterior->backend;
  size_t N = posterior->model.num_parameters, count = n * N;
  RpinnParticleMoves moves = {.num_particles = n,
                              .num_iterations = 2,
                              .rule = {.learning_rate = 1e-3,
                                       .decay_rate = 1,
                                       .decay_steps = 1,
                                       .beta1 = 0.9,
                                       .beta2 = 0.999,
                                       .epsilon = 1e-8},
                              .particles = numbers,
                              .m = numbers + count,
                              .v = numbers + 2 * count,
                              .before = numbers + 3 * count,
                              .gradients = numbers + 4 * count,
                              .log_densities = numbers + NUM_ARRAYS * count};
  for (size_t k = 0; k < n; k++) rpinn_posterior_start_glorot(posterior, k, numbers + k * N);
  RPINN_TRY(engine->base.operations->move_particles(context, &engine->base, &moves));
  moves.t = 2;
  moves.num_iterations = iterations;
  engine->launch_seconds = 0;
  double begun = rpinn_steady_seconds();
  RPINN_TRY(engine->base.operations->move_particles(context, &engine->base, &moves));
  double seconds = rpinn_steady_seconds() - begun;
  printf("  %zu iterations %.3f s, %.4f ms each; the call %.3f s; bandwidth %.6g, mean |phi| %.6g\n",
         iterations, engine->launch_seconds, 1e3 * engine->launch_seconds / (double)iterations, seconds,
         moves.squared_bandwidth, moves.mean_norm);
  return RPINN_OK;
}

static RpinnStatus run(RpinnContext *context, int argc, char **argv) {
  BenchSubject subject;
  RPINN_TRY(open_subject(context, argc, argv, &subject));
  size_t n = subject.num_members, N = subject.posterior->model.num_parameters;
  double *numbers = calloc(NUM_ARRAYS * n * N + n, sizeof *numbers);
  RpinnStatus status;
  printf("%s %s, %zu particles of %zu parameters\n", argv[1], argv[4], n, N);
  if (!numbers)
    status = rpinn_fail_memory(context);
  else if (!subject.posterior->backend->operations->move_particles)
    status = rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "there is no cuBLAS here, which double needs");
  else
    status = measure(context, subject.posterior, n, subject.num_calls, numbers);
  free(numbers);
  close_subject(&subject);
  return status;
}

int main(int argc, char **argv) {
  RpinnContext *context = rpinn_context_create();
  if (argc < 5 || !context) {
    fprintf(stderr, "usage: bench_cuda_particles PROBLEM PARTICLES ITERATIONS PRECISION [NAME=VALUE...]\n");
    return 2;
  }
  RpinnStatus status = run(context, argc, argv);
  if (status != RPINN_OK)
    fprintf(stderr, "bench_cuda_particles: %s\n", rpinn_context_error(context)->message);
  rpinn_context_destroy(context);
  return rpinn_status_exit_code(status);
}
