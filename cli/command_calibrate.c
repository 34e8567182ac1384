/* rpinn calibrate PROBLEM */
#include <stdio.h>
#include <unistd.h>

#include "command.h"

static void show_scored(void *user, const RpinnCalibrateProgress *calibration) {
  const ProgressLine *line = user;
  char left[32];
  print_time(left, calibration->seconds_left);
  fprintf(stderr, "%s%zu of %zu runs, %s left; 95 %% intervals hold, %s\n", line->terminal ? "\r\033[K" : "",
          calibration->done, calibration->total, left, calibration->line);
}

static int print_results(const RpinnCalibration *calibration, const Options *options, const char *folder) {
  if (rpinn_calibration_interrupted(calibration))
    fprintf(stderr, "rpinn: interrupted; the scores so far are in %s, and the same command goes on\n",
            folder);
  if (rpinn_calibration_text(calibration)) {
    if (options->json)
      printf("%s", rpinn_calibration_json(calibration));
    else
      printf("%s%s/report.html\n", rpinn_calibration_text(calibration), folder);
  }
  return rpinn_calibration_interrupted(calibration) ? EXIT_INTERRUPTED : EXIT_DONE;
}

static int calibrate_into(RpinnContext *context, const Options *options, const char *folder) {
  RpinnCalibration *calibration = NULL;
  RpinnTaskShard shard;
  int code = read_task_shard(context, options, &shard);
  if (code >= 0) return code;
  ProgressLine line = {.terminal = isatty(STDERR_FILENO)};
  RpinnCalibrateOptions calibrate = {.problem = options->problem,
                                     .loading = &options->loading,
                                     .from = options->from,
                                     .num_data_sets = options->num_data_sets,
                                     .num_folds = options->num_folds,
                                     .blocks = options->blocks,
                                     .redraw = options->redraw,
                                     .methods = options->methods,
                                     .members = options->members,
                                     .folder = folder,
                                     .num_jobs = options->num_jobs,
                                     .shard = shard,
                                     .keep_runs = options->keep_runs,
                                     .interrupted = stop_is_requested,
                                     .progress = options->quiet || !line.terminal ? NULL : show_progress,
                                     .scored = options->quiet ? NULL : show_scored,
                                     .user = &line};
  RpinnStatus status = rpinn_calibrate(context, &calibrate, &calibration);
  if (line.terminal && !options->quiet) fprintf(stderr, "\r\033[K");
  code = status != RPINN_OK   ? report_failure(context, status)
         : launch_is_silent() ? (rpinn_calibration_interrupted(calibration) ? EXIT_INTERRUPTED : EXIT_DONE)
         : shard.shard.count
             ? report_task_shard(shard, options, folder, rpinn_calibration_interrupted(calibration))
             : print_results(calibration, options, folder);
  rpinn_calibration_destroy(calibration);
  return code;
}

static int run_calibrate(const Options *options) {
  return run_study(options, "calibration", calibrate_into);
}

const Command command_calibrate = {
    .name = "calibrate",
    .arguments = "PROBLEM",
    .summary = "Find out whether intervals hold: many data sets from the truth, a run for each",
    .details =
        "Every data set has fresh noise on the same points (--redraw noise) or more, or a truth of its own "
        "from the prior\n"
        "(--from prior); measurements without a truth are left out in folds (--from data). Everything that "
        "the data decide\n"
        "is decided anew. Writes report.html and calibration.md, .csv and .json; what is scored in --out "
        "is not made again.\n",
    .ranks = RANKS_TOGETHER,
    .option_sets = OPTIONS_PROBLEM | OPTIONS_JSON | OPTIONS_CALIBRATE | OPTIONS_SHARD,
    .run = run_calibrate};
