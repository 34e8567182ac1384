/* rpinn compare RUN... */
#include "command.h"

static int run_compare(const Options *options) {
  RpinnContext *context = make_context();
  if (!context) return EXIT_MACHINE;
  char *text = rpinn_compare(context, options->num_arguments, options->arguments, options->json);
  int code = text ? print_and_free(text) : report_failure(context, rpinn_context_error(context)->status);
  rpinn_context_destroy(context);
  return code;
}

const Command command_compare = {
    .name = "compare",
    .arguments = "RUN...",
    .takes_many = true,
    .summary = "Show finished runs side by side: one table per quantity, one row per run",
    .details = "RUN is a run directory; methods, seeds or settings may differ between them.\n",
    .option_sets = OPTIONS_JSON,
    .run = run_compare};
