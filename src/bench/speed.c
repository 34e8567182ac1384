/* Speed as a ratio within one run: machines differ and are noisy, so a full Adam iteration (forward,
 * backward, update) is timed between two timings of what a core does in registers and of the bare matrix product that it
 * consists of, again and again, and the median of the ratios counts.
 *
 *   work      3 x the forward products of the hidden layers: 2 H_in H_out rows each, for the channels that
 *             are needed
 *   share     work / time per iteration / rate of fused multiply-adds in registers, and of bare sgemm [H x H x rows]
 *   pair      two threads on two members: throughput over one thread, divided by the same for bare sgemm
 *   crowd     a member for each processor, all at once: throughput over as many times that of one alone
 *   Jacobian  time of the dense Jacobian of one member / time of one gradient, both in double
 *   J D J^T   (work + M (M+1) N) / time / rate in registers: what Levenberg–Marquardt and Laplace's method do at a point
 *   predict   the forward products of the fields at the points of `predict:`, for the channels that are needed / time / rate in
 *             registers: what the pass over the draws does for each
 *   LM, Laplace   time of an iteration, of an approximation and of a draw / what they cannot do without, see squares_speed.h
 *   SVGD      time of an iteration / time of its gradients and two products, see svgd_speed.h
 *   NUTS      time of a leapfrog, over whole transitions / time of an Adam iteration on the same problem */
#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine_peak.h"
#include "posterior.h"
#include "processors.h"
#include "rpinn/nuts.h"
#include "rpinn/version.h"
#include "speed.h"
#include "svgd_speed.h"

const Case rpinn_speed_cases[NUM_CASES] = {
    {"poisson-linear, Nf=32", "poisson-linear", "32", true, 0.78, 0.85, 1, {{50, 50, 96}}},
    {"poisson-linear, Nf=128", "poisson-linear", "128", true, 0.82, 0.88, 1, {{50, 50, 384}}},
    {"darcy", "darcy", NULL, false, 0.84, 0.90, 3, {{60, 60, 96}, {60, 60, 256}, {60, 60, 512}}},
};

/* ---- time ---- */

/* What one thread computes is timed by its own clock, which does not count what other programs take; two
 * threads at once by the clock on the wall. */
static const clockid_t own_clock = CLOCK_THREAD_CPUTIME_ID, wall_clock = CLOCK_MONOTONIC;

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- bare products ---- */

typedef struct Products {
  float *a, *b, *c;
} Products;

static bool create_products(Products *products) {
  size_t bytes = 1024 * 128 * sizeof(float);
  float **arrays[] = {&products->a, &products->b, &products->c};
  for (int k = 0; k < 3; k++) {
    *arrays[k] = aligned_alloc(64, bytes);
    if (!*arrays[k]) return false;
    for (size_t i = 0; i < bytes / sizeof(float); i++) (*arrays[k])[i] = (float)(i % 97) / 97.0f - 0.5f;
  }
  return true;
}

static void destroy_products(Products *products) {
  free(products->a);
  free(products->b);
  free(products->c);
}

/* Operations per second of C [m][n] = A [m][k] B [k][n] over about `seconds`. */
static double product_rate(const Products *products, const int shape[3], clockid_t clock, double seconds) {
  int m = shape[0], k = shape[1],
      n = shape[2]; /* weights times a matrix with one column per row of the backend */
  double start = now(clock), elapsed = 0;
  size_t count = 0;
  do {
    for (int i = 0; i < 50; i++, count++)
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, products->a, k, products->b, n, 0,
                  products->c, n);
    elapsed = now(clock) - start;
  } while (elapsed < seconds);
  return 2.0 * m * n * k * (double)count / elapsed;
}

static double best_rate(const Products *products, const Case *line, double seconds) {
  double best = 0;
  for (int i = 0; i < line->num_shapes; i++)
    best = fmax(best, product_rate(products, line->shapes[i], own_clock, seconds / line->num_shapes));
  return best;
}

/* ---- a member that Adam advances ---- */

typedef struct Member {
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RpinnAdamState state;
} Member;

static void destroy_member(Member *member) {
  rpinn_posterior_destroy(member->posterior);
  rpinn_problem_destroy(member->problem);
  free(member->state.theta);
  free(member->state.m);
  free(member->state.v);
}

static RpinnStatus create_member(RpinnContext *context, const Case *line, const char *precision,
                                 Member *member) {
  RpinnOverride overrides[] = {{"backend", "cpu", "bench", true},
                               {"precision", precision, "bench", true},
                               {"Nf", line->setting, "bench", false}};
  RpinnProblemOptions options = {
      .preset = "paper", .num_overrides = line->setting ? 3 : 2, .overrides = overrides};
  RPINN_TRY(rpinn_problem_load(context, line->problem, &options, &member->problem));
  RPINN_TRY(rpinn_posterior_create(context, member->problem, false, &member->posterior));
  size_t N = member->posterior->model.num_parameters;
  member->state =
      (RpinnAdamState){calloc(N, sizeof(double)), calloc(N, sizeof(double)), calloc(N, sizeof(double)), 0};
  if (!member->state.theta || !member->state.m || !member->state.v) return rpinn_fail_memory(context);
  rpinn_posterior_start_glorot(member->posterior, 0, member->state.theta);
  return RPINN_OK;
}

static void advance(Member *member, size_t num_steps) {
  RpinnBackend *backend = member->posterior->backend;
  RpinnBatchMember own = {.theta = member->state.theta};
  RpinnAdamRule rule = {1e-3, 0.9, 5000, 0.9, 0.999, 1e-8};
  RpinnAdamState *state = &member->state;
  double energy;
  rpinn_backend_adam_advance(NULL, backend, &(RpinnMemberBatch){1, &own}, &rule, &state, num_steps, &energy);
}

/* Iterations per second over about `seconds`. */
static double iteration_rate(Member *member, clockid_t clock, double seconds) {
  double start = now(clock), elapsed = 0;
  size_t count = 0, chunk = member->posterior->model.num_parameters > 10000 ? 2 : 50;
  do {
    advance(member, chunk);
    count += chunk;
    elapsed = now(clock) - start;
  } while (elapsed < seconds);
  return (double)count / elapsed;
}

/* Multiplications of the hidden layers for one row. */
static double hidden_products(const RpinnNetwork *network) {
  double products = 0;
  for (size_t l = 1; l + 1 < network->num_layers; l++)
    products += (double)(network->width[l] * network->width[l + 1]);
  return products;
}

static double count_work(const Case *line, const RpinnPosterior *posterior) {
  double work = 0;
  for (size_t t = 0; t < posterior->model.num_terms; t++) {
    const RpinnTermModel *term = &posterior->model.terms[t];
    if (line->reference_term_only && posterior->fitted[t] != posterior->problem->reference_term) continue;
    for (size_t f = 0; f < posterior->model.num_fields; f++)
      work += 3 * 2 * hidden_products(&posterior->networks[f]) *
              (double)(term->num_points * term->program->channels[f].count);
  }
  return work;
}

/* ---- two threads ---- */

typedef struct Worker {
  Member *member; /* NULL: bare products */
  Products products;
  const Case *line;
  double seconds, rate;
} Worker;

static void *work_for(void *user) {
  Worker *worker = user;
  worker->rate = worker->member
                     ? iteration_rate(worker->member, wall_clock, worker->seconds)
                     : product_rate(&worker->products, worker->line->shapes[0], wall_clock, worker->seconds);
  return NULL;
}

/* The rate of two workers at once over that of the first alone. */
static double pair_gain(Worker workers[2]) {
  pthread_t other;
  work_for(&workers[0]);
  double alone = workers[0].rate;
  if (pthread_create(&other, NULL, work_for, &workers[1]) != 0) return NAN;
  work_for(&workers[0]);
  pthread_join(other, NULL);
  return (workers[0].rate + workers[1].rate) / alone;
}

/* ---- all threads ---- */

typedef struct Crowd {
  size_t count;
  Member *members;
  Worker *workers;
  pthread_t *threads;
} Crowd;

static RpinnStatus create_crowd(RpinnContext *context, Crowd *crowd) {
  const Case *line = &rpinn_speed_cases[0];
  size_t count = rpinn_processors_allowed();
  crowd->members = calloc(count, sizeof *crowd->members);
  crowd->workers = calloc(count, sizeof *crowd->workers);
  crowd->threads = calloc(count, sizeof *crowd->threads);
  if (!crowd->members || !crowd->workers || !crowd->threads) return rpinn_fail_memory(context);
  for (; crowd->count < count; crowd->count++)
    RPINN_TRY(create_member(context, line, "float", &crowd->members[crowd->count]));
  return RPINN_OK;
}

static void destroy_crowd(Crowd *crowd) {
  for (size_t k = 0; k < crowd->count; k++) destroy_member(&crowd->members[k]);
  free(crowd->members);
  free(crowd->workers);
  free(crowd->threads);
}

static double crowd_efficiency(Crowd *crowd, double seconds) {
  double rate = 0;
  for (size_t k = 0; k < crowd->count; k++)
    crowd->workers[k] = (Worker){.member = &crowd->members[k], .seconds = seconds};
  work_for(&crowd->workers[0]);
  double alone = crowd->workers[0].rate;
  size_t started = 1;
  while (started < crowd->count &&
         pthread_create(&crowd->threads[started], NULL, work_for, &crowd->workers[started]) == 0)
    started++;
  work_for(&crowd->workers[0]);
  for (size_t k = 1; k < started; k++) pthread_join(crowd->threads[k], NULL);
  for (size_t k = 0; k < started; k++) rate += crowd->workers[k].rate;
  return started == crowd->count ? rate / (alone * (double)crowd->count) : (double)NAN;
}

/* ---- Jacobian ---- */

/* The member in double, so that J need not be converted for the caller, and room for its results. */
typedef struct JacobianWork {
  Member member;
  double *rows, *jacobian; /* [M], [M][N] */
} JacobianWork;

static RpinnStatus create_jacobian_work(RpinnContext *context, JacobianWork *work) {
  RPINN_TRY(create_member(context, &rpinn_speed_cases[JACOBIAN_CASE], "double", &work->member));
  size_t M = work->member.posterior->model.num_rows, N = work->member.posterior->model.num_parameters;
  work->rows = calloc(M, sizeof(double));
  work->jacobian = malloc(M * N * sizeof(double));
  if (!work->rows || !work->jacobian) return rpinn_fail_memory(context);
  memset(work->jacobian, 0, M * N * sizeof(double)); /* not to time the first touch of the pages */
  return RPINN_OK;
}

static void destroy_jacobian_work(JacobianWork *work) {
  destroy_member(&work->member);
  free(work->rows);
  free(work->jacobian);
}

/* The time of a Jacobian over that of the gradients before and after it. */
static double jacobian_cost(JacobianWork *work) {
  enum { GRADIENTS = 3 };
  RpinnPosterior *posterior = work->member.posterior;
  double *theta = work->member.state.theta, *gradient = work->member.state.m, energy;
  double start = now(own_clock);
  for (int i = 0; i < GRADIENTS; i++)
    rpinn_posterior_energy(NULL, posterior, theta, NULL, &energy, gradient, NULL);
  double begin = now(own_clock);
  rpinn_posterior_residuals(NULL, posterior, theta, work->rows, work->jacobian);
  double end = now(own_clock);
  for (int i = 0; i < GRADIENTS; i++)
    rpinn_posterior_energy(NULL, posterior, theta, NULL, &energy, gradient, NULL);
  double gradients = begin - start + now(own_clock) - end;
  return (end - begin) / (gradients / (2 * GRADIENTS));
}

/* ---- J D J^T ---- */

/* On a member of its own, whose Jacobian is never the one at hand. */
typedef struct GramWork {
  Member member;
  double *rows, *gram; /* [M], [M][M] */
} GramWork;

static RpinnStatus create_gram_work(RpinnContext *context, GramWork *work) {
  RPINN_TRY(create_member(context, &rpinn_speed_cases[GRAM_CASE], "float", &work->member));
  size_t M = work->member.posterior->model.num_rows;
  work->rows = calloc(M, sizeof(double));
  work->gram = calloc(M * M, sizeof(double));
  return work->rows && work->gram ? RPINN_OK : rpinn_fail_memory(context);
}

static void destroy_gram_work(GramWork *work) {
  destroy_member(&work->member);
  free(work->rows);
  free(work->gram);
}

/* As many as J as a matrix would take: in factors it takes fewer, and its share of the peak may be above 1. */
static double gram_operations(const GramWork *work) {
  const RpinnEnergyModel *model = &work->member.posterior->model;
  double M = (double)model->num_rows, N = (double)model->num_parameters;
  return count_work(&rpinn_speed_cases[GRAM_CASE], work->member.posterior) + M * (M + 1) * N;
}

static RpinnStatus gram_seconds(RpinnContext *context, GramWork *work, double *seconds) {
  double *theta = work->member.state.theta;
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = theta}};
  theta[0] += 1e-3; /* another point, or J would be known */
  double start = now(own_clock);
  RPINN_TRY(
      rpinn_backend_gram(context, work->member.posterior->backend, &batch, NULL, &work->rows, &work->gram));
  *seconds = now(own_clock) - start;
  return RPINN_OK;
}

/* ---- predictions ---- */

typedef struct PredictWork {
  Member member;
  double *values; /* [quantities][points] */
} PredictWork;

static RpinnStatus create_predict_work(RpinnContext *context, PredictWork *work) {
  RPINN_TRY(create_member(context, &rpinn_speed_cases[GRAM_CASE], "float", &work->member));
  RpinnPosterior *posterior = work->member.posterior;
  work->values = calloc(posterior->problem->num_predicted * posterior->data->predict.count, sizeof(double));
  if (!work->values) return rpinn_fail_memory(context);
  return rpinn_posterior_predict(context, posterior, work->member.state.theta,
                                 work->values); /* which is planned now */
}

static void destroy_predict_work(PredictWork *work) {
  destroy_member(&work->member);
  free(work->values);
}

static double predict_operations(const PredictWork *work) {
  const RpinnPosterior *posterior = work->member.posterior;
  double operations = 0;
  for (size_t q = 0; q < posterior->problem->num_predicted; q++)
    for (size_t f = 0; f < posterior->model.num_fields; f++)
      operations += 2 * hidden_products(&posterior->networks[f]) *
                    (double)(posterior->data->predict.count * posterior->predictions[q]->channels[f].count);
  return operations;
}

static RpinnStatus predict_seconds(RpinnContext *context, PredictWork *work, double *seconds) {
  double start = now(own_clock);
  RPINN_TRY(rpinn_posterior_predict(context, work->member.posterior, work->member.state.theta, work->values));
  *seconds = now(own_clock) - start;
  return RPINN_OK;
}

/* ---- NUTS ---- */

/* A chain on a member of its own. Its steps are so short that no trajectory turns back before it is full. */
typedef struct NutsWork {
  Member member;
  RpinnPosteriorMember target;
  RpinnObjective objective;
  RpinnNuts *nuts;
} NutsWork;

static RpinnStatus create_nuts_work(RpinnContext *context, NutsWork *work) {
  RPINN_TRY(create_member(context, &rpinn_speed_cases[NUTS_CASE], "float", &work->member));
  work->target = (RpinnPosteriorMember){.posterior = work->member.posterior, .context = context};
  work->objective = rpinn_posterior_objective(&work->target);
  RpinnLogDensity density = rpinn_log_density_of_objective(&work->objective);
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_warmup = 0;
  options.num_draws = SIZE_MAX;
  options.metric = RPINN_METRIC_UNIT;
  options.first_step = 1e-7;
  RPINN_TRY(rpinn_nuts_create(context, &density, &options, &work->nuts));
  return rpinn_nuts_start(context, work->nuts, 0, 0, work->member.state.theta);
}

static void destroy_nuts_work(NutsWork *work) {
  rpinn_nuts_destroy(work->nuts);
  destroy_member(&work->member);
}

/* Seconds per leapfrog over about `seconds`; infinite when a trajectory was not full. */
static double leapfrog_seconds(RpinnContext *context, NutsWork *work, double seconds) {
  double start = now(own_clock), elapsed = 0;
  size_t before = rpinn_nuts_num_leapfrogs(work->nuts);
  do {
    RpinnNutsDraw draw;
    if (rpinn_nuts_advance(context, work->nuts, &draw) != RPINN_OK || !draw.reached_max_depth)
      return HUGE_VAL;
    elapsed = now(own_clock) - start;
  } while (elapsed < seconds);
  return elapsed / (double)(rpinn_nuts_num_leapfrogs(work->nuts) - before);
}

/* ---- the measurement ---- */

typedef struct Setup {
  Member members[NUM_CASES];
  Member second; /* of the first case, for two threads */
  Products products, second_products;
  JacobianWork jacobian;
  Crowd crowd;
  GramWork gram;
  PredictWork predict;
  RpinnSvgdSpeed *svgd;
  RpinnSquaresSpeed *squares;
  NutsWork nuts;
} Setup;

static void measure_nuts(RpinnContext *context, RpinnSpeed *bench, Setup *setup, double slice,
                         size_t repetition) {
  double before = iteration_rate(&setup->members[NUTS_CASE], own_clock, slice);
  double leapfrog = leapfrog_seconds(context, &setup->nuts, 2 * slice);
  double after = iteration_rate(&setup->members[NUTS_CASE], own_clock, slice);
  bench->nuts_seconds[repetition] = leapfrog;
  bench->nuts[repetition] = leapfrog * 0.5 * (before + after);
}

static double peak_rate(RpinnPrecision precision) {
  return rpinn_machine_peak(rpinn_isa_best(), precision, 2e-3);
}

/* What takes long. */
static RpinnStatus measure_long(RpinnContext *context, RpinnSpeed *bench, Setup *setup, size_t repetition) {
  double *seconds = &bench->gram_seconds[repetition], before = peak_rate(RPINN_PRECISION_FLOAT);
  RPINN_TRY(gram_seconds(context, &setup->gram, seconds));
  double peak = 0.5 * (before + peak_rate(RPINN_PRECISION_FLOAT));
  bench->gram[repetition] = bench->gram_work / *seconds / peak;
  bench->crowd[repetition] = crowd_efficiency(&setup->crowd, 0.05);
  before = peak_rate(RPINN_PRECISION_FLOAT);
  seconds = &bench->predict_seconds[repetition];
  RPINN_TRY(predict_seconds(context, &setup->predict, seconds));
  peak = 0.5 * (before + peak_rate(RPINN_PRECISION_FLOAT));
  bench->predict[repetition] = bench->predict_work / *seconds / peak;
  RPINN_TRY(rpinn_squares_speed_measure(context, setup->squares, &bench->squares[repetition]));
  return rpinn_svgd_speed_measure(context, setup->svgd, &bench->svgd[repetition],
                                  &bench->svgd_seconds[repetition]);
}

static void measure_once(RpinnContext *context, RpinnSpeed *bench, Setup *setup, size_t repetition) {
  const double slice = 0.02;
  bench->peak[repetition] = peak_rate(RPINN_PRECISION_FLOAT);
  bench->double_peak[repetition] = peak_rate(RPINN_PRECISION_DOUBLE);
  for (size_t k = 0; k < NUM_CASES; k++) {
    Line *line = &bench->lines[k];
    double before = best_rate(&setup->products, &rpinn_speed_cases[k], slice),
           peak = peak_rate(RPINN_PRECISION_FLOAT);
    double iterations = iteration_rate(&setup->members[k], own_clock, 2 * slice);
    peak = 0.5 * (peak + peak_rate(RPINN_PRECISION_FLOAT));
    double after = best_rate(&setup->products, &rpinn_speed_cases[k], slice);
    line->seconds[repetition] = 1 / iterations;
    line->share[repetition] = line->work * iterations / peak;
    line->product_rate[repetition] = 0.5 * (before + after);
    line->product_share[repetition] = line->work * iterations / line->product_rate[repetition];
  }
  Worker bare[2] = {{.products = setup->products, .line = &rpinn_speed_cases[0], .seconds = slice},
                    {.products = setup->second_products, .line = &rpinn_speed_cases[0], .seconds = slice}};
  Worker ours[2] = {{.member = &setup->members[0], .seconds = slice},
                    {.member = &setup->second, .seconds = slice}};
  bench->pair[repetition] = pair_gain(ours) / pair_gain(bare);
  bench->jacobian[repetition] = jacobian_cost(&setup->jacobian);
  measure_nuts(context, bench, setup, slice, repetition);
}

static void find_cpu_name(char name[128]) {
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  snprintf(name, 128, "unknown CPU");
  while (file && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    snprintf(name, 128, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    break;
  }
  if (file) fclose(file);
}

static RpinnStatus measure(RpinnContext *context, const RpinnBenchOptions *options, RpinnSpeed *bench,
                           Setup *setup) {
  for (size_t k = 0; k < NUM_CASES; k++) {
    RPINN_TRY(create_member(context, &rpinn_speed_cases[k], "float", &setup->members[k]));
    bench->lines[k].work = count_work(&rpinn_speed_cases[k], setup->members[k].posterior);
  }
  RPINN_TRY(create_member(context, &rpinn_speed_cases[0], "float", &setup->second));
  RPINN_TRY(create_jacobian_work(context, &setup->jacobian));
  RPINN_TRY(create_gram_work(context, &setup->gram));
  bench->gram_work = gram_operations(&setup->gram);
  RPINN_TRY(create_predict_work(context, &setup->predict));
  bench->predict_work = predict_operations(&setup->predict);
  RPINN_TRY(create_crowd(context, &setup->crowd));
  bench->num_threads = setup->crowd.count;
  bench->blas_share = rpinn_blas_share_of_peak();
  RPINN_TRY(rpinn_posterior_advise(context, setup->gram.member.posterior, &bench->advice));
  if (bench->advice.failed) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_svgd_speed_create(context, &setup->svgd));
  RPINN_TRY(rpinn_squares_speed_create(context, &setup->squares));
  RPINN_TRY(create_nuts_work(context, &setup->nuts));
  if (!create_products(&setup->products) || !create_products(&setup->second_products))
    return rpinn_fail_memory(context);
  size_t wanted = bench->repetitions;
  for (bench->repetitions = 0; bench->repetitions < wanted; bench->repetitions++) {
    if (options->interrupted && options->interrupted(options->user))
      return rpinn_fail(context, RPINN_ERROR_INTERRUPTED, "interrupted after %zu repetitions",
                        bench->repetitions);
    size_t k = bench->repetitions;
    if (k < MAX_LONG_REPETITIONS) RPINN_TRY(measure_long(context, bench, setup, k));
    measure_once(context, bench, setup, bench->repetitions);
  }
  return RPINN_OK;
}

static void destroy(RpinnBench *base) {
  RpinnSpeed *bench = (RpinnSpeed *)base;
  rpinn_text_free(&bench->advice);
  free(bench);
}

static RpinnStatus create(RpinnContext *context, const RpinnBenchOptions *options, RpinnBench **base) {
  Setup setup;
  memset(&setup, 0, sizeof setup);
  RpinnSpeed *bench = calloc(1, sizeof *bench);
  if (!bench) return rpinn_fail_memory(context);
  bench->base.kind = &rpinn_speed_kind;
  bench->repetitions = options->repetitions ? options->repetitions : DEFAULT_REPETITIONS;
  if (bench->repetitions > MAX_REPETITIONS) bench->repetitions = MAX_REPETITIONS;
  find_cpu_name(bench->cpu);
  RpinnStatus status = measure(context, options, bench, &setup);
  for (size_t k = 0; k < NUM_CASES; k++) destroy_member(&setup.members[k]);
  destroy_member(&setup.second);
  destroy_products(&setup.products);
  destroy_products(&setup.second_products);
  destroy_jacobian_work(&setup.jacobian);
  destroy_gram_work(&setup.gram);
  destroy_predict_work(&setup.predict);
  destroy_crowd(&setup.crowd);
  rpinn_svgd_speed_destroy(setup.svgd);
  rpinn_squares_speed_destroy(setup.squares);
  destroy_nuts_work(&setup.nuts);
  if (status == RPINN_OK)
    *base = &bench->base;
  else
    destroy(&bench->base);
  return status;
}

const RpinnBenchKind rpinn_speed_kind = {.backend = "cpu",
                                         .create = create,
                                         .destroy = destroy,
                                         .worst = rpinn_speed_worst,
                                         .text = rpinn_speed_text,
                                         .json = rpinn_speed_json};
