#include "posterior_shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hessian.h"
#include "part_file.h"
#include "posterior_plane.h"
#include "run_state.h"

enum { GRID = 51, NUM_LEADING = 100, NUM_CORNERS = 3 };

typedef struct Shape {
  RpinnContext *context;
  const char *folder;
  RpinnProblem *problem;
  RpinnPosterior *posterior;
  RpinnMemberStore *store;
  RpinnDrawPlan plan;
  size_t num_parameters;
  uint64_t corner_draws[NUM_CORNERS][2]; /* (chain, draw) */
  double *corners;                       /* [NUM_CORNERS][N] */
  double *ends;                          /* [num_chains][N] the last draw of each */
  RpinnText *text;                       /* NULL: nobody listens */
} Shape;

/* ---- which draws ---- */

static void choose_corners(Shape *shape) {
  uint64_t last = shape->plan.num_draws - 1;
  const uint64_t within[NUM_CORNERS] = {0, last / 2, last};
  bool has_three = shape->plan.num_chains >= NUM_CORNERS;
  for (uint64_t k = 0; k < NUM_CORNERS; k++) {
    shape->corner_draws[k][0] = has_three ? k : 0;
    shape->corner_draws[k][1] = has_three ? last : within[k];
  }
}

static RpinnStatus take_draw(void *user, const RpinnVisitedDraw *draw) {
  Shape *shape = user;
  size_t n = shape->num_parameters, bytes = n * sizeof(double);
  if (draw->stored->failed) return RPINN_OK;
  if (draw->stored->num_parameters != n)
    return rpinn_fail(shape->context, RPINN_ERROR_INPUT, "the draws of '%s' do not belong to its run.yaml",
                      shape->folder);
  for (size_t k = 0; k < NUM_CORNERS; k++)
    if (draw->chain == shape->corner_draws[k][0] && draw->draw == shape->corner_draws[k][1])
      memcpy(shape->corners + k * n, draw->stored->parameters, bytes);
  if (draw->draw + 1 == shape->plan.num_draws)
    memcpy(shape->ends + draw->chain * n, draw->stored->parameters, bytes);
  return RPINN_OK;
}

static RpinnStatus gather(Shape *shape) {
  RpinnOverride precision = {"precision", "double", "--shape", true};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = &precision};
  char path[RPINN_PATH_SIZE];
  snprintf(path, sizeof path, "%s/run.yaml", shape->folder);
  RPINN_TRY(rpinn_problem_load(shape->context, path, &options, &shape->problem));
  RPINN_TRY(rpinn_posterior_create(shape->context, shape->problem, true, &shape->posterior));
  shape->num_parameters = shape->posterior->model.num_parameters;
  snprintf(path, sizeof path, "%s/checkpoint.db", shape->folder);
  RPINN_TRY(rpinn_member_store_open_existing(shape->context, path, &shape->store));
  RPINN_TRY(rpinn_problem_stored_plan(shape->context, shape->problem, shape->store, &shape->plan));
  if (shape->plan.num_chains * shape->plan.num_draws < NUM_CORNERS)
    return rpinn_fail(shape->context, RPINN_ERROR_INPUT, "a plane needs three draws; '%s' has fewer",
                      shape->folder);
  RpinnArena *arena = shape->posterior->arena;
  shape->corners = RPINN_ARENA_NEW(arena, double, NUM_CORNERS * shape->num_parameters);
  shape->ends = RPINN_ARENA_NEW(arena, double, shape->plan.num_chains * shape->num_parameters);
  if (!shape->corners || !shape->ends) return rpinn_fail_memory(shape->context);
  choose_corners(shape);
  return rpinn_draw_store_visit(shape->context, shape->store, &shape->plan, false, take_draw, shape);
}

static RpinnStatus write_file(const Shape *shape, const char *name, RpinnText *csv) {
  RpinnRunFolder folder = {0};
  snprintf(folder.path, sizeof folder.path, "%s", shape->folder);
  RpinnStatus status = csv->failed ? rpinn_fail_memory(shape->context)
                                   : rpinn_run_folder_write(shape->context, &folder, name, csv);
  rpinn_text_free(csv);
  return status;
}

/* ---- the plane ---- */

static RpinnStatus write_plane(Shape *shape, const RpinnPlane *plane, const RpinnLogDensity *density) {
  RpinnPlaneGrid grid = rpinn_plane_cover(plane, 0.25, GRID, GRID);
  double *values = RPINN_ARENA_NEW(shape->posterior->arena, double, (size_t)GRID *GRID);
  RpinnText csv = {0};
  if (!values) return rpinn_fail_memory(shape->context);
  RPINN_TRY(rpinn_plane_evaluate(plane, density, &grid, values));
  rpinn_text_append(&csv, "x,y,log_density\n");
  for (size_t j = 0; j < GRID; j++)
    for (size_t i = 0; i < GRID; i++)
      rpinn_text_append(&csv, "%.9g,%.9g,%.12g\n", rpinn_plane_grid_x(&grid, i), rpinn_plane_grid_y(&grid, j),
                        values[j * GRID + i]);
  return write_file(shape, "shape_plane.csv", &csv);
}

static RpinnStatus write_points(Shape *shape, const RpinnPlane *plane, const RpinnLogDensity *density) {
  RpinnText csv = {0};
  rpinn_text_append(&csv, "name,x,y,log_density\n");
  for (size_t k = 0; k < NUM_CORNERS; k++) {
    double value;
    RPINN_TRY(density->evaluate(density->data, shape->corners + k * shape->num_parameters, &value, NULL));
    rpinn_text_append(
        &csv, "chain %llu draw %llu,%.9g,%.9g,%.12g\n", (unsigned long long)shape->corner_draws[k][0] + 1,
        (unsigned long long)shape->corner_draws[k][1] + 1, plane->points[k][0], plane->points[k][1], value);
  }
  return write_file(shape, "shape_points.csv", &csv);
}

static RpinnStatus make_plane(Shape *shape, const RpinnLogDensity *density) {
  RpinnPlane *plane;
  size_t n = shape->num_parameters;
  RPINN_TRY(rpinn_plane_create(shape->context, n, shape->corners, shape->corners + n, shape->corners + 2 * n,
                               &plane));
  RpinnStatus status = write_plane(shape, plane, density);
  if (status == RPINN_OK) status = write_points(shape, plane, density);
  if (status == RPINN_OK && shape->text)
    rpinn_text_append(shape->text,
                      "\nplane through draws at (0, 0), (%.4g, 0) and (%.4g, %.4g): shape_plane.csv\n",
                      plane->points[1][0], plane->points[2][0], plane->points[2][1]);
  rpinn_plane_destroy(plane);
  return status;
}

/* ---- spectra ---- */

static void describe(const Shape *shape, uint64_t chain, size_t count, const double *hessian,
                     double asymmetry) {
  size_t num_negative = 0, highest = 0;
  if (!shape->text) return;
  for (size_t i = 0; i < count; i++) {
    num_negative += hessian[i] < 0;
    if (hessian[i] > hessian[highest]) highest = i;
  }
  rpinn_text_append(shape->text,
                    "Hessian of the energy at the end of chain %llu: %zu eigenvalues, largest %.4g, %zu "
                    "negative",
                    (unsigned long long)chain + 1, count, hessian[highest], num_negative);
  if (!isnan(asymmetry)) rpinn_text_append(shape->text, "; asymmetry %.1e", asymmetry);
  rpinn_text_append(shape->text, "\n");
}

/* Both spectra at one point, in falling order: eigenvalues [2][N]. */
static RpinnStatus full_spectra(Shape *shape, const RpinnObjective *energy, const double *theta,
                                double *eigenvalues, double *asymmetry) {
  RpinnLeastSquares squares = rpinn_posterior_least_squares(shape->posterior);
  size_t n = shape->num_parameters;
  RPINN_TRY(rpinn_hessian_spectrum(shape->context, energy, theta, eigenvalues, NULL, asymmetry));
  RPINN_TRY(rpinn_gauss_newton_spectrum(shape->context, &squares, theta, eigenvalues + n));
  for (size_t k = 0; k < 2; k++)
    for (size_t i = 0; i < n / 2; i++) {
      double *pair[2] = {&eigenvalues[k * n + i], &eigenvalues[k * n + n - 1 - i]}, kept = *pair[0];
      *pair[0] = *pair[1];
      *pair[1] = kept;
    }
  return RPINN_OK;
}

static RpinnStatus make_spectra(Shape *shape, const RpinnObjective *energy) {
  size_t n = shape->num_parameters;
  bool is_dense = n <= RPINN_DENSE_SPECTRUM_LIMIT;
  size_t count = is_dense ? n : NUM_LEADING;
  double *eigenvalues = RPINN_ARENA_NEW(shape->posterior->arena, double, 2 * n);
  RpinnText csv = {0};
  if (!eigenvalues) return rpinn_fail_memory(shape->context);
  rpinn_text_append(&csv, "chain,index,hessian,gauss_newton\n");
  RpinnStatus status = RPINN_OK;
  for (uint64_t chain = 0; chain < shape->plan.num_chains && status == RPINN_OK; chain++) {
    const double *theta = shape->ends + chain * n;
    double asymmetry = (double)NAN;
    status = is_dense ? full_spectra(shape, energy, theta, eigenvalues, &asymmetry)
                      : rpinn_hessian_leading(shape->context, energy, theta, count, eigenvalues, NULL);
    if (status != RPINN_OK) break;
    for (size_t i = 0; i < count; i++) {
      rpinn_text_append(&csv, "%llu,%zu,%.12g,", (unsigned long long)chain + 1, i + 1, eigenvalues[i]);
      rpinn_text_append(&csv, is_dense ? "%.12g\n" : "\n", eigenvalues[n + i]);
    }
    describe(shape, chain, count, eigenvalues, asymmetry);
  }
  if (status == RPINN_OK) return write_file(shape, "shape_spectrum.csv", &csv);
  rpinn_text_free(&csv);
  return status;
}

static RpinnStatus make_shape(Shape *shape) {
  RPINN_TRY(gather(shape));
  RpinnPosteriorMember member = {shape->posterior, NULL};
  RpinnObjective energy = rpinn_posterior_objective(&member);
  RpinnLogDensity density = rpinn_log_density_of_objective(&energy);
  RPINN_TRY(make_plane(shape, &density));
  return make_spectra(shape, &energy);
}

RpinnStatus rpinn_posterior_shape(RpinnContext *context, const char *folder, RpinnText *text) {
  Shape shape = {.context = context, .folder = folder, .text = text};
  RpinnStatus status = make_shape(&shape);
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context); /* targets report no message of their own */
  rpinn_member_store_close(shape.store);
  rpinn_posterior_destroy(shape.posterior);
  rpinn_problem_destroy(shape.problem);
  return status;
}
