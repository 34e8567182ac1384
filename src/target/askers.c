#include "askers.h"

#include <stdlib.h>

#include "task_pool.h"

/* Room of one round, [count] each. */
typedef struct Round {
  RpinnAnswering *answering;
  RpinnRequest **requests;
  size_t *who; /* asks */
} Round;

/* One round; *num_requests is 0 after the last. */
static RpinnStatus take_round(RpinnContext *context, size_t count, RpinnAsker *askers, Round *round,
                              size_t *num_requests) {
  double begun = rpinn_task_pool_now();
  *num_requests = 0;
  for (size_t k = 0; k < count; k++) {
    RpinnRequest *request;
    RPINN_TRY(askers[k].next(context, askers[k].self, &request));
    if (!request) continue;
    round->who[*num_requests] = k;
    round->requests[(*num_requests)++] = request;
  }
  if (!*num_requests) return RPINN_OK;
  RPINN_TRY(rpinn_requests_answer(context, round->answering, *num_requests, round->requests));
  double share = (rpinn_task_pool_now() - begun) / (double)*num_requests;
  for (size_t i = 0; i < *num_requests; i++) askers[round->who[i]].seconds += share;
  return RPINN_OK;
}

RpinnStatus rpinn_askers_run(RpinnContext *context, size_t count, RpinnAsker *askers) {
  Round round = {.requests = calloc(count + 1, sizeof(RpinnRequest *)),
                 .who = calloc(count + 1, sizeof *round.who)};
  RpinnStatus status = rpinn_answering_create(context, count, &round.answering);
  if (status == RPINN_OK && !(round.requests && round.who)) status = rpinn_fail_memory(context);
  for (size_t asked = 1; status == RPINN_OK && asked;)
    status = take_round(context, count, askers, &round, &asked);
  rpinn_answering_destroy(round.answering);
  free(round.requests);
  free(round.who);
  return status;
}
