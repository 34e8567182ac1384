/* rpinn report RUN... */
#include "command.h"

static int run_report(const Options *options) {
  RpinnContext *context = make_context();
  if (!context) return EXIT_MACHINE;
  catch_signals(context);
  const RpinnReportOptions report = {.folder = options->out, .shape = options->shape, .json = options->json};
  char *text = rpinn_report(context, options->num_arguments, options->arguments, &report);
  int code = text ? print_and_free(text) : report_failure(context, rpinn_context_error(context)->status);
  rpinn_context_destroy(context);
  return code;
}

const Command command_report = {
    .name = "report",
    .arguments = "RUN...",
    .takes_many = true,
    .summary = "Make the page of a finished run anew, or one of several side by side, with figures for print",
    .details = "RUN is the directory of a finished run; nothing is sampled. Several runs must be of one "
               "problem and have\n"
               "the same predicted points. Beside report.html, the folder figures holds every figure of the "
               "page as a script\n"
               "for gnuplot and, where gnuplot is installed, as .svg, .pdf and .png.\n",
    .option_sets = OPTIONS_JSON | OPTIONS_REPORT,
    .run = run_report};
