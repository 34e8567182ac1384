#include "member.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "optimizer.h"

/* A saved state begins with the attempt, and this bit where it is in double. */
static const uint32_t double_bit = UINT32_C(1) << 31;

struct RpinnMember {
  const RpinnMemberTarget *target;
  size_t slot;
  RpinnMinimizeOptions options;
  uint32_t max_retries;
  uint64_t index;
  uint32_t attempt;
  bool in_double;
  const double *offsets;                /* of the attempt, in the target */
  const RpinnBatchObjective *objective; /* of the target, in the precision that it is in */
  double *theta;                        /* [N] */
  double *parts;                        /* [objective->num_parts] of the loss at the end … */
  double *gradient;                     /* … and [N] */
  RpinnRequest last_look;               /* at the point that it ended at */
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

/* An optimiser of the attempt, in the precision that it is in. */
static RpinnStatus create_optimizer(RpinnContext *context, RpinnMember *member, RpinnOptimizer **optimizer) {
  const RpinnMemberTarget *target = member->target;
  const RpinnBatchLeastSquares *squares = target->squares;
  member->objective = target->objective;
  if (member->in_double) RPINN_TRY(target->open_double(context, target->data, &member->objective, &squares));
  return rpinn_minimize_create(context, &member->options, member->objective, squares, member->slot,
                               member->offsets, optimizer);
}

/* That which it begins with, not yet started. Everything about it follows from (index, attempt, in_double). */
static RpinnStatus make_optimizer(RpinnContext *context, RpinnMember *member) {
  const RpinnMemberTarget *target = member->target;
  rpinn_optimizer_destroy(member->optimizer);
  member->optimizer = NULL;
  member->offsets =
      target->take_slot(target->data, member->slot, member->index, member->attempt, target->has_offsets);
  return create_optimizer(context, member, &member->optimizer);
}

static RpinnStatus begin_attempt(RpinnContext *context, RpinnMember *member) {
  const RpinnMemberTarget *target = member->target;
  member->in_double = false;
  RPINN_TRY(make_optimizer(context, member));
  RPINN_TRY(target->draw_start(target->data, member->slot, member->index, member->attempt, member->theta));
  rpinn_optimizer_place(member->optimizer, member->theta);
  member->is_starting = true;
  return RPINN_OK;
}

RpinnStatus rpinn_member_begin(RpinnContext *context, RpinnMember *member, uint64_t index, const void *state,
                               size_t state_size) {
  uint32_t head = 0;
  member->index = index;
  member->attempt = 0;
  member->is_starting = member->is_looking = false;
  if (!state) return begin_attempt(context, member);
  if (state_size >= sizeof head) memcpy(&head, state, sizeof head);
  member->in_double = head & double_bit;
  member->attempt = head & ~double_bit;
  if (state_size < sizeof head || (member->in_double && !member->target->open_double))
    return rpinn_fail(context, RPINN_ERROR_INPUT, "the saved state of member %llu is damaged",
                      (unsigned long long)index);
  RPINN_TRY(make_optimizer(context, member));
  return rpinn_optimizer_restore(context, member->optimizer, (const char *)state + sizeof head,
                                 state_size - sizeof head);
}

size_t rpinn_member_num_iterations(const RpinnMember *member) {
  return rpinn_optimizer_optimum(member->optimizer).num_iterations;
}

/* ---- advancing ---- */

/* Is there no step that goes down, as far as less than double can tell? */
static bool is_stalled(const RpinnMember *member) {
  return !member->in_double && member->target->open_double && member->optimizer->is_stalled;
}

/* From the point that it has come to, with what is left of its budget and of the iterations that it was to make. */
static RpinnStatus go_on_in_double(RpinnContext *context, RpinnMember *member) {
  RpinnOptimizer *before = member->optimizer, *after;
  member->in_double = true;
  RPINN_TRY(create_optimizer(context, member, &after));
  rpinn_optimizer_follow(after, before);
  member->num_iterations = before->end > before->num_iterations ? before->end - before->num_iterations : 0;
  member->is_starting = true;
  member->optimizer = after;
  rpinn_optimizer_destroy(before);
  return RPINN_OK;
}

/* It ends where its loss was lowest: what is the loss made of there? */
static RpinnRequest *look_back(RpinnMember *member, const RpinnOptimum *optimum) {
  member->last_look = (RpinnRequest){.target = {.objective = member->objective},
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
                                  .in_double = member->in_double,
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
  while (!(*request = rpinn_optimizer_next(member->optimizer)) &&
         (member->is_starting || is_stalled(member))) {
    if (!member->is_starting) {
      RPINN_TRY(go_on_in_double(context, member));
      continue;
    }
    member->is_starting = false;
    RPINN_TRY(rpinn_optimizer_set_out(context, member->optimizer, member->num_iterations));
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
  return sizeof double_bit + rpinn_optimizer_state_size(member->optimizer);
}

void rpinn_member_save(const RpinnMember *member, void *state) {
  uint32_t head = member->attempt | (member->in_double ? double_bit : 0);
  memcpy(state, &head, sizeof head);
  rpinn_optimizer_save(member->optimizer, (char *)state + sizeof head);
}
