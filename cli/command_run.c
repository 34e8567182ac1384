/* rpinn run PROBLEM */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static volatile sig_atomic_t stop_requested;

static void request_stop(int signal_number) {
  (void)signal_number;
  stop_requested = 1;
}

/* The first Ctrl-C or SIGTERM ends the run cleanly; a second one ends the program as usual. */
static void catch_signals(void) {
  struct sigaction action = {.sa_handler = request_stop, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

static bool stop_is_requested(void *user) {
  (void)user;
  return stop_requested != 0;
}

typedef struct ProgressLine {
  bool terminal;
  double next_plain; /* seconds: where there is no terminal, a line every ten seconds */
} ProgressLine;

static void show_progress(void *user, const RpinnProgress *progress) {
  ProgressLine *line = user;
  bool last = progress->iterations >= progress->max_iterations;
  if (!line->terminal && !last && progress->seconds < line->next_plain) return;
  line->next_plain = progress->seconds + 10;
  fprintf(stderr, "%siteration %zu of %zu, loss %.6g, %.1f s%s", line->terminal ? "\r\033[K" : "",
          progress->iterations, progress->max_iterations, progress->loss, progress->seconds,
          line->terminal ? "" : "\n");
  fflush(stderr);
}

static int perform(RpinnContext *context, RpinnProblem *problem, const Options *options) {
  char folder[512];
  if (options->folder)
    snprintf(folder, sizeof folder, "%s", options->folder);
  else
    snprintf(folder, sizeof folder, "results/%s-%s", rpinn_problem_name(problem),
             rpinn_problem_setting_text(problem, RPINN_SETTING_METHOD));
  ProgressLine line = {.terminal = isatty(STDERR_FILENO)};
  RpinnRunOptions run_options = {.folder = folder,
                                 .interrupted = stop_is_requested,
                                 .progress = options->quiet ? NULL : show_progress,
                                 .user = &line};
  RpinnRun *run;
  RpinnStatus status = rpinn_run(context, problem, &run_options, &run);
  if (line.terminal && !options->quiet) fprintf(stderr, "\r\033[K");
  if (status != RPINN_OK) return report_failure(context, status);
  bool printed = options->json     ? printf("%s", rpinn_run_json(run)) >= 0
                 : !options->quiet ? printf("%s\n%s/summary.json\n", rpinn_run_table(run), folder) >= 0
                                   : true;
  int code = printed && fflush(stdout) == 0 ? EXIT_DONE : EXIT_MACHINE;
  if (code != EXIT_DONE) fprintf(stderr, "rpinn: cannot write to the standard output\n");
  if (rpinn_run_interrupted(run)) {
    fprintf(stderr, "rpinn: interrupted; what was reached is in %s\n", folder);
    code = EXIT_INTERRUPTED;
  }
  rpinn_run_destroy(run);
  return code;
}

static int run_run(const Options *options) {
  RpinnContext *context = make_context();
  RpinnProblem *problem = NULL;
  if (!context) return EXIT_MACHINE;
  catch_signals();
  RpinnStatus status = rpinn_problem_load(context, options->problem, &options->loading, &problem);
  int code = status == RPINN_OK ? perform(context, problem, options) : report_failure(context, status);
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
  return code;
}

const Command command_run = {.name = "run",
                             .arguments = "PROBLEM",
                             .summary =
                                 "Find the most probable parameters of a problem and write a run directory",
                             .details = "PROBLEM is a shipped name (see rpinn list), a path to a YAML file, "
                                        "or the run.yaml of an earlier run. This\n"
                                        "version has --method map; --prior-scale inf gives maximum "
                                        "likelihood. The directory holds run.yaml (the\n"
                                        "complete problem), run.log, predictions.csv and summary.json.\n",
                             .option_sets = OPTIONS_PROBLEM | OPTIONS_JSON | OPTIONS_RUN,
                             .run = run_run};
