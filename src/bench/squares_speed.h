/* The cost of what works on squares around the products J D J^T, on darcy, one thread in float:
 *
 *   LM        Levenberg–Marquardt from a point to its first trial: rows, Jacobian, Gram matrix, factor and trial / J D J^T
 *   Laplace   the approximation at a point: the same matrix, its factor and its inverse, log evidence, each row left out / J D J^T
 *   draw      one of its draws with the weight of that / a gradient */
#ifndef RPINN_BENCH_SQUARES_SPEED_H
#define RPINN_BENCH_SQUARES_SPEED_H

#include "rpinn/status.h"

typedef struct RpinnSquaresSpeed RpinnSquaresSpeed;

typedef struct RpinnSquaresCost {
  double iteration, laplace, draw;                         /* as above */
  double iteration_seconds, laplace_seconds, draw_seconds; /* of the thread's own clock */
} RpinnSquaresCost;

RpinnStatus rpinn_squares_speed_create(RpinnContext *context, RpinnSquaresSpeed **speed);
void rpinn_squares_speed_destroy(RpinnSquaresSpeed *speed);
/* One measurement of each, with those of J D J^T and of gradients before and after it. */
RpinnStatus rpinn_squares_speed_measure(RpinnContext *context, RpinnSquaresSpeed *speed,
                                        RpinnSquaresCost *cost);

#endif
