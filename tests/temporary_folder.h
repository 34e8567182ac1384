/* A test program in a folder of its own: empty when its tests begin, their working directory, and removed with
 * all that is in it afterwards, also when tests have failed:
 *   cmocka_run_group_tests(tests, enter_temporary_folder, leave_temporary_folder)
 * Tests write relative names; nothing that they leave reaches the sources, the build or the next run. */
#ifndef RPINN_TESTS_TEMPORARY_FOLDER_H
#define RPINN_TESTS_TEMPORARY_FOLDER_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

/* Remove a file or a folder with everything in it; symbolic links are removed, not followed. */
static inline void remove_tree(const char *path) {
  struct stat about;
  if (lstat(path, &about) != 0) return;
  if (!S_ISDIR(about.st_mode)) {
    unlink(path);
    return;
  }
  chmod(path, S_IRWXU);
  DIR *stream = opendir(path);
  if (!stream) return;
  for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
    char inner[4096];
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner) remove_tree(inner);
  }
  closedir(stream);
  rmdir(path);
}

typedef struct TemporaryFolder {
  char path[4096];
  int before; /* the working directory to go back to */
} TemporaryFolder;

static inline TemporaryFolder *temporary_folder(void) {
  static TemporaryFolder folder = {.before = -1};
  return &folder;
}

/* Setup and teardown of a group. */
static inline int enter_temporary_folder(void **state) {
  (void)state;
  TemporaryFolder *folder = temporary_folder();
  const char *parent = getenv("TMPDIR");
  snprintf(folder->path, sizeof folder->path, "%s/rpinn_test_XXXXXX", parent && *parent ? parent : "/tmp");
  folder->before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder->before < 0 || !mkdtemp(folder->path) || chdir(folder->path) != 0) {
    print_error("no temporary folder %s\n", folder->path);
    return -1;
  }
  return 0;
}

static inline int leave_temporary_folder(void **state) {
  (void)state;
  TemporaryFolder *folder = temporary_folder();
  int status = fchdir(folder->before);
  close(folder->before);
  remove_tree(folder->path);
  return status;
}

#endif
