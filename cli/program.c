/* The program rpinn. */
#include <stdio.h>

#include "command.h"

/* What was printed counts only once it has arrived: a full disk is the machine's failure. */
int main(int argc, char **argv) {
  int code = dispatch(argc, argv);
  bool printed = fflush(stdout) == 0 && !ferror(stdout);
  if (printed) return code;
  fprintf(stderr, "rpinn: cannot write to the standard output\n");
  return EXIT_MACHINE;
}
