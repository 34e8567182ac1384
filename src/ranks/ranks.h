/* What ranks tell each other: blocks of bytes with a tag, in the order in which each was sent.
 *
 * A thread of its own does all that has to do with the network, however busy the process is: it sends and receives, gives a sign of life every second, and
 * watches for the others. A rank whose process has ended, or that gives no sign for RPINN_RANK_TIMEOUT seconds (60 where the variable is
 * not set), is gone; all others then hear of it, and every function that can fail does. */
#ifndef RPINN_RANKS_RANKS_H
#define RPINN_RANKS_RANKS_H

#include <stdint.h>

#include "context.h"
#include "rank_link.h"
#include "rank_place.h"
#include "rpinn/ranks.h"

/* What a message is about; those of one's own begin behind the last. */
typedef enum RpinnRankTag {
  RPINN_TAG_OF_TASKS = -2, /* to receive: ASK, NOTES or DONE */
  RPINN_TAG_ANY = -1,
  RPINN_TAG_BARRIER,
  RPINN_TAG_BROADCAST,
  RPINN_TAG_SCRATCH, /* where an earlier session may have left draws, and what was found */
  RPINN_TAG_LEARNT,  /* what a run has learnt, to those who make its draws */
  RPINN_TAG_ROUND,   /* chains that are to be continued next */
  RPINN_TAG_ASK,     /* a rank wants tasks … */
  RPINN_TAG_TASKS,   /* … and gets some */
  RPINN_TAG_NOTES,   /* what a rank has made */
  RPINN_TAG_DONE,    /* it has no more tasks */
  RPINN_TAG_SHARE,   /* of something that all ranks make a part of */
  RPINN_TAG_BENCH
} RpinnRankTag;

enum { RPINN_ANY_RANK = -1 };

typedef struct RpinnRankMessage {
  size_t from;
  RpinnRankTag tag;
  size_t size;
  void *bytes; /* the caller frees them; NULL: nothing has come */
} RpinnRankMessage;

/* A link of one's own, for tests: opened in the thread of the ranks. */
typedef struct RpinnRankOpener {
  int (*open)(void *user, RpinnRankLink *link, char message[256]);
  void *user;
  const RpinnRankPlace *place; /* where it says to be; NULL: here */
} RpinnRankOpener;
RpinnStatus rpinn_ranks_open_with(RpinnContext *context, const RpinnRankOpener *opener, RpinnRanks **ranks);

/* The place of a rank. */
const RpinnRankPlace *rpinn_ranks_place(const RpinnRanks *ranks, size_t rank);

/* Processors that fall to a rank where those of a machine share them evenly, at least 1; those that it may use. */
size_t rpinn_ranks_num_processors_of(const RpinnRanks *ranks, size_t rank);
size_t rpinn_ranks_num_processors_alone(const RpinnRanks *ranks, size_t rank);

/* A failure that concerns all: a rank is gone, or has failed. The status says of which kind, the message who and why. RPINN_OK for NULL. */
RpinnStatus rpinn_ranks_check(RpinnContext *context, RpinnRanks *ranks);
/* Has a rank come to its end? */
bool rpinn_ranks_has_left(RpinnRanks *ranks, size_t rank);

/* A copy of the bytes goes its way. Waits while much is under way. */
RpinnStatus rpinn_ranks_send(RpinnContext *context, RpinnRanks *ranks, size_t to, RpinnRankTag tag,
                             const void *bytes, size_t size);
/* The first message from this rank with this tag, or from any and with any; waits for it so many seconds at most. */
RpinnStatus rpinn_ranks_receive(RpinnContext *context, RpinnRanks *ranks, int from, RpinnRankTag tag,
                                double seconds, RpinnRankMessage *message);
/* The same, until it comes or somebody wants an end: then nothing has come. */
RpinnStatus rpinn_ranks_await(RpinnContext *context, RpinnRanks *ranks, int from, RpinnRankTag tag,
                              RpinnRankMessage *message);
/* Wait until all are here. */
RpinnStatus rpinn_ranks_barrier(RpinnContext *context, RpinnRanks *ranks);
/* From rank 0 to all: size is the same everywhere. */
RpinnStatus rpinn_ranks_broadcast(RpinnContext *context, RpinnRanks *ranks, void *bytes, size_t size);

#endif
