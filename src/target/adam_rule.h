/* Adam's rule of rpinn/target.h, one iteration at a time. */
#ifndef RPINN_TARGET_ADAM_RULE_H
#define RPINN_TARGET_ADAM_RULE_H

#include "rpinn/target.h"

/* The iteration from the gradient [N] at the state's theta. */
void rpinn_adam_apply(const RpinnAdamRule *rule, RpinnAdamState *state, const double *gradient, size_t N);

#endif
