/* The benchmark of the backend that is asked for. */
#include <string.h>

#include "bench_kind.h"
#include "context.h"

static const RpinnBenchKind *const kinds[] = {&rpinn_speed_kind, &rpinn_device_speed_kind};
enum { NUM_KINDS = sizeof kinds / sizeof kinds[0] };

RpinnStatus rpinn_bench_create(RpinnContext *context, const RpinnBenchOptions *options, RpinnBench **bench) {
  const char *name = options->backend ? options->backend : kinds[0]->backend;
  size_t index = 0;
  *bench = NULL;
  while (index < NUM_KINDS && strcmp(kinds[index]->backend, name)) index++;
  if (index == NUM_KINDS)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "there is no benchmark of backend '%.100s'; expected %s or %s", name, kinds[0]->backend,
                      kinds[1]->backend);
  return kinds[index]->create(context, options, bench);
}

void rpinn_bench_destroy(RpinnBench *bench) {
  if (bench) bench->kind->destroy(bench);
}

double rpinn_bench_worst(const RpinnBench *bench) {
  return bench->kind->worst(bench);
}

char *rpinn_bench_text(const RpinnBench *bench) {
  return bench->kind->text(bench);
}

char *rpinn_bench_json(const RpinnBench *bench) {
  return bench->kind->json(bench);
}
