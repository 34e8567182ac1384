/* What the spread of SVGD is worth: particles on N(0, I), where the answer is 1.
 *
 *   bench_svgd_spread PARTICLES ITERATIONS DIMENSIONS...
 *
 * The particles start as draws of N(0, I), so that what is lost is lost by SVGD, and move by Adam with a learning rate that falls
 * from 0.1 to 0.0001. A row has, for both ways to weigh the repulsion, the mean variance at the end, what particles at equal
 * distances would have, and the kernel Stein discrepancy by what chance gives it; the same of the start. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpinn/stein.h"
#include "rpinn/svgd.h"

static RpinnStatus evaluate(void *data, const double *x, double *log_density, double *gradient) {
  *log_density = 0;
  for (size_t j = 0; j < *(const size_t *)data; j++) {
    *log_density -= 0.5 * x[j] * x[j];
    if (gradient) gradient[j] = -x[j];
  }
  return RPINN_OK;
}

/* ---- draws ---- */

/* Steele, Lea and Flood's splitmix: uniform in (0, 1). */
static double uniform(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static void draw_normals(size_t count, double *numbers) {
  uint64_t state = 1;
  for (size_t k = 0; k < count; k++) {
    double radius = sqrt(-2 * log(uniform(&state)));
    numbers[k] = radius * cos(6.283185307179586 * uniform(&state));
  }
}

/* ---- what particles are worth ---- */

static double mean_variance(size_t n, size_t N, const double *particles) {
  double sum = 0;
  for (size_t j = 0; j < N; j++) {
    double mean = 0;
    for (size_t i = 0; i < n; i++) mean += particles[i * N + j] / (double)n;
    for (size_t i = 0; i < n; i++) sum += (particles[i * N + j] - mean) * (particles[i * N + j] - mean);
  }
  return sum / (double)(n - 1) / (double)N;
}

/* The discrepancy by that of as many draws: there u(x, x) = |x|^2 + N has mean 2 N. */
static RpinnStatus relative_discrepancy(RpinnContext *context, size_t n, size_t N, const double *particles,
                                        double *ratio) {
  RpinnSteinDiscrepancy found = {0, 0};
  double *gradients = malloc(n * N * sizeof *gradients);
  if (!gradients) return RPINN_ERROR_MEMORY;
  for (size_t k = 0; k < n * N; k++) gradients[k] = -particles[k];
  RpinnStatus status = rpinn_stein_discrepancy(context, n, N, particles, gradients, &found);
  *ratio = found.value / sqrt(2 * (double)N / (double)n);
  free(gradients);
  return status;
}

/* ---- rows ---- */

/* Moves the particles, and prints their cells. */
static RpinnStatus move(RpinnContext *context, size_t n, size_t N, size_t num_iterations, bool undivided,
                        double *particles) {
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  RpinnLogDensity target = {.num_parameters = N, .data = &N, .evaluate = evaluate};
  RpinnSvgd *svgd;
  double ratio = 0;
  options.num_particles = n;
  options.undivided_repulsion = undivided;
  options.rule.learning_rate = 0.1;
  options.rule.decay_rate = 1e-3;
  options.rule.decay_steps = (double)num_iterations;
  RpinnStatus status = rpinn_svgd_create(context, 1, &target, &options, &svgd);
  if (status != RPINN_OK) return status;
  status = rpinn_svgd_start(context, svgd, particles);
  if (status == RPINN_OK) status = rpinn_svgd_advance(context, svgd, num_iterations);
  if (status == RPINN_OK) memcpy(particles, rpinn_svgd_particles(svgd), n * N * sizeof *particles);
  rpinn_svgd_destroy(svgd);
  if (status == RPINN_OK) status = relative_discrepancy(context, n, N, particles, &ratio);
  printf(" %.3g | %.3g | %.2f |", mean_variance(n, N, particles),
         (undivided ? (double)n : 1) * log((double)n + 1) / (double)N, ratio);
  return status;
}

static RpinnStatus write_row(RpinnContext *context, size_t n, size_t N, size_t num_iterations) {
  double *particles = malloc(n * N * sizeof *particles), ratio = 0;
  if (!particles) return RPINN_ERROR_MEMORY;
  draw_normals(n * N, particles);
  RpinnStatus status = relative_discrepancy(context, n, N, particles, &ratio);
  printf("| %zu | %.3g | %.2f |", N, mean_variance(n, N, particles), ratio);
  for (int undivided = 0; undivided < 2 && status == RPINN_OK; undivided++) {
    draw_normals(n * N, particles);
    status = move(context, n, N, num_iterations, undivided, particles);
  }
  printf("\n");
  free(particles);
  return status;
}

int main(int count, char **words) {
  RpinnStatus status = RPINN_OK;
  size_t n = count > 3 ? strtoul(words[1], NULL, 10) : 0,
         num_iterations = count > 3 ? strtoul(words[2], NULL, 10) : 0;
  if (n < 2 || num_iterations == 0) {
    fprintf(stderr, "usage: bench_svgd_spread PARTICLES ITERATIONS DIMENSIONS...\n");
    return 2;
  }
  RpinnContext *context = rpinn_context_create();
  if (!context) return 1;
  printf("| dimensions | variance of the draws | D | divided: variance | log(n+1)/N | D "
         "| undivided: variance | n log(n+1)/N | D |\n|---|---|---|---|---|---|---|---|---|\n");
  for (int k = 3; k < count && status == RPINN_OK; k++)
    status = write_row(context, n, strtoul(words[k], NULL, 10), num_iterations);
  if (status != RPINN_OK) fprintf(stderr, "%s\n", rpinn_context_error(context)->message);
  rpinn_context_destroy(context);
  return status != RPINN_OK;
}
