/* What a person at a terminal gets beside results: lines of progress, warnings, failures, and an end when asked twice. */
#include "temporary_folder.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "command.h"

/* ---- the standard error ---- */

typedef struct Capture {
  int before;
  char text[4096];
} Capture;

static void begin_capture(Capture *capture) {
  fflush(stderr);
  capture->before = dup(STDERR_FILENO);
  int file = open("stderr.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
  assert_true(capture->before >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
  close(file);
}

static void end_capture(Capture *capture) {
  fflush(stderr);
  dup2(capture->before, STDERR_FILENO);
  close(capture->before);
  FILE *file = fopen("stderr.txt", "r");
  assert_non_null(file);
  size_t length = fread(capture->text, 1, sizeof capture->text - 1, file);
  capture->text[length] = '\0';
  fclose(file);
}

/* ---- progress ---- */

static const struct {
  RpinnProgress progress;
  const char *line;
} progress_cases[] = {
    {{.unit = "members",
      .done = 3,
      .total = 20,
      .iterations = 456,
      .loss_median = (double)NAN,
      .seconds = 1.26,
      .seconds_left = (double)NAN},
     "3 of 20 members, 456 iterations, 1.3 s, ? left\n"},
    {{.unit = "members",
      .done = 4,
      .total = 20,
      .iterations = 9,
      .loss_low = 1.23456,
      .loss_median = 23.4567,
      .loss_high = 345678.9,
      .seconds = 12,
      .seconds_left = 99.4},
     "4 of 20 members, 9 iterations, 12.0 s, 99 s left, loss 23.46 (1.235 to 3.457e+05)\n"},
    {{.unit = "members",
      .done = 5,
      .total = 20,
      .iterations = 9,
      .loss_median = (double)NAN,
      .seconds = 24,
      .seconds_left = 100},
     "5 of 20 members, 9 iterations, 24.0 s, 2 min left\n"},
    {{.unit = "members",
      .done = 5,
      .total = 20,
      .iterations = 9,
      .loss_median = (double)NAN,
      .seconds = 36,
      .seconds_left = 5999},
     "5 of 20 members, 9 iterations, 36.0 s, 100 min left\n"},
    {{.unit = "members",
      .done = 5,
      .total = 20,
      .iterations = 9,
      .loss_median = (double)NAN,
      .seconds = 48,
      .seconds_left = 6000},
     "5 of 20 members, 9 iterations, 48.0 s, 1.7 h left\n"},
    {{.unit = "members",
      .done = 6,
      .total = 20,
      .failed = 2,
      .iterations = 9,
      .loss_median = (double)NAN,
      .seconds = 60,
      .seconds_left = 3600},
     "6 of 20 members, 9 iterations, 60.0 s, 60 min left, 2 failed\n"},
    {{.unit = "draws",
      .done = 7,
      .total = 20,
      .divergences = 8,
      .iterations = 9,
      .loss_median = (double)NAN,
      .seconds = 75,
      .seconds_left = 0},
     "7 of 20 draws, 9 iterations, 75.0 s, 0 s left, 8 divergences\n"},
    {{.unit = "iterations",
      .done = 7,
      .total = 20,
      .iterations = 7,
      .loss_median = (double)NAN,
      .seconds = 90,
      .seconds_left = 1},
     "7 of 20 iterations, 90.0 s, 1 s left\n"},
    /* The last one does not say what is left. */
    {{.unit = "members",
      .done = 20,
      .total = 20,
      .failed = 1,
      .divergences = 3,
      .iterations = 99,
      .loss_low = 1,
      .loss_median = 2,
      .loss_high = 3,
      .seconds = 100.04,
      .seconds_left = 0,
      .last = true},
     "20 of 20 members, 99 iterations, 100.0 s, loss 2 (1 to 3), 3 divergences, 1 failed\n"}};

static void lines_of_progress(void **state) {
  (void)state;
  ProgressLine plain = {0}, terminal = {.terminal = true};
  for (size_t k = 0; k < sizeof progress_cases / sizeof progress_cases[0]; k++) {
    Capture capture;
    begin_capture(&capture);
    show_progress(&plain, &progress_cases[k].progress);
    end_capture(&capture);
    assert_string_equal(capture.text, progress_cases[k].line);
    /* On a terminal the line replaces the one before. */
    begin_capture(&capture);
    show_progress(&terminal, &progress_cases[k].progress);
    end_capture(&capture);
    char line[256];
    snprintf(line, sizeof line, "\r\033[K%.*s", (int)strlen(progress_cases[k].line) - 1,
             progress_cases[k].line);
    assert_string_equal(capture.text, line);
  }
}

/* Into a file: a line every ten seconds, and the last one in any case. */
static void lines_are_ten_seconds_apart(void **state) {
  (void)state;
  static const struct {
    double seconds;
    bool last, is_shown;
  } cases[] = {{0.5, false, true},   {1, false, false}, {10.4, false, false}, {10.5, false, true},
               {20.4, false, false}, {25, false, true}, {26, true, true}};
  for (int terminal = 0; terminal < 2; terminal++) {
    ProgressLine line = {.terminal = terminal};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
      Capture capture;
      RpinnProgress progress = {.unit = "members", .seconds = cases[k].seconds, .last = cases[k].last};
      begin_capture(&capture);
      show_progress(&line, &progress);
      end_capture(&capture);
      check_true((capture.text[0] != '\0') == (terminal || cases[k].is_shown),
                 "after %g s, terminal %d: '%s'", cases[k].seconds, terminal, capture.text);
    }
  }
}

/* ---- signals ---- */

/* A process that catches signals, goes on without readers if asked to, and gets these signals, up to three of them, so many
 * milliseconds apart.
 * Its end: the number of the signal that killed it, or minus the exit code, which counts how often it saw the wish to
 * stop. */
static int end_of_spaced(long apart, bool without_readers, int first, int second, int third) {
  const int signals[] = {first, second, third};
  const struct timespec pause = {.tv_nsec = apart * 1000000};
  pid_t process = fork();
  assert_true(process >= 0);
  if (process == 0) {
    RpinnContext *context = rpinn_context_create();
    int wishes = 0;
    catch_signals(context);
    if (without_readers) go_on_without_readers();
    if (stop_is_requested(NULL)) _exit(99);
    for (size_t k = 0; k < 3 && signals[k]; k++) {
      if (k) nanosleep(&pause, NULL);
      raise(signals[k]);
      wishes += stop_is_requested(NULL);
    }
    _exit(wishes);
  }
  int status;
  assert_true(waitpid(process, &status, 0) == process);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static int end_of(bool without_readers, int first, int second, int third) {
  return end_of_spaced(150, without_readers, first, second, third);
}

static void a_second_signal_ends_at_once(void **state) {
  (void)state;
  static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
  void (*before)(int) = signal(SIGHUP, SIG_DFL); /* whatever this test was started by */
  for (size_t k = 0; k < 3; k++) {
    assert_int_equal(end_of(false, stops[k], 0, 0), -1);
    assert_int_equal(end_of(false, stops[k], SIGINT, 0), SIGINT);
    assert_int_equal(end_of(false, stops[k], SIGTERM, 0), SIGTERM);
  }
  assert_int_equal(end_of(false, SIGHUP, SIGHUP, SIGHUP), -3); /* a closed terminal sends several */
  assert_int_equal(end_of_spaced(0, false, SIGINT, SIGINT, SIGTERM), -3); /* one wish, told in several ways */
  signal(SIGHUP, before);
}

/* A reader that has gone is a reason to end only for commands that do nothing but print. */
static void readers_may_go(void **state) {
  (void)state;
  void (*before)(int) = signal(SIGPIPE, SIG_DFL);
  assert_int_equal(end_of(true, SIGPIPE, SIGPIPE, 0), 0);
  assert_int_equal(end_of(true, SIGINT, SIGPIPE, 0), -2);
  assert_int_equal(end_of(false, SIGPIPE, 0, 0), SIGPIPE);
  signal(SIGPIPE, before);
}

static void nohup_is_respected(void **state) {
  (void)state;
  void (*before)(int) = signal(SIGHUP, SIG_IGN);
  assert_int_equal(end_of(false, SIGHUP, 0, 0), 0);
  assert_int_equal(end_of(false, SIGHUP, SIGINT, 0), -1);
  signal(SIGHUP, before);
}

/* ---- messages ---- */

static const char idle[] = "name: idle\ncoordinates: {x: [0, 1]}\nfields:\n  u: {network: [3]}\n"
                           "unknowns:\n  c: {start: 1, prior: {mean: 0, std: 1}}\n"
                           "terms:\n  d: {expect: u, at: {grid: 3}, data: 1, noise: 0.1}\n"
                           "prior: {reference_term: d}\n";

static void warnings_of_the_library_are_shown(void **state) {
  (void)state;
  Capture capture;
  RpinnContext *context = make_context();
  RpinnProblem *problem = NULL;
  RpinnCheck *check = NULL;
  begin_capture(&capture);
  RpinnStatus loaded = rpinn_problem_parse(context, "idle.yaml", idle, strlen(idle), NULL, &problem);
  RpinnStatus checked = loaded == RPINN_OK ? rpinn_check_create(context, problem, &check) : loaded;
  end_capture(&capture);
  assert_int_equal(checked, RPINN_OK);
  assert_string_equal(capture.text,
                      "rpinn: warning: unknown 'c' is in no fitted term: only the prior decides it\n");
  rpinn_check_destroy(check);
  rpinn_problem_destroy(problem);
  rpinn_context_destroy(context);
}

static void failures_are_one_line(void **state) {
  (void)state;
  Capture capture;
  RpinnContext *context = make_context();
  RpinnProblem *problem = NULL;
  static const char broken[] = "name: broken\ncoordinates: 7\n";
  RpinnStatus status = rpinn_problem_parse(context, "broken.yaml", broken, strlen(broken), NULL, &problem);
  begin_capture(&capture);
  int code = report_failure(context, status);
  end_capture(&capture);
  assert_int_equal(code, 2);
  const char *line_end = strchr(capture.text, '\n');
  check_true(!strncmp(capture.text, "rpinn: broken.yaml:1:1: ", 24) && line_end && !line_end[1], "'%s'",
             capture.text);
  begin_capture(&capture);
  code = report_usage("--%s needs %d values", "points", 2);
  end_capture(&capture);
  assert_int_equal(code, 2);
  assert_string_equal(capture.text, "rpinn: --points needs 2 values\n");
  rpinn_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lines_of_progress),
                                     cmocka_unit_test(lines_are_ten_seconds_apart),
                                     cmocka_unit_test(a_second_signal_ends_at_once),
                                     cmocka_unit_test(readers_may_go),
                                     cmocka_unit_test(nohup_is_respected),
                                     cmocka_unit_test(warnings_of_the_library_are_shown),
                                     cmocka_unit_test(failures_are_one_line)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
