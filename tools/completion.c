/* Prints completion/rpinn.bash (argument bash) or completion/_rpinn (argument zsh) from the tables of the program:
 * `make docs` writes the files, a test compares them. Both scripts have a function _rpinn_values WORDS FILES, which
 * offers words and, where FILES is not empty, files of that pattern (/: folders), and _rpinn_list WORDS for some of
 * the words with commas between them. */
#include <stdio.h>
#include <string.h>

#include "command_values.h"

static void print_values(const Values *values) {
  if (values->several) {
    printf("_rpinn_list \"%s\"", values->choices);
    return;
  }
  printf("_rpinn_values \"%s\" \"", values->choices);
  if (values->files)
    printf("*%s", values->files);
  else if (values->folders)
    printf("/");
  printf("\"");
}

/* Whether command number index is the first whose name begins with the same word. */
static bool is_first_of_word(size_t index) {
  const char *name = command_at(index)->name;
  size_t length = strcspn(name, " ");
  for (size_t k = 0; k < index; k++)
    if (!strncmp(command_at(k)->name, name, length) && strchr(" ", command_at(k)->name[length])) return false;
  return true;
}

static void print_first_words(void) {
  for (size_t i = 0; command_at(i); i++)
    if (is_first_of_word(i)) printf("%.*s ", (int)strcspn(command_at(i)->name, " "), command_at(i)->name);
}

/* The second words of the commands that begin with the same word as name. */
static void print_second_words(const char *name) {
  size_t length = strcspn(name, " ");
  for (size_t i = 0; command_at(i); i++)
    if (!strncmp(command_at(i)->name, name, length + 1)) printf("%s ", command_at(i)->name + length + 1);
}

/* ---- bash ---- */

static const char bash_functions[] =
    "# Completion of rpinn for bash, made from the tables of the program by 'make docs'; a test compares "
    "it.\n"
    "# shellcheck shell=bash disable=SC2207 # words of ours have no spaces\n"
    "\n"
    "_rpinn_values() {\n"
    "  local names=()\n"
    "  COMPREPLY+=($(compgen -W \"$1\" -- \"$current\"))\n"
    "  case $2 in\n"
    "    '') return ;;\n"
    "    /) mapfile -t names < <(compgen -d -- \"$current\") ;;\n"
    "    *) mapfile -t names < <(compgen -f -X \"!$2\" -- \"$current\" && compgen -d -- \"$current\") ;;\n"
    "  esac\n"
    "  COMPREPLY+=(\"${names[@]}\")\n"
    "  compopt -o filenames 2> /dev/null\n"
    "}\n"
    "\n"
    "_rpinn_list() {\n"
    "  local before=''\n"
    "  if [[ $current == *,* ]]; then before=${current%,*},; fi\n"
    "  COMPREPLY+=($(compgen -P \"$before\" -W \"$1\" -- \"${current##*,}\"))\n"
    "}\n"
    "\n"
    "_rpinn() {\n"
    "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} "
    "command=${COMP_WORDS[1]}\n"
    "  COMPREPLY=()\n"
    "  # --flag=value arrives as three words.\n"
    "  if [[ $current == '=' ]]; then\n"
    "    current=''\n"
    "  elif [[ $previous == '=' ]]; then\n"
    "    previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "  fi\n";

static bool print_bash_options(const Command *command) {
  OptionText option;
  Values values;
  for (size_t i = 0; option_at(command, i, &option); i++) {
    if (!option.value) continue;
    if (!values_of_option(command, &option, &values)) return false;
    printf("    '%s %s')\n      ", command->name, option.flag);
    print_values(&values);
    printf("\n      return\n      ;;\n");
  }
  return true;
}

static void print_bash_command(const Command *command) {
  OptionText option;
  Values values;
  values_of_arguments(command, &values);
  printf("    '%s')\n      if [[ $current == -* ]]; then\n        _rpinn_values \"", command->name);
  for (size_t i = 0; option_at(command, i, &option); i++) printf("%s%s", i ? " " : "", option.flag);
  printf("\" \"\"\n      else\n        ");
  print_values(&values);
  printf("\n      fi\n      ;;\n");
}

static bool print_bash(void) {
  printf("%s  if ((COMP_CWORD == 1)); then\n    _rpinn_values \"", bash_functions);
  print_first_words();
  printf("--help --version\" \"\"\n    return\n  fi\n  case $command in\n");
  for (size_t i = 0; command_at(i); i++) {
    const char *name = command_at(i)->name;
    int length = (int)strcspn(name, " ");
    if (!name[length] || !is_first_of_word(i)) continue;
    printf("    %.*s)\n      if ((COMP_CWORD == 2)); then\n        _rpinn_values \"", length, name);
    print_second_words(name);
    printf("--help\" \"\"\n        return\n      fi\n      command+=\" ${COMP_WORDS[2]}\"\n      ;;\n");
  }
  printf("  esac\n  case \"$command $previous\" in\n");
  for (size_t i = 0; command_at(i); i++)
    if (!print_bash_options(command_at(i))) return false;
  printf("  esac\n  case $command in\n");
  for (size_t i = 0; command_at(i); i++) print_bash_command(command_at(i));
  printf("  esac\n}\n\ncomplete -F _rpinn rpinn\n");
  return true;
}

/* ---- zsh ---- */

static const char zsh_functions[] =
    "#compdef rpinn\n"
    "# Completion of rpinn for zsh, made from the tables of the program by 'make docs'; a test compares it.\n"
    "\n"
    "_rpinn_values() {\n"
    "  compadd -- ${=1}\n"
    "  case $2 in\n"
    "    '') ;;\n"
    "    /) _files -/ ;;\n"
    "    *) _files -g \"$2\" ;;\n"
    "  esac\n"
    "}\n"
    "\n"
    "_rpinn_list() { _values -s , value ${=1} }\n"
    "\n"
    "_rpinn() {\n"
    "  local curcontext=$curcontext state line\n"
    "  typeset -A opt_args\n"
    "  _arguments -C '(- *)--help[the commands]' '(- *)--version[the version]' '1:command:->command' "
    "'*::argument:->arguments'\n"
    "  case $state in\n"
    "    command)\n";

/* Inside of '…', with the marks that end a field escaped. */
static void print_zsh_text(const char *text, const char *marks) {
  for (; *text; text++) {
    if (*text == '\'')
      printf("'\\''");
    else
      printf(*text == '\\' || strchr(marks, *text) ? "\\%c" : "%c", *text);
  }
}

static void print_zsh_option(const OptionText *option, const Values *values) {
  bool repeats = strstr(option->help, "(repeatable)") != NULL;
  printf(" \\\n            '%s%s%s[", repeats ? "*" : "", option->flag, option->value ? "=" : "");
  print_zsh_text(option->help, "[]");
  printf("]");
  if (option->value) {
    printf(":");
    print_zsh_text(option->value, ":");
    printf(": ");
    print_values(values);
  }
  printf("'");
}

/* The space before an action keeps _arguments from adding arguments of its own. */
static bool print_zsh_command(const Command *command) {
  OptionText option;
  Values values;
  printf("        '%s')\n          _arguments", command->name);
  for (size_t i = 0; option_at(command, i, &option); i++) {
    if (!values_of_option(command, &option, &values)) return false;
    print_zsh_option(&option, &values);
  }
  values_of_arguments(command, &values);
  if (command->arguments[0]) {
    printf(" \\\n            '%s:", command->takes_many ? "*" : "1");
    print_zsh_text(command->arguments, ":");
    printf(": ");
    print_values(&values);
    printf("'");
  }
  printf("\n          ;;\n");
  return true;
}

static bool print_zsh(void) {
  printf("%s      local -a commands=(", zsh_functions);
  for (size_t i = 0; command_at(i); i++) {
    const char *name = command_at(i)->name;
    int length = (int)strcspn(name, " ");
    if (!is_first_of_word(i)) continue;
    printf("\n        '%.*s:", length, name);
    if (name[length])
      print_second_words(name);
    else
      print_zsh_text(command_at(i)->summary, ":");
    printf("'");
  }
  printf("\n      )\n      _describe command commands\n      ;;\n    arguments)\n      local name=$words[1]\n"
         "      case $name in\n");
  for (size_t i = 0; command_at(i); i++) {
    const char *name = command_at(i)->name;
    int length = (int)strcspn(name, " ");
    if (!name[length] || !is_first_of_word(i)) continue;
    printf("        %.*s)\n          if ((CURRENT == 2)); then\n            compadd -- ", length, name);
    print_second_words(name);
    printf("--help\n            return\n          fi\n          name+=\" $words[2]\"\n          shift words\n"
           "          ((CURRENT--))\n          ;;\n");
  }
  printf("      esac\n      case $name in\n");
  for (size_t i = 0; command_at(i); i++)
    if (!print_zsh_command(command_at(i))) return false;
  printf("      esac\n      ;;\n  esac\n}\n\n_rpinn \"$@\"\n");
  return true;
}

int main(int argc, char **argv) {
  const char *shell = argc == 2 ? argv[1] : "";
  bool printed = false;
  if (!strcmp(shell, "bash"))
    printed = print_bash();
  else if (!strcmp(shell, "zsh"))
    printed = print_zsh();
  else
    fprintf(stderr, "usage: completion bash|zsh\n");
  return printed && fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
