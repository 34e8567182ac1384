#include "squares_speed.h"

#include <stdlib.h>
#include <time.h>

#include "context.h"
#include "laplace.h"
#include "rpinn/optimize.h"
#include "rpinn/posterior.h"

struct RpinnSquaresSpeed {
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RpinnPosteriorMember member;
  RpinnLeastSquares squares;
  RpinnObjective objective;
  RpinnOptimizer *optimizer;
  double *theta, *gradient; /* [N] */
  double *rows, *gram;      /* [M], [M][M] */
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Another point, where no Jacobian is known. */
static const double *move(RpinnSquaresSpeed *speed) {
  speed->theta[0] += 1e-3;
  return speed->theta;
}

static RpinnStatus time_gram(RpinnSquaresSpeed *speed, double *seconds) {
  const double *theta = move(speed), start = now();
  RPINN_TRY(rpinn_least_squares_gram(&speed->squares, theta, NULL, speed->rows, speed->gram));
  *seconds = now() - start;
  return RPINN_OK;
}

static RpinnStatus time_gradient(RpinnSquaresSpeed *speed, double *seconds) {
  enum { GRADIENTS = 10 };
  double energy, start = now();
  for (int i = 0; i < GRADIENTS; i++)
    RPINN_TRY(speed->objective.evaluate(speed->objective.data, speed->theta, &energy, speed->gradient));
  *seconds = (now() - start) / GRADIENTS;
  return RPINN_OK;
}

/* The start is a part of it: that is where the rows are linearised. */
static RpinnStatus time_iteration(RpinnContext *context, RpinnSquaresSpeed *speed, double *seconds) {
  const double *theta = move(speed), start = now();
  RPINN_TRY(rpinn_optimizer_start(context, speed->optimizer, theta));
  RPINN_TRY(rpinn_optimizer_advance(context, speed->optimizer, 1));
  *seconds = now() - start;
  return RPINN_OK;
}

/* The approximation, and of a few of its draws the time of each. */
static RpinnStatus time_laplace(RpinnContext *context, RpinnSquaresSpeed *speed, RpinnSquaresCost *cost) {
  enum { DRAWS = 4 };
  const double *theta = move(speed), start = now();
  RpinnLaplace *laplace;
  RPINN_TRY(rpinn_laplace_create(context, &speed->squares, theta, &laplace));
  double made = now(), statistics[2];
  RpinnStatus status = RPINN_OK;
  for (uint64_t i = 0; i < DRAWS && status == RPINN_OK; i++)
    status = rpinn_laplace_draw(context, laplace, 1, i, speed->gradient, statistics);
  cost->laplace_seconds = made - start;
  cost->draw_seconds = (now() - made) / DRAWS;
  rpinn_laplace_destroy(laplace);
  return status;
}

RpinnStatus rpinn_squares_speed_measure(RpinnContext *context, RpinnSquaresSpeed *speed,
                                        RpinnSquaresCost *cost) {
  double gram[2], gradient[2];
  RPINN_TRY(time_gram(speed, &gram[0]));
  RPINN_TRY(time_gradient(speed, &gradient[0]));
  RPINN_TRY(time_iteration(context, speed, &cost->iteration_seconds));
  RPINN_TRY(time_laplace(context, speed, cost));
  RPINN_TRY(time_gram(speed, &gram[1]));
  RPINN_TRY(time_gradient(speed, &gradient[1]));
  cost->iteration = 2 * cost->iteration_seconds / (gram[0] + gram[1]);
  cost->laplace = 2 * cost->laplace_seconds / (gram[0] + gram[1]);
  cost->draw = 2 * cost->draw_seconds / (gradient[0] + gradient[1]);
  return RPINN_OK;
}

/* ---- life ---- */

static RpinnStatus fill(RpinnContext *context, RpinnSquaresSpeed *speed) {
  RpinnOverride overrides[] = {{"backend", "cpu", "bench", true}, {"precision", "float", "bench", true}};
  RpinnProblemOptions options = {.preset = "paper", .num_overrides = 2, .overrides = overrides};
  RPINN_TRY(rpinn_problem_load(context, "darcy", &options, &speed->problem));
  RPINN_TRY(rpinn_posterior_create(context, speed->problem, false, &speed->posterior));
  speed->member = (RpinnPosteriorMember){.posterior = speed->posterior, .context = context};
  speed->squares = rpinn_posterior_least_squares(&speed->member);
  speed->objective = rpinn_posterior_objective(&speed->member);
  size_t M = speed->squares.num_rows, N = speed->squares.num_parameters;
  speed->theta = calloc(N, sizeof(double));
  speed->gradient = calloc(N, sizeof(double));
  speed->rows = calloc(M, sizeof(double));
  speed->gram = calloc(M * M, sizeof(double));
  if (!speed->theta || !speed->gradient || !speed->rows || !speed->gram) return rpinn_fail_memory(context);
  rpinn_posterior_start_glorot(speed->posterior, 0, speed->theta);
  RpinnLevenbergMarquardtOptions marquardt = rpinn_levenberg_marquardt_default_options();
  return rpinn_levenberg_marquardt_create(context, &speed->squares, NULL, &marquardt, &speed->optimizer);
}

RpinnStatus rpinn_squares_speed_create(RpinnContext *context, RpinnSquaresSpeed **speed) {
  *speed = calloc(1, sizeof **speed);
  return *speed ? fill(context, *speed) : rpinn_fail_memory(context);
}

void rpinn_squares_speed_destroy(RpinnSquaresSpeed *speed) {
  if (!speed) return;
  rpinn_optimizer_destroy(speed->optimizer);
  rpinn_posterior_destroy(speed->posterior);
  rpinn_problem_destroy(speed->problem);
  free(speed->theta);
  free(speed->gradient);
  free(speed->rows);
  free(speed->gram);
  free(speed);
}
