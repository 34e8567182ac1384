/* Any bytes either give a chain with all its draws, or are refused with a place. */
#include "fuzz.h"

#include <math.h>

#include "cmdstan_csv.h"

static void check_chain(const RpinnCmdstanChain *chain, size_t size) {
  fuzz_require(chain->num_columns >= 1 && chain->num_draws >= 1);
  fuzz_require((chain->num_draws + chain->num_warmup_rows) * chain->num_columns <= size);
  fuzz_require(chain->header_line >= 1 && chain->last_line > chain->header_line);
  fuzz_require(rpinn_cmdstan_csv_column(chain, "lp__"));
  for (size_t i = 0; i < chain->num_columns; i++)
    fuzz_require(rpinn_cmdstan_csv_column(chain, chain->names[i]) == chain->values + i * chain->num_draws);
  for (size_t i = 0; i < chain->num_columns * chain->num_draws; i++) /* every cell can be read */
    fuzz_require(isnan(chain->values[i]) || fabs(chain->values[i]) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  RpinnContext *context = rpinn_context_create();
  RpinnArena *arena = rpinn_arena_create();
  fuzz_require(context && arena);
  RpinnCmdstanChain *chain;
  RpinnStatus status = rpinn_cmdstan_csv_parse(context, arena, "fuzz.csv", (const char *)data, size, &chain);
  if (status == RPINN_OK) {
    check_chain(chain, size);
    fuzz_require(rpinn_cmdstan_csv_agree(context, chain, chain) == RPINN_OK);
  } else {
    fuzz_require_refusal(context, status, size);
  }
  rpinn_arena_destroy(arena);
  rpinn_context_destroy(context);
  return 0;
}
