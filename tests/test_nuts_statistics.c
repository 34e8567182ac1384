/* What NUTS says of its transitions, against leapfrogs made by hand from the same momentum: errors of energy with their
 * sign, acceptance, divergence, depth. */
#include "alike_normals.h"
#include "check.h"

#include "nuts_chain.h"

typedef RpinnStatus (*Density)(void *data, const double *x, double *log_density, double *gradient);

enum { MOST = 128, FARTHEST = 64 };

static RpinnNutsOptions make_options(size_t num_draws, double step, unsigned max_depth) {
  RpinnNutsOptions options = rpinn_nuts_default_options();
  options.num_warmup = 0;
  options.num_draws = num_draws;
  options.first_step = step;
  options.max_depth = max_depth;
  options.metric = RPINN_METRIC_UNIT;
  return options;
}

static RpinnStatus quartic(void *data, const double *x, double *log_density, double *gradient) {
  (void)data;
  *log_density = -0.25 * pow(x[0], 4) - 0.5 * x[1] * x[1];
  if (gradient) {
    gradient[0] = -pow(x[0], 3);
    gradient[1] = -x[1];
  }
  return RPINN_OK;
}

/* ---- replay ---- */

/* The points k leapfrogs away from the start, on both sides: their energies less that of the start, and places. */
typedef struct Replay {
  double errors[2 * FARTHEST + 1], x[2 * FARTHEST + 1];
} Replay;

static void replay(Density density, double step, const double *q0, const double *p0, Replay *made) {
  double first = 0;
  for (int side = -1; side <= 1; side += 2) {
    double q[2] = {q0[0], q0[1]}, p[2] = {p0[0], p0[1]}, value, g[2], e = side * step;
    density(NULL, q, &value, g);
    first = 0.5 * (p[0] * p[0] + p[1] * p[1]) - value;
    for (int k = 1; k <= FARTHEST; k++) {
      for (int i = 0; i < 2; i++) p[i] += 0.5 * e * g[i];
      for (int i = 0; i < 2; i++) q[i] += e * p[i];
      density(NULL, q, &value, g);
      for (int i = 0; i < 2; i++) p[i] += 0.5 * e * g[i];
      made->errors[FARTHEST + side * k] = 0.5 * (p[0] * p[0] + p[1] * p[1]) - value - first;
      made->x[FARTHEST + side * k] = q[0];
    }
  }
  made->errors[FARTHEST] = 0;
  made->x[FARTHEST] = q0[0];
}

/* Is there a stretch of num_steps + 1 points around the start with these statistics? */
static bool explains(const Replay *made, const RpinnNutsDraw *draw) {
  for (int before = 0; before <= (int)draw->num_steps; before++) {
    double largest = 0, acceptance = 0;
    for (int k = -before; k <= (int)draw->num_steps - before; k++) {
      double error = made->errors[FARTHEST + k];
      if (fabs(error) > fabs(largest)) largest = error;
      if (k) acceptance += fmin(1, exp(-error)) / (double)draw->num_steps;
    }
    if (fabs(largest - draw->max_energy_error) < 1e-9 && fabs(acceptance - draw->acceptance_rate) < 1e-9)
      return true;
  }
  return false;
}

/* The error of energy of a draw is that of its own point of the trajectory. */
static void statistics_are_those_of_the_trajectory(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnNutsOptions options = make_options(300, 0.35, 5);
  RpinnLogDensity target = {.num_parameters = 2, .evaluate = quartic};
  RpinnNuts *nuts;
  double q[2] = {0.5, -0.3}, before = 0, above = 0;
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, q), RPINN_OK);
  while (!rpinn_nuts_finished(nuts)) {
    RpinnNutsDraw draw;
    Replay made;
    double p[MOST];
    RpinnStream stream = nuts->stream; /* a copy: the momentum of the next transition */
    rpinn_nuts_metric_draw(&nuts->metric, &stream, p);
    replay(quartic, 0.35, q, p, &made);
    assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
    bool found = false;
    for (int k = 0; k <= 2 * FARTHEST; k++)
      found |= fabs(made.x[k] - draw.parameters[0]) < 1e-9 && fabs(made.errors[k] - draw.energy_error) < 1e-9;
    check_true(found, "no point of the trajectory has an error of energy of %g", draw.energy_error);
    check_true(explains(&made, &draw), "largest error %g, acceptance %g", draw.max_energy_error,
               draw.acceptance_rate);
    double start = 0.5 * (p[0] * p[0] + p[1] * p[1]) + 0.25 * pow(q[0], 4) + 0.5 * q[1] * q[1];
    check_close(draw.energy, start + draw.energy_error, 1e-9);
    memcpy(q, draw.parameters, sizeof q);
    before += draw.max_energy_error < 0;
    above += draw.max_energy_error > 0;
  }
  check_true(before > 20 && above > 20, "errors have both signs: %g and %g times", before, above);
  rpinn_nuts_destroy(nuts);
  rpinn_context_destroy(context);
}

/* ---- far away ---- */

/* From far out in the tail energy is lost by thousands at the first leapfrog: an error, but no divergence. */
static void lost_energy_is_no_divergence(void **state) {
  (void)state;
  RpinnContext *context = rpinn_context_create();
  RpinnNutsOptions options = make_options(1, 0.05, 4);
  RpinnLogDensity target = {.num_parameters = 2, .evaluate = quartic};
  RpinnNuts *nuts;
  RpinnNutsDraw draw;
  const double start[2] = {20, 0}; /* log density -40000 */
  assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
  assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, start), RPINN_OK);
  assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
  assert_false(draw.diverging);
  check_true(draw.energy_error < -2000 && draw.max_energy_error <= draw.energy_error, "error %g, largest %g",
             draw.energy_error, draw.max_energy_error);
  check_true(fabs(draw.energy - draw.energy_error - 40000) < 30, "the start had %g",
             draw.energy - draw.energy_error);
  check_close(draw.acceptance_rate, 1, 0);
  rpinn_nuts_destroy(nuts);
  rpinn_context_destroy(context);
}

/* ---- depth ---- */

/* A hundred springs in phase turn back after half a period of 2 pi. Eight points with a step of 0.6 span 4.2 of it, and
 * four of them 1.8: the last doubling turns. With 0.2 they span 1.4, and the depth alone ends them. */
static void turning_is_not_the_largest_depth(void **state) {
  (void)state;
  static const double steps[] = {0.6, 0.2};
  for (int k = 0; k < 2; k++) {
    RpinnContext *context = rpinn_context_create();
    RpinnNutsOptions options = make_options(40, steps[k], 3);
    RpinnLogDensity target = {.num_parameters = ALIKE, .evaluate = alike};
    RpinnNuts *nuts;
    double theta[ALIKE];
    RpinnStream stream = rpinn_stream(9, RPINN_PURPOSE_CHECK, 0, 0);
    rpinn_stream_normals(&stream, ALIKE, theta);
    assert_int_equal(rpinn_nuts_create(context, &target, &options, &nuts), RPINN_OK);
    assert_int_equal(rpinn_nuts_start(context, nuts, 1, 0, theta), RPINN_OK);
    size_t num_full = 0, num_reached = 0;
    while (!rpinn_nuts_finished(nuts)) {
      RpinnNutsDraw draw;
      assert_int_equal(rpinn_nuts_advance(context, nuts, &draw), RPINN_OK);
      num_full += draw.tree_depth == 3 && draw.num_steps == 7;
      num_reached += draw.reached_max_depth;
    }
    check_true(num_full > 30, "step %g: %zu trajectories have eight points", steps[k], num_full);
    if (k)
      check_true(num_reached > 30, "%zu trajectories reached the largest depth", num_reached);
    else
      check_true(num_reached == 0, "%zu trajectories that turned back reached the largest depth",
                 num_reached);
    rpinn_nuts_destroy(nuts);
    rpinn_context_destroy(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(statistics_are_those_of_the_trajectory),
                                     cmocka_unit_test(lost_energy_is_no_divergence),
                                     cmocka_unit_test(turning_is_not_the_largest_depth)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
