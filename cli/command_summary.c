/* rpinn summary RUN... */
#include <stdio.h>

#include "command.h"

static void print_heading(const char *folder, bool is_first) {
  char name[4096];
  snprintf(name, sizeof name, "%s", folder);
  printf("%s== %s\n", is_first ? "" : "\n", rpinn_make_printable(name));
}

static int run_summary(const Options *options) {
  RpinnContext *context = make_context();
  int code = EXIT_DONE;
  if (!context) return EXIT_MACHINE;
  for (size_t i = 0; i < options->num_arguments && code == EXIT_DONE; i++) {
    char *text = rpinn_run_summary(context, options->arguments[i], options->json);
    if (text && !options->json && options->num_arguments > 1) print_heading(options->arguments[i], i == 0);
    code = text ? print_and_free(text) : report_failure(context, rpinn_context_error(context)->status);
  }
  rpinn_context_destroy(context);
  return code;
}

const Command command_summary = {
    .name = "summary",
    .arguments = "RUN...",
    .takes_many = true,
    .summary = "Show the table of one or more finished runs",
    .details = "RUN is a run directory. With --json, its summary.json; that of several runs, one per line.\n",
    .option_sets = OPTIONS_JSON,
    .run = run_summary};
