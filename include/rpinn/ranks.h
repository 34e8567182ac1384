/* Ranks: the processes that a launcher (mpirun, mpiexec, srun) has started to make one run together. */
#ifndef RPINN_RANKS_H
#define RPINN_RANKS_H

#include <stddef.h>

#include "rpinn/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of them. NULL is the only one of its kind, everywhere: a process that nobody has started together with others. */
typedef struct RpinnRanks RpinnRanks;

/* What the environment says, before any MPI is loaded: whether a launcher has started other processes beside this one, and which of them
 * this is. Where no number is known, as with PMIX_RANK alone, there may be others, and *size is 0. */
typedef struct RpinnLaunch {
  size_t rank, size; /* 0 and 1: alone */
} RpinnLaunch;
RPINN_API RpinnLaunch rpinn_launch(void);

/* Meet the others, through Open MPI or MPICH, as a plugin of that name that lies beside the library. *ranks is NULL where there are no
 * others. Bad input, with the reason and what to do: the plugin is not there, or MPI sees one process where the launcher has started more. To
 * be called by all of them, once. */
RPINN_API RpinnStatus rpinn_ranks_open(RpinnContext *context, RpinnRanks **ranks);
RPINN_API size_t rpinn_ranks_rank(const RpinnRanks *ranks);
RPINN_API size_t rpinn_ranks_size(const RpinnRanks *ranks);
/* This process wants an end: all others hear of it. */
RPINN_API void rpinn_ranks_ask_stop(RpinnRanks *ranks);
RPINN_API bool rpinn_ranks_is_stopped(RpinnRanks *ranks);
/* Part with the others: waits until they have come to an end as well. code, with a message where it tells of a failure (else NULL), is how this
 * process has ended; the answer is the code that all of them end with: that of rank 0, or where it is 0 and another has failed, that one's,
 * whose message is then in failure. A rank that is gone ends them all. Accepts NULL. */
RPINN_API int rpinn_ranks_close(RpinnRanks *ranks, int code, const char *message, char failure[1024]);

#ifdef __cplusplus
}
#endif
#endif
