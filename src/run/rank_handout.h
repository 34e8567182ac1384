/* Who makes which task? Rank 0 gives out members or chains as ranks ask for them: many at once while many are left, one by one
 * towards the end. A rank that has not asked yet finds its share of the first ones, as many as it has threads for. */
#ifndef RPINN_RUN_RANK_HANDOUT_H
#define RPINN_RUN_RANK_HANDOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RPINN_HANDOUT_MOST = 1024 /* tasks at once */ };

typedef struct RpinnHandout {
  uint64_t num_tasks;
  const uint8_t *done; /* [num_tasks] 1: made before; NULL: none is */
  size_t num_ranks;
  size_t *threads;     /* [num_ranks] */
  uint64_t *reserved;  /* [num_ranks] tasks that are kept for one that has not asked yet */
  size_t num_threads;  /* of all */
  uint64_t next, left; /* the task to look at; those that nobody has */
} RpinnHandout;

/* threads [num_ranks] is borrowed, and so is done; reserved [num_ranks] is filled in. */
void rpinn_handout_begin(RpinnHandout *handout);
/* Tasks for a rank, of which `need` threads have none: at most `most`. 0: there are none for it now, and where rpinn_handout_is_over
 * never will be. */
size_t rpinn_handout_take(RpinnHandout *handout, size_t rank, size_t need, size_t most, uint64_t *tasks);
bool rpinn_handout_is_over(const RpinnHandout *handout);

#endif
