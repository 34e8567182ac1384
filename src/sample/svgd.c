/* SVGD: an iteration is
 *
 *   features        of all particles, where the kernel has them             (svgd_features.c)
 *   distances       mean, centred particles, Gram matrix                    (svgd_kernel.c)
 *   gradients       one task a group of particles, and one for the median   (svgd_gradients.c)
 *   kernel          exponentials, and the matrix that k multiplies          (svgd_kernel.c)
 *   pushes          by Jacobians of features                                (svgd_features.c)
 *   step            a tile of phi, and what the optimiser makes of it while it is in the cache
 *
 * and all of it is shared out among the threads, one per target; among processes as well, where there are several (svgd_parts.h).
 *
 * A saved state (saved_state.h) belongs to numbers of particles, parameters and features and to all options; its fields are
 * iterations, particles, moments, results of the last iteration. */
#include "rpinn/svgd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "particle_step.h"
#include "saved_state.h"
#include "svgd_features.h"
#include "svgd_gradients.h"
#include "svgd_parts.h"
#include "target_check.h"

/* What one thread makes its step with. */
typedef struct Workspace {
  void *product; /* a tile in the precision of the products */
  double *phi;   /* a tile */
} Workspace;

struct RpinnSvgd {
  RpinnArena *arena; /* holds everything but the team */
  RpinnTeam *team;
  RpinnSvgdOptions options;
  size_t n, N;
  Workspace *workspaces; /* [threads] */
  RpinnSvgdKernel kernel;
  RpinnSvgdGradients gradients;
  bool has_features;
  RpinnSvgdFeatures features;
  double *norm_parts; /* [tiles of phi][RPINN_SVGD_TILE_ROWS] sums of phi^2 */
  const RpinnSvgdParts *parts;
  double *phi;                        /* [n N] tile by tile; NULL where there is one part … */
  size_t *tile_starts;                /* [tiles + 1] … and so are these: where each tile begins, */
  size_t *first_phi, *first_particle; /* [num_parts + 1] where each part of phi does, its first particle */
  bool started;
  bool moves_itself; /* the target can no longer be asked to move the particles */
  double *before;    /* [n][N] where the particles were before the last iteration */
  /* ---- saved ---- */
  uint64_t num_iterations;
  double *particles;     /* [n][N] */
  double *m, *v;         /* [n][N] Adam's moments; Adagrad has v alone, m is NULL */
  double *log_densities; /* [n] */
  double bandwidth, mean_norm;
};

RpinnSvgdOptions rpinn_svgd_default_options(void) {
  return (RpinnSvgdOptions){.num_particles = 100,
                            .optimizer = RPINN_SVGD_ADAM,
                            .rule = {.learning_rate = 1e-3,
                                     .decay_rate = 1,
                                     .decay_steps = 1,
                                     .beta1 = 0.9,
                                     .beta2 = 0.999,
                                     .epsilon = 1e-8}};
}

/* ---- create and destroy ---- */

static RpinnStatus check_positive(RpinnContext *context, const char *name, double value) {
  if (value > 0 && isfinite(value)) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_INPUT, "%s is %g, expected a positive number", name, value);
}

static RpinnStatus check_options(RpinnContext *context, const RpinnSvgdOptions *options) {
  const RpinnAdamRule *rule = &options->rule;
  if (options->num_particles == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "num_particles is 0, expected at least 1");
  if (options->num_particles > INT32_MAX) /* what BLAS can count */
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "%zu particles are too many", options->num_particles);
  RPINN_TRY(check_positive(context, "learning_rate", rule->learning_rate));
  RPINN_TRY(check_positive(context, "decay_rate", rule->decay_rate));
  RPINN_TRY(check_positive(context, "decay_steps", rule->decay_steps));
  if (options->optimizer == RPINN_SVGD_ADAGRAD) return RPINN_OK;
  if (options->optimizer != RPINN_SVGD_ADAM)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "optimizer is %d, expected Adam or Adagrad",
                      (int)options->optimizer);
  RPINN_TRY(check_positive(context, "epsilon", rule->epsilon));
  if (!(rule->beta1 >= 0 && rule->beta1 < 1 && rule->beta2 >= 0 && rule->beta2 < 1))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "beta1 and beta2 are %g and %g, expected 0 <= beta < 1",
                      rule->beta1, rule->beta2);
  return RPINN_OK;
}

static RpinnStatus check_targets(RpinnContext *context, size_t num_targets,
                                 const RpinnBatchLogDensity *targets) {
  if (num_targets == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "there are no targets, expected at least 1");
  if (targets[0].num_parameters == 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "there are no parameters to move");
  if (targets[0].num_parameters > INT32_MAX)
    return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED, "%zu parameters are too many",
                      targets[0].num_parameters);
  for (size_t k = 0; k < num_targets; k++) RPINN_TRY(rpinn_batch_log_density_check(context, &targets[k]));
  for (size_t k = 1; k < num_targets; k++) {
    if (targets[k].num_parameters != targets[0].num_parameters)
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "target %zu has %zu parameters, expected %zu as in the first", k,
                        targets[k].num_parameters, targets[0].num_parameters);
    if (targets[k].group != targets[0].group)
      return rpinn_fail(context, RPINN_ERROR_INPUT,
                        "target %zu has groups of %zu members, expected %zu as in the first", k,
                        targets[k].group, targets[0].group);
  }
  return RPINN_OK;
}

static RpinnStatus check_features(RpinnContext *context, size_t num_targets, size_t num_parameters,
                                  const RpinnBatchLeastSquares *features) {
  for (size_t k = 0; k < num_targets; k++) {
    RPINN_TRY(rpinn_batch_least_squares_check(context, &features[k]));
    if (features[k].num_parameters != num_parameters)
      return rpinn_fail(context, RPINN_ERROR_INPUT, "features %zu have %zu parameters, expected %zu", k,
                        features[k].num_parameters, num_parameters);
    if (features[k].num_rows == 0 || features[k].num_rows > INT32_MAX)
      return rpinn_fail(context, RPINN_ERROR_INPUT, "features %zu are %zu, expected 1 to %d", k,
                        features[k].num_rows, (int)INT32_MAX);
    if (features[k].num_rows != features[0].num_rows || features[k].group != features[0].group)
      return rpinn_fail(
          context, RPINN_ERROR_INPUT,
          "features %zu are %zu in groups of %zu members, expected %zu in groups of %zu as in the first", k,
          features[k].num_rows, features[k].group, features[0].num_rows, features[0].group);
  }
  return RPINN_OK;
}

/* Everything in the arena; false when out of memory. features may be NULL. */
static bool allocate(RpinnSvgd *svgd, size_t num_targets, const RpinnBatchLogDensity *targets,
                     const RpinnBatchLeastSquares *features) {
  RpinnArena *arena = svgd->arena;
  size_t n = svgd->n, N = svgd->N, tile = (size_t)RPINN_SVGD_TILE_ROWS * RPINN_SVGD_TILE_COLUMNS;
  const RpinnSvgdOptions *options = &svgd->options;
  if (!rpinn_svgd_kernel_create(&svgd->kernel, n, N, features ? features[0].num_rows : 0,
                                options->single_precision, options->undivided_repulsion, arena) ||
      !rpinn_svgd_gradients_create(arena, n, num_targets, targets, &svgd->gradients) ||
      (features && !rpinn_svgd_features_create(arena, &svgd->kernel, num_targets, features, &svgd->features)))
    return false;
  bool adam = options->optimizer == RPINN_SVGD_ADAM;
  svgd->norm_parts =
      RPINN_ARENA_NEW(arena, double, rpinn_svgd_kernel_num_tiles(&svgd->kernel) * RPINN_SVGD_TILE_ROWS);
  svgd->particles = RPINN_ARENA_NEW(arena, double, n *N);
  svgd->before = RPINN_ARENA_NEW(arena, double, n *N);
  svgd->m = adam ? RPINN_ARENA_NEW(arena, double, n *N) : NULL;
  svgd->v = RPINN_ARENA_NEW(arena, double, n *N);
  svgd->log_densities = RPINN_ARENA_NEW(arena, double, n);
  svgd->workspaces = RPINN_ARENA_NEW(arena, Workspace, num_targets);
  bool enough = svgd->norm_parts && svgd->particles && svgd->before && (svgd->m || !adam) && svgd->v &&
                svgd->log_densities && svgd->workspaces;
  for (size_t k = 0; k < num_targets && enough; k++) {
    Workspace *workspace = &svgd->workspaces[k];
    *workspace = (Workspace){rpinn_arena_allocate(arena, tile, svgd->kernel.products->real_size),
                             RPINN_ARENA_NEW(arena, double, tile)};
    enough = workspace->product && workspace->phi;
  }
  return enough;
}

/* features may be NULL. */
static RpinnStatus create(RpinnContext *context, size_t num_targets, const RpinnBatchLogDensity *targets,
                          const RpinnBatchLeastSquares *features, const RpinnSvgdOptions *options,
                          RpinnSvgd **svgd) {
  *svgd = NULL;
  RPINN_TRY(check_options(context, options));
  RPINN_TRY(check_targets(context, num_targets, targets));
  if (features) RPINN_TRY(check_features(context, num_targets, targets[0].num_parameters, features));
  RpinnArena *arena = rpinn_arena_create();
  RpinnSvgd *created = arena ? RPINN_ARENA_NEW(arena, RpinnSvgd, 1) : NULL;
  if (!created) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  created->arena = arena;
  created->options = *options;
  created->n = options->num_particles;
  created->N = targets[0].num_parameters;
  created->has_features = features != NULL;
  created->parts = &rpinn_svgd_whole;
  RpinnStatus status = allocate(created, num_targets, targets, features)
                           ? rpinn_team_create(context, num_targets, &created->team)
                           : rpinn_fail_memory(context);
  if (status != RPINN_OK)
    rpinn_svgd_destroy(created);
  else
    *svgd = created;
  return status;
}

RpinnStatus rpinn_svgd_create_batch(RpinnContext *context, size_t num_targets,
                                    const RpinnBatchLogDensity *targets, const RpinnSvgdOptions *options,
                                    RpinnSvgd **svgd) {
  return create(context, num_targets, targets, NULL, options, svgd);
}

RpinnStatus rpinn_svgd_create_with_features(RpinnContext *context, size_t num_targets,
                                            const RpinnBatchLogDensity *targets,
                                            const RpinnBatchLeastSquares *features,
                                            const RpinnSvgdOptions *options, RpinnSvgd **svgd) {
  return create(context, num_targets, targets, features, options, svgd);
}

RpinnStatus rpinn_svgd_create(RpinnContext *context, size_t num_targets, const RpinnLogDensity *targets,
                              const RpinnSvgdOptions *options, RpinnSvgd **svgd) {
  *svgd = NULL;
  RpinnBatchLogDensity *batches = calloc(num_targets + 1, sizeof *batches);
  if (!batches) return rpinn_fail_memory(context);
  for (size_t k = 0; k < num_targets; k++) batches[k] = rpinn_log_density_as_batch(&targets[k]);
  RpinnStatus status = rpinn_svgd_create_batch(context, num_targets, batches, options, svgd);
  for (size_t k = 0; status == RPINN_OK && k < num_targets; k++) {
    RpinnSvgdCaller *caller = &(*svgd)->gradients.callers[k];
    caller->single = targets[k];
    caller->target.data = &caller->single;
  }
  free(batches);
  return status;
}

void rpinn_svgd_destroy(RpinnSvgd *svgd) {
  if (!svgd) return;
  rpinn_team_destroy(svgd->team);
  rpinn_arena_destroy(svgd->arena);
}

/* ---- parts ---- */

static void deal_tiles(RpinnSvgd *svgd, size_t num_tiles) {
  const RpinnSvgdParts *parts = svgd->parts;
  for (size_t t = 0; t < num_tiles; t++) {
    RpinnTile tile = rpinn_svgd_kernel_tile(&svgd->kernel, t);
    svgd->tile_starts[t + 1] = svgd->tile_starts[t] + tile.num_rows * tile.num_columns;
  }
  for (size_t part = 0; part <= parts->num_parts; part++)
    svgd->first_phi[part] = svgd->tile_starts[rpinn_svgd_first_task(parts, num_tiles, part)];
}

RpinnStatus rpinn_svgd_move_in_parts(RpinnContext *context, RpinnSvgd *svgd, const RpinnSvgdParts *parts) {
  RpinnArena *arena = svgd->arena;
  size_t num_tiles = rpinn_svgd_kernel_num_tiles(&svgd->kernel);
  double *phi = RPINN_ARENA_NEW(arena, double, svgd->n * svgd->N);
  svgd->tile_starts = RPINN_ARENA_NEW(arena, size_t, num_tiles + 1);
  svgd->first_phi = RPINN_ARENA_NEW(arena, size_t, parts->num_parts + 1);
  svgd->first_particle = RPINN_ARENA_NEW(arena, size_t, parts->num_parts + 1);
  if (!phi || !svgd->tile_starts || !svgd->first_phi || !svgd->first_particle ||
      (svgd->has_features && !rpinn_svgd_features_deal(arena, parts, &svgd->features)))
    return rpinn_fail_memory(context);
  svgd->phi = phi;
  svgd->parts = parts;
  deal_tiles(svgd, num_tiles);
  rpinn_svgd_deal_items(parts, svgd->n, svgd->gradients.group, svgd->first_particle);
  return RPINN_OK;
}

/* ---- gradients ---- */

/* Groups of gradients, those of this part. */
typedef struct Evaluation {
  RpinnSvgd *svgd;
  size_t first_group;
} Evaluation;

/* The median first: it takes one thread as long as some hundred gradients take, and the others go on. */
static void evaluate_task(void *user, size_t thread, size_t task) {
  const Evaluation *evaluation = user;
  RpinnSvgd *svgd = evaluation->svgd;
  if (task == 0)
    rpinn_svgd_kernel_find_bandwidth(&svgd->kernel);
  else
    rpinn_svgd_gradients_evaluate(&svgd->gradients, thread, evaluation->first_group + task - 1,
                                  svgd->particles, svgd->log_densities, &svgd->kernel);
}

static void take_gradient(void *user, size_t thread, size_t i) {
  RpinnSvgd *svgd = user;
  size_t part = svgd->parts->part;
  (void)thread;
  if (i >= svgd->first_particle[part] && i < svgd->first_particle[part + 1]) return;
  rpinn_svgd_gradients_take(&svgd->gradients, i, svgd->log_densities, &svgd->kernel);
}

/* Those of other parts. What failed here without numbers to tell of it ends this part alone. */
static RpinnStatus exchange_gradients(RpinnContext *context, RpinnSvgd *svgd) {
  const RpinnSvgdRows arrays[] = {{svgd->gradients.values, svgd->N}, {svgd->log_densities, 1}};
  if (!svgd->phi || rpinn_svgd_gradients_have_failed(&svgd->gradients)) return RPINN_OK;
  RPINN_TRY(svgd->parts->exchange(context, svgd->parts->user, 2, arrays, svgd->first_particle));
  rpinn_team_run(svgd->team, svgd->n, take_gradient, svgd);
  return RPINN_OK;
}

static RpinnStatus check_bandwidth(RpinnContext *context, const RpinnSvgd *svgd, double squared_bandwidth) {
  if (isfinite(squared_bandwidth)) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                    "the particles are too far apart for products in %s after %llu iterations",
                    svgd->options.single_precision ? "float" : "double",
                    (unsigned long long)svgd->num_iterations);
}

static RpinnStatus evaluate(RpinnContext *context, RpinnSvgd *svgd) {
  const RpinnSvgdParts *parts = svgd->parts;
  size_t num_groups = rpinn_svgd_gradients_num_groups(&svgd->gradients);
  Evaluation evaluation = {svgd, rpinn_svgd_first_task(parts, num_groups, parts->part)};
  size_t end = rpinn_svgd_first_task(parts, num_groups, parts->part + 1);
  rpinn_svgd_gradients_begin(&svgd->gradients);
  rpinn_team_run(svgd->team, 1 + end - evaluation.first_group, evaluate_task, &evaluation);
  RPINN_TRY(exchange_gradients(context, svgd));
  RPINN_TRY(
      rpinn_svgd_gradients_report(context, &svgd->gradients, svgd->log_densities, svgd->num_iterations));
  const RpinnSvgdKernel *kernel = &svgd->kernel;
  return check_bandwidth(context, svgd, kernel->squared_bandwidth);
}

/* ---- the step ---- */

/* The particles with the optimiser's numbers of one iteration. */
typedef struct Step {
  RpinnSvgd *svgd;
  RpinnParticleStep numbers;
} Step;

static void adam_row(const Step *step, size_t count, const double *phi, double *x, double *m, double *v) {
  const RpinnAdamRule *rule = &step->svgd->options.rule;
  double beta1 = rule->beta1, beta2 = rule->beta2, rate = step->numbers.rate,
         unbias_v = step->numbers.unbias_v;
  for (size_t j = 0; j < count; j++) {
    double g = phi[j];
    m[j] = beta1 * m[j] + (1 - beta1) * g;
    v[j] = beta2 * v[j] + (1 - beta2) * g * g;
    x[j] += rate * m[j] / (sqrt(v[j] * unbias_v) + rule->epsilon);
  }
}

static void adagrad_row(const Step *step, size_t count, const double *phi, double *x, double *v) {
  for (size_t j = 0; j < count; j++) {
    double g = phi[j];
    v[j] = 0.9 * v[j] + step->numbers.share * g * g;
    x[j] += step->numbers.rate * g / (1e-6 + sqrt(v[j]));
  }
}

/* A tile of phi, number `task`, that is there. */
static void move_tile(const Step *step, size_t task, RpinnTile tile, const double *phi) {
  RpinnSvgd *svgd = step->svgd;
  for (size_t i = 0; i < tile.num_rows; i++, phi += tile.num_columns) {
    size_t start = (tile.row + i) * svgd->N + tile.column;
    double sum = 0;
    for (size_t j = 0; j < tile.num_columns; j++) sum += phi[j] * phi[j];
    svgd->norm_parts[task * RPINN_SVGD_TILE_ROWS + i] = sum;
    if (svgd->m)
      adam_row(step, tile.num_columns, phi, svgd->particles + start, svgd->m + start, svgd->v + start);
    else
      adagrad_row(step, tile.num_columns, phi, svgd->particles + start, svgd->v + start);
  }
}

static void step_tile(void *user, size_t thread, size_t task) {
  const Step *step = user;
  const RpinnSvgdKernel *kernel = &step->svgd->kernel;
  const Workspace *workspace = &step->svgd->workspaces[thread];
  RpinnTile tile = rpinn_svgd_kernel_tile(kernel, task);
  kernel->products->direction(kernel, tile, workspace->product, workspace->phi);
  move_tile(step, task, tile, workspace->phi);
}

/* The same in parts: phi in the tiles of this one, and the step in all. */
static void direct_tile(void *user, size_t thread, size_t task) {
  const Step *step = user;
  RpinnSvgd *svgd = step->svgd;
  size_t number =
      rpinn_svgd_first_task(svgd->parts, rpinn_svgd_kernel_num_tiles(&svgd->kernel), svgd->parts->part) +
      task;
  svgd->kernel.products->direction(&svgd->kernel, rpinn_svgd_kernel_tile(&svgd->kernel, number),
                                   svgd->workspaces[thread].product, svgd->phi + svgd->tile_starts[number]);
}

static void step_exchanged_tile(void *user, size_t thread, size_t task) {
  const Step *step = user;
  (void)thread;
  move_tile(step, task, rpinn_svgd_kernel_tile(&step->svgd->kernel, task),
            step->svgd->phi + step->svgd->tile_starts[task]);
}

static RpinnStatus move(RpinnContext *context, RpinnSvgd *svgd) {
  const RpinnSvgdParts *parts = svgd->parts;
  size_t num_tiles = rpinn_svgd_kernel_num_tiles(&svgd->kernel);
  Step step = {svgd, rpinn_particle_step(&svgd->options.rule, !svgd->m, svgd->num_iterations)};
  if (!svgd->phi) {
    rpinn_team_run(svgd->team, num_tiles, step_tile, &step);
    return RPINN_OK;
  }
  size_t own = rpinn_svgd_first_task(parts, num_tiles, parts->part + 1) -
               rpinn_svgd_first_task(parts, num_tiles, parts->part);
  rpinn_team_run(svgd->team, own, direct_tile, &step);
  RPINN_TRY(parts->exchange(context, parts->user, 1, &(RpinnSvgdRows){svgd->phi, 1}, svgd->first_phi));
  rpinn_team_run(svgd->team, num_tiles, step_exchanged_tile, &step);
  return RPINN_OK;
}

/* The mean of |phi_i| from the sums over the tiles, in the order of the tiles. */
static double mean_norm(const RpinnSvgd *svgd) {
  size_t num_tiles = rpinn_svgd_kernel_num_tiles(&svgd->kernel);
  double sum = 0;
  for (size_t t = 0, next; t < num_tiles; t = next) {
    RpinnTile first = rpinn_svgd_kernel_tile(&svgd->kernel, t);
    for (next = t + 1; next < num_tiles; next++)
      if (rpinn_svgd_kernel_tile(&svgd->kernel, next).row != first.row) break;
    for (size_t i = 0; i < first.num_rows; i++) {
      double square = 0;
      for (size_t k = t; k < next; k++) square += svgd->norm_parts[k * RPINN_SVGD_TILE_ROWS + i];
      sum += sqrt(square);
    }
  }
  return sum / (double)svgd->n;
}

/* What `count` iterations ended with. */
static RpinnStatus take_figures(RpinnContext *context, RpinnSvgd *svgd, double squared_bandwidth, double norm,
                                size_t count) {
  svgd->bandwidth = sqrt(squared_bandwidth);
  svgd->mean_norm = norm;
  if (!isfinite(norm)) {
    svgd->started = false;
    return rpinn_fail(context, RPINN_ERROR_NUMERIC,
                      "the direction of the particles overflows after %llu iterations",
                      (unsigned long long)(svgd->num_iterations + count - 1));
  }
  svgd->num_iterations += count;
  return RPINN_OK;
}

static RpinnStatus iterate(RpinnContext *context, RpinnSvgd *svgd) {
  const double *compared = svgd->has_features ? svgd->features.values : svgd->particles;
  if (svgd->has_features)
    RPINN_TRY(rpinn_svgd_features_evaluate(context, &svgd->features, svgd->team, svgd->particles,
                                           svgd->num_iterations));
  rpinn_svgd_kernel_measure(&svgd->kernel, svgd->team, compared);
  RPINN_TRY(evaluate(context, svgd));
  rpinn_svgd_kernel_weigh(&svgd->kernel, svgd->team);
  if (svgd->has_features)
    RPINN_TRY(rpinn_svgd_features_push(context, &svgd->features, svgd->team, &svgd->kernel, svgd->particles,
                                       svgd->num_iterations));
  RPINN_TRY(move(context, svgd));
  const RpinnSvgdKernel *kernel = &svgd->kernel;
  return take_figures(context, svgd, kernel->squared_bandwidth, mean_norm(svgd), 1);
}

/* ---- iterations that the target makes by itself ---- */

static bool target_moves(const RpinnSvgd *svgd) {
  return svgd->gradients.callers[0].target.move_particles && !svgd->has_features && !svgd->phi &&
         !svgd->moves_itself;
}

static RpinnStatus ask_target(RpinnContext *context, RpinnSvgd *svgd, size_t count) {
  const RpinnBatchLogDensity *target = &svgd->gradients.callers[0].target;
  RpinnParticleMoves moves = {.num_particles = svgd->n,
                              .num_iterations = count,
                              .t = svgd->num_iterations,
                              .rule = svgd->options.rule,
                              .is_adagrad = !svgd->m,
                              .undivided_repulsion = svgd->options.undivided_repulsion,
                              .particles = svgd->particles,
                              .m = svgd->m,
                              .v = svgd->v,
                              .before = svgd->before,
                              .log_densities = svgd->log_densities,
                              .gradients = svgd->gradients.values};
  RPINN_TRY(target->move_particles(context, target->data, &moves));
  svgd->started = false; /* unless all that came back can be used */
  rpinn_svgd_gradients_begin(&svgd->gradients);
  for (size_t i = 0; i < svgd->n; i++) rpinn_svgd_gradients_check(&svgd->gradients, i, svgd->log_densities);
  RPINN_TRY(rpinn_svgd_gradients_report(context, &svgd->gradients, svgd->log_densities,
                                        svgd->num_iterations + count - 1));
  RPINN_TRY(check_bandwidth(context, svgd, moves.squared_bandwidth));
  svgd->started = true;
  return take_figures(context, svgd, moves.squared_bandwidth, moves.mean_norm, count);
}

/* Where numbers became infinite on the way, the way is gone again step by step, to say where, unless the particles have moved already; where there
 * is no room, all go on here. */
static RpinnStatus advance_by_target(RpinnContext *context, RpinnSvgd *svgd, size_t count) {
  RpinnStatus status = ask_target(context, svgd, count);
  if (status == RPINN_ERROR_NUMERIC && svgd->started && count > 1) {
    if (context) rpinn_context_clear_error(context);
    status = RPINN_OK;
    for (size_t k = 0; k < count && status == RPINN_OK; k++) status = ask_target(context, svgd, 1);
  }
  if (status != RPINN_ERROR_UNSUPPORTED) return status;
  if (context) {
    rpinn_log(context, RPINN_LOG_WARNING, "%s; the products of SVGD are made on the host, more slowly",
              rpinn_context_error(context)->message);
    rpinn_context_clear_error(context);
  }
  svgd->moves_itself = true;
  return RPINN_OK;
}

/* ---- a run ---- */

RpinnStatus rpinn_svgd_start(RpinnContext *context, RpinnSvgd *svgd, const double *particles) {
  size_t n = svgd->n, N = svgd->N;
  for (size_t i = 0; i < n * N; i++)
    if (!isfinite(particles[i]))
      return rpinn_fail(context, RPINN_ERROR_INPUT, "particle %zu is not finite at the start", i / N);
  memcpy(svgd->particles, particles, n * N * sizeof(double));
  if (svgd->m) memset(svgd->m, 0, n * N * sizeof(double));
  memset(svgd->v, 0, n * N * sizeof(double));
  for (size_t i = 0; i < n; i++) svgd->log_densities[i] = NAN;
  svgd->bandwidth = svgd->mean_norm = NAN;
  svgd->num_iterations = 0;
  svgd->started = true;
  return RPINN_OK;
}

RpinnStatus rpinn_svgd_advance(RpinnContext *context, RpinnSvgd *svgd, size_t num_iterations) {
  if (!svgd->started)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the particles were neither started nor restored");
  uint64_t end = svgd->num_iterations + num_iterations;
  if (num_iterations && target_moves(svgd)) RPINN_TRY(advance_by_target(context, svgd, num_iterations));
  while (svgd->num_iterations < end) {
    if (svgd->num_iterations + 1 == end)
      memcpy(svgd->before, svgd->particles, svgd->n * svgd->N * sizeof(double));
    RPINN_TRY(iterate(context, svgd));
  }
  return RPINN_OK;
}

const double *rpinn_svgd_before(const RpinnSvgd *svgd) {
  return svgd->before;
}

size_t rpinn_svgd_num_iterations(const RpinnSvgd *svgd) {
  return (size_t)svgd->num_iterations;
}

const double *rpinn_svgd_particles(const RpinnSvgd *svgd) {
  return svgd->particles;
}

const double *rpinn_svgd_log_densities(const RpinnSvgd *svgd) {
  return svgd->log_densities;
}

const double *rpinn_svgd_gradients(const RpinnSvgd *svgd) {
  return svgd->gradients.values;
}

double rpinn_svgd_bandwidth(const RpinnSvgd *svgd) {
  return svgd->bandwidth;
}

double rpinn_svgd_mean_norm(const RpinnSvgd *svgd) {
  return svgd->mean_norm;
}

/* ---- the saved state ---- */

typedef struct Owner {
  uint64_t num_particles, num_parameters, optimizer, undivided, single;
  RpinnAdamRule rule;
  uint64_t num_features; /* of the second form alone */
} Owner;

/* States of particles without features are those of versions that had none. */
static const RpinnStateForm plain_form = {.name = "SVGD state",
                                          .magic = 0x72706e6e73766764, /* "rpnnsvgd" */
                                          .version = 2,
                                          .owner_size = offsetof(Owner, num_features)},
                            features_form = {.name = "SVGD state",
                                             .magic = 0x72706e6e73766764,
                                             .version = 3,
                                             .owner_size = sizeof(Owner)};

static const RpinnStateForm *form_of(const RpinnSvgd *svgd) {
  return svgd->has_features ? &features_form : &plain_form;
}

/* Only a restore writes to the fields. */
static void transfer(RpinnSvgd *svgd, RpinnStateCursor *cursor) {
  size_t count = svgd->n * svgd->N;
  rpinn_state_field(cursor, &svgd->num_iterations, sizeof svgd->num_iterations);
  rpinn_state_numbers(cursor, svgd->particles, count);
  if (svgd->m) rpinn_state_numbers(cursor, svgd->m, count);
  rpinn_state_numbers(cursor, svgd->v, count);
  rpinn_state_numbers(cursor, svgd->log_densities, svgd->n);
  rpinn_state_numbers(cursor, &svgd->bandwidth, 1);
  rpinn_state_numbers(cursor, &svgd->mean_norm, 1);
}

size_t rpinn_svgd_state_size(const RpinnSvgd *svgd) {
  RpinnStateCursor cursor = {.use = RPINN_STATE_MEASURE};
  transfer((RpinnSvgd *)svgd, &cursor);
  return rpinn_state_size(form_of(svgd), cursor.position);
}

static Owner owner_of(const RpinnSvgd *svgd) {
  const RpinnSvgdOptions *options = &svgd->options;
  return (Owner){svgd->n,
                 svgd->N,
                 options->optimizer,
                 options->undivided_repulsion,
                 options->single_precision,
                 options->rule,
                 svgd->has_features ? svgd->kernel.width : 0};
}

void rpinn_svgd_save(const RpinnSvgd *svgd, void *buffer) {
  Owner owner = owner_of(svgd);
  RpinnStateCursor cursor = rpinn_state_begin(form_of(svgd), &owner, buffer, rpinn_svgd_state_size(svgd));
  transfer((RpinnSvgd *)svgd, &cursor);
  rpinn_state_end(&cursor);
}

RpinnStatus rpinn_svgd_restore(RpinnContext *context, RpinnSvgd *svgd, const void *buffer, size_t size) {
  const RpinnStateForm *form = form_of(svgd);
  Owner expected = owner_of(svgd), found = {0};
  RpinnStateCursor cursor;
  RPINN_TRY(rpinn_state_header(context, form, buffer, size, &found));
  if (found.num_particles != expected.num_particles || found.num_parameters != expected.num_parameters)
    return rpinn_fail(context, RPINN_ERROR_INPUT,
                      "the SVGD state has %llu particles of %llu parameters, expected %zu of %zu",
                      (unsigned long long)found.num_particles, (unsigned long long)found.num_parameters,
                      svgd->n, svgd->N);
  if (memcmp(&found, &expected, sizeof found) != 0)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the SVGD state was saved with other options");
  RPINN_TRY(rpinn_state_open(context, form, buffer, size, rpinn_svgd_state_size(svgd), &cursor));
  transfer(svgd, &cursor);
  svgd->started = true;
  return RPINN_OK;
}
