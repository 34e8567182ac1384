/* Trees of NUTS against the recursion that they are defined by: the same random numbers in the same order lead to the same
 * draws. Chains keep no recursion, for they ask for one point at a time. */
#include "check.h"

#include "nuts_chain.h"

enum { N = 3, DRAWS = 400 };

/* A bent ridge: -2 log p = 4 (x_1 - x_0^2)^2 + x_0^2 + x_2^2/9. */
static RpinnStatus ridge(void *data, const double *x, double *log_density, double *gradient) {
  double across = x[1] - x[0] * x[0];
  (void)data;
  *log_density = -2 * across * across - 0.5 * x[0] * x[0] - 0.5 * x[2] * x[2] / 9;
  gradient[0] = 8 * across * x[0] - x[0];
  gradient[1] = -4 * across;
  gradient[2] = -x[2] / 9;
  return RPINN_OK;
}

/* ---- the recursion, for the unit metric ---- */

typedef struct Point {
  double q[N], p[N], g[N], energy;
} Point;

typedef struct Branch {
  Point first, last, proposal;
  double rho[N], log_weight;
  bool is_valid;
} Branch;

typedef struct Walk {
  RpinnStream stream;
  double step, first_energy;
  size_t num_steps;
} Walk;

static void weigh(Point *point) {
  double log_density, kinetic = 0;
  ridge(NULL, point->q, &log_density, point->g);
  for (int j = 0; j < N; j++) kinetic += 0.5 * point->p[j] * point->p[j];
  point->energy = kinetic - log_density;
}

static Point leapfrog(const Point *from, double step) {
  Point to = *from;
  for (int j = 0; j < N; j++) {
    to.p[j] += 0.5 * step * from->g[j];
    to.q[j] += step * to.p[j];
  }
  weigh(&to);
  for (int j = 0; j < N; j++) to.p[j] += 0.5 * step * to.g[j];
  weigh(&to);
  return to;
}

static double end_share; /* of the momenta at the ends that is left out of rho */

/* (a, b, rho) is good when a.rho > 0 and b.rho > 0. */
static bool is_good(const Point *a, const Point *b, const double *rho, const double *more) {
  double with_a = 0, with_b = 0;
  for (int j = 0; j < N; j++) {
    double path = rho[j] + more[j] - end_share * (a->p[j] + b->p[j]);
    with_a += a->p[j] * path;
    with_b += b->p[j] * path;
  }
  return with_a > 0 && with_b > 0;
}

static Branch merge(Walk *walk, const Branch *a, const Branch *b, bool prefers_new) {
  Branch both = {.first = a->first, .last = b->last};
  both.log_weight = log(exp(a->log_weight) + exp(b->log_weight));
  both.is_valid = is_good(&a->first, &b->last, a->rho, b->rho) &&
                  is_good(&a->first, &b->first, a->rho, b->first.p) &&
                  is_good(&a->last, &b->last, b->rho, a->last.p);
  double share = exp(b->log_weight - (prefers_new ? a->log_weight : both.log_weight));
  both.proposal = rpinn_stream_uniform(&walk->stream) < share ? b->proposal : a->proposal;
  for (int j = 0; j < N; j++) both.rho[j] = a->rho[j] + b->rho[j];
  return both;
}

static Branch build(Walk *walk, unsigned depth, const Point *from) {
  if (depth == 0) {
    Branch leaf = {.first = leapfrog(from, walk->step), .is_valid = true};
    walk->num_steps++;
    leaf.last = leaf.proposal = leaf.first;
    memcpy(leaf.rho, leaf.first.p, sizeof leaf.rho);
    leaf.log_weight = walk->first_energy - leaf.first.energy;
    return leaf;
  }
  Branch earlier = build(walk, depth - 1, from);
  if (!earlier.is_valid) return earlier;
  Branch later = build(walk, depth - 1, &earlier.last);
  return later.is_valid ? merge(walk, &earlier, &later, false) : later;
}

/* From start, with its momentum; *depth: the doublings that were kept. */
static Point recurse(Walk *walk, const Point *start, unsigned *depth) {
  Branch whole = {.first = *start, .last = *start, .proposal = *start, .is_valid = true};
  memcpy(whole.rho, start->p, sizeof whole.rho);
  walk->first_energy = start->energy;
  for (*depth = 0; whole.is_valid;) {
    if (rpinn_stream_uniform(&walk->stream) <= 0.5) {
      Point first = whole.first;
      whole.first = whole.last;
      whole.last = first;
      walk->step = -walk->step;
    }
    Branch half = build(walk, *depth, &whole.last);
    if (!half.is_valid) break;
    ++*depth;
    whole = merge(walk, &whole, &half, true);
  }
  return whole.proposal;
}

/* ---- */

static void check_trees(RpinnTurnRule turn) {
  RpinnContext *context = rpinn_context_create();
  RpinnLogDensity target = {.num_parameters = N, .evaluate = ridge};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnNuts *nuts;
  RpinnNutsDraw draw;
  size_t num_deep = 0;
  options.num_warmup = 0;
  options.num_draws = DRAWS;
  options.metric = RPINN_METRIC_UNIT;
  options.first_step = 0.1;
  options.turn = turn;
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 61, 0, (double[]){0.5, 0.1, 1}), RPINN_OK);
  while (!rpinn_nuts_finished(nuts)) {
    Walk walk = {.stream = nuts->stream, .step = options.first_step};
    Point start;
    unsigned depth;
    memcpy(start.q, nuts->trajectory.current->q, sizeof start.q);
    rpinn_stream_normals(&walk.stream, N, start.p);
    weigh(&start);
    Point expected = recurse(&walk, &start, &depth);
    assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
    assert_int_equal(draw.num_steps, walk.num_steps);
    assert_int_equal(draw.tree_depth, depth);
    for (int j = 0; j < N; j++) check_close(draw.parameters[j], expected.q[j], 1e-9);
    num_deep += depth >= 4;
  }
  check_true(num_deep > DRAWS / 4, "%zu of %d trees are deep", num_deep, DRAWS);
  rpinn_nuts_destroy(nuts);
  rpinn_context_destroy(context);
}

static void trees_are_those_of_the_recursion(void **state) {
  (void)state;
  end_share = 0;
  check_trees(RPINN_TURN_SUM);
}

static void trees_by_the_path_are_those_of_the_recursion(void **state) {
  (void)state;
  end_share = 0.5;
  check_trees(RPINN_TURN_PATH);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(trees_are_those_of_the_recursion),
                                     cmocka_unit_test(trees_by_the_path_are_those_of_the_recursion)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
