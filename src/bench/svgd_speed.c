#include "svgd_speed.h"

#include <cblas.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "context.h"
#include "rpinn/posterior.h"
#include "rpinn/svgd.h"

enum { NUM_PARTICLES = 1000, HALF = NUM_PARTICLES / 2 };

/* One of the two threads, which has half of the particles. */
typedef struct Half {
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RpinnPosteriorMember member;
  RpinnObjective objective;
  RpinnLogDensity density;
  double *gradient;        /* [N] */
  const double *particles; /* [HALF][N] */
  const float *rows, *all; /* [HALF][N] of all [n][N] */
  float *square, *product; /* [HALF][n], [HALF][N] */
} Half;

struct RpinnSvgdSpeed {
  size_t N;
  Half halves[2];
  double *particles;       /* [n][N] */
  float *factors;          /* [n][N] */
  float *square, *product; /* [n][n], [n][N] */
  RpinnSvgd *svgd;
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *compute_parts(void *user) {
  Half *half = user;
  int n = NUM_PARTICLES, N = (int)half->density.num_parameters;
  double log_density;
  for (size_t i = 0; i < HALF; i++)
    half->density.evaluate(half->density.data, half->particles + i * (size_t)N, &log_density, half->gradient);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, HALF, n, N, 1, half->rows, N, half->all, N, 0,
              half->square, n);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, HALF, N, n, 1, half->square, n, half->all, N, 0,
              half->product, N);
  return NULL;
}

static RpinnStatus time_parts(RpinnContext *context, RpinnSvgdSpeed *speed, double *seconds) {
  pthread_t other;
  double start = now();
  if (pthread_create(&other, NULL, compute_parts, &speed->halves[1]) != 0)
    return rpinn_fail(context, RPINN_ERROR_MEMORY, "a second thread could not be started");
  compute_parts(&speed->halves[0]);
  pthread_join(other, NULL);
  *seconds = now() - start;
  return RPINN_OK;
}

RpinnStatus rpinn_svgd_speed_measure(RpinnContext *context, RpinnSvgdSpeed *speed, double *cost,
                                     double *seconds) {
  double before, after;
  RPINN_TRY(time_parts(context, speed, &before));
  double start = now();
  RPINN_TRY(rpinn_svgd_advance(context, speed->svgd, 1));
  *seconds = now() - start;
  RPINN_TRY(time_parts(context, speed, &after));
  *cost = *seconds / (0.5 * (before + after));
  return RPINN_OK;
}

/* ---- life ---- */

static RpinnStatus create_posterior(RpinnContext *context, Half *half) {
  RpinnOverride overrides[] = {
      {"backend", "cpu", "bench", true}, {"precision", "float", "bench", true}, {"Nf", "32", "bench", false}};
  RpinnProblemOptions options = {.preset = "paper", .num_overrides = 3, .overrides = overrides};
  RPINN_TRY(rpinn_problem_load(context, "poisson-linear", &options, &half->problem));
  RPINN_TRY(rpinn_posterior_create(context, half->problem, false, &half->posterior));
  half->member = (RpinnPosteriorMember){.posterior = half->posterior};
  half->objective = rpinn_posterior_objective(&half->member);
  half->density = rpinn_log_density_of_objective(&half->objective);
  return RPINN_OK;
}

static bool allocate(RpinnSvgdSpeed *speed) {
  size_t n = NUM_PARTICLES, N = speed->N;
  speed->particles = malloc(n * N * sizeof(double));
  speed->factors = malloc(n * N * sizeof(float));
  speed->square = calloc(n * n, sizeof(float));
  speed->product = calloc(n * N, sizeof(float));
  bool enough = speed->particles && speed->factors && speed->square && speed->product;
  for (size_t k = 0; k < 2 && enough; k++) {
    Half *half = &speed->halves[k];
    size_t first = k * HALF;
    half->gradient = calloc(N, sizeof(double));
    half->particles = speed->particles + first * N;
    half->rows = speed->factors + first * N;
    half->all = speed->factors;
    half->square = speed->square + first * n;
    half->product = speed->product + first * N;
    enough = half->gradient;
  }
  return enough;
}

static RpinnStatus fill(RpinnContext *context, RpinnSvgdSpeed *speed) {
  for (size_t k = 0; k < 2; k++) RPINN_TRY(create_posterior(context, &speed->halves[k]));
  size_t n = NUM_PARTICLES, N = speed->N = rpinn_posterior_num_parameters(speed->halves[0].posterior);
  if (!allocate(speed)) return rpinn_fail_memory(context);
  for (size_t i = 0; i < n; i++)
    rpinn_posterior_start_glorot(speed->halves[0].posterior, i, speed->particles + i * N);
  for (size_t k = 0; k < n * N; k++) speed->factors[k] = (float)speed->particles[k];
  RpinnLogDensity targets[2] = {speed->halves[0].density, speed->halves[1].density};
  RpinnSvgdOptions options = rpinn_svgd_default_options();
  options.num_particles = n;
  options.single_precision = true;
  RPINN_TRY(rpinn_svgd_create(context, 2, targets, &options, &speed->svgd));
  RPINN_TRY(rpinn_svgd_start(context, speed->svgd, speed->particles));
  return rpinn_svgd_advance(context, speed->svgd, 1); /* touches all pages */
}

RpinnStatus rpinn_svgd_speed_create(RpinnContext *context, RpinnSvgdSpeed **speed) {
  *speed = calloc(1, sizeof **speed);
  return *speed ? fill(context, *speed) : rpinn_fail_memory(context);
}

void rpinn_svgd_speed_destroy(RpinnSvgdSpeed *speed) {
  if (!speed) return;
  rpinn_svgd_destroy(speed->svgd);
  for (size_t k = 0; k < 2; k++) {
    rpinn_posterior_destroy(speed->halves[k].posterior);
    rpinn_problem_destroy(speed->halves[k].problem);
    free(speed->halves[k].gradient);
  }
  free(speed->particles);
  free(speed->factors);
  free(speed->square);
  free(speed->product);
  free(speed);
}
