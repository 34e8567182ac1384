/* What the tables show of a run.
 *
 * The standard error e of a figure comes from the bootstrap over draws (bootstrap.h). Draws of a chain resemble the
 * ones before them: there it is widened to e sqrt(n / n_eff), with n_eff the smallest bulk effective size of the
 * quantity over its points. */
#include <math.h>
#include <string.h>

#include "bootstrap.h"
#include "reproduce_run.h"

enum { KEPT_BYTES = 128 << 20 };

static const char *const metric_keys[] = {
#define RPINN_TABLE_METRIC_KEY(name, key, title, digit) key,
    RPINN_TABLE_METRIC_LIST(RPINN_TABLE_METRIC_KEY)
#undef RPINN_TABLE_METRIC_KEY
};

/* ---- its draws ---- */

static RpinnStatus keep_draw(void *user, const RpinnVisitedDraw *draw) {
  RpinnMadeRun *run = user;
  if (draw->stored->failed) return RPINN_OK;
  if (rpinn_is_interrupted(run->context)) return rpinn_fail_interrupted(run->context);
  RPINN_TRY(rpinn_draw_outputs_evaluate(run->context, &run->outputs, run->posterior, draw->stored->parameters,
                                        run->values));
  return rpinn_kept_draws_add(run->kept, run->num_draws++, run->values);
}

static RpinnStatus gather_draws(RpinnMadeRun *run) {
  RPINN_TRY(rpinn_draw_outputs_plan(run->context, run->posterior, &run->outputs));
  RPINN_TRY(rpinn_draw_store_shorten_plan(run->context, run->store, &run->plan));
  size_t count = run->outputs.num_values, num_draws = (size_t)(run->plan.num_chains * run->plan.num_draws);
  run->values = RPINN_ARENA_NEW(run->posterior->arena, double, count);
  run->kept = rpinn_kept_draws_create(count, rpinn_keep_every(num_draws, count, KEPT_BYTES));
  if (!run->values || !run->kept) return rpinn_fail_memory(run->context);
  RPINN_TRY(rpinn_draw_store_visit(run->context, run->store, &run->plan, false, keep_draw, run));
  double told = rpinn_summary_number(run->finished.summary, "samples");
  if ((double)run->num_draws == told) return RPINN_OK;
  return rpinn_fail(run->context, RPINN_ERROR_INPUT,
                    "checkpoint.db has %zu draws, summary.json tells of %.0f: they do not belong together",
                    run->num_draws, told);
}

/* ---- its figures ---- */

static void fill_run(RpinnMadeRun *run) {
  const RpinnJsonValue *summary = run->finished.summary, *chains = rpinn_json_find(summary, "chains");
  bool has_chains = rpinn_paper_method(run->run->method)->has_chains;
  run->run->members = rpinn_summary_number(summary, "samples");
  run->run->seconds = rpinn_summary_number(summary, "wall_seconds");
  run->run->chains = rpinn_summary_number(chains, "count");
  run->run->warmup = rpinn_summary_number(chains, "warmup");
  run->run->iterations =
      has_chains ? (double)NAN : run->problem->settings.values[RPINN_SETTING_ITERATIONS].number;
}

/* Worth of the draws of a quantity; NaN without chains, whose draws are independent. */
static double effective_size(const RpinnMadeRun *run, const char *quantity) {
  const RpinnJsonValue *quantities =
      rpinn_json_find(rpinn_json_find(run->finished.summary, "chains"), "quantities");
  return rpinn_summary_number(rpinn_json_find(quantities, quantity), "min_ess_bulk");
}

static void fill_peak(const RpinnMadeRun *run, const char *quantity, RpinnReproducedRow *row) {
  const RpinnJsonValue *peaks =
      rpinn_json_find(rpinn_json_find(run->finished.summary, "particles"), "lpp_peaks");
  const RpinnJsonValue *peak = rpinn_json_find(peaks, quantity);
  row->has_peak = peak != NULL;
  if (!peak) return;
  row->peak_iteration = rpinn_summary_number(peak, "iteration");
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    row->peak[k] = rpinn_summary_number(peak, metric_keys[k]);
}

static RpinnStatus fill_row(RpinnMadeRun *run, RpinnReproducedRow *row) {
  const char *quantity = run->run->paper_case->quantities[row->quantity];
  const RpinnJsonValue *score =
      rpinn_json_find(rpinn_json_find(run->finished.summary, "quantities"), quantity);
  size_t q = 0, num_points = run->outputs.num_points;
  while (q < run->problem->num_predicted && strcmp(run->problem->predicted[q].name, quantity) != 0) q++;
  if (!score || q == run->problem->num_predicted || !run->posterior->data->predicted_truth[q])
    return rpinn_fail_at(run->context, (RpinnPlace){.file = run->folder}, "this run has no figures of %s",
                         quantity);
  for (size_t k = 0; k < RPINN_NUM_TABLE_METRICS; k++)
    row->ours[k] = rpinn_summary_number(score, metric_keys[k]);
  row->ours[RPINN_FIGURE_LPP] = rpinn_summary_number(score, "lpp");
  if (rpinn_bootstrap_errors(run->kept, q * num_points, num_points, run->posterior->data->predicted_truth[q],
                             0, RPINN_BOOTSTRAP_RESAMPLES, row->errors) != RPINN_OK)
    return rpinn_fail_memory(run->context);
  row->effective_size = effective_size(run, quantity);
  double factor = rpinn_bootstrap_factor((double)rpinn_kept_draws_count(run->kept), (double)run->num_draws,
                                         row->effective_size);
  for (size_t k = 0; k < RPINN_NUM_FIGURES; k++) row->errors[k] *= factor;
  fill_peak(run, quantity, row);
  rpinn_reproduction_judge(run->reproduction, row);
  return RPINN_OK;
}

static RpinnLargestRhat largest_rhat(const RpinnJsonValue *worst) {
  return (RpinnLargestRhat){rpinn_summary_number(worst, "max_rhat"),
                            rpinn_summary_number(worst, "max_rhat_paper")};
}

static RpinnStatus fill_chains(RpinnMadeRun *run, RpinnReproducedChains *chains) {
  const RpinnJsonValue *summary = rpinn_json_find(run->finished.summary, "chains"),
                       *list = rpinn_json_find(summary, "per_chain");
  size_t most = (size_t)run->plan.num_chains;
  chains->ours = RPINN_ARENA_NEW(run->reproduction->arena, RpinnReproducedChain, most);
  if (!chains->ours) return rpinn_fail_memory(run->context);
  for (const RpinnJsonValue *item = list ? list->first : NULL; item && chains->num_ours < most;
       item = item->next) {
    RpinnReproducedChain *chain = &chains->ours[chains->num_ours];
    chain->number = ++chains->num_ours;
    for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++) {
      const RpinnJsonValue *score =
          rpinn_json_find(rpinn_json_find(item, "quantities"), run->run->paper_case->quantities[q]);
      chain->figures[q][RPINN_CHAIN_RL2] = rpinn_summary_number(score, "rl2");
      chain->figures[q][RPINN_CHAIN_LPP_TABLE] = rpinn_summary_number(score, "lpp_table");
    }
  }
  chains->parameters = largest_rhat(rpinn_json_find(summary, "parameters"));
  for (size_t q = 0; q < RPINN_PAPER_QUANTITIES; q++)
    chains->quantities[q] = largest_rhat(
        rpinn_json_find(rpinn_json_find(summary, "quantities"), run->run->paper_case->quantities[q]));
  rpinn_chains_sort(chains->num_ours, chains->ours);
  return RPINN_OK;
}

RpinnStatus rpinn_reproduction_fill_rows(RpinnMadeRun *run) {
  RpinnReproduction *reproduction = run->reproduction;
  fill_run(run);
  for (size_t i = 0; i < reproduction->num_rows; i++)
    if (reproduction->rows[i].run == run->run) {
      if (!run->kept) RPINN_TRY(gather_draws(run));
      RPINN_TRY(fill_row(run, &reproduction->rows[i]));
    }
  for (size_t i = 0; i < reproduction->num_chain_tables; i++)
    if (reproduction->chain_tables[i].run == run->run)
      RPINN_TRY(fill_chains(run, &reproduction->chain_tables[i]));
  return RPINN_OK;
}
