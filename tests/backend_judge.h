/* What `plain` finds at a point, and a candidate beside it.
 *
 * A gradient is a sum of many terms that cancel near a minimum, so its error is measured against what it
 * could be without cancellation: | g - g_plain | / | |J|^T |r| + |prior rows| |. A row that mixes points is such a sum
 * itself, and its |J| is |mix| |J of the points|. */
#ifndef RPINN_TESTS_BACKEND_JUDGE_H
#define RPINN_TESTS_BACKEND_JUDGE_H

#include "backend_bench.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { SHORT_RUN = 5, GRAM_ROWS = 40, MOST_PREDICTIONS = 100000 };

/* Compositions are written to be right, and take their time where J is large. */
enum { LARGE_JACOBIAN = 200000 };

/* ---- what `plain` finds ---- */

/* At one point, without offsets [0] and with them [1]. */
typedef struct Judgement {
  double *theta, *offsets;                  /* [N], [M + N] */
  double *rows, *J, *J_size;                /* [M], [M][N], |J| without cancellation within its rows */
  double energy[2], *gradient[2], *size[2]; /* [N], and without cancellation */
  double *parts[2];                         /* [num_terms + 1] */
  double *direction, *weights;              /* [N], [M] */
  double *times, *transposed;               /* J v [M], J^T w [N] */
  /* The first rows of J D J^T, and without cancellation; with D [N] of any kind [0], and with one value for each W and b [1], as priors
   * have it. */
  double *scale[2], gram[2][GRAM_ROWS][GRAM_ROWS], gram_size[2][GRAM_ROWS][GRAM_ROWS];
  size_t num_values;
  double *values; /* predictions */
} Judgement;

/* J [points of all terms][N] without mixing and without scales. */
static double *point_jacobian(Subject *subject, double *theta) {
  RpinnEnergyModel model = *subject->model;
  RpinnTermModel *terms = calloc(model.num_terms, sizeof *terms);
  RpinnBackend *backend;
  assert_non_null(terms);
  model.terms = terms;
  model.num_rows = 0;
  for (size_t t = 0; t < model.num_terms; t++) {
    terms[t] = subject->model->terms[t];
    terms[t].mix = NULL;
    terms[t].first_row = model.num_rows;
    model.num_rows += terms[t].num_rows = terms[t].num_points;
  }
  double *J = numbers(model.num_rows * model.num_parameters), *rows = numbers(model.num_rows),
         *ones = numbers(model.num_rows);
  for (size_t i = 0; i < model.num_rows; i++) ones[i] = 1;
  model.row_scale = ones;
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = theta}};
  require(subject, rpinn_plain_backend.create(subject->context, &model, RPINN_PRECISION_DOUBLE, &backend));
  require(subject, rpinn_backend_residuals(subject->context, backend, &batch, &rows, &J));
  rpinn_backend_destroy(backend);
  free(terms);
  free(rows);
  free(ones);
  return J;
}

static double *uncancelled_jacobian(Subject *subject, double *theta, const double *J) {
  const RpinnEnergyModel *model = subject->model;
  size_t N = subject->N, row = 0, point = 0;
  double *size = numbers(subject->M * N), *points = NULL;
  for (size_t t = 0; t < model->num_terms; t++) {
    const RpinnTermModel *term = &model->terms[t];
    if (term->mix && !points) points = point_jacobian(subject, theta);
    for (size_t i = 0; i < term->num_rows; i++, row++)
      for (size_t p = 0; p < (term->mix ? term->num_points : 1); p++) {
        double factor = term->mix ? fabs(term->mix[i * term->num_points + p]) * model->row_scale[row] : 1;
        const double *from = term->mix ? points + (point + p) * N : J + row * N;
        for (size_t j = 0; j < N; j++) size[row * N + j] += factor * fabs(from[j]);
      }
    point += term->num_points;
  }
  free(points);
  return size;
}

static void judge_gradients(Subject *subject, Judgement *judged) {
  const RpinnEnergyModel *model = subject->model;
  size_t M = subject->M, N = subject->N;
  for (int with = 0; with < 2; with++) {
    const double *xi = with ? judged->offsets : NULL;
    judged->gradient[with] = numbers(N);
    judged->size[with] = numbers(N);
    judged->parts[with] = numbers(model->num_terms + 1);
    require(subject,
            rpinn_posterior_energy(subject->context, subject->oracle, judged->theta, xi,
                                   &judged->energy[with], judged->gradient[with], judged->parts[with]));
    for (size_t j = 0; j < N; j++) {
      double root = model->prior_root[j];
      judged->size[with][j] =
          fabs(root * (root * (judged->theta[j] - model->prior_mean[j]) - (xi ? xi[M + j] : 0)));
    }
    for (size_t i = 0; i < M; i++)
      for (size_t j = 0; j < N; j++)
        judged->size[with][j] += judged->J_size[i * N + j] * fabs(judged->rows[i] - (xi ? xi[i] : 0));
  }
}

static void scale_layers(const RpinnEnergyModel *model, RpinnStream *stream, double *scale) {
  for (size_t j = 0; j < model->num_parameters; j++) scale[j] = 0.5 + rpinn_stream_uniform(stream);
  for (size_t f = 0; f < model->num_fields; f++) {
    const RpinnNetwork *network = &model->networks[f];
    for (size_t l = 0; l < network->num_layers; l++) {
      double *own = rpinn_network_gradient(network, scale, l);
      size_t num_out = network->width[l + 1], num_weights = network->width[l] * num_out;
      for (size_t j = 1; own && j < num_weights; j++) own[j] = own[0];
      for (size_t j = 1; own && j < num_out; j++) own[num_weights + j] = own[num_weights];
    }
  }
}

static void judge_gram(const Subject *subject, Judgement *judged, int kind) {
  size_t M = subject->M, N = subject->N, num_rows = M < GRAM_ROWS ? M : GRAM_ROWS;
  for (size_t a = 0; a < num_rows; a++)
    for (size_t b = 0; b < num_rows; b++)
      for (size_t j = 0; j < N; j++) {
        double scale = judged->scale[kind][j];
        judged->gram[kind][a][b] += judged->J[a * N + j] * scale * judged->J[b * N + j];
        judged->gram_size[kind][a][b] += judged->J_size[a * N + j] * scale * judged->J_size[b * N + j];
      }
}

static void judge_products(const Subject *subject, Judgement *judged) {
  size_t M = subject->M, N = subject->N;
  RpinnStream stream = rpinn_stream(1, RPINN_PURPOSE_CHECK, 0, 0);
  judged->direction = numbers(N);
  judged->weights = numbers(M);
  judged->scale[0] = numbers(N);
  judged->scale[1] = numbers(N);
  judged->times = numbers(M);
  judged->transposed = numbers(N);
  rpinn_stream_normals(&stream, N, judged->direction);
  rpinn_stream_normals(&stream, M, judged->weights);
  for (size_t j = 0; j < N; j++) judged->scale[0][j] = 0.5 + rpinn_stream_uniform(&stream);
  scale_layers(subject->model, &stream, judged->scale[1]);
  for (size_t i = 0; i < M; i++)
    for (size_t j = 0; j < N; j++) {
      judged->times[i] += judged->J[i * N + j] * judged->direction[j];
      judged->transposed[j] += judged->J[i * N + j] * judged->weights[i];
    }
  for (int kind = 0; kind < 2; kind++) judge_gram(subject, judged, kind);
}

/* Takes over theta. */
static Judgement *judge(Subject *subject, double *theta) {
  Judgement *judged = calloc(1, sizeof *judged);
  const RpinnPosterior *oracle = subject->oracle;
  assert_non_null(judged);
  size_t M = subject->M, N = subject->N;
  round_numbers(theta, N);
  judged->theta = theta;
  judged->offsets = numbers(M + N);
  judged->rows = numbers(M);
  judged->J = numbers(M * N);
  rpinn_posterior_draw_offsets(oracle, 0, judged->offsets);
  require(subject,
          rpinn_posterior_residuals(subject->context, subject->oracle, theta, judged->rows, judged->J));
  judged->J_size = uncancelled_jacobian(subject, theta, judged->J);
  judge_gradients(subject, judged);
  judge_products(subject, judged);
  judged->num_values = oracle->problem->num_predicted * oracle->data->predict.count;
  if (judged->num_values > MOST_PREDICTIONS) judged->num_values = 0;
  judged->values = numbers(judged->num_values);
  if (judged->num_values)
    require(subject, rpinn_posterior_predict(subject->context, subject->oracle, theta, judged->values));
  return judged;
}

static void free_judgement(Judgement *judged) {
  double *parts[] = {judged->theta,      judged->offsets,     judged->rows,        judged->J,
                     judged->J_size,     judged->gradient[0], judged->gradient[1], judged->size[0],
                     judged->size[1],    judged->parts[0],    judged->parts[1],    judged->direction,
                     judged->weights,    judged->scale[0],    judged->scale[1],    judged->times,
                     judged->transposed, judged->values};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) free(parts[i]);
  free(judged);
}

/* ---- what a candidate finds ---- */

/* Returns the worst gradient error. */
static double compare_gradients(Subject *subject, const Judgement *judged) {
  size_t num_terms = subject->model->num_terms;
  double *found = numbers(subject->N), *parts = numbers(num_terms + 1), worst = 0,
         tolerance = subject->candidate.tolerance;
  for (int with = 0; with < 2; with++) {
    RpinnBatchMember member = {.theta = judged->theta, .offsets = with ? judged->offsets : NULL};
    double energy, alone, expected = judged->energy[with];
    require(subject, rpinn_backend_energies(subject->context, subject->backend,
                                            &(RpinnMemberBatch){1, &member}, &energy, &found, &parts));
    require(subject, rpinn_backend_energies(subject->context, subject->backend,
                                            &(RpinnMemberBatch){1, &member}, &alone, NULL, NULL));
    check_true(alone == energy, "%s: the energy without its gradient", title_of(subject));
    double error = distance(found, judged->gradient[with], subject->N) / norm(judged->size[with], subject->N);
    if (!(error <= worst)) worst = error;
    check_relative(energy, expected, tolerance);
    for (size_t t = 0; t <= num_terms; t++) /* a term's size is that of the whole: its own may cancel */
      check_true(fabs(parts[t] - judged->parts[with][t]) <= 100 * tolerance * (1 + expected),
                 "%s, term %zu: %.17g instead of %.17g", title_of(subject), t, parts[t],
                 judged->parts[with][t]);
  }
  free(found);
  free(parts);
  return worst;
}

/* Rows without J and with it; returns the error of J. */
static double compare_jacobian(Subject *subject, const Judgement *judged) {
  size_t M = subject->M, N = subject->N;
  double *rows = numbers(M), *J = numbers(M * N), bound = 100 * subject->candidate.tolerance;
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = judged->theta}};
  for (int with = 0; with < 2; with++) {
    require(subject,
            rpinn_backend_residuals(subject->context, subject->backend, &batch, &rows, with ? &J : NULL));
    check_true(distance(rows, judged->rows, M) <= bound * (1 + norm(judged->rows, M)), "%s: rows %s J",
               title_of(subject), with ? "with" : "without");
  }
  double error = distance(J, judged->J, M * N) / norm(judged->J, M * N);
  free(rows);
  free(J);
  return error;
}

static void compare_gram(Subject *subject, const Judgement *judged, int kind) {
  size_t M = subject->M, num_rows = M < GRAM_ROWS ? M : GRAM_ROWS;
  double *rows = numbers(M), *gram = numbers(M * M), bound = 100 * subject->candidate.tolerance;
  const double *scale = judged->scale[kind];
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = judged->theta}};
  require(subject, rpinn_backend_gram(subject->context, subject->backend, &batch, &scale, &rows, &gram));
  check_true(distance(rows, judged->rows, M) <= bound * (1 + norm(judged->rows, M)), "%s: rows of J D J^T",
             title_of(subject));
  for (size_t a = 0; a < num_rows; a++)
    for (size_t b = 0; b < num_rows; b++)
      check_true(fabs(gram[a * M + b] - judged->gram[kind][a][b]) <=
                     bound * judged->gram_size[kind][a][b] + 1e-300,
                 "%s: J D J^T of kind %d at %zu, %zu: %g instead of %g", title_of(subject), kind, a, b,
                 gram[a * M + b], judged->gram[kind][a][b]);
  free(rows);
  free(gram);
}

static void compare_products(Subject *subject, const Judgement *judged) {
  size_t M = subject->M, N = subject->N;
  double *times = numbers(M), *transposed = numbers(N);
  double bound = 100 * subject->candidate.tolerance, size = norm(judged->J, M * N);
  const double *direction = judged->direction, *weights = judged->weights;
  RpinnContext *context = subject->context;
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = judged->theta}};
  require(subject, rpinn_backend_jacobian_times(context, subject->backend, &batch, &direction, &times));
  check_true(distance(times, judged->times, M) <= bound * size * norm(direction, N), "%s: J v",
             title_of(subject));
  require(subject, rpinn_backend_transposed_times(context, subject->backend, &batch, &weights, &transposed));
  check_true(distance(transposed, judged->transposed, N) <= bound * size * norm(weights, M), "%s: J^T w",
             title_of(subject));
  for (int kind = 0; kind < 2; kind++) compare_gram(subject, judged, kind);
  free(times);
  free(transposed);
}

/* Twice as one call, and twice as planned. */
static void compare_predictions(Subject *subject, const Judgement *judged) {
  const RpinnPosterior *oracle = subject->oracle;
  size_t count = judged->num_values;
  if (!count) return;
  double *found = numbers(count), *planned_values = numbers(count);
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.theta = judged->theta}};
  RpinnEvaluation evaluation = {.num_points = oracle->data->predict.count,
                                .points = oracle->data->predict.x,
                                .num_programs = oracle->problem->num_predicted,
                                .programs = oracle->predictions};
  RpinnPlannedEvaluation planned;
  require(subject, rpinn_evaluation_plan(subject->context, subject->backend, &evaluation, &planned));
  for (int again = 0; again < 2; again++) {
    require(subject, rpinn_backend_evaluate(subject->context, subject->backend, &batch, &evaluation, &found));
    require(subject, rpinn_evaluation_run(subject->context, &planned, &batch, &planned_values));
    check_true(distance(found, judged->values, count) <=
                   10 * subject->candidate.tolerance * (1 + norm(judged->values, count)),
               "%s: predictions", title_of(subject));
    assert_memory_equal(found, planned_values, count * sizeof *found);
  }
  rpinn_evaluation_release(&planned);
  free(found);
  free(planned_values);
}

/* A short way of Adam on the backend, and one that is composed of its energies. */
static void compare_adam(Subject *subject, const Judgement *judged) {
  size_t N = subject->N;
  const RpinnBackendOperations *own = subject->backend->operations;
  RpinnBackendOperations bare;
  RpinnAdamRule rule = {2e-3, 0.8, 7, 0.85, 0.99, 1e-7};
  double *theta[2], *m[2], *v[2], energy[2];
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.offsets = judged->offsets}};
  for (int composed = 0; composed < 2; composed++) {
    theta[composed] = copy_of(judged->theta, N);
    m[composed] = numbers(N);
    v[composed] = numbers(N);
    RpinnAdamState state = {theta[composed], m[composed], v[composed], 3}, *states = &state;
    if (composed) strip(subject->backend, &bare);
    require(subject, rpinn_backend_adam_advance(subject->context, subject->backend, &batch, &rule, &states,
                                                SHORT_RUN, &energy[composed]));
    assert_int_equal(state.t, 3 + SHORT_RUN);
  }
  subject->backend->operations = own;
  double way = distance(theta[1], judged->theta, N), bound = 1000 * subject->candidate.tolerance;
  check_relative(energy[0], energy[1], bound);
  check_true(distance(theta[0], theta[1], N) <= bound * (way + norm(judged->theta, N)),
             "%s: theta after %d steps is %g apart, on a way of %g", title_of(subject), SHORT_RUN,
             distance(theta[0], theta[1], N), way);
  for (int k = 0; k < 2; k++) {
    free(theta[k]);
    free(m[k]);
    free(v[k]);
  }
}

/* Its own functions, and what is composed where there are none. */
static void compare_compositions(Subject *subject, const Judgement *judged) {
  const RpinnBackendOperations *own = subject->backend->operations;
  RpinnBackendOperations bare;
  compare_adam(subject, judged);
  strip(subject->backend, &bare);
  compare_products(subject, judged);
  compare_predictions(subject, judged);
  subject->backend->operations = own;
}

static void compare_all(Subject *subject, const Judgement *judged, const char *when) {
  bool is_large = subject->M * subject->N > LARGE_JACOBIAN;
  double gradient = compare_gradients(subject, judged), jacobian = compare_jacobian(subject, judged);
  compare_products(subject, judged);
  compare_predictions(subject, judged);
  if (!is_large) compare_compositions(subject, judged);
  print_message("%-50s %-8s gradient %.1e, J %.1e\n", title_of(subject), when, gradient, jacobian);
  check_true(gradient < subject->candidate.tolerance, "%s: gradient error %g", title_of(subject), gradient);
  check_true(jacobian < 10 * subject->candidate.tolerance, "%s: Jacobian error %g", title_of(subject),
             jacobian);
}

/* Where Adam comes to, with the fastest backend that there is. */
static double *train(Subject *subject, const double *start, size_t num_steps) {
  double *theta = copy_of(start, subject->N), *offsets = numbers(subject->M + subject->N),
         *m = numbers(subject->N), *v = numbers(subject->N), energy;
  RpinnAdamRule rule = {1e-3, 0.9, 5000, 0.9, 0.999, 1e-8};
  RpinnAdamState state = {theta, m, v, 0}, *states = &state;
  RpinnMemberBatch batch = {1, &(RpinnBatchMember){.offsets = offsets}};
  take_candidate(subject, &(Candidate){"cpu", &rpinn_cpu_backend, RPINN_PRECISION_FLOAT, 0, false});
  rpinn_posterior_draw_offsets(subject->oracle, 0, offsets);
  require(subject, rpinn_backend_adam_advance(subject->context, subject->backend, &batch, &rule, &states,
                                              num_steps, &energy));
  assert_true(isfinite(energy));
  free(offsets);
  free(m);
  free(v);
  return theta;
}

/* `plain` is what it is compared with: where J is large it is left out, and so are mock backends, which need no long run. With
 * sanitizers, which look at addresses and not at values, large ones are for `cpu` alone. */
static bool is_wanted(const Subject *subject, const Candidate *candidate, bool trained) {
  bool is_large = subject->M * subject->N > LARGE_JACOBIAN;
  if (candidate->is_mock) return !is_large && !trained;
  return !is_large || candidate->operations == &rpinn_cpu_backend ||
         (!SANITIZED && candidate->operations != &rpinn_plain_backend);
}

/* At the start of member 0, and after num_steps of Adam. */
static void compare_subject(Subject subject, const Candidate *candidates, size_t count, size_t num_steps) {
  double *start = numbers(subject.N);
  rpinn_posterior_start_glorot(subject.oracle, 0, start);
  for (int trained = 0; trained < 2; trained++) {
    Judgement *judged =
        judge(&subject, trained ? train(&subject, start, num_steps) : copy_of(start, subject.N));
    for (size_t k = 0; k < count; k++) {
      if (!is_wanted(&subject, &candidates[k], trained)) continue;
      take_candidate(&subject, &candidates[k]);
      compare_all(&subject, judged, trained ? "trained" : "start");
    }
    free_judgement(judged);
  }
  free(start);
  close_subject(&subject);
}

#endif
