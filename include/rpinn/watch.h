/* Sampling that takes a while, watched by whoever asked for it: how far it is, and an end before its time.
 *
 * Both functions are called in the thread that asked for the draws, some ten times a second (where the work itself is done in
 * that thread, between two of its steps), whichever threads make them. */
#ifndef RPINN_WATCH_H
#define RPINN_WATCH_H

#include <stdint.h>

#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RpinnWatchedProgress {
  uint64_t done, total; /* iterations of all chains, warmup included; or members */
  uint64_t divergences; /* of chains, after warmup */
  uint64_t failed;      /* members */
  double seconds;       /* since the start */
  double seconds_left;  /* at the pace so far; NaN before there is one */
  bool last;            /* no further report follows */
} RpinnWatchedProgress;

typedef struct RpinnWatch {
  void (*progress)(void *user, const RpinnWatchedProgress *progress); /* may be NULL */
  /* true ends the work with RPINN_ERROR_INTERRUPTED; what is finished is kept. May be NULL; the question of the context
   * (rpinn_context_set_interrupted) is asked as well. */
  bool (*interrupted)(void *user);
  void *user;
} RpinnWatch;

#ifdef __cplusplus
}
#endif
#endif
