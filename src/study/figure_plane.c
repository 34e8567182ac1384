/* Where the chains of the non-linear problem stand: fig-nuts-plane.
 *
 *   (a) the log posterior density on the plane through the last draws of three chains that predict u differently: those
 *       with the smallest, the middle and the largest error of u
 *   (b) … through the first, the middle and the last draw of the first chain
 *   (c) eigenvalues of the energy's Hessian at the last draw of every chain */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drop_map.h"
#include "posterior_shape.h"
#include "reproduce_figures.h"
#include "reproduce_run.h"

enum { NUM_PLANES = 2 };

typedef struct Plane {
  RpinnPlaneGrid grid;
  double *values; /* [num_y][num_x] */
  RpinnShapeCorner corners[RPINN_SHAPE_CORNERS];
} Plane;

typedef struct Gathered {
  Plane planes[NUM_PLANES];
  size_t num_spectra, num_eigenvalues;
  double *eigenvalues; /* [num_spectra][num_eigenvalues] falling */
} Gathered;

/* ---- which draws ---- */

enum { MAX_CHAINS = 64 };

/* Chains by rising rl2 of u. Returns how many there are. */
static size_t sort_chains(const RpinnMadeRun *made, size_t order[MAX_CHAINS]) {
  const RpinnJsonValue *list =
      rpinn_json_find(rpinn_json_find(made->finished.summary, "chains"), "per_chain");
  double errors[MAX_CHAINS];
  size_t count = 0;
  for (const RpinnJsonValue *item = list ? list->first : NULL; item && count < MAX_CHAINS;
       item = item->next) {
    const char *quantity = made->run->paper_case->quantities[0];
    double error =
        rpinn_summary_number(rpinn_json_find(rpinn_json_find(item, "quantities"), quantity), "rl2");
    size_t at = count;
    for (; at && errors[at - 1] > error; at--) {
      errors[at] = errors[at - 1];
      order[at] = order[at - 1];
    }
    errors[at] = error;
    order[at] = count++;
  }
  return count;
}

static RpinnStatus plan_planes(const RpinnMadeRun *made, RpinnShapePlan plans[NUM_PLANES]) {
  size_t order[MAX_CHAINS], count = sort_chains(made, order);
  uint64_t last = made->plan.num_draws - 1;
  if (count < RPINN_SHAPE_CORNERS)
    return rpinn_fail(made->context, RPINN_ERROR_INPUT, "found %zu chains, expected three at least", count);
  plans[0] =
      (RpinnShapePlan){.chains = {order[0], order[count / 2], order[count - 1]}, .draws = {last, last, last}};
  plans[1] = (RpinnShapePlan){.draws = {0, last / 2, last}};
  /* Each takes half a minute: one will do where nothing is judged. */
  plans[1].num_spectra = made->reproduction->scale == RPINN_SCALE_QUICK ? 1 : made->plan.num_chains;
  return RPINN_OK;
}

/* ---- gathering ---- */

static RpinnStatus keep(RpinnMadeRun *made, const RpinnPosteriorShape *shape, Plane *plane) {
  RpinnArena *arena = made->reproduction->arena;
  Gathered *gathered = made->reproduction->own;
  size_t count = shape->grid.num_x * shape->grid.num_y, all = shape->num_spectra * shape->num_eigenvalues;
  plane->grid = shape->grid;
  plane->values = RPINN_ARENA_NEW(arena, double, count);
  memcpy(plane->corners, shape->corners, sizeof plane->corners);
  if (!plane->values) return rpinn_fail_memory(made->context);
  memcpy(plane->values, shape->plane, count * sizeof(double));
  if (!all) return RPINN_OK;
  gathered->num_spectra = shape->num_spectra;
  gathered->num_eigenvalues = shape->num_eigenvalues;
  gathered->eigenvalues = RPINN_ARENA_NEW(arena, double, all);
  if (!gathered->eigenvalues) return rpinn_fail_memory(made->context);
  memcpy(gathered->eigenvalues, shape->hessian, all * sizeof(double));
  return RPINN_OK;
}

static RpinnStatus take(RpinnMadeRun *made) {
  RpinnShapePlan plans[NUM_PLANES];
  Gathered *gathered = made->reproduction->own;
  RPINN_TRY(plan_planes(made, plans));
  rpinn_made_run_release(made);
  for (size_t k = 0; k < NUM_PLANES; k++) {
    RpinnPosteriorShape *shape;
    RPINN_TRY(rpinn_posterior_shape_create_by(made->context, made->folder, &plans[k], &shape));
    RpinnStatus status = keep(made, shape, &gathered->planes[k]);
    rpinn_posterior_shape_destroy(shape);
    RPINN_TRY(status);
  }
  return RPINN_OK;
}

static RpinnStatus plan(RpinnContext *context, RpinnReproduction *reproduction) {
  reproduction->own = RPINN_ARENA_NEW(reproduction->arena, Gathered, 1);
  return reproduction->own ? rpinn_reproduction_plan(context, reproduction) : rpinn_fail_memory(context);
}

/* ---- drawing ---- */

static RpinnStatus draw_plane(RpinnContext *context, RpinnSheet *sheet, RpinnText *page, const Plane *plane,
                              const char *title) {
  static const RpinnPointStyle points = {RPINN_MARKER_DIAMOND, 4, "#ffffff", RPINN_INK_BLACK};
  const RpinnPlaneGrid *grid = &plane->grid;
  RpinnDropMap map = {grid->num_x, grid->num_y,  grid->x_low,   grid->x_high,
                      grid->y_low, grid->y_high, plane->values, -(double)INFINITY};
  RpinnAxis colours;
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .title = title,
                    .frame = {420, 350, 58, 74, 20, 42},
                    .x = {.label = "distance in parameters", .low = grid->x_low, .high = grid->x_high},
                    .y = {.label = "distance in parameters", .low = grid->y_low, .high = grid->y_high},
                    .without_grid = true};
  for (size_t k = 0; k < RPINN_SHAPE_CORNERS; k++)
    map.highest = fmax(map.highest, plane->corners[k].log_density);
  rpinn_plot_open(&plot, title);
  if (rpinn_plot_drop_map(&plot, &map, &colours) != RPINN_OK) return rpinn_fail_memory(context);
  for (size_t k = 0; k < RPINN_SHAPE_CORNERS; k++)
    rpinn_plot_points(&plot, 1, &plane->corners[k].x, &plane->corners[k].y, 0, points);
  rpinn_plot_close_with_colours(&plot, RPINN_COLOURS_VALUE, colours);
  rpinn_plot_key_points(&plot, false, points, "draws that span the plane");
  rpinn_plot_key_line(&plot, (RpinnStroke){RPINN_INK_GREY, 1, 1, NULL},
                      "contours (white): 1, 10, 100, … below the highest");
  return RPINN_OK;
}

/* Eigenvalues over their rank; those that are not positive have no place on the axis. */
static RpinnStatus draw_spectra(RpinnContext *context, RpinnSheet *sheet, RpinnText *page,
                                const Gathered *gathered) {
  size_t count = gathered->num_eigenvalues;
  double *ranks = calloc(count + 1, sizeof *ranks);
  if (!ranks) return rpinn_fail_memory(context);
  for (size_t i = 0; i < count; i++) ranks[i] = (double)i + 1;
  RpinnPlot plot = {.page = page,
                    .sheet = sheet,
                    .title = "(c) spectrum of the Hessian of the energy",
                    .frame = {420, 350, 58, 10, 20, 42},
                    .x = rpinn_axis_empty("rank", true),
                    .y = rpinn_axis_empty("eigenvalue", true)};
  rpinn_axis_include(&plot.x, count, ranks);
  rpinn_axis_include(&plot.y, gathered->num_spectra * count, gathered->eigenvalues);
  rpinn_axis_settle(&plot.x, 0);
  rpinn_axis_settle(&plot.y, 0.03);
  rpinn_plot_open(&plot, plot.title);
  for (size_t c = 0; c < gathered->num_spectra; c++)
    rpinn_plot_line(&plot, count, ranks, gathered->eigenvalues + c * count,
                    (RpinnStroke){rpinn_series_ink(c), 1.3, 0.9, NULL});
  rpinn_plot_close(&plot);
  rpinn_plot_key_chains(&plot, gathered->num_spectra);
  free(ranks);
  return RPINN_OK;
}

static void append_csv(const Gathered *gathered, RpinnText *csv) {
  rpinn_text_append(csv, "panel,chain,x,y,value\n");
  for (size_t k = 0; k < NUM_PLANES; k++) {
    const Plane *plane = &gathered->planes[k];
    for (size_t j = 0; j < plane->grid.num_y; j++)
      for (size_t i = 0; i < plane->grid.num_x; i++)
        rpinn_text_append(csv, "%c,,%.9g,%.9g,%.12g\n", 'a' + (int)k, rpinn_plane_grid_x(&plane->grid, i),
                          rpinn_plane_grid_y(&plane->grid, j), plane->values[j * plane->grid.num_x + i]);
    for (size_t c = 0; c < RPINN_SHAPE_CORNERS; c++)
      rpinn_text_append(csv, "%c draws,%llu,%.9g,%.9g,%.12g\n", 'a' + (int)k,
                        (unsigned long long)plane->corners[c].chain + 1, plane->corners[c].x,
                        plane->corners[c].y, plane->corners[c].log_density);
  }
  for (size_t c = 0; c < gathered->num_spectra; c++)
    for (size_t i = 0; i < gathered->num_eigenvalues; i++)
      rpinn_text_append(csv, "c,%zu,%zu,,%.12g\n", c + 1, i + 1,
                        gathered->eigenvalues[c * gathered->num_eigenvalues + i]);
}

static RpinnStatus finish(RpinnContext *context, RpinnReproduction *reproduction) {
  const Gathered *gathered = reproduction->own;
  const RpinnShapeCorner *corners = gathered->planes[0].corners;
  RpinnSheet sheet = {.columns = 3};
  RpinnText page = {0}, title = {0};
  rpinn_text_append(&title, "(a) ends of chains %llu, %llu and %llu",
                    (unsigned long long)corners[0].chain + 1, (unsigned long long)corners[1].chain + 1,
                    (unsigned long long)corners[2].chain + 1);
  RpinnStatus status = title.failed ? rpinn_fail_memory(context)
                                    : draw_plane(context, &sheet, &page, &gathered->planes[0], title.bytes);
  if (status == RPINN_OK)
    status = draw_plane(context, &sheet, &page, &gathered->planes[1], "(b) begin, middle and end of chain 1");
  if (status == RPINN_OK) status = draw_spectra(context, &sheet, &page, gathered);
  append_csv(gathered, &reproduction->csv);
  if (status == RPINN_OK) status = rpinn_figure_finish(context, reproduction, &sheet);
  rpinn_text_free(&title);
  rpinn_text_free(&page);
  rpinn_sheet_free(&sheet);
  return status;
}

/* As in the paper: the non-linear problem with little noise. */
static bool is_nonlinear_sharp(const RpinnReproducedRun *run) {
  return rpinn_paper_method(run->method)->has_chains &&
         !strcmp(run->paper_case->problem, "poisson-nonlinear") && !strcmp(run->paper_case->sigma, "0.01");
}

const RpinnReproduceKind rpinn_plane_figure = {
    .is_figure = true, .plan = plan, .shows = is_nonlinear_sharp, .take = take, .finish = finish};
