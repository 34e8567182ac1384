/* A network linearised in its parameters: the channels of u(x; theta*) and their change along theta - theta*, which is
 *
 *   u_lin(x) = u(x; theta*) + du/dtheta (theta - theta*)                and likewise for every derivative of u in x
 *
 * Forward through the layers, a block of points at a time, with a dot for what changes (direction dW, db):
 *
 *   z.   = W a. + dW a + db        z_d. = W a_d. + dW a_d        z_L. = W a_L. + dW a_L
 *   a.   = s' z.
 *   a_d. = s' z_d. + s'' z. z_d
 *   a_L. = s' z_L. + s'' (z. z_L + Q.) + s''' z. Q,              Q = sum_{i<=j} c_ij z_i z_j
 *
 * In double. Where theta enters linearly (trainable: output) u_lin is u(x; theta) to rounding. */
#ifndef RPINN_NETWORK_NETWORK_TANGENT_H
#define RPINN_NETWORK_NETWORK_TANGENT_H

#include "network.h"

enum { RPINN_TANGENT_POINTS = 32 }; /* of a block, at most */

/* Numbers that rpinn_network_tangent needs to work with. */
size_t rpinn_network_tangent_size(const RpinnNetwork *network, const RpinnChannelSet *set);
/* values [set->count][RPINN_TANGENT_POINTS]: the channels of u_lin at points [num_points][num_coordinates], num_points at most
 * RPINN_TANGENT_POINTS. at: theta*, direction: theta - theta*, both like theta. */
void rpinn_network_tangent(const RpinnNetwork *network, const RpinnChannelSet *set, const double *at,
                           const double *direction, size_t num_coordinates, size_t num_points,
                           const double *points, double *memory, double *values);

#endif
