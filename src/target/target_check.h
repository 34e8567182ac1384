/* What methods ask of the targets that they are given, and what they say when one of them fails. */
#ifndef RPINN_TARGET_TARGET_CHECK_H
#define RPINN_TARGET_TARGET_CHECK_H

#include "context.h"
#include "rpinn/target.h"

/* Bad input where a required function is missing, or a group has no members. */
RpinnStatus rpinn_batch_objective_check(RpinnContext *context, const RpinnBatchObjective *objective);
RpinnStatus rpinn_batch_log_density_check(RpinnContext *context, const RpinnBatchLogDensity *density);
RpinnStatus rpinn_batch_least_squares_check(RpinnContext *context, const RpinnBatchLeastSquares *problem);

/* The functions of a target know no context: where one of them has failed and nobody has said why since the error was
 * cleared, "the OWNER's function 'FUNCTION' failed: …". Hands the status on. */
RpinnStatus rpinn_explain_failure(RpinnContext *context, const char *owner, const char *function,
                                  RpinnStatus status);

#endif
