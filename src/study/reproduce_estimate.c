/* How long a reproduction would still take. */
#include <string.h>

#include "reproduce_run.h"
#include "run_plan.h"

/* Has an earlier run of these reproductions the same directory? */
static bool is_counted(const RpinnReproduction *const *list, size_t which, size_t run) {
  const char *name = list[which]->runs[run].name;
  for (size_t i = 0; i <= which; i++)
    for (size_t r = 0; r < (i < which ? list[i]->num_runs : run); r++) {
      const RpinnReproducedRun *other = &list[i]->runs[r];
      if (rpinn_reproduction_needs_run(list[i], other) && !strcmp(other->name, name)) return true;
    }
  return false;
}

/* Seconds that the run would still take, about; 0 when it is finished. */
static RpinnStatus estimate_run(RpinnContext *context, RpinnReproduction *reproduction,
                                RpinnReproducedRun *made, double *seconds) {
  RpinnMadeRun run = {.context = context, .reproduction = reproduction, .run = made};
  bool is_finished = false;
  RpinnStatus status = rpinn_made_run_open(&run);
  if (status == RPINN_OK) status = rpinn_made_run_look(&run, &is_finished);
  if (status == RPINN_OK && !is_finished) {
    RpinnReproducedRun *like = made->costs_like ? made->costs_like : made;
    *seconds = like->trial_seconds;
    if (!(*seconds > 0)) status = rpinn_run_estimate(context, run.problem, seconds);
    made->trial_seconds = like->trial_seconds = *seconds; /* like may be finished and have had no trial */
  }
  rpinn_made_run_close(&run);
  return status;
}

/* Trials take half a second per run, which the quick scale is not worth. */
RpinnStatus rpinn_reproduction_estimate(RpinnContext *context, RpinnReproduction *reproduction) {
  const RpinnReproduceOptions *options = reproduction->options;
  RpinnReproduction **list = reproduction->num_parts ? reproduction->parts : &reproduction;
  double total = 0;
  size_t num_lists = reproduction->num_parts ? reproduction->num_parts : 1, count = 0;
  if (!options->estimate || reproduction->scale == RPINN_SCALE_QUICK) return RPINN_OK;
  for (size_t i = 0; i < num_lists; i++)
    for (size_t r = 0; r < list[i]->num_runs; r++) {
      RpinnReproducedRun *run = &list[i]->runs[r];
      double seconds = 0;
      if (!rpinn_reproduction_needs_run(list[i], run) ||
          is_counted((const RpinnReproduction *const *)list, i, r))
        continue;
      reproduction->interrupted = options->interrupted && options->interrupted(options->user);
      if (reproduction->interrupted) return RPINN_OK;
      RPINN_TRY(estimate_run(context, list[i], run, &seconds));
      total += seconds;
      count += seconds > 0;
    }
  if (count) options->estimate(options->user, count, total);
  return RPINN_OK;
}
