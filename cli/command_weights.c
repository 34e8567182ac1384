/* rpinn weights PROBLEM */
#include <stdio.h>
#include <unistd.h>

#include "command.h"

static void show_told(void *user, const RpinnWeightProgress *progress) {
  const ProgressLine *line = user;
  char left[32];
  print_time(left, progress->seconds_left);
  fprintf(stderr, "%s%zu of %zu %s, %s left\n", line->terminal ? "\r\033[K" : "", progress->done,
          progress->total, progress->work, left);
}

static int print_results(const RpinnWeightSearch *search, const Options *options, const char *folder) {
  if (rpinn_weight_search_interrupted(search)) {
    fprintf(stderr, "rpinn: interrupted; what is done is in %s, and the same command goes on\n", folder);
    return EXIT_INTERRUPTED;
  }
  if (options->json)
    printf("%s", rpinn_weight_search_json(search));
  else
    printf("%s\n%s/report.html\n", rpinn_weight_search_text(search), folder);
  if (options->write && !options->json) printf("%s\n", options->write);
  return EXIT_DONE;
}

static int search_into(RpinnContext *context, const Options *options, const char *folder) {
  RpinnWeightSearch *search = NULL;
  RpinnTaskShard shard;
  int code = read_task_shard(context, options, &shard);
  if (code >= 0) return code;
  ProgressLine line = {.terminal = isatty(STDERR_FILENO)};
  RpinnWeightOptions weights = {.problem = options->problem,
                                .loading = &options->loading,
                                .rules = options->rules,
                                .num_searches = options->num_searches,
                                .searches = options->searches,
                                .quantities = options->quantities,
                                .members = options->members,
                                .num_data_sets = options->num_data_sets,
                                .num_folds = options->num_folds,
                                .num_jobs = options->num_jobs,
                                .folder = folder,
                                .shard = shard,
                                .file = options->write,
                                .interrupted = stop_is_requested,
                                .progress = options->quiet || !line.terminal ? NULL : show_progress,
                                .told = options->quiet ? NULL : show_told,
                                .user = &line};
  RpinnStatus status = rpinn_search_weights(context, &weights, &search);
  if (line.terminal && !options->quiet) fprintf(stderr, "\r\033[K");
  code = status != RPINN_OK   ? report_failure(context, status)
         : launch_is_silent() ? (rpinn_weight_search_interrupted(search) ? EXIT_INTERRUPTED : EXIT_DONE)
         : shard.shard.count
             ? report_task_shard(shard, options, folder, rpinn_weight_search_interrupted(search))
             : print_results(search, options, folder);
  rpinn_weight_search_destroy(search);
  return code;
}

static int run_weights(const Options *options) {
  return run_study(options, "weights", search_into);
}

const Command command_weights = {
    .name = "weights",
    .arguments = "PROBLEM",
    .summary =
        "Find weights of the terms, the scale of the prior and epsilon: a grid, and what rules say of it",
    .details =
        "Rules: loo, evidence and folds go by the data; mse and lpp by the truth, as the paper does; "
        "gradients,\n"
        "annealing and kernel give weights without a search. Under likelihood noise, the default, weights "
        "are\n"
        "1/noise^2 and epsilon has no meaning: scale and shape of the prior are searched.\n"
        "Writes report.html, weights.md, .csv and .json, and chosen.yaml; what is known in --out is not made "
        "again.\n",
    .ranks = RANKS_TOGETHER,
    .option_sets = OPTIONS_PROBLEM | OPTIONS_JSON | OPTIONS_WEIGHTS | OPTIONS_SHARD,
    .run = run_weights};
