/* Tasks that ranks share, in memory: the side of rank 0 is rank_lead.c, that of the others rank_follow.c. */
#ifndef RPINN_RUN_SHARING_H
#define RPINN_RUN_SHARING_H

#include <pthread.h>

#include "rank_handout.h"
#include "ranks.h"
#include "scratch_store.h"
#include "shared_tasks.h"
#include "text.h"

/* Tasks that wait for a thread, at most: some are left when more are asked for. */
enum { RPINN_RANK_QUEUE = 2 * RPINN_HANDOUT_MOST };

/* What ranks tell each other. Tasks are followed by their states, one after the other. */
typedef struct RpinnRankAsking {
  uint64_t need; /* threads that wait for a task */
} RpinnRankAsking;

typedef struct RpinnRankGiving {
  uint64_t count;
  uint64_t is_over; /* there will be no more */
} RpinnRankGiving;

typedef struct RpinnRankGivenTask {
  uint64_t task, state_size;
} RpinnRankGivenTask;

/* Followed by events. */
typedef struct RpinnRankNotes {
  uint64_t counted; /* by the rank, in all */
} RpinnRankNotes;

typedef struct RpinnSharing {
  RpinnContext *context;
  const RpinnSharedTasks *work;
  RpinnRanks *ranks;
  RpinnScratch *scratch; /* NULL: events go to the run directory at once */
  pthread_mutex_t mutex; /* of the next ones */
  uint64_t tasks[RPINN_RANK_QUEUE];
  size_t first, count; /* of the tasks that wait for a thread */
  bool is_hungry;      /* a thread waits for a task … */
  bool is_over;        /* … and none will come */
  RpinnHandout handout;

  /* ---- of the thread that called ---- */
  bool is_asking, may_fetch_ahead; /* other ranks */
  size_t last_given;
  RpinnText notes;
  double next_notes;
  uint64_t counted; /* here */
  /* ---- rank 0 ---- */
  bool *is_waiting; /* [ranks] for an answer … */
  uint64_t *needs;  /* [ranks] … to this */
  bool *has_ended;  /* [ranks] */
  uint64_t *counts; /* [ranks] */
  bool is_out_of_time;
  double next_tick;
} RpinnSharing;

/* As far as all sides have them in common. */
RpinnTaskPoolOptions rpinn_sharing_pool(RpinnSharing *sharing);
/* Tasks made by the threads of this rank. */
RpinnStatus rpinn_sharing_make(RpinnSharing *sharing, const RpinnTaskPoolOptions *options,
                               RpinnTaskPoolResult *result);
/* Rank 0: tasks given out, and all that was made collected. */
RpinnStatus rpinn_sharing_lead(RpinnSharing *sharing, RpinnTaskPoolResult *result);
/* Another rank: tasks made as long as there are some. */
RpinnStatus rpinn_sharing_follow(RpinnSharing *sharing, RpinnTaskPoolResult *result);

#endif
