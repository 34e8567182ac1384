/* What the store keeps of a draw of a chain beside its parameters. */
#ifndef RPINN_RESULTS_CHAIN_DRAW_STATISTICS_H
#define RPINN_RESULTS_CHAIN_DRAW_STATISTICS_H

/* In the order in which they are stored and with their names in ArviZ. */
#define RPINN_CHAIN_STATISTIC_LIST(X)                                                                        \
  X(LP, "lp", false)                                                                                         \
  X(ACCEPTANCE_RATE, "acceptance_rate", false)                                                               \
  X(STEP_SIZE, "step_size", false)                                                                           \
  X(TREE_DEPTH, "tree_depth", false)                                                                         \
  X(N_STEPS, "n_steps", false)                                                                               \
  X(DIVERGING, "diverging", true)                                                                            \
  X(ENERGY, "energy", false)                                                                                 \
  X(ENERGY_ERROR, "energy_error", false)                                                                     \
  X(MAX_ENERGY_ERROR, "max_energy_error", false)                                                             \
  X(REACHED_MAX_DEPTH, "reached_max_treedepth", true)

typedef enum RpinnChainStatistic {
#define RPINN_CHAIN_STATISTIC_ENUM(name, text, is_boolean) RPINN_CHAIN_##name,
  RPINN_CHAIN_STATISTIC_LIST(RPINN_CHAIN_STATISTIC_ENUM)
#undef RPINN_CHAIN_STATISTIC_ENUM
      RPINN_NUM_CHAIN_STATISTICS
} RpinnChainStatistic;

#endif
