/* rpinn bench --scaling: the row of the ranks that this process is one of, or rows of 1, 2, 4, … ranks that a launcher starts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child_program.h"
#include "command.h"

enum { MAX_ROWS = 24, MAX_RANKS = 100000, DEFAULT_TURNS = 5 };

static RpinnScalingOptions read_measure(const Options *options) {
  return (RpinnScalingOptions){.ranks = launch_ranks(),
                               .seconds = options->seconds > 0 ? options->seconds : 1,
                               .turns = options->repetitions ? options->repetitions : DEFAULT_TURNS};
}

static int measure_here(RpinnContext *context, const Options *options) {
  RpinnScalingOptions measure = read_measure(options);
  RpinnScalingRow row;
  RpinnStatus status = rpinn_scaling_measure(context, &measure, &row);
  if (status != RPINN_OK) return report_failure(context, status);
  return launch_is_silent() ? EXIT_DONE : print_and_free(rpinn_scaling_row_json(&row));
}

/* ---- ranks of one's own ---- */

static int report_launcher(const char *command, const char *found) {
  fprintf(stderr,
          "rpinn: '%s' started no such ranks: found '%.300s'; expected a launcher of MPI, which --launcher "
          "names, such as "
          "\"mpirun --oversubscribe\", \"mpiexec.hydra\" or srun\n",
          command, found);
  return EXIT_MACHINE;
}

static int report_late(const char *command, double seconds) {
  fprintf(stderr, "rpinn: '%s' has not ended within %.0f s\n", command, seconds);
  return EXIT_MACHINE;
}

/* What one turn takes on a machine that is ten times as busy as it should be. */
static double find_limit(const RpinnScalingOptions *measure) {
  return 120 + (double)measure->turns * (30 + 100 * measure->seconds);
}

static int measure_with(RpinnContext *context, const Options *options, size_t ranks, RpinnScalingRow *row) {
  char program[4096], command[8400], text[8192];
  RpinnScalingOptions measure = read_measure(options);
  double limit = find_limit(&measure);
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0) {
    fprintf(stderr, "rpinn: cannot find this program: %s\n", strerror(errno));
    return EXIT_MACHINE;
  }
  program[length] = '\0';
  snprintf(command, sizeof command,
           "%.2000s -n %zu '%s' bench --scaling --ranks here --repetitions %zu --seconds %g",
           options->launcher ? options->launcher : "mpirun", ranks, program, measure.turns, measure.seconds);
  ChildProgram child = run_child(command, limit, sizeof text, text);
  if (child.is_stopped) return EXIT_INTERRUPTED;
  if (child.has_timed_out) return report_late(command, limit);
  if (child.failed) return report_launcher(command, strerror(errno));
  if (child.status != 0 || rpinn_scaling_row_read(context, text, row) != RPINN_OK ||
      row->ranks != (double)ranks)
    return report_launcher(command, text);
  return -1;
}

/* -1 to go on, else an exit code. */
static int read_most(const Options *options, size_t *most) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  *most = cores > 0 ? (size_t)cores : 1;
  if (!options->ranks) return -1;
  char *end;
  unsigned long number = strtoul(options->ranks, &end, 10);
  if (*options->ranks < '0' || *options->ranks > '9' || *end || number < 1 || number > MAX_RANKS)
    return report_usage("--ranks is '%s'; expected a whole number from 1 to %d, or here", options->ranks,
                        MAX_RANKS);
  *most = number;
  return -1;
}

/* 1, 2, 4, … and the most. */
static int measure_all(RpinnContext *context, const Options *options, size_t most, RpinnScalingRow *rows,
                       size_t *count) {
  RpinnScalingOptions alone = read_measure(options);
  RpinnStatus status = rpinn_scaling_measure(context, &alone, &rows[0]);
  if (status != RPINN_OK) return report_failure(context, status);
  *count = 1;
  for (size_t ranks = 2; ranks / 2 < most && *count < MAX_ROWS; ranks *= 2) {
    fprintf(stderr, "%zu ranks\n", ranks < most ? ranks : most);
    int code = measure_with(context, options, ranks < most ? ranks : most, &rows[*count]);
    if (code >= 0) return code;
    ++*count;
  }
  return -1;
}

int bench_scaling(RpinnContext *context, const Options *options) {
  RpinnScalingRow rows[MAX_ROWS];
  size_t most, count = 0;
  catch_signals(context);
  rpinn_context_set_log(context, NULL, NULL); /* what its runs have to say */
  if (launch_ranks() || (options->ranks && !strcmp(options->ranks, "here")))
    return measure_here(context, options);
  int code = read_most(options, &most);
  if (code < 0) code = measure_all(context, options, most, rows, &count);
  if (code < 0 && options->out) {
    RpinnStatus status = rpinn_scaling_write(context, options->out, rows, count);
    if (status != RPINN_OK) return report_failure(context, status);
  }
  if (code >= 0) return code;
  return print_and_free(options->json ? rpinn_scaling_json(rows, count) : rpinn_scaling_text(rows, count));
}
