/* Symbols: S draws in all, l [S] the log likelihood of one datum, w [S] its smoothed weights. */
#include <math.h>
#include <stdlib.h>

#include "context.h"
#include "rpinn/convergence.h"
#include "rpinn/pareto.h"

typedef struct Workspace {
  size_t num_chains, num_draws, num_data;
  double *logs;    /* [S] l */
  double *weights; /* [S] log ratios, then log w */
  double *scaled;  /* [S] exp(l - max l); NULL where the efficiency is given */
  RpinnConvergenceWork *convergence;
} Workspace;

static double log_of_sum(size_t count, const double *logs, const double *more) {
  double largest = -(double)INFINITY, sum = 0;
  for (size_t s = 0; s < count; s++) largest = fmax(largest, logs[s] + (more ? more[s] : 0));
  for (size_t s = 0; s < count; s++) sum += exp(logs[s] + (more ? more[s] : 0) - largest);
  return largest + log(sum);
}

/* Of the mean of exp(l): its effective size over S; 1 where there is none, as of a constant. */
static double find_efficiency(const Workspace *workspace, size_t count) {
  double largest = -(double)INFINITY;
  for (size_t s = 0; s < count; s++) largest = fmax(largest, workspace->logs[s]);
  for (size_t s = 0; s < count; s++) workspace->scaled[s] = exp(workspace->logs[s] - largest);
  double efficiency = rpinn_convergence(workspace->convergence, workspace->scaled).ess_mean / (double)count;
  return isfinite(efficiency) && efficiency > 0 ? efficiency : 1;
}

static RpinnStatus take_column(RpinnContext *context, const Workspace *workspace,
                               const double *log_likelihood, size_t datum) {
  size_t count = workspace->num_chains * workspace->num_draws;
  for (size_t s = 0; s < count; s++) {
    double value = log_likelihood[s * workspace->num_data + datum];
    if (!isfinite(value))
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "the log likelihood of datum %zu is %g in draw %zu of chain %zu; expected a finite "
                        "number",
                        datum, value, s % workspace->num_draws, s / workspace->num_draws);
    workspace->logs[s] = value;
    workspace->weights[s] = -value;
  }
  return RPINN_OK;
}

static RpinnStatus leave_out(RpinnContext *context, const Workspace *workspace, double efficiency,
                             RpinnDatumLeftOut *datum) {
  size_t count = workspace->num_chains * workspace->num_draws;
  RpinnParetoSmoothing smoothing;
  datum->efficiency = efficiency > 0 ? efficiency : find_efficiency(workspace, count);
  if (rpinn_pareto_smooth_chains(count, datum->efficiency, workspace->weights, workspace->weights,
                                 &smoothing) != RPINN_OK)
    return rpinn_fail_memory(context);
  datum->k = smoothing.k;
  datum->lppd = log_of_sum(count, workspace->logs, NULL) - log((double)count);
  datum->elpd = log_of_sum(count, workspace->logs, workspace->weights);
  return RPINN_OK;
}

/* ---- sums ---- */

/* Welford's, so that the error needs no second pass. */
typedef struct Sums {
  double count, mean, squares;
} Sums;

static void add(Sums *sums, double value) {
  double offset = value - sums->mean;
  sums->count++;
  sums->mean += offset / sums->count;
  sums->squares += offset * (value - sums->mean);
}

static RpinnStatus leave_each_out(RpinnContext *context, const Workspace *workspace,
                                  const double *log_likelihood, double efficiency, RpinnDatumLeftOut *each,
                                  RpinnLeaveOneOut *result) {
  Sums sums = {0};
  for (size_t i = 0; i < workspace->num_data; i++) {
    RpinnDatumLeftOut datum;
    if (rpinn_is_interrupted(context)) return rpinn_fail_interrupted(context);
    RPINN_TRY(take_column(context, workspace, log_likelihood, i));
    RPINN_TRY(leave_out(context, workspace, efficiency, &datum));
    add(&sums, datum.elpd);
    result->elpd += datum.elpd;
    result->freedom += datum.lppd - datum.elpd;
    result->largest_k = fmax(result->largest_k, datum.k); /* the one that is a number */
    result->num_above_limit += datum.k > result->k_limit;
    if (each) each[i] = datum;
  }
  result->error = sqrt(sums.squares); /* n times squares / n */
  return RPINN_OK;
}

static RpinnStatus open_workspace(RpinnContext *context, Workspace *workspace, bool finds_efficiency) {
  size_t count = workspace->num_chains * workspace->num_draws;
  workspace->logs = calloc(count, sizeof(double));
  workspace->weights = calloc(count, sizeof(double));
  if (finds_efficiency) {
    workspace->scaled = calloc(count, sizeof(double));
    workspace->convergence = rpinn_convergence_work_create(workspace->num_chains, workspace->num_draws);
  }
  bool enough = workspace->logs && workspace->weights &&
                (!finds_efficiency || (workspace->scaled && workspace->convergence));
  return enough ? RPINN_OK : rpinn_fail_memory(context);
}

RpinnStatus rpinn_pareto_leave_one_out(RpinnContext *context, size_t num_chains, size_t num_draws,
                                       size_t num_data, const double *log_likelihood, double efficiency,
                                       RpinnDatumLeftOut *each, RpinnLeaveOneOut *result) {
  Workspace workspace = {.num_chains = num_chains, .num_draws = num_draws, .num_data = num_data};
  double count = (double)num_chains * (double)num_draws;
  rpinn_context_clear_error(context);
  if (!(count > 0)) return rpinn_fail(context, RPINN_ERROR_INPUT, "there are no draws to leave data out of");
  if (!(efficiency >= 0 && isfinite(efficiency)))
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the efficiency is %g; expected a positive number, or 0 to find it", efficiency);
  *result = (RpinnLeaveOneOut){.largest_k = (double)NAN, .k_limit = fmin(0.7, 1 - 1 / log10(count))};
  RpinnStatus status = open_workspace(context, &workspace, efficiency == 0);
  if (status == RPINN_OK)
    status = leave_each_out(context, &workspace, log_likelihood, efficiency, each, result);
  rpinn_convergence_work_destroy(workspace.convergence);
  free(workspace.logs);
  free(workspace.weights);
  free(workspace.scaled);
  return status;
}
