/* What rpinn diagnose reads from CmdStan's columns, and what it makes of draws that are not numbers, or few values. */
#include "temporary_folder.h"

#include "json_reader.h"
#include "random_stream.h"
#include "rpinn/rpinn.h"

enum { CHAINS = 4, DRAWS = 400 };

/* What differs from sound chains: the values of column `extra` by draw, the last step size, the names of columns. */
typedef struct Case {
  double (*extra)(RpinnStream *stream, size_t draw);
  double last_step;        /* of the second chain */
  const char *divergences; /* the name of that column */
  size_t num_divergent;    /* of the third chain */
} Case;

static double normal(RpinnStream *stream, size_t draw) {
  (void)draw;
  return rpinn_stream_normal(stream);
}
static double coin(RpinnStream *stream, size_t draw) {
  (void)draw;
  return rpinn_stream_normal(stream) > 0;
}
static double seldom_nan(RpinnStream *stream, size_t draw) {
  return draw == 77 ? (double)NAN : rpinn_stream_normal(stream);
}
static double constant(RpinnStream *stream, size_t draw) {
  (void)stream;
  (void)draw;
  return 2.5;
}
static double infinite(RpinnStream *stream, size_t draw) {
  (void)stream;
  (void)draw;
  return (double)INFINITY;
}
static double all_nan(RpinnStream *stream, size_t draw) {
  (void)stream;
  (void)draw;
  return (double)NAN;
}

static void write_chain(const Case *a, size_t chain, const char *name) {
  FILE *file = fopen(name, "w");
  assert_non_null(file);
  fprintf(file, "# num_warmup = 5\n# save_warmup = 0\n# thin = 1\n# max_depth = 9\n");
  fprintf(file, "lp__,accept_stat__,stepsize__,treedepth__,%s,energy__,extra\n", a->divergences);
  RpinnStream stream = rpinn_stream(3, RPINN_PURPOSE_CHECK, chain, 0);
  for (size_t i = 0; i < DRAWS; i++) {
    double lp = rpinn_stream_normal(&stream), step = chain == 1 && i + 1 == DRAWS ? a->last_step : 0.5;
    double acceptance = i % 2 ? 0.5 + 0.1 * (double)chain : 0.75;
    fprintf(file, "%.17g,%.17g,%.17g,%d,%d,%.17g,", lp, acceptance, step, chain == 3 && i < 6 ? 9 : 8,
            chain == 2 && i < a->num_divergent, rpinn_stream_normal(&stream));
    fprintf(file, "%.17g\n", a->extra(&stream, i));
  }
  assert_int_equal(fclose(file), 0);
}

typedef struct Diagnosis {
  RpinnContext *context;
  RpinnArena *arena;
  char *text;
  bool healthy;
  const RpinnJsonValue *page;
} Diagnosis;

static Diagnosis diagnose(Case a) {
  static const char *const files[CHAINS] = {"1.csv", "2.csv", "3.csv", "4.csv"};
  Diagnosis made = {.context = rpinn_context_create(), .arena = rpinn_arena_create()};
  if (!a.extra) a.extra = normal;
  if (!a.divergences) a.divergences = "divergent__";
  if (a.last_step == 0) a.last_step = 0.5;
  for (size_t c = 0; c < CHAINS; c++) write_chain(&a, c, files[c]);
  made.text =
      rpinn_diagnose_csv(made.context, CHAINS, files, &(RpinnDiagnoseOptions){.json = true}, &made.healthy);
  check_true(made.text != NULL, "%s", rpinn_context_error(made.context)->message);
  assert_int_equal(
      rpinn_json_parse(made.context, made.arena, "page", made.text, strlen(made.text), &made.page), RPINN_OK);
  return made;
}

static void close_diagnosis(Diagnosis *made) {
  free(made->text);
  rpinn_arena_destroy(made->arena);
  rpinn_context_destroy(made->context);
}

static double number(const RpinnJsonValue *object, const char *key) {
  double value = (double)NAN;
  rpinn_json_as_number(rpinn_json_find(object, key), &value);
  return value;
}

static const RpinnJsonValue *chain_of(const Diagnosis *made, size_t number_of_chain) {
  const RpinnJsonValue *chain = rpinn_json_find(made->page, "chains")->first;
  while (number_of_chain--) chain = chain->next;
  return chain;
}

/* The only problem, or none. */
static void check_problem(const Diagnosis *made, const char *name, const char *words) {
  const RpinnJsonValue *problem = NULL;
  for (const RpinnJsonValue *item = rpinn_json_find(made->page, "findings")->first; item; item = item->next) {
    if (!rpinn_json_find(item, "problem")->boolean) continue;
    check_true(!problem, "more than one problem: %s", made->text);
    problem = item;
  }
  assert_true(made->healthy == !name);
  check_true(!problem == !name, "%s: %s", name ? name : "no problem", made->text);
  if (!name) return;
  assert_string_equal(rpinn_json_find(problem, "finding")->text, name);
  const char *what = rpinn_json_find(problem, "what")->text;
  check_true(strstr(what, words) != NULL, "no '%s' in: %s", words, what);
}

static void columns_of_the_sampler(void **state) {
  (void)state;
  Diagnosis made = diagnose((Case){0});
  check_problem(&made, NULL, NULL);
  for (size_t c = 0; c < CHAINS; c++) /* half the draws 0.75, half the other */
    check_relative(number(chain_of(&made, c), "acceptance"), 0.625 + 0.05 * (double)c, 1e-12);
  assert_true(number(chain_of(&made, 3), "at_max_depth") == 6 &&
              number(chain_of(&made, 0), "at_max_depth") == 0);
  check_close(number(chain_of(&made, 0), "energy_fraction"), 2, 0.4); /* of independent energies */
  close_diagnosis(&made);
}

/* Newer files call the column divergent__, older ones n_divergent__. */
static void divergences_under_both_names(void **state) {
  (void)state;
  for (int old = 0; old < 2; old++) {
    Diagnosis made =
        diagnose((Case){.divergences = old ? "n_divergent__" : "divergent__", .num_divergent = 8});
    check_problem(&made, "divergences", "8 of 1600 trajectories diverged (0.5 %), in 1 of 4 chains");
    assert_true(number(chain_of(&made, 2), "divergences") == 8 &&
                number(chain_of(&made, 1), "divergences") == 0);
    close_diagnosis(&made);
  }
  Diagnosis made = diagnose((Case){.divergences = "other__", .num_divergent = 8});
  check_problem(&made, NULL, NULL);
  assert_null(rpinn_json_find(chain_of(&made, 0), "divergences"));
  close_diagnosis(&made);
}

/* The step that a chain ends with counts, not the first one. */
static void the_last_step_size_counts(void **state) {
  (void)state;
  Diagnosis made = diagnose((Case){.last_step = 2e-7});
  check_problem(&made, "stuck",
                "1 of 4 chains is stuck: the step size of chain 2 is 2e-07, the largest of all 0.5.");
  close_diagnosis(&made);
}

static void draws_that_cannot_be_judged(void **state) {
  (void)state;
  static const struct {
    double (*extra)(RpinnStream *stream, size_t draw);
    bool is_judged, is_constant;
  } cases[] = {{normal, true, false},  {coin, false, false},     {seldom_nan, false, false},
               {constant, true, true}, {infinite, false, false}, {all_nan, false, false}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    Diagnosis made = diagnose((Case){.extra = cases[k].extra});
    if (cases[k].is_judged)
      check_problem(&made, NULL, NULL);
    else
      check_problem(&made, "no_statistics", "1 of 2 scalars cannot be judged, the first is 'extra'");
    const RpinnJsonValue *extra = rpinn_json_find(made.page, "scalars")->first->next;
    assert_string_equal(rpinn_json_find(extra, "name")->text, "extra");
    check_true(rpinn_json_find(extra, "constant")->boolean == cases[k].is_constant, "case %zu", k);
    close_diagnosis(&made);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(columns_of_the_sampler), cmocka_unit_test(divergences_under_both_names),
      cmocka_unit_test(the_last_step_size_counts), cmocka_unit_test(draws_that_cannot_be_judged)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
