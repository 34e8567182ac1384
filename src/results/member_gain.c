#include "member_gain.h"

#include <math.h>

#include "member_statistics.h"
#include "member_stop.h"
#include "run_record.h"

RpinnGainRule rpinn_gain_rule_of(const RpinnRun *run) {
  const RpinnEnergyModel *model = &run->posteriors[0]->model;
  const RpinnSettingsValues *settings = &run->problem->settings;
  RpinnGainRule rule = {.progress_tolerance =
                            fmax(0, settings->values[RPINN_SETTING_PROGRESS_TOLERANCE].number),
                        .progress_amount = fmax(0, settings->values[RPINN_SETTING_PROGRESS_AMOUNT].number)};
  for (size_t j = 0; j < model->num_parameters; j++)
    rule.widest_prior = fmax(rule.widest_prior, 1 / model->prior_root[j]);
  return rule;
}

/* By how much the loss fell over the last tenth of the iterations. */
static double last_fall(const RpinnStoredMember *member) {
  double loss = member->statistics[RPINN_MEMBER_LOSS], before = (double)NAN,
         from = 0.9 * member->statistics[RPINN_MEMBER_ITERATIONS];
  for (size_t k = 0; k < member->num_trace && member->trace[2 * k] <= from; k++)
    before = fmin(before, member->trace[2 * k + 1]);
  return fmax(before - loss, 0);
}

double rpinn_member_gain(const RpinnGainRule *rule, const RpinnStoredMember *member) {
  double gradient = member->statistics[RPINN_MEMBER_GRADIENT_NORM],
         bound = 0.5 * gradient * gradient * rule->widest_prior * rule->widest_prior;
  RpinnStop stop = rpinn_member_stop_of_word(member->stop).stop;
  if (stop == RPINN_STOP_GRADIENT_SMALL) return isfinite(bound) ? bound : 0;
  if (stop == RPINN_STOP_DECREASE_SMALL) return fmin(bound, rule->progress_amount);
  if (stop == RPINN_STOP_NO_PROGRESS)
    return fmin(
        bound, fmax(rule->progress_tolerance * member->statistics[RPINN_MEMBER_LOSS], rule->progress_amount));
  return fmin(bound, last_fall(member));
}
