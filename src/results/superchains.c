#include "superchains.h"

#include <stdlib.h>

#include "chain_verdict.h"
#include "run_record.h"

static bool are_many_and_short(const RpinnDrawPlan *plan, size_t num_starts) {
  return num_starts > 1 && plan->num_chains >= 2 * num_starts &&
         (double)plan->num_draws < RPINN_ESS_PER_CHAIN;
}

RpinnStatus rpinn_superchains_find(RpinnContext *context, const RpinnRun *run, size_t *num_superchains,
                                   size_t **superchains) {
  char *text;
  *num_superchains = 0;
  *superchains = NULL;
  RPINN_TRY(rpinn_member_store_get_text(context, run->store, RPINN_NUM_STARTS_KEY, &text));
  size_t num_starts = text ? (size_t)strtoull(text, NULL, 10) : 0;
  free(text);
  if (!are_many_and_short(&run->plan, num_starts)) return RPINN_OK;
  *superchains = malloc(run->plan.num_chains * sizeof **superchains);
  if (!*superchains) return rpinn_fail_memory(context);
  for (uint64_t c = 0; c < run->plan.num_chains; c++) (*superchains)[c] = (size_t)c % num_starts;
  *num_superchains = num_starts;
  return RPINN_OK;
}
