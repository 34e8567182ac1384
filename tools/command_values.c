/* Choices come from the settings table and from the library. What the library keeps to itself it names where it
 * refuses a value, "…; expected A, B or C": it is asked for something that it cannot have. */
#include "command_values.h"

#include <stdio.h>
#include <string.h>

static void add_choice(Values *values, const char *word, size_t length) {
  size_t used = strlen(values->choices);
  snprintf(values->choices + used, sizeof values->choices - used, "%s%.*s", used ? " " : "", (int)length,
           word);
}

static bool has_choice(const Values *values, const char *word) {
  size_t length = strlen(word);
  for (const char *at = values->choices; *at; at += strspn(at, " ")) {
    size_t next = strcspn(at, " ");
    if (next == length && !strncmp(at, word, length)) return true;
    at += next;
  }
  return false;
}

/* "A, B or C" up to the end or a semicolon. */
static bool read_expected(const RpinnContext *context, Values *values) {
  char message[2560];
  rpinn_error_format(rpinn_context_error(context), message, sizeof message);
  const char *at = strstr(message, "expected ");
  if (!at) return false;
  for (at += strlen("expected "); *at && *at != ';';) {
    size_t length = strcspn(at, ", ;");
    add_choice(values, at, length);
    at += length;
    at += strspn(at, ", ");
    if (!strncmp(at, "or ", 3)) at += 3;
  }
  return values->choices[0] != '\0';
}

static bool ask_reproduce(const char *scale, const char *methods, Values *values) {
  RpinnContext *context = rpinn_context_create();
  RpinnReproduction *reproduction = NULL;
  const RpinnReproduceOptions options = {
      .name = rpinn_reproduce_name(0), .scale = scale, .methods = methods, .folder = "/dev/null"};
  bool refused = context && rpinn_reproduce(context, &options, &reproduction) != RPINN_OK;
  bool named = refused && read_expected(context, values);
  rpinn_reproduction_destroy(reproduction);
  rpinn_context_destroy(context);
  return named;
}

static bool ask_calibrate(const char *from, const char *redraw, const char *methods, Values *values) {
  RpinnContext *context = rpinn_context_create();
  RpinnCalibration *calibration = NULL;
  const RpinnCalibrateOptions options = {.problem = "", /* it is not looked at before the words are */
                                         .from = from,
                                         .redraw = redraw,
                                         .methods = methods,
                                         .folder = "/dev/null"};
  bool refused = context && rpinn_calibrate(context, &options, &calibration) != RPINN_OK;
  bool named = refused && read_expected(context, values);
  rpinn_calibration_destroy(calibration);
  rpinn_context_destroy(context);
  return named;
}

static bool ask_weights(const char *rules, const char *axis, Values *values) {
  RpinnContext *context = rpinn_context_create();
  RpinnWeightSearch *search = NULL;
  const RpinnWeightOptions options = {.problem = "", /* likewise */
                                      .rules = rules,
                                      .num_searches = axis != NULL,
                                      .searches = &axis,
                                      .folder = "/dev/null"};
  bool refused = context && rpinn_search_weights(context, &options, &search) != RPINN_OK;
  bool named = refused && read_expected(context, values);
  rpinn_weight_search_destroy(search);
  rpinn_context_destroy(context);
  return named;
}

static bool ask_covariance(Values *values) {
  RpinnContext *context = rpinn_context_create();
  RpinnReference *reference = NULL;
  const RpinnReferenceField field = {
      .num_axes = 1, .cells = {2}, .high = {1}, .covariance = "?", .length = {1}, .variance = 1};
  bool refused = context && rpinn_reference_field(context, &field, &reference) != RPINN_OK;
  bool named = refused && read_expected(context, values);
  rpinn_reference_destroy(reference);
  rpinn_context_destroy(context);
  return named;
}

/* The presets of all shipped problems. */
static bool list_presets(Values *values) {
  RpinnContext *context = rpinn_context_create();
  bool loaded = context != NULL;
  for (size_t i = 0; loaded && i < rpinn_shipped_count(); i++) {
    RpinnProblem *problem = NULL;
    loaded = rpinn_problem_load(context, rpinn_shipped_name(i), NULL, &problem) == RPINN_OK;
    for (size_t k = 0; loaded && k < rpinn_problem_num_presets(problem); k++) {
      const char *name = rpinn_problem_preset_name(problem, k);
      if (!has_choice(values, name)) add_choice(values, name, strlen(name));
    }
    rpinn_problem_destroy(problem);
  }
  rpinn_context_destroy(context);
  return loaded;
}

/* "a|b|a run directory": a choice of several words is a description. */
static void read_setting(RpinnSetting setting, Values *values) {
  const RpinnSettingDefinition *definition = rpinn_setting_definition(setting);
  for (const char *at = definition->choices; *at;) {
    size_t length = strcspn(at, "|");
    if (memchr(at, ' ', length))
      values->folders = true;
    else
      add_choice(values, at, length);
    at += length + (at[length] == '|');
  }
  if (!strcmp(definition->initial, "auto") && !has_choice(values, "auto")) add_choice(values, "auto", 4);
}

bool values_of_option(const Command *command, const OptionText *option, Values *values) {
  static const char ending[] = "FILE";
  bool known = true, calibrates = command == &command_calibrate;
  *values = (Values){0};
  if (option->setting < RPINN_NUM_SETTINGS)
    read_setting(option->setting, values);
  else if (!option->value)
    return true;
  else if (!strncmp(option->value, ending, strlen(ending)))
    values->files = option->value + strlen(ending);
  else if (!strcmp(option->value, "DIR"))
    values->folders = true;
  else if (!strcmp(option->flag, "--preset"))
    known = list_presets(values);
  else if (!strcmp(option->flag, "--scale"))
    known = ask_reproduce("?", NULL, values);
  else if (!strcmp(option->flag, "--methods"))
    known = values->several =
        calibrates ? ask_calibrate(NULL, NULL, "?", values) : ask_reproduce(NULL, "?", values);
  else if (!strcmp(option->flag, "--from"))
    known = ask_calibrate("?", NULL, NULL, values);
  else if (!strcmp(option->flag, "--redraw"))
    known = ask_calibrate(NULL, "?", NULL, values);
  else if (!strcmp(option->flag, "--rule"))
    known = values->several = ask_weights("?", NULL, values);
  else if (!strcmp(option->flag, "--search"))
    known = ask_weights(NULL, "?", values);
  else if (!strcmp(option->flag, "--covariance"))
    known = ask_covariance(values);
  if (!known) fprintf(stderr, "the library does not name the values of %s\n", option->flag);
  return known;
}

void values_of_arguments(const Command *command, Values *values) {
  *values = (Values){.folders = strstr(command->arguments, "RUN") != NULL,
                     .files = strstr(command->arguments, "CSV") ? ".csv" : NULL};
  if (!strcmp(command->arguments, "PROBLEM")) {
    values->files = ".yaml";
    for (size_t i = 0; i < rpinn_shipped_count(); i++)
      add_choice(values, rpinn_shipped_name(i), strlen(rpinn_shipped_name(i)));
  }
  if (!strcmp(command->name, "reproduce"))
    for (size_t i = 0; rpinn_reproduce_name(i); i++)
      add_choice(values, rpinn_reproduce_name(i), strlen(rpinn_reproduce_name(i)));
}
