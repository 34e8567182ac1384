#define _GNU_SOURCE /* a spawned program in another folder: posix_spawn_file_actions_addchdir_np */
#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

RpinnDrawing rpinn_gnuplot(const char *folder, const char *script) {
  char program[] = "gnuplot";
  char *arguments[] = {program, (char *)script, NULL}; /* spawned programs get copies */
  posix_spawn_file_actions_t actions;
  pid_t child;
  int outcome = 0;
  if (posix_spawn_file_actions_init(&actions) != 0) return RPINN_DRAWING_FAILED;
  int problem = posix_spawn_file_actions_addchdir_np(&actions, folder);
  if (!problem) problem = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (!problem) problem = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  if (!problem) problem = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem) return problem == ENOENT ? RPINN_NO_GNUPLOT : RPINN_DRAWING_FAILED;
  while (waitpid(child, &outcome, 0) < 0)
    if (errno != EINTR) return RPINN_DRAWING_FAILED;
  if (!WIFEXITED(outcome)) return RPINN_DRAWING_FAILED;
  return WEXITSTATUS(outcome) == 0     ? RPINN_DRAWN
         : WEXITSTATUS(outcome) == 127 ? RPINN_NO_GNUPLOT /* how some C libraries say it */
                                       : RPINN_DRAWING_FAILED;
}
