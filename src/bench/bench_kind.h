/* What `rpinn bench` measures, a struct for each backend that it knows. */
#ifndef RPINN_BENCH_BENCH_KIND_H
#define RPINN_BENCH_BENCH_KIND_H

#include "rpinn/bench.h"

typedef struct RpinnBenchKind {
  const char *backend;
  RpinnStatus (*create)(RpinnContext *context, const RpinnBenchOptions *options, RpinnBench **bench);
  void (*destroy)(RpinnBench *bench);
  double (*worst)(const RpinnBench *bench);
  char *(*text)(const RpinnBench *bench);
  char *(*json)(const RpinnBench *bench);
} RpinnBenchKind;

/* Every kind's figures begin with this. */
struct RpinnBench {
  const RpinnBenchKind *kind;
};

extern const RpinnBenchKind rpinn_speed_kind, rpinn_device_speed_kind;

#endif
