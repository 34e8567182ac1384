/* The program rpinn. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "command.h"

/* A standard stream that is closed would give its number to the next file that is opened, which then receives messages.
 * What may only be read still fails when it is written to. */
static void occupy_closed_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      open("/dev/null", O_RDONLY); /* takes the lowest free number */
}

/* What was printed counts only once it has arrived: a full disk is the machine's failure. A reader who has left is not,
 * for a command that goes on without one: what it made is in its folder. */
int main(int argc, char **argv) {
  occupy_closed_streams();
  int code = dispatch(argc, argv);
  bool printed = fflush(stdout) == 0 && !ferror(stdout);
  if (printed || output_is_closed()) return code;
  fprintf(stderr, "rpinn: cannot write to the standard output\n");
  return EXIT_MACHINE;
}
