/* What a run of n members for each of P ranks takes, where a member takes c seconds:
 *
 *   T(P, n, c) = t0 + t1 P  +  max(n c, P n a)  +  c  +  P n u
 *
 *   t0 + t1 P   to begin: rank 0 tells all others what the run has learnt, one after the other
 *   a           rank 0 serves a member: hands it out, and hears that it is made. Members are made meanwhile, unless ranks wait for it
 *   c           towards the end members are handed out one by one: the last one may begin when all others are made
 *   u           a draw is copied from the store of its rank into that of the run, by rank 0, when all are made
 *
 * a and u are the slopes of what members that cost nothing take, few of them and many, with the most ranks that were measured; t0 and t1
 * the line through what is left of the few, t1 no less than the cost of a message. Efficiency is T(1)'s share n c / T. */
#ifndef RPINN_BENCH_SCALING_MODEL_H
#define RPINN_BENCH_SCALING_MODEL_H

#include <stddef.h>

#include "rpinn/scaling.h"

typedef struct RpinnScalingModel {
  double start, start_per_rank; /* t0, t1 */
  double serve, collect;        /* a, u */
  double latency, bandwidth;    /* of the row with the most ranks; NaN with one rank alone */
} RpinnScalingModel;

RpinnScalingModel rpinn_scaling_fit(const RpinnScalingRow *rows, size_t count);
double rpinn_scaling_seconds(const RpinnScalingModel *model, double ranks, double members_per_rank,
                             double member_seconds);
double rpinn_scaling_efficiency(const RpinnScalingModel *model, double ranks, double members_per_rank,
                                double member_seconds);
/* Members that cost nothing, per second. */
double rpinn_scaling_served(const RpinnScalingRow *row);

#endif
