#include "predictive_bands.h"

#include <math.h>
#include <stdlib.h>

#include "normal_table.h"
#include "rank_interval.h"
#include "run_record.h"
#include "task_pool.h"

enum {
  MOST_TERMS = 40000000 /* of all sums together, in one iteration */,
  FEWEST_DRAWS = 100,
  MAX_STEPS = 60
};

/* A measured term: not an equation that is to hold exactly, and not a prior. */
static bool measures(const RpinnRun *run, size_t t, size_t quantity) {
  const RpinnTerm *term = &run->problem->terms[t];
  const RpinnTermData *data = &run->posteriors[0]->data->terms[t];
  return !term->is_test && rpinn_term_data_is_measured(term, data) && !data->missing &&
         term->expect.expression == run->problem->predicted[quantity].expression &&
         (term->unknown_noise.present || data->typical_noise > 0);
}

size_t rpinn_run_measuring_term(const RpinnRun *run, size_t quantity) {
  size_t count = run->problem->num_terms;
  if (rpinn_settings_choice(&run->problem->settings, RPINN_SETTING_LIKELIHOOD) != RPINN_LIKELIHOOD_NOISE)
    return count;
  for (size_t t = 0; t < count; t++)
    if (measures(run, t, quantity)) return t;
  return count;
}

/* Known noise of a measurement at point p of the predictions; NaN where its expression says none. */
static RpinnStatus known_noise(RpinnContext *context, const RpinnRun *run, size_t t, size_t p,
                               double *noise) {
  const RpinnProblem *problem = run->posteriors[0]->problem;
  const RpinnDataSet *data = run->posteriors[0]->data;
  const RpinnTerm *term = &problem->terms[t];
  *noise = data->terms[t].typical_noise;
  if (!term->row_noise.text || data->terms[t].noise_from_file) return RPINN_OK;
  RpinnExpressionInputs inputs = {.coordinates = data->predict.x + p * problem->num_coordinates};
  if (rpinn_expression_evaluate(problem->pool, term->row_noise.expression, &inputs, noise) != RPINN_OK)
    return rpinn_fail_memory(context);
  if (!(*noise > 0 && isfinite(*noise))) *noise = (double)NAN;
  return RPINN_OK;
}

/* ---- quantiles of the mixture ---- */

/* What a thread works with. */
typedef struct Mixture {
  const RpinnContext *context; /* of the thread that called */
  const RpinnRun *run;
  const RpinnNormalTable *table;
  size_t num_draws, every;      /* of the kept draws */
  double *centres, *precisions; /* [num_draws] c, 1 / s */
} Mixture;

/* noise_at: where a draw has its noise; SIZE_MAX: it is known. */
static void fill(const Mixture *mixture, size_t value, size_t noise_at, double noise) {
  for (size_t k = 0; k < mixture->num_draws; k++) {
    const double *draw = rpinn_kept_draws_get(mixture->run->results.kept, k * mixture->every);
    mixture->centres[k] = draw[value];
    mixture->precisions[k] = 1 / (noise_at == SIZE_MAX ? noise : draw[noise_at]);
  }
}

/* Where the mixture lies; false where it is none. */
typedef struct Spread {
  double low, high; /* all of it, but for 1e-19 */
  double mean, deviation;
} Spread;

static bool find_spread(const Mixture *mixture, Spread *spread) {
  double low = (double)INFINITY, high = -(double)INFINITY, sum = 0, squares = 0;
  double count = (double)mixture->num_draws;
  for (size_t k = 0; k < mixture->num_draws; k++) {
    double c = mixture->centres[k], s = 1 / mixture->precisions[k];
    if (!isfinite(c) || !(s > 0)) return false;
    low = fmin(low, c - 9 * s);
    high = fmax(high, c + 9 * s);
    sum += c;
    squares += c * c + s * s;
  }
  double mean = sum / count;
  *spread = (Spread){low, high, mean, sqrt(fmax(0, squares / count - mean * mean))};
  return true;
}

/* Newton's method within a bracket that every step narrows. */
static double quantile(const Mixture *mixture, const Spread *spread, double probability) {
  double low = spread->low, high = spread->high;
  double y = spread->mean + (probability < 0.5 ? -1.96 : 1.96) * spread->deviation;
  double tolerance = 1e-6 * (high - low); /* the step after such a one would be of the order of its square */
  for (int step = 0; step < MAX_STEPS; step++) {
    double slope, share = rpinn_normal_table_mixture(mixture->table, mixture->num_draws, mixture->centres,
                                                     mixture->precisions, y, &slope);
    double excess = share - probability;
    *(excess < 0 ? &low : &high) = y;
    double next = y - excess / slope;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (fabs(next - y) <= tolerance) return next;
    y = next;
  }
  return y;
}

/* ---- the bands, on all threads ---- */

/* Where a draw has the noise of a term, where that is unknown. */
static size_t place_of_noise(const RpinnRun *run, size_t t) {
  const RpinnPosterior *posterior = run->posteriors[0];
  for (size_t k = 0; k < posterior->num_noises; k++)
    if (posterior->fitted[posterior->noises[k].term] == t)
      return run->outputs.unknown_start + run->problem->num_unknowns + k;
  return SIZE_MAX;
}

/* A task is a point of a quantity. */
static RpinnStatus make_band(void *worker, RpinnContext *context, RpinnTaskPool *pool, uint64_t task) {
  const Mixture *mixture = worker;
  const RpinnRun *run = mixture->run;
  size_t num_points = run->outputs.num_points, t = rpinn_run_measuring_term(run, task / num_points);
  double noise;
  (void)pool;
  if (t == run->problem->num_terms) return RPINN_OK;
  RPINN_TRY(known_noise(context, run, t, task % num_points, &noise));
  fill(mixture, task, place_of_noise(run, t), noise);
  Spread spread;
  if (!find_spread(mixture, &spread)) return RPINN_OK;
  run->results.predictive_low[task] = quantile(mixture, &spread, 0.025);
  run->results.predictive_high[task] = quantile(mixture, &spread, 0.975);
  return RPINN_OK;
}

/* Few enough draws for the work, evenly chosen. */
static void choose_draws(const RpinnRun *run, Mixture *mixture) {
  size_t count = rpinn_kept_draws_count(run->results.kept), values = run->outputs.num_points + 1;
  size_t most = MOST_TERMS / values > FEWEST_DRAWS ? MOST_TERMS / values : FEWEST_DRAWS;
  mixture->every = count ? (count - 1) / most + 1 : 1;
  mixture->num_draws = count ? (count - 1) / mixture->every + 1 : 0;
}

static RpinnStatus open_mixture(void *user, RpinnContext *context, RpinnTaskPool *pool, size_t thread,
                                void **worker) {
  const Mixture *plan = user;
  Mixture *mixture = *worker = malloc(sizeof *mixture + 2 * plan->num_draws * sizeof(double));
  (void)pool;
  (void)thread;
  if (!mixture) return rpinn_fail_memory(context);
  *mixture = *plan;
  mixture->centres = (double *)(mixture + 1);
  mixture->precisions = mixture->centres + mixture->num_draws;
  return RPINN_OK;
}

static bool is_interrupted(void *user, uint64_t counted) {
  const Mixture *plan = user;
  (void)counted;
  return rpinn_run_is_stopped(plan->context, plan->run);
}

RpinnStatus rpinn_run_make_predictive_bands(RpinnContext *context, RpinnRun *run) {
  RpinnRunResults *results = &run->results;
  size_t count = run->outputs.num_quantities * run->outputs.num_points;
  Mixture plan = {.context = context, .run = run};
  results->predictive_low = malloc((2 * count + 1) * sizeof(double));
  if (!results->predictive_low) return rpinn_fail_memory(context);
  results->predictive_high = results->predictive_low + count;
  for (size_t i = 0; i < 2 * count; i++) results->predictive_low[i] = (double)NAN;
  choose_draws(run, &plan);
  if (plan.num_draws < RPINN_INTERVAL_MIN_DRAWS || !count) return RPINN_OK;
  RpinnTaskPoolResult result;
  RpinnTaskPoolOptions options = {.num_threads = run->num_posteriors,
                                  .num_tasks = count,
                                  .user = &plan,
                                  .open_worker = open_mixture,
                                  .close_worker = free,
                                  .perform = make_band,
                                  .tick = is_interrupted};
  RpinnNormalTable *table = rpinn_normal_table_create();
  if (!table) return rpinn_fail_memory(context);
  plan.table = table;
  RpinnStatus status = rpinn_task_pool_run(context, &options, &result);
  rpinn_normal_table_destroy(table);
  RPINN_TRY(status);
  return result.interrupted ? rpinn_fail_interrupted(context) : RPINN_OK;
}
