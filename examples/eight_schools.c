/* The eight schools (Rubin 1981): estimated effects y_j of coaching with standard errors sigma_j.
 *
 *   y_j ~ N(theta_j, sigma_j),  theta_j = mu + tau z_j,  z_j ~ N(0, 1),  mu ~ N(0, 5),  tau ~ half-Cauchy(0, 5)
 *
 * Sampled as (mu, log tau, z): the non-centred form has no funnel, and a positive parameter goes on the log
 * scale, where its density gets a factor d tau/d log tau = tau. */
#include "summary.h"

enum { SCHOOLS = 8, MU = 0, LOG_TAU = 1, Z = 2 };
static const double y[SCHOOLS] = {28, 8, -3, 7, -1, 1, 18, 12};
static const double sigma[SCHOOLS] = {15, 10, 16, 11, 9, 11, 10, 18};

static RpinnStatus evaluate(void *data, const double *t, double *log_density, double *gradient) {
  (void)data;
  double mu = t[MU], tau = exp(t[LOG_TAU]), scaled = tau / 5, g_mu = -mu / 25;
  double g_tau = -2 * scaled / 5 / (1 + scaled * scaled);
  double sum = -mu * mu / 50 - log1p(scaled * scaled) + t[LOG_TAU];
  for (int j = 0; j < SCHOOLS; j++) {
    double z = t[Z + j], off = (y[j] - mu - tau * z) / sigma[j];
    sum -= 0.5 * (z * z + off * off);
    g_mu += off / sigma[j];
    g_tau += off / sigma[j] * z;
    if (gradient) gradient[Z + j] = -z + off / sigma[j] * tau;
  }
  *log_density = sum;
  if (gradient) {
    gradient[MU] = g_mu;
    gradient[LOG_TAU] = g_tau * tau + 1;
  }
  return RPINN_OK;
}

/* which: 0 mu, 1 tau, 2 … theta_1 … */
static double quantity(const double *t, int which) {
  double tau = exp(t[LOG_TAU]);
  return which == 0 ? t[MU] : which == 1 ? tau : t[MU] + tau * t[which];
}

int main(void) {
  RpinnContext *context = rpinn_context_create();
  RpinnDraws *draws;
  if (!context) return 1;
  RpinnLogDensity target = {.num_parameters = Z + SCHOOLS, .evaluate = evaluate};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_draws = 5000;
  options.target_acceptance = 0.95; /* short steps: log tau has a long lower tail */
  if (rpinn_nuts_sample(context, &target, &options, 1, 4, NULL, &draws) != RPINN_OK)
    return print_failure(context);
  printf("%-10s %12s %12s %12s\n", "parameter", "mean", "sd", "mcse");
  print_summary("mu", draws, quantity, 0);
  print_summary("tau", draws, quantity, 1);
  for (int j = 0; j < SCHOOLS; j++) {
    char name[16];
    snprintf(name, sizeof name, "theta%d", j + 1);
    print_summary(name, draws, quantity, Z + j);
  }
  rpinn_draws_destroy(draws);
  rpinn_context_destroy(context);
  return 0;
}
