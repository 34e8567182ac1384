/* Draws in the store: members by their number, draws of chains by chain and number. */
#ifndef RPINN_RESULTS_DRAW_STORE_H
#define RPINN_RESULTS_DRAW_STORE_H

#include "member_store.h"
#include "shard.h"

enum { RPINN_MAX_CHAINS = 1000000 };

/* The draws of a posterior. */
typedef struct RpinnDrawPlan {
  bool has_chains;
  uint64_t num_chains; /* 1 without chains */
  uint64_t num_draws;  /* of each chain; without chains: members, failed ones included */
  bool is_corrected; /* they are what the members have become by --correct nuts, not the members themselves */
} RpinnDrawPlan;

/* The members themselves, however many of a run there are. */
static const RpinnDrawPlan rpinn_all_members = {.num_chains = 1, .num_draws = (uint64_t)1 << 61};
/* The members of a plan, whether it is about them or about what they have become. */
static inline RpinnDrawPlan rpinn_draw_plan_of_members(const RpinnDrawPlan *plan) {
  RpinnDrawPlan members = *plan;
  members.is_corrected = false;
  return members;
}

/* What is begun on its own: chains, or members. */
static inline uint64_t rpinn_draw_plan_num_starts(const RpinnDrawPlan *plan) {
  return plan->has_chains ? plan->num_chains : plan->num_draws;
}

/* Where the store keeps a draw of a chain (of its warmup), and the chain's state. */
uint64_t rpinn_chain_draw_key(uint64_t chain, bool is_warmup, uint64_t draw);
uint64_t rpinn_chain_state_key(uint64_t chain);
/* The same for the search of the MAP estimate that draws start from. */
uint64_t rpinn_map_state_key(void);
/* The same for the point at which a posterior is linearised. */
uint64_t rpinn_laplace_state_key(void);
/* The same for the most probable point under the scale of the prior that was chosen from the data. */
uint64_t rpinn_choice_state_key(void);
/* What member k has become by its correction, and the state of the chain that it is continued by. */
uint64_t rpinn_corrected_key(uint64_t member);
/* What the pilot of a correction has found; what it has found so far while it is under way, and the state of one of its chains. */
uint64_t rpinn_correction_state_key(void);
uint64_t rpinn_pilot_progress_key(void);
uint64_t rpinn_pilot_state_key(uint64_t chain);
/* The same for what variational inference has fitted. */
uint64_t rpinn_variational_state_key(void);

/* A parameter vector under such a key. *found is false where the store has none of this length. */
RpinnStatus rpinn_draw_store_get_vector(RpinnContext *context, RpinnMemberStore *store, uint64_t key,
                                        size_t length, double *vector, bool *found);
/* The same for what was learnt of noise that is not known. */
uint64_t rpinn_noise_state_key(void);

/* States that belong to a run as a whole, and are learnt before its draws: their keys, and what they are. */
size_t rpinn_num_shared_states(void);
uint64_t rpinn_shared_state_key(size_t index);
const char *rpinn_shared_state_name(uint64_t key);

/* A draw during a visit. What a member has become has the index of the member. */
typedef struct RpinnVisitedDraw {
  uint64_t chain, draw;
  uint64_t key; /* its index in the store */
  bool is_warmup;
  const RpinnStoredMember *stored;
} RpinnVisitedDraw;

/* Call visit for the draws of the plan, chain by chain and in their order; with warmup for those of the warmup
 * too, where they are stored. */
RpinnStatus rpinn_draw_store_visit(RpinnContext *context, RpinnMemberStore *store, const RpinnDrawPlan *plan,
                                   bool warmup,
                                   RpinnStatus (*visit)(void *user, const RpinnVisitedDraw *draw),
                                   void *user);
/* The same for callers who check sums themselves (member_store.h). */
RpinnStatus rpinn_draw_store_visit_unchecked(RpinnContext *context, RpinnMemberStore *store,
                                             const RpinnDrawPlan *plan, bool warmup,
                                             RpinnStatus (*visit)(void *user, const RpinnVisitedDraw *draw),
                                             void *user);
/* The same for every `every`-th of the draws that did not fail, the first of them included, and at most `most`: no others are
 * read. */
RpinnStatus rpinn_draw_store_visit_some(RpinnContext *context, RpinnMemberStore *store,
                                        const RpinnDrawPlan *plan, uint64_t every, uint64_t most,
                                        RpinnStatus (*visit)(void *user, const RpinnVisitedDraw *draw),
                                        void *user);
/* The same for draws first … plan->num_draws - 1 of a plan without chains. */
RpinnStatus rpinn_draw_store_visit_from(RpinnContext *context, RpinnMemberStore *store,
                                        const RpinnDrawPlan *plan, uint64_t first,
                                        RpinnStatus (*visit)(void *user, const RpinnVisitedDraw *draw),
                                        void *user);
/* The draws of the plan that are in the store: chains as long as the shortest of them. */
RpinnStatus rpinn_draw_store_shorten_plan(RpinnContext *context, RpinnMemberStore *store,
                                          RpinnDrawPlan *plan);
/* Draws of the plan in the store that did not fail. */
RpinnStatus rpinn_draw_store_count(RpinnContext *context, RpinnMemberStore *store, const RpinnDrawPlan *plan,
                                   uint64_t *count);
/* Those of a plan without chains, and how many of them failed. */
RpinnStatus rpinn_draw_store_count_members(RpinnContext *context, RpinnMemberStore *store,
                                           const RpinnDrawPlan *plan, uint64_t *finished, uint64_t *failed);
/* Draws of the longest of the chains; without chains, the number behind the last member. */
RpinnStatus rpinn_draw_store_longest(RpinnContext *context, RpinnMemberStore *store,
                                     const RpinnDrawPlan *plan, uint64_t *length);
/* Draws of a member or chain that are there, of those that the plan wants. */
RpinnStatus rpinn_draw_store_count_task(RpinnContext *context, RpinnMemberStore *store,
                                        const RpinnDrawPlan *plan, uint64_t task, uint64_t *made);
/* Members of a shard that are there, of those that a plan without chains wants. */
RpinnStatus rpinn_draw_store_count_share(RpinnContext *context, RpinnMemberStore *store,
                                         const RpinnDrawPlan *plan, RpinnShard shard, uint64_t *made);
/* Where the draws of a plan without chains are; where those of a chain are, with its warmup. */
RpinnStoreRange rpinn_draw_store_range(const RpinnDrawPlan *plan);
RpinnStoreRange rpinn_chain_range(uint64_t chain);
/* Draws (of the warmup) that the shortest of the chains has, at most `most`. */
RpinnStatus rpinn_draw_store_common_length(RpinnContext *context, RpinnMemberStore *store,
                                           uint64_t num_chains, bool is_warmup, uint64_t most,
                                           uint64_t *length);

/* Where all that members have become is, with the states of the chains that continue them; and the states of a pilot's chains. */
RpinnStoreRange rpinn_corrected_range(void);
RpinnStoreRange rpinn_pilot_range(void);

/* What is kept under such a key, restored by the caller; *found is false where there is nothing. */
RpinnStatus rpinn_draw_store_restore(RpinnContext *context, RpinnMemberStore *store, uint64_t key,
                                     RpinnStatus (*restore)(RpinnContext *context, void *user,
                                                            const void *state, size_t size),
                                     void *user, bool *found);

#endif
