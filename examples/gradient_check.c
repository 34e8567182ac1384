/* Is my gradient right? A density with a mistake that does not crash anything, and what the check says of it. */
#include "summary.h"

/* x ~ N(m, s) three times, s on the log scale. The derivative by log s lacks the -3 of the normalisation when data is not NULL. */
static RpinnStatus evaluate(void *data, const double *t, double *log_density, double *gradient) {
  const double x[] = {1.2, 0.7, 2.3};
  double s = exp(t[1]);
  *log_density = -3 * t[1];
  if (gradient) gradient[0] = 0, gradient[1] = data ? 0 : -3;
  for (int i = 0; i < 3; i++) {
    double z = (x[i] - t[0]) / s;
    *log_density -= 0.5 * z * z;
    if (gradient) gradient[0] += z / s, gradient[1] += z * z;
  }
  return RPINN_OK;
}

int main(void) {
  RpinnContext *context = rpinn_context_create();
  if (!context) return 1;
  const char *const names[] = {"mean", "log_sd"};
  const double somewhere[] = {0.4, 0.3};
  for (int wrong = 0; wrong < 2; wrong++) {
    RpinnLogDensity density = {.num_parameters = 2, .data = wrong ? &wrong : NULL, .evaluate = evaluate};
    RpinnDerivativeCheck check;
    if (rpinn_check_log_density(context, &density, somewhere, names, 1e-6, &check) != RPINN_OK)
      return print_failure(context);
    printf("%zu of %zu wrong: %s\n", check.num_wrong, check.num_tested,
           check.agrees ? "all agree" : check.text);
  }
  rpinn_context_destroy(context);
  return 0;
}
