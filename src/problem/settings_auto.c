/* What `auto` stands for where the method decides: resolved once, when all that was given is known, so that run.yaml, the
 * identity of a run and every page show the value itself. */
#include <string.h>

#include "settings_values.h"

typedef struct MethodDefaults {
  const char *optimizer, *start, *samples;
  const char *iterations; /* "": by the optimizer */
  const char *learning_rate;
} MethodDefaults;

static const MethodDefaults by_method[] = {
#define RPINN_METHOD_DEFAULTS(name, ...) {__VA_ARGS__},
    RPINN_METHOD_LIST(RPINN_METHOD_DEFAULTS)
#undef RPINN_METHOD_DEFAULTS
};

/* Adam and AdaGrad make all of their iterations; the others end where the loss does, and these are the most. The smallest
 * fall of the loss that Levenberg–Marquardt goes on for gives the bands of a thousandth of it, in a fraction of the time
 * (bench/results/calibration.md). */
static const char *const iterations[] = {[RPINN_MINIMIZER_ADAM] = "2000",
                                         [RPINN_MINIMIZER_LBFGS] = "20000",
                                         [RPINN_MINIMIZER_LM] = "1000",
                                         [RPINN_MINIMIZER_ADAGRAD] = "2000"};
static const char progress_of_lm[] = "1e-4", amount_of_lm[] = "0.1";

const char *rpinn_setting_default(RpinnSetting setting, size_t method) {
  if (method >= sizeof by_method / sizeof by_method[0]) return NULL;
  switch (setting) {
  case RPINN_SETTING_OPTIMIZER: return by_method[method].optimizer;
  case RPINN_SETTING_START: return by_method[method].start;
  case RPINN_SETTING_SAMPLES: return by_method[method].samples;
  case RPINN_SETTING_ITERATIONS: return by_method[method].iterations[0] ? by_method[method].iterations : NULL;
  case RPINN_SETTING_LEARNING_RATE: return by_method[method].learning_rate;
  default: return NULL;
  }
}

static void resolve(RpinnSettingsValues *settings, RpinnSetting setting, const char *text) {
  RpinnContext unused = {0}; /* the defaults are valid: a test resolves each of them */
  if (settings->values[setting].is_auto)
    rpinn_settings_set(&unused, settings, setting, text, (RpinnPlace){0});
}

void rpinn_settings_resolve(RpinnSettingsValues *settings) {
  static const RpinnSetting decided[] = {RPINN_SETTING_OPTIMIZER, RPINN_SETTING_START, RPINN_SETTING_SAMPLES,
                                         RPINN_SETTING_LEARNING_RATE};
  size_t method = (size_t)rpinn_settings_choice(settings, RPINN_SETTING_METHOD);
  for (size_t k = 0; k < sizeof decided / sizeof decided[0]; k++)
    resolve(settings, decided[k], rpinn_setting_default(decided[k], method));
  int optimizer = rpinn_settings_choice(settings, RPINN_SETTING_OPTIMIZER);
  const char *own = rpinn_setting_default(RPINN_SETTING_ITERATIONS, method);
  resolve(settings, RPINN_SETTING_ITERATIONS, own ? own : iterations[optimizer]);
  /* Whoever says when Levenberg–Marquardt is to stop gets the steps that go with it, and the bits of before. */
  bool is_free =
      optimizer == RPINN_MINIMIZER_LM && settings->values[RPINN_SETTING_PROGRESS_TOLERANCE].is_auto;
  resolve(settings, RPINN_SETTING_PROGRESS_AMOUNT, is_free ? amount_of_lm : "0");
  resolve(settings, RPINN_SETTING_MOMENTUM, is_free ? "yes" : "no");
  resolve(settings, RPINN_SETTING_ACCELERATION, is_free ? "yes" : "no");
  if (optimizer == RPINN_MINIMIZER_LM) resolve(settings, RPINN_SETTING_PROGRESS_TOLERANCE, progress_of_lm);
}
