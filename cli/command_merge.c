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

/* The command that the shards are of, in the folder where all of their runs are: it makes none, and writes its tables. */
static int make_study(const RpinnMergedTasks *tasks, const Options *options) {
  enum { MOST = 4200 };
  static char *words[MOST];
  int count = 0;
  const char *argument;
  words[count++] = (char *)"rpinn";
  for (size_t k = 0; (argument = rpinn_merged_tasks_argument(tasks, k)) && count < MOST - 5; k++)
    words[count++] = (char *)argument;
  words[count++] = (char *)"--out";
  words[count++] = (char *)options->out;
  if (options->quiet) words[count++] = (char *)"--quiet";
  if (options->json) words[count++] = (char *)"--json";
  return dispatch(count, words);
}

static int merge_study(RpinnContext *context, const Options *options, const RpinnMergeOptions *merge) {
  RpinnMergedTasks *tasks = NULL;
  RpinnStatus status = rpinn_merge_tasks(context, merge, &tasks);
  int code = status == RPINN_ERROR_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_DONE;
  if (status == RPINN_ERROR_INTERRUPTED)
    fprintf(stderr, "rpinn: interrupted; the shards are as they were, and %s can be removed\n", options->out);
  else if (status != RPINN_OK)
    code = report_failure(context, status);
  else if (rpinn_merged_tasks_are_complete(tasks))
    code = make_study(tasks, options);
  else if (!options->quiet)
    printf("%s has the runs that are there; the command of the study with --out %s makes the others\n",
           options->out, options->out);
  rpinn_merged_tasks_destroy(tasks);
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
  bool is_study = rpinn_holds_task_shards(options->problem);
  int code = is_study ? merge_study(context, options, &merge) : merge_run(context, options, &merge);
  rpinn_context_destroy(context);
  return code;
}

const Command command_merge = {
    .name = "merge",
    .arguments = "DIR...",
    .takes_many = true,
    .summary = "Join the shards of a run to one run directory, or those of a study",
    .details =
        "DIR is the folder of a shard that rpinn run --shard I/N has made, or a folder of such folders. "
        "The run in --out\n"
        "is, but for times, that of a single process. What is missing is named, with the command that makes "
        "it.\n"
        "Shards of rpinn calibrate, weights and reproduce become the folder of the study, with its tables.\n",
    .option_sets = OPTIONS_JSON | OPTIONS_MERGE,
    .run = run_merge};
