/* Transitions of NUTS that the backend `cuda` makes by itself, on the emulated device and on a GPU where there is one: each is what the
 * definition makes of the same random numbers, has the same bits alone, in a batch, in reverse, with its seat lost and with little memory, by
 * every kernel, leads to states that are written where chains have them, and chains of them have the moments of a distribution that is known. */
#include "check.h"

#include <Random123/philox.h>

#include "backend_bench.h"
#include "cuda_engine.h"
#include "member_slots.h"
#include "nuts_chain.h"

enum { CHAINS = EMULATED_GROUP, DEEPEST = 6, MOST_POINTS = 1 << (DEEPEST + 1), NUM_TRANSITIONS = 5 };

static const char small[] = "name: small\n"
                            "coordinates: {x: [0, 1]}\n"
                            "fields: {u: {network: [6, 6]}}\n"
                            "truth: {u: x^2}\n"
                            "terms:\n"
                            "  slope: {expect: \"d(u, x)\", at: {grid: 7}, data: 2*x, noise: 0.1}\n"
                            "  value: {expect: u, at: {grid: 4}, data: truth, noise: 0.05}\n"
                            "prior: {scale: 1}\n"
                            "predict: {grid: 5, quantities: [u]}\n";

/* Data that say nothing: the posterior is the prior. */
static const char vague[] = "name: vague\n"
                            "coordinates: {x: [0, 1]}\n"
                            "fields: {u: {network: [3, 3]}}\n"
                            "truth: {u: x^2}\n"
                            "terms:\n"
                            "  value: {expect: u, at: {grid: 4}, data: truth, noise: 1e6}\n"
                            "prior: {scale: 0.5}\n"
                            "predict: {grid: 5, quantities: [u]}\n";

/* Two inputs, two fields, an unknown, and more points than a tile has. */
#define PLANE_OF(u, k)                                                                                       \
  "name: plane\n"                                                                                            \
  "coordinates: {x: [0, 1], y: [0, 1]}\n"                                                                    \
  "fields: {u: {network: [" u "]}, k: {network: [" k "]}}\n"                                                 \
  "unknowns: {rate: {start: 0.5, prior: {mean: 0.5, std: 0.3}}}\n"                                           \
  "truth: {u: x*y, k: 1 + x}\n"                                                                              \
  "terms:\n"                                                                                                 \
  "  flow: {expect: \"k*d(u, x, x) + rate*d(u, y) - d(k, x)*u\", at: {latin_hypercube: 60}, data: 0, "       \
  "noise: 0.3}\n"                                                                                            \
  "  value: {expect: u, at: {grid: [3, 3]}, data: truth, noise: 0.1}\n"                                      \
  "  other: {expect: k, at: {grid: [2, 3]}, data: truth, noise: 0.2}\n"                                      \
  "prior: {scale: 1}\n"                                                                                      \
  "predict: {grid: [3, 3], quantities: [u, k]}\n"
#define SIXTIES "60, 60, 60, 60"
static const char plane[] = PLANE_OF("7, 6", "5, 5, 5"), broad_plane[] = PLANE_OF("24, 6", "5, 5, 5"),
                  known_plane[] = PLANE_OF(SIXTIES, SIXTIES);

/* Layers of so many units, and a term of two tiles. */
#define LINE_OF(widths)                                                                                      \
  "name: line\n"                                                                                             \
  "coordinates: {x: [0, 1]}\n"                                                                               \
  "fields: {u: {network: [" widths "]}}\n"                                                                   \
  "truth: {u: x^2}\n"                                                                                        \
  "terms:\n"                                                                                                 \
  "  bend: {expect: \"d(u, x, x) + u^2\", at: {grid: 45}, data: 2 + x^4, noise: 0.5}\n"                      \
  "  value: {expect: u, at: {grid: 4}, data: truth, noise: 0.05}\n"                                          \
  "prior: {scale: 1}\n"                                                                                      \
  "predict: {grid: 5, quantities: [u]}\n"
static const char wide[] = LINE_OF("64, 5"), broad_line[] = LINE_OF("24, 5"),
                  known_line[] = LINE_OF("50, 50");

/* A problem for each of the fused kernels, with a step that its chains can make. */
typedef struct Shape {
  const char *yaml;
  RpinnPrecision precision;
  RpinnFusedKernel kernel;
  double step;
} Shape;
static const Shape shapes[RPINN_NUM_FUSED_KERNELS] = {
    {small, RPINN_PRECISION_FLOAT, RPINN_FUSED_LINE, 0.01},
    {plane, RPINN_PRECISION_FLOAT, RPINN_FUSED_PLANE, 0.01},
    {wide, RPINN_PRECISION_FLOAT, RPINN_FUSED_WIDE, 0.003},
    {broad_line, RPINN_PRECISION_TF32, RPINN_FUSED_LINE_TF32, 0.005},
    {broad_plane, RPINN_PRECISION_TF32, RPINN_FUSED_PLANE_TF32, 0.01},
    {known_line, RPINN_PRECISION_FLOAT, RPINN_FUSED_LINE_50, 0.003},
    {known_line, RPINN_PRECISION_TF32, RPINN_FUSED_LINE_50_TF32, 0.003},
    {known_plane, RPINN_PRECISION_FLOAT, RPINN_FUSED_PLANE_60, 0.001},
    {known_plane, RPINN_PRECISION_TF32, RPINN_FUSED_PLANE_60_TF32, 0.001}};

/* ---- subjects ---- */

static Subject open_text(const char *yaml) {
  Subject subject = {.context = rpinn_context_create()};
  RpinnOverride overrides[] = {{"backend", "plain", "test", true}};
  RpinnProblemOptions options = {.num_overrides = 1, .overrides = overrides};
  require(&subject, rpinn_problem_parse(subject.context, "chains.yaml", yaml, strlen(yaml), &options,
                                        &subject.problem));
  require(&subject, rpinn_posterior_create(subject.context, subject.problem, false, &subject.oracle));
  subject.model = &subject.oracle->model;
  subject.M = subject.model->num_rows;
  subject.N = subject.model->num_parameters;
  return subject;
}

/* Those that make transitions, in float or by tensor cores. */
static size_t chain_candidates(RpinnPrecision precision, Candidate candidates[MAX_CANDIDATES]) {
  Candidate all[MAX_CANDIDATES];
  size_t num_all = 0, count = 0;
  if (has_gpu()) add_candidates("cuda", &rpinn_cuda_backend, false, all, &num_all);
  add_candidates("emulated cuda", &emulated_cuda_backend, false, all, &num_all);
  for (size_t c = 0; c < num_all; c++)
    if (all[c].precision == precision) candidates[count++] = all[c];
  return count;
}

/* A shape by a candidate of its precision, with the kernel that is meant. */
static Subject open_shape(const Shape *shape, const Candidate *candidate) {
  Subject subject = open_text(shape->yaml);
  take_candidate(&subject, candidate);
  const RpinnWorkTables *fused = ((const RpinnCudaEngine *)subject.backend)->fused;
  check_true(fused && fused->fused.kernel == (int32_t)shape->kernel, "%s: kernel %d, expected %d",
             title_of(&subject), fused ? (int)fused->fused.kernel : -1, (int)shape->kernel);
  check_true(shape->yaml == small || fused->fused.num_tiles > 1, "%s: one tile", title_of(&subject));
  return subject;
}

/* Chains [CHAINS] about to make a transition, all of them different. */
typedef struct Flock {
  size_t N;
  RpinnBackend *backend; /* which has lent their states */
  RpinnBatchMember members[CHAINS];
  RpinnWholeTransition all[CHAINS];
} Flock;

/* Where they are, as their members see it. */
static void weigh_flock(Subject *subject, Flock *flock) {
  for (size_t k = 0; k < CHAINS; k++) {
    RpinnWholeTransition *own = &flock->all[k];
    RpinnBatchMember member = flock->members[k];
    member.theta = own->theta;
    require(subject,
            rpinn_backend_energies(subject->context, subject->backend, &(RpinnMemberBatch){1, &member},
                                   &own->log_density, &own->gradient, NULL));
    own->log_density = -own->log_density;
    for (size_t j = 0; j < flock->N; j++) own->gradient[j] = -own->gradient[j];
  }
}

static double *lend(Subject *subject) {
  double *vector;
  require(subject, subject->backend->operations->lend_vector(subject->context, subject->backend, &vector));
  return vector;
}

/* Chains that nobody has weighed yet. */
static Flock *place_flock(Subject *subject, double step, bool by_path, unsigned max_depth) {
  Flock *flock = calloc(1, sizeof *flock);
  size_t N = flock->N = subject->N;
  flock->backend = subject->backend;
  for (size_t k = 0; k < CHAINS; k++) {
    RpinnStream stream = rpinn_stream(5, RPINN_PURPOSE_CHECK, k, 0);
    double *theta = lend(subject), *inverse = numbers(N);
    rpinn_posterior_start_glorot(subject->oracle, k, theta);
    for (size_t j = 0; j < N; j++) inverse[j] = exp(0.5 * rpinn_stream_normal(&stream));
    flock->all[k] = (RpinnWholeTransition){.step = step * (1 + 0.1 * (double)k),
                                           .max_energy_error = k == 3 ? 1e-3 : 1000,
                                           .max_depth = max_depth,
                                           .turns_by_path = by_path,
                                           .inverse_metric = k == 2 ? NULL : inverse,
                                           .theta = theta,
                                           .gradient = lend(subject)};
    if (k == 2) free(inverse);
  }
  return flock;
}

static Flock *make_flock(Subject *subject, double step, bool by_path, unsigned max_depth) {
  Flock *flock = place_flock(subject, step, by_path, max_depth);
  weigh_flock(subject, flock);
  return flock;
}

static void free_flock(Flock *flock) {
  for (size_t k = 0; k < CHAINS; k++) {
    flock->backend->operations->return_vector(flock->backend, flock->all[k].theta);
    flock->backend->operations->return_vector(flock->backend, flock->all[k].gradient);
    free((double *)flock->all[k].inverse_metric);
  }
  free(flock);
}

/* Once; those that have not finished have not. */
static void move_once(Subject *subject, Flock *flock, size_t count, const size_t *which) {
  RpinnBatchMember members[CHAINS];
  RpinnWholeTransition *all[CHAINS];
  for (size_t k = 0; k < count; k++) {
    members[k] = flock->members[which[k]];
    all[k] = &flock->all[which[k]];
  }
  require(subject, subject->backend->operations->transitions(subject->context, subject->backend,
                                                             &(RpinnMemberBatch){count, members}, all));
}

/* Until all have finished. */
static void move(Subject *subject, Flock *flock, size_t count, const size_t *which) {
  size_t left[CHAINS], num_left = count;
  memcpy(left, which, count * sizeof *which);
  while (num_left) {
    size_t before = num_left;
    move_once(subject, flock, num_left, left);
    num_left = 0;
    for (size_t k = 0; k < before; k++)
      if (!flock->all[left[k]].has_finished) left[num_left++] = left[k];
    assert_true(num_left < before);
  }
}

/* Those that have not finished. */
static void move_rest(Subject *subject, Flock *flock) {
  size_t left[CHAINS], num_left = 0;
  for (size_t k = 0; k < CHAINS; k++)
    if (!flock->all[k].has_finished) left[num_left++] = k;
  move(subject, flock, num_left, left);
}

static const size_t forwards[CHAINS] = {0, 1, 2, 3, 4, 5, 6}, backwards[CHAINS] = {6, 5, 4, 3, 2, 1, 0};

/* Keys for the next transition; those that an earlier one had are not used again. */
static void give_keys(Flock *flock, uint64_t number) {
  for (size_t k = 0; k < CHAINS; k++) flock->all[k].key = 1000 * number + k + ((uint64_t)k << 40);
}

/* ---- by the definition ---- */

/* All points of a trajectory, in the order in which they came. */
typedef struct Path {
  size_t N, count;
  double *q[MOST_POINTS], *p[MOST_POINTS], *g[MOST_POINTS], *sharp[MOST_POINTS];
  double log_density[MOST_POINTS], energy[MOST_POINTS];
} Path;

typedef struct Expected {
  double theta_of_proposal, log_density, acceptance_sum, max_error;
  size_t proposal, depth, num_steps;
  bool diverging, reached_max_depth;
} Expected;

static double uniform(uint64_t key, uint32_t purpose, uint32_t index, int which) {
  philox4x32_ctr_t counter = {{index, purpose, 0, 0}};
  philox4x32_key_t own = {{(uint32_t)key, (uint32_t)(key >> 32)}};
  philox4x32_ctr_t words = philox4x32(counter, own);
  uint64_t bits = (uint64_t)words.v[2 * which] << 32 | words.v[2 * which + 1];
  return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

static double product(const double *a, const double *b, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += a[i] * b[i];
  return sum;
}

static size_t new_point(Path *path) {
  size_t own = path->count++;
  assert_true(own < MOST_POINTS);
  path->q[own] = numbers(path->N);
  path->p[own] = numbers(path->N);
  path->g[own] = numbers(path->N);
  path->sharp[own] = numbers(path->N);
  return own;
}

static double inverse_of(const RpinnWholeTransition *of, size_t j) {
  return of->inverse_metric ? of->inverse_metric[j] : 1;
}

static void finish_point(Path *path, const RpinnWholeTransition *of, size_t i) {
  for (size_t j = 0; j < path->N; j++) path->sharp[i][j] = inverse_of(of, j) * path->p[i][j];
  path->energy[i] = 0.5 * product(path->p[i], path->sharp[i], path->N) - path->log_density[i];
}

static size_t leap(Subject *subject, Path *path, const RpinnWholeTransition *of, size_t from, double step) {
  size_t to = new_point(path);
  double value;
  for (size_t j = 0; j < path->N; j++) {
    path->p[to][j] = path->p[from][j] + 0.5 * step * path->g[from][j];
    path->q[to][j] = path->q[from][j] + step * inverse_of(of, j) * path->p[to][j];
  }
  RpinnBatchMember member = {.theta = path->q[to]};
  require(subject, rpinn_backend_energies(subject->context, subject->backend, &(RpinnMemberBatch){1, &member},
                                          &value, &path->g[to], NULL));
  path->log_density[to] = -value;
  for (size_t j = 0; j < path->N; j++) {
    path->g[to][j] = -path->g[to][j];
    path->p[to][j] += 0.5 * step * path->g[to][j];
  }
  finish_point(path, of, to);
  return to;
}

/* Does a stretch turn back, from its point `a` to its point `b`, with the sum of the momenta between, both included? */
static bool turns_back(const Path *path, const size_t *order, size_t a, size_t b, bool by_path) {
  double *sum = numbers(path->N);
  for (size_t i = a; i <= b; i++)
    for (size_t j = 0; j < path->N; j++)
      sum[j] += path->p[order[i]][j] * (by_path && b > a + 1 && (i == a || i == b) ? 0.5 : 1);
  bool turns = !(product(path->sharp[order[a]], sum, path->N) > 0) ||
               !(product(path->sharp[order[b]], sum, path->N) > 0);
  free(sum);
  return turns;
}

/* … of two halves, [a, middle) and [middle, b]: the whole, and each half with the nearest point of the other. */
static bool halves_turn_back(const Path *path, const size_t *order, size_t a, size_t middle, size_t b,
                             bool by_path) {
  if (turns_back(path, order, a, b, by_path)) return true;
  if (b == a + 1) return false;
  return turns_back(path, order, a, middle, by_path) || turns_back(path, order, middle - 1, b, by_path);
}

static void begin_path(Subject *subject, const RpinnWholeTransition *of, Path *path) {
  const RpinnParameterLayout *layout = &((const RpinnCudaEngine *)subject->backend)->layout;
  size_t start = new_point(path);
  for (size_t j = 0; j < path->N; j++) {
    uint32_t place = (uint32_t)layout->place[j];
    double radius = sqrt(-2 * log(uniform(of->key, 0, place / 2, 0))),
           angle = 6.283185307179586476925 * uniform(of->key, 0, place / 2, 1);
    path->p[start][j] = radius * (place % 2 ? sin(angle) : cos(angle)) / sqrt(inverse_of(of, j));
    path->q[start][j] = of->theta[j];
    path->g[start][j] = of->gradient[j];
  }
  path->log_density[start] = of->log_density;
  finish_point(path, of, start);
}

/* order: of the points of the trajectory, from the end that does not grow to the other one. */
static Expected expect_transition(Subject *subject, const RpinnWholeTransition *of, Path *path) {
  Expected expected = {0};
  size_t ends[2] = {0, 0}, *order = calloc(2 * MOST_POINTS, sizeof *order), length = 1;
  double weight = 1;
  int grown = 1;
  begin_path(subject, of, path);
  for (bool goes_on = true; goes_on;) {
    int end = uniform(of->key, 2, (uint32_t)expected.depth, 0) > 0.5;
    double half_weight = 0, step = end ? of->step : -of->step;
    size_t half_proposal = 0, size = (size_t)1 << expected.depth;
    if (end != grown) /* the other end is the last one now */
      for (size_t i = 0; i < length / 2; i++) {
        size_t swapped = order[i];
        order[i] = order[length - 1 - i];
        order[length - 1 - i] = swapped;
      }
    grown = end;
    for (size_t n = 1; n <= size && goes_on; n++) {
      size_t point = ends[end] = order[length + n - 1] = leap(subject, path, of, ends[end], step);
      double error = path->energy[point] - path->energy[0], own = exp(-error);
      expected.num_steps++;
      expected.acceptance_sum += fabs(error) <= of->ignored || own > 1 ? 1 : own;
      if (fabs(error) > fabs(expected.max_error)) expected.max_error = error;
      expected.diverging = !(error <= of->max_energy_error);
      goes_on = !expected.diverging;
      for (size_t part = 2; n % part == 0 && goes_on; part *= 2)
        goes_on = !halves_turn_back(path, order, length + n - part, length + n - part / 2, length + n - 1,
                                    of->turns_by_path);
      half_weight += own;
      if (uniform(of->key, 1, (uint32_t)expected.num_steps, 0) < own / half_weight || n == 1)
        half_proposal = point;
    }
    if (!goes_on) break;
    if (uniform(of->key, 1, (uint32_t)expected.num_steps, 1) < half_weight / weight)
      expected.proposal = half_proposal;
    weight += half_weight;
    goes_on = !halves_turn_back(path, order, 0, length, length + size - 1, of->turns_by_path);
    length += size;
    expected.depth++;
    expected.reached_max_depth = goes_on && expected.depth == of->max_depth;
    goes_on = goes_on && !expected.reached_max_depth;
  }
  free(order);
  return expected;
}

static void free_path(Path *path) {
  for (size_t i = 0; i < path->count; i++) {
    free(path->q[i]);
    free(path->p[i]);
    free(path->g[i]);
    free(path->sharp[i]);
  }
}

/* Small steps reach the greatest depth, larger ones turn back, within halves, at their seams and as a whole, and chain 3 calls every error a
 * divergence. */
static void transitions_are_those_of_the_definition(void **state) {
  (void)state;
  static const struct {
    const char *yaml;
    double step;
    unsigned max_depth;
    uint64_t num_transitions;
  } cases[] = {{small, 0.002, DEEPEST, NUM_TRANSITIONS},
               {small, 0.004, DEEPEST, NUM_TRANSITIONS},
               {small, 0.006, DEEPEST, NUM_TRANSITIONS},
               {small, 0.009, DEEPEST, NUM_TRANSITIONS},
               {vague, 0.06, DEEPEST, NUM_TRANSITIONS},
               {vague, 0.13, DEEPEST, NUM_TRANSITIONS},
               {vague, 0.25, DEEPEST, NUM_TRANSITIONS},
               {vague, 0.5, DEEPEST, NUM_TRANSITIONS},
               {vague, 0.35, DEEPEST, NUM_TRANSITIONS},
               {vague, 0.7, DEEPEST, NUM_TRANSITIONS},
               {plane, 0.004, 4, 2},
               {plane, 0.02, 4, 2},
               {wide, 0.002, 3, 1}};
  Candidate candidates[MAX_CANDIDATES];
  size_t num_candidates = chain_candidates(RPINN_PRECISION_FLOAT, candidates), deepest = 0, num_turned = 0,
         num_diverging = 0, num_moved = 0;
  for (size_t c = 0; c < num_candidates; c++)
    for (size_t s = 0; s < 2 * sizeof cases / sizeof cases[0]; s++) {
      Subject subject = open_text(cases[s / 2].yaml);
      take_candidate(&subject, &candidates[c]);
      Flock *flock = make_flock(&subject, cases[s / 2].step, s % 2, cases[s / 2].max_depth);
      for (uint64_t number = 0; number < cases[s / 2].num_transitions; number++) {
        Path paths[CHAINS] = {0};
        Expected expected[CHAINS];
        give_keys(flock, 100 * s + number);
        for (size_t k = 0; k < CHAINS; k++) {
          paths[k].N = subject.N;
          expected[k] = expect_transition(&subject, &flock->all[k], &paths[k]);
        }
        move(&subject, flock, CHAINS, forwards);
        for (size_t k = 0; k < CHAINS; k++) {
          const RpinnWholeTransition *own = &flock->all[k];
          const Expected *of = &expected[k];
          size_t N = subject.N, chosen = of->proposal;
          check_true(own->num_steps == of->num_steps && own->depth == of->depth &&
                         own->diverging == of->diverging && own->reached_max_depth == of->reached_max_depth,
                     "%s, case %zu, transition %d, chain %zu: %zu leapfrogs to depth %u, expected %zu to %zu",
                     title_of(&subject), s, (int)number, k, own->num_steps, own->depth, of->num_steps,
                     of->depth);
          check_relative(own->acceptance_sum, of->acceptance_sum, 1e-2);
          /* where it is large, the trajectory magnifies rounding */
          check_true(fabs(own->max_error - of->max_error) < 1e-2 * (1 + fabs(of->max_error)) ||
                         (own->max_error > 10 && of->max_error > 10),
                     "greatest error %g, expected %g", own->max_error, of->max_error);
          check_true(fabs(own->first_energy - paths[k].energy[0]) < 1e-4 * (1 + fabs(own->first_energy)),
                     "energy %g, expected %g", own->first_energy, paths[k].energy[0]);
          check_true(fabs(own->log_density - paths[k].log_density[chosen]) <
                         2e-4 * (1 + fabs(own->log_density)),
                     "log density %g, expected %g", own->log_density, paths[k].log_density[chosen]);
          check_true(distance(own->theta, paths[k].q[chosen], N) < 1e-4 * norm(own->theta, N),
                     "%s, chain %zu: %g from its proposal", title_of(&subject), k,
                     distance(own->theta, paths[k].q[chosen], N));
          check_true(distance(own->gradient, paths[k].g[chosen], N) < 1e-2 * (1 + norm(own->gradient, N)),
                     "%s, chain %zu: the gradient is another", title_of(&subject), k);
          deepest = of->reached_max_depth && of->depth > deepest ? of->depth : deepest;
          num_turned += !of->diverging && !of->reached_max_depth;
          num_diverging += of->diverging;
          num_moved += chosen != 0;
          free_path(&paths[k]);
        }
      }
      free_flock(flock);
      close_subject(&subject);
    }
  print_message("deepest %zu, %zu turned, %zu diverging, %zu moved\n", deepest, num_turned, num_diverging,
                num_moved);
  assert_true(num_candidates == 0 ||
              (deepest == DEEPEST && num_turned > 20 && num_diverging > 5 && num_moved > 50));
}

/* ---- bits ---- */

static void check_same(const Subject *subject, const Flock *one, const Flock *other, const char *how) {
  for (size_t k = 0; k < CHAINS; k++) {
    const RpinnWholeTransition *a = &one->all[k], *b = &other->all[k];
    check_true(!memcmp(a->theta, b->theta, one->N * sizeof(double)) &&
                   !memcmp(a->gradient, b->gradient, one->N * sizeof(double)) &&
                   a->log_density == b->log_density && a->energy == b->energy &&
                   a->acceptance_sum == b->acceptance_sum && a->num_steps == b->num_steps,
               "%s: chain %zu differs %s", title_of(subject), k, how);
  }
}

/* Alone, in reverse, and with all that a chain has on the device lost between and in the middle of transitions. */
static void check_bits(Subject *subject, double step, unsigned max_depth, uint64_t num_transitions) {
  enum { TOGETHER, REVERSED, ALONE, LOST, OTHERS, NUM_FLOCKS };
  Flock *all[NUM_FLOCKS];
  size_t num_others = 0;
  for (size_t i = 0; i < NUM_FLOCKS; i++) all[i] = make_flock(subject, step, false, max_depth);
  for (uint64_t number = 0; number < num_transitions; number++) {
    for (size_t i = 0; i < NUM_FLOCKS; i++) give_keys(all[i], number + (i == OTHERS ? 50 : 0));
    move(subject, all[TOGETHER], CHAINS, forwards);
    move(subject, all[REVERSED], CHAINS, backwards);
    for (size_t k = 0; k < CHAINS; k++) move(subject, all[ALONE], 1, &forwards[k]);
    move_once(subject, all[LOST], CHAINS, forwards);
    for (size_t k = 0; k < CHAINS; k++) all[OTHERS]->all[k].ticket = 0;
    move(subject, all[OTHERS], CHAINS, forwards); /* takes the seats, as there are eight */
    move_rest(subject, all[LOST]);
    check_same(subject, all[TOGETHER], all[REVERSED], "in reverse");
    check_same(subject, all[TOGETHER], all[ALONE], "alone");
    check_same(subject, all[TOGETHER], all[LOST], "after it lost its seat");
  }
  for (size_t k = 0; k < CHAINS; k++)
    num_others +=
        memcmp(all[TOGETHER]->all[k].theta, all[OTHERS]->all[k].theta, subject->N * sizeof(double)) != 0;
  check_true(num_others > CHAINS / 2, "%s: %zu chains care for their keys", title_of(subject), num_others);
  for (size_t i = 0; i < NUM_FLOCKS; i++) free_flock(all[i]);
}

static void chains_have_the_same_bits_in_any_company(void **state) {
  (void)state;
  for (size_t s = 0; s < RPINN_NUM_FUSED_KERNELS; s++) {
    Candidate candidates[MAX_CANDIDATES];
    size_t num_candidates = chain_candidates(shapes[s].precision, candidates);
    for (size_t c = 0; c < num_candidates; c++) {
      Subject subject = open_shape(&shapes[s], &candidates[c]);
      check_bits(&subject, shapes[s].step, s ? 3 : DEEPEST, s ? 2 : NUM_TRANSITIONS);
      close_subject(&subject);
    }
  }
}

/* Members with a prior, offsets and scales of their own are weighed by them: the density is that of energies. */
static void check_densities(Subject *subject, double step, unsigned max_depth) {
  size_t M = subject->M, N = subject->N;
  double *root = numbers(N), *offsets = numbers(M + N), *scale = numbers(M), *gradient = numbers(N), value;
  Flock *flock = make_flock(subject, step, false, max_depth);
  for (size_t j = 0; j < N; j++) root[j] = 2 + 0.6 * (double)j / (double)N;
  for (size_t i = 0; i < M + N; i++) offsets[i] = 0.3 - 0.6 * (double)i / (double)(M + N);
  for (size_t i = 0; i < M; i++) scale[i] = 0.5 * subject->model->row_scale[i];
  flock->members[1] = (RpinnBatchMember){.prior_root = root};
  flock->members[4] = (RpinnBatchMember){.prior_root = root, .offsets = offsets};
  flock->members[5] = (RpinnBatchMember){.row_scale = scale};
  weigh_flock(subject, flock);
  for (uint64_t number = 0; number < 2; number++) {
    give_keys(flock, number);
    move(subject, flock, CHAINS, forwards);
    for (size_t k = 0; k < CHAINS; k++) {
      RpinnBatchMember member = flock->members[k];
      member.theta = flock->all[k].theta;
      require(subject, rpinn_backend_energies(subject->context, subject->backend,
                                              &(RpinnMemberBatch){1, &member}, &value, &gradient, NULL));
      check_relative(flock->all[k].log_density, -value, 1e-6);
      for (size_t j = 0; j < N; j++) gradient[j] = -gradient[j];
      check_true(distance(gradient, flock->all[k].gradient, N) < 1e-5 * norm(gradient, N),
                 "%s, chain %zu: another gradient", title_of(subject), k);
    }
  }
  free(root);
  free(offsets);
  free(scale);
  free(gradient);
  free_flock(flock);
}

static void densities_are_those_of_energies(void **state) {
  (void)state;
  for (size_t s = 0; s < RPINN_NUM_FUSED_KERNELS; s++) {
    Candidate candidates[MAX_CANDIDATES];
    size_t num_candidates = chain_candidates(shapes[s].precision, candidates);
    for (size_t c = 0; c < num_candidates; c++) {
      Subject subject = open_shape(&shapes[s], &candidates[c]);
      check_densities(&subject, shapes[s].step, s ? 3 : DEEPEST);
      close_subject(&subject);
    }
  }
}

/* ---- memory ---- */

/* From one flock to another. */
static void copy_states(const Flock *from, Flock *to) {
  for (size_t k = 0; k < CHAINS; k++) {
    memcpy(to->all[k].theta, from->all[k].theta, from->N * sizeof(double));
    memcpy(to->all[k].gradient, from->all[k].gradient, from->N * sizeof(double));
    to->all[k].log_density = from->all[k].log_density;
  }
}

/* Two chains are on the device, one of them in the middle of a transition, when five more come that there is no room for: all is given up,
 * and slices of chains are made to their ends, in the same bits. Seats are no more than there are chains in a slice. */
static void little_memory_leaves_no_mark(void **state) {
  (void)state;
  Candidate candidate = {"emulated cuda", &emulated_cuda_backend, RPINN_PRECISION_FLOAT, 1e-5, false};
  if (getenv("RPINN_TEST_BACKEND")) skip();
  Subject other = open_text(small), subject = open_text(small);
  take_candidate(&other, &candidate);
  Flock *ample = make_flock(&other, 0.004, false, DEEPEST);
  for (uint64_t number = 0; number < NUM_TRANSITIONS; number++) {
    take_candidate(&subject, &candidate); /* with nobody on it */
    Flock *scarce = place_flock(&subject, 0.004, false, DEEPEST);
    copy_states(ample, scarce);
    give_keys(ample, number);
    give_keys(scarce, number);
    for (size_t k = 0; k < CHAINS; k++) ample->all[k].ticket = 0;
    move(&other, ample, CHAINS, forwards);
    emulated_device_have_memory(SIZE_MAX);
    size_t before = emulated_device_most_held();
    move_once(&subject, scarce, 2, forwards);
    emulated_device_have_memory(before + 2 * (emulated_device_most_held() - before));
    move_rest(&subject, scarce);
    const RpinnCudaEngine *engine = (const RpinnCudaEngine *)subject.backend;
    size_t of_seat = RPINN_CHAIN_NUM_POSITIONS * engine->layout.size * sizeof(double);
    assert_true(engine->most_members > 0 && engine->most_members < CHAINS - 1);
    assert_int_equal(engine->buffers[RPINN_BUFFER_CHAIN_POSITIONS].bytes, engine->most_members * of_seat);
    emulated_device_have_memory(SIZE_MAX);
    check_same(&subject, ample, scarce, "with little memory");
    free_flock(scarce);
  }
  free_flock(ample);
  close_subject(&other);
  close_subject(&subject);
}

/* ---- launches ---- */

/* Has every state of so many chains changed, or none? */
static void check_moved(const Flock *now, const Flock *before, size_t count, const size_t *which) {
  for (size_t k = 0; k < count; k++) {
    const RpinnWholeTransition *own = &now->all[which[k]], *old = &before->all[which[k]];
    bool theta = memcmp(own->theta, old->theta, now->N * sizeof(double)) != 0,
         gradient = memcmp(own->gradient, old->gradient, now->N * sizeof(double)) != 0;
    check_true(theta == own->has_finished && gradient == own->has_finished,
               "chain %zu has%s finished, its theta is%s new and its gradient%s", which[k],
               own->has_finished ? "" : " not", theta ? "" : " not", gradient ? "" : " not");
  }
}

/* Nobody waits for the deepest tree: when one of six chains has finished, those that the emulated device runs behind it stop in the middle of
 * theirs, which are too deep for the first launches, of 1 and 16 leapfrogs, and not for the next. Until its end a transition has left its
 * chain where it was. */
static void launches_end_when_enough_have_finished(void **state) {
  (void)state;
  static const size_t which[] = {0, 1, 2, 4, 5, 6};
  enum { COUNT = sizeof which / sizeof which[0] };
  Candidate candidate = {"emulated cuda", &emulated_cuda_backend, RPINN_PRECISION_FLOAT, 1e-5, false};
  size_t num_finished = 0;
  if (getenv("RPINN_TEST_BACKEND")) skip();
  Subject subject = open_text(small);
  take_candidate(&subject, &candidate);
  Flock *flock = make_flock(&subject, 0.0005, false, DEEPEST),
        *before = place_flock(&subject, 0.0005, false, DEEPEST);
  copy_states(flock, before);
  give_keys(flock, 0);
  move_once(&subject, flock, COUNT, which);
  check_moved(flock, before, COUNT, which);
  for (size_t k = 0; k < COUNT; k++) num_finished += flock->all[which[k]].has_finished;
  assert_in_range(num_finished, 1, COUNT - 1);
  move_rest(&subject, flock);
  check_moved(flock, before, COUNT, which);
  for (size_t k = 0; k < COUNT; k++) assert_true(flock->all[which[k]].num_steps > 1 + 16 + 8);
  free_flock(flock);
  free_flock(before);
  close_subject(&subject);
}

/* ---- states ---- */

/* What the device has as the state of a chain at rest, on the emulated one. */
static void check_state(const Subject *subject, const RpinnWholeTransition *own) {
  const RpinnCudaEngine *engine = (const RpinnCudaEngine *)subject->backend;
  const RpinnChainRecord *records = engine->buffers[RPINN_BUFFER_CHAIN_RECORDS].memory;
  const double *positions = engine->buffers[RPINN_BUFFER_CHAIN_POSITIONS].memory;
  const float *vectors = engine->buffers[RPINN_BUFFER_CHAIN_VECTORS].memory;
  size_t size = engine->layout.size, chosen = (size_t)records[own->seat].course.chosen,
         num_vectors = (size_t)rpinn_chain_num_vectors(own->max_depth);
  const double *theta =
      positions + (own->seat * RPINN_CHAIN_NUM_POSITIONS + RPINN_CHAIN_PROPOSED + chosen) * size;
  const float *slope = vectors + (own->seat * num_vectors + RPINN_CHAIN_PROPOSED_SLOPES + chosen) * size;
  for (size_t j = 0; j < subject->N; j++) {
    size_t place = engine->layout.place[j];
    check_true(own->theta[j] == theta[place] && own->gradient[j] == (double)slope[place],
               "%s: parameter %zu is %g with slope %g, on the device %g with %g", title_of(subject), j,
               own->theta[j], own->gradient[j], theta[place], (double)slope[place]);
  }
  for (size_t j = subject->N; j % 8; j++) assert_true(own->theta[j] == 0 && own->gradient[j] == 0);
}

/* Chains that have a seat cost a launch no copy but that of their orders: the host has the states that the device goes on from. */
static void states_are_written_where_chains_have_them(void **state) {
  (void)state;
  if (getenv("RPINN_TEST_BACKEND")) skip();
  for (size_t s = 0; s < RPINN_NUM_FUSED_KERNELS; s++) {
    Candidate candidate = {"emulated cuda", &emulated_cuda_backend, shapes[s].precision, 1e-5, false};
    Subject subject = open_shape(&shapes[s], &candidate);
    Flock *flock = make_flock(&subject, shapes[s].step, false, 3);
    for (uint64_t number = 0; number < 3; number++) {
      size_t written = emulated_device_num_written(), read = emulated_device_num_read();
      give_keys(flock, number);
      move(&subject, flock, CHAINS, forwards);
      assert_int_equal(emulated_device_num_read(), read);
      if (number) assert_int_equal((emulated_device_num_written() - written) % sizeof(RpinnChainOrder), 0);
      for (size_t k = 0; k < CHAINS; k++) check_state(&subject, &flock->all[k]);
    }
    free_flock(flock);
    close_subject(&subject);
  }
}

/* More of them than a block has: all different, at boundaries of 64 bytes, and zeros again when they are lent again. */
static void vectors_are_lent_and_returned(void **state) {
  (void)state;
  enum { COUNT = 100 };
  Candidate candidates[MAX_CANDIDATES];
  size_t num_candidates = chain_candidates(RPINN_PRECISION_FLOAT, candidates);
  for (size_t c = 0; c < num_candidates; c++) {
    Subject subject = open_text(small);
    double *all[COUNT];
    take_candidate(&subject, &candidates[c]);
    const RpinnCudaEngine *engine = (const RpinnCudaEngine *)subject.backend;
    for (int round = 0; round < 2; round++) {
      for (size_t i = 0; i < COUNT; i++) {
        all[i] = lend(&subject);
        assert_int_equal((uintptr_t)all[i] % 64, 0);
        assert_true(rpinn_cuda_is_lent(engine, all[i]));
        for (size_t j = 0; j < (subject.N + 7) / 8 * 8; j++) {
          assert_true(all[i][j] == 0);
          all[i][j] = (double)(i + 1);
        }
      }
      for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < (subject.N + 7) / 8 * 8; j++) assert_true(all[i][j] == (double)(i + 1));
      for (size_t i = 0; i < COUNT; i++) subject.backend->operations->return_vector(subject.backend, all[i]);
    }
    assert_int_equal(engine->loans.num_vectors, 128);
    assert_int_equal(engine->loans.num_free, 128);
    close_subject(&subject);
  }
}

/* A chain that gets no memory for its state says why, and leaves nothing behind. */
static void a_lost_device_lends_nothing(void **state) {
  (void)state;
  Candidate candidate = {"emulated cuda", &emulated_cuda_backend, RPINN_PRECISION_FLOAT, 1e-5, false};
  RpinnNutsOptions options = rpinn_nuts_default_options();
  RpinnMemberSlots *slots;
  RpinnNuts *nuts;
  if (getenv("RPINN_TEST_BACKEND")) skip();
  Subject subject = open_text(small);
  take_candidate(&subject, &candidate);
  RpinnBackend *plain = subject.oracle->backend;
  subject.oracle->backend = subject.backend;
  require(&subject, rpinn_member_slots_create(subject.context, subject.oracle, &slots));
  emulated_device_fail_at(0);
  assert_int_equal(rpinn_nuts_create_member(subject.context, &slots->density, 0, &options, &nuts),
                   RPINN_ERROR_DEVICE);
  emulated_device_fail_at(SIZE_MAX);
  assert_null(nuts);
  assert_string_equal(rpinn_context_error(subject.context)->message, "the emulated device is lost");
  subject.oracle->backend = plain;
  close_subject(&subject);
}

static void states_in_other_memory_are_refused(void **state) {
  (void)state;
  Candidate candidates[MAX_CANDIDATES];
  size_t num_candidates = chain_candidates(RPINN_PRECISION_FLOAT, candidates);
  for (size_t c = 0; c < num_candidates; c++) {
    Subject subject = open_text(small);
    take_candidate(&subject, &candidates[c]);
    Flock *flock = make_flock(&subject, 0.004, false, DEEPEST);
    double *other = numbers(subject.N), *own = flock->all[1].gradient;
    RpinnWholeTransition *all[] = {&flock->all[0], &flock->all[1]};
    flock->all[1].gradient = other;
    assert_int_equal(subject.backend->operations->transitions(subject.context, subject.backend,
                                                              &(RpinnMemberBatch){2, flock->members}, all),
                     RPINN_ERROR_INPUT);
    assert_string_equal(rpinn_context_error(subject.context)->message,
                        "backend cuda: the state of a chain is in memory that its transitions cannot be "
                        "written to; expected vectors that the target has lent");
    flock->all[1].gradient = own;
    free(other);
    free_flock(flock);
    close_subject(&subject);
  }
}

/* ---- chains ---- */

enum { WARMUP = 200, DRAWS = 600 };

/* The moments of a prior that the data say nothing about: mean 0 and deviation 0.5 of every parameter. */
static void chains_have_the_moments_of_a_known_distribution(void **state) {
  (void)state;
  Candidate candidates[MAX_CANDIDATES];
  size_t num_candidates = chain_candidates(RPINN_PRECISION_FLOAT, candidates);
  for (size_t c = 0; c < num_candidates; c++) {
    Subject subject = open_text(vague);
    RpinnNuts *chains[CHAINS];
    RpinnNutsDraw draws[CHAINS];
    bool made[CHAINS];
    uint64_t numbers_of[CHAINS];
    const double *starts[CHAINS];
    size_t N = subject.N, num_draws = 0, num_leapfrogs = 0;
    double *zero = numbers(N), *sums = numbers(N), *squares = numbers(N), energy = 0;
    RpinnMemberSlots *slots;
    take_candidate(&subject, &candidates[c]);
    RpinnBackend *plain = subject.oracle->backend;
    subject.oracle->backend = subject.backend;
    require(&subject, rpinn_member_slots_create(subject.context, subject.oracle, &slots));
    assert_non_null(slots->density.transitions);
    RpinnNutsOptions options = rpinn_nuts_default_options();
    options.num_warmup = WARMUP;
    options.num_draws = DRAWS;
    for (size_t k = 0; k < CHAINS; k++) {
      require(&subject, rpinn_nuts_create_member(subject.context, &slots->density, k, &options, &chains[k]));
      numbers_of[k] = k;
      starts[k] = zero;
    }
    require(&subject, rpinn_nuts_start_together(subject.context, CHAINS, chains, 3, numbers_of, starts));
    for (bool goes_on = true; goes_on;) {
      require(&subject, rpinn_nuts_advance_together(subject.context, CHAINS, chains, draws, made));
      goes_on = false;
      for (size_t k = 0; k < CHAINS; k++) {
        goes_on |= !rpinn_nuts_finished(chains[k]);
        if (!made[k] || draws[k].is_warmup) continue;
        assert_true(rpinn_cuda_is_lent((const RpinnCudaEngine *)subject.backend, draws[k].parameters));
        num_draws++;
        num_leapfrogs += draws[k].num_steps;
        energy -= draws[k].log_density;
        assert_false(draws[k].diverging);
        for (size_t j = 0; j < N; j++) {
          sums[j] += draws[k].parameters[j];
          squares[j] += draws[k].parameters[j] * draws[k].parameters[j];
        }
      }
    }
    assert_int_equal(num_draws, CHAINS * DRAWS);
    /* data that say nothing have a constant energy */
    double n = (double)num_draws, expected, worst_mean = 0, worst_deviation = 0;
    require(&subject, slots->density.evaluate(subject.context, slots->density.data, 1, (size_t[]){0},
                                              (const double *const[]){zero}, &expected, NULL));
    expected = 0.5 * (double)N - expected;
    /* of N parameters, the worst mean and deviation, in units of their standard error for independent draws; draws of NUTS on a normal
       distribution are better for means, and not as good for deviations */
    for (size_t j = 0; j < N; j++) {
      double mean = sums[j] / n, deviation = sqrt(squares[j] / n - mean * mean);
      worst_mean = fmax(worst_mean, fabs(mean) / (0.5 / sqrt(n)));
      worst_deviation = fmax(worst_deviation, fabs(deviation - 0.5) / (0.5 / sqrt(2 * n)));
    }
    print_message("%s: means %.1f, deviations %.1f, energy %.3f for %.1f, %.1f leapfrogs per draw\n",
                  title_of(&subject), worst_mean, worst_deviation, energy / n, expected,
                  (double)num_leapfrogs / n);
    check_true(worst_mean < 4.5 && worst_deviation < 6, "means %g, deviations %g", worst_mean,
               worst_deviation);
    check_true(fabs(energy / n - expected) < 5 * sqrt(0.5 * (double)N / n), "energy %g, expected %g",
               energy / n, expected);
    for (size_t k = 0; k < CHAINS; k++) rpinn_nuts_destroy(chains[k]);
    const RpinnCudaLoans *loans = &((const RpinnCudaEngine *)subject.backend)->loans;
    assert_true(loans->num_vectors > 0 && loans->num_free == loans->num_vectors);
    subject.oracle->backend = plain;
    free(zero);
    free(sums);
    free(squares);
    close_subject(&subject);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(transitions_are_those_of_the_definition),
                                     cmocka_unit_test(chains_have_the_same_bits_in_any_company),
                                     cmocka_unit_test(densities_are_those_of_energies),
                                     cmocka_unit_test(little_memory_leaves_no_mark),
                                     cmocka_unit_test(launches_end_when_enough_have_finished),
                                     cmocka_unit_test(states_are_written_where_chains_have_them),
                                     cmocka_unit_test(vectors_are_lent_and_returned),
                                     cmocka_unit_test(a_lost_device_lends_nothing),
                                     cmocka_unit_test(states_in_other_memory_are_refused),
                                     cmocka_unit_test(chains_have_the_moments_of_a_known_distribution)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
