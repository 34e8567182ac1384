#include "svgd_features.h"

#include <math.h>

/* ---- create ---- */

static bool create_map(RpinnArena *arena, const RpinnSvgdKernel *kernel, size_t group,
                       const RpinnBatchLeastSquares *own, RpinnSvgdMap *map) {
  size_t F = own->num_rows, N = own->num_parameters, real_size = kernel->products->real_size;
  *map = (RpinnSvgdMap){
      .map = *own,
      .members = RPINN_ARENA_NEW(arena, size_t, group),
      .thetas = RPINN_ARENA_NEW(arena, const double *, group),
      .rows = RPINN_ARENA_NEW(arena, double *, group),
      .jacobians = RPINN_ARENA_NEW(arena, double *, group),
      .own_rows = RPINN_ARENA_NEW(arena, double, group *F),
      .own_jacobian = RPINN_ARENA_NEW(arena, double, group *F *N),
      .differences = rpinn_arena_allocate(arena, RPINN_SVGD_TILE_ROWS * kernel->bunch * F, real_size),
      .product =
          rpinn_arena_allocate(arena, (size_t)RPINN_SVGD_TILE_ROWS * RPINN_SVGD_TILE_COLUMNS, real_size)};
  return map->members && map->thetas && map->rows && map->jacobians && map->own_rows && map->own_jacobian &&
         map->differences && map->product;
}

/* No call is for more than a bunch. */
bool rpinn_svgd_features_create(RpinnArena *arena, const RpinnSvgdKernel *kernel, size_t num_maps,
                                const RpinnBatchLeastSquares *maps, RpinnSvgdFeatures *features) {
  *features = (RpinnSvgdFeatures){
      .n = kernel->n,
      .N = kernel->N,
      .num_features = kernel->width,
      .group = maps[0].group < kernel->bunch ? maps[0].group : kernel->bunch,
      .maps = RPINN_ARENA_NEW(arena, RpinnSvgdMap, num_maps),
      .values = RPINN_ARENA_NEW(arena, double, kernel->n * kernel->width),
      .parts = &rpinn_svgd_whole,
  };
  if (!features->maps || !features->values ||
      !rpinn_svgd_failures_create(arena, kernel->n, num_maps, &features->failures))
    return false;
  for (size_t k = 0; k < num_maps; k++)
    if (!create_map(arena, kernel, features->group, &maps[k], &features->maps[k])) return false;
  return true;
}

bool rpinn_svgd_features_deal(RpinnArena *arena, const RpinnSvgdParts *parts, RpinnSvgdFeatures *features) {
  features->parts = parts;
  features->first = RPINN_ARENA_NEW(arena, size_t, parts->num_parts + 1);
  if (features->first) rpinn_svgd_deal_items(parts, features->n, features->group, features->first);
  return features->first != NULL;
}

/* ---- calls ---- */

/* What the tasks of a loop share: those of particles first to first + count - 1. */
typedef struct Loop {
  RpinnSvgdFeatures *features;
  const double *particles; /* [n][N] */
  size_t first, count;
  RpinnSvgdKernel *kernel; /* of Jacobians … */
  size_t first_tile;       /* … and the first tile of phi that they push here */
} Loop;

static size_t num_groups(const Loop *loop) {
  return (loop->count + loop->features->group - 1) / loop->features->group;
}

static bool all_finite(const double *numbers, size_t count) {
  bool finite = true;
  for (size_t j = 0; j < count; j++) finite &= isfinite(numbers[j]) != 0;
  return finite;
}

/* The particles of a group: how many, and the first in *first. */
static size_t take_group(const Loop *loop, size_t task, RpinnSvgdMap *map, size_t *first) {
  const RpinnSvgdFeatures *features = loop->features;
  size_t skipped = task * features->group, left = loop->count - skipped;
  size_t count = left < features->group ? left : features->group;
  *first = loop->first + skipped;
  for (size_t k = 0; k < count; k++) {
    map->members[k] = *first + k;
    map->thetas[k] = loop->particles + (*first + k) * features->N;
  }
  return count;
}

/* Whether each result of a call, `size` numbers, is there and finite. */
static void note(RpinnSvgdFeatures *features, RpinnStatus status, size_t first, size_t count, size_t size,
                 double *const *results) {
  for (size_t k = 0; k < count; k++)
    features->failures.statuses[first + k] =
        status == RPINN_OK && !all_finite(results[k], size) ? RPINN_ERROR_NUMERIC : status;
}

static void evaluate_group(void *user, size_t thread, size_t task) {
  const Loop *loop = user;
  RpinnSvgdFeatures *features = loop->features;
  RpinnSvgdMap *map = &features->maps[thread];
  size_t first, count = take_group(loop, task, map, &first), F = features->num_features;
  RpinnContext *context = rpinn_svgd_failures_context(&features->failures, thread, first);
  if (!context) return;
  for (size_t k = 0; k < count; k++) map->rows[k] = features->values + (first + k) * F;
  RpinnStatus status =
      map->map.residuals(context, map->map.data, count, map->members, map->thetas, NULL, map->rows, NULL);
  note(features, status, first, count, F, map->rows);
}

static void differentiate_group(void *user, size_t thread, size_t task) {
  const Loop *loop = user;
  RpinnSvgdFeatures *features = loop->features;
  RpinnSvgdMap *map = &features->maps[thread];
  size_t first, count = take_group(loop, task, map, &first), F = features->num_features, N = features->N;
  RpinnContext *context = rpinn_svgd_failures_context(&features->failures, thread, first);
  if (!context) return;
  for (size_t k = 0; k < count; k++) {
    map->rows[k] = map->own_rows + k * F;
    map->jacobians[k] = map->own_jacobian + k * F * N;
  }
  RpinnStatus status = map->map.jacobian(context, map->map.data, count, map->members, map->thetas, NULL,
                                         map->rows, map->jacobians);
  note(features, status, first, count, F * N, map->jacobians);
  for (size_t k = 0; k < count && status == RPINN_OK; k++)
    loop->kernel->products->set_jacobian(loop->kernel, first + k - loop->first, map->jacobians[k]);
}

static RpinnStatus report(RpinnContext *context, const RpinnSvgdFeatures *features, const char *function,
                          const char *what, uint64_t num_iterations) {
  size_t i = rpinn_svgd_failures_first(&features->failures);
  unsigned long long done = num_iterations;
  if (i == features->n) return RPINN_OK;
  RpinnStatus status = features->failures.statuses[i];
  if (rpinn_svgd_failures_quote(context, &features->failures, i)) return status;
  if (status == RPINN_ERROR_NUMERIC)
    return rpinn_fail(context, status, "the %s of particle %zu are not finite after %llu iterations", what, i,
                      done);
  return rpinn_fail(context, status,
                    "the features' function '%s' failed at particle %zu after %llu iterations: %s", function,
                    i, done, rpinn_status_meaning(status));
}

/* ---- an iteration ---- */

/* Those that other parts have evaluated, as if it had been here. */
static RpinnStatus exchange(RpinnContext *context, RpinnSvgdFeatures *features) {
  const RpinnSvgdParts *parts = features->parts;
  size_t F = features->num_features;
  RPINN_TRY(parts->exchange(context, parts->user, 1, &(RpinnSvgdRows){features->values, F}, features->first));
  for (size_t i = 0; i < features->n; i++)
    if (!all_finite(features->values + i * F, F)) features->failures.statuses[i] = RPINN_ERROR_NUMERIC;
  return RPINN_OK;
}

RpinnStatus rpinn_svgd_features_evaluate(RpinnContext *context, RpinnSvgdFeatures *features, RpinnTeam *team,
                                         const double *particles, uint64_t num_iterations) {
  size_t part = features->parts->part, first = features->first ? features->first[part] : 0;
  size_t end = features->first ? features->first[part + 1] : features->n;
  Loop loop = {.features = features, .particles = particles, .first = first, .count = end - first};
  rpinn_svgd_failures_begin(&features->failures);
  rpinn_team_run(team, num_groups(&loop), evaluate_group, &loop);
  if (features->first && !rpinn_svgd_failures_are_told(&features->failures))
    RPINN_TRY(exchange(context, features));
  return report(context, features, "residuals", "features", num_iterations);
}

static void push_tile(void *user, size_t thread, size_t task) {
  const Loop *loop = user;
  const RpinnSvgdMap *map = &loop->features->maps[thread];
  loop->kernel->products->push(loop->kernel, rpinn_svgd_kernel_tile(loop->kernel, loop->first_tile + task),
                               loop->first, loop->count, map->differences, map->product);
}

RpinnStatus rpinn_svgd_features_push(RpinnContext *context, RpinnSvgdFeatures *features, RpinnTeam *team,
                                     RpinnSvgdKernel *kernel, const double *particles,
                                     uint64_t num_iterations) {
  const RpinnSvgdParts *parts = features->parts;
  size_t n = features->n, num_tiles = rpinn_svgd_kernel_num_tiles(kernel);
  size_t first_tile = rpinn_svgd_first_task(parts, num_tiles, parts->part);
  size_t own_tiles = rpinn_svgd_first_task(parts, num_tiles, parts->part + 1) - first_tile;
  rpinn_svgd_failures_begin(&features->failures);
  for (size_t first = 0; first < n; first += kernel->bunch) {
    size_t left = n - first;
    Loop loop = {.features = features,
                 .particles = particles,
                 .first = first,
                 .count = left < kernel->bunch ? left : kernel->bunch,
                 .kernel = kernel,
                 .first_tile = first_tile};
    rpinn_team_run(team, num_groups(&loop), differentiate_group, &loop);
    RPINN_TRY(report(context, features, "jacobian", "derivatives of the features", num_iterations));
    rpinn_team_run(team, own_tiles, push_tile, &loop);
  }
  return RPINN_OK;
}
