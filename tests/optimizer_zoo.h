/* One of each kind of optimiser, on problems that live as long as the test. */
#ifndef RPINN_TESTS_OPTIMIZER_ZOO_H
#define RPINN_TESTS_OPTIMIZER_ZOO_H

#include "optimizer_bench.h"
#include "optimizer_targets.h"

typedef struct Zoo {
  Chain chain;
  Linear linear[2];
  RpinnObjective composed, own;
  RpinnLeastSquares normal, dense, products, partial;
  bool (*interrupted)(void *user);
  void *interrupted_user;
} Zoo;

enum { NUM_ANIMALS = 10 };
static const char *const animal_names[NUM_ANIMALS] = {
    "Adam, composed",      "Adam of the target", "L-BFGS",
    "LM, normal",          "LM, dense",          "LM, products",
    "LM, partial prior",   "LM with momentum",   "LM by conjugate gradients",
    "LM with acceleration"};

static inline void zoo_open(Zoo *zoo) {
  *zoo = (Zoo){.chain.num_parameters = 4};
  linear_fill(&zoo->linear[0], PRIOR_ON_ALL);
  linear_fill(&zoo->linear[1], PRIOR_ON_SOME);
  zoo->composed = zoo->own = chain_objective(&zoo->chain);
  zoo->own.adam_advance = chain_adam_advance;
  zoo->normal = chain_least_squares(&zoo->chain);
  zoo->dense = linear_least_squares(&zoo->linear[0], false);
  zoo->products = linear_least_squares(&zoo->linear[0], true);
  zoo->partial = linear_least_squares(&zoo->linear[1], true);
}

static inline RpinnOptimizer *zoo_create(Zoo *zoo, int animal) {
  RpinnAdamOptions adam = rpinn_adam_default_options();
  RpinnLbfgsOptions lbfgs = rpinn_lbfgs_default_options();
  RpinnLevenbergMarquardtOptions lm = rpinn_levenberg_marquardt_default_options();
  adam.stop.max_iterations = 330;
  adam.chunk_iterations = 25;
  lbfgs.memory = 5;
  lbfgs.stop = (RpinnStopRule){.max_iterations = 300, .gradient_tolerance = 1e-12, .progress_window = 10};
  lm.stop = (RpinnStopRule){.max_iterations = 200};
  if (animal >= 4 && animal != 7) lm.initial_damping = 1e3; /* so that the linear ones have some way to go */
  lm.momentum = animal == 7;
  lm.acceleration = animal == 9;
  if (animal == 9) lm.stop.progress_amount = 1e-3; /* so that it counts small promises */
  if (animal == 8) lm.max_dense_rows = 1;          /* conjugate gradients */
  adam.stop.interrupted = lbfgs.stop.interrupted = lm.stop.interrupted = zoo->interrupted;
  adam.stop.interrupted_user = lbfgs.stop.interrupted_user = lm.stop.interrupted_user = zoo->interrupted_user;
  switch (animal) {
  case 0: return make_adam(&zoo->composed, &adam);
  case 1: return make_adam(&zoo->own, &adam);
  case 2: return make_lbfgs(&zoo->composed, &lbfgs);
  case 3: return make_levenberg_marquardt(&zoo->normal, NULL, &lm);
  case 4: return make_levenberg_marquardt(&zoo->dense, zoo->linear[0].offsets, &lm);
  case 5: return make_levenberg_marquardt(&zoo->products, zoo->linear[0].offsets, &lm);
  case 6: return make_levenberg_marquardt(&zoo->partial, zoo->linear[1].offsets, &lm);
  case 7: return make_levenberg_marquardt(&zoo->normal, NULL, &lm);
  default: return make_levenberg_marquardt(&zoo->products, zoo->linear[0].offsets, &lm);
  }
}

static const double *zoo_start(void) {
  static double start[COLUMNS];
  chain_start(COLUMNS, start);
  return start;
}

#endif
