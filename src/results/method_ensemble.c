/* Method ensemble: minimisers of one energy, each from a start of its own. */
#include "method_members.h"

const RpinnMethod rpinn_method_ensemble = {
    .about = {.title = "ensemble",
              .summary = "a deep ensemble: minimisers of one energy from starts of their own"},
    .meaning = "A deep ensemble: every member minimises the same loss from a start of its own.",
    RPINN_METHOD_OF_MINIMISERS,
    .sections = {RPINN_SECTION_MEMBERS},
    .plan = rpinn_members_plan,
    .describe_settings = rpinn_members_describe_settings,
    .caution = "The spread of an ensemble is that of its starts and not of the posterior: its bands mean no "
               "probability. Use "
               "--method rpinn, nuts or laplace for bands.",
};
