/* What reaches the user of chains, by value: posterior.nc, summary.json and diagnostics.csv of NUTS against numbers made
 * by hand from the draws, and the figures of convergence against those of the draws one scalar at a time. */
#include "hand_files.h"

#include "rpinn/convergence.h"

enum { NUM_CHAINS = 3, NUM_DRAWS = 40, NUM_WARMUP = 60, MAX_DEPTH = 5, TOTAL = NUM_CHAINS * NUM_DRAWS };
static const char settings[] = "method=nuts chains=3 samples=40 warmup=60 max_depth=5 keep_warmup=yes";

static double energy_of(const HandRun *run, const double *theta) {
  double energy;
  bench_require(
      &run->problem,
      rpinn_posterior_energy(run->problem.context, run->problem.posterior, theta, NULL, &energy, NULL, NULL),
      "energy");
  return energy;
}

/* ---- sample_stats ---- */

static void check_statistics(const HandRun *run) {
  const double *member = hand_numbers(run, "sample_stats/member", TOTAL),
               *lp = hand_numbers(run, "sample_stats/lp", TOTAL),
               *energy = hand_numbers(run, "sample_stats/energy", TOTAL),
               *error = hand_numbers(run, "sample_stats/energy_error", TOTAL),
               *largest = hand_numbers(run, "sample_stats/max_energy_error", TOTAL),
               *acceptance = hand_numbers(run, "sample_stats/acceptance_rate", TOTAL),
               *depth = hand_numbers(run, "sample_stats/tree_depth", TOTAL),
               *steps = hand_numbers(run, "sample_stats/n_steps", TOTAL),
               *diverging = hand_numbers(run, "sample_stats/diverging", TOTAL),
               *reached = hand_numbers(run, "sample_stats/reached_max_treedepth", TOTAL);
  for (size_t i = 0; i < TOTAL; i++) {
    check_same(member[i], (double)(i % NUM_DRAWS), 0, "member");
    double by_hand = hand_check_likelihood(run, "level", 6, i) + hand_check_likelihood(run, "law", 5, i) +
                     hand_prior_energy(run, i);
    check_same(lp[i], -by_hand, 1e-9, "lp");
    assert_true(energy[i] > -lp[i]); /* by the kinetic energy */
    assert_true(fabs(error[i]) <= fabs(largest[i]));
    assert_true(acceptance[i] > 0 && acceptance[i] <= 1);
    assert_true(depth[i] >= 0 && depth[i] <= MAX_DEPTH);
    assert_true(steps[i] >= exp2(depth[i]) - 1 && steps[i] <= exp2(depth[i] + 1) - 1);
    if (reached[i] != 0)
      assert_true(depth[i] == MAX_DEPTH && steps[i] == exp2(MAX_DEPTH) - 1 && diverging[i] == 0);
    /* Transitions that neither stopped for a turn nor diverged went to the largest depth. */
    if (diverging[i] != 0) assert_true(largest[i] > 0);
  }
}

/* The warmup has groups of its own, with the same statistics. */
static void check_warmup(const HandRun *run) {
  enum { COUNT = NUM_CHAINS * NUM_WARMUP };
  const double *weights = hand_numbers(run, "warmup_posterior/u_parameters", COUNT * run->num_weights),
               *k = hand_numbers(run, "warmup_posterior/k", COUNT),
               *shift = hand_numbers(run, "warmup_posterior/shift", COUNT),
               *lp = hand_numbers(run, "warmup_sample_stats/lp", COUNT),
               *member = hand_numbers(run, "warmup_sample_stats/member", COUNT),
               *step = hand_numbers(run, "warmup_sample_stats/step_size", COUNT);
  bool changes = false;
  for (size_t i = 0; i < COUNT; i++) {
    double theta[32];
    memcpy(theta, weights + i * run->num_weights, run->num_weights * sizeof *theta);
    theta[run->num_weights] = log(k[i]);
    theta[run->num_weights + 1] = shift[i];
    check_same(lp[i], -energy_of(run, theta), 1e-9, "lp of the warmup");
    check_same(member[i], (double)(i % NUM_WARMUP), 0, "member of the warmup");
    changes |= i > 0 && step[i] != step[i - 1];
  }
  assert_true(changes);
}

/* ---- summary.json ---- */

static void check_per_chain(const HandRun *run) {
  const double *step = hand_numbers(run, "sample_stats/step_size", TOTAL),
               *steps = hand_numbers(run, "sample_stats/n_steps", TOTAL),
               *acceptance = hand_numbers(run, "sample_stats/acceptance_rate", TOTAL),
               *energy = hand_numbers(run, "sample_stats/energy", TOTAL),
               *diverging = hand_numbers(run, "sample_stats/diverging", TOTAL),
               *reached = hand_numbers(run, "sample_stats/reached_max_treedepth", TOTAL);
  double all_divergences = 0, all_saturations = 0, lowest = HUGE_VAL;
  for (size_t c = 0; c < NUM_CHAINS; c++) {
    char path[64];
    size_t first = c * NUM_DRAWS;
    double leapfrogs = 0, divergences = 0, saturations = 0, changes = 0;
    for (size_t i = first; i < first + NUM_DRAWS; i++) {
      leapfrogs += steps[i];
      divergences += diverging[i];
      saturations += reached[i];
      if (i > first) changes += (energy[i] - energy[i - 1]) * (energy[i] - energy[i - 1]);
      check_same(step[i], step[first], 0, "step size after the warmup");
    }
    double spread = hand_deviation(NUM_DRAWS, energy + first),
           fraction = changes / (spread * spread * (NUM_DRAWS - 1));
    snprintf(path, sizeof path, "chains/per_chain/%zu", c);
    const RpinnJsonValue *chain = json_at(run->summary, path);
    check_same(json_number(chain, "leapfrogs"), leapfrogs, 0, "leapfrogs");
    check_same(json_number(chain, "divergences"), divergences, 0, "divergences");
    check_same(json_number(chain, "saturations"), saturations, 0, "saturations");
    check_same(json_number(chain, "acceptance"), hand_mean(NUM_DRAWS, acceptance + first), 1e-12,
               "acceptance");
    check_same(json_number(chain, "step_size"), step[first], 0, "step_size");
    check_same(json_number(chain, "ebfmi"), fraction, 1e-9, "ebfmi");
    hand_check_quantities(run, json_at(chain, "quantities"), first, NUM_DRAWS, true);
    all_divergences += divergences;
    all_saturations += saturations;
    lowest = fmin(lowest, fraction);
  }
  check_true(all_saturations > 0 && all_saturations < TOTAL, "%g draws of the largest depth",
             all_saturations);
  check_same(json_number(run->summary, "chains/divergences"), all_divergences, 0, "divergences");
  check_same(json_number(run->summary, "chains/min_ebfmi"), lowest, 1e-9, "min_ebfmi");
  check_same(json_number(run->summary, "chains/count"), NUM_CHAINS, 0, "count");
  check_same(json_number(run->summary, "chains/draws"), NUM_DRAWS, 0, "draws");
  check_same(json_number(run->summary, "chains/warmup"), NUM_WARMUP, 0, "warmup");
  check_same(json_number(run->summary, "chains/max_depth"), MAX_DEPTH, 0, "max_depth");
  assert_string_equal(json_text(run->summary, "chains/metric"), "diagonal");
  assert_true(isnan(json_number(run->summary, "members/converged")));
}

/* ---- convergence ---- */

/* The worst of scalars, as the summary tells it. */
typedef struct Worst {
  double count, unmixed, max_rhat, max_rhat_paper, min_ess_bulk, min_ess_tail;
} Worst;

static void note_worst(Worst *worst, const RpinnConvergence *convergence) {
  worst->count++;
  worst->unmixed += convergence->rhat > 1.01;
  worst->max_rhat = fmax(worst->max_rhat, convergence->rhat);
  worst->max_rhat_paper = fmax(worst->max_rhat_paper, convergence->rhat_paper);
  worst->min_ess_bulk = fmin(worst->min_ess_bulk, convergence->ess_bulk);
  worst->min_ess_tail = fmin(worst->min_ess_tail, convergence->ess_tail);
}

static void check_worst(const HandRun *run, const char *path, const Worst *worst) {
  const RpinnJsonValue *found = json_at(run->summary, path);
  check_same(json_number(found, "count"), worst->count, 0, path);
  check_same(json_number(found, "unmixed"), worst->unmixed, 0, path);
  check_same(json_number(found, "max_rhat"), worst->max_rhat, 1e-8, path);
  check_same(json_number(found, "max_rhat_paper"), worst->max_rhat_paper, 1e-8, path);
  check_same(json_number(found, "min_ess_bulk"), worst->min_ess_bulk, 1e-8, path);
  check_same(json_number(found, "min_ess_tail"), worst->min_ess_tail, 1e-8, path);
}

static const Worst no_worst = {
    .max_rhat = -HUGE_VAL, .max_rhat_paper = -HUGE_VAL, .min_ess_bulk = HUGE_VAL, .min_ess_tail = HUGE_VAL};

/* A line of diagnostics.csv; of parameters only the four figures that are made for them. */
static void check_line(const RpinnCsvTable *table, size_t row, const char *group, const char *name,
                       size_t index, const RpinnConvergence *expected) {
  const struct {
    const char *column;
    double value;
  } cells[] = {{"mean", expected->mean},
               {"mcse", expected->mcse_mean},
               {"sd", expected->sd},
               {"mcse_sd", expected->mcse_sd},
               {"q5", expected->q5},
               {"median", expected->median},
               {"q95", expected->q95},
               {"ess_bulk", expected->ess_bulk},
               {"ess_tail", expected->ess_tail},
               {"rhat", expected->rhat},
               {"rhat_paper", expected->rhat_paper}};
  assert_string_equal(csv_text(table, row, "group"), group);
  assert_string_equal(csv_text(table, row, "name"), name);
  check_same(csv_number(table, row, "index"), (double)index, 0, "index");
  bool is_parameter = !strcmp(group, "parameter");
  for (size_t k = 0; k < 11; k++) {
    double value = is_parameter && k < 7 ? (double)NAN : cells[k].value;
    check_same(csv_number(table, row, cells[k].column), value, 1e-8, cells[k].column);
  }
}

/* The three figures of posterior.nc for scalar `index` of a name. */
static void check_diagnostics(const HandRun *run, const char *name, size_t index, size_t count,
                              const RpinnConvergence *expected) {
  char path[96];
  snprintf(path, sizeof path, "constant_data/diagnostics/%s_rhat", name);
  check_same(hand_numbers(run, path, count)[index], expected->rhat, 1e-8, path);
  snprintf(path, sizeof path, "constant_data/diagnostics/%s_ess_bulk", name);
  check_same(hand_numbers(run, path, count)[index], expected->ess_bulk, 1e-8, path);
  snprintf(path, sizeof path, "constant_data/diagnostics/%s_ess_tail", name);
  check_same(hand_numbers(run, path, count)[index], expected->ess_tail, 1e-8, path);
}

static void check_convergence(const HandRun *run) {
  const RpinnCsvTable *table = run_csv(run->bench, run->name, "diagnostics.csv");
  RpinnConvergenceWork *work = rpinn_convergence_work_create(NUM_CHAINS, NUM_DRAWS);
  static const char *const quantities[] = {"u", "flux"}, *const unknowns[] = {"k", "shift"};
  Worst all = no_worst, parameters = no_worst;
  size_t row = 0;
  for (size_t q = 0; q < 2; q++) {
    Worst worst = no_worst;
    char path[64];
    for (size_t p = 0; p < HAND_POINTS; p++) {
      RpinnConvergence own =
          rpinn_convergence(work, hand_draws(run, quantities[q], 1, &hand_predict[p], 0, TOTAL));
      assert_true(own.ess_bulk != own.ess_tail);
      check_line(table, row++, "quantity", quantities[q], p, &own);
      check_diagnostics(run, quantities[q], p, HAND_POINTS, &own);
      note_worst(&worst, &own);
      note_worst(&all, &own);
    }
    snprintf(path, sizeof path, "chains/quantities/%s", quantities[q]);
    check_worst(run, path, &worst);
  }
  for (size_t p = 0; p < HAND_TESTS; p++) {
    RpinnConvergence own = rpinn_convergence(work, hand_draws(run, "later", 1, &hand_later[p], 0, TOTAL));
    check_line(table, row++, "test", "later", p, &own);
    note_worst(&all, &own);
  }
  for (size_t k = 0; k < 2; k++) {
    RpinnConvergence own = rpinn_convergence(work, k ? run->shift : run->k);
    check_line(table, row++, "unknown", unknowns[k], 0, &own);
    note_worst(&all, &own);
    double theta[TOTAL]; /* the parameter behind it, before its transform */
    for (size_t i = 0; i < TOTAL; i++) theta[i] = k ? run->shift[i] : log(run->k[i]);
    RpinnConvergence free = rpinn_convergence_brief(work, theta);
    check_diagnostics(run, unknowns[k], 0, 1, &free);
    note_worst(&parameters, &free);
    note_worst(&all, &free);
  }
  for (size_t j = 0; j < run->num_weights; j++) {
    double draws[TOTAL];
    for (size_t i = 0; i < TOTAL; i++) draws[i] = run->weights[i * run->num_weights + j];
    RpinnConvergence own = rpinn_convergence_brief(work, draws);
    check_line(table, row++, "parameter", "u", j, &own);
    check_diagnostics(run, "u_parameters", j, run->num_weights, &own);
    note_worst(&parameters, &own);
    note_worst(&all, &own);
  }
  assert_int_equal(row, table->num_rows);
  check_worst(run, "chains/parameters", &parameters);
  check_same(json_number(run->summary, "chains/max_rhat"), all.max_rhat, 1e-8, "max_rhat");
  check_same(json_number(run->summary, "chains/min_ess_bulk"), all.min_ess_bulk, 1e-8, "min_ess_bulk");
  check_same(json_number(run->summary, "chains/min_ess_tail"), all.min_ess_tail, 1e-8, "min_ess_tail");
  rpinn_convergence_work_destroy(work);
}

static void files_of_chains(void **state) {
  RunBench *bench = *state;
  run_make(bench, "run", hand_yaml, settings);
  HandRun run = hand_open(bench, "run");
  assert_int_equal(run.num_chains, NUM_CHAINS);
  assert_int_equal(run.num_draws, NUM_DRAWS);
  hand_check_files(&run, "nuts", TOTAL);
  check_statistics(&run);
  check_warmup(&run);
  check_per_chain(&run);
  check_convergence(&run);
  hand_close(&run);
}

/* ---- divergences ---- */

static void keep_report(void *user, const RpinnProgress *progress) {
  *(RpinnProgress *)user = *progress;
}

/* A step far too long for the posterior diverges in the warmup and after it; what is reported counts the draws alone. */
static void divergences_are_those_of_draws(void **state) {
  RunBench *bench = *state;
  RpinnRun *made;
  RpinnProgress last;
  RpinnRunOptions options = {.progress = keep_report, .user = &last};
  run_require(bench, run_try(bench, "run", hand_yaml,
                             "method=nuts chains=2 samples=30 warmup=25 first_step=2 step_adaptation=0.2 "
                             "target_acceptance=0.01 metric=unit keep_warmup=yes",
                             options, &made));
  rpinn_run_destroy(made);
  HandRun run = hand_open(bench, "run");
  double after = 0, before = 0;
  const double *diverging = hand_numbers(&run, "sample_stats/diverging", 60),
               *warmup = hand_numbers(&run, "warmup_sample_stats/diverging", 50);
  for (size_t i = 0; i < 60; i++) after += diverging[i];
  for (size_t i = 0; i < 50; i++) before += warmup[i];
  check_true(after > 0 && before > 0, "%g divergences after the warmup, %g in it", after, before);
  check_same(json_number(run.summary, "chains/divergences"), after, 0, "divergences");
  assert_true(last.last);
  assert_string_equal(last.unit, "iterations");
  assert_int_equal(last.divergences, after);
  assert_int_equal(last.done, 2 * 55);
  assert_int_equal(last.total, 2 * 55);
  hand_close(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(files_of_chains),
                                     test_in_folder(divergences_are_those_of_draws)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
