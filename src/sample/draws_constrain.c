/* Draws of free parameters as draws of the values that they stand for. */
#include <string.h>

#include "draws.h"
#include "rpinn/constraint.h"

RpinnStatus rpinn_draws_constrain(RpinnContext *context, const RpinnDraws *draws,
                                  const RpinnConstraints *constraints, const char *const *names,
                                  RpinnDraws **constrained) {
  size_t expected = rpinn_constraints_num_parameters(constraints), num_draws = 0;
  size_t num_values = rpinn_constraints_num_values(constraints), num_chains = rpinn_draws_num_chains(draws);
  *constrained = NULL;
  rpinn_context_clear_error(context);
  if (rpinn_draws_num_parameters(draws) != expected)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the draws have %zu parameters; expected %zu, as the constraints have",
                      rpinn_draws_num_parameters(draws), expected);
  for (size_t chain = 0; chain < num_chains; chain++)
    if (rpinn_draws_length(draws, chain) > num_draws) num_draws = rpinn_draws_length(draws, chain);
  const RpinnDrawsShape shape = {.num_chains = num_chains,
                                 .num_draws = num_draws,
                                 .num_parameters = num_values,
                                 .num_statistics = rpinn_draws_num_statistics(draws),
                                 .statistic_names = rpinn_draws_statistic_names(draws),
                                 .names = names};
  RPINN_TRY(rpinn_draws_create(context, &shape, constrained));
  for (size_t chain = 0; chain < num_chains; chain++)
    rpinn_draws_cut(*constrained, chain, rpinn_draws_length(draws, chain));
  for (size_t i = 0; i < rpinn_draws_count(draws); i++) {
    RpinnDraw draw = rpinn_draws_get(draws, i);
    double *row = rpinn_draws_row(*constrained, draw.chain, draw.index);
    rpinn_constraints_apply(constraints, draw.parameters, row, NULL);
    memcpy(row + num_values, draw.statistics, shape.num_statistics * sizeof *row);
  }
  return RPINN_OK;
}
