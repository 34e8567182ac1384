#include "backend_choice.h"

#include <stdio.h>
#include <unistd.h>

#include "maker.h"

/* A run that was begun goes on as it is, also with more members. */
static RpinnStatus choose_as_before(RpinnContext *context, RpinnDriver *driver) {
  char path[RPINN_PATH_SIZE];
  RpinnProblem *before;
  if (!driver->options->resume) return RPINN_OK;
  if (snprintf(path, sizeof path, "%s/run.yaml", driver->options->folder) >= (int)sizeof path ||
      access(path, R_OK) != 0)
    return RPINN_OK;
  RPINN_TRY(rpinn_problem_load(context, path, NULL, &before));
  snprintf(driver->run->backend, sizeof driver->run->backend, "%.31s",
           before->settings.values[RPINN_SETTING_BACKEND].text);
  rpinn_problem_destroy(before);
  return RPINN_OK;
}

/* All members or chains count, not those of a shard: shards of a run have one backend. What is linearised is so on the host. */
RpinnStatus rpinn_driver_choose_backend(RpinnContext *context, RpinnDriver *driver) {
  RpinnRun *run = driver->run;
  if (!rpinn_problem_backend_is_open(run->problem)) return RPINN_OK;
  run->members_at_a_time = driver->maker->linearises ? 1 : (size_t)rpinn_draw_plan_num_starts(&run->plan);
  return choose_as_before(context, driver);
}
