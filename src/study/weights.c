/* The search for weights: the whole. */
#include <string.h>

#include "driver.h"
#include "maker.h"
#include "task_shard.h"
#include "weights_state.h"

/* ---- methods ---- */

/* The first of the list with one draw, or with more. */
static const char *find_method(bool has_one_draw) {
  size_t k = 0;
  while (rpinn_method_at(k) && rpinn_method_at(k)->has_one_draw != has_one_draw) k++;
  return rpinn_method_name(k);
}

/* Draws are those of the problem's method, where it has a spread. */
static RpinnStatus find_methods(RpinnContext *context, RpinnWeightSearch *search) {
  RpinnProblem *problem;
  search->map_method = find_method(true);
  search->draw_method = find_method(false);
  search->members = search->options->members ? search->options->members : "79";
  RPINN_TRY(rpinn_weights_load(context, search, NULL, NULL, NULL, &problem));
  const RpinnMethod *own = rpinn_problem_method(problem);
  for (size_t k = 0; !own->has_one_draw && rpinn_method_at(k); k++)
    if (rpinn_method_at(k) == own) search->draw_method = rpinn_method_name(k);
  rpinn_problem_destroy(problem);
  return RPINN_OK;
}

/* ---- the problem ---- */

static RpinnStatus look_at_problem(RpinnContext *context, RpinnWeightSearch *search) {
  const RpinnPosterior *posterior = search->base->posteriors[0];
  const RpinnProblem *problem = posterior->problem;
  RpinnArena *arena = search->arena;
  search->problem = rpinn_arena_copy_text(arena, problem->name, strlen(problem->name));
  search->likelihood = (RpinnLikelihood)rpinn_settings_choice(&problem->settings, RPINN_SETTING_LIKELIHOOD);
  search->num_terms = problem->num_terms;
  search->is_weighted = RPINN_ARENA_NEW(arena, bool, problem->num_terms + 1);
  search->term_names = RPINN_ARENA_NEW(arena, const char *, problem->num_terms + 1);
  if (!search->problem || !search->is_weighted || !search->term_names) return rpinn_fail_memory(context);
  for (size_t t = 0; t < problem->num_terms; t++) {
    const RpinnTerm *term = &problem->terms[t];
    search->term_names[t] = rpinn_arena_copy_text(arena, term->name, strlen(term->name));
    if (!search->term_names[t]) return rpinn_fail_memory(context);
    search->is_weighted[t] =
        search->likelihood == RPINN_LIKELIHOOD_PAPER && !term->is_test && term->source != RPINN_DATA_GAUSSIAN;
    search->num_weighted += search->is_weighted[t];
  }
  if (!posterior->sigmas.integrates) return RPINN_OK;
  return rpinn_fail_at(
      context, problem->prior_place,
      "members draw scales of the prior from what the data say of them, so that there is none "
      "to choose; expected prior_integrate no");
}

static RpinnStatus check_data_sets(RpinnContext *context, const RpinnWeightSearch *search) {
  const double most = 900719925473; /* seeds of data sets are 10000 times as large */
  if (!search->options->num_data_sets) return RPINN_OK;
  if (!search->num_quantities)
    return rpinn_fail_at(context, (RpinnPlace){.file = "--datasets"},
                         "nothing that is predicted has a truth, of which data could be made again");
  if (search->base->problem->settings.values[RPINN_SETTING_SEED].number <= most) return RPINN_OK;
  return rpinn_fail_at(context, (RpinnPlace){.file = "--seed"}, "found %s; expected at most %.0f",
                       search->base->problem->settings.values[RPINN_SETTING_SEED].text, most);
}

/* ---- the search ---- */

static RpinnStatus make_all(RpinnContext *context, RpinnWeightSearch *search) {
  RPINN_TRY(rpinn_weights_settle_given(context, search));
  RPINN_TRY(rpinn_weights_list_candidates(context, search));
  RPINN_TRY(rpinn_weights_balance(context, search));
  const RpinnTaskShard *shard = &search->options->shard;
  if (!rpinn_task_shard_is_part(shard)) /* the whole looks, and chooses, when it is made */
    RPINN_TRY(rpinn_weights_look(context, search));
  RPINN_TRY(rpinn_weights_make_runs(context, search, RPINN_STAGE_MAP));
  RPINN_TRY(rpinn_weights_make_runs(context, search, RPINN_STAGE_DRAWS));
  if (shard->shard.count) return RPINN_OK;
  if (!rpinn_task_shard_follows(shard)) rpinn_weights_choose(search);
  RPINN_TRY(rpinn_weights_score_choices(context, search));
  if (rpinn_task_shard_follows(shard)) return RPINN_OK;
  RPINN_TRY(rpinn_weights_write_tables(context, search));
  return search->options->file ? rpinn_weights_write_problem(context, search) : RPINN_OK;
}

static RpinnStatus search_weights(RpinnContext *context, RpinnWeightSearch *search) {
  RPINN_TRY(look_at_problem(context, search));
  RPINN_TRY(rpinn_weights_read_quantities(context, search));
  RPINN_TRY(rpinn_weights_read_members(context, search));
  RPINN_TRY(rpinn_weights_read_axes(context, search));
  RPINN_TRY(rpinn_weights_read_rules(context, search));
  RPINN_TRY(check_data_sets(context, search));
  if (!rpinn_task_shard_follows(&search->options->shard))
    RPINN_TRY(rpinn_weights_claim_folder(context, search));
  RpinnStatus status = make_all(context, search);
  if (status != RPINN_ERROR_INTERRUPTED) return status;
  rpinn_context_clear_error(context);
  search->interrupted = true;
  return RPINN_OK;
}

static RpinnStatus begin(RpinnContext *context, RpinnWeightSearch *search) {
  RpinnProblem *base = NULL;
  RpinnRunOptions usual = {0};
  RpinnDriver never_begun = {0}; /* knows whether there is memory for runs like its own */
  RPINN_TRY(rpinn_weights_read_options(context, search));
  RPINN_TRY(find_methods(context, search));
  RpinnStatus status = rpinn_weights_load(context, search, search->draw_method, NULL, NULL, &base);
  if (status == RPINN_OK) status = rpinn_driver_prepare(context, base, &usual, &never_begun);
  search->base = never_begun.run;
  if (status == RPINN_OK) {
    search->num_threads = never_begun.num_threads;
    search->at_minimum = never_begun.maker->prior_at_minimum;
    status = search_weights(context, search);
  }
  rpinn_run_destroy(search->base);
  search->base = NULL;
  rpinn_problem_destroy(base);
  return status;
}

RpinnStatus rpinn_search_weights(RpinnContext *context, const RpinnWeightOptions *options,
                                 RpinnWeightSearch **search) {
  RpinnArena *arena = rpinn_arena_create();
  *search = arena ? RPINN_ARENA_NEW(arena, RpinnWeightSearch, 1) : NULL;
  if (!*search) {
    rpinn_arena_destroy(arena);
    return rpinn_fail_memory(context);
  }
  **search = (RpinnWeightSearch){.options = options, .arena = arena};
  RpinnStatus status = begin(context, *search);
  (*search)->options = NULL;
  if (status == RPINN_OK) return RPINN_OK;
  rpinn_weight_search_destroy(*search);
  *search = NULL;
  return status;
}

void rpinn_weight_search_destroy(RpinnWeightSearch *search) {
  if (!search) return;
  rpinn_text_free(&search->left_out);
  rpinn_text_free(&search->text);
  rpinn_text_free(&search->csv);
  rpinn_text_free(&search->json);
  rpinn_text_free(&search->page);
  rpinn_text_free(&search->yaml);
  rpinn_arena_destroy(search->arena); /* it lives there itself */
}

bool rpinn_weight_search_interrupted(const RpinnWeightSearch *search) {
  return search->interrupted;
}
const char *rpinn_weight_search_text(const RpinnWeightSearch *search) {
  return search->text.bytes;
}
const char *rpinn_weight_search_json(const RpinnWeightSearch *search) {
  return search->json.bytes;
}
