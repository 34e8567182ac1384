/* The table of methods: every row is whole, and all that names methods names those of the table. */
#include "check.h"

#include <string.h>

#include "maker.h"

/* The choice string of the setting, word by word, is the names in their order; the number of a choice finds its row. */
static void setting_offers_the_table(void **state) {
  (void)state;
  const char *choices = rpinn_setting_definition(RPINN_SETTING_METHOD)->choices;
  RpinnProblem problem = {0};
  RpinnContext *context = rpinn_context_create();
  size_t count = 0;
  for (const char *at = choices; *at; count++) {
    size_t length = strcspn(at, "|");
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    assert_string_equal(rpinn_method_name(count), name);
    assert_int_equal(
        rpinn_settings_set(context, &problem.settings, RPINN_SETTING_METHOD, name, (RpinnPlace){0}),
        RPINN_OK);
    assert_ptr_equal(rpinn_problem_method(&problem), rpinn_method_at(count));
    assert_ptr_equal(rpinn_method_find(name), rpinn_method_at(count));
    at += length + (at[length] == '|');
  }
  assert_null(rpinn_method_name(count));
  assert_null(rpinn_method_at(count));
  assert_null(rpinn_maker_at(count));
  assert_null(rpinn_method_description(count));
  assert_null(rpinn_method_find("rpinn "));
  assert_null(rpinn_method_find(""));
  rpinn_context_destroy(context);
}

static void expect_words(const char *text) {
  assert_non_null(text);
  assert_true(strlen(text) > 2);
  assert_null(strchr(text, '\n'));
}

static void every_row_is_whole(void **state) {
  (void)state;
  for (size_t i = 0; rpinn_method_at(i); i++) {
    const RpinnMethod *method = rpinn_method_at(i);
    assert_ptr_equal(rpinn_method_description(i), &method->about);
    expect_words(method->about.title);
    expect_words(method->about.summary);
    expect_words(method->meaning);
    expect_words(method->unit);
    assert_true(strlen(method->about.summary) <= 80); /* a line of `rpinn list` */
    assert_int_equal(method->meaning[strlen(method->meaning) - 1], '.');
    assert_int_not_equal(method->unit[strlen(method->unit) - 1], 's');
    assert_non_null(method->plan);
    assert_non_null(method->draws);
    assert_non_null(method->describe_settings);
    assert_non_null(method->write_title);
    assert_non_null(method->write_lines);
    assert_int_equal(!method->about.file, !method->write_file);
    assert_int_equal(!method->about.file, !method->about.file_summary);
    expect_words(method->legend);
    expect_words(method->facts[0].title);
    assert_int_not_equal(method->sections[0], RPINN_SECTION_NONE);
    assert_int_not_equal(method->judgement, RPINN_JUDGEMENT_NONE);
    const RpinnDrawMaker *maker = rpinn_maker_at(i);
    assert_non_null(maker);
    expect_words(maker->progress_unit);
    assert_non_null(maker->check_settings);
    assert_non_null(maker->make_draws);
    assert_non_null(maker->estimate);
    assert_non_null(maker->describe_run);
    size_t last = RPINN_MAX_METHOD_LIST - 1; /* lists have an end */
    assert_int_equal(method->sections[last], RPINN_SECTION_NONE);
    for (size_t k = 0; k < i; k++) {
      assert_string_not_equal(method->about.title, rpinn_method_at(k)->about.title);
      assert_string_not_equal(method->about.summary, rpinn_method_at(k)->about.summary);
    }
  }
}

/* What the settings ask of each method; facts of a method and of its plan agree. */
static void plans_follow_the_settings(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool has_chains;
    uint64_t num_chains, num_draws;
  } expected[] = {{"map", false, 1, 1},  {"rpinn", false, 1, 70}, {"ensemble", false, 1, 70},
                  {"nuts", true, 3, 70}, {"svgd", false, 1, 70},  {"laplace", false, 1, 70}};
  RpinnSettingsValues settings;
  RpinnContext *context = rpinn_context_create();
  rpinn_settings_reset(&settings);
  rpinn_settings_set(context, &settings, RPINN_SETTING_SAMPLES, "70", (RpinnPlace){0});
  rpinn_settings_set(context, &settings, RPINN_SETTING_CHAINS, "3", (RpinnPlace){0});
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    const RpinnMethod *method = rpinn_method_find(expected[i].name);
    RpinnDrawPlan plan = method->plan(&settings);
    assert_int_equal(plan.has_chains, expected[i].has_chains);
    assert_int_equal(method->has_chains, expected[i].has_chains);
    assert_int_equal(method->has_one_draw, expected[i].num_draws == 1);
    assert_int_equal(plan.num_chains, expected[i].num_chains);
    assert_int_equal(plan.num_draws, expected[i].num_draws);
  }
  rpinn_context_destroy(context);
}

/* What a bare run of each method has, and what is given wins. */
static void auto_is_what_the_method_says(void **state) {
  (void)state;
  static const struct {
    const char *name, *optimizer, *iterations, *start, *samples;
  } expected[] = {{"map", "lm", "1000", "prior", "1"},        {"rpinn", "lm", "1000", "prior", "199"},
                  {"ensemble", "lm", "1000", "prior", "199"}, {"nuts", "lm", "1000", "member", "1000"},
                  {"svgd", "adam", "2000", "prior", "199"},   {"laplace", "lm", "1000", "prior", "999"},
                  {"vi", "lm", "20000", "member", "999"}};
  RpinnContext *context = rpinn_context_create();
  for (size_t i = 0; rpinn_method_name(i); i++) {
    static RpinnSettingsValues settings;
    assert_true(i < sizeof expected / sizeof expected[0]);
    rpinn_settings_reset(&settings);
    rpinn_settings_set(context, &settings, RPINN_SETTING_METHOD, expected[i].name, (RpinnPlace){0});
    rpinn_settings_resolve(&settings);
    assert_string_equal(settings.values[RPINN_SETTING_OPTIMIZER].text, expected[i].optimizer);
    assert_string_equal(settings.values[RPINN_SETTING_ITERATIONS].text, expected[i].iterations);
    assert_string_equal(settings.values[RPINN_SETTING_LEARNING_RATE].text,
                        !strcmp(expected[i].name, "vi") ? "0.05" : "0.001");
    assert_string_equal(settings.values[RPINN_SETTING_START].text, expected[i].start);
    assert_string_equal(settings.values[RPINN_SETTING_SAMPLES].text, expected[i].samples);
    assert_string_equal(rpinn_setting_default(RPINN_SETTING_SAMPLES, i), expected[i].samples);
    bool has_tolerance = !strcmp(expected[i].optimizer, "lm"); /* Adam makes all of its iterations */
    assert_string_equal(settings.values[RPINN_SETTING_PROGRESS_TOLERANCE].text,
                        has_tolerance ? "0.0001" : "auto");
    assert_string_equal(settings.values[RPINN_SETTING_PROGRESS_AMOUNT].text, has_tolerance ? "0.1" : "0");
    assert_string_equal(settings.values[RPINN_SETTING_MOMENTUM].text, has_tolerance ? "yes" : "no");
    assert_string_equal(settings.values[RPINN_SETTING_ACCELERATION].text, has_tolerance ? "yes" : "no");
    rpinn_settings_set(context, &settings, RPINN_SETTING_START, "zero", (RpinnPlace){0});
    rpinn_settings_set(context, &settings, RPINN_SETTING_SAMPLES, "7", (RpinnPlace){0});
    rpinn_settings_resolve(&settings);
    assert_int_equal(rpinn_settings_choice(&settings, RPINN_SETTING_START), RPINN_START_ZERO);
    assert_int_equal((int)settings.values[RPINN_SETTING_SAMPLES].number, 7);
  }
  static RpinnSettingsValues old; /* who says when to stop has the steps of before */
  rpinn_settings_reset(&old);
  rpinn_settings_set(context, &old, RPINN_SETTING_OPTIMIZER, "lm", (RpinnPlace){0});
  rpinn_settings_set(context, &old, RPINN_SETTING_PROGRESS_TOLERANCE, "1e-8", (RpinnPlace){0});
  rpinn_settings_resolve(&old);
  assert_string_equal(old.values[RPINN_SETTING_PROGRESS_AMOUNT].text, "0");
  assert_string_equal(old.values[RPINN_SETTING_MOMENTUM].text, "no");
  assert_string_equal(old.values[RPINN_SETTING_ACCELERATION].text, "no");
  assert_null(rpinn_setting_default(RPINN_SETTING_SEED, 0));
  assert_null(rpinn_setting_default(RPINN_SETTING_SAMPLES, 99));
  rpinn_context_destroy(context);
}

static const RpinnDrawMaker *maker_of(const char *name) {
  size_t i = 0;
  while (strcmp(rpinn_method_name(i), name) != 0) i++;
  return rpinn_maker_at(i);
}

/* What is known of each method, as its pages and verdicts show it, and of how its draws are made. */
static void facts_are_those_of_the_methods(void **state) {
  (void)state;
  static const struct {
    const char *name, *title, *unit, *legend, *progress_unit, *first_fact, *file;
    bool has_offsets, has_weights, needs_prior, linearises, prior_at_minimum, moves_together;
    RpinnReportSection sections[3];
    bool minimises;
    const char *caution;
  } expected[] = {{.name = "map",
                   .prior_at_minimum = true,
                   .minimises = true,
                   .title = "MAP",
                   .unit = "member",
                   .legend = "member",
                   .progress_unit = "members",
                   .first_fact = "Members",
                   .sections = {RPINN_SECTION_MEMBERS}},
                  {.name = "rpinn",
                   .minimises = true,
                   .title = "rPINN",
                   .unit = "member",
                   .legend = "member",
                   .progress_unit = "members",
                   .first_fact = "Members",
                   .has_offsets = true,
                   .has_weights = true,
                   .sections = {RPINN_SECTION_MEMBERS, RPINN_SECTION_CORRECTION}},
                  {.name = "ensemble",
                   .prior_at_minimum = true,
                   .minimises = true,
                   .title = "ensemble",
                   .unit = "member",
                   .legend = "member",
                   .progress_unit = "members",
                   .first_fact = "Members",
                   .sections = {RPINN_SECTION_MEMBERS},
                   .caution = "that of its starts"},
                  {.name = "nuts",
                   .title = "NUTS",
                   .unit = "draw",
                   .legend = "draw",
                   .progress_unit = "iterations",
                   .first_fact = "Chains",
                   .file = "diagnostics.csv",
                   .sections = {RPINN_SECTION_CHAINS}},
                  {.name = "svgd",
                   .title = "SVGD",
                   .unit = "particle",
                   .legend = "member",
                   .progress_unit = "iterations",
                   .first_fact = "Particles",
                   .file = "svgd_trace.csv",
                   .moves_together = true,
                   .sections = {RPINN_SECTION_MEMBERS, RPINN_SECTION_PARTICLES},
                   .caution = "the moment at which they were stopped"},
                  {.name = "laplace",
                   .prior_at_minimum = true,
                   .title = "Laplace",
                   .unit = "draw",
                   .legend = "draw",
                   .progress_unit = "draws",
                   .first_fact = "Draws",
                   .needs_prior = true,
                   .linearises = true,
                   .sections = {RPINN_SECTION_MEMBERS}},
                  {.name = "vi",
                   .title = "variational",
                   .unit = "draw",
                   .legend = "draw",
                   .progress_unit = "iterations",
                   .first_fact = "Draws",
                   .file = "vi_trace.csv",
                   .has_weights = true,
                   .needs_prior = true,
                   .sections = {RPINN_SECTION_MEMBERS, RPINN_SECTION_VARIATIONAL},
                   .caution = "too small"}};
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
    const RpinnMethod *method = rpinn_method_find(expected[i].name);
    const RpinnDrawMaker *maker = maker_of(expected[i].name);
    assert_string_equal(method->about.title, expected[i].title);
    assert_string_equal(method->unit, expected[i].unit);
    assert_string_equal(method->legend, expected[i].legend);
    assert_string_equal(maker->progress_unit, expected[i].progress_unit);
    assert_string_equal(method->facts[0].title, expected[i].first_fact);
    assert_int_equal(method->has_offsets, expected[i].has_offsets);
    assert_int_equal(method->weigher != NULL, expected[i].has_weights);
    assert_int_equal(maker->linearises, expected[i].linearises);
    assert_int_equal(maker->needs_prior, expected[i].needs_prior);
    assert_int_equal(maker->prior_at_minimum, expected[i].prior_at_minimum);
    assert_int_equal(method->moves_together, expected[i].moves_together);
    assert_ptr_equal(method->draws, method->has_chains ? &rpinn_chain_draws : &rpinn_member_draws);
    assert_int_equal(method->judgement,
                     method->has_chains ? RPINN_JUDGEMENT_CHAINS : RPINN_JUDGEMENT_MEMBERS);
    for (size_t k = 0; k < 3; k++) assert_int_equal(method->sections[k], expected[i].sections[k]);
    assert_int_equal(method->minimises, expected[i].minimises);
    assert_int_equal(!method->about.file, !expected[i].file);
    assert_int_equal(!method->caution, !expected[i].caution);
    if (method->about.file) assert_string_equal(method->about.file, expected[i].file);
    if (method->caution) assert_non_null(strstr(method->caution, expected[i].caution));
  }
}

/* Which starts and optimisers each method refuses, as a person would meet it. */
static void settings_that_do_not_go_together_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *method, *start, *optimizer, *message; /* NULL: taken */
  } cases[] = {
      {"vi", "member", "lm", NULL},
      {"vi", "map", "adam", NULL},
      {"vi", "prior", "adagrad", "minimises nothing"},
      {"map", "glorot", "lm", NULL},
      {"map", "map", "adam", "method map cannot start from its own result"},
      {"map", "prior", "adam", NULL},
      {"map", "member", "lm", "for the chains of nuts and the starts of vi, and not for method map"},
      {"map", "glorot", "adagrad", "minimises nothing"},
      {"rpinn", "prior", "adam", NULL},
      {"rpinn", "map", "lbfgs", NULL},
      {"rpinn", "glorot", "adagrad", "minimises nothing"},
      {"rpinn", "member", "lm", "for the chains of nuts and the starts of vi, and not for method rpinn"},
      {"ensemble", "prior", "adam", NULL},
      {"ensemble", "member", "lm",
       "for the chains of nuts and the starts of vi, and not for method ensemble"},
      {"ensemble", "map", "lm", NULL},
      {"ensemble", "glorot", "adagrad", "minimises nothing"},
      {"nuts", "prior", "lm", NULL},
      {"nuts", "member", "lm", NULL},
      {"nuts", "map", "lm", NULL},
      {"nuts", "glorot", "adagrad", "minimises nothing"},
      {"svgd", "prior", "adagrad", NULL},
      {"svgd", "member", "adam", "for the chains of nuts and the starts of vi, and not for method svgd"},
      {"svgd", "map", "adam", NULL},
      {"svgd", "map", "adagrad", "minimises nothing"},
      {"svgd", "glorot", "lbfgs", "lbfgs cannot move the particles"},
      {"svgd", "glorot", "lm", "lm cannot move the particles"},
      {"laplace", "glorot", "adam", NULL},
      {"laplace", "member", "adam",
       "for the chains of nuts and the starts of vi, and not for method laplace"},
      {"laplace", "map", "adam", "from draws of the prior, and not from start map"}};
  RpinnContext *context = rpinn_context_create();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    RpinnProblem problem = {0};
    RpinnPlace nowhere = {0};
    rpinn_settings_reset(&problem.settings);
    rpinn_settings_set(context, &problem.settings, RPINN_SETTING_METHOD, cases[i].method, nowhere);
    rpinn_settings_set(context, &problem.settings, RPINN_SETTING_START, cases[i].start, nowhere);
    rpinn_settings_set(context, &problem.settings, RPINN_SETTING_OPTIMIZER, cases[i].optimizer, nowhere);
    RpinnStatus status = rpinn_problem_maker(&problem)->check_settings(context, &problem);
    assert_int_equal(status, cases[i].message ? RPINN_ERROR_INPUT : RPINN_OK);
    if (cases[i].message) assert_non_null(strstr(rpinn_context_error(context)->message, cases[i].message));
  }
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(setting_offers_the_table),
                                     cmocka_unit_test(every_row_is_whole),
                                     cmocka_unit_test(plans_follow_the_settings),
                                     cmocka_unit_test(auto_is_what_the_method_says),
                                     cmocka_unit_test(facts_are_those_of_the_methods),
                                     cmocka_unit_test(settings_that_do_not_go_together_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
