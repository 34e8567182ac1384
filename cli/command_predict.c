/* rpinn predict RUN --points FILE.csv */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

static int write_file(const char *path, char *text) {
  FILE *file = fopen(path, "wb");
  bool written = file && fputs(text, file) >= 0;
  int reason = errno;
  bool closed = file && fclose(file) == 0;
  free(text);
  if (written && closed) return EXIT_DONE;
  fprintf(stderr, "rpinn: cannot write '%s': %s\n", path, strerror(written || !file ? errno : reason));
  return EXIT_MACHINE;
}

static int run_predict(const Options *options) {
  if (!options->points)
    return report_usage("rpinn predict needs --points FILE.csv; try rpinn predict --help");
  RpinnContext *context = make_context();
  if (!context) return EXIT_MACHINE;
  RpinnPredictOptions predict = {
      .points_file = options->points, .quantities = options->quantities, .extrapolate = options->extrapolate};
  char *text = rpinn_run_predict(context, options->problem, &predict);
  int code = !text          ? report_failure(context, rpinn_context_error(context)->status)
             : options->out ? write_file(options->out, text)
                            : print_and_free(text);
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
