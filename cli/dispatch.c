/* The table of commands: finds the one that is meant and hands the arguments on. */
#include <stdio.h>
#include <string.h>

#include "command.h"

static const Command *const commands[] = {&command_run,
                                          &command_check,
                                          &command_list,
                                          &command_summary,
                                          &command_compare,
                                          &command_predict,
                                          &command_diagnose,
                                          &command_report,
                                          &command_merge,
                                          &command_calibrate,
                                          &command_weights,
                                          &command_reproduce,
                                          &command_reference_field,
                                          &command_reference_solve,
                                          &command_bench};
enum { NUM_COMMANDS = sizeof commands / sizeof commands[0] };

const Command *command_at(size_t index) {
  return index < NUM_COMMANDS ? commands[index] : NULL;
}

static int print_usage(FILE *stream) {
  fprintf(stream,
          "rpinn %s - Bayesian inversion of PDEs with randomized physics-informed neural networks\n\n"
          "usage: rpinn COMMAND [arguments]\n\ncommands\n",
          rpinn_version());
  for (size_t i = 0; i < NUM_COMMANDS; i++)
    fprintf(stream, "  %-15s %-7s %s\n", commands[i]->name, commands[i]->arguments, commands[i]->summary);
  fprintf(
      stream,
      "\nrpinn COMMAND --help explains one of them. Exit codes: 0 done, 1 the machine failed, 2 bad input "
      "or usage,\n"
      "3 problems found, 130 interrupted.\n");
  return EXIT_DONE;
}

/* How many of the words are the command's name; 0: it is another. */
static int match(const Command *command, int argc, char **argv) {
  size_t length = strlen(argv[1]);
  if (!strcmp(command->name, argv[1])) return 1;
  bool first = !strncmp(command->name, argv[1], length) && command->name[length] == ' ';
  return first && argc > 2 && !strcmp(command->name + length + 1, argv[2]) ? 2 : 0;
}

/* The first word of a command of two, and no second one. */
static int explain_words(const char *first, const char *second) {
  const char *known[NUM_COMMANDS];
  size_t count = 0, length = strlen(first);
  for (size_t i = 0; i < NUM_COMMANDS; i++)
    if (!strncmp(commands[i]->name, first, length) && commands[i]->name[length] == ' ')
      known[count++] = commands[i]->name + length + 1;
  if (!count) return -1;
  if (second && (!strcmp(second, "--help") || !strcmp(second, "-h"))) {
    for (size_t i = 0; i < count; i++) printf("rpinn %s %s [options]\n", first, known[i]);
    printf("\nrpinn %s %s --help explains the first of them.\n", first, known[0]);
    return EXIT_DONE;
  }
  const char *near = second ? rpinn_nearest_name(second, known, count) : NULL;
  if (near) return report_usage("unknown command '%s %s'; did you mean '%s %s'?", first, second, first, near);
  return report_usage("rpinn %s needs a second word; rpinn %s --help lists them", first, first);
}

static const Command *find_command(int argc, char **argv) {
  for (size_t i = 0; i < NUM_COMMANDS && argc > 1; i++)
    if (match(commands[i], argc, argv)) return commands[i];
  return NULL;
}

static int run_command(const Command *command, int num_words, int argc, char **argv) {
  static Options options;
  options = (Options){.num_words = argc - 1, .words = argv + 1};
  int code = launch_begin(command, argc, argv);
  options.quiet |= launch_is_silent();
  if (code >= 0) return code;
  code = options_parse(command, argc - 1 - num_words, argv + 1 + num_words, &options);
  return launch_end(code >= 0 ? code : command->run(&options));
}

int dispatch(int argc, char **argv) {
  if (launch_leaves_it(find_command(argc, argv), argc, argv)) return EXIT_DONE;
  if (argc < 2) {
    print_usage(stderr);
    return EXIT_USAGE;
  }
  bool wants_help = argc > 2 && !strcmp(argv[1], "help"); /* rpinn help COMMAND */
  argc -= wants_help;
  argv += wants_help;
  const char *name = argv[1];
  if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) return print_usage(stdout);
  if (!strcmp(name, "--version")) {
    printf("rpinn %s\n", rpinn_version());
    return EXIT_DONE;
  }
  for (size_t i = 0; i < NUM_COMMANDS; i++) {
    int num_words = match(commands[i], argc, argv);
    if (!num_words) continue;
    if (wants_help) {
      command_print_help(commands[i]);
      return EXIT_DONE;
    }
    return run_command(commands[i], num_words, argc, argv);
  }
  int code = explain_words(name, wants_help ? "--help" : argc > 2 ? argv[2] : NULL);
  if (code >= 0) return code;
  char words[NUM_COMMANDS][32]; /* the first ones */
  const char *known[NUM_COMMANDS];
  for (size_t i = 0; i < NUM_COMMANDS; i++) {
    snprintf(words[i], sizeof words[i], "%.*s", (int)strcspn(commands[i]->name, " "), commands[i]->name);
    known[i] = words[i];
  }
  const char *near = rpinn_nearest_name(name, known, NUM_COMMANDS);
  if (near)
    return report_usage("unknown command '%s'; did you mean '%s'? rpinn --help lists them", name, near);
  return report_usage("unknown command '%s'; rpinn --help lists them", name);
}
