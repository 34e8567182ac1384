/* Which particles of SVGD could not be evaluated, and what their targets said of it.
 *
 * Groups of particles are tasks of whichever thread takes them. Of several that fail the first is reported, by number and not by
 * time, so that a message does not depend on the threads. */
#ifndef RPINN_SAMPLE_SVGD_FAILURES_H
#define RPINN_SAMPLE_SVGD_FAILURES_H

#include "arena.h"
#include "context.h"

/* The words of one thread's target. */
typedef struct RpinnSvgdWords {
  RpinnContext context;
  size_t first; /* the first particle of the group that they are about */
} RpinnSvgdWords;

typedef struct RpinnSvgdFailures {
  size_t n, num_threads;
  RpinnStatus *statuses; /* [n] */
  RpinnSvgdWords *words; /* [num_threads] */
} RpinnSvgdFailures;

/* From the arena; false when out of memory. */
bool rpinn_svgd_failures_create(RpinnArena *arena, size_t n, size_t num_threads, RpinnSvgdFailures *failures);
/* None so far. */
void rpinn_svgd_failures_begin(RpinnSvgdFailures *failures);
/* The context for a call about the group that begins with the particle; NULL where the thread's target has told of a failure: it is
 * asked no more. A thread's groups come in their order, so that its first words are those to be reported. */
RpinnContext *rpinn_svgd_failures_context(RpinnSvgdFailures *failures, size_t thread, size_t first);
/* The first particle that failed, or n. */
size_t rpinn_svgd_failures_first(const RpinnSvgdFailures *failures);
/* Is there one of which the numbers do not tell: a target that gave a status or words of its own? */
bool rpinn_svgd_failures_are_told(const RpinnSvgdFailures *failures);
/* The target's own words about the group that begins with the particle, handed to the context; false where it said nothing. */
bool rpinn_svgd_failures_quote(RpinnContext *context, const RpinnSvgdFailures *failures, size_t particle);

#endif
