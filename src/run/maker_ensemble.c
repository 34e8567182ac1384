/* Method ensemble: minimisers of one energy, each from a start of its own. */
#include "maker_members.h"

const RpinnDrawMaker rpinn_maker_ensemble = {
    RPINN_MAKER_OF_MINIMISERS,
    .splits = true,
    .prior_at_minimum = true,
    .check_settings = rpinn_members_check_settings,
};
