/* The shape of a run's posterior: the plane through three of its draws, and the curvature at the end of its chains. */
#ifndef RPINN_STUDY_POSTERIOR_SHAPE_H
#define RPINN_STUDY_POSTERIOR_SHAPE_H

#include "context.h"
#include "text.h"

/* Writes into the run's folder
 *   shape_plane.csv     x,y,log_density on a grid of the plane
 *   shape_points.csv    name,x,y,log_density of the three draws that span it: the last ones of the first three chains, or
 *                       the first, the middle and the last one where there are fewer
 *   shape_spectrum.csv  chain,index,hessian,gauss_newton: eigenvalues of the energy at the last draw of each chain, in
 *                       falling order; beyond 4000 parameters the leading hundred by magnitude, without the second
 * and says in a few words what is there. All in double. */
RpinnStatus rpinn_posterior_shape(RpinnContext *context, const char *folder, RpinnText *text);

#endif
