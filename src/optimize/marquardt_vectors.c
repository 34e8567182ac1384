/* The loops of Levenberg–Marquardt over all parameters, each a single pass over memory: where rows are few, they would take as long as the
 * products. Two numbers at a time, which any processor does; a sum has LANES lanes that are added in one order. */
#include <string.h>

#include "marquardt.h"

enum { LANES = 8, PAIRS = LANES / 2 };
typedef double Pair __attribute__((vector_size(2 * sizeof(double))));

#define INLINE static inline __attribute__((always_inline))

/* Where a pair, or a single number, stands, and which lanes of sums it is added to. */
typedef struct Spot {
  size_t at, count, lane;
} Spot;

/* Zeros where there is no x. */
INLINE Pair take(const double *x, Spot spot) {
  Pair result = {0, 0};
  if (x) memcpy(&result, x + spot.at, spot.count * sizeof(double));
  return result;
}

INLINE void put(double *x, Spot spot, Pair value) {
  memcpy(x + spot.at, &value, spot.count * sizeof(double));
}

INLINE double add_up(const Pair sums[PAIRS]) {
  const Pair sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
  return sum[0] + sum[1];
}

/* each(argument, spot) for all pairs of N numbers. Counts and lanes are constants, but for what is left at the end. */
#define ALL_PAIRS(N, each, argument)                                                                         \
  do {                                                                                                       \
    size_t at = 0;                                                                                           \
    for (; at + LANES <= (N); at += LANES) {                                                                 \
      each(argument, (Spot){at, 2, 0});                                                                      \
      each(argument, (Spot){at + 2, 2, 1});                                                                  \
      each(argument, (Spot){at + 4, 2, 2});                                                                  \
      each(argument, (Spot){at + 6, 2, 3});                                                                  \
    }                                                                                                        \
    for (; at < (N); at++) each(argument, (Spot){at, 1, 0});                                                 \
  } while (0)

/* ---- the prior's rows ---- */

typedef struct PriorRows {
  const double *root, *mean, *offsets, *theta;
  bool is_partial;
  double *rows;
  Pair sums[PAIRS];
} PriorRows;

INLINE void find_rows(PriorRows *of, Spot spot) {
  const Pair root = take(of->root, spot);
  Pair row = root * (take(of->theta, spot) - take(of->mean, spot)) - take(of->offsets, spot);
  /* Without a prior there is no row, and its offset counts for nothing. */
  for (size_t k = 0; of->is_partial && k < 2; k++)
    if (root[k] == 0) row[k] = 0;
  put(of->rows, spot, row);
  of->sums[spot.lane] += row * row;
}

/* What is mostly so as constants: there is no mean, all parameters have a prior. */
double rpinn_marquardt_find_prior_rows(const RpinnMarquardt *self, RpinnMarquardtPoint *point) {
  const size_t N = self->squares.num_parameters;
  const double *mean = self->squares.prior_mean;
  PriorRows of = {.root = self->prior_root,
                  .offsets = self->offsets ? self->offsets + self->squares.num_rows : NULL,
                  .theta = point->theta,
                  .rows = point->prior_rows};
  if (mean || self->has_partial_prior) {
    of.mean = mean;
    of.is_partial = self->has_partial_prior;
    ALL_PAIRS(N, find_rows, &of);
  } else {
    ALL_PAIRS(N, find_rows, &of);
  }
  return add_up(of.sums);
}

/* ---- P p, the pull of the prior ---- */

typedef struct Pull {
  const double *root, *rows; /* root NULL: there is no prior, and no pull */
  const double *inverse, *product;
  double *result;
  Pair sums[PAIRS];
} Pull;

INLINE Pair pull_of(const Pull *of, Spot spot) {
  return take(of->root, spot) * take(of->rows, spot);
}

INLINE void scale_pull(Pull *of, Spot spot) {
  put(of->result, spot, take(of->inverse, spot) * pull_of(of, spot));
}

INLINE void step_back(Pull *of, Spot spot) {
  put(of->result, spot, -take(of->inverse, spot) * (pull_of(of, spot) + take(of->product, spot)));
}

INLINE void add_pull(Pull *of, Spot spot) {
  const Pair sum = take(of->result, spot) + pull_of(of, spot);
  put(of->result, spot, sum);
  of->sums[spot.lane] += sum * sum;
}

static Pull pull_here(const RpinnMarquardt *self, double *result) {
  return (Pull){.root = self->prior_root,
                .rows = self->here.prior_rows,
                .inverse = self->inverse,
                .product = self->product,
                .result = result};
}

void rpinn_marquardt_scale_pull(RpinnMarquardt *self) {
  Pull of = pull_here(self, self->step);
  ALL_PAIRS(self->squares.num_parameters, scale_pull, &of);
}

void rpinn_marquardt_step_from_rows(RpinnMarquardt *self) {
  Pull of = pull_here(self, self->step);
  ALL_PAIRS(self->squares.num_parameters, step_back, &of);
}

double rpinn_marquardt_add_pull(RpinnMarquardt *self) {
  Pull of = pull_here(self, self->gradient);
  ALL_PAIRS(self->squares.num_parameters, add_pull, &of);
  return add_up(of.sums);
}

/* ---- a step and its correction ---- */

typedef struct Move {
  const double *scale, *inverse, *gradient, *from;
  double *step, *to;
  Pair slopes[PAIRS], squares[PAIRS];
} Move;

/* D_j x_j^2. Where no row has depended on a parameter so far D_j is 0, but then x_j is as well. */
INLINE Pair damped(const Move *of, Pair x, Spot spot) {
  return take(of->scale, spot) * x * x;
}

INLINE void try_step(Move *of, Spot spot) {
  const Pair step = take(of->step, spot);
  put(of->to, spot, take(of->from, spot) + step);
  of->slopes[spot.lane] += take(of->gradient, spot) * step;
  of->squares[spot.lane] += damped(of, step, spot);
}

INLINE void bend_step(Move *of, Spot spot) {
  Pair bend = take(of->step, spot);
  if (of->inverse) bend *= take(of->inverse, spot);
  put(of->step, spot, bend);
  put(of->to, spot, take(of->from, spot) - bend);
  of->squares[spot.lane] += damped(of, bend, spot);
}

void rpinn_marquardt_measure_step(RpinnMarquardt *self) {
  Move of = {.scale = self->scale,
             .gradient = self->gradient,
             .from = self->here.theta,
             .step = self->step,
             .to = self->trial.theta};
  ALL_PAIRS(self->squares.num_parameters, try_step, &of);
  self->slope = add_up(of.slopes);
  self->step_square = add_up(of.squares);
}

double rpinn_marquardt_measure_bend(RpinnMarquardt *self) {
  Move of = {.scale = self->scale,
             .inverse = self->form == RPINN_MARQUARDT_NORMAL ? NULL : self->inverse,
             .from = self->trial.theta,
             .step = self->product,
             .to = self->far.theta};
  ALL_PAIRS(self->squares.num_parameters, bend_step, &of);
  return add_up(of.squares);
}
