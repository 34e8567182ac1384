/* The energy of one parameter vector as a C program calls it, for bench/python/overhead.py: bench_energy_call PROBLEM CALLS.
 * Writes the seconds per call, the mean over CALLS. The prior's scale is 1. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "rpinn/rpinn.h"

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int fail(RpinnContext *context, const char *what) {
  fprintf(stderr, "%s: %s\n", what, rpinn_context_error(context)->message);
  return 1;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: bench_energy_call PROBLEM CALLS\n");
    return 2;
  }
  const RpinnOverride scale = {"prior_scale", "1", "bench", true};
  const RpinnProblemOptions options = {.num_overrides = 1, .overrides = &scale};
  RpinnContext *context = rpinn_context_create();
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  if (!context || rpinn_problem_load(context, arguments[1], &options, &problem) != RPINN_OK ||
      rpinn_posterior_create(context, problem, true, &posterior) != RPINN_OK)
    return fail(context, arguments[1]);
  long num_calls = strtol(arguments[2], NULL, 10);
  double *theta = calloc(rpinn_posterior_num_parameters(posterior), sizeof *theta), energy = 0;
  if (!theta || num_calls < 1) return fail(context, "memory or calls");
  rpinn_posterior_start_glorot(posterior, 0, theta);
  for (int warm = 0; warm < 100; warm++)
    rpinn_posterior_energy(context, posterior, theta, NULL, &energy, NULL, NULL);
  double began = seconds();
  for (long k = 0; k < num_calls; k++)
    if (rpinn_posterior_energy(context, posterior, theta, NULL, &energy, NULL, NULL) != RPINN_OK)
      return fail(context, "energy");
  printf("%.9g %.17g\n", (seconds() - began) / (double)num_calls, energy);
  free(theta);
  rpinn_posterior_destroy(posterior);
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
  return 0;
}
