/* The figures of `rpinn bench`, as they are measured (speed.c) and shown (speed_table.c). */
#ifndef RPINN_BENCH_SPEED_H
#define RPINN_BENCH_SPEED_H

#include <stdbool.h>
#include <stddef.h>

#include "bench_kind.h"
#include "squares_speed.h"
#include "text.h"

enum { MAX_SHAPES = 3, MAX_REPETITIONS = 1000, DEFAULT_REPETITIONS = 25 };

/* One line of the table: an Adam iteration. */
typedef struct Case {
  const char *name, *problem, *setting;
  bool reference_term_only; /* count the work of the reference term alone: a boundary of two points is not
                               worth it */
  double bar, aim;          /* of the share of the peak */
  int num_shapes;
  int shapes[MAX_SHAPES][3]; /* m, n, k of the bare products; the fastest counts */
} Case;

enum { NUM_CASES = 3, NUTS_CASE = 0, JACOBIAN_CASE = 2, GRAM_CASE = 2 };
extern const Case rpinn_speed_cases[NUM_CASES];

enum { MAX_LONG_REPETITIONS = 7 }; /* of what takes a fifth of a second and more: SVGD, J J^T */

typedef struct Line {
  double work;                           /* floating-point operations of an iteration */
  double share[MAX_REPETITIONS];         /* of the peak; one per repetition */
  double seconds[MAX_REPETITIONS];       /* per iteration */
  double product_share[MAX_REPETITIONS]; /* of bare sgemm */
  double product_rate[MAX_REPETITIONS];
} Line;

typedef struct RpinnSpeed {
  RpinnBench base;
  size_t repetitions;
  double peak[MAX_REPETITIONS], double_peak[MAX_REPETITIONS]; /* operations per second of a core */
  double blas_share;                                          /* of the peak, by a large product */
  Line lines[NUM_CASES];
  double pair[MAX_REPETITIONS];
  double jacobian[MAX_REPETITIONS];
  double gram_work;
  double gram[MAX_LONG_REPETITIONS], gram_seconds[MAX_LONG_REPETITIONS]; /* share of the peak */
  size_t num_threads;                                                    /* one for each processor */
  double crowd[MAX_LONG_REPETITIONS];
  double predict_work;
  double predict[MAX_LONG_REPETITIONS],
      predict_seconds[MAX_LONG_REPETITIONS]; /* share of the peak; per draw */
  double svgd[MAX_LONG_REPETITIONS], svgd_seconds[MAX_LONG_REPETITIONS];
  RpinnSquaresCost squares[MAX_LONG_REPETITIONS];
  double nuts[MAX_REPETITIONS], nuts_seconds[MAX_REPETITIONS]; /* in iterations; per leapfrog */
  char cpu[128];
  RpinnText advice; /* of the backend; empty: none */
} RpinnSpeed;

double rpinn_speed_worst(const RpinnBench *bench);
char *rpinn_speed_text(const RpinnBench *bench);
char *rpinn_speed_json(const RpinnBench *bench);

#endif
