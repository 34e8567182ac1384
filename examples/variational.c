/* A dose and its effect (Racine et al. 1986), by variational inference: of 5 animals at each of four doses x_i, y_i died.
 *
 *   y_i ~ Binomial(5, 1 / (1 + exp(-(a + b x_i)))),   a ~ N(0, 2),  b ~ N(10, 10)
 *
 * A normal distribution with one factor is fitted to the posterior of (a, b) and drawn from. What it lacks, the weights p/q of the draws
 * mend: the posterior is skewed, and means by weights are those of the posterior itself. */
#include <math.h>
#include <rpinn/rpinn.h>
#include <stdio.h>

enum { DOSES = 4, ANIMALS = 5, STARTS = 2, DRAWS = 20000 };
static const double dose[DOSES] = {-0.86, -0.30, -0.05, 0.73};
static const double died[DOSES] = {0, 1, 3, 5};

static RpinnStatus evaluate(void *data, const double *t, double *log_density, double *gradient) {
  (void)data;
  double a = t[0] / 2, b = (t[1] - 10) / 10;
  *log_density = -0.5 * (a * a + b * b);
  if (gradient) {
    gradient[0] = -a / 2;
    gradient[1] = -b / 10;
  }
  for (int i = 0; i < DOSES; i++) {
    double logit = t[0] + t[1] * dose[i], slope = died[i] - ANIMALS / (1 + exp(-logit));
    *log_density += died[i] * logit - ANIMALS * (logit > 0 ? logit + log1p(exp(-logit)) : log1p(exp(logit)));
    if (gradient) {
      gradient[0] += slope;
      gradient[1] += slope * dose[i];
    }
  }
  return RPINN_OK;
}

static int print_failure(const RpinnContext *context) {
  char message[2048];
  rpinn_error_format(rpinn_context_error(context), message, sizeof message);
  fprintf(stderr, "%s\n", message);
  return 1;
}

/* Means and deviations of both parameters over draws, each with its weight or with the same. */
static void print_means(const RpinnVariational *fit, const RpinnLogDensity *target, int weighted) {
  double sum = 0, squares = 0, mean[2] = {0}, square[2] = {0}, theta[2], log_q, log_p;
  for (uint64_t draw = 0; draw < DRAWS; draw++) {
    rpinn_variational_draw(fit, draw, theta, &log_q);
    target->evaluate(target->data, theta, &log_p, NULL);
    double weight = weighted ? exp(log_p - log_q) : 1;
    sum += weight;
    squares += weight * weight;
    for (int j = 0; j < 2; j++) {
      mean[j] += weight * theta[j];
      square[j] += weight * theta[j] * theta[j];
    }
  }
  printf("%-10s", weighted ? "weighted" : "draws");
  for (int j = 0; j < 2; j++)
    printf(" %12.4f %12.4f", mean[j] / sum, sqrt(square[j] / sum - mean[j] * mean[j] / sum / sum));
  printf(" %12.0f\n", sum * sum / squares);
}

int main(void) {
  RpinnContext *context = rpinn_context_create();
  RpinnVariational *fit;
  if (!context) return 1;
  RpinnLogDensity target = {.num_parameters = 2, .evaluate = evaluate};
  RpinnVariationalOptions options = rpinn_variational_default_options();
  static const double means[STARTS][2] = {{0, 10}, {1, 5}};
  options.family = RPINN_FAMILY_LOW_RANK;
  options.rank = 1;
  options.num_starts = STARTS;
  if (rpinn_variational_create(context, 1, &target, &options, &fit) != RPINN_OK)
    return print_failure(context);
  RpinnStatus status = rpinn_variational_start(context, fit, means[0], NULL, NULL);
  while (status == RPINN_OK && !rpinn_variational_is_finished(fit))
    status = rpinn_variational_advance(context, fit, 100);
  if (status != RPINN_OK) return print_failure(context);
  RpinnVariationalStart best = rpinn_variational_look(fit, rpinn_variational_best(fit));
  printf("ELBO %.4f +- %.4f after %zu iterations\n", best.elbo, best.error, best.num_iterations);
  printf("%-10s %12s %12s %12s %12s %12s\n", "", "mean a", "sd a", "mean b", "sd b", "effective");
  print_means(fit, &target, 0);
  print_means(fit, &target, 1);
  rpinn_variational_destroy(fit);
  rpinn_context_destroy(context);
  return 0;
}
