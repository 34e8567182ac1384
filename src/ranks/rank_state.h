/* Ranks in memory: what the thread of the network and the process share. */
#ifndef RPINN_RANKS_RANK_STATE_H
#define RPINN_RANKS_RANK_STATE_H

#include <pthread.h>

#include "ranks.h"

/* Bytes of a message that travel at once. */
enum { RPINN_RANK_PIECE = 1 << 22 };

typedef enum RpinnFrameKind {
  RPINN_FRAME_HELLO,  /* to rank 0: the place of a rank */
  RPINN_FRAME_ROSTER, /* from rank 0: those of all */
  RPINN_FRAME_MESSAGE,
  RPINN_FRAME_BEAT,    /* a sign of life */
  RPINN_FRAME_STOP,    /* somebody wants an end */
  RPINN_FRAME_FAULT,   /* from rank 0: a rank is gone, or has failed */
  RPINN_FRAME_FAREWELL /* a rank has come to its end */
} RpinnFrameKind;

/* Before the bytes of every piece. */
typedef struct RpinnFrameHead {
  int32_t kind, tag;
  uint64_t size;   /* of the whole message */
  uint64_t offset; /* of this piece in it */
} RpinnFrameHead;

/* A message on its way in or out. */
typedef struct RpinnRankParcel {
  struct RpinnRankParcel *next;
  RpinnFrameKind kind;
  RpinnRankTag tag;
  size_t rank; /* from or to whom */
  size_t size;
  unsigned char *bytes;
} RpinnRankParcel;

typedef struct RpinnParcelList {
  RpinnRankParcel *first, **end;
} RpinnParcelList;

/* A piece that the link has not sent yet. */
typedef struct RpinnSending {
  struct RpinnSending *next;
  void *ticket;
  unsigned char *bytes;
  size_t size;
} RpinnSending;

/* How a rank has ended, or why all must. */
typedef struct RpinnRankEnd {
  int32_t code;
  char message[1024];
} RpinnRankEnd;

typedef struct RpinnRankPeer {
  double heard;             /* seconds, when it gave a sign of life */
  bool has_left;            /* by a farewell … */
  RpinnRankEnd end;         /* … in which it said this */
  RpinnRankParcel *partial; /* a message of which a part has come */
} RpinnRankPeer;

struct RpinnRanks {
  RpinnRankOpener opener;
  RpinnRankLink link;
  size_t rank, size;
  double timeout;
  pthread_t thread;
  pthread_mutex_t mutex;    /* of all that follows */
  pthread_cond_t changed;   /* something has come */
  pthread_cond_t has_work;  /* something is to be sent */
  RpinnParcelList incoming; /* messages that nobody has asked for yet */
  RpinnParcelList outgoing;
  size_t bytes_out;
  RpinnSending *sendings; /* of the thread alone */
  RpinnRankPlace *places; /* [size] */
  RpinnRankPeer *peers;   /* [size] */
  size_t num_hellos;      /* that rank 0 has */
  bool is_ready, is_stopped, must_abort, has_ended;
  bool has_fault; /* a rank is gone, or has failed … */
  RpinnRankEnd fault;
  bool is_gone; /* … and cannot take its leave */
  char open_message[256];
  bool open_failed;
};

/* The thread. */
void *rpinn_rank_service(void *ranks);
/* The mutex is held: bytes, which it owns from then on, to another rank. */
bool rpinn_rank_post(RpinnRanks *ranks, size_t to, RpinnFrameKind kind, RpinnRankTag tag, const void *bytes,
                     size_t size);
/* The mutex is held: all must end. */
void rpinn_rank_fault(RpinnRanks *ranks, const RpinnRankEnd *fault, bool is_gone);
/* The mutex is held: whoever does not know yet hears that somebody wants an end. */
void rpinn_rank_spread_stop(RpinnRanks *ranks);
void rpinn_parcel_list_add(RpinnParcelList *list, RpinnRankParcel *parcel);
void rpinn_parcel_free(RpinnRankParcel *parcel);

#endif
