/* Every setting does something that a user can see: a table with a row for each of them, two runs that differ in it
 * alone, and what must differ in their files; then the settings that promise a number, against the number. */
#include "hand_problem.h"

#define MEMBERS    "method=ensemble samples=3 iterations=40 "
#define LBFGS      "method=ensemble samples=3 optimizer=lbfgs iterations=500 "
#define RANDOMISED "method=rpinn samples=6 optimizer=lbfgs iterations=3000 "
#define CHAINS     "method=nuts chains=2 samples=12 warmup=24 max_depth=5 "
#define FIT        "method=vi samples=5 iterations=20 start=glorot "
#define PARTICLES  "method=svgd samples=4 iterations=12 learning_rate=0.02 "

/* ---- a row for each setting ---- */

static const struct {
  const char *setting, *common, *first, *second;
  bool moves_draws; /* they must differ */
  const char *path; /* in summary.json, where the values below stand, or NULL */
  const char *first_found, *second_found;
} rows[] = {
    {"method", "samples=3 iterations=40", "ensemble", "rpinn", true, "method", "ensemble", "rpinn"},
    {"samples", MEMBERS, "2", "5", true, "samples", "2", "5"},
    {"iterations", MEMBERS, "17", "23", true, "members/iterations", "17", "23"},
    {"optimizer", MEMBERS, "adam", "lbfgs", true, "members/optimizer", "adam", "lbfgs"},
    {"optimizer", MEMBERS, "lbfgs", "lm", true, NULL, NULL, NULL},
    {"optimizer", PARTICLES, "adam", "adagrad", true, NULL, NULL, NULL},
    {"learning_rate", PARTICLES, "1e-3", "1e-2", true, NULL, NULL, NULL},
    {"decay_rate", PARTICLES "decay_steps=10", "0.9", "0.5", true, NULL, NULL, NULL},
    {"decay_steps", PARTICLES "decay_rate=0.5", "10", "100", true, NULL, NULL, NULL},
    {"gradient_tolerance", LBFGS, "1e-3", "1e-1", true, NULL, NULL, NULL},
    {"progress_tolerance", LBFGS "progress_window=5", "1e-7", "0.3", true, NULL, NULL, NULL},
    {"progress_window", LBFGS "progress_tolerance=0.01", "2", "40", true, NULL, NULL, NULL},
    {"progress_amount",
     "method=rpinn samples=3 optimizer=lm iterations=60 start=normal progress_window=2 acceleration=no", "0",
     "1000", true, NULL, NULL, NULL},
    {"momentum", "method=rpinn samples=3 optimizer=lm iterations=10 start=prior", "no", "yes", true, NULL,
     NULL, NULL},
    {"acceleration", "method=rpinn samples=3 optimizer=lm iterations=10 start=prior", "no", "yes", true, NULL,
     NULL, NULL},
    {"chains", CHAINS, "1", "3", true, "chains/count", "1", "3"},
    {"warmup", CHAINS, "24", "40", true, "chains/warmup", "24", "40"},
    {"metric", CHAINS, "unit", "diagonal", true, "chains/metric", "unit", "diagonal"},
    {"metric", CHAINS, "diagonal", "dense", true, NULL, NULL, NULL},
    {"target_acceptance", CHAINS, "0.8", "0.99", true, NULL, NULL, NULL},
    {"first_step", CHAINS "warmup=0", "1e-2", "3e-2", true, "chains/per_chain/0/step_size", "0.01", "0.03"},
    {"step_adaptation", CHAINS, "1", "0.3", true, NULL, NULL, NULL},
    {"max_depth", CHAINS, "1", "2", true, "chains/max_depth", "1", "2"},
    {"thin", CHAINS, "1", "2", true, NULL, NULL, NULL},
    {"keep_warmup", CHAINS, "no", "yes", false, "warmup group", "absent", "present"},
    {"repulsion", PARTICLES, "divided", "undivided", true, "particles/repulsion", "divided", "undivided"},
    {"kernel", PARTICLES, "parameters", "functions", true, "particles/kernel", "parameters", "functions"},
    {"family", FIT, "mean_field", "low_rank", true, "variational/family", "mean_field", "low_rank"},
    {"family", FIT, "low_rank", "precision", true, NULL, NULL, NULL},
    {"rank", FIT "family=low_rank", "1", "3", true, "variational/rank", "1", "3"},
    {"starts", FIT, "1", "3", false, "variational/starts", "1", "3"},
    {"pairs", FIT, "2", "3", true, NULL, NULL, NULL},
    {"learning_rate", FIT, "0.05", "0.1", true, NULL, NULL, NULL},
    {"seed", FIT "data_seed=3", "3", "4", true, NULL, NULL, NULL},
    {"seed", MEMBERS "data_seed=3", "3", "4", true, "seed", "3", "4"},
    {"seed", CHAINS "data_seed=3", "3", "4", true, NULL, NULL, NULL},
    {"seed", PARTICLES "data_seed=3", "3", "4", true, NULL, NULL, NULL},
    {"data_seed", MEMBERS, "3", "4", true, NULL, NULL, NULL},
    {"noise_seed", MEMBERS, "3", "4", true, NULL, NULL, NULL},
    {"points_seed", NULL, NULL, NULL, false, NULL, NULL, NULL}, /* test_made_truth.c */
    {"truth_seed", NULL, NULL, NULL, false, NULL, NULL, NULL},  /* test_made_truth.c */
    {"prior_shape", MEMBERS "likelihood=noise", "iid", "fan_in", true, NULL, NULL, NULL},
    {"prior_per_field", NULL, NULL, NULL, false, NULL, NULL, NULL}, /* test_prior.c, cli/prior.sh */
    {"prior_integrate", "method=rpinn samples=3 optimizer=lm iterations=40 start=prior prior_scale=loo", "no",
     "yes", true, NULL, NULL, NULL},
    {"scale_fields", MEMBERS, "no", "yes", true, NULL, NULL, NULL},
    {"likelihood", MEMBERS, "noise", "uniform", true, "sigmas/terms/law", "0.2", "0.1"},
    {"prior_scale", MEMBERS, "1.5", "inf", true, "sigmas/prior", "1.5", "inf"},
    {"start", MEMBERS, "glorot", "normal", true, "members/start", "glorot", "normal"},
    {"backend", MEMBERS, "cpu", "plain", false, "backend", "cpu", "plain"},
    {"precision", MEMBERS, "float", "double", true, "precision", "float", "double"},
    {"correct", RANDOMISED, "none", "mh", false, "weights/correction", "none", "mh"},
    {"correct", RANDOMISED "max_depth=5", "none", "nuts", true, "weights/correction", "none", "nuts"},
    {"correct_budget", RANDOMISED "max_depth=5 correct=nuts", "100", "2000", true, "correction/budget", "100",
     "2000"},
    {"correct_scale", RANDOMISED "max_depth=5 correct=nuts correct_budget=100", "0.2", "0.5", true,
     "correction/start_scale", "0.2", "0.5"},
    {"threads", MEMBERS, "1", "2", false, "threads", "1", "2"},
    {"retries", NULL, NULL, NULL, false, NULL, NULL, NULL},     /* test_run_failures.c */
    {"scratch", NULL, NULL, NULL, false, NULL, NULL, NULL},     /* cli/scratch.sh */
    {"time_limit", NULL, NULL, NULL, false, NULL, NULL, NULL}}; /* test_run_sessions.c */
enum { NUM_ROWS = sizeof rows / sizeof rows[0] };

/* What a row looks at, as text. */
static void find_value(const RunBench *bench, const char *name, const char *path, char text[64]) {
  if (!strcmp(path, "warmup group")) {
    HandRun run = hand_open(bench, name);
    int group;
    bool present = nc_inq_grp_full_ncid(run.root, "/warmup_posterior", &group) == NC_NOERR;
    snprintf(text, 64, "%s", present ? "present" : "absent");
    hand_close(&run);
    return;
  }
  const RpinnJsonValue *value = json_at(run_json(bench, name), path);
  if (value->kind == RPINN_JSON_TEXT)
    snprintf(text, 64, "%s", value->text);
  else
    snprintf(text, 64, "%.15g", value->number);
}

static bool same_draws(const RunBench *bench, const char *first, const char *second) {
  HandRun a = hand_open(bench, first), b = hand_open(bench, second);
  size_t count = hand_total(&a) * a.num_weights;
  bool same = hand_total(&a) == hand_total(&b) && !memcmp(a.weights, b.weights, count * sizeof *a.weights);
  hand_close(&a);
  hand_close(&b);
  return same;
}

static void make_row(const RunBench *bench, size_t row, const char *name, const char *value) {
  char text[256];
  snprintf(text, sizeof text, "%s %s=%s", rows[row].common, rows[row].setting, value);
  run_make(bench, name, hand_yaml, text);
}

static void every_setting_has_an_effect(void **state) {
  RunBench *bench = *state;
  bool has_row[RPINN_NUM_SETTINGS] = {false};
  for (size_t row = 0; row < NUM_ROWS; row++) {
    char first[32], second[32], found[64];
    const char *path = rows[row].path;
    RpinnSetting setting = rpinn_setting_find(rows[row].setting);
    check_true(setting < RPINN_NUM_SETTINGS, "no setting '%s'", rows[row].setting);
    has_row[setting] = true;
    if (!rows[row].common) continue; /* a test of its own */
    snprintf(first, sizeof first, "first_%zu", row);
    snprintf(second, sizeof second, "second_%zu", row);
    make_row(bench, row, first, rows[row].first);
    make_row(bench, row, second, rows[row].second);
    if (rows[row].moves_draws)
      check_true(!same_draws(bench, first, second), "%s = %s and %s give the same draws", rows[row].setting,
                 rows[row].first, rows[row].second);
    if (!path) continue;
    find_value(bench, first, path, found);
    check_true(!strcmp(found, rows[row].first_found), "%s = %s: %s is %s", rows[row].setting, rows[row].first,
               path, found);
    find_value(bench, second, path, found);
    check_true(!strcmp(found, rows[row].second_found), "%s = %s: %s is %s", rows[row].setting,
               rows[row].second, path, found);
  }
  for (int k = 0; k < RPINN_NUM_SETTINGS; k++)
    check_true(has_row[k], "setting '%s' has no row in this test",
               rpinn_setting_definition((RpinnSetting)k)->name);
}

/* Backends and threads must not have an effect on the draws beyond rounding. */
static void backends_agree(void **state) {
  RunBench *bench = *state;
  run_make(bench, "cpu", hand_yaml, MEMBERS "backend=cpu threads=1");
  run_make(bench, "plain", hand_yaml, MEMBERS "backend=plain threads=3");
  HandRun cpu = hand_open(bench, "cpu"), plain = hand_open(bench, "plain");
  for (size_t i = 0; i < hand_total(&cpu) * cpu.num_weights; i++)
    check_close(cpu.weights[i], plain.weights[i], 1e-9);
  hand_close(&cpu);
  hand_close(&plain);
}

/* Parameters are kept in the precision of the run. */
static void precision_is_that_of_the_file(void **state) {
  RunBench *bench = *state;
  static const struct {
    const char *name;
    nc_type type;
  } kinds[] = {{"float", NC_FLOAT}, {"double", NC_DOUBLE}};
  for (size_t k = 0; k < 2; k++) {
    char settings[128];
    int group, id;
    nc_type type;
    snprintf(settings, sizeof settings, MEMBERS "precision=%s", kinds[k].name);
    run_make(bench, kinds[k].name, hand_yaml, settings);
    HandRun run = hand_open(bench, kinds[k].name);
    assert_int_equal(nc_inq_grp_full_ncid(run.root, "/posterior", &group), NC_NOERR);
    assert_int_equal(nc_inq_varid(group, "u_parameters", &id), NC_NOERR);
    assert_int_equal(nc_inq_vartype(group, id, &type), NC_NOERR);
    assert_int_equal(type, kinds[k].type);
    hand_close(&run);
  }
}

/* ---- members ---- */

/* Where the members of a run that takes next to no step stand. */
static HandRun begin_with(const RunBench *bench, const char *name, const char *more) {
  char settings[RUN_PATH];
  snprintf(settings, sizeof settings, "optimizer=adam samples=5 iterations=1 learning_rate=1e-12 %s", more);
  run_make(bench, name, hand_yaml, settings);
  return hand_open(bench, name);
}

static HandRun begin_only(const RunBench *bench, const char *name, const char *start, const char *method) {
  char settings[RUN_PATH / 2];
  snprintf(settings, sizeof settings, "method=%s start=%s", method, start);
  return begin_with(bench, name, settings);
}

static double largest_weight(const HandRun *run, size_t draw) {
  double largest = 0;
  for (size_t j = 0; j < run->num_weights; j++)
    largest = fmax(largest, fabs(run->weights[draw * run->num_weights + j]));
  return largest;
}

static void check_start(HandRun *run, size_t draw, const double *expected) {
  double theta[32];
  hand_theta(run, draw, theta);
  for (size_t j = 0; j < run->num_weights + 2; j++) check_close(theta[j], expected[j], 1e-9);
}

static void starts_are_what_they_say(void **state) {
  RunBench *bench = *state;
  double expected[32], offsets[64];
  HandRun zero = begin_only(bench, "zero", "zero", "ensemble");
  for (size_t i = 0; i < 5; i++) assert_true(largest_weight(&zero, i) < 1e-9);
  hand_close(&zero);
  HandRun mixed = begin_only(bench, "mixed", "zero_then_normal", "ensemble");
  assert_true(largest_weight(&mixed, 0) < 1e-9);
  for (size_t i = 1; i < 5; i++) {
    assert_true(largest_weight(&mixed, i) > 0.5);
    rpinn_posterior_start_normal(mixed.problem.posterior, i, expected);
    check_start(&mixed, i, expected);
  }
  hand_close(&mixed);
  HandRun glorot = begin_only(bench, "glorot", "glorot", "ensemble");
  for (size_t i = 0; i < 5; i++) {
    rpinn_posterior_start_glorot(glorot.problem.posterior, i, expected);
    check_start(&glorot, i, expected);
    check_same(glorot.k[i], 1.2, 1e-9, "start of k");
    check_same(glorot.shift[i], 0.2, 1e-9, "start of shift");
  }
  hand_close(&glorot);
  HandRun prior = begin_only(bench, "prior", "prior", "rpinn");
  for (size_t i = 0; i < 5; i++) {
    rpinn_posterior_draw_offsets(prior.problem.posterior, i, offsets);
    rpinn_posterior_start_prior(prior.problem.posterior, offsets, expected);
    check_start(&prior, i, expected);
  }
  hand_close(&prior);
  HandRun drawn = begin_only(bench, "drawn", "prior", "ensemble"); /* from the same prior, without offsets */
  for (size_t i = 0; i < 5; i++) {
    rpinn_posterior_draw_offsets(drawn.problem.posterior, i, offsets);
    rpinn_posterior_start_prior(drawn.problem.posterior, offsets, expected);
    check_start(&drawn, i, expected);
  }
  hand_close(&drawn);
}

/* Without a prior on the networks a draw from it is Glorot's for them. */
static void starts_without_a_prior(void **state) {
  RunBench *bench = *state;
  double expected[32], offsets[64];
  HandRun run = begin_with(bench, "loose", "start=prior method=ensemble prior_scale=inf");
  for (size_t i = 0; i < 5; i++) {
    rpinn_posterior_draw_offsets(run.problem.posterior, i, offsets);
    rpinn_posterior_start_glorot(run.problem.posterior, i, expected);
    rpinn_posterior_start_prior(run.problem.posterior, offsets, expected);
    check_start(&run, i, expected);
    assert_true(largest_weight(&run, i) > 0.1);
  }
  hand_close(&run);
}

/* At the MAP estimate, and where the members of an earlier run ended. */
static void starts_from_other_runs(void **state) {
  RunBench *bench = *state;
  double expected[32];
  run_make(bench, "map", hand_yaml, "method=map optimizer=lbfgs iterations=300 start=glorot");
  run_make(bench, "from_map", hand_yaml,
           "method=nuts chains=2 samples=1 warmup=0 first_step=1e-12 start=map "
           "optimizer=lbfgs iterations=300 max_depth=1");
  HandRun map = hand_open(bench, "map"), from_map = hand_open(bench, "from_map");
  hand_theta(&map, 0, expected);
  for (size_t i = 0; i < 2; i++) check_start(&from_map, i, expected);
  hand_close(&map);
  hand_close(&from_map);
  run_make(bench, "earlier", hand_yaml, MEMBERS);
  HandRun earlier = hand_open(bench, "earlier"),
          later = begin_only(bench, "later", run_path(bench, "earlier", NULL), "ensemble");
  for (size_t i = 0; i < 5; i++) { /* three members serve five in turn */
    hand_theta(&earlier, i % 3, expected);
    check_start(&later, i, expected);
  }
  hand_close(&earlier);
  hand_close(&later);
}

/* Each chain at the rPINN member of its number. */
static void chains_start_at_members(void **state) {
  RunBench *bench = *state;
  double expected[32];
  run_make(bench, "members", hand_yaml, "method=rpinn samples=3 optimizer=lm iterations=300 start=prior");
  run_make(bench, "chains", hand_yaml,
           "method=nuts chains=3 samples=1 warmup=0 first_step=1e-12 start=member "
           "optimizer=lm iterations=300 max_depth=1");
  HandRun members = hand_open(bench, "members"), chains = hand_open(bench, "chains");
  for (size_t i = 0; i < 3; i++) {
    hand_theta(&members, i, expected);
    check_start(&chains, i, expected);
  }
  assert_true(fabs(members.k[0] - members.k[1]) > 1e-3); /* they begin apart */
  hand_close(&members);
  hand_close(&chains);
}

/* k is 1 or -1 to the data, and 1 is nearer to its prior. */
static const char two_minima[] =
    "name: square\n"
    "coordinates: {x: [0, 1]}\n"
    "fields: {u: {network: [2]}}\n"
    "unknowns: {k: {start: -0.5, prior: {mean: 0.2, std: 0.5}}}\n"
    "terms:\n"
    "  level: {expect: u, at: {grid: 3}, data: 0.3, noise: 0.1}\n"
    "  square: {expect: k^2, at: {grid: 3}, data: 1, noise: 0.1}\n"
    "predict: {grid: 3, quantities: [u]}\n"
    "settings: {likelihood: noise, prior_scale: 1, scale_fields: no, precision: double}\n";

/* The lowest of several minima is found whatever the seed, and single searches from the same prior end in both. */
static void the_most_probable_point_is_the_lowest_minimum(void **state) {
  RunBench *bench = *state;
  for (int seed = 0; seed < 6; seed++) {
    char name[16], settings[128];
    snprintf(name, sizeof name, "map%d", seed);
    snprintf(settings, sizeof settings, "method=map optimizer=lm iterations=300 start=prior seed=%d", seed);
    check_same(json_number(run_make(bench, name, two_minima, settings), "unknowns/k/mean"), 0.99733, 1e-4,
               "600 k (k^2 - 1) + 4 (k - 0.2) = 0");
  }
  const RpinnJsonValue *both = run_make(
      bench, "both", two_minima, "method=ensemble optimizer=lm iterations=300 start=prior samples=12 seed=0");
  check_true(json_number(both, "unknowns/k/std") > 0.5, "all 12 searches ended at one k");
}

/* From the most probable point members keep to its minimum, also where no member would get there by itself: member 0's Glorot
 * start, where other optimisers seek that point from, is at k = -0.5. From draws of the prior they end in both. */
static void members_keep_to_the_most_probable_minimum(void **state) {
  RunBench *bench = *state;
  const char *settings[] = {"start=map", "start=map prior_scale=loo",
                            "start=map prior_scale=loo optimizer=lbfgs"};
  for (size_t i = 0; i < 3; i++) {
    char name[16], all[160];
    snprintf(name, sizeof name, "one%zu", i);
    snprintf(all, sizeof all, "method=rpinn samples=16 iterations=300 optimizer=lm %s", settings[i]);
    const RpinnJsonValue *summary = run_make(bench, name, two_minima, all);
    check_same(json_number(summary, "unknowns/k/mean"), 1, 0.05, "mean of k");
    check_true(json_number(summary, "unknowns/k/std") < 0.1,
               "members left the mode of the most probable point");
  }
  const RpinnJsonValue *other = run_make(bench, "other", two_minima,
                                         "method=rpinn samples=16 iterations=300 start=map optimizer=lbfgs");
  check_same(json_number(other, "unknowns/k/mean"), -1, 0.1, "a search from k = -0.5");
  const RpinnJsonValue *drawn =
      run_make(bench, "drawn", two_minima, "method=rpinn samples=16 iterations=300 start=prior optimizer=lm");
  check_true(json_number(drawn, "unknowns/k/std") > 0.5,
             "members from draws of the prior are all in one mode");
}

/* How far Adam has moved each parameter: its steps are learning_rate * decay_rate^(t / decay_steps) while the gradient
 * keeps its sign, and the first few do. */
static double longest_way(const RunBench *bench, const char *name, const char *settings) {
  double start[32], theta[32], longest = 0;
  run_make(bench, name, hand_yaml, settings);
  HandRun run = hand_open(bench, name);
  rpinn_posterior_start_glorot(run.problem.posterior, 0, start);
  hand_theta(&run, 0, theta);
  for (size_t j = 0; j < run.num_weights + 2; j++) longest = fmax(longest, fabs(theta[j] - start[j]));
  hand_close(&run);
  return longest;
}

static void adam_takes_the_steps_that_are_asked_for(void **state) {
  RunBench *bench = *state;
  check_same(longest_way(bench, "one", "method=ensemble samples=1 iterations=1 learning_rate=3e-4"), 3e-4,
             1e-3, "one step");
  check_same(
      longest_way(bench, "four", "method=ensemble samples=1 iterations=4 learning_rate=3e-4 decay_rate=1"),
      4 * 3e-4, 0.02, "four equal steps");
  check_same(longest_way(bench, "decaying",
                         "method=ensemble samples=1 iterations=4 learning_rate=3e-4 decay_rate=0.25 "
                         "decay_steps=2"),
             3e-4 * (1 + 0.5 + 0.25 + 0.125), 0.02, "four steps, each half of the one before");
}

/* Below the tolerance the gradient has to be, and not far below it. */
static void tolerances_end_members(void **state) {
  RunBench *bench = *state;
  const RpinnJsonValue *loose = run_make(bench, "loose", hand_yaml, LBFGS "gradient_tolerance=0.5"),
                       *tight = run_make(bench, "tight", hand_yaml, LBFGS "gradient_tolerance=1e-4");
  check_same(json_number(loose, "members/stops/gradient_small"), 3, 0, "stops/gradient_small");
  check_same(json_number(tight, "members/stops/gradient_small"), 3, 0, "stops/gradient_small");
  double norm = json_number(loose, "members/gradient_norm_median");
  check_true(norm < 0.5 && norm > 1e-2, "gradient norm %g", norm);
  assert_true(json_number(tight, "members/gradient_norm_median") < 1e-4);
  assert_true(json_number(tight, "members/iterations") > 1.5 * json_number(loose, "members/iterations"));
  /* A window of ten iterations in which the loss fell by less than a half: never at once, soon after. */
  const RpinnJsonValue *slow =
      run_make(bench, "slow", hand_yaml, LBFGS "progress_tolerance=0.5 progress_window=10");
  check_same(json_number(slow, "members/stops/no_progress"), 3, 0, "stops/no_progress");
  double iterations = json_number(slow, "members/iterations");
  check_true(iterations >= 10 && iterations < 200, "%g iterations", iterations);
  /* Adam never stops by itself unless it is told to. */
  const RpinnJsonValue *adam =
      run_make(bench, "adam", hand_yaml,
               "method=ensemble samples=2 iterations=3000 learning_rate=0.05 gradient_tolerance=1");
  check_same(json_number(adam, "members/stops/gradient_small"), 2, 0, "stops/gradient_small");
}

/* ---- chains ---- */

/* Every third draw of the same chain. */
static void thinned_chains_keep_every_third_draw(void **state) {
  RunBench *bench = *state;
  run_make(bench, "all", hand_yaml, "method=nuts chains=2 samples=24 warmup=20 max_depth=4");
  run_make(bench, "third", hand_yaml, "method=nuts chains=2 samples=8 warmup=20 max_depth=4 thin=3");
  HandRun all = hand_open(bench, "all"), third = hand_open(bench, "third");
  assert_int_equal(third.num_draws, 8);
  for (size_t c = 0; c < 2; c++)
    for (size_t i = 0; i < 8; i++) {
      check_same(third.k[c * 8 + i], all.k[c * 24 + 3 * i + 2], 0, "k of a thinned draw");
      check_same(third.shift[c * 8 + i], all.shift[c * 24 + 3 * i + 2], 0, "shift of a thinned draw");
    }
  hand_close(&all);
  hand_close(&third);
}

/* The step becomes shorter until the acceptance is what was asked for: in the mean of chains, which differ. */
static void acceptance_is_what_is_asked_for(void **state) {
  enum { NUM_CHAINS = 8 };
  RunBench *bench = *state;
  double acceptance[2] = {0}, step[2] = {0};
  static const char *const targets[] = {"0.6", "0.99"};
  for (size_t k = 0; k < 2; k++) {
    char text[160];
    snprintf(text, sizeof text,
             "method=nuts chains=%d samples=80 warmup=200 max_depth=6 target_acceptance=%s", NUM_CHAINS,
             targets[k]);
    const RpinnJsonValue *summary = run_make(bench, targets[k], hand_yaml, text);
    for (int c = 0; c < NUM_CHAINS; c++) {
      snprintf(text, sizeof text, "chains/per_chain/%d/acceptance", c);
      acceptance[k] += json_number(summary, text) / NUM_CHAINS;
      snprintf(text, sizeof text, "chains/per_chain/%d/step_size", c);
      step[k] += json_number(summary, text) / NUM_CHAINS;
    }
  }
  check_true(acceptance[0] < 0.85 && acceptance[1] > 0.95, "acceptance %g and %g", acceptance[0],
             acceptance[1]);
  check_true(step[1] < 0.8 * step[0], "steps %g and %g", step[0], step[1]);
}

/* After its share of the warmup the step changes no more, but once for the metric that the last window ends with; the
 * depth never exceeds its limit. */
static void warmup_ends_when_it_is_told_to(void **state) {
  RunBench *bench = *state;
  enum { WARMUP = 40 };
  run_make(bench, "run", hand_yaml,
           "method=nuts chains=1 samples=10 warmup=40 step_adaptation=0.5 max_depth=2 keep_warmup=yes");
  HandRun run = hand_open(bench, "run");
  const double *step = hand_numbers(&run, "warmup_sample_stats/step_size", WARMUP),
               *depth = hand_numbers(&run, "sample_stats/tree_depth", 10),
               *after = hand_numbers(&run, "sample_stats/step_size", 10);
  size_t early = 0, late = 0;
  double deepest = 0;
  for (size_t i = 1; i < WARMUP; i++) {
    early += i <= WARMUP / 2 && step[i] != step[i - 1];
    late += i > WARMUP / 2 + 1 && step[i] != step[i - 1];
  }
  for (size_t i = 0; i < 10; i++) {
    check_same(after[i], step[WARMUP - 1], 0, "step size of a draw");
    deepest = fmax(deepest, depth[i]);
  }
  check_true(early > WARMUP / 4 && late <= 1, "the step changes %zu times, then %zu times", early, late);
  check_same(deepest, 2, 0, "deepest tree");
  hand_close(&run);
}

/* ---- weights ---- */

/* The Metropolis step moves on with its acceptance, and repeats a member where it stays; without it every member is a
 * draw once. */
static void correction_repeats_members(void **state) {
  RunBench *bench = *state;
  enum { COUNT = 12 };
  run_make(bench, "none", hand_yaml, RANDOMISED "samples=12");
  run_make(bench, "mh", hand_yaml, RANDOMISED "samples=12 correct=mh");
  HandRun none = hand_open(bench, "none"), corrected = hand_open(bench, "mh");
  const double *before = hand_numbers(&none, "sample_stats/member", COUNT),
               *after = hand_numbers(&corrected, "sample_stats/member", COUNT);
  size_t distinct = 1;
  for (size_t i = 0; i < COUNT; i++) {
    check_same(before[i], (double)i, 0, "member without correction");
    assert_true(after[i] <= (double)i && (i == 0 || after[i] >= after[i - 1]));
    if (i) distinct += after[i] != after[i - 1];
    check_same(corrected.k[i], none.k[(size_t)after[i]], 0, "k of a repeated member");
  }
  check_true(distinct < COUNT, "the correction moved at every step");
  check_same(json_number(corrected.summary, "weights/acceptance"), (double)(distinct - 1) / (COUNT - 1),
             1e-12, "acceptance");
  assert_true(isnan(json_number(none.summary, "weights/acceptance")));
  assert_true(json_flag(corrected.summary, "weights/correction_asked"));
  assert_true(!json_flag(none.summary, "weights/correction_asked"));
  assert_true(json_flag(none.summary, "weights/apply") && json_flag(corrected.summary, "weights/apply"));
  /* The moments of the run are those of the corrected draws. */
  check_same(json_number(corrected.summary, "unknowns/k/mean"), hand_mean(COUNT, corrected.k), 1e-12, "mean");
  double effective = json_number(none.summary, "weights/effective_size");
  check_true(effective > 1 && effective < COUNT, "effective size %g", effective);
  hand_close(&none);
  hand_close(&corrected);
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(every_setting_has_an_effect),
                                     test_in_folder(backends_agree),
                                     test_in_folder(precision_is_that_of_the_file),
                                     test_in_folder(starts_are_what_they_say),
                                     test_in_folder(starts_without_a_prior),
                                     test_in_folder(starts_from_other_runs),
                                     test_in_folder(chains_start_at_members),
                                     test_in_folder(the_most_probable_point_is_the_lowest_minimum),
                                     test_in_folder(members_keep_to_the_most_probable_minimum),
                                     test_in_folder(adam_takes_the_steps_that_are_asked_for),
                                     test_in_folder(tolerances_end_members),
                                     test_in_folder(thinned_chains_keep_every_third_draw),
                                     test_in_folder(acceptance_is_what_is_asked_for),
                                     test_in_folder(warmup_ends_when_it_is_told_to),
                                     test_in_folder(correction_repeats_members)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
