/* Prints docs/settings.md from the tables of settings and methods: `make docs` writes the page, a test compares it. */
#include <stdio.h>
#include <string.h>

#include <rpinn/rpinn.h>

/* A bar would end the cell of a table. */
static void print_escaped(const char *text) {
  for (; *text; text++) printf(*text == '|' ? "\\%c" : "%c", *text);
}

static bool is_free(const RpinnSettingDefinition *definition) {
  return definition->role == RPINN_SETTING_FREE || definition->role == RPINN_SETTING_LOCAL;
}

/* `a`, `b` and `c` */
static void print_free_settings(void) {
  size_t left = 0;
  for (size_t i = 0; i < RPINN_NUM_SETTINGS; i++) left += is_free(rpinn_setting_definition((RpinnSetting)i));
  for (size_t i = 0; i < RPINN_NUM_SETTINGS; i++) {
    const RpinnSettingDefinition *definition = rpinn_setting_definition((RpinnSetting)i);
    if (is_free(definition)) printf("`%s`%s", definition->name, --left > 1 ? ", " : left ? " and " : "");
  }
}

int main(void) {
  printf("# Settings\n\n"
         "How a run is made, as opposed to what it is about. A setting has a default, stands under "
         "`settings:` of\n"
         "the problem file or in one of its `presets:`, and can be given on the command line, as a flag\n"
         "(`--prior-scale 2`) or with `--set prior_scale=2`. Later ones win: default, `settings:`, the "
         "preset, the\n"
         "command line from left to right. A value out of range is an error that says what was expected.\n\n"
         "`rpinn run --resume` goes on with a run of the same problem and settings; ");
  print_free_settings();
  printf(" may be others.\n\n"
         "This page is made from the table in `include/rpinn/settings.h` by `make docs`.\n\n"
         "| setting | flag | value | default | meaning |\n|---|---|---|---|---|\n");
  for (size_t i = 0; i < RPINN_NUM_SETTINGS; i++) {
    const RpinnSettingDefinition *definition = rpinn_setting_definition((RpinnSetting)i);
    char words[512];
    rpinn_setting_describe((RpinnSetting)i, words, sizeof words);
    char *rest = strstr(words, "; default ");
    if (rest) *rest = '\0';
    printf("| `%s` | `--", definition->name);
    for (const char *at = definition->name; *at; at++) putchar(*at == '_' ? '-' : *at);
    printf("` | ");
    print_escaped(words);
    printf(" | %s | ", definition->initial);
    print_escaped(definition->help);
    printf(" |\n");
  }
  printf("\n## Methods\n\nWhat `method` chooses from; [methods.md](methods.md) says when to take which.\n\n"
         "Where it decides, `auto` of a setting stands for\n\n"
         "| method | `optimizer` | `start` | `samples` | `iterations` | `learning_rate` |\n"
         "|---|---|---|---|---|---|\n");
  for (size_t i = 0; rpinn_method_name(i); i++) {
    const char *iterations = rpinn_setting_default(RPINN_SETTING_ITERATIONS, i);
    printf("| `%s` | %s | %s | %s | %s | %s |\n", rpinn_method_name(i),
           rpinn_setting_default(RPINN_SETTING_OPTIMIZER, i), rpinn_setting_default(RPINN_SETTING_START, i),
           rpinn_setting_default(RPINN_SETTING_SAMPLES, i), iterations ? iterations : "by the optimiser",
           rpinn_setting_default(RPINN_SETTING_LEARNING_RATE, i));
  }
  printf("\n| method | makes | file of its own |\n|---|---|---|\n");
  for (size_t i = 0; rpinn_method_name(i); i++) {
    const RpinnMethodDescription *method = rpinn_method_description(i);
    printf("| `%s` | ", rpinn_method_name(i));
    print_escaped(method->summary);
    if (method->file)
      printf(" | `%s`: %s |\n", method->file, method->file_summary);
    else
      printf(" | |\n");
  }
  return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
