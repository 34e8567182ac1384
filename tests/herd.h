/* Problems that differ by member, for one and for groups of three.
 *
 *   r_i = s_i (t_i + bend t_i^2 - y_i),  t = A theta,  with the scales s, the roots of the prior and the offsets of the member
 *
 * A call for several computes the last of them first, and leaves its size behind. */
#ifndef RPINN_TESTS_HERD_H
#define RPINN_TESTS_HERD_H

#include "check.h"

#include "context.h"
#include "random_stream.h"
#include "rpinn/target.h"

enum { HERD_GROUP = 3, HERD_MEMBERS = 7, HERD_MOST = 8, HERD_CALLS = 4096 };

typedef struct HerdMember {
  struct Herd *herd;
  size_t index;
  double scale[HERD_MOST], root[HERD_MOST], offsets[2 * HERD_MOST], start[HERD_MOST];
} HerdMember;

typedef struct Herd {
  size_t num_parameters, num_rows; /* N, M */
  double bend, A[HERD_MOST][HERD_MOST], y[HERD_MOST], mean[HERD_MOST];
  HerdMember members[HERD_MEMBERS];
  size_t num_calls, sizes[HERD_CALLS]; /* of calls for groups */
  size_t fails_at;                     /* the number of the call that fails; 0: none does */
  bool tells_why;
} Herd;

static inline void herd_fill(Herd *herd, size_t num_parameters, size_t num_rows, double bend) {
  RpinnStream stream = rpinn_stream(11, RPINN_PURPOSE_CHECK, 0, 0);
  *herd = (Herd){.num_parameters = num_parameters, .num_rows = num_rows, .bend = bend};
  rpinn_stream_normals(&stream, HERD_MOST * HERD_MOST, herd->A[0]);
  rpinn_stream_normals(&stream, HERD_MOST, herd->y);
  rpinn_stream_normals(&stream, HERD_MOST, herd->mean);
  for (size_t m = 0; m < HERD_MEMBERS; m++) {
    HerdMember *member = &herd->members[m];
    member->herd = herd;
    member->index = m;
    rpinn_stream_normals(&stream, 2 * HERD_MOST, member->offsets);
    rpinn_stream_normals(&stream, HERD_MOST, member->start);
    for (size_t i = 0; i < HERD_MOST; i++) {
      member->scale[i] = 0.5 + rpinn_stream_uniform(&stream);
      member->root[i] = m % 3 == 1 && i % 3 == 0 ? 0 : 0.3 + rpinn_stream_uniform(&stream);
    }
  }
}

/* One member of three has a prior on all parameters, one on some, and one has none. */
static inline const double *herd_prior_root(void *data, size_t member) {
  return member % 3 == 2 ? NULL : ((Herd *)data)->members[member].root;
}

/* ---- one member ---- */

static inline double herd_along(const Herd *herd, size_t i, const double *theta) {
  double t = 0;
  for (size_t j = 0; j < herd->num_parameters; j++) t += herd->A[i][j] * theta[j];
  return t;
}

static inline double herd_slope(const HerdMember *member, size_t i, size_t j, const double *theta) {
  const Herd *herd = member->herd;
  return member->scale[i] * (1 + 2 * herd->bend * herd_along(herd, i, theta)) * herd->A[i][j];
}

static inline RpinnStatus herd_residuals(void *data, const double *theta, double *rows) {
  const HerdMember *member = data;
  const Herd *herd = member->herd;
  for (size_t i = 0; i < herd->num_rows; i++) {
    double t = herd_along(herd, i, theta);
    rows[i] = member->scale[i] * (t + herd->bend * t * t - herd->y[i]);
  }
  return RPINN_OK;
}

static inline RpinnStatus herd_jacobian(void *data, const double *theta, double *rows, double *J) {
  const HerdMember *member = data;
  size_t N = member->herd->num_parameters;
  for (size_t i = 0; i < member->herd->num_rows; i++)
    for (size_t j = 0; j < N; j++) J[i * N + j] = herd_slope(member, i, j, theta);
  return herd_residuals(data, theta, rows);
}

static inline RpinnStatus herd_times(void *data, const double *theta, const double *direction,
                                     double *product) {
  const HerdMember *member = data;
  for (size_t i = 0; i < member->herd->num_rows; i++) {
    product[i] = 0;
    for (size_t j = 0; j < member->herd->num_parameters; j++)
      product[i] += herd_slope(member, i, j, theta) * direction[j];
  }
  return RPINN_OK;
}

static inline RpinnStatus herd_transposed_times(void *data, const double *theta, const double *weights,
                                                double *product) {
  const HerdMember *member = data;
  for (size_t j = 0; j < member->herd->num_parameters; j++) {
    product[j] = 0;
    for (size_t i = 0; i < member->herd->num_rows; i++)
      product[j] += herd_slope(member, i, j, theta) * weights[i];
  }
  return RPINN_OK;
}

static inline RpinnStatus herd_gram(void *data, const double *theta, const double *scale, double *rows,
                                    double *gram) {
  const HerdMember *member = data;
  size_t M = member->herd->num_rows;
  for (size_t i = 0; i < M; i++)
    for (size_t k = 0; k < M; k++) {
      gram[i * M + k] = 0;
      for (size_t j = 0; j < member->herd->num_parameters; j++)
        gram[i * M + k] +=
            herd_slope(member, i, j, theta) * (scale ? scale[j] : 1) * herd_slope(member, k, j, theta);
    }
  return herd_residuals(data, theta, rows);
}

/* f = 1/2 |r - xi_r|^2 */
static inline RpinnStatus herd_evaluate(void *data, const double *theta, double *value, double *gradient) {
  const HerdMember *member = data;
  double rows[HERD_MOST];
  herd_residuals(data, theta, rows);
  *value = 0;
  for (size_t i = 0; i < member->herd->num_rows; i++) {
    rows[i] -= member->offsets[i];
    *value += 0.5 * rows[i] * rows[i];
  }
  return gradient ? herd_transposed_times(data, theta, rows, gradient) : RPINN_OK;
}

/* Plain descent for Adam's rule: what matters is whose theta it moves. */
static inline RpinnStatus herd_adam_advance(void *data, const RpinnAdamRule *rule, RpinnAdamState *state,
                                            size_t num_steps, double *value) {
  const HerdMember *member = data;
  for (size_t i = 0; i < num_steps; i++, state->t++) {
    herd_evaluate(data, state->theta, value, state->m);
    for (size_t j = 0; j < member->herd->num_parameters; j++)
      state->theta[j] -= rule->learning_rate * state->m[j];
  }
  return RPINN_OK;
}

static inline RpinnObjective herd_single_objective(HerdMember *member, bool offers_all) {
  return (RpinnObjective){.num_parameters = member->herd->num_parameters,
                          .data = member,
                          .evaluate = herd_evaluate,
                          .adam_advance = offers_all ? herd_adam_advance : NULL};
}

static inline RpinnLeastSquares herd_single_squares(HerdMember *member, bool offers_all) {
  return (RpinnLeastSquares){.num_parameters = member->herd->num_parameters,
                             .num_rows = member->herd->num_rows,
                             .prior_root = herd_prior_root(member->herd, member->index),
                             .prior_mean = member->herd->mean,
                             .data = member,
                             .residuals = herd_residuals,
                             .jacobian = herd_jacobian,
                             .jacobian_times = offers_all ? herd_times : NULL,
                             .transposed_times = offers_all ? herd_transposed_times : NULL,
                             .gram = offers_all ? herd_gram : NULL};
}

/* ---- groups ---- */

static inline RpinnStatus herd_call(RpinnContext *context, Herd *herd, size_t count) {
  assert_true(count > 0 && count <= HERD_GROUP && herd->num_calls < HERD_CALLS);
  herd->sizes[herd->num_calls++] = count;
  if (herd->num_calls != herd->fails_at) return RPINN_OK;
  if (!herd->tells_why) return RPINN_ERROR_NUMERIC;
  return rpinn_context_fail(context, RPINN_ERROR_NUMERIC, "the herd has scattered at call %zu",
                            herd->num_calls);
}

static inline RpinnStatus herd_evaluate_group(RpinnContext *context, void *data, size_t count,
                                              const size_t *members, const double *const *thetas,
                                              double *values, double *const *gradients) {
  Herd *herd = data;
  for (size_t k = count; k-- > 0;)
    herd_evaluate(&herd->members[members[k]], thetas[k], &values[k], gradients ? gradients[k] : NULL);
  return herd_call(context, herd, count);
}

static inline RpinnStatus herd_adam_advance_group(RpinnContext *context, void *data, size_t count,
                                                  const size_t *members, const RpinnAdamRule *rule,
                                                  RpinnAdamState *const *states, size_t num_steps,
                                                  double *values) {
  Herd *herd = data;
  for (size_t k = count; k-- > 0;)
    herd_adam_advance(&herd->members[members[k]], rule, states[k], num_steps, &values[k]);
  return herd_call(context, herd, count);
}

#define HERD_GROUP_OF(name, ...)                                                                             \
  static inline RpinnStatus name(RpinnContext *context, void *data, size_t count, const size_t *members,     \
                                 const double *const *thetas, const double *const *inputs,                   \
                                 double *const *rows, double *const *outputs) {                              \
    Herd *herd = data;                                                                                       \
    (void)inputs, (void)rows, (void)outputs;                                                                 \
    for (size_t k = count; k-- > 0;) {                                                                       \
      HerdMember *member = &herd->members[members[k]];                                                       \
      __VA_ARGS__;                                                                                           \
    }                                                                                                        \
    return herd_call(context, herd, count);                                                                  \
  }

/* What a function has no use for is NULL, and so is the scale of a member without prior. */
HERD_GROUP_OF(herd_residuals_group, assert_true(!inputs[k] && !outputs[k]);
              herd_residuals(member, thetas[k], rows[k]))
HERD_GROUP_OF(herd_jacobian_group, assert_null(inputs[k]);
              herd_jacobian(member, thetas[k], rows[k], outputs[k]))
HERD_GROUP_OF(herd_times_group, assert_null(rows[k]); herd_times(member, thetas[k], inputs[k], outputs[k]))
HERD_GROUP_OF(herd_transposed_group, assert_null(rows[k]);
              herd_transposed_times(member, thetas[k], inputs[k], outputs[k]))
HERD_GROUP_OF(herd_gram_group, assert_true(!inputs[k] == !herd_prior_root(herd, member->index));
              herd_gram(member, thetas[k], inputs[k], rows[k], outputs[k]))
#undef HERD_GROUP_OF

static inline RpinnBatchObjective herd_objective(Herd *herd, bool offers_all) {
  return (RpinnBatchObjective){.num_parameters = herd->num_parameters,
                               .group = HERD_GROUP,
                               .data = herd,
                               .evaluate = herd_evaluate_group,
                               .adam_advance = offers_all ? herd_adam_advance_group : NULL};
}

static inline RpinnBatchLeastSquares herd_squares(Herd *herd, bool offers_all) {
  return (RpinnBatchLeastSquares){.num_parameters = herd->num_parameters,
                                  .num_rows = herd->num_rows,
                                  .group = HERD_GROUP,
                                  .prior_mean = herd->mean,
                                  .data = herd,
                                  .prior_root = herd_prior_root,
                                  .residuals = herd_residuals_group,
                                  .jacobian = herd_jacobian_group,
                                  .jacobian_times = offers_all ? herd_times_group : NULL,
                                  .transposed_times = offers_all ? herd_transposed_group : NULL,
                                  .gram = offers_all ? herd_gram_group : NULL};
}

#endif
