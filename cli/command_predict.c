/* rpinn predict RUN --points FILE.csv */
#include <stdlib.h>

#include "command.h"

static int run_predict(const Options *options) {
  if (!options->points)
    return report_usage("rpinn predict needs --points FILE.csv; try rpinn predict --help");
  RpinnContext *context = make_context();
  if (!context) return EXIT_MACHINE;
  catch_signals(context);
  RpinnPredictOptions predict = {.points_file = options->points,
                                 .quantities = options->quantities,
                                 .extrapolate = options->extrapolate,
                                 .out_file = options->out};
  char *text = rpinn_run_predict(context, options->problem, &predict);
  int code = EXIT_DONE;
  if (!text)
    code = report_failure(context, rpinn_context_error(context)->status);
  else if (options->out)
    free(text);
  else
    code = print_and_free(text);
  rpinn_context_destroy(context);
  return code;
}

const Command command_predict = {
    .name = "predict",
    .arguments = "RUN",
    .summary = "Evaluate a finished run at the points of a CSV file",
    .details = "RUN is a run directory. The result is CSV: the coordinates, then mean, std, q025, median and "
               "q975 of\n"
               "every quantity over all members.\n",
    .option_sets = OPTIONS_PREDICT,
    .run = run_predict};
