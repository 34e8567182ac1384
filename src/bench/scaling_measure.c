#define _GNU_SOURCE /* nftw, mkdtemp, getloadavg */
/* Runs of a tiny problem, whose members cost nothing or, with more iterations, some 10 ms, made by rank 0 alone, by all ranks together and by each
 * rank for itself in turn; and messages back and forth. What a run takes is read in its log. */
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "number_text.h"
#include "ranks.h"
#include "rpinn/run.h"
#include "rpinn/scaling.h"
#include "steady_clock.h"
#include "whole_file.h"

enum { FEW = 1000, MANY = 20000, TRIAL_ITERATIONS = 2000, TRIAL_MEMBERS = 10, PINGS = 200, LARGE_PINGS = 20 };
enum { LARGE_BYTES = 1 << 20, FOLDER = 64 };
static const double wanted_seconds = 0.01; /* of a member */

static const char problem_text[] = "name: scaling\n"
                                   "coordinates: {x: [0, 1]}\n"
                                   "fields: {u: {network: [8]}}\n"
                                   "terms: {u: {expect: u, at: {grid: 8}, data: sin(3*x), noise: 0.1}}\n"
                                   "prior: {scale: 1}\n"
                                   "predict: {grid: 2, quantities: [u]}\n"
                                   "settings: {method: rpinn, optimizer: adam, threads: 1}\n";

typedef struct Bench {
  RpinnContext *context;
  RpinnRanks *ranks;
  bool is_first;
  char folder[FOLDER];
  unsigned num_runs;
} Bench;

/* ---- a run ---- */

typedef struct Work {
  double members, iterations; /* of each */
} Work;

typedef struct Times {
  double served, collected; /* seconds until all members are made, and until they are in one store */
  double processor;         /* seconds of the processor */
} Times;

/* The seconds that stand before the last line of the log with these words. */
static double find_time(const char *log, const char *words) {
  double seconds = (double)NAN;
  for (const char *line = log; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    const char *end = strchr(line, '\n'), *found = strstr(line, words);
    if (found && (!end || found < end)) seconds = rpinn_number_read(line + strspn(line, " "), NULL);
  }
  return seconds;
}

static RpinnStatus read_times(const Bench *bench, const char *folder, Times *times) {
  RpinnText log = {0};
  char path[2 * FOLDER + 64];
  snprintf(path, sizeof path, "%s/run.log", folder);
  RpinnStatus status = rpinn_file_read(bench->context, path, 1, &log);
  if (status == RPINN_OK) {
    times->served = find_time(log.bytes, "all ranks have made their draws"); /* before they are collected */
    if (isnan(times->served)) times->served = find_time(log.bytes, "members are done");
    times->collected = find_time(log.bytes, "the results are being made");
  }
  rpinn_text_free(&log);
  return status;
}

static RpinnStatus load(const Bench *bench, const Work *work, RpinnProblem **problem) {
  char samples[32], steps[32];
  rpinn_format(samples, sizeof samples, "%.0f", work->members);
  rpinn_format(steps, sizeof steps, "%.0f", work->iterations);
  RpinnOverride overrides[] = {{"samples", samples, "bench", true}, {"iterations", steps, "bench", true}};
  RpinnProblemOptions options = {.num_overrides = 2, .overrides = overrides};
  return rpinn_problem_parse(bench->context, "scaling.yaml", problem_text, sizeof problem_text - 1, &options,
                             problem);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
  (void)info, (void)kind, (void)place;
  return remove(path);
}

static double processor_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool wants_end(void *user) {
  return rpinn_is_interrupted(user);
}

/* A run in a folder of this name, by ranks (NULL: by this process alone). */
static RpinnStatus make_run(const Bench *bench, RpinnRanks *ranks, const char *folder, const Work *work,
                            Times *times) {
  RpinnProblem *problem = NULL;
  RpinnRun *run = NULL;
  RpinnRunOptions options = {
      .folder = folder, .ranks = ranks, .interrupted = wants_end, .user = bench->context};
  RpinnStatus status = load(bench, work, &problem);
  double before = processor_seconds();
  if (status == RPINN_OK) status = rpinn_run(bench->context, problem, &options, &run);
  times->processor = processor_seconds() - before;
  if (status == RPINN_OK && rpinn_run_interrupted(run)) status = rpinn_fail_interrupted(bench->context);
  rpinn_run_destroy(run);
  rpinn_problem_destroy(problem);
  bool has_log = !ranks || bench->is_first;
  if (status == RPINN_OK && has_log) status = read_times(bench, folder, times);
  if (has_log) nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  return status;
}

static void name_folder(Bench *bench, char folder[FOLDER + 48]) {
  snprintf(folder, FOLDER + 48, "%s/%u-%zu", bench->folder, bench->num_runs, rpinn_ranks_rank(bench->ranks));
  bench->num_runs++;
}

/* All ranks make a run together. */
static RpinnStatus run_together(Bench *bench, const Work *work, Times *times) {
  char folder[FOLDER + 48];
  RPINN_TRY(rpinn_ranks_barrier(bench->context, bench->ranks));
  snprintf(folder, sizeof folder, "%s/%u", bench->folder, bench->num_runs++);
  return make_run(bench, bench->ranks, folder, work, times);
}

/* Rank 0 makes a run, and the others wait. */
static RpinnStatus run_alone(Bench *bench, const Work *work, Times *times) {
  char folder[FOLDER + 48];
  name_folder(bench, folder);
  RPINN_TRY(rpinn_ranks_barrier(bench->context, bench->ranks));
  if (bench->is_first) RPINN_TRY(make_run(bench, NULL, folder, work, times));
  return RPINN_OK;
}

/* On rank 0, the longest of all ranks. */
static RpinnStatus take_longest(const Bench *bench, double *seconds) {
  if (!bench->is_first)
    return rpinn_ranks_send(bench->context, bench->ranks, 0, RPINN_TAG_BENCH, seconds, sizeof *seconds);
  for (size_t r = 1; r < rpinn_ranks_size(bench->ranks); r++) {
    RpinnRankMessage message;
    double found = (double)NAN;
    RPINN_TRY(rpinn_ranks_await(bench->context, bench->ranks, (int)r, RPINN_TAG_BENCH, &message));
    if (!message.bytes) return rpinn_fail_interrupted(bench->context);
    if (message.size == sizeof found) memcpy(&found, message.bytes, sizeof found);
    free(message.bytes);
    *seconds = fmax(*seconds, found);
  }
  return RPINN_OK;
}

/* Every rank makes a run of its own, all at the same time and without a word: what the machine allows. */
static RpinnStatus run_apart(Bench *bench, const Work *work, Times *times) {
  char folder[FOLDER + 48];
  name_folder(bench, folder);
  RPINN_TRY(rpinn_ranks_barrier(bench->context, bench->ranks));
  RPINN_TRY(make_run(bench, NULL, folder, work, times));
  return take_longest(bench, &times->collected);
}

static void keep_least(Times *least, Times found) {
  if (!(least->served <= found.served)) least->served = found.served;
  if (!(least->collected <= found.collected)) least->collected = found.collected;
  if (!(least->processor <= found.processor)) least->processor = found.processor;
}

static const Times never = {(double)INFINITY, (double)INFINITY, (double)INFINITY};

/* ---- messages ---- */

/* Seconds of a message of so many bytes between rank 0 and the last one, there and back: the least. */
static RpinnStatus ping(const Bench *bench, size_t size, size_t count, double *seconds) {
  size_t last = rpinn_ranks_size(bench->ranks) - 1, rank = rpinn_ranks_rank(bench->ranks);
  double least = (double)INFINITY;
  char *bytes = calloc(size, 1);
  RpinnStatus status = bytes ? RPINN_OK : rpinn_fail_memory(bench->context);
  for (size_t k = 0; k < count && status == RPINN_OK && (rank == 0 || rank == last); k++) {
    RpinnRankMessage message = {0};
    double begun = rpinn_steady_seconds();
    if (rank == 0)
      status = rpinn_ranks_send(bench->context, bench->ranks, last, RPINN_TAG_BENCH, bytes, size);
    if (status == RPINN_OK)
      status = rpinn_ranks_await(bench->context, bench->ranks, rank == 0 ? (int)last : 0, RPINN_TAG_BENCH,
                                 &message);
    if (status == RPINN_OK && rank == last)
      status = rpinn_ranks_send(bench->context, bench->ranks, 0, RPINN_TAG_BENCH, bytes, size);
    free(message.bytes);
    least = fmin(least, (rpinn_steady_seconds() - begun) / 2);
  }
  free(bytes);
  *seconds = least;
  return status == RPINN_OK ? rpinn_ranks_barrier(bench->context, bench->ranks) : status;
}

static RpinnStatus measure_messages(const Bench *bench, RpinnScalingRow *row) {
  double large;
  row->latency = row->bandwidth = (double)NAN;
  if (row->ranks < 2) return RPINN_OK;
  RPINN_TRY(ping(bench, sizeof(double), PINGS, &row->latency));
  RPINN_TRY(ping(bench, LARGE_BYTES, LARGE_PINGS, &large));
  row->bandwidth = LARGE_BYTES / large;
  return RPINN_OK;
}

/* ---- members ---- */

static RpinnStatus measure_free(Bench *bench, size_t turns, RpinnScalingRow *row) {
  Times few = never, many = never, found = {0};
  for (size_t turn = 0; turn < turns; turn++) {
    RPINN_TRY(run_together(bench, &(Work){FEW, 1}, &found));
    keep_least(&few, found);
    RPINN_TRY(run_together(bench, &(Work){MANY, 1}, &found));
    keep_least(&many, found);
  }
  row->few_members = FEW;
  row->few_served = few.served;
  row->few_collected = few.collected;
  row->many_members = MANY;
  row->many_served = many.served;
  row->many_collected = many.collected;
  return RPINN_OK;
}

/* So many iterations make a member of 10 ms of the processor, on rank 0; all ranks must know. They are doubled until members take as long, the
 * run's own beginning and end being little beside that, and then taken in proportion: a difference of two short times would be all noise. */
static RpinnStatus find_iterations(Bench *bench, double *iterations) {
  double trial = TRIAL_ITERATIONS, seconds = 0;
  while (seconds < wanted_seconds) {
    Times found = {0};
    RPINN_TRY(run_alone(bench, &(Work){TRIAL_MEMBERS, trial}, &found));
    seconds = found.processor / TRIAL_MEMBERS;
    RPINN_TRY(rpinn_ranks_broadcast(bench->context, bench->ranks, &seconds, sizeof seconds));
    *iterations = fmax(ceil(trial * wanted_seconds / seconds), 1);
    trial *= 2;
  }
  return rpinn_ranks_broadcast(bench->context, bench->ranks, iterations, sizeof *iterations);
}

/* What a turn finds. */
typedef struct Turn {
  double processor; /* of a member */
  double weak_seconds, weak, weak_alone;
  double strong_seconds, strong;
} Turn;

/* One after the other, so that whatever else the machine has to do concerns all of them. */
static RpinnStatus measure_turn(Bench *bench, double members, double iterations, Turn *turn) {
  const double ranks = (double)rpinn_ranks_size(bench->ranks);
  Times alone = {0}, apart = {0}, weak = {0}, strong_alone = {0}, strong = {0};
  RPINN_TRY(run_apart(bench, &(Work){members, iterations}, &apart));
  RPINN_TRY(run_together(bench, &(Work){members * ranks, iterations}, &weak));
  RPINN_TRY(run_alone(bench, &(Work){members, iterations}, &alone));
  RPINN_TRY(run_alone(bench, &(Work){2 * members, iterations}, &strong_alone));
  RPINN_TRY(run_together(bench, &(Work){2 * members, iterations}, &strong));
  *turn = (Turn){.processor = alone.processor / members,
                 .weak_seconds = weak.collected,
                 .weak = apart.collected / weak.collected,
                 .weak_alone = alone.collected / weak.collected,
                 .strong_seconds = strong.collected,
                 .strong = strong_alone.collected / strong.collected / ranks};
  return RPINN_OK;
}

static int compare_numbers(const void *one, const void *other) {
  const double *first = one, *second = other;
  return (*first > *second) - (*first < *second);
}

/* Over turns, of the number at this offset. */
static double median(size_t count, const Turn *turns, size_t offset, double *sorted) {
  for (size_t k = 0; k < count; k++) memcpy(&sorted[k], (const char *)&turns[k] + offset, sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_numbers);
  return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static RpinnStatus measure_turns(Bench *bench, const RpinnScalingOptions *options, Turn *turns,
                                 double *sorted, RpinnScalingRow *row) {
  double iterations, members = ceil(options->seconds / wanted_seconds);
  size_t count = options->turns;
  RPINN_TRY(find_iterations(bench, &iterations));
  for (size_t k = 0; k < count; k++) RPINN_TRY(measure_turn(bench, members, iterations, &turns[k]));
  row->member_seconds = median(count, turns, offsetof(Turn, processor), sorted);
  row->weak_members = members;
  row->weak_seconds = median(count, turns, offsetof(Turn, weak_seconds), sorted);
  row->weak = median(count, turns, offsetof(Turn, weak), sorted);
  row->weak_alone = median(count, turns, offsetof(Turn, weak_alone), sorted);
  row->strong_members = 2 * members;
  row->strong_seconds = median(count, turns, offsetof(Turn, strong_seconds), sorted);
  row->strong = median(count, turns, offsetof(Turn, strong), sorted);
  return RPINN_OK;
}

static RpinnStatus measure_members(Bench *bench, const RpinnScalingOptions *options, RpinnScalingRow *row) {
  Turn *turns = calloc(options->turns, sizeof *turns);
  double *sorted = calloc(options->turns, sizeof *sorted);
  RpinnStatus status =
      turns && sorted ? measure_turns(bench, options, turns, sorted, row) : rpinn_fail_memory(bench->context);
  free(turns);
  free(sorted);
  return status;
}

/* ---- the whole ---- */

static void describe_machine(RpinnScalingRow *row) {
  double loads[1];
  row->cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
  row->load = getloadavg(loads, 1) == 1 ? loads[0] : (double)NAN;
}

RpinnStatus rpinn_scaling_measure(RpinnContext *context, const RpinnScalingOptions *options,
                                  RpinnScalingRow *row) {
  Bench bench = {
      .context = context, .ranks = options->ranks, .is_first = rpinn_ranks_rank(options->ranks) == 0};
  snprintf(bench.folder, sizeof bench.folder, "rpinn-scaling-XXXXXX");
  *row = (RpinnScalingRow){.ranks = (double)rpinn_ranks_size(options->ranks)};
  describe_machine(row);
  if (bench.is_first && !mkdtemp(bench.folder))
    return rpinn_fail_file(context, RPINN_ERROR_IO, "make", bench.folder);
  RpinnStatus status = rpinn_ranks_broadcast(context, bench.ranks, bench.folder, sizeof bench.folder);
  if (status == RPINN_OK) status = measure_messages(&bench, row);
  if (status == RPINN_OK) status = measure_free(&bench, options->turns, row);
  if (status == RPINN_OK) status = measure_members(&bench, options, row);
  if (bench.is_first) nftw(bench.folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  return status;
}
