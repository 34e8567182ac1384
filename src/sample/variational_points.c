#include "variational_points.h"

/* ---- create and destroy ---- */

bool rpinn_variational_pairs_create(RpinnArena *arena, size_t N, size_t rank, size_t num_pairs,
                                    RpinnVariationalPair **pairs) {
  *pairs = RPINN_ARENA_NEW(arena, RpinnVariationalPair, num_pairs);
  for (size_t p = 0; *pairs && p < num_pairs; p++) {
    double *memory = RPINN_ARENA_NEW(arena, double, 4 * N + 3 * rank);
    if (!memory) return false;
    (*pairs)[p] = (RpinnVariationalPair){.x = memory,
                                         .u = memory + N,
                                         .theta = {memory + 2 * N, memory + 3 * N},
                                         .z = memory + 4 * N,
                                         .solved = memory + 4 * N + rank,
                                         .pulled = memory + 4 * N + 2 * rank};
  }
  return *pairs != NULL;
}

RpinnStatus rpinn_variational_points_create(RpinnContext *context, RpinnArena *arena, size_t num_targets,
                                            const RpinnBatchLogDensity *targets, size_t num_pairs,
                                            size_t num_starts, uint64_t seed,
                                            RpinnVariationalPoints *points) {
  size_t most = 2 * num_pairs * num_starts, N = targets[0].num_parameters;
  *points = (RpinnVariationalPoints){.N = N,
                                     .num_pairs = num_pairs,
                                     .group = targets[0].group < most ? targets[0].group : most,
                                     .seed = seed,
                                     .num_callers = num_targets,
                                     .callers = RPINN_ARENA_NEW(arena, RpinnVariationalCaller, num_targets),
                                     .rounds = RPINN_ARENA_NEW(arena, RpinnVariationalRound, num_starts),
                                     .requests = RPINN_ARENA_NEW(arena, RpinnRequest, most),
                                     .asked = RPINN_ARENA_NEW(arena, RpinnRequest *, most),
                                     .slopes = RPINN_ARENA_NEW(arena, double *, most),
                                     .statuses = RPINN_ARENA_NEW(arena, RpinnStatus, most)};
  if (!points->callers || !points->rounds || !points->requests || !points->asked || !points->slopes ||
      !points->statuses)
    return rpinn_fail_memory(context);
  for (size_t i = 0; i < most; i++) {
    points->asked[i] = &points->requests[i];
    points->slopes[i] = RPINN_ARENA_NEW(arena, double, N);
    if (!points->slopes[i]) return rpinn_fail_memory(context);
  }
  for (size_t k = 0; k < num_targets; k++) {
    points->callers[k].target = targets[k];
    RPINN_TRY(rpinn_answering_create(context, points->group, &points->callers[k].answering));
  }
  return RPINN_OK;
}

void rpinn_variational_points_destroy(RpinnVariationalPoints *points) {
  for (size_t k = 0; points->callers && k < points->num_callers; k++)
    rpinn_answering_destroy(points->callers[k].answering);
}

/* ---- draws ---- */

static void draw_pair(void *user, size_t thread, size_t task) {
  const RpinnVariationalPoints *points = user;
  const RpinnVariationalRound *round = &points->rounds[task / points->num_pairs];
  size_t number = task % points->num_pairs;
  const RpinnVariationalGaussian *q = round->q;
  RpinnVariationalPair *pair = &round->pairs[number];
  RpinnStream stream =
      rpinn_stream(points->seed, RPINN_PURPOSE_VARIATIONAL, round->first + number, round->start);
  (void)thread;
  pair->log_q = rpinn_variational_gaussian_draw(q, &stream, pair->z, pair->x, pair->u, pair->solved);
  for (size_t j = 0; j < q->N; j++) {
    double step = q->deviation[j] * pair->x[j];
    pair->theta[0][j] = q->mean[j] + step;
    pair->theta[1][j] = q->mean[j] - step;
  }
}

/* ---- what the target says ---- */

static size_t count_points(const RpinnVariationalPoints *points) {
  return 2 * points->num_pairs * points->num_rounds;
}

static void write_requests(RpinnVariationalPoints *points) {
  for (size_t i = 0, count = count_points(points); i < count; i++) {
    const RpinnVariationalRound *round = &points->rounds[i / (2 * points->num_pairs)];
    RpinnVariationalPair *pair = &round->pairs[i / 2 % points->num_pairs];
    points->requests[i] = (RpinnRequest){.member = i,
                                         .question = RPINN_QUESTION_EVALUATE,
                                         .theta = pair->theta[i % 2],
                                         .gradient = round->with_slopes ? points->slopes[i] : NULL};
    pair->slopes[i % 2] = points->slopes[i];
  }
}

/* A thread whose target has told of a failure asks it no more: its groups come in their order, so that the first words are
 * those to be reported. */
static void ask_group(void *user, size_t thread, size_t task) {
  RpinnVariationalPoints *points = user;
  RpinnVariationalCaller *caller = &points->callers[thread];
  size_t first = task * points->group, left = count_points(points) - first;
  size_t count = left < points->group ? left : points->group;
  if (rpinn_context_error(&caller->context)->status != RPINN_OK) return;
  for (size_t i = first; i < first + count; i++) points->requests[i].target.density = &caller->target;
  points->statuses[task] =
      rpinn_requests_answer(&caller->context, caller->answering, count, points->asked + first);
  caller->failed_at = task;
}

/* Of the failures the one of the first group: which threads failed where does not matter. */
static RpinnStatus report(RpinnContext *context, const RpinnVariationalPoints *points, size_t num_groups) {
  const RpinnVariationalCaller *first = NULL;
  for (size_t k = 0; k < points->num_callers; k++) {
    const RpinnVariationalCaller *caller = &points->callers[k];
    bool has_failed = rpinn_context_error(&caller->context)->status != RPINN_OK;
    if (has_failed && (!first || caller->failed_at < first->failed_at)) first = caller;
  }
  if (!first || first->failed_at >= num_groups) return RPINN_OK;
  context->error = *rpinn_context_error(&first->context);
  return points->statuses[first->failed_at];
}

static void read_answers(RpinnVariationalPoints *points) {
  for (size_t i = 0, count = count_points(points); i < count; i++) {
    const RpinnVariationalRound *round = &points->rounds[i / (2 * points->num_pairs)];
    round->pairs[i / 2 % points->num_pairs].log_p[i % 2] = points->requests[i].value;
  }
}

RpinnStatus rpinn_variational_points_evaluate(RpinnContext *context, RpinnVariationalPoints *points,
                                              RpinnTeam *team) {
  size_t num_groups = (count_points(points) + points->group - 1) / points->group;
  rpinn_team_run(team, points->num_pairs * points->num_rounds, draw_pair, points);
  write_requests(points);
  for (size_t k = 0; k < points->num_callers; k++) rpinn_context_clear_error(&points->callers[k].context);
  rpinn_team_run(team, num_groups, ask_group, points);
  RPINN_TRY(report(context, points, num_groups));
  read_answers(points);
  return RPINN_OK;
}
