/* Levenberg–Marquardt for E of rpinn/target.h:
 *
 *   r = rows - xi_r [M],  p = P (theta - mu) - xi_p [N],  E = 1/2 |r|^2 + 1/2 |p|^2,  g = J^T r + P p
 *   step d:      (J^T J + A) d = -g,   A = P^2 + lambda D, diagonal        (marquardt_steps.c; marquardt_linearisation.c has D)
 *   predicted:   E's quadratic model falls by 1/2 d.(lambda D d - g)
 *   ratio = (E(theta) - E(theta + d)) / predicted
 *   E falls:     take d,  lambda *= max(1/3, 1 - (2 ratio - 1)^3),  nu = 2
 *   otherwise:   stay,    lambda *= nu,  nu *= 2                          (Nielsen 1999)
 *   d is too short to be measured, though the model promises much: stay, lambda falls
 *
 * Acceleration, where it is asked for: d is corrected by a, for what of E's valley is curved (marquardt_bend.c).
 *
 * Momentum, where it is asked for: with w the way of the iteration before, a step d that lowers E is tried as d + beta w, with beta
 * doubling as long as E falls, and beta for the next time is the last that did. In a curved valley the steps are short and much
 * alike; rows are far cheaper than a linearisation.
 *
 * An iteration goes from phase to phase, and where the target is asked it waits between two of them:
 *
 *   start:    look, measure, linearise, slope, curve, (unit, scale,) note
 *   restored: look, measure, linearise, slope, curve, before the first iteration
 *   step:     solve, in data space data_matrix, data_rows, data_step, or own_step, or conjugate again and again
 *   trial:    try, judge, with acceleration bend, bend_step, bend_judge, then decide
 *   then:     reject, or with momentum reach and compare again and again, arrive
 *   taken:    accept, linearise, slope, curve, note
 *
 * It stops where there is next to nothing to gain: with a prior on all parameters, u the largest D_j / P_j^2 and H = J^T J + P^2,
 * H + lambda D <= (1 + lambda u) H, and so the most that the quadratic model can fall at any damping is
 *
 *   1/2 g.H^-1 g <= (1 + lambda u) 1/2 g.(H + lambda D)^-1 g = -(1 + lambda u) 1/2 g.d
 *
 * Conjugate gradients leave c = -g - (H + lambda D) d, which is orthogonal to d, and H + lambda D >= A:
 *
 *   g.(H + lambda D)^-1 g = -g.d + c.(H + lambda D)^-1 c <= -g.d + c.A^-1 c
 *
 * Where this is a tenth of progress_amount or less in three iterations in a row, no window need pass to see it. */
#include <math.h>
#include <string.h>

#include "marquardt.h"

const double rpinn_marquardt_most_damping = 1e16;
static const double first_growth = 2;
static const double promise_share = 0.1;
enum { MAX_MOMENTUM_TRIES = 3, ENOUGH_SMALL_PROMISES = 3 };
static const double first_momentum = 0.5, least_momentum = 0.05, most_momentum = 8;

/* ---- a trial ---- */

static double predict_decrease(const RpinnMarquardt *self) {
  return 0.5 * (self->damping * self->step_square - self->slope);
}

/* u; infinite where there are parameters without a prior. Outside of the normal equations D = unit * P^2. */
static double find_damping_share(const RpinnMarquardt *self) {
  double share = self->unit;
  if (!self->prior_root || self->has_partial_prior) return HUGE_VAL;
  for (size_t j = 0; self->form == RPINN_MARQUARDT_NORMAL && j < self->squares.num_parameters; j++)
    share = fmax(share, rpinn_marquardt_damping_scale(self, j) / self->prior_square[j]);
  return share;
}

/* 1/2 (c.A^-1 c - g.d), times what damping may hide */
static double bound_decrease(const RpinnMarquardt *self) {
  double left_over = self->form == RPINN_MARQUARDT_NO_MATRIX ? self->equations.square : 0;
  return 0.5 * (left_over - self->slope) * (1 + self->damping * find_damping_share(self));
}

/* True: the optimiser has stopped. */
static bool promises_nothing(RpinnMarquardt *self) {
  double enough = promise_share * self->base.rule.progress_amount;
  if (enough == 0) return false;
  bool is_small = bound_decrease(self) <= enough;
  self->num_promises_small = is_small ? self->num_promises_small + 1 : 0;
  if (self->num_promises_small < ENOUGH_SMALL_PROMISES) return false;
  self->base.stop = RPINN_STOP_DECREASE_SMALL;
  self->phase = RPINN_MARQUARDT_DONE;
  return true;
}

bool rpinn_marquardt_try(RpinnMarquardt *self) {
  self->phase = RPINN_MARQUARDT_JUDGE;
  if (self->is_solved) rpinn_marquardt_measure_step(self);
  self->predicted = self->is_solved ? predict_decrease(self) : 0;
  self->is_solved = self->predicted > 0 && isfinite(self->predicted);
  if (!self->is_solved || promises_nothing(self)) return false;
  self->base.num_evaluations++;
  return rpinn_marquardt_ask_rows(self, &self->trial);
}

bool rpinn_marquardt_judge(RpinnMarquardt *self) {
  if (self->is_solved)
    rpinn_marquardt_find_energy(self, &self->trial);
  else
    self->trial.loss = HUGE_VAL;
  self->base.num_iterations++;
  self->reach = self->momentum;
  self->num_reached = 0;
  bool can_bend = self->has_acceleration && isfinite(self->trial.loss);
  self->phase = can_bend ? RPINN_MARQUARDT_BEND : RPINN_MARQUARDT_DECIDE;
  return false;
}

bool rpinn_marquardt_decide(RpinnMarquardt *self) {
  if (!(self->trial.loss < self->base.loss))
    self->phase = RPINN_MARQUARDT_REJECT;
  else
    self->phase = self->has_momentum ? RPINN_MARQUARDT_REACH : RPINN_MARQUARDT_ACCEPT;
  return false;
}

/* Next to none, also where the unit of D is that of a start at which rows were very steep. */
static double least_damping(const RpinnMarquardt *self) {
  return 1e-16 / fmax(1, self->unit);
}

/* Where the model can promise little it would have stopped before now, were there little to gain. */
static bool still_promises(const RpinnMarquardt *self) {
  return self->base.rule.progress_amount > 0 && isfinite(find_damping_share(self)) &&
         self->num_promises_small == 0;
}

/* The step was too short to be measured, and no longer one has failed here. What a strongly damped step promises grows as damping falls: half of it, or
 * so much less that the next promise exceeds rounding. */
static void relieve(RpinnMarquardt *self, double rounding) {
  self->damping = fmax(least_damping(self), self->damping * self->predicted / (2 * rounding));
}

bool rpinn_marquardt_reject(RpinnMarquardt *self) {
  RpinnOptimizer *base = &self->base;
  double rounding = RPINN_LOSS_ROUNDING * base->loss;
  /* Nothing was promised that could be measured, and nothing came. */
  bool is_lost = self->predicted <= rounding && fabs(self->trial.loss - base->loss) <= rounding;
  bool is_short = is_lost && still_promises(self);
  bool can_relieve = is_short && self->growth == first_growth && self->damping > least_damping(self);
  self->phase = RPINN_MARQUARDT_DONE;
  rpinn_optimizer_note(base, base->loss, base->gradient_norm);
  if (can_relieve) {
    relieve(self, rounding);
    return false;
  }
  self->damping *= self->growth;
  self->growth *= 2;
  if (base->stop != RPINN_STOP_RUNNING) return false;
  base->is_stalled = is_lost ? is_short : self->damping > rpinn_marquardt_most_damping;
  if (base->is_stalled)
    base->stop = RPINN_STOP_DAMPING_LIMIT;
  else if (is_lost)
    base->stop = RPINN_STOP_NO_PROGRESS;
  return false;
}

/* ---- beyond a trial that lowers E ---- */

bool rpinn_marquardt_reach(RpinnMarquardt *self) {
  self->phase = RPINN_MARQUARDT_ARRIVE;
  if (self->num_reached == MAX_MOMENTUM_TRIES || self->reach > most_momentum) return false;
  for (size_t j = 0; j < self->squares.num_parameters; j++)
    self->far.theta[j] = self->here.theta[j] + self->step[j] + self->reach * self->way[j];
  self->base.num_evaluations++;
  self->phase = RPINN_MARQUARDT_COMPARE;
  return rpinn_marquardt_ask_rows(self, &self->far);
}

bool rpinn_marquardt_compare(RpinnMarquardt *self) {
  rpinn_marquardt_find_energy(self, &self->far);
  self->phase = RPINN_MARQUARDT_ARRIVE;
  if (!(self->far.loss < self->trial.loss)) return false;
  RpinnMarquardtPoint lower = self->far;
  self->far = self->trial;
  self->trial = lower;
  self->momentum = self->reach;
  self->reach *= 2;
  self->num_reached++;
  self->phase = RPINN_MARQUARDT_REACH;
  return false;
}

bool rpinn_marquardt_arrive(RpinnMarquardt *self) {
  if (self->num_reached == 0) self->momentum = fmax(least_momentum, 0.5 * self->momentum);
  for (size_t j = 0; j < self->squares.num_parameters; j++)
    self->way[j] = self->trial.theta[j] - self->here.theta[j];
  self->phase = RPINN_MARQUARDT_ACCEPT;
  return false;
}

/* ---- a new point ---- */

static void move(RpinnMarquardt *self) {
  RpinnMarquardtPoint left = self->here;
  self->here = self->trial;
  self->here.theta = left.theta; /* the optimum shows it */
  left.theta = self->trial.theta;
  memcpy(self->here.theta, self->trial.theta, self->squares.num_parameters * sizeof(double));
  self->trial = left;
  self->is_linearised = false;
}

bool rpinn_marquardt_accept(RpinnMarquardt *self) {
  double excess = 2 * (self->base.loss - self->trial.loss) / self->predicted - 1;
  self->damping = fmax(least_damping(self), self->damping * fmax(1.0 / 3, 1 - excess * excess * excess));
  self->growth = first_growth;
  move(self);
  self->after_linearisation = RPINN_MARQUARDT_NOTE;
  self->phase = RPINN_MARQUARDT_LINEARISE;
  return false;
}

bool rpinn_marquardt_note(RpinnMarquardt *self) {
  if (self->form == RPINN_MARQUARDT_NORMAL) rpinn_marquardt_follow_scale(self);
  rpinn_optimizer_note(&self->base, self->here.loss, sqrt(self->gradient_square));
  self->phase = RPINN_MARQUARDT_DONE;
  return false;
}

/* ---- from phase to phase ---- */

typedef bool PhaseFunction(RpinnMarquardt *self);

static PhaseFunction *const phases[] = {
#define RPINN_MARQUARDT_FUNCTION(phase, function) rpinn_marquardt_##function,
    RPINN_MARQUARDT_PHASE_LIST(RPINN_MARQUARDT_FUNCTION)
#undef RPINN_MARQUARDT_FUNCTION
};

/* Until one of them asks, or all is done. */
static bool go_on(RpinnMarquardt *self) {
  bool asks = false;
  while (!asks && self->phase != RPINN_MARQUARDT_DONE) asks = phases[self->phase](self);
  return asks;
}

static bool begin(RpinnOptimizer *optimizer) {
  RpinnMarquardt *self = (RpinnMarquardt *)optimizer;
  self->damping = self->initial_damping;
  self->growth = first_growth;
  self->unit = 1;
  self->num_promises_small = 0;
  self->is_linearised = false;
  self->momentum = first_momentum;
  for (size_t j = 0; j < optimizer->num_parameters; j++) self->scale[j] = 0;
  for (size_t j = 0; self->has_momentum && j < optimizer->num_parameters; j++) self->way[j] = 0;
  optimizer->num_evaluations++;
  self->after_linearisation =
      self->form == RPINN_MARQUARDT_NORMAL ? RPINN_MARQUARDT_NOTE : RPINN_MARQUARDT_UNIT;
  self->phase = RPINN_MARQUARDT_LOOK;
  return go_on(self);
}

/* What a restored state leaves out comes first, from theta. It is not counted: the run that was saved had it. */
static bool iterate(RpinnOptimizer *optimizer, size_t most) {
  (void)most;
  RpinnMarquardt *self = (RpinnMarquardt *)optimizer;
  self->after_linearisation = RPINN_MARQUARDT_SOLVE;
  self->phase = self->is_linearised ? RPINN_MARQUARDT_SOLVE : RPINN_MARQUARDT_LOOK;
  return go_on(self);
}

static bool answered(RpinnOptimizer *optimizer) {
  return go_on((RpinnMarquardt *)optimizer);
}

/* ---- state ---- */

static void transfer(RpinnOptimizer *optimizer, RpinnStateCursor *cursor) {
  RpinnMarquardt *self = (RpinnMarquardt *)optimizer;
  rpinn_state_numbers(cursor, &self->damping, 1);
  rpinn_state_numbers(cursor, &self->growth, 1);
  rpinn_state_numbers(cursor, &self->unit, 1);
  rpinn_state_numbers(cursor, self->scale, optimizer->num_parameters);
  if (optimizer->rule.progress_amount > 0)
    rpinn_state_field(cursor, &self->num_promises_small, sizeof self->num_promises_small);
  if (!self->has_momentum) return;
  rpinn_state_numbers(cursor, &self->momentum, 1);
  rpinn_state_numbers(cursor, self->way, optimizer->num_parameters);
}

static bool restored(RpinnOptimizer *optimizer) {
  RpinnMarquardt *self = (RpinnMarquardt *)optimizer;
  self->is_linearised = false;
  return self->damping > 0 && self->growth > 0 && self->unit > 0 &&
         (!self->has_momentum || self->momentum > 0);
}

const RpinnOptimizerMethod rpinn_marquardt_method = {.code = 3,
                                                     .begin = begin,
                                                     .iterate = iterate,
                                                     .answered = answered,
                                                     .transfer = transfer,
                                                     .restored = restored};
