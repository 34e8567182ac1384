/* What a command that takes long shares with its user: Ctrl-C, and a line of progress. */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"

static volatile sig_atomic_t stop_requested;
static struct timespec first_request;

static double seconds_since_first(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - first_request.tv_sec) + 1e-9 * (double)(now.tv_nsec - first_request.tv_nsec);
}

/* The next Ctrl-C or SIGTERM comes from somebody who does not want to wait, unless it is the same one once more: timeout and
 * schedulers send theirs to a process and to its group. A further SIGHUP is never such: the kernel and the shell both send one
 * when a terminal is closed. */
static void request_stop(int signal_number) {
  static const double same = 0.1; /* seconds */
  if (!stop_requested) {
    clock_gettime(CLOCK_MONOTONIC, &first_request);
    stop_requested = 1;
  } else if (signal_number != SIGHUP && seconds_since_first() > same) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);
  }
}

void catch_signals(RpinnContext *context) {
  struct sigaction action = {.sa_handler = request_stop}, before;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT); /* one at a time */
  sigaddset(&action.sa_mask, SIGTERM);
  sigaddset(&action.sa_mask, SIGHUP);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  bool hangup_is_ignored = sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_IGN; /* nohup */
  if (!hangup_is_ignored) sigaction(SIGHUP, &action, NULL);
  signal(SIGXFSZ, SIG_IGN); /* ulimit -f: a write that fails has a message, a signal has none */
  rpinn_context_set_interrupted(context, stop_is_requested, NULL);
}

void go_on_without_readers(void) {
  signal(SIGPIPE, SIG_IGN);
}

bool output_is_closed(void) {
  struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

bool stop_is_requested(void *user) {
  (void)user;
  return stop_requested != 0;
}

void print_time(char text[32], double seconds) {
  if (isnan(seconds))
    snprintf(text, 32, "?");
  else if (seconds < 100)
    snprintf(text, 32, "%.0f s", seconds);
  else if (seconds < 6000)
    snprintf(text, 32, "%.0f min", seconds / 60);
  else
    snprintf(text, 32, "%.1f h", seconds / 3600);
}

void show_progress(void *user, const RpinnProgress *progress) {
  ProgressLine *line = user;
  if (!line->terminal && !progress->last && progress->seconds < line->next_plain) return;
  line->next_plain = progress->seconds + 10;
  char left[32], losses[96] = "";
  print_time(left, progress->seconds_left);
  if (!isnan(progress->loss_median))
    snprintf(losses, sizeof losses, ", loss %.4g (%.4g to %.4g)", progress->loss_median, progress->loss_low,
             progress->loss_high);
  fprintf(stderr, "%s%llu of %llu %s", line->terminal ? "\r\033[K" : "", (unsigned long long)progress->done,
          (unsigned long long)progress->total, progress->unit);
  if (strcmp(progress->unit, "iterations") != 0 && progress->iterations)
    fprintf(stderr, ", %llu iterations", (unsigned long long)progress->iterations);
  fprintf(stderr, ", %.1f s", progress->seconds);
  if (!progress->last) fprintf(stderr, ", %s left", left);
  fprintf(stderr, "%s", losses);
  if (progress->divergences) fprintf(stderr, ", %llu divergences", (unsigned long long)progress->divergences);
  if (progress->failed) fprintf(stderr, ", %llu failed", (unsigned long long)progress->failed);
  if (!line->terminal) fprintf(stderr, "\n");
  fflush(stderr);
}
