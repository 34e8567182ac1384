/* Method vi: draws of the normal distribution that is closest to the posterior. */
#include "maker_members.h"
#include "rpinn/variational.h"

/* All threads work on each iteration of all starts. A start has 4 vectors for each pair and 2 for its gradients, and 5 for each of
 * its own parameters. */
static RpinnStatus estimate(RpinnContext *context, RpinnDriver *driver, const RpinnMemberTarget *targets,
                            RpinnRunEstimate *estimate) {
  const RpinnSettingsValues *settings = &driver->run->problem->settings;
  bool has_factors = rpinn_settings_choice(settings, RPINN_SETTING_FAMILY) != RPINN_FAMILY_MEAN_FIELD;
  double vectors = 6 * settings->values[RPINN_SETTING_PAIRS].number +
                   5 * (2 + (has_factors ? settings->values[RPINN_SETTING_RANK].number : 0));
  *estimate = (RpinnRunEstimate){.num_steps = settings->values[RPINN_SETTING_ITERATIONS].number,
                                 .step = "iteration",
                                 .place = "",
                                 .memory_bytes = sizeof(double) * vectors *
                                                 settings->values[RPINN_SETTING_STARTS].number *
                                                 (double)targets[0].num_parameters};
  return rpinn_run_try_variational(context, driver, targets, &estimate->step_seconds);
}

static void describe_run(const RpinnRun *run, RpinnText *text) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  rpinn_text_append(
      text,
      "%llu draw%s of %zu parameters from a normal distribution, family %s, at most %s iterations of "
      "%s pairs from each of %s starts",
      (unsigned long long)run->num_samples, run->num_samples == 1 ? "" : "s",
      run->posteriors[0]->model.num_parameters, settings->values[RPINN_SETTING_FAMILY].text,
      settings->values[RPINN_SETTING_ITERATIONS].text, settings->values[RPINN_SETTING_PAIRS].text,
      settings->values[RPINN_SETTING_STARTS].text);
}

const RpinnDrawMaker rpinn_maker_vi = {
    .progress_unit = "iterations",
    .needs_prior = true,
    .check_settings = rpinn_refuse_adagrad,
    .make_draws = rpinn_run_make_variational_draws,
    .estimate = estimate,
    .describe_run = describe_run,
};
