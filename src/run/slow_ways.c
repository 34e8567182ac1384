#include "slow_ways.h"

#include "ranks.h"
#include "run_continuations.h"
#include "run_ranks.h"
#include "run_targets.h"

static const RpinnMemberSlots *slots_of(const RpinnMemberTarget *targets) {
  return ((const RpinnRunTarget *)targets[0].data)->slots;
}

/* reason NULL: there is nothing to say. */
static void say(RpinnContext *context, const RpinnDriver *driver, const char *what, const char *reason) {
  const char *backend = rpinn_posterior_backend_name(driver->run->posteriors[0]);
  if (!reason || rpinn_run_follows(driver)) return;
  rpinn_log(context, RPINN_LOG_INFO, "backend %s: %s, for %s", backend, what, reason);
  rpinn_driver_log(driver, "backend %s: %s, for %s", backend, what, reason);
}

void rpinn_run_say_slow_chains(RpinnContext *context, const RpinnDriver *driver,
                               const RpinnMemberTarget *targets) {
  const RpinnMemberSlots *slots = slots_of(targets);
  bool is_dense = rpinn_run_nuts_options(driver->run).metric == RPINN_METRIC_DENSE;
  say(context, driver, "trajectories take a slower way, leapfrog by leapfrog from the host",
      slots->density.transitions && is_dense ? "the metric is dense" : slots->host_chains);
}

static const char *why_not_particles(const RpinnDriver *driver, const RpinnMemberSlots *slots) {
  const RpinnSettingsValues *settings = &driver->run->problem->settings;
  if (!slots->density.move_particles) return slots->host_particles;
  if (rpinn_settings_choice(settings, RPINN_SETTING_KERNEL) == RPINN_KERNEL_FUNCTIONS)
    return "the kernel compares functions";
  return rpinn_ranks_size(driver->options->ranks) > 1 ? "several ranks share the particles" : NULL;
}

void rpinn_run_say_slow_particles(RpinnContext *context, const RpinnDriver *driver,
                                  const RpinnMemberTarget *targets) {
  say(context, driver, "the products of SVGD are made on the host, more slowly",
      why_not_particles(driver, slots_of(targets)));
}
