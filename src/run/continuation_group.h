/* Chains of NUTS that continue given points, for one thread: one in every slot of its target, each begun as soon as a slot is free.
 * Nothing is kept of a chain but where it is, what it has cost, and the moments of what is watched on its way. */
#ifndef RPINN_RUN_CONTINUATION_GROUP_H
#define RPINN_RUN_CONTINUATION_GROUP_H

#include "draw_outputs.h"
#include "member.h"
#include "rpinn/nuts.h"
#include "run_event.h"
#include "task_pool.h"

/* What a chain has to tell beside its own state, as numbers that are saved with it; behind them the means [num_watched] and the sums
 * of squares about them of what is watched. */
typedef enum RpinnChainAccount {
  RPINN_ACCOUNT_ACCEPTANCE, /* sums over its iterations */
  RPINN_ACCOUNT_DIVERGENCES,
  RPINN_ACCOUNT_SATURATIONS,
  RPINN_ACCOUNT_SECONDS,
  RPINN_ACCOUNT_WATCHED, /* iterations in the moments */
  RPINN_NUM_ACCOUNTS
} RpinnChainAccount;

typedef struct RpinnContinuedChain {
  uint64_t key;        /* in the store, of its state and of its draw */
  uint64_t stream;     /* the number of its random stream */
  uint32_t attempt;    /* of the member that it continues */
  double scale;        /* of its prior, where scales are integrated over */
  const double *start; /* [num_drawn] */
  void *state;         /* saved by an earlier session; NULL: it begins anew */
  size_t state_size;
} RpinnContinuedChain;

typedef struct RpinnContinuationOptions {
  RpinnNutsOptions nuts;
  uint64_t seed;
  size_t num_drawn;                  /* numbers of a draw */
  const RpinnContinuedChain *chains; /* [tasks] */
  bool
      ends_in_draw; /* a chain that is done hands over its last state as a draw, and is done whatever the time; else it is saved */
  /* ---- what is watched after each iteration behind number watched_from: the log density first, then outputs ---- */
  size_t num_watched;    /* 0: nothing */
  const size_t *watched; /* [num_watched]; the first counts for nothing */
  size_t watched_from;
  const RpinnDrawOutputs *outputs;
} RpinnContinuationOptions;

typedef struct RpinnContinuationGroup RpinnContinuationGroup;

/* Borrows target and options. */
RpinnStatus rpinn_continuation_group_create(RpinnContext *context, const RpinnMemberTarget *target,
                                            const RpinnContinuationOptions *options, RpinnTaskPool *pool,
                                            RpinnContinuationGroup **group);
void rpinn_continuation_group_destroy(RpinnContinuationGroup *group);
/* Chains taken from the pool, until there are no more or it is stopped. */
RpinnStatus rpinn_continuation_group_run(RpinnContext *context, RpinnContinuationGroup *group);

/* Numbers of an account. */
size_t rpinn_account_length(size_t num_watched);
/* A saved chain, into one that was made with the same options, and its account [rpinn_account_length]. */
RpinnStatus rpinn_continuation_restore(RpinnContext *context, RpinnNuts *nuts, size_t num_watched,
                                       const void *state, size_t size, double *account);

#endif
