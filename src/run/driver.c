#include "driver.h"

#include <stdarg.h>
#include <unistd.h>

#include "backend_choice.h"
#include "maker.h"
#include "ranks.h"
#include "steady_clock.h"

/* What no run can do without: two vectors of the prior, four of each thread; particles have six each, and the squares and
 * the list of all their distances. Systems promise more memory than there is, and end a program that believes them. */
static RpinnStatus check_memory(RpinnContext *context, const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE),
         parameters = (double)run->problem->num_unknowns, particles = (double)run->num_samples;
  for (size_t f = 0; f < run->problem->num_fields; f++)
    parameters += (double)run->problem->fields[f].network.num_all;
  double bytes = sizeof(double) * parameters * (2 + 4 * (double)driver->num_threads);
  if (run->method->moves_together) bytes += sizeof(double) * particles * (6 * parameters + particles);
  if (!(machine > 0) || bytes <= machine) return RPINN_OK;
  return rpinn_fail(context, RPINN_ERROR_UNSUPPORTED,
                    "this run needs at least %.0f GB of memory, and the machine has %.0f GB; expected %s",
                    bytes * 1e-9, machine * 1e-9,
                    run->method->moves_together ? "fewer --samples or smaller networks"
                                                : "smaller networks or fewer --threads");
}

/* Ranks of one machine share its processors; where rank 0 makes all draws, it has those that it may use. */
size_t rpinn_driver_rank_threads(const RpinnDriver *driver, size_t rank) {
  const RpinnRanks *ranks = driver->options->ranks;
  size_t wanted = (size_t)driver->run->problem->settings.values[RPINN_SETTING_THREADS].number;
  if (wanted) return wanted;
  return driver->maker->splits || driver->run->method->moves_together
             ? rpinn_ranks_num_processors_of(ranks, rank)
             : rpinn_ranks_num_processors_alone(ranks, rank);
}

/* No more than there are members or chains for. */
static size_t choose_threads(const RpinnDriver *driver) {
  const RpinnRun *run = driver->run;
  size_t threads = rpinn_run_choose_threads(run), most = driver->options->num_threads;
  bool is_free = run->problem->settings.values[RPINN_SETTING_THREADS].number == 0;
  uint64_t tasks = rpinn_shard_size(driver->shard, rpinn_draw_plan_num_starts(&run->plan));
  if (is_free && driver->options->ranks)
    most = rpinn_driver_rank_threads(driver, rpinn_ranks_rank(driver->options->ranks));
  if (is_free && most && most < threads) threads = most;
  return tasks && tasks < threads ? (size_t)tasks : threads;
}

RpinnStatus rpinn_driver_prepare(RpinnContext *context, const RpinnProblem *problem,
                                 const RpinnRunOptions *options, RpinnDriver *driver) {
  *driver = (RpinnDriver){
      .options = options, .maker = rpinn_problem_maker(problem), .started = rpinn_steady_seconds()};
  RPINN_TRY(rpinn_run_create(context, problem, &driver->run));
  RpinnRun *run = driver->run;
  run->wants_end = options->interrupted;
  run->user = options->user;
  driver->shard = run->shard = options->shard;
  RPINN_TRY(rpinn_driver_choose_backend(context, driver));
  driver->num_threads = run->made_on_threads = choose_threads(driver);
  RPINN_TRY(check_memory(context, driver));
  return rpinn_run_make_posteriors(context, run, driver->num_threads);
}

double rpinn_driver_time_limit(const RpinnDriver *driver) {
  const RpinnSettingsValues *settings = &driver->run->problem->settings;
  bool limited = !settings->values[RPINN_SETTING_TIME_LIMIT].is_auto;
  return limited ? settings->values[RPINN_SETTING_TIME_LIMIT].number : 0;
}

double rpinn_driver_seconds(const RpinnDriver *driver) {
  return rpinn_steady_seconds() - driver->started;
}

void rpinn_driver_log(const RpinnDriver *driver, const char *format, ...) {
  if (!driver->log) return;
  char seconds[32], line[2048];
  va_list arguments;
  va_start(arguments, format);
  rpinn_format(seconds, sizeof seconds, "%10.3f", rpinn_driver_seconds(driver));
  rpinn_format_list(line, sizeof line, format, arguments);
  va_end(arguments);
  fprintf(driver->log, "%s  %s\n", seconds, line);
  fflush(driver->log);
}
