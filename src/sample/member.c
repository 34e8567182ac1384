#include "member.h"
#include "target_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct RpinnMember {
  const RpinnMemberTarget *target;
  RpinnMinimizeOptions options;
  uint32_t max_retries;
  uint64_t index;
  uint32_t attempt;
  double *offsets; /* [M + N], or NULL */
  double *theta;   /* [N] */
  double *parts;   /* [num_parts] */
  RpinnOptimizer *optimizer;
};

RpinnStatus rpinn_member_create(RpinnContext *context, const RpinnMemberTarget *target,
                                const RpinnMinimizeOptions *options, uint32_t max_retries,
                                RpinnMember **member) {
  size_t N = target->num_parameters;
  *member = calloc(1, sizeof **member);
  if (!*member) return rpinn_fail_memory(context);
  **member =
      (RpinnMember){.target = target,
                    .options = *options,
                    .max_retries = max_retries,
                    .offsets = target->draw_offsets ? calloc(target->num_rows + N, sizeof(double)) : NULL,
                    .theta = calloc(N + 1, sizeof(double)),
                    .parts = calloc(target->num_parts + 1, sizeof(double))};
  if (((*member)->offsets || !target->draw_offsets) && (*member)->theta && (*member)->parts) return RPINN_OK;
  rpinn_member_destroy(*member);
  *member = NULL;
  return rpinn_fail_memory(context);
}

void rpinn_member_destroy(RpinnMember *member) {
  if (!member) return;
  rpinn_optimizer_destroy(member->optimizer);
  free(member->offsets);
  free(member->theta);
  free(member->parts);
  free(member);
}

/* The optimiser of one attempt, not yet started. Everything about it follows from (index, attempt). */
static RpinnStatus make_optimizer(RpinnContext *context, RpinnMember *member) {
  const RpinnMemberTarget *target = member->target;
  rpinn_optimizer_destroy(member->optimizer);
  member->optimizer = NULL;
  if (member->offsets) target->draw_offsets(target->data, member->index, member->attempt, member->offsets);
  return rpinn_minimize_create(context, &member->options, target->objective(target->data, member->offsets),
                               target->squares, member->offsets, &member->optimizer);
}

static RpinnStatus begin_attempt(RpinnContext *context, RpinnMember *member) {
  const RpinnMemberTarget *target = member->target;
  RPINN_TRY(make_optimizer(context, member));
  RPINN_TRY(target->draw_start(target->data, member->index, member->attempt, member->offsets, member->theta));
  return rpinn_optimizer_start(context, member->optimizer, member->theta);
}

RpinnStatus rpinn_member_begin(RpinnContext *context, RpinnMember *member, uint64_t index, const void *state,
                               size_t state_size) {
  member->index = index;
  member->attempt = 0;
  if (!state) return begin_attempt(context, member);
  if (state_size < sizeof member->attempt)
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the saved state of member %llu is damaged",
                      (unsigned long long)index);
  memcpy(&member->attempt, state, sizeof member->attempt);
  RPINN_TRY(make_optimizer(context, member));
  return rpinn_optimizer_restore(context, member->optimizer, (const char *)state + sizeof member->attempt,
                                 state_size - sizeof member->attempt);
}

size_t rpinn_member_num_iterations(const RpinnMember *member) {
  return rpinn_optimizer_optimum(member->optimizer).num_iterations;
}

static RpinnStatus describe(RpinnMember *member, const RpinnOptimum *optimum, RpinnMemberOutcome *outcome) {
  const RpinnMemberTarget *target = member->target;
  *outcome = (RpinnMemberOutcome){.finished = true,
                                  .stop = optimum->stop,
                                  .converged = rpinn_stop_is_converged(optimum->stop),
                                  .attempts = member->attempt,
                                  .iterations = optimum->num_iterations,
                                  .evaluations = optimum->num_evaluations,
                                  .theta = optimum->best_theta,
                                  .parts = member->parts,
                                  .trace = optimum->trace,
                                  .num_trace = optimum->num_trace};
  return target->loss_parts(target->data, optimum->best_theta, member->offsets, &outcome->loss, member->parts,
                            &outcome->gradient_norm);
}

RpinnStatus rpinn_member_advance(RpinnContext *context, RpinnMember *member, size_t num_iterations,
                                 RpinnMemberOutcome *outcome) {
  RPINN_TRY(rpinn_optimizer_advance(context, member->optimizer, num_iterations));
  RpinnOptimum optimum = rpinn_optimizer_optimum(member->optimizer);
  if (optimum.stop == RPINN_STOP_RUNNING || optimum.stop == RPINN_STOP_INTERRUPTED) {
    *outcome = (RpinnMemberOutcome){.stop = optimum.stop,
                                    .attempts = member->attempt,
                                    .iterations = optimum.num_iterations,
                                    .loss = optimum.best_loss};
    return RPINN_OK;
  }
  RPINN_TRY(rpinn_explain_failure(context, "target", "loss_parts", describe(member, &optimum, outcome)));
  bool finite =
      isfinite(outcome->loss) && isfinite(outcome->gradient_norm) && optimum.stop != RPINN_STOP_NOT_FINITE;
  if (finite) return RPINN_OK;
  if (member->attempt == member->max_retries) {
    outcome->failed = true;
    outcome->converged = false;
    return RPINN_OK;
  }
  member->attempt++;
  RPINN_TRY(begin_attempt(context, member));
  outcome->finished = false;
  return RPINN_OK;
}

size_t rpinn_member_state_size(const RpinnMember *member) {
  return sizeof member->attempt + rpinn_optimizer_state_size(member->optimizer);
}

void rpinn_member_save(const RpinnMember *member, void *state) {
  memcpy(state, &member->attempt, sizeof member->attempt);
  rpinn_optimizer_save(member->optimizer, (char *)state + sizeof member->attempt);
}
