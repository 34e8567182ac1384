/* Leapfrog with step e:   p += e/2 g,  q += e M^-1 p,  p += e/2 g(q)
 *
 * A tree of depth d is 2^d successive points with weights exp(H_0 - H). It is two trees of depth d - 1, and
 * its proposal is one of their two, each with the probability of its share of the weight. The trajectory
 * itself doubles by a tree of its own size at a random end, and prefers what is new: it takes the proposal of
 * the new half with probability min(1, w_new/w_old) (biased progressive sampling; Betancourt 2017).
 *
 * Two halves A, B in the order of time go on as long as they do not turn back. With rho the sum of the
 * momenta, and (a, b, rho) good when a#.rho > 0 and b#.rho > 0, all of these must be good:
 *
 *   (first of A, last of B,  rho_A + rho_B)
 *   (first of A, first of B, rho_A + p of first of B)
 *   (last of A,  last of B,  rho_B + p of last of A)
 *
 * The last two see a turn that begins at the seam. Read backwards they change places, so a tree that grows
 * backwards in time needs no other rule. A tree with a divergence or a turn inside is thrown away, and ends
 * the trajectory. */
#include "nuts_trajectory.h"

#include <math.h>
#include <string.h>

#include "dense_algebra.h"

/* ---- the pool ---- */

static bool allocate_point(RpinnArena *arena, const RpinnTrajectory *trajectory, RpinnPhasePoint *point) {
  point->q = RPINN_ARENA_NEW(arena, double, trajectory->length);
  point->p = RPINN_ARENA_NEW(arena, double, trajectory->length);
  point->gradient = RPINN_ARENA_NEW(arena, double, trajectory->length);
  point->sharp = trajectory->metric->kind == RPINN_METRIC_UNIT
                     ? point->p
                     : RPINN_ARENA_NEW(arena, double, trajectory->length);
  return point->q && point->p && point->gradient && point->sharp;
}

bool rpinn_trajectory_create(RpinnArena *arena, const RpinnBatchLogDensity *target, size_t member,
                             const RpinnNutsMetric *metric, RpinnStream *stream, unsigned max_depth,
                             double max_energy_error, RpinnTrajectory *trajectory) {
  *trajectory = (RpinnTrajectory){.target = *target,
                                  .request = {.target = {.density = &trajectory->target},
                                              .member = member,
                                              .question = RPINN_QUESTION_EVALUATE},
                                  .metric = metric,
                                  .stream = stream,
                                  .vectors = rpinn_phase_vectors(false),
                                  .length = rpinn_phase_length(target->num_parameters),
                                  .max_depth = max_depth,
                                  .max_energy_error = max_energy_error,
                                  /* three of a finished half on each level, of the trajectory and of the half
                                     in the making, and one ahead with the one it replaces */
                                  .num_points = 3 * ((size_t)max_depth + 3)};
  trajectory->points = RPINN_ARENA_NEW(arena, RpinnPhasePoint, trajectory->num_points);
  trajectory->free_points = RPINN_ARENA_NEW(arena, RpinnPhasePoint *, trajectory->num_points);
  trajectory->trees = RPINN_ARENA_NEW(arena, RpinnTree, max_depth);
  trajectory->scratch = RPINN_ARENA_NEW(arena, double *, max_depth);
  trajectory->rho = RPINN_ARENA_NEW(arena, double, trajectory->length);
  if (!trajectory->points || !trajectory->free_points || !trajectory->trees || !trajectory->scratch ||
      !trajectory->rho)
    return false;
  for (size_t i = 0; i < trajectory->num_points; i++)
    if (!allocate_point(arena, trajectory, &trajectory->points[i])) return false;
  for (unsigned depth = 0; depth < max_depth; depth++) {
    trajectory->scratch[depth] = RPINN_ARENA_NEW(arena, double, trajectory->length);
    if (!trajectory->scratch[depth]) return false;
  }
  trajectory->current = &trajectory->points[0];
  rpinn_trajectory_clear(trajectory);
  return true;
}

void rpinn_trajectory_clear(RpinnTrajectory *trajectory) {
  trajectory->num_free = 0;
  trajectory->ahead = NULL;
  for (size_t i = 0; i < trajectory->num_points; i++)
    if (&trajectory->points[i] != trajectory->current)
      trajectory->free_points[trajectory->num_free++] = &trajectory->points[i];
}

/* The last one given back, which the caches still know. */
static RpinnPhasePoint *take_point(RpinnTrajectory *trajectory, unsigned uses) {
  RpinnPhasePoint *point = trajectory->free_points[--trajectory->num_free];
  point->uses = uses;
  return point;
}

static void release(RpinnTrajectory *trajectory, RpinnPhasePoint *point) {
  if (--point->uses == 0) trajectory->free_points[trajectory->num_free++] = point;
}

/* ---- points ---- */

static void ask(RpinnTrajectory *trajectory, RpinnPhasePoint *point) {
  trajectory->asked = point;
  trajectory->request.question = RPINN_QUESTION_EVALUATE;
  trajectory->request.theta = point->q;
  trajectory->request.gradient = point->gradient;
}

static RpinnPhasePoint *take_answer(RpinnTrajectory *trajectory) {
  trajectory->asked->log_density = trajectory->request.value;
  return trajectory->asked;
}

static void set_energy(RpinnPhasePoint *point, double twice_kinetic) {
  double energy = 0.5 * twice_kinetic - point->log_density;
  point->energy = isfinite(energy) ? energy : HUGE_VAL;
}

/* M^-1 times a vector, for the dense metric. */
static void sharpen(const RpinnNutsMetric *metric, const double *p, double *sharp) {
  rpinn_dense_times(metric->num_parameters, metric->num_parameters, metric->inverse, p, sharp);
}

/* The second half of a leapfrog: p += step/2 g, then sharp and energy. */
static void finish_leap(RpinnTrajectory *trajectory, double step, RpinnPhasePoint *point) {
  const RpinnPhaseVectors *vectors = trajectory->vectors;
  if (trajectory->metric->kind == RPINN_METRIC_DENSE) {
    vectors->kick(trajectory->length, 0.5 * step, NULL, point->gradient, point->p, NULL);
    sharpen(trajectory->metric, point->p, point->sharp);
    set_energy(point, vectors->dot(trajectory->length, point->p, point->sharp));
    return;
  }
  RpinnPhasePoint *ahead = take_point(trajectory, 0);
  set_energy(point, vectors->kick_on(trajectory->length, 0.5 * step, step, trajectory->metric->inverse,
                                     point->gradient, point->q, point->p, point->sharp, ahead->p, ahead->q));
  trajectory->ahead = ahead;
  trajectory->ahead_of = point;
  trajectory->ahead_step = step;
}

/* The first half: p += step/2 g, q += step M^-1 p, into a new point. */
static RpinnPhasePoint *begin_leap(RpinnTrajectory *trajectory, const RpinnPhasePoint *from, double step) {
  const RpinnNutsMetric *metric = trajectory->metric;
  bool is_dense = metric->kind == RPINN_METRIC_DENSE;
  RpinnPhasePoint *point = trajectory->ahead;
  trajectory->ahead = NULL;
  if (point && trajectory->ahead_of == from && trajectory->ahead_step == step) return point;
  if (!point) point = take_point(trajectory, 0); /* else one that leads elsewhere, to be overwritten */
  trajectory->vectors->kick_drift(trajectory->length, 0.5 * step, is_dense ? 0 : step,
                                  is_dense ? NULL : metric->inverse, from->p, from->gradient, from->q,
                                  point->p, point->q);
  if (is_dense) {
    sharpen(metric, point->p, point->sharp);
    rpinn_dense_add(metric->num_parameters, step, point->sharp, point->q);
  }
  return point;
}

void rpinn_trajectory_weigh(const RpinnTrajectory *trajectory, RpinnPhasePoint *point) {
  const RpinnNutsMetric *metric = trajectory->metric;
  if (metric->kind == RPINN_METRIC_DENSE) sharpen(metric, point->p, point->sharp);
  if (metric->kind == RPINN_METRIC_DIAGONAL)
    for (size_t j = 0; j < metric->num_parameters; j++) point->sharp[j] = metric->inverse[j] * point->p[j];
  set_energy(point, trajectory->vectors->dot(trajectory->length, point->p, point->sharp));
}

void rpinn_trajectory_place(RpinnTrajectory *trajectory, const double *theta) {
  rpinn_trajectory_clear(trajectory);
  rpinn_trajectory_forget(trajectory);
  memcpy(trajectory->current->q, theta, trajectory->target.num_parameters * sizeof(double));
  ask(trajectory, trajectory->current);
}

void rpinn_trajectory_settle(RpinnTrajectory *trajectory) {
  take_answer(trajectory);
}

void rpinn_trajectory_refresh(RpinnTrajectory *trajectory) {
  rpinn_nuts_metric_draw(trajectory->metric, trajectory->stream, trajectory->current->p);
  rpinn_trajectory_weigh(trajectory, trajectory->current);
}

void rpinn_trajectory_leap(RpinnTrajectory *trajectory, const RpinnPhasePoint *from, double step) {
  trajectory->leap = step;
  ask(trajectory, begin_leap(trajectory, from, step));
}

RpinnPhasePoint *rpinn_trajectory_land(RpinnTrajectory *trajectory) {
  RpinnPhasePoint *point = take_answer(trajectory);
  trajectory->num_leapfrogs++;
  finish_leap(trajectory, trajectory->leap, point);
  return point;
}

/* ---- trees ---- */

static double log_sum(double a, double b) {
  double larger = fmax(a, b);
  return larger + log1p(exp(fmin(a, b) - larger));
}

/* From products with sums of momenta to those with paths, which have half of the momenta at both ends: with e and f at the ends
 * of a stretch, e#.(rho - (e + f)/2) = e#.rho - (e#.e + e#.f)/2, and e#.f = f#.e. */
static void shorten(const RpinnTrajectory *trajectory, const RpinnTree *a, const RpinnTree *b,
                    double products[6]) {
  const RpinnPhasePoint *ends[3][2] = {{a->first, b->last}, {a->first, b->first}, {a->last, b->last}};
  for (int k = 0; k < 3; k++) {
    const RpinnPhasePoint *e = ends[k][0], *f = ends[k][1];
    double mixed = trajectory->vectors->dot(trajectory->length, e->p, f->sharp);
    products[2 * k] -= 0.5 * (trajectory->vectors->dot(trajectory->length, e->p, e->sharp) + mixed);
    products[2 * k + 1] -= 0.5 * (trajectory->vectors->dot(trajectory->length, f->p, f->sharp) + mixed);
  }
}

/* rho = rho of both; true when nothing turns back. Of a pair, the path is half of the sum. */
static bool join(const RpinnTrajectory *trajectory, const RpinnTree *a, const RpinnTree *b, double *rho) {
  double products[6];
  bool pair = a->first == a->last && b->first == b->last; /* single points: the three conditions are one */
  RpinnPhaseHalves halves = {a->rho,     b->rho,         a->first->sharp, b->last->sharp,
                             a->last->p, a->last->sharp, b->first->p,     b->first->sharp};
  if (pair)
    trajectory->vectors->join_pair(trajectory->length, a->rho, b->rho, a->first->sharp, b->last->sharp, rho,
                                   products);
  else
    trajectory->vectors->join(trajectory->length, &halves, rho, products);
  if (trajectory->turns_by_path && !pair) shorten(trajectory, a, b, products);
  for (int k = 0; k < (pair ? 2 : 6); k++)
    if (!(products[k] > 0)) return false;
  return true;
}

/* a becomes a and b, b is used up; false when the whole turns back. */
static bool merge(RpinnTrajectory *trajectory, RpinnTree *a, const RpinnTree *b, bool prefer_new,
                  double *rho) {
  double log_weight = log_sum(a->log_weight, b->log_weight);
  bool goes_on = join(trajectory, a, b, rho);
  bool take_new = rpinn_stream_uniform(trajectory->stream) <
                  exp(b->log_weight - (prefer_new ? a->log_weight : log_weight));
  release(trajectory, take_new ? a->proposal : b->proposal);
  release(trajectory, a->last);
  release(trajectory, b->first);
  *a = (RpinnTree){a->first, b->last, take_new ? b->proposal : a->proposal, rho, log_weight};
  return goes_on;
}

/* The end of the leapfrog is a tree by itself. False: it diverges. */
static bool push_leaf(RpinnTrajectory *trajectory) {
  RpinnPhasePoint *point = rpinn_trajectory_land(trajectory);
  point->uses = 3;
  double error = point->energy - trajectory->first_energy;
  trajectory->num_steps++;
  trajectory->num_leaves++;
  trajectory->acceptance_sum += fabs(error) <= trajectory->ignored ? 1 : fmin(1, exp(-error));
  if (fabs(error) > fabs(trajectory->max_error)) trajectory->max_error = error;
  trajectory->trees[trajectory->num_trees++] = (RpinnTree){point, point, point, point->p, -error};
  trajectory->diverging = !(error <= trajectory->max_energy_error);
  return !trajectory->diverging;
}

/* Leaf number n completes as many trees, each of twice the size, as n can be halved: n = 12 those of its pair and of its
 * four. The rho of a stacked tree has its place, but for a single point, whose momentum it is. False: one turns back. */
static bool merge_completed(RpinnTrajectory *trajectory) {
  for (size_t n = trajectory->num_leaves; n % 2 == 0; n /= 2) {
    size_t later = --trajectory->num_trees, earlier = later - 1;
    if (!merge(trajectory, &trajectory->trees[earlier], &trajectory->trees[later], false,
               trajectory->scratch[earlier]))
      return false;
  }
  return true;
}

static void choose_end(RpinnTrajectory *trajectory) {
  RpinnTree *whole = &trajectory->whole;
  if (rpinn_stream_uniform(trajectory->stream) > 0.5) return;
  RpinnPhasePoint *first = whole->first;
  whole->first = whole->last;
  whole->last = first;
  trajectory->step = -trajectory->step;
}

static void begin_half(RpinnTrajectory *trajectory) {
  choose_end(trajectory);
  trajectory->num_trees = trajectory->num_leaves = 0;
  rpinn_trajectory_leap(trajectory, trajectory->whole.last, trajectory->step);
}

/* The half is one tree. False: the trajectory ends with it. */
static bool join_half(RpinnTrajectory *trajectory) {
  bool goes_on = merge(trajectory, &trajectory->whole, &trajectory->trees[0], true, trajectory->rho);
  trajectory->depth++;
  trajectory->reached_max_depth = goes_on && trajectory->depth == trajectory->max_depth;
  return goes_on && !trajectory->reached_max_depth;
}

/* ---- a transition ---- */

void rpinn_trajectory_set_out(RpinnTrajectory *trajectory, double step, double ignored) {
  RpinnPhasePoint *start = trajectory->current;
  if (rpinn_trajectory_is_whole(trajectory)) {
    rpinn_trajectory_set_out_whole(trajectory, step, ignored);
    return;
  }
  rpinn_trajectory_refresh(trajectory);
  start->uses = 3;
  trajectory->whole = (RpinnTree){start, start, start, start->p, 0};
  trajectory->step = step;
  trajectory->ignored = ignored;
  trajectory->first_energy = start->energy;
  trajectory->acceptance_sum = trajectory->max_error = 0;
  trajectory->num_steps = 0;
  trajectory->depth = 0;
  trajectory->diverging = trajectory->reached_max_depth = false;
  begin_half(trajectory);
}

bool rpinn_trajectory_go_on(RpinnTrajectory *trajectory) {
  if (rpinn_trajectory_is_whole(trajectory)) return rpinn_trajectory_go_on_whole(trajectory);
  if (!push_leaf(trajectory) || !merge_completed(trajectory)) return false;
  if (trajectory->num_leaves < (size_t)1 << trajectory->depth) {
    const RpinnTree *latest = &trajectory->trees[trajectory->num_trees - 1];
    rpinn_trajectory_leap(trajectory, latest->last, trajectory->step);
    return true;
  }
  if (!join_half(trajectory)) return false;
  begin_half(trajectory);
  return true;
}

RpinnTransition rpinn_trajectory_arrive(RpinnTrajectory *trajectory) {
  if (rpinn_trajectory_is_whole(trajectory)) return rpinn_trajectory_arrive_whole(trajectory);
  const RpinnPhasePoint *proposal = trajectory->current = trajectory->whole.proposal;
  rpinn_trajectory_clear(trajectory);
  return (RpinnTransition){.energy_error = proposal->energy - trajectory->first_energy,
                           .max_energy_error = trajectory->max_error,
                           .acceptance_rate = trajectory->acceptance_sum / (double)trajectory->num_steps,
                           .tree_depth = trajectory->depth,
                           .num_steps = trajectory->num_steps,
                           .diverging = trajectory->diverging,
                           .reached_max_depth = trajectory->reached_max_depth};
}
