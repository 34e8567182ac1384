/* Draws of a least-squares problem as rPINN makes them: a cup of coffee cools by Newton's law, T(t) = T_room + 75 exp(-k t), and neither
 * the rate k nor the temperature of the room are known. Five readings, each good to 1 degree, and wide priors. */
#include "summary.h"

enum { READINGS = 5, RATE = 0, ROOM = 1, PARAMETERS = 2 };
static const double minutes[READINGS] = {2, 5, 10, 20, 40},
                    degrees[READINGS] = {82.1, 65.9, 47.8, 29.4, 21.2};
static const double noise = 1; /* degrees */
static const double prior_root[PARAMETERS] = {1 / 0.1, 1 / 10.0}, prior_mean[PARAMETERS] = {0.1, 20};

/* Rows are (model - data) / noise. */
static RpinnStatus jacobian(void *data, const double *theta, double *rows, double *derivatives) {
  (void)data;
  for (int i = 0; i < READINGS; i++) {
    double decay = 75 * exp(-theta[RATE] * minutes[i]);
    rows[i] = (theta[ROOM] + decay - degrees[i]) / noise;
    derivatives[PARAMETERS * i + RATE] = -minutes[i] * decay / noise;
    derivatives[PARAMETERS * i + ROOM] = 1 / noise;
  }
  return RPINN_OK;
}

static RpinnStatus residuals(void *data, const double *theta, double *rows) {
  double derivatives[READINGS * PARAMETERS];
  return jacobian(data, theta, rows, derivatives);
}

static double parameter(const double *theta, int which) {
  return theta[which];
}

int main(void) {
  RpinnContext *context = rpinn_context_create();
  RpinnDraws *draws;
  if (!context) return 1;
  RpinnLeastSquares problem = {.num_parameters = PARAMETERS,
                               .num_rows = READINGS,
                               .prior_root = prior_root,
                               .prior_mean = prior_mean,
                               .residuals = residuals,
                               .jacobian = jacobian};
  const char *const names[PARAMETERS] = {"rate", "room"};
  RpinnLeastSquares problems[] = {problem, problem}; /* one for each of two threads */
  RpinnRandomizedOptions options = rpinn_randomized_default_options();
  options.num_draws = 4000;
  options.seed = 1;
  options.names = names;
  if (rpinn_randomized_sample(context, 2, problems, &options, &draws) != RPINN_OK)
    return print_failure(context);
  printf("%-10s %12s %12s %12s\n", "parameter", "mean", "sd", "mcse");
  for (int j = 0; j < PARAMETERS; j++) print_summary(rpinn_draws_name(draws, (size_t)j), draws, parameter, j);

  /* Are they draws of the posterior? Their weights tell, where all have converged. */
  static double weights[4000];
  RpinnParetoSmoothing smoothing;
  size_t count = rpinn_draws_count(draws);
  int position = rpinn_draws_statistic(draws, "log_weight");
  for (size_t i = 0; i < count; i++) weights[i] = rpinn_draws_get(draws, i).statistics[position];
  if (rpinn_pareto_smooth(count, weights, weights, &smoothing) != RPINN_OK) return 1;
  printf("%zu draws, worth %.0f of the posterior\n", count, smoothing.effective_size);
  rpinn_draws_destroy(draws);
  rpinn_context_destroy(context);
  return 0;
}
