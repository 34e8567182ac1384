/* rpinn diagnose RUN, rpinn diagnose CSV... */
#include <sys/stat.h>

#include "command.h"

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int run_diagnose(const Options *options) {
  RpinnContext *context = make_context();
  if (!context) return EXIT_MACHINE;
  catch_signals(context);
  const RpinnDiagnoseOptions diagnose = {
      .json = options->json, .all = options->all, .strict = options->strict, .shape = options->shape};
  bool healthy, is_run = options->num_arguments == 1 && is_folder(options->arguments[0]);
  if (!is_run && (options->strict || options->shape)) {
    rpinn_context_destroy(context);
    return report_usage("%s is for a run directory", options->strict ? "--strict" : "--shape");
  }
  char *text =
      is_run ? rpinn_diagnose_run(context, options->arguments[0], &diagnose, &healthy)
             : rpinn_diagnose_csv(context, options->num_arguments, options->arguments, &diagnose, &healthy);
  int code = text ? print_and_free(text) : report_failure(context, rpinn_context_error(context)->status);
  if (code == EXIT_DONE && !healthy) code = EXIT_PROBLEMS;
  rpinn_context_destroy(context);
  return code;
}

const Command command_diagnose = {
    .name = "diagnose",
    .arguments = "RUN|CSV...",
    .takes_many = true,
    .summary = "Judge a run, or chains of draws: can they be used, what was found, what to try",
    .details = "RUN is the directory of a finished run: its verdict, good, fair or bad, and what was found "
               "(docs/verdicts.md).\n"
               "Exit code 3 when it is bad; with --strict also when chains show any of the following.\n"
               "CSV is a file that CmdStan's method sample wrote, one for each chain; rows of the warmup are "
               "left out.\n"
               "Exit code 3 when R-hat is above 1.01, an effective size below 100 per chain, E-BFMI below "
               "0.3, or any\n"
               "trajectory diverged.\n",
    .option_sets = OPTIONS_JSON | OPTIONS_DIAGNOSE,
    .run = run_diagnose};
