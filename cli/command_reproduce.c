/* rpinn reproduce TABLE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

static bool is_figure(const char *name) {
  return !strncmp(name, "fig-", 4);
}

/* gnuplot NAME.gp in the folder, where gnuplot is installed. */
static void draw_figure(const char *folder, const char *name) {
  char script[64];
  int outcome = -1;
  snprintf(script, sizeof script, "%.32s.gp", name);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    if (chdir(folder) == 0) execlp("gnuplot", "gnuplot", script, (char *)NULL);
    _exit(127);
  }
  if (child > 0) waitpid(child, &outcome, 0);
  if (child < 0 || !WIFEXITED(outcome) || WEXITSTATUS(outcome) == 127)
    fprintf(stderr, "rpinn: no gnuplot, no figure: the CSV files and %s are in %s\n", script, folder);
  else if (WEXITSTATUS(outcome) != 0)
    fprintf(stderr, "rpinn: warning: gnuplot failed on %s/%s\n", folder, script);
}

static int print_results(const RpinnReproduction *reproduction, const Options *options, const char *folder) {
  if (rpinn_reproduction_interrupted(reproduction)) {
    fprintf(stderr, "rpinn: interrupted; what is done is saved in %s, and the same command goes on\n",
            folder);
    return EXIT_INTERRUPTED;
  }
  if (is_figure(options->problem)) draw_figure(folder, options->problem);
  if (options->json)
    printf("%s", rpinn_reproduction_json(reproduction));
  else
    printf("%s\n%s/%s.md\n", rpinn_reproduction_text(reproduction), folder,
           is_figure(options->problem) ? options->problem : "reproduce");
  return EXIT_DONE; /* main looks after failures to print */
}

static int run_reproduce(const Options *options) {
  RpinnContext *context = make_context();
  RpinnReproduction *reproduction = NULL;
  char folder[512], data[4096];
  const char *reference = getenv("RPINN_REFERENCE_DIR");
  if (!context) return EXIT_MACHINE;
  catch_signals();
  /* Figures are made of the runs of Table 4. */
  snprintf(folder, sizeof folder, "results/%.64s-%.64s",
           is_figure(options->problem) ? "table4" : options->problem,
           options->scale ? options->scale : "quick");
  snprintf(data, sizeof data, "%s/datasets", reference ? reference : "");
  ProgressLine line = {.terminal = isatty(STDERR_FILENO)};
  RpinnReproduceOptions reproduce = {.name = options->problem,
                                     .scale = options->scale,
                                     .methods = options->methods,
                                     .members = options->members,
                                     .data_folder = options->data_folder      ? options->data_folder
                                                    : reference && *reference ? data
                                                                              : NULL,
                                     .folder = options->out ? options->out : folder,
                                     .interrupted = stop_is_requested,
                                     .progress = options->quiet ? NULL : show_progress,
                                     .begins = options->quiet ? NULL : show_run,
                                     .estimate = options->quiet ? NULL : show_estimate,
                                     .user = &line};
  RpinnStatus status = rpinn_reproduce(context, &reproduce, &reproduction);
  if (line.terminal && !options->quiet) fprintf(stderr, "\r\033[K");
  int code = status == RPINN_OK ? print_results(reproduction, options, reproduce.folder)
                                : report_failure(context, status);
  rpinn_reproduction_destroy(reproduction);
  rpinn_context_destroy(context);
  return code;
}

const Command command_reproduce = {
    .name = "reproduce",
    .arguments = "NAME",
    .summary = "Make the runs of a table or figure of the paper and set them beside the published ones",
    .details =
        "NAME is table1 (linear Poisson equation), table2 (non-linear), table3 (chains of NUTS on it),\n"
        "table4 (Darcy), or fig-darcy-y, fig-darcy-h, fig-reference (maps).\n"
        "The runs are directories in --out; what is finished there is not made again. Writes reproduce.md,\n"
        "reproduce.csv and reproduce.json.\n",
    .option_sets = OPTIONS_REPRODUCE | OPTIONS_JSON,
    .run = run_reproduce};
