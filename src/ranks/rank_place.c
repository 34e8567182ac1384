#define _GNU_SOURCE /* processors of a process */
#include "rank_place.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_PROCESSORS = 64 * RPINN_PROCESSOR_WORDS };

/* Processes see each other's numbers where they have the same kernel, by the number of its start, and the same space of process numbers. */
static uint64_t identify_machine(void) {
  char boot[64] = "";
  struct stat space;
  uint64_t hash = 14695981039346656037u;
  int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY);
  bool is_known =
      file >= 0 && read(file, boot, sizeof boot - 1) > 0 && stat("/proc/self/ns/pid", &space) == 0;
  if (file >= 0) close(file);
  if (!is_known) return 0;
  for (const char *c = boot; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
  return (hash ^ (uint64_t)space.st_ino) | 1;
}

RpinnRankPlace rpinn_rank_place_here(void) {
  cpu_set_t sets[MOST_PROCESSORS / CPU_SETSIZE];
  RpinnRankPlace place = {.machine = identify_machine(), .process = (int64_t)getpid()};
  if (gethostname(place.node, sizeof place.node) != 0) snprintf(place.node, sizeof place.node, "?");
  place.node[sizeof place.node - 1] = '\0';
  if (sched_getaffinity(0, sizeof sets, sets) != 0) return place;
  for (size_t k = 0; k < MOST_PROCESSORS; k++)
    if (CPU_ISSET_S(k, sizeof sets, sets)) place.processors[k / 64] |= (uint64_t)1 << k % 64;
  return place;
}

static bool may_use(const RpinnRankPlace *place, size_t processor) {
  return place->processors[processor / 64] >> processor % 64 & 1;
}

size_t rpinn_rank_place_share(size_t count, const RpinnRankPlace *places, size_t own) {
  double share = 1e-9; /* so that three thirds are one */
  for (size_t k = 0; k < MOST_PROCESSORS; k++) {
    size_t users = 0;
    if (!may_use(&places[own], k)) continue;
    for (size_t r = 0; r < count; r++)
      users += !strcmp(places[r].node, places[own].node) && may_use(&places[r], k);
    share += 1.0 / (double)users;
  }
  return share < 1 ? 1 : (size_t)share;
}

bool rpinn_rank_place_is_gone(const RpinnRankPlace *here, const RpinnRankPlace *other) {
  if (!here->machine || here->machine != other->machine) return false;
  return kill((pid_t)other->process, 0) != 0 && errno == ESRCH;
}
