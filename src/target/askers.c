#include "askers.h"

#include <stdlib.h>
#include <string.h>

#include "steady_clock.h"

/* What is asked, [count] each. */
typedef struct Rounds {
  size_t count;
  RpinnAsker *askers;
  RpinnRequest **asked; /* of every asker; NULL: it is to go on, or has ended */
  bool *has_ended;
  size_t *waited; /* rounds, the next one included */
  RpinnAnswering *answering;
  RpinnRequest **chosen; /* of this round … */
  size_t *who;           /* … and whose they are */
} Rounds;

/* Everyone who has been answered goes on; false when nobody asks. */
static RpinnStatus collect(RpinnContext *context, Rounds *rounds, bool *any) {
  *any = false;
  for (size_t k = 0; k < rounds->count; k++) {
    RpinnAsker *asker = &rounds->askers[k];
    if (!rounds->asked[k] && !rounds->has_ended[k]) {
      RPINN_TRY(asker->next(context, asker->self, &rounds->asked[k]));
      rounds->has_ended[k] = !rounds->asked[k];
      rounds->waited[k] = 0;
    }
    rounds->waited[k]++;
    *any |= rounds->asked[k] != NULL;
  }
  return RPINN_OK;
}

/* The rounds that all who ask as this one does have waited. */
static size_t weigh(const Rounds *rounds, const RpinnRequest *request) {
  size_t sum = 0;
  for (size_t k = 0; k < rounds->count; k++)
    if (rounds->asked[k] && rpinn_requests_are_alike(request, rounds->asked[k])) sum += rounds->waited[k];
  return sum;
}

/* Has an asker before this one asked the same? */
static bool is_repeated(const Rounds *rounds, size_t asker) {
  for (size_t k = 0; k < asker; k++)
    if (rounds->asked[k] && rpinn_requests_are_alike(rounds->asked[asker], rounds->asked[k])) return true;
  return false;
}

/* The requests of the next round: how many. */
static size_t choose(Rounds *rounds) {
  const RpinnRequest *best = NULL;
  size_t most = 0, num_chosen = 0;
  for (size_t k = 0; k < rounds->count; k++) {
    if (!rounds->asked[k] || is_repeated(rounds, k)) continue;
    size_t weight = weigh(rounds, rounds->asked[k]);
    if (weight <= most) continue;
    most = weight;
    best = rounds->asked[k];
  }
  for (size_t k = 0; best && k < rounds->count; k++) {
    if (!rounds->asked[k] || !rpinn_requests_are_alike(best, rounds->asked[k])) continue;
    rounds->who[num_chosen] = k;
    rounds->chosen[num_chosen++] = rounds->asked[k];
  }
  return num_chosen;
}

static RpinnStatus take_round(RpinnContext *context, Rounds *rounds, bool *any) {
  double begun = rpinn_steady_seconds();
  RPINN_TRY(collect(context, rounds, any));
  size_t num_chosen = choose(rounds);
  RPINN_TRY(rpinn_requests_answer(context, rounds->answering, num_chosen, rounds->chosen));
  double share = (rpinn_steady_seconds() - begun) / (double)(num_chosen ? num_chosen : 1);
  for (size_t i = 0; i < num_chosen; i++) {
    rounds->askers[rounds->who[i]].seconds += share;
    rounds->asked[rounds->who[i]] = NULL;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_askers_run(RpinnContext *context, size_t count, RpinnAsker *askers) {
  Rounds rounds = {.count = count,
                   .askers = askers,
                   .asked = calloc(count + 1, sizeof *rounds.asked),
                   .has_ended = calloc(count + 1, sizeof *rounds.has_ended),
                   .waited = calloc(count + 1, sizeof *rounds.waited),
                   .chosen = calloc(count + 1, sizeof *rounds.chosen),
                   .who = calloc(count + 1, sizeof *rounds.who)};
  RpinnStatus status = rpinn_answering_create(context, count, &rounds.answering);
  bool any = true;
  if (status == RPINN_OK &&
      !(rounds.asked && rounds.has_ended && rounds.waited && rounds.chosen && rounds.who))
    status = rpinn_fail_memory(context);
  while (status == RPINN_OK && any) status = take_round(context, &rounds, &any);
  rpinn_answering_destroy(rounds.answering);
  free(rounds.asked);
  free(rounds.has_ended);
  free(rounds.waited);
  free(rounds.chosen);
  free(rounds.who);
  return status;
}
