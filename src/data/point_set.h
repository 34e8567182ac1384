/* Points: from what the problem file says to coordinates. */
#ifndef RPINN_DATA_POINT_SET_H
#define RPINN_DATA_POINT_SET_H

#include "problem.h"
#include "random_stream.h"

typedef struct RpinnPointSet {
  size_t count;
  double *x;     /* [count][num_coordinates] */
  size_t *cells; /* [count] which cell of the truth each point is, or NULL */
} RpinnPointSet;

/* Points that were written to a file with few digits may lie this far outside, as a share of the domain. */
#define RPINN_DOMAIN_TOLERANCE 1e-6

/* Grid, Latin hypercube, Sobol, uniform and listed points, on the region of the spec. The first coordinate
 * runs fastest on grids. A boundary goes side by side: x low, x high, y low, …; a corner belongs to each of
 * its sides. */
RpinnStatus rpinn_point_set_generate(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                                     const RpinnPointSpec *spec, RpinnStream *stream, RpinnPointSet *points);
/* Cell centres of a grid of counts[i] cells per axis, the first coordinate fastest. */
RpinnStatus rpinn_point_set_cells(RpinnContext *context, RpinnArena *arena, const RpinnProblem *problem,
                                  const size_t *counts, RpinnPointSet *points);
/* How many points lie on a side with coordinate `fixed` held, or inside (fixed = num_coordinates). */
size_t rpinn_point_spec_count(const RpinnProblem *problem, const RpinnPointSpec *spec, size_t fixed);

#endif
