#include "warmup_windows.h"

enum { SHORTEST_WARMUP = 20 };

RpinnWarmupWindows rpinn_warmup_windows(size_t num_warmup, size_t start, size_t base, size_t end) {
  if (num_warmup < SHORTEST_WARMUP) return (RpinnWarmupWindows){.base = base};
  bool fits = start <= num_warmup && base <= num_warmup - start && end <= num_warmup - start - base;
  if (!fits) {
    start = (size_t)(0.15 * (double)num_warmup);
    end = (size_t)(0.1 * (double)num_warmup);
    base = num_warmup - start - end;
  }
  return (RpinnWarmupWindows){start, num_warmup - end, base};
}

bool rpinn_warmup_windows_collect(const RpinnWarmupWindows *windows, size_t iteration) {
  return iteration >= windows->begin && iteration < windows->end;
}

bool rpinn_warmup_windows_update(const RpinnWarmupWindows *windows, size_t iteration) {
  if (!rpinn_warmup_windows_collect(windows, iteration)) return false;
  size_t first = windows->begin, length = windows->base;
  /* The first window always ends by itself, a later one as long as the next, which is twice as long, fits. */
  do {
    if (iteration < first + length) return iteration + 1 == first + length;
    first += length;
    length *= 2;
  } while (length <= (windows->end - first) / 3);
  return iteration + 1 == windows->end;
}
