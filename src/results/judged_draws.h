/* Some draws of a run, evenly chosen, as the minimisers that they are: each with its offsets and its prior. */
#ifndef RPINN_RESULTS_JUDGED_DRAWS_H
#define RPINN_RESULTS_JUDGED_DRAWS_H

#include "double_target.h"
#include "posterior.h"
#include "rpinn/run.h"

enum { RPINN_MAX_JUDGED_DRAWS = 16 };

typedef struct RpinnJudgedDraws {
  RpinnContext *context;
  const RpinnRun *run;
  RpinnPosterior *posterior;
  RpinnDoubleTarget target;
  size_t count;
  uint64_t streams[RPINN_MAX_JUDGED_DRAWS]; /* of the offsets */
  double *theta;                            /* [count][N + K] with the noise of each where it is not known */
  double *offsets;           /* [M + N] of the draw that was set up; zero for methods without */
  double *root, *mean;       /* [N] its prior: 1/s, and where it is centred: offsets included */
  RpinnLeastSquares squares; /* with that prior, and rows without offsets */
} RpinnJudgedDraws;

/* The draws of method laplace are one point, that of the linearisation. Close it on every path. */
RpinnStatus rpinn_judged_draws_open(RpinnContext *context, const RpinnRun *run, RpinnJudgedDraws *draws);
void rpinn_judged_draws_close(RpinnJudgedDraws *draws);
/* Set up draw k, and return its theta [N], then its noise [K], which the posterior is at from then on. */
const double *rpinn_judged_draw(RpinnJudgedDraws *draws, size_t k);

#endif
