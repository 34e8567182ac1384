/* What may follow an option, or stand as an argument of a command: for the completions. */
#ifndef RPINN_TOOLS_COMMAND_VALUES_H
#define RPINN_TOOLS_COMMAND_VALUES_H

#include "command.h"

enum { MAX_CHOICES = 1024 };

typedef struct Values {
  char choices[MAX_CHOICES]; /* words with spaces between them, or "" */
  bool several;              /* some of the choices, with commas between them */
  bool folders;              /* a directory */
  const char *files;         /* a file: "" for any, else how its name ends; NULL: none */
} Values;

/* false when the library does not name its choices any more, with a message. */
bool values_of_option(const Command *command, const OptionText *option, Values *values);
void values_of_arguments(const Command *command, Values *values);

#endif
