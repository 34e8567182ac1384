#include "draw_store.h"

#include <stdlib.h>
#include <string.h>

/* A chain owns 2^33 keys: warmup from 0, draws from 2^32, and the last one for its state. */
enum { CHAIN_BITS = 33, PHASE_BITS = 32 };
/* Behind all of them: what members have become by their correction, by number. */
static const uint64_t corrected_keys = (uint64_t)1 << 62;

uint64_t rpinn_chain_draw_key(uint64_t chain, bool is_warmup, uint64_t draw) {
  return chain << CHAIN_BITS | (uint64_t)!is_warmup << PHASE_BITS | draw;
}

uint64_t rpinn_chain_state_key(uint64_t chain) {
  return ((chain + 1) << CHAIN_BITS) - 1;
}

uint64_t rpinn_map_state_key(void) {
  return rpinn_chain_state_key(RPINN_MAX_CHAINS); /* after those of all chains */
}

uint64_t rpinn_laplace_state_key(void) {
  return rpinn_chain_state_key(RPINN_MAX_CHAINS + 1); /* after the MAP's */
}

uint64_t rpinn_choice_state_key(void) {
  return rpinn_chain_state_key(RPINN_MAX_CHAINS + 2);
}

RpinnStatus rpinn_draw_store_get_vector(RpinnContext *context, RpinnMemberStore *store, uint64_t key,
                                        size_t length, double *vector, bool *found) {
  void *state = NULL;
  size_t size;
  RPINN_TRY(rpinn_member_store_get_state(context, store, key, &state, &size));
  *found = state && size == length * sizeof *vector;
  if (*found) memcpy(vector, state, size);
  free(state);
  return RPINN_OK;
}

uint64_t rpinn_noise_state_key(void) {
  return rpinn_chain_state_key(RPINN_MAX_CHAINS + 3);
}

uint64_t rpinn_variational_state_key(void) {
  return rpinn_chain_state_key(RPINN_MAX_CHAINS + 4);
}

uint64_t rpinn_correction_state_key(void) {
  return rpinn_chain_state_key(RPINN_MAX_CHAINS + 5);
}

uint64_t rpinn_pilot_progress_key(void) {
  return rpinn_chain_state_key(RPINN_MAX_CHAINS + 6);
}

uint64_t rpinn_pilot_state_key(uint64_t chain) {
  return rpinn_chain_state_key(RPINN_MAX_CHAINS + 7 + chain);
}

static const struct {
  uint64_t (*key)(void);
  const char *name;
} shared_states[] = {{rpinn_map_state_key, "the start"},
                     {rpinn_laplace_state_key, "the most probable point"},
                     {rpinn_choice_state_key, "the point of the prior's choice"},
                     {rpinn_noise_state_key, "the noise"},
                     {rpinn_correction_state_key, "the pilot of the correction"}};

size_t rpinn_num_shared_states(void) {
  return sizeof shared_states / sizeof shared_states[0];
}

uint64_t rpinn_shared_state_key(size_t index) {
  return shared_states[index].key();
}

const char *rpinn_shared_state_name(uint64_t key) {
  for (size_t k = 0; k < rpinn_num_shared_states(); k++)
    if (shared_states[k].key() == key) return shared_states[k].name;
  return "a state";
}

uint64_t rpinn_corrected_key(uint64_t member) {
  return corrected_keys | member;
}

/* Where the draws of a plan are, from the first one on. */
static RpinnStoreRange range_of(const RpinnDrawPlan *plan, uint64_t first) {
  uint64_t base = plan->is_corrected ? corrected_keys : 0;
  if (plan->has_chains) return (RpinnStoreRange){0, plan->num_chains << CHAIN_BITS};
  return (RpinnStoreRange){base + first, base + plan->num_draws};
}

typedef struct Visit {
  const RpinnDrawPlan *plan;
  bool warmup;
  RpinnStatus (*visit)(void *user, const RpinnVisitedDraw *draw);
  void *user;
} Visit;

/* Which draw has this index in the store; is it wanted? */
static bool find_draw(const Visit *visit, uint64_t index, RpinnVisitedDraw *draw) {
  *draw = (RpinnVisitedDraw){.draw = index, .key = index};
  if (visit->plan->is_corrected) draw->draw = index - corrected_keys;
  if (visit->plan->has_chains) {
    draw->chain = index >> CHAIN_BITS;
    draw->is_warmup = !(index >> PHASE_BITS & 1);
    draw->draw = index & UINT32_MAX;
  }
  return draw->is_warmup ? visit->warmup : draw->draw < visit->plan->num_draws;
}

static RpinnStatus visit_stored(void *user, const RpinnStoredMember *stored) {
  const Visit *visit = user;
  RpinnStoredMember own = *stored;
  RpinnVisitedDraw draw;
  if (!find_draw(visit, stored->index, &draw)) return RPINN_OK;
  if (visit->plan->is_corrected) own.index = draw.draw;
  draw.stored = &own;
  return visit->visit(visit->user, &draw);
}

RpinnStatus rpinn_draw_store_visit(RpinnContext *context, RpinnMemberStore *store, const RpinnDrawPlan *plan,
                                   bool warmup,
                                   RpinnStatus (*visit)(void *user, const RpinnVisitedDraw *draw),
                                   void *user) {
  Visit own = {plan, warmup, visit, user};
  return rpinn_member_store_visit(context, store, range_of(plan, 0), visit_stored, &own);
}

RpinnStatus rpinn_draw_store_visit_unchecked(RpinnContext *context, RpinnMemberStore *store,
                                             const RpinnDrawPlan *plan, bool warmup,
                                             RpinnStatus (*visit)(void *user, const RpinnVisitedDraw *draw),
                                             void *user) {
  Visit own = {plan, warmup, visit, user};
  return rpinn_member_store_visit_unchecked(context, store, range_of(plan, 0), visit_stored, &own);
}

typedef struct SomeDraws {
  RpinnContext *context;
  RpinnMemberStore *store;
  Visit visit;
  uint64_t every, most, seen;
} SomeDraws;

static RpinnStatus visit_if_chosen(void *user, uint64_t index) {
  SomeDraws *some = user;
  RpinnVisitedDraw draw;
  if (!find_draw(&some->visit, index, &draw)) return RPINN_OK;
  uint64_t number = some->seen++;
  if (number % some->every != 0 || number / some->every >= some->most) return RPINN_OK;
  return rpinn_member_store_visit(some->context, some->store, (RpinnStoreRange){index, index + 1},
                                  visit_stored, &some->visit);
}

RpinnStatus rpinn_draw_store_visit_some(RpinnContext *context, RpinnMemberStore *store,
                                        const RpinnDrawPlan *plan, uint64_t every, uint64_t most,
                                        RpinnStatus (*visit)(void *user, const RpinnVisitedDraw *draw),
                                        void *user) {
  SomeDraws some = {
      .context = context, .store = store, .visit = {plan, false, visit, user}, .every = every, .most = most};
  return rpinn_member_store_list(context, store, range_of(plan, 0), visit_if_chosen, &some);
}

RpinnStatus rpinn_draw_store_visit_from(RpinnContext *context, RpinnMemberStore *store,
                                        const RpinnDrawPlan *plan, uint64_t first,
                                        RpinnStatus (*visit)(void *user, const RpinnVisitedDraw *draw),
                                        void *user) {
  Visit own = {plan, false, visit, user};
  return rpinn_member_store_visit(context, store, range_of(plan, first), visit_stored, &own);
}

/* Chains are stored without gaps, so that the length is found by bisection. */
static RpinnStatus find_length(RpinnContext *context, RpinnMemberStore *store, uint64_t chain, bool is_warmup,
                               uint64_t most, uint64_t *length) {
  uint64_t low = 0, high = most; /* draws 0 … low-1 are there, draw `high` is not or not wanted */
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    bool has;
    RPINN_TRY(rpinn_member_store_has(context, store, rpinn_chain_draw_key(chain, is_warmup, middle), &has));
    if (has)
      low = middle + 1;
    else
      high = middle;
  }
  *length = low;
  return RPINN_OK;
}

RpinnStatus rpinn_draw_store_count_task(RpinnContext *context, RpinnMemberStore *store,
                                        const RpinnDrawPlan *plan, uint64_t task, uint64_t *made) {
  bool has;
  if (plan->has_chains) return find_length(context, store, task, false, plan->num_draws, made);
  RPINN_TRY(
      rpinn_member_store_has(context, store, plan->is_corrected ? rpinn_corrected_key(task) : task, &has));
  *made = has;
  return RPINN_OK;
}

RpinnStatus rpinn_draw_store_count_share(RpinnContext *context, RpinnMemberStore *store,
                                         const RpinnDrawPlan *plan, RpinnShard shard, uint64_t *made) {
  *made = 0;
  if (!rpinn_shard_size(shard, plan->num_draws)) return RPINN_OK;
  return rpinn_member_store_count_share(context, store, range_of(plan, shard.count ? shard.number - 1 : 0),
                                        shard.count ? shard.count : 1, made);
}

RpinnStoreRange rpinn_draw_store_range(const RpinnDrawPlan *plan) {
  return range_of(plan, 0);
}

RpinnStoreRange rpinn_chain_range(uint64_t chain) {
  return (RpinnStoreRange){chain << CHAIN_BITS, (chain + 1) << CHAIN_BITS};
}

RpinnStatus rpinn_draw_store_common_length(RpinnContext *context, RpinnMemberStore *store,
                                           uint64_t num_chains, bool is_warmup, uint64_t most,
                                           uint64_t *length) {
  *length = most;
  for (uint64_t chain = 0; chain < num_chains; chain++)
    RPINN_TRY(find_length(context, store, chain, is_warmup, *length, length));
  return RPINN_OK;
}

RpinnStatus rpinn_draw_store_longest(RpinnContext *context, RpinnMemberStore *store,
                                     const RpinnDrawPlan *plan, uint64_t *length) {
  uint64_t most = (uint64_t)1 << PHASE_BITS, of_chain;
  if (!plan->has_chains) {
    RpinnDrawPlan all = rpinn_all_members;
    all.is_corrected = plan->is_corrected;
    RPINN_TRY(rpinn_member_store_behind_last(context, store, range_of(&all, 0), length));
    if (*length && plan->is_corrected) *length -= corrected_keys;
    return RPINN_OK;
  }
  *length = 0;
  for (uint64_t chain = 0; chain < plan->num_chains; chain++) {
    RPINN_TRY(find_length(context, store, chain, false, most - 1, &of_chain));
    if (of_chain > *length) *length = of_chain;
  }
  return RPINN_OK;
}

RpinnStatus rpinn_draw_store_shorten_plan(RpinnContext *context, RpinnMemberStore *store,
                                          RpinnDrawPlan *plan) {
  if (!plan->has_chains) return RPINN_OK;
  return rpinn_draw_store_common_length(context, store, plan->num_chains, false, plan->num_draws,
                                        &plan->num_draws);
}

RpinnStatus rpinn_draw_store_count(RpinnContext *context, RpinnMemberStore *store, const RpinnDrawPlan *plan,
                                   uint64_t *count) {
  uint64_t finished, failed;
  *count = plan->num_chains * plan->num_draws;
  if (plan->has_chains) return RPINN_OK;
  RPINN_TRY(rpinn_draw_store_count_members(context, store, plan, &finished, &failed));
  *count = finished - failed;
  return RPINN_OK;
}

RpinnStatus rpinn_draw_store_count_members(RpinnContext *context, RpinnMemberStore *store,
                                           const RpinnDrawPlan *plan, uint64_t *finished, uint64_t *failed) {
  return rpinn_member_store_count(context, store, range_of(plan, 0), finished, failed);
}

RpinnStoreRange rpinn_corrected_range(void) {
  return (RpinnStoreRange){corrected_keys, UINT64_MAX};
}

RpinnStoreRange rpinn_pilot_range(void) {
  return (RpinnStoreRange){rpinn_pilot_state_key(0), corrected_keys};
}

RpinnStatus rpinn_draw_store_restore(RpinnContext *context, RpinnMemberStore *store, uint64_t key,
                                     RpinnStatus (*restore)(RpinnContext *context, void *user,
                                                            const void *state, size_t size),
                                     void *user, bool *found) {
  void *state = NULL;
  size_t size;
  RPINN_TRY(rpinn_member_store_get_state(context, store, key, &state, &size));
  *found = state != NULL;
  RpinnStatus status = state ? restore(context, user, state, size) : RPINN_OK;
  free(state);
  return status;
}
