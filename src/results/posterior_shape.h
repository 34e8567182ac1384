/* The shape of a finished run's posterior: the plane through three of its draws, and the curvature at the end of its
 * chains. Members and particles count as one chain. All in double, whatever the run was made in. */
#ifndef RPINN_RESULTS_POSTERIOR_SHAPE_H
#define RPINN_RESULTS_POSTERIOR_SHAPE_H

#include "posterior_plane.h"
#include "rpinn/run.h"
#include "text.h"

enum { RPINN_SHAPE_CORNERS = 3 };

/* A draw that spans the plane. */
typedef struct RpinnShapeCorner {
  uint64_t chain, draw;
  double x, y, log_density;
} RpinnShapeCorner;

/* Which draws span the plane, and of how many chains the curvature at the end is taken. */
typedef struct RpinnShapePlan {
  uint64_t chains[RPINN_SHAPE_CORNERS], draws[RPINN_SHAPE_CORNERS]; /* from 0 */
  uint64_t num_spectra;
} RpinnShapePlan;

typedef struct RpinnPosteriorShape {
  RpinnRun *run; /* in double */
  RpinnShapeCorner
      corners[RPINN_SHAPE_CORNERS]; /* the last draws of the first three chains, or the first, the middle
                                                    and the last one where there are fewer chains */
  RpinnPlaneGrid grid;
  double *plane; /* [grid.num_y][grid.num_x] the log density */
  /* Eigenvalues of the energy's second derivatives at the last draw of the first num_spectra chains (of all, unless
   * planned otherwise), in falling order: */
  uint64_t num_spectra;
  size_t num_eigenvalues;
  double *
      hessian; /* [num_spectra][num_eigenvalues]: all of them, or beyond 4000 parameters the leading hundred by
                           magnitude */
  double *gauss_newton; /* likewise; NULL where the first are not all */
  double *asymmetry;    /* [num_spectra] an estimate of the errors; NaN where it is not known */
} RpinnPosteriorShape;

/* Bad input: no finished run, fewer than three draws, or draws on a line. The caller destroys it. */
RpinnStatus rpinn_posterior_shape_create(RpinnContext *context, const char *folder,
                                         RpinnPosteriorShape **shape);
/* The same by a plan. Bad input: draws that the run has not. */
RpinnStatus rpinn_posterior_shape_create_by(RpinnContext *context, const char *folder,
                                            const RpinnShapePlan *plan, RpinnPosteriorShape **shape);
void rpinn_posterior_shape_destroy(RpinnPosteriorShape *shape);

/* Into a folder:
 *   shape_plane.csv     x,y,log_density on the grid
 *   shape_points.csv    name,x,y,log_density of the three draws
 *   shape_spectrum.csv  chain,index,hessian,gauss_newton */
RpinnStatus rpinn_posterior_shape_write(RpinnContext *context, const RpinnPosteriorShape *shape,
                                        const char *folder);
/* In a few words what is there. */
void rpinn_posterior_shape_describe(const RpinnPosteriorShape *shape, RpinnText *text);

#endif
