/* Draws of a sampler of one's own, here Gibbs' for a normal mean and variance, to a file that ArviZ opens, with the log likelihood of
 * every datum for az.loo. Draws pass through: nothing is kept in memory. Usage: draw_file FILE.nc */
#include "summary.h"

enum { DATA = 6, CHAINS = 4, DRAWS = 1000 };
static const double y[DATA] = {2.1, 1.4, 3.0, 2.6, 1.9, 2.5};

/* A small generator, good enough to show the file. */
static double uniform(unsigned long long *state) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(unsigned long long *state) {
  double radius = sqrt(-2 * log(uniform(state)));
  return radius * cos(2 * acos(-1) * uniform(state));
}

/* mean | variance ~ N(average, variance / n), variance | mean ~ inverse Gamma(n / 2, sum of squares / 2), with n = 6: a sum of three
 * exponentials. */
static void advance(unsigned long long *state, double *mean, double *variance) {
  double sum = 0, squares = 0, gamma = 0;
  for (int i = 0; i < DATA; i++) sum += y[i];
  *mean = sum / DATA + sqrt(*variance / DATA) * normal(state);
  for (int i = 0; i < DATA; i++) squares += (y[i] - *mean) * (y[i] - *mean);
  for (int k = 0; k < DATA / 2; k++) gamma -= log(uniform(state));
  *variance = squares / 2 / gamma;
}

int main(int argc, char **argv) {
  RpinnContext *context = rpinn_context_create();
  RpinnDrawFile *file;
  if (!context || argc != 2) return 2;
  const RpinnFileVariable variables[] = {{.name = "mean"}, {.name = "variance"}},
                          statistics[] = {{.name = "lp"}}, sets[] = {{.name = "y", .count = DATA}};
  const RpinnDrawFileOptions options = {.title = "a normal sample",
                                        .method = "gibbs",
                                        .num_chains = CHAINS,
                                        .num_draws = DRAWS,
                                        .num_variables = 2,
                                        .variables = variables,
                                        .num_statistics = 1,
                                        .statistics = statistics,
                                        .num_data_sets = 1,
                                        .data_sets = sets,
                                        .observed = y};
  if (rpinn_draw_file_create(context, argv[1], &options, &file) != RPINN_OK) return print_failure(context);
  RpinnStatus status = RPINN_OK;
  for (unsigned chain = 0; chain < CHAINS && status == RPINN_OK; chain++) {
    unsigned long long state = chain + 1;
    double values[2] = {0, 1}, log_likelihood[DATA];
    for (int k = 0; k < 100; k++) advance(&state, &values[0], &values[1]); /* forget the start */
    for (int k = 0; k < DRAWS && status == RPINN_OK; k++) {
      double lp = -log(values[1]);
      advance(&state, &values[0], &values[1]);
      for (int i = 0; i < DATA; i++) {
        double off = y[i] - values[0];
        log_likelihood[i] = -0.5 * off * off / values[1] - 0.5 * log(2 * acos(-1) * values[1]);
        lp += log_likelihood[i];
      }
      status = rpinn_draw_file_add(context, file, chain, values, &lp, log_likelihood);
    }
  }
  if (status == RPINN_OK) status = rpinn_draw_file_finish(context, file);
  rpinn_draw_file_destroy(file); /* what is not finished leaves nothing */
  if (status != RPINN_OK) return print_failure(context);
  printf("%s: %d chains of %d draws\n", argv[1], CHAINS, DRAWS);
  rpinn_context_destroy(context);
  return 0;
}
