/* The most probable point of a posterior, at which it is linearised or draws start: sought once, and kept in the store. Where
 * the scale of the prior was chosen from the data, it is the one that was found with the scale. */
#ifndef RPINN_RUN_LAPLACE_MAP_H
#define RPINN_RUN_LAPLACE_MAP_H

#include "double_target.h"
#include "linearisation.h"
#include "run_progress.h"

/* Fill run->laplace: as an earlier session left it in the store, or found now, on all threads, and then put there. Depends on
 * the posterior and its seed alone. driver->interrupted where the caller wanted an end; then there is none. */
RpinnStatus rpinn_laplace_map_find(RpinnContext *context, RpinnRunProgress *progress);

/* The point alone, into theta [N]: a minimiser as far as Levenberg–Marquardt went, where draws start from. In the store and
 * driver->interrupted as above. */
RpinnStatus rpinn_laplace_map_seek(RpinnContext *context, RpinnRunProgress *progress, double *theta);

/* E without offsets at theta [N], in double; rows [M] receives the whitened rows. */
RpinnStatus rpinn_laplace_energy(const RpinnLeastSquares *squares, const double *theta, double *rows,
                                 double *energy);

#endif
