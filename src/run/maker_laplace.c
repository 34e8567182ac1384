/* Method laplace: draws of the posterior linearised at its most probable point. */
#include <math.h>

#include "maker_members.h"
#include "run_targets.h"

static RpinnStatus check_settings(RpinnContext *context, const RpinnProblem *problem) {
  RPINN_TRY(rpinn_refuse_member_start(context, problem));
  if (rpinn_settings_choice(&problem->settings, RPINN_SETTING_START) == RPINN_START_MAP)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "method laplace seeks its most probable point from draws of the prior, and not from "
                      "start map; expected another start, which it does not use");
  return RPINN_OK;
}

/* A step of Levenberg–Marquardt, of which the searches make at most 200 each; a draw costs far less. */
static RpinnStatus estimate(RpinnContext *context, RpinnDriver *driver, const RpinnMemberTarget *targets,
                            RpinnRunEstimate *estimate) {
  const RpinnRun *run = driver->run;
  RpinnMinimizeOptions options = rpinn_run_minimize_options(run->problem);
  RpinnMemberTarget target = targets[0];
  double M = (double)run->posteriors[0]->model.num_rows, threads = (double)driver->num_threads;
  options.minimizer = RPINN_MINIMIZER_LM;
  target.has_offsets = false;
  *estimate = (RpinnRunEstimate){.num_steps = 8 * 200 / fmin(threads, 8),
                                 .step = "iteration",
                                 .place = " on one thread",
                                 .memory_bytes = 3 * sizeof(double) * M * M * fmin(threads, 8)};
  return rpinn_try_minimizer(context, &target, &options, &estimate->step_seconds);
}

static void describe_run(const RpinnRun *run, RpinnText *text) {
  rpinn_text_append(text, "%llu draw%s of %zu parameters, linearised at the best of 8 minima",
                    (unsigned long long)run->num_samples, run->num_samples == 1 ? "" : "s",
                    run->posteriors[0]->model.num_parameters);
}

const RpinnDrawMaker rpinn_maker_laplace = {
    .progress_unit = "draws",
    .prior_at_minimum = true,
    .needs_prior = true,
    .splits = true,
    .linearises = true,
    .check_settings = check_settings,
    .make_draws = rpinn_run_make_laplace_draws,
    .estimate = estimate,
    .describe_run = describe_run,
};
