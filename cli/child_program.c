#include "child_program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* In a group of its own, so that all that it starts can be ended with it. */
static pid_t start(const char *command, int *output) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  if (child > 0)
    setpgid(child, child); /* whoever comes first */
  else
    close(ends[0]);
  *output = ends[0];
  return child;
}

/* Launchers end their processes when they are asked to; who does not within some seconds is killed. */
static void end(pid_t child, int *status) {
  const struct timespec moment = {.tv_nsec = 50000000};
  double limit = now() + 5;
  kill(-child, SIGTERM);
  while (waitpid(child, status, WNOHANG) == 0) {
    if (now() > limit) kill(-child, SIGKILL);
    nanosleep(&moment, NULL);
  }
  kill(-child, SIGKILL);
}

ChildProgram run_child(const char *command, double seconds, size_t size, char output[]) {
  ChildProgram result = {0};
  int file;
  size_t length = 0;
  double limit = now() + seconds;
  pid_t child = start(command, &file);
  output[0] = '\0';
  if (child < 0) return (ChildProgram){.failed = true};
  for (bool is_open = true; is_open && !result.has_timed_out && !result.is_stopped;) {
    char bytes[4096];
    struct pollfd wait = {.fd = file, .events = POLLIN};
    ssize_t count = poll(&wait, 1, 100) > 0 ? read(file, bytes, sizeof bytes) : -1;
    is_open = count != 0;
    for (ssize_t k = 0; k < count && length + 1 < size; k++) output[length++] = bytes[k];
    result.has_timed_out = now() > limit;
    result.is_stopped = stop_is_requested(NULL);
  }
  close(file);
  output[length] = '\0';
  if (result.has_timed_out || result.is_stopped)
    end(child, &result.status);
  else
    while (waitpid(child, &result.status, 0) < 0 && errno == EINTR) {
    }
  return result;
}
