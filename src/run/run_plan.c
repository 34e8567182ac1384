/* `rpinn run --plan`: what would be done and what it would cost, from a short trial on this machine. */
#include "maker_members.h"
#include "run_draws.h"
#include "run_shard.h"
#include "run_targets.h"
#include "unknown_noise.h"

double rpinn_run_draw_bytes(const RpinnRun *run) {
  return 8.0 * ((double)rpinn_posterior_num_drawn(run->posteriors[0]) + 600);
}

static RpinnStatus estimate_cost(RpinnContext *context, RpinnDriver *driver, RpinnRunEstimate *estimate) {
  RpinnMemberTarget *targets;
  RPINN_TRY(rpinn_run_targets_make(context, driver, &targets));
  RPINN_TRY(driver->maker->estimate(context, driver, targets, estimate));
  if (!rpinn_run_is_corrected(driver->run)) return RPINN_OK;
  estimate->num_gradients = rpinn_run_correction_gradients(driver->run);
  return rpinn_try_gradient(context, driver->run->problem, &targets[0], &estimate->gradient_seconds);
}

static double correction_seconds(const RpinnDriver *driver, const RpinnRunEstimate *estimate) {
  return estimate->gradient_seconds * estimate->num_gradients / (double)driver->num_threads;
}

static void append_time(RpinnText *text, double seconds) {
  if (seconds < 120)
    rpinn_text_append(text, "%.1f s", seconds);
  else if (seconds < 7200)
    rpinn_text_append(text, "%.1f min", seconds / 60);
  else
    rpinn_text_append(text, "%.1f h", seconds / 3600);
}

static void append_share(const RpinnRun *run, RpinnText *text) {
  uint64_t all = rpinn_draw_plan_num_starts(&run->plan);
  rpinn_text_append(text, "  share   shard %zu/%zu makes %llu of the %llu %ss, and no results\n",
                    run->shard.number, run->shard.count,
                    (unsigned long long)rpinn_shard_size(run->shard, all), (unsigned long long)all,
                    run->plan.has_chains ? "chain" : run->method->unit);
}

/* Draws that are made, and what is kept of each: a shard has no results. */
static void append_disk(const RpinnDriver *driver, const RpinnRunEstimate *estimate, RpinnText *text) {
  const RpinnRun *run = driver->run;
  double share = (double)rpinn_shard_size(run->shard, rpinn_draw_plan_num_starts(&run->plan)),
         draws = share * (run->plan.has_chains ? (double)run->num_samples : 1),
         draw_bytes = rpinn_run_draw_bytes(run), output_bytes = 8.0 * (double)run->outputs.num_values;
  double bytes = rpinn_run_is_shard(run) ? draws * draw_bytes
                                         : draws * (2 * draw_bytes + output_bytes) + estimate->disk_bytes;
  rpinn_text_append(text, "  disk    about %.0f MB\n", bytes * 1e-6 + 1);
}

static RpinnStatus describe(RpinnContext *context, RpinnDriver *driver, RpinnText *text) {
  const RpinnRun *run = driver->run;
  RpinnRunEstimate estimate;
  RPINN_TRY(estimate_cost(context, driver, &estimate));
  double draws = (double)(run->plan.num_chains * run->num_samples), threads = (double)driver->num_threads;
  double draw_bytes = rpinn_run_draw_bytes(run), output_bytes = 8.0 * (double)run->outputs.num_values;
  double kept = draws / (double)rpinn_keep_every((size_t)draws, run->outputs.num_values + 1, 96 << 20);
  rpinn_text_append(text, "%s, method %s: ", run->problem->name,
                    run->problem->settings.values[RPINN_SETTING_METHOD].text);
  driver->maker->describe_run(run, text);
  rpinn_text_append(text, ", on %zu thread%s\n", driver->num_threads, driver->num_threads == 1 ? "" : "s");
  if (rpinn_run_is_shard(run)) append_share(run, text);
  rpinn_text_append(text, "  time    about ");
  append_time(text, estimate.step_seconds * estimate.num_steps);
  rpinn_text_append(text, " at most (%.3g ms per %s measured just now%s)\n", estimate.step_seconds * 1e3,
                    estimate.step, estimate.place);
  if (estimate.num_gradients > 0) {
    rpinn_text_append(text, "          and behind it --correct nuts, about ");
    append_time(text, correction_seconds(driver, &estimate));
    rpinn_text_append(
        text,
        " at most: a pilot of %d members, then up to %s gradients for each (%.3g ms per gradient); "
        "the pilot tells what it takes\n",
        RPINN_PILOT_MEMBERS, run->problem->settings.values[RPINN_SETTING_CORRECT_BUDGET].text,
        estimate.gradient_seconds * 1e3);
  }
  if (run->posteriors[0]->sigmas.rule != RPINN_SCALE_GIVEN)
    rpinn_text_append(
        text,
        "          and before it the choice of the prior's scale, some minimisations for each of a few\n");
  rpinn_text_append(
      text, "  memory  about %.0f MB\n",
      (20e6 + kept * output_bytes + threads * 40 * draw_bytes + 6 * output_bytes + estimate.memory_bytes) *
          1e-6);
  append_disk(driver, &estimate, text);
  return text->failed ? rpinn_fail_memory(context) : RPINN_OK;
}

RpinnStatus rpinn_run_estimate(RpinnContext *context, const RpinnProblem *problem, double *seconds) {
  RpinnRunOptions options = {0};
  RpinnDriver driver;
  RpinnRunEstimate estimate;
  RpinnStatus status = rpinn_driver_prepare(context, problem, &options, &driver);
  if (status == RPINN_OK) status = estimate_cost(context, &driver, &estimate);
  if (status == RPINN_OK)
    *seconds = estimate.step_seconds * estimate.num_steps + correction_seconds(&driver, &estimate);
  rpinn_run_destroy(driver.run);
  return status;
}

char *rpinn_run_plan(RpinnContext *context, const RpinnProblem *problem, RpinnShard shard) {
  RpinnText text = {0};
  RpinnRunOptions options = {.shard = shard};
  RpinnDriver driver;
  RpinnStatus status = rpinn_driver_prepare(context, problem, &options, &driver);
  if (status == RPINN_OK) status = rpinn_run_check_split(context, &driver);
  if (status == RPINN_OK) status = describe(context, &driver, &text);
  rpinn_run_destroy(driver.run);
  if (status == RPINN_OK) return text.bytes;
  rpinn_text_free(&text);
  return NULL;
}
