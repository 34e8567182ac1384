/* rpinn bench */
#include <stdio.h>
#include <stdlib.h>

#include "command.h"

static int run_speed(RpinnContext *context, const Options *options) {
  RpinnBench *bench = NULL;
  RpinnBenchOptions bench_options = {.repetitions = options->repetitions, .backend = options->backend};
  RpinnStatus status = rpinn_bench_create(context, &bench_options, &bench);
  int code = status == RPINN_OK
                 ? print_and_free(options->json ? rpinn_bench_json(bench) : rpinn_bench_text(bench))
                 : report_failure(context, status);
  if (code == EXIT_DONE && options->at_least > 0 && rpinn_bench_worst(bench) < options->at_least) {
    fprintf(stderr, "rpinn: a speed is below %g of its bar\n", options->at_least);
    code = EXIT_PROBLEMS;
  }
  rpinn_bench_destroy(bench);
  return code;
}

static int run_bench(const Options *options) {
  if (!options->scaling && (options->ranks || options->launcher || options->seconds > 0 || options->out))
    return report_usage("--ranks, --launcher, --seconds and --out are for rpinn bench --scaling");
  if (!options->scaling && launch_ranks())
    return report_usage(
        "rpinn bench is work for one process; expected it without a launcher, or with --scaling");
  if (options->scaling && options->backend) return report_usage("--backend is not for --scaling");
  if (options->scaling && options->at_least > 0) return report_usage("--at-least is not for --scaling");
  RpinnContext *context = make_context();
  if (!context) return EXIT_MACHINE;
  int code = options->scaling ? bench_scaling(context, options) : run_speed(context, options);
  rpinn_context_destroy(context);
  return code;
}

const Command command_bench = {
    .name = "bench",
    .arguments = "",
    .summary = "Measure speed, as a share of what a core of this machine, or its GPU, can do",
    .details = "Ratios are measured within one run and are comparable between runs; times are not.\n"
               "--scaling measures what it costs to have a run made by many ranks: messages, members that "
               "cost nothing, weak\n"
               "and strong scaling with members of 10 ms; and what a model that is fitted to this says of up "
               "to 1,024 of them.\n",
    .option_sets = OPTIONS_JSON | OPTIONS_BENCH,
    .ranks = RANKS_TOGETHER,
    .run = run_bench};
