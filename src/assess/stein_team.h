/* rpinn_stein_discrepancy by the threads of a team, with the same bits. */
#ifndef RPINN_ASSESS_STEIN_TEAM_H
#define RPINN_ASSESS_STEIN_TEAM_H

#include "rpinn/stein.h"
#include "thread_team.h"

/* team NULL: by the caller alone. */
RpinnStatus rpinn_stein_discrepancy_by(RpinnContext *context, RpinnTeam *team, size_t num_threads,
                                       size_t num_points, size_t num_parameters, const double *points,
                                       const double *gradients, RpinnSteinDiscrepancy *discrepancy);

#endif
