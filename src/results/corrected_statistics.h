/* What the store keeps of a member that NUTS has continued, beside its parameters: sums over the iterations of its chain. */
#ifndef RPINN_RESULTS_CORRECTED_STATISTICS_H
#define RPINN_RESULTS_CORRECTED_STATISTICS_H

/* In the order in which they are stored and with their names in posterior.nc. */
#define RPINN_CORRECTED_STATISTIC_LIST(X)                                                                    \
  X(LP, "lp")                           /* log density of the draw */                                        \
  X(ACCEPTANCE_RATE, "acceptance_rate") /* mean over the chain */                                            \
  X(N_STEPS, "n_steps")                 /* leapfrogs of the chain: gradients, beside that of its start */    \
  X(DIVERGENCES, "divergences")         /* iterations that diverged … */                                   \
  X(SATURATIONS, "max_depth_reached")   /* … or were as long as they may be */

typedef enum RpinnCorrectedStatistic {
#define RPINN_CORRECTED_STATISTIC_ENUM(name, text) RPINN_CORRECTED_##name,
  RPINN_CORRECTED_STATISTIC_LIST(RPINN_CORRECTED_STATISTIC_ENUM)
#undef RPINN_CORRECTED_STATISTIC_ENUM
      RPINN_NUM_CORRECTED_COLUMNS,
  /* Not in the file. */
  RPINN_CORRECTED_ATTEMPTS = RPINN_NUM_CORRECTED_COLUMNS, /* of the member, which name its random streams */
  RPINN_CORRECTED_SECONDS,
  RPINN_NUM_CORRECTED_STATISTICS
} RpinnCorrectedStatistic;

#endif
