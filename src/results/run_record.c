#include "run_record.h"

#include <stdlib.h>

#include "blas_threads.h"
#include "processors.h"
#include "rpinn/verdict.h"

/* ---- making one ---- */

RpinnStatus rpinn_run_create(RpinnContext *context, const RpinnProblem *problem, RpinnRun **run) {
  *run = calloc(1, sizeof **run);
  if (!*run) return rpinn_fail_memory(context);
  (*run)->problem = problem;
  (*run)->method = rpinn_problem_method(problem);
  (*run)->plan = rpinn_problem_plan(problem);
  (*run)->draws = (*run)->plan.is_corrected ? &rpinn_corrected_draws : (*run)->method->draws;
  (*run)->num_samples = (*run)->plan.num_draws;
  return RPINN_OK;
}

size_t rpinn_run_choose_threads(const RpinnRun *run) {
  size_t wanted = (size_t)run->problem->settings.values[RPINN_SETTING_THREADS].number;
  size_t threads = wanted ? wanted : rpinn_processors_allowed();
  if (!rpinn_blas_is_shareable()) threads = 1;
  uint64_t tasks = rpinn_draw_plan_num_starts(&run->plan);
  return threads < tasks ? threads : (size_t)tasks;
}

/* One posterior made, and shared with a backend for every other thread: a backend serves one thread at a time. */
RpinnStatus rpinn_run_make_posteriors(RpinnContext *context, RpinnRun *run, size_t num_threads) {
  run->posteriors = calloc(num_threads, sizeof(RpinnPosterior *));
  if (!run->posteriors) return rpinn_fail_memory(context);
  run->num_posteriors = num_threads;
  RpinnBackendNeed need = {run->backend[0] ? run->backend : NULL, run->members_at_a_time};
  RPINN_TRY(rpinn_posterior_create_for(context, run->problem, true, need, &run->posteriors[0]));
  for (size_t i = 1; i < num_threads; i++)
    RPINN_TRY(rpinn_posterior_share(context, run->posteriors[0], &run->posteriors[i]));
  return rpinn_draw_outputs_plan(context, run->posteriors[0], &run->outputs);
}

void rpinn_run_destroy(RpinnRun *run) {
  if (!run) return;
  rpinn_member_store_close(run->store);
  rpinn_run_free_results(run);
  for (size_t i = run->num_posteriors; i-- > 0;)
    rpinn_posterior_destroy(run->posteriors[i]); /* the first, last */
  free(run->posteriors);
  rpinn_problem_destroy(run->own_problem);
  free(run->laplace.at);
  rpinn_arena_destroy(run->variational.arena);
  rpinn_prior_choice_free(&run->prior);
  rpinn_row_evidence_free(&run->rows);
  rpinn_text_free(&run->json);
  rpinn_text_free(&run->table);
  free(run);
}

/* ---- reading one ---- */

bool rpinn_run_interrupted(const RpinnRun *run) {
  return run->interrupted;
}
bool rpinn_run_is_shard(const RpinnRun *run) {
  return run->shard.count > 0;
}
const char *rpinn_run_json(const RpinnRun *run) {
  return run->json.bytes;
}
const char *rpinn_run_table(const RpinnRun *run) {
  return run->table.bytes;
}
const RpinnVerdict *rpinn_run_verdict(const RpinnRun *run) {
  return run->interrupted ? NULL : &run->verdict;
}

const char *rpinn_run_precision_name(const RpinnRun *run) {
  static const char *const names[] = {
#define RPINN_PRECISION_NAME(precision, name) [precision] = name,
      RPINN_PRECISION_LIST(RPINN_PRECISION_NAME)
#undef RPINN_PRECISION_NAME
  };
  return names[run->posteriors[0]->precision];
}

bool rpinn_run_draws_are_minimisers(const RpinnRun *run) {
  return run->method->minimises && !rpinn_run_is_corrected(run);
}

bool rpinn_run_draws_have_offsets(const RpinnRun *run) {
  return run->method->has_offsets && !rpinn_run_is_corrected(run);
}

bool rpinn_run_is_matrix_free(const RpinnRun *run) {
  RpinnLevenbergMarquardtOptions options = rpinn_levenberg_marquardt_default_options();
  RpinnPosteriorMember member = {.posterior = run->posteriors[0]};
  RpinnLeastSquares squares = rpinn_posterior_least_squares(&member);
  return rpinn_settings_choice(&run->problem->settings, RPINN_SETTING_OPTIMIZER) == RPINN_MINIMIZER_LM &&
         rpinn_levenberg_marquardt_is_matrix_free(&squares, &options);
}

bool rpinn_run_is_stopped(const RpinnContext *context, const RpinnRun *run) {
  return (run->wants_end && run->wants_end(run->user)) || rpinn_is_interrupted(context);
}
