/* What is left in a scratch folder, and cannot be had at once or not at all: files that another process is at, and disks that fail. */
#include "check.h"
#include "left_draws.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

static const char line[] = "name: line\n"
                           "coordinates: {x: [0, 1]}\n"
                           "fields: {u: {network: [3]}}\n"
                           "terms:\n"
                           "  u: {expect: u, at: {grid: 4}, data: x, noise: 0.1}\n"
                           "predict: {grid: 5, quantities: [u]}\n";
static const char fewer[] = "samples=5 optimizer=adam iterations=5 prior_scale=1 threads=1",
                  more[] = "samples=20 optimizer=adam iterations=5 prior_scale=1 threads=1";

static bool is_there(const char *path) {
  return access(path, F_OK) == 0;
}

/* ---- another machine that has the same folder is at the file, for so long ---- */

static pid_t hold(const char *path, int milliseconds) {
  int ends[2];
  char byte = 0;
  assert_int_equal(pipe(ends), 0);
  pid_t process = fork();
  assert_true(process >= 0);
  if (process == 0) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};
    int file = open(path, O_RDWR);
    bool is_held = file >= 0 && fcntl(file, F_SETLK, &lock) == 0 && write(ends[1], &byte, 1) == 1;
    nanosleep(&time, NULL);
    _exit(is_held ? 0 : 1);
  }
  assert_int_equal(read(ends[0], &byte, 1), 1);
  close(ends[0]);
  close(ends[1]);
  return process;
}

static void test_what_others_are_at_is_waited_for(void **state) {
  const RunBench *bench = *state;
  char path[RPINN_PATH_SIZE];
  int code;
  run_make(bench, "left", line, fewer);
  leave_member(bench, "left", path);
  pid_t process = hold(path, 1200);
  const RpinnJsonValue *summary = run_resume(bench, "left", line, more);
  assert_int_equal(waitpid(process, &code, 0), process);
  assert_int_equal(code, 0);
  assert_int_equal((int)json_at(summary, "members/stops/no_progress")->number, 1);
  assert_false(is_there(path));
}

/* ---- disks that fail, below SQLite ---- */

static const char *failing_name; /* a part of the names of files that fail … */
static int num_reads; /* … after so many times that they are read; -1: when they are written to */
static sqlite3_vfs failing_disk;
static const sqlite3_io_methods *whole_methods;
static sqlite3_io_methods failing_methods;

static int read_failing(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset) {
  if (num_reads == 0) return SQLITE_IOERR_READ;
  if (num_reads > 0) num_reads--;
  return whole_methods->xRead(file, bytes, size, offset);
}

static int write_failing(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
  return num_reads < 0 ? SQLITE_CORRUPT : whole_methods->xWrite(file, bytes, size, offset);
}

static int open_failing(sqlite3_vfs *disk, const char *name, sqlite3_file *file, int flags, int *granted) {
  const sqlite3_vfs *whole = disk->pAppData;
  int code = whole->xOpen((sqlite3_vfs *)whole, name, file, flags, granted);
  if (code != SQLITE_OK || !name || !strstr(name, failing_name) || strstr(name, "-journal")) return code;
  whole_methods = file->pMethods;
  failing_methods = *whole_methods;
  failing_methods.xRead = read_failing;
  failing_methods.xWrite = write_failing;
  file->pMethods = &failing_methods;
  return code;
}

static void begin_failing(const char *name, int count) {
  sqlite3_vfs *whole = sqlite3_vfs_find(NULL);
  failing_name = name;
  num_reads = count;
  failing_disk = *whole;
  failing_disk.zName = "failing";
  failing_disk.pNext = NULL;
  failing_disk.pAppData = whole;
  failing_disk.xOpen = open_failing;
  assert_int_equal(sqlite3_vfs_register(&failing_disk, 1), SQLITE_OK);
}

static void end_failing(void) {
  assert_int_equal(sqlite3_vfs_unregister(&failing_disk), SQLITE_OK);
}

/* Wherever it fails, the run goes on without, and the file stays. */
static void test_files_that_cannot_be_read(void **state) {
  const RunBench *bench = *state;
  char path[RPINN_PATH_SIZE];
  bool stays = true;
  int count = 0;
  run_make(bench, "left", line, fewer);
  for (; stays; count++) {
    leave_member(bench, "left", path);
    begin_failing("rpinn-0123abcd", count);
    run_resume(bench, "left", line, more);
    end_failing();
    stays = is_there(path);
    assert_true(count < 100);
  }
  print_message("the file was read %d times\n", count - 1);
  assert_true(count > 3);
}

/* Where it is the run directory that fails, the run does, and the next session finds what was left. */
static void test_run_directories_that_fail(void **state) {
  const RunBench *bench = *state;
  char path[RPINN_PATH_SIZE];
  RpinnRun *run;
  run_make(bench, "left", line, fewer);
  leave_member(bench, "left", path);
  begin_failing("/ranks/0003.db", -1);
  RpinnStatus status = run_try(bench, "left", line, more, (RpinnRunOptions){.resume = true}, &run);
  end_failing();
  assert_int_not_equal(status, RPINN_OK);
  check_true(strstr(run_message(bench), "ranks/0003.db") != NULL, "%s", run_message(bench));
  assert_true(is_there(path));
  check_session(bench, "left", "0123abcd");
  const RpinnJsonValue *summary = run_resume(bench, "left", line, more);
  assert_int_equal((int)json_at(summary, "members/stops/no_progress")->number, 1);
  assert_false(is_there(path));
}

int main(void) {
  const struct CMUnitTest tests[] = {test_in_folder(test_what_others_are_at_is_waited_for),
                                     test_in_folder(test_files_that_cannot_be_read),
                                     test_in_folder(test_run_directories_that_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
