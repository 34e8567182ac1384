/* What a power cut would leave. The system calls that decide it are this program's own: they note who synced, renamed and
 * removed what, in which order, also for the libraries beneath, and fail when they are told to.
 *
 *   f  a file is synced     d  a folder is synced     r  a file is moved into its place     u  a file is removed */
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "member_store.h"
#include "part_file.h"
#include "run_bench.h"

static struct {
  char calls[4096];
  size_t count;
  int syncs_until_failure, renames_until_failure; /* 1: the next one fails; 0: none does */
  size_t bytes_until_failure;                     /* of writes: then the disk is full */
  size_t most_at_once;                            /* bytes that a write takes; 0: all */
  bool watches_writes;
} watch;

static void begin_watch(void) {
  memset(&watch, 0, sizeof watch);
  watch.bytes_until_failure = SIZE_MAX;
}

static void note(char what) {
  if (watch.count + 1 < sizeof watch.calls) watch.calls[watch.count++] = what;
}

static bool fails_now(int *left) {
  return *left > 0 && --*left == 0;
}

static int sync_as(long number, int descriptor) {
  struct stat info;
  if (fstat(descriptor, &info) == 0) note(S_ISDIR(info.st_mode) ? 'd' : 'f');
  if (fails_now(&watch.syncs_until_failure)) {
    errno = EIO;
    return -1;
  }
  return (int)syscall(number, descriptor);
}

#pragma GCC visibility push(default) /* for the libraries, too */
int fsync(int descriptor) {
  return sync_as(SYS_fsync, descriptor);
}

int fdatasync(int descriptor) {
  return sync_as(SYS_fdatasync, descriptor);
}

int rename(const char *from, const char *to) {
  note('r');
  if (fails_now(&watch.renames_until_failure)) {
    errno = EXDEV;
    return -1;
  }
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlink(const char *path) {
  int code = unlinkat(AT_FDCWD, path, 0);
  if (code == 0) note('u');
  return code;
}

ssize_t write(int descriptor, const void *bytes, size_t size) {
  if (watch.watches_writes && descriptor > 2) {
    if (watch.bytes_until_failure == 0) {
      errno = ENOSPC;
      return -1;
    }
    if (watch.most_at_once && size > watch.most_at_once) size = watch.most_at_once;
    if (size > watch.bytes_until_failure) size = watch.bytes_until_failure;
    watch.bytes_until_failure -= watch.bytes_until_failure == SIZE_MAX ? 0 : size;
  }
  return syscall(SYS_write, descriptor, bytes, size);
}

#pragma GCC visibility pop

/* ---- small files ---- */

static RpinnStatus write_words(const RunBench *bench, const char *words) {
  RpinnText text = {0};
  rpinn_text_append(&text, "%s", words);
  RpinnStatus status = rpinn_part_file_write(bench->context, run_path(bench, "notes", NULL), &text);
  rpinn_text_free(&text);
  return status;
}

static void expect_words(const RunBench *bench, const char *words) {
  RpinnText text = {0};
  run_require(bench, rpinn_file_read(bench->context, run_path(bench, "notes", NULL), 1, &text));
  assert_string_equal(text.bytes, words);
  rpinn_text_free(&text);
  check_true(access(run_path(bench, "notes.part", NULL), F_OK) != 0, "a part is left");
}

/* The bytes first, then the name, then the folder that holds it. */
static void files_are_synced_before_they_are_named(void **state) {
  RunBench *bench = *state;
  begin_watch();
  run_require(bench, write_words(bench, "first"));
  assert_string_equal(watch.calls, "frd");
  begin_watch();
  run_require(bench, write_words(bench, "second"));
  assert_string_equal(watch.calls, "frd");
  expect_words(bench, "second");
}

static void failures_leave_the_old_file(void **state) {
  RunBench *bench = *state;
  begin_watch();
  run_require(bench, write_words(bench, "the old words"));
  begin_watch();
  watch.syncs_until_failure = 1;
  assert_int_equal(write_words(bench, "the new words"), RPINN_ERROR_IO);
  check_true(strstr(run_message(bench), strerror(EIO)) != NULL, "%s", run_message(bench));
  expect_words(bench, "the old words");
  begin_watch();
  watch.renames_until_failure = 1;
  assert_int_equal(write_words(bench, "the new words"), RPINN_ERROR_IO);
  check_true(strstr(run_message(bench), strerror(EXDEV)) != NULL, "%s", run_message(bench));
  expect_words(bench, "the old words");
  /* A disk that is full after five bytes, and one that takes few at once. */
  begin_watch();
  watch.watches_writes = true;
  watch.bytes_until_failure = 5;
  assert_int_equal(write_words(bench, "the new words"), RPINN_ERROR_IO);
  check_true(strstr(run_message(bench), strerror(ENOSPC)) != NULL, "%s", run_message(bench));
  expect_words(bench, "the old words");
  begin_watch();
  watch.watches_writes = true;
  watch.most_at_once = 3;
  run_require(bench, write_words(bench, "the new words"));
  expect_words(bench, "the new words");
  begin_watch();
}

/* ---- the store ---- */

static RpinnMemberStore *open_store(const RunBench *bench) {
  RpinnMemberStore *store;
  run_require(bench, rpinn_member_store_open(bench->context, run_path(bench, "checkpoint.db", NULL),
                                             "seed: 0\n", &store));
  return store;
}

static RpinnStatus put_member(const RunBench *bench, RpinnMemberStore *store, uint64_t index) {
  double numbers[3] = {1, 2, (double)index};
  RpinnStoredMember member = {.index = index,
                              .num_parameters = 3,
                              .parameters = numbers,
                              .num_statistics = 2,
                              .statistics = numbers,
                              .stop = "budget"};
  return rpinn_member_store_put(bench->context, store, &member);
}

/* A commit syncs journal and database, and the folder when the journal came and when it has gone: only then is the commit
 * there after a power cut. */
static void commits_are_synced_to_the_end(void **state) {
  RunBench *bench = *state;
  begin_watch();
  RpinnMemberStore *store = open_store(bench);
  run_require(bench, put_member(bench, store, 0));
  run_require(bench, rpinn_member_store_flush(bench->context, store));
  begin_watch();
  run_require(bench, rpinn_member_store_set_text(bench->context, store, "wall_seconds", "1"));
  run_require(bench, put_member(bench, store, 1));
  run_require(bench, rpinn_member_store_flush(bench->context, store));
  size_t files = 0;
  for (size_t i = 0; i < watch.count; i++) files += watch.calls[i] == 'f';
  check_true(files >= 2, "a commit syncs '%s': journal and database are wanted", watch.calls);
  rpinn_member_store_close(store);
  /* The first commit of a session deletes its journal: a folder is synced behind that. */
  begin_watch();
  store = open_store(bench);
  run_require(bench, put_member(bench, store, 2));
  run_require(bench, rpinn_member_store_flush(bench->context, store));
  rpinn_member_store_close(store);
  const char *removed = strrchr(watch.calls, 'u');
  check_true(removed && strchr(removed, 'd'), "'%s': no folder is synced after the journal has gone",
             watch.calls);
}

/* Commits come at most once a second: a thousand members do not wait for a thousand syncs. */
static void commits_are_grouped(void **state) {
  RunBench *bench = *state;
  RpinnMemberStore *store = open_store(bench);
  begin_watch();
  for (uint64_t k = 0; k < 300; k++) run_require(bench, put_member(bench, store, k));
  check_true(watch.count > 0 && watch.count < 300, "%zu calls", watch.count);
  run_require(bench, rpinn_member_store_flush(bench->context, store));
  rpinn_member_store_close(store);
}

/* A sync that fails is told, takes what was pending, and leaves what was committed and a store that works. */
static void failed_commits_are_told(void **state) {
  RunBench *bench = *state;
  bool has;
  begin_watch();
  RpinnMemberStore *store = open_store(bench);
  run_require(bench, put_member(bench, store, 0));
  run_require(bench, rpinn_member_store_flush(bench->context, store));
  run_require(bench, put_member(bench, store, 1));
  watch.syncs_until_failure = 1;
  assert_int_equal(rpinn_member_store_flush(bench->context, store), RPINN_ERROR_IO);
  begin_watch();
  run_require(bench, rpinn_member_store_has(bench->context, store, 0, &has));
  assert_true(has);
  run_require(bench, rpinn_member_store_has(bench->context, store, 1, &has));
  assert_false(has);
  run_require(bench, put_member(bench, store, 1));
  run_require(bench, rpinn_member_store_flush(bench->context, store));
  rpinn_member_store_close(store);
  store = open_store(bench);
  run_require(bench, rpinn_member_store_has(bench->context, store, 1, &has));
  assert_true(has);
  rpinn_member_store_close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      test_in_folder(files_are_synced_before_they_are_named), test_in_folder(failures_leave_the_old_file),
      test_in_folder(commits_are_synced_to_the_end), test_in_folder(commits_are_grouped),
      test_in_folder(failed_commits_are_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
