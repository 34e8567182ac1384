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

#include "context.h"
#include "dense_algebra.h"

enum { MAX_TRIALS = 40 };
static const double decrease_factor = 1e-4, curvature_factor = 0.9;
static const double margin = 0.1;       /* of the bracket, kept free at each end */
static const double slow_shrink = 0.66; /* a bracket that keeps more than this is bisected next */
static const double step_back = 0.25;   /* of the way to a step that is not finite */
static const double least_growth = 2, most_growth = 10;

typedef struct Step {
  double length, value, slope;
} Step;

typedef struct Bracket {
  Step low, high;
  bool closed;       /* high is known */
  double last_width; /* before the last trial */
} Bracket;

static RpinnStatus evaluate(RpinnLineSearch *search, double length, Step *step) {
  const RpinnObjective *objective = search->objective;
  size_t N = objective->num_parameters;
  for (size_t j = 0; j < N; j++) search->trial_theta[j] = search->theta[j] + length * search->direction[j];
  RPINN_TRY(objective->evaluate(objective->data, search->trial_theta, &search->trial_value,
                                search->trial_gradient));
  search->num_evaluations++;
  double slope = rpinn_dense_dot(N, search->trial_gradient, search->direction);
  *step = (Step){length, search->trial_value, slope};
  return RPINN_OK;
}

static bool is_finite(const Step *step) {
  return isfinite(step->value) && isfinite(step->slope);
}

static double rounding(const RpinnLineSearch *search) {
  return search->rounding * fabs(search->value);
}

static bool decreases(const RpinnLineSearch *search, const Step *step) {
  return step->value <= search->value + decrease_factor * step->length * search->slope;
}

static bool is_accepted(const RpinnLineSearch *search, const Step *step) {
  if (!is_finite(step) || fabs(step->slope) > -curvature_factor * search->slope) return false;
  if (decreases(search, step) && step->value < search->value) return true;
  return step->value <= search->lowest_value + rounding(search) &&
         step->slope <= (2 * decrease_factor - 1) * search->slope;
}

/* Put the trial in its place: a new end of the bracket. */
static void place(const RpinnLineSearch *search, const Step *trial, Bracket *bracket) {
  bool flat = fabs(trial->value - search->value) <= rounding(search);
  bool too_high =
      !is_finite(trial) || (!flat && (!decreases(search, trial) || trial->value >= bracket->low.value));
  if (too_high) {
    bracket->high = *trial;
    bracket->closed = true;
    return;
  }
  double ahead = bracket->closed ? bracket->high.length - bracket->low.length : 1;
  if (trial->slope * ahead >= 0) { /* it rises towards high: the minimum lies back towards low */
    bracket->high = bracket->low;
    bracket->closed = true;
  }
  bracket->low = *trial;
}

/* The minimiser of the cubic through the values and slopes at a and b; NaN when it has none. */
static double cubic_minimum(const Step *a, const Step *b) {
  double across = b->length - a->length;
  double d1 = a->slope + b->slope - 3 * (b->value - a->value) / across;
  double d2 = copysign(sqrt(d1 * d1 - a->slope * b->slope), across);
  return b->length - across * (b->slope + d2 - d1) / (b->slope - a->slope + 2 * d2);
}

static double next_between(const RpinnLineSearch *search, Bracket *bracket) {
  const Step *low = &bracket->low, *high = &bracket->high;
  double across = high->length - low->length, width = fabs(across);
  bool slow = width > slow_shrink * bracket->last_width;
  bracket->last_width = width;
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

static double next_beyond(const Step *before, const Step *last) {
  double length = cubic_minimum(before, last);
  return fmax(least_growth * last->length, fmin(most_growth * last->length, length));
}

/* The trials are used up: the lowest point seen serves if it is lower at all. */
static RpinnStatus settle(RpinnLineSearch *search, const Step *low, bool *found) {
  *found = low->length > 0 && low->value < search->value;
  if (!*found) return RPINN_OK;
  Step again;
  return evaluate(search, low->length, &again);
}

RpinnStatus rpinn_line_search(RpinnLineSearch *search, bool *found) {
  Bracket bracket = {.low = {0, search->value, search->slope}, .last_width = HUGE_VAL};
  double length = search->first_step;
  search->num_evaluations = 0;
  for (int i = 0; i < MAX_TRIALS; i++) {
    Step trial, before = bracket.low;
    RPINN_TRY(evaluate(search, length, &trial));
    *found = is_accepted(search, &trial);
    if (*found) return RPINN_OK;
    place(search, &trial, &bracket);
    double next = bracket.closed ? next_between(search, &bracket) : next_beyond(&before, &bracket.low);
    if (next == bracket.low.length || (bracket.closed && next == bracket.high.length) || !isfinite(next))
      break;
    length = next;
  }
  return settle(search, &bracket.low, found);
}
