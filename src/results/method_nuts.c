/* Method nuts: chains of the no-U-turn sampler. */
#include "finished_run.h"
#include "run_record.h"
#include "run_summary.h"

static RpinnDrawPlan plan(const RpinnSettingsValues *settings) {
  return (RpinnDrawPlan){.has_chains = true,
                         .num_chains = (uint64_t)settings->values[RPINN_SETTING_CHAINS].number,
                         .num_draws = (uint64_t)settings->values[RPINN_SETTING_SAMPLES].number};
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

static void describe_settings(const RpinnSettingsValues *settings, RpinnText *text) {
  rpinn_text_append(
      text, "%s chains of %s warmup iterations and %s draws, trajectories of at most 2^%s - 1 steps",
      settings->values[RPINN_SETTING_CHAINS].text, settings->values[RPINN_SETTING_WARMUP].text,
      settings->values[RPINN_SETTING_SAMPLES].text, settings->values[RPINN_SETTING_MAX_DEPTH].text);
}

/* ---- diagnostics.csv ---- */

/* One line per scalar: what `rpinn diagnose` reads. */
static void csv_convergence(RpinnText *csv, const char *group, const char *name, size_t index,
                            const RpinnConvergence *convergence, const double *nested) {
  const double values[] = {convergence->mean,    convergence->mcse_mean, convergence->sd,
                           convergence->mcse_sd, convergence->q5,        convergence->median,
                           convergence->q95,     convergence->ess_bulk,  convergence->ess_tail,
                           convergence->rhat,    convergence->rhat_paper};
  enum { NUM_VALUES = sizeof values / sizeof values[0] };
  rpinn_text_append(csv, "%s,%s,%zu,", group, name, index);
  for (size_t k = 0; k < NUM_VALUES; k++)
    rpinn_csv_append_number(csv, values[k], k + 1 == NUM_VALUES && !nested);
  if (nested) rpinn_csv_append_number(csv, *nested, true);
}

/* NULL without superchains. */
static const double *nested_of(const double *nested, size_t scalar) {
  return nested ? &nested[scalar] : NULL;
}

static void write_diagnostics(const RpinnRun *run, RpinnText *csv) {
  const RpinnChainResults *chains = &run->results.chains;
  const RpinnPosterior *posterior = run->posteriors[0];
  size_t at = 0;
  rpinn_text_append(
      csv, "group,name,index,mean,mcse,sd,mcse_sd,q5,median,q95,ess_bulk,ess_tail,rhat,rhat_paper%s\n",
      chains->num_superchains ? ",rhat_nested" : "");
  for (size_t q = 0; q < run->outputs.num_quantities; q++)
    for (size_t p = 0; p < run->outputs.num_points; p++, at++)
      csv_convergence(csv, "quantity", run->problem->predicted[q].name, p, &chains->outputs[at],
                      nested_of(chains->nested_outputs, at));
  for (size_t k = 0; k < run->outputs.num_tests; k++) {
    size_t term = run->outputs.test_terms[k];
    for (size_t p = 0; p < posterior->data->terms[term].points.count; p++, at++)
      csv_convergence(csv, "test", run->problem->terms[term].name, p, &chains->outputs[at],
                      nested_of(chains->nested_outputs, at));
  }
  for (size_t k = 0; k < run->outputs.num_scalars; k++, at++)
    csv_convergence(csv, "unknown", rpinn_draw_outputs_scalar(posterior, k), 0, &chains->outputs[at],
                    nested_of(chains->nested_outputs, at));
  for (size_t f = 0; f < run->problem->num_fields; f++)
    for (size_t i = 0; i < posterior->networks[f].num_trainable; i++)
      csv_convergence(csv, "parameter", run->problem->fields[f].name, i,
                      &chains->parameters[posterior->networks[f].parameter_start + i],
                      nested_of(chains->nested_parameters, posterior->networks[f].parameter_start + i));
}

const RpinnMethod rpinn_method_nuts = {
    .about = {.title = "NUTS",
              .summary = "Hamiltonian Monte Carlo with the no-U-turn sampler: chains of draws",
              .file = "diagnostics.csv",
              .file_summary = "convergence of every predicted number and parameter"},
    .meaning = "Hamiltonian Monte Carlo with the no-U-turn sampler: chains of draws from the posterior.",
    .unit = "draw",
    .has_chains = true,
    .draws = &rpinn_chain_draws,
    .plan = plan,
    .describe_settings = describe_settings,
    .write_file = write_diagnostics,
    .write_title = rpinn_summary_chain_title,
    .write_lines = rpinn_summary_chain_lines,
    .legend = "draw",
    .facts = facts,
    .sections = {RPINN_SECTION_CHAINS},
    .judgement = RPINN_JUDGEMENT_CHAINS,
};
