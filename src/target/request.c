#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "target_check.h"

/* The arguments of one call, [capacity] each. */
struct RpinnAnswering {
  bool *is_answered;
  RpinnRequest **requests;
  size_t *members;
  const double **thetas, **inputs;
  double *values, **gradients, **parts, **rows, **outputs;
  RpinnAdamState **states;
  RpinnDampedStep **steps;
  RpinnWholeTransition **transitions;
};

const char *rpinn_question_name(RpinnQuestion question) {
  static const char *const names[] = {
#define RPINN_QUESTION_NAME(question, function) #function,
      RPINN_QUESTION_LIST(RPINN_QUESTION_NAME)
#undef RPINN_QUESTION_NAME
  };
  return names[question];
}

/* ---- room ---- */

void rpinn_answering_destroy(RpinnAnswering *answering) {
  if (!answering) return;
  void *parts[] = {answering->is_answered, answering->requests, answering->members,   answering->thetas,
                   answering->inputs,      answering->values,   answering->gradients, answering->parts,
                   answering->rows,        answering->outputs,  answering->states,    answering->steps,
                   answering->transitions};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) free(parts[i]);
  free(answering);
}

RpinnStatus rpinn_answering_create(RpinnContext *context, size_t capacity, RpinnAnswering **answering) {
  RpinnAnswering *room = *answering = calloc(1, sizeof *room);
  if (!room) return rpinn_fail_memory(context);
  *room = (RpinnAnswering){.is_answered = calloc(capacity, sizeof *room->is_answered),
                           .requests = calloc(capacity, sizeof *room->requests),
                           .members = calloc(capacity, sizeof *room->members),
                           .thetas = calloc(capacity, sizeof *room->thetas),
                           .inputs = calloc(capacity, sizeof *room->inputs),
                           .values = calloc(capacity, sizeof *room->values),
                           .gradients = calloc(capacity, sizeof *room->gradients),
                           .parts = calloc(capacity, sizeof *room->parts),
                           .rows = calloc(capacity, sizeof *room->rows),
                           .outputs = calloc(capacity, sizeof *room->outputs),
                           .states = calloc(capacity, sizeof *room->states),
                           .steps = calloc(capacity, sizeof *room->steps),
                           .transitions = calloc(capacity, sizeof *room->transitions)};
  if (room->is_answered && room->requests && room->members && room->thetas && room->inputs && room->values &&
      room->gradients && room->parts && room->rows && room->outputs && room->states && room->steps &&
      room->transitions)
    return RPINN_OK;
  rpinn_answering_destroy(room);
  *answering = NULL;
  return rpinn_fail_memory(context);
}

/* ---- calls ---- */

static size_t group_of(const RpinnRequest *request) {
  const RpinnRequestTarget *target = &request->target;
  return target->objective ? target->objective->group
         : target->density ? target->density->group
                           : target->squares->group;
}

static const void *data_of(const RpinnRequest *request) {
  const RpinnRequestTarget *target = &request->target;
  return target->objective ? target->objective->data
         : target->density ? target->density->data
                           : target->squares->data;
}

bool rpinn_requests_are_alike(const RpinnRequest *a, const RpinnRequest *b) {
  if (a->question != b->question || data_of(a) != data_of(b)) return false;
  if (a->question != RPINN_QUESTION_ADAM_ADVANCE) return true;
  return a->num_steps == b->num_steps && !memcmp(a->rule, b->rule, sizeof *a->rule);
}

static RpinnBatchProduct *product_of(const RpinnRequest *request) {
  const RpinnBatchLeastSquares *squares = request->target.squares;
  switch (request->question) {
  case RPINN_QUESTION_RESIDUALS: return squares->residuals;
  case RPINN_QUESTION_JACOBIAN: return squares->jacobian;
  case RPINN_QUESTION_JACOBIAN_TIMES: return squares->jacobian_times;
  case RPINN_QUESTION_TRANSPOSED_TIMES: return squares->transposed_times;
  default: return squares->gram;
  }
}

static RpinnStatus call(RpinnContext *context, RpinnAnswering *room, size_t count) {
  const RpinnRequest *first = room->requests[0];
  const RpinnRequestTarget *target = &first->target;
  if (first->question == RPINN_QUESTION_EVALUATE && target->density)
    return target->density->evaluate(context, target->density->data, count, room->members, room->thetas,
                                     room->values, room->gradients);
  if (first->question == RPINN_QUESTION_EVALUATE)
    return target->objective->evaluate(context, target->objective->data, count, room->members, room->thetas,
                                       room->values, room->gradients);
  if (first->question == RPINN_QUESTION_EVALUATE_PARTS)
    return target->objective->evaluate_parts(context, target->objective->data, count, room->members,
                                             room->thetas, room->values, room->gradients, room->parts);
  if (first->question == RPINN_QUESTION_ADAM_ADVANCE)
    return target->objective->adam_advance(context, target->objective->data, count, room->members,
                                           first->rule, room->states, first->num_steps, room->values);
  if (first->question == RPINN_QUESTION_DAMPED_STEPS)
    return target->squares->damped_steps(context, target->squares->data, count, room->members, room->thetas,
                                         room->steps);
  if (first->question == RPINN_QUESTION_TRANSITIONS)
    return target->density->transitions(context, target->density->data, count, room->members,
                                        room->transitions);
  return product_of(first)(context, target->squares->data, count, room->members, room->thetas, room->inputs,
                           room->rows, room->outputs);
}

/* The first `count` of room->requests in one call. */
static RpinnStatus answer_some(RpinnContext *context, RpinnAnswering *room, size_t count) {
  for (size_t k = 0; k < count; k++) {
    const RpinnRequest *request = room->requests[k];
    room->members[k] = request->member;
    room->thetas[k] = request->theta;
    room->inputs[k] = request->input;
    room->gradients[k] = request->gradient;
    room->parts[k] = request->parts;
    room->rows[k] = request->rows;
    room->outputs[k] = request->output;
    room->states[k] = request->state;
    room->steps[k] = request->step;
    room->transitions[k] = request->transition;
  }
  RPINN_TRY(rpinn_explain_failure(context, "target", rpinn_question_name(room->requests[0]->question),
                                  call(context, room, count)));
  for (size_t k = 0; k < count; k++) room->requests[k]->value = room->values[k];
  return RPINN_OK;
}

RpinnStatus rpinn_requests_answer(RpinnContext *context, RpinnAnswering *room, size_t count,
                                  RpinnRequest *const *requests) {
  memset(room->is_answered, 0, count * sizeof *room->is_answered);
  for (size_t i = 0; i < count; i++) {
    size_t gathered = 0, most = group_of(requests[i]);
    if (room->is_answered[i]) continue;
    for (size_t k = i; k < count && gathered < most; k++) {
      if (room->is_answered[k] || !rpinn_requests_are_alike(requests[i], requests[k])) continue;
      room->is_answered[k] = true;
      room->requests[gathered++] = requests[k];
    }
    RPINN_TRY(answer_some(context, room, gathered));
  }
  return RPINN_OK;
}

RpinnStatus rpinn_request_answer(RpinnContext *context, RpinnRequest *request) {
  size_t member;
  const double *theta, *input;
  double value, *gradient, *parts, *rows, *output;
  RpinnAdamState *state;
  RpinnDampedStep *step;
  RpinnWholeTransition *transition;
  RpinnAnswering room = {.requests = &request,
                         .members = &member,
                         .thetas = &theta,
                         .inputs = &input,
                         .values = &value,
                         .gradients = &gradient,
                         .parts = &parts,
                         .rows = &rows,
                         .outputs = &output,
                         .states = &state,
                         .steps = &step,
                         .transitions = &transition};
  return answer_some(context, &room, 1);
}
