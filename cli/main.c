/* The program rpinn: finds the command and hands the arguments on. */
#include <stdio.h>
#include <string.h>

#include "command.h"

static const Command *const commands[] = {&command_run,      &command_check,     &command_list,
                                          &command_summary,  &command_compare,   &command_predict,
                                          &command_diagnose, &command_reproduce, &command_bench};
enum { NUM_COMMANDS = sizeof commands / sizeof commands[0] };

static int print_usage(FILE *stream) {
  fprintf(stream,
          "rpinn %s - Bayesian inversion of PDEs with randomized physics-informed neural networks\n\n"
          "usage: rpinn COMMAND [arguments]\n\ncommands\n",
          rpinn_version());
  for (size_t i = 0; i < NUM_COMMANDS; i++)
    fprintf(stream, "  %-9s %-7s %s\n", commands[i]->name, commands[i]->arguments, commands[i]->summary);
  fprintf(
      stream,
      "\nrpinn COMMAND --help explains one of them. Exit codes: 0 done, 1 the machine failed, 2 bad input "
      "or usage,\n"
      "3 problems found, 130 interrupted.\n");
  return EXIT_DONE;
}

static int run(int argc, char **argv) {
  if (argc < 2) {
    print_usage(stderr);
    return EXIT_USAGE;
  }
  const char *name = argv[1];
  if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) return print_usage(stdout);
  if (!strcmp(name, "--version")) {
    printf("rpinn %s\n", rpinn_version());
    return EXIT_DONE;
  }
  for (size_t i = 0; i < NUM_COMMANDS; i++) {
    if (strcmp(name, commands[i]->name) != 0) continue;
    static Options options;
    int code = options_parse(commands[i], argc - 2, argv + 2, &options);
    return code >= 0 ? code : commands[i]->run(&options);
  }
  const char *known[NUM_COMMANDS];
  for (size_t i = 0; i < NUM_COMMANDS; i++) known[i] = commands[i]->name;
  const char *near = rpinn_nearest_name(name, known, NUM_COMMANDS);
  if (near)
    return report_usage("unknown command '%s'; did you mean '%s'? rpinn --help lists them", name, near);
  return report_usage("unknown command '%s'; rpinn --help lists them", name);
}

/* What was printed counts only once it has arrived: a full disk is the machine's failure. */
int main(int argc, char **argv) {
  int code = run(argc, argv);
  bool printed = fflush(stdout) == 0 && !ferror(stdout);
  if (printed) return code;
  fprintf(stderr, "rpinn: cannot write to the standard output\n");
  return EXIT_MACHINE;
}
