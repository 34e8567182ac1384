/* rpinn list */
#include <stdio.h>
#include <string.h>

#include "command.h"

static void print_methods(bool json) {
  printf(json ? ", \"methods\": [" : "\nmethods\n");
  for (size_t i = 0; rpinn_method_name(i); i++)
    if (json)
      printf("%s\"%s\"", i ? ", " : "", rpinn_method_name(i));
    else
      printf("  %-20s %s\n", rpinn_method_name(i), rpinn_method_description(i)->summary);
  if (json) printf("]");
}

/* The backends, each with what this machine has for it or why it has nothing; in JSON as the names and an object of devices. */
static void print_backends(RpinnContext *context, bool json) {
  const char *choices = rpinn_setting_definition(RPINN_SETTING_BACKEND)->choices;
  printf(json ? ", \"backends\": [" : "\nbackends\n");
  for (int with_devices = json ? 0 : 1; with_devices < 2; with_devices++) {
    if (json && with_devices) printf("], \"devices\": {");
    for (const char *start = choices; *start;) {
      char name[64], line[512];
      size_t width = strcspn(start, "|");
      const char *comma = start == choices ? "" : ", ";
      snprintf(name, sizeof name, "%.*s", (int)width, start);
      start += width + (start[width] == '|');
      if (!with_devices) {
        printf("%s\"%s\"", comma, name);
        continue;
      }
      bool is_there = rpinn_backend_describe(context, name, line, sizeof line) == RPINN_OK;
      const char *text = is_there ? line : rpinn_context_error(context)->message;
      if (!json)
        printf("  %-20s %s\n", name, text);
      else
        printf(is_there ? "%s\"%s\": \"%s\"" : "%s\"%s\": null", comma, name, text);
      rpinn_context_clear_error(context);
    }
  }
  if (json) printf("}");
}

/* Name and presets of one shipped problem; they load without fail, or the library is broken. */
static int print_problem(RpinnContext *context, size_t index, bool json) {
  RpinnProblem *problem;
  RpinnStatus status = rpinn_problem_load(context, rpinn_shipped_name(index), NULL, &problem);
  if (status != RPINN_OK) return report_failure(context, status);
  if (json)
    printf("%s{\"name\": \"%s\", \"presets\": [", index ? ", " : "", rpinn_shipped_name(index));
  else
    printf("  %-20s presets:", rpinn_shipped_name(index));
  for (size_t k = 0; k < rpinn_problem_num_presets(problem); k++)
    printf(json ? "%s\"%s\"" : "%s%s", json ? k ? ", " : "" : " ", rpinn_problem_preset_name(problem, k));
  printf(json ? "]}" : "\n");
  rpinn_problem_destroy(problem);
  return EXIT_DONE;
}

static int run_list(const Options *options) {
  RpinnContext *context = make_context();
  int code = EXIT_DONE;
  if (!context) return EXIT_MACHINE;
  printf(options->json ? "{\"problems\": [" : "problems\n");
  for (size_t i = 0; i < rpinn_shipped_count() && code == EXIT_DONE; i++)
    code = print_problem(context, i, options->json);
  if (options->json) printf("]");
  print_methods(options->json);
  print_backends(context, options->json);
  if (options->json) printf("}\n");
  rpinn_context_destroy(context);
  return code;
}

const Command command_list = {.name = "list",
                              .arguments = "",
                              .summary =
                                  "Show the shipped problems, their presets, the methods and the backends",
                              .details = "",
                              .option_sets = OPTIONS_JSON,
                              .ranks = RANKS_FIRST_ALONE,
                              .run = run_list};
