/* Members, or particles: counted, weighed, and taken as often as they count. */
#include <stdlib.h>

#include "member_gain.h"
#include "member_statistics.h"
#include "member_stop.h"
#include "results_pass.h"

typedef struct Members {
  uint64_t looked_at; /* that did not fail, as they are read */
  uint64_t taken;     /* … and as they are taken */
} Members;

RpinnStatus rpinn_results_keep_member(RpinnResultsPass *pass, const RpinnStoredMember *member,
                                      uint64_t number) {
  RpinnRunResults *results = &pass->run->results;
  uint64_t every = (pass->run->num_samples - 1) / RPINN_MAX_LOSS_TRACES + 1;
  RPINN_TRY(rpinn_kept_draws_add(results->statistics, number, member->statistics));
  if (number % every != 0) return RPINN_OK;
  double *points = malloc((2 * member->num_trace + 1) * sizeof *points);
  if (!points) return rpinn_fail_memory(pass->context);
  for (size_t k = 0; k < 2 * member->num_trace; k++) points[k] = member->trace[k];
  results->traces[results->num_traces++] = (RpinnLossTrace){member->index, member->num_trace, points};
  return RPINN_OK;
}

/* ---- the first pass: it counts and weighs ---- */

typedef struct Count {
  RpinnResultsPass *pass;
  RpinnGainRule rule;
  RpinnWeighing weighing;       /* of gather_members alone */
  uint64_t finished, converged; /* members that were looked at */
} Count;

static RpinnStatus count_member(const Count *count, const RpinnStoredMember *member) {
  const RpinnResultsPass *pass = count->pass;
  RpinnRunResults *results = &pass->run->results;
  RpinnMemberStop stop = rpinn_member_stop_of_word(member->stop);
  results->num_members++;
  results->num_failed += member->failed != 0;
  results->num_retried += member->statistics[RPINN_MEMBER_ATTEMPTS] > 0;
  results->num_converged += member->statistics[RPINN_MEMBER_CONVERGED] > 0;
  results->stops[stop.in_double][stop.stop]++;
  if (member->failed || !rpinn_run_draws_are_minimisers(pass->run)) return RPINN_OK;
  double gain = rpinn_member_gain(&count->rule, member);
  return rpinn_kept_draws_add(results->gains, results->num_members, &gain);
}

/* Whether weights apply depends on all members: they are weighed until one speaks against it. */
static RpinnStatus look_at_counted(void *user, const RpinnVisitedDraw *draw, bool *compute) {
  Count *count = user;
  RPINN_TRY(rpinn_results_check_lengths(count->pass, draw->stored));
  count->finished += !draw->stored->failed;
  count->converged += draw->stored->statistics[RPINN_MEMBER_CONVERGED] > 0;
  *compute =
      !draw->stored->failed && rpinn_weighing_wants(&count->weighing, count->finished, count->converged);
  return *compute ? rpinn_weighing_prepare(&count->weighing) : RPINN_OK;
}

static void *scales_of(void *user, size_t thread) {
  const Count *count = user;
  return count->weighing.scales ? count->weighing.scales[thread] : NULL;
}

static RpinnStatus take_counted(void *user, const RpinnVisitedDraw *draw, const double *log_weight) {
  Count *count = user;
  if (log_weight) rpinn_weighing_add(&count->weighing, *log_weight);
  return count_member(count, draw->stored);
}

static RpinnStatus check_counts(const RpinnResultsPass *pass) {
  const RpinnRunResults *results = &pass->run->results;
  if (!results->num_members)
    return rpinn_fail_at(pass->context, (RpinnPlace){.file = pass->run->folder},
                         "this run has no member yet");
  if (results->num_members > results->num_failed) return RPINN_OK;
  return rpinn_fail(pass->context, RPINN_ERROR_NUMERIC, "no member is finite: all %llu failed; see run.log",
                    (unsigned long long)results->num_failed);
}

static RpinnStatus count_and_weigh(Count *count) {
  RpinnResultsPass *pass = count->pass;
  RpinnRun *run = pass->run;
  rpinn_weighing_open(pass->context, run, &count->weighing);
  RpinnDrawBlocks blocks = {.run = run,
                            .num_values = 1,
                            .user = count,
                            .look = look_at_counted,
                            .worker = scales_of,
                            .compute = run->method->weigher ? run->method->weigher->weigh : NULL,
                            .take = take_counted};
  RPINN_TRY(rpinn_draw_blocks_visit(pass->context, &blocks));
  RPINN_TRY(check_counts(pass));
  run->results.num_draws = run->results.num_members - run->results.num_failed;
  return rpinn_weighing_finish(&count->weighing, run->results.num_draws, run->results.num_converged);
}

static RpinnStatus count_stored(void *user, const RpinnVisitedDraw *draw) {
  const Count *count = user;
  RPINN_TRY(rpinn_results_check_lengths(count->pass, draw->stored));
  return count_member(count, draw->stored);
}

RpinnStatus rpinn_results_count_members(RpinnResultsPass *pass) {
  const RpinnRun *run = pass->run;
  RpinnDrawPlan members = rpinn_draw_plan_of_members(&run->plan);
  Count count = {.pass = pass, .rule = rpinn_gain_rule_of(run)};
  RPINN_TRY(rpinn_draw_store_visit(pass->context, run->store, &members, false, count_stored, &count));
  return check_counts(pass);
}

/* ---- the second: all that is made of them ---- */

/* What the file holds of a member's statistics: all but its time, which differs from run to run. */
static const RpinnFileStatistic member_statistics[] = {{RPINN_MEMBER_LOSS, "loss", false},
                                                       {RPINN_MEMBER_GRADIENT_NORM, "gradient_norm", false},
                                                       {RPINN_MEMBER_ITERATIONS, "iterations", false},
                                                       {RPINN_MEMBER_EVALUATIONS, "evaluations", false},
                                                       {RPINN_MEMBER_CONVERGED, "converged", true},
                                                       {RPINN_MEMBER_ATTEMPTS, "attempts", false}};
enum { NUM_MEMBER_COLUMNS = sizeof member_statistics / sizeof member_statistics[0] };

/* number: among the members that did not fail. */
static RpinnStatus write_draw(RpinnResultsPass *pass, const RpinnStoredMember *member, uint64_t number,
                              const double *values) {
  if (!pass->with_file) return RPINN_OK;
  uint64_t stream =
      rpinn_run_stream_member(member->index, (uint32_t)member->statistics[RPINN_MEMBER_ATTEMPTS]);
  const RpinnRun *run = pass->run;
  double scale = rpinn_posterior_member_scale(run->posteriors[0], stream);
  double statistics[NUM_MEMBER_COLUMNS + 3], *further = statistics + NUM_MEMBER_COLUMNS;
  for (size_t k = 0; k < NUM_MEMBER_COLUMNS; k++)
    statistics[k] = member->statistics[member_statistics[k].statistic];
  if (run->posteriors[0]->sigmas.integrates) *further++ = scale;
  if (rpinn_results_have_weights(run)) {
    *further++ = run->results.weights.log_weights[number];
    *further++ = run->results.weights.smoothed[number];
  }
  RpinnPosteriorDraw draw = {.draw = pass->draw,
                             .member = member->index,
                             .prior_scale = scale,
                             .parameters = member->parameters,
                             .statistics = statistics};
  rpinn_results_describe(pass, values, &draw);
  return rpinn_posterior_file_add(pass->context, pass->file, &draw);
}

/* How often a member counts: once, or as often as the Metropolis chain stays at it. number: among those that did not
 * fail. */
static uint32_t times_of(const RpinnResultsPass *pass, uint64_t number) {
  const uint32_t *times = pass->run->results.weights.times;
  return times ? times[number] : 1;
}

static RpinnStatus look_at_member(void *user, const RpinnVisitedDraw *visited, bool *compute) {
  const RpinnResultsPass *pass = user;
  Members *own = pass->own;
  *compute = !visited->stored->failed && times_of(pass, own->looked_at++) > 0;
  return RPINN_OK;
}

static RpinnStatus take_member(void *user, const RpinnVisitedDraw *visited, const double *values) {
  RpinnResultsPass *pass = user;
  const RpinnStoredMember *member = visited->stored;
  Members *own = pass->own;
  if (member->failed) return RPINN_OK;
  uint64_t number = own->taken++;
  RPINN_TRY(rpinn_results_keep_member(pass, member, number));
  for (uint32_t times = times_of(pass, number); times; times--, pass->draw++) {
    RPINN_TRY(write_draw(pass, member, number, values));
    rpinn_moments_add(pass->moments, values);
    RPINN_TRY(rpinn_results_keep(pass, values));
  }
  return RPINN_OK;
}

static RpinnStatus gather_members(RpinnResultsPass *pass) {
  RpinnRun *run = pass->run;
  Count count = {.pass = pass, .rule = rpinn_gain_rule_of(run)};
  RpinnStatus status = count_and_weigh(&count);
  rpinn_weighing_close(&count.weighing);
  RPINN_TRY(status);
  Members own = {0};
  pass->own = &own;
  pass->is_checked = true;
  RPINN_TRY(rpinn_results_open_file(pass, run->results.num_draws));
  return rpinn_results_visit(pass, false, look_at_member, take_member);
}

const RpinnDrawKind rpinn_member_draws = {.num_statistics = RPINN_NUM_MEMBER_STATISTICS,
                                          .has_loss_parts = true,
                                          .num_file_statistics = NUM_MEMBER_COLUMNS,
                                          .file_statistics = member_statistics,
                                          .gather = gather_members};
