/* Files that are written whole or not at all: what a failed write leaves behind, and what is not written at all. */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "temporary_folder.h"

#include "part_file.h"
#include "whole_file.h"

typedef struct Bench {
  char folder[32], path[64], part[64], other[64]; /* other: a second file of the folder */
  RpinnContext *context;
} Bench;

static int open_bench(void **state) {
  Bench *bench = calloc(1, sizeof *bench);
  snprintf(bench->folder, sizeof bench->folder, "part_file_XXXXXX");
  if (!mkdtemp(bench->folder)) return -1;
  snprintf(bench->path, sizeof bench->path, "%s/notes", bench->folder);
  snprintf(bench->part, sizeof bench->part, "%s/notes.part", bench->folder);
  snprintf(bench->other, sizeof bench->other, "%s/other", bench->folder);
  bench->context = rpinn_context_create();
  *state = bench;
  return 0;
}

/* Also after a failure. */
static int close_bench(void **state) {
  Bench *bench = *state;
  unlink(bench->path);
  unlink(bench->part);
  unlink(bench->other);
  int code = rmdir(bench->folder);
  rpinn_context_destroy(bench->context);
  free(bench);
  return code;
}

static RpinnStatus write_words(Bench *bench, const char *path, const char *words) {
  RpinnText text = {0};
  rpinn_text_append(&text, "%s", words);
  RpinnStatus status = rpinn_part_file_write(bench->context, path, &text);
  rpinn_text_free(&text);
  return status;
}

static void assert_holds(Bench *bench, const char *path, const char *words) {
  RpinnText text = {0};
  assert_int_equal(rpinn_file_read(bench->context, path, 1, &text), RPINN_OK);
  assert_string_equal(text.bytes ? text.bytes : "", words);
  rpinn_text_free(&text);
}

static bool exists(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0;
}

static void writes_and_replaces(void **state) {
  Bench *bench = *state;
  struct stat info;
  assert_int_equal(write_words(bench, bench->path, "first"), RPINN_OK);
  assert_holds(bench, bench->path, "first");
  assert_int_equal(chmod(bench->path, 0640), 0);
  assert_int_equal(write_words(bench, bench->path, "2"), RPINN_OK);
  assert_holds(bench, bench->path, "2");
  assert_int_equal(stat(bench->path, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0640);
  assert_int_equal(write_words(bench, bench->path, ""), RPINN_OK);
  assert_holds(bench, bench->path, "");
  assert_false(exists(bench->part));
}

static void update_leaves_the_same_text_alone(void **state) {
  Bench *bench = *state;
  struct stat before, after;
  static const char *const others[] = {"same words", "same word", "same words!", "Same words", ""};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    RpinnText text = {0};
    rpinn_text_append(&text, "%s", others[i]);
    assert_int_equal(write_words(bench, bench->path, "same words"), RPINN_OK);
    assert_int_equal(stat(bench->path, &before), 0);
    assert_int_equal(rpinn_part_file_update(bench->context, bench->path, &text), RPINN_OK);
    assert_int_equal(stat(bench->path, &after), 0);
    assert_true((before.st_ino == after.st_ino) == (i == 0)); /* another file in its place, or the same one */
    assert_holds(bench, bench->path, others[i]);
    rpinn_text_free(&text);
  }
}

/* In a child: the limit is for a whole process. */
static int write_on_full_disk(Bench *bench) {
  char words[4096];
  memset(words, 'x', sizeof words);
  words[sizeof words - 1] = '\0';
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 10;
  if (write_words(bench, bench->path, words) != RPINN_ERROR_IO) return 11;
  const RpinnError *error = rpinn_context_error(bench->context);
  if (strcmp(error->file, bench->path) != 0 ||
      strcmp(error->message, "cannot write this file: File too large") != 0) {
    fprintf(stderr, "%s: %s\n", error->file, error->message);
    return 12;
  }
  return 0;
}

static void full_disk_leaves_the_old_file(void **state) {
  Bench *bench = *state;
  assert_int_equal(write_words(bench, bench->path, "the old words"), RPINN_OK);
  int status = 0;
  pid_t child = fork();
  if (child == 0) _exit(write_on_full_disk(bench));
  while (waitpid(child, &status, 0) < 0) continue;
  check_true(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d", status);
  assert_holds(bench, bench->path, "the old words");
  assert_false(exists(bench->part));
}

/* The linker puts it in the place of rename. */
static bool rename_fails;
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to) {
  if (!rename_fails) return __real_rename(from, to);
  errno = EIO;
  return -1;
}

static void failed_move_leaves_the_old_file(void **state) {
  Bench *bench = *state;
  assert_int_equal(write_words(bench, bench->path, "the old words"), RPINN_OK);
  rename_fails = true;
  RpinnStatus status = write_words(bench, bench->path, "the new words");
  rename_fails = false;
  assert_int_equal(status, RPINN_ERROR_IO);
  assert_string_equal(rpinn_context_error(bench->context)->message,
                      "cannot write this file: Input/output error");
  assert_holds(bench, bench->path, "the old words");
  assert_false(exists(bench->part));
}

static void links_lead_to_their_file(void **state) {
  Bench *bench = *state;
  struct stat info;
  assert_int_equal(write_words(bench, bench->other, "far away"), RPINN_OK);
  assert_int_equal(symlink("other", bench->path), 0);
  assert_int_equal(write_words(bench, bench->path, "new"), RPINN_OK);
  assert_holds(bench, bench->other, "new");
  assert_int_equal(lstat(bench->path, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  /* A part that leads elsewhere is a leftover, not a place to write to. */
  unlink(bench->path);
  assert_int_equal(symlink("other", bench->part), 0);
  assert_int_equal(write_words(bench, bench->path, "mine"), RPINN_OK);
  assert_holds(bench, bench->other, "new");
  assert_holds(bench, bench->path, "mine");
}

static void devices_stay_devices(void **state) {
  Bench *bench = *state;
  struct stat info;
  assert_int_equal(write_words(bench, "/dev/null", "nothing"), RPINN_OK);
  assert_int_equal(stat("/dev/null", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
  assert_int_equal(write_words(bench, "/dev/full", "nothing"), RPINN_ERROR_IO);
  assert_string_equal(rpinn_context_error(bench->context)->message,
                      "cannot write this file: No space left on device");
  assert_int_equal(write_words(bench, bench->folder, "nothing"), RPINN_ERROR_IO);
  assert_string_equal(rpinn_context_error(bench->context)->message, "cannot write this file: Is a directory");
  assert_int_equal(write_words(bench, "/nowhere/notes", "nothing"), RPINN_ERROR_IO);
  assert_string_equal(rpinn_context_error(bench->context)->file, "/nowhere/notes");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(writes_and_replaces, open_bench, close_bench),
      cmocka_unit_test_setup_teardown(update_leaves_the_same_text_alone, open_bench, close_bench),
      cmocka_unit_test_setup_teardown(full_disk_leaves_the_old_file, open_bench, close_bench),
      cmocka_unit_test_setup_teardown(failed_move_leaves_the_old_file, open_bench, close_bench),
      cmocka_unit_test_setup_teardown(links_lead_to_their_file, open_bench, close_bench),
      cmocka_unit_test_setup_teardown(devices_stay_devices, open_bench, close_bench)};
  return cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder);
}
