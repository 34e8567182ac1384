/* Whole chains into a sink. */
#include <stdlib.h>

#include "context.h"
#include "random_stream.h"
#include "rpinn/nuts.h"
#include "target_check.h"

enum { MOST_TRIES = 100 };

static const char *const statistic_names[] = {
    "lp",        "acceptance_rate", "step_size",    "tree_depth",       "n_steps",
    "diverging", "energy",          "energy_error", "max_energy_error", "reached_max_treedepth"};
enum { NUM_STATISTICS = sizeof statistic_names / sizeof statistic_names[0] };

static RpinnStatus write_draw(const RpinnDrawSink *sink, uint64_t chain, const RpinnNutsDraw *draw) {
  const double statistics[NUM_STATISTICS] = {
      draw->log_density,       draw->acceptance_rate,  draw->step_size, (double)draw->tree_depth,
      (double)draw->num_steps, draw->diverging,        draw->energy,    draw->energy_error,
      draw->max_energy_error,  draw->reached_max_depth};
  return sink->write(sink->data, &(RpinnDraw){chain, draw->index, draw->parameters, statistics});
}

/* Uniform in (-2, 2), again while the density there is not finite. The last failure tells why. */
static RpinnStatus start_anywhere(RpinnContext *context, RpinnNuts *nuts, uint64_t seed, uint64_t chain,
                                  size_t num_parameters, double *theta) {
  RpinnStream stream = rpinn_stream(seed, RPINN_PURPOSE_CHAIN_START, chain, 0);
  RpinnStatus status = RPINN_ERROR_NUMERIC;
  for (int try = 0; try < MOST_TRIES && status == RPINN_ERROR_NUMERIC; try++) {
    for (size_t j = 0; j < num_parameters; j++) theta[j] = 4 * rpinn_stream_uniform(&stream) - 2;
    status = rpinn_nuts_start(context, nuts, seed, chain, theta);
  }
  return status;
}

static RpinnStatus sink_failure(RpinnContext *context, const char *function, RpinnStatus status) {
  return rpinn_explain_failure(context, "sink", function, status);
}

static RpinnStatus run_chain(RpinnContext *context, RpinnNuts *nuts, uint64_t chain,
                             const RpinnDrawSink *sink) {
  while (!rpinn_nuts_finished(nuts)) {
    RpinnNutsDraw draw;
    RPINN_TRY(rpinn_nuts_advance(context, nuts, &draw));
    if (draw.is_kept) RPINN_TRY(sink_failure(context, "write", write_draw(sink, chain, &draw)));
  }
  return RPINN_OK;
}

static RpinnStatus run_chains(RpinnContext *context, RpinnNuts *nuts, size_t num_parameters, uint64_t seed,
                              size_t num_chains, const double *starts, const RpinnDrawSink *sink) {
  rpinn_context_clear_error(context);
  double *theta = malloc(num_parameters * sizeof *theta);
  RpinnStatus status = theta ? RPINN_OK : rpinn_fail_memory(context);
  if (status == RPINN_OK)
    status = sink_failure(
        context, "begin",
        sink->begin(sink->data, &(RpinnDrawLayout){num_parameters, NUM_STATISTICS, statistic_names}));
  for (size_t chain = 0; chain < num_chains && status == RPINN_OK; chain++) {
    status = starts ? rpinn_nuts_start(context, nuts, seed, chain, starts + chain * num_parameters)
                    : start_anywhere(context, nuts, seed, chain, num_parameters, theta);
    if (status == RPINN_OK) status = run_chain(context, nuts, chain, sink);
  }
  free(theta);
  if (status != RPINN_OK || !sink->finish) return status;
  return sink_failure(context, "finish", sink->finish(sink->data));
}

RpinnStatus rpinn_nuts_sample(RpinnContext *context, const RpinnLogDensity *target,
                              const RpinnNutsOptions *options, uint64_t seed, size_t num_chains,
                              const double *starts, RpinnDrawSink *sink) {
  RpinnNuts *nuts;
  RPINN_TRY(rpinn_require_function(context, "sink", "begin", sink->begin));
  RPINN_TRY(rpinn_require_function(context, "sink", "write", sink->write));
  RPINN_TRY(rpinn_nuts_create(context, target, options, &nuts));
  RpinnStatus status = run_chains(context, nuts, target->num_parameters, seed, num_chains, starts, sink);
  rpinn_nuts_destroy(nuts);
  return status;
}
