/* How many processors this process may use. A machine has more than a job of a cluster or a container is given, and threads above
 * that share wait for each other. */
#ifndef RPINN_BASE_PROCESSORS_H
#define RPINN_BASE_PROCESSORS_H

#include <stddef.h>

/* The smaller of those that its affinity allows (cpusets of containers and of Slurm, taskset) and of its control groups' share of
 * time, rounded up; at least 1. */
size_t rpinn_processors_allowed(void);

/* The share of time, in processors, that the control groups below `root` leave to this process: the smallest on the way from its
 * own group to the top, of either version of control groups. Infinite where there is no limit. root: "" but in tests. */
double rpinn_processors_of_groups(const char *root);

#endif
