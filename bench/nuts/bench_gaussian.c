/* Our side of bench/nuts/gaussian.py: NUTS with the dense metric on a Gaussian of mean zero and any covariance.
 *
 *   bench_gaussian sample sum|path PRECISION WARMUP DRAWS CHAINS SEED OUT
 *       The rule by which trajectories turn back; PRECISION: N x N doubles, OUT: CHAINS x DRAWS x N doubles, both as they lie in memory.
 *       Prints a line per chain: the step, the mean acceptance and the mean number of leapfrogs of its draws.
 *   bench_gaussian judge DRAWS CHAINS N FILE
 *       The least and the mean effective size over the coordinates, of x and of x^2, of draws in such a file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpinn/convergence.h"
#include "rpinn/nuts.h"

typedef struct Gaussian {
  size_t num_parameters;
  double *precision; /* [N][N] */
} Gaussian;

static RpinnStatus evaluate(void *data, const double *theta, double *log_density, double *gradient) {
  const Gaussian *gaussian = data;
  size_t N = gaussian->num_parameters;
  double sum = 0;
  for (size_t i = 0; i < N; i++) {
    double product = 0;
    for (size_t j = 0; j < N; j++) product += gaussian->precision[i * N + j] * theta[j];
    sum += theta[i] * product;
    if (gradient) gradient[i] = -product;
  }
  *log_density = -0.5 * sum;
  return RPINN_OK;
}

/* All doubles of a file; NULL: it cannot be read. */
static double *read_numbers(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  double *numbers = NULL;
  if (file && fseek(file, 0, SEEK_END) == 0) {
    *count = (size_t)ftell(file) / sizeof(double);
    numbers = malloc(*count * sizeof(double) + 1);
    rewind(file);
    if (numbers && fread(numbers, sizeof(double), *count, file) != *count) {
      free(numbers);
      numbers = NULL;
    }
  }
  if (file) fclose(file);
  if (!numbers) fprintf(stderr, "bench_gaussian: cannot read %s\n", path);
  return numbers;
}

static int sample(char **words) {
  Gaussian gaussian;
  size_t count, num_chains = strtoul(words[6], NULL, 10);
  gaussian.precision = read_numbers(words[3], &count);
  if (!gaussian.precision) return EXIT_FAILURE;
  gaussian.num_parameters = (size_t)(sqrt((double)count) + 0.5);
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {
      .num_parameters = gaussian.num_parameters, .data = &gaussian, .evaluate = evaluate};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_warmup = strtoul(words[4], NULL, 10);
  options.num_draws = strtoul(words[5], NULL, 10);
  options.metric = RPINN_METRIC_DENSE;
  options.turn = strcmp(words[2], "path") == 0 ? RPINN_TURN_PATH : RPINN_TURN_SUM;
  RpinnDraws *draws;
  FILE *out = fopen(words[8], "wb");
  if (!out || rpinn_nuts_sample(context, &target, &options, strtoul(words[7], NULL, 10), num_chains, NULL,
                                &draws) != RPINN_OK) {
    fprintf(stderr, "bench_gaussian: %s\n", out ? rpinn_context_error(context)->message : words[8]);
    return EXIT_FAILURE;
  }
  int step = rpinn_draws_statistic(draws, "step_size"), leapfrogs = rpinn_draws_statistic(draws, "n_steps"),
      acceptance = rpinn_draws_statistic(draws, "acceptance_rate");
  for (size_t c = 0; c < num_chains; c++) {
    double accepted = 0, steps = 0, size = 0;
    for (size_t i = 0; i < options.num_draws; i++) {
      RpinnDraw draw = rpinn_draws_get(draws, c * options.num_draws + i);
      accepted += draw.statistics[acceptance] / (double)options.num_draws;
      steps += draw.statistics[leapfrogs] / (double)options.num_draws;
      size = draw.statistics[step];
      fwrite(draw.parameters, sizeof(double), gaussian.num_parameters, out);
    }
    printf("%.9g %.9g %.9g\n", size, accepted, steps);
  }
  rpinn_draws_destroy(draws);
  rpinn_context_destroy(context);
  free(gaussian.precision);
  return fclose(out) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int judge(char **words) {
  size_t num_draws = strtoul(words[2], NULL, 10), num_chains = strtoul(words[3], NULL, 10),
         N = strtoul(words[4], NULL, 10), count, total = num_draws * num_chains;
  double *numbers = read_numbers(words[5], &count), *column = malloc(total * sizeof(double));
  RpinnConvergenceWork *work = rpinn_convergence_work_create(num_chains, num_draws);
  if (!numbers || !column || !work || count != total * N) return EXIT_FAILURE;
  double least[2] = {HUGE_VAL, HUGE_VAL}, mean[2] = {0, 0};
  for (size_t j = 0; j < N; j++)
    for (int power = 0; power < 2; power++) {
      for (size_t i = 0; i < total; i++)
        column[i] = power ? numbers[i * N + j] * numbers[i * N + j] : numbers[i * N + j];
      double size = rpinn_convergence(work, column).ess_mean;
      least[power] = fmin(least[power], size);
      mean[power] += size / (double)N;
    }
  printf("%.9g %.9g %.9g %.9g\n", least[0], mean[0], least[1], mean[1]);
  rpinn_convergence_work_destroy(work);
  free(column);
  free(numbers);
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  if (argc == 9 && !strcmp(argv[1], "sample")) return sample(argv);
  if (argc == 6 && !strcmp(argv[1], "judge")) return judge(argv);
  fprintf(stderr,
          "usage: %s sample sum|path PRECISION WARMUP DRAWS CHAINS SEED OUT\n       %s judge DRAWS CHAINS N "
          "FILE\n",
          argv[0], argv[0]);
  return EXIT_FAILURE;
}
