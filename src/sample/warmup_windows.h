/* When the metric adapts during warmup.
 *
 *   | start: step only | base | 2 base | 4 base … stretched | end: step only |
 *
 * In the middle phase draws are collected; at the end of each window they become the metric and are
 * forgotten. Windows double, so that a bad early estimate costs little; a window after the first is cut or
 * stretched to the end of the phase when the one after it would not fit. These are Stan's windows
 * (windowed_adaptation.hpp). */
#ifndef RPINN_SAMPLE_WARMUP_WINDOWS_H
#define RPINN_SAMPLE_WARMUP_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct RpinnWarmupWindows {
  size_t begin, end; /* iterations begin <= i < end collect draws */
  size_t base;       /* length of the first window */
} RpinnWarmupWindows;

/* A warmup too short for start + base + end is shared 15 : 75 : 10 between them; one of fewer than 20
 * iterations has no windows. base > 0. */
RpinnWarmupWindows rpinn_warmup_windows(size_t num_warmup, size_t start, size_t base, size_t end);
/* Does the iteration (from 0) collect a draw? Does a window end with it? */
bool rpinn_warmup_windows_collect(const RpinnWarmupWindows *windows, size_t iteration);
bool rpinn_warmup_windows_update(const RpinnWarmupWindows *windows, size_t iteration);

#endif
