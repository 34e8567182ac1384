/* rpinn bench */
#include <stdio.h>
#include <stdlib.h>

#include "command.h"

static int run_bench(const Options *options) {
  RpinnContext *context = make_context();
  RpinnBench *bench = NULL;
  if (!context) return EXIT_MACHINE;
  RpinnBenchOptions bench_options = {.repetitions = options->repetitions};
  RpinnStatus status = rpinn_bench_create(context, &bench_options, &bench);
  int code = status == RPINN_OK
                 ? print_and_free(options->json ? rpinn_bench_json(bench) : rpinn_bench_text(bench))
                 : report_failure(context, status);
  if (code == EXIT_DONE && options->at_least > 0 && rpinn_bench_worst(bench) < options->at_least) {
    fprintf(stderr, "rpinn: a speed is below %g of its bar\n", options->at_least);
    code = EXIT_PROBLEMS;
  }
  rpinn_bench_destroy(bench);
  rpinn_context_destroy(context);
  return code;
}

const Command command_bench = {
    .name = "bench",
    .arguments = "",
    .summary = "Measure speed, as a share of what a core of this machine can do",
    .details = "Ratios are measured within one run and are comparable between runs; times are not.\n",
    .option_sets = OPTIONS_JSON | OPTIONS_BENCH,
    .run = run_bench};
