/* Adam on the backend `cuda`: many members from Glorot starts with offsets of their own, in one call.
 *
 *   bench_cuda PROBLEM MEMBERS ITERATIONS PRECISION [NAME=VALUE...]
 *
 * A line has the seconds of the call, copies to and from the device with it, those of its launches alone, and of these the time of one
 * iteration of all members and the rate of the products that they consist of. The median energy at the end shows that something was done. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_subject.h"
#include "cuda_engine.h"
#include "steady_clock.h"

typedef struct Herd {
  size_t count, N, M;
  double *numbers, *energies;
  RpinnBatchMember *members;
  RpinnAdamState *states, **state_of;
} Herd;

static bool make_herd(const RpinnPosterior *posterior, size_t count, Herd *herd) {
  size_t N = posterior->model.num_parameters, M = posterior->model.num_rows, each = 4 * N + M;
  *herd = (Herd){.count = count,
                 .N = N,
                 .M = M,
                 .numbers = calloc(count * each, sizeof(double)),
                 .energies = calloc(count, sizeof(double)),
                 .members = calloc(count, sizeof *herd->members),
                 .states = calloc(count, sizeof *herd->states),
                 .state_of = calloc(count, sizeof *herd->state_of)};
  if (!herd->numbers || !herd->energies || !herd->members || !herd->states || !herd->state_of) return false;
  for (size_t k = 0; k < count; k++) {
    double *own = herd->numbers + k * each;
    herd->states[k] = (RpinnAdamState){own, own + N, own + 2 * N, 0};
    herd->state_of[k] = &herd->states[k];
    herd->members[k].offsets = own + 3 * N;
    rpinn_posterior_start_glorot(posterior, k, own);
    rpinn_posterior_draw_offsets(posterior, k, own + 3 * N);
  }
  return true;
}

static void free_herd(Herd *herd) {
  void *parts[] = {herd->numbers, herd->energies, herd->members, herd->states, herd->state_of};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) free(parts[i]);
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* Products of the hidden layers in one iteration, forward and twice back. */
static double count_work(const RpinnEnergyModel *model) {
  double work = 0;
  for (size_t t = 0; t < model->num_terms; t++)
    for (size_t f = 0; f < model->num_fields; f++) {
      const RpinnNetwork *network = &model->networks[f];
      for (size_t l = 1; l + 1 < network->num_layers; l++)
        work += 6.0 * (double)(network->width[l] * network->width[l + 1] * model->terms[t].num_points *
                               model->terms[t].program->channels[f].count);
    }
  return work;
}

static RpinnStatus run(RpinnContext *context, int argc, char **argv) {
  BenchSubject subject;
  Herd herd;
  RpinnAdamRule rule = {1e-3, 0.9, 5000, 0.9, 0.999, 1e-8};
  RPINN_TRY(open_subject(context, argc, argv, &subject));
  RpinnPosterior *posterior = subject.posterior;
  const size_t count = subject.num_members, steps = subject.num_calls;
  if (!make_herd(posterior, count, &herd)) return rpinn_fail_memory(context);
  const RpinnCudaEngine *engine = (const RpinnCudaEngine *)posterior->backend;
  const RpinnDeviceWork *work = &engine->terms->work;
  printf("%s %s, %zu members, %zu iterations: %d tiles, %d threads, %d lanes, %zu bytes shared, %zu blocks, "
         "%s, group %zu\n",
         argv[1], argv[4], count, steps, work->num_tiles, work->num_threads, 1 << work->lane_bits,
         engine->terms->shared_bytes, engine->terms->blocks, engine->terms->is_fast ? "fast" : "general",
         posterior->backend->group);
  RpinnMemberBatch batch = {count, herd.members};
  for (int repeat = 0; repeat < 3; repeat++) { /* each goes on where the last one ended */
    double start = rpinn_steady_seconds(), before = engine->launch_seconds;
    RPINN_TRY(rpinn_backend_adam_advance(context, posterior->backend, &batch, &rule, herd.state_of, steps,
                                         herd.energies));
    double seconds = rpinn_steady_seconds() - start, launches = engine->launch_seconds - before;
    qsort(herd.energies, count, sizeof(double), compare);
    printf(
        "  call %.3f s, launches %.3f s: %.4f ms per iteration, products %.1f TFLOP/s; median energy %.6g\n",
        seconds, launches, 1e3 * launches / (double)steps,
        1e-12 * count_work(&posterior->model) * (double)(count * steps) / launches, herd.energies[count / 2]);
  }
  free_herd(&herd);
  close_subject(&subject);
  return RPINN_OK;
}

int main(int argc, char **argv) {
  RpinnContext *context = rpinn_context_create();
  if (argc < 5 || !context) {
    fprintf(stderr, "usage: bench_cuda PROBLEM MEMBERS ITERATIONS PRECISION [NAME=VALUE...]\n");
    return 2;
  }
  RpinnStatus status = run(context, argc, argv);
  if (status != RPINN_OK) fprintf(stderr, "bench_cuda: %s\n", rpinn_context_error(context)->message);
  rpinn_context_destroy(context);
  return rpinn_status_exit_code(status);
}
