/* rpinn check PROBLEM */
#include <stdio.h>
#include <unistd.h>

#include "command.h"

static int show_prior(RpinnContext *context, const RpinnProblem *problem, const Options *options) {
  ProgressLine line = {.terminal = isatty(STDERR_FILENO)};
  const RpinnPriorCheckOptions wanted = {.json = options->json,
                                         .folder = options->out,
                                         .progress = line.terminal ? show_progress : NULL,
                                         .user = &line};
  char *text = rpinn_check_prior(context, problem, &wanted);
  if (line.terminal) fprintf(stderr, "\r\033[K");
  return text ? print_and_free(text) : report_failure(context, rpinn_context_error(context)->status);
}

static int show_check(RpinnContext *context, const RpinnProblem *problem, const Options *options) {
  RpinnCheck *check = NULL;
  RpinnStatus status = rpinn_check_create(context, problem, &check);
  if (status != RPINN_OK) return report_failure(context, status);
  int code = print_and_free(options->json ? rpinn_check_json(check) : rpinn_check_text(check));
  if (code == EXIT_DONE && !rpinn_check_passed(check)) code = EXIT_PROBLEMS;
  rpinn_check_destroy(check);
  return code;
}

static int run_check(const Options *options) {
  if (options->out && !options->prior)
    return report_usage("--out is for --prior, which writes a page; found it without --prior");
  RpinnContext *context = make_context();
  RpinnProblem *problem = NULL;
  if (!context) return EXIT_MACHINE;
  catch_signals(context);
  /* The page lists the warnings itself. */
  if (!options->prior) rpinn_context_set_log(context, NULL, NULL);
  RpinnStatus status = rpinn_problem_load(context, options->problem, &options->loading, &problem);
  int code = status != RPINN_OK ? report_failure(context, status)
             : options->prior   ? show_prior(context, problem, options)
                                : show_check(context, problem, options);
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
  return code;
}

const Command command_check = {
    .name = "check",
    .arguments = "PROBLEM",
    .summary =
        "Validate a problem, show what it compiles to and with which standard deviations, and test its "
        "derivatives",
    .details = "PROBLEM is a shipped name (see rpinn list) or a path to a YAML file. Data are not needed: "
               "missing ones\n"
               "count as zeros. Exit code 3 when a derivative disagrees with finite differences.\n"
               "--prior, which needs data, shows the prior instead: its scale as rpinn run would choose it, "
               "the curve of\n"
               "the choice, and what draws of the prior say beside the data.\n",
    .option_sets = OPTIONS_PROBLEM | OPTIONS_JSON | OPTIONS_CHECK,
    .run = run_check};
