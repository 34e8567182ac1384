/* Laplace's approximation of a least-squares problem: a line through four points, whose posterior is a Gaussian, so that all of this is
 * exact. The minimum first, then what the Gaussian around it says. */
#include "summary.h"

enum { POINTS = 4, INTERCEPT = 0, SLOPE = 1, PARAMETERS = 2 };
static const double x[POINTS] = {0, 1, 2, 3}, y[POINTS] = {0.9, 3.2, 4.8, 7.1}, noise = 0.5;
static const double prior_root[PARAMETERS] = {0.1, 0.1}; /* N(0, 10) each */

static RpinnStatus jacobian(void *data, const double *theta, double *rows, double *derivatives) {
  (void)data;
  for (int i = 0; i < POINTS; i++) {
    rows[i] = (theta[INTERCEPT] + theta[SLOPE] * x[i] - y[i]) / noise;
    derivatives[PARAMETERS * i + INTERCEPT] = 1 / noise;
    derivatives[PARAMETERS * i + SLOPE] = x[i] / noise;
  }
  return RPINN_OK;
}

static RpinnStatus residuals(void *data, const double *theta, double *rows) {
  double derivatives[POINTS * PARAMETERS];
  return jacobian(data, theta, rows, derivatives);
}

static double parameter(const double *theta, int which) {
  return theta[which];
}

int main(void) {
  RpinnContext *context = rpinn_context_create();
  RpinnOptimizer *optimizer;
  RpinnLaplace *laplace;
  RpinnDraws *draws;
  if (!context) return 1;
  RpinnLeastSquares problem = {.num_parameters = PARAMETERS,
                               .num_rows = POINTS,
                               .prior_root = prior_root,
                               .residuals = residuals,
                               .jacobian = jacobian};
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  const double start[PARAMETERS] = {0, 0};
  if (rpinn_levenberg_marquardt_create(context, &problem, NULL, &options, &optimizer) != RPINN_OK ||
      rpinn_optimizer_start(context, optimizer, start) != RPINN_OK ||
      rpinn_optimizer_advance(context, optimizer, SIZE_MAX) != RPINN_OK)
    return print_failure(context);
  const double *map = rpinn_optimizer_optimum(optimizer).theta;
  if (rpinn_laplace_create(context, &problem, map, &laplace) != RPINN_OK) return print_failure(context);

  /* Densities of whitened rows; those of the data have a factor 1 / noise each. */
  RpinnLaplaceSummary summary = rpinn_laplace_summary(laplace);
  printf("log evidence   %.6f\n", summary.log_evidence - POINTS * log(noise));
  printf("leave-one-out  %.6f\n", summary.leave_one_out - POINTS * log(noise));

  /* What will be measured at x = 4? intercept + 4 slope, and its deviation. */
  const double at_four[PARAMETERS] = {1, 4};
  double variance;
  if (rpinn_laplace_covariance(context, laplace, 1, at_four, &variance) != RPINN_OK)
    return print_failure(context);
  printf("line at 4      %.6f +- %.6f\n", map[INTERCEPT] + 4 * map[SLOPE], sqrt(variance));

  const char *const names[PARAMETERS] = {"intercept", "slope"};
  if (rpinn_laplace_sample(context, laplace, 1, 4000, names, &draws) != RPINN_OK)
    return print_failure(context);
  printf("%-10s %12s %12s %12s\n", "parameter", "mean", "sd", "mcse");
  for (int j = 0; j < PARAMETERS; j++) print_summary(rpinn_draws_name(draws, (size_t)j), draws, parameter, j);
  rpinn_draws_destroy(draws);
  rpinn_laplace_destroy(laplace);
  rpinn_optimizer_destroy(optimizer);
  rpinn_context_destroy(context);
  return 0;
}
