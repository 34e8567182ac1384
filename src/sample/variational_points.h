/* The draws of a round of variational inference, of all starts that are at work, and what their target says there.
 *
 * Threads share the pairs, then the requests in groups. Groups depend on the number of draws and on the target alone, so that what a
 * target is asked does not depend on the threads. */
#ifndef RPINN_SAMPLE_VARIATIONAL_POINTS_H
#define RPINN_SAMPLE_VARIATIONAL_POINTS_H

#include "request.h"
#include "thread_team.h"
#include "variational_gaussian.h"

/* What one thread works with. */
typedef struct RpinnVariationalCaller {
  RpinnBatchLogDensity target;
  RpinnLogDensity single; /* the target for one, where it was given as such */
  RpinnContext context;   /* its words when it fails */
  size_t failed_at;       /* the group that these are about */
  RpinnAnswering *answering;
} RpinnVariationalCaller;

/* Pairs that are to be drawn from one stream each. */
typedef struct RpinnVariationalRound {
  const RpinnVariationalGaussian *q;
  RpinnVariationalPair *pairs; /* [num_pairs] */
  uint64_t first;              /* number of the first pair among all that the start draws */
  uint32_t start;              /* whose they are */
  bool with_slopes;
} RpinnVariationalRound;

typedef struct RpinnVariationalPoints {
  size_t N, num_pairs, group;
  uint64_t seed;
  size_t num_callers;
  RpinnVariationalCaller *callers; /* [num_callers], one a thread */
  RpinnVariationalRound *rounds;   /* [num_starts], filled by the caller of evaluate */
  size_t num_rounds;
  RpinnRequest *requests; /* [2 num_pairs num_starts] */
  RpinnRequest **asked;   /* likewise */
  double **slopes;        /* likewise, [N] each */
  RpinnStatus *statuses;  /* [groups] */
} RpinnVariationalPoints;

/* One target for each thread. After a failure, too, the caller destroys them; the arena has the rest. */
RpinnStatus rpinn_variational_points_create(RpinnContext *context, RpinnArena *arena, size_t num_targets,
                                            const RpinnBatchLogDensity *targets, size_t num_pairs,
                                            size_t num_starts, uint64_t seed, RpinnVariationalPoints *points);
void rpinn_variational_points_destroy(RpinnVariationalPoints *points);
/* From the arena; false when out of memory. */
bool rpinn_variational_pairs_create(RpinnArena *arena, size_t N, size_t rank, size_t num_pairs,
                                    RpinnVariationalPair **pairs);
/* Draws the pairs of points->rounds [num_rounds] and asks for their log densities, and slopes where they are wanted. */
RpinnStatus rpinn_variational_points_evaluate(RpinnContext *context, RpinnVariationalPoints *points,
                                              RpinnTeam *team);

#endif
