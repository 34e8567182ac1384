/* The ways that are tried. Each prints rows for the table. */
#ifndef RPINN_BENCH_WAYS_H
#define RPINN_BENCH_WAYS_H

#include "judge.h"

/* Numbers that the command line gives, in the order of a way's names. */
typedef struct Way {
  const char *name;
  const char *numbers; /* what it takes, for people */
  size_t num_numbers;
  RpinnStatus (*run)(Subject *subject, const char *folder, const double *numbers);
} Way;

/* Long chains of NUTS, which are the truth for the others: chains, warmup, draws, target acceptance. */
RpinnStatus run_truth(Subject *subject, const char *folder, const double *numbers);
/* rPINN's members as they are: how many. */
RpinnStatus run_members(Subject *subject, const char *folder, const double *numbers);
/* Metropolis steps from members with the curvature at the present point: chains, gradients for each. */
RpinnStatus run_present(Subject *subject, const char *folder, const double *numbers);
/* The same with the curvature at the start of a chain. */
RpinnStatus run_start(Subject *subject, const char *folder, const double *numbers);
/* Normal and Student distributions at the members, mixed: members, draws. */
RpinnStatus run_mixture(Subject *subject, const char *folder, const double *numbers);
/* Members of a narrow prior, moved by NUTS while it grows wide: particles, narrow scale, iterations at each scale, depth. */
RpinnStatus run_annealing(Subject *subject, const char *folder, const double *numbers);

#endif
