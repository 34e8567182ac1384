/* Prints man/rpinn.1 from the tables of the program: `make docs` writes the page, a test compares it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

/* ---- roff ---- */

/* A character that is not ASCII by its number, so that the page is the same in every locale; returns its bytes.
 * The texts are ours and whole. */
static size_t print_unicode(const unsigned char *at) {
  size_t length = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
  unsigned long code = *at & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; i++) code = code << 6 | (at[i] & 0x3fu);
  printf("\\[u%04lX]", code);
  return length;
}

/* Running text: minus signs that can be copied, no requests at the start of a line. */
static void print_text(const char *text) {
  bool starts = true;
  for (const unsigned char *at = (const unsigned char *)text; *at;) {
    if (starts && (*at == '.' || *at == '\'')) printf("\\&");
    starts = *at == '\n';
    if (*at >= 0x80) {
      at += print_unicode(at);
      continue;
    }
    if (*at == '-')
      printf("\\-");
    else if (*at == '\\')
      printf("\\e");
    else
      putchar(*at);
    at++;
  }
}

static void print_line(const char *text) {
  print_text(text);
  if (!*text || text[strlen(text) - 1] != '\n') putchar('\n');
}

/* .TP: the option in bold, its value in italics. */
static void print_option(const OptionText *option) {
  printf(".TP\n\\fB");
  print_text(option->flag);
  printf("\\fR");
  if (option->value) {
    printf(" \\fI");
    print_text(option->value);
    printf("\\fR");
  }
  printf("\n");
  print_line(option->help);
}

/* What a function prints to the standard output, as lines that stay as they are. */
static bool print_lines_of(void (*print)(void)) {
  FILE *file = tmpfile();
  char line[1024];
  fflush(stdout);
  int terminal = dup(STDOUT_FILENO);
  if (!file || terminal < 0 || dup2(fileno(file), STDOUT_FILENO) < 0) return false;
  print();
  bool printed = fflush(stdout) == 0 && dup2(terminal, STDOUT_FILENO) >= 0;
  close(terminal);
  rewind(file);
  printf(".PP\n.EX\n");
  while (fgets(line, sizeof line, file))
    if (line[0] != '\n') print_text(line);
  printf(".EE\n");
  fclose(file);
  return printed;
}

/* ---- sections ---- */

static void print_synopsis(void) {
  printf(".SH SYNOPSIS\n");
  for (size_t i = 0; command_at(i); i++) {
    printf("%s\\fBrpinn %s\\fR", i ? ".br\n" : "", command_at(i)->name);
    if (command_at(i)->arguments[0]) printf(" \\fI%s\\fR", command_at(i)->arguments);
    printf(" [\\fIoptions\\fR]\n");
  }
}

static void print_description(void) {
  printf(".SH DESCRIPTION\n"
         "A problem file states a partial differential equation, its boundary conditions, measurements and "
         "their "
         "noise.\n"
         "Out of it comes a posterior over the parameters of neural networks, exp(\\-E) up to a constant, "
         "which\n"
         ".B rpinn\n"
         "draws from, or approximates: by randomised minimisation, by NUTS or SVGD, as a deep ensemble or by "
         "its\n"
         "most probable point. A run is a directory with draws, predictions, scores and a report.\n");
}

/* The options of a command; settings have a section of their own. */
static bool print_command(const Command *command) {
  OptionText option;
  printf(".SS \"rpinn %s%s%s\"\n", command->name, command->arguments[0] ? " " : "", command->arguments);
  print_text(command->summary);
  printf(".\n");
  if (command->details[0]) print_line(command->details);
  if (command->print_details && !print_lines_of(command->print_details)) return false;
  for (size_t i = 0; option_at(command, i, &option); i++)
    if (option.setting == RPINN_NUM_SETTINGS && strcmp(option.flag, "--help") != 0) print_option(&option);
  if (command->option_sets & OPTIONS_PROBLEM) printf(".PP\nAnd every setting, see SETTINGS.\n");
  return true;
}

/* They are the same for every command that takes them: those of the first one. */
static void print_settings(void) {
  const Command *command = command_at(0);
  OptionText option;
  for (size_t i = 1; command && !(command->option_sets & OPTIONS_PROBLEM); i++) command = command_at(i);
  printf(".SH SETTINGS\n"
         "How a run is made. A setting stands in the problem file under\n.B settings\nor in one of its\n"
         ".BR presets ,\n"
         "or is given on the command line, where the last one wins.\n");
  for (size_t i = 0; command && option_at(command, i, &option); i++) {
    char words[512];
    if (option.setting == RPINN_NUM_SETTINGS) continue;
    rpinn_setting_describe(option.setting, words, sizeof words);
    print_option(&option);
    printf(".br\n(");
    print_text(words);
    printf(")\n");
  }
}

static void print_methods(void) {
  printf(".SH METHODS\nWhat\n.B \\-\\-method\nchooses from.\n");
  for (size_t i = 0; rpinn_method_name(i); i++) {
    printf(".TP\n.B %s\n", rpinn_method_name(i));
    print_line(rpinn_method_description(i)->summary);
  }
}

/* Files that only some methods write. */
static void print_method_files(void) {
  for (size_t i = 0; rpinn_method_name(i); i++) {
    const RpinnMethodDescription *method = rpinn_method_description(i);
    if (!method->file) continue;
    printf(".TP\n.I %s\n", method->file);
    print_text(method->file_summary);
    printf(" (%s)\n", method->title);
  }
}

static void print_rest(void) {
  static const char *const files[][2] = {
      {"run.yaml", "the complete problem and all settings; runs again to the same draws"},
      {"checkpoint.db", "finished draws and the states that --resume goes on from (SQLite)"},
      {"posterior.nc", "the draws, for ArviZ and xarray (NetCDF-4)"},
      {"predictions.csv",
       "mean, standard deviation and quantiles at every point of the problem's predict section"},
      {"summary.json", "scores, losses, times, versions"},
      {"fields.vti", "maps for ParaView, where the points fill a grid"},
      {"report.html", "figures, tables and warnings on one page"}};
  static const struct {
    int code;
    const char *meaning;
  } codes[] = {{EXIT_DONE, "done"},
               {EXIT_MACHINE, "the machine failed: a full disk, no memory"},
               {EXIT_USAGE, "bad input or usage; nothing was started"},
               {EXIT_PROBLEMS, "check or diagnose found problems, or a speed is below its bar"},
               {EXIT_INTERRUPTED, "interrupted; what was done is saved, and --resume goes on"}};
  printf(".SH FILES\nA run directory holds\n");
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    printf(".TP\n.I %s\n", files[i][0]);
    print_line(files[i][1]);
  }
  print_method_files();
  printf(".SH ENVIRONMENT\n.TP\n.B RPINN_REFERENCE_DIR\n"
         "the folder with the published data sets, for\n.BR \"rpinn reproduce\" .\n"
         ".SH EXIT STATUS\n");
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    printf(".TP\n.B %d\n", codes[i].code);
    print_line(codes[i].meaning);
  }
  printf(".SH EXAMPLES\n.EX\n"
         "rpinn run poisson\\-linear \\-\\-samples 200\n"
         "rpinn summary results/poisson\\-linear\\-rpinn\n"
         "rpinn check my\\-problem.yaml \\-\\-likelihood noise\n"
         "rpinn run my\\-problem.yaml \\-\\-method nuts \\-\\-out chains && rpinn diagnose chains\n"
         ".EE\n");
}

int main(void) {
  /* No date: the page changes with the tables alone. */
  printf(
      ".\\\" Made from the tables of the program by 'make docs'; a test compares it.\n"
      ".TH RPINN 1 \"\" \"rpinn %s\" \"User Commands\"\n"
      ".SH NAME\nrpinn \\- Bayesian inversion of PDEs with randomized physics\\-informed neural networks\n",
      rpinn_version());
  print_synopsis();
  print_description();
  printf(".SH COMMANDS\n");
  for (size_t i = 0; command_at(i); i++)
    if (!print_command(command_at(i))) return 1;
  print_methods();
  print_settings();
  print_rest();
  return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
