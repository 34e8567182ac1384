#include "maker_members.h"

#include "run_targets.h"
#include "steady_clock.h"

/* ---- settings ---- */

RpinnStatus rpinn_refuse_member_start(RpinnContext *context, const RpinnProblem *problem) {
  if (rpinn_settings_choice(&problem->settings, RPINN_SETTING_START) != RPINN_START_MEMBER) return RPINN_OK;
  return rpinn_fail(
      context, RPINN_ERROR_INPUT,
      "start member is for the chains of nuts and the starts of vi, and not for method %s; expected "
      "prior, glorot, map, normal or zero",
      problem->settings.values[RPINN_SETTING_METHOD].text);
}

RpinnStatus rpinn_members_check_settings(RpinnContext *context, const RpinnProblem *problem) {
  RPINN_TRY(rpinn_refuse_member_start(context, problem));
  return rpinn_refuse_adagrad(context, problem);
}

RpinnStatus rpinn_refuse_adagrad(RpinnContext *context, const RpinnProblem *problem) {
  if (rpinn_settings_choice(&problem->settings, RPINN_SETTING_OPTIMIZER) != RPINN_MINIMIZER_ADAGRAD)
    return RPINN_OK;
  return rpinn_fail(
      context, RPINN_ERROR_INPUT,
      "optimizer adagrad moves the particles of svgd and minimises nothing; expected adam, lbfgs or lm");
}

/* ---- cost ---- */

RpinnStatus rpinn_try_minimizer(RpinnContext *context, const RpinnMemberTarget *target,
                                const RpinnMinimizeOptions *options, double *seconds) {
  RpinnMember *member;
  RPINN_TRY(rpinn_member_create(context, target, 0, options, 0, &member));
  RpinnStatus status = rpinn_member_begin(context, member, 0, NULL, 0);
  double start = rpinn_steady_seconds();
  RpinnMemberOutcome outcome = {0};
  while (status == RPINN_OK && !outcome.finished && rpinn_steady_seconds() - start < 0.5)
    status = rpinn_member_advance(context, member, 10, &outcome);
  *seconds = (rpinn_steady_seconds() - start) / (double)(outcome.iterations ? outcome.iterations : 1);
  rpinn_member_destroy(member);
  return status;
}

/* An iteration of Adam costs a gradient. Offsets change nothing about that, and a start may be made of them. */
RpinnStatus rpinn_try_gradient(RpinnContext *context, const RpinnProblem *problem,
                               const RpinnMemberTarget *target, double *seconds) {
  RpinnMinimizeOptions options = rpinn_run_minimize_options(problem);
  RpinnMemberTarget with_offsets = *target;
  options.minimizer = RPINN_MINIMIZER_ADAM;
  with_offsets.has_offsets = true;
  return rpinn_try_minimizer(context, &with_offsets, &options, seconds);
}

/* Threads share the members, each of which makes its iterations on one of them. */
RpinnStatus rpinn_members_estimate(RpinnContext *context, RpinnDriver *driver,
                                   const RpinnMemberTarget *targets, RpinnRunEstimate *estimate) {
  const RpinnRun *run = driver->run;
  RpinnMinimizeOptions options = rpinn_run_minimize_options(run->problem);
  *estimate = (RpinnRunEstimate){.num_steps = run->problem->settings.values[RPINN_SETTING_ITERATIONS].number *
                                              (double)rpinn_shard_size(driver->shard, run->num_samples) /
                                              (double)driver->num_threads,
                                 .step = "iteration",
                                 .place = " on one thread"};
  return rpinn_try_minimizer(context, &targets[0], &options, &estimate->step_seconds);
}

void rpinn_members_describe_run(const RpinnRun *run, RpinnText *text) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  rpinn_text_append(text, "%llu %s%s of %zu parameters, at most %s iterations of %s each",
                    (unsigned long long)run->num_samples, run->method->unit, run->num_samples == 1 ? "" : "s",
                    run->posteriors[0]->model.num_parameters, settings->values[RPINN_SETTING_ITERATIONS].text,
                    settings->values[RPINN_SETTING_OPTIMIZER].text);
  if (rpinn_run_is_matrix_free(run))
    rpinn_text_append(text, ", by conjugate gradients because there are more than %d rows",
                      RPINN_MAX_DENSE_ROWS);
}
