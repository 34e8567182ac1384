/* Method rpinn: minimisers of energies with noise of their own on data, residuals and prior. */
#include "method_members.h"

const RpinnMethod rpinn_method_rpinn = {
    .about = {.title = "rPINN",
              .summary = "randomised PINNs: each draw minimises an energy with noise of its own"},
    .meaning = "Randomised PINNs: every member minimises the loss with noise of its own on data, "
               "residuals and prior, and stands for a draw from the posterior.",
    RPINN_METHOD_OF_MINIMISERS,
    .sections = {RPINN_SECTION_MEMBERS, RPINN_SECTION_CORRECTION},
    .has_offsets = true,
    .weigher = &rpinn_gauss_newton_weigher,
    .can_be_continued = true,
    .plan = rpinn_members_plan,
    .describe_settings = rpinn_members_describe_settings,
};
