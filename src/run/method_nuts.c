/* Method nuts: chains of the no-U-turn sampler. */
#include <math.h>

#include "finished_run.h"
#include "method_members.h"
#include "run_state.h"
#include "run_summary.h"
#include "run_targets.h"

static RpinnDrawPlan plan(const RpinnSettingsValues *settings) {
  return (RpinnDrawPlan){true, (uint64_t)settings->values[RPINN_SETTING_CHAINS].number,
                         (uint64_t)settings->values[RPINN_SETTING_SAMPLES].number};
}

static double num_chains(const RpinnRun *run) {
  return (double)run->plan.num_chains;
}
static double num_draws_of_each(const RpinnRun *run) {
  return (double)run->plan.num_draws;
}

static const RpinnRunFact facts[] = {{"Chains", .number = num_chains},
                                     {"Draws of each", .number = num_draws_of_each},
                                     {"Warmup", .setting = RPINN_SETTING_WARMUP},
                                     {"Metric", .setting = RPINN_SETTING_METRIC},
                                     {.title = NULL}};

/* ---- cost ---- */

/* Gradients that one thread evaluates: those of the longest trajectories. */
static double count_gradients(const RpinnRun *run) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  double steps = ldexp(1, (int)settings->values[RPINN_SETTING_MAX_DEPTH].number) - 1;
  return steps * ceil((double)run->plan.num_chains / (double)run->num_threads) *
         (settings->values[RPINN_SETTING_WARMUP].number +
          (double)run->num_samples * settings->values[RPINN_SETTING_THIN].number);
}

/* An iteration of Adam costs a gradient. Offsets change nothing about that, and a start may be made of them. */
static RpinnStatus estimate(RpinnContext *context, RpinnRun *run, const RpinnMemberTarget *targets,
                            RpinnRunEstimate *estimate) {
  RpinnMinimizeOptions options = rpinn_run_minimize_options(run->problem);
  RpinnMemberTarget target = targets[0];
  options.minimizer = RPINN_MINIMIZER_ADAM;
  target.draw_offsets = rpinn_run_target_draw_offsets;
  double draws = (double)(run->plan.num_chains * run->num_samples);
  *estimate = (RpinnRunEstimate){
      .num_steps = count_gradients(run),
      .step = "gradient",
      .place = " on one thread",
      .disk_bytes = draws * (rpinn_run_draw_bytes(run) + 8.0 * (double)run->outputs.num_values)};
  return rpinn_try_minimizer(context, &target, &options, &estimate->step_seconds);
}

static void describe_run(const RpinnRun *run, RpinnText *text) {
  const RpinnSettingsValues *settings = &run->problem->settings;
  unsigned long long chains = run->plan.num_chains, draws = run->num_samples;
  rpinn_text_append(
      text, "%llu chain%s of %s warmup iterations and %llu draw%s, trajectories of at most 2^%s - 1 steps",
      chains, chains == 1 ? "" : "s", settings->values[RPINN_SETTING_WARMUP].text, draws,
      draws == 1 ? "" : "s", settings->values[RPINN_SETTING_MAX_DEPTH].text);
}

static void describe_settings(const RpinnSettingsValues *settings, RpinnText *text) {
  rpinn_text_append(
      text, "%s chains of %s warmup iterations and %s draws, trajectories of at most 2^%s - 1 steps",
      settings->values[RPINN_SETTING_CHAINS].text, settings->values[RPINN_SETTING_WARMUP].text,
      settings->values[RPINN_SETTING_SAMPLES].text, settings->values[RPINN_SETTING_MAX_DEPTH].text);
}

/* ---- diagnostics.csv ---- */

/* One line per scalar: what `rpinn diagnose` reads. */
static void csv_convergence(RpinnText *csv, const char *group, const char *name, size_t index,
                            const RpinnConvergence *convergence) {
  const double values[] = {convergence->mean,      convergence->mcse_mean, convergence->sd,
                           convergence->q5,        convergence->median,    convergence->q95,
                           convergence->ess_bulk,  convergence->ess_tail,  convergence->rhat,
                           convergence->rhat_paper};
  enum { NUM_VALUES = sizeof values / sizeof values[0] };
  rpinn_text_append(csv, "%s,%s,%zu,", group, name, index);
  for (size_t k = 0; k < NUM_VALUES; k++) rpinn_csv_append_number(csv, values[k], k + 1 == NUM_VALUES);
}

static void write_diagnostics(const RpinnRun *run, RpinnText *csv) {
  const RpinnChainResults *chains = &run->results.chains;
  const RpinnPosterior *posterior = run->posteriors[0];
  size_t at = 0;
  rpinn_text_append(csv, "group,name,index,mean,mcse,sd,q5,median,q95,ess_bulk,ess_tail,rhat,rhat_paper\n");
  for (size_t q = 0; q < run->outputs.num_quantities; q++)
    for (size_t p = 0; p < run->outputs.num_points; p++)
      csv_convergence(csv, "quantity", run->problem->predicted[q].name, p, &chains->outputs[at++]);
  for (size_t k = 0; k < run->outputs.num_tests; k++) {
    size_t term = run->outputs.test_terms[k];
    for (size_t p = 0; p < posterior->data->terms[term].points.count; p++)
      csv_convergence(csv, "test", run->problem->terms[term].name, p, &chains->outputs[at++]);
  }
  for (size_t k = 0; k < run->outputs.num_scalars; k++)
    csv_convergence(csv, "unknown", rpinn_draw_outputs_scalar(posterior, k), 0, &chains->outputs[at++]);
  for (size_t f = 0; f < run->problem->num_fields; f++)
    for (size_t i = 0; i < posterior->networks[f].num_trainable; i++)
      csv_convergence(csv, "parameter", run->problem->fields[f].name, i,
                      &chains->parameters[posterior->networks[f].parameter_start + i]);
}

const RpinnMethod rpinn_method_nuts = {
    .about = {.title = "NUTS",
              .summary = "Hamiltonian Monte Carlo with the no-U-turn sampler: chains of draws",
              .file = "diagnostics.csv",
              .file_summary = "convergence of every predicted number and parameter"},
    .meaning = "Hamiltonian Monte Carlo with the no-U-turn sampler: chains of draws from the posterior.",
    .unit = "draw",
    .progress_unit = "iterations",
    .has_chains = true,
    .draws = &rpinn_chain_draws,
    .check_settings = rpinn_refuse_adagrad,
    .plan = plan,
    .make_draws = rpinn_run_make_chains,
    .estimate = estimate,
    .describe_run = describe_run,
    .describe_settings = describe_settings,
    .write_file = write_diagnostics,
    .write_title = rpinn_summary_chain_title,
    .write_lines = rpinn_summary_chain_lines,
    .legend = "draw",
    .facts = facts,
    .sections = {RPINN_SECTION_CHAINS},
    .judgement = RPINN_JUDGEMENT_CHAINS,
};
