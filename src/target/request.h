/* What a method wants to know of its target next. Methods do not call targets: they ask, one question at a time, and go on
 * when it is answered. So whoever drives several of them (optimisers, chains) can put the questions of all to a target for
 * groups in one call. A method that asks has its request filled in, with room for the answer, until it is asked for the next
 * one. */
#ifndef RPINN_TARGET_REQUEST_H
#define RPINN_TARGET_REQUEST_H

#include "context.h"
#include "rpinn/target.h"

/* X(QUESTION, the function that answers it) */
#define RPINN_QUESTION_LIST(X)                                                                               \
  X(EVALUATE, evaluate)                                                                                      \
  X(EVALUATE_PARTS, evaluate_parts)                                                                          \
  X(ADAM_ADVANCE, adam_advance)                                                                              \
  X(RESIDUALS, residuals)                                                                                    \
  X(JACOBIAN, jacobian)                                                                                      \
  X(JACOBIAN_TIMES, jacobian_times)                                                                          \
  X(TRANSPOSED_TIMES, transposed_times)                                                                      \
  X(GRAM, gram)                                                                                              \
  X(DAMPED_STEPS, damped_steps)                                                                              \
  X(TRANSITIONS, transitions)

typedef enum RpinnQuestion {
#define RPINN_QUESTION_ENUM(question, function) RPINN_QUESTION_##question,
  RPINN_QUESTION_LIST(RPINN_QUESTION_ENUM)
#undef RPINN_QUESTION_ENUM
} RpinnQuestion;

/* One of these is there; the others are NULL. */
typedef struct RpinnRequestTarget {
  const RpinnBatchObjective *objective;
  const RpinnBatchLogDensity *density;
  const RpinnBatchLeastSquares *squares;
} RpinnRequestTarget;

typedef struct RpinnRequest {
  RpinnRequestTarget target;
  size_t member;
  RpinnQuestion question;
  const double *theta; /* [N]; not for ADAM_ADVANCE and TRANSITIONS */
  double value;        /* the answer to EVALUATE, EVALUATE_PARTS and ADAM_ADVANCE */
  double *gradient;    /* [N] of the first two; NULL: not wanted */
  double *parts;       /* [num_parts] EVALUATE_PARTS */
  const double *input; /* direction [N], weights [M], scale [N] or NULL */
  double *rows;        /* [M] RESIDUALS, JACOBIAN, GRAM */
  double *output;      /* J [M][N], J v [M], J^T w [N], Gram matrix [M][M] */
  /* ADAM_ADVANCE */
  const RpinnAdamRule *rule;
  RpinnAdamState *state;
  size_t num_steps;
  RpinnDampedStep *step; /* DAMPED_STEPS: with its answer */
  /* TRANSITIONS: likewise; where it has not finished, it is to be asked for again. */
  RpinnWholeTransition *transition;
} RpinnRequest;

/* The function that answers, as messages name it. */
const char *rpinn_question_name(RpinnQuestion question);

/* Do both go to the same function of the same target, so that one call can answer them? */
bool rpinn_requests_are_alike(const RpinnRequest *a, const RpinnRequest *b);

/* Room for the calls that answer up to `capacity` requests at a time. */
typedef struct RpinnAnswering RpinnAnswering;
RpinnStatus rpinn_answering_create(RpinnContext *context, size_t capacity, RpinnAnswering **answering);
void rpinn_answering_destroy(RpinnAnswering *answering);

/* Answer requests [count], count <= capacity: those that are alike in one call, or in several where they are more than the
 * target's group. A failure is the target's, explained where it has not told why. */
RpinnStatus rpinn_requests_answer(RpinnContext *context, RpinnAnswering *answering, size_t count,
                                  RpinnRequest *const *requests);
/* The same for one, without room. */
RpinnStatus rpinn_request_answer(RpinnContext *context, RpinnRequest *request);

#endif
