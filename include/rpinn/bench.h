/* `rpinn bench`: how fast a backend is, as a share of what a core of this machine, or its GPU, can do. */
#ifndef RPINN_BENCH_H
#define RPINN_BENCH_H

#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnBenchOptions {
  size_t repetitions;              /* interleaved; medians are reported. 0: 25, of cuda 5 */
  bool (*interrupted)(void *user); /* may be NULL */
  void *user;
  const char *backend; /* "cpu" or "cuda"; NULL: cpu */
} RpinnBenchOptions;

typedef struct RpinnBench RpinnBench;

RPINN_API RpinnStatus rpinn_bench_create(RpinnContext *context, const RpinnBenchOptions *options,
                                         RpinnBench **bench);
RPINN_API void rpinn_bench_destroy(RpinnBench *bench);
/* The smallest of (share reached / its bar) over all lines: 1 or more when every bar is met. */
RPINN_API double rpinn_bench_worst(const RpinnBench *bench);
/* For people and for programs. NULL when out of memory; the caller frees the text. */
RPINN_API char *rpinn_bench_text(const RpinnBench *bench);
RPINN_API char *rpinn_bench_json(const RpinnBench *bench);

#ifdef __cplusplus
}
#endif
#endif
