/* The problem of one data set: with seeds of its own, and as many members as are asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate_state.h"
#include "method.h"

static const char origin[] = "rpinn calibrate";
enum { MAX_OWN_OVERRIDES = 8 };

typedef struct OwnOverrides {
  char values[MAX_OWN_OVERRIDES][32];
  size_t count;
} OwnOverrides;

static void add_override(OwnOverrides *own, RpinnOverride *overrides, size_t *count, const char *name,
                         const char *value) {
  char *copy = own->values[own->count++];
  snprintf(copy, sizeof own->values[0], "%s", value);
  overrides[(*count)++] = (RpinnOverride){name, copy, origin, true};
}

static void add_seed(OwnOverrides *own, RpinnOverride *overrides, size_t *count, const char *name,
                     uint64_t seed) {
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
  add_override(own, overrides, count, name, text);
}

/* Data set k of seed s has the seed 10000 s + k + 1. The data's own seed stays, and with it points, truth and frozen layers,
 * but for what is drawn anew. */
static void add_seeds(const RpinnCalibration *calibration, size_t data_set, OwnOverrides *own,
                      RpinnOverride *overrides, size_t *count) {
  const RpinnSettingsValues *settings = &calibration->base->problem->settings;
  uint64_t seed = 10000 * (uint64_t)settings->values[RPINN_SETTING_SEED].number + data_set + 1;
  bool points = strcmp(calibration->redraw, "noise") != 0, truth = !strcmp(calibration->redraw, "truth");
  add_seed(own, overrides, count, "data_seed", rpinn_settings_seed(settings, RPINN_SETTING_DATA_SEED));
  add_seed(own, overrides, count, "seed", seed);
  if (calibration->source != RPINN_FROM_TRUTH) return;
  add_seed(own, overrides, count, "noise_seed", seed);
  if (points) add_seed(own, overrides, count, "points_seed", seed);
  if (truth) add_seed(own, overrides, count, "truth_seed", seed);
}

static RpinnStatus load(RpinnContext *context, const RpinnCalibration *calibration,
                        const RpinnCalibratedMethod *method, const size_t *data_set, RpinnProblem **problem) {
  RpinnProblemOptions loading =
      calibration->options->loading ? *calibration->options->loading : (RpinnProblemOptions){0};
  RpinnOverride *overrides =
      calloc(loading.num_overrides + RPINN_MAX_METHOD_SETTINGS + MAX_OWN_OVERRIDES, sizeof *overrides);
  OwnOverrides own = {0};
  if (!overrides) return rpinn_fail_memory(context);
  size_t count = loading.num_overrides;
  if (count) memcpy(overrides, loading.overrides, count * sizeof *overrides);
  if (method) add_override(&own, overrides, &count, "method", method->method);
  for (size_t k = 0; method && k < method->num_settings; k++) overrides[count++] = method->settings[k];
  if (method && !rpinn_method_find(method->method)->has_chains)
    add_override(&own, overrides, &count, "samples", calibration->members);
  if (data_set) add_seeds(calibration, *data_set, &own, overrides, &count);
  loading.overrides = overrides;
  loading.num_overrides = count;
  RpinnStatus status = rpinn_problem_load(context, calibration->options->problem, &loading, problem);
  free(overrides);
  return status;
}

RpinnStatus rpinn_calibration_load(RpinnContext *context, const RpinnCalibration *calibration,
                                   const RpinnCalibratedMethod *method, RpinnProblem **problem) {
  return load(context, calibration, method, NULL, problem);
}

RpinnStatus rpinn_calibration_load_data_set(RpinnContext *context, const RpinnCalibration *calibration,
                                            const RpinnCalibratedMethod *method, size_t data_set,
                                            RpinnProblem **problem) {
  return load(context, calibration, method, &data_set, problem);
}
