#include "posterior_shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hessian.h"
#include "run_record.h"
#include "run_reopen.h"
#include "unknown_noise.h"

enum { GRID = 51, NUM_LEADING = 100 };

typedef struct Gathering {
  RpinnContext *context;
  RpinnPosteriorShape *shape;
  size_t num_parameters;
  bool found[RPINN_SHAPE_CORNERS];
  double *corners; /* [RPINN_SHAPE_CORNERS][N] */
  double *ends;    /* [num_chains][N] the last draw of each */
} Gathering;

/* ---- which draws ---- */

static RpinnStatus choose_corners(RpinnContext *context, RpinnPosteriorShape *shape,
                                  const RpinnShapePlan *plan) {
  uint64_t last = shape->run->plan.num_draws - 1, num_chains = shape->run->plan.num_chains;
  shape->num_spectra = plan && plan->num_spectra < num_chains ? plan->num_spectra : num_chains;
  for (size_t k = 0; plan && k < RPINN_SHAPE_CORNERS; k++) {
    if (plan->chains[k] >= num_chains || plan->draws[k] > last)
      return rpinn_fail(context, RPINN_ERROR_INPUT, "this run has no draw %llu of chain %llu",
                        (unsigned long long)plan->draws[k] + 1, (unsigned long long)plan->chains[k] + 1);
    shape->corners[k].chain = plan->chains[k];
    shape->corners[k].draw = plan->draws[k];
  }
  if (plan) return RPINN_OK;
  const uint64_t within[RPINN_SHAPE_CORNERS] = {0, last / 2, last};
  bool has_three = shape->run->plan.num_chains >= RPINN_SHAPE_CORNERS;
  for (uint64_t k = 0; k < RPINN_SHAPE_CORNERS; k++) {
    shape->corners[k].chain = has_three ? k : 0;
    shape->corners[k].draw = has_three ? last : within[k];
  }
  return RPINN_OK;
}

/* In place of a member that failed the next one stands, and the last good one at the end. */
static RpinnStatus take_draw(void *user, const RpinnVisitedDraw *draw) {
  Gathering *gathering = user;
  size_t n = gathering->num_parameters, bytes = n * sizeof(double);
  if (draw->stored->failed) return RPINN_OK;
  if (draw->stored->num_parameters != rpinn_posterior_num_drawn(gathering->shape->run->posteriors[0]))
    return rpinn_fail(gathering->context, RPINN_ERROR_INPUT,
                      "the draws of this run do not belong to its run.yaml");
  for (size_t k = 0; k < RPINN_SHAPE_CORNERS; k++) {
    RpinnShapeCorner *corner = &gathering->shape->corners[k];
    if (draw->chain != corner->chain || draw->draw < corner->draw || gathering->found[k]) continue;
    corner->draw = draw->draw;
    gathering->found[k] = true;
    memcpy(gathering->corners + k * n, draw->stored->parameters, bytes);
    break; /* one draw is one corner */
  }
  memcpy(gathering->ends + draw->chain * n, draw->stored->parameters, bytes);
  return RPINN_OK;
}

static RpinnStatus gather(Gathering *gathering, const RpinnShapePlan *plan) {
  RpinnPosteriorShape *shape = gathering->shape;
  RpinnRun *run = shape->run;
  RpinnArena *arena = run->posteriors[0]->arena;
  size_t n = gathering->num_parameters = run->posteriors[0]->model.num_parameters;
  if (run->plan.num_chains * run->plan.num_draws < RPINN_SHAPE_CORNERS)
    return rpinn_fail(gathering->context, RPINN_ERROR_INPUT, "a plane needs three draws; this run has fewer");
  gathering->corners = RPINN_ARENA_NEW(arena, double, RPINN_SHAPE_CORNERS *n);
  gathering->ends = RPINN_ARENA_NEW(arena, double, run->plan.num_chains *n);
  if (!gathering->corners || !gathering->ends) return rpinn_fail_memory(gathering->context);
  RPINN_TRY(choose_corners(gathering->context, shape, plan));
  RPINN_TRY(rpinn_draw_store_visit(gathering->context, run->store, &run->plan, false, take_draw, gathering));
  if (!gathering->found[2]) memcpy(gathering->corners + 2 * n, gathering->ends, n * sizeof(double));
  return RPINN_OK;
}

/* ---- the plane ---- */

static RpinnStatus evaluate_plane(Gathering *gathering, const RpinnPlane *plane,
                                  const RpinnLogDensity *density) {
  RpinnPosteriorShape *shape = gathering->shape;
  shape->grid = rpinn_plane_cover(plane, 0.25, GRID, GRID);
  shape->plane = RPINN_ARENA_NEW(shape->run->posteriors[0]->arena, double, (size_t)GRID *GRID);
  if (!shape->plane) return rpinn_fail_memory(gathering->context);
  RPINN_TRY(rpinn_plane_evaluate(plane, density, &shape->grid, shape->plane));
  for (size_t k = 0; k < RPINN_SHAPE_CORNERS; k++) {
    const double *theta = gathering->corners + k * gathering->num_parameters;
    shape->corners[k].x = plane->points[k][0];
    shape->corners[k].y = plane->points[k][1];
    RPINN_TRY(density->evaluate(density->data, theta, &shape->corners[k].log_density, NULL));
  }
  return RPINN_OK;
}

static RpinnStatus make_plane(Gathering *gathering, const RpinnLogDensity *density) {
  RpinnPlane *plane;
  size_t n = gathering->num_parameters;
  const double *corners = gathering->corners;
  RPINN_TRY(rpinn_plane_create(gathering->context, n, corners, corners + n, corners + 2 * n, &plane));
  RpinnStatus status = evaluate_plane(gathering, plane, density);
  rpinn_plane_destroy(plane);
  return status;
}

/* ---- spectra ---- */

static void reverse(size_t count, double *values) {
  for (size_t i = 0; i < count / 2; i++) {
    double kept = values[i];
    values[i] = values[count - 1 - i];
    values[count - 1 - i] = kept;
  }
}

/* At one point. */
static RpinnStatus make_spectrum(Gathering *gathering, const RpinnObjective *energy, uint64_t chain) {
  RpinnPosteriorShape *shape = gathering->shape;
  size_t n = gathering->num_parameters, count = shape->num_eigenvalues;
  const double *theta = gathering->ends + chain * n;
  double *hessian = shape->hessian + chain * count;
  if (!shape->gauss_newton)
    return rpinn_hessian_leading(gathering->context, energy, theta, count, hessian, NULL);
  double *gauss_newton = shape->gauss_newton + chain * count;
  RpinnPosteriorMember member = {.posterior = shape->run->posteriors[0], .context = gathering->context};
  RpinnLeastSquares squares = rpinn_posterior_least_squares(&member);
  RPINN_TRY(
      rpinn_hessian_spectrum(gathering->context, energy, theta, hessian, NULL, &shape->asymmetry[chain]));
  RPINN_TRY(rpinn_gauss_newton_spectrum(gathering->context, &squares, theta, gauss_newton));
  reverse(count, hessian);
  reverse(count, gauss_newton);
  return RPINN_OK;
}

static RpinnStatus make_spectra(Gathering *gathering, const RpinnObjective *energy) {
  RpinnPosteriorShape *shape = gathering->shape;
  RpinnArena *arena = shape->run->posteriors[0]->arena;
  size_t n = gathering->num_parameters, num_chains = shape->num_spectra;
  bool is_dense = n <= RPINN_DENSE_SPECTRUM_LIMIT;
  size_t count = shape->num_eigenvalues = is_dense ? n : NUM_LEADING;
  shape->hessian = RPINN_ARENA_NEW(arena, double, num_chains *count + 1);
  shape->asymmetry = RPINN_ARENA_NEW(arena, double, num_chains + 1);
  if (is_dense) shape->gauss_newton = RPINN_ARENA_NEW(arena, double, num_chains *count + 1);
  if (!shape->hessian || !shape->asymmetry || (is_dense && !shape->gauss_newton))
    return rpinn_fail_memory(gathering->context);
  for (uint64_t chain = 0; chain < num_chains; chain++) {
    shape->asymmetry[chain] = (double)NAN;
    RPINN_TRY(make_spectrum(gathering, energy, chain));
  }
  return RPINN_OK;
}

/* ---- the whole ---- */

/* The energy, until the caller wants an end: planes and spectra take many of its values. */
typedef struct StoppableEnergy {
  RpinnContext *context;
  RpinnObjective energy;
} StoppableEnergy;

static RpinnStatus evaluate_unless_stopped(void *data, const double *theta, double *value, double *gradient) {
  const StoppableEnergy *own = data;
  if (rpinn_is_interrupted(own->context)) return rpinn_fail_interrupted(own->context);
  return own->energy.evaluate(own->energy.data, theta, value, gradient);
}

static RpinnStatus make_shape(RpinnContext *context, const char *folder, const RpinnShapePlan *plan,
                              RpinnPosteriorShape *shape) {
  RpinnOverride precision = {"precision", "double", "--shape", true};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = &precision};
  RPINN_TRY(rpinn_run_open_finished(context, folder, &options, &shape->run));
  Gathering gathering = {.context = context, .shape = shape};
  RPINN_TRY(gather(&gathering, plan));
  RpinnPosteriorMember member = {.posterior = shape->run->posteriors[0], .context = context};
  StoppableEnergy stoppable = {context, rpinn_posterior_objective(&member)};
  RpinnObjective energy = {.num_parameters = stoppable.energy.num_parameters,
                           .data = &stoppable,
                           .evaluate = evaluate_unless_stopped,
                           .epsilon = stoppable.energy.epsilon};
  RpinnLogDensity density = rpinn_log_density_of_objective(&energy);
  RPINN_TRY(make_plane(&gathering, &density));
  return make_spectra(&gathering, &energy);
}

RpinnStatus rpinn_posterior_shape_create(RpinnContext *context, const char *folder,
                                         RpinnPosteriorShape **shape) {
  return rpinn_posterior_shape_create_by(context, folder, NULL, shape);
}

RpinnStatus rpinn_posterior_shape_create_by(RpinnContext *context, const char *folder,
                                            const RpinnShapePlan *plan, RpinnPosteriorShape **shape) {
  *shape = calloc(1, sizeof **shape);
  if (!*shape) return rpinn_fail_memory(context);
  RpinnStatus status = make_shape(context, folder, plan, *shape);
  if (status == RPINN_OK) return RPINN_OK;
  if (status == RPINN_ERROR_MEMORY) rpinn_fail_memory(context); /* targets report no message of their own */
  if (!context->error.file[0]) snprintf(context->error.file, sizeof context->error.file, "%.500s", folder);
  rpinn_posterior_shape_destroy(*shape);
  *shape = NULL;
  return status;
}

void rpinn_posterior_shape_destroy(RpinnPosteriorShape *shape) {
  if (!shape) return;
  rpinn_run_destroy(shape->run);
  free(shape);
}

/* ---- files and words ---- */

static RpinnStatus write_file(RpinnContext *context, const char *folder, const char *name, RpinnText *csv) {
  RpinnStatus status = rpinn_folder_write(context, folder, name, csv);
  rpinn_text_free(csv);
  return status;
}

RpinnStatus rpinn_posterior_shape_write(RpinnContext *context, const RpinnPosteriorShape *shape,
                                        const char *folder) {
  RpinnText csv = {0};
  size_t count = shape->num_eigenvalues;
  rpinn_text_append(&csv, "x,y,log_density\n");
  for (size_t j = 0; j < shape->grid.num_y; j++)
    for (size_t i = 0; i < shape->grid.num_x; i++)
      rpinn_text_append(&csv, "%.9g,%.9g,%.12g\n", rpinn_plane_grid_x(&shape->grid, i),
                        rpinn_plane_grid_y(&shape->grid, j), shape->plane[j * shape->grid.num_x + i]);
  RPINN_TRY(write_file(context, folder, "shape_plane.csv", &csv));
  rpinn_text_append(&csv, "name,x,y,log_density\n");
  for (size_t k = 0; k < RPINN_SHAPE_CORNERS; k++) {
    const RpinnShapeCorner *corner = &shape->corners[k];
    rpinn_text_append(&csv, "chain %llu draw %llu,%.9g,%.9g,%.12g\n", (unsigned long long)corner->chain + 1,
                      (unsigned long long)corner->draw + 1, corner->x, corner->y, corner->log_density);
  }
  RPINN_TRY(write_file(context, folder, "shape_points.csv", &csv));
  rpinn_text_append(&csv, "chain,index,hessian,gauss_newton\n");
  for (uint64_t chain = 0; chain < shape->num_spectra; chain++)
    for (size_t i = 0; i < count; i++) {
      rpinn_text_append(&csv, "%llu,%zu,%.12g,", (unsigned long long)chain + 1, i + 1,
                        shape->hessian[chain * count + i]);
      if (shape->gauss_newton) rpinn_text_append(&csv, "%.12g", shape->gauss_newton[chain * count + i]);
      rpinn_text_append(&csv, "\n");
    }
  return write_file(context, folder, "shape_spectrum.csv", &csv);
}

static void describe_spectrum(const RpinnPosteriorShape *shape, uint64_t chain, RpinnText *text) {
  size_t count = shape->num_eigenvalues, num_negative = 0;
  const double *hessian = shape->hessian + chain * count;
  double highest = hessian[0];
  for (size_t i = 0; i < count; i++) {
    num_negative += hessian[i] < 0;
    highest = fmax(highest, hessian[i]);
  }
  rpinn_text_append(text,
                    "Hessian of the energy at the end of chain %llu: %zu eigenvalues, largest %.4g, %zu "
                    "negative",
                    (unsigned long long)chain + 1, count, highest, num_negative);
  if (!isnan(shape->asymmetry[chain])) rpinn_text_append(text, "; asymmetry %.1e", shape->asymmetry[chain]);
  rpinn_text_append(text, "\n");
}

void rpinn_posterior_shape_describe(const RpinnPosteriorShape *shape, RpinnText *text) {
  rpinn_text_append(text, "\nplane through draws at (0, 0), (%.4g, 0) and (%.4g, %.4g): shape_plane.csv\n",
                    shape->corners[1].x, shape->corners[2].x, shape->corners[2].y);
  for (uint64_t chain = 0; chain < shape->num_spectra; chain++) describe_spectrum(shape, chain, text);
}
