/* Tempering over the scale of the prior: particles begin as members of a narrow prior and are moved by NUTS under priors that grow wide, in equal
 * steps of log scale. With resampling it is sequential Monte Carlo, the weight of a step from scale a to b being the ratio of the priors,
 *
 *   log w = (1/a^2 - 1/b^2) |theta - mu|^2 s^2 / 2     of the network's parameters, P (theta - mu) with the subject's scale s
 *
 * and without it members are continued from another start. Metric: the variances of the particles when a scale begins; the step follows the acceptance of all
 * particles from one iteration to the next. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "random_stream.h"
#include "rpinn/nuts.h"
#include "ways.h"

enum { SEED = 1 };
static const double acceptance_wanted = 0.8, first_step = 0.01;

typedef struct Cloud {
  Subject *subject;
  size_t count, iterations, num_scales;
  bool resamples;
  unsigned depth;
  double narrower;             /* the subject's scale by the present one */
  double *points, *others;     /* [count][N] */
  size_t *roots, *other_roots; /* [count]: which particle each comes from */
  double *metric;              /* [N] */
  double *weights;             /* [count] */
  double step, gradients, divergences;
  double acceptance; /* of the last sweep */
  size_t num_sweeps;
  RpinnStream stream;
} Cloud;

/* log p under the present scale. */
static RpinnStatus evaluate(void *data, const double *theta, double *log_density, double *gradient) {
  Cloud *cloud = data;
  Subject *subject = cloud->subject;
  double more = cloud->narrower * cloud->narrower - 1;
  RPINN_TRY(subject->density.evaluate(subject->density.data, theta, log_density, gradient));
  for (size_t j = 0; j < subject->posterior->model.unknown_start; j++) {
    double root = subject->squares.prior_root[j], mean = subject_prior_mean(subject, j),
           pull = more * root * root * (theta[j] - mean);
    *log_density -= 0.5 * pull * (theta[j] - mean);
    if (gradient) gradient[j] -= pull;
  }
  return RPINN_OK;
}

/* |P (theta - mu)|^2 / 2 of the network. */
static double prior_energy(const Cloud *cloud, const double *theta) {
  const Subject *subject = cloud->subject;
  double sum = 0;
  for (size_t j = 0; j < subject->posterior->model.unknown_start; j++) {
    double mean = subject_prior_mean(subject, j);
    sum += 0.5 * pow((theta[j] - mean) * subject->squares.prior_root[j], 2);
  }
  return sum;
}

static void close_cloud(Cloud *cloud) {
  free(cloud->points);
  free(cloud->others);
  free(cloud->roots);
  free(cloud->other_roots);
  free(cloud->metric);
  free(cloud->weights);
}

static RpinnStatus open_cloud(Subject *subject, const double *numbers, Cloud *cloud) {
  size_t N = subject->num_parameters;
  RpinnDraws *members;
  *cloud = (Cloud){.subject = subject,
                   .count = (size_t)numbers[0],
                   .narrower = subject->scale / numbers[1],
                   .num_scales = (size_t)numbers[2],
                   .iterations = (size_t)numbers[3],
                   .depth = (unsigned)numbers[4],
                   .resamples = numbers[5] > 0,
                   .step = first_step,
                   .stream = rpinn_stream(SEED, RPINN_PURPOSE_CHECK, 1, 0)};
  cloud->points = calloc(cloud->count * N, sizeof(double));
  cloud->others = calloc(cloud->count * N, sizeof(double));
  cloud->roots = calloc(cloud->count, sizeof(size_t));
  cloud->other_roots = calloc(cloud->count, sizeof(size_t));
  cloud->metric = calloc(N, sizeof(double));
  cloud->weights = calloc(cloud->count, sizeof(double));
  if (!cloud->points || !cloud->others || !cloud->roots || !cloud->other_roots || !cloud->metric ||
      !cloud->weights)
    return rpinn_fail_memory(subject->context);
  RPINN_TRY(subject_members(subject, cloud->count, cloud->narrower, &members));
  for (size_t i = 0; i < cloud->count; i++) {
    memcpy(cloud->points + i * N, rpinn_draws_get(members, i).parameters, N * sizeof(double));
    cloud->roots[i] = i;
  }
  rpinn_draws_destroy(members);
  return RPINN_OK;
}

/* The variances of the particles. */
static void find_metric(Cloud *cloud) {
  size_t N = cloud->subject->num_parameters;
  for (size_t j = 0; j < N; j++) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < cloud->count; i++) mean += cloud->points[i * N + j] / (double)cloud->count;
    for (size_t i = 0; i < cloud->count; i++) square += pow(cloud->points[i * N + j] - mean, 2);
    cloud->metric[j] = square / (double)(cloud->count - 1);
  }
}

/* An iteration of every particle; the step follows what was accepted. */
static RpinnStatus sweep(Cloud *cloud) {
  RpinnContext *context = cloud->subject->context;
  size_t N = cloud->subject->num_parameters;
  RpinnLogDensity density = {.num_parameters = N, .data = cloud, .evaluate = evaluate};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnNuts *nuts;
  RpinnNutsDraw draw;
  options.num_warmup = 0;
  options.num_draws = 1;
  options.inverse_metric = cloud->metric;
  options.first_step = cloud->step;
  options.max_depth = cloud->depth;
  RPINN_TRY(rpinn_nuts_create(context, &density, &options, &nuts));
  RpinnStatus status = RPINN_OK;
  cloud->acceptance = 0;
  for (size_t i = 0; i < cloud->count && status == RPINN_OK; i++) {
    status =
        rpinn_nuts_start(context, nuts, SEED, cloud->num_sweeps * cloud->count + i, cloud->points + i * N);
    if (status == RPINN_OK) status = rpinn_nuts_advance(context, nuts, &draw);
    if (status != RPINN_OK) break;
    cloud->divergences += draw.diverging;
    cloud->acceptance += draw.acceptance_rate / (double)cloud->count;
    cloud->gradients += (double)draw.num_steps + 1;
    memcpy(cloud->points + i * N, draw.parameters, N * sizeof(double));
  }
  rpinn_nuts_destroy(nuts);
  cloud->num_sweeps++;
  cloud->step *= exp(cloud->acceptance - acceptance_wanted);
  return status;
}

static RpinnStatus move(Cloud *cloud) {
  find_metric(cloud);
  for (size_t n = 0; n < cloud->iterations; n++) RPINN_TRY(sweep(cloud));
  return RPINN_OK;
}

/* Systematic resampling by weights that are there as logarithms. */
static void resample(Cloud *cloud) {
  size_t N = cloud->subject->num_parameters, from = 0;
  double largest = -(double)INFINITY, sum = 0, reached, at = rpinn_stream_uniform(&cloud->stream);
  for (size_t i = 0; i < cloud->count; i++) largest = fmax(largest, cloud->weights[i]);
  for (size_t i = 0; i < cloud->count; i++) sum += cloud->weights[i] = exp(cloud->weights[i] - largest);
  reached = cloud->weights[0] / sum * (double)cloud->count;
  for (size_t i = 0; i < cloud->count; i++, at++) {
    while (reached < at && from + 1 < cloud->count)
      reached += cloud->weights[++from] / sum * (double)cloud->count;
    memcpy(cloud->others + i * N, cloud->points + from * N, N * sizeof(double));
    cloud->other_roots[i] = cloud->roots[from];
  }
  double *points = cloud->points;
  size_t *roots = cloud->roots;
  cloud->points = cloud->others;
  cloud->others = points;
  cloud->roots = cloud->other_roots;
  cloud->other_roots = roots;
}

static RpinnStatus anneal(Cloud *cloud) {
  size_t N = cloud->subject->num_parameters;
  double ratio = pow(cloud->narrower, 1 / (double)cloud->num_scales);
  RPINN_TRY(move(cloud));
  for (size_t k = 1; k <= cloud->num_scales; k++) {
    double before = cloud->narrower, now = k < cloud->num_scales ? before / ratio : 1;
    for (size_t i = 0; i < cloud->count; i++)
      cloud->weights[i] = (before * before - now * now) * prior_energy(cloud, cloud->points + i * N);
    cloud->narrower = now;
    if (cloud->resamples) resample(cloud);
    RPINN_TRY(move(cloud));
  }
  return RPINN_OK;
}

/* How many of the first particles have descendants. */
static size_t count_roots(const Cloud *cloud) {
  size_t count = 0;
  for (size_t root = 0; root < cloud->count; root++) {
    bool found = false;
    for (size_t i = 0; i < cloud->count; i++) found |= cloud->roots[i] == root;
    count += found;
  }
  return count;
}

RpinnStatus run_annealing(Subject *subject, const char *folder, const double *numbers) {
  Cloud cloud;
  char note[256], way[128];
  RpinnStatus status = open_cloud(subject, numbers, &cloud);
  JudgedDraws draws = judged_draws(subject, 1, cloud.count);
  if (status == RPINN_OK && !draws.outputs) status = rpinn_fail_memory(subject->context);
  if (status == RPINN_OK) status = anneal(&cloud);
  for (size_t i = 0; i < cloud.count && status == RPINN_OK; i++)
    status = judged_take(subject, &draws, 0, i, cloud.points + i * subject->num_parameters);
  snprintf(way, sizeof way, "prior from %g in %zu scale%s%s", numbers[1], cloud.num_scales,
           cloud.num_scales == 1 ? "" : "s", cloud.resamples ? ", resampled" : "");
  snprintf(note, sizeof note,
           "%zu iterations of depth %u at each, acceptance %.2f and step %.2g at the end, %.1f %% divergent, "
           "%zu roots",
           cloud.iterations, cloud.depth, cloud.acceptance, cloud.step,
           100 * cloud.divergences / (double)(cloud.num_sweeps * cloud.count), count_roots(&cloud));
  draws.way = way;
  draws.note = note;
  draws.price = cloud.gradients;
  if (status == RPINN_OK) status = judge_print(subject, folder, &draws);
  close_cloud(&cloud);
  free(draws.outputs);
  return status;
}
