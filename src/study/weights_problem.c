/* The problem of one candidate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weights_state.h"

enum { MAX_OWN_OVERRIDES = 8 };

typedef struct Overrides {
  RpinnOverride *items;
  size_t count;
  char seeds[2][32];
} Overrides;

static void add(Overrides *overrides, const char *name, const char *value, const char *origin) {
  overrides->items[overrides->count++] = (RpinnOverride){name, value, origin, true};
}

bool rpinn_weights_have_samples(const RpinnWeightSearch *search) {
  const RpinnProblemOptions *loading = search->options->loading;
  for (size_t k = 0; loading && k < loading->num_overrides; k++)
    if (!strcmp(loading->overrides[k].name, "samples") && loading->overrides[k].setting_only) return true;
  return false;
}

/* Data set k of seed s has the seed 10000 s + k + 1, as those of a calibration: noise is new, points and truth stay. */
static void add_seeds(const RpinnWeightSearch *search, size_t data_set, Overrides *overrides) {
  const RpinnSettingsValues *settings = &search->base->problem->settings;
  unsigned long long seed =
      10000 * (unsigned long long)settings->values[RPINN_SETTING_SEED].number + data_set + 1;
  snprintf(overrides->seeds[0], sizeof overrides->seeds[0], "%llu",
           (unsigned long long)rpinn_settings_seed(settings, RPINN_SETTING_DATA_SEED));
  snprintf(overrides->seeds[1], sizeof overrides->seeds[1], "%llu", seed);
  add(overrides, "data_seed", overrides->seeds[0], "--datasets");
  add(overrides, "seed", overrides->seeds[1], "--datasets");
  add(overrides, "noise_seed", overrides->seeds[1], "--datasets");
}

RpinnStatus rpinn_weights_load(RpinnContext *context, const RpinnWeightSearch *search, const char *method,
                               const RpinnWeightCandidate *candidate, const size_t *data_set,
                               RpinnProblem **problem) {
  RpinnProblemOptions loading =
      search->options->loading ? *search->options->loading : (RpinnProblemOptions){0};
  Overrides overrides = {calloc(loading.num_overrides + MAX_OWN_OVERRIDES, sizeof *overrides.items),
                         loading.num_overrides,
                         {"", ""}};
  if (!overrides.items) return rpinn_fail_memory(context);
  if (loading.num_overrides)
    memcpy(overrides.items, loading.overrides, loading.num_overrides * sizeof *overrides.items);
  if (method) add(&overrides, "method", method, "rpinn weights");
  if (method && !rpinn_method_find(method)->has_chains &&
      (search->options->members || !rpinn_weights_have_samples(search)))
    add(&overrides, "samples", search->members, "--members");
  if (data_set) add_seeds(search, *data_set, &overrides);
  loading.overrides = overrides.items;
  loading.num_overrides = overrides.count;
  RpinnStatus status = rpinn_problem_load(context, search->options->problem, &loading, problem);
  free(overrides.items);
  RPINN_TRY(status);
  if (candidate) status = rpinn_weights_apply(context, search, &candidate->values, *problem);
  if (status != RPINN_OK) rpinn_problem_destroy(*problem);
  return status;
}
