/* Several that ask, advanced in rounds. A round answers those who ask the same: of what is asked at the moment, that for which most
 * time is waited, all askers together. So those who are behind are waited for, come into step with the others and stay there, and
 * nobody waits for long. */
#ifndef RPINN_TARGET_ASKERS_H
#define RPINN_TARGET_ASKERS_H

#include "request.h"

typedef struct RpinnAsker {
  void *self;
  /* Go on with the answer to the last request, where there was one. *request: what it asks next; NULL: nothing, ever. */
  RpinnStatus (*next)(RpinnContext *context, void *self, RpinnRequest **request);
  double seconds; /* its share of the time of the rounds that answered it */
} RpinnAsker;

/* Until nobody asks any more. */
RpinnStatus rpinn_askers_run(RpinnContext *context, size_t count, RpinnAsker *askers);

#endif
