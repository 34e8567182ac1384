/* Method nuts: chains of the no-U-turn sampler. */
#include <math.h>

#include "maker_members.h"
#include "run_targets.h"

/* Gradients that one thread evaluates: those of the longest trajectories. */
static double count_gradients(const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  const RpinnSettingsValues *settings = &run->problem->settings;
  double steps = ldexp(1, (int)settings->values[RPINN_SETTING_MAX_DEPTH].number) - 1;
  return steps *
         ceil((double)rpinn_shard_size(driver->shard, run->plan.num_chains) / (double)driver->num_threads) *
         (settings->values[RPINN_SETTING_WARMUP].number +
          (double)run->num_samples * settings->values[RPINN_SETTING_THIN].number);
}

static RpinnStatus estimate(RpinnContext *context, RpinnDriver *driver, const RpinnMemberTarget *targets,
                            RpinnRunEstimate *estimate) {
  const RpinnRun *run = driver->run;
  double draws = (double)(run->plan.num_chains * run->num_samples);
  *estimate = (RpinnRunEstimate){
      .num_steps = count_gradients(driver),
      .step = "gradient",
      .place = " on one thread",
      .disk_bytes = draws * (rpinn_run_draw_bytes(run) + 8.0 * (double)run->outputs.num_values)};
  return rpinn_try_gradient(context, run->problem, &targets[0], &estimate->step_seconds);
}

static void describe_run(const RpinnRun *run, RpinnText *text) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  unsigned long long chains = run->plan.num_chains, draws = run->num_samples;
  rpinn_text_append(
      text, "%llu chain%s of %s warmup iterations and %llu draw%s, trajectories of at most 2^%s - 1 steps",
      chains, chains == 1 ? "" : "s", settings->values[RPINN_SETTING_WARMUP].text, draws,
      draws == 1 ? "" : "s", settings->values[RPINN_SETTING_MAX_DEPTH].text);
}

const RpinnDrawMaker rpinn_maker_nuts = {
    .progress_unit = "iterations",
    .splits = true,
    .check_settings = rpinn_refuse_adagrad,
    .make_draws = rpinn_run_make_chains,
    .estimate = estimate,
    .describe_run = describe_run,
};
