/* Method rpinn: minimisers of energies with noise of their own on data, residuals and prior. */
#include "maker_members.h"

const RpinnDrawMaker rpinn_maker_rpinn = {
    RPINN_MAKER_OF_MINIMISERS,
    .splits = true,
    .check_settings = rpinn_members_check_settings,
};
