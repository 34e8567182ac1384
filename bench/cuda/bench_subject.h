/* What the benchmarks of the backend `cuda` measure: a problem of the paper with a backend of its own, by their arguments
 * PROBLEM MEMBERS CALLS PRECISION [NAME=VALUE...]. */
#ifndef RPINN_BENCH_CUDA_BENCH_SUBJECT_H
#define RPINN_BENCH_CUDA_BENCH_SUBJECT_H

#include <stdlib.h>
#include <string.h>

#include "posterior.h"

typedef struct BenchSubject {
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  size_t num_members, num_calls;
} BenchSubject;

static inline RpinnStatus open_subject(RpinnContext *context, int argc, char **argv, BenchSubject *subject) {
  enum { MAX_OVERRIDES = 8 };
  RpinnOverride overrides[MAX_OVERRIDES] = {{"backend", "cuda", "bench", true},
                                            {"precision", argv[4], "bench", true}};
  RpinnProblemOptions options = {.preset = "paper", .num_overrides = 2, .overrides = overrides};
  for (int i = 5; i < argc && options.num_overrides < MAX_OVERRIDES; i++) {
    char *value = strchr(argv[i], '=');
    if (!value) return rpinn_fail(context, RPINN_ERROR_INPUT, "'%s', expected NAME=VALUE", argv[i]);
    *value = 0;
    overrides[options.num_overrides++] = (RpinnOverride){argv[i], value + 1, "bench", false};
  }
  subject->num_members = strtoul(argv[2], NULL, 10);
  subject->num_calls = strtoul(argv[3], NULL, 10);
  RPINN_TRY(rpinn_problem_load(context, argv[1], &options, &subject->problem));
  return rpinn_posterior_create(context, subject->problem, false, &subject->posterior);
}

static inline void close_subject(BenchSubject *subject) {
  rpinn_posterior_destroy(subject->posterior);
  rpinn_problem_destroy(subject->problem);
}

#endif
