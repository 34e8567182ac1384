#include "continuation_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "rank_stores.h"
#include "ranks.h"
#include "run_identity.h"
#include "run_ranks.h"
#include "shared_tasks.h"
#include "unknown_noise.h"

/* ---- what is told ---- */

/* Before the numbers of the metric and of the first points, and the places that are watched. Pointers in it are of no use to others. */
typedef struct RoundHead {
  RpinnNutsOptions nuts;
  uint64_t num_chains, num_metric, num_first, num_watched, watched_from;
  uint64_t ends_in_draw;
  double seconds; /* that are left; 0: no limit */
} RoundHead;

/* Before the start [num_drawn] and the state of a chain. */
typedef struct ChainHead {
  uint64_t key, stream, attempt, state_size;
  double scale;
} ChainHead;

static RoundHead make_head(const RpinnContinuations *work, double seconds) {
  const RpinnContinuationOptions *options = &work->options;
  const RpinnNutsOptions *nuts = &options->nuts;
  size_t N = options->num_drawn;
  return (RoundHead){.nuts = *nuts,
                     .num_chains = work->num_chains,
                     .num_metric = !nuts->inverse_metric                ? 0
                                   : nuts->metric == RPINN_METRIC_DENSE ? N * N
                                                                        : N,
                     .num_first = nuts->num_first_points * N,
                     .num_watched = options->num_watched,
                     .watched_from = options->watched_from,
                     .ends_in_draw = options->ends_in_draw,
                     .seconds = seconds};
}

static RpinnStatus tell_others(RpinnContext *context, const RpinnDriver *driver, const RpinnText *bytes) {
  RpinnRanks *ranks = driver->options->ranks;
  if (bytes->failed) return rpinn_fail_memory(context);
  for (size_t r = 1; r < rpinn_ranks_size(ranks); r++)
    RPINN_TRY(rpinn_ranks_send(context, ranks, r, RPINN_TAG_ROUND, bytes->bytes, bytes->length));
  return RPINN_OK;
}

RpinnStatus rpinn_continuations_announce(RpinnContext *context, const RpinnContinuations *work,
                                         double seconds) {
  const RpinnContinuationOptions *options = &work->options;
  RoundHead head = make_head(work, seconds);
  RpinnText text = {0};
  rpinn_text_append_bytes(&text, (const char *)&head, sizeof head);
  if (head.num_metric)
    rpinn_text_append_bytes(&text, (const char *)options->nuts.inverse_metric,
                            head.num_metric * sizeof(double));
  if (head.num_first)
    rpinn_text_append_bytes(&text, (const char *)options->nuts.first_points, head.num_first * sizeof(double));
  if (head.num_watched)
    rpinn_text_append_bytes(&text, (const char *)options->watched, head.num_watched * sizeof(size_t));
  RpinnStatus status = tell_others(context, work->driver, &text);
  rpinn_text_free(&text);
  return status;
}

RpinnStatus rpinn_continuations_end(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnText nothing = {0};
  return rpinn_run_is_corrected(driver->run) ? tell_others(context, driver, &nothing) : RPINN_OK;
}

void rpinn_continued_chain_pack(const RpinnContinuedChain *chain, size_t num_drawn, RpinnText *bytes) {
  ChainHead head = {chain->key, chain->stream, chain->attempt, chain->state ? chain->state_size : 0,
                    chain->scale};
  rpinn_text_append_bytes(bytes, (const char *)&head, sizeof head);
  rpinn_text_append_bytes(bytes, (const char *)chain->start, num_drawn * sizeof(double));
  if (head.state_size) rpinn_text_append_bytes(bytes, chain->state, (size_t)head.state_size);
}

/* ---- a round on another rank ---- */

typedef struct Round {
  RpinnDriver *driver;
  const RpinnMemberTarget *targets;
  RoundHead head;
  double *numbers; /* [num_metric + num_first] */
  size_t *watched; /* [num_watched] */
  RpinnContinuedChain
      *chains; /* [num_chains]; those that were given have a start, and perhaps a state, of their own */
  RpinnContinuationOptions options;
} Round;

static void free_round(Round *round) {
  for (size_t k = 0; round->chains && k < round->head.num_chains; k++) {
    free((void *)round->chains[k].start);
    free(round->chains[k].state);
  }
  free(round->chains);
  free(round->numbers);
  free(round->watched);
}

/* A copy of so many bytes; NULL: no memory. */
static void *copy(const void *bytes, size_t size) {
  void *copied = malloc(size ? size : 1);
  if (copied && size) memcpy(copied, bytes, size);
  return copied;
}

static RpinnStatus read_round(RpinnContext *context, const RpinnRankMessage *message, Round *round) {
  const char *bytes = message->bytes;
  RpinnRun *run = round->driver->run;
  if (message->size < sizeof round->head)
    return rpinn_fail(context, RPINN_ERROR_IO, "what rank 0 has said of a round of chains is not whole");
  memcpy(&round->head, bytes, sizeof round->head);
  const RoundHead *head = &round->head;
  size_t num_numbers = (size_t)(head->num_metric + head->num_first) * sizeof(double),
         num_watched = (size_t)head->num_watched * sizeof(size_t);
  if (message->size != sizeof *head + num_numbers + num_watched)
    return rpinn_fail(context, RPINN_ERROR_IO, "what rank 0 has said of a round of chains is not whole");
  round->numbers = copy(bytes + sizeof *head, num_numbers);
  round->watched = copy(bytes + sizeof *head + num_numbers, num_watched);
  round->chains = calloc((size_t)head->num_chains + 1, sizeof *round->chains);
  if (!round->numbers || !round->watched || !round->chains) return rpinn_fail_memory(context);
  round->options = (RpinnContinuationOptions){.nuts = head->nuts,
                                              .seed = run->posteriors[0]->seed,
                                              .num_drawn = rpinn_posterior_num_drawn(run->posteriors[0]),
                                              .chains = round->chains,
                                              .ends_in_draw = head->ends_in_draw != 0,
                                              .num_watched = (size_t)head->num_watched,
                                              .watched = round->watched,
                                              .watched_from = (size_t)head->watched_from,
                                              .outputs = &run->outputs};
  round->options.nuts.inverse_metric = head->num_metric ? round->numbers : NULL;
  round->options.nuts.first_points = head->num_first ? round->numbers + head->num_metric : NULL;
  return RPINN_OK;
}

static RpinnStatus take_chain(void *user, RpinnContext *context, uint64_t task, const void *bytes,
                              size_t size) {
  const Round *round = user;
  size_t start_size = round->options.num_drawn * sizeof(double);
  ChainHead head;
  if (size < sizeof head || task >= round->head.num_chains)
    return rpinn_fail(context, RPINN_ERROR_IO, "a chain that rank 0 has given is not whole");
  memcpy(&head, bytes, sizeof head);
  if (size != sizeof head + start_size + head.state_size)
    return rpinn_fail(context, RPINN_ERROR_IO, "a chain that rank 0 has given is not whole");
  const char *start = (const char *)bytes + sizeof head;
  RpinnContinuedChain *chain = &round->chains[task];
  *chain = (RpinnContinuedChain){.key = head.key,
                                 .stream = head.stream,
                                 .attempt = (uint32_t)head.attempt,
                                 .scale = head.scale,
                                 .start = copy(start, start_size),
                                 .state_size = (size_t)head.state_size};
  if (head.state_size) chain->state = copy(start + start_size, (size_t)head.state_size);
  return chain->start && (chain->state || !head.state_size) ? RPINN_OK : rpinn_fail_memory(context);
}

static RpinnStatus open_worker(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                               void **worker) {
  const Round *round = user;
  return rpinn_continuation_open_worker(context, &round->targets[thread], &round->options, pool, worker);
}

static RpinnStatus make_chains(RpinnContext *context, Round *round) {
  RpinnDriver *driver = round->driver;
  RpinnTaskPoolResult result = {0};
  RpinnSharedTasks work = {.driver = driver,
                           .num_threads = driver->num_threads,
                           .num_slots = round->targets[0].num_slots,
                           .num_tasks = round->head.num_chains,
                           .time_limit = round->head.seconds,
                           .user = round,
                           .open_worker = open_worker,
                           .close_worker = rpinn_continuation_close_worker,
                           .perform_all = rpinn_continuation_perform_all,
                           .take = take_chain};
  RPINN_TRY(rpinn_run_shared_tasks(context, &work, &result));
  driver->out_of_time = result.out_of_time;
  return RPINN_OK;
}

static RpinnStatus make_round(RpinnContext *context, RpinnDriver *driver, const RpinnMemberTarget *targets,
                              const RpinnRankMessage *message) {
  Round round = {.driver = driver, .targets = targets};
  RpinnStatus status = read_round(context, message, &round);
  if (status == RPINN_OK) status = rpinn_rank_store_open(context, driver);
  if (status == RPINN_OK) status = make_chains(context, &round);
  free_round(&round);
  return status == RPINN_OK ? rpinn_run_hand_in(context, driver) : status;
}

RpinnStatus rpinn_continuations_follow(RpinnContext *context, RpinnDriver *driver,
                                       const RpinnMemberTarget *targets) {
  const RpinnRunOptions *options = driver->options;
  if (!rpinn_run_is_corrected(driver->run)) return RPINN_OK;
  while (!options->interrupted(options->user)) {
    RpinnRankMessage message;
    RPINN_TRY(rpinn_ranks_receive(context, options->ranks, 0, RPINN_TAG_ROUND, 0.1, &message));
    if (!message.bytes) continue;
    bool is_end = message.size == 0;
    RpinnStatus status = is_end ? RPINN_OK : make_round(context, driver, targets, &message);
    free(message.bytes);
    if (is_end || status != RPINN_OK) return status;
  }
  return RPINN_OK;
}
