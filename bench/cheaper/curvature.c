/* Metropolis steps with a curvature. In z, where the prior is N(0, I), with the linearised posterior N(m, A^-1) of local_normal.h,
 *
 *   present   z' = z + (1 - sqrt(1 - s^2)) (m(z) - z) + s v,     v ~ N(0, A(z)^-1), and the way back has A(z')
 *   start     z' = z - (1 - sqrt(1 - s^2)) A^-1 g(z)  + s v,     v ~ N(0, A^-1) with A of the point that the chain began at
 *
 * Both leave N(m, A^-1) alone for every step s <= 1 where the model is linear, so that nothing is rejected there; for small s they are Langevin's steps
 * with A as metric. Steps adapt to their acceptance in the first third of the price, and then stay. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "dense_algebra.h"
#include "local_normal.h"
#include "ways.h"

enum { SEED = 1, NUM_KEPT = 400, TIMED_STEPS = 50 };
static const double acceptance_wanted = 0.6, first_step = 0.1;

typedef struct Walk {
  Subject *subject;
  bool at_start; /* the curvature of the start */
  LocalNormal here, there;
  double *gradient_here, *gradient_there; /* [N] by z, of the curvature at the start alone */
  double *theta;                          /* [N] */
  double *v;                              /* [N] */
  RpinnStream stream;
  double step;
} Walk;

static RpinnStatus open_walk(Subject *subject, bool at_start, Walk *walk) {
  size_t N = subject->num_parameters;
  *walk = (Walk){.subject = subject, .at_start = at_start, .step = first_step};
  RPINN_TRY(local_normal_create(subject, &walk->here));
  RPINN_TRY(local_normal_create(subject, &walk->there));
  walk->gradient_here = calloc(4 * N, sizeof(double));
  if (!walk->gradient_here) return rpinn_fail_memory(subject->context);
  walk->gradient_there = walk->gradient_here + N;
  walk->theta = walk->gradient_there + N;
  walk->v = walk->theta + N;
  return RPINN_OK;
}

static void close_walk(Walk *walk) {
  local_normal_destroy(&walk->here);
  local_normal_destroy(&walk->there);
  free(walk->gradient_here);
}

/* E and its gradient by z. */
static RpinnStatus evaluate(Walk *walk, const double *z, double *energy, double *gradient) {
  Subject *subject = walk->subject;
  subject_theta(subject, z, walk->theta);
  RPINN_TRY(subject->objective.evaluate(subject->objective.data, walk->theta, energy, gradient));
  for (size_t j = 0; j < subject->num_parameters; j++) gradient[j] /= subject->squares.prior_root[j];
  return RPINN_OK;
}

static RpinnStatus begin(Walk *walk, size_t chain, const double *theta) {
  walk->stream = rpinn_stream(SEED, RPINN_PURPOSE_CHAIN, chain, 0);
  subject_whiten(walk->subject, theta, walk->here.z);
  RPINN_TRY(local_normal_find(walk->subject, &walk->here));
  return evaluate(walk, walk->here.z, &walk->here.energy, walk->gradient_here);
}

/* log of the density of the proposal `to` from `from`; v is work. */
static double log_proposal(LocalNormal *from, const LocalNormal *to, double pull, double step, double *v) {
  for (size_t j = 0; j < from->num_parameters; j++)
    v[j] = to->z[j] - from->z[j] - pull * (from->mean[j] - from->z[j]);
  return from->half_determinant - 0.5 * local_normal_square(from, v) / (step * step);
}

/* log of the ratio that Metropolis compares; the proposal is in walk->there. */
static RpinnStatus propose_present(Walk *walk, double *log_ratio) {
  LocalNormal *here = &walk->here, *there = &walk->there;
  double step = walk->step, pull = 1 - sqrt(1 - step * step);
  local_normal_draw(here, &walk->stream, walk->v);
  for (size_t j = 0; j < here->num_parameters; j++)
    there->z[j] = here->z[j] + pull * (here->mean[j] - here->z[j]) + step * walk->v[j];
  RPINN_TRY(local_normal_find(walk->subject, there));
  *log_ratio = -(double)INFINITY;
  if (!isfinite(there->energy)) return RPINN_OK;
  *log_ratio = here->energy - there->energy;
  *log_ratio += log_proposal(there, here, pull, step, walk->v);
  *log_ratio -= log_proposal(here, there, pull, step, walk->v);
  return RPINN_OK;
}

/* |z' - z + pull A^-1 g|^2 in A, of the step from z to z'; A is that of the start. */
static double backward_square(Walk *walk, const double *from, const double *gradient, const double *to,
                              double pull) {
  size_t N = walk->subject->num_parameters;
  memcpy(walk->v, gradient, N * sizeof *gradient);
  local_normal_solve(&walk->here, walk->v);
  for (size_t j = 0; j < N; j++) walk->v[j] = to[j] - from[j] + pull * walk->v[j];
  return local_normal_square(&walk->here, walk->v);
}

static RpinnStatus propose_start(Walk *walk, double *log_ratio) {
  LocalNormal *here = &walk->here, *there = &walk->there;
  size_t N = here->num_parameters;
  double step = walk->step, pull = 1 - sqrt(1 - step * step);
  memcpy(there->z, walk->gradient_here, N * sizeof(double));
  local_normal_solve(here, there->z);
  local_normal_draw(here, &walk->stream, walk->v);
  for (size_t j = 0; j < N; j++) there->z[j] = here->z[j] - pull * there->z[j] + step * walk->v[j];
  RPINN_TRY(evaluate(walk, there->z, &there->energy, walk->gradient_there));
  *log_ratio = -(double)INFINITY;
  if (!isfinite(there->energy)) return RPINN_OK;
  double forth = backward_square(walk, here->z, walk->gradient_here, there->z, pull),
         back = backward_square(walk, there->z, walk->gradient_there, here->z, pull);
  *log_ratio = here->energy - there->energy + 0.5 * (forth - back) / (step * step);
  return RPINN_OK;
}

/* The walk goes to what was proposed. The curvature at the start stays where it is. */
static void accept(Walk *walk) {
  if (!walk->at_start) {
    LocalNormal here = walk->here;
    walk->here = walk->there;
    walk->there = here;
    return;
  }
  size_t N = walk->subject->num_parameters;
  memcpy(walk->here.z, walk->there.z, N * sizeof(double));
  memcpy(walk->gradient_here, walk->gradient_there, N * sizeof(double));
  walk->here.energy = walk->there.energy;
}

/* One step; *probability of being accepted. */
static RpinnStatus advance(Walk *walk, double *probability) {
  double log_ratio;
  RPINN_TRY(walk->at_start ? propose_start(walk, &log_ratio) : propose_present(walk, &log_ratio));
  *probability = isnan(log_ratio) ? 0 : fmin(1, exp(log_ratio));
  if (rpinn_stream_uniform(&walk->stream) < *probability) accept(walk);
  return RPINN_OK;
}

/* Robbins and Monro's: log step += (accepted - wanted) / n^0.6 */
static void adapt(Walk *walk, double probability, size_t n) {
  walk->step *= exp((probability - acceptance_wanted) / pow((double)n + 1, 0.6));
  walk->step = fmin(walk->step, 1);
}

typedef struct Tally {
  double acceptance, step; /* sums over the steps behind adaptation, and over chains */
  double num_steps;
} Tally;

static RpinnStatus run_walk(Walk *walk, size_t chain, size_t num_steps, const JudgedDraws *draws,
                            Tally *tally) {
  size_t adapting = num_steps / 3, stride = (num_steps - adapting) / NUM_KEPT, kept = 0;
  double probability;
  walk->step = first_step;
  for (size_t n = 0; n < adapting; n++) {
    RPINN_TRY(advance(walk, &probability));
    adapt(walk, probability, n);
  }
  for (size_t n = 0; kept < NUM_KEPT; n++) {
    RPINN_TRY(advance(walk, &probability));
    tally->acceptance += probability;
    tally->num_steps++;
    if ((n + 1) % stride) continue;
    subject_theta(walk->subject, walk->here.z, walk->theta);
    RPINN_TRY(judged_take(walk->subject, draws, chain, kept++, walk->theta));
  }
  tally->step += walk->step;
  return RPINN_OK;
}

/* Seconds of a step, so that chains can be given a price. */
static RpinnStatus time_steps(Walk *walk, const double *theta, double *seconds) {
  double probability, start;
  RPINN_TRY(begin(walk, 0, theta));
  start = subject_seconds();
  for (size_t n = 0; n < TIMED_STEPS; n++) RPINN_TRY(advance(walk, &probability));
  *seconds = (subject_seconds() - start) / TIMED_STEPS;
  return RPINN_OK;
}

static RpinnStatus run_walks(Walk *walk, const RpinnDraws *members, double price, JudgedDraws *draws,
                             Tally *tally, double *gradients_per_step) {
  double seconds;
  RPINN_TRY(time_steps(walk, rpinn_draws_get(members, 0).parameters, &seconds));
  *gradients_per_step = seconds / walk->subject->gradient_seconds;
  size_t num_steps = (size_t)(price / *gradients_per_step);
  if (num_steps < 3 * NUM_KEPT)
    return rpinn_fail(walk->subject->context, RPINN_ERROR_INPUT,
                      "a price of %g is %zu steps, expected %d or more", price, num_steps, 3 * NUM_KEPT);
  for (size_t c = 0; c < draws->num_chains; c++) {
    RPINN_TRY(begin(walk, c, rpinn_draws_get(members, c).parameters));
    RPINN_TRY(run_walk(walk, c, num_steps, draws, tally));
  }
  draws->price = price * (double)draws->num_chains;
  return RPINN_OK;
}

static RpinnStatus run(Subject *subject, const char *folder, const double *numbers, bool at_start) {
  JudgedDraws draws = judged_draws(subject, (size_t)numbers[0], NUM_KEPT);
  RpinnDraws *members = NULL;
  Walk walk = {0};
  Tally tally = {0};
  double gradients_per_step = 0;
  char note[128];
  RpinnStatus status = draws.outputs ? RPINN_OK : rpinn_fail_memory(subject->context);
  if (status == RPINN_OK) status = subject_members(subject, draws.num_chains, 1, &members);
  if (status == RPINN_OK) status = open_walk(subject, at_start, &walk);
  if (status == RPINN_OK) status = run_walks(&walk, members, numbers[1], &draws, &tally, &gradients_per_step);
  snprintf(note, sizeof note, "acceptance %.2f, step %.2g, %.3g gradients each",
           tally.acceptance / tally.num_steps, tally.step / (double)draws.num_chains, gradients_per_step);
  draws.way = at_start ? "curvature at the start" : "curvature at the present point";
  draws.note = note;
  if (status == RPINN_OK) status = judge_print(subject, folder, &draws);
  close_walk(&walk);
  rpinn_draws_destroy(members);
  free(draws.outputs);
  return status;
}

RpinnStatus run_present(Subject *subject, const char *folder, const double *numbers) {
  return run(subject, folder, numbers, false);
}

RpinnStatus run_start(Subject *subject, const char *folder, const double *numbers) {
  return run(subject, folder, numbers, true);
}
