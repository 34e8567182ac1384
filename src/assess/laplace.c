#include "laplace.h"

#include <math.h>
#include <stdlib.h>

#include "context.h"
#include "linearisation.h"
#include "random_stream.h"
#include "target_check.h"

struct RpinnLaplace {
  RpinnLeastSquares problem;
  RpinnLinearisation *linearisation;
  RpinnEnergyObjective *energy; /* E, without offsets */
  RpinnLaplaceSummary summary;
  double *noise; /* [M + N] of one draw */
};

/* Say why, where nobody has said it. */
static RpinnStatus explain(RpinnContext *context, const char *what, RpinnStatus status) {
  if (status == RPINN_ERROR_MEMORY) return rpinn_fail_memory(context);
  if (status == RPINN_ERROR_NUMERIC)
    return rpinn_fail(context, status, "rows, Jacobian or energy are not finite where %s", what);
  return rpinn_explain_failure(context, "problem", "jacobian", status);
}

static RpinnStatus check(RpinnContext *context, const RpinnLeastSquares *problem) {
  if (!problem->residuals || !problem->jacobian)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the problem has no function '%s'",
                      problem->residuals ? "jacobian" : "residuals");
  for (size_t j = 0; j < problem->num_parameters; j++) {
    double root = problem->prior_root ? problem->prior_root[j] : 0;
    if (!(root > 0 && isfinite(root)))
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "the prior root of parameter %zu is %g; expected a positive number: every parameter "
                        "needs a prior",
                        j, root);
  }
  return RPINN_OK;
}

static RpinnStatus energy_at(RpinnLaplace *laplace, const double *theta, double *energy) {
  RpinnObjective objective = rpinn_energy_objective(laplace->energy);
  return objective.evaluate(objective.data, theta, energy, NULL);
}

static RpinnStatus fill(RpinnContext *context, RpinnLaplace *laplace, const double *theta) {
  RpinnLaplaceSummary *summary = &laplace->summary;
  size_t M = laplace->problem.num_rows;
  laplace->noise = calloc(M + laplace->problem.num_parameters + 1, sizeof(double));
  laplace->energy = rpinn_energy_objective_create(&laplace->problem, NULL);
  if (!laplace->noise || !laplace->energy) return rpinn_fail_memory(context);
  RpinnStatus status = rpinn_linearisation_create(&laplace->problem, theta, &laplace->linearisation);
  if (status == RPINN_OK) status = energy_at(laplace, theta, &summary->energy);
  if (status == RPINN_OK && !isfinite(summary->energy)) status = RPINN_ERROR_NUMERIC;
  if (status != RPINN_OK) return explain(context, "the problem is linearised", status);
  summary->linear_energy = rpinn_linearisation_energy(laplace->linearisation);
  summary->log_evidence = rpinn_linearisation_log_evidence(laplace->linearisation);
  for (size_t i = 0; i < M; i++)
    summary->leave_one_out += rpinn_linearisation_leave_out(laplace->linearisation, i).log_density;
  return RPINN_OK;
}

RpinnStatus rpinn_laplace_create(RpinnContext *context, const RpinnLeastSquares *problem, const double *theta,
                                 RpinnLaplace **result) {
  *result = NULL;
  rpinn_context_clear_error(context);
  RPINN_TRY(check(context, problem));
  RpinnLaplace *laplace = calloc(1, sizeof *laplace);
  if (!laplace) return rpinn_fail_memory(context);
  laplace->problem = *problem;
  RpinnStatus status = fill(context, laplace, theta);
  if (status == RPINN_OK)
    *result = laplace;
  else
    rpinn_laplace_destroy(laplace);
  return status;
}

void rpinn_laplace_destroy(RpinnLaplace *laplace) {
  if (!laplace) return;
  rpinn_linearisation_destroy(laplace->linearisation);
  rpinn_energy_objective_destroy(laplace->energy);
  free(laplace->noise);
  free(laplace);
}

RpinnLaplaceSummary rpinn_laplace_summary(const RpinnLaplace *laplace) {
  return laplace->summary;
}

RpinnLeftOut rpinn_laplace_leave_out(const RpinnLaplace *laplace, size_t row) {
  return rpinn_linearisation_leave_out(laplace->linearisation, row);
}

RpinnStatus rpinn_laplace_mean(RpinnContext *context, RpinnLaplace *laplace, double *mean) {
  rpinn_context_clear_error(context);
  return explain(context, "the mean is made", rpinn_linearisation_mean(laplace->linearisation, mean));
}

RpinnStatus rpinn_laplace_covariance(RpinnContext *context, RpinnLaplace *laplace, size_t count,
                                     const double *functions, double *covariance) {
  rpinn_context_clear_error(context);
  return explain(context, "the covariance is made",
                 rpinn_linearisation_covariance(laplace->linearisation, count, functions, covariance));
}

size_t rpinn_laplace_num_parameters(const RpinnLaplace *laplace) {
  return laplace->problem.num_parameters;
}

/* log posterior - log Gaussian = E_linear(theta) - E(theta), up to a constant. */
RpinnStatus rpinn_laplace_draw(RpinnContext *context, RpinnLaplace *laplace, uint64_t seed, uint64_t index,
                               double *draw, double statistics[2]) {
  RpinnStream stream = rpinn_stream(seed, RPINN_PURPOSE_OFFSETS, index, 0);
  double energy = 0, linear_energy = 0;
  rpinn_stream_normals(&stream, laplace->problem.num_rows + laplace->problem.num_parameters, laplace->noise);
  RpinnStatus status = rpinn_linearisation_draw(laplace->linearisation, laplace->noise, draw);
  if (status == RPINN_OK) status = energy_at(laplace, draw, &energy);
  if (status == RPINN_OK)
    status = rpinn_linearisation_energy_at(laplace->linearisation, draw, &linear_energy);
  statistics[0] = -energy;
  statistics[1] = isfinite(energy) ? linear_energy - energy : -(double)INFINITY; /* no posterior there */
  return explain(context, "a draw is made", status);
}
