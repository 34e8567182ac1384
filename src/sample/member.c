#include "member.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "optimizer.h"

struct RpinnMember {
  const RpinnMemberTarget *target;
  size_t slot;
  RpinnMinimizeOptions options;
  uint32_t max_retries;
  uint64_t index;
  uint32_t attempt;
  double *theta;          /* [N] */
  double *parts;          /* [objective->num_parts] of the loss at the end … */
  double *gradient;       /* … and [N] */
  RpinnRequest last_look; /* at the point that it ended at */
  bool is_looking;
  size_t num_iterations; /* to set out for, once the start has been looked at */
  bool is_starting;      /* the optimiser looks at its start first */
  RpinnOptimizer *optimizer;
};

RpinnStatus rpinn_member_create(RpinnContext *context, const RpinnMemberTarget *target, size_t slot,
                                const RpinnMinimizeOptions *options, uint32_t max_retries,
                                RpinnMember **member) {
  *member = calloc(1, sizeof **member);
  if (!*member) return rpinn_fail_memory(context);
  **member = (RpinnMember){.target = target,
                           .slot = slot,
                           .options = *options,
                           .max_retries = max_retries,
                           .theta = calloc(target->num_parameters + 1, sizeof(double)),
                           .parts = calloc(target->objective->num_parts + 1, sizeof(double)),
                           .gradient = calloc(target->num_parameters + 1, sizeof(double))};
  if ((*member)->theta && (*member)->parts && (*member)->gradient) return RPINN_OK;
  rpinn_member_destroy(*member);
  *member = NULL;
  return rpinn_fail_memory(context);
}

void rpinn_member_destroy(RpinnMember *member) {
  if (!member) return;
  rpinn_optimizer_destroy(member->optimizer);
  free(member->theta);
  free(member->parts);
  free(member->gradient);
  free(member);
}

/* ---- attempts ---- */

/* The optimiser of one attempt, not yet started. Everything about it follows from (index, attempt). */
static RpinnStatus make_optimizer(RpinnContext *context, RpinnMember *member) {
  const RpinnMemberTarget *target = member->target;
  rpinn_optimizer_destroy(member->optimizer);
  member->optimizer = NULL;
  const double *offsets =
      target->take_slot(target->data, member->slot, member->index, member->attempt, target->has_offsets);
  return rpinn_minimize_create(context, &member->options, target->objective, target->squares, member->slot,
                               offsets, &member->optimizer);
}

static RpinnStatus begin_attempt(RpinnContext *context, RpinnMember *member) {
  const RpinnMemberTarget *target = member->target;
  RPINN_TRY(make_optimizer(context, member));
  RPINN_TRY(target->draw_start(target->data, member->slot, member->index, member->attempt, member->theta));
  rpinn_optimizer_place(member->optimizer, member->theta);
  member->is_starting = true;
  return RPINN_OK;
}

RpinnStatus rpinn_member_begin(RpinnContext *context, RpinnMember *member, uint64_t index, const void *state,
                               size_t state_size) {
  member->index = index;
  member->attempt = 0;
  member->is_starting = member->is_looking = false;
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

/* ---- advancing ---- */

/* It ends where its loss was lowest: what is the loss made of there? */
static RpinnRequest *look_back(RpinnMember *member, const RpinnOptimum *optimum) {
  member->last_look = (RpinnRequest){.target = {.objective = member->target->objective},
                                     .member = member->slot,
                                     .question = RPINN_QUESTION_EVALUATE_PARTS,
                                     .theta = optimum->best_theta,
                                     .gradient = member->gradient,
                                     .parts = member->parts};
  member->is_looking = true;
  return &member->last_look;
}

static double gradient_norm(const RpinnMember *member) {
  double sum = 0;
  for (size_t j = 0; j < member->target->num_parameters; j++)
    sum += member->gradient[j] * member->gradient[j];
  return sqrt(sum);
}

/* The end of an attempt, which was looked at: of the member, too, or a fresh attempt follows. */
static RpinnStatus conclude(RpinnContext *context, RpinnMember *member, RpinnMemberOutcome *outcome) {
  RpinnOptimum optimum = rpinn_optimizer_optimum(member->optimizer);
  *outcome = (RpinnMemberOutcome){.finished = true,
                                  .stop = optimum.stop,
                                  .converged = rpinn_stop_is_converged(optimum.stop),
                                  .attempts = member->attempt,
                                  .iterations = optimum.num_iterations,
                                  .evaluations = optimum.num_evaluations,
                                  .loss = member->last_look.value,
                                  .gradient_norm = gradient_norm(member),
                                  .theta = optimum.best_theta,
                                  .parts = member->parts,
                                  .trace = optimum.trace,
                                  .num_trace = optimum.num_trace};
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

/* The optimiser has come as far as it was to go: a pause, or an end to be looked at. */
static RpinnRequest *arrive(RpinnMember *member, RpinnMemberOutcome *outcome) {
  RpinnOptimum optimum = rpinn_optimizer_optimum(member->optimizer);
  if (optimum.stop != RPINN_STOP_RUNNING && optimum.stop != RPINN_STOP_INTERRUPTED)
    return look_back(member, &optimum);
  *outcome = (RpinnMemberOutcome){.stop = optimum.stop,
                                  .attempts = member->attempt,
                                  .iterations = optimum.num_iterations,
                                  .loss = optimum.best_loss};
  return NULL;
}

RpinnStatus rpinn_member_set_out(RpinnContext *context, RpinnMember *member, size_t num_iterations) {
  rpinn_context_clear_error(context);
  member->num_iterations = num_iterations;
  return member->is_starting ? RPINN_OK : rpinn_optimizer_set_out(context, member->optimizer, num_iterations);
}

RpinnStatus rpinn_member_next(RpinnContext *context, RpinnMember *member, RpinnRequest **request,
                              RpinnMemberOutcome *outcome) {
  *request = NULL;
  if (member->is_looking) {
    member->is_looking = false;
    return conclude(context, member, outcome);
  }
  *request = rpinn_optimizer_next(member->optimizer);
  if (!*request && member->is_starting) {
    member->is_starting = false;
    RPINN_TRY(rpinn_optimizer_set_out(context, member->optimizer, member->num_iterations));
    *request = rpinn_optimizer_next(member->optimizer);
  }
  if (!*request) *request = arrive(member, outcome);
  return RPINN_OK;
}

RpinnStatus rpinn_member_advance(RpinnContext *context, RpinnMember *member, size_t num_iterations,
                                 RpinnMemberOutcome *outcome) {
  RpinnRequest *request;
  RPINN_TRY(rpinn_member_set_out(context, member, num_iterations));
  RPINN_TRY(rpinn_member_next(context, member, &request, outcome));
  while (request) {
    RPINN_TRY(rpinn_request_answer(context, request));
    RPINN_TRY(rpinn_member_next(context, member, &request, outcome));
  }
  return RPINN_OK;
}

/* ---- states ---- */

bool rpinn_member_can_be_saved(const RpinnMember *member) {
  return !member->is_starting;
}

size_t rpinn_member_state_size(const RpinnMember *member) {
  return sizeof member->attempt + rpinn_optimizer_state_size(member->optimizer);
}

void rpinn_member_save(const RpinnMember *member, void *state) {
  memcpy(state, &member->attempt, sizeof member->attempt);
  rpinn_optimizer_save(member->optimizer, (char *)state + sizeof member->attempt);
}
