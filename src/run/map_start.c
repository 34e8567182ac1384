/* `start: map`: members, chains or particles begin at the minimiser of the energy without offsets.
 *
 * Where Levenberg–Marquardt makes the members, or the data chose the scale of the prior, that is the lowest minimum that it
 * finds from several draws of the prior. A member is then the end of a path from there on which the rows stay small, and keeps
 * to the mode of the most probable point. From a draw of the prior it may end in any mode, and its energy does not tell: where
 * the prior is wide all of them have room for the offsets. Method map with `start: prior` begins at the same point.
 *
 * Other optimisers seek it themselves, from member 0's Glorot start. The state of that search goes to the store like that of
 * any member, now and then, when the run is stopped, and at the end: a resumed run goes on with the search, or has done with
 * it. */
#include <stdlib.h>
#include <string.h>

#include "importance.h"
#include "laplace_map.h"
#include "maker.h"
#include "run_targets.h"
#include "steady_clock.h"

enum { SLICE = 1000, STATE_INTERVAL = 60 /* seconds */ };

typedef struct Search {
  RpinnContext *context;
  RpinnDriver *driver;
  RpinnRun *run; /* the driver's */
  RpinnMember *member;
} Search;

static RpinnStatus save_state(const Search *search) {
  size_t size = rpinn_member_state_size(search->member);
  void *state = malloc(size);
  if (!state) return rpinn_fail_memory(search->context);
  rpinn_member_save(search->member, state);
  RpinnStatus status =
      rpinn_member_store_put_state(search->context, search->run->store, rpinn_map_state_key(), state, size);
  free(state);
  return status == RPINN_OK ? rpinn_member_store_flush(search->context, search->run->store) : status;
}

static RpinnStatus begin(const Search *search) {
  void *state = NULL;
  size_t size = 0;
  if (search->driver->has_past)
    RPINN_TRY(rpinn_member_store_get_state(search->context, search->run->store, rpinn_map_state_key(), &state,
                                           &size));
  RpinnStatus status = rpinn_member_begin(search->context, search->member, 0, state, size);
  free(state);
  return status;
}

/* Until it is found, or the caller wants an end: driver->interrupted. */
static RpinnStatus seek(const Search *search, RpinnMemberOutcome *outcome) {
  RpinnDriver *driver = search->driver;
  double saved = rpinn_steady_seconds();
  RPINN_TRY(begin(search));
  do {
    RPINN_TRY(rpinn_member_advance(search->context, search->member, SLICE, outcome));
    driver->interrupted = outcome->stop == RPINN_STOP_INTERRUPTED;
    double time = rpinn_steady_seconds();
    if (!outcome->finished && !driver->interrupted && time - saved < STATE_INTERVAL) continue;
    RPINN_TRY(save_state(search));
    saved = time;
  } while (!outcome->finished && !driver->interrupted);
  return RPINN_OK;
}

static RpinnStatus find(Search *search, const RpinnMemberTarget *target, double *map) {
  const RpinnRunOptions *options = search->driver->options;
  RpinnMemberTarget plain = *target;
  RpinnMinimizeOptions minimize = rpinn_run_minimize_options(search->run->problem);
  RpinnMemberOutcome outcome = {0};
  plain.has_offsets = false;
  minimize.interrupted = options->interrupted;
  minimize.user = options->user;
  RPINN_TRY(rpinn_member_create(search->context, &plain, 0, &minimize, 0, &search->member));
  RpinnStatus status = seek(search, &outcome);
  if (status == RPINN_OK && outcome.failed)
    status = rpinn_fail(search->context, RPINN_ERROR_NUMERIC, "the MAP estimate to start from is not finite");
  if (status == RPINN_OK && outcome.finished)
    memcpy(map, outcome.theta, target->num_parameters * sizeof *map);
  rpinn_member_destroy(search->member);
  return status;
}

static RpinnStatus seek_lowest(RpinnContext *context, RpinnDriver *driver, const RpinnMemberTarget *targets) {
  RpinnRun *run = driver->run;
  RpinnRunProgress progress = {
      .driver = driver, .unit = driver->maker->progress_unit, .total = run->num_samples};
  double *map = RPINN_ARENA_NEW(run->posteriors[0]->arena, double, targets[0].num_parameters);
  if (!map) return rpinn_fail_memory(context);
  RPINN_TRY(rpinn_laplace_map_seek(context, &progress, map));
  if (!driver->interrupted) rpinn_run_give_starts(driver, targets, 1, map);
  return RPINN_OK;
}

/* Is the lowest of several minima wanted, and is there a prior to draw starts from? */
static bool is_lowest(const RpinnRun *run, int start) {
  const RpinnPosterior *posterior = run->posteriors[0];
  int optimizer = rpinn_settings_choice(&run->problem->settings, RPINN_SETTING_OPTIMIZER);
  if (start == RPINN_START_PRIOR) return run->method->has_one_draw;
  return start == RPINN_START_MAP && (optimizer == RPINN_MINIMIZER_LM || posterior->problem->was_chosen) &&
         rpinn_importance_available(posterior->model.num_parameters, posterior->model.prior_root);
}

RpinnStatus rpinn_run_start_from_map(RpinnContext *context, RpinnDriver *driver,
                                     const RpinnMemberTarget *targets) {
  RpinnRun *run = driver->run;
  Search search = {.context = context, .driver = driver, .run = run};
  int start = rpinn_settings_choice(&run->problem->settings, RPINN_SETTING_START);
  if (is_lowest(run, start)) return seek_lowest(context, driver, targets);
  if (start != RPINN_START_MAP) return RPINN_OK;
  double *map = RPINN_ARENA_NEW(run->posteriors[0]->arena, double, targets[0].num_parameters);
  if (!map) return rpinn_fail_memory(context);
  rpinn_driver_log(driver, "the MAP estimate to start from is being sought");
  RPINN_TRY(find(&search, &targets[0], map));
  if (!driver->interrupted) rpinn_run_give_starts(driver, targets, 1, map);
  return RPINN_OK;
}
