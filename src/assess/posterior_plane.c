/* Gram-Schmidt: e1 = (b - a) / |b - a|, e2 = what e1 leaves of c - a, normalised. The projection is taken out twice, so
 * that e2 is orthogonal to rounding however close to the line c lies. */
#include "posterior_plane.h"

#include <math.h>
#include <stdlib.h>

#include "dense_algebra.h"

/* c - a counts as parallel to b - a when less than this share of it is left: the rest would be mostly rounding. */
static const double least_share = 1e-8;

static RpinnPlane *allocate(size_t num_parameters) {
  RpinnPlane *plane = calloc(1, sizeof *plane);
  double *memory = calloc(3 * num_parameters + 1, sizeof *memory);
  if (!plane || !memory) {
    free(plane);
    free(memory);
    return NULL;
  }
  plane->num_parameters = num_parameters;
  plane->origin = memory;
  plane->e1 = memory + num_parameters;
  plane->e2 = memory + 2 * num_parameters;
  return plane;
}

void rpinn_plane_destroy(RpinnPlane *plane) {
  if (!plane) return;
  free(plane->origin);
  free(plane);
}

static void scale(size_t n, double factor, double *x) {
  for (size_t j = 0; j < n; j++) x[j] *= factor;
}

/* e1, e2 and the coordinates, from e1 = b - a and e2 = c - a. */
static RpinnStatus orthonormalise(RpinnContext *context, RpinnPlane *plane) {
  size_t N = plane->num_parameters;
  double to_b = rpinn_dense_norm(N, plane->e1), to_c = rpinn_dense_norm(N, plane->e2), along = 0;
  if (!isfinite(to_b) || !isfinite(to_c))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "a point is not finite; expected three finite ones");
  if (to_b == 0 || to_c == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the first and the %s point are the same; expected three that span a plane",
                      to_b == 0 ? "second" : "third");
  scale(N, 1 / to_b, plane->e1);
  for (int pass = 0; pass < 2; pass++) {
    double projection = rpinn_dense_dot(N, plane->e1, plane->e2);
    rpinn_dense_add(N, -projection, plane->e1, plane->e2);
    along += projection;
  }
  double across = rpinn_dense_norm(N, plane->e2);
  if (!(across > least_share * to_c))
    return rpinn_fail(
        context, RPINN_ERROR_INPUT,
        "the three points lie on a line (the third is %.3g away from it); expected three that span a "
        "plane",
        across);
  scale(N, 1 / across, plane->e2);
  plane->points[1][0] = to_b;
  plane->points[2][0] = along;
  plane->points[2][1] = across;
  return RPINN_OK;
}

RpinnStatus rpinn_plane_create(RpinnContext *context, size_t num_parameters, const double *a, const double *b,
                               const double *c, RpinnPlane **plane) {
  *plane = NULL;
  RpinnPlane *result = allocate(num_parameters);
  if (!result) return rpinn_fail_memory(context);
  for (size_t j = 0; j < num_parameters; j++) {
    result->origin[j] = a[j];
    result->e1[j] = b[j] - a[j];
    result->e2[j] = c[j] - a[j];
  }
  RpinnStatus status = orthonormalise(context, result);
  if (status == RPINN_OK)
    *plane = result;
  else
    rpinn_plane_destroy(result);
  return status;
}

void rpinn_plane_theta(const RpinnPlane *plane, double x, double y, double *theta) {
  for (size_t j = 0; j < plane->num_parameters; j++)
    theta[j] = plane->origin[j] + x * plane->e1[j] + y * plane->e2[j];
}

RpinnPlaneGrid rpinn_plane_cover(const RpinnPlane *plane, double margin, size_t num_x, size_t num_y) {
  double low[2] = {0, 0}, high[2] = {0, 0};
  for (size_t k = 0; k < 3; k++)
    for (size_t i = 0; i < 2; i++) {
      low[i] = fmin(low[i], plane->points[k][i]);
      high[i] = fmax(high[i], plane->points[k][i]);
    }
  double wider = margin * (high[0] - low[0]), taller = margin * (high[1] - low[1]);
  return (RpinnPlaneGrid){num_x, num_y, low[0] - wider, high[0] + wider, low[1] - taller, high[1] + taller};
}

static double at(double low, double high, size_t count, size_t index) {
  double share = (double)index / (double)(count - 1);
  return (1 - share) * low + share * high;
}

double rpinn_plane_grid_x(const RpinnPlaneGrid *grid, size_t index) {
  return at(grid->x_low, grid->x_high, grid->num_x, index);
}

double rpinn_plane_grid_y(const RpinnPlaneGrid *grid, size_t index) {
  return at(grid->y_low, grid->y_high, grid->num_y, index);
}

RpinnStatus rpinn_plane_evaluate(const RpinnPlane *plane, const RpinnLogDensity *density,
                                 const RpinnPlaneGrid *grid, double *values) {
  double *theta = malloc((plane->num_parameters + 1) * sizeof *theta);
  RpinnStatus status = theta ? RPINN_OK : RPINN_ERROR_MEMORY;
  for (size_t row = 0; row < grid->num_y && status == RPINN_OK; row++)
    for (size_t column = 0; column < grid->num_x && status == RPINN_OK; column++) {
      rpinn_plane_theta(plane, rpinn_plane_grid_x(grid, column), rpinn_plane_grid_y(grid, row), theta);
      status = density->evaluate(density->data, theta, &values[row * grid->num_x + column], NULL);
    }
  free(theta);
  return status;
}
