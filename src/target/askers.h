/* Several that ask, advanced in rounds: in each, everyone who has something to ask does, and all are answered together. */
#ifndef RPINN_TARGET_ASKERS_H
#define RPINN_TARGET_ASKERS_H

#include "request.h"

typedef struct RpinnAsker {
  void *self;
  /* Go on with the answer to the last request, where there was one. *request: what it asks next; NULL: nothing, ever. */
  RpinnStatus (*next)(RpinnContext *context, void *self, RpinnRequest **request);
  double seconds; /* its share of the time of all rounds that it had a part in */
} RpinnAsker;

/* Until nobody asks any more. */
RpinnStatus rpinn_askers_run(RpinnContext *context, size_t count, RpinnAsker *askers);

#endif
