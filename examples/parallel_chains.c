/* Chains side by side, with names, a line of progress, Ctrl-C that keeps what was made, a diagnosis, nested R-hat, and a file that ArviZ
 * opens. A correlated normal of two dimensions. Usage: parallel_chains [FILE.nc] */
#include <signal.h>
#include <stdlib.h>

#include "summary.h"

enum { THREADS = 2, CHAINS = 8, DRAWS = 500 };

static volatile sig_atomic_t wants_end;

static void remember(int number) {
  (void)number;
  wants_end = 1;
}

static bool interrupted(void *user) {
  (void)user;
  return wants_end != 0;
}

static void show(void *user, const RpinnWatchedProgress *progress) {
  (void)user;
  fprintf(stderr, "\r%3.0f %%%s", 100.0 * (double)progress->done / (double)progress->total,
          progress->last ? "\n" : "");
}

/* Deviations 1 and 2, correlation 0.8. */
static RpinnStatus evaluate(void *data, const double *t, double *log_density, double *gradient) {
  (void)data;
  double a = t[0], b = t[1] / 2, c = 1 / (1 - 0.64);
  *log_density = -0.5 * c * (a * a - 1.6 * a * b + b * b);
  if (gradient) {
    gradient[0] = -c * (a - 0.8 * b);
    gradient[1] = -c * (b - 0.8 * a) / 2;
  }
  return RPINN_OK;
}

int main(int argc, char **argv) {
  RpinnContext *context = rpinn_context_create();
  RpinnDraws *draws;
  if (!context) return 1;
  signal(SIGINT, remember);
  RpinnLogDensity targets[THREADS]; /* with data of their own where evaluate writes to them */
  for (int i = 0; i < THREADS; i++) targets[i] = (RpinnLogDensity){.num_parameters = 2, .evaluate = evaluate};
  const char *const names[] = {"height", "weight"};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_draws = DRAWS;
  RpinnNutsChains chains = {.seed = 1,
                            .num_chains = CHAINS,
                            .names = names,
                            .watch = {.progress = show, .interrupted = interrupted}};
  RpinnStatus status = rpinn_nuts_sample_chains(context, THREADS, targets, &options, &chains, &draws);
  if (status != RPINN_OK && status != RPINN_ERROR_INTERRUPTED) return print_failure(context);

  bool healthy;
  char *report = rpinn_diagnose_draws(context, draws, NULL, &healthy);
  if (!report) return print_failure(context);
  printf("%s", report);
  free(report);
  if (status == RPINN_OK) {
    /* Nested R-hat: chains 0 … 3 and 4 … 7 as two superchains. */
    static double values[CHAINS * DRAWS];
    const size_t superchains[CHAINS] = {0, 0, 0, 0, 1, 1, 1, 1};
    rpinn_draws_gather(draws, 1, DRAWS, values);
    printf("nested R-hat of weight: %.3f\n", rpinn_nested_rhat(CHAINS, DRAWS, values, 2, superchains));
    if (argc > 1 && rpinn_draws_write(context, draws, DRAWS, "nuts", argv[1]) != RPINN_OK)
      return print_failure(context);
  }
  rpinn_draws_destroy(draws);
  rpinn_context_destroy(context);
  return status == RPINN_OK ? 0 : 130;
}
