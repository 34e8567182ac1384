/* Draws of Laplace's approximation into memory. */
#include "draws.h"
#include "laplace.h"

static const char *const statistic_names[] = {"lp", "log_weight"};
enum { NUM_STATISTICS = sizeof statistic_names / sizeof statistic_names[0] };

static RpinnStatus fill(RpinnContext *context, RpinnLaplace *laplace, uint64_t seed, size_t num_draws,
                        RpinnDraws *draws) {
  for (size_t i = 0; i < num_draws; i++) {
    double *row = rpinn_draws_row(draws, 0, i);
    if (rpinn_is_interrupted(context)) {
      rpinn_draws_cut(draws, 0, i);
      return rpinn_fail_interrupted(context);
    }
    RPINN_TRY(
        rpinn_laplace_draw(context, laplace, seed, i, row, row + rpinn_laplace_num_parameters(laplace)));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_laplace_sample(RpinnContext *context, RpinnLaplace *laplace, uint64_t seed,
                                 size_t num_draws, const char *const *names, RpinnDraws **draws) {
  const RpinnDrawsShape shape = {.num_chains = 1,
                                 .num_draws = num_draws,
                                 .num_parameters = rpinn_laplace_num_parameters(laplace),
                                 .num_statistics = NUM_STATISTICS,
                                 .statistic_names = statistic_names,
                                 .names = names};
  rpinn_context_clear_error(context);
  RPINN_TRY(rpinn_draws_create(context, &shape, draws));
  RpinnStatus status = fill(context, laplace, seed, num_draws, *draws);
  if (status != RPINN_OK && status != RPINN_ERROR_INTERRUPTED) {
    rpinn_draws_destroy(*draws);
    *draws = NULL;
  }
  return status;
}
