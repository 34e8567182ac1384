/* rpinn check PROBLEM */
#include "command.h"

static int run_check(const Options *options) {
  RpinnContext *context = make_context();
  RpinnProblem *problem = NULL;
  RpinnCheck *check = NULL;
  int code = EXIT_MACHINE;
  if (!context) return code;
  /* The page lists the warnings itself. */
  rpinn_context_set_log(context, NULL, NULL);
  RpinnStatus status = rpinn_problem_load(context, options->problem, &options->loading, &problem);
  if (status == RPINN_OK) status = rpinn_check_create(context, problem, &check);
  if (status != RPINN_OK) {
    code = report_failure(context, status);
  } else {
    code = print_and_free(options->json ? rpinn_check_json(check) : rpinn_check_text(check));
    if (code == EXIT_DONE && !rpinn_check_passed(check)) code = EXIT_PROBLEMS;
  }
  rpinn_check_destroy(check);
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
               "count as zeros. Exit code 3 when a derivative disagrees with finite differences.\n",
    .option_sets = OPTIONS_PROBLEM | OPTIONS_JSON,
    .run = run_check};
