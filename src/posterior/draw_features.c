#include "draw_features.h"

#include <string.h>

#include "arena.h"
#include "unknown_noise.h"

typedef struct Features {
  RpinnPosterior *posterior;
  size_t num_drawn;          /* N + K */
  double *row_scale;         /* [M] */
  RpinnBatchMember *members; /* [group] of a call */
} Features;

/* An unknown, or an eta: where it is among the numbers of a draw, and its unit. */
typedef struct Single {
  size_t place;
  double mean, root;
} Single;

static size_t num_singles(const RpinnPosterior *posterior) {
  return posterior->model.num_unknowns + posterior->num_noises;
}

size_t rpinn_draw_features_count(const RpinnPosterior *posterior) {
  return posterior->model.num_rows + num_singles(posterior);
}

static Single single_at(const RpinnPosterior *posterior, size_t number) {
  const RpinnEnergyModel *model = &posterior->model;
  if (number >= model->num_unknowns) {
    const RpinnNoiseLevel *noise = &posterior->noises[number - model->num_unknowns];
    return (Single){model->num_parameters + number - model->num_unknowns, noise->prior_mean,
                    1 / noise->prior_std};
  }
  size_t place = model->unknown_start + number;
  double root = model->prior_root[place];
  return (Single){place, model->prior_mean[place], root > 0 ? root : 1};
}

static RpinnMemberBatch batch_of(Features *features, size_t count, const double *const *thetas) {
  for (size_t k = 0; k < count; k++)
    features->members[k] = (RpinnBatchMember){.theta = thetas[k], .row_scale = features->row_scale};
  return (RpinnMemberBatch){.num_members = count, .members = features->members};
}

static void add_singles(const Features *features, const double *theta, double *rows) {
  for (size_t s = 0; s < num_singles(features->posterior); s++) {
    Single single = single_at(features->posterior, s);
    rows[features->posterior->model.num_rows + s] = (theta[single.place] - single.mean) * single.root;
  }
}

/* J [M][N] as the backend wrote it becomes [M + singles][N + K]; from the last row on, so that none is overwritten. */
static void widen(const Features *features, double *jacobian) {
  const RpinnPosterior *posterior = features->posterior;
  size_t M = posterior->model.num_rows, N = posterior->model.num_parameters, width = features->num_drawn;
  for (size_t i = M; width > N && i-- > 0;) {
    memmove(jacobian + i * width, jacobian + i * N, N * sizeof *jacobian);
    for (size_t j = N; j < width; j++) jacobian[i * width + j] = 0;
  }
  for (size_t s = 0; s < num_singles(posterior); s++) {
    Single single = single_at(posterior, s);
    double *row = jacobian + (M + s) * width;
    for (size_t j = 0; j < width; j++) row[j] = 0;
    row[single.place] = single.root;
  }
}

static RpinnStatus residuals(RpinnContext *context, void *data, size_t count, const size_t *members,
                             const double *const *thetas, const double *const *inputs, double *const *rows,
                             double *const *outputs) {
  Features *features = data;
  RpinnMemberBatch batch = batch_of(features, count, thetas);
  (void)members, (void)inputs, (void)outputs;
  RPINN_TRY(rpinn_backend_residuals(context, features->posterior->backend, &batch, rows, NULL));
  for (size_t k = 0; k < count; k++) add_singles(features, thetas[k], rows[k]);
  return RPINN_OK;
}

static RpinnStatus jacobian(RpinnContext *context, void *data, size_t count, const size_t *members,
                            const double *const *thetas, const double *const *inputs, double *const *rows,
                            double *const *outputs) {
  Features *features = data;
  RpinnMemberBatch batch = batch_of(features, count, thetas);
  (void)members, (void)inputs;
  RPINN_TRY(rpinn_backend_residuals(context, features->posterior->backend, &batch, rows, outputs));
  for (size_t k = 0; k < count; k++) {
    add_singles(features, thetas[k], rows[k]);
    widen(features, outputs[k]);
  }
  return RPINN_OK;
}

/* 1/s of every row, where noise is not known that of its start. */
static void scale_rows(const RpinnPosterior *posterior, double *scales) {
  const RpinnEnergyModel *model = &posterior->model;
  memcpy(scales, model->row_scale, model->num_rows * sizeof *scales);
  for (size_t k = 0; k < posterior->num_noises; k++) {
    const RpinnTermModel *term = &model->terms[posterior->noises[k].term];
    for (size_t i = 0; i < term->num_rows; i++) scales[term->first_row + i] = 1 / posterior->noises[k].start;
  }
}

RpinnStatus rpinn_draw_features_create(RpinnContext *context, RpinnPosterior *posterior,
                                       RpinnBatchLeastSquares *features) {
  const RpinnEnergyModel *model = &posterior->model;
  Features *own = RPINN_ARENA_NEW(posterior->arena, Features, 1);
  if (!own) return rpinn_fail_memory(context);
  *own =
      (Features){.posterior = posterior,
                 .num_drawn = rpinn_posterior_num_drawn(posterior),
                 .row_scale = RPINN_ARENA_NEW(posterior->arena, double, model->num_rows + 1),
                 .members = RPINN_ARENA_NEW(posterior->arena, RpinnBatchMember, posterior->backend->group)};
  if (!own->row_scale || !own->members) return rpinn_fail_memory(context);
  scale_rows(posterior, own->row_scale);
  *features = (RpinnBatchLeastSquares){.num_parameters = own->num_drawn,
                                       .num_rows = rpinn_draw_features_count(posterior),
                                       .group = posterior->backend->group,
                                       .data = own,
                                       .residuals = residuals,
                                       .jacobian = jacobian};
  return RPINN_OK;
}
