/* Steps of Levenberg–Marquardt on the backend `cuda`: many members from Glorot starts, a few calls.
 *
 *   bench_cuda_steps PROBLEM MEMBERS CALLS PRECISION [NAME=VALUE...]
 *
 * A line for each call has its seconds; those of its stages follow, with the rate of the Gram matrices as whole products 2 M^2 N, and the
 * time of the rows and of J^T w that an iteration asks for beside the step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_subject.h"
#include "cuda_engine.h"
#include "steady_clock.h"

typedef struct Herd {
  size_t count, N, M;
  double *numbers;
  RpinnBatchMember *members;
  RpinnDampedStep *steps, **step_of;
  double **rows, **products;
} Herd;

static bool make_herd(const RpinnPosterior *posterior, size_t count, Herd *herd) {
  size_t N = posterior->model.num_parameters, M = posterior->model.num_rows, each = 5 * N + M;
  *herd = (Herd){.count = count,
                 .N = N,
                 .M = M,
                 .numbers = calloc(count * each, sizeof(double)),
                 .members = calloc(count, sizeof *herd->members),
                 .steps = calloc(count, sizeof *herd->steps),
                 .step_of = calloc(count, sizeof *herd->step_of),
                 .rows = calloc(count, sizeof *herd->rows),
                 .products = calloc(count, sizeof *herd->products)};
  if (!herd->numbers || !herd->members || !herd->steps || !herd->step_of || !herd->rows || !herd->products)
    return false;
  for (size_t k = 0; k < count; k++) {
    double *own = herd->numbers + k * each;
    rpinn_posterior_start_glorot(posterior, k, own);
    for (size_t j = 0; j < N; j++) {
      own[N + j] = 1;
      own[2 * N + j] = own[j];
    }
    herd->members[k].theta = own;
    herd->rows[k] = own + 5 * N;
    herd->products[k] = own + 4 * N;
    herd->steps[k] = (RpinnDampedStep){
        .inverse = own + N, .pull = own + 2 * N, .step = own + 3 * N, .rows = herd->rows[k]};
    herd->step_of[k] = &herd->steps[k];
  }
  return true;
}

static void free_herd(Herd *herd) {
  void *parts[] = {herd->numbers, herd->members, herd->steps, herd->step_of, herd->rows, herd->products};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) free(parts[i]);
}

static RpinnStatus measure(RpinnContext *context, RpinnPosterior *posterior, Herd *herd, size_t calls) {
  static const char *const meanings[] = {
#define STAGE_MEANING(stage, meaning) meaning,
      RPINN_STEP_STAGE_LIST(STAGE_MEANING)
#undef STAGE_MEANING
  };
  RpinnCudaEngine *engine = (RpinnCudaEngine *)posterior->backend;
  RpinnMemberBatch batch = {herd->count, herd->members};
  double rows = 0, products = 0;
  for (size_t call = 0; call < calls; call++) {
    double begun = rpinn_steady_seconds();
    RPINN_TRY(rpinn_backend_residuals(context, &engine->base, &batch, herd->rows, NULL));
    rows = rpinn_steady_seconds() - begun;
    RPINN_TRY(rpinn_backend_transposed_times(context, &engine->base, &batch,
                                             (const double *const *)herd->rows, herd->products));
    products = rpinn_steady_seconds() - begun - rows;
    memset(engine->stage_seconds, 0, sizeof engine->stage_seconds); /* those of the last call are shown */
    begun = rpinn_steady_seconds();
    RPINN_TRY(engine->base.operations->damped_steps(context, &engine->base, &batch, herd->step_of));
    printf("  steps %.4f s, rows %.4f s, J^T w %.4f s; trace %.9g, solved %d, step %.9g\n",
           rpinn_steady_seconds() - begun, rows, products, herd->steps[0].trace, herd->steps[0].solved,
           herd->steps[0].step[0]);
  }
  double work = 2.0 * (double)herd->M * (double)herd->M * (double)herd->N * (double)herd->count;
  for (size_t i = 0; i < RPINN_NUM_STAGES; i++)
    printf("  %-28s %8.2f ms\n", meanings[i], 1e3 * engine->stage_seconds[i]);
  printf("  Gram matrices as whole products: %.1f TFLOP/s\n",
         1e-12 * work / engine->stage_seconds[RPINN_STAGE_GRAM]);
  return RPINN_OK;
}

static RpinnStatus run(RpinnContext *context, int argc, char **argv) {
  BenchSubject subject;
  Herd herd;
  RPINN_TRY(open_subject(context, argc, argv, &subject));
  RpinnPosterior *posterior = subject.posterior;
  const size_t count = subject.num_members, calls = subject.num_calls;
  if (!make_herd(posterior, count, &herd)) return rpinn_fail_memory(context);
  printf("%s %s, %zu members, M = %zu, N = %zu\n", argv[1], argv[4], count, herd.M, herd.N);
  RpinnStatus status = posterior->backend->operations->damped_steps
                           ? measure(context, posterior, &herd, calls)
                           : rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "there is no cuBLAS here");
  free_herd(&herd);
  close_subject(&subject);
  return status;
}

int main(int argc, char **argv) {
  RpinnContext *context = rpinn_context_create();
  if (argc < 5 || !context) {
    fprintf(stderr, "usage: bench_cuda_steps PROBLEM MEMBERS CALLS PRECISION [NAME=VALUE...]\n");
    return 2;
  }
  RpinnStatus status = run(context, argc, argv);
  if (status != RPINN_OK) fprintf(stderr, "bench_cuda_steps: %s\n", rpinn_context_error(context)->message);
  rpinn_context_destroy(context);
  return rpinn_status_exit_code(status);
}
