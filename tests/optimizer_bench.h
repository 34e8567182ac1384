/* Optimisers on targets: made, run to their stop, and what they say. */
#ifndef RPINN_TESTS_OPTIMIZER_BENCH_H
#define RPINN_TESTS_OPTIMIZER_BENCH_H

#include "check.h"

#include "rpinn/optimize.h"

static RpinnContext *context;

static inline RpinnOptimizer *make_adam(const RpinnObjective *objective, const RpinnAdamOptions *options) {
  RpinnOptimizer *optimizer;
  assert_int_equal(rpinn_adam_create(context, objective, options, &optimizer), RPINN_OK);
  return optimizer;
}

static inline RpinnOptimizer *make_lbfgs(const RpinnObjective *objective, const RpinnLbfgsOptions *options) {
  RpinnOptimizer *optimizer;
  assert_int_equal(rpinn_lbfgs_create(context, objective, options, &optimizer), RPINN_OK);
  return optimizer;
}

static inline RpinnOptimizer *make_levenberg_marquardt(const RpinnLeastSquares *problem,
                                                       const double *offsets,
                                                       const RpinnLevenbergMarquardtOptions *options) {
  RpinnOptimizer *optimizer;
  assert_int_equal(rpinn_levenberg_marquardt_create(context, problem, offsets, options, &optimizer),
                   RPINN_OK);
  return optimizer;
}

static inline RpinnOptimum run(RpinnOptimizer *optimizer, const double *theta) {
  assert_int_equal(rpinn_optimizer_start(context, optimizer, theta), RPINN_OK);
  assert_int_equal(rpinn_optimizer_advance(context, optimizer, SIZE_MAX), RPINN_OK);
  return rpinn_optimizer_optimum(optimizer);
}

static inline void say(const char *what, double error, const RpinnOptimum *optimum) {
  print_message("  %-32s error %.1e, gradient %.1e, %zu iterations, %zu evaluations, %s\n", what, error,
                optimum->gradient_norm, optimum->num_iterations, optimum->num_evaluations,
                rpinn_stop_name(optimum->stop));
}

static inline void check_stop(const RpinnOptimum *optimum, RpinnStop expected) {
  check_true(optimum->stop == expected, "stopped for %s, expected %s", rpinn_stop_name(optimum->stop),
             rpinn_stop_name(expected));
}

/* The largest difference of two vectors. */
static inline double farthest(size_t N, const double *a, const double *b) {
  double worst = 0;
  for (size_t j = 0; j < N; j++) worst = fmax(worst, fabs(a[j] - b[j]));
  return worst;
}

static inline int open_context(void **state) {
  (void)state;
  context = rpinn_context_create();
  return context ? 0 : 1;
}

static inline int close_context(void **state) {
  (void)state;
  rpinn_context_destroy(context);
  return 0;
}

#endif
