/* Which of two models predicts data that it has not seen? Ten weights, one of them far out: normal noise of deviation 1, or Student's t
 * with 4 degrees of freedom. Each is sampled once, with all data; leave-one-out comes from the log likelihoods of the draws. */
#include "summary.h"

enum { DATA = 10, CHAINS = 4, DRAWS = 1000 };
static const double weights[DATA] = {4.6, 5.3, 5.1, 4.2, 5.8, 4.9, 5.5, 4.4, 5.0, 8.7};

/* log p(y | mean) with its derivative by the mean. */
static double log_normal(double y, double mean, double *slope) {
  *slope = y - mean;
  return -0.5 * (y - mean) * (y - mean) - 0.5 * log(2 * acos(-1));
}

static double log_student(double y, double mean, double *slope) {
  double off = y - mean;
  *slope = 5 * off / (4 + off * off);
  return -2.5 * log1p(off * off / 4) + log(0.375); /* Gamma(5/2) / (Gamma(2) sqrt(4 pi)) = 3/8 */
}

typedef double Model(double y, double mean, double *slope);

static RpinnStatus evaluate(void *data, const double *theta, double *log_density, double *gradient) {
  Model *const *model = data;
  double sum = 0, total = 0, slope;
  for (int i = 0; i < DATA; i++) {
    sum += (*model)(weights[i], theta[0], &slope);
    total += slope;
  }
  *log_density = sum;
  if (gradient) gradient[0] = total;
  return RPINN_OK;
}

static int judge(RpinnContext *context, const char *name, Model *model) {
  static double log_likelihood[CHAINS * DRAWS][DATA];
  RpinnLogDensity target = {.num_parameters = 1, .data = &model, .evaluate = evaluate};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnDatumLeftOut each[DATA];
  RpinnLeaveOneOut whole;
  RpinnDraws *draws;
  double slope;
  if (rpinn_nuts_sample(context, &target, &options, 1, CHAINS, NULL, &draws) != RPINN_OK)
    return print_failure(context);
  for (size_t s = 0; s < rpinn_draws_count(draws); s++)
    for (int i = 0; i < DATA; i++)
      log_likelihood[s][i] = model(weights[i], rpinn_draws_get(draws, s).parameters[0], &slope);
  rpinn_draws_destroy(draws);
  if (rpinn_pareto_leave_one_out(context, CHAINS, DRAWS, DATA, log_likelihood[0], 0, each, &whole) !=
      RPINN_OK)
    return print_failure(context);
  printf("%-10s elpd %8.3f +- %.3f, largest k %.2f; of the last weight %7.3f\n", name, whole.elpd,
         whole.error, whole.largest_k, each[DATA - 1].elpd);
  return 0;
}

int main(void) {
  RpinnContext *context = rpinn_context_create();
  if (!context) return 1;
  int code = judge(context, "normal", log_normal);
  if (code == 0) code = judge(context, "student", log_student);
  rpinn_context_destroy(context);
  return code;
}
