/* How ranks reach each other: what a plugin, of which there is one for each kind of MPI, offers. All functions are called by the thread
 * that opened the link. */
#ifndef RPINN_RANKS_RANK_LINK_H
#define RPINN_RANKS_RANK_LINK_H

#include <stdbool.h>
#include <stddef.h>

/* Of this header: a plugin of another version is refused. */
enum { RPINN_RANK_LINK_VERSION = 1 };

typedef struct RpinnRankLink {
  size_t rank, size;
  void *data;
  /* Begin to send at most RPINN_RANK_PIECE + a head of bytes, which stay as they are until they are sent; NULL: it failed. */
  void *(*begin_send)(void *data, size_t to, const void *bytes, size_t size);
  /* True once, for what was begun: it ends with that. */
  bool (*is_sent)(void *data, void *sending);
  /* Has something come, from whom and how long is it? */
  bool (*has_come)(void *data, size_t *from, size_t *size);
  void (*receive)(void *data, size_t from, void *bytes, size_t size);
  /* End all ranks, those that do not answer too; may not return. */
  void (*abort)(void *data, int code);
  /* By all ranks. */
  void (*close)(void *data);
} RpinnRankLink;

/* The function that a plugin exports. 0: the link is open; else the reason is in message. */
#define RPINN_RANK_LINK_FUNCTION "rpinn_rank_link_open"
typedef int (*RpinnRankLinkOpen)(int version, RpinnRankLink *link, char message[256]);
int rpinn_rank_link_open(int version, RpinnRankLink *link, char message[256]);

#endif
