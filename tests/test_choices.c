/* The choices of settings: the words that users know, and the enumerators that they become. */
#include "check.h"

#include "backend.h"
#include "settings_values.h"

static RpinnStatus set(RpinnSettingsValues *settings, RpinnSetting setting, const char *text) {
  RpinnContext *context = rpinn_context_create();
  RpinnStatus status = rpinn_settings_set(context, settings, setting, text, (RpinnPlace){0});
  rpinn_context_destroy(context);
  return status;
}

static void words_are_those_of_the_manual(void **state) {
  (void)state;
  static const struct {
    RpinnSetting setting;
    const char *choices;
  } cases[] = {{RPINN_SETTING_METHOD, "map|rpinn|ensemble|nuts|svgd|laplace|vi"},
               {RPINN_SETTING_OPTIMIZER, "adam|lbfgs|lm|adagrad"},
               {RPINN_SETTING_METRIC, "unit|diagonal|dense"},
               {RPINN_SETTING_KEEP_WARMUP, "no|yes"},
               {RPINN_SETTING_REPULSION, "divided|undivided"},
               {RPINN_SETTING_KERNEL, "parameters|functions"},
               {RPINN_SETTING_FAMILY, "mean_field|low_rank|precision"},
               {RPINN_SETTING_LIKELIHOOD, "paper|noise|uniform"},
               {RPINN_SETTING_START, "glorot|prior|member|map|zero|normal|zero_then_normal|a run directory"},
               {RPINN_SETTING_BACKEND, "cpu|plain|cuda|auto"},
               {RPINN_SETTING_PRECISION, "float|double|tf32"},
               {RPINN_SETTING_CORRECT, "none|mh|nuts"}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
    assert_string_equal(rpinn_setting_definition(cases[k].setting)->choices, cases[k].choices);
}

static void words_become_their_enumerators(void **state) {
  (void)state;
  static const struct {
    RpinnSetting setting;
    const char *word;
    int enumerator;
  } cases[] = {{RPINN_SETTING_OPTIMIZER, "adam", RPINN_MINIMIZER_ADAM},
               {RPINN_SETTING_OPTIMIZER, "lm", RPINN_MINIMIZER_LM},
               {RPINN_SETTING_OPTIMIZER, "adagrad", RPINN_MINIMIZER_ADAGRAD},
               {RPINN_SETTING_METRIC, "diagonal", RPINN_METRIC_DIAGONAL},
               {RPINN_SETTING_KEEP_WARMUP, "yes", RPINN_WARMUP_KEPT},
               {RPINN_SETTING_REPULSION, "undivided", RPINN_REPULSION_UNDIVIDED},
               {RPINN_SETTING_KERNEL, "functions", RPINN_KERNEL_FUNCTIONS},
               {RPINN_SETTING_LIKELIHOOD, "noise", RPINN_LIKELIHOOD_NOISE},
               {RPINN_SETTING_START, "map", RPINN_START_MAP},
               {RPINN_SETTING_START, "zero_then_normal", RPINN_START_ZERO_THEN_NORMAL},
               {RPINN_SETTING_START, "results/an-earlier-run", RPINN_START_RUN},
               {RPINN_SETTING_PRECISION, "double", RPINN_PRECISION_DOUBLE},
               {RPINN_SETTING_PRECISION, "auto", -1},
               {RPINN_SETTING_CORRECT, "mh", RPINN_CORRECTION_MH}};
  static RpinnSettingsValues settings;
  rpinn_settings_reset(&settings);
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    assert_int_equal(set(&settings, cases[k].setting, cases[k].word), RPINN_OK);
    check_true(rpinn_settings_choice(&settings, cases[k].setting) == cases[k].enumerator,
               "%s is %d, expected %d", cases[k].word, rpinn_settings_choice(&settings, cases[k].setting),
               cases[k].enumerator);
  }
  assert_int_equal(set(&settings, RPINN_SETTING_METRIC, "diag"), RPINN_ERROR_INPUT);
  assert_int_equal(set(&settings, RPINN_SETTING_OPTIMIZER, "adam|lm"), RPINN_ERROR_INPUT);
}

static void a_backend_stands_where_its_word_stands(void **state) {
  (void)state;
  static RpinnSettingsValues settings;
  rpinn_settings_reset(&settings);
  assert_ptr_equal(rpinn_backend_at((size_t)rpinn_settings_choice(&settings, RPINN_SETTING_BACKEND)),
                   &rpinn_cpu_backend);
  assert_int_equal(set(&settings, RPINN_SETTING_BACKEND, "plain"), RPINN_OK);
  assert_ptr_equal(rpinn_backend_at((size_t)rpinn_settings_choice(&settings, RPINN_SETTING_BACKEND)),
                   &rpinn_plain_backend);
  assert_int_equal(set(&settings, RPINN_SETTING_BACKEND, "cuda"), RPINN_OK);
  assert_ptr_equal(rpinn_backend_at((size_t)rpinn_settings_choice(&settings, RPINN_SETTING_BACKEND)),
                   &rpinn_cuda_backend);
  assert_null(rpinn_backend_at(3)); /* auto */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_those_of_the_manual),
                                     cmocka_unit_test(words_become_their_enumerators),
                                     cmocka_unit_test(a_backend_stands_where_its_word_stands)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
