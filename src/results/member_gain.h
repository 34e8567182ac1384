/* What a member still had to gain when it stopped. */
#ifndef RPINN_RESULTS_MEMBER_GAIN_H
#define RPINN_RESULTS_MEMBER_GAIN_H

#include "member_store.h"
#include "rpinn/run.h"

typedef struct RpinnGainRule {
  double progress_tolerance, progress_amount; /* of the stop rule */
  double widest_prior;                        /* the largest deviation of a parameter's prior */
} RpinnGainRule;

RpinnGainRule rpinn_gain_rule_of(const RpinnRun *run);
/* In nats. A Gauss–Newton step gains at most g^2 s^2 / 2, because its curvature is nowhere below that of the prior, 1 / s^2.
 * Before that bound is small: what the stop rule let pass, or what was gained in the end where only the budget stopped it. */
double rpinn_member_gain(const RpinnGainRule *rule, const RpinnStoredMember *member);

#endif
