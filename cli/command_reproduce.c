/* rpinn reproduce NAME */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static void show_run(void *user, const char *run) {
  ProgressLine *line = user;
  line->next_plain = 0;
  fprintf(stderr, "%s%s\n", line->terminal ? "\r\033[K" : "", run);
}

static void show_estimate(void *user, size_t num_runs, double seconds) {
  (void)user;
  fprintf(stderr, "%zu run%s to make, about %.*f %s at most\n", num_runs, num_runs == 1 ? "" : "s",
          seconds < 120 ? 0 : 1,
          seconds < 120    ? seconds
          : seconds < 7200 ? seconds / 60
                           : seconds / 3600,
          seconds < 120    ? "s"
          : seconds < 7200 ? "min"
                           : "h");
}

static void show_not_drawn(void *user, const char *folder, const char *name, bool has_gnuplot) {
  (void)user;
  if (has_gnuplot)
    fprintf(stderr, "rpinn: warning: gnuplot failed on %s/%s.gp\n", folder, name);
  else
    fprintf(stderr, "rpinn: no gnuplot, no figure: %s.gp is in %s\n", name, folder);
}

static int report_interruption(const char *folder) {
  fprintf(stderr, "rpinn: interrupted; what is done is saved in %s, and the same command goes on\n", folder);
  return EXIT_INTERRUPTED;
}

static int print_results(const RpinnReproduction *reproduction, const Options *options, const char *folder) {
  if (rpinn_reproduction_interrupted(reproduction)) return report_interruption(folder);
  if (options->json)
    printf("%s", rpinn_reproduction_json(reproduction));
  else
    printf("%s\n%s/%s.md\n", rpinn_reproduction_text(reproduction), folder, options->problem);
  return EXIT_DONE; /* main looks after failures to print */
}

static int reproduce_into(RpinnContext *context, const Options *options,
                          const RpinnReproduceOptions *reproduce, const ProgressLine *line) {
  RpinnReproduction *reproduction = NULL;
  RpinnStatus status = rpinn_reproduce(context, reproduce, &reproduction);
  if (line->terminal && !options->quiet) fprintf(stderr, "\r\033[K");
  bool is_interrupted = status == RPINN_ERROR_INTERRUPTED ||
                        (status == RPINN_OK && rpinn_reproduction_interrupted(reproduction));
  int code = launch_is_silent() && is_interrupted ? EXIT_INTERRUPTED
             : status == RPINN_ERROR_INTERRUPTED  ? report_interruption(reproduce->folder)
             : status != RPINN_OK                 ? report_failure(context, status)
             : launch_is_silent()                 ? EXIT_DONE
             : reproduce->shard.shard.count ? report_task_shard(reproduce->shard, options, reproduce->folder,
                                                                rpinn_reproduction_interrupted(reproduction))
                                            : print_results(reproduction, options, reproduce->folder);
  rpinn_reproduction_destroy(reproduction);
  return code;
}

static int run_reproduce(const Options *options) {
  RpinnContext *context = make_context();
  char folder[512], data[4096];
  const char *reference = getenv("RPINN_REFERENCE_DIR");
  if (!context) return EXIT_MACHINE;
  catch_signals(context);
  go_on_without_readers();
  /* Tables and figures share runs, so everything of one scale shares a folder. */
  snprintf(folder, sizeof folder, "results/paper-%.64s", options->scale ? options->scale : "quick");
  snprintf(data, sizeof data, "%s/datasets", reference ? reference : "");
  ProgressLine line = {.terminal = isatty(STDERR_FILENO)};
  RpinnTaskShard shard;
  int code = read_task_shard(context, options, &shard);
  RpinnReproduceOptions reproduce = {.name = options->problem,
                                     .scale = options->scale,
                                     .methods = options->methods,
                                     .members = options->members,
                                     .backend = options->backend,
                                     .precision = options->precision,
                                     .data_folder = options->data_folder      ? options->data_folder
                                                    : reference && *reference ? data
                                                                              : NULL,
                                     .folder = options->out ? options->out : folder,
                                     .shard = shard,
                                     .interrupted = stop_is_requested,
                                     .progress = options->quiet ? NULL : show_progress,
                                     .begins = options->quiet ? NULL : show_run,
                                     .estimate = options->quiet ? NULL : show_estimate,
                                     .not_drawn = show_not_drawn,
                                     .user = &line};
  if (code < 0) code = reproduce_into(context, options, &reproduce, &line);
  rpinn_context_destroy(context);
  return code;
}

static void print_names(void) {
  printf("\nNAME is one of\n");
  for (size_t i = 0; rpinn_reproduce_name(i); i++)
    printf("  %-24s %s\n", rpinn_reproduce_name(i), rpinn_reproduce_description(i));
}

const Command command_reproduce = {
    .name = "reproduce",
    .arguments = "NAME",
    .summary = "Make the runs of a table or figure of the paper and set them beside the published ones",
    .details = "The runs are directories in --out; what is finished there is not made again. Writes NAME.md, "
               "NAME.json\n"
               "and CSV files beside them.\n",
    .print_details = print_names,
    .ranks = RANKS_TOGETHER,
    .option_sets = OPTIONS_REPRODUCE | OPTIONS_JSON | OPTIONS_SHARD,
    .run = run_reproduce};
