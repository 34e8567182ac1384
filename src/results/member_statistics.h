/* What the store keeps of a member, or of a particle, beside its parameters. */
#ifndef RPINN_RESULTS_MEMBER_STATISTICS_H
#define RPINN_RESULTS_MEMBER_STATISTICS_H

#include <stdint.h>

/* In the order in which they are stored; the parts of its loss follow. */
typedef enum RpinnMemberStatistic {
  RPINN_MEMBER_LOSS,
  RPINN_MEMBER_GRADIENT_NORM,
  RPINN_MEMBER_ITERATIONS,
  RPINN_MEMBER_EVALUATIONS,
  RPINN_MEMBER_CONVERGED,
  RPINN_MEMBER_ATTEMPTS,
  RPINN_MEMBER_SECONDS,
  RPINN_NUM_MEMBER_STATISTICS
} RpinnMemberStatistic;

/* Every attempt of a member has streams of its own. */
static inline uint64_t rpinn_run_stream_member(uint64_t member, uint32_t attempt) {
  return member | (uint64_t)attempt << 48;
}

#endif
