/* Where a rank is: its machine, its process, the processors that it may use. Plain data, which ranks tell each other. */
#ifndef RPINN_RANKS_RANK_PLACE_H
#define RPINN_RANKS_RANK_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RPINN_NODE_NAME = 64, RPINN_PROCESSOR_WORDS = 128 /* of 64 processors each */ };

typedef struct RpinnRankPlace {
  char node[RPINN_NODE_NAME]; /* the machine's name */
  uint64_t machine;           /* a number that processes share which see each other's process numbers */
  int64_t process;
  uint64_t processors[RPINN_PROCESSOR_WORDS]; /* a bit each */
} RpinnRankPlace;

RpinnRankPlace rpinn_rank_place_here(void);
/* The part of the processors of places[own] that falls to it where ranks of one machine share them evenly, rounded down; at least 1. */
size_t rpinn_rank_place_share(size_t count, const RpinnRankPlace *places, size_t own);
/* Is the process of another place seen from here, and has it ended? */
bool rpinn_rank_place_is_gone(const RpinnRankPlace *here, const RpinnRankPlace *other);

#endif
