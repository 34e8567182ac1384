#include "warmup_windows.h"

enum { SHORTEST_WARMUP = 20 };

RpinnWarmupWindows rpinn_warmup_windows(size_t num_warmup, size_t start, size_t base, size_t end) {
  if (num_warmup < SHORTEST_WARMUP) return (RpinnWarmupWindows){0, base, 0};
  bool fits = start <= num_warmup && base <= num_warmup - start && end <= num_warmup - start - base;
  if (!fits) {
    start = (size_t)(0.15 * (double)num_warmup);
    end = (size_t)(0.1 * (double)num_warmup);
    base = num_warmup - start - end;
  }
  return (RpinnWarmupWindows){start, base, num_warmup - end};
}

bool rpinn_warmup_windows_collect(const RpinnWarmupWindows *windows, size_t iteration) {
  return iteration >= windows->begin && iteration < windows->end;
}

bool rpinn_warmup_windows_update(const RpinnWarmupWindows *windows, size_t iteration) {
  if (!rpinn_warmup_windows_collect(windows, iteration)) return false;
  size_t first = windows->begin, length = windows->base;
  /* As long as this window and the next, which is twice as long, both fit, this one ends by itself. */
  while (length <= (windows->end - first) / 3) {
    if (iteration < first + length) return iteration + 1 == first + length;
    first += length;
    length *= 2;
  }
  return iteration + 1 == windows->end;
}
