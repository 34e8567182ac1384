/* rpinn merge DIR... */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "command.h"

/* A store is open for every shard: as many files as the system allows. */
static void allow_many_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static int report_interruption(const Options *options) {
  fprintf(stderr,
          "rpinn: interrupted; the shards are as they were, and in %s there is no run, or one that rpinn run "
          "%s/run.yaml --out %s --resume ends\n",
          options->out, options->out, options->out);
  return EXIT_INTERRUPTED;
}

static int merge_run(RpinnContext *context, const Options *options, const RpinnMergeOptions *merge) {
  RpinnRun *run = NULL;
  RpinnStatus status = rpinn_merge(context, merge, &run);
  if (!options->quiet && isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
  int code = status == RPINN_ERROR_INTERRUPTED ? report_interruption(options)
             : status != RPINN_OK              ? report_failure(context, status)
             : rpinn_run_interrupted(run)      ? report_interruption(options)
                                               : print_run(context, run, options, options->out);
  rpinn_run_destroy(run);
  return code;
}

static int run_merge(const Options *options) {
  if (!options->out) return report_usage("rpinn merge needs --out RUN, the folder of the result");
  RpinnContext *context = make_context();
  if (!context) return EXIT_MACHINE;
  catch_signals(context);
  go_on_without_readers();
  allow_many_files();
  ProgressLine line = {.terminal = isatty(STDERR_FILENO)};
  RpinnMergeOptions merge = {.num_folders = options->num_arguments,
                             .folders = options->arguments,
                             .folder = options->out,
                             .partial = options->partial,
                             .interrupted = stop_is_requested,
                             .progress = options->quiet ? NULL : show_progress,
                             .user = &line};
  int code = merge_run(context, options, &merge);
  rpinn_context_destroy(context);
  return code;
}

const Command command_merge = {
    .name = "merge",
    .arguments = "DIR...",
    .takes_many = true,
    .summary = "Join the shards of a run to one run directory",
    .details =
        "DIR is the folder of a shard that rpinn run --shard I/N has made, or a folder of such folders. "
        "The run in --out\n"
        "is, but for times, that of a single process. What is missing is named, with the command that makes "
        "it.\n",
    .option_sets = OPTIONS_JSON | OPTIONS_MERGE,
    .run = run_merge};
