/* NUTS on a GPU: chains that begin where the members of Adam are, with trees of a fixed depth, for steps are too small to turn back. Time
 * is that of whole calls, with all that is done on the host. The first draw of each chain is not counted. */
#include <stdlib.h>

#include "device_speed.h"
#include "member_slots.h"
#include "nuts_chain.h"
#include "steady_clock.h"

enum { DEPTH = 8 };
static const double step = 1e-6;

typedef struct Chains {
  size_t count;
  RpinnNuts **chains; /* [count] */
  RpinnNutsDraw *draws;
  bool *made;
  uint64_t *numbers;
  RpinnNutsCompany *company;
} Chains;

static void close_chains(Chains *all) {
  for (size_t k = 0; all->chains && k < all->count; k++) rpinn_nuts_destroy(all->chains[k]);
  rpinn_nuts_company_destroy(all->company);
  free(all->chains);
  free(all->draws);
  free(all->made);
  free(all->numbers);
}

static RpinnStatus open_chains(RpinnContext *context, const RpinnMemberSlots *slots, size_t num_draws,
                               Chains *all) {
  RpinnNutsOptions options = rpinn_nuts_default_options();
  size_t count = all->count;
  options.num_warmup = 0;
  options.num_draws = num_draws;
  options.metric = RPINN_METRIC_UNIT;
  options.first_step = step;
  options.max_depth = DEPTH;
  all->chains = calloc(count, sizeof(RpinnNuts *));
  all->draws = calloc(count, sizeof *all->draws);
  all->made = calloc(count, sizeof *all->made);
  all->numbers = calloc(count, sizeof *all->numbers);
  if (!all->chains || !all->draws || !all->made || !all->numbers) return rpinn_fail_memory(context);
  for (size_t k = 0; k < count; k++) {
    all->numbers[k] = k;
    RPINN_TRY(rpinn_nuts_create_member(context, &slots->density, k, &options, &all->chains[k]));
  }
  return rpinn_nuts_company_create(context, count, &all->company);
}

static size_t count_leapfrogs(const Chains *all) {
  size_t sum = 0;
  for (size_t k = 0; k < all->count; k++) sum += rpinn_nuts_num_leapfrogs(all->chains[k]);
  return sum;
}

/* Until each has so many draws at least. */
static RpinnStatus advance(RpinnContext *context, const Chains *all, size_t num_draws) {
  for (bool goes_on = true; goes_on;) {
    RPINN_TRY(
        rpinn_nuts_company_advance(context, all->company, all->count, all->chains, all->draws, all->made));
    goes_on = false;
    for (size_t k = 0; k < all->count; k++)
      goes_on = goes_on || rpinn_nuts_num_iterations(all->chains[k]) < num_draws;
  }
  return RPINN_OK;
}

static RpinnStatus measure(RpinnContext *context, RpinnPosterior *posterior, size_t num_chains,
                           const double *const *starts, size_t num_draws, Chains *all,
                           RpinnDeviceChaining *chaining) {
  RpinnMemberSlots *slots;
  RPINN_TRY(rpinn_member_slots_create(context, posterior, &slots));
  all->count = slots->count < num_chains ? slots->count : num_chains;
  RPINN_TRY(open_chains(context, slots, num_draws + 1, all));
  RPINN_TRY(rpinn_nuts_start_together(context, all->count, all->chains, 1, all->numbers, starts));
  RPINN_TRY(advance(context, all, 1));
  size_t before = count_leapfrogs(all);
  double begun = rpinn_steady_seconds(), launched = rpinn_device_chain_seconds(posterior->backend);
  RPINN_TRY(advance(context, all, num_draws + 1));
  chaining->seconds = rpinn_steady_seconds() - begun;
  chaining->launches = rpinn_device_chain_seconds(posterior->backend) - launched;
  chaining->num_leapfrogs = count_leapfrogs(all) - before;
  chaining->num_chains = all->count;
  return RPINN_OK;
}

RpinnStatus rpinn_device_chains_measure(RpinnContext *context, RpinnPosterior *posterior, size_t num_chains,
                                        const double *const *starts, size_t num_draws,
                                        RpinnDeviceChaining *chaining) {
  Chains all = {0};
  RpinnStatus status = measure(context, posterior, num_chains, starts, num_draws, &all, chaining);
  close_chains(&all);
  return status;
}
