/* What draws predict, as numbers to compare them by. The features of a draw (theta, eta) are
 *
 *   (R_t(x_i; theta) - d_i) / s_ti        what every fitted term expects at its points, in units of its noise: the M rows of the model
 *   (theta_u - mean_u) / s_u              unknowns, in units of their prior; as they are where they have none
 *   (eta_k - m_k) / v_k                   logarithms of noise that is not known
 *
 * where noise that is not known counts as what it starts at: a draw's own would make draws differ by their units. */
#ifndef RPINN_POSTERIOR_DRAW_FEATURES_H
#define RPINN_POSTERIOR_DRAW_FEATURES_H

#include "posterior.h"

/* How many there are. */
size_t rpinn_draw_features_count(const RpinnPosterior *posterior);
/* Their rows and Jacobian for groups of draws, whatever the member. Borrows the posterior, and lives in its arena. */
RpinnStatus rpinn_draw_features_create(RpinnContext *context, RpinnPosterior *posterior,
                                       RpinnBatchLeastSquares *features);

#endif
