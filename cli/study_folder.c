#include <stdio.h>

#include "command.h"

int run_study(const Options *options, const char *kind,
              int (*run_into)(RpinnContext *context, const Options *options, const char *folder)) {
  RpinnContext *context = make_context();
  RpinnProblem *problem = NULL;
  char usual[512]; /* names of problems have at most 200 bytes */
  if (!context) return EXIT_MACHINE;
  catch_signals(context);
  go_on_without_readers();
  RpinnStatus status = rpinn_problem_load(context, options->problem, &options->loading, &problem);
  if (status == RPINN_OK) snprintf(usual, sizeof usual, "results/%s-%s", rpinn_problem_name(problem), kind);
  rpinn_problem_destroy(problem);
  int code = status == RPINN_OK ? run_into(context, options, options->out ? options->out : usual)
                                : report_failure(context, status);
  rpinn_context_destroy(context);
  return code;
}
