/* Runs of candidates as tasks, whose yield is a row of scores against the truth. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ranks.h"
#include "weights_state.h"

/* A list of runs: of each candidate once, or of some on several data sets. */
typedef struct RunList {
  RpinnWeightSearch *search;
  const char *method;
  const char *kind; /* of their names: "map" */
  const char *work; /* what they are called to people */
  size_t num_candidates;
  size_t *candidates;   /* [num_candidates] */
  size_t num_data_sets; /* 0: the data at hand */
} RunList;

static size_t runs_of_each(const RunList *list) {
  return list->num_data_sets ? list->num_data_sets : 1;
}
static size_t candidate_of(const RunList *list, size_t task) {
  return list->candidates[task % list->num_candidates];
}
static size_t data_set_of(const RunList *list, size_t task) {
  return task / list->num_candidates;
}

static void name_run(const void *user, size_t task, char name[RPINN_TASK_NAME_SIZE]) {
  const RunList *list = user;
  if (list->num_data_sets)
    snprintf(name, RPINN_TASK_NAME_SIZE, "%s-%04zu-%04zu", list->kind, candidate_of(list, task),
             data_set_of(list, task) + 1);
  else
    snprintf(name, RPINN_TASK_NAME_SIZE, "%s-%04zu", list->kind, candidate_of(list, task));
}

/* ---- one run ---- */

/* A row is its seconds and the numbers of its scores. */
static size_t num_numbers(const RpinnWeightSearch *search) {
  return 1 + search->num_quantities * (sizeof(RpinnQuantityScore) / sizeof(double));
}

static RpinnStatus recall_row(void *user, RpinnContext *context, size_t task, void *yield, bool *is_known) {
  const RunList *list = user;
  char name[RPINN_TASK_NAME_SIZE];
  RpinnWeightRow *row = yield;
  name_run(list, task, name);
  return rpinn_weights_read_numbers(context, list->search, name, num_numbers(list->search), &row->seconds,
                                    is_known);
}

static RpinnStatus open_run(const void *user, RpinnContext *context, size_t task, RpinnProblem **problem,
                            const void **beside) {
  const RunList *list = user;
  size_t data_set = data_set_of(list, task);
  (void)beside;
  return rpinn_weights_load(context, list->search, list->method,
                            &list->search->candidates[candidate_of(list, task)],
                            list->num_data_sets ? &data_set : NULL, problem);
}

static RpinnStatus score_run(const void *user, RpinnContext *context, const RpinnTaskRun *made, void *yield) {
  const RunList *list = user;
  const RpinnWeightSearch *search = list->search;
  char name[RPINN_TASK_NAME_SIZE];
  RpinnWeightRow *row = yield;
  row->seconds = fmax(made->run->seconds, made->seconds);
  for (size_t q = 0; q < search->num_quantities; q++) {
    const RpinnScore *score = &made->run->results.scores[search->quantities[q]];
    row->scores[q] = (RpinnQuantityScore){score->rl2, score->lpp, score->interval_coverage, score->crps};
  }
  name_run(list, made->task, name);
  return rpinn_weights_write_numbers(context, search, name, num_numbers(search), &row->seconds);
}

static RpinnStatus deliver_row(void *user, RpinnContext *context, size_t task, const void *yield,
                               const RpinnManyProgress *progress) {
  const RunList *list = user;
  const RpinnWeightOptions *options = list->search->options;
  (void)context, (void)task, (void)yield;
  if (progress->is_new && options->told)
    options->told(options->user, &(RpinnWeightProgress){.work = list->work,
                                                        .done = progress->done,
                                                        .total = progress->total,
                                                        .seconds_left = progress->seconds_left});
  return RPINN_OK;
}

/* rows [runs of each][num_candidates], in the arena. */
static RpinnStatus make_list(RpinnContext *context, RunList *list, RpinnManyRuns *runs) {
  RpinnWeightSearch *search = list->search;
  const RpinnWeightOptions *options = search->options;
  char folder[RPINN_PATH_SIZE];
  RpinnManyOptions many = {.num_jobs = options->num_jobs,
                           .interrupted = options->interrupted,
                           .progress = options->progress,
                           .user = options->user,
                           .study = options->folder,
                           .shard = &options->shard};
  *runs = (RpinnManyRuns){.num_tasks = list->num_candidates * runs_of_each(list),
                          .folder = folder,
                          .yield_size = num_numbers(search) * sizeof(double),
                          .user = list,
                          .name = name_run,
                          .recall = recall_row,
                          .deliver = deliver_row,
                          .open = open_run,
                          .take = score_run};
  runs->yields = rpinn_arena_allocate(search->arena, runs->num_tasks, runs->yield_size);
  if (!runs->yields) return rpinn_fail_memory(context);
  snprintf(folder, sizeof folder, "%.3900s/runs", options->folder);
  RPINN_TRY(rpinn_many_runs_make(context, runs, &many, &search->interrupted));
  return search->interrupted ? rpinn_fail_interrupted(context) : RPINN_OK;
}

static const RpinnWeightRow *row_at(const RpinnManyRuns *runs, size_t task) {
  return (const RpinnWeightRow *)((const char *)runs->yields + task * runs->yield_size);
}

/* ---- on the data at hand ---- */

static RpinnStatus list_all(RpinnContext *context, RpinnWeightSearch *search, RunList *list) {
  list->candidates = RPINN_ARENA_NEW(search->arena, size_t, search->num_candidates);
  if (!list->candidates) return rpinn_fail_memory(context);
  for (size_t k = 0; k < search->num_candidates; k++)
    if (search->candidates[k].is_there && search->candidates[k].same_as == k)
      list->candidates[list->num_candidates++] = k;
  return RPINN_OK;
}

static RpinnStatus make_at_hand(RpinnContext *context, RunList *list, RpinnWeightStage stage) {
  RpinnManyRuns runs;
  RPINN_TRY(make_list(context, list, &runs));
  for (size_t k = 0; k < list->num_candidates; k++) {
    RpinnWeightCandidate *candidate = &list->search->candidates[list->candidates[k]];
    *(stage == RPINN_STAGE_MAP ? &candidate->map : &candidate->draws) = row_at(&runs, k);
  }
  return RPINN_OK;
}

RpinnStatus rpinn_weights_make_runs(RpinnContext *context, RpinnWeightSearch *search,
                                    RpinnWeightStage stage) {
  RunList map = {search, search->map_method, "map", "MAP runs", 0, NULL, 0},
          draws = {search, search->draw_method, "draws", "runs", 0, NULL, 0},
          *list = stage == RPINN_STAGE_MAP ? &map : &draws;
  if (!rpinn_weights_need(search, stage)) return RPINN_OK;
  RPINN_TRY(list_all(context, search, list));
  return make_at_hand(context, list, stage);
}

/* ---- what choices are worth ---- */

static RpinnStatus list_choices(RpinnContext *context, RpinnWeightSearch *search, RunList *list) {
  list->candidates = RPINN_ARENA_NEW(search->arena, size_t, RPINN_MAX_WEIGHT_CHOICES);
  if (!list->candidates) return rpinn_fail_memory(context);
  for (size_t c = 0; c < search->num_choices; c++) {
    size_t candidate = search->candidates[search->choices[c].candidate].same_as, k = 0;
    while (k < list->num_candidates && list->candidates[k] != candidate) k++;
    if (k == list->num_candidates) list->candidates[list->num_candidates++] = candidate;
  }
  return RPINN_OK;
}

/* What rank 0 has chosen is not known to the others. */
static RpinnStatus share_list(RpinnContext *context, const RpinnWeightSearch *search, RunList *list) {
  RPINN_TRY(rpinn_ranks_broadcast(context, search->options->shard.ranks, &list->num_candidates,
                                  sizeof list->num_candidates));
  return rpinn_ranks_broadcast(context, search->options->shard.ranks, list->candidates,
                               RPINN_MAX_WEIGHT_CHOICES * sizeof *list->candidates);
}

RpinnStatus rpinn_weights_score_choices(RpinnContext *context, RpinnWeightSearch *search) {
  RunList list = {search, search->draw_method,           "draws", "runs of choices", 0,
                  NULL,   search->options->num_data_sets};
  RpinnManyRuns runs;
  if (!search->num_quantities) return RPINN_OK;
  RPINN_TRY(list_choices(context, search, &list));
  RPINN_TRY(share_list(context, search, &list));
  if (!list.num_data_sets) return make_at_hand(context, &list, RPINN_STAGE_DRAWS);
  RPINN_TRY(make_list(context, &list, &runs));
  for (size_t k = 0; k < list.num_candidates; k++) {
    const RpinnWeightRow **scores =
        RPINN_ARENA_NEW(search->arena, const RpinnWeightRow *, list.num_data_sets);
    if (!scores) return rpinn_fail_memory(context);
    for (size_t d = 0; d < list.num_data_sets; d++) scores[d] = row_at(&runs, d * list.num_candidates + k);
    search->candidates[list.candidates[k]].scores = scores;
  }
  return RPINN_OK;
}
