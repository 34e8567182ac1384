#include "predictive_bands.h"

#include <math.h>
#include <stdlib.h>

#include "rank_interval.h"
#include "run_record.h"

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

struct RpinnBandMaker {
  const RpinnRun *run;
  const RpinnNormalTable *table;
  size_t num_draws, every;      /* of the kept draws */
  double *centres, *precisions; /* [num_draws] c, 1 / s */
};

/* noise_at: where a draw has its noise; SIZE_MAX: it is known. */
static void fill(const RpinnBandMaker *mixture, size_t value, size_t noise_at, double noise) {
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

static bool find_spread(const RpinnBandMaker *mixture, Spread *spread) {
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
static double quantile(const RpinnBandMaker *mixture, const Spread *spread, double probability) {
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

/* ---- the bands ---- */

/* Where a draw has the noise of a term, where that is unknown. */
static size_t place_of_noise(const RpinnRun *run, size_t t) {
  const RpinnPosterior *posterior = run->posteriors[0];
  for (size_t k = 0; k < posterior->num_noises; k++)
    if (posterior->fitted[posterior->noises[k].term] == t)
      return run->outputs.unknown_start + run->problem->num_unknowns + k;
  return SIZE_MAX;
}

RpinnStatus rpinn_band_maker_make(RpinnBandMaker *maker, RpinnContext *context, size_t value) {
  const RpinnRun *run = maker->run;
  size_t num_points = run->outputs.num_points, t = rpinn_run_measuring_term(run, value / num_points);
  double noise;
  Spread spread;
  if (t == run->problem->num_terms || maker->num_draws < RPINN_INTERVAL_MIN_DRAWS) return RPINN_OK;
  RPINN_TRY(known_noise(context, run, t, value % num_points, &noise));
  fill(maker, value, place_of_noise(run, t), noise);
  if (!find_spread(maker, &spread)) return RPINN_OK;
  run->results.predictive_low[value] = quantile(maker, &spread, 0.025);
  run->results.predictive_high[value] = quantile(maker, &spread, 0.975);
  return RPINN_OK;
}

/* Few enough draws for the work, evenly chosen. */
RpinnBandMaker *rpinn_band_maker_create(const RpinnRun *run, const RpinnNormalTable *table) {
  size_t count = rpinn_kept_draws_count(run->results.kept), values = run->outputs.num_points + 1;
  size_t most = MOST_TERMS / values > FEWEST_DRAWS ? MOST_TERMS / values : FEWEST_DRAWS;
  size_t every = count ? (count - 1) / most + 1 : 1, num_draws = count ? (count - 1) / every + 1 : 0;
  RpinnBandMaker *maker = malloc(sizeof *maker + 2 * num_draws * sizeof(double));
  if (!maker) return NULL;
  *maker = (RpinnBandMaker){.run = run, .table = table, .num_draws = num_draws, .every = every};
  maker->centres = (double *)(maker + 1);
  maker->precisions = maker->centres + num_draws;
  return maker;
}

void rpinn_band_maker_destroy(RpinnBandMaker *maker) {
  free(maker);
}

RpinnStatus rpinn_run_prepare_predictive_bands(RpinnContext *context, RpinnRun *run) {
  RpinnRunResults *results = &run->results;
  size_t count = run->outputs.num_quantities * run->outputs.num_points;
  results->predictive_low = malloc((2 * count + 1) * sizeof(double));
  if (!results->predictive_low) return rpinn_fail_memory(context);
  results->predictive_high = results->predictive_low + count;
  for (size_t i = 0; i < 2 * count; i++) results->predictive_low[i] = (double)NAN;
  return RPINN_OK;
}
