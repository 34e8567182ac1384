/* A command of the shell whose output is wanted, with a limit on its time. */
#ifndef RPINN_CLI_CHILD_PROGRAM_H
#define RPINN_CLI_CHILD_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ChildProgram {
  int status;         /* as waitpid has it, of the shell */
  bool has_timed_out; /* it and all that it started were ended … */
  bool is_stopped;    /* … or because the user wants an end */
  bool failed;        /* it could not be started: errno says why */
} ChildProgram;

/* What it writes to stdout comes into output, as a string, as far as there is room; stderr is the caller's. */
ChildProgram run_child(const char *command, double seconds, size_t size, char output[]);

#endif
