/* The checkpoint store: what goes in comes out, bit for bit and in order; kill -9, a full disk and damaged
 * files leave it whole or refused; one run at a time. */
#include "check.h"
#include "temporary_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "member_store.h"
#include "random_stream.h"

enum { NUM_PARAMETERS = 700, NUM_STATISTICS = 5, NUM_TRACE = 20, PATH_SIZE = 256 };

typedef struct Bench {
  RpinnContext *context;
  char folder[PATH_SIZE / 2], path[PATH_SIZE];
} Bench;

static Bench bench_open(void) {
  Bench bench = {.context = rpinn_context_create(), .folder = "member_store_XXXXXX"};
  assert_non_null(bench.context);
  assert_non_null(mkdtemp(bench.folder));
  snprintf(bench.path, sizeof bench.path, "%s/checkpoint.db", bench.folder);
  return bench;
}

static void bench_remove_file(const Bench *bench) {
  char journal[PATH_SIZE + 16];
  snprintf(journal, sizeof journal, "%s-journal", bench->path);
  remove(journal);
  remove(bench->path);
}

/* Nothing but the store may be left in the folder. */
static void bench_shut(Bench *bench) {
  bench_remove_file(bench);
  const char *left = NULL;
  DIR *folder = opendir(bench->folder);
  assert_non_null(folder);
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
    if (entry->d_name[0] != '.') left = entry->d_name;
  check_true(!left, "there is left: %s", left);
  closedir(folder);
  check_true(rmdir(bench->folder) == 0, "%s is not empty", bench->folder);
  rpinn_context_destroy(bench->context);
}

static const char *message(const Bench *bench) {
  return rpinn_context_error(bench->context)->message;
}

#define require(bench, call)                                                                                 \
  do {                                                                                                       \
    RpinnStatus require_status = (call);                                                                     \
    check_true(require_status == RPINN_OK, "%s", message(bench));                                            \
  } while (0)

static RpinnMemberStore *store_open(const Bench *bench) {
  RpinnMemberStore *store;
  require(bench, rpinn_member_store_open(bench->context, bench->path, "seed: 0\nmethod: rpinn\n", &store));
  return store;
}

static void expect_refused(const Bench *bench, RpinnStatus expected, const char *part) {
  RpinnMemberStore *store = (RpinnMemberStore *)&store;
  RpinnStatus status =
      rpinn_member_store_open(bench->context, bench->path, "seed: 0\nmethod: rpinn\n", &store);
  check_true(status == expected, "status %s: %s", rpinn_status_name(status), message(bench));
  check_true(strstr(message(bench), part) != NULL, "'%s' has no '%s'", message(bench), part);
  assert_null(store);
}

/* A member whose numbers follow from its index, with the awkward ones among them. */
typedef struct Sample {
  double parameters[NUM_PARAMETERS], statistics[NUM_STATISTICS], trace[2 * NUM_TRACE];
  RpinnStoredMember member;
} Sample;

static void sample_fill(Sample *sample, uint64_t index) {
  static const uint64_t awkward[] = {
      UINT64_C(0x7ff8000000000001), /* NaN with a payload */
      UINT64_C(0xfff0000000000000), /* -inf */
      UINT64_C(1),                  /* the smallest denormal */
      UINT64_C(0x8000000000000000)  /* -0 */
  };
  RpinnStream stream = rpinn_stream(7, RPINN_PURPOSE_CHECK, index, 0);
  rpinn_stream_normals(&stream, NUM_PARAMETERS, sample->parameters);
  rpinn_stream_normals(&stream, NUM_STATISTICS, sample->statistics);
  rpinn_stream_normals(&stream, 2 * NUM_TRACE, sample->trace);
  memcpy(sample->parameters, awkward, sizeof awkward);
  memcpy(sample->statistics, awkward, sizeof awkward);
  bool failed = index % 10 == 3;
  sample->member = (RpinnStoredMember){.index = index,
                                       .failed = failed,
                                       .num_parameters = failed ? 0 : NUM_PARAMETERS - index % 3,
                                       .parameters = failed ? NULL : sample->parameters,
                                       .num_statistics = NUM_STATISTICS,
                                       .statistics = sample->statistics,
                                       .num_trace = index % 5 ? NUM_TRACE : 0,
                                       .trace = index % 5 ? sample->trace : NULL,
                                       .stop = failed ? "not_finite" : "budget"};
}

static void put(const Bench *bench, RpinnMemberStore *store, uint64_t index) {
  Sample sample;
  sample_fill(&sample, index);
  require(bench, rpinn_member_store_put(bench->context, store, &sample.member));
}

typedef struct Visit {
  size_t count;
  uint64_t indices[64];
  size_t stop_after; /* 0: never */
} Visit;

static RpinnStatus visit_member(void *user, const RpinnStoredMember *found) {
  Visit *visit = user;
  Sample sample;
  sample_fill(&sample, found->index);
  const RpinnStoredMember *expected = &sample.member;
  assert_int_equal(found->failed, expected->failed);
  assert_string_equal(found->stop, expected->stop);
  assert_int_equal(found->num_parameters, expected->num_parameters);
  assert_int_equal(found->num_statistics, expected->num_statistics);
  assert_int_equal(found->num_trace, expected->num_trace);
  if (found->num_parameters)
    assert_memory_equal(found->parameters, expected->parameters, found->num_parameters * sizeof(double));
  else
    assert_null(found->parameters);
  assert_memory_equal(found->statistics, expected->statistics, NUM_STATISTICS * sizeof(double));
  if (found->num_trace) assert_memory_equal(found->trace, expected->trace, 2 * NUM_TRACE * sizeof(double));
  if (visit->count < 64) visit->indices[visit->count] = found->index;
  visit->count++;
  return visit->count == visit->stop_after ? RPINN_ERROR_INTERRUPTED : RPINN_OK;
}

static void test_round_trip(void **state) {
  (void)state;
  static const uint64_t order[] = {5, 0, 3, 40, 13, 4, 1, 1000000000000};
  static const uint64_t sorted[] = {0, 1, 3, 4, 5, 13, 40, 1000000000000};
  enum { COUNT = sizeof order / sizeof *order };
  Bench bench = bench_open();
  RpinnMemberStore *store = store_open(&bench);
  for (size_t i = 0; i < COUNT; i++) put(&bench, store, order[i]);
  put(&bench, store, 5); /* replaces */
  for (int reopened = 0; reopened < 2; reopened++) {
    uint64_t finished, failed;
    Visit all = {0}, some = {0}, first = {.stop_after = 2};
    require(&bench, rpinn_member_store_visit(bench.context, store, (RpinnStoreRange){0, UINT64_MAX},
                                             visit_member, &all));
    assert_int_equal(all.count, COUNT);
    assert_memory_equal(all.indices, sorted, sizeof sorted);
    require(&bench,
            rpinn_member_store_visit(bench.context, store, (RpinnStoreRange){0, 5}, visit_member, &some));
    assert_int_equal(some.count, 4);
    assert_int_equal(
        rpinn_member_store_visit(bench.context, store, (RpinnStoreRange){0, 5}, visit_member, &first),
        RPINN_ERROR_INTERRUPTED);
    assert_int_equal(first.count, 2);
    require(&bench, rpinn_member_store_count(bench.context, store, (RpinnStoreRange){0, UINT64_MAX},
                                             &finished, &failed));
    assert_int_equal(finished, COUNT);
    assert_int_equal(failed, 2);
    require(&bench,
            rpinn_member_store_count(bench.context, store, (RpinnStoreRange){0, 13}, &finished, &failed));
    assert_int_equal(finished, 5);
    assert_int_equal(failed, 1);
    require(&bench,
            rpinn_member_store_count(bench.context, store, (RpinnStoreRange){0, 0}, &finished, &failed));
    assert_int_equal(finished + failed, 0);
    bool has;
    require(&bench, rpinn_member_store_has(bench.context, store, 13, &has));
    assert_true(has);
    require(&bench, rpinn_member_store_has(bench.context, store, 14, &has));
    assert_false(has);
    rpinn_member_store_close(store);
    store = store_open(&bench);
  }
  Sample sample;
  sample_fill(&sample, UINT64_MAX);
  assert_int_equal(rpinn_member_store_put(bench.context, store, &sample.member), RPINN_ERROR_INPUT);
  rpinn_member_store_close(store);
  rpinn_member_store_close(NULL);
  bench_shut(&bench);
}

static void test_states_and_texts(void **state) {
  (void)state;
  Bench bench = bench_open();
  RpinnMemberStore *store = store_open(&bench);
  void *found;
  size_t size;
  char *text;
  require(&bench, rpinn_member_store_get_state(bench.context, store, 3, &found, &size));
  assert_null(found);
  require(&bench, rpinn_member_store_put_state(bench.context, store, 3, "first", 5));
  require(&bench, rpinn_member_store_put_state(bench.context, store, 3, "se\0cond", 7));
  require(&bench, rpinn_member_store_put_state(bench.context, store, 4, NULL, 0));
  require(&bench, rpinn_member_store_set_text(bench.context, store, "wall_seconds", "1"));
  require(&bench, rpinn_member_store_set_text(bench.context, store, "wall_seconds", "2.5"));
  rpinn_member_store_close(store);
  store = store_open(&bench);
  require(&bench, rpinn_member_store_get_state(bench.context, store, 3, &found, &size));
  assert_int_equal(size, 7);
  assert_memory_equal(found, "se\0cond", 7);
  free(found);
  require(&bench, rpinn_member_store_get_state(bench.context, store, 4, &found, &size));
  assert_non_null(found);
  assert_int_equal(size, 0);
  free(found);
  put(&bench, store, 3); /* the member is finished: its state goes */
  require(&bench, rpinn_member_store_get_state(bench.context, store, 3, &found, &size));
  assert_null(found);
  require(&bench, rpinn_member_store_get_text(bench.context, store, "wall_seconds", &text));
  assert_string_equal(text, "2.5");
  free(text);
  require(&bench, rpinn_member_store_get_text(bench.context, store, "wall", &text));
  assert_null(text);
  rpinn_member_store_close(store);
  bench_shut(&bench);
}

static void expect_difference(const Bench *bench, const char *identity, const char *part) {
  RpinnMemberStore *store;
  assert_int_equal(rpinn_member_store_open(bench->context, bench->path, identity, &store), RPINN_ERROR_INPUT);
  check_true(strstr(message(bench), part) != NULL, "'%s' has no '%s'", message(bench), part);
  assert_null(store);
}

/* What lies within a range, and what goes with it. */
static void test_ranges(void **state) {
  (void)state;
  static const uint64_t order[] = {0, 3, 5, 40, 1000000000000};
  Bench bench = bench_open();
  RpinnMemberStore *store = store_open(&bench);
  uint64_t finished, failed, behind;
  RpinnStoreRange middle = {3, 40}, none = {6, 40};
  void *saved;
  size_t size;
  for (size_t i = 0; i < 5; i++) put(&bench, store, order[i]);
  rpinn_member_store_cut_states(store, 2);
  require(&bench, rpinn_member_store_put_state(bench.context, store, 7, "seven", 5));
  require(&bench, rpinn_member_store_put_state(bench.context, store, 50, "fifty", 5));
  Visit visit = {0};
  require(&bench, rpinn_member_store_visit(bench.context, store, middle, visit_member, &visit));
  assert_int_equal(visit.count, 2);
  assert_int_equal(visit.indices[0], 3);
  require(&bench, rpinn_member_store_count(bench.context, store, middle, &finished, &failed));
  assert_int_equal(finished, 2);
  require(&bench, rpinn_member_store_behind_last(bench.context, store, middle, &behind));
  assert_int_equal(behind, 6);
  require(&bench, rpinn_member_store_behind_last(bench.context, store, none, &behind));
  assert_int_equal(behind, 0);
  require(&bench, rpinn_member_store_drop(bench.context, store, middle));
  rpinn_member_store_close(store);
  store = store_open(&bench);
  require(&bench, rpinn_member_store_count(bench.context, store, (RpinnStoreRange){0, UINT64_MAX}, &finished,
                                           &failed));
  assert_int_equal(finished, 3);
  require(&bench, rpinn_member_store_get_state(bench.context, store, 7, &saved, &size));
  assert_null(saved);
  require(&bench, rpinn_member_store_get_state(bench.context, store, 50, &saved, &size));
  assert_int_equal(size, 5);
  assert_memory_equal(saved, "fifty", 5);
  free(saved);
  require(&bench, rpinn_member_store_put_state(bench.context, store, 7, "again", 5)); /* no piece was left */
  require(&bench, rpinn_member_store_get_state(bench.context, store, 7, &saved, &size));
  assert_memory_equal(saved, "again", 5);
  free(saved);
  rpinn_member_store_close(store);
  bench_shut(&bench);
}

static void test_identity(void **state) {
  (void)state;
  Bench bench = bench_open();
  rpinn_member_store_close(store_open(&bench));
  expect_difference(&bench, "seed: 1\nmethod: rpinn\n", "other settings: was seed: 0, is now seed: 1");
  expect_difference(&bench, "seed: 1\nmethod: map\n",
                    "was seed: 0, is now seed: 1; was method: rpinn, is now method: map");
  expect_difference(&bench, "seed: 0\n", "was method: rpinn, is now nothing");
  expect_difference(&bench, "seed: 0\nmethod: rpinn\nmore: 1\n", "was nothing, is now more: 1");
  expect_difference(&bench, "seed: 0\nmethod: rpinn", "newline");
  expect_difference(&bench, "", "was seed: 0, is now nothing");
  char *long_text = malloc(100001);
  memset(long_text, 'x', 100000);
  long_text[100000] = '\0';
  expect_difference(&bench, long_text, "is now xxx");
  free(long_text);
  rpinn_member_store_close(store_open(&bench)); /* none of it changed the store */
  bench_shut(&bench);
}

/* ---- other processes ---- */

/* Run in a child that reports by its exit status, so that cmocka stays in the parent. */
static int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void test_lock(void **state) {
  (void)state;
  Bench bench = bench_open();
  RpinnMemberStore *store = store_open(&bench);
  for (int round = 0; round < 2; round++) { /* before the first member and between commits */
    pid_t child = fork();
    if (child == 0) {
      RpinnMemberStore *second;
      RpinnContext *context = rpinn_context_create();
      RpinnStatus status = rpinn_member_store_open(context, bench.path, "seed: 0\nmethod: rpinn\n", &second);
      bool said = strstr(rpinn_context_error(context)->message, "another run is using this directory");
      _exit(status == RPINN_ERROR_INPUT && said ? 0 : 1);
    }
    assert_int_equal(wait_for(child), 0);
    expect_refused(&bench, RPINN_ERROR_INPUT, "another run is using this directory"); /* the same process */
    put(&bench, store, 0);
    require(&bench, rpinn_member_store_flush(bench.context, store));
  }
  rpinn_member_store_close(store);
  rpinn_member_store_close(store_open(&bench));
  bench_shut(&bench);
}

/* Whoever only reads needs no identity, shares the file with other readers, and not with a writer. */
static void test_open_existing(void **state) {
  (void)state;
  Bench bench = bench_open();
  RpinnMemberStore *reader, *second, *store;
  assert_int_equal(rpinn_member_store_open_existing(bench.context, bench.path, &reader), RPINN_ERROR_IO);
  assert_null(reader);
  assert_int_equal(access(bench.path, F_OK), -1); /* and makes none */
  store = store_open(&bench);
  for (uint64_t k = 0; k < 3; k++) put(&bench, store, k);
  assert_int_equal(rpinn_member_store_open_existing(bench.context, bench.path, &reader), RPINN_ERROR_INPUT);
  check_true(strstr(message(&bench), "another run is using this directory") != NULL, "%s", message(&bench));
  rpinn_member_store_close(store);
  chmod(bench.path, 0444);
  require(&bench, rpinn_member_store_open_existing(bench.context, bench.path, &reader));
  require(&bench, rpinn_member_store_open_existing(bench.context, bench.path, &second));
  for (int k = 0; k < 2; k++) {
    Visit visit = {0};
    require(&bench, rpinn_member_store_visit(bench.context, k ? second : reader,
                                             (RpinnStoreRange){0, UINT64_MAX}, visit_member, &visit));
    assert_int_equal(visit.count, 3);
  }
  rpinn_member_store_close(reader);
  rpinn_member_store_close(second);
  chmod(bench.path, 0644);
  assert_int_equal(truncate(bench.path, 0), 0); /* its maker was killed at once */
  assert_int_equal(rpinn_member_store_open_existing(bench.context, bench.path, &reader), RPINN_ERROR_INPUT);
  check_true(strstr(message(&bench), "is not a checkpoint") != NULL, "%s", message(&bench));
  bench_shut(&bench);
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct Report {
  uint64_t member; /* this one and all before it were put … */
  double seconds;  /* … at this time */
  int32_t flushed; /* … and committed */
} Report;

/* Put members from the first one missing until killed, and tell the parent of each. */
static void write_until_killed(const Bench *bench, bool flushes, int pipe_end) {
  RpinnMemberStore *store;
  RpinnContext *context = rpinn_context_create();
  if (rpinn_member_store_open(context, bench->path, "seed: 0\nmethod: rpinn\n", &store) != RPINN_OK) _exit(2);
  uint64_t finished, failed;
  if (rpinn_member_store_count(context, store, (RpinnStoreRange){0, UINT64_MAX}, &finished, &failed) !=
      RPINN_OK)
    _exit(3);
  for (uint64_t k = finished;; k++) {
    Sample sample;
    sample_fill(&sample, k);
    if (rpinn_member_store_put_state(context, store, k, sample.parameters, 4000) != RPINN_OK) _exit(4);
    if (rpinn_member_store_put(context, store, &sample.member) != RPINN_OK) _exit(5);
    Report report = {.member = k, .seconds = seconds_now(), .flushed = flushes && k % 4 == 0};
    if (report.flushed && rpinn_member_store_flush(context, store) != RPINN_OK) _exit(6);
    if (write(pipe_end, &report, sizeof report) != sizeof report) _exit(7);
    if (!flushes) nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  }
}

static void kill_once(const Bench *bench, bool flushes, long microseconds, uint64_t *num_safe) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) write_until_killed(bench, flushes, ends[1]);
  close(ends[1]);
  nanosleep(&(struct timespec){microseconds / 1000000, microseconds % 1000000 * 1000}, NULL);
  kill(child, SIGKILL);
  Report report, last = {0};
  uint64_t promised = *num_safe;
  static Report reports[4096];
  size_t num_reports = 0;
  while (read(ends[0], &report, sizeof report) == sizeof report) {
    if (num_reports < 4096) reports[num_reports++] = report;
    last = report;
  }
  close(ends[0]);
  int code = wait_for(child);
  check_true(code == 128 + SIGKILL, "the child ended with %d", code);
  for (size_t i = 0; i < num_reports; i++)
    if (reports[i].flushed || reports[i].seconds < last.seconds - 1.05) promised = reports[i].member + 1;
  RpinnMemberStore *store = store_open(bench);
  Visit visit = {0};
  require(bench, rpinn_member_store_visit(bench->context, store, (RpinnStoreRange){0, UINT64_MAX},
                                          visit_member, &visit));
  check_true(visit.count >= promised, "%zu members, %" PRIu64 " were promised", visit.count, promised);
  bool has = true; /* they are the first ones, without a gap */
  if (visit.count) require(bench, rpinn_member_store_has(bench->context, store, visit.count - 1, &has));
  assert_true(has);
  rpinn_member_store_close(store);
  *num_safe = promised;
}

static void test_kill(void **state) {
  (void)state;
  enum { NUM_KILLS = 60 };
  Bench bench = bench_open();
  RpinnStream stream = rpinn_stream(1, RPINN_PURPOSE_CHECK, 0, 0);
  uint64_t num_safe = 0;
  for (int k = 0; k < NUM_KILLS; k++) {
    if (k % 20 == 0) { /* also in the middle of making the file */
      bench_remove_file(&bench);
      num_safe = 0;
    }
    kill_once(&bench, true, (long)rpinn_stream_below(&stream, k % 20 < 5 ? 8000 : 60000), &num_safe);
  }
  check_true(num_safe > 0, "no child lived long enough");
  bench_remove_file(&bench);
  num_safe = 0;
  for (int k = 0; k < 2; k++) kill_once(&bench, false, 2300000, &num_safe);
  check_true(num_safe > 0, "nothing was committed in time");
  bench_shut(&bench);
}

/* ---- damaged and foreign files ---- */

static void write_file(const char *path, const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

static void test_foreign_files(void **state) {
  (void)state;
  Bench bench = bench_open();
  static const char text[] = "name: poisson-linear\ncoordinates: {x: [-1, 1]}\n";
  write_file(bench.path, text, sizeof text - 1);
  expect_refused(&bench, RPINN_ERROR_INPUT, "is not a checkpoint of rpinn");
  size_t size;
  char *after = read_file(bench.path, &size);
  assert_int_equal(size, sizeof text - 1);
  assert_memory_equal(after, text, size);
  free(after);
  write_file(bench.path, "", 0); /* made, then killed */
  rpinn_member_store_close(store_open(&bench));

  /* The application id and the format version stand at bytes 68 and 60 of SQLite's header, big-endian. */
  char *bytes = read_file(bench.path, &size);
  bytes[63] = 9;
  write_file(bench.path, bytes, size);
  expect_refused(&bench, RPINN_ERROR_INPUT, "has format 9");
  bytes[68] = 0;
  write_file(bench.path, bytes, size);
  expect_refused(&bench, RPINN_ERROR_INPUT, "is not a checkpoint of rpinn");
  free(bytes);
  bench_remove_file(&bench);

  assert_int_equal(mkdir(bench.path, 0777), 0);
  expect_refused(&bench, RPINN_ERROR_IO, "unable to open");
  rmdir(bench.path);
  Bench nowhere = bench;
  snprintf(nowhere.path, sizeof nowhere.path, "%s/missing/checkpoint.db", bench.folder);
  expect_refused(&nowhere, RPINN_ERROR_IO, "No such file or directory");
  bench_shut(&bench);
}

/* Whatever happens to the bytes, reading gives the members as they were or an error, never other numbers. */
static void test_damaged_files(void **state) {
  (void)state;
  enum { NUM_MEMBERS = 40, NUM_CUTS = 30, NUM_FLIPS = 300 };
  Bench bench = bench_open();
  RpinnMemberStore *store = store_open(&bench);
  for (uint64_t k = 0; k < NUM_MEMBERS; k++) put(&bench, store, k);
  rpinn_member_store_close(store);
  size_t size, num_refused = 0;
  char *bytes = read_file(bench.path, &size);
  RpinnStream stream = rpinn_stream(3, RPINN_PURPOSE_CHECK, 0, 0);
  for (int k = 0; k < NUM_CUTS + NUM_FLIPS; k++) {
    bool cut = k < NUM_CUTS;
    size_t place = cut ? 200 + rpinn_stream_below(&stream, size - 200) : rpinn_stream_below(&stream, size);
    char flip = (char)(cut ? 0 : 1 + rpinn_stream_below(&stream, 255));
    bytes[place] ^= flip;
    write_file(bench.path, bytes, cut ? place : size);
    bytes[place] ^= flip;
    RpinnStatus status =
        rpinn_member_store_open(bench.context, bench.path, "seed: 0\nmethod: rpinn\n", &store);
    if (status == RPINN_OK) {
      Visit visit = {0};
      status = rpinn_member_store_visit(bench.context, store, (RpinnStoreRange){0, UINT64_MAX}, visit_member,
                                        &visit);
      rpinn_member_store_close(store);
    }
    check_true(!cut || status != RPINN_OK, "cut at %zu of %zu and not noticed", place, size);
    num_refused += status != RPINN_OK;
  }
  check_true(num_refused > NUM_CUTS + NUM_FLIPS / 2, "only %zu damaged files were noticed", num_refused);
  free(bytes);
  bench_shut(&bench);
}

/* ---- a full disk ---- */

/* In a child, because the limit is for a whole process: the file may not grow beyond it. */
static int write_on_full_disk(const Bench *bench) {
  RpinnMemberStore *store;
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = {.rlim_cur = 400000, .rlim_max = RLIM_INFINITY};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 10;
  if (rpinn_member_store_open(bench->context, bench->path, "seed: 0\nmethod: rpinn\n", &store) != RPINN_OK)
    return 11;
  RpinnStatus status = RPINN_OK;
  uint64_t index = 0, num_flushed = 0;
  for (; index < 1000 && status == RPINN_OK; index++) {
    Sample sample;
    sample_fill(&sample, index);
    status = rpinn_member_store_put(bench->context, store, &sample.member);
    if (status != RPINN_OK || index % 5 != 4) continue;
    status = rpinn_member_store_flush(bench->context, store);
    if (status == RPINN_OK) num_flushed = index + 1;
  }
  if (status != RPINN_ERROR_IO) return 12;
  if (!strstr(message(bench), "cannot write") || !strstr(message(bench), "File too large")) return 13;
  Visit visit = {0};
  if (rpinn_member_store_visit(bench->context, store, (RpinnStoreRange){0, UINT64_MAX}, visit_member,
                               &visit) != RPINN_OK)
    return 14;
  if (num_flushed < 20 || visit.count != num_flushed) return 15;
  limit.rlim_cur = RLIM_INFINITY; /* there is room again: go on with the same store */
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 16;
  Sample sample;
  sample_fill(&sample, num_flushed);
  if (rpinn_member_store_put(bench->context, store, &sample.member) != RPINN_OK) return 17;
  rpinn_member_store_close(store);
  return 0;
}

static void test_full_disk(void **state) {
  (void)state;
  Bench bench = bench_open();
  pid_t child = fork();
  if (child == 0) _exit(write_on_full_disk(&bench));
  assert_int_equal(wait_for(child), 0);
  RpinnMemberStore *store = store_open(&bench);
  Visit visit = {0};
  require(&bench, rpinn_member_store_visit(bench.context, store, (RpinnStoreRange){0, UINT64_MAX},
                                           visit_member, &visit));
  assert_true(visit.count > 20);
  for (uint64_t k = 0; k < 200; k++) put(&bench, store, k);
  rpinn_member_store_close(store);
  bench_shut(&bench);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_states_and_texts),
      cmocka_unit_test(test_ranges),        cmocka_unit_test(test_identity),
      cmocka_unit_test(test_lock),          cmocka_unit_test(test_kill),
      cmocka_unit_test(test_foreign_files), cmocka_unit_test(test_damaged_files),
      cmocka_unit_test(test_full_disk),     cmocka_unit_test(test_open_existing)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
