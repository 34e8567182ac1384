/* The shipped problems and the files in tests/problems, sorted by name. */
#ifndef RPINN_TESTS_PROBLEM_FOLDER_H
#define RPINN_TESTS_PROBLEM_FOLDER_H

#include <dirent.h>

#include "check.h"
#include "rpinn/problem.h"

enum { MAX_PROBLEMS = 128, PATH_SIZE = 1024 };

typedef struct ProblemList {
  size_t count;
  char names[MAX_PROBLEMS][PATH_SIZE]; /* what rpinn_problem_load takes */
} ProblemList;

static inline int compare_names(const void *a, const void *b) {
  return strcmp(a, b);
}

static inline const char *source_folder(void) {
  const char *folder = getenv("RPINN_SOURCE_DIR");
  check_true(folder != NULL, "RPINN_SOURCE_DIR is not set: run the tests with ctest");
  return folder;
}

static inline ProblemList *list_problems(void) {
  ProblemList *list = calloc(1, sizeof *list);
  char folder[PATH_SIZE / 2];
  assert_non_null(list);
  for (size_t i = 0; i < rpinn_shipped_count(); i++)
    snprintf(list->names[list->count++], PATH_SIZE, "%s", rpinn_shipped_name(i));
  size_t num_shipped = list->count;
  snprintf(folder, sizeof folder, "%s/tests/problems", source_folder());
  DIR *stream = opendir(folder);
  check_true(stream != NULL, "no folder %s", folder);
  for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
    size_t length = strlen(entry->d_name);
    if (length < 6 || strcmp(entry->d_name + length - 5, ".yaml") != 0) continue;
    assert_true(list->count < MAX_PROBLEMS);
    snprintf(list->names[list->count++], PATH_SIZE, "%s/%s", folder, entry->d_name);
  }
  closedir(stream);
  qsort(list->names[num_shipped], list->count - num_shipped, PATH_SIZE, compare_names);
  return list;
}

#endif
