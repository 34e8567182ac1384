/* A plane through three parameter vectors, and a log density on it: what lies between three modes or members? */
#ifndef RPINN_ASSESS_POSTERIOR_PLANE_H
#define RPINN_ASSESS_POSTERIOR_PLANE_H

#include "context.h"
#include "rpinn/target.h"

/* theta(x, y) = a + x e1 + y e2 with orthonormal e1 along b - a and e2 towards c. */
typedef struct RpinnPlane {
  size_t num_parameters;
  double *origin, *e1, *e2; /* [N] */
  double points[3][2];      /* (x, y) of a, b and c */
} RpinnPlane;

/* Copies a, b, c [N]. Points that coincide or lie on a line are bad input. */
RpinnStatus rpinn_plane_create(RpinnContext *context, size_t num_parameters, const double *a, const double *b,
                               const double *c, RpinnPlane **plane);
void rpinn_plane_destroy(RpinnPlane *plane);
/* theta [N] at (x, y). */
void rpinn_plane_theta(const RpinnPlane *plane, double x, double y, double *theta);

/* Evenly spaced points, ends included. */
typedef struct RpinnPlaneGrid {
  size_t num_x, num_y; /* at least 2 each */
  double x_low, x_high, y_low, y_high;
} RpinnPlaneGrid;

/* The smallest rectangle around the three points, widened on every side by `margin` of its width and height. */
RpinnPlaneGrid rpinn_plane_cover(const RpinnPlane *plane, double margin, size_t num_x, size_t num_y);
double rpinn_plane_grid_x(const RpinnPlaneGrid *grid, size_t index);
double rpinn_plane_grid_y(const RpinnPlaneGrid *grid, size_t index);
/* values [num_y][num_x]: the log density; what is not finite stays so. */
RpinnStatus rpinn_plane_evaluate(const RpinnPlane *plane, const RpinnLogDensity *density,
                                 const RpinnPlaneGrid *grid, double *values);

#endif
