/* Method svgd: particles that move together. */
#include "draw_features.h"
#include "maker_members.h"

/* Adam and AdaGrad move particles; what --start map minimises with is no AdaGrad. */
static RpinnStatus check_settings(RpinnContext *context, const RpinnProblem *problem) {
  int optimizer = rpinn_settings_choice(&problem->settings, RPINN_SETTING_OPTIMIZER);
  RPINN_TRY(rpinn_refuse_member_start(context, problem));
  if (rpinn_settings_choice(&problem->settings, RPINN_SETTING_START) == RPINN_START_MAP)
    RPINN_TRY(rpinn_refuse_adagrad(context, problem));
  if (optimizer == RPINN_MINIMIZER_ADAGRAD || optimizer == RPINN_MINIMIZER_ADAM) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT,
                    "optimizer %s cannot move the particles of svgd; expected adam or adagrad",
                    problem->settings.values[RPINN_SETTING_OPTIMIZER].text);
}

/* All threads work on each iteration of all particles. */
static RpinnStatus estimate(RpinnContext *context, RpinnDriver *driver, const RpinnMemberTarget *targets,
                            RpinnRunEstimate *estimate) {
  const RpinnRun *run = driver->run;
  double particles = (double)run->num_samples;
  bool is_functional =
      rpinn_settings_choice(&run->problem->settings, RPINN_SETTING_KERNEL) == RPINN_KERNEL_FUNCTIONS;
  *estimate = (RpinnRunEstimate){.num_steps = run->problem->settings.values[RPINN_SETTING_ITERATIONS].number,
                                 .step = "iteration",
                                 .place = "",
                                 .memory_bytes = 6 * particles * rpinn_run_draw_bytes(run) +
                                                 sizeof(double) * particles * particles};
  if (is_functional)
    estimate->memory_bytes += (1 + (double)driver->num_threads) * rpinn_run_draw_bytes(run) *
                              (double)rpinn_draw_features_count(run->posteriors[0]);
  return rpinn_run_try_particles(context, driver, targets, &estimate->step_seconds);
}

const RpinnDrawMaker rpinn_maker_svgd = {
    .progress_unit = "iterations",
    .check_settings = check_settings,
    .make_draws = rpinn_run_make_particles,
    .estimate = estimate,
    .describe_run = rpinn_members_describe_run,
};
