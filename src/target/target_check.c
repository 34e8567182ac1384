#include "target_check.h"

static RpinnStatus require(RpinnContext *context, const char *function, bool is_there) {
  if (is_there) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT,
                    "the target has no function '%s'; expected one, for it is required", function);
}

/* A group of no members would never be answered. */
static RpinnStatus check_group(RpinnContext *context, size_t group) {
  if (group > 0) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT, "the target has groups of 0 members, expected at least 1");
}

RpinnStatus rpinn_batch_objective_check(RpinnContext *context, const RpinnBatchObjective *objective) {
  RPINN_TRY(check_group(context, objective->group));
  return require(context, "evaluate", objective->evaluate);
}

RpinnStatus rpinn_batch_log_density_check(RpinnContext *context, const RpinnBatchLogDensity *density) {
  RPINN_TRY(check_group(context, density->group));
  return require(context, "evaluate", density->evaluate);
}

RpinnStatus rpinn_batch_least_squares_check(RpinnContext *context, const RpinnBatchLeastSquares *problem) {
  RPINN_TRY(check_group(context, problem->group));
  RPINN_TRY(require(context, "residuals", problem->residuals));
  return require(context, "jacobian", problem->jacobian);
}

RpinnStatus rpinn_explain_failure(RpinnContext *context, const char *owner, const char *function,
                                  RpinnStatus status) {
  if (status == RPINN_OK || rpinn_context_error(context)->status != RPINN_OK) return status;
  return rpinn_fail(context, status, "the %s's function '%s' failed: %s", owner, function,
                    rpinn_status_meaning(status));
}
