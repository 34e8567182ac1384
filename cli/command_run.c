/* rpinn run PROBLEM */
#include <stdio.h>
#include <unistd.h>

#include "command.h"

static int print_shard(const RpinnRun *run, const Options *options, const char *folder) {
  if (options->json)
    printf("%s", rpinn_run_json(run));
  else if (!options->quiet)
    printf("%s%s\n", rpinn_run_table(run), folder);
  return EXIT_DONE; /* main looks after failures to print */
}

/* The report comes last; a run whose report cannot be written still shows its results. */
int print_run(RpinnContext *context, const RpinnRun *run, const Options *options, const char *folder) {
  if (rpinn_run_is_shard(run)) return print_shard(run, options, folder);
  RpinnStatus status = rpinn_report_write(context, run);
  if (options->json) {
    printf("%s", rpinn_run_json(run));
  } else if (!options->quiet) {
    printf("%s\n%s/summary.json\n", rpinn_run_table(run), folder);
    if (status == RPINN_OK) printf("%s/report.html\n", folder);
  }
  fflush(stdout); /* before a message about the report; main looks after failures to print */
  return status == RPINN_OK ? EXIT_DONE : report_failure(context, status);
}

/* results/PROBLEM-METHOD, and a folder for every shard. */
static void name_folder(const RpinnProblem *problem, RpinnShard shard, char folder[512]) {
  char ending[64] = "";
  if (shard.count) snprintf(ending, sizeof ending, "-shards/%zu-of-%zu", shard.number, shard.count);
  snprintf(folder, 512, "results/%s-%s%s", rpinn_problem_name(problem),
           rpinn_problem_setting_text(problem, RPINN_SETTING_METHOD), ending);
}

static int perform(RpinnContext *context, RpinnProblem *problem, const Options *options, RpinnShard shard) {
  char usual[512]; /* names of problems have at most 200 bytes */
  const char *folder = options->out ? options->out : usual;
  name_folder(problem, shard, usual);
  ProgressLine line = {.terminal = isatty(STDERR_FILENO)};
  RpinnRunOptions run_options = {.folder = folder,
                                 .resume = options->resume,
                                 .shard = shard,
                                 .learnt = options->learnt,
                                 .ranks = launch_ranks(),
                                 .interrupted = stop_is_requested,
                                 .progress = options->quiet ? NULL : show_progress,
                                 .user = &line};
  RpinnRun *run;
  RpinnStatus status = rpinn_run(context, problem, &run_options, &run);
  if (line.terminal && !options->quiet && !launch_is_silent()) fprintf(stderr, "\r\033[K");
  if (status != RPINN_OK) return report_failure(context, status);
  int code = EXIT_INTERRUPTED;
  if (launch_is_silent())
    code = EXIT_DONE; /* rank 0 knows how the run has ended */
  else if (rpinn_run_interrupted(run))
    fprintf(stderr, "rpinn: interrupted; the members made so far are saved in %s, and --resume goes on\n",
            folder);
  else
    code = print_run(context, run, options, folder);
  rpinn_run_destroy(run);
  return code;
}

static int show_plan(RpinnContext *context, RpinnProblem *problem, RpinnShard shard) {
  char *plan = rpinn_run_plan(context, problem, shard);
  return plan ? print_and_free(plan) : report_failure(context, rpinn_context_error(context)->status);
}

int read_shard(RpinnContext *context, const Options *options, RpinnShard *shard) {
  *shard = (RpinnShard){0};
  if (!options->shard) return -1;
  RpinnStatus status = rpinn_shard_parse(context, options->shard, shard);
  return status == RPINN_OK ? -1 : report_failure(context, status);
}

static int run_run(const Options *options) {
  if (options->plan && options->json)
    return report_usage("--plan has no JSON form; expected it without --json");
  RpinnContext *context = make_context();
  RpinnProblem *problem = NULL;
  if (!context) return EXIT_MACHINE;
  catch_signals(context);
  go_on_without_readers();
  RpinnShard shard;
  int code = read_shard(context, options, &shard);
  RpinnStatus status = RPINN_OK;
  if (code < 0) status = rpinn_problem_load(context, options->problem, &options->loading, &problem);
  if (code < 0)
    code = status != RPINN_OK ? report_failure(context, status)
           : options->plan    ? show_plan(context, problem, shard)
                              : perform(context, problem, options, shard);
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
  return code;
}

const Command command_run = {
    .name = "run",
    .arguments = "PROBLEM",
    .summary = "Sample a posterior, or find its most probable point, and write a run directory",
    .details =
        "PROBLEM is a shipped name (see rpinn list), a path to a YAML file, or the run.yaml of an earlier "
        "run.\n"
        "--method chooses among the methods that rpinn list shows; map with --prior-scale inf is maximum\n"
        "likelihood. Ctrl-C, SIGTERM and SIGHUP save at any stage; --resume goes on and gives the same "
        "bytes as\n"
        "a run that was never stopped. A run that --time-limit ends shows what it has; with nothing to show "
        "yet\n"
        "it ends as after Ctrl-C, with exit code 130. --shard I/N makes a part, anywhere: "
        "docs/clusters.md.\n",
    .option_sets = OPTIONS_PROBLEM | OPTIONS_JSON | OPTIONS_RUN | OPTIONS_SHARD,
    .ranks = RANKS_TOGETHER,
    .run = run_run};
