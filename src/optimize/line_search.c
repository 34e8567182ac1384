/* Line search for the strong Wolfe conditions (Nocedal & Wright 2006, algorithms 3.5 and 3.6, in one loop):
 *
 *   decrease   phi(a) <= phi(0) + c1 a phi'(0)      c1 = 1e-4
 *   curvature  |phi'(a)| <= c2 |phi'(0)|            c2 = 0.9, loose, as suits quasi-Newton directions
 *
 * The loop keeps the best step `low` that satisfies the decrease, and once it is known a step `high` such
 * that a good step lies between the two; until then the steps grow. Between them the next step minimises the
 * cubic through both values and slopes, kept away from the ends, with a bisection when the bracket shrinks
 * slowly. A step whose value or slope is not finite becomes `high` and is stepped back from.
 *
 * Near the minimum the values differ by rounding only, long before the slopes do. There the decrease is
 * replaced by the approximate Wolfe condition (Hager & Zhang 2005), which asks the same of a quadratic but of
 * slopes alone,
 *
 *   (2 c1 - 1) phi'(0) >= phi'(a)   and   phi(a) <= lowest loss of the run, up to rounding,
 *
 * and the slopes decide which end of the bracket moves. It takes L-BFGS from half of the digits to nearly
 * all, in float as in double: the caller says what rounding is. */
#include "line_search.h"

#include <math.h>

#include "dense_algebra.h"

enum { MAX_TRIALS = 40 };
static const double decrease_factor = 1e-4, curvature_factor = 0.9;
static const double margin = 0.1;       /* of the bracket, kept free at each end */
static const double slow_shrink = 0.66; /* a bracket that keeps more than this is bisected next */
static const double step_back = 0.25;   /* of the way to a step that is not finite */
static const double least_growth = 2, most_growth = 10;

static void try_step(RpinnLineSearch *search, double length) {
  search->length = length;
  for (size_t j = 0; j < search->num_parameters; j++)
    search->trial_theta[j] = search->theta[j] + length * search->direction[j];
}

static bool is_finite(const RpinnLineStep *step) {
  return isfinite(step->value) && isfinite(step->slope);
}

static double rounding(const RpinnLineSearch *search) {
  return search->rounding * fabs(search->value);
}

static bool decreases(const RpinnLineSearch *search, const RpinnLineStep *step) {
  return step->value <= search->value + decrease_factor * step->length * search->slope;
}

static bool is_accepted(const RpinnLineSearch *search, const RpinnLineStep *step) {
  if (!is_finite(step) || fabs(step->slope) > -curvature_factor * search->slope) return false;
  if (decreases(search, step) && step->value < search->value) return true;
  return step->value <= search->lowest_value + rounding(search) &&
         step->slope <= (2 * decrease_factor - 1) * search->slope;
}

/* Put the trial in its place: a new end of the bracket. */
static void place(RpinnLineSearch *search, const RpinnLineStep *trial) {
  bool flat = fabs(trial->value - search->value) <= rounding(search);
  bool too_high =
      !is_finite(trial) || (!flat && (!decreases(search, trial) || trial->value >= search->low.value));
  if (too_high) {
    search->high = *trial;
    search->is_closed = true;
    return;
  }
  double ahead = search->is_closed ? search->high.length - search->low.length : 1;
  if (trial->slope * ahead >= 0) { /* it rises towards high: the minimum lies back towards low */
    search->high = search->low;
    search->is_closed = true;
  }
  search->low = *trial;
}

/* The minimiser of the cubic through the values and slopes at a and b; NaN when it has none. */
static double cubic_minimum(const RpinnLineStep *a, const RpinnLineStep *b) {
  double across = b->length - a->length;
  double d1 = a->slope + b->slope - 3 * (b->value - a->value) / across;
  double d2 = copysign(sqrt(d1 * d1 - a->slope * b->slope), across);
  return b->length - across * (b->slope + d2 - d1) / (b->slope - a->slope + 2 * d2);
}

static double next_between(RpinnLineSearch *search) {
  const RpinnLineStep *low = &search->low, *high = &search->high;
  double across = high->length - low->length, width = fabs(across);
  bool slow = width > slow_shrink * search->last_width;
  search->last_width = width;
  if (!is_finite(high)) return low->length + step_back * across;
  double share; /* of the way from low to high */
  if (slow)
    share = 0.5;
  else if (fabs(high->value - low->value) <= rounding(search))
    share = low->slope / (low->slope - high->slope);
  else
    share = (cubic_minimum(low, high) - low->length) / across;
  if (!isfinite(share)) share = 0.5;
  return low->length + fmin(fmax(share, margin), 1 - margin) * across;
}

static double next_beyond(const RpinnLineStep *before, const RpinnLineStep *last) {
  double length = cubic_minimum(before, last);
  return fmax(least_growth * last->length, fmin(most_growth * last->length, length));
}

/* The trials are used up: the lowest point seen serves if it is lower at all. */
static bool settle(RpinnLineSearch *search) {
  search->is_settling = search->found = search->low.length > 0 && search->low.value < search->value;
  if (search->found) try_step(search, search->low.length);
  return search->found;
}

void rpinn_line_search_begin(RpinnLineSearch *search) {
  search->low = (RpinnLineStep){0, search->value, search->slope};
  search->last_width = HUGE_VAL;
  search->is_closed = search->is_settling = search->found = false;
  search->num_evaluations = 0;
  try_step(search, search->first_step);
}

bool rpinn_line_search_answered(RpinnLineSearch *search) {
  search->num_evaluations++;
  if (search->is_settling) return false;
  double slope = rpinn_dense_dot(search->num_parameters, search->trial_gradient, search->direction);
  RpinnLineStep trial = {search->length, search->trial_value, slope}, before = search->low;
  search->found = is_accepted(search, &trial);
  if (search->found) return false;
  place(search, &trial);
  double next = search->is_closed ? next_between(search) : next_beyond(&before, &search->low);
  bool is_an_end = next == search->low.length || (search->is_closed && next == search->high.length);
  if (is_an_end || !isfinite(next) || search->num_evaluations == MAX_TRIALS) return settle(search);
  try_step(search, next);
  return true;
}
